"""Parquet files as frames, damaged ones in one line."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import polars as pl

from activeeval.errors import FormatError
from activeeval.io.files import PathLike, read_binary

_ONE_AT_A_TIME = Lock()


def read_frame(path: PathLike) -> pl.DataFrame:
    """Return the table of a parquet file.

    Raises
    ------
    FormatError
        Where it is damaged or none.
    """
    content = read_binary(path)
    try:
        with _quiet_panics():
            return pl.read_parquet(io.BytesIO(content))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as problem:
        reason = (str(problem).strip() or type(problem).__name__).splitlines()[0]
        raise FormatError(os.fspath(path), None, f"cannot be read as parquet: {reason}") from None


@contextmanager
def _quiet_panics() -> Iterator[None]:
    """Have the process write nothing to stderr: polars prints where it panicked before it raises that."""
    with _ONE_AT_A_TIME, open(os.devnull, "wb") as nothing:
        try:
            kept = os.dup(2)
        except OSError:  # there is no stderr
            yield
            return
        os.dup2(nothing.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
