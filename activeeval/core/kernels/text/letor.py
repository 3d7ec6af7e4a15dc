"""Kernel that reads LETOR text: ``<grade> qid:<query> 1:<v> 2:<v> … # docid = <id>``.

A kernel cannot raise. It stops at the first invalid line and returns an error code
with the place of the error; the caller writes the message.
"""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit
from activeeval.core.kernels.text.number_texts import BAD, SLOW, number_at, skip_blanks, token_end

FINE, BAD_GRADE, NO_QUERY, BAD_PAIR, BAD_ORDER, BAD_VALUE = 0, 1, 2, 3, 4, 5

_NEWLINE, _SPACE, _HASH, _POINT, _ZERO, _NINE, _COLON, _EQUALS = 10, 32, 35, 46, 48, 57, 58, 61
_QID = np.frombuffer(b"qid:", np.uint8)
_NULL = np.frombuffer(b"NULL", np.uint8)
_DOCID = np.frombuffer(b"docid", np.uint8)
_DOCNO = np.frombuffer(b"docno", np.uint8)
_DIGITS_ROOM = 9


@_jit
def _starts_with(data, i, word):
    """Check whether the data contain the bytes ``word`` at index ``i``."""
    if i + word.size > data.size:
        return False
    for k in range(word.size):  # noqa: SIM110
        if data[i + k] != word[k]:
            return False
    return True


@_jit
def widest_index(data):
    """Find the largest feature index of LETOR text, read from the last ``index:value`` pair of each line.

    Comments (from # on) are skipped. An index of more than nine digits is ignored.
    """
    end = data.size
    widest = 0
    i = 0
    while i < end:
        colon = -1
        while i < end and data[i] != _NEWLINE and data[i] != _HASH:
            if data[i] == _COLON:
                colon = i
            i += 1
        while i < end and data[i] != _NEWLINE:
            i += 1
        i += 1
        index = 0
        unit = 1
        k = colon - 1
        while k >= 0 and _ZERO <= data[k] <= _NINE and unit <= 10**_DIGITS_ROOM:
            index += unit * (np.int64(data[k]) - _ZERO)
            unit *= 10
            k -= 1
        if k >= 0 and data[k] <= _SPACE and unit <= 10**_DIGITS_ROOM:
            widest = max(widest, index)
    return widest


@_jit
def _grade_at(data, i):
    """Read a whole number, ``2`` or ``2.0``, at byte ``i``; return ``(stop, grade)``, grade -1 if invalid."""
    end = data.size
    start = i
    grade = np.int64(0)
    while i < end and _ZERO <= data[i] <= _NINE and i - start < _DIGITS_ROOM:
        grade = grade * 10 + (np.int64(data[i]) - _ZERO)
        i += 1
    fine = i > start
    if i < end and data[i] == _POINT:
        i += 1
        while i < end and data[i] == _ZERO:
            i += 1
    if i < end and data[i] > _SPACE:
        fine = False
    return i, grade if fine else np.int64(-1)


@_jit
def _document_at(data, i):
    """Find the span of the document id in the comment at byte ``i``, as ``(start, stop)``; ``(-1, -1)`` without one.

    The comment is ``# docid = <id>`` or ``# docno = <id>``.
    """
    i = skip_blanks(data, i + 1)
    if not (_starts_with(data, i, _DOCID) or _starts_with(data, i, _DOCNO)):
        return -1, -1
    i = skip_blanks(data, i + _DOCID.size)
    if i >= data.size or data[i] != _EQUALS:
        return -1, -1
    start = skip_blanks(data, i + 1)
    stop = token_end(data, start)
    if stop == start:
        return -1, -1
    return start, stop


@_jit
def _same_text(data, start, stop, other_start, other_stop):
    """Check whether the bytes ``start`` … ``stop − 1`` of the data equal ``other_start`` … ``other_stop − 1``."""
    if stop - start != other_stop - other_start:
        return False
    for k in range(stop - start):  # noqa: SIM110
        if data[start + k] != data[other_start + k]:
            return False
    return True


@_jit
def _features_at(data, i, row, features, slow, n_slow):
    """Read the pairs ``index:value`` of a line from byte ``i`` on; return ``(stop, n_slow, code)``.

    ``stop`` is the place of an error, or the end of the pairs if ``code`` is FINE. ``features`` (n, n_features)
    receives the values in ``row``; ``slow`` (k, 3), with ``n_slow`` entries, receives flat index, start and stop of
    each value left to the caller.
    """
    end = data.size
    width = features.shape[1]
    last = 0
    while True:
        start = skip_blanks(data, i)
        if start >= end or data[start] == _NEWLINE or data[start] == _HASH:
            return start, n_slow, FINE
        i = start
        index = 0
        while i < end and _ZERO <= data[i] <= _NINE and i - start <= _DIGITS_ROOM:
            index = index * 10 + (np.int64(data[i]) - _ZERO)
            i += 1
        if i == start or i - start > _DIGITS_ROOM or i >= end or data[i] != _COLON:
            return start, n_slow, BAD_PAIR
        if index <= last or index > width:
            return start, n_slow, BAD_ORDER
        last = index
        value_start = i + 1
        if _starts_with(data, value_start, _NULL) and token_end(data, value_start) == value_start + _NULL.size:
            features[row, index - 1] = np.nan
            i = value_start + _NULL.size
            continue
        i, kind, value = number_at(data, value_start)
        if kind == BAD:
            return start, n_slow, BAD_VALUE
        if kind == SLOW:
            slow[n_slow, 0] = row * width + index - 1
            slow[n_slow, 1] = value_start
            slow[n_slow, 2] = i
            n_slow += 1
        features[row, index - 1] = value


@_jit
def read_letor_rows(data, state, with_features, grades, queries, documents, features, slow):
    """Read lines of LETOR text until the data end, a line is invalid or ``slow`` is full; return ``(code, place)``.

    The code is FINE or one of this module's error codes, the place the index in ``data`` of the next byte or of the
    error.

    Parameters
    ----------
    state : (4,) int64, read and written
        Place in the data; rows read; queries begun; entries of `slow`.
    grades : (n,) int64; documents : (n, 2) int64, the span of each document id or -1
    queries : (n, 3) int64
        First row of each query and the span of its id.
    features : (n, n_features) float64, zeros; unchanged without `with_features`
    slow : (k, 3) int64
        Flat index in `features`, start and stop of each value that number_at leaves to the caller.
    """
    i, row, n_queries, n_slow = state[0], state[1], state[2], state[3]
    end = data.size
    code = FINE
    while i < end and n_slow + features.shape[1] <= slow.shape[0]:
        begin = i
        i = skip_blanks(data, i)
        if i >= end or data[i] == _NEWLINE:
            i += 1
            continue
        if data[begin] != _HASH:
            grade_start = i
            i, grade = _grade_at(data, i)
            if grade < 0:
                i, code = grade_start, BAD_GRADE
                break
            i = skip_blanks(data, i)
            start = i + _QID.size
            stop = token_end(data, start) if _starts_with(data, i, _QID) else start
            if stop == start:
                code = NO_QUERY
                break
            is_new = n_queries == 0
            if not is_new:
                is_new = not _same_text(data, start, stop, queries[n_queries - 1, 1], queries[n_queries - 1, 2])
            if is_new:
                queries[n_queries, 0], queries[n_queries, 1], queries[n_queries, 2] = row, start, stop
                n_queries += 1
            i = stop
            if with_features:
                i, n_slow, code = _features_at(data, i, row, features, slow, n_slow)
                if code != FINE:
                    break
            else:
                while i < end and data[i] != _NEWLINE and data[i] != _HASH:
                    i += 1
            documents[row, 0], documents[row, 1] = -1, -1
            if i < end and data[i] == _HASH:
                documents[row, 0], documents[row, 1] = _document_at(data, i)
            grades[row] = grade
            row += 1
        while i < end and data[i] != _NEWLINE:
            i += 1
        i += 1
    state[0], state[1], state[2], state[3] = i, row, n_queries, n_slow
    return code, i
