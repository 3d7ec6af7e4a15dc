"""What judgments cost: options of the commands that tell it in money and hours."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.input_options import POSITIVE, worded

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
    per_judgment, seconds, hourly_rate, currency = (options.pop(name) for name in _NAMES)
    if per_judgment is None and seconds is None and hourly_rate is None:
        return None
    from activeeval.core.planning.prices import Price  # not sooner: who names no price does not wait for plans

    with worded():
        return Price(per_judgment=per_judgment, seconds=seconds, hourly_rate=hourly_rate, currency=currency)
