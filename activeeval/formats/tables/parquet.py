"""Read parquet files; check their unpacked size first, and report damage in one line."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import polars as pl

from activeeval.core.errors import FormatError
from activeeval.formats.files import check_unpacked, read_binary
from activeeval.formats.suffixes import PathLike

_ONE_AT_A_TIME = Lock()
_MOST_UNPACKED = 1 << 25
"""Bytes. A short text takes 60 bytes in memory but counts as 8 here: four million cells take 240 MB."""
_CELL = 8
"""Least size of a cell in memory, in bytes."""
_ROW_GROUPS, _COLUMNS, _BYTES, _ROWS = 4, 1, 2, 3
_DEEPEST = 20


def read_frame(path: PathLike) -> pl.DataFrame:
    """Read the table of a parquet file.

    Raises
    ------
    FormatError
        If it is damaged, not parquet, or unpacks to more than `files.check_unpacked` allows. Its size is the larger
        of the size declared in the footer and the total length of all texts.
    """
    content = read_binary(path)
    check_unpacked(path, _declared_bytes(content), len(content), _MOST_UNPACKED)
    try:
        with _quiet_panics():
            frame = pl.read_parquet(io.BytesIO(content))
            n_letters = sum(sum(n) for n in frame.select(pl.col(pl.String).str.len_bytes().sum()).iter_columns())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as problem:
        reason = (str(problem).strip() or type(problem).__name__).splitlines()[0]
        raise FormatError(os.fspath(path), None, f"cannot be read as parquet: {reason}") from None
    check_unpacked(path, n_letters, len(content), _MOST_UNPACKED)
    return frame


def _declared_bytes(content: bytes) -> int:
    """Compute the unpacked size in bytes that the footer declares, 0 if the footer cannot be read.

    A parquet file ends with its metadata in Thrift's compact protocol, their length in four bytes, and PAR1.
    """
    try:
        length = int.from_bytes(content[-8:-4], "little")
        groups = _Thrift(content[-8 - length : -8]).struct().get(_ROW_GROUPS, [])
        return sum(max(group.get(_BYTES, 0), _CELL * group.get(_ROWS, 0) * len(group[_COLUMNS])) for group in groups)
    except (LookupError, TypeError, AttributeError, RecursionError):
        return 0  # damaged: polars reports it better


class _Thrift:
    """Parser of Thrift's compact protocol; a struct becomes a dict by field number.

    polars (2.1.0) gives names, types and number of rows of a file, but not the unpacked size of its pages: for a file
    of 34 KB with one text of 1 GB, reading only the first row takes 2.1 GB, for a list of 2²⁷ zeros 2.7 GB, with
    `n_rows`, batches and the streaming engine too.
    """

    def __init__(self, content: bytes) -> None:
        """Start at the first byte of ``content``."""
        self._content = content
        self._at = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Parse the struct at the current position."""
        if depth > _DEEPEST:
            raise RecursionError
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():  # 4 bits: distance to the last field's number, 0 if that follows; 4 bits: type
            number = number + (head >> 4) if head >> 4 else self._signed()
            fields[number] = self._value(head & 15, depth, is_field=True)
        return fields

    def _value(self, kind: int, depth: int, *, is_field: bool = False) -> Any:
        """Parse a value of a type code; texts and floats are skipped and give None.

        Codes: 1 true, 2 false, 3 byte, 4 to 6 integers, 7 float, 8 text, 9 list, 10 set, 12 struct. ``depth`` limits
        nesting; ``is_field`` is True for the field of a struct.
        """
        if kind in (1, 2):  # a boolean field encodes its value in its type
            return kind == 1 if is_field else self._byte() == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind in (7, 8):
            length = 8 if kind == 7 else self._unsigned()
            self._at += length  # after reading the length, which moves the position
            return None
        if kind in (9, 10):
            head = self._byte()
            n = head >> 4 if head >> 4 < 15 else self._unsigned()
            return [self._value(head & 15, depth + 1) for _ in range(min(n, len(self._content)))]
        if kind == 12:
            return self.struct(depth + 1)
        raise LookupError(kind)

    def _byte(self) -> int:
        """Read one byte."""
        self._at += 1
        return self._content[self._at - 1]

    def _unsigned(self) -> int:
        """Read a variable-length unsigned integer."""
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
        return value | byte << shift

    def _signed(self) -> int:
        """Read a zigzag-encoded integer."""
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)


@contextmanager
def _quiet_panics() -> Iterator[None]:
    """Redirect the process's stderr to nowhere: polars prints its panics before it raises them."""
    with _ONE_AT_A_TIME, open(os.devnull, "wb") as nothing:
        try:
            saved = os.dup(2)
        except OSError:  # there is no stderr
            yield
            return
        os.dup2(nothing.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)
