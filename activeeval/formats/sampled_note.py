"""Judgments of a sample that stand in a file without their weights: the note beside it that says so.

Readers of qrels (pytrec_eval, ir_measures, ranx) refuse a line that is none of theirs, so that the file itself cannot.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from activeeval.formats.suffixes import PathLike
from activeeval.formats.writing import write_atomically

_MARK = "# judgments of a sample"
_MOST = 2000


def note_path(path: PathLike) -> str:
    """Return the name of the note beside a file."""
    return f"{os.fspath(path)}.note"


def write_sampled_note(path: PathLike, origin: str, instead: str) -> None:
    """Say beside a file that it holds judgments of a sample, of what, and with which command they are read instead."""
    with write_atomically(note_path(path)) as handle:
        handle.write(
            f"{_MARK} ({origin}): scored plainly they mislead, for they lack their weights; instead:\n{instead}\n"
        )


def remove_sampled_note(path: PathLike) -> None:
    """Remove the note beside a file that holds judgments of a sample no longer; another file of that name stays."""
    if sampled_note(path):
        with suppress(OSError):
            os.unlink(note_path(path))


def sampled_note(path: PathLike) -> str:
    """Return the command that reads the judgments of a file instead, where a note says so; else nothing."""
    try:
        with Path(note_path(path)).open(encoding="utf-8", errors="replace") as handle:
            first, instead = handle.readline(_MOST), handle.readline(_MOST)
    except OSError:
        return ""
    return instead.strip() if first.startswith(_MARK) else ""
