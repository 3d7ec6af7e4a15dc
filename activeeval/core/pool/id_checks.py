"""Validation of ids, offsets and grades for the constructors of pools, rankings and grades."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.core.checks import brief, numbers
from activeeval.core.errors import InputError
from activeeval.core.pool.texts import LONGEST_ID, Texts
from activeeval.core.types import Ints


def as_ids(values: ArrayLike | Texts | Iterable[Any], what: str) -> NDArray[Any]:
    """Convert ids to an array of text; ``what`` names them in messages.

    Raises InputError if an id is empty, too long, contains a NUL, or is neither text nor a whole number.
    """
    return as_texts(values, what).array()


def as_texts(values: ArrayLike | Texts | Iterable[Any], what: str) -> Texts:
    """Convert ids to `Texts`; whole numbers become their decimal text. ``what`` names the ids in messages.

    Raises
    ------
    InputError
        If an id is empty, longer than 4,096 bytes, contains a NUL, or is neither text nor a whole number; names
        its position.
    """
    if isinstance(values, Texts):
        return values
    texts = _texts_of(values, what)
    empty, long = texts.first_empty(), texts.first_too_long()
    if empty >= 0:
        raise InputError(f"{what}[{empty}] is empty")
    if long >= 0:
        raise InputError(f"{what}[{long}] is {told_too_long(texts[long])}")
    if (texts.data == 0).any():
        row = int(np.searchsorted(texts.offsets, int(np.argmin(texts.data)), side="right")) - 1
        raise InputError(f"{what}[{row}] holds a NUL, expected text: {texts[row][:60]!r}")
    return texts


def told_too_long(text: str) -> str:
    """Describe an id that is too long, for an error message."""
    n_bytes = len(text.encode("utf-8", "surrogatepass"))
    return f"an id of {n_bytes} bytes, {text[:59] + '…'!r}, expected at most {LONGEST_ID}"


def _texts_of(values: Any, what: str) -> Texts:
    """Convert a list or array of text or whole numbers to `Texts`; raise InputError for other types."""
    if not isinstance(values, np.ndarray):
        try:
            listed = list(values)
        except TypeError:
            raise InputError(f"{what} must be a list of ids, got {brief(values)}") from None
        for i, value in enumerate(listed):
            if isinstance(value, bool) or not isinstance(value, (str, int, np.integer)):
                raise InputError(f"{what}[{i}] must be text or a whole number, got {value!r}")
        return Texts.from_list([str(value) for value in listed])
    if values.dtype.kind not in "iuOUT":
        raise InputError(f"{what} must hold text or whole numbers, got dtype {values.dtype}")
    if values.ndim != 1:
        raise InputError(f"{what} must be one-dimensional, got shape {values.shape}")
    if values.dtype.kind in "OT":  # objects, or NumPy's texts of variable length
        return _texts_of(values.tolist(), what)
    return Texts.from_array(values if values.dtype.kind == "U" else values.astype(np.str_))


def segment_offsets(values: ArrayLike, what: str, n_queries: int, total: int | None) -> Ints:
    """Check the offsets of the queries' segments on an axis, and return them as int64, shape (n_queries + 1,).

    They must start at 0, not decrease, and end at `total` unless that is None; raises InputError, with the name `what`,
    otherwise.
    """
    array = np.asarray(values)
    if array.shape != (n_queries + 1,):
        raise InputError(f"{what} must have shape ({n_queries + 1},), one more than the queries, got {array.shape}")
    if array.dtype.kind not in "iu":
        raise InputError(f"{what} must be whole numbers, got dtype {array.dtype}")
    offsets = array.astype(np.int64)
    end = offsets[-1] if total is None else total
    if offsets[0] != 0 or offsets[-1] != end:
        raise InputError(f"{what} must run from 0 to {end}, got {offsets[0]} … {offsets[-1]}")
    if np.any(np.diff(offsets) < 0):
        raise InputError(f"{what} must not decrease, but does after position {int(np.argmax(np.diff(offsets) < 0))}")
    return offsets


def whole_grades(grades: ArrayLike, n_items: int) -> Ints:
    """Convert grades to int64, shape (n_items,); raise InputError if one is not a whole number or the shape differs."""
    array = np.asarray(grades)
    if array.shape != (n_items,):
        raise InputError(f"grades must have shape ({n_items},), got {array.shape}")
    if array.dtype.kind not in "iub":
        values = numbers(array, "grades", (n_items,))
        bad = np.flatnonzero(~(np.isfinite(values) & (values == np.floor(values))))
        if bad.size:
            raise InputError(f"grades must be whole numbers, got {values[bad[0]]} at item position {bad[0]}")
        array = values
    return array.astype(np.int64, copy=False)
