"""Compact storage of many ids in one byte buffer.

A NumPy text array of fixed width takes the length of its longest entry in every row, four bytes per letter. Here a
text takes its UTF-8 bytes plus eight. UTF-8 bytes sort like code points, so results do not depend on the form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.core.types import Bytes, Ints

LONGEST_ID = 4096
"""Longest allowed id in bytes, in every format: real ids are shorter, so text in the wrong column is detected early."""
_HARMLESS_BYTES = 1 << 24
_HARMLESS_RATIO = 32
"""Largest ratio of a fixed-width array to the texts' own bytes: 4 for each letter, times 8 for uneven lengths."""
_LONE = "surrogatepass"  # JSON and Python allow lone surrogates in a text


class Texts:
    """Texts stored one after another in a byte buffer; adjacent equal rows can share one text.

    Parameters
    ----------
    data : ndarray of uint8
        The UTF-8 bytes of all texts; must not be modified afterwards.
    offsets : ndarray of int64, shape (n_texts + 1,)
        Start of each text in `data`, and the end of the last.
    starts : ndarray of int64, shape (n_texts + 1,), optional
        First row of each text, and the number of rows; text i fills the rows ``starts[i] … starts[i+1] − 1``. By
        default each row has its own text.

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
        """Wrap UTF-8 bytes ``data`` (uint8) without a copy: text i is ``data[offsets[i]:offsets[i + 1]]``.

        ``starts`` (n_texts + 1,), if given, is the first row of each text: text i fills the rows ``starts[i]`` to
        ``starts[i + 1] - 1``.
        """
        self.data, self.offsets = _sealed(data), _sealed(offsets)
        self.starts = None if starts is None else _sealed(starts)
        self._array: NDArray[Any] | None = None

    @classmethod
    def from_list(cls, values: Sequence[str]) -> Texts:
        """Build texts from a sequence of str."""
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
        """Build texts from a one-dimensional array of dtype ``U``."""
        codes = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("=")).view(np.uint32)
        if not values.size or codes.max(initial=0) >= 128:
            return cls.from_list(values.tolist())
        # one code point a letter, padded by 0 to the width of the array
        is_letter = codes.reshape(values.size, -1) != 0
        if (is_letter[:, 1:] > is_letter[:, :-1]).any():  # a zero before a letter is a NUL character, not padding
            return cls.from_list(values.tolist())
        return cls(codes[is_letter.reshape(-1)].astype(np.uint8), offsets_of(np.count_nonzero(is_letter, axis=1)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the buffers without the cached array."""
        return Texts, (self.data, self.offsets, self.starts)

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.offsets.size - 1 if self.starts is None else int(self.starts[-1])

    @property
    def shape(self) -> tuple[int]:
        """Shape of the equivalent array, (number of rows,)."""
        return (self.size,)

    @property
    def lengths(self) -> Ints:
        """Length of each stored text in bytes, shape (n_texts,)."""
        lengths: Ints = np.diff(self.offsets)
        return lengths

    @property
    def repeats(self) -> Ints:
        """Number of rows of each stored text, shape (n_texts,)."""
        return np.ones(self.offsets.size - 1, dtype=np.int64) if self.starts is None else np.diff(self.starts)

    def __repr__(self) -> str:
        """Show the first three texts and the number of rows."""
        parts = [*map(repr, self[:3].tolist()), *(["…"] if self.size > 3 else [])]
        return f"Texts([{', '.join(parts)}], size={self.size})"

    def __len__(self) -> int:
        """Number of rows."""
        return self.size

    def __iter__(self) -> Iterator[str]:
        """Iterate over the rows as str."""
        return iter(self.tolist())

    def __getitem__(self, rows: Any) -> Any:
        """Get the text of one row (str), or `Texts` of several rows by a slice, positions or a mask."""
        if isinstance(rows, (int, np.integer)):
            place = self._text_of(range(self.size)[rows])
            return self.data[self.offsets[place] : self.offsets[place + 1]].tobytes().decode("utf-8", _LONE)
        chosen = np.asarray(rows) if not isinstance(rows, slice) else np.arange(self.size)[rows]
        if chosen.dtype != np.bool_ and chosen.min(initial=0) < 0:  # the kernel does not support negative positions
            chosen = np.arange(self.size)[chosen]
        return self._taken(self._text_of(np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen))

    def _text_of(self, rows: Any) -> Any:
        """Find the index of the stored text of each row; adjacent equal rows can share one."""
        return rows if self.starts is None else np.searchsorted(self.starts, rows, side="right") - 1

    def _taken(self, places: Ints) -> Texts:
        """Copy stored texts, given by their indices ``places``, into a new object with one text per row."""
        from activeeval.core.kernels.text import bytes as texts

        offsets = offsets_of(self.lengths[places])
        data = np.empty(offsets[-1], dtype=np.uint8)
        texts.copy_texts(self.data, self.offsets, _sealed(places), data)
        return Texts(data, offsets)

    def plain(self) -> Texts:
        """Expand shared texts: one stored text for every row."""
        return self if self.starts is None else self._taken(np.repeat(np.arange(self.repeats.size), self.repeats))

    def equals(self, other: Texts) -> bool:
        """Check whether two objects hold the same texts, row by row."""
        first, second = self.plain(), other.plain()
        return np.array_equal(first.offsets, second.offsets) and np.array_equal(first.data, second.data)

    def first_empty(self) -> int:
        """Find the first row with an empty text, or -1."""
        return self._first_row(self.lengths == 0)

    def first_too_long(self) -> int:
        """Find the first row of more than `LONGEST_ID` bytes, or -1."""
        return self._first_row(self.lengths > LONGEST_ID)

    def _first_row(self, is_meant: NDArray[np.bool_]) -> int:
        """Find the first row of the first stored text flagged in ``is_meant`` (n_texts,), or -1."""
        text = int(np.argmax(is_meant)) if is_meant.any() else -1
        return text if self.starts is None or text < 0 else int(self.starts[text])

    def tolist(self) -> list[str]:
        """Convert the texts to a list of str."""
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
        """Convert the texts to a read-only array; the result is cached.

        The array has fixed width (dtype ``U``) if that takes at most 16 MB or 32 times the texts' bytes, else it holds
        Python's str (dtype object): one long text among many short ones must not cost its length in every row.
        """
        if self._array is None:
            texts = self.tolist()
            room = 4 * max(map(len, texts), default=1) * len(texts)
            is_harmless = room <= max(_HARMLESS_BYTES, _HARMLESS_RATIO * int(self.lengths @ self.repeats))
            self._array = _sealed(np.array(texts, dtype=np.str_ if is_harmless else object))
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Convert to an array for NumPy, which calls this; without ``copy`` the result is cached and read-only."""
        array = self.array() if dtype is None else self.array().astype(dtype, copy=False)
        return array.copy() if copy else array


def joined_texts(parts: Sequence[Texts]) -> Texts:
    """Concatenate several `Texts`, row after row."""
    plain = [part.plain() for part in parts]
    return Texts(
        np.concatenate([part.data for part in plain]), offsets_of(np.concatenate([part.lengths for part in plain]))
    )


def offsets_of(lengths: Ints) -> Ints:
    """Compute the start of each part from the lengths of n adjacent parts, and the end of the last, shape (n + 1,)."""
    offsets = np.zeros(lengths.size + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _sealed(array: Any) -> Any:
    """Get a read-only contiguous view; kernels are compiled only for read-only arrays."""
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view
