"""Click types of option values, by the kinds of `activeeval.core.options`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from activeeval.core.errors import InputError

if TYPE_CHECKING:
    from activeeval.inputs.budgets import Budget


class FiniteRange(click.FloatRange):
    """Range of floats that rejects NaN and infinity."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse a number in the range; a usage error is raised if it is not finite or outside."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class ChoiceType(click.Choice):  # type: ignore[type-arg]  # older releases are not generic
    """Choice among words; a word that was renamed raises an error with its replacement."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check a word; a usage error is raised if it is not a choice."""
        from activeeval.cli.option_names import renamed

        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as problem:
            gone = renamed(f"{param.opts[0]} {value}", ctx) if param and ctx else None
            raise gone or problem from None


class BudgetType(click.ParamType):  # type: ignore[type-arg]  # older releases are not generic
    """Number of judgments, as 200, or share of all judgments, as 10%."""

    name = "N|P%"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Budget:
        """Parse a budget; a usage error is raised if it is invalid."""
        from activeeval.inputs.budgets import Budget

        if isinstance(value, Budget):
            return value
        try:
            return Budget.parse(str(value))
        except InputError as problem:
            self.fail(str(problem), param, ctx)


class NamedNumber(click.ParamType):  # type: ignore[type-arg]  # older releases are not generic
    """Positive number with an optional name, as 0.1 or mobile=0.05."""

    name = "[NAME=]E"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str | None, float]:
        """Parse the name (None without one) and the number; a usage error is raised if one is invalid."""
        if isinstance(value, tuple):
            return value
        name, mark, number = str(value).rpartition("=")
        try:
            amount = float(number)
        except ValueError:
            name, mark, amount = "", "=", 0.0  # as a number without the name before its "=": fails below
        if not mark:
            return None, POSITIVE.convert(number, param, ctx)
        if not name:
            self.fail(f"expected a half-width, as 0.1, or that of a segment, as mobile=0.05, got {value!r}", param, ctx)
        return name, amount


BUDGET, NAMED_NUMBER = BudgetType(), NamedNumber()
POSITIVE = FiniteRange(0, min_open=True)
SHARE = FiniteRange(0, 1, min_open=True, max_open=True)
SCALE = click.IntRange(1, 1000)
"""Range of the largest grade, equal to the library's (tested)."""
SEED = click.IntRange(0, 2**63 - 1)
"""Range of seeds, equal to the library's (tested)."""
TYPES: dict[str, Any] = {
    "text": str,
    "file": str,
    "number": FiniteRange(0),
    "positive": POSITIVE,
    "share": SHARE,
    "closed share": FiniteRange(0, 1),
    "count": click.IntRange(1),
    "several": click.IntRange(2),
    "scale": SCALE,
    "seed": SEED,
    "budget": BUDGET,
    "named number": NAMED_NUMBER,
}
"""Kind of `activeeval.core.options.Option` -> click type; flags have none."""
