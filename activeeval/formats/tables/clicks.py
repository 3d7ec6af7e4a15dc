"""Click logs: impressions and clicks of documents by query and position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from activeeval.core.errors import FormatError, InputError, shown
from activeeval.core.pool.keyed import close_columns
from activeeval.core.pool.keys import distinct_texts, first_places
from activeeval.core.pool.texts import Texts, joined_texts
from activeeval.core.types import Ints
from activeeval.formats.loading import DOCUMENT
from activeeval.formats.suffixes import PathLike
from activeeval.formats.tables.export import write_columns
from activeeval.formats.tables.preferences import QUERY
from activeeval.formats.tables.read_tables import read_sheet
from activeeval.formats.tables.sheets import Sheet

_LEAST = {"positions": 1, "impressions": 1, "clicks": 0}


@dataclass(frozen=True, slots=True, eq=False)
class ClickLog:
    """An aggregated click log: one row for each query, document and position.

    Attributes
    ----------
    query_ids, doc_ids : Texts, shape (n,)
    positions : ndarray of int64, shape (n,)
        From 1, the top of the list.
    impressions, clicks : ndarray of int64, shape (n,)
        Number of times the document was shown at the position, at least 1, and number of these with a click.
    source : str
        Name of the log in messages, such as the name of its file.

    Raises
    ------
    InputError
        Names the first row with more clicks than impressions, no impressions, a position below 1, or a repeated
        query, document and position.

    Examples
    --------
    >>> log = ClickLog(["q", "q"], ["a", "b"], positions=[1, 2], impressions=[40, 40], clicks=[5, 9])
    >>> log.n_rows, (log.clicks / log.impressions).tolist()
    (2, [0.125, 0.225])
    """

    query_ids: Texts
    doc_ids: Texts
    positions: Ints
    impressions: Ints
    clicks: Ints
    source: str = "the click log"

    def __post_init__(self) -> None:
        """Convert the columns to their types, read-only; raise InputError at the first invalid row."""
        close_columns(self, {"query_ids": "U", "doc_ids": "U", **dict.fromkeys(_LEAST, "i")})
        for name, least in _LEAST.items():
            values = getattr(self, name)
            if values.min(initial=least) < least:
                row = int(np.argmax(values < least))
                problem = f"{name}[{row}] is {values[row]}, expected a whole number from {least} on"
                raise InputError(f"{self.source}: {problem}")
        if (row := _first_excess(self.impressions, self.clicks)) >= 0:
            problem = f"is {self.clicks[row]}, expected at most the {self.impressions[row]} impressions"
            raise InputError(f"{self.source}: clicks[{row}] {problem}")
        if (again := _first_repeated(self.query_ids, self.doc_ids, self.positions)) is not None:
            at, row = f"positions[{again[0]}]", again[1]
            repeat = _repeat_text(self.query_ids, self.doc_ids, self.positions, row)
            raise InputError(f"{self.source}: positions[{row}]: {repeat}, first at {at}; expected it once")

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.positions.size


def read_clicks(path: PathLike) -> ClickLog:
    """Read a click log from a table with the columns query_id, doc_id, position, impressions and clicks, in any order.

    Parameters
    ----------
    path : path
        .csv, .tsv, .jsonl (each also .gz), .parquet, .xlsx or .ods.

    Raises
    ------
    FormatError
        ``path:line: column: what`` of a cell that cannot be read, of impressions or a position below 1, of more clicks
        than impressions, and of a repeated query, document and position.
    """
    return clicks_of(read_sheet(path).plainly_named())


def clicks_of(sheet: Sheet) -> ClickLog:
    """Convert a table with lower-case column names to a click log; raises as `read_clicks`."""
    refuse_weights(sheet)
    names = {"queries": sheet.column("query", QUERY), "docs": sheet.column("document", DOCUMENT)}
    names |= {what: sheet.column(what, [what]) for what in ("position", "impressions", "clicks")}
    query_ids, doc_ids = sheet.texts(names["queries"]), sheet.texts(names["docs"])
    positions, impressions = (sheet.wholes(names[what], least=1) for what in ("position", "impressions"))
    clicks = sheet.wholes(names["clicks"], least=0)
    if (row := _first_excess(impressions, clicks)) >= 0:
        sheet.fail(row, "clicks", f"holds {clicks[row]}, expected at most the {impressions[row]} impressions")
    if (again := _first_repeated(query_ids, doc_ids, positions)) is not None:
        repeat = _repeat_text(query_ids, doc_ids, positions, again[1])
        sheet.fail(again[1], "position", f"{repeat}, first at {sheet.place(again[0])}; expected it once")
    return ClickLog(query_ids, doc_ids, positions, impressions, clicks, sheet.source)


def pooled_clicks(logs: Sequence[ClickLog]) -> ClickLog:
    """Add up the impressions and clicks of several logs by query, document and position.

    Examples
    --------
    >>> week = ClickLog(["q", "q"], ["a", "b"], [1, 2], [40, 40], [5, 9])
    >>> both = pooled_clicks([week, ClickLog(["q"], ["b"], [2], [10], [1])])
    >>> both.impressions.tolist(), both.clicks.tolist()
    ([40, 50], [5, 10])
    """
    if len(logs) == 1:
        return logs[0]
    queries, docs = (joined_texts([getattr(log, name) for log in logs]) for name in ("query_ids", "doc_ids"))
    positions, impressions, clicks = (
        np.concatenate([getattr(log, name) for log in logs]) for name in ("positions", "impressions", "clicks")
    )
    documents = first_places(distinct_texts(queries)[1], docs)  # the first row of each row's query and document
    _, rows, pooled_rows = np.unique(np.stack((documents, positions)), axis=1, return_index=True, return_inverse=True)
    shown_there, clicked = (np.zeros(rows.size, dtype=np.int64) for _ in range(2))
    np.add.at(shown_there, pooled_rows.ravel(), impressions)
    np.add.at(clicked, pooled_rows.ravel(), clicks)
    names, documents_of = (Texts.from_list([column[row] for row in rows.tolist()]) for column in (queries, docs))
    source = " + ".join(log.source for log in logs)
    return ClickLog(names, documents_of, positions[rows], shown_there, clicked, source)


def write_clicks(log: ClickLog, path: PathLike) -> None:
    """Write a click log by the suffix of the name: .csv, .tsv, .jsonl (each also .gz) or .parquet.

    Raises
    ------
    InputError
        If the suffix is none of these, or the file cannot be written.
    """
    ids = {"query_id": log.query_ids.tolist(), "doc_id": log.doc_ids.tolist()}
    counts = {"position": log.positions, "impressions": log.impressions, "clicks": log.clicks}
    write_columns(ids | counts, path)


def refuse_weights(sheet: Sheet) -> None:
    """Raise FormatError if a table has a column weight: ignoring the weights would give wrong numbers."""
    if "weight" in sheet.columns:
        problem = "column weight is not supported, rows count equally: leave the column out"
        raise FormatError(sheet.source, 1 if sheet.lines is not None else None, problem)


def _first_excess(impressions: Ints, clicks: Ints) -> int:
    """Find the first row with more clicks than impressions, -1 if there is none."""
    is_more = clicks > impressions
    return int(np.argmax(is_more)) if is_more.any() else -1


def _first_repeated(query_ids: Texts, doc_ids: Texts, positions: Ints) -> tuple[int, int] | None:
    """Find the two rows of the first repeated query, document and position; None if there is none."""
    documents = first_places(distinct_texts(query_ids)[1], doc_ids)  # the first row of each row's query and document
    order = np.lexsort((positions, documents))  # stable: equal rows keep their order
    is_same = (np.diff(documents[order]) == 0) & (np.diff(positions[order]) == 0)
    if not is_same.any():
        return None
    again = np.flatnonzero(is_same)
    place = again[np.argmin(order[again + 1])]
    return int(order[place]), int(order[place + 1])


def _repeat_text(query_ids: Texts, doc_ids: Texts, positions: Ints, row: int) -> str:
    """Format a repeated position for a message."""
    of = f"document {shown(doc_ids[row])} of query {shown(query_ids[row])}"
    return f"position {positions[row]} of {of} is there twice"
