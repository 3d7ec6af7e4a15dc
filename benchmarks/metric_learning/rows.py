"""Answer and writing averaged rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.frame.report import plus_minus, table
from benchmarks.metric_learning.running import Row


class Tables:
    """The tables of all experiments that were run."""

    def __init__(self, experiments: dict[str, Row]) -> None:
        self._experiments = experiments

    def __contains__(self, experiment: str) -> bool:
        return experiment in self._experiments

    def rows(self, experiment: str, table: str, **keys: Any) -> list[Row]:
        """Return the rows of a table with some keys."""
        every = self._experiments[experiment]["tables"].get(table, [])
        return [row for row in every if all(row.get(name) == value for name, value in keys.items())]

    def one(self, experiment: str, table: str, **keys: Any) -> Row:
        """Return the only row with some keys."""
        (row,) = self.rows(experiment, table, **keys)
        return row


def shown(row: Row, value: str, places: int = 3) -> str:
    """Write a mean with its standard error."""
    mean, error = row.get(value), row.get(f"{value}_se")
    if mean is None:
        return ""
    return f"{mean:.{places}f}" if error is None else plus_minus(mean, error, f".{places}f")


def listed(rows: Iterable[Row], value: str, by: str | None = None, places: int = 3) -> str:
    """Return several means with standard errors, each with the key it stands for."""
    return ", ".join((f"{row[by]}: " if by else "") + shown(row, value, places) for row in rows)


def pivot(rows: Sequence[Row], by: Sequence[str], columns: str, value: str, places: int = 3) -> list[str]:
    """Write rows as a table: a line for each set of keys, a column for each value of one key."""
    heads = list(dict.fromkeys(row[columns] for row in rows))
    lines: dict[tuple, Row] = {}
    for row in rows:
        lines.setdefault(tuple(row[name] for name in by), {})[row[columns]] = shown(row, value, places)
    body = [[*keys, *(cells.get(head, "") for head in heads)] for keys, cells in lines.items()]
    return table([*by[:-1], f"{by[-1]} \\ {columns}", *heads], body)


def columns(rows: Sequence[Row], by: Sequence[str], values: Sequence[str], places: int = 3) -> list[str]:
    """Write rows as a table with several values side by side."""
    return table([*by, *values], ([*(row[k] for k in by), *(shown(row, v, places) for v in values)] for row in rows))
