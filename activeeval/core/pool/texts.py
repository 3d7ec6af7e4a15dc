"""Many texts in one buffer: what ids are held as, however long one of them is.

An array of text of fixed width pays for its longest entry in every row, four bytes a letter; here a text takes its own
UTF-8 bytes and eight more. Bytes order and compare as code points do, so that nothing depends on which of both is
looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.core.types import Bytes, Ints

LONGEST_ID = 4096
"""Bytes of an id in every format: no id of a collection comes near, and a text in an id's place is told early."""
_HARMLESS_BYTES = 1 << 24
_HARMLESS_RATIO = 32
"""An array of fixed width may take so many times the texts' own bytes: 4 for each letter, 8 for uneven lengths."""
_LONE = "surrogatepass"  # halves of a pair are in JSON what they are in Python: letters


class Texts:
    """Texts one after another in a buffer of bytes; rows that repeat may share one.

    Parameters
    ----------
    data : ndarray of uint8
        The UTF-8 bytes of all texts, which nobody else writes to.
    offsets : ndarray of int64, shape (n_texts + 1,)
        Where each text starts in `data`, and where the last ends.
    starts : ndarray of int64, shape (n_texts + 1,), optional
        The first row that holds each text, all up to the next one's too, and the number of rows. By default each row
        has a text of its own.

    Examples
    --------
    >>> texts = Texts.from_list(["a", "long", "b"])
    >>> texts[1], texts[[2, 0]].tolist(), texts.size, np.asarray(texts).dtype.str[1:]
    ('long', ['b', 'a'], 3, 'U4')
    >>> texts
    Texts(['a', 'long', 'b'], size=3)
    """

    __slots__ = ("_array", "data", "offsets", "starts")

    def __init__(self, data: Bytes, offsets: Ints, starts: Ints | None = None) -> None:
        self.data, self.offsets = _sealed(data), _sealed(offsets)
        self.starts = None if starts is None else _sealed(starts)
        self._array: NDArray[Any] | None = None

    @classmethod
    def from_list(cls, values: Sequence[str]) -> Texts:
        """Return texts given as a sequence of str."""
        whole = "".join(values)
        if whole.isascii():
            parts, data = values, whole.encode()
        else:
            parts = [value.encode("utf-8", _LONE) for value in values]  # type: ignore[misc]
            data = b"".join(parts)  # type: ignore[arg-type]
        lengths = np.fromiter(map(len, parts), np.int64, len(parts))
        return cls(np.frombuffer(data, dtype=np.uint8), offsets_of(lengths))

    @classmethod
    def from_array(cls, values: NDArray[Any]) -> Texts:
        """Return texts given as a one-dimensional array of text."""
        codes = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("=")).view(np.uint32)
        if not values.size or codes.max(initial=0) >= 128:
            return cls.from_list(values.tolist())
        is_letter = codes.reshape(values.size, -1) != 0
        if (is_letter[:, 1:] > is_letter[:, :-1]).any():  # a zero inside a text is a letter, behind it padding
            return cls.from_list(values.tolist())
        return cls(codes[is_letter.reshape(-1)].astype(np.uint8), offsets_of(np.count_nonzero(is_letter, axis=1)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Texts, (self.data, self.offsets, self.starts)

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.offsets.size - 1 if self.starts is None else int(self.starts[-1])

    @property
    def shape(self) -> tuple[int]:
        """Number of rows, as an array has it."""
        return (self.size,)

    @property
    def lengths(self) -> Ints:
        """Bytes of each text."""
        lengths: Ints = np.diff(self.offsets)
        return lengths

    @property
    def repeats(self) -> Ints:
        """Number of rows of each text."""
        return np.ones(self.offsets.size - 1, dtype=np.int64) if self.starts is None else np.diff(self.starts)

    def __repr__(self) -> str:
        shown = [*map(repr, self[:3].tolist()), *(["…"] if self.size > 3 else [])]
        return f"Texts([{', '.join(shown)}], size={self.size})"

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[str]:
        return iter(self.tolist())

    def __getitem__(self, rows: Any) -> Any:
        """Return the text of a row, or the texts of several, given as an array indexes."""
        if isinstance(rows, (int, np.integer)):
            place = self._text_of(range(self.size)[rows])
            return self.data[self.offsets[place] : self.offsets[place + 1]].tobytes().decode("utf-8", _LONE)
        chosen = np.asarray(rows) if not isinstance(rows, slice) else np.arange(self.size)[rows]
        if chosen.dtype != np.bool_ and chosen.min(initial=0) < 0:  # the kernel does not count from the end
            chosen = np.arange(self.size)[chosen]
        return self._taken(self._text_of(np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen))

    def _text_of(self, rows: Any) -> Any:
        """Return which text each of some rows holds."""
        return rows if self.starts is None else np.searchsorted(self.starts, rows, side="right") - 1

    def _taken(self, places: Ints) -> Texts:
        from activeeval.core.kernels.text import bytes as texts

        offsets = offsets_of(self.lengths[places])
        data = np.empty(offsets[-1], dtype=np.uint8)
        texts.copy_texts(self.data, self.offsets, _sealed(places), data)
        return Texts(data, offsets)

    def plain(self) -> Texts:
        """Return the texts with one of its own for every row."""
        return self if self.starts is None else self._taken(np.repeat(np.arange(self.repeats.size), self.repeats))

    def equals(self, other: Texts) -> bool:
        """Return whether other texts are the same, row by row."""
        first, second = self.plain(), other.plain()
        return np.array_equal(first.offsets, second.offsets) and np.array_equal(first.data, second.data)

    def first_empty(self) -> int:
        """Return the first row without any letter, or -1."""
        return self._first_row(self.lengths == 0)

    def first_too_long(self) -> int:
        """Return the first row of more than `LONGEST_ID` bytes, or -1."""
        return self._first_row(self.lengths > LONGEST_ID)

    def _first_row(self, is_meant: NDArray[np.bool_]) -> int:
        text = int(np.argmax(is_meant)) if is_meant.any() else -1
        return text if self.starts is None or text < 0 else int(self.starts[text])

    def tolist(self) -> list[str]:
        """Return the texts as a list of str."""
        whole = self.data.tobytes()
        if whole.isascii():
            letters = whole.decode()
            texts = [letters[a:b] for a, b in pairwise(self.offsets.tolist())]
        else:
            texts = [whole[a:b].decode("utf-8", _LONE) for a, b in pairwise(self.offsets.tolist())]
        if self.starts is None:
            return texts
        return [text for text, n in zip(texts, self.repeats.tolist(), strict=True) for _ in range(n)]

    def array(self) -> NDArray[Any]:
        """Return the texts as an array that cannot be written to, made once.

        Of fixed width (dtype ``U``) where that takes at most 16 MB or 32 times their bytes, else of Python's str (dtype
        object): one long text among many short ones must not cost its length in every row.
        """
        if self._array is None:
            texts = self.tolist()
            room = 4 * max(map(len, texts), default=1) * len(texts)
            is_harmless = room <= max(_HARMLESS_BYTES, _HARMLESS_RATIO * int(self.lengths @ self.repeats))
            self._array = _sealed(np.array(texts, dtype=np.str_ if is_harmless else object))
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        made = self.array() if dtype is None else self.array().astype(dtype, copy=False)
        return made.copy() if copy else made


def joined_texts(parts: Sequence[Texts]) -> Texts:
    """Return the texts of several parts, one after another."""
    plain = [part.plain() for part in parts]
    return Texts(
        np.concatenate([part.data for part in plain]), offsets_of(np.concatenate([part.lengths for part in plain]))
    )


def offsets_of(lengths: Ints) -> Ints:
    """Return where parts of some lengths start one after another, and where the last ends."""
    offsets = np.zeros(lengths.size + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _sealed(array: Any) -> Any:
    """Return a view that cannot be written to: kernels are compiled once for all texts."""
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view
