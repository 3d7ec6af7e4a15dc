"""Commands that have little to do: they are done before compiled code would be there."""

from __future__ import annotations

import os
from pathlib import Path

import click

IS_ALL = "activeeval.is_all"
"""Under which a context knows whether its process does nothing else."""
_SMALL = 1 << 16
"""Bytes of all files together up to which Python is done before compiled code is there: 69 kB, 4,000 lines, took it
.28 s, and numba with the kernels .9 s."""
_PACKED = (b"\x1f\x8b", b"PK", b"PA")


def leave_small_to_python(*paths: str) -> None:
    """Have Python read files that are small, in a process that does nothing else."""
    if click.get_current_context().meta.get(IS_ALL) and _are_small(*paths):
        from activeeval.core.kernels.compiling import leave_to_python

        leave_to_python()


def _are_small(*paths: str) -> bool:
    """Return whether files are soon read: regular ones, none of them packed."""
    try:
        if not all(map(os.path.isfile, paths)) or sum(map(os.path.getsize, paths)) > _SMALL:
            return False
        return not any(Path(path).read_bytes()[:2] in _PACKED for path in paths)
    except OSError:  # whoever reads it says what is wrong
        return False
