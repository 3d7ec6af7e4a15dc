"""Named arrays in one file (.npz), numbers and text alone."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.errors import FormatError
from activeeval.io.files import PathLike, write_atomically


def write_arrays(path: PathLike, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays by name; the file appears whole or not at all."""
    with write_atomically(path, binary=True) as handle:
        np.savez(handle, **arrays)  # type: ignore[arg-type]


def read_arrays(path: PathLike, needed: tuple[str, ...] = ()) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file by name.

    Raises
    ------
    FormatError
        Where the file is no such file, is cut short, or lacks one of the needed arrays.
    """
    name = os.fspath(path)
    if os.path.isdir(path):
        raise FormatError(name, None, "is a folder, expected a file of arrays (.npz)")
    try:
        with np.load(path, allow_pickle=False) as held:
            arrays = {key: held[key] for key in held.files}
    except FileNotFoundError:
        raise FormatError(name, None, "no such file") from None
    except (ValueError, EOFError, zipfile.BadZipFile, KeyError, AttributeError) as problem:
        raise FormatError(name, None, f"cannot be read as a file of arrays (.npz): {problem}") from None
    missing = [key for key in needed if key not in arrays]
    if missing:
        raise FormatError(name, None, f"lacks {', '.join(missing)}, expected the record of a drawn sample")
    return arrays
