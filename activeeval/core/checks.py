"""Checks of single values and plain arrays: each returns its argument in one form, or raises InputError."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.core.errors import InputError, did_you_mean
from activeeval.core.types import Floats

LARGEST_GRADE = 1000
"""Largest grade of a scale: keeps tables by grade small, and detects an id or a year in the grade's column."""
_LONGEST = 60
"""Most characters of a value in a message."""

LARGEST_SEED = 2**63 - 1
"""Largest seed that a sample file and a database column can store."""


def whole_number(value: Any, what: str, least: int, most: float = np.inf) -> int:
    """Check that a value is a whole number between ``least`` and ``most`` and return it as an int.

    ``what`` is the name of the value in messages. Raises InputError otherwise.
    """
    is_whole = is_number(value) and (isinstance(value, Integral) or float(value).is_integer())
    if not is_whole or value < least:
        kind = "a positive whole number" if least == 1 else f"a whole number from {least}"
        raise InputError(f"{what} must be {kind}, got {brief(value)}")
    if value > most:
        raise InputError(f"{what} must be at most {most}, got {brief(value)}")
    return int(value)


def is_number(value: Any) -> bool:
    """True if a value is one real number of Python or NumPy within the range of a float; bools are not."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def brief(value: Any) -> str:
    """Format a value for a message: one line, shortened if it is long.

    Examples
    --------
    >>> brief("ten"), brief(np.float64(0.5)), brief(np.zeros((2, 2)))
    ("'ten'", '0.5', 'array([[0., 0.], [0., 0.]])')
    """
    plain = value.item() if isinstance(value, np.generic) else value
    try:
        text = repr(plain)
    except ValueError:  # Python refuses to format integers of more than 4,300 digits
        text = f"a value of type {type(plain).__name__} with more digits than can be shown"
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def number(value: Any, what: str) -> float:
    """Check that a value is a number and return it as a Python number; raise InputError otherwise.

    ``what`` is the name of the value in messages; in backticks for an option, which becomes `field` of the error.
    """
    if not is_number(value):
        raise InputError(f"{what} must be a number, got {brief(value)}", field=what.strip("`"))
    plain: float = value.item() if isinstance(value, np.generic) else value
    return plain


def flag(value: Any, what: str) -> bool:
    """Check that a value is a truth value and return it as a bool; raise InputError otherwise.

    ``what`` is the name of the value in messages; in backticks for an option, which becomes `field` of the error.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{what} must be True or False, got {brief(value)}", field=what.strip("`"))
    return bool(value)


def text(value: Any, what: str) -> str:
    """Check that a value is a str and return it; raise InputError otherwise.

    ``what`` is the name of the value in messages; in backticks for an option, which becomes `field` of the error.
    """
    if not isinstance(value, str):
        raise InputError(f"{what} must be a text, got {brief(value)}", field=what.strip("`"))
    return str(value)


def texts(value: Any, what: str) -> tuple[str, ...]:
    """Check that a value is one text or several and return them as a tuple.

    Raises InputError otherwise. ``what`` is the name of the value in messages; in backticks for an option, which
    becomes `field` of the error.

    Examples
    --------
    >>> texts("BM25", "`names`"), texts(["BM25", "BERT"], "`names`")
    (('BM25',), ('BM25', 'BERT'))
    """
    several = (value,) if isinstance(value, str) else value
    is_several = isinstance(several, Iterable) and not isinstance(several, (bytes, Mapping))
    listed = list(several) if is_several else []
    if not is_several or not all(isinstance(each, str) for each in listed):
        raise InputError(f"{what} must be a text or a list of texts, got {brief(value)}", field=what.strip("`"))
    return tuple(map(str, listed))


def file_name(value: Any, what: str) -> str:
    """Check that a value is a path (str or os.PathLike) and return it as text; raise InputError otherwise.

    ``what`` is the name of the value in messages; in backticks for an option, which becomes `field` of the error.
    """
    if not isinstance(value, (str, os.PathLike)):
        raise InputError(f"{what} must be the name of a file, got {brief(value)}", field=what.strip("`"))
    return os.fsdecode(value)


def one_of(value: Any, words: Iterable[str], what: str, *, error: type[InputError] = InputError) -> str:
    """Check that a value is one of the allowed ``words`` and return it; the error suggests the closest one.

    Parameters
    ----------
    what : str
        Name of the value in messages; in backticks for an option, which becomes `field` of the error.
    error : type
        Class of the error to raise.

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
    problem = f"{what} must be one of {', '.join(known)}, got {brief(value)}" + (f"; {near}" if near else "")
    raise error(problem, field=what.strip("`"))


def positive(value: Any, what: str) -> float:
    """Check that a value is positive and finite and return it as a float; raise InputError otherwise.

    ``what`` is the name of the value in messages.
    """
    if not (is_number(value) and 0 < float(value) < np.inf):
        raise InputError(f"{what} must be positive and finite, got {brief(value)}")
    return float(value)


def closed_share(value: Any, what: str) -> float:
    """Check that a value lies in [0, 1] and return it as a float; raise InputError otherwise.

    ``what`` is the name of the value in messages.
    """
    if not (is_number(value) and 0 <= float(value) <= 1):
        raise InputError(f"{what} must lie in [0, 1], got {brief(value)}")
    return float(value)


def strict_share(value: Any, what: str) -> float:
    """Check that a value, such as a confidence, lies strictly between 0 and 1 and return it as a float.

    Raises InputError otherwise; ``what`` is the name of the value in messages.
    """
    if not (is_number(value) and 0 < float(value) < 1):
        raise InputError(f"{what} must lie strictly between 0 and 1, got {brief(value)}")
    return float(value)


def generator(rng: Any, what: str = "rng") -> np.random.Generator:
    """Build a random generator from a seed, or pass a given one through; None takes the system's randomness.

    Raises InputError for anything else. ``what`` is the name of the value in messages; in backticks for an option,
    which becomes `field` of the error.
    """
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        problem = f"{what} must be a seed, a whole number from 0, or a generator of NumPy, got {brief(rng)}"
        raise InputError(problem, field=what.strip("`")) from None


RENAMED = {
    "looks": "adaptive_depth='each', '3', '1' or 'off'",
    "segment_half_widths": "half_width={'mobile': 0.05}",
    "tune": "model='forest:tune'",
    "query_factor": "model='forest:no-factor'",
    "judging": "the measure alone, as 'kNDCG(k=5)@10', which says how it is judged",
    **dict.fromkeys(("price_per_judgment", "seconds_per_item", "hourly_rate", "currency"), "price='0.40EUR'"),
}
"""Removed keyword arguments, with their replacements."""


def check_names(options: Mapping[str, object], known: type) -> None:
    """Raise TypeError if a keyword argument in ``options`` is not a key of the TypedDict ``known``.

    The message names the replacement of a removed argument.
    """
    if unknown := options.keys() - known.__annotations__.keys():
        name = min(unknown)
        if name in RENAMED:
            raise TypeError(f"{name!r} is gone: use {RENAMED[name]}")
        raise TypeError(f"unexpected keyword argument {name!r}; known: {', '.join(known.__annotations__)}")


def floats(values: ArrayLike, what: str) -> Floats:
    """Convert values to an array of floats; raise InputError if they are not numbers.

    ``what`` is the name of the values in messages.
    """
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        raise InputError(f"{what} must be numbers: {problem}") from None


def numbers(values: ArrayLike, what: str, shape: tuple[int, ...]) -> Floats:
    """Convert values to an array of floats of a given shape; raise InputError for another shape or non-numbers.

    ``what`` is the name of the values in messages.
    """
    array = floats(values, what)
    if array.shape != shape:
        raise InputError(f"{what} must have shape {shape}, got {array.shape}")
    return array


def first_above(values: NDArray[Any], most: int) -> int:
    """Return the index of the first value above the limit ``most``, or -1."""
    return int(np.argmax(values > most)) if values.size and values.max() > most else -1
