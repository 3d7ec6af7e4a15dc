"""Which rows of a click log say nothing of people: shown too seldom, or clicked as no person clicks."""

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
    """What became of a row of a log."""

    KEPT = 0
    FEW_IMPRESSIONS = 1
    ROBOT_ROW = 2
    ROBOT_QUERY = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningRules:
    """When rows are left out of a click log.

    Attributes
    ----------
    fewest_impressions : int
        A row with fewer is left out. At 20 a rate of 0 is told from no less than 5 clicks of 20, 25 %, at a level of
        5 %, more than most documents ever get.
    robot_rate, robot_impressions : float, int
        A row that is clicked at this rate or above, in so many impressions or more, was clicked by robots: even of the
        queries that look for one site alone some visits end without a click on it.
    robot_query_rate, robot_query_documents : float, int
        A query of which every document is clicked at this rate or above, over its positions, and that has so many
        documents or more, was asked by robots: people who have found something stop.

    Raises
    ------
    InputError
        Where a rate is not in (0, 1], or a number is none.
    """

    fewest_impressions: int = 20
    # no rates or counts of robots are published that fit every log: these lie beyond what the click models of
    # activeeval.adaptation.users come to with their own defaults, and are told with every report
    robot_rate: float = 0.95
    robot_impressions: int = 1000
    robot_query_rate: float = 0.8
    robot_query_documents: int = 3

    def __post_init__(self) -> None:
        for name in ("fewest_impressions", "robot_impressions", "robot_query_documents"):
            whole_number(getattr(self, name), name, 1)
        for name in ("robot_rate", "robot_query_rate"):
            rate = getattr(self, name)
            if not isinstance(rate, (int, float)) or not 0 < rate <= 1:
                raise InputError(f"{name} must lie in (0, 1], got {rate!r}")

    def fates(self, log: ClickLog, queries: Ints, documents: Ints) -> Ints:
        """Return the `RowOutcome` of every row, shape (n,).

        Parameters
        ----------
        queries, documents : ndarray of int64, shape (n,)
            Number of each row's query, and of its document within all queries.
        """
        rates = log.clicks / log.impressions
        is_few = log.impressions < self.fewest_impressions
        is_robot = ~is_few & (rates >= self.robot_rate) & (log.impressions >= self.robot_impressions)
        fates = np.select([is_few, is_robot], [RowOutcome.FEW_IMPRESSIONS, RowOutcome.ROBOT_ROW], RowOutcome.KEPT)
        of_robots = self._robot_queries(log, queries, documents, ~is_few)
        return np.where((fates == RowOutcome.KEPT) & of_robots[queries], RowOutcome.ROBOT_QUERY, fates).astype(np.int64)

    def _robot_queries(self, log: ClickLog, queries: Ints, documents: Ints, counts: NDArray[np.bool_]) -> Ints:
        """Return which queries were asked by robots, from the rows that count, shape (n_queries,)."""
        n_documents, n_queries = documents.max(initial=-1) + 1, queries.max(initial=-1) + 1
        shown, clicked = (
            np.bincount(documents[counts], values[counts], n_documents) for values in (log.impressions, log.clicks)
        )
        owners = np.zeros(n_documents, dtype=np.int64)
        owners[documents] = queries
        is_shown = shown > 0
        is_loved = is_shown & (clicked >= self.robot_query_rate * shown)
        of_query, loved = (np.bincount(owners[mask], minlength=n_queries) for mask in (is_shown, is_loved))
        return np.asarray((of_query == loved) & (of_query >= self.robot_query_documents))
