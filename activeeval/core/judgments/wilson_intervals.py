"""Wilson's confidence interval of a share, valid for small n and for shares of 0 or 1.

With p the share of n and z the normal quantile, (p + z²/2n ± z √(p (1 − p)/n + z²/4n²)) / (1 + z²/n)
(Wilson 1927, Journal of the American Statistical Association 22, 209–212).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_Z = 1.959964


@dataclass(frozen=True, slots=True)
class Share:
    """A share, ``right`` of ``n``, with its 95 % confidence interval; 0 to 1 if n is 0."""

    right: int
    n: int
    low: float
    high: float

    def __str__(self) -> str:
        """Format the share and its interval in percent."""
        return f"{self.right} of {self.n} ({100 * self.low:.0f} to {100 * self.high:.0f} %)" if self.n else "none yet"


def share_of(right: int, n: int) -> Share:
    """Compute the share ``right`` of ``n`` and its 95 % confidence interval by Wilson (1927).

    Examples
    --------
    >>> print(share_of(9, 10))
    9 of 10 (60 to 98 %)
    >>> share_of(0, 0)
    Share(right=0, n=0, low=0.0, high=1.0)
    """
    if not n:
        return Share(right, n, 0.0, 1.0)
    share, room = right / n, _Z**2 / n
    middle = (share + room / 2) / (1 + room)
    half = _Z / (1 + room) * math.sqrt(share * (1 - share) / n + room / (4 * n))
    return Share(right, n, max(0.0, middle - half), min(1.0, middle + half))
