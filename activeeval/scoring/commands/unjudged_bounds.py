"""Values of runs with unjudged documents: ``--unjudged-bounds`` of ``score`` and ``watch status``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli import output
from activeeval.cli.input_options import worded
from activeeval.cli.waiting import tell

if TYPE_CHECKING:
    from activeeval.core.measures import Measure
    from activeeval.core.results import Caution, Note
    from activeeval.formats.loading import TablePool
    from activeeval.scoring.unjudged import UnjudgedBounds


def unjudged_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options ``--unjudged-bounds`` and ``--more``."""
    more = "With --unjudged-bounds: how precise N more labels would be. Repeatable."
    command = click.option("--more", multiple=True, type=click.IntRange(1), metavar="N", help=more)(command)
    what = "Values of the run if unjudged items are irrelevant, as the grade model expects, and at best."
    return click.option("--unjudged-bounds", is_flag=True, help=what)(command)


def check_unjudged_options(is_asked: bool, options: Mapping[str, Any]) -> None:
    """Raise UsageError if options that need ``--unjudged-bounds`` are given without it."""
    for name, value in options.items():
        if not is_asked and value not in ((), None):
            raise click.UsageError(f"{name} goes with --unjudged-bounds")


def score_bounds(
    tables: TablePool,
    paths: Sequence[str],
    names: Sequence[str],
    measures: Sequence[Measure],
    max_grade: int | None,
    budgets: Sequence[int],
    form: str,
) -> None:
    """Compute and print the possible values of each run, given its unjudged documents.

    Parameters
    ----------
    tables : TablePool
        The judgments and the runs, in the order of ``paths`` and ``names``.
    paths, names : sequence of str
        Files and names of the runs.
    max_grade : int or None
        Largest grade of the scale; None for the largest judgment.
    budgets : sequence of int
        Numbers of further judgments to predict the precision of.
    form : str
        Output format.
    """
    from activeeval.report.answer_sentences import missing_lists_sentence
    from activeeval.scoring.unjudged import unjudged_bounds

    all_bounds: list[UnjudgedBounds] = []
    options: dict[str, Any] = {"max_grade": max_grade, "budgets": budgets, "progress": tell}
    for run, (path, name) in enumerate(zip(paths, names, strict=True)):
        with worded():
            all_bounds += unjudged_bounds(tables, run, path, name, measures, **options)
    lacking = zip(names, tables.n_missing, strict=True)
    output.show_first([missing_lists_sentence(n, tables.pool.n_queries, name) for name, n in lacking if n], form)
    show_bounds(all_bounds, tables.notes, form)


def show_bounds(all_bounds: Sequence[UnjudgedBounds], notes: Iterable[Note | Caution], form: str) -> None:
    """Print the possible values of runs: as rows, or in sentences and a table; ``notes`` are on the known grades."""
    from activeeval.report.cautions import marked
    from activeeval.scoring.unjudged_messages import bounds_meaning, bounds_sentence, bounds_table

    if form != "text":
        output.emit(marked([bounds.row() for bounds in all_bounds], notes), form)
    else:
        for bounds in all_bounds:
            output.show_text(bounds_sentence(bounds))
        click.echo()
        output.emit(bounds_table(all_bounds), "text")
        click.echo()
        output.show_text(bounds_meaning(all_bounds))
    for measure in dict.fromkeys(bounds.measure for bounds in all_bounds if bounds.at_best is None):
        output.say(f"{measure}: no bound is known for the best case")
