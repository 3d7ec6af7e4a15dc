"""Parameters of a test that do not interact: each value occurs, their product does not."""

import pytest


def each_once(*parameters):
    """Parametrize a test by pairs of names and values: as many cases as the longest list has values.

    Shorter lists start again, each time one value later, so that they do not keep step with each other.
    """
    names = [each.split(",") if isinstance(each, str) else list(each) for each, _ in parameters]
    lists = [list(values) for _, values in parameters]
    rows = []
    for i in range(max(map(len, lists))):
        row, marks = [], []
        for own, values in zip(names, lists, strict=True):
            value = values[(i + i // len(values)) % len(values)]
            if is_marked := hasattr(value, "marks"):
                marks += value.marks
                value = value.values
            row += value if is_marked or len(own) > 1 else [value]
        rows.append(pytest.param(*row, marks=marks))
    return pytest.mark.parametrize([name for own in names for name in own], rows)
