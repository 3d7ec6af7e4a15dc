"""Parse and format prices, amounts of money and hours."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from activeeval.core.errors import ChoiceError, InputError
from activeeval.core.planning.prices import KEYS, Price
from activeeval.inputs.budgets import Budget

_AMOUNT = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([^\d\s,=%:.+-]*)\s*")
_EXPECTED = "expected 0.40, 0.40USD or seconds=25,hour=18,currency=EUR (each, seconds, hour, currency)"


class Money(NamedTuple):
    """An amount of money in a currency."""

    amount: float
    currency: str

    def __str__(self) -> str:
        """Format as "400 EUR"."""
        return f"{amount_words(self.amount)} {self.currency}"


def money_of(text: str) -> Money | None:
    """Parse an amount of money; None if the text names no currency.

    Examples
    --------
    >>> print(money_of("400EUR"), money_of("400"))
    400 EUR None
    """
    match = _AMOUNT.fullmatch(text)
    return Money(float(match[1]), match[2]) if match and match[2] else None


def price_of(value: Any) -> Price | None:
    """Parse a price: a number or amount for each judgment, or named parts; None stays None.

    Parts are each (a judgment), seconds (a judgment), hour (an hour of work) and currency.

    Raises
    ------
    InputError
        If it is no price; the message names the wrong part.

    Examples
    --------
    >>> price_of("0.40USD").money(200), price_of("seconds=25,hour=18,currency=CHF").hours(144)
    (80.0, 1.0)
    """
    if value is None or isinstance(value, Price):
        return value
    text = str(value)
    if match := _AMOUNT.fullmatch(text):
        if (amount := float(match[1])) <= 0:
            raise InputError(f"a price must be a positive number, got {text}", field="price")
        return Price(per_judgment=amount, currency=match[2] or "EUR")
    parts: dict[str, Any] = {}
    for part in text.split(","):
        key, _, number = map(str.strip, part.partition("="))
        if KEYS.get(key, key) in parts:
            raise InputError(f"{key} is given twice in {text!r:.80}: {_EXPECTED}", field="price")
        try:
            parts |= {"currency": number} if key == "currency" and number else {KEYS[key]: float(number)}
        except (KeyError, ValueError):
            problem = f"{part.strip()!r:.80} in {text!r:.80} is no part of a price: {_EXPECTED}"
            raise InputError(problem, field="price") from None
    if not parts.keys() - {"currency"}:
        raise InputError(f"{text!r} names no price: {_EXPECTED}", field="price")
    return Price(**parts)


def price_words(price: Price | None, n_judgments: float) -> str:
    """Format the price and duration of some judgments; "" if both are unknown.

    Examples
    --------
    >>> print(price_words(Price(seconds=90, hourly_rate=24), 200))
    120 EUR, 5 hours
    >>> price_words(None, 200)
    ''
    """
    if price is None:
        return ""
    money, hours = price.money(n_judgments), price.hours(n_judgments)
    parts = [] if money is None else [f"{amount_words(money)} {price.currency}"]
    return ", ".join([*parts, *([] if hours is None else [f"{hours:.2g} hours"])])


def amount_words(money: float) -> str:
    """Format an amount of money: without decimals if it is whole or 100 or more, else with two."""
    return f"{money:,.0f}" if money >= 100 or round(money, 2) == round(money) else f"{money:,.2f}"


def priced(price: Price | None, n_judgments: int, what: str = "judgments") -> str:
    """Write the price and duration of some judgments, which the text calls ``what``; "" if unknown."""
    words = price_words(price, n_judgments)
    return f"{n_judgments:,} {what}: {words}" if words and n_judgments else ""


def paid_budget(budget: Budget | Money, price: Price | None) -> Budget:
    """Convert an amount of money to the budget it pays for; a Budget passes unchanged.

    Raises
    ------
    ChoiceError
        If there is no price in the same currency.
    InputError
        If the price of a judgment is unknown, or the money pays for none.
    """
    if isinstance(budget, Budget):
        return budget
    if price is None:
        raise ChoiceError("an amount of money needs `price`, as 0.40", field="budget")
    if budget.currency != price.currency:
        problem = f"`budget` is in {budget.currency} and `price` in {price.currency}: give both in one currency"
        raise ChoiceError(problem, field="budget")
    return Budget(float(price.judgments_for(budget.amount)))
