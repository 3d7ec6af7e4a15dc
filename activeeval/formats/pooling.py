"""Combine judgments and runs in one pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from activeeval.core.checks import one_of
from activeeval.core.errors import InputError, fail_unshared, shown, unseen_difference
from activeeval.core.pool import QueryPool, Rankings
from activeeval.core.pool.grades import POOLED
from activeeval.core.pool.keyed import Qrels
from activeeval.core.pool.keys import (
    distinct_runs,
    first_places,
    first_repeated,
    places_within_segments,
    segments_of_runs,
)
from activeeval.core.pool.texts import Texts, joined_texts, offsets_of
from activeeval.core.results import Caution, Note
from activeeval.core.types import Floats, Ints
from activeeval.formats.text.trec import Run

if TYPE_CHECKING:
    from activeeval.core.measures import SubtopicLabels

TIES = ("id", "rank", "input")
NO_RELEVANT = ("zero", "skip")
"""Treatment of a query without any relevant document: a value of 0, as in trec_eval, or left out."""


@dataclass(frozen=True, slots=True, eq=False)
class TablePool:
    """A pool with the judgments and the runs' scores of its items.

    Attributes
    ----------
    pool : QueryPool
    grades : ndarray of int64, shape (n_items,)
        -1 for unjudged items.
    scores : ndarray of float64, shape (n_runs, n_items)
        NaN for items that the run does not contain.
    rankings : list of Rankings
        One for each run.
    n_missing : list of int
        For each run, the number of the pool's queries that it lacks.
    n_ignored : list of int
        For each run, the number of its queries that the pool lacks.
    notes : tuple of Note
        Notes of the readers of the judgments and the runs.
    pooled : ndarray of int64
        Positions of the items that the judgments list without a grade.
    by_subtopics : SubtopicLabels or None
        Grades of the items for subtopics.
    gains : ndarray of float64, or None
        The gains that occur, ascending, if the judgments are gains rather than grades; `grades` are indices into it.
    """

    pool: QueryPool
    grades: Ints
    scores: Floats
    rankings: list[Rankings]
    n_missing: list[int]
    n_ignored: list[int]
    notes: tuple[Note | Caution, ...] = ()
    pooled: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    by_subtopics: SubtopicLabels | None = None
    gains: Floats | None = None

    @property
    def labels(self) -> Ints | SubtopicLabels:
        """Labels to score by: grades, `POOLED` for the items listed without one, or grades for subtopics."""
        if self.by_subtopics is not None or not self.pooled.size:
            return self.grades if self.by_subtopics is None else self.by_subtopics
        labels = self.grades.copy()
        labels[self.pooled] = POOLED
        return labels

    @property
    def has_relevant(self) -> NDArray[np.bool_]:
        """True for queries with a document of a grade above 0, shape (n_queries,)."""
        relevant = self.pool.item_queries[self.grades > 0]
        return np.asarray(np.bincount(relevant, minlength=self.pool.n_queries) > 0)

    def of_queries(self, which: Ints) -> TablePool:
        """Restrict the pool to some of its queries, given by ascending positions."""
        pool, items = self.pool.subset(which)
        rankings = [ranking.restricted_to(pool, items) for ranking in self.rankings]
        n_missing = [int(np.count_nonzero(ranking.lengths == 0)) for ranking in rankings]
        return replace(
            self,
            pool=pool,
            grades=self.grades[items],
            scores=self.scores[:, items],
            pooled=np.flatnonzero(np.isin(items, self.pooled)),
            rankings=rankings,
            n_missing=n_missing,
        )

    def condensed(self) -> TablePool:
        """Leave unjudged items out of every list, and note their number."""
        rankings = []
        for ranking in self.rankings:
            is_judged = self.grades[ranking.items] >= 0
            counts = np.bincount(self.pool.item_queries[ranking.items[is_judged]], minlength=self.pool.n_queries)
            rankings.append(Rankings(self.pool, offsets_of(counts), ranking.items[is_judged]))
        of = sum(ranking.items.size for ranking in self.rankings)
        note = Note("condensed", {"n": of - sum(ranking.items.size for ranking in rankings), "of": of})
        return replace(self, rankings=rankings, notes=(*self.notes, note))

    def with_rule(self, no_relevant: str) -> TablePool:
        """Apply a rule of `NO_RELEVANT` to queries without any relevant document, and note their number.

        Raises
        ------
        InputError
            If the rule is unknown, or leaves no query.
        """
        one_of(no_relevant, NO_RELEVANT, "`no_relevant`")
        relevant, of = np.flatnonzero(self.has_relevant), self.pool.n_queries
        if relevant.size == of:
            return self
        if no_relevant == "skip" and not relevant.size:
            problem = f"none of the {of} judged queries has a relevant document: `no_relevant` zero counts them as 0"
            raise InputError(problem, field="no_relevant")
        note = Note("no relevant document", {"n": of - relevant.size, "of": of, "rule": no_relevant})
        part = self.of_queries(relevant) if no_relevant == "skip" else self
        nothing = () if relevant.size else (Caution("warning", "nothing relevant", {"of": of}),)
        return replace(part, notes=(*self.notes, note, *nothing))


@dataclass(slots=True)
class _TableRows:
    """The rows of a table whose queries are in the pool, grouped by query in the pool's order.

    Attributes
    ----------
    table_rows : ndarray of int64 or slice
        Row numbers in the table; a slice if the table is already in order, which takes no memory.
    offsets : ndarray of int64, shape (n_queries + 1,)
        Start of each query's rows in `table_rows`.
    doc_ids : Texts
    names : list of str
        All queries of the table.
    """

    table_rows: Ints | slice
    offsets: Ints
    doc_ids: Texts
    names: list[str]


def pool_from_tables(qrels: Qrels | None, runs: Sequence[Run], *, evaluated: int, ties: str = "id") -> TablePool:
    """Build the pool of all judged items and of all items of the evaluated runs.

    The queries are those of the judgments, in order of first appearance; without judgments,
    those of the evaluated runs. A query's items are its judged ones, then the others in the
    order in which the evaluated runs contain them.

    Parameters
    ----------
    qrels : Qrels or None
    runs : sequence of Run
    evaluated : int
        Number of runs, the first ones, that add items; later runs only score existing items.
    ties : {"id", "rank", "input"}
        Ranking is by score descending; equal scores by document id descending (trec_eval), by
        the rank column ascending, or in the order of the rows.

    Raises
    ------
    InputError
        If an evaluated run shares no query, or no item of a query, with the judgments or with another evaluated run.
    """
    _check_arguments(qrels, len(runs), evaluated, ties)
    tables: list[Qrels | Run] = [*([] if qrels is None else [qrels]), *runs]
    n_defining = evaluated + (qrels is not None)
    # of each table: its distinct queries, and the index into them of each run of rows with one query
    distinct = [distinct_runs(table.query_ids) for table in tables]
    naming = distinct[:1] if qrels is not None else distinct[:evaluated]
    query_ids = list(dict.fromkeys(name for names, _ in naming for name in names))
    index = {name: q for q, name in enumerate(query_ids)}
    rows = [_rows(table, names, codes, index) for table, (names, codes) in zip(tables, distinct, strict=True)]
    if not any(part.offsets[-1] for part in rows[:n_defining]):
        raise InputError("the judgments and the evaluated runs hold no document")
    offsets, item_ids, items = _items(rows, n_defining)
    pool = QueryPool(Texts.from_list(query_ids), offsets, item_ids)
    pairs = [(0, t) for t in range(1, n_defining)]
    if qrels is not None:  # judgments between two runs do not make them comparable
        pairs += [(1, t) for t in range(2, n_defining)]
    for pair in pairs:
        _check_shared(tables, rows, items, pool, pair)
    grades, pooled = np.full(pool.n_items, -1, dtype=np.int64), np.empty(0, dtype=np.int64)
    if qrels is not None:
        grades[items[0]] = qrels.grades[rows[0].table_rows]
        pooled = items[0][grades[items[0]] < 0]
        np.maximum(grades, -1, out=grades)
        rows, items = rows[1:], items[1:]
    scores = np.full((len(runs), pool.n_items), np.nan)
    rankings = [
        _ranking(pool, run, part, of_run, items, ties) for run, part, of_run in zip(runs, rows, scores, strict=True)
    ]
    n_held = [sum(name in index for name in part.names) for part in rows]
    return TablePool(
        pool,
        grades,
        scores,
        rankings,
        [pool.n_queries - n for n in n_held],
        [len(part.names) - n for part, n in zip(rows, n_held, strict=True)],
        tuple(note for table in tables for note in table.notes),
        pooled,
        gains=None if qrels is None else qrels.gains,
    )


def _check_arguments(qrels: Qrels | None, n_runs: int, evaluated: int, ties: str) -> None:
    """Raise InputError if `ties` is unknown or `evaluated` is out of range."""
    one_of(ties, TIES, "ties")
    least = 0 if qrels is not None else 1
    if not least <= evaluated <= n_runs:
        raise InputError(f"evaluated must lie from {least} to the number of runs, {n_runs}, got {evaluated}")


def _rows(table: Qrels | Run, names: Texts, codes: Ints, index: dict[str, int]) -> _TableRows:
    """Group the rows of a table by the queries of the pool; rows of other queries are left out.

    ``names`` are the distinct queries of the table, ``codes`` the index into them of each run of rows with one query,
    and ``index`` the position of each query in the pool.
    """
    listed = names.tolist()
    owners = np.array([index.get(name, -1) for name in listed], dtype=np.int64)[codes]
    # rows by query, those of other queries first (None: the rows are in this order), and where each query begins
    order, offsets = segments_of_runs(owners, table.query_ids.repeats, len(index))
    if order is None and offsets[0] == 0:
        return _TableRows(slice(None), offsets, table.doc_ids.plain(), listed)
    rows = np.arange(offsets[0], offsets[-1]) if order is None else order[offsets[0] :]
    return _TableRows(rows, offsets - offsets[0], table.doc_ids[rows], listed)


def _items(rows: list[_TableRows], n_defining: int) -> tuple[Ints, Texts, list[Ints]]:
    """Collect the items of the first ``n_defining`` tables by query; later tables add none.

    Returns the start of each query's items, shape (n_queries + 1,), the ids of the items, and for each table the item
    of each of its rows, −1 if there is none.
    """
    offsets, item_ids = np.zeros_like(rows[0].offsets), Texts.from_list([])
    items: list[Ints] = []
    for t, part in enumerate(rows):
        row_items = places_within_segments(offsets, item_ids, part.offsets, part.doc_ids)
        new = np.flatnonzero(row_items < 0)
        if t < n_defining and new.size:
            offsets, item_ids, moved, row_items = _with_new(offsets, item_ids, part, row_items, new)
            items = [moved[table_items] for table_items in items] if moved.size else items
        items.append(row_items)
    return offsets, item_ids, items


def _with_new(
    offsets: Ints, item_ids: Texts, part: _TableRows, row_items: Ints, new: Ints
) -> tuple[Ints, Texts, Ints, Ints]:
    """Append the new rows of a table to the items of their queries.

    ``offsets`` and ``item_ids`` are the items so far, ``row_items`` the item of each row of the table ``part``, −1 for
    the rows ``new``.

    Return the new offsets and ids, the new position of each old item, and the item of each row of the table.
    """
    # the rows of the first table, unless it names an item twice, are the items as they stand
    if not item_ids.size and first_repeated(part.offsets, part.doc_ids) is None:
        return part.offsets, part.doc_ids, row_items[:0], new
    owners = np.repeat(np.arange(offsets.size - 1), np.diff(part.offsets))[new]
    new_ids = part.doc_ids[new]
    places = first_places(owners, new_ids)
    is_first = places == np.arange(new.size)
    n_old, n_new = np.diff(offsets), np.bincount(owners[is_first], minlength=offsets.size - 1)
    # new positions: in each query the old items (``moved``) stand before those ``added``
    wider = offsets_of(n_old + n_new)
    moved = np.arange(item_ids.size) + np.repeat(wider[:-1] - offsets[:-1], n_old)
    added = np.arange(n_new.sum()) + np.repeat(wider[:-1] + n_old - offsets_of(n_new)[:-1], n_new)
    row_items = np.append(moved, -1)[row_items]
    row_items[new] = added[(np.cumsum(is_first) - 1)[places]]
    source = np.empty(wider[-1], dtype=np.int64)
    source[moved], source[added] = np.arange(moved.size), np.arange(moved.size, source.size)
    return wider, joined_texts([item_ids, new_ids[is_first]])[source], moved, row_items


def _check_shared(
    tables: Sequence[Qrels | Run], rows: list[_TableRows], items: list[Ints], pool: QueryPool, pair: tuple[int, int]
) -> None:
    """Raise InputError if two tables, given by their indices ``pair``, share no query of the pool, or no item.

    ``rows`` and ``items`` have the rows of each table by query, and the item of each row.
    """
    first, second = (tables[t].source for t in pair)
    if first == second:
        first, second = f"{first} (1)", f"{second} (2)"
    is_shared = np.logical_and(*(np.diff(rows[t].offsets) > 0 for t in pair))
    if not is_shared.any():
        heads = [tables[t].query_ids[0] for t in pair]
        example = f"the first of {first} is {shown(heads[0])}, of {second} {shown(heads[1])}"
        ids = [distinct_runs(tables[t].query_ids)[0].tolist() for t in pair]
        fail_unshared(f"{first} and {second} share no query: {example}", ids[0], ids[1], unknown=ids[0])
    if not np.logical_and(*(_marked(items[t], pool.n_items) for t in pair)).any():
        query = int(np.argmax(is_shared))
        heads = [rows[t].doc_ids[rows[t].offsets[query]] for t in pair]
        example = f"of query {shown(pool.query_texts[query])} they have {shown(heads[0])} and {shown(heads[1])} first"
        unseen = unseen_difference(
            *(rows[t].doc_ids[slice(*rows[t].offsets[query : query + 2])].tolist() for t in pair)
        )
        raise InputError(f"{first} and {second} share no document of a query: {example}{unseen}")


def _marked(places: Ints, size: int) -> NDArray[np.bool_]:
    """Convert positions to a boolean mask of `size` elements; negative positions are ignored."""
    marked = np.zeros(size + 1, dtype=np.bool_)  # −1 marks the last element, which is cut off
    marked[places] = True
    return marked[:-1]


def _ranking(pool: QueryPool, run: Run, rows: _TableRows, scores: Floats, items: list[Ints], ties: str) -> Rankings:
    """Build a run's ranking and fill in its scores; remove the run's items, the first of the list, to save memory.

    ``rows`` are the run's rows of queries in the pool, ``scores`` (n_items,) receives their scores, ``items`` has the
    item of each row (−1: none) by run. ``ties`` orders equal scores: "id", "rank" or "input".
    """
    is_held = items[0] >= 0
    chosen = slice(None) if is_held.all() else np.flatnonzero(is_held)
    positions = items.pop(0)[chosen]
    scores[positions] = run.scores[rows.table_rows][chosen]
    if ties == "id":
        del positions  # freed before the rankings are built, the peak of memory for a large run
        return Rankings.from_scores(pool, scores)
    places, owners = np.arange(run.scores.size)[rows.table_rows][chosen], pool.item_queries[positions]
    second = run.ranks[places] if ties == "rank" else places
    order = np.lexsort((second, -run.scores[places], owners))
    return Rankings(pool, offsets_of(np.bincount(owners, minlength=pool.n_queries)), positions[order])
