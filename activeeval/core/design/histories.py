"""Adaptive depth: rates that follow a query's own labels, by how much of its value they leave open.

Rates r are planned before any label, as for a fixed depth. With S_k the variance that the first k labels of a query are
planned to leave of its value and C_k the variance that they do leave,

    ρ_k = clip(C_k / S_k, ¼, 4),      r_{k+1} = min(r_k, max(s_k floor, sqrt(ρ_k b_{k+1}))),

where sqrt(b) is the planned slope, sqrt(variance / cost), and floor the least rate of the place; for a cascade measure
(ERR), s_k is the expected share of users who come this far, otherwise 1. Given the labels of
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
    """Check that a schedule of adaptive depth is one of `LOOKS` and return it; raise InputError if it is not."""
    return one_of(looks, LOOKS, "adaptive_depth")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class History:
    """Data with which the sampling rates of an order follow the labels of their queries (adaptive depth).

    A place is the position of one item in the judging order of its query.

    Attributes
    ----------
    looks : ndarray of bool, shape (n_places,)
        True if the query's depth is planned again once the place has its label.
    planned : ndarray, shape (n_places,)
        S: variance that the labels up to the place are planned to leave, as a weighted sum over targets.
    weights : ndarray, shape (n_targets, n_queries)
        Weights of each target in C and S (the actual and the planned variance left).
    alive, expected : ndarray, shape (n_places,)
        Label sets are drawn from the grade model: share of them in which each place is judged, and its mean rate in
        these; 0 if it is never judged.
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
        """Plan how the rates of an order will follow labels.

        Parameters
        ----------
        order : Order
            The places (items in the judging order of their query) with their planned rates.
        weights : sequence of float
            Weight ω of each target; may be empty for a single target.
        beliefs : GradeProbs
            The grade model.
        known : ndarray of int64, shape (n_items,)
            Grades known beforehand, −1 for unknown.
        looks : str
            When depths are planned again, one of `LOOKS`.

        Raises
        ------
        InputError
            If ``looks`` is not one of `LOOKS`.
        """
        omega = np.array(
            [_weights_of(target, weight) for target, weight in zip(targets, weights or (1.0,), strict=True)]
        )
        at_looks = looks_of(check_looks(looks), order, targets, beliefs)
        (planned, alive, expected), curves = planned_of(order, targets, omega, beliefs, known, at_looks)
        return cls(looks=at_looks, planned=planned, weights=omega, alive=alive, expected=expected, curves=curves)

    def averaged(self, order: Order) -> Order:
        """Return the order with each place's mean rate and expected cost over labels drawn from the grade model.

        The mean rate is over the label sets in which the place is judged; the cost is 0 in the others.
        """
        return replace(order, place_rates=self.expected, costs=order.costs * self.alive)

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> History:
        """Rebuild a history from the named arrays of a sample's file, which `arrays` returned."""
        columns = {name: arrays[f"history.{name}"] for name in _ARRAYS}
        curves = [PlannedVariance.of_array(arrays[f"history.curve{k}"]) for k in range(len(columns["weights"]))]
        return cls(**columns, curves=tuple(curves))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the history as named arrays, for a sample's file."""
        curves = {f"history.curve{k}": curve.array() for k, curve in enumerate(self.curves)}
        return {f"history.{name}": getattr(self, name) for name in _ARRAYS} | curves

    def curve(self, order: Order, target: Target, beliefs: GradeProbs, known: Ints) -> PlannedVariance:
        """Compute the planned variance, by sampling level, of one of the design's targets restricted to some queries.

        ``order`` holds the planned places and rates, ``known`` (n_items,) the grades known beforehand, −1 for unknown.
        At the sampling level T, a place of rate r is judged with probability min(1, T r).
        """
        # of the results by target, that of the only one
        return planned_of(order, (target,), _weights_of(target, 1.0)[None], beliefs, known, self.looks)[1][0]

    def path(self, seen: LabelsSoFar, fixed: Floats | None = None) -> tuple[Floats, Ints]:
        """Compute the sampling rates that the labels so far determine, and how many places of each query to judge.

        A place is an item in the judging order of its query.

        Parameters
        ----------
        seen : LabelsSoFar
            The order as planned, and the labels so far: those of a query's first places.
        fixed : ndarray, shape (n_places,), optional
            Rates that are fixed already and do not change with labels; 0 for others.

        Returns
        -------
        rates : ndarray, shape (n_places,)
            0 where further labels are needed.
        living : ndarray of int64, shape (n_queries,)
            Number of first places of each query whose labels are requested.
        """
        order = seen.order
        left, shares, stops = self._left(seen)
        # variance that the labels leave, relative to the plan
        ratios = np.divide(left, self.planned, out=np.ones_like(left), where=self.planned > 0)
        fixed = np.zeros(order.items.size) if fixed is None else fixed
        place_rates, living = np.empty(order.items.size), np.empty(order.n_queries, dtype=np.int64)
        # made_of: p sqrt(variance / cost), and the least rate, of each place
        arrays = (order.query_rates, *made_of(order), ratios, shares, self.looks, stops, fixed)
        rates.go_on(order.offsets, seen.wanted, seen.depths, *arrays, place_rates, living)
        return rounded(place_rates), living

    def stops(self, seen: LabelsSoFar) -> Ints:
        """Compute, for each query, after how many labels no further label can change its value, shape (n_queries,).

        The number is larger than the query's number of places (items in judging order) if the labels do not reach that
        point.
        """
        return self._left(seen)[2]

    def _left(self, seen: LabelsSoFar) -> tuple[Floats, Floats, Ints]:
        """Combine three results of all targets: variance left, share of continuing users, and stop.

        Returns
        -------
        left, shares : ndarray, shape (n_places,)
            Variance that the labels up to each place (item in judging order) leave, summed over targets with their
            weights; largest share of users who continue after the place (1 unless the measure is a cascade).
        stops : ndarray of int64, shape (n_queries,)
            Number of labels after which no target's value of the query can change.
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
    """Return an order (places with sampling rates) with the rates (n_places,) that labels have determined.

    A place is the position of an item in the judging order of its query. Places after the first ``living`` (n_queries,)
    are dead: their labels cannot change the value any more, so they cost nothing and are not judged.
    """
    is_dead = order.numbers >= living[order.place_queries]
    costs = np.where(is_dead & (order.place_rates > 0), 0.0, order.costs)
    return replace(order, place_rates=place_rates, costs=costs, dead=is_dead)


def tails_of(order: Order, target: Target, beliefs: GradeProbs) -> Ints:
    """Count the places of each query up to the last whose label can change the numerator of the value, (n_queries,).

    Places are items in the judging order. Labels of later places change only the ideal (the best possible score that
    divides nDCG, R, AP). For a measure without an ideal, the count includes all places that may be judged.
    """
    wanted = wanted_of(order)
    if target.terms(beliefs.max_grade + 1).is_exact:
        return wanted
    moves = moves_numerator(target, beliefs)[order.items] & (order.place_rates > 0)
    tails = np.zeros(order.n_queries, dtype=np.int64)
    np.maximum.at(tails, order.place_queries[moves], order.numbers[moves] + 1)
    return tails


def moves_numerator(target: Target, beliefs: GradeProbs) -> Bools:
    """Flag the items whose labels can change the numerator of a target's value, shape (n_items,).

    For an additive numerator they are those whose rank has a weight, or different weights in two compared lists; for
    others all items of both lists down to the target's depth.
    """
    if target.terms(beliefs.max_grade + 1).numerator == ADDITIVE:
        return np.asarray(target.contrast != 0)
    moves = np.zeros(target.pool.n_items, dtype=np.bool_)
    for ranking in (target.ranking, target.other):
        moves[ranking.items[ranking.ranks <= target.depth]] = True
    return moves


def ranked_first(targets: Sequence[Target], beliefs: GradeProbs, items: Ints, worth: Floats) -> Floats:
    """Compute sort keys of items, larger ones first, shape (items.size,).

    Items whose label can change a numerator come first, by descending ``worth``. The others, which change only an
    ideal, follow by descending expected gain.

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
    # from 1 to 2, and below 1: the order within both groups stays, and the first is ahead
    return np.where(moves, 1.0 + worth / (1.0 + worth), gains / (1.0 + gains))


def looks_of(looks: str, order: Order, targets: Sequence[Target], beliefs: GradeProbs) -> Bools:
    """Flag the places (items in the judging order) after whose label a query's depth is planned again, (n_places,).

    ``looks`` is "each" label, "3" (the first, the third and the last ranked item), "1" (the last ranked item) or "off".
    """
    if looks in ("each", "off"):
        return np.full(order.items.size, looks == "each")
    n_labels = order.numbers + 1
    tails = np.max([tails_of(order, target, beliefs) for target in targets], axis=0)
    at = n_labels == tails[order.place_queries]
    return np.asarray(at | np.isin(n_labels, _EARLY) if looks == "3" else at)


def _weights_of(target: Target, weight: float) -> Floats:
    """Compute the factor of a target's variance in each query, shape (n_queries,); 0 outside the target's segment."""
    p, within = target.pool.query_probs, target.within
    if within is None:
        return np.full(p.size, float(weight))
    # the probability of a query within the segment is p over that of the segment; variances have its square
    return np.where(within, weight / float(p[within].sum()) ** 2, 0.0)
