"""Option of the price of judgments, for commands that report money and hours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.option_types import BudgetType
from activeeval.cli.output import say
from activeeval.core.errors import InputError

if TYPE_CHECKING:
    from activeeval.core.planning.prices import Price


class _PriceType(click.ParamType):  # type: ignore[type-arg]  # older releases are not generic
    """Click type of a price: an amount for each judgment, as 0.40USD, or named parts."""

    name = "PRICE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Price | None:
        """Parse a price."""
        from activeeval.sampling.prices import price_of

        try:
            return price_of(value)
        except InputError as problem:
            self.fail(str(problem), param, ctx)


class _BudgetOrMoney(BudgetType):
    """Click type of a budget, or of an amount of money with its currency, as 400EUR."""

    name = "N|P%|MONEY"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse a budget or an amount of money."""
        from activeeval.sampling.prices import money_of

        return money_of(str(value)) or super().convert(value, param, ctx)


BUDGET_OR_MONEY = _BudgetOrMoney()
price_option = click.option(
    "--price",
    type=_PriceType(),
    help="Tells costs: 0.40 or 0.40USD a judgment, or parts: seconds=25,hour=18,currency=CHF.",
)


def say_costs(price: Price | None, n_judgments: int, what: str = "judgments") -> None:
    """Print on stderr the price and duration of some judgments, which the text calls ``what``, if known."""
    from activeeval.sampling.prices import priced

    if costs := priced(price, n_judgments, what):
        say(costs)
