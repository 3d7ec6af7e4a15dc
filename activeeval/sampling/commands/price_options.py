"""What judgments cost: options of the commands that tell it in money and hours."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.input_options import worded
from activeeval.cli.option_types import POSITIVE
from activeeval.cli.output import say

if TYPE_CHECKING:
    from activeeval.core.planning.prices import Price

_NAMES = ("price_per_judgment", "seconds_per_item", "hourly_rate", "currency")


def price_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add options that `price_of` makes a price of."""
    options = (
        click.option("--price-per-judgment", type=POSITIVE, metavar="C", help="Tells costs in money, too."),
        click.option(
            "--seconds-per-item", "--seconds", type=POSITIVE, metavar="S", help="What an item takes: hours, too."
        ),
        click.option("--hourly-rate", type=POSITIVE, metavar="R", help="With seconds an item: money, too."),
        click.option("--currency", default="EUR", show_default=True, help="What money is called."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def price_of(options: dict[str, Any]) -> Price | None:
    """Take the price out of a command's options; None where nobody names one."""
    named = [options.pop(name) for name in _NAMES]
    if not any(named[:-1]):  # who names no price does not wait for plans
        return None
    from activeeval.core.planning.prices import Price

    with worded():
        return Price.of(*named)


def say_costs(price: Price | None, n_judgments: int, what: str = "judgments") -> None:
    """Print on stderr what some judgments cost, where that is known."""
    from activeeval.sampling.prices import priced

    if costs := priced(price, n_judgments, what):
        say(costs)
