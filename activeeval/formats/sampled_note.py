"""Write and read the note beside a file of sampled judgments, which lacks their weights.

The warning cannot be in the file itself: readers of qrels (pytrec_eval, ir_measures, ranx) refuse foreign lines.
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
    """Build the path of the note beside a file."""
    return f"{os.fspath(path)}.note"


def write_sampled_note(path: PathLike, origin: str, instead: str) -> None:
    """Write the note that a file has sampled judgments, with their origin and the command that reads them correctly."""
    with write_atomically(note_path(path)) as handle:
        handle.write(f"{_MARK} ({origin}): scores without their weights are misleading; use instead:\n{instead}\n")


def remove_sampled_note(path: PathLike) -> None:
    """Remove the note beside a file that no longer has judgments of a sample; any other file of that name stays."""
    if sampled_note(path):
        with suppress(OSError):
            os.unlink(note_path(path))


def sampled_note(path: PathLike) -> str:
    """Read the command that reads the judgments of a file correctly from the note beside it, "" if there is no note."""
    try:
        with Path(note_path(path)).open(encoding="utf-8", errors="replace") as handle:
            first, instead = handle.readline(_MOST), handle.readline(_MOST)
    except OSError:
        return ""
    return instead.strip() if first.startswith(_MARK) else ""
