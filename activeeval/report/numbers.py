"""Numbers and counts as text: the one place that rounds for a reader and chooses between singular and plural."""

from __future__ import annotations

import math

_MOST_EXTRA = 2
"""Digits at most that a value far below its half-width gets beyond those of the half-width: +0.0003 (−0.05 to 0.05)."""
_MOST_PLACES = 6
FOUR_IN_FIVE = "Four in five: the half-widths of four samples in five should lie there."


def counted(n: float, noun: str, plural: str = "") -> str:
    """Format a count with its noun, with a comma for thousands.

    Examples
    --------
    >>> counted(1, "judgment"), counted(1042, "query", "queries")
    ('1 judgment', '1,042 queries')
    """
    amount = f"{n:,.15g}" if n % 1 else f"{int(n):,}"
    return f"{amount} {noun if n == 1 else plural or noun + 's'}"


def places_of(value: float, half_width: float) -> int:
    """Return the decimals that keep two significant digits of the smaller of a value and its half-width.

    A value inside (−1, 1) is not rounded to −1, 0 or 1.

    Examples
    --------
    >>> places_of(0.5, 6.4), places_of(7.3527, 1.25), places_of(0.0441, 0.028), places_of(0.9996, 0.01)
    (2, 1, 3, 4)
    """
    sizes = [abs(size) for size in (value, half_width) if size and math.isfinite(size)]
    if not sizes:
        return 2
    places = max(1 - _power(min(sizes)), 0)
    if half_width > 0 and math.isfinite(half_width):
        places = min(places, max(1 - _power(half_width), 0) + _MOST_EXTRA)
    while 0 < abs(value) < 1 and places < _MOST_PLACES and round(abs(value), places) in (0.0, 1.0):
        places += 1
    return places


def number(value: float, places: int, *, signed: bool = False) -> str:
    """Format a number with some decimals and a true minus sign; what rounds to 0 has no sign.

    Examples
    --------
    >>> number(-0.001, 2), number(-1.5, 1), number(0.25, 2, signed=True), number(1234.5, 1)
    ('0.00', '−1.5', '+0.25', '1234.5')
    """
    text = f"{value:{'+' if signed else ''}.{places}f}"
    return (text if float(text) else text.lstrip("+-")).replace("-", "−")


def spanned(low: float | None, high: float | None) -> str:
    """Format the cell of what four samples in five should come to; None: no label tells it yet.

    Examples
    --------
    >>> spanned(0.5, 1.25), spanned(None, None)
    ('0.5 to 1.25', 'unknown')
    """
    return "unknown" if low is None or high is None else f"{low:.3g} to {high:.3g}"


def _power(size: float) -> int:
    """Return the power of ten of the first of two significant digits, after rounding to two."""
    return int(f"{size:.1e}".partition("e")[2])
