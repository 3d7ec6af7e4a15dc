"""Judgments and runs brought onto one pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.errors import InputError
from activeeval.io.files import shown
from activeeval.io.keys import distinct_texts, first_places, first_repeated_pair, places_of
from activeeval.io.trec import Qrels, Run
from activeeval.pool import QueryPool, Rankings
from activeeval.pool.doors import Texts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TIES = ("id", "rank", "input")


@dataclass(frozen=True, slots=True, eq=False)
class TablePool:
    """A pool with what judgments and runs say of its items.

    Attributes
    ----------
    pool : QueryPool
    grades : ndarray of int64, shape (n_items,)
        -1 where nobody judged the item.
    scores : ndarray of float64, shape (n_runs, n_items)
        NaN where the run does not hold the item.
    rankings : list of Rankings
        One for each run.
    n_missing : list of int
        For each run, how many queries of the pool it leaves out.
    n_ignored : list of int
        For each run, how many of its queries the pool does not hold.
    notes : tuple of str
        What the readers of the runs found odd.
    """

    pool: QueryPool
    grades: Ints
    scores: Floats
    rankings: list[Rankings]
    n_missing: list[int]
    n_ignored: list[int]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Rows:
    """The rows of one table whose query the pool holds."""

    held: Ints
    owners: Ints
    doc_ids: Texts
    names: list[str]


def pool_from_tables(qrels: Qrels | None, runs: Sequence[Run], *, evaluated: int, ties: str = "id") -> TablePool:
    """Make the pool of all judged items and of all items that the evaluated runs hold.

    The queries are those of the judgments, in order of first appearance; without judgments,
    those of the evaluated runs. A query's items are its judged ones, then the others in the
    order in which the evaluated runs bring them.

    Parameters
    ----------
    qrels : Qrels or None
    runs : sequence of Run
    evaluated : int
        The first so many runs bring items; the others only score what is there.
    ties : {"id", "rank", "input"}
        Ranking is by score descending; equal scores by document id descending (trec_eval), by
        the rank column ascending, or in the order of the rows.

    Raises
    ------
    InputError
        Where an evaluated run shares no query, or no item of one, with the judgments, or two with each other.
    """
    if ties not in TIES:
        raise InputError(f"ties must be one of {', '.join(TIES)}, got {ties!r}")
    if not 0 <= evaluated <= len(runs) or (qrels is None and evaluated == 0):
        least = 0 if qrels is not None else 1
        raise InputError(f"evaluated must lie from {least} to the number of runs, {len(runs)}, got {evaluated}")
    tables: list[Qrels | Run] = [*([] if qrels is None else [qrels]), *runs]
    n_defining = evaluated + (qrels is not None)
    distinct = [distinct_texts(table.query_ids) for table in tables]
    naming = distinct[:1] if qrels is not None else distinct[:evaluated]
    query_ids = list(dict.fromkeys(name for names, _ in naming for name in names.tolist()))
    index = {name: q for q, name in enumerate(query_ids)}
    rows = [_rows(table, names, codes, index) for table, (names, codes) in zip(tables, distinct, strict=True)]
    if not any(part.held.size for part in rows[:n_defining]):
        raise InputError("the judgments and the evaluated runs hold no document")
    pool, items = _pool(query_ids, rows, n_defining)
    pairs = [(0, t) for t in range(1, n_defining)]
    # judgments between two runs do not make them comparable
    for pair in [*pairs, (1, 2)] if n_defining == 3 and qrels is not None else pairs:
        _check_shared(tables, rows, items, pool, pair)
    grades = np.full(pool.n_items, -1, dtype=np.int64)
    if qrels is not None:
        grades[items[0]] = np.maximum(_taken(qrels.grades, rows[0].held), -1)
        rows, items = rows[1:], items[1:]
    scores = np.full((len(runs), pool.n_items), np.nan)
    rankings = []
    for r, run in enumerate(runs):
        kept = np.flatnonzero(items[r] >= 0)
        positions, places = _taken(items[r], kept), _taken(rows[r].held, kept)
        scores[r, positions] = _taken(run.scores, places)
        rankings.append(_ranking(pool, run, scores[r], positions, places, ties))
    n_held = [sum(name in index for name in part.names) for part in rows]
    return TablePool(
        pool,
        grades,
        scores,
        rankings,
        [pool.n_queries - n for n in n_held],
        [len(part.names) - n for part, n in zip(rows, n_held, strict=True)],
        tuple(note for run in runs for note in run.notes),
    )


def _rows(table: Qrels | Run, names: Texts, codes: Ints, index: dict[str, int]) -> _Rows:
    listed = names.tolist()
    owners = np.array([index.get(name, -1) for name in listed], dtype=np.int64)[codes]
    held = np.flatnonzero(owners >= 0)
    return _Rows(held, _taken(owners, held), _taken(table.doc_ids, held), listed)


def _pool(query_ids: list[str], rows: list[_Rows], n_defining: int) -> tuple[QueryPool, list[Ints]]:
    """Return the pool and, for each table, the item of each of its held rows or -1."""
    owners, item_ids, numbers = _items(rows, n_defining)
    offsets = np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=len(query_ids)))))
    if not np.all(owners[1:] >= owners[:-1]):
        order = np.argsort(owners, kind="stable")
        item_ids = item_ids[order]
        position = np.empty(order.size + 1, dtype=np.int64)
        position[order] = np.arange(order.size)
        position[-1] = -1
        numbers = [position[part] for part in numbers]
    return QueryPool(np.array(query_ids, dtype=np.str_), offsets, item_ids), numbers


def _items(rows: list[_Rows], n_defining: int) -> tuple[Ints, Texts, list[Ints]]:
    """Return the distinct pairs of the defining tables, and for each table the number of each row's pair or -1."""
    owners, item_ids = rows[0].owners[:0], rows[0].doc_ids[:0]
    numbers = []
    for part in rows[:n_defining]:
        number = places_of(owners, item_ids, part.owners, part.doc_ids)
        new = np.flatnonzero(number < 0)
        if new.size:
            first = new
            if first_repeated_pair(_taken(part.owners, new), _taken(part.doc_ids, new)) is None:
                number[new] = np.arange(owners.size, owners.size + new.size)
            else:
                places = first_places(part.owners[new], part.doc_ids[new])
                is_first = places == np.arange(new.size)
                number[new] = owners.size + (np.cumsum(is_first) - 1)[places]
                first = new[is_first]
            owners = _joined(owners, _taken(part.owners, first))
            item_ids = _joined(item_ids, _taken(part.doc_ids, first))
        numbers.append(number)
    others = (places_of(owners, item_ids, part.owners, part.doc_ids) for part in rows[n_defining:])
    return owners, item_ids, [*numbers, *others]


def _check_shared(
    tables: Sequence[Qrels | Run], rows: list[_Rows], items: list[Ints], pool: QueryPool, pair: tuple[int, int]
) -> None:
    """Raise where two tables share no query of the pool, or no item."""
    one, other = pair
    names = tables[one].source, tables[other].source
    first, second = names if names[0] != names[1] else (f"{names[0]} (1)", f"{names[1]} (2)")
    queries = np.flatnonzero(np.logical_and(*(_marked(rows[t].owners, pool.n_queries) for t in pair)))
    if not queries.size:
        heads = [str(tables[t].query_ids[0]) for t in pair]
        told = f"the first of {first} is {shown(heads[0])}, of {second} {shown(heads[1])}"
        raise InputError(f"{first} and {second} share no query: {told}")
    if not np.logical_and(*(_marked(items[t][items[t] >= 0], pool.n_items) for t in pair)).any():
        query = int(queries[0])
        heads = [str(rows[t].doc_ids[np.argmax(rows[t].owners == query)]) for t in pair]
        told = f"of query {shown(str(pool.query_ids[query]))} they have {shown(heads[0])} and {shown(heads[1])} first"
        raise InputError(f"{first} and {second} share no document of a query: {told}")


def _marked(places: Ints, size: int) -> NDArray[np.bool_]:
    """Return which of so many places are among some."""
    marked = np.zeros(size, dtype=np.bool_)
    marked[places] = True
    return marked


def _taken(column: NDArray[Any], places: Ints) -> NDArray[Any]:
    """Return the entries at ascending places, without a copy where these are all."""
    return column if places.size == column.size else column[places]


def _joined(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate((first, second)) if first.size else second


def _ranking(pool: QueryPool, run: Run, scores: Floats, positions: Ints, places: Ints, ties: str) -> Rankings:
    if ties == "id":
        return Rankings.from_scores(pool, scores)
    owners = pool.item_queries[positions]
    second = run.ranks[places] if ties == "rank" else places
    order = np.lexsort((second, -run.scores[places], owners))
    offsets = np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=pool.n_queries))))
    return Rankings(pool, offsets, positions[order])
