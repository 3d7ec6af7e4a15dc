"""Names of the array types used throughout the package, and read-only arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Words = NDArray[np.uint64]
Bytes = NDArray[np.uint8]


def sealed(array: ArrayLike, dtype: Any = np.float64) -> NDArray[Any]:
    """Convert to a contiguous read-only array of ``dtype``, without a copy if possible.

    Kernels thus get one array type, and each compiles once.
    """
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def frozen(array: NDArray[Any]) -> Any:
    """Return a read-only copy of an array, or the array itself if nothing can write to it."""
    if array.flags.c_contiguous and _is_frozen(array):
        return array
    return sealed_here(np.array(array, order="C", copy=True))


def sealed_here(array: NDArray[Any]) -> Any:
    """Make an array read-only in place and return it; the caller must hold the only reference."""
    array.setflags(write=False)
    return array


def _is_frozen(array: Any) -> bool:
    """True if neither an array nor any of its bases is writable."""
    # a view is read-only only if all its bases are
    while isinstance(array, np.ndarray) and not array.flags.writeable:
        array = array.base
    return array is None
