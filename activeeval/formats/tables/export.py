"""Write columns to a table file."""

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

    In .csv and .tsv a text that a spreadsheet would take for a formula gets an apostrophe in front, which `Sheet`
    removes again. The column names of .tsv are quoted if any cell is.

    Parameters
    ----------
    columns : mapping of str to ndarray, list of str or polars series
        None in a list or a series is an empty cell.
    files : AtomicFiles, optional
        Group of files to write together.
    suffix : str, optional
        Suffix to use instead of the name's, for example for standard output.

    Raises
    ------
    InputError
        If the suffix is none of these, or the file cannot be written.
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
    """Format a frame as separated text; quoted tab-separated cells need quoted names, which mark the file as quoted."""
    written: str = frame.write_csv(separator=separator)
    if separator != "\t" or '"' not in written:
        return written
    names = separator.join('"' + name.replace('"', '""') + '"' for name in frame.columns)
    return f"{names}\n{frame.write_csv(separator=separator, include_header=False)}"


def _guarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Guard all texts of a frame that a spreadsheet would take for formulas."""
    texts = [column for column in frame.iter_columns() if column.dtype == pl.String]
    return frame.with_columns(
        pl.Series(c.name, [text and guarded(text) for text in c.to_list()], dtype=pl.String) for c in texts
    )


def _is_text(column: Any) -> bool:
    """Check whether a column is a list or an array of text."""
    return isinstance(column, list) or (isinstance(column, np.ndarray) and column.dtype.kind == "U")
