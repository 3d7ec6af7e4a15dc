"""Kernels that read lines of columns separated by white space."""

from __future__ import annotations

from activeeval.core.kernels.compiling import jit as _jit
from activeeval.core.kernels.text.number_texts import BAD, SLOW, number_at, skip_blanks, token_end

FINE, TOO_FEW, TOO_MANY, BAD_NUMBER = 0, 1, 2, 3
LEFT_OUT, TEXT, NUMBER, REST = 0, 1, 2, 3

_NEWLINE, _HASH = 10, 35


@_jit
def read_column_rows(data, state, kinds, spans, numbers, slow):
    """Read lines of columns until the data end, a line is invalid, or ``spans`` or ``slow`` is full.

    Return ``(code, place)``: FINE, TOO_FEW or TOO_MANY columns, or BAD_NUMBER, and the index in ``data`` of the next
    byte or of the error. Empty lines and lines that start with # are skipped.

    Parameters
    ----------
    data : (n_bytes,) uint8
    state : (5,) int64, read and written
        Place in the data; rows read; entries of `slow`; row of the first entry of `spans`; number of lines with a REST.
    kinds : (n_columns,) int64
        LEFT_OUT, TEXT or NUMBER for each column of a line; a final REST allows more columns, which are ignored.
    spans : (n_texts, n_block, 2) int64
        Out: start and stop of the text in each TEXT column of each row.
    numbers : (n_numbers, n) float64
        Out: the number in each NUMBER column of each row.
    slow : (k, 3) int64
        Out: flat index in `numbers`, start and stop of each number that `number_at` leaves to the caller.
    """
    i, row, n_slow, first = state[0], state[1], state[2], state[3]
    end = data.size
    code = FINE
    while i < end and code == FINE and row - first < spans.shape[1] and n_slow + numbers.shape[0] <= slow.shape[0]:
        begin = i
        i = skip_blanks(data, i)
        if i < end and data[i] != _NEWLINE and data[begin] != _HASH:
            i, n_slow, code = _columns_at(data, i, row, first, kinds, spans, numbers, slow, n_slow)
            row += 1
            if code == TOO_MANY and kinds[-1] == REST:
                state[4] += 1
                code = FINE
        if code == FINE:
            while i < end and data[i] != _NEWLINE:
                i += 1
            i += 1
    state[0], state[1], state[2] = i, row, n_slow
    return code, i


@_jit
def _columns_at(data, i, row, first, kinds, spans, numbers, slow, n_slow):
    """Read the columns of the line at byte ``i``; return ``(stop, n_slow, code)``, with ``stop`` the place of an error.

    ``data`` are bytes. ``kinds`` has LEFT_OUT, TEXT or NUMBER for each column. ``spans`` (n_texts, n_block, 2) receives
    start and stop of each text of the ``row``, ``numbers`` (n_numbers, n) its numbers; ``first`` is the row of the
    first entry of ``spans``. ``slow`` (k, 3), with ``n_slow`` entries, receives index in ``numbers``, start and stop of
    each number left to the caller.
    """
    end = data.size
    n_texts = 0
    n_numbers = 0
    for column in range(kinds.size - (kinds[-1] == REST)):
        start = skip_blanks(data, i)
        if start >= end or data[start] == _NEWLINE:
            return start, n_slow, TOO_FEW
        if kinds[column] == NUMBER:
            i, kind, value = number_at(data, start)
            if kind == BAD:
                return start, n_slow, BAD_NUMBER
            if kind == SLOW:
                slow[n_slow, 0] = n_numbers * numbers.shape[1] + row
                slow[n_slow, 1] = start
                slow[n_slow, 2] = i
                n_slow += 1
            numbers[n_numbers, row] = value
            n_numbers += 1
        else:
            i = token_end(data, start)
            if kinds[column] == TEXT:
                spans[n_texts, row - first, 0], spans[n_texts, row - first, 1] = start, i
                n_texts += 1
    i = skip_blanks(data, i)
    if i < end and data[i] != _NEWLINE:
        return i, n_slow, TOO_MANY
    return i, n_slow, FINE
