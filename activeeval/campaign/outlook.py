"""What a judged sample leads to expect of more judgments: half-widths at other levels, budgets for a half-width."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from activeeval.answers import Needed
from activeeval.campaign.reading import of_target
from activeeval.design import Design, Order, Reading, Selection
from activeeval.estimation import evaluate, evidence_of, half_widths
from activeeval.measures import LabelsLike, Target

_STEPS = 50


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outlook:
    """The variance of an estimate, and how it falls as more of the sample's order is judged.

    The pool's part falls as planned for the two levels, degrees of freedom grow with the queries. After a quarter of a
    budget medians of half-widths at its end were .85 to 1.3 times what came (five methods, one ranking or two, MQ2008).

    Attributes
    ----------
    reading : Reading
    order : Order
        What is planned: where depths follow labels as these have it on average, as the model draws them.
    now : Selection
        What has been judged of the target's queries.
    spent : float
        What all that has been judged cost, in mean items.
    of_pool, of_scope : float
        The variance that chance leaves in the pool, and what the choice of the pool adds.
    degrees_of_freedom, of_census : float
        Of the estimate now, and once everything is judged.
    pool_size : float
        1 / Σ p², the number of queries where all are equally frequent.
    matters : array of bool
        Of the order's items, whether one's label can change the value.
    planned : float
        The pool's variance planned for the level of now.
    can_grow : bool
        Whether a larger sample holds this one.
    """

    reading: Reading
    order: Order
    now: Selection
    spent: float
    of_pool: float
    of_scope: float
    degrees_of_freedom: float
    of_census: float
    pool_size: float
    matters: NDArray[np.bool_]
    planned: float
    can_grow: bool

    @classmethod
    def of(cls, design: Design, now: Selection, labels: LabelsLike, target: Target | None, scope: str) -> Self | None:
        """Return the outlook of a judged selection; None of a pool that came in chunks, which does not tell."""
        if design.order.larger_pool is not None:
            return None
        reading = design.reading(target)
        judged = of_target(reading, now)
        sample = evidence_of(design, reading, reading.judge(labels), judged)
        evaluated, of_pool = evaluate(sample, scope), evaluate(sample)
        # without spread a sample does not tell how queries differ, though its interval may be finite
        of_scope = evaluated.variance - of_pool.variance if math.isfinite(of_pool.observed) else math.inf
        matters = reading.target.matters[reading.order.items]
        order = reading.order if design.unseen is None else design.planned_order
        return cls(
            reading=reading,
            order=order,
            now=judged,
            spent=now.cost,
            of_pool=of_pool.variance,
            of_scope=of_scope if scope != "pool" else 0.0,
            degrees_of_freedom=evaluated.degrees_of_freedom,
            of_census=sample.pool_size - 1.0 if scope != "pool" else math.inf,
            pool_size=sample.pool_size,
            matters=matters,
            planned=order.planned_variance(judged.level, matters),
            can_grow=design.scheme.can_be_topped_up,
        )

    @property
    def n_queries(self) -> int:
        """How many of the target's queries have been judged; at least 1."""
        return max(int(np.count_nonzero(self.now.counts)), 1)

    def at_selection(self, end: Selection, confidence: float) -> float:
        """Return the half-width of the t interval to expect once a larger selection of the same sample is judged."""
        whole = of_target(self.reading, end)
        share = max(int(np.count_nonzero(whole.counts)), 1) / self.n_queries
        return self._half_width(self._falls_to(whole.level), self.degrees_of_freedom * share, confidence)

    def at_budget(self, budget: float, confidence: float) -> float:
        """Return the half-width of the t interval to expect of a sample of a budget in mean items."""
        at = self.order.level_for(budget)
        n = max(float(self.order.inclusion_probs(at)[0].sum()), 1.0) if math.isfinite(at) else math.inf
        freedom = self.degrees_of_freedom * max(n / self.n_queries, 1.0)
        return self._half_width(self._falls_to(at), freedom, confidence)

    def budget_for(self, half_width: float, confidence: float) -> float:
        """Return the budget in mean items that should bring the t interval to a half-width.

        Infinite where judging all of the pool would not.
        """
        if self._half_width(0.0, self.of_census, confidence) > half_width:
            return math.inf
        if not self.can_grow:
            return self._budget_of_draws(half_width, confidence)
        lowest, highest = self.spent, max(self.order.cost, self.spent)
        for _ in range(_STEPS):
            middle = (lowest + highest) / 2
            enough = self.at_budget(middle, confidence) <= half_width
            lowest, highest = (lowest, middle) if enough else (middle, highest)
        return highest

    def queries_for(self, half_width: float, confidence: float) -> float:
        """Return how many queries like these, all of them judged, should bring the t interval to a half-width."""
        return self.pool_size * (self._half_width(0.0, self.of_census, confidence) / half_width) ** 2

    def needed_for(self, half_width: float, confidence: float, budget: float) -> Needed | None:
        """Return what should bring the t interval to a half-width, beyond a budget; None where nothing is known to."""
        amount = self.budget_for(half_width, confidence)
        if math.isfinite(amount):
            unit = self.reading.order.pool.cost_unit
            return Needed(budget=max(amount - budget, 0.0), unit=unit, can_grow=self.can_grow)
        queries = self.queries_for(half_width, confidence)
        return Needed(queries=math.ceil(queries)) if math.isfinite(queries) else None

    def _budget_of_draws(self, half_width: float, confidence: float) -> float:
        """Return the budget of draws with replacement, whose variance falls with their number; at most a census's."""
        lowest, highest = 1.0, 2.0**40
        for _ in range(2 * _STEPS):
            more = math.sqrt(lowest * highest)
            enough = self._half_width(1 / more, self.degrees_of_freedom * more, confidence) <= half_width
            lowest, highest = (lowest, more) if enough else (more, highest)
        return min(self.spent * highest, max(self.order.cost, self.spent))

    def _falls_to(self, at: float) -> float:
        """Return the share of the pool's variance that is left at a level."""
        if self.planned <= 0:
            return 1.0
        return max(self.order.planned_variance(at, self.matters) / self.planned, 0.0)

    def _half_width(self, share: float, freedom: float, confidence: float) -> float:
        variance = (self.of_pool * share if share > 0 else 0.0) + self.of_scope
        return float(half_widths(np.array(variance), np.array(freedom), confidence))
