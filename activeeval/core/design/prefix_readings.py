"""Readings (what an estimator needs of a target besides labels) of queries judged down to a depth, and their totals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from activeeval.core.design.beliefs import GradeProbs
from activeeval.core.design.expectations import expectations_of
from activeeval.core.design.readings import Reading, ReadingJudge, Rows, taken_of
from activeeval.core.design.value_sums import JudgedTotals, n_products
from activeeval.core.kernels import prefixes
from activeeval.core.kernels.bundles import Rates, SelectedRows
from activeeval.core.measures import LabelsLike, SoftLabels
from activeeval.core.types import Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class PrefixReading(Reading):
    """What an estimator needs of a target besides the labels, if queries are judged down to a depth.

    A query's value is estimated by L̃ = m + Σ_{k ≤ depth} D_k / G_k, with the prediction m, the change D_k of the
    expected value by the k-th label, and the probability G_k of judging it: unbiased for any model.

    Attributes
    ----------
    beliefs : GradeProbs
    lowest : ndarray, shape (n_places,)
        f_k, the expected value after k labels, if every unknown item had the lowest grade.
    """

    beliefs: GradeProbs
    lowest: Floats
    kind: ClassVar[str] = "depth"

    @property
    def max_grade(self) -> int | None:
        """Largest grade of the grade model."""
        return self.beliefs.max_grade

    @cached_property
    def regressors(self) -> Floats:
        """Regressors of every query, known before judging, shape (n_queries, 3 + n_models).

        The columns are 1, the prediction m(x), 0, and the prediction of each extra model. The 0 is the mean of h, a
        control regressor (with known mean) whose value in the sample comes from `PrefixJudge.drift`.
        """
        m = self.predictions
        return np.column_stack((np.ones_like(m), m, np.zeros_like(m), *self._extra_predictions))

    def judge(self, labels: LabelsLike) -> ReadingJudge:
        """Build the object that computes, from these labels, what estimators need of judged queries.

        ``labels`` are grades (n_items,), −1 for an item that cannot be judged, or `SoftLabels`.
        """
        merged, order = self._all_labels(labels), self.order
        # steps of the control regressor (a regressor of mean 0), accumulated up to each place: those of the expected
        # value (`lowest`, minus the prediction before labels) if all unknown grades were the lowest
        drift = self.lowest - self.predictions[order.place_queries]
        if self.beliefs.refit is not None:  # the model learns from the labels of each selection
            return RefittedJudge(self, merged, drift)
        expected = expectations_of(self.target, self.beliefs, order.offsets, order.items, merged)[1]
        return PrefixJudge(self, expected, drift)


@dataclass(frozen=True, eq=False)
class PrefixJudge(ReadingJudge):
    """Computes the totals of queries judged down to a depth.

    Attributes
    ----------
    f : ndarray, shape (n_places,)
        Expected value of the query after the label of each place, f_k.
    drift : ndarray, shape (n_places,)
        Steps of the control regressor h (whose mean is 0), accumulated up to each place of the query.
    """

    reading: PrefixReading
    f: Floats
    drift: Floats

    def totals(self, selection: Rows) -> JudgedTotals:
        """Compute what estimators need of each query of a selection (the judged items).

        It is the query's observed value (``totals`` column 0) and regressors, with their covariances within the query
        (``within``: the upper triangle, row by row), due to the random depth. The value adds up the steps of ``f``,
        the value that is expected after each label, each divided by the probability of judging that deep; ``drift``
        accumulates the steps of the control regressor, whose mean is 0, in the same way.
        """
        order, n, width = self.reading.order, selection.queries.size, 1 + self.reading.regressors.shape[1]
        totals, within = np.empty((n, width)), np.empty((n, n_products(width)))
        totals[:, 1:] = self.reading.regressors[selection.queries]
        expectations = (self.reading.predictions, self.f, self.drift)
        prefixes.prefix_totals(order.offsets, *expectations, *taken_of(order, selection), totals, within)
        return JudgedTotals(totals=totals, within=within)


@dataclass(frozen=True, eq=False)
class RefittedJudge(ReadingJudge):
    """Computes the totals of queries judged down to a depth, with a model refitted to labels of other queries.

    The observation y of a query uses the refitted model. Its regressors m(x) (the prediction, whose sum over the pool
    is known) and h (whose mean is 0) use the model from before the sample. Any model leaves y unbiased for the query's
    value, as long as the query's own labels do not enter the model.

    Attributes
    ----------
    labels : SoftLabels
        Labels of the sample and grades known beforehand.
    drift : ndarray, shape (n_places,)
        Steps of h, accumulated up to each place of the query.
    """

    reading: PrefixReading
    labels: SoftLabels
    drift: Floats

    def totals(self, selection: Rows) -> JudgedTotals:
        """Compute what estimators need of each query of a selection (the judged items): its value and regressors.

        For several selections there is one row for each query of each, and each selection has its own refitted model.
        Columns of ``totals`` are the value and the regressors; ``within`` is the upper triangle, row by row, of their
        variances within the query.
        """
        # the selection of each row; a single `Selection` has no owners
        owners = getattr(selection, "owners", np.zeros(selection.queries.size, dtype=np.int64))
        width = 1 + self.reading.regressors.shape[1]
        totals, within = np.empty((owners.size, width)), np.empty((owners.size, n_products(width)))
        of_places = np.repeat(owners, selection.counts)
        for owner in np.unique(owners):
            rows, places = owners == owner, selection.places[of_places == owner]
            part = SelectedRows(selection.queries[rows], selection.levels[rows], selection.counts[rows], places)
            totals[rows], within[rows] = self._totals_of(part, width)
        return JudgedTotals(totals=totals, within=within)

    def _totals_of(self, taken: SelectedRows, width: int) -> tuple[Floats, Floats]:
        """Compute observed value and regressors of each query of one selection, and their variances within the query.

        ``width`` is 1 plus the number of regressors; the shapes are (n, width) and (n, width (width + 1) / 2).
        Predictions for a query come from the model refitted to the selection's labels of other queries.
        """
        reading, order = self.reading, self.reading.order
        items = order.items[taken.places]
        # the model learns from items with a single grade, not from those whose judges differ
        plain = items[(self.labels.grades[items] >= 0) & ~np.isin(items, self.labels.items)]
        grades = self.labels.grades[plain]
        # weights of the model's nodes by how well it predicts the labels of other queries
        beliefs = reading.beliefs.trusting(plain, grades)
        if not reading.target.terms(beliefs.max_grade + 1).is_exact:
            # a value divided by an ideal is predicted from new grade probabilities, not only from new node weights
            learnt = reading.beliefs.after(plain, grades, lambda table: reading.stage.model(table).unturned())
            beliefs = replace(learnt, weights=beliefs.unturned().weights)
        depths = np.zeros(order.n_queries, dtype=np.int64)
        depths[taken.queries] = taken.counts
        places = (reading.target, beliefs, order.offsets, order.items)
        m, f = expectations_of(*places, self.labels, taken.queries, depths)
        # h keeps the steps of the model from before the sample: any steps are valid, and these are already computed
        totals, within = np.empty((taken.queries.size, width)), np.empty((taken.queries.size, n_products(width)))
        totals[:, 1:] = reading.regressors[taken.queries]
        rates = Rates(order.query_rates, order.place_rates)
        prefixes.prefix_totals(order.offsets, m, f, self.drift, rates, taken, totals, within)
        totals[:, 2] = reading.predictions[taken.queries]  # in place of m by the refitted model
        return totals, within
