"""A pool, or a part of one, as a method sees it: what can be judged of each query, and what its values vary by.

Nothing here depends on another query: a pool in chunks has the same parts, whatever their size. What rates need of
the whole pool beside is in `activeeval.core.design.rates.RateSums`.
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
from activeeval.core.design.orders import Order, OrderPlaces
from activeeval.core.design.rates import SIGNED, Ratios, RelativeRates, Variances, pooled, variance_left, weighed
from activeeval.core.design.readings import Reading, planned_by
from activeeval.core.design.stages import WHOLE, Stage
from activeeval.core.errors import InputError
from activeeval.core.measures import Target
from activeeval.core.types import Floats, Ints

HEDGE = 0.25
"""Share of what rates are made of where the model is a grader that is a machine: as if all grades were equally likely.
Of 0, .25 and .5 (DCG@10 of one run and two, passages of 2021 and 2023, 2,000 repetitions; benchmarks/graders.py) with
dice for a grader the efficiency over no model is .92 to .97, .94 to .98 and .95 to .99, with one that is turned round
.91 to 1.02, .96 to 1.03 and .98 to 1.04, with good ones 1.08 to 1.27, 1.07 to 1.26 and 1.06 to 1.24. Nodes of no model
among those of the beliefs cost more: at .25 good ones are left with 1.06 to 1.22.
"""
_STEPS = 30
"""Of the search for minimax weights; the worst loss then moves by less than a thousandth a step."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DesignInput:
    """A pool or a part of one, before its rates are known.

    Attributes
    ----------
    stage : Stage
    targets : tuple of Target
    beliefs : GradeProbs or None
    known : ndarray of int64, shape (n_items,)
    places : Places
    bias : float
        Of the model's prediction of L, to be guarded against: v + b² takes the place of v.
    """

    stage: Stage
    targets: tuple[Target, ...]
    beliefs: GradeProbs | None
    known: Ints
    places: OrderPlaces
    bias: float = 0.0

    @cached_property
    def target_variances(self) -> tuple[Variances, ...]:
        """What the values of each target vary by, in the queries that it is about."""
        return self._all_variances(self.beliefs)

    @cached_property
    def hedged_variances(self) -> tuple[Variances, ...]:
        """What rates are made of: the same, beside a machine's word a share of `HEDGE` as no model would say.

        What a nested stage believes is doubted already.
        """
        if self.beliefs is None or self.beliefs.refit is None or self.stage.is_nested:
            return self.target_variances
        blind = self.stage.model(self.beliefs.blind())
        of_blind = self._all_variances(blind)
        return tuple(
            by_model.mixed_with(other, HEDGE) for by_model, other in zip(self.target_variances, of_blind, strict=True)
        )

    def _all_variances(self, beliefs: GradeProbs | None) -> tuple[Variances, ...]:
        """Return what the values of each target vary by; of one question about several segments computed once."""
        of_question: dict[tuple[int, int, int], Variances] = {}
        out = []
        for target in self.targets:
            question = (id(target.measure), id(target.ranking), id(target.versus))
            if question not in of_question:
                of_question[question] = self.stage.variances(target, self.places, beliefs)
            out.append(self._within(target, of_question[question]))
        return tuple(out)

    def _within(self, target: Target, variances: Variances) -> Variances:
        """Return what of variances, which are of all queries, counts for those that a target is about."""
        of_query, of_open, least = variances.of_query + self.bias**2, variances.of_open, variances.least_shares
        if target.within is not None:
            # p within the segment is p over that of the segment
            of_segment = target.within / float(self.places.pool.query_probs[target.within].sum()) ** 2
            inside = of_segment[self.places.open_queries]
            of_query, of_open, least = of_query * of_segment, of_open * inside, least * (inside > 0)
        return Variances(of_query=of_query, of_open=of_open, least_shares=least, misplaced=variances.misplaced)

    @property
    def draw_columns(self) -> tuple[Floats, Floats, Floats]:
        """Mean and variance of each query's value under the model, NaN without one, and its cost: what draws rest on.

        m(x) and Var[L | x] of the first target; what each query costs judged whole.
        """
        places, unknown = self.places, np.full(self.places.pool.n_queries, np.nan)
        of_places = np.bincount(places.open_queries, places.open_costs, minlength=unknown.size)
        costs = np.asarray(of_places + places.overheads)
        if self.beliefs is None:
            return unknown, unknown, costs
        moments = WHOLE.moments(self.targets[0], self.beliefs)
        return moments.mean, moments.variance, costs

    def planned(self, query_probs: Floats) -> Floats:
        """Return how uncertain each target's own design would leave it, shape (n_targets,).

        Σ λ p sqrt(V/λ): the square root of its variance at a cost of 1, without clipping.
        """
        ratios = [self.stage.pooled(self.places, variances) for variances in self.target_variances]
        return np.array([math.fsum(weighed(self.places, of_target, query_probs)[0].tolist()) for of_target in ratios])

    def minimax_weights(self, query_probs: Floats) -> list[float]:
        """Return the weights of targets for which the largest loss against a target's own design is least.

        ω_t ← ω_t V_t / V_t(alone), scaled to sum to 1, from equal losses on (V_t at one and the same cost).
        """
        alone = self.planned(query_probs) ** 2
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
            weights = weights * np.divide(cost * np.array(left), alone, out=np.zeros_like(alone), where=alone > 0)
            weights /= max(float(weights.sum()), np.finfo(float).tiny)
        return [float(w) for w in weights]

    def target_weights(self, asked: Sequence[float] | Literal["minimax"] | None) -> Sequence[float]:
        """Return ω of each target of a pool; none where it is one alone."""
        query_probs = self.places.pool.query_probs
        if len(self.targets) == 1:
            return ()
        if asked is None:
            return equal_loss_weights(self.planned(query_probs))
        if isinstance(asked, Sequence | np.ndarray) and not isinstance(asked, str):
            return asked
        if asked == "minimax":
            return self.minimax_weights(query_probs)
        raise InputError(f"weights must be a number for each target, or 'minimax', got {asked!r}")

    def first(self, n: int) -> DesignInput:
        """Return what its first targets alone are asked of, on the places of all."""
        return self if n == len(self.targets) else replace(self, targets=self.targets[:n])

    def bare_ratios(self, variances: Variances) -> Ratios:
        """Return sqrt(variance / cost), pooled, without any least probability: what leaves the least variance."""
        if not self.stage.is_nested:
            return pooled(self.places, variances, is_nested=False, least_share=SIGNED)
        return self.stage.pooled(self.places, replace(variances, misplaced=0.0))

    def rates(self, weights: Sequence[float], *, alike: bool) -> RelativeRates:
        """Return how rates compare where targets have these weights; none differs where all are `alike`."""
        variances = () if alike else self.hedged_variances
        return relative_rates(self.stage, self.places, variances, weights, alike=alike)

    def readings(self, order: Order) -> tuple[Reading, ...]:
        """Return the reading of each target on an order."""
        readings = [self.stage.reading(target, order, self.beliefs, self.known) for target in self.targets]
        if self.beliefs is None:
            return tuple(readings)
        return tuple(
            replace(reading, plan=planned_by(order, self.places, variances, order.query_probs))
            for reading, variances in zip(readings, self.target_variances, strict=True)
        )


def checked_targets(targets: Target | Sequence[Target]) -> list[Target]:
    """Return targets as a list once they are seen to be of one pool."""
    asked = [targets] if isinstance(targets, Target) else list(targets) if isinstance(targets, Sequence) else []
    if not asked or not all(isinstance(target, Target) for target in asked):
        raise InputError(f"a design is for a Target, or a list of them, got {targets!r}")
    for target in asked[1:]:
        if target.pool is not asked[0].pool:
            raise InputError(f"the targets of one sample must be of one pool; {target.name} is of another")
    return asked


def largest_grade(targets: Sequence[Target], max_grade: int | None) -> int | None:
    """Return the largest grade that all measures know."""
    if max_grade is not None and (not isinstance(max_grade, Integral) or max_grade < 1):
        raise InputError(f"max_grade must be a whole number from 1 on, got {brief(max_grade)}")
    tops = [t.measure.max_grade for t in targets if t.measure.max_grade is not None]
    return min(tops) if tops else max_grade


def relative_rates(
    stage: Stage, places: OrderPlaces, variances: Sequence[Variances], weights: Sequence[float], *, alike: bool
) -> RelativeRates:
    """Return how rates compare where targets that vary so have these weights; none differs where all are `alike`."""
    if alike:
        n = places.open_costs.size
        return RelativeRates(Ratios(np.ones(places.pool.n_queries), np.ones(n)), np.ones(n), weighs_costs=False)
    together = joint_variances(variances, weights, places)
    return RelativeRates(stage.pooled(places, together), together.least_shares, is_doubted=together.misplaced > 0)


def equal_loss_weights(planned: Floats) -> list[float]:
    """Return the weights by which all targets lose the same share against their own designs.

    ω_t = 1 over the variance that each target's own design plans at a given cost, (Σ λ sqrt(V/λ))² / Λ without
    clipping; a target without planned variance gets none. Where none has any, all is known and all count alike.

    Examples
    --------
    >>> equal_loss_weights(np.array([2.0, 0.0]))
    [0.25, 0.0]
    """
    if not planned.any():
        return [1.0] * planned.size
    return [1.0 / root**2 if root > 0 else 0.0 for root in planned.tolist()]


def joint_variances(variances: Sequence[Variances], weights: Sequence[float], places: OrderPlaces) -> Variances:
    """Return what several targets vary by together, Σ_t ω_t V_t; those of one target are its own.

    Least shares are the mean of the targets', each as heavy in a query as its ω_t V_t there. The largest of all would
    hold rates up for ranks that matter to one target of many: of the 28 pairs of MQ2008's rankers, ERR at a tenth of
    the budget, passive then needs 4.0 times the labels, 10 times with this mean, and the intervals hold as often.
    """
    if len(variances) == 1:
        return variances[0]
    if len(weights) != len(variances) or not all(0 <= w < math.inf for w in weights) or not any(weights):
        raise InputError(f"weights must be {len(variances)} finite numbers from 0 on, not all 0, got {list(weights)}")
    together = list(zip(weights, variances, strict=True))
    return Variances(
        of_query=np.sum([w * s.of_query for w, s in together], axis=0),
        of_open=np.sum([w * s.of_open for w, s in together], axis=0),
        least_shares=np.sum(
            [shares * s.least_shares for shares, s in zip(_stakes(together, places), variances, strict=True)], axis=0
        ),
        misplaced=max(s.misplaced for s in variances),
    )


def _stakes(weighted: Sequence[tuple[float, Variances]], places: OrderPlaces) -> Floats:
    """Return each target's share of what varies in the query of every wanted place, shape (n_targets, n_wanted)."""
    owners, n = places.open_queries, places.pool.n_queries
    varies = np.array([w * (s.of_query + np.bincount(owners, s.of_open, minlength=n)) for w, s in weighted])
    total = varies.sum(axis=0)
    shares = np.divide(varies, total, out=np.full_like(varies, 1.0 / len(varies)), where=total > 0)
    return np.asarray(shares[:, owners])
