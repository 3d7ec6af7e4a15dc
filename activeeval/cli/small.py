"""Speed-up of commands on small files: plain Python is faster than loading compiled code."""

from __future__ import annotations

import os
from pathlib import Path

import click

from activeeval.formats.packing import packing_of

IS_ALL = "activeeval.is_all"
"""Key in the context's metadata: True if the process runs only this command."""
_SMALL = 1 << 16
"""Total file size in bytes up to which Python is faster: 69 kB, 4,000 lines, took .28 s, and loading numba with the
kernels .9 s."""
_BINARY = (b"PK", b"PA")
"""First bytes of spreadsheets and parquet files."""


def leave_small_to_python(*paths: str) -> None:
    """Run the kernels in plain Python if `paths` are small files, for which compiling takes longer than it saves.

    Only if the process runs no other command.
    """
    if click.get_current_context().meta.get(IS_ALL) and _are_small(*paths):
        from activeeval.core.kernels.compiling import leave_to_python

        leave_to_python()


def _are_small(*paths: str) -> bool:
    """Check that all files are uncompressed text, and small in total; False if one cannot be read."""
    try:
        if not all(map(os.path.isfile, paths)) or sum(map(os.path.getsize, paths)) > _SMALL:
            return False
        heads = [Path(path).read_bytes()[:6] for path in paths]
        return not any(packing_of(head) or head.startswith(_BINARY) for head in heads)
    except OSError:  # reported later by the reader of the file
        return False
