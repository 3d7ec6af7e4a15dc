"""Files as they come: plain or gzip bytes, text that is checked, places in it for messages."""

from __future__ import annotations

import codecs
import gzip
import io
import mmap
import os
import stat
import zlib
from dataclasses import dataclass
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from activeeval.core.errors import FormatError, InputError, shown
from activeeval.core.kernels.text import bytes as texts
from activeeval.core.pool.id_checks import told_too_long
from activeeval.core.pool.texts import LONGEST_ID, Texts
from activeeval.core.types import Bytes, Ints
from activeeval.formats.suffixes import PathLike, bare_suffix
from activeeval.formats.tables.cells import LEAST_NORMAL, is_not_zero

_GZIP_MAGIC = b"\x1f\x8b"
_UTF8_MARK = b"\xef\xbb\xbf"
_PACKED = b"PK"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_PIECE = 1 << 18
_CENSUS = 1 << 20
"""Bytes that are looked through at a time: they stay in the cache of the processor."""
MOST_UNPACKED, MOST_TIMES = 1 << 24, 100
"""How much a packed file may unpack to, in bytes, or in times its own: text that people judge packs to a tenth, a run
with one score throughout to a fortieth, a bomb to a thousandth. Lines of eight bytes take 13 bytes a byte once they
are read as LETOR (8 million of them 830 MB), which 600 MB are to hold."""
MOST_PARSED = 1 << 23
"""The same in bytes of text that becomes Python's own values, of which a byte takes up to 24: empty objects in JSON."""
_MOST_TYPED = 1 << 24
"""Bytes that are taken of a device, as a terminal is one: nobody types so many, /dev/zero has no end."""


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Size and time of a file when it was about to be read, to notice that it is still being written.

    Attributes
    ----------
    path : path
    state : tuple of int or None
        None of what is no file on disk.
    """

    path: PathLike
    state: tuple[int, int, int] | None

    @classmethod
    def of(cls, path: PathLike) -> Self:
        """Stamp a file."""
        return cls(path, cls._state(path))

    def check(self) -> None:
        """Raise InputError where the file is another than when it was stamped."""
        if self._state(self.path) != self.state:
            problem = "has changed while it was read, as if it were still being written"
            raise InputError(f"{os.fspath(self.path)}: {problem}: try again once it is complete")

    @staticmethod
    def _state(path: PathLike) -> tuple[int, int, int] | None:
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return None
        return (status.st_ino, status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def open_bytes(path: PathLike, most_unpacked: int = MOST_UNPACKED) -> Bytes:
    """Return the bytes of a text file; everything else as `open_lines` has it."""
    return open_lines(path, most_unpacked)[0]


def open_lines(path: PathLike, most_unpacked: int = MOST_UNPACKED) -> tuple[Bytes, int]:
    """Return the bytes of a text file, unpacked where it is gzip, without a byte order mark, and the most lines it has.

    Gzip is told by its first two bytes, not by the name. A plain file is mapped, not copied.

    Parameters
    ----------
    most_unpacked : int
        How many bytes it may unpack to, or `MOST_TIMES` its size where that is more.

    Raises
    ------
    InputError
        Where the file is missing, a directory, or not to be read.
    FormatError
        Where it is empty, a broken gzip, not UTF-8, or holds a NUL byte; names the line.
    """
    data = np.frombuffer(_content(path, most_unpacked), dtype=np.uint8)
    if data[:3].tobytes() == _UTF8_MARK:
        data = data[3:]
    if data.size == 0:
        raise FormatError(os.fspath(path), None, "the file is empty")
    return data, _check_text(path, data) + 1


def open_text(path: PathLike, most_unpacked: int = MOST_UNPACKED) -> str:
    """Return the text of a file, plain or gzip; errors as `open_bytes` has them."""
    return open_bytes(path, most_unpacked).tobytes().decode("utf-8")


def text_stream(data: Bytes, newline: str) -> io.TextIOWrapper:
    """Return a text to be read piece by piece out of bytes that `open_bytes` has checked; they are not copied."""
    return io.TextIOWrapper(io.BufferedReader(_Pieces(data), _PIECE), encoding="utf-8", newline=newline)


class _Pieces(io.RawIOBase):
    """Bytes in memory, or mapped, as a stream."""

    def __init__(self, data: Bytes) -> None:
        self._rest = data.data

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        piece, self._rest = self._rest[: len(room)], self._rest[len(room) :]
        room[: len(piece)] = piece
        return len(piece)


def read_binary(path: PathLike) -> bytes:
    """Return the bytes of a file as they are, for formats that are not text."""
    content = _plain_content(path)
    if len(content) == 0:
        raise FormatError(os.fspath(path), None, "the file is empty")
    return bytes(content)


def line_of(data: Bytes, place: int) -> int:
    """Return the 1-based line that holds a place in the data."""
    return int(np.count_nonzero(data[:place] == 10)) + 1


def line_text(data: Bytes, place: int) -> str:
    """Return the stripped text of the line that holds a place, the start of it where it is long."""
    before = data[max(place - 10_000, 0) : place].tobytes().rpartition(b"\n")[2]
    after = data[place : place + 10_000].tobytes().partition(b"\n")[0]
    return (before + after).decode("utf-8", "replace").strip()


def token_at(data: Bytes, place: int) -> str:
    """Return the text from a place to the next white space, for a message."""
    token = data[place : place + 200].tobytes().split(b"\n", 1)[0].split(maxsplit=1)
    return shown(token[0].decode("utf-8", "replace")) if token else "''"


def span_texts(path: PathLike, data: Bytes, spans: Ints) -> Texts:
    """Return the texts of byte spans (n, 2), shape (n,)."""
    check_lengths(path, data, spans)
    room = np.empty(int((spans[:, 1] - spans[:, 0]).sum()), dtype=np.uint8)
    offsets = np.zeros(len(spans) + 1, dtype=np.int64)
    texts.append_spans(data, np.ascontiguousarray(spans), room, offsets, 0)
    return Texts(room, offsets)


def check_lengths(path: PathLike, data: Bytes, spans: Ints) -> None:
    """Raise where a span is too long for an id; names its line."""
    lengths = spans[:, 1] - spans[:, 0]
    if lengths.max(initial=0) > LONGEST_ID:
        start, stop = spans[int(lengths.argmax())].tolist()
        raise FormatError(
            os.fspath(path), line_of(data, start), told_too_long(data[start:stop].tobytes().decode("utf-8"))
        )


def let_go(data: Bytes, start: int, stop: int) -> None:
    """Give memory back that a mapped file takes between two places; what is looked at again is read again."""
    mapped = data.base.obj if isinstance(data.base, memoryview) else None
    if not isinstance(mapped, mmap.mmap) or not hasattr(mapped, "madvise"):
        return
    first = start // mmap.PAGESIZE * mmap.PAGESIZE
    mapped.madvise(mmap.MADV_DONTNEED, first, min(stop, len(mapped)) - first)


def fill_exactly(path: str, data: Bytes, values: NDArray[np.float64], slow: Ints, what: str) -> Ints:
    """Have Python read the numbers that the exact path of the kernels leaves, and put them in their places.

    Return the rows of `slow` whose numbers are closer to 0 than floats tell apart, and are not 0.

    Parameters
    ----------
    slow : (k, 3) int64
        Flat place in `values`, start and stop of each number in the data.
    what : str
        What a message calls such a number.
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
    content = _plain_content(path)
    if content[:2] != _GZIP_MAGIC:
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as packed:
            unpacked = bytearray()
            while piece := packed.read(_CENSUS):
                unpacked += piece
                check_unpacked(path, len(unpacked), len(content), most_unpacked)
            return unpacked
    except EOFError:
        raise FormatError(os.fspath(path), None, "the gzip file is cut short, expected its end marker") from None
    except (gzip.BadGzipFile, zlib.error) as problem:
        raise FormatError(os.fspath(path), None, f"the gzip file is broken: {problem}") from None


def check_unpacked(path: PathLike, n_bytes: int, n_packed: int, most_unpacked: int = MOST_UNPACKED) -> None:
    """Raise where a packed file of a size unpacks to more bytes than it may: so many, or `MOST_TIMES` its size."""
    most = max(most_unpacked, MOST_TIMES * n_packed)
    if n_bytes > most:
        bound = f"expected at most {most_unpacked >> 20} MB or {MOST_TIMES} times its size"
        raise FormatError(os.fspath(path), None, f"unpacks to more than {most >> 20} MB, {bound}")


def _plain_content(path: PathLike) -> bytearray | mmap.mmap:
    try:
        with open(path, "rb") as handle:
            status = os.fstat(handle.fileno())
            if stat.S_ISCHR(status.st_mode):
                return _typed(path, handle)
            if not stat.S_ISREG(status.st_mode) or status.st_size == 0:
                return bytearray(handle.read())
            # a private mapping is writable, as all other arrays that the kernels are given
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


def _typed(path: PathLike, handle: IO[bytes]) -> bytearray:
    """Return what a device says until it ends."""
    content = bytearray(handle.read(_MOST_TYPED + 1))
    if len(content) > _MOST_TYPED:
        raise InputError(f"{os.fspath(path)}: is a device that does not end, expected a file")
    return content


def _check_text(path: PathLike, data: Bytes) -> int:
    """Return the number of newlines of a text that is one."""
    if data[:2].tobytes() in _UTF16_MARKS:
        raise FormatError(os.fspath(path), 1, "the text is UTF-16, expected UTF-8")
    n_newlines, largest = 0, 0
    for start in range(0, data.size, _CENSUS):
        piece = data[start : start + _CENSUS]
        n_newlines, largest = n_newlines + int(np.count_nonzero(piece == 10)), max(largest, int(piece.max()))
        if piece.min() == 0:  # at once: a file of holes says nothing for as long as it likes
            if data[:2].tobytes() == _PACKED:
                raise FormatError(os.fspath(path), None, "packed, as a sample or a spreadsheet is, expected text")
            line = line_of(data, start + int(np.argmin(piece)))
            raise FormatError(os.fspath(path), line, "a NUL byte, expected text")
        let_go(data, start, start + _CENSUS)
    if largest >= 0x80 and not _is_utf8(data):
        try:
            str(data.data, "utf-8")
        except UnicodeDecodeError as problem:
            wrong = data[problem.start : problem.end].tobytes()
            expected = f"the bytes {wrong!r} are not UTF-8, expected UTF-8 text{_saved_anew(path, data, problem.start)}"
            raise FormatError(os.fspath(path), line_of(data, problem.start), expected) from None
    return n_newlines


def _saved_anew(path: PathLike, data: Bytes, place: int) -> str:
    """Return how a table comes to UTF-8, which a spreadsheet has saved as Windows does: the end of a message."""
    if bare_suffix(path) not in (".csv", ".tsv"):
        return ""
    letters = data[max(place - 20, 0) : place + 20].tobytes().decode("cp1252", "replace")
    line = next((part for part in letters.splitlines() if any(letter > "\x7f" for letter in part)), "")
    return f": {shown(line)} reads as Windows-1252; save the sheet as CSV UTF-8"


def _is_utf8(data: Bytes) -> bool:
    """Return whether bytes are UTF-8, without a copy of them all."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, data.size, _PIECE):
            decoder.decode(data[start : start + _PIECE].data)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
