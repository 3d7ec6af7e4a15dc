"""Cells of a table: which hold nothing, which a number, and which a spreadsheet has changed."""

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
"""Of numbers from here on a spreadsheet does not keep every digit: it has 15."""
LEAST_NORMAL = float(np.finfo(np.float64).smallest_normal)
"""Numbers that are closer to 0 lose digits, or are 0."""
_FORMULA = re.compile(r"'*(?:[=+\-@\t\r\n]|\s+[=+\-@])")
"""What a spreadsheet takes for a formula; behind apostrophes too, so that each text has one way to be written."""
_COMMA_NUMBER = re.compile(r"\s*[+-]?\d*,\d+\s*")


def is_empty(value: Any) -> bool:
    """Return whether a cell holds nothing but blanks; NaN, and pandas' NA and NaT, are what libraries have for that."""
    if isinstance(value, str):
        return not value.strip()
    is_nan = isinstance(value, (float, np.floating)) and bool(value != value)
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def is_spoilt(value: Any) -> bool:
    """Return whether a cell holds what a spreadsheet makes of some ids."""
    is_long = isinstance(value, float) and abs(value) >= MOST_DIGITS
    return is_long or isinstance(value, (bool, date, time, timedelta))


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet would take a text for a formula, or it is one behind apostrophes."""
    return _FORMULA.match(text) is not None


def guarded(text: str) -> str:
    """Return a text as CSV holds it: what would pass for a formula stands behind an apostrophe.

    Examples
    --------
    >>> guarded("=1+1"), guarded("d7"), unguarded(guarded("=1+1"))
    ("'=1+1", 'd7', '=1+1')
    """
    return f"'{text}" if is_formula(text) else text


def unguarded(text: str) -> str:
    """Return the text that `guarded` made another of."""
    return text[1:] if text[:1] == "'" and is_formula(text) else text


def has_decimal_comma(value: Any) -> bool:
    """Return whether a cell holds a number with a comma before its fraction."""
    return isinstance(value, str) and _COMMA_NUMBER.fullmatch(value) is not None


def plain_floats(values: Sequence[Any]) -> Floats | None:
    """Return a column that holds nothing but well-formed numbers as text, read at once; None otherwise."""
    if set(map(type, values)) <= {str} and "_" not in "".join(values):
        try:
            return np.array(list(map(float, values)), dtype=np.float64)
        except ValueError:
            return None
    return None


def is_not_zero(text: str) -> bool:
    """Return whether a text of a number has a digit that is not 0 before its exponent."""
    return text.lower().partition("e")[0].strip(" +-.0") != ""


def tiny_texts(cells: Sequence[Any], values: Floats) -> dict[int, str]:
    """Return the cells of numbers that are closer to 0 than floats tell apart, and are not 0, as text by row.

    Cells that came as floats, as those of parquet, hold no more than these tell.
    """
    near = np.flatnonzero(np.abs(values) < LEAST_NORMAL).tolist()
    texts = {row: str(getattr(cells[row], "text", cells[row])) for row in near}
    return {row: text for row, text in texts.items() if is_not_zero(text)}


def as_float(value: Any) -> float | None:
    """Return the number that a cell holds, or None."""
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
