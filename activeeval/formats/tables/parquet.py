"""Parquet files as frames: what they unpack to is looked at before, damaged ones are told in one line."""

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
"""A text of a few letters takes 60 bytes once it is read, where eight are counted: four million cells 240 MB."""
_CELL = 8
"""Bytes that a cell takes at least once it is read."""
_ROW_GROUPS, _COLUMNS, _BYTES, _ROWS = 4, 1, 2, 3
_DEEPEST = 20


def read_frame(path: PathLike) -> pl.DataFrame:
    """Return the table of a parquet file.

    Raises
    ------
    FormatError
        Where it is damaged, none, or unpacks to more than `files.check_unpacked` allows: the larger of what its end
        says of pages and cells, and of all texts written out.
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
    """Return how many bytes a file says that it holds, 0 where it says nothing that can be read.

    A parquet file ends in its description, in Thrift's compact protocol, the length of that in four bytes, and PAR1.
    """
    try:
        length = int.from_bytes(content[-8:-4], "little")
        groups = _Thrift(content[-8 - length : -8]).struct().get(_ROW_GROUPS, [])
        return sum(max(group.get(_BYTES, 0), _CELL * group.get(_ROWS, 0) * len(group[_COLUMNS])) for group in groups)
    except (LookupError, TypeError, AttributeError, RecursionError):
        return 0  # it is damaged, which its reader says better


class _Thrift:
    """Values of Thrift's compact protocol, one after another; a structure is a dict by the numbers of its fields.

    polars (2.1.0) tells names, types and rows of a file, not what its pages unpack to: of 34 KB with one text of 1 GB
    its first row alone takes 2.1 GB, a list of 2²⁷ zeros 2.7 GB, by `n_rows`, batches and the streaming engine too.
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return the structure that starts here."""
        if depth > _DEEPEST:
            raise RecursionError
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            fields[number] = self._value(head & 15, depth, is_field=True)
        return fields

    def _value(self, kind: int, depth: int, *, is_field: bool = False) -> Any:
        if kind in (1, 2):  # a field of truth has its value in its kind
            return kind == 1 if is_field else self._byte() == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind in (7, 8):
            length = 8 if kind == 7 else self._unsigned()
            self._at += length  # only now: reading the length has moved it too
            return None
        if kind in (9, 10):
            head = self._byte()
            n = head >> 4 if head >> 4 < 15 else self._unsigned()
            return [self._value(head & 15, depth + 1) for _ in range(min(n, len(self._content)))]
        if kind == 12:
            return self.struct(depth + 1)
        raise LookupError(kind)

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
        return value | byte << shift

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)


@contextmanager
def _quiet_panics() -> Iterator[None]:
    """Have the process write nothing to stderr: polars prints where it panicked before it raises that."""
    with _ONE_AT_A_TIME, open(os.devnull, "wb") as nothing:
        try:
            kept = os.dup(2)
        except OSError:  # there is no stderr
            yield
            return
        os.dup2(nothing.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
