"""What judgments cost in money, and how long they take."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Self

from activeeval.core.checks import brief, is_number
from activeeval.core.errors import InputError

_AMOUNT = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([^\d\s,=%:.+-]*)\s*")
_EXPECTED = "expected 0.40, 0.40USD or seconds=25,hour=18,currency=EUR (each, seconds, hour, currency)"


@dataclass(frozen=True, slots=True)
class Money:
    """An amount of money in a currency."""

    amount: float
    currency: str

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the amount that a text says; None where it names no currency.

        Examples
        --------
        >>> print(Money.parse("400EUR"), Money.parse("400"))
        400 EUR None
        """
        found = _AMOUNT.fullmatch(text)
        return cls(float(found[1]), found[2]) if found and found[2] else None

    def __str__(self) -> str:
        return f"{self.amount:g} {self.currency}"


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
        for name, words in _WORDS.items():
            value = getattr(self, name)
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise InputError(f"{words} must be a positive number, got {value:g}", field="price")
        if self.per_judgment is not None and self.hourly_rate is not None:
            raise InputError("give the price of a judgment (each) or of an hour, not both", field="price")

    @classmethod
    def of(cls, value: Any) -> Self | None:
        """Return the price that a number, a text or a price says; None of None."""
        if value is None or isinstance(value, cls):
            return value
        if isinstance(value, str):
            return cls.parse(value)
        if not is_number(value):
            raise InputError(f"`price` is {brief(value)}, {_EXPECTED}", field="price")
        return cls(per_judgment=float(value))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the price that a text says: what a judgment costs, or parts by their names.

        Raises
        ------
        InputError
            Where it says none; the line names the part that is wrong.

        Examples
        --------
        >>> Price.parse("0.40USD").money(200), Price.parse("seconds=25,hour=18,currency=CHF").hours(144)
        (80.0, 1.0)
        """
        if found := _AMOUNT.fullmatch(text):
            return cls(per_judgment=float(found[1]), currency=found[2] or "EUR")
        parts: dict[str, Any] = {}
        for part in text.split(","):
            key, _, value = map(str.strip, part.partition("="))
            try:
                name = _KEYS[key]
                parts[name] = value if name == "currency" else float(value)
            except (KeyError, ValueError):
                raise InputError(
                    f"{part.strip()!r} in {text!r} is no part of a price: {_EXPECTED}", field="price"
                ) from None
        if not parts.keys() & _WORDS:
            raise InputError(f"{text!r} names no price: {_EXPECTED}", field="price")
        return cls(**parts)

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
            raise InputError("an amount of money needs the price of a judgment, or seconds and hour", field="budget")
        if not money >= self.of_one:
            problem = f"{money:g} {self.currency} pay for no judgment, one costs {self.of_one:g}"
            raise InputError(problem, field="budget")
        return math.floor(money / self.of_one * (1 + _ROUNDING))


_KEYS = {"each": "per_judgment", "seconds": "seconds", "hour": "hourly_rate", "currency": "currency"}
_WORDS = {
    "per_judgment": "the price of a judgment",
    "seconds": "the seconds of a judgment",
    "hourly_rate": "the price of an hour",
}
_ROUNDING = 1e-12
"""80 / .4 is 200, whatever its last bit."""
