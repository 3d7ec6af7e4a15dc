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
STDIN = "-"
"""Name of standard input, where a file is expected."""
_PACKED = (".gz", ".bz2", ".xz", ".zst")


def bare_suffix(path: PathLike) -> str:
    """Get the lower-case suffix of a name without that of a compression: ``.csv`` for ``a.CSV.gz``."""
    return Path(unpacked_name(path)).suffix.lower()


def unpacked_name(path: PathLike) -> str:
    """Remove the suffix of a compression from a name: ``a.run`` for ``a.run.xz``."""
    name = Path(path)
    return str(name.with_suffix("")) if name.suffix.lower() in _PACKED else str(name)


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
