"""Files of queries that were drawn from a log of searches: written once, read as weights and as texts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from activeeval.core.errors import FormatError, InputError, shown
from activeeval.core.pool import QueryDraw, QueryLog, QueryPool
from activeeval.core.types import Floats
from activeeval.formats.suffixes import SUFFIXES, PathLike, bare_suffix
from activeeval.formats.tables.sheets import Sheet, read_sheet, sheet_parts

_MARKS = ("traffic_weight", "inclusion_prob")
COLUMNS = ("query_id", "query", "count", *_MARKS, "stratum", "stratum_count")
_OF_LOG = ("log", "log_digest", "log_count", "log_queries")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnQueries:
    """Queries that were drawn from a log, each in a stratum of it.

    Attributes
    ----------
    query_ids, texts, strata : list of str
        An id that follows from the normal form, the commonest spelling, the name of the stratum.
    counts, weights, probs : ndarray, shape (n,)
        How often each was asked; as how often it stands, f / π; π.
    stratum_counts : ndarray, shape (n,)
        How often anything was asked in the stratum of each.
    log : QueryLog
    source : str
        What messages call them.
    """

    query_ids: list[str]
    texts: list[str]
    strata: list[str]
    counts: Floats
    weights: Floats
    probs: Floats
    stratum_counts: Floats
    log: QueryLog
    source: str = "the drawn queries"

    @property
    def n_certain(self) -> int:
        """How many were certain to be drawn."""
        return int((self.probs == 1).sum())

    @property
    def query_probs(self) -> Floats:
        """p of each among those drawn: what its stratum has of the traffic, shared out by weight, shape (n,)."""
        return self._shares(self._codes())

    def columns(self) -> dict[str, Any]:
        """Return the columns of their file."""
        n = len(self.query_ids)
        values = (self.query_ids, self.texts, self.counts, self.weights, self.probs, self.strata, self.stratum_counts)
        of_log = (self.log.name, self.log.digest, self.log.n_events, self.log.n_queries)
        columns: dict[str, Any] = dict(zip(COLUMNS, values, strict=True))
        columns |= {name: [value] * n for name, value in zip(_OF_LOG, of_log, strict=True)}
        for name in ("count", "stratum_count", "log_count"):
            columns[name] = _whole(np.asarray(columns[name], dtype=np.float64))
        columns["log_queries"] = np.asarray(columns["log_queries"], dtype=np.int64)
        return columns

    def write(self, path: PathLike) -> None:
        """Write them as a table, .csv, .tsv, .jsonl or .parquet."""
        from activeeval.formats.tables.export import write_columns

        write_columns(self.columns(), path)

    def n_kept(self, last: Self) -> int:
        """Return how many of an earlier draw's queries are among these."""
        return len(set(self.query_ids) & set(last.query_ids))

    def align(self, pool: QueryPool) -> tuple[Floats, QueryDraw]:
        """Return p of a pool's queries, summing to 1, and how they were drawn.

        Raises
        ------
        FormatError
            Names the first query of the pool that was not drawn.
        """
        places = {query: place for place, query in enumerate(self.query_ids)}
        for query in pool.query_texts:
            if query not in places:
                raise FormatError(self.source, None, f"query {shown(query)} of the pool is not among those drawn")
        rows, codes = np.array([places[query] for query in pool.query_texts]), self._codes()
        probs = self._shares(codes)[rows]
        drawn = QueryDraw(inclusion_probs=self.probs, strata=codes, sizes=np.bincount(codes), log=self.log)
        return probs / probs.sum(), drawn.of(rows)

    def _codes(self) -> Any:
        names = {name: code for code, name in enumerate(dict.fromkeys(self.strata))}
        return np.array([names[name] for name in self.strata], dtype=np.int64)

    def _shares(self, codes: Any) -> Floats:
        shares = self.stratum_counts * self.weights / np.bincount(codes, self.weights)[codes]
        return np.asarray(shares / shares.sum())


def are_drawn_queries(path: PathLike) -> bool:
    """Return whether a file has the columns of drawn queries, and not those of texts alone."""
    if bare_suffix(path) not in SUFFIXES:
        return False
    try:
        columns = next(sheet_parts(path, 1)).plainly_named().columns
    except InputError:  # whoever reads it as texts says what is wrong
        return False
    return all(name in columns for name in _MARKS)


def read_drawn_queries(path: PathLike) -> DrawnQueries:
    """Read queries that `activeeval queries draw` drew.

    Raises
    ------
    FormatError
        ``path:line: column: what`` of a cell that cannot be; names a column that is missing.
    """
    sheet = read_sheet(path).plainly_named()
    for name in (*COLUMNS, *_OF_LOG):
        if name not in sheet.columns:
            problem = f"no column {name}, expected queries that `activeeval queries draw` drew"
            raise FormatError(os.fspath(path), 1 if sheet.lines is not None else None, problem)
    ids = sheet.texts("query_id").tolist()
    _check_once(sheet, ids)
    counts, weights, stratum_counts = (_positive(sheet, name) for name in ("count", _MARKS[0], "stratum_count"))
    probs = _positive(sheet, _MARKS[1])
    if (probs > 1).any():
        sheet.fail(int(np.argmax(probs > 1)), _MARKS[1], f"holds {probs.max():g}, expected a probability")
    if "" in (strata := sheet.words("stratum")):
        sheet.fail(strata.index(""), "stratum", "is empty, expected a stratum")
    drawn = DrawnQueries(
        query_ids=ids,
        texts=sheet.words("query"),
        strata=strata,
        counts=counts,
        weights=weights,
        probs=probs,
        stratum_counts=stratum_counts,
        log=_log_of(sheet),
        source=os.fspath(path),
    )
    _check_strata(sheet, drawn)
    return drawn


def _log_of(sheet: Sheet) -> QueryLog:
    """Return the log that all rows name."""
    name, digest = (sheet.words(column) for column in _OF_LOG[:2])
    n_events, n_queries = (_positive(sheet, column) for column in _OF_LOG[2:])
    for column, cells in zip(_OF_LOG, (name, digest, n_events.tolist(), n_queries.tolist()), strict=True):
        other = next((row for row, cell in enumerate(cells) if cell != cells[0]), None)
        if other is not None:
            sheet.fail(other, column, f"holds {shown(str(cells[other]))}, expected {shown(str(cells[0]))} as before")
    return QueryLog(name=name[0], digest=digest[0], n_events=float(n_events[0]), n_queries=int(n_queries[0]))


def _check_once(sheet: Sheet, ids: Sequence[str]) -> None:
    seen: set[str] = set()
    for row, query_id in enumerate(ids):
        if query_id in seen:
            sheet.fail(row, "query_id", f"{shown(query_id)} is there twice, expected it once")
        seen.add(query_id)


def _check_strata(sheet: Sheet, drawn: DrawnQueries) -> None:
    """Raise where two rows of a stratum differ in how often anything was asked there."""
    of_stratum: dict[str, float] = {}
    for row, (name, count) in enumerate(zip(drawn.strata, drawn.stratum_counts.tolist(), strict=True)):
        if of_stratum.setdefault(name, count) != count:
            expected = f"expected {of_stratum[name]:g}, as in its rows before"
            sheet.fail(row, "stratum_count", f"holds {count:g} for stratum {shown(name)}, {expected}")


def _positive(sheet: Sheet, name: str) -> Floats:
    values = sheet.floats(name)
    bad = np.flatnonzero(values <= 0)
    if bad.size:
        sheet.fail(int(bad[0]), name, f"holds {values[bad[0]]:g}, expected a positive number")
    return values


def _whole(values: Floats) -> Any:
    """Return counts as whole numbers, where all of them are."""
    is_whole = bool((values == np.floor(values)).all()) and bool((values < 2**53).all())
    return values.astype(np.int64) if is_whole else values
