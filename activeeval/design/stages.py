"""The second stage: which items of a query are judged once the query is, and what they say of its value.

Whole queries, a random prefix of the judging order (depth design), or items each with a
probability of their own (item design). A stage turns a grade model into the ratios of variance to
cost that a design is made of, and grades into totals that an estimator is made of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from activeeval.kernels import items as item_kernel
from activeeval.kernels import rates, reveal
from activeeval.measures import Target
from activeeval.measures.doors import sealed

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Observer = Callable[[Ints, Ints, Ints], tuple[Floats, Floats]]

LEAST_STAGE_SHARE = 0.05
LEAST_ITEM_SHARE = 0.01
LEAST_PLUG_IN_SHARE = 0.35
LEAST_RANK_SHARE = 0.6


@dataclass(frozen=True, eq=False)
class Stage:
    """What is judged of a query, whole here.

    Attributes
    ----------
    target : Target
    offsets, items : ndarray
        Items to judge for each query, in judging order, as positions on the flat item axis.
    predictions, variances : ndarray, shape (n_queries,)
        m(x) = E[L | x] and Var[L | x] under the grade model; NaN without one.
    """

    target: Target
    offsets: Ints
    items: Ints
    predictions: Floats
    variances: Floats
    kind: ClassVar[str] = "whole"
    is_nested: ClassVar[bool] = True

    @property
    def least_shares(self) -> Floats:
        """Least probability of every place of ``items`` once its query is drawn, whatever the model says."""
        return np.full(self.items.size, LEAST_ITEM_SHARE)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return every array of the stage by name."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "target"}

    def restricted_to(self, queries: Ints) -> tuple[Self, Ints]:
        """Return the stage of some queries, ascending, and the places of their items in this one."""
        pool, items = self.target.pool.subset(queries)
        versus = None if self.target.versus is None else self.target.versus.restricted_to(pool, items)
        target = Target(self.target.measure, self.target.ranking.restricted_to(pool, items), versus)
        position = np.full(self.target.pool.n_items, -1, dtype=np.int64)
        position[items] = np.arange(items.size)
        slots = np.flatnonzero(np.isin(self.slot_queries, queries))
        arrays = {name: self._part(name, values, queries, slots, items) for name, values in self.arrays().items()}
        arrays["offsets"] = np.concatenate(([0], np.cumsum(np.diff(self.offsets)[queries])))
        arrays["items"] = position[arrays["items"]]
        return type(self)(target, **arrays), slots

    @staticmethod
    def _part(name: str, values: NDArray[Any], queries: Ints, slots: Ints, items: Ints) -> NDArray[Any]:
        if name in ("predictions", "variances"):
            return np.asarray(values[queries])
        if name == "nodes":
            return np.ascontiguousarray(values[:, items])
        return values if name in ("offsets", "node_weights", "gains") else np.asarray(values[slots])

    @property
    def max_grade(self) -> int | None:
        """The largest grade that the measure, or the grade model, knows; None where both take any."""
        return self.target.measure.max_grade

    @cached_property
    def slot_queries(self) -> Ints:
        """The query of each place of ``items``."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))

    @cached_property
    def slot_costs(self) -> Floats:
        """What judging each place of ``items`` costs."""
        return self.target.pool.item_costs[self.items]

    @cached_property
    def overheads(self) -> Floats:
        """What turning to each query costs; 0 where there is nothing to judge."""
        return np.where(np.diff(self.offsets) > 0, self.target.pool.query_costs, 0.0)

    @cached_property
    def costs(self) -> Floats:
        """λ(x), the cost of judging each query whole."""
        n_queries = self.offsets.size - 1
        return np.bincount(self.slot_queries, self.slot_costs, minlength=n_queries) + self.overheads

    @cached_property
    def regressors(self) -> Floats:
        """What is known of every query for a regression, shape (n_queries, 2): 1 and m(x)."""
        return np.column_stack((np.ones_like(self.predictions), np.nan_to_num(self.predictions)))

    def ratios(self, extra: Floats) -> tuple[Floats, Floats]:
        """Return (variance + extra) / cost of every query, and of every item of its stage, not above its query's."""
        costs = np.where(self.costs > 0, self.costs, self.target.pool.item_costs.min())
        of_query = (self.variances + extra) / costs
        return of_query, of_query[self.slot_queries]

    def certain(self, sampling_probs: Floats, item_probs: Floats) -> NDArray[np.bool_]:
        """Return whether each query's value is sure to be known, for inclusion probabilities π and G.

        All its items are judged with probability 1, or its lists are empty, or none of their items counts, and it is 0.
        """
        n_queries = self.offsets.size - 1
        in_part = np.bincount(self.slot_queries, item_probs < 1, minlength=n_queries) > 0
        n_ranked = np.diff(self.target.ranking.offsets) + np.diff(self.target.other.offsets)
        is_nothing = (np.diff(self.offsets) == 0) | (n_ranked == 0)
        return np.asarray(is_nothing | ((sampling_probs >= 1) & ~in_part))

    def observer(self, grades: Ints, item_probs: Floats, n_known: Ints | None = None) -> Observer:
        """Return the function that says what draws tell once they are judged.

        Parameters
        ----------
        grades : ndarray of int64, shape (n_items,)
        item_probs : ndarray, shape (items.size,)
            G of every place of ``items``.
        n_known : ndarray of int64, shape (n_queries,), optional
            How many items of each query, in judging order, have been judged; all by default.

        Returns
        -------
        callable
            Of queries (n,), the number of judged items of each (n,) and their places in ``items`` (in
            the order of the queries); it returns totals and within, see
            `activeeval.estimation.JudgedSample`.
        """
        known = np.diff(self.offsets) if n_known is None else n_known
        sums, spread = self.prefix_totals(grades, item_probs, known)

        def observe(queries: Ints, counts: Ints, slots: Ints) -> tuple[Floats, Floats]:
            totals, within = np.zeros((queries.size, 4)), np.zeros((queries.size, 10))
            totals[:, 1:3] = self.regressors[queries]
            seen = counts > 0
            last = (self.offsets[queries] + counts - 1)[seen]
            totals[seen, 0], totals[seen, 3] = sums[last].T
            within[seen, 0], within[seen, 3], within[seen, 9] = spread[last].T
            return totals, within

        return observe

    def prefix_totals(self, grades: Ints, item_probs: Floats, n_known: Ints) -> tuple[Floats, Floats]:
        """Return what every prefix of the known items of every query says, by place of its last item.

        Returns
        -------
        ndarray, shape (items.size, 2)
            y, unbiased for L, and h, which is 0 in the mean; see `activeeval.kernels.reveal`.
        ndarray, shape (items.size, 3)
            Their variances and covariance given the labels: yy, yh, hh.
        """
        totals = np.zeros((self.items.size, 2))
        has_items = np.diff(self.offsets) > 0
        totals[self.offsets[1:][has_items] - 1, 0] = self.target.values(grades)[has_items]
        return totals, np.zeros((self.items.size, 3))


@dataclass(frozen=True, eq=False)
class Prefix(Stage):
    """A random prefix of the judging order: L̃ = m + Σ_{k ≤ depth} D_k / G_k, unbiased for any model.

    Attributes
    ----------
    nodes, node_weights : ndarray
        The grade model, (n_nodes, n_items, n_grades) and (n_nodes,).
    spreads : ndarray, shape (items.size,)
        E[D_k²] of every place under the model.
    lowest : ndarray, shape (items.size,)
        f_k if every item had the lowest grade.
    """

    nodes: Floats
    node_weights: Floats
    spreads: Floats
    lowest: Floats
    kind: ClassVar[str] = "depth"

    @property
    def least_shares(self) -> Floats:
        """Least probability of every place of ``items`` once its query is drawn, whatever the model says.

        In proportion to what the rank is worth: a model that is wrong about the first labels expects too little
        of the later ones. Higher where f_k is only a plug-in.
        """
        if not self.target.terms(self.nodes.shape[2]).is_exact:
            return np.full(self.items.size, LEAST_PLUG_IN_SHARE)
        worth = np.abs(self.target.contrast[self.items])
        largest = np.zeros(self.offsets.size - 1)
        np.maximum.at(largest, self.slot_queries, worth)
        share = np.divide(worth, largest[self.slot_queries], out=np.zeros_like(worth), where=worth > 0)
        return np.maximum(_never_rising(share, self.offsets) * LEAST_RANK_SHARE, LEAST_ITEM_SHARE)

    @property
    def max_grade(self) -> int | None:
        """The largest grade that the grade model knows."""
        return int(self.nodes.shape[2]) - 1

    def ratios(self, extra: Floats) -> tuple[Floats, Floats]:
        """Return E[D_k²] / λ_k, pooled so that it never rises with k; the query's is its first item's."""
        spreads = self.spreads.copy()
        starts = self.offsets[:-1][np.diff(self.offsets) > 0]
        spreads[starts] += extra[self.slot_queries[starts]]
        of_item = np.empty(self.items.size)
        rates.pool_chain(self.offsets, spreads, self.slot_costs, self.overheads, of_item)
        of_query = np.zeros(self.offsets.size - 1)
        of_query[self.slot_queries[starts]] = of_item[starts]
        return of_query, of_item

    def prefix_totals(self, grades: Ints, item_probs: Floats, n_known: Ints) -> tuple[Floats, Floats]:
        """Return what every prefix of the known items of every query says, by place of its last item."""
        f = path_of(self.target, self.nodes, self.node_weights, self.offsets, self.items, grades, n_known)
        totals, within = np.zeros((f.size, 2)), np.zeros((f.size, 3))
        paths = (self.predictions, f, self.lowest, item_probs)
        reveal.prefix_totals(*(self.offsets, n_known, *paths, totals, within))
        return totals, within


@dataclass(frozen=True, eq=False)
class Items(Stage):
    """Items of an additive measure, each judged with a probability of its own; dearest information first.

    Attributes
    ----------
    contrast, means, spreads : ndarray, shape (items.size,)
        c_i (Δc_i in a comparison), E[g_i] and E[d_i²] = c_i² E[(g_i − μ_i)²].
    nodes, node_weights, gains : ndarray
        The grade model, and the gain of each grade.
    """

    contrast: Floats
    means: Floats
    spreads: Floats
    nodes: Floats
    node_weights: Floats
    gains: Floats
    kind: ClassVar[str] = "items"
    is_nested: ClassVar[bool] = False

    @property
    def max_grade(self) -> int | None:
        """The largest grade that the grade model knows."""
        return int(self.nodes.shape[2]) - 1

    @cached_property
    def regressors(self) -> Floats:
        """What is known of every query for a regression, shape (n_queries, 2): Σ c_i and Σ c_i μ_i."""
        n_queries = self.offsets.size - 1
        columns = (self.contrast, self.contrast * self.means)
        return np.column_stack([np.bincount(self.slot_queries, c, minlength=n_queries) for c in columns])

    @cached_property
    def node_means(self) -> Floats:
        """E[g_i | u], shape (items.size, n_nodes)."""
        return np.ascontiguousarray((self.nodes @ self.gains)[:, self.items].T)

    def ratios(self, extra: Floats) -> tuple[Floats, Floats]:
        """Return variance over cost of every query's stage and of every item, none above its query's."""
        of_items = np.bincount(self.slot_queries, self.spreads, minlength=self.variances.size)
        total = self.variances + extra
        left = np.maximum(total - of_items, LEAST_STAGE_SHARE * total)
        of_query, of_item = np.zeros(left.size), np.empty(self.items.size)
        rates.pool_star(self.offsets, self.spreads, self.slot_costs, left, self.overheads, of_query, of_item)
        return of_query, of_item

    def observer(self, grades: Ints, item_probs: Floats, n_known: Ints | None = None) -> Observer:
        """Return the function that says what draws tell once they are judged; see `Stage.observer`."""
        gains, likelihoods = self._labels(grades)
        sums = np.empty_like(self.node_means)
        item_kernel.running_sums(self.offsets, self.contrast, self.node_means, sums)
        model = (self.node_means, likelihoods, self.node_weights, sums, item_probs)

        def observe(queries: Ints, counts: Ints, slots: Ints) -> tuple[Floats, Floats]:
            totals, within = np.empty((queries.size, 3)), np.empty((queries.size, 6))
            drawn = (queries, counts, slots, totals, within)
            item_kernel.observe_items(*(self.offsets, self.contrast, gains, *model, *drawn))
            return totals, within

        return observe

    def _labels(self, grades: Ints) -> tuple[Floats, Floats]:
        """Return the gain of every place of ``items`` and p(its grade | u), 1 where it could not be judged."""
        own = grades[self.items]
        known = np.maximum(own, 0)
        gains = np.where(own >= 0, self.gains[known], 0.0)
        likelihoods = np.where(own[:, None] >= 0, self.nodes[:, self.items, known].T, 1.0)
        return gains, np.ascontiguousarray(likelihoods)


STAGES: dict[str, type[Stage]] = {stage.kind: stage for stage in (Stage, Prefix, Items)}


def _never_rising(values: Floats, offsets: Ints) -> Floats:
    """Return for every place the largest value from it to the end of its query."""
    out = values[::-1].copy()
    owners = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))[::-1]
    # a query's places are lifted above those of the queries after it, so that one running maximum serves all
    lift = (owners.max(initial=0) - owners) * (out.max(initial=0.0) + 1.0)
    return np.asarray((np.maximum.accumulate(out + lift) - lift)[::-1])


def reveal_arrays(target: Target, nodes: Floats, node_weights: Floats, offsets: Ints, items: Ints) -> tuple[Any, ...]:
    """Return the arguments that every walk over the items of a target shares."""
    terms = target.terms(nodes.shape[2])
    measure = (terms.numerator, terms.values, terms.discounts, terms.steps, terms.reaches, terms.cumulative)
    rankings = (target.ranking.offsets, target.ranking.items, target.other.offsets, target.other.items)
    model = (sealed(nodes), sealed(node_weights))
    return *measure, target.pool.query_offsets, *model, *rankings, sealed(offsets, np.int64), sealed(items, np.int64)


def path_of(
    target: Target, nodes: Floats, node_weights: Floats, offsets: Ints, items: Ints, grades: Ints, n_known: Ints
) -> Floats:
    """Return f_k for the first ``n_known`` items of every query, by place of ``items``."""
    arrays = reveal_arrays(target, nodes, node_weights, offsets, items)
    f, f0 = np.zeros(items.size), np.empty(offsets.size - 1)
    labels, known, no_samples = sealed(grades, np.int64), sealed(n_known, np.int64), np.empty((0, 1))
    reveal.reveal(*(*arrays, 0, f0.size, labels, known, no_samples, f0, f, np.empty(0)))
    return f
