"""``activeeval calibration``: how far a grade model can be believed on a pool whose labels are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.help import command
from activeeval.cli.inputs import pool_options, prepared
from activeeval.cli.output import emit, rows_options, say, show_table
from activeeval.cli.waiting import tell

if TYPE_CHECKING:
    from activeeval.grade_models import CalibrationReport


@command("Hold a grade model against labels")
@pool_options
@click.option("--measure", default="DCG", help="DCG, ERR, RBP, P, Success, RR, nDCG, R, AP or @FILE.")
@rows_options
def calibration(measure: str, places: int, form: str, **options: Any) -> None:
    """Hold the grade model against labels: what it predicts, grade by grade, and of the measure.

    Figures are for the model with its query factor and without. The savings follow from the variances: where the
    predicted variance of the measure is far from the observed one, sampling probabilities are far from the best ones.

    \b
    activeeval calibration --letor S2.txt --scores ranker.S2.txt --train S1.txt --measure DCG@10
    """
    from activeeval.cases.case import check_fits
    from activeeval.grade_models import calibration_report

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
        _show(reports, figures, target.name, places)
        return
    rows: list[dict[str, Any]] = []
    for name, report in reports.items():
        rows += [{"model": name, "part": "whole", "what": what, "value": v} for what, v in figures[name].items()]
        rows += [{"model": name, "part": "reliability", **row} for row in report.reliability_rows()]
    emit(rows, form, places)


def _show(
    reports: Mapping[str, CalibrationReport], figures: Mapping[str, Mapping[str, float]], measure: str, places: int
) -> None:
    from activeeval.report import format_cell

    names = dict.fromkeys(what for column in figures.values() for what in column)
    summary = [
        {"what": what} | {name: format_cell(column.get(what), places) for name, column in figures.items()}
        for what in names
    ]
    show_table(summary, f"The model and the labels, L is {measure}")
    bins = [
        {"model": name, **{column: format_cell(value, places) for column, value in row.items()}}
        for name, report in reports.items()
        for row in report.reliability_rows()
    ]
    show_table(bins, "Reliability: n items of alike p(grade), its mean and the share that has the grade")
