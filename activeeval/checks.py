"""Checks of single values and plain arrays: each returns what was given in one form, or says what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.errors import InputError, did_you_mean
from activeeval.types import Floats

LARGEST_GRADE = 1000
"""Of a scale: tables of every grade stay small, and an id or a year in the grade's place is told."""

LARGEST_SEED = 2**63 - 1
"""That a file of a sample and a column of a database keep."""


def whole_number(value: Any, what: str, least: int, most: float = np.inf) -> int:
    """Return a whole number of any type as an int, or say what it should have been."""
    # a float holds no whole number beyond 2^53 exactly, and none at all beyond 10^308
    is_whole = isinstance(value, Integral) or (isinstance(value, Real) and float(value).is_integer())
    if not is_whole or isinstance(value, bool) or value < least:
        kind = "a positive whole number" if least == 1 else f"a whole number from {least}"
        raise InputError(f"{what} must be {kind}, got {value!r:.60}")
    if value > most:
        raise InputError(f"{what} must be at most {most}, got {value!r:.60}")
    return int(value)


def one_of(value: Any, words: Iterable[str], what: str, *, error: type[InputError] = InputError) -> str:
    """Return a word that must be one of some, or name the one that is closest.

    Parameters
    ----------
    what : str
        How messages name it; in backticks an option, `field` of the error.

    Examples
    --------
    >>> try:
    ...     one_of("diff", ("difference", "run"), "questions")
    ... except InputError as error:
    ...     print(error)
    questions must be one of difference, run, got 'diff'; did you mean difference?
    """
    known = tuple(words)
    if isinstance(value, str) and value in known:
        return value
    near = did_you_mean(value, known, likeness=0.5).strip() if isinstance(value, str) else ""
    problem = f"{what} must be one of {', '.join(known)}, got {value!r:.60}" + (f"; {near}" if near else "")
    raise error(problem, field=what.strip("`"))


def positive(value: Any, what: str) -> float:
    """Return a parameter that must be a positive finite number."""
    if not (isinstance(value, Real) and 0 < float(value) < np.inf):
        raise InputError(f"{what} must be positive and finite, got {value!r}")
    return float(value)


def closed_share(value: Any, what: str) -> float:
    """Return a parameter that must lie in [0, 1]."""
    if not (isinstance(value, Real) and 0 <= float(value) <= 1):
        raise InputError(f"{what} must lie in [0, 1], got {value!r}")
    return float(value)


def strict_share(value: Any, what: str) -> float:
    """Return a parameter that must lie strictly between 0 and 1, as a confidence or a power does."""
    if not isinstance(value, Real) or not 0 < float(value) < 1:
        raise InputError(f"{what} must lie strictly between 0 and 1, got {value!r}")
    return float(value)


def numbers(values: ArrayLike, what: str, shape: tuple[int, ...]) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise InputError(f"{what} must be numbers: {problem}") from None
    if array.shape != shape:
        raise InputError(f"{what} must have shape {shape}, got {array.shape}")
    return array


def first_above(values: NDArray[Any], most: int) -> int:
    """Return the first place of a value above the most, or -1."""
    return int(np.argmax(values > most)) if values.size and values.max() > most else -1
