"""What the name of a file says of its form, in a module that whoever only asks for that has at once."""

from __future__ import annotations

import os
from pathlib import Path

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
