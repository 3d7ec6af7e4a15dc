"""Read query logs: the frequency of each query, with its spellings merged."""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from activeeval.core.errors import FormatError, InputError, shown
from activeeval.core.pool import QueryLog
from activeeval.core.types import Floats
from activeeval.formats.files import open_bytes, text_stream
from activeeval.formats.suffixes import TABLES, bare_suffix
from activeeval.formats.tables.large_log import fast_counts
from activeeval.formats.tables.read_tables import frame_sheet, sheet_parts
from activeeval.formats.tables.sheets import Sheet

QUERY, COUNT, SEGMENT = ("query", "query_text"), ("count", "frequency", "n"), ("segment",)
"""Accepted names of the columns of a log."""
_ROWS = 1 << 16
"""Rows that are processed at a time."""
_MERGED = 1 << 20
"""Spellings buffered before they are aggregated: some 100 MB."""
_KEYS = ["query", "segment"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoggedQueries:
    """The distinct queries of a log, sorted by segment and normal form.

    Attributes
    ----------
    forms, spellings : list of str
        Normal form of each query, and its most frequent spelling.
    counts : ndarray, shape (n_queries,)
        Frequency of each query, over all spellings.
    segments : list of str or None
        Segment of each query; None if the log has no segments. A query in two segments counts as two queries.
    log : QueryLog
    """

    forms: list[str]
    spellings: list[str]
    counts: Floats
    segments: list[str] | None
    log: QueryLog


def normal_form(text: str) -> str:
    """Normalize a query so that its spellings become equal: Unicode NFKC, case folding, white space collapsed.

    Examples
    --------
    >>> normal_form(" Red  SHOES "), normal_form("STRASSE") == normal_form("straße")
    ('red shoes', True)
    """
    if text.isascii():
        return " ".join(text.lower().split())
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def load_query_log(source: Any) -> LoggedQueries:
    """Load a log from a path, a data frame, or a mapping of queries to frequencies.

    A table (.csv, .tsv, .jsonl, each also .gz, .parquet, .xlsx, .ods) has a column query, and optionally count and
    segment; without a count each row is one search. In any other file each line is one search.

    Raises
    ------
    FormatError
        Names the line of an empty query or segment, and of a count that is not a positive number.
    """
    if isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        if os.path.exists(source) and not os.path.isfile(source):
            raise InputError(f"{name}: is not a regular file, expected one whose digest can be stored")
        if (counted := fast_counts(source, {"query": QUERY, "count": COUNT, "segment": SEGMENT})) is not None:
            return _distinct(_summed([counted]), os.path.basename(name), name)
        parts = sheet_parts(source, _ROWS) if bare_suffix(source) in TABLES else _lines(source)
        return _distinct(_merged(parts, name), os.path.basename(name), name)
    if isinstance(source, Mapping):
        columns = {"query": list(source), "count": list(source.values())}
        return _distinct(_merged(iter([Sheet("the log", columns)]), "the log"), "the log")
    try:
        sheet = frame_sheet(source, "the log")
    except TypeError:
        kind = type(source).__name__
        raise InputError(f"a log must come as a path, a data frame or a mapping, got {kind}") from None
    return _distinct(_merged(iter([sheet]), "the log"), "the log")


def _lines(path: Any) -> Iterator[Sheet]:
    """Yield the lines of a text file, one search each, in chunks; blank lines are skipped."""
    texts: list[str] = []
    numbers: list[int] = []
    name = os.fspath(path)
    for number, line in enumerate(text_stream(open_bytes(path), "\n"), start=1):
        if text := line.strip():
            texts.append(text)
            numbers.append(number)
        if len(texts) == _ROWS:
            yield Sheet(name, {"query": texts}, numbers)
            texts, numbers = [], []
    if texts:
        yield Sheet(name, {"query": texts}, numbers)


def _merged(parts: Iterator[Sheet], source: str) -> pl.DataFrame:
    """Add up the frequency of each spelling over the chunks of a log; columns query, segment and count."""
    done = pl.DataFrame(schema={"query": pl.String, "segment": pl.String, "count": pl.Float64})
    waiting, n_waiting = list[pl.DataFrame](), 0
    for part in parts:
        counted = _counted(part.plainly_named())
        waiting.append(counted)
        n_waiting += counted.height
        if n_waiting > max(_MERGED, done.height):
            done, waiting, n_waiting = _summed([done, *waiting]), [], 0
    spelled = _summed([done, *waiting])
    if not spelled.height:
        raise FormatError(source, None, "the log holds no queries")
    return spelled


def _distinct(spelled: pl.DataFrame, name: str, path: str = "") -> LoggedQueries:
    """Merge the spellings of each query; ``spelled`` has the columns query (a spelling), segment and count.

    ``name`` is that of the log; without a ``path`` the digest is that of the queries.
    """
    forms = pl.Series(list(map(normal_form, spelled["query"].to_list())), dtype=pl.String)
    # of equally frequent spellings the alphabetically first, whatever the order of rows
    ordered = spelled.with_columns(form=forms).sort(
        "segment", "form", "count", "query", descending=[False, False, True, False]
    )
    queries = ordered.group_by("segment", "form", maintain_order=True).agg(pl.first("query"), pl.sum("count"))
    counts = queries["count"].to_numpy()
    log = QueryLog(
        name=name,
        digest=_digest(path) if path else _digest_of(queries),
        n_events=float(counts.sum()),
        n_queries=queries.height,
    )
    segments = queries["segment"].to_list()
    return LoggedQueries(
        forms=queries["form"].to_list(),
        spellings=queries["query"].to_list(),
        counts=counts,
        segments=segments if any(segments) else None,
        log=log,
    )


def _summed(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Add up counts of several tables by query text, as it was spelt, and segment."""
    return pl.concat(parts).group_by(_KEYS).agg(pl.sum("count"))


def _counted(sheet: Sheet) -> pl.DataFrame:
    """Count each spelling in a chunk of a log: its rows, or the sum of their counts.

    The columns of the result are query, segment ("" without segments) and count.
    """
    queries = _filled(sheet, _column_of(sheet, "query", QUERY), "a query")
    segments: Any = [""] * len(queries)
    if SEGMENT[0] in sheet.columns:
        segments = _filled(sheet, SEGMENT[0], "the segment of each query")
    counts: Any = np.ones(len(queries))
    if any(name in sheet.columns for name in COUNT):
        column = _column_of(sheet, "count", COUNT)
        counts = sheet.floats(column)
        bad = np.flatnonzero(counts <= 0)
        if bad.size:
            sheet.fail(int(bad[0]), column, f"holds {counts[bad[0]]:g}, expected a positive number of searches")
    series = (pl.Series(queries, dtype=pl.String), pl.Series(segments, dtype=pl.String), pl.Series(counts))
    return _summed([pl.DataFrame(dict(zip(("query", "segment", "count"), series, strict=True)))])


def _column_of(sheet: Sheet, what: str, names: Sequence[str]) -> str:
    """Find the only column among some names; raise FormatError, which calls its content ``what``, if there are two."""
    present = [name for name in names if name in sheet.columns]
    if len(present) > 1:
        line = 1 if sheet.lines is not None else None
        raise FormatError(sheet.source, line, f"columns {' and '.join(present)} all hold the {what}, expected one")
    return sheet.column(what, names)


def _filled(sheet: Sheet, column: str, what: str) -> list[str]:
    """Read a column of texts without blanks at their ends; raise FormatError if one is empty.

    ``what`` describes the expected text, for the message.
    """
    for row, cell in enumerate(sheet.columns[column]):
        if isinstance(cell, (list, dict)):
            sheet.fail(row, column, f"holds {shown(str(cell))}, expected a text")
    texts = [text.strip() for text in sheet.words(column)]
    if "" in texts:
        sheet.fail(texts.index(""), column, f"is empty, expected {what}")
    return texts


def _digest(path: str) -> str:
    """Compute the SHA-256 digest of a file."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _digest_of(queries: pl.DataFrame) -> str:
    """Compute a digest of segments, normal forms and counts, for a log in memory."""
    digest = hashlib.sha256()
    for row in queries.select("segment", "form", "count").iter_rows():
        digest.update(repr(row).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
