"""Inputs of a design: the places (positions of items in their query's judging order) and the variances of its values.

They belong to a pool, or to a part of one if a large pool is processed in chunks. Each query's part depends on no other
query, so the size of the chunks does not matter. Rates also need sums over the whole pool
(`activeeval.core.design.rates.RateSums`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Literal

import numpy as np

from activeeval.core.checks import brief
from activeeval.core.design.beliefs import GradeProbs
from activeeval.core.design.order_places import OrderPlaces
from activeeval.core.design.orders import Order
from activeeval.core.design.rates import SIGNED, Ratios, RelativeRates, Variances, pooled, variance_left, weighed
from activeeval.core.design.readings import Reading, planned_by
from activeeval.core.design.stages import WHOLE, Stage
from activeeval.core.errors import InputError
from activeeval.core.measures import Target
from activeeval.core.types import Floats, Ints

HEDGE = 0.25
"""Weight of the uniform model's variances in the rates if the grade model is a grader (an LLM or another model).
Of 0, .25 and .5 (DCG@10 of one run and two, passages of 2021 and 2023, 2,000 repetitions; benchmarks/graders.py) the
efficiency relative to no model is .92 to .97, .94 to .98 and .95 to .99 with a random grader, .91 to 1.02, .96 to 1.03
and .98 to 1.04 with a reversed one, and 1.08 to 1.27, 1.07 to 1.26 and 1.06 to 1.24 with good ones. Uniform nodes
within the grade model cost more: at .25 good graders reach only 1.06 to 1.22.
"""
_STEPS = 30
"""Steps of the search for minimax weights; the worst loss then changes by less than a thousandth per step."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DesignInput:
    """A pool or a part of one, before its rates are computed.

    Attributes
    ----------
    stage : Stage
        What is judged of a query: all of it, a prefix or single items.
    targets : tuple of Target
    beliefs : GradeProbs or None
        The grade model.
    known : ndarray of int64, shape (n_items,)
        Known grades, −1 for unknown.
    places : OrderPlaces
    bias : float
        Bias b of the predicted value of a query to guard against: the variance v of the value becomes v + b².
    """

    stage: Stage
    targets: tuple[Target, ...]
    beliefs: GradeProbs | None
    known: Ints
    places: OrderPlaces
    bias: float = 0.0

    @cached_property
    def target_variances(self) -> tuple[Variances, ...]:
        """Variances of each target's values under the grade model; 0 for queries outside the target's segment."""
        return self._all_variances(self.beliefs)

    @cached_property
    def hedged_variances(self) -> tuple[Variances, ...]:
        """Variances from which rates are computed, of each target.

        If the model is a grader (an LLM or another model), they are mixed with a share `HEDGE` of the variances under
        equally likely grades. A nested stage (which judges prefixes) needs no mixing: its model is `defended` already.
        """
        if self.beliefs is None or self.beliefs.refit is None or self.stage.is_nested:
            return self.target_variances
        blind = self.stage.model(self.beliefs.blind())
        of_blind = self._all_variances(blind)
        return tuple(
            by_model.mixed_with(other, HEDGE) for by_model, other in zip(self.target_variances, of_blind, strict=True)
        )

    def _all_variances(self, beliefs: GradeProbs | None) -> tuple[Variances, ...]:
        """Compute the variances of each target's values under a grade model.

        Targets that differ only in their segment share one computation.
        """
        of_question: dict[tuple[int, int, int], Variances] = {}  # by identity of measure, ranking and other ranking
        out = []
        for target in self.targets:
            question = (id(target.measure), id(target.ranking), id(target.versus))
            if question not in of_question:
                of_question[question] = self.stage.variances(target, self.places, beliefs)
            out.append(self._within(target, of_question[question]))
        return tuple(out)

    def _within(self, target: Target, variances: Variances) -> Variances:
        """Add the squared bias to the variances and restrict them to the target's segment: 0 for other queries.

        The bias is that of a query's predicted value to guard against.
        """
        of_query, of_open, least = variances.of_query + self.bias**2, variances.of_open, variances.least_shares
        if target.within is not None:
            # p within the segment is p over that of the segment
            of_segment = target.within / float(self.places.pool.query_probs[target.within].sum()) ** 2
            inside = of_segment[self.places.open_queries]
            of_query, of_open, least = of_query * of_segment, of_open * inside, least * (inside > 0)
        return Variances(of_query=of_query, of_open=of_open, least_shares=least, misplaced=variances.misplaced)

    @property
    def draw_columns(self) -> tuple[Floats, Floats, Floats]:
        """Mean, variance and cost of each query, from which draw probabilities are computed; (n_queries,) each.

        They are m(x) = E[L | x] and Var[L | x] of the first target's value L (NaN without a grade model), and the cost
        of judging each query whole.
        """
        places, unknown = self.places, np.full(self.places.pool.n_queries, np.nan)
        of_places = np.bincount(places.open_queries, places.open_costs, minlength=unknown.size)
        costs = np.asarray(of_places + places.overheads)
        if self.beliefs is None:
            return unknown, unknown, costs
        moments = WHOLE.moments(self.targets[0], self.beliefs)
        return moments.mean, moments.variance, costs

    def planned(self, query_probs: Floats) -> Floats:
        """Compute the standard error that a design for each target alone would reach at a cost of 1, (n_targets,).

        It is Σ λ p sqrt(V/λ) with costs λ in the unit of the item costs, query probabilities p (``query_probs``,
        (n_queries,)) and variances V, if no probability is clipped to 1.
        """
        ratios = [self.stage.pooled(self.places, variances) for variances in self.target_variances]
        return np.array([math.fsum(weighed(self.places, of_target, query_probs)[0].tolist()) for of_target in ratios])

    def minimax_weights(self, query_probs: Floats) -> list[float]:
        """Compute the target weights that minimize the largest loss of a target; they sum to 1.

        The loss is V_t / V_t(alone): its variance in the joint design over that in a design for it alone, at the same
        cost. Each of `_STEPS` steps sets ω_t ← ω_t V_t / V_t(alone), starting from `equal_loss_weights`.
        """
        alone = self.planned(query_probs) ** 2  # variance of a design for each target alone, at a cost of 1
        equal = equal_loss_weights(np.sqrt(alone))
        if not alone.any():
            return equal
        weights = np.array(equal)
        for _ in range(_STEPS):
            ratios = self.stage.pooled(
                self.places, joint_variances(self.target_variances, weights.tolist(), self.places)
            )
            cost = math.fsum(weighed(self.places, ratios, query_probs)[0].tolist())
            left = [
                variance_left(self.places, variances, ratios, query_probs, is_nested=self.stage.is_nested)
                for variances in self.target_variances
            ]
            # variances at a cost of 1: these are of rates that cost ``cost``, and variance falls as 1 / cost
            weights = weights * np.divide(cost * np.array(left), alone, out=np.zeros_like(alone), where=alone > 0)
            weights /= max(float(weights.sum()), np.finfo(float).tiny)
        return [float(w) for w in weights]

    def target_weights(self, weights: Sequence[float] | Literal["minimax"] | None) -> Sequence[float]:
        """Return the weight of each target; empty for a single target.

        Parameters
        ----------
        weights : sequence of float, "minimax" or None
            The weights themselves, or None for `equal_loss_weights`, or "minimax" for `minimax_weights`.

        Raises
        ------
        InputError
            If ``weights`` is anything else.
        """
        query_probs = self.places.pool.query_probs
        if len(self.targets) == 1:
            return ()
        if weights is None:
            return equal_loss_weights(self.planned(query_probs))
        if isinstance(weights, Sequence | np.ndarray) and not isinstance(weights, str):
            return weights
        if weights == "minimax":
            return self.minimax_weights(query_probs)
        raise InputError(f"weights must be a number for each target, or 'minimax', got {weights!r}")

    def first(self, n: int) -> DesignInput:
        """Return the input for the first n targets; its places remain those that any of the targets needs.

        A place is an item in the judging order of its query.
        """
        return self if n == len(self.targets) else replace(self, targets=self.targets[:n])

    def bare_ratios(self, variances: Variances) -> Ratios:
        """Compute the sqrt(variance / cost) that minimize the variance under the model, without least probabilities.

        They are lowered or raised together where needed, so that no item exceeds its query or, if prefixes are judged,
        the item before it.
        """
        if not self.stage.is_nested:
            # SIGNED: a query's variance beyond that of its items may be below 0, if items cancel in a difference
            return pooled(self.places, variances, is_nested=False, least_share=SIGNED)
        return self.stage.pooled(self.places, replace(variances, misplaced=0.0))

    def rates(self, weights: Sequence[float], *, alike: bool) -> RelativeRates:
        """Compute sampling rates, up to a common factor, for targets with these weights; equal rates if ``alike``.

        ``weights`` has one number for each target, and is empty for a single one.
        """
        variances = () if alike else self.hedged_variances
        return relative_rates(self.stage, self.places, variances, weights, alike=alike)

    def readings(self, order: Order) -> tuple[Reading, ...]:
        """Build the reading (what an estimator needs besides labels) of each target on an order (items with rates).

        Raises
        ------
        InputError
            If the order cannot judge all items that a target needs.
        """
        readings = [self.stage.reading(target, order, self.beliefs, self.known) for target in self.targets]
        if self.beliefs is None:
            return tuple(readings)
        return tuple(
            replace(reading, plan=planned_by(order, self.places, variances, order.query_probs))
            for reading, variances in zip(readings, self.target_variances, strict=True)
        )


def checked_targets(targets: Target | Sequence[Target]) -> list[Target]:
    """Return one or several targets as a list; raise InputError if there is none, or they belong to several pools."""
    listed = [targets] if isinstance(targets, Target) else list(targets) if isinstance(targets, Sequence) else []
    if not listed or not all(isinstance(target, Target) for target in listed):
        raise InputError(f"a design is for a Target, or a list of them, got {targets!r}")
    for target in listed[1:]:
        if target.pool is not listed[0].pool:
            raise InputError(f"the targets of one sample must be of one pool; {target.name} is of another")
    return listed


def largest_grade(targets: Sequence[Target], max_grade: int | None) -> int | None:
    """Return the largest grade that all measures accept; ``max_grade`` if no measure limits it.

    None means unlimited. Raise InputError unless ``max_grade`` is None or a whole number from 1 on.
    """
    if max_grade is not None and (not isinstance(max_grade, Integral) or max_grade < 1):
        raise InputError(f"max_grade must be a whole number from 1 on, got {brief(max_grade)}")
    tops = [t.measure.max_grade for t in targets if t.measure.max_grade is not None]
    return min(tops) if tops else max_grade


def relative_rates(
    stage: Stage, places: OrderPlaces, variances: Sequence[Variances], weights: Sequence[float], *, alike: bool
) -> RelativeRates:
    """Compute sampling rates, up to a common factor, from the variances of targets with their weights.

    They are sqrt(variance / cost), pooled where ``stage`` judges items together. If ``alike`` is true, all rates are
    equal and ``variances`` and ``weights`` are not used. For several targets, raise InputError unless the weights are
    one finite number of at least 0 for each target, not all 0.
    """
    if alike:
        n = places.open_costs.size
        return RelativeRates(Ratios(np.ones(places.pool.n_queries), np.ones(n)), np.ones(n), weighs_costs=False)
    together = joint_variances(variances, weights, places)
    return RelativeRates(stage.pooled(places, together), together.least_shares, is_doubted=together.misplaced > 0)


def equal_loss_weights(planned: Floats) -> list[float]:
    """Compute target weights with which the joint design raises the variances of all targets by about the same factor.

    ω_t is 1 over the variance that a design for target t alone plans at a cost of 1. A target whose value is already
    known gets 0; if all are known, all get 1.

    Parameters
    ----------
    planned : ndarray, shape (n_targets,)
        Square roots of these variances, from `DesignInput.planned`.

    Examples
    --------
    >>> equal_loss_weights(np.array([2.0, 0.0]))
    [0.25, 0.0]
    """
    if not planned.any():
        return [1.0] * planned.size
    return [1.0 / root**2 if root > 0 else 0.0 for root in planned.tolist()]


def joint_variances(variances: Sequence[Variances], weights: Sequence[float], places: OrderPlaces) -> Variances:
    """Combine the variances of several targets with weights ω into Σ_t ω_t V_t; a single target keeps its own.

    The least probability of a place (item in judging order) is the mean of the targets' ones, weighted by ω_t V_t in
    the place's query. Their maximum would keep rates high for ranks that matter to one target of many: for the 28 pairs
    of MQ2008's rankers, ERR at a tenth of the budget, passive then needs 4.0 times the labels, with this mean 10 times,
    and the intervals cover as often.

    Raises
    ------
    InputError
        If the weights are not one finite number from 0 on for each target, or are all 0.
    """
    if len(variances) == 1:
        return variances[0]
    if len(weights) != len(variances) or not all(0 <= w < math.inf for w in weights) or not any(weights):
        raise InputError(f"weights must be {len(variances)} finite numbers from 0 on, not all 0, got {list(weights)}")
    weighted = list(zip(weights, variances, strict=True))
    return Variances(
        of_query=np.sum([w * s.of_query for w, s in weighted], axis=0),
        of_open=np.sum([w * s.of_open for w, s in weighted], axis=0),
        least_shares=np.sum(
            [shares * s.least_shares for shares, s in zip(_stakes(weighted, places), variances, strict=True)], axis=0
        ),
        misplaced=max(s.misplaced for s in variances),
    )


def _stakes(weighted: Sequence[tuple[float, Variances]], places: OrderPlaces) -> Floats:
    """Compute each target's share of the weighted variance in the query of every wanted place, (n_targets, n_wanted).

    A place is wanted if its item's label is unknown and can change a value. ``weighted`` are weights and variances of
    the targets. A place is an item in the judging order of its query.
    """
    owners, n = places.open_queries, places.pool.n_queries
    varies = np.array([w * (s.of_query + np.bincount(owners, s.of_open, minlength=n)) for w, s in weighted])
    total = varies.sum(axis=0)
    shares = np.divide(varies, total, out=np.full_like(varies, 1.0 / len(varies)), where=total > 0)
    return np.asarray(shares[:, owners])
