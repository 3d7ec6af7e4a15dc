"""Exclusion of click log rows with too few impressions or with robots' click rates."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from activeeval.core.checks import whole_number
from activeeval.core.errors import InputError
from activeeval.core.types import Ints
from activeeval.formats.tables.clicks import ClickLog


class RowOutcome(IntEnum):
    """Outcome of cleaning for a row of a click log: kept, too few impressions, a robots' row, a robots' query."""

    KEPT = 0
    FEW_IMPRESSIONS = 1
    ROBOT_ROW = 2
    ROBOT_QUERY = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningRules:
    """Rules that exclude rows of a click log.

    Attributes
    ----------
    fewest_impressions : int
        Rows with fewer impressions are excluded. At 20, a rate of 0 differs significantly (level 5 %) only from 5
        clicks or more of 20, 25 %, more than most documents ever get.
    robot_rate, robot_impressions : float, int
        A row clicked at this rate or above, in at least this number of impressions, is attributed to robots: even for
        queries that look for a single site, some visits end without a click on it.
    robot_query_rate, robot_query_documents : float, int
        A query with at least this number of documents, each clicked at this rate or above over its positions, is
        attributed to robots: people stop once they have found something.

    Raises
    ------
    InputError
        If a rate is not in (0, 1], or a number is not a positive integer.
    """

    fewest_impressions: int = 20
    # no published thresholds for robots fit every log: these exceed the rates of the click models of
    # activeeval.adaptation.users with their defaults, and every report states them
    robot_rate: float = 0.95
    robot_impressions: int = 1000
    robot_query_rate: float = 0.8
    robot_query_documents: int = 3

    def __post_init__(self) -> None:
        """Raise InputError at the first invalid rule."""
        for name in ("fewest_impressions", "robot_impressions", "robot_query_documents"):
            whole_number(getattr(self, name), name, 1)
        for name in ("robot_rate", "robot_query_rate"):
            rate = getattr(self, name)
            if not isinstance(rate, (int, float)) or not 0 < rate <= 1:
                raise InputError(f"{name} must lie in (0, 1], got {rate!r}")

    def fates(self, log: ClickLog, queries: Ints, documents: Ints) -> Ints:
        """Classify every row by its `RowOutcome`, shape (n,).

        Parameters
        ----------
        log : ClickLog
            n rows with impressions and clicks of a document at a position.
        queries, documents : ndarray of int64, shape (n,)
            Number of each row's query, and of its pair of query and document.
        """
        rates = log.clicks / log.impressions
        is_few = log.impressions < self.fewest_impressions
        is_robot = ~is_few & (rates >= self.robot_rate) & (log.impressions >= self.robot_impressions)
        fates = np.select([is_few, is_robot], [RowOutcome.FEW_IMPRESSIONS, RowOutcome.ROBOT_ROW], RowOutcome.KEPT)
        of_robots = self._robot_queries(log, queries, documents, ~is_few)
        return np.where((fates == RowOutcome.KEPT) & of_robots[queries], RowOutcome.ROBOT_QUERY, fates).astype(np.int64)

    def _robot_queries(self, log: ClickLog, queries: Ints, documents: Ints, counts: NDArray[np.bool_]) -> Ints:
        """Mark the queries attributed to robots, shape (n_queries,): enough documents, each clicked at too high a rate.

        `queries` and `documents`, shape (n,), have each row's numbers; `counts`, shape (n,), masks the rows to use.
        """
        n_documents, n_queries = documents.max(initial=-1) + 1, queries.max(initial=-1) + 1
        impressions, clicks = (
            np.bincount(documents[counts], values[counts], n_documents) for values in (log.impressions, log.clicks)
        )
        owners = np.zeros(n_documents, dtype=np.int64)
        owners[documents] = queries
        is_shown = impressions > 0
        is_above_rate = is_shown & (clicks >= self.robot_query_rate * impressions)
        n_shown, n_above_rate = (np.bincount(owners[mask], minlength=n_queries) for mask in (is_shown, is_above_rate))
        return np.asarray((n_shown == n_above_rate) & (n_shown >= self.robot_query_documents))
