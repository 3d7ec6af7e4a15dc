"""Price of judgments in money, and their duration."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

from activeeval.core.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Price of a judgment, or its duration and an hourly rate; each can be unknown (None).

    Attributes
    ----------
    per_judgment : float or None
        Price of a judgment, in ``currency``.
    seconds : float or None
        Duration of judging a mean item.
    hourly_rate : float or None
        Price of an hour, in ``currency``; with ``seconds``, in place of a price per judgment.
    currency : str
        Code or name of the currency, for texts.

    Raises
    ------
    InputError
        If a number is not positive, or both a price per judgment and an hourly rate are given.

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
        """Raise InputError unless the numbers are positive and fit together."""
        for key, name in KEYS.items():
            value = getattr(self, name)
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise InputError(f"{key} of a price must be a positive number, got {value:g}", field="price")
        if self.per_judgment is not None and self.hourly_rate is not None:
            raise InputError("give the price of a judgment (each) or of an hour, not both", field="price")

    def timed(self, seconds: float | None) -> Self:
        """Return the price with a measured duration of a judgment in seconds, unless it has a duration already."""
        return self if self.seconds is not None else replace(self, seconds=seconds)

    @property
    def of_one(self) -> float | None:
        """Price of one judgment; None if unknown."""
        if self.hourly_rate is not None and self.seconds is not None:
            return self.hourly_rate * self.seconds / 3600
        return self.per_judgment

    def money(self, n_judgments: float) -> float | None:
        """Compute the price of some judgments; None if unknown."""
        return None if self.of_one is None else self.of_one * n_judgments

    def hours(self, n_judgments: float) -> float | None:
        """Compute the duration of some judgments in hours; None if unknown."""
        return None if self.seconds is None else self.seconds * n_judgments / 3600

    def judgments_for(self, money: float) -> float:
        """Compute the number of judgments that an amount of money pays for.

        Raises
        ------
        InputError
            If the price of a judgment is unknown, or the amount pays for less than one.
        """
        if self.of_one is None:
            raise InputError("an amount of money needs the price of a judgment, or seconds and hour", field="budget")
        if not money >= self.of_one:
            problem = f"{money:g} {self.currency} pay for no judgment, one costs {self.of_one:g}"
            raise InputError(problem, field="budget")
        return math.floor(money / self.of_one * (1 + _ROUNDING))


KEYS = {"each": "per_judgment", "seconds": "seconds", "hour": "hourly_rate"}
"""Names of the parts of a price in text, and the fields of `Price`."""
_ROUNDING = 1e-12
"""Relative tolerance for rounding errors, so that 80 / .4 gives 200."""
