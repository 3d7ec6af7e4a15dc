"""Classify files by the suffix of their name; this module imports nothing slow."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Sequence
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
READ_ONLY = (".bz2", ".xz", ".zst")
"""Suffixes of compressions that are read, not written."""
_PACKED = (".gz", *READ_ONLY)


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


def located(path: PathLike) -> tuple[str, str]:
    """Split the name of a part off a file's name, ``predictions.json#en/test``; "" if there is none."""
    name = os.fspath(path)
    file, mark, part = name.rpartition("#")
    return (file, part) if mark and not os.path.exists(name) else (name, "")


def check_one_stdin(sources: Sequence[object]) -> None:
    """Raise InputError if standard input is named twice: it can be read only once."""
    if sum(isinstance(source, str) and source == STDIN for source in sources) > 1:
        raise InputError("standard input, -, is read once: name a file for the other")


def runs_in(path: str) -> list[str]:
    """List the files of a folder, or of a pattern as ``runs/*.run``; any other name stands for itself.

    Raises
    ------
    InputError
        If a folder holds no file, or a pattern matches none.

    Examples
    --------
    >>> runs_in("bm25.run")
    ['bm25.run']
    """
    if os.path.isdir(path):
        names = sorted(os.path.join(path, name) for name in os.listdir(path) if not name.startswith("."))
    elif glob.has_magic(path) and not os.path.exists(path):
        names = sorted(glob.glob(path))
    else:
        return [path]
    files = [name for name in names if os.path.isfile(name)]
    if not files:
        raise InputError(f"{path}: holds no file, expected runs")
    return files
