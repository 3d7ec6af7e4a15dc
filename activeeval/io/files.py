"""Files as they come: plain or gzip bytes, text that is checked, places in it for messages."""

from __future__ import annotations

import codecs
import gzip
import io
import mmap
import os
import stat
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.errors import FormatError, InputError
from activeeval.kernels import text_numbers
from activeeval.pool.doors import Texts, sealed_here

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
PathLike = str | os.PathLike[str]

_GZIP_MAGIC = b"\x1f\x8b"
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_LONGEST_ID = 4096
_PIECE = 1 << 18


def open_bytes(path: PathLike) -> Bytes:
    """Return the bytes of a text file; everything else as `open_lines` has it."""
    return open_lines(path)[0]


def open_lines(path: PathLike) -> tuple[Bytes, int]:
    """Return the bytes of a text file, unpacked where it is gzip, without a byte order mark, and the most lines it has.

    Gzip is told by its first two bytes, not by the name. A plain file is mapped, not copied.

    Raises
    ------
    InputError
        Where the file is missing, a directory, or not to be read.
    FormatError
        Where it is empty, a broken gzip, not UTF-8, or holds a NUL byte; names the line.
    """
    data = np.frombuffer(_content(path), dtype=np.uint8)
    if data[:3].tobytes() == _UTF8_MARK:
        data = data[3:]
    if data.size == 0:
        raise FormatError(os.fspath(path), None, "the file is empty")
    return data, _check_text(path, data) + 1


def open_text(path: PathLike) -> str:
    """Return the text of a file, plain or gzip; errors as `open_bytes` has them."""
    return open_bytes(path).tobytes().decode("utf-8")


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


def bare_suffix(path: PathLike) -> str:
    """Return the lower-case suffix of a name, ``.gz`` left out: ``.csv`` of ``a.CSV.gz``."""
    name = Path(path)
    if name.suffix.lower() == ".gz":
        name = name.with_suffix("")
    return name.suffix.lower()


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


def shown(text: str) -> str:
    """Quote a text for a message, shortened where it is long."""
    return repr(text if len(text) <= 60 else text[:59] + "…")


def span_texts(path: PathLike, data: Bytes, spans: Ints) -> Texts:
    """Return the texts of byte spans (n, 2) as an array of text, shape (n,)."""
    codes = np.empty((len(spans), span_width(path, data, spans)), dtype=np.uint32)
    text_numbers.span_codes(data, np.ascontiguousarray(spans), codes)
    return texts_of(codes)


def texts_of(codes: NDArray[np.uint32]) -> Texts:
    """Return code points (n, width), which nobody else holds, as an array of text, shape (n,)."""
    texts: Texts = sealed_here(codes).view(f"U{codes.shape[1]}").reshape(-1)
    return texts


def span_width(path: PathLike, data: Bytes, spans: Ints) -> int:
    """Return how many bytes the longest of the spans has, at least 1, or name the line of one that is too long."""
    lengths = spans[:, 1] - spans[:, 0]
    width = int(lengths.max(initial=1))
    if width > _LONGEST_ID:
        row = int(lengths.argmax())
        problem = f"an id of {width} bytes, {token_at(data, int(spans[row, 0]))}, expected at most {_LONGEST_ID}"
        raise FormatError(os.fspath(path), line_of(data, int(spans[row, 0])), problem)
    return width


def fill_exactly(path: str, data: Bytes, values: NDArray[np.float64], slow: Ints, what: str) -> None:
    """Have Python read the numbers that the exact path of the kernels leaves, and put them in their places.

    Parameters
    ----------
    slow : (k, 3) int64
        Flat place in `values`, start and stop of each number in the data.
    what : str
        What a message calls such a number.
    """
    if not slow.size:
        return
    view = data.data
    numbers = np.array([float(view[start:stop].tobytes()) for _, start, stop in slow.tolist()], dtype=np.float64)
    infinite = np.flatnonzero(np.isinf(numbers))
    if infinite.size:
        place = int(slow[infinite[0], 1])
        problem = f"the {what} {token_at(data, place)} is too large, expected a finite number"
        raise FormatError(path, line_of(data, place), problem)
    values.reshape(-1)[slow[:, 0]] = numbers


def _content(path: PathLike) -> bytearray | mmap.mmap:
    content = _plain_content(path)
    if content[:2] != _GZIP_MAGIC:
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as packed:
            return bytearray(packed.read())
    except EOFError:
        raise FormatError(os.fspath(path), None, "the gzip file is cut short, expected its end marker") from None
    except (gzip.BadGzipFile, zlib.error) as problem:
        raise FormatError(os.fspath(path), None, f"the gzip file is broken: {problem}") from None


def _plain_content(path: PathLike) -> bytearray | mmap.mmap:
    try:
        with open(path, "rb") as handle:
            status = os.fstat(handle.fileno())
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
    except ValueError as problem:
        raise InputError(f"{os.fspath(path)!r}: cannot read: {problem}") from None


def _check_text(path: PathLike, data: Bytes) -> int:
    """Return the number of newlines of a text that is one."""
    n_newlines, union, smallest = text_numbers.text_census(data)
    if data[:2].tobytes() in _UTF16_MARKS:
        raise FormatError(os.fspath(path), 1, "the text is UTF-16, expected UTF-8")
    if union >= 0x80 and not _is_utf8(data):
        try:
            str(data.data, "utf-8")
        except UnicodeDecodeError as problem:
            wrong = data[problem.start : problem.end].tobytes()
            raise FormatError(
                os.fspath(path), line_of(data, problem.start), f"the bytes {wrong!r} are not UTF-8, expected UTF-8 text"
            ) from None
    if smallest == 0:
        place = int(np.argmin(data))
        raise FormatError(os.fspath(path), line_of(data, place), "a NUL byte, expected text")
    return int(n_newlines)


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
