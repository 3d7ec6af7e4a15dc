"""Convert records with differing field names to columns, each built on access."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from typing import Any

from activeeval.core.errors import FormatError, shown
from activeeval.formats.json_text import parse_json


class NamedColumns(Mapping[str, Any]):
    """Mapping with known column names, whose cells are built on access."""

    _names: Mapping[str, Any]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the columns."""
        return iter(self._names)

    def __len__(self) -> int:
        """Number of columns."""
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        """Check whether a column exists, without building its cells."""
        return name in self._names


class Records(NamedColumns):
    """Columns of records that are appended one by one; a missing field is None.

    It stores each set of names once and a tuple a record: full columns would take quadratic memory if every record had
    its own names.

    Examples
    --------
    >>> records = Records()
    >>> records.add({"a": 1}), records.add({"b": 2})
    (None, None)
    >>> dict(records)
    {'a': [1, None], 'b': [None, 2]}
    """

    def __init__(self) -> None:
        """Start without records.

        ``_names`` has all column names in order, ``_shapes`` numbers the distinct tuples of names; of each record,
        ``_shape_of`` has the number of its tuple and ``_values`` its values in that order.
        """
        self._names: dict[str, None] = {}
        self._shapes: dict[tuple[str, ...], int] = {}
        self._shape_of = array("q")
        self._values: list[tuple[Any, ...]] = []

    def add(self, record: Mapping[str, object]) -> None:
        """Append a record."""
        names = tuple(record)
        shape = self._shapes.setdefault(names, len(self._shapes))
        if shape == len(self._shapes) - 1:
            self._names |= dict.fromkeys(names)
        self._shape_of.append(shape)
        self._values.append(tuple(record.values()))

    def __getitem__(self, name: str) -> list[Any]:
        """Build the cells of a column, one a record: None where a record lacks it."""
        if name not in self._names:
            raise KeyError(name)
        places = [names.index(name) if name in names else -1 for names in self._shapes]
        rows = zip(self._shape_of, self._values, strict=True)
        return [None if places[shape] < 0 else values[places[shape]] for shape, values in rows]


class RenamedColumns(NamedColumns):
    """Columns under other names, built on access.

    Parameters
    ----------
    names : mapping of str to str
        New name of each column, and its name in ``columns``.

    Examples
    --------
    >>> dict(RenamedColumns({"Query ": ["q1"]}, {"query": "Query "}))
    {'query': ['q1']}
    """

    def __init__(self, columns: Mapping[str, Any], names: Mapping[str, str]) -> None:
        """Wrap ``columns``; ``names`` maps each new name to that of a column."""
        self._columns = columns
        self._names = names

    def __getitem__(self, name: str) -> Any:
        """Get the column of a new name."""
        return self._columns[self._names[name]]


def json_record(name: str, line: int, text: str) -> Mapping[str, object]:
    """Parse a line of a file as a JSON object; raise FormatError if it is not one."""
    try:
        record = parse_json(text)
    except ValueError as problem:
        raise FormatError(name, line, f"{shown(text)} is not JSON: {problem}; expected one object") from None
    if not isinstance(record, dict):
        raise FormatError(name, line, f"{shown(text)} is not an object, expected one object a line")
    return record
