"""Read and write queries that were sampled from a log of searches, with their texts and traffic weights."""

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
from activeeval.formats.tables.read_tables import read_sheet, sheet_parts
from activeeval.formats.tables.sheets import Sheet

_MARKS = ("traffic_weight", "inclusion_prob")
COLUMNS = ("query_id", "query", "count", *_MARKS, "stratum", "stratum_count")
_OF_LOG = ("log", "log_digest", "log_count", "log_queries")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnQueries:
    """Queries sampled from a log, by strata.

    Attributes
    ----------
    query_ids, texts, strata : list of str
        Id derived from the normal form, most frequent spelling, name of the stratum.
    counts, weights, probs : ndarray, shape (n,)
        Frequency f of each query in the log; weight f / π; inclusion probability π.
    stratum_counts : ndarray, shape (n,)
        Total frequency of all queries in each query's stratum.
    log : QueryLog
    source : str
        Name of the queries in messages.
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
        """Number of queries with inclusion probability 1."""
        return int((self.probs == 1).sum())

    @property
    def query_probs(self) -> Floats:
        """p of each query, shape (n,): its stratum's share of the traffic, divided within the stratum by weight."""
        return self._shares(self._codes())

    def columns(self) -> dict[str, Any]:
        """Build the columns of the file."""
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
        """Write the queries as a table, .csv, .tsv, .jsonl or .parquet."""
        from activeeval.formats.tables.export import write_columns

        write_columns(self.columns(), path)

    def n_kept(self, last: Self) -> int:
        """Count the queries of an earlier sample that are also in this one."""
        return len(set(self.query_ids) & set(last.query_ids))

    def align(self, pool: QueryPool) -> tuple[Floats, QueryDraw]:
        """Return p of a pool's queries, shape (n_queries,), summing to 1, and the record of their sampling.

        Raises
        ------
        FormatError
            Names the first query of the pool that was not sampled.
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
        """Number the strata from 0 in order of appearance, and return each query's number."""
        names = {name: code for code, name in enumerate(dict.fromkeys(self.strata))}
        return np.array([names[name] for name in self.strata], dtype=np.int64)

    def _shares(self, codes: Any) -> Floats:
        """Compute p of each query, shape (n,): its stratum's share of the traffic, divided within it by weight.

        ``codes`` (n,) are the numbers of the queries' strata.
        """
        shares = self.stratum_counts * self.weights / np.bincount(codes, self.weights)[codes]
        return np.asarray(shares / shares.sum())


def are_drawn_queries(path: PathLike) -> bool:
    """Check whether a table has the columns of sampled queries, not only of texts."""
    if bare_suffix(path) not in SUFFIXES:
        return False
    try:
        columns = next(sheet_parts(path, 1)).plainly_named().columns
    except InputError:  # the reader of texts reports the problem
        return False
    return all(name in columns for name in _MARKS)


def read_drawn_queries(path: PathLike) -> DrawnQueries:
    """Read queries written by `activeeval queries draw`.

    Raises
    ------
    FormatError
        ``path:line: column: what`` of an invalid cell; names a missing column.
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
    """Read the log of the sample, which must be the same in all rows."""
    name, digest = (sheet.words(column) for column in _OF_LOG[:2])
    n_events, n_queries = (_positive(sheet, column) for column in _OF_LOG[2:])
    for column, cells in zip(_OF_LOG, (name, digest, n_events.tolist(), n_queries.tolist()), strict=True):
        differing = next((row for row, cell in enumerate(cells) if cell != cells[0]), None)
        if differing is not None:
            sheet.fail(
                differing, column, f"holds {shown(str(cells[differing]))}, expected {shown(str(cells[0]))} as before"
            )
    return QueryLog(name=name[0], digest=digest[0], n_events=float(n_events[0]), n_queries=int(n_queries[0]))


def _check_once(sheet: Sheet, ids: Sequence[str]) -> None:
    """Raise FormatError if a query id occurs twice."""
    seen: set[str] = set()
    for row, query_id in enumerate(ids):
        if query_id in seen:
            sheet.fail(row, "query_id", f"{shown(query_id)} is there twice, expected it once")
        seen.add(query_id)


def _check_strata(sheet: Sheet, drawn: DrawnQueries) -> None:
    """Raise FormatError if two rows of a stratum differ in its total frequency."""
    of_stratum: dict[str, float] = {}
    for row, (name, count) in enumerate(zip(drawn.strata, drawn.stratum_counts.tolist(), strict=True)):
        if of_stratum.setdefault(name, count) != count:
            expected = f"expected {of_stratum[name]:g}, as in its rows before"
            sheet.fail(row, "stratum_count", f"holds {count:g} for stratum {shown(name)}, {expected}")


def _positive(sheet: Sheet, name: str) -> Floats:
    """Read a column of positive numbers."""
    values = sheet.floats(name)
    bad = np.flatnonzero(values <= 0)
    if bad.size:
        sheet.fail(int(bad[0]), name, f"holds {values[bad[0]]:g}, expected a positive number")
    return values


def _whole(values: Floats) -> Any:
    """Convert counts to integers if all of them are whole."""
    is_whole = bool((values == np.floor(values)).all()) and bool((values < 2**53).all())
    return values.astype(np.int64) if is_whole else values
