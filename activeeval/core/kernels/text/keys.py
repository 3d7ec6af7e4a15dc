"""Lookup of rows by owner and text: the first row of each key, and its row in another table.

The rows of an owner form a segment; the texts of all rows are in one buffer, text ``i`` from ``texts[i]`` to
``texts[i + 1]``. For each segment a hash table of rows with open addressing, small enough for the cache,
finds candidates by their hashes, which are then compared by text.
"""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit
from activeeval.core.kernels.text.bytes import hash_texts, same_text


@_jit
def segment_owners(owners, offsets):
    """Fill ``offsets`` with the starts of each owner's rows after sorting; return True if they are sorted already.

    ``owners`` (n,) has whole numbers from 0 on, below ``offsets.size - 1``; rows with a negative owner come first.
    """
    offsets[:] = 0
    is_ordered = True
    n_before = 0
    for i in range(owners.size):
        is_ordered = is_ordered and (i == 0 or owners[i - 1] <= owners[i])
        if owners[i] < 0:
            n_before += 1
        else:
            offsets[owners[i] + 1] += 1
    offsets[0] = n_before
    for q in range(1, offsets.size):
        offsets[q] += offsets[q - 1]
    return is_ordered


@_jit
def first_repeat(offsets, data, texts):
    """Find the first row whose text occurs earlier in its segment; return ``(row, earlier row)``, or ``(-1, -1)``.

    Segment q has the rows ``offsets[q]`` to ``offsets[q + 1] - 1``; row i has the text ``data[texts[i]:texts[i + 1]]``.
    """
    hashes, room, places = _scratch(offsets)
    for q in range(offsets.size - 1):
        start, stop = offsets[q], offsets[q + 1]
        table = _clear_table(room, stop - start)
        hash_texts(data, texts, start, stop, hashes)
        _seek(table, data, texts, start, hashes, data, texts, start, stop, hashes, True, places)
        for i in range(stop - start):
            if places[i] != start + i:
                return start + i, places[i]
    return -1, -1


@_jit
def first_places(offsets, data, texts):
    """Find for every row the first row of its segment with the same text, shape (n,).

    Segment q has the rows ``offsets[q]`` to ``offsets[q + 1] - 1``; row i has the text ``data[texts[i]:texts[i + 1]]``.
    """
    out = np.empty(texts.size - 1, np.int64)
    hashes, room, _ = _scratch(offsets)
    for q in range(offsets.size - 1):
        start, stop = offsets[q], offsets[q + 1]
        table = _clear_table(room, stop - start)
        hash_texts(data, texts, start, stop, hashes)
        _seek(table, data, texts, start, hashes, data, texts, start, stop, hashes, True, out[start:stop])
    return out


@_jit
def places_of(offsets, data, texts, sought_offsets, sought_data, sought_texts):
    """Find for every sought row the first row of its segment in a table with the same text, or -1, shape (n_sought,).

    Segment q has the rows ``offsets[q]`` to ``offsets[q + 1] - 1``; row i has the text ``data[texts[i]:texts[i + 1]]``.
    The ``sought_…`` arrays describe the sought rows in the same way, with the same segments.
    """
    out = np.full(sought_texts.size - 1, -1, np.int64)
    hashes, room, places = _scratch(offsets)
    sought_hashes, _, _ = _scratch(sought_offsets)
    for q in range(offsets.size - 1):
        start, stop = offsets[q], offsets[q + 1]
        table = _clear_table(room, stop - start)
        hash_texts(data, texts, start, stop, hashes)
        _seek(table, data, texts, start, hashes, data, texts, start, stop, hashes, True, places)
        first, last = sought_offsets[q], sought_offsets[q + 1]
        hash_texts(sought_data, sought_texts, first, last, sought_hashes)
        segment = out[first:last]
        _seek(table, data, texts, start, hashes, sought_data, sought_texts, first, last, sought_hashes, False, segment)
    return out


@_jit
def _scratch(offsets):
    """Allocate ``(hashes, hash table, found rows)`` for the longest segment, rows from one offset to the next."""
    most = 0
    for q in range(offsets.size - 1):
        most = max(most, offsets[q + 1] - offsets[q])
    return np.empty(most, np.int64), np.empty(_slots(most), np.int64), np.empty(most, np.int64)


@_jit
def _seek(table, data, texts, base, hashes, sought_data, sought_texts, start, stop, sought_hashes, enters, out):
    """Look up the text of each sought row ``start`` … ``stop − 1``: fill ``out`` with the row that has it, or -1.

    The texts of the table's rows are in ``data`` and ``texts``, those of the sought rows in ``sought_data`` and
    ``sought_texts``: row i has ``data[texts[i]:texts[i + 1]]``. ``table`` is a hash table of rows, -1 in free slots;
    with ``enters`` (both texts in one buffer) sought rows that are missing are added to it.
    ``hashes`` are those of the table's rows from ``base`` on, ``sought_hashes`` those of the sought rows from ``start``
    on.
    """
    mask = table.size - 1
    for i in range(start, stop):
        sought = sought_hashes[i - start]
        slot = sought & mask
        while table[slot] >= 0:
            place = table[slot]
            if hashes[place - base] == sought and same_text(data, texts, place, sought_data, sought_texts, i):
                break
            slot = (slot + 1) & mask
        if enters and table[slot] < 0:
            table[slot] = i
        out[i - start] = table[slot]


@_jit
def _slots(n):
    """Compute the size of a hash table for n rows: a power of two of at least 2n, and at least 4."""
    size = 4
    while size < 2 * n:
        size *= 2
    return size


@_jit
def _clear_table(room, n):
    """Get an empty hash table (-1 throughout) for n rows: the first part of the allocated array ``room``."""
    table = room[: _slots(n)]
    table[:] = -1
    return table
