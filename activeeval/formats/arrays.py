"""Named arrays of numbers and text in one file (.npz)."""

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
"""Bytes. Arrays need no more memory than their size; a small pool with one constant grade probability compresses more
than text does, hence the larger limit."""
_LEVEL = 1
"""Compression level: level 6 takes five times as long to save a fifth to a third (3.8 million items)."""
# exceptions of NumPy and zipfile for files that are truncated, corrupted or of another format
_BROKEN = (
    *(ValueError, TypeError, EOFError, LookupError, AttributeError, RuntimeError, ArithmeticError, MemoryError),
    *(SyntaxError, tokenize.TokenError, OSError, zipfile.BadZipFile, zlib.error, struct.error),
)


def write_arrays(path: PathLike, arrays: Mapping[str, NDArray[Any]], files: AtomicFiles) -> None:
    """Write named arrays to a compressed .npz file, as one of the files of an atomic group.

    Equal arrays give equal bytes.
    """
    name = os.fspath(path)
    if os.path.isdir(path):
        raise FormatError(name, None, "is a folder, expected the name of a file")
    with files.open(path, binary=True) as handle:
        pack(arrays, handle)


def pack(arrays: Mapping[str, NDArray[Any]], handle: IO[bytes]) -> None:
    """Write named arrays, compressed, to an open binary handle; equal arrays give equal bytes."""
    with zipfile.ZipFile(handle, "w") as packed:
        for key, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.ascontiguousarray(array), allow_pickle=False)
            entry = zipfile.ZipInfo(f"{key}.npy")  # no time stamp, so that equal arrays give equal bytes
            packed.writestr(entry, content.getbuffer(), zipfile.ZIP_DEFLATED, _LEVEL)


def is_arrays(path: PathLike) -> bool:
    """Check whether a path is a regular file that starts with the bytes of a zip archive, as .npz files do."""
    if not os.path.isfile(path):  # opening a pipe would block
        return False
    try:
        with open(path, "rb") as handle:
            return handle.read(4) == b"PK\x03\x04"
    except OSError:  # the reader reports the problem
        return False


def read_arrays(
    path: PathLike, needed: tuple[str, ...] = (), expected: str = "a drawn sample"
) -> dict[str, NDArray[Any]]:
    """Read the named arrays of a file.

    Parameters
    ----------
    needed : tuple of str
        Names of arrays that the file must have.
    expected : str
        Description of the expected file, for error messages.

    Raises
    ------
    FormatError
        If the file is not an .npz file, is truncated, unpacks to more than `files.check_unpacked` allows, or lacks one
        of the needed arrays.
    """
    return unpacked(read_binary(path), os.fspath(path), needed, expected)


def unpacked(
    content: bytes, name: str, needed: tuple[str, ...] = (), expected: str = "a drawn sample"
) -> dict[str, NDArray[Any]]:
    """Read the named arrays from the bytes that `pack` wrote.

    ``name`` stands for the file in messages, ``needed`` are the arrays that it must have, and ``expected`` describes
    such a file. Raises FormatError if it is broken, too large when unpacked, or lacks an array.
    """
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
        problem = f"lacks {', '.join(missing)}" if len(missing) <= _FEW else "holds other arrays"
        raise FormatError(name, None, f"{problem}, expected {expected}")
    return arrays


def _loaded(handle: Any) -> dict[str, NDArray[Any]]:
    """Load all arrays of an .npz handle; raise TypeError for a single array (.npy)."""
    archive = np.load(handle, allow_pickle=False)
    if not isinstance(archive, NpzFile):
        raise TypeError("a single array")
    with archive:
        return {key: archive[key] for key in archive.files}
