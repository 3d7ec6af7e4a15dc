"""The documents of a query by the positions at which they were shown, and how every two of them compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from activeeval.io.clicks import ClickLog
from activeeval.preferences.cleaning import CleaningRules, RowFate
from activeeval.preferences.proportions import Strata, exact_p_value

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShownQuery:
    """How often the documents of a query were shown and clicked, by position.

    Attributes
    ----------
    documents : ndarray of int64, shape (D,)
        In the order of their ids, as `ShownQueries.doc_names` numbers them.
    of_robots : ndarray of bool, shape (D,)
        Whether rows of a document were left out as robots'.
    shown, clicked : ndarray of int64, shape (D, P)
        Impressions and clicks in the rows that were kept, by position, the uppermost first.
    """

    documents: Ints
    of_robots: Bools
    shown: Ints
    clicked: Ints

    @property
    def is_left(self) -> Bools:
        """Whether a document has a row left, shape (D,)."""
        return np.asarray(self.shown.any(axis=1))

    @property
    def main(self) -> Ints:
        """Where each document was shown most, of equal ones the uppermost, shape (D,)."""
        return np.asarray(self.shown.argmax(axis=1), dtype=np.int64)

    def rows_of(self, first: int, second: int, with_mains: bool) -> tuple[Ints, Ints]:
        """Return impressions and clicks of two documents by stratum, shape (2, n_strata) each."""
        pair, main = np.array([first, second]), self.main[[first, second]]
        shared = np.flatnonzero(self.shown[pair].all(axis=0))
        columns = np.tile(np.setdiff1d(shared, main) if with_mains else shared, (2, 1))
        columns = np.column_stack((columns, main)) if with_mains else columns
        return self.shown[pair[:, None], columns], self.clicked[pair[:, None], columns]


@dataclass(frozen=True, slots=True, eq=False)
class PairwiseStrata:
    """Comparisons of every document of a query with every other, shape (D, D) each.

    Attributes
    ----------
    query : ShownQuery
    mains : Strata
        Of the main positions of both.
    at_mains, elsewhere : Strata
        Of the positions where both were shown: the main position of either, and all others.
    """

    query: ShownQuery
    mains: Strata
    at_mains: Strata
    elsewhere: Strata

    @classmethod
    def of(cls, query: ShownQuery) -> Self:
        """Return the comparisons of a query."""
        n_docs, main = query.documents.size, query.main
        at_mains, elsewhere = np.zeros((2, 4, n_docs, n_docs))
        for column in np.flatnonzero(np.count_nonzero(query.shown, axis=0) > 1).tolist():
            docs = np.flatnonzero(query.shown[:, column])
            sums = _all_pairs(query.shown[docs, column], query.clicked[docs, column]).sums
            is_main = main[docs] == column
            here = np.ix_(np.arange(4), docs, docs)
            at_mains[here] += np.where(is_main[:, None] | is_main, sums, 0.0)
            elsewhere[here] += np.where(is_main[:, None] | is_main, 0.0, sums)
        row = np.arange(n_docs)
        return cls(
            query, _all_pairs(query.shown[row, main], query.clicked[row, main]), Strata(at_mains), Strata(elsewhere)
        )

    def test(self, with_mains: Bools, wanted: Bools) -> tuple[Floats, Floats]:
        """Return z, and the one-sided p value of the row's document being clicked more than the column's.

        Parameters
        ----------
        with_mains : ndarray of bool, shape (D, D)
            Whether the main positions are compared with each other, rather than each where both were shown there.
        wanted : ndarray of bool, shape (D, D)
            Where p values must be exact if counts are small.
        """
        strata = self.elsewhere + self.mains.where(with_mains) + self.at_mains.where(~with_mains)
        z, p_values = strata.z(), strata.p_values()
        for first, second in np.argwhere(strata.is_small & (z > 0) & wanted).tolist():
            rows = self.query.rows_of(first, second, bool(with_mains[first, second]))
            p_values[first, second] = exact_p_value(*rows)
        return z, p_values


def _all_pairs(shown: Ints, clicked: Ints) -> Strata:
    return Strata.of((shown[:, None], clicked[:, None]), (shown, clicked))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShownQueries:
    """The rows of a log, by query and document.

    Attributes
    ----------
    query_names, doc_names : ndarray of str
        Ids, sorted.
    queries, documents, fates : ndarray of int64, shape (n,)
        Number of each row's query and document, and its `RowFate`.
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
        """Number the queries and documents of a log and clean it."""
        query_names, queries = np.unique(log.query_ids.array(), return_inverse=True)
        doc_names, documents = np.unique(log.doc_ids.array(), return_inverse=True)
        own = np.unique(queries * doc_names.size + documents, return_inverse=True)[1]
        fates = rules.fates(log, queries, own)
        return cls(
            query_names=query_names, doc_names=doc_names, queries=queries, documents=documents, fates=fates, log=log
        )

    def each(self) -> Iterator[ShownQuery]:
        """Yield the queries in the order of their ids."""
        order = np.argsort(self.queries, kind="stable")
        ends = np.cumsum(np.bincount(self.queries, minlength=self.query_names.size))
        for rows in np.split(order, ends[:-1]) if ends.size else ():
            yield self._query(rows)

    def _query(self, rows: Ints) -> ShownQuery:
        documents, places = np.unique(self.documents[rows], return_inverse=True)
        is_kept, is_robot = self.fates[rows] == RowFate.KEPT, self.fates[rows] > RowFate.FEW_IMPRESSIONS
        kept = rows[is_kept]
        positions, columns = np.unique(self.log.positions[kept], return_inverse=True)
        counts = np.zeros((2, documents.size, max(positions.size, 1)), dtype=np.int64)
        counts[0, places[is_kept], columns] = self.log.impressions[kept]
        counts[1, places[is_kept], columns] = self.log.clicks[kept]
        of_robots = np.bincount(places[is_robot], minlength=documents.size) > 0
        return ShownQuery(documents=documents, of_robots=of_robots, shown=counts[0], clicked=counts[1])
