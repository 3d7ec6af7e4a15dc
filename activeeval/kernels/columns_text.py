"""Reading kernels for lines of columns that white space separates, and for the keys of their rows.

Two rows hold the same key where their texts agree. The kernels compare hashes of the texts
and leave it to the caller to compare the texts themselves; should two different texts share a
hash, another `seed` parts them.
"""

from __future__ import annotations

import numpy as np

from activeeval.kernels.text_numbers import BAD, SLOW, _jit, number_at, skip_blanks, token_end

FINE, TOO_FEW, TOO_MANY, BAD_NUMBER = 0, 1, 2, 3
LEFT_OUT, TEXT, NUMBER = 0, 1, 2

_NEWLINE, _HASH = 10, 35
_PRIME_A, _PRIME_B = 2_147_483_647, 2_147_483_629
_FACTOR_A, _FACTOR_B = 1_103_515_245, 1_664_525_069


@_jit
def read_column_rows(data, state, kinds, spans, numbers, slow):
    """Read lines until the data end, a line is wrong or ``slow`` is full; return ``(code, place)``.

    Parameters
    ----------
    state : (3,) int64, read and written
        Place in the data, rows read, entries of `slow`.
    kinds : (n_columns,) int64
        LEFT_OUT, TEXT or NUMBER for each column of a line.
    spans : (n, n_texts, 2) int64; numbers : (n, n_numbers) float64
    slow : (k, 3) int64
        Flat place in `numbers`, start and stop of each number that number_at leaves to the caller.
    """
    i, row, n_slow = state[0], state[1], state[2]
    end = data.size
    code = FINE
    while i < end and code == FINE and n_slow + numbers.shape[1] <= slow.shape[0]:
        begin = i
        i = skip_blanks(data, i)
        if i < end and data[i] != _NEWLINE and data[begin] != _HASH:
            i, n_slow, code = _columns_at(data, i, row, kinds, spans, numbers, slow, n_slow)
            row += 1
        if code == FINE:
            while i < end and data[i] != _NEWLINE:
                i += 1
            i += 1
    state[0], state[1], state[2] = i, row, n_slow
    return code, i


@_jit
def _columns_at(data, i, row, kinds, spans, numbers, slow, n_slow):
    """Read the columns of one line; return ``(stop, n_slow, code)``, stop the place of what is wrong."""
    end = data.size
    n_texts = 0
    n_numbers = 0
    for column in range(kinds.size):
        start = skip_blanks(data, i)
        if start >= end or data[start] == _NEWLINE:
            return start, n_slow, TOO_FEW
        if kinds[column] == NUMBER:
            i, kind, value = number_at(data, start)
            if kind == BAD:
                return start, n_slow, BAD_NUMBER
            if kind == SLOW:
                slow[n_slow, 0] = row * numbers.shape[1] + n_numbers
                slow[n_slow, 1] = start
                slow[n_slow, 2] = i
                n_slow += 1
            numbers[row, n_numbers] = value
            n_numbers += 1
        else:
            i = token_end(data, start)
            if kinds[column] == TEXT:
                spans[row, n_texts, 0], spans[row, n_texts, 1] = start, i
                n_texts += 1
    i = skip_blanks(data, i)
    if i < end and data[i] != _NEWLINE:
        return i, n_slow, TOO_MANY
    return i, n_slow, FINE


@_jit
def text_hashes(codes, seed):
    """Return a 62-bit hash of every row of ``codes`` (n, width) uint32, trailing zeros left out.

    Two polynomials modulo primes below 2³¹, so that no product leaves 63 bits.
    """
    n, width = codes.shape
    out = np.empty(n, np.uint64)
    for i in range(n):
        a = 1 + seed
        b = 1 + seed
        for k in range(width):
            code = np.int64(codes[i, k])
            if code == 0:
                break
            a = (a * _FACTOR_A + code) % _PRIME_A
            b = (b * _FACTOR_B + code) % _PRIME_B
        out[i] = np.uint64((a << 31) ^ b)
    return out


@_jit
def first_places(keys):
    """Return for every key the first place that holds the same key, shape (n,)."""
    n = keys.size
    size = 16
    while size < 2 * n:
        size *= 2
    mask = np.uint64(size - 1)
    table = np.full(size, -1, np.int64)
    out = np.empty(n, np.int64)
    for i in range(n):
        slot = keys[i] & mask
        while table[slot] >= 0 and keys[table[slot]] != keys[i]:
            slot = (slot + np.uint64(1)) & mask
        if table[slot] < 0:
            table[slot] = i
        out[i] = table[slot]
    return out
