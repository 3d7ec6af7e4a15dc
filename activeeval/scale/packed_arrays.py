"""Named arrays as bytes: what comes back from workers, and what they leave for each other."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]


def packed(arrays: Arrays) -> bytes:
    """Return named arrays as bytes.

    Examples
    --------
    >>> unpacked(packed({"levels": np.array([0.5, 2.0])}))["levels"]
    array([0.5, 2. ])
    """
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    return content.getvalue()


def unpacked(content: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays that `packed` made bytes of."""
    with np.load(io.BytesIO(content), allow_pickle=False) as held:
        return {name: held[name] for name in held.files}


def as_array(words: Any) -> NDArray[np.uint8]:
    """Return what JSON can say as an array of bytes."""
    return np.frombuffer(json.dumps(words).encode(), dtype=np.uint8)


def of_array(array: NDArray[np.uint8]) -> Any:
    """Return what `as_array` made an array of."""
    return json.loads(array.tobytes())


def short(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as its one value where all are the same."""
    return array[:1] if array.size > 1 and (array == array[0]).all() else array


def long(array: NDArray[Any], n: int) -> NDArray[Any]:
    """Return the array of n values that `short` made shorter."""
    return np.repeat(array, n) if array.size == 1 and n != 1 else array
