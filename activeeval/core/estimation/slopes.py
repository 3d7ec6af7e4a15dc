"""Slope of human grades on the grade model's expected grades, within a judged sample.

Items are weighted by 1 / a, a their probability of being judged, so the slope refers to the pool; its standard error is
clustered by query. 1 means a calibrated model, 0 an uninformative one, below 0 a reversed one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from activeeval.core.design import Design, Selection
from activeeval.core.estimation.clustered import slope
from activeeval.core.types import Ints

FEWEST_QUERIES = 10
"""Least number of queries for a standard error, which is a sum over queries."""
SAYS_LITTLE = 0.5
"""A model is uninformative if its slope plus one standard error is below this. In tenths of 53 queries of TREC DL 2021
(DCG@10, nDCG@10, one run and two) that was the case for no sample with the grades of three language models, whose
slopes were 1.6 to 2.0 ± .4, for two in a hundred with those of a weak one, and for three quarters or more with a random
grader."""


@dataclass(frozen=True, slots=True)
class GradeSlope:
    """Slope of human grades on the grades that a model expects: 1 for a calibrated model, 0 for an uninformative one.

    Attributes
    ----------
    value, std_error : float
        The slope and its standard error, clustered by query.
    n_items, n_queries : int
        Numbers of items and queries in the regression.

    Examples
    --------
    >>> GradeSlope(-1.0, 0.3, 50, 20).is_turned, GradeSlope(0.1, 0.3, 50, 20).says_little
    (True, True)
    """

    value: float
    std_error: float
    n_items: int
    n_queries: int

    @property
    def is_turned(self) -> bool:
        """True if the model is reversed: its slope is below −`SAYS_LITTLE` and over two standard errors below 0."""
        return self.value + 2 * self.std_error < 0 and self.value < -SAYS_LITTLE

    @property
    def says_little(self) -> bool:
        """True if grades hardly rise with expectations: the slope plus one standard error is below `SAYS_LITTLE`."""
        return self.value + self.std_error < SAYS_LITTLE


def grade_slope(design: Design, selection: Selection, grades: Ints) -> GradeSlope | None:
    """Compute the slope of human grades on the model's expected grades within a judged selection.

    Returns None without a model that distinguishes items, or with fewer than `FEWEST_QUERIES` queries.

    Parameters
    ----------
    design : Design
        With the grade model (`beliefs`) and the sampling rates.
    selection : Selection
        The judged places: items in the judging order of their query.
    grades : ndarray of int64, shape (n_items,)
        Grades of the selected items; negative for none.
    """
    beliefs, order = design.beliefs, design.order
    if beliefs is None or beliefs.grade_probs.ndim != 2:
        return None
    items = order.items[selection.places]
    is_judged = (grades[items] >= 0) & (grades[items] <= beliefs.max_grade)
    items, places = items[is_judged], selection.places[is_judged]
    expected = beliefs.grade_probs[items].astype(np.float64) @ np.arange(beliefs.max_grade + 1)
    queries = order.place_queries[places]
    n_queries = np.unique(queries).size
    if n_queries < FEWEST_QUERIES or np.ptp(expected) == 0:
        return None
    # 1 over the probability of judging each place at the sampling level reached
    weights = 1.0 / order.inclusion_probs(selection.level)[1][places]
    figure = slope(expected, grades[items].astype(np.float64), weights, queries)
    return GradeSlope(figure.value, figure.se, items.size, n_queries)
