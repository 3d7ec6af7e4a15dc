"""Readings: what an estimator needs of a target besides the labels.

An order (places with sampling rates; a place is the position of one item in the judging order of its query) may be read
for any target whose items it can judge, any number of times. A reading holds the predictions of the grade model and the
totals of the estimator's regressors over the pool.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from activeeval.core.design.beliefs import GradeProbs
from activeeval.core.design.expectations import expectations_of
from activeeval.core.design.order_places import OrderPlaces
from activeeval.core.design.orders import Order
from activeeval.core.design.planned_variance import PlannedVariance
from activeeval.core.design.rates import Variances, variance_terms
from activeeval.core.design.selections import Selection, Selections
from activeeval.core.design.value_sums import JudgedTotals, PoolSums, n_products
from activeeval.core.errors import InputError
from activeeval.core.interval_ends import UNLIMITED
from activeeval.core.kernels.bundles import Rates, SelectedRows
from activeeval.core.measures import LabelsLike, SoftLabels, Target
from activeeval.core.types import Floats, Ints

Rows = Selection | Selections


class VarianceModel(Protocol):
    """Interface that predicts the variances of a target's values; implemented by stages."""

    def model(self, beliefs: GradeProbs) -> GradeProbs:
        """Return the grade model to predict with, derived from ``beliefs``: the same, or one that is never certain."""

    def variances(self, target: Target, places: OrderPlaces, beliefs: Any) -> Variances:
        """Compute the variances of a target's values by query and place; ``beliefs`` is the `GradeProbs` or None."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Reading:
    """What an estimator needs of a target besides the labels, if queries are judged whole.

    Attributes
    ----------
    target : Target
    order : Order
    known : ndarray of int64, shape (n_items,)
        Grades known beforehand, −1 for unknown.
    predictions : ndarray, shape (n_queries,)
        m(x) = E[L | x] given the known grades; NaN without a grade model.
    beliefs : GradeProbs or None
        The grade model. Items that cannot be judged count with its expectation, or with no gain without a model.
    stage : VarianceModel
        What is judged of a query; predicts the variances of values.
    drawn_with : GradeProbs or None
        The grade model from which the order's rates were computed, if it differs from ``beliefs``.
    plan : PlannedVariance or None
        The variance that the design planned for this target, if already computed.
    larger_pool_sums : PoolSums or None
        Sums over the larger pool, if the order was gathered from one.
    scale : int or None
        The largest grade of the design, used if neither measure nor grade model defines one.
    """

    target: Target
    order: Order
    known: Ints
    predictions: Floats
    stage: VarianceModel
    beliefs: GradeProbs | None = None
    drawn_with: GradeProbs | None = None
    plan: PlannedVariance | None = None
    larger_pool_sums: PoolSums | None = None
    scale: int | None = None
    kind: ClassVar[str] = "whole"

    @property
    def max_grade(self) -> int | None:
        """Largest grade of the measure; None if it accepts any."""
        return self.target.measure.max_grade

    @cached_property
    def limits(self) -> tuple[float, float]:
        """Lowest and highest possible value of the target; infinite if unloaded parts of a larger pool decide them."""
        if self.order.larger_pool is not None and self.target.measure.cutoff is None:
            return UNLIMITED
        return self.target.limits(self.largest_grade)

    @property
    def largest_grade(self) -> int | None:
        """Largest grade that an item can have: that of the measure or grade model, else of the design."""
        return self.scale if self.max_grade is None else self.max_grade

    @cached_property
    def query_probs(self) -> Floats:
        """Probability p of every query within the target's segment, shape (n_queries,); 0 outside."""
        within, p = self.target.within, self.order.query_probs
        if within is None:
            return p
        probs = np.where(within, p, 0.0)
        probs /= probs.sum()
        probs.setflags(write=p.flags.writeable)  # same flags as p: kernels are compiled once for both
        return probs

    @cached_property
    def settled_values(self) -> Floats:
        """Value of every query from the known grades alone, (n_queries,); exact if no unknown label can change it."""
        return self.target.values(self.known)

    @cached_property
    def is_open(self) -> NDArray[np.bool_]:
        """True for each query whose value an unknown label can change, shape (n_queries,)."""
        unknown = self.target.matters & (self.known < 0)
        return np.bincount(self.target.pool.item_queries, unknown, minlength=self.order.n_queries) > 0

    @cached_property
    def least_rates(self) -> Floats:
        """Least sampling rate of the items of each query that matter, shape (n_queries,); infinite if none matters."""
        order, least = self.order, np.full(self.order.n_queries, np.inf)
        matters = self.target.matters[order.items] & (order.place_rates > 0)
        np.minimum.at(least, order.place_queries[matters], order.place_rates[matters])
        return least

    def settled_by(self, selection: Rows) -> NDArray[np.bool_]:
        """Flag the selected queries that were certain to be judged completely, shape (n_selected,).

        At the selection's level all their places (items in judging order) that matter have probability 1, so chance
        plays no part in them.
        """
        return self.is_open[selection.queries] & (selection.levels * self.least_rates[selection.queries] >= 1)

    def chosen_by_chance(self, selection: Rows) -> NDArray[np.bool_]:
        """Flag the selected queries that were sampled by chance, shape (n_selected,): they are an estimator's rows.

        They have a judged place (item in judging order), an unknown label could change their value, and they were not
        certain to be sampled.
        """
        return np.asarray(self.is_open[selection.queries] & ~self.settled_by(selection))

    def left_to_chance(self, level: float) -> Floats:
        """Compute the variance that sampling at a level leaves in each query, up to a common factor, (n_queries,).

        It is p² Σ c² (1/a − 1) over the query's places (items in judging order), with rank weights c and inclusion
        probabilities a at this sampling level: the share of each query in the variance if all labels are equally
        uncertain. At the sampling level T, a place of rate r is judged with probability min(1, T r).
        """
        order, n = self.order, self.order.n_queries
        _, a = order.inclusion_probs(level)
        left = np.divide(1.0, a, out=np.ones_like(a), where=a > 0) - 1.0
        worth = self.target.contrast[order.items] ** 2
        return np.asarray(self.query_probs**2 * np.bincount(order.place_queries, worth * left, minlength=n))

    @cached_property
    def known_values(self) -> Floats:
        """Contribution of known grades added to each query's estimate, shape (n_queries,); 0 for whole queries."""
        return np.zeros(self.order.n_queries)

    @cached_property
    def regressors(self) -> Floats:
        """Regressors of every query, (n_queries, k): 1, the predicted value, and that of each extra model."""
        columns = (np.ones_like(self.predictions), np.nan_to_num(self.predictions))
        return np.column_stack((*columns, *self._extra_predictions))

    @property
    def _extra_predictions(self) -> list[Floats]:
        """Expected value of every query under each of the other models."""
        return [] if self.beliefs is None else [self.target.moments(probs).mean for probs in self.beliefs.extra_models]

    @cached_property
    def pool_sums(self) -> PoolSums:
        """Sums that estimates need over all queries of the pool, or of the larger pool that these were taken from."""
        if self.larger_pool_sums is not None:
            return self.larger_pool_sums
        p, is_open = self.query_probs, self.is_open
        # p of open queries, and the part of each query's value that known grades decide
        left, known = np.where(is_open, p, 0.0), np.where(is_open, self.known_values, self.settled_values)
        return PoolSums(
            n_queries=int(np.count_nonzero(p)),
            n_open=int(np.count_nonzero(is_open)),
            population=left @ self.regressors,
            base=float(p @ known),
            settled_squares=float((p - left) @ known**2),
            open_squares=float(left @ self.known_values**2),
            open_share=float(left.sum()),
            squares=float(p @ p),
        )

    @property
    def part_sums(self) -> PoolSums:
        """`pool_sums` of this part of a larger pool, with the variance that the design planned."""
        return replace(self.pool_sums, planned=self.planned, planned_blindly=self.planned_blindly)

    @cached_property
    def planned(self) -> PlannedVariance:
        """Variance that the design planned for this target, by sampling level; 0 without a grade model.

        At the sampling level T, an item of rate r is judged with probability min(1, T r).
        """
        if self.larger_pool_sums is not None and self.larger_pool_sums.planned is not None:
            return self.larger_pool_sums.planned
        if self.plan is not None:
            return self.plan
        beliefs = self.drawn_with or self.beliefs
        return PlannedVariance.of(np.empty(0), np.empty(0)) if beliefs is None else self._planned(beliefs)

    @cached_property
    def bounded(self) -> PlannedVariance:
        """Upper bound on the variance that any grade model plans, by sampling level; cheap to compute.

        Every query counts with its widest possible range of values and with the least rate of its places (items in
        judging order). At the sampling level T, a place of rate r is judged with probability min(1, T r).
        """
        n, top = self.target.pool.n_items, 0 if self.top is None else self.top
        ends = [np.abs(self.target.values(np.full(n, grade))) for grade in (0, top)]
        lists = [self.target.ranking, self.target.versus]
        alone = [replace(self.target, ranking=ranking, versus=None) for ranking in lists if ranking is not None]
        spans = [
            np.abs(target.values(np.full(n, top))) + np.abs(target.values(np.zeros(n, np.int64))) for target in alone
        ]
        return PlannedVariance.of(self.least_rates, self.query_probs**2 * np.sum([*ends, *spans], axis=0) ** 2)

    @cached_property
    def planned_blindly(self) -> PlannedVariance | None:
        """Variance, as a curve over sampling levels, that would be planned if all grades were equally likely.

        At the level T, an item of rate r is judged with probability min(1, T r). None if the scale of grades is open.
        """
        if self.larger_pool_sums is not None and self.larger_pool_sums.planned is not None:
            return self.larger_pool_sums.planned_blindly
        if self.top is None:
            return None
        return self._planned(self.stage.model(GradeProbs.uniform(self.target.pool, self.top, self.known)))

    @property
    def top(self) -> int | None:
        """Largest grade of the scale; None if unknown."""
        return self.max_grade if self.beliefs is None else self.beliefs.max_grade

    def _planned(self, beliefs: GradeProbs) -> PlannedVariance:
        """Compute the variance planned for the target under a grade model."""
        places = OrderPlaces.of_order(self.order)
        return planned_by(self.order, places, self.stage.variances(self.target, places, beliefs), self.query_probs)

    def values(self, labels: LabelsLike) -> Floats:
        """Compute the value of every query from the labels of places and the known grades, shape (n_queries,).

        A place is an item in the judging order of its query.
        """
        return self.target.values(self._all_labels(labels))

    def judge(self, labels: LabelsLike) -> ReadingJudge:
        """Build the object that computes, from these labels, what estimators need of judged queries.

        Parameters
        ----------
        labels : ndarray of int64, shape (n_items,), or SoftLabels
            Used for the selected places (items in judging order) only; −1 for an item that cannot be judged.

        Raises
        ------
        InputError
            If judges disagree and the measure has no gain between those of grades.
        """
        merged = self._all_labels(labels)
        return WholeQueryJudge(self, merged, self.target.values(merged))

    def _all_labels(self, labels: LabelsLike) -> SoftLabels:
        """Return the labels of items that may be sampled, and the grades known beforehand for all others.

        Raise InputError if judges disagree and the measure has no gain between two grades.
        """
        soft = SoftLabels.of(labels)
        soft.check(self.target.measure)
        return soft.over(self.known, self.order.items[self.order.place_rates > 0])


def planned_by(order: Order, places: OrderPlaces, variances: Variances, query_probs: Floats) -> PlannedVariance:
    """Compute the variance that sampling by an order (places with rates) leaves, as a curve over sampling levels.

    A place is an item in the judging order of its query. At the sampling level T, a place of rate r is judged with
    probability min(1, T r).

    Parameters
    ----------
    query_probs : ndarray, shape (n_queries,)
        p of the queries of the target's segment, unless ``variances`` already include the segment.
    """
    terms = variance_terms(places, variances, query_probs, is_nested=order.is_nested)
    return PlannedVariance.of(
        np.concatenate((order.query_rates, order.place_rates[places.matters])), np.concatenate(terms)
    )


class ReadingJudge:
    """Computes, from fixed labels, the totals of the judged places of a selection for one target."""

    def totals(self, selection: Rows) -> JudgedTotals:
        """Compute what an estimator needs of the judged items, one row for each query of one or several selections.

        ``totals`` (n, 1 + k) has each query's observed value and k regressors, ``within`` the upper triangle, row by
        row, of their variances within the query.
        """
        raise TypeError("subclasses implement `totals`")


@dataclass(frozen=True, eq=False)
class WholeQueryJudge(ReadingJudge):
    """Totals of queries judged whole: the observation of a query is its value, of ``values`` (n_queries,)."""

    reading: Reading
    labels: SoftLabels
    values: Floats

    def totals(self, selection: Rows) -> JudgedTotals:
        """Compute what estimators need of each query of a selection (the judged items), one row for each query.

        It is the query's value and regressors; their variances within the query are 0, because all of it is judged.
        """
        z = self.reading.regressors[selection.queries]
        totals = np.column_stack((self._expected(selection)[selection.queries], z))
        return JudgedTotals(totals=totals, within=np.zeros((len(totals), n_products(totals.shape[1]))))

    def _expected(self, selection: Rows) -> Floats:
        """Compute the values of all queries, (n_queries,): items that cannot be judged count as the model expects."""
        reading, order = self.reading, self.reading.order
        missing = selection.places[self.labels.grades[order.items[selection.places]] < 0]
        if reading.beliefs is None or missing.size == 0:
            return self.values
        queries = np.unique(order.place_queries[missing])
        expected = expectations_of(reading.target, reading.beliefs, order.offsets, order.items, self.labels, queries)[1]
        values = self.values.copy()  # a query's value is the expected one after its last place
        values[queries] = expected[order.offsets[queries + 1] - 1]
        return values


def taken_of(order: Order, selection: Rows) -> tuple[Rates, SelectedRows]:
    """Return the sampling rates of an order and the rows of selections (places taken) in the form that kernels take.

    A place is an item in the judging order of its query.
    """
    rates = Rates(order.query_rates, order.place_rates)
    return rates, SelectedRows(selection.queries, selection.levels, selection.counts, selection.places)


def check_reaches(target: Target, order: Order, known: Ints, *, as_prefix: bool) -> None:
    """Raise InputError unless a sample of the order can contain every item whose label can change the target's value.

    Parameters
    ----------
    known : ndarray of int64, shape (n_items,)
        Grades known beforehand, −1 for unknown: such items need not be sampled.
    as_prefix : bool
        True if queries are judged as prefixes: known items must then be part of the order too.
    """
    can_be_judged = np.zeros(target.pool.n_items, dtype=np.bool_)
    can_be_judged[order.items if as_prefix else order.items[order.place_rates > 0]] = True
    if as_prefix:
        can_be_judged[order.items[order.place_rates == 0]] = known[order.items[order.place_rates == 0]] >= 0
    lost = np.flatnonzero(target.matters & ~can_be_judged & ((known < 0) | as_prefix))
    if lost.size:
        place = target.pool.place(int(lost[0]))
        raise InputError(
            f"{target.name} is not covered by this sample: {place} could not be drawn "
            f"({lost.size} such items); name this measure and ranking when the sample is drawn"
        )
