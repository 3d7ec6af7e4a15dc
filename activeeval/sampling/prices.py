"""Money and hours in words."""

from __future__ import annotations

from activeeval.core.errors import ChoiceError
from activeeval.core.planning.prices import Money, Price
from activeeval.inputs.budgets import Budget


def price_words(price: Price | None, n_judgments: float) -> str:
    """Return what some judgments cost and how long they take; nothing where neither is known.

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
    """Return an amount of money: whole from a hundred on, else with its cents where it has any."""
    return f"{money:,.0f}" if money >= 100 or round(money, 2) == round(money) else f"{money:,.2f}"


def priced(price: Price | None, n_judgments: int, what: str = "judgments") -> str:
    """Return a sentence of what some judgments cost; nothing where that is not known."""
    words = price_words(price, n_judgments)
    return f"{n_judgments:,} {what}: {words}" if words and n_judgments else ""


def paid_budget(asked: Budget | Money, price: Price | None) -> Budget:
    """Return a budget as it is, and of an amount of money the budget that it pays for.

    Raises
    ------
    InputError
        Where no price says what it pays for.
    """
    if isinstance(asked, Budget):
        return asked
    if price is None:
        raise ChoiceError("an amount of money needs `price`, as 0.40", field="budget")
    if asked.currency != price.currency:
        problem = f"`budget` is in {asked.currency} and `price` in {price.currency}: give both in one currency"
        raise ChoiceError(problem, field="budget")
    return Budget(float(price.judgments_for(asked.amount)))
