"""Judgments of subtopics: a grade of a document for each subtopic of its query, as TREC's diversity qrels have them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from activeeval.core.errors import FormatError, shown
from activeeval.core.pool.keyed import Qrels
from activeeval.core.pool.keys import distinct_texts, first_places, positions_in
from activeeval.core.pool.texts import Texts
from activeeval.core.types import Ints

if TYPE_CHECKING:
    from activeeval.formats.pooling import TablePool

SUBTOPIC = ("subtopic_id", "subtopic", "intent", "iteration")
"""Names of the column of subtopics in tables."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SubtopicQrels(Qrels):
    """Judgments of subtopics; the grade of a document is its best.

    Attributes
    ----------
    rated, subtopics, ratings : ndarray of int64, shape (n_ratings,)
        Row of a document, number of a subtopic in the order of appearance, and the document's grade for it.
    """

    rated: Ints
    subtopics: Ints
    ratings: Ints

    def labelled(self, tables: TablePool) -> TablePool:
        """Add the grades for subtopics to a table pool of these judgments."""
        from activeeval.core.measures import SubtopicLabels

        items = positions_in(tables.pool, self.query_ids, self.doc_ids)[self.rated]
        columns = (column[items >= 0] for column in (items, self.subtopics, self.ratings))
        return replace(tables, by_subtopics=SubtopicLabels.of_ratings(tables.pool.n_items, *columns))


def told_subtopics(first: str, again: str) -> str:
    """Format the end of a message on a repeated document that may have two subtopics, ``first`` and ``again``."""
    return f". If {shown(first)} and {shown(again)} are subtopics, score by alpha_nDCG or ERR_IA"


def of_subtopics(
    source: str, ids: tuple[Texts, Texts, Texts], grades: Ints, fail: Callable[[int, str], NoReturn]
) -> SubtopicQrels:
    """Build judgments from rows of query, subtopic, document and grade.

    Parameters
    ----------
    ids : tuple of Texts
        Queries, subtopics and documents of the rows.
    fail : callable
        Raises the error about a row.

    Raises
    ------
    FormatError
        If all rows are of one subtopic, or a document has two grades for one.
    """
    queries, subtopics, docs = ids
    names, numbers = distinct_texts(subtopics)
    if names.size == 1:
        expected = "expected rows of query, subtopic, document and grade, which alpha_nDCG and ERR_IA need"
        raise FormatError(source, None, f"the subtopic is {shown(names[0])} in every row, {expected}")
    places = first_places(distinct_texts(queries)[1], docs)
    cells = places * names.size + numbers  # a number for each document (its first row) with each subtopic
    _, firsts = np.unique(cells, return_index=True)
    if firsts.size < cells.size:
        again = int(np.setdiff1d(np.arange(cells.size), firsts)[0])
        of = f"subtopic {shown(subtopics[again])} of query {shown(queries[again])}"
        fail(again, f"document {shown(docs[again])} is there twice for {of}, expected it once")
    rows = np.flatnonzero(places == np.arange(places.size))
    rated, best = np.searchsorted(rows, places), np.full(rows.size, -1, dtype=np.int64)
    np.maximum.at(best, rated, grades)
    columns: dict[str, Any] = {"rated": rated, "subtopics": numbers, "ratings": grades}
    return SubtopicQrels(query_ids=queries[rows], doc_ids=docs[rows], grades=best, source=source, **columns)
