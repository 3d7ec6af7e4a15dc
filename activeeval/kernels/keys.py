"""Rows that are keyed by an owner and a text: where a key stands first, and where another table holds it.

The rows of an owner are a segment. A text is a row of code points, uint32, zeros behind it; rows of
two tables may differ in width. For each segment a table of places with open addressing, small enough
for the cache, finds the candidates by their hashes, and the texts themselves decide. The hash is
Σ_k code_k f_k with odd factors below 2³⁰: codes have 21 bits, so that 2¹² of them stay within 63.
"""

from __future__ import annotations

import numpy as np

from activeeval.kernels.compiling import jit as _jit

_LOW_30 = 2**30 - 1
_FACTOR, _RATIO = 1_103_515_245 & _LOW_30, 1_664_525_069 & _LOW_30


@_jit
def segment_owners(owners, offsets):
    """Fill ``offsets`` with where each owner's rows start once they stand in order; return whether they do.

    Owners are whole numbers from 0 on, below ``offsets.size - 1``; rows with a negative one come first.
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
def starts_a_run(codes):
    """Return for every row whether its text differs from that of the row before; the first row's does."""
    out = np.empty(codes.shape[0], np.bool_)
    for i in range(codes.shape[0]):
        out[i] = i == 0
        for k in range(codes.shape[1]):
            if i > 0 and codes[i, k] != codes[i - 1, k]:
                out[i] = True
                break
    return out


@_jit
def first_repeat(offsets, codes):
    """Return the first row whose text its segment holds before, and the row that does; ``(-1, -1)`` for none."""
    factors, hashes, room, places = _scratch(offsets, codes)
    for q in range(offsets.size - 1):
        start, stop = offsets[q], offsets[q + 1]
        table = _clear_table(room, stop - start)
        _hash_rows(codes, start, stop, factors, hashes)
        _seek(table, codes, start, hashes, codes, start, stop, hashes, True, places)
        for i in range(stop - start):
            if places[i] != start + i:
                return start + i, places[i]
    return -1, -1


@_jit
def first_places(offsets, codes):
    """Return for every row the first place of its segment that holds the same text, shape (n,)."""
    out = np.empty(codes.shape[0], np.int64)
    factors, hashes, room, _ = _scratch(offsets, codes)
    for q in range(offsets.size - 1):
        start, stop = offsets[q], offsets[q + 1]
        table = _clear_table(room, stop - start)
        _hash_rows(codes, start, stop, factors, hashes)
        _seek(table, codes, start, hashes, codes, start, stop, hashes, True, out[start:stop])
    return out


@_jit
def places_of(offsets, codes, sought_offsets, sought_codes):
    """Return for every sought row the first place of its segment that holds its text, or -1, shape (n_sought,)."""
    out = np.full(sought_codes.shape[0], -1, np.int64)
    factors, hashes, room, places = _scratch(offsets, codes)
    more_factors, sought_hashes, _, _ = _scratch(sought_offsets, sought_codes)
    for q in range(offsets.size - 1):
        start, stop = offsets[q], offsets[q + 1]
        table = _clear_table(room, stop - start)
        _hash_rows(codes, start, stop, factors, hashes)
        _seek(table, codes, start, hashes, codes, start, stop, hashes, True, places)
        first, last = sought_offsets[q], sought_offsets[q + 1]
        _hash_rows(sought_codes, first, last, more_factors, sought_hashes)
        _seek(table, codes, start, hashes, sought_codes, first, last, sought_hashes, False, out[first:last])
    return out


@_jit
def _scratch(offsets, codes):
    """Return the factors of the hash, and room for the hashes, the table and the places of the longest segment."""
    factors = np.empty(codes.shape[1], np.int64)
    factor = _FACTOR
    for k in range(factors.size):
        factors[k] = factor
        factor = (factor * _RATIO) & _LOW_30
    most = 0
    for q in range(offsets.size - 1):
        most = max(most, offsets[q + 1] - offsets[q])
    return factors, np.empty(most, np.int64), np.empty(_slots(most), np.int64), np.empty(most, np.int64)


@_jit
def _hash_rows(codes, start, stop, factors, hashes):
    for i in range(start, stop):
        total = np.int64(0)
        for k in range(factors.size):
            total += np.int64(codes[i, k]) * factors[k]
        hashes[i - start] = total ^ (total >> 29)


@_jit
def _seek(table, codes, base, hashes, sought_codes, start, stop, sought_hashes, enters, out):
    """Fill ``out`` with the place that holds the text of each sought row, -1 for none, or enter the row for it.

    ``hashes`` are those of the rows from ``base`` on, ``sought_hashes`` those of the rows from ``start`` on.
    """
    mask = table.size - 1
    for i in range(start, stop):
        sought = sought_hashes[i - start]
        slot = sought & mask
        while table[slot] >= 0:
            place = table[slot]
            if hashes[place - base] == sought and _same_text(codes, place, sought_codes, i):
                break
            slot = (slot + 1) & mask
        if enters and table[slot] < 0:
            table[slot] = i
        out[i - start] = table[slot]


@_jit
def _slots(n):
    size = 4
    while size < 2 * n:
        size *= 2
    return size


@_jit
def _clear_table(room, n):
    table = room[: _slots(n)]
    table[:] = -1
    return table


@_jit
def _same_text(codes, i, others, j):
    n, n_other = codes.shape[1], others.shape[1]
    for k in range(min(n, n_other)):
        if codes[i, k] != others[j, k]:
            return False
    if n > n_other:
        return codes[i, n_other] == 0
    return n == n_other or others[j, n] == 0
