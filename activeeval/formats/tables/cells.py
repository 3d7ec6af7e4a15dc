"""Classify cells of a table: empty, a number, or changed by a spreadsheet."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from activeeval.core.types import Floats

MOST_DIGITS = 10**15
"""A spreadsheet keeps 15 digits: numbers from here on lose some."""
LEAST_NORMAL = float(np.finfo(np.float64).smallest_normal)
"""Numbers closer to 0 lose digits, or become 0."""
_FORMULA = re.compile(r"'*(?:[=+\-@\t\r\n]|\s+[=+\-@])")
"""Texts that a spreadsheet takes for a formula, also after apostrophes, so that guarding is unambiguous."""
_COMMA_NUMBER = re.compile(r"\s*[+-]?\d*,\d+\s*")


def is_empty(value: Any) -> bool:
    """Check whether a cell is blank; None, NaN, and pandas' NA and NaT are blank too."""
    if isinstance(value, str):
        return not value.strip()
    is_nan = isinstance(value, (float, np.floating)) and bool(value != value)
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def is_altered(value: Any) -> bool:
    """Check whether a cell has a type into which spreadsheets convert some ids: a long number, bool, date or time."""
    is_long = isinstance(value, float) and abs(value) >= MOST_DIGITS
    return is_long or isinstance(value, (bool, date, time, timedelta))


def is_formula(text: str) -> bool:
    """Check whether a spreadsheet would take a text for a formula, or for one after apostrophes."""
    return _FORMULA.match(text) is not None


def guarded(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would take for a formula, for CSV.

    Examples
    --------
    >>> guarded("=1+1"), guarded("d7"), unguarded(guarded("=1+1"))
    ("'=1+1", 'd7', '=1+1')
    """
    return f"'{text}" if is_formula(text) else text


def unguarded(text: str) -> str:
    """Remove the apostrophe that `guarded` added."""
    return text[1:] if text[:1] == "'" and is_formula(text) else text


def has_decimal_comma(value: Any) -> bool:
    """Check whether a cell is a number with a decimal comma."""
    return isinstance(value, str) and _COMMA_NUMBER.fullmatch(value) is not None


def plain_floats(values: Sequence[Any]) -> Floats | None:
    """Convert a column of texts that are all well-formed numbers at once; None for any other column."""
    if set(map(type, values)) <= {str} and "_" not in "".join(values):
        try:
            return np.array(list(map(float, values)), dtype=np.float64)
        except ValueError:
            return None
    return None


def is_not_zero(text: str) -> bool:
    """Check whether the text of a number has a digit other than 0 before its exponent."""
    return text.lower().partition("e")[0].strip(" +-.0") != ""


def tiny_texts(cells: Sequence[Any], values: Floats) -> dict[int, str]:
    """Collect, by row, the texts of numbers that are not 0 but below the smallest normal float.

    Cells that were floats already, as in parquet, have no other text.
    """
    near = np.flatnonzero(np.abs(values) < LEAST_NORMAL).tolist()
    texts = {row: str(getattr(cells[row], "text", cells[row])) for row in near}
    return {row: text for row, text in texts.items() if is_not_zero(text)}


def as_float(value: Any) -> float | None:
    """Convert a cell to a float, None if it is not a number."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float, Decimal, np.number)):
        return None
    # Python would take 1_000 for a number; no file format does
    if isinstance(value, str) and "_" in value:
        return None
    try:
        return float(value)
    except ValueError:
        return None
    except OverflowError:
        return math.inf
