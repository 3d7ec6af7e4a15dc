"""Depth that follows a query's own labels: how far the labels seen make a query worth going on with.

Rates are planned before any label, r as today's depth has them; with S_k what the first k labels are planned to leave
open of a value and C_k what they do leave open,

    ρ_k = clip(C_k / S_k, ¼, 4),      r_{k+1} = min(r_k, max(s_k floor, sqrt(ρ_k b_{k+1}))),

sqrt(b) the planned slope and, of a cascade, s_k the share of users who are expected to come so far. Given the labels of
its items a query's rates are constants, whatever the model says, so that all that holds of a design whose rates are
planned holds of this one: with labels at hand it *is* such a design (`Design.followed`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.core.checks import one_of
from activeeval.core.design.beliefs import GradeProbs
from activeeval.core.design.orders import Order, rounded
from activeeval.core.design.planned_variance import PlannedVariance
from activeeval.core.design.unresolved_variance import LabelsSoFar, left_of, made_of, planned_of, wanted_of
from activeeval.core.kernels import rates
from activeeval.core.measures import Target
from activeeval.core.measures.ranking_checks import mean_over_nodes
from activeeval.core.measures.terms import ADDITIVE
from activeeval.core.types import Bools, Floats, Ints

LOOKS = ("each", "3", "1", "off")
"""When labels are looked at: after each, after the first, the third and the ranked items, after these alone, never."""
_EARLY = (1, 3)
_ARRAYS = ("looks", "planned", "weights", "alive", "expected")


def check_looks(looks: str) -> str:
    """Return when labels are looked at, once it is known to be one of `LOOKS`."""
    return one_of(looks, LOOKS, "adaptive_depth")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class History:
    """What rates need to follow the labels of their queries.

    Attributes
    ----------
    looks : ndarray of bool, shape (n_places,)
        Whether labels are looked at once the place has its own.
    planned : ndarray, shape (n_places,)
        S once it has, all targets together.
    weights : ndarray, shape (n_targets, n_queries)
        Of each target's C and S.
    alive, expected : ndarray, shape (n_places,)
        In which share of the labels that the model draws each place is asked, and its mean rate in these; 0 in none.
    curves : tuple of Planned
        The variance that the design plans for each target, by level.
    """

    looks: Bools
    planned: Floats
    weights: Floats
    alive: Floats
    expected: Floats
    curves: tuple[PlannedVariance, ...]

    @classmethod
    def of(
        cls,
        order: Order,
        targets: Sequence[Target],
        weights: Sequence[float],
        beliefs: GradeProbs,
        known: Ints,
        looks: str,
    ) -> History:
        """Return the history of an order that was planned for some targets.

        Parameters
        ----------
        weights : sequence of float
            ω of each target; of one alone it may be empty.
        looks : str
            One of `LOOKS`.
        """
        omega = np.array(
            [_weights_of(target, weight) for target, weight in zip(targets, weights or (1.0,), strict=True)]
        )
        at_looks = looks_of(check_looks(looks), order, targets, beliefs)
        (planned, alive, expected), curves = planned_of(order, targets, omega, beliefs, known, at_looks)
        return cls(looks=at_looks, planned=planned, weights=omega, alive=alive, expected=expected, curves=curves)

    def averaged(self, order: Order) -> Order:
        """Return an order as labels that the model draws have it on average: what it costs by level, and judges."""
        return replace(order, place_rates=self.expected, costs=order.costs * self.alive)

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> History:
        """Return the history that `arrays` made arrays of."""
        columns = {name: arrays[f"history.{name}"] for name in _ARRAYS}
        curves = [PlannedVariance.of_array(arrays[f"history.curve{k}"]) for k in range(len(columns["weights"]))]
        return cls(**columns, curves=tuple(curves))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return it as arrays, for a sample's file."""
        curves = {f"history.curve{k}": curve.array() for k, curve in enumerate(self.curves)}
        return {f"history.{name}": getattr(self, name) for name in _ARRAYS} | curves

    def curve(self, order: Order, target: Target, beliefs: GradeProbs, known: Ints) -> PlannedVariance:
        """Return the variance planned for a target that asks of some queries what one of the design's asks of all."""
        return planned_of(order, (target,), _weights_of(target, 1.0)[None], beliefs, known, self.looks)[1][0]

    def path(self, seen: LabelsSoFar, kept: Floats | None = None) -> tuple[Floats, Ints]:
        """Return the rates of places as far as labels have them known, else 0, and of how many labels are asked.

        Parameters
        ----------
        kept : ndarray, shape (n_places,), optional
            Rates that places have already, whatever their labels are by now; 0 where there is none.
        """
        order = seen.order
        left, shares, stops = self._left(seen)
        ratios = np.divide(left, self.planned, out=np.ones_like(left), where=self.planned > 0)
        kept = np.zeros(order.items.size) if kept is None else kept
        place_rates, living = np.empty(order.items.size), np.empty(order.n_queries, dtype=np.int64)
        arrays = (order.query_rates, *made_of(order), ratios, shares, self.looks, stops, kept)
        rates.go_on(order.offsets, seen.wanted, seen.depths, *arrays, place_rates, living)
        return rounded(place_rates), living

    def stops(self, seen: LabelsSoFar) -> Ints:
        """Return after how many labels no other can change any value, shape (n_queries,).

        More than there are where that is not seen.
        """
        return self._left(seen)[2]

    def _left(self, seen: LabelsSoFar) -> tuple[Floats, Floats, Ints]:
        """Return C by place of all targets, once it has its label, which share of users goes on, and where all stop."""
        owners = seen.order.place_queries
        left, shares = np.zeros((2, owners.size))
        stops = np.zeros(seen.order.n_queries, dtype=np.int64)
        for target, weights in zip(seen.targets, self.weights, strict=True):
            of_target, of_shares, of_stops = left_of(target, seen)
            left += weights[owners] * of_target
            shares = np.maximum(shares, np.where(weights[owners] > 0, of_shares, 0.0))
            stops = np.maximum(stops, np.where(weights > 0, of_stops, 0))
        return left, shares, stops


def along(order: Order, place_rates: Floats, living: Ints) -> Order:
    """Return an order whose places have rates that follow labels; those behind the ``living`` (n_queries,) are dead."""
    is_dead = order.numbers >= living[order.place_queries]
    costs = np.where(is_dead & (order.place_rates > 0), 0.0, order.costs)
    return replace(order, place_rates=place_rates, costs=costs, dead=is_dead)


def tails_of(order: Order, target: Target, beliefs: GradeProbs) -> Ints:
    """Return behind how many places of each query only the ideal depends on labels, shape (n_queries,).

    All of its places where there is no ideal.
    """
    wanted = wanted_of(order)
    if target.terms(beliefs.max_grade + 1).is_exact:
        return wanted
    moves = moves_numerator(target, beliefs)[order.items] & (order.place_rates > 0)
    tails = np.zeros(order.n_queries, dtype=np.int64)
    np.maximum.at(tails, order.place_queries[moves], order.numbers[moves] + 1)
    return tails


def moves_numerator(target: Target, beliefs: GradeProbs) -> Bools:
    """Return which items' labels move the numerator of a value, shape (n_items,)."""
    if target.terms(beliefs.max_grade + 1).numerator == ADDITIVE:
        return np.asarray(target.contrast != 0)
    moves = np.zeros(target.pool.n_items, dtype=np.bool_)
    for ranking in (target.ranking, target.other):
        moves[ranking.items[ranking.ranks <= target.depth]] = True
    return moves


def ranked_first(targets: Sequence[Target], beliefs: GradeProbs, items: Ints, worth: Floats) -> Floats:
    """Return by what items are ordered: those that move a numerator by what they are worth, then by expected gain.

    Parameters
    ----------
    worth : ndarray, shape (items.size,)
    """
    moves = np.any([moves_numerator(target, beliefs)[items] for target in targets], axis=0)
    owners = targets[0].pool.item_queries[items]
    gains = np.zeros(items.size)
    for target in targets:
        values = target.terms(beliefs.max_grade + 1).values
        gains += mean_over_nodes(beliefs.weights[owners], (beliefs.nodes @ values)[:, items])
    return np.where(moves, 1.0 + worth / (1.0 + worth), gains / (1.0 + gains))


def looks_of(looks: str, order: Order, targets: Sequence[Target], beliefs: GradeProbs) -> Bools:
    """Return after which places labels are looked at, shape (n_places,)."""
    if looks in ("each", "off"):
        return np.full(order.items.size, looks == "each")
    n_labels = order.numbers + 1
    tails = np.max([tails_of(order, target, beliefs) for target in targets], axis=0)
    at = n_labels == tails[order.place_queries]
    return np.asarray(at | np.isin(n_labels, _EARLY) if looks == "3" else at)


def _weights_of(target: Target, weight: float) -> Floats:
    """Return what a target counts for in each query, shape (n_queries,); nothing where it is not about one."""
    p, within = target.pool.query_probs, target.within
    if within is None:
        return np.full(p.size, float(weight))
    return np.where(within, weight / float(p[within].sum()) ** 2, 0.0)
