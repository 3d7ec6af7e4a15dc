"""Readings (what an estimator needs besides labels) of additive targets whose items are sampled independently."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from activeeval.core.design.beliefs import GradeProbs
from activeeval.core.design.readings import Reading, ReadingJudge, Rows, taken_of
from activeeval.core.design.value_sums import JudgedTotals, n_products
from activeeval.core.kernels import items as item_kernel
from activeeval.core.measures import LabelsLike
from activeeval.core.types import Floats, sealed

FEWEST_FITTED = 30
"""Least number of queries with which a grader's prior expectation is a separate regressor.

A coefficient costs 1/n. DCG@10, 2,000 repetitions: with 25 queries one run loses 4 % by it and two runs gain 3 %; with
53 one run changes by −2 to +2 %, two runs gain 1 to 4 %, and with a reversed grader 13 and 20 %.
"""
LEAST_LIKELIHOOD = 1e-12
"""Least likelihood of a label at a node: a label impossible at all nodes then leaves their weights unchanged."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemReading(Reading):
    """What an estimator needs of an additive target besides the labels, if items are sampled independently.

    Attributes
    ----------
    beliefs : GradeProbs
    learns : bool
        True if an item is predicted from the labels judged before it, False if only from grades known before the
        sample.
    gains : ndarray, shape (n_grades,)
        Gain of each grade.
    contrast, means : ndarray, shape (n_places,)
        Weight c_i of the item's rank (difference of two weights in a comparison), and its expected gain μ_i = E[g_i]
        given the known grades.
    """

    beliefs: GradeProbs
    learns: bool
    gains: Floats
    contrast: Floats
    means: Floats
    kind: ClassVar[str] = "items"

    @property
    def max_grade(self) -> int | None:
        """Largest grade of the grade model."""
        return self.beliefs.max_grade

    @cached_property
    def open_contrast(self) -> Floats:
        """Weight of the rank of each place's item in the target, c_i, shape (n_places,); 0 if its grade is known."""
        return np.where(self.known[self.order.items] < 0, self.contrast, 0.0)

    @cached_property
    def known_values(self) -> Floats:
        """Contribution of known grades to each query's value, shape (n_queries,): a sum over items, so it is exact."""
        return self.settled_values

    @cached_property
    def regressors(self) -> Floats:
        """Regressors of every query, known before judging, shape (n_queries, 2 + number of columns of `extra_means`).

        The columns are Σ c_i and Σ c_i μ_i over the query's items without a known grade, with rank weights c and
        expected gains μ, then Σ c_i μ_i for each column of `extra_means`.
        """
        order, c = self.order, self.open_contrast
        columns = (c, c * self.means, *(c * means for means in self.extra_means.T))
        return np.column_stack([np.bincount(order.place_queries, c, minlength=order.n_queries) for c in columns])

    @cached_property
    def extra_means(self) -> Floats:
        """Expected gain E[g_i] of every place under each extra model, shape (n_places, n_models).

        If the main model is a grader (an LLM or another model), its expectation before the sample is a further column:
        predictions that learn within a query mix two signals, the mean grade of the query and the item's position
        relative to the query's other items. A place is an item in the judging order of its query.
        """
        of_models = (self.beliefs.extra_models[:, self.order.items] @ self.gains).T
        if self.beliefs.refit is not None and self.order.n_queries >= FEWEST_FITTED:
            of_models = np.column_stack((of_models, self.means))
        return np.ascontiguousarray(of_models)

    @cached_property
    def node_records(self) -> Floats:
        """The model's record of each place at each node of the query factor, shape (n_places, 3, n_nodes).

        The query factor is a random effect shared by a query's items; a node is one of its discrete values. The three
        rows are the expected gain, the running sum of expected gains times rank weights, and the likelihood of the
        label (1 before labels), as `activeeval.core.kernels.items` reads them. A place is an item in the judging order
        of its query.
        """
        nodes = self.beliefs.nodes
        records = np.ones((self.order.items.size, 3, len(nodes)))
        records[:, item_kernel.MEAN] = (nodes @ self.gains)[:, self.order.items].T
        item_kernel.running_sums(self.order.offsets, self.open_contrast, records)
        return records

    def judge(self, labels: LabelsLike) -> ReadingJudge:
        """Build the object that computes, from these labels, what estimators need of judged items.

        ``labels`` are grades (n_items,), −1 for an item that cannot be judged, or `SoftLabels`.
        """
        merged, items = self._all_labels(labels), self.order.items
        # an item that cannot be judged has gain NaN: the kernel uses the model's expectation
        gains = merged.values(self.gains)[items]
        if not self.learns:
            return ItemJudge(self, gains, self.node_records)
        records = self.node_records.copy()
        # p(label | node) of each place, (n_places, n_nodes); items without a label are not read
        likelihoods = self.beliefs.nodes[:, items, np.maximum(merged.grades[items], 0)].T
        likelihoods[np.isin(items, merged.items)] = 0.0  # if judges disagree, nodes keep their relative weights
        records[:, item_kernel.LIKELIHOOD] = np.maximum(likelihoods, LEAST_LIKELIHOOD)
        return ItemJudge(self, gains, records)


@dataclass(frozen=True, eq=False)
class ItemJudge(ReadingJudge):
    """Computes the totals of items judged independently.

    Attributes
    ----------
    gains : ndarray, shape (n_places,)
        Gains of the labels; NaN for an item that cannot be judged.
    node_records : ndarray, shape (n_places, 3, n_nodes)
        The model's expectations and likelihoods by place and node of the query factor; see `ItemReading.node_records`.
    """

    reading: ItemReading
    gains: Floats
    node_records: Floats

    def totals(self, selection: Rows) -> JudgedTotals:
        """Compute what estimators need of each query of a selection (the judged items), one row for each query.

        Columns of ``totals`` are the observed value and the regressors, with weights 1 / probability of judging an
        item; ``within`` is the upper triangle, row by row, of their variances due to the choice of the items.
        """
        reading, order, n = self.reading, self.reading.order, selection.queries.size
        width = 1 + reading.regressors.shape[1]
        totals, within = np.empty((n, width)), np.empty((n, n_products(width)))
        labels = (order.offsets, reading.open_contrast, self.gains, order.joined)
        model = (self.node_records, sealed(reading.beliefs.weights), reading.extra_means)
        item_kernel.observe_items(*labels, *model, *taken_of(order, selection), totals, within)
        self._expect_missing(selection, totals[:, 0])
        return JudgedTotals(totals=totals, within=within)

    def _expect_missing(self, selection: Rows, values: Floats) -> None:
        """Add the expected gain of items that cannot be judged to ``values``, in place, shape (n_selected_queries,).

        Only queries judged completely with certainty need it: the model's total over all queries, to which the
        estimator adds weighted residuals, holds it for the others. An item contributes its weight in the value
        (`open_contrast`) times its expected gain. ``selection`` holds the judged queries with their places (items).
        """
        if not self._lacks_any:
            return
        is_missing = np.isnan(self.gains[selection.places])
        reading, missing = self.reading, selection.places[is_missing]
        rows = np.repeat(np.arange(selection.queries.size), selection.counts)[is_missing]
        is_settled = reading.settled_by(selection)[rows]
        expected = reading.open_contrast[missing] * reading.means[missing]
        np.add.at(values, rows[is_settled], expected[is_settled])

    @cached_property
    def _lacks_any(self) -> bool:
        """True if an item cannot be judged."""
        return bool(np.isnan(self.gains).any())
