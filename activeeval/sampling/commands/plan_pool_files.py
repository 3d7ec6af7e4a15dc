"""``activeeval plan`` of a pool in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli import input_options, output
from activeeval.cli.waiting import tell
from activeeval.cli.wording import option_here
from activeeval.report.numbers import counted
from activeeval.sampling.commands.price_options import priced

if TYPE_CHECKING:
    from activeeval.core.planning import Goal
    from activeeval.core.planning.prices import Price
    from activeeval.inputs.budgets import Budget
    from activeeval.sampling.plan_pool_files import FilesPlan, FilesPlanRow


def plan_in_files(
    options: dict[str, Any],
    measures: Sequence[str],
    budgets: Sequence[Budget],
    goals: Sequence[Goal],
    alone: Mapping[str, Any],
    *,
    methods: Sequence[str],
    confidence: float,
    price: Price | None,
    form: str,
    places: int,
) -> None:
    """Print what one sample of a pool in files should come to; ``alone`` are options that need the pool at hand."""
    from activeeval.inputs.choices import Choices
    from activeeval.sampling.plan_pool_files import plan_files

    for name, value in alone.items():
        if value:
            raise click.UsageError(f"{option_here(name)} needs the pool at hand, not --pool-parquet")
    if len(methods) > 1 or "all" in methods:
        raise click.UsageError("a pool in files is planned for one --method")
    asked = {name: options.pop(name) for name in ("questions", "weights", "looks")}
    options.pop("scope", None)
    with input_options.worded():
        choices = Choices(**options)
        choices.check_files()
        how: dict[str, Any] = {"method": methods[0] if methods else None, "confidence": confidence, "progress": tell}
        made = plan_files(choices, measures, asked.pop("questions"), budgets, goals, **asked, **how)
    _show(made, confidence, price, form, places)


def _show(plan: FilesPlan, confidence: float, price: Price | None, form: str, places: int) -> None:
    output.say_notes(plan.notes)
    if form != "text":
        output.emit([asdict(row) for row in plan.rows], form, places)
        return
    output.show_table(
        [_plain(row, plan) for row in plan.rows], f"{counted(plan.n_queries, 'query')}, judging all: {plan.cost:,.0f}"
    )
    output.show_text(
        f"Half-widths of {100 * confidence:g} % intervals for the queries of the pool: the median of samples; those of "
        "four samples in five should lie in the range. * should reach the goal."
    )
    if costs := priced(price, round(max(row.budget for row in plan.rows))):
        output.show_text(f"{costs}.")


def _plain(row: FilesPlanRow, plan: FilesPlan) -> dict[str, str]:
    from activeeval.report.numbers import spanned

    several = len({(each.measure, each.direction) for each in plan.rows}) > 1
    shown = {"measure": row.measure, "question": row.direction} if several else {}
    return shown | {
        "budget": f"{row.budget:,.0f}" + (" *" if row.goal else ""),
        "half-width": f"{row.half_width:.3g}",
        "four in five": spanned(row.low, row.high),
        "queries": f"{row.queries:,.0f}",
        "items": f"{row.items:,.0f}",
    }
