"""Named arrays as bytes, the format of results of workers and of scratch files."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]


def packed(arrays: Arrays) -> bytes:
    """Convert named arrays to bytes (npz).

    Examples
    --------
    >>> unpacked(packed({"levels": np.array([0.5, 2.0])}))["levels"]
    array([0.5, 2. ])
    """
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    return content.getvalue()


def unpacked(content: bytes) -> dict[str, NDArray[Any]]:
    """Convert the bytes of `packed` to named arrays."""
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def as_array(value: Any) -> NDArray[np.uint8]:
    """Encode a JSON value as an array of bytes."""
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def of_array(array: NDArray[np.uint8]) -> Any:
    """Decode the JSON value of `as_array`."""
    return json.loads(array.tobytes())


def short(array: NDArray[Any]) -> NDArray[Any]:
    """Shorten an array of equal values to one value; others are kept."""
    return array[:1] if array.size > 1 and (array == array[0]).all() else array


def long(array: NDArray[Any], n: int) -> NDArray[Any]:
    """Repeat an array's single value n times, which reverses `short`; other arrays are kept."""
    return np.repeat(array, n) if array.size == 1 and n != 1 else array
