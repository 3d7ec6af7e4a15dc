"""What the name of a file says of its form, in a module that whoever only asks for that has at once."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from activeeval.core.errors import InputError

PathLike = str | os.PathLike[str]

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")
"""Tables that are written and read."""
SPREADSHEETS = (".xlsx", ".ods")
"""Tables that are only read, but for the sheets that go to judges."""
SHEETS = (*SUFFIXES, ".xlsx")
"""What judges get."""
TABLES = (*SUFFIXES, *SPREADSHEETS)


def bare_suffix(path: PathLike) -> str:
    """Return the lower-case suffix of a name, ``.gz`` left out: ``.csv`` of ``a.CSV.gz``."""
    name = Path(path)
    if name.suffix.lower() == ".gz":
        name = name.with_suffix("")
    return name.suffix.lower()


def check_table(path: PathLike) -> None:
    """Raise InputError where the name of a table is that of a pipe: whoever opens it waits for the other end.

    A table is read more than once, and a sheet is written, filled in and read again.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):  # what is not there, whoever opens it says
        return
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        raise InputError(f"{os.fspath(path)}: is a pipe, expected a file: write the table to one first")
