"""Kernels that read numbers and tokens from bytes of text.

A decimal text is ``m · 10^e`` with whole m and e. If ``m ≤ 2^53`` and ``|e| ≤ 22``, both m and
``10^|e|`` are exact doubles, so that one multiplication or division, which IEEE 754
rounds correctly, gives the double nearest to the text.

A longer m with ``−22 ≤ e < 0`` is split into doubles ``m = h + l``. With ``D = 10^|e|`` and
``q = fl(h / D)`` the remainder ``r = h − q·D`` is a double, computed exactly by Dekker's product, and
``m / D = q + c`` with ``c = (r + l) / D``, accurate to a few parts in 2^53. If ``q + c (1 ± 2^-48)``
round to one double, that one is the nearest. All other texts are left to the caller (kind SLOW),
who converts them with Python.
"""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit

READ, SLOW, BAD = 0, 1, 2

_NEWLINE, _SPACE, _PLUS, _MINUS, _POINT, _ZERO, _NINE = 10, 32, 43, 45, 46, 48, 57
_UPPER_E, _LOWER_E = 69, 101
_MANTISSA_ROOM = 10**17
_EXACT_INTEGER = 2**53
_EXPONENT_ROOM = 100_000
_SPLITTER = 134217729.0
_DOUBT = 2.0**-48
_POWERS = np.array([float(10**k) for k in range(23)])


@_jit
def skip_blanks(data, i):
    """Find the first byte from ``i`` on that is not white space, or that ends the line; return its index."""
    while i < data.size and data[i] <= _SPACE and data[i] != _NEWLINE:
        i += 1
    return i


@_jit
def token_end(data, i):
    """Find the first byte from ``i`` on that is white space, or the end of the data; return its index."""
    while i < data.size and data[i] > _SPACE:
        i += 1
    return i


@_jit
def number_at(data, i):
    """Read the decimal number that starts at byte ``i``; return ``(stop, kind, value)``.

    kind READ: value is the double nearest to the text; SLOW: well formed, but too long to convert here, value 0; BAD:
    not a decimal number, value 0. A number ends at white space or at the end of the data.
    """
    end = data.size
    negative = i < end and data[i] == _MINUS
    if negative or (i < end and data[i] == _PLUS):
        i += 1
    mantissa = np.int64(0)
    exponent = np.int64(0)
    n_digits = 0
    slow = False
    past_point = False
    while i < end:
        c = data[i]
        if _ZERO <= c <= _NINE:
            n_digits += 1
            if mantissa < _MANTISSA_ROOM:
                mantissa = mantissa * 10 + (np.int64(c) - _ZERO)
                exponent -= past_point
            else:
                slow = True
        elif c == _POINT and not past_point:
            past_point = True
        else:
            break
        i += 1
    if n_digits == 0:
        return i, BAD, 0.0
    if i < end and (data[i] == _LOWER_E or data[i] == _UPPER_E):
        i, written, well_formed = _exponent_at(data, i + 1)
        if not well_formed:
            return i, BAD, 0.0
        exponent += written
        slow = slow or abs(written) >= _EXPONENT_ROOM
    if i < end and data[i] > _SPACE:
        return i, BAD, 0.0
    if slow or exponent < -22 or exponent > 22 or (exponent >= 0 and mantissa > _EXACT_INTEGER):
        return i, SLOW, 0.0
    if mantissa > _EXACT_INTEGER:
        value, certain = _long_quotient(mantissa, _POWERS[-exponent])
        if not certain:
            return i, SLOW, 0.0
    else:
        value = mantissa * _POWERS[exponent] if exponent >= 0 else mantissa / _POWERS[-exponent]
    return i, READ, -value if negative else value


@_jit
def _long_quotient(m, D):
    """Compute the double nearest to ``m / D`` for ``2^53 < m < 2^62``; return ``(quotient, is_certain)``.

    Dekker's error-free product gives the remainder of the first quotient; the result is certain if it is the same for
    all possible rounding errors of the correction.
    """
    h = np.float64(m)
    low = np.float64(m - np.int64(h))
    q = h / D
    product = q * D
    big = q * _SPLITTER
    q_high = big - (big - q)
    q_low = q - q_high
    big = D * _SPLITTER
    D_high = big - (big - D)
    D_low = D - D_high
    error = ((q_high * D_high - product) + q_high * D_low + q_low * D_high) + q_low * D_low
    c = (((h - product) - error) + low) / D
    margin = abs(c) * _DOUBT
    return q + c, q + (c + margin) == q + (c - margin)


@_jit
def _exponent_at(data, i):
    """Read the whole number at byte ``i``, after the ``e`` of a number; return ``(stop, exponent, well_formed)``.

    An exponent beyond a hundred thousand is not exact.
    """
    end = data.size
    negative = i < end and data[i] == _MINUS
    if negative or (i < end and data[i] == _PLUS):
        i += 1
    start = i
    exponent = np.int64(0)
    while i < end and _ZERO <= data[i] <= _NINE:
        if exponent < _EXPONENT_ROOM:
            exponent = exponent * 10 + (np.int64(data[i]) - _ZERO)
        i += 1
    return i, -exponent if negative else exponent, i > start
