"""Parameters of a test that do not interact: each value occurs, their product does not."""

from __future__ import annotations

import pytest


def each_once(*parameters):
    """Parametrize a test by pairs of names and values: as many cases as the longest list has values.

    Shorter lists start again, each time one value later, so that they do not keep step with each other.
    """
    lists = [list(values) for _, values in parameters]
    width = [1 if isinstance(names, str) else len(names) for names, _ in parameters]
    rows = []
    for i in range(max(map(len, lists))):
        row = []
        for values, n in zip(lists, width, strict=True):
            value = values[(i + i // len(values)) % len(values)]
            row += [value] if n == 1 else value
        rows.append(tuple(row))
    flat = [name for names, _ in parameters for name in ([names] if isinstance(names, str) else names)]
    return pytest.mark.parametrize(flat, rows)
