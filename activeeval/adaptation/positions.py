"""Click counts of a query's documents by position, and comparisons of all pairs of documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from activeeval.adaptation.cleaning import CleaningRules, RowOutcome
from activeeval.adaptation.proportion_tests import Strata, exact_p_value
from activeeval.core.types import Bools, Floats, Ints
from activeeval.formats.tables.clicks import ClickLog


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryClicks:
    """Impressions and clicks of the documents of a query by position.

    Attributes
    ----------
    documents : ndarray of int64, shape (D,)
        Document numbers of `ClickCounts.doc_names`, in the order of their ids.
    of_robots : ndarray of bool, shape (D,)
        True if rows of a document were excluded as robots'.
    shown, clicked : ndarray of int64, shape (D, P)
        Impressions and clicks in the rows that passed cleaning, by position, the uppermost first.
    """

    documents: Ints
    of_robots: Bools
    shown: Ints
    clicked: Ints

    @property
    def is_left(self) -> Bools:
        """True for a document with at least one remaining row, shape (D,)."""
        return np.asarray(self.shown.any(axis=1))

    @property
    def main(self) -> Ints:
        """Most frequent position of each document, in ties the uppermost, shape (D,)."""
        return np.asarray(self.shown.argmax(axis=1), dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Pairwise:
    """Comparisons of the click rates of every two documents of a query, shape (D, D) each.

    Attributes
    ----------
    query : QueryClicks
    level : Strata
        Comparison of their rows at the same positions, each position a stratum.
    mains : Strata
        Comparison of the rows of both at their main (most frequent) positions.
    """

    query: QueryClicks
    level: Strata
    mains: Strata

    @classmethod
    def of(cls, query: QueryClicks) -> Self:
        """Compare all pairs of documents of a query, position by position and at their main positions."""
        n_docs, main = query.documents.size, query.main
        level = np.zeros((5, n_docs, n_docs))  # the five sums of `Strata`, for each pair
        for column in np.flatnonzero(np.count_nonzero(query.shown, axis=0) > 1).tolist():
            docs = np.flatnonzero(query.shown[:, column])
            level[np.ix_(np.arange(5), docs, docs)] += _all_pairs(
                query.shown[docs, column], query.clicked[docs, column]
            ).sums
        row = np.arange(n_docs)
        return cls(query, Strata(level), _all_pairs(query.shown[row, main], query.clicked[row, main]))

    def test(self, skip_above: bool, wanted: Bools, level: float) -> tuple[Floats, Floats]:
        """Compute z, and the one-sided p-value for more clicks on the row's document than on the column's.

        Shape (D, D) each. Both come from the way of comparing (`level` or `mains`) with the smaller p-value, which is
        multiplied by the number of possible ways. Pairs without any have p-value 1.

        Parameters
        ----------
        skip_above : bool
            True: main positions are compared only if the row's document is below the column's.
        wanted : ndarray of bool, shape (D, D)
            Pairs whose p-values must be exact if counts are small or skewed.
        level : float
            Level of the two-sided test.
        """
        main, is_shown = self.query.main, self.query.shown > 0
        is_level = is_shown.astype(np.int64) @ is_shown.T > 0
        is_main = main[:, None] > main if skip_above else main[:, None] != main
        p_level = self._p_values(self.level, is_level & wanted, is_level, level, at_mains=False)
        p_mains = self._p_values(self.mains, is_main & wanted, is_main, level, at_mains=True)
        z = np.where(p_mains < p_level, self.mains.z(), self.level.z())
        n_ways = is_level.astype(np.int64) + is_main
        return z, np.where(n_ways > 0, np.minimum(1.0, n_ways * np.minimum(p_level, p_mains)), 1.0)

    def _p_values(self, strata: Strata, wanted: Bools, is_comparable: Bools, level: float, *, at_mains: bool) -> Floats:
        """Compute one-sided p-values, shape (D, D), exact for `wanted` pairs if the normal approximation is not valid.

        Pairs outside `is_comparable` get 1. With `at_mains`, `strata` compares main (most frequent) positions.
        """
        p_values = np.where(is_comparable, strata.p_values(), 1.0)
        for first, second in np.argwhere(wanted & strata.needs_exact(level) & (p_values < 1)).tolist():
            pair = np.array([[first], [second]])  # rows of the counts; columns are positions, the strata
            shown = self.query.shown
            columns = self.query.main[pair] if at_mains else np.flatnonzero((shown[first] > 0) & (shown[second] > 0))
            p_values[first, second] = exact_p_value(shown[pair, columns], self.query.clicked[pair, columns])
        return p_values


def _all_pairs(shown: Ints, clicked: Ints) -> Strata:
    """Compare every document with every other in one stratum, from impressions and clicks of shape (D,)."""
    return Strata.of((shown[:, None], clicked[:, None]), (shown, clicked))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClickCounts:
    """The rows of a log by query and document.

    Attributes
    ----------
    query_names, doc_names : ndarray of str
        Ids, sorted.
    queries, documents, fates : ndarray of int64, shape (n,)
        Number of each row's query and document, and its `RowOutcome`.
    log : ClickLog
    """

    query_names: NDArray[Any]
    doc_names: NDArray[Any]
    queries: Ints
    documents: Ints
    fates: Ints
    log: ClickLog

    @classmethod
    def of(cls, log: ClickLog, rules: CleaningRules) -> Self:
        """Number the queries and documents of a log, and classify its rows by the rules."""
        query_names, queries = np.unique(log.query_ids.array(), return_inverse=True)
        doc_names, documents = np.unique(log.doc_ids.array(), return_inverse=True)
        # a document of two queries has two numbers, because robots are recognised query by query
        query_documents = np.unique(queries * doc_names.size + documents, return_inverse=True)[1]
        fates = rules.fates(log, queries, query_documents)
        return cls(
            query_names=query_names, doc_names=doc_names, queries=queries, documents=documents, fates=fates, log=log
        )

    def each(self) -> Iterator[QueryClicks]:
        """Yield the click counts of each query in the order of ids."""
        order = np.argsort(self.queries, kind="stable")
        ends = np.cumsum(np.bincount(self.queries, minlength=self.query_names.size))
        for rows in np.split(order, ends[:-1]) if ends.size else ():
            yield self._query(rows)

    def _query(self, rows: Ints) -> QueryClicks:
        """Tabulate the remaining rows of one query by document and position; `rows` are its row numbers in the log."""
        documents, places = np.unique(self.documents[rows], return_inverse=True)  # places: each row's document
        is_kept, is_robot = self.fates[rows] == RowOutcome.KEPT, self.fates[rows] > RowOutcome.FEW_IMPRESSIONS
        rows_kept = rows[is_kept]
        positions, columns = np.unique(self.log.positions[rows_kept], return_inverse=True)
        counts = np.zeros((2, documents.size, max(positions.size, 1)), dtype=np.int64)
        counts[0, places[is_kept], columns] = self.log.impressions[rows_kept]
        counts[1, places[is_kept], columns] = self.log.clicks[rows_kept]
        of_robots = np.bincount(places[is_robot], minlength=documents.size) > 0
        return QueryClicks(documents=documents, of_robots=of_robots, shown=counts[0], clicked=counts[1])
