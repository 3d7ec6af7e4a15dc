"""``activeeval score --holes``: what unjudged items may be worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli import output
from activeeval.cli.inputs import worded
from activeeval.cli.waiting import tell

if TYPE_CHECKING:
    from activeeval.io.loading import TablePool
    from activeeval.measures import Measure
    from activeeval.tasks.holes import Holes


def show_holes(
    tables: TablePool,
    paths: Sequence[str],
    names: Sequence[str],
    measures: Sequence[Measure],
    max_grade: int | None,
    budgets: Sequence[int],
    form: str,
    places: int,
) -> None:
    """Print what the holes of each run may be worth."""
    from activeeval.report.findings import definitions
    from activeeval.report.holes import holes_sentence, holes_table
    from activeeval.tasks.holes import holes_of

    held: list[Holes] = []
    how: dict[str, Any] = {"max_grade": max_grade, "budgets": budgets, "progress": tell}
    for run, (path, name) in enumerate(zip(paths, names, strict=True)):
        with worded():
            held += holes_of(tables, run, path, name, measures, **how)
    if form != "text":
        output.emit([each.row() for each in held], form, places)
        return
    for each in held:
        output.show_text(holes_sentence(each))
    click.echo()
    output.emit(holes_table(held, places), "text", places)
    click.echo()
    notes = " ".join(definitions((each.measure, each.definition) for each in held))
    output.show_text(f"{notes} Means over {tables.pool.n_queries} judged queries. ± is of the 95 % interval to expect.")
    for measure in dict.fromkeys(each.measure for each in held if each.at_best is None):
        output.say(f"{measure}: no bound is known for the best case")
