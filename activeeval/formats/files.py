"""Read files: plain or compressed bytes, validated text, and line numbers for messages."""

from __future__ import annotations

import codecs
import io
import mmap
import os
import stat
from dataclasses import dataclass
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from activeeval.core.errors import FormatError, InputError, shown
from activeeval.core.kernels.text import bytes as texts
from activeeval.core.pool.id_checks import told_too_long
from activeeval.core.pool.texts import LONGEST_ID, Texts
from activeeval.core.types import Bytes, Ints
from activeeval.formats.packing import packing_of, standard_input, unpacked_stream
from activeeval.formats.suffixes import STDIN, PathLike, bare_suffix
from activeeval.formats.tables.cells import LEAST_NORMAL, is_not_zero

_UTF8_MARK = b"\xef\xbb\xbf"
_PACKED = b"PK"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_PIECE = 1 << 18
_CENSUS = 1 << 20
"""Bytes validated at a time: they stay in the cache of the processor."""
MOST_UNPACKED, MOST_TIMES = 1 << 24, 100
"""Limits of the unpacked size of a compressed file, in bytes and as a multiple of its size; the larger one applies.
Text for judges compresses to a tenth, a run with one constant score to a fortieth, a zip bomb to a thousandth. LETOR
lines of eight bytes take 13 bytes of memory a byte (8 million lines: 830 MB); 600 MB must suffice."""
MOST_PARSED = 1 << 23
"""Limit in bytes for text that is parsed into Python objects: a byte of empty JSON objects takes up to 24 in memory."""
_MOST_TYPED = 1 << 24
"""Most bytes read from a character device: more than anyone types at a terminal; /dev/zero has no end."""


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Size and time of a file before it is read, to detect that it is still being written.

    Attributes
    ----------
    path : path
    state : tuple of int or None
        Inode, size in bytes and modification time in nanoseconds; None for anything but a regular file.
    """

    path: PathLike
    state: tuple[int, int, int] | None

    @classmethod
    def of(cls, path: PathLike) -> Self:
        """Record the current state of a file."""
        return cls(path, cls._state(path))

    def check(self) -> None:
        """Raise InputError if the file has changed since it was stamped."""
        if self._state(self.path) != self.state:
            problem = "has changed while it was read, as if it were still being written"
            raise InputError(f"{os.fspath(self.path)}: {problem}: try again once it is complete")

    @staticmethod
    def _state(path: PathLike) -> tuple[int, int, int] | None:
        """Get inode, size in bytes and modification time (ns) of a regular file; None for anything else."""
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return None
        return (status.st_ino, status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def open_bytes(path: PathLike, most_unpacked: int = MOST_UNPACKED) -> Bytes:
    """Read the bytes of a text file, unpacked and without a byte order mark; checks and errors as `open_lines`."""
    return open_lines(path, most_unpacked)[0]


def open_lines(path: PathLike, most_unpacked: int = MOST_UNPACKED) -> tuple[Bytes, int]:
    """Read the bytes of a text file, unpacked and without a byte order mark, and an upper bound of its number of lines.

    Compression is detected by the first bytes, not by the name. A plain file is memory-mapped, not copied. The name
    ``-`` is standard input.

    Parameters
    ----------
    most_unpacked : int
        Most bytes that it may unpack to; `MOST_TIMES` its size is always allowed.

    Raises
    ------
    InputError
        If the file is missing, a directory, or unreadable.
    FormatError
        If it is empty, not UTF-8, or contains a NUL byte, or its compression is broken or needs a package that is
        missing; names the line.
    """
    data = np.frombuffer(_content(path, most_unpacked), dtype=np.uint8)
    if data[:3].tobytes() == _UTF8_MARK:
        data = data[3:]
    if data.size == 0:
        raise FormatError(os.fspath(path), None, "the file is empty")
    return data, _check_text(path, data) + 1


def open_text(path: PathLike, most_unpacked: int = MOST_UNPACKED) -> str:
    """Read a file as text, plain or compressed; raises as `open_bytes`."""
    return open_bytes(path, most_unpacked).tobytes().decode("utf-8")


def text_stream(data: Bytes, newline: str) -> io.TextIOWrapper:
    """Wrap bytes checked by `open_bytes` as a text stream, without a copy."""
    return io.TextIOWrapper(io.BufferedReader(_Pieces(data), _PIECE), encoding="utf-8", newline=newline)


class _Pieces(io.RawIOBase):
    """Read-only binary stream over bytes in memory or in a mapped file."""

    def __init__(self, data: Bytes) -> None:
        """Start at the first byte of ``data`` (uint8)."""
        self._rest = data.data

    def readable(self) -> bool:
        """True: the stream can be read."""
        return True

    def readinto(self, room: Any) -> int:
        """Copy the next bytes into the buffer ``room``; return their number, 0 at the end."""
        piece, self._rest = self._rest[: len(room)], self._rest[len(room) :]
        room[: len(piece)] = piece
        return len(piece)


def read_binary(path: PathLike) -> bytes:
    """Read the raw bytes of a file that is not text; raise FormatError if it is empty."""
    content = _plain_content(path)
    if len(content) == 0:
        raise FormatError(os.fspath(path), None, "the file is empty")
    return bytes(content)


def line_of(data: Bytes, place: int) -> int:
    """Find the number of the line, from 1, that contains a byte position."""
    return int(np.count_nonzero(data[:place] == 10)) + 1


def line_text(data: Bytes, place: int) -> str:
    """Extract the stripped text of the line around a byte position, at most 10,000 bytes to either side."""
    before = data[max(place - 10_000, 0) : place].tobytes().rpartition(b"\n")[2]
    after = data[place : place + 10_000].tobytes().partition(b"\n")[0]
    return (before + after).decode("utf-8", "replace").strip()


def token_at(data: Bytes, place: int) -> str:
    """Extract the text from a byte position to the next white space, quoted for a message."""
    token = data[place : place + 200].tobytes().split(b"\n", 1)[0].split(maxsplit=1)
    return shown(token[0].decode("utf-8", "replace")) if token else "''"


def span_texts(path: PathLike, data: Bytes, spans: Ints) -> Texts:
    """Copy the texts of byte spans (start, stop), shape (n, 2), into one array of n texts."""
    check_lengths(path, data, spans)
    room = np.empty(int((spans[:, 1] - spans[:, 0]).sum()), dtype=np.uint8)
    offsets = np.zeros(len(spans) + 1, dtype=np.int64)
    texts.append_spans(data, np.ascontiguousarray(spans), room, offsets, 0)  # fills both, from text 0 on
    return Texts(room, offsets)


def check_lengths(path: PathLike, data: Bytes, spans: Ints) -> None:
    """Raise FormatError with the line number if a byte span is too long for an id."""
    lengths = spans[:, 1] - spans[:, 0]
    if lengths.max(initial=0) > LONGEST_ID:
        start, stop = spans[int(lengths.argmax())].tolist()
        raise FormatError(
            os.fspath(path), line_of(data, start), told_too_long(data[start:stop].tobytes().decode("utf-8"))
        )


def release_pages(data: Bytes, start: int, stop: int) -> None:
    """Release the memory pages of a mapped file between two byte positions; later access reads them from disk again."""
    mapped = data.base.obj if isinstance(data.base, memoryview) else None
    if not isinstance(mapped, mmap.mmap) or not hasattr(mapped, "madvise"):
        return
    first = start // mmap.PAGESIZE * mmap.PAGESIZE
    mapped.madvise(mmap.MADV_DONTNEED, first, min(stop, len(mapped)) - first)


def fill_exactly(path: str, data: Bytes, values: NDArray[np.float64], slow: Ints, what: str) -> Ints:
    """Parse the numbers that the fast kernels cannot parse exactly, and store them in `values`.

    Return the rows of `slow` whose numbers are not 0 but closer to 0 than the smallest normal float.

    Parameters
    ----------
    path : str
        Name of the file in messages.
    slow : (k, 3) int64
        Flat place in `values`, start and stop of each number in the data.
    what : str
        Name of such a number in messages.
    """
    if not slow.size:
        return slow
    view = data.data
    numbers = np.array([float(view[start:stop].tobytes()) for _, start, stop in slow.tolist()], dtype=np.float64)
    infinite = np.flatnonzero(np.isinf(numbers))
    if infinite.size:
        place = int(slow[infinite[0], 1])
        problem = f"the {what} {token_at(data, place)} is too large, expected a finite number"
        raise FormatError(path, line_of(data, place), problem)
    values.reshape(-1)[slow[:, 0]] = numbers
    near = slow[np.abs(numbers) < LEAST_NORMAL]
    is_tiny = [is_not_zero(view[start:stop].tobytes().decode("ascii")) for _, start, stop in near.tolist()]
    return near[np.array(is_tiny, dtype=np.bool_)]


def _content(path: PathLike, most_unpacked: int) -> bytearray | mmap.mmap:
    """Read a file and unpack it if it is compressed, within the limits of `check_unpacked`."""
    content = _plain_content(path)
    packing = packing_of(bytes(content[:6]))
    if not packing:
        return content
    unpacked = bytearray()
    try:
        with unpacked_stream(path, io.BytesIO(content), packing) as stream:
            while piece := stream.read(_CENSUS):
                unpacked += piece
                check_unpacked(path, len(unpacked), len(content), most_unpacked)
    except EOFError:
        raise FormatError(os.fspath(path), None, f"the {packing} file is cut short, expected its end marker") from None
    except OSError as problem:
        raise FormatError(os.fspath(path), None, f"the {packing} file is broken: {problem}") from None
    return unpacked


def check_unpacked(path: PathLike, n_bytes: int, n_packed: int, most_unpacked: int = MOST_UNPACKED) -> None:
    """Raise FormatError if a compressed file unpacks to more than `most_unpacked` bytes and `MOST_TIMES` its size.

    ``n_bytes`` is the unpacked size so far, ``n_packed`` that of the file.
    """
    most = max(most_unpacked, MOST_TIMES * n_packed)
    if n_bytes > most:
        bound = f"expected at most {most_unpacked >> 20} MB or {MOST_TIMES} times its size"
        raise FormatError(os.fspath(path), None, f"unpacks to more than {most >> 20} MB, {bound}")


def _plain_content(path: PathLike) -> bytearray | mmap.mmap:
    """Map or read the bytes of a file as they are; raise InputError if it cannot be read."""
    if os.fspath(path) == STDIN:
        return bytearray(standard_input())
    try:
        with open(path, "rb") as handle:
            status = os.fstat(handle.fileno())
            if stat.S_ISCHR(status.st_mode):
                return _read_device(path, handle)
            if not stat.S_ISREG(status.st_mode) or status.st_size == 0:
                return bytearray(handle.read())
            # a private mapping is writable as all other kernel inputs are: one compiled version serves both
            return mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_COPY)
    except FileNotFoundError:
        raise InputError(f"{os.fspath(path)}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{os.fspath(path)}: is a directory, expected a file") from None
    except OSError as problem:
        raise InputError(f"{os.fspath(path)}: cannot read: {problem.strerror or problem}") from None
    except InputError:
        raise
    except ValueError as problem:
        raise InputError(f"{os.fspath(path)!r}: cannot read: {problem}") from None


def _read_device(path: PathLike, handle: IO[bytes]) -> bytearray:
    """Read a character device to its end; raise InputError after `_MOST_TYPED` bytes."""
    content = bytearray(handle.read(_MOST_TYPED + 1))
    if len(content) > _MOST_TYPED:
        raise InputError(f"{os.fspath(path)}: is a device that does not end, expected a file")
    return content


def _check_text(path: PathLike, data: Bytes) -> int:
    """Check that bytes are UTF-8 text without NUL bytes, and count the newlines."""
    if data[:2].tobytes() in _UTF16_MARKS:
        raise FormatError(os.fspath(path), 1, "the text is UTF-16, expected UTF-8")
    n_newlines, largest = 0, 0
    for start in range(0, data.size, _CENSUS):
        piece = data[start : start + _CENSUS]
        n_newlines, largest = n_newlines + int(np.count_nonzero(piece == 10)), max(largest, int(piece.max()))
        if piece.min() == 0:  # checked in each piece, as a sparse file may be NUL bytes for terabytes
            if data[:2].tobytes() == _PACKED:
                raise FormatError(os.fspath(path), None, "packed, as a sample or a spreadsheet is, expected text")
            line = line_of(data, start + int(np.argmin(piece)))
            raise FormatError(os.fspath(path), line, "a NUL byte, expected text")
        release_pages(data, start, start + _CENSUS)
    if largest >= 0x80 and not _is_utf8(data):
        try:
            str(data.data, "utf-8")
        except UnicodeDecodeError as problem:
            wrong = data[problem.start : problem.end].tobytes()
            hint = _encoding_hint(path, data, problem.start)
            expected = f"the bytes {wrong!r} are not UTF-8, expected UTF-8 text{hint}"
            raise FormatError(os.fspath(path), line_of(data, problem.start), expected) from None
    return n_newlines


def _encoding_hint(path: PathLike, data: Bytes, place: int) -> str:
    """Explain, at the end of a message, how to convert a table that a spreadsheet saved as Windows-1252 to UTF-8."""
    if bare_suffix(path) not in (".csv", ".tsv"):
        return ""
    letters = data[max(place - 20, 0) : place + 20].tobytes().decode("cp1252", "replace")
    line = next((part for part in letters.splitlines() if any(letter > "\x7f" for letter in part)), "")
    return f": {shown(line)} reads as Windows-1252; save the sheet as CSV UTF-8"


def _is_utf8(data: Bytes) -> bool:
    """Check whether bytes are UTF-8, without a copy of all of them."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, data.size, _PIECE):
            decoder.decode(data[start : start + _PIECE].data)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
