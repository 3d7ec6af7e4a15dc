"""Named arrays in one file (.npz), numbers and text alone."""

from __future__ import annotations

import io
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from activeeval.core.errors import FormatError
from activeeval.formats.files import check_unpacked, read_binary
from activeeval.formats.suffixes import PathLike
from activeeval.formats.writing import AtomicFiles

_FEW = 3
_MOST_UNPACKED = 1 << 26
"""Arrays take their own size alone; a small pool of one grade probability throughout packs by more than text does."""
_LEVEL = 1
"""Of packing: 6 takes five times as long for a fifth to a third less (3.8 million items)."""
# what NumPy and zipfile raise where bytes are lost, changed or foreign
_BROKEN = (
    *(ValueError, TypeError, EOFError, LookupError, AttributeError, RuntimeError, ArithmeticError, MemoryError),
    *(SyntaxError, tokenize.TokenError, OSError, zipfile.BadZipFile, zlib.error, struct.error),
)


def write_arrays(path: PathLike, arrays: Mapping[str, NDArray[Any]], files: AtomicFiles) -> None:
    """Write arrays by name, packed, beside other files; the same arrays make the same bytes."""
    name = os.fspath(path)
    if os.path.isdir(path):
        raise FormatError(name, None, "is a folder, expected the name of a file")
    with files.open(path, binary=True) as handle:
        pack(arrays, handle)


def pack(arrays: Mapping[str, NDArray[Any]], handle: IO[bytes]) -> None:
    """Write arrays by name, packed, to what is open; the same arrays make the same bytes."""
    with zipfile.ZipFile(handle, "w") as packed:
        for key, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.ascontiguousarray(array), allow_pickle=False)
            entry = zipfile.ZipInfo(f"{key}.npy")  # without the time of day
            packed.writestr(entry, content.getbuffer(), zipfile.ZIP_DEFLATED, _LEVEL)


def is_arrays(path: PathLike) -> bool:
    """Return whether a file looks like one of named arrays, by its first bytes; no file does not."""
    if not os.path.isfile(path):  # whoever opens a pipe waits for the other end
        return False
    try:
        with open(path, "rb") as handle:
            return handle.read(4) == b"PK\x03\x04"
    except OSError:  # whoever reads it says what is wrong
        return False


def read_arrays(
    path: PathLike, needed: tuple[str, ...] = (), expected: str = "a drawn sample"
) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file by name.

    Parameters
    ----------
    expected : str
        What messages say the file should be.

    Raises
    ------
    FormatError
        Where the file is no such file, is cut short, unpacks to more than `files.check_unpacked` allows, or lacks one
        of the needed arrays.
    """
    return unpacked(read_binary(path), os.fspath(path), needed, expected)


def unpacked(
    content: bytes, name: str, needed: tuple[str, ...] = (), expected: str = "a drawn sample"
) -> dict[str, NDArray[Any]]:
    """Return the arrays that `pack` made bytes of; ``name`` is what messages call them, else as `read_arrays`."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            n_bytes = sum(entry.file_size for entry in packed.infolist())
        check_unpacked(name, n_bytes, len(content), _MOST_UNPACKED)
        arrays = _loaded(io.BytesIO(content))
    except FormatError:
        raise
    except _BROKEN:
        raise FormatError(name, None, f"cannot be read as a file of arrays (.npz): expected {expected}") from None
    missing = [key for key in needed if key not in arrays]
    if missing:
        held = f"lacks {', '.join(missing)}" if len(missing) <= _FEW else "holds other arrays"
        raise FormatError(name, None, f"{held}, expected {expected}")
    return arrays


def _loaded(handle: Any) -> dict[str, NDArray[Any]]:
    held = np.load(handle, allow_pickle=False)
    if not isinstance(held, NpzFile):
        raise TypeError("a single array")
    with held:
        return {key: held[key] for key in held.files}
