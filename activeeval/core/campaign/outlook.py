"""Forecast from a judged sample: half-widths at larger budgets, and budgets for a half-width.

A sampling level T is how far a sample has come: a place of rate r is judged with probability min(1, T r). A reading, or
interim analysis, is an estimate while the sample grows; readings of one sample share the error probability.

A top-up based on a reading is an interim analysis: its interval is that of
`activeeval.core.estimation.confidence_after`. The next run of a watch has its own error; its new labels are assumed to
raise all probabilities of the current run equally: for 60 and 200 further labels the medians of predicted half-widths
were .91 to 1.19 times the actual ones, for 600 .87 to 1.28 (8 watches, MQ2008).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from activeeval.core.campaign.reading import of_target
from activeeval.core.design import Design, Order, Reading, Selection
from activeeval.core.estimation import confidence_after, evaluate, evidence_of, half_widths
from activeeval.core.measures import LabelsLike, Target

_CLOSE, _LEAST = 1.0005, 1e-6
"""Relative precision of a level search, and the lowest level as a share of the one at which everything is judged."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Outlook:
    """The variance of an estimate, and how it falls as more of the sample's order is judged.

    Of the variance, the part from sampling within the pool falls as planned from one level to the other; degrees of
    freedom grow with the number of queries. After a quarter
    of a budget, the medians of predicted half-widths at its end were .85 to 1.3 times the actual ones (five methods,
    one ranking or two, MQ2008).

    Attributes
    ----------
    reading : Reading
        What the estimator needs of the target besides the labels.
    order : Order
        The planned order; with adaptive depth, its average over labels drawn from the model.
    now : Selection
        The judged places of the target's queries.
    spent : float
        Cost of everything judged, in mean items.
    of_pool, of_scope : float
        Variance from sampling within the pool, and variance added by the choice of the pool.
    degrees_of_freedom, of_census : float
        Degrees of freedom of the estimate now, and once everything is judged.
    pool_size : float
        1 / Σ p², the number of queries if all are equally frequent.
    matters : array of bool
        True for places of the order whose label can change the value.
    planned : float
        Variance from sampling within the pool, as planned at the current level.
    can_grow : bool
        True if a larger sample contains this one.
    has_looks : bool
        True if a larger sample is a further interim analysis, which shares the error probability with this one.
    before : tuple of float
        The variance at each earlier reading that was followed by a top-up.
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
    has_looks: bool
    before: tuple[float, ...] = ()

    @classmethod
    def of(
        cls,
        design: Design,
        now: Selection,
        labels: LabelsLike,
        target: Target | None,
        scope: str,
        before: Sequence[float] = (),
    ) -> Self | None:
        """Build the forecast from a judged selection; None for a pool that is processed in parts.

        Parameters
        ----------
        now : Selection
            The judged places (items in the judging order of their query).
        labels : ndarray of int64, shape (n_items,), or SoftLabels
        target : Target or None
            None is the first one that the design was made for.
        scope : {"pool", "population"}
            The queries that the estimate is for: those of the pool, or all that these are a sample of.
        before : sequence of float
            The variance at each earlier interim analysis that was followed by a larger budget.
        """
        if design.order.larger_pool is not None:
            return None
        reading = design.reading(target)
        judged = of_target(reading, now)
        sample = evidence_of(design, reading, reading.judge(labels), judged)
        evaluated, of_pool = evaluate(sample, scope), evaluate(sample)
        # without spread the variance between queries is unknown, though the interval may be finite
        of_scope = evaluated.variance - of_pool.variance if math.isfinite(of_pool.observed) else math.inf
        matters = reading.target.matters[reading.order.items]
        # with adaptive depth, the order averaged over labels drawn from the model
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
            can_grow=design.scheme.can_be_topped_up or design.scheme.goes_on,
            has_looks=design.scheme.can_be_topped_up,
            before=tuple(before),
        )

    @property
    def variance(self) -> float:
        """Variance of the current estimate."""
        return self.of_pool + self.of_scope

    @property
    def n_queries(self) -> int:
        """Number of the target's queries judged so far; at least 1."""
        return max(int(np.count_nonzero(self.now.counts)), 1)

    def at_selection(self, end: Selection, confidence: float) -> float:
        """Predict the half-width of the t interval once a larger selection ``end`` of the same sample is judged.

        Degrees of freedom grow with the number of judged queries; the variance falls as planned between the levels.
        The half-width allows for the earlier interim analyses, whose variances are `before`.
        """
        whole = of_target(self.reading, end)
        share = max(int(np.count_nonzero(whole.counts)), 1) / self.n_queries
        variance = self._left_of(self._falls_to(whole.level))
        return self._half_width(variance, self.degrees_of_freedom * share, confidence, self.before)

    def at_budget(self, budget: float, confidence: float) -> float:
        """Predict the half-width of the t interval once this sample is judged up to a total budget, in mean items.

        The mean item costs 1.
        """
        return self._half_width(*self._at(budget), confidence, self.before)

    def topped_up(self, budget: float, confidence: float) -> tuple[float, float]:
        """Predict the variance and the half-width if the sample is judged up to a larger total budget, in mean items.

        The half-width allows for the present analysis, as an interim one. A sample drawn with replacement cannot grow:
        for it the prediction is for a new sample of that budget. The mean item costs 1.
        """
        return self._looked(self._at(budget), confidence)

    def budget_for(self, half_width: float, confidence: float, factor: float = 1.0) -> float:
        """Compute the total budget, in mean items, at which the t interval should have a half-width.

        It is infinite if judging the whole pool is not enough, or, with replacement, if draws at that cost are not. The
        mean item costs 1.

        Parameters
        ----------
        factor : float
            Assumed ratio of the variance from sampling within the pool to its prediction.
        """
        # search over levels if the sample can grow, else over costs of a new one
        at = self._at_level if self.can_grow else self._at_draws
        lowest, highest = self.now.level, self._highest
        if not self.can_grow:
            lowest, highest = self.spent, max(self.order.cost, self.spent)
        most = self._at(math.inf) if self.can_grow else at(highest, factor)
        if self._looked(most, confidence)[1] > half_width:
            return math.inf
        lowest = min(max(lowest, highest * _LEAST), highest)
        while highest > lowest * _CLOSE:
            middle = math.sqrt(lowest * highest)
            enough = self._looked(at(middle, factor), confidence)[1] <= half_width
            lowest, highest = (lowest, middle) if enough else (middle, highest)
        return max(self.order.expected_cost(highest) + self._beyond, self.spent) if self.can_grow else highest

    def queries_for(self, half_width: float, confidence: float) -> float:
        """Compute how many queries like these, all of them judged, should bring the t interval to a half-width.

        With all items of the pool judged, the half-width falls with the square root of the number of queries.
        """
        return self.pool_size * (self.topped_up(math.inf, confidence)[1] / half_width) ** 2

    def _at(self, budget: float) -> tuple[float, float]:
        """Predict variance and degrees of freedom at a total budget in mean items; infinity judges everything.

        The mean item costs 1.
        """
        if math.isinf(budget) or (self.can_grow and budget >= self.order.cost):
            return self.of_scope, self.of_census
        return self._at_level(self.order.level_for(budget - self._beyond)) if self.can_grow else self._at_draws(budget)

    def _at_level(self, amount: float, factor: float = 1.0) -> tuple[float, float]:
        """Predict variance and degrees of freedom at a sampling level.

        Parameters
        ----------
        amount : float
            The level T: a place (item in the judging order) of rate r is judged with probability min(1, T r).
        factor : float
            Assumed ratio of the variance from sampling within the pool to its prediction.
        """
        # expected number of judged queries there: degrees of freedom grow with it
        n = max(float(self.order.inclusion_probs(amount)[0].sum()), 1.0)
        freedom = self.degrees_of_freedom * max(n / self.n_queries, 1.0)
        return self._left_of(factor * self._falls_to(amount)), freedom

    def _at_draws(self, amount: float, factor: float = 1.0) -> tuple[float, float]:
        """Predict variance and degrees of freedom of draws with replacement at the cost ``amount``, in mean items.

        The variance is inversely proportional to the cost. ``factor`` is the assumed ratio of the variance from
        sampling within the pool to its prediction. The mean item costs 1.
        """
        share = self.spent / max(amount, 1.0)
        return self._left_of(factor * share), self.degrees_of_freedom / share

    @cached_property
    def _beyond(self) -> float:
        """Spent cost minus the expected cost at the sampling level reached, in mean items (the mean item costs 1).

        It is 0 unless the sample was drawn at a fixed level, which leaves its cost to chance. At the sampling level T,
        a place of rate r is judged with probability min(1, T r).
        """
        return 0.0 if self.has_looks else self.spent - self.order.expected_cost(self.now.level)

    @cached_property
    def _highest(self) -> float:
        """Sampling level T at which everything is judged: T times the smallest positive rate is 1."""
        rates = np.concatenate((self.order.place_rates, self.order.query_rates))
        return float(1 / rates[rates > 0].min())

    def _looked(self, at: tuple[float, float], confidence: float) -> tuple[float, float]:
        """Return the variance and the half-width of a further interim analysis.

        ``at`` is its variance and degrees of freedom. The half-width allows for all analyses before it: those with the
        variances `before`, and the current one.
        """
        now = (self.variance,) if self.of_pool > 0 else ()  # no analysis follows if everything is judged
        looks = (*self.before, *now) if self.has_looks else ()
        return at[0], self._half_width(*at, confidence, looks)

    def _falls_to(self, at: float) -> float:
        """Compute the share of the present variance from sampling within the pool that is left at a sampling level.

        It is the variance planned at the level ``at`` divided by the one planned at the present level. At the sampling
        level T, an item of rate r is judged with probability min(1, T r). It is 1 if no variance is planned now.
        """
        if self.planned <= 0:
            return 1.0
        return max(self.order.planned_variance(at, self.matters) / self.planned, 0.0)

    def _left_of(self, share: float) -> float:
        """Compute the variance if a share of its part from sampling within the pool is left; the other part stays."""
        return (self.of_pool * share if share > 0 else 0.0) + self.of_scope

    def _half_width(self, variance: float, freedom: float, confidence: float, looks: Sequence[float]) -> float:
        """Compute the t half-width that is valid after earlier interim analyses, whose variances are ``looks``.

        ``freedom`` is the degrees of freedom of the estimate with this variance.
        """
        each = confidence_after((*looks, variance), confidence)
        return float(half_widths(np.array(variance), np.array(freedom), each))
