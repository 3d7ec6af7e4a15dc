"""Formatting of numbers and counts: the only module that rounds for readers and chooses singular or plural."""

from __future__ import annotations

import math

_MOST_EXTRA = 2
"""Largest number of extra digits of a value far below its half-width: +0.0003 (−0.05 to 0.05)."""
_MOST_PLACES = 6
FOUR_IN_FIVE = "Four in five: the half-widths of four samples in five should lie there."


def counted(n: float, noun: str, plural: str = "") -> str:
    """Format a count with its noun, with a comma for thousands.

    Parameters
    ----------
    plural : str, optional
        By default the noun with s, es or ies at its end.

    Examples
    --------
    >>> counted(1, "judgment"), counted(1042, "judged query"), counted(2, "day"), counted(0, "batch")
    ('1 judgment', '1,042 judged queries', '2 days', '0 batches')
    """
    amount = f"{n:,.15g}" if n % 1 else f"{int(n):,}"
    return f"{amount} {noun if n == 1 else plural or _plural(noun)}"


def all_of(n: int, noun: str) -> str:
    """Format a count of all members with its noun.

    Examples
    --------
    >>> all_of(40, "query"), all_of(1, "query")
    ('all 40 queries', 'the one query')
    """
    return f"the one {noun}" if n == 1 else f"all {counted(n, noun)}"


def agreeing(n: float, singular: str, plural: str) -> str:
    """Choose the word that agrees with a count.

    Examples
    --------
    >>> agreeing(1, "has", "have"), agreeing(0, "has", "have")
    ('has', 'have')
    """
    return singular if n == 1 else plural


def places_of(value: float, half_width: float) -> int:
    """Choose the decimals that keep two significant digits of the smaller of a value and its half-width.

    A value inside (−1, 1) is not rounded to ± 1, and to 0 only where it is far below its half-width.

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
        # two digits of the half-width; a smaller value has up to two more, or is shown as 0
        enough = max(1 - _power(half_width), 0)
        places = min(places, enough + _MOST_EXTRA)
        places = places if round(value, places) else enough
    while abs(value) < 1 and places < _MOST_PLACES and round(abs(value), places) == 1:
        places += 1
    return places


def number(value: float | None, places: int, *, signed: bool = False) -> str:
    """Format a number with fixed decimals and a true minus sign; zero has no sign.

    Parameters
    ----------
    value : float or None
        None gives n/a.
    places : int
        Decimals.

    Examples
    --------
    >>> number(-0.001, 2), number(-1.5, 1), number(0.25, 2, signed=True), number(1234.5, 1)
    ('0.00', '−1.5', '+0.25', '1,234.5')
    """
    if value is None:
        return "n/a"
    sign = "+" if signed else ""
    text = f"{value:{sign},.{places}f}"
    # a rounded 0 has no sign; inf and nan keep theirs
    return (text if any(digit in "123456789infa" for digit in text) else text.lstrip("+-")).replace("-", "−")


def short_p(p_value: float) -> str:
    """Format a p-value with two or three decimals and no leading zero.

    Examples
    --------
    >>> [short_p(value) for value in (0.38571, 0.0412, 0.00042)]
    ['.39', '.041', '< .001']
    """
    if p_value < 0.001:
        return "< .001"
    text = f"{p_value:.2f}" if p_value >= 0.1 else f"{p_value:.3f}"
    return text.removeprefix("0") if p_value < 1 else "1"


def _plural(noun: str) -> str:
    """Build the regular plural of an English noun, with s, es or ies."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def spanned(low: float | None, high: float | None) -> str:
    """Format the range in which the half-widths of four samples in five should lie; "unknown" if an end is None.

    Examples
    --------
    >>> spanned(0.5, 1.25), spanned(None, None)
    ('0.5 to 1.25', 'unknown')
    """
    return "unknown" if low is None or high is None else f"{low:.3g} to {high:.3g}"


def _power(size: float) -> int:
    """Compute the decimal exponent of the first digit, after rounding to two significant digits: 0.0996 gives −1."""
    return int(f"{size:.1e}".partition("e")[2])
