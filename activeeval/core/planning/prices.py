"""What judgments cost in money, and how long they take."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

from activeeval.core.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The price of a judgment, or what one takes and an hour costs; either may be unknown.

    Attributes
    ----------
    per_judgment : float or None
        In money.
    seconds : float or None
        What judging a mean item takes.
    hourly_rate : float or None
        In money; with ``seconds``, in place of a price of a judgment.
    currency : str

    Examples
    --------
    >>> Price(seconds=90, hourly_rate=24).money(200), Price(seconds=90).hours(200)
    (120.0, 5.0)
    >>> Price(per_judgment=0.4).judgments_for(100)
    250
    """

    per_judgment: float | None = None
    seconds: float | None = None
    hourly_rate: float | None = None
    currency: str = "EUR"

    def __post_init__(self) -> None:
        for key, name in KEYS.items():
            value = getattr(self, name)
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise InputError(f"{key} of a price must be a positive number, got {value:g}", field="price")
        if self.per_judgment is not None and self.hourly_rate is not None:
            raise InputError("give the price of a judgment (each) or of an hour, not both", field="price")

    def timed(self, seconds: float | None) -> Self:
        """Return the price with what an item takes by the judges' clocks, where nobody says otherwise."""
        return self if self.seconds is not None else replace(self, seconds=seconds)

    @property
    def of_one(self) -> float | None:
        """What a judgment costs; None where that is not known."""
        if self.hourly_rate is not None and self.seconds is not None:
            return self.hourly_rate * self.seconds / 3600
        return self.per_judgment

    def money(self, n_judgments: float) -> float | None:
        """Return what some judgments cost; None where that is not known."""
        return None if self.of_one is None else self.of_one * n_judgments

    def hours(self, n_judgments: float) -> float | None:
        """Return how many hours some judgments take; None where that is not known."""
        return None if self.seconds is None else self.seconds * n_judgments / 3600

    def judgments_for(self, money: float) -> float:
        """Return how many judgments an amount of money pays for.

        Raises
        ------
        InputError
            Where the price of a judgment is not known, or it pays for less than one.
        """
        if self.of_one is None:
            raise InputError("an amount of money needs the price of a judgment, or seconds and hour", field="budget")
        if not money >= self.of_one:
            problem = f"{money:g} {self.currency} pay for no judgment, one costs {self.of_one:g}"
            raise InputError(problem, field="budget")
        return math.floor(money / self.of_one * (1 + _ROUNDING))


KEYS = {"each": "per_judgment", "seconds": "seconds", "hour": "hourly_rate"}
"""What the parts of a price are called where it is written as text."""
_ROUNDING = 1e-12
"""80 / .4 is 200, whatever its last bit."""
