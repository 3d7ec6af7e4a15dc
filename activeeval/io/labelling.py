"""The log of a top-k labelling: a JSON line for each answer, in the order in which they were given, never rewritten."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from activeeval.errors import FormatError, InputError, shown
from activeeval.io.json_text import parse_json
from activeeval.io.suffixes import PathLike
from activeeval.io.tables.sheets import Sheet


class Told(NamedTuple):
    """What somebody said of a query's documents.

    Attributes
    ----------
    query : str
    kind : {"compared", "discarded", "undone"}
        A comparison, a document that was thrown out, or the last of either taken back.
    first, second : str
        The two that were asked; of a discard ``first`` is the document.
    preferred : str or None
        One of the two, None for a tie.
    """

    query: str
    kind: str
    first: str = ""
    second: str = ""
    preferred: str | None = None


def append_told(path: PathLike, told: Told) -> None:
    """Append a line to a log and have it on the disk before returning.

    Raises
    ------
    InputError
        Where the file cannot be written.
    """
    record: dict[str, Any] = {"query": told.query, "kind": told.kind}
    record |= {"doc": told.first} if told.kind == "discarded" else {}
    record |= (
        {"first": told.first, "second": told.second, "preferred": told.preferred} if told.kind == "compared" else {}
    )
    line = f"{json.dumps(record, ensure_ascii=False)}\n".encode()
    try:
        with open(path, "ab", buffering=0) as handle:
            end = handle.seek(0, os.SEEK_END)
            if handle.write(line) < len(line):
                handle.truncate(end)
                raise OSError("the disk is full")
            os.fsync(handle.fileno())
    except OSError as problem:
        raise InputError(f"{os.fspath(path)}: cannot write: {problem.strerror or problem}") from None


def read_told(path: PathLike) -> list[Told]:
    """Read a log; a last line that a killed process left without its end was never acknowledged, and is cut off.

    Raises
    ------
    FormatError
        ``path:line`` of a line that is none of `append_told`.
    """
    if os.path.exists(path) and not os.path.isfile(path):  # what is cut must be what was read
        raise InputError(f"{os.fspath(path)}: is no regular file, expected a log that `activeeval label` wrote")
    try:
        with open(path, "rb") as handle:
            whole = handle.read()
        kept = whole[: whole.rfind(b"\n") + 1]
        if kept != whole:
            os.truncate(path, len(kept))
    except OSError as problem:
        raise InputError(f"{os.fspath(path)}: cannot read: {problem.strerror or problem}") from None
    return [_parsed(path, number, line) for number, line in enumerate(kept.splitlines(), start=1)]


def told_of(sheet: Sheet) -> list[Told]:
    """Return the lines of a log that was read as a table; raises as `read_told`."""
    names = [name for name in ("query", "kind", "first", "second", "preferred", "doc") if name in sheet.columns]
    rows = zip(*(sheet.columns[name] for name in names), strict=True)
    lines = sheet.lines or range(1, sheet.n_rows + 1)
    return [
        _told(sheet.source, line, dict(zip(names, row, strict=True))) for line, row in zip(lines, rows, strict=True)
    ]


def _parsed(path: PathLike, number: int, line: bytes) -> Told:
    try:
        record = parse_json(line.decode("utf-8"))
    except ValueError:
        record = line.decode("utf-8", "replace")
    return _told(path, number, record, line.decode("utf-8", "replace"))


def _told(path: PathLike, number: int, record: Any, text: str = "") -> Told:
    try:
        kind = record["kind"]
        names = {"compared": ("first", "second"), "discarded": ("doc",), "undone": ()}[kind]
        texts = [record[name] for name in ("query", *names)]
        preferred = record["preferred"] if kind == "compared" else None
        if not all(isinstance(text, str) and text for text in texts) or preferred not in (None, *texts[1:]):
            raise ValueError
    except (ValueError, KeyError, TypeError):
        expected = "expected a line that `activeeval label` wrote"
        problem = f"holds {shown(text or json.dumps(record, ensure_ascii=False))}, {expected}"
        raise FormatError(os.fspath(path), number, problem) from None
    query, first, second = (*texts, "", "")[:3]
    return Told(query, kind, first, second, preferred)
