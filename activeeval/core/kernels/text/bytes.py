"""Copying, comparing and hashing of texts in one buffer of bytes.

Text ``j`` is ``data[offsets[j]:offsets[j + 1]]``, UTF-8, so that the order of bytes is the order of code points.
"""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit

_FACTOR = np.uint64(0x100000001B3)
_BASIS = np.uint64(0xCBF29CE484222325)
_FOLD = np.uint64(32)


@_jit
def copy_texts(data, offsets, places, out):
    """Fill ``out`` with the texts at the indices ``places``, one after another.

    Text j is ``data[offsets[j]:offsets[j + 1]]`` (bytes).
    """
    k = 0
    for j in range(places.size):
        for i in range(offsets[places[j]], offsets[places[j] + 1]):
            out[k] = data[i]
            k += 1


@_jit
def append_spans(source, spans, out, offsets, row):
    """Append the spans (n, 2) (start and stop in ``source``) as texts to ``out``, which has ``row`` texts so far.

    ``offsets`` receives the end of each text in ``out``.
    """
    k = offsets[row]
    for j in range(spans.shape[0]):
        for i in range(spans[j, 0], spans[j, 1]):
            out[k] = source[i]
            k += 1
        offsets[row + j + 1] = k


@_jit
def append_runs(source, spans, out, offsets, starts, n_texts, row):
    """Append spans like `append_spans`, but store equal neighbours once; return the new number of texts.

    The first ``n_texts`` texts of ``out`` belong to the first ``row`` rows; each further span (start and stop in
    ``source``) is one row. ``offsets`` receives the end of each text in ``out``, ``starts`` the first row of each text,
    and after the last one the number of rows.
    """
    k = offsets[n_texts]
    for j in range(spans.shape[0]):
        start, stop = spans[j, 0], spans[j, 1]
        is_same = n_texts > 0 and k - offsets[n_texts - 1] == stop - start
        i = start
        while is_same and i < stop:
            is_same = source[i] == out[k - (stop - i)]
            i += 1
        if not is_same:
            for i in range(start, stop):
                out[k] = source[i]
                k += 1
            starts[n_texts] = row + j
            n_texts += 1
            offsets[n_texts] = k
    starts[n_texts] = row + spans.shape[0]
    return n_texts


@_jit
def same_text(data, offsets, j, other_data, other_offsets, k):
    """Check whether text ``j`` of one buffer equals text ``k`` of another.

    Text j is ``data[offsets[j]:offsets[j + 1]]``, text k ``other_data[other_offsets[k]:other_offsets[k + 1]]``.
    """
    start, other_start = offsets[j], other_offsets[k]
    length = offsets[j + 1] - start
    if other_offsets[k + 1] - other_start != length:
        return False
    for i in range(length):  # noqa: SIM110
        if data[start + i] != other_data[other_start + i]:
            return False
    return True


@_jit
def stands_after(data, offsets, j, k):
    """Check whether text ``j`` comes after text ``k`` in byte order; text j is ``data[offsets[j]:offsets[j + 1]]``."""
    start, other_start = offsets[j], offsets[k]
    length, other_length = offsets[j + 1] - start, offsets[k + 1] - other_start
    for i in range(min(length, other_length)):
        a, b = data[start + i], data[other_start + i]
        if a != b:
            return a > b
    return length > other_length


@_jit
def hash_texts(data, offsets, start, stop, out):
    """Fill ``out`` with a hash (non-negative int64) of each of the texts ``start`` … ``stop − 1``, for hash tables.

    Text j is ``data[offsets[j]:offsets[j + 1]]``; its hash is ``out[j - start]``.
    """
    for j in range(start, stop):
        h = _BASIS
        for i in range(offsets[j], offsets[j + 1]):
            h = (h ^ np.uint64(data[i])) * _FACTOR
        out[j - start] = np.int64((h ^ (h >> _FOLD)) >> np.uint64(1))
