"""Adaptive depth: rates that follow a query's own labels, by how much of its value they leave open.

Rates r are planned before any label, as for a fixed depth. With S_k the variance that the first k labels are planned
to leave of a value and C_k the variance that they do leave,

    ρ_k = clip(C_k / S_k, ¼, 4),      r_{k+1} = min(r_k, max(s_k floor, sqrt(ρ_k b_{k+1}))),

sqrt(b) the planned slope and, for a cascade, s_k the expected share of users who come this far. Given the labels of
its items a query's rates are constants, whatever the model predicts, so everything proved for a design with planned
rates applies: once labels are known it *is* such a design (`Design.followed`).
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
"""When a query's depth is planned again: after each label; after the first, the third and the ranked items; after the
ranked items only; never."""
_EARLY = (1, 3)
_ARRAYS = ("looks", "planned", "weights", "alive", "expected")


def check_looks(looks: str) -> str:
    """Check that a schedule of adaptive depth is one of `LOOKS` and return it."""
    return one_of(looks, LOOKS, "adaptive_depth")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class History:
    """Data with which rates follow the labels of their queries.

    Attributes
    ----------
    looks : ndarray of bool, shape (n_places,)
        True if the depth is planned again once the place has its label.
    planned : ndarray, shape (n_places,)
        S once the place has its label, summed over targets.
    weights : ndarray, shape (n_targets, n_queries)
        Weights of each target's C and S.
    alive, expected : ndarray, shape (n_places,)
        Share of the label sets drawn from the model in which each place is judged, and its mean rate in these; 0 if it
        is never judged.
    curves : tuple of PlannedVariance
        The planned variance of each target, by level.
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
        """Plan the history of an order for some targets.

        Parameters
        ----------
        weights : sequence of float
            ω of each target; may be empty for a single target.
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
        """Average an order over labels drawn from the model: mean rates and expected costs of its places."""
        return replace(order, place_rates=self.expected, costs=order.costs * self.alive)

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> History:
        """Rebuild a history from the arrays that `arrays` wrote."""
        columns = {name: arrays[f"history.{name}"] for name in _ARRAYS}
        curves = [PlannedVariance.of_array(arrays[f"history.curve{k}"]) for k in range(len(columns["weights"]))]
        return cls(**columns, curves=tuple(curves))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the history as arrays, for a sample's file."""
        curves = {f"history.curve{k}": curve.array() for k, curve in enumerate(self.curves)}
        return {f"history.{name}": getattr(self, name) for name in _ARRAYS} | curves

    def curve(self, order: Order, target: Target, beliefs: GradeProbs, known: Ints) -> PlannedVariance:
        """Compute the planned variance of a target that is one of the design's targets restricted to some queries."""
        return planned_of(order, (target,), _weights_of(target, 1.0)[None], beliefs, known, self.looks)[1][0]

    def path(self, seen: LabelsSoFar, fixed: Floats | None = None) -> tuple[Floats, Ints]:
        """Compute place rates determined by the labels so far (0 for others) and the number of places to judge.

        Parameters
        ----------
        fixed : ndarray, shape (n_places,), optional
            Rates already fixed, which do not change with labels; 0 for others.
        """
        order = seen.order
        left, shares, stops = self._left(seen)
        ratios = np.divide(left, self.planned, out=np.ones_like(left), where=self.planned > 0)
        fixed = np.zeros(order.items.size) if fixed is None else fixed
        place_rates, living = np.empty(order.items.size), np.empty(order.n_queries, dtype=np.int64)
        arrays = (order.query_rates, *made_of(order), ratios, shares, self.looks, stops, fixed)
        rates.go_on(order.offsets, seen.wanted, seen.depths, *arrays, place_rates, living)
        return rounded(place_rates), living

    def stops(self, seen: LabelsSoFar) -> Ints:
        """Compute the number of labels after which no further label can change a value, shape (n_queries,).

        Larger than the number of places if that point is not reached.
        """
        return self._left(seen)[2]

    def _left(self, seen: LabelsSoFar) -> tuple[Floats, Floats, Ints]:
        """Compute the variance left after each place, the share of users who continue, and the stop of each query.

        Combined over all targets. The stop is the number of labels after which no value can change.
        """
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
    """Return an order with rates that follow labels; places after the first ``living`` (n_queries,) are dead."""
    is_dead = order.numbers >= living[order.place_queries]
    costs = np.where(is_dead & (order.place_rates > 0), 0.0, order.costs)
    return replace(order, place_rates=place_rates, costs=costs, dead=is_dead)


def tails_of(order: Order, target: Target, beliefs: GradeProbs) -> Ints:
    """Count the places of each query after which only the ideal depends on labels, shape (n_queries,).

    All of its places if the measure has no ideal.
    """
    wanted = wanted_of(order)
    if target.terms(beliefs.max_grade + 1).is_exact:
        return wanted
    moves = moves_numerator(target, beliefs)[order.items] & (order.place_rates > 0)
    tails = np.zeros(order.n_queries, dtype=np.int64)
    np.maximum.at(tails, order.place_queries[moves], order.numbers[moves] + 1)
    return tails


def moves_numerator(target: Target, beliefs: GradeProbs) -> Bools:
    """Flag the items whose labels can change the numerator of a value, shape (n_items,)."""
    if target.terms(beliefs.max_grade + 1).numerator == ADDITIVE:
        return np.asarray(target.contrast != 0)
    moves = np.zeros(target.pool.n_items, dtype=np.bool_)
    for ranking in (target.ranking, target.other):
        moves[ranking.items[ranking.ranks <= target.depth]] = True
    return moves


def ranked_first(targets: Sequence[Target], beliefs: GradeProbs, items: Ints, worth: Floats) -> Floats:
    """Compute sort keys of items: those that move a numerator first, by their worth, then the others by expected gain.

    Parameters
    ----------
    worth : ndarray, shape (items.size,)
        Variance removed by the label of each item.
    """
    moves = np.any([moves_numerator(target, beliefs)[items] for target in targets], axis=0)
    owners = targets[0].pool.item_queries[items]
    gains = np.zeros(items.size)
    for target in targets:
        values = target.terms(beliefs.max_grade + 1).values
        gains += mean_over_nodes(beliefs.weights[owners], (beliefs.nodes @ values)[:, items])
    return np.where(moves, 1.0 + worth / (1.0 + worth), gains / (1.0 + gains))


def looks_of(looks: str, order: Order, targets: Sequence[Target], beliefs: GradeProbs) -> Bools:
    """Flag the places after whose label a query's depth is planned again, shape (n_places,)."""
    if looks in ("each", "off"):
        return np.full(order.items.size, looks == "each")
    n_labels = order.numbers + 1
    tails = np.max([tails_of(order, target, beliefs) for target in targets], axis=0)
    at = n_labels == tails[order.place_queries]
    return np.asarray(at | np.isin(n_labels, _EARLY) if looks == "3" else at)


def _weights_of(target: Target, weight: float) -> Floats:
    """Compute the weight of a target in each query, shape (n_queries,); 0 outside the target's segment."""
    p, within = target.pool.query_probs, target.within
    if within is None:
        return np.full(p.size, float(weight))
    return np.where(within, weight / float(p[within].sum()) ** 2, 0.0)
