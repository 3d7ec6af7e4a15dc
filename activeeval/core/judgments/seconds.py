"""Durations of judgments, by the judges' own clocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np


@dataclass(frozen=True, slots=True)
class SecondsTaken:
    """Summary of the durations of judgments.

    Attributes
    ----------
    n : int
        Number of judgments with a known duration.
    median, mean : float or None
        In seconds; None without judgments.

    Examples
    --------
    >>> SecondsTaken.of([2.0, 4.0, 9.0])
    SecondsTaken(n=3, median=4.0, mean=5.0)
    """

    n: int
    median: float | None
    mean: float | None

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Self:
        """Summarize durations, given in seconds."""
        if not seconds:
            return cls(0, None, None)
        return cls(len(seconds), float(np.median(seconds)), float(np.mean(seconds)))
