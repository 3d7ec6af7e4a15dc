"""Classify files by the suffix of their name; this module imports nothing slow."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from activeeval.core.errors import InputError

PathLike = str | os.PathLike[str]

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")
"""Suffixes of tables that can be written and read."""
SPREADSHEETS = (".xlsx", ".ods")
"""Suffixes of tables that can only be read, except for judges' sheets."""
SHEETS = (*SUFFIXES, ".xlsx")
"""Suffixes of judges' sheets."""
TABLES = (*SUFFIXES, *SPREADSHEETS)


def bare_suffix(path: PathLike) -> str:
    """Return the lower-case suffix of a name without ``.gz``: ``.csv`` for ``a.CSV.gz``."""
    name = Path(path)
    if name.suffix.lower() == ".gz":
        name = name.with_suffix("")
    return name.suffix.lower()


def check_table(path: PathLike) -> None:
    """Raise InputError if the path of a table is a pipe or socket.

    Opening a pipe would block; and a table is read more than once, and a sheet is written, filled in and read again.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):  # opening the file reports that it is missing
        return
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        raise InputError(f"{os.fspath(path)}: is a pipe, expected a file: write the table to one first")
