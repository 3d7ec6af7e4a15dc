"""Unpack compressed files, which are recognized by their first bytes, and read standard input, named ``-``."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import IO, Any

from activeeval.core.errors import FormatError
from activeeval.formats.suffixes import STDIN, PathLike

_ZSTD_CHUNK = 256
"""Packed bytes decompressed at a time: a block of 4 bytes may unpack to 128 KB, so that 8 MB is the most."""


def is_readable_twice(path: PathLike) -> bool:
    """Check that a path is a regular file or standard input, which is kept: others, as pipes, are read only once."""
    return os.fspath(path) == STDIN or os.path.isfile(path)


@cache
def standard_input() -> bytes:
    """Read standard input to its end; later calls return the same bytes."""
    return sys.stdin.buffer.read()


def packing_of(head: bytes) -> str:
    """Name the compression of a file by its first six bytes, "" if it is not compressed."""
    return next((name for mark, (name, _) in _PACKINGS.items() if head.startswith(mark)), "")


def open_unpacked(path: PathLike) -> IO[bytes]:
    """Open a file, or standard input, for reading its unpacked bytes; raises as `unpacked_stream` on reading."""
    # the caller closes it
    raw: Any = io.BytesIO(standard_input()) if os.fspath(path) == STDIN else open(path, "rb")  # noqa: SIM115
    head = raw.read(6)
    raw.seek(0)
    return unpacked_stream(path, raw, packing_of(head))


def unpacked_stream(path: PathLike, raw: IO[bytes], packing: str) -> IO[bytes]:
    """Wrap a stream of compressed bytes as one of their content, which raises OSError or EOFError if they are broken.

    Parameters
    ----------
    packing : str
        As `packing_of` names it; with "" the stream itself is returned.

    Raises
    ------
    FormatError
        If a package for this compression is missing.
    """
    if not packing:
        return raw
    opened = next(opened for name, opened in _PACKINGS.values() if name == packing)
    return io.BufferedReader(_Errors(opened(path, raw), raw))


def _gzip(_: PathLike, raw: IO[bytes]) -> Any:
    """Open the bytes ``raw``, packed by gzip, as a stream of their content."""
    import gzip

    return gzip.GzipFile(fileobj=raw)


def _bzip2(_: PathLike, raw: IO[bytes]) -> Any:
    """Open the bytes ``raw``, packed by bzip2, as a stream of their content."""
    import bz2

    return bz2.BZ2File(raw)


def _xz(_: PathLike, raw: IO[bytes]) -> Any:
    """Open the bytes ``raw``, packed by xz, as a stream of their content."""
    import lzma

    return lzma.LZMAFile(raw)


def _zstd(path: PathLike, raw: IO[bytes]) -> Any:
    """Open the bytes ``raw``, packed by Zstandard, as a stream; raise FormatError about ``path`` without zstandard."""
    try:
        import zstandard
    except ImportError:
        needed = 'is packed with Zstandard, which is read with pip install "activeeval-ir[zstd]"; or unpack it first'
        raise FormatError(os.fspath(path), None, needed) from None
    return _ZstdFrames(raw, zstandard.ZstdDecompressor().decompressobj)


class _ZstdFrames:
    """The content of Zstandard frames; a file that is cut short raises EOFError, which zstandard's own reader does not.

    Parameters
    ----------
    frame : callable
        Creates the decompressor of one frame.
    """

    def __init__(self, raw: IO[bytes], frame: Callable[[], Any]) -> None:
        """Start at the first of the compressed bytes ``raw``; ``frame`` creates the decompressor of one frame."""
        self._raw, self._new_frame, self._frame = raw, frame, frame()
        self._is_begun, self._rest = False, b""

    def read(self, n: int) -> bytes:
        """Read up to `n` bytes, b"" at the end."""
        while not self._rest:
            chunk = self._raw.read(_ZSTD_CHUNK)
            if not chunk:
                if self._is_begun:  # the last frame has no end
                    raise EOFError
                return b""
            while chunk:
                self._is_begun = True
                self._rest += self._frame.decompress(chunk)
                chunk = b""
                if self._frame.eof:
                    chunk, self._frame, self._is_begun = self._frame.unused_data, self._new_frame(), False
        piece, self._rest = self._rest[:n], self._rest[n:]
        return piece


class _Errors(io.RawIOBase):
    """Read-only stream whose decompressor's errors are OSError, or EOFError for a file that is cut short."""

    def __init__(self, content: Any, raw: IO[bytes]) -> None:
        """Wrap ``content``, a decompressor that reads the compressed file ``raw``."""
        self._content, self._raw = content, raw

    def close(self) -> None:
        """Close the compressed file too."""
        self._raw.close()
        super().close()

    def readable(self) -> bool:
        """True: the stream can be read."""
        return True

    def readinto(self, room: Any) -> int:
        """Unpack the next bytes into the buffer ``room``; return their number, 0 at the end."""
        try:
            piece = self._content.read(len(room))
        except (OSError, EOFError):
            raise
        except Exception as problem:  # each decompressor has an exception of its own
            raise OSError(str(problem)) from None
        room[: len(piece)] = piece
        return len(piece)


_PACKINGS: dict[bytes, tuple[str, Callable[[PathLike, IO[bytes]], Any]]] = {
    b"\x1f\x8b": ("gzip", _gzip),
    b"BZh": ("bzip2", _bzip2),
    b"\xfd7zXZ\x00": ("xz", _xz),
    b"\x28\xb5\x2f\xfd": ("Zstandard", _zstd),
}
"""Compressions by the first bytes of a file: name, and function that opens the content."""
