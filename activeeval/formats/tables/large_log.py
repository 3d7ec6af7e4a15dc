"""Aggregate large query logs in .csv or .tsv with polars.

Python objects for ten million lines take two minutes. polars counts equal lines in a few seconds, and only distinct
lines are then validated. Its checks are weaker than those of the reader of tables: any file that it cannot read
completely goes to that reader, which names the line.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import polars as pl

from activeeval.formats.files import open_bytes
from activeeval.formats.suffixes import PathLike, bare_suffix
from activeeval.formats.tables.cells import as_float, unguarded
from activeeval.formats.tables.quoting import has_only_quoted_cells, quoting_of_tabs

LARGE = 1 << 23
"""Least file size in bytes: half a million lines, for which the reader of tables takes six seconds."""
_GZIP_MAGIC = b"\x1f\x8b"
_MOST = float(2**53)


def fast_counts(path: PathLike, names: Mapping[str, tuple[str, ...]]) -> pl.DataFrame | None:
    """Count each spelling of a query in each segment with polars; None if the file needs the reader of tables.

    The result has the columns query, segment ("" without segments) and count.

    Parameters
    ----------
    names : mapping of str to tuple of str
        Accepted names of the columns query, count and segment.
    """
    if bare_suffix(path) not in (".csv", ".tsv") or not os.path.isfile(path) or os.path.getsize(path) < LARGE:
        return None
    with open(path, "rb") as handle:
        first = handle.readline(1 << 16)
    if first.startswith(_GZIP_MAGIC) or first.lower().startswith((b"sep=", b"\xef\xbb\xbf")):
        return None
    separator = "\t" if bare_suffix(path) == ".tsv" else max(",;\t", key=first.decode("utf-8", "replace").count)
    data = open_bytes(path)
    if separator == "\t":
        quoting = quoting_of_tabs(os.fspath(path), data)
        if quoting.doubtful:
            return None
        mark = '"' if quoting.is_quoted else None
    elif has_only_quoted_cells(data, separator):
        mark = '"'
    else:
        return None
    try:
        lines = pl.scan_csv(
            os.fspath(path), separator=separator, quote_char=mark, infer_schema=False, truncate_ragged_lines=False
        )
        chosen = _chosen(lines.collect_schema().names(), names)
        if chosen is None:
            return None
        columns = [pl.col(name).alias(role) for role, name in chosen.items()]
        distinct = lines.select(columns).group_by(list(chosen)).agg(pl.len().alias("lines")).collect(engine="streaming")
    except (pl.exceptions.PolarsError, OSError, UnicodeError):
        return None
    return _counted(distinct) if distinct.height else None


def _chosen(header: list[str], names: Mapping[str, tuple[str, ...]]) -> dict[str, str] | None:
    """Find the columns query, count and segment of a header; None if the query is missing or a column is ambiguous.

    ``names`` has the accepted names of each of them.
    """
    plain = [name.strip().lower() for name in header]
    places_of = {role: [k for k, name in enumerate(plain) if name in several] for role, several in names.items()}
    if len(places_of["query"]) != 1 or max(map(len, places_of.values())) > 1 or len(set(plain)) < len(plain):
        return None
    return {role: header[places[0]] for role, places in places_of.items() if places}


def _counted(distinct: pl.DataFrame) -> pl.DataFrame | None:
    """Convert distinct lines to spellings with counts; None if any line is not simple.

    ``distinct`` has the texts of the columns query, segment and count, as far as they exist, and in ``lines`` the
    number of equal lines.
    """
    texts = [name for name in ("query", "segment") if name in distinct.columns]
    cleaned = {name: _cleaned(distinct[name]) for name in texts}
    if any(column is None for column in cleaned.values()):
        return None
    times = distinct["lines"].cast(pl.Float64)
    if "count" in distinct.columns:
        kinds = distinct["count"].unique().to_list()
        values = {text: as_float(text) if text else None for text in kinds}
        if any(value is None or not 0 < value < _MOST for value in values.values()):
            return None
        counts = distinct["count"].replace_strict(list(values), list(values.values()), return_dtype=pl.Float64)
        times = times * counts
    segments = cleaned.get("segment", pl.Series([""] * distinct.height, dtype=pl.String))
    return pl.DataFrame({"query": cleaned["query"], "segment": segments, "count": times})


def _cleaned(column: pl.Series) -> pl.Series | None:
    """Strip texts as the reader of tables does; None if one is empty or contains NUL."""
    if column.null_count() or column.str.contains("\0", literal=True).any():
        return None
    bare = column.str.strip_chars()
    if bare.str.starts_with("'").any():
        bare = pl.Series([unguarded(text) for text in column.to_list()], dtype=pl.String).str.strip_chars()
    return None if (bare == "").any() else bare
