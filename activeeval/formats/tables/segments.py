"""Assign queries to segments, such as mobile and desktop, navigational and informational."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from activeeval.core.errors import FormatError, shown, unseen_difference
from activeeval.core.pool import QueryPool
from activeeval.core.pool.keys import first_repeated_pair
from activeeval.core.pool.texts import Texts
from activeeval.core.results import Note
from activeeval.core.types import Bools
from activeeval.formats.loading import QUERY
from activeeval.formats.suffixes import SUFFIXES, PathLike, bare_suffix
from activeeval.formats.tables.read_tables import read_sheet
from activeeval.formats.tables.sheets import Sheet
from activeeval.formats.text.columns import read_columns


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """Pairs of query and segment; a query may be in several segments.

    Attributes
    ----------
    query_ids, names : Texts, shape (n,)
        A query and its segment.
    source : str
    """

    query_ids: Texts
    names: Texts
    source: str

    def __str__(self) -> str:
        """Name the file."""
        return self.source

    def of(self, pool: QueryPool) -> tuple[dict[str, Bools], list[Note]]:
        """Mark the queries of a pool in each segment, shape (n_queries,), in the order of the file; return notes too.

        Segments without any query of the pool are left out.

        Raises
        ------
        FormatError
            If the pool contains none of the queries.
        """
        places = {query: place for place, query in enumerate(pool.query_texts)}
        members: dict[str, Bools] = {}
        for query, name in zip(self.query_ids.tolist(), self.names.tolist(), strict=True):
            if query in places:
                members.setdefault(name, np.zeros(pool.n_queries, dtype=np.bool_))[places[query]] = True
        if not members:
            unseen = unseen_difference(self.query_ids.tolist(), places)
            n = self.query_ids.size
            raise FormatError(self.source, None, f"none of its {n} queries is in the sample's pool{unseen}")
        lost = [name for name in dict.fromkeys(self.names.tolist()) if name not in members]
        notes = [Note("lost segments", {"source": self.source, "segments": tuple(lost)})] if lost else []
        n_outside = int(np.count_nonzero(~np.any(list(members.values()), axis=0)))
        return members, notes + ([Note("outside segments", {"n": n_outside})] if n_outside else [])


def read_segments(path: PathLike | Segments) -> Segments:
    """Read segments: a table (.csv, .tsv, .jsonl, .parquet) of query_id and segment, or lines ``query segment``.

    `Segments` are returned unchanged.

    Raises
    ------
    FormatError
        Names the line of a repeated pair of query and segment.
    """
    if isinstance(path, Segments):
        return path
    if bare_suffix(path) in SUFFIXES:
        return segments_of_sheet(read_sheet(path), os.fspath(path))
    columns = read_columns(path, "tt", "query segment")
    queries, names = columns.texts
    again = first_repeated_pair(queries, names)
    if again is not None:
        columns.fail(again[1], _repeat_text(queries, names, again[1]))
    return Segments(queries, names, os.fspath(path))


def segments_of_sheet(sheet: Sheet, source: str) -> Segments:
    """Convert a table of query_id and segment to segments; raises as `read_segments`."""
    column = sheet.column("segment", ("segment",))
    queries, names = sheet.texts(sheet.column("query", QUERY)), sheet.texts(column)
    again = first_repeated_pair(queries, names)
    if again is not None:
        sheet.fail(again[1], column, _repeat_text(queries, names, again[1]))
    return Segments(queries, names, source)


def _repeat_text(queries: Texts, names: Texts, row: int) -> str:
    """Format a repeated pair for a message."""
    return f"query {shown(queries[row])} is in segment {shown(names[row])} already, expected it once"
