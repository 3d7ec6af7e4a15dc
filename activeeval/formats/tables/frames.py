"""Create data frames in the library of the input frames."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from activeeval.core.errors import InputError

KINDS = ("pandas", "polars", "pyarrow")
"""Libraries whose frames can be created."""


def kind_of_frame(*sources: Any) -> str:
    """Find the library of the first data frame among some sources, "" if none is a data frame.

    Examples
    --------
    >>> import polars as pl
    >>> kind_of_frame("a.run", pl.DataFrame({"query_id": ["q1"]})), kind_of_frame("a.run", {"q1": {}})
    ('polars', '')
    """
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    for source in sources:
        if isinstance(source, (str, os.PathLike, Mapping)):
            continue
        try:
            native = nw.from_native(source, pass_through=True)
        except DuplicateError:
            continue  # the frame's reader reports the duplicate column
        if isinstance(native, (nw.DataFrame, nw.LazyFrame)):
            name = native.implementation.value
            return name if name in KINDS else "polars"
    return ""


def frame_of(rows: Sequence[Mapping[str, Any]], kind: str = "", names: Sequence[str] = ()) -> Any:
    """Convert rows to a data frame; a missing field is empty.

    Parameters
    ----------
    kind : {"", "pandas", "polars", "pyarrow"}
        By default pandas if it is installed, otherwise polars.
    names : sequence of str
        The columns; by default those of the rows.

    Raises
    ------
    InputError
        If the library is not one of these, or not installed.

    Examples
    --------
    >>> frame_of([{"run": "a", "value": 0.5}, {"run": "b"}], "polars").to_dicts()
    [{'run': 'a', 'value': 0.5}, {'run': 'b', 'value': None}]
    """
    header = list(names) or list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in header}
    library = kind or ("pandas" if find_spec("pandas") else "polars")
    if library not in KINDS:
        raise InputError(f"expected one of {', '.join(KINDS)}, got {kind!r}", field="kind")
    if find_spec(library) is None:
        raise InputError(f"{library} is not installed: install it, or leave `kind` out", field="kind")
    module = import_module(library)
    if library == "pyarrow":
        return module.table(columns)
    return module.DataFrame(columns, **({"strict": False, "infer_schema_length": None} if library == "polars" else {}))
