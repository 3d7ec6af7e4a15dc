"""Columns out to a file that every tool reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from activeeval.core.errors import InputError
from activeeval.formats.suffixes import PathLike, bare_suffix
from activeeval.formats.tables.cells import guarded
from activeeval.formats.writing import AtomicFiles, write_atomically


def write_columns(
    columns: Mapping[str, Any], path: PathLike, files: AtomicFiles | None = None, suffix: str | None = None
) -> None:
    """Write equally long columns by the suffix of the name: .csv, .tsv, .jsonl (each also .gz) or .parquet.

    In .csv and .tsv a text that a spreadsheet would take for a formula stands behind an apostrophe, which `Sheet` takes
    away again. The names of .tsv are quoted where a cell is.

    Parameters
    ----------
    columns : mapping of str to ndarray, list of str or polars series
        None in a list or a series is an empty cell.
    files : Together, optional
        Others that the file belongs to.
    suffix : str, optional
        In place of the name's, for a name without one, as standard output's.

    Raises
    ------
    InputError
        Where the suffix is none of these, or the file cannot be written.
    """
    frame = pl.DataFrame(
        {name: pl.Series(c, dtype=pl.String) if _is_text(c) else pl.Series(c) for name, c in columns.items()}
    )
    suffix = suffix or bare_suffix(path)
    if suffix not in (".csv", ".tsv", ".jsonl", ".parquet"):
        raise InputError(f"{os.fspath(path)}: expected a name that ends in .csv, .tsv, .jsonl or .parquet")
    opened = write_atomically if files is None else files.open
    with opened(path, binary=suffix == ".parquet") as handle:
        if suffix == ".parquet":
            frame.write_parquet(handle)
        elif suffix == ".jsonl":
            handle.write(frame.write_ndjson())
        else:
            handle.write(_separated(_guarded(frame), "\t" if suffix == ".tsv" else ","))


def _separated(frame: pl.DataFrame, separator: str) -> str:
    """Write cells between separators; where tab-separated ones are quoted the names are too, which says so."""
    written: str = frame.write_csv(separator=separator)
    if separator != "\t" or '"' not in written:
        return written
    names = separator.join('"' + name.replace('"', '""') + '"' for name in frame.columns)
    return f"{names}\n{frame.write_csv(separator=separator, include_header=False)}"


def _guarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose texts no spreadsheet takes for formulas."""
    texts = [column for column in frame.iter_columns() if column.dtype == pl.String]
    return frame.with_columns(
        pl.Series(c.name, [text and guarded(text) for text in c.to_list()], dtype=pl.String) for c in texts
    )


def _is_text(column: Any) -> bool:
    return isinstance(column, list) or (isinstance(column, np.ndarray) and column.dtype.kind == "U")
