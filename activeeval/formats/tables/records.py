"""Records, each with names of its own, as columns that are made when they are asked for."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from typing import Any

from activeeval.core.errors import FormatError, shown
from activeeval.formats.json_text import parse_json


class NamedColumns(Mapping[str, Any]):
    """Columns whose names are at hand, and whose cells are looked at when they are asked for."""

    _names: Mapping[str, Any]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names


class Records(NamedColumns):
    """Columns by name of records that are added one after another; a record without a name has None there.

    What is held is a shape for each set of names and a tuple a record: all columns together, where each record has
    names of its own, would take the square of the records.

    Examples
    --------
    >>> records = Records()
    >>> records.add({"a": 1}), records.add({"b": 2})
    (None, None)
    >>> dict(records)
    {'a': [1, None], 'b': [None, 2]}
    """

    def __init__(self) -> None:
        self._names: dict[str, None] = {}
        self._shapes: dict[tuple[str, ...], int] = {}
        self._shape_of = array("q")
        self._values: list[tuple[Any, ...]] = []

    def add(self, record: Mapping[str, object]) -> None:
        """Add a record behind the others."""
        names = tuple(record)
        shape = self._shapes.setdefault(names, len(self._shapes))
        if shape == len(self._shapes) - 1:
            self._names |= dict.fromkeys(names)
        self._shape_of.append(shape)
        self._values.append(tuple(record.values()))

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self._names:
            raise KeyError(name)
        places = [names.index(name) if name in names else -1 for names in self._shapes]
        rows = zip(self._shape_of, self._values, strict=True)
        return [None if places[shape] < 0 else values[places[shape]] for shape, values in rows]


class RenamedColumns(NamedColumns):
    """Columns under other names, none of them made before it is asked for.

    Parameters
    ----------
    names : mapping of str to str
        What each column is called now, and its name in ``columns``.

    Examples
    --------
    >>> dict(RenamedColumns({"Query ": ["q1"]}, {"query": "Query "}))
    {'query': ['q1']}
    """

    def __init__(self, columns: Mapping[str, Any], names: Mapping[str, str]) -> None:
        self._columns = columns
        self._names = names

    def __getitem__(self, name: str) -> Any:
        return self._columns[self._names[name]]


def json_record(name: str, line: int, text: str) -> Mapping[str, object]:
    """Return the record of a line of a file, or say what is wrong with it."""
    try:
        record = parse_json(text)
    except ValueError as problem:
        raise FormatError(name, line, f"{shown(text)} is not JSON: {problem}; expected one object") from None
    if not isinstance(record, dict):
        raise FormatError(name, line, f"{shown(text)} is not an object, expected one object a line")
    return record
