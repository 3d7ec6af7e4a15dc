"""``activeeval calibration``: compare a grade model's predictions with the labels of a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.help import command
from activeeval.cli.input_options import options_of, worded
from activeeval.cli.output import emit, output_option, say, say_note, show_table, show_text
from activeeval.cli.waiting import tell
from activeeval.inputs.options import FILES, PoolFields
from activeeval.sampling.commands.sampling_options import measure_option

if TYPE_CHECKING:
    from activeeval.sampling.model_calibration import ModelCalibration


@command()
@options_of(PoolFields, leave_out=(*FILES, "contrasts", "overhead", "cost", "traffic", "defensive_share"))
@measure_option
@output_option
def calibration(measure: str, form: str, **options: Any) -> None:
    """Compare the grade model with labels: what it expects of each grade and of the measure.

    Figures are for the model with its query factor and without. The savings follow from the variances: where the
    predicted variance of the measure is far from the observed one, sampling probabilities are far from the best ones.

    \b
    activeeval calibration --letor S2.txt --scores ranker.S2.txt --train S1.txt --measure DCG@10
    """
    from activeeval.inputs.choices import Choices
    from activeeval.sampling.model_calibration import calibrated

    with worded():
        result = calibrated(Choices(**options), measure, say=say_note, progress=tell)
    if not all(report.n_queries for report in result.reports.values()):
        say(f"no query is judged in full for {result.measure}: its mean and variance are not known (nan)")
    if form != "text":
        emit(result.rows(), form)
        return
    show_text(result.sentences[0])
    click.echo()
    _show(result)


def _show(result: ModelCalibration) -> None:
    """Print the tables of figures and of reliability."""
    from activeeval.report.rendering import format_cell

    summary = [{name: format_cell(cell) for name, cell in row.items()} for row in result.table]
    show_table(summary, f"The model and the labels, L is {result.measure}")
    bins = [
        {"model": name, **{column: format_cell(value) for column, value in row.items()}}
        for name, report in result.reports.items()
        for row in report.reliability_rows()
    ]
    show_table(bins, "Reliability: n items of alike p(grade), its mean and the share that has the grade")
