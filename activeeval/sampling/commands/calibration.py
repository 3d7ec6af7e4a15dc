"""``activeeval calibration``: how far a grade model can be believed on a pool whose labels are known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.help import command
from activeeval.cli.input_options import pool_options, prepared
from activeeval.cli.output import emit, output_option, say, show_table, show_text
from activeeval.cli.waiting import tell
from activeeval.report.numbers import agreeing, counted
from activeeval.sampling.commands.sampling_options import measure_option

if TYPE_CHECKING:
    from activeeval.core.grade_models import CalibrationReport

_MUCH = 1.5
"""How many times as large as observed, or as small, a variance is where the sentence says so: 1.2 of a half-width."""


@command()
@pool_options
@measure_option
@output_option
def calibration(measure: str, form: str, **options: Any) -> None:
    """Hold the grade model against labels: what it predicts, grade by grade, and of the measure.

    Figures are for the model with its query factor and without. The savings follow from the variances: where the
    predicted variance of the measure is far from the observed one, sampling probabilities are far from the best ones.

    \b
    activeeval calibration --letor S2.txt --scores ranker.S2.txt --train S1.txt --measure DCG@10
    """
    from activeeval.core.grade_models import calibration_report
    from activeeval.inputs.case import check_fits

    check_fits([measure], [])
    case = prepared(options, use_labels=True, most_systems=2)
    target = case.target(measure)
    tell("holding the model against labels")
    reports = {
        name: calibration_report(target, nodes, weights, case.inputs.grades)
        for name, nodes, weights in case.beliefs.models(case.n_grades(target))
    }
    if not all(report.n_queries for report in reports.values()):
        say(f"no query is judged in full for {target.name}: its mean and variance are not known (nan)")
    figures = {name: report.figures(with_factor=name == "with factor") for name, report in reports.items()}
    if form == "text":
        show_text(_sentence(target.name, next(iter(figures.values()))))
        click.echo()
        _show(reports, figures, target.name)
        return
    rows: list[dict[str, Any]] = []
    for name, report in reports.items():
        rows += [{"model": name, "part": "whole", "what": what, "value": v} for what, v in figures[name].items()]
        rows += [{"model": name, "part": "reliability", **row} for row in report.reliability_rows()]
    emit(rows, form)


def _sentence(measure: str, figures: Mapping[str, float]) -> str:
    """Return how far the model is to be believed: its mean beside that of the labels, and what variance it expects."""
    means = [figures[f"mean of L, {whose}"] for whose in ("predicted", "observed")]
    variances = [figures[f"variance of L, {whose}"] for whose in ("predicted", "observed")]
    if not all(map(math.isfinite, (*means, *variances))) or not variances[1]:
        n_items = figures["judged items"]
        return (
            f"Of {measure} nothing can be held against labels: {counted(n_items, 'item')} "
            f"{agreeing(n_items, 'is', 'are')} judged, no query in full."
        )
    ratio = variances[0] / variances[1]
    how = "too sure of itself" if ratio < 1 / _MUCH else "less sure of itself than it could be" if ratio > _MUCH else ""
    judged = f"on {counted(figures['queries judged in full'], 'query')} judged in full"
    sums = f"it expects {measure} {means[0]:.3g} where the labels give {means[1]:.3g}, {judged}"
    spread = f"its variance is {ratio:.2g} times what the labels show"
    return f"The grade model is {how or 'about as sure as it should be'}: {spread}; {sums}."


def _show(reports: Mapping[str, CalibrationReport], figures: Mapping[str, Mapping[str, float]], measure: str) -> None:
    from activeeval.report.rendering import format_cell

    names = dict.fromkeys(what for column in figures.values() for what in column)
    summary = [
        {"what": what} | {name: format_cell(column.get(what)) for name, column in figures.items()} for what in names
    ]
    show_table(summary, f"The model and the labels, L is {measure}")
    bins = [
        {"model": name, **{column: format_cell(value) for column, value in row.items()}}
        for name, report in reports.items()
        for row in report.reliability_rows()
    ]
    show_table(bins, "Reliability: n items of alike p(grade), its mean and the share that has the grade")
