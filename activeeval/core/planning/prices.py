"""What judgments cost in money, and how long they take."""

from __future__ import annotations

import math
from dataclasses import dataclass
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
        for name in ("per_judgment", "seconds", "hourly_rate"):
            value = getattr(self, name)
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise InputError(f"`{name}` must be a positive number, got {value:g}", field=_FIELDS[name])
        if self.per_judgment is not None and self.hourly_rate is not None:
            raise InputError("give the price of a judgment or an hourly rate, not both", field="hourly_rate")

    @classmethod
    def of(
        cls, per_judgment: float | None, seconds: float | None, hourly_rate: float | None, currency: str = "EUR"
    ) -> Self | None:
        """Make a price of what is named; None where nothing is."""
        if per_judgment is None and seconds is None and hourly_rate is None:
            return None
        return cls(per_judgment=per_judgment, seconds=seconds, hourly_rate=hourly_rate, currency=currency)

    def timed(self, seconds: float | None) -> Price:
        """Return the price with what an item takes by the judges' clocks, where nobody says otherwise."""
        known = self.seconds if self.seconds is not None else seconds
        named = {"per_judgment": self.per_judgment, "hourly_rate": self.hourly_rate}
        return Price(**named, seconds=known, currency=self.currency)

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
            raise InputError("money needs a price: of a judgment, or seconds an item and an hourly rate", field="money")
        if not money >= self.of_one:
            problem = f"{money:g} {self.currency} pay for no judgment, one costs {self.of_one:g}"
            raise InputError(problem, field="money")
        return math.floor(money / self.of_one * (1 + _ROUNDING))


_FIELDS = {"per_judgment": "price_per_judgment", "seconds": "seconds_per_item", "hourly_rate": "hourly_rate"}
_ROUNDING = 1e-12
"""80 / .4 is 200, whatever its last bit."""
