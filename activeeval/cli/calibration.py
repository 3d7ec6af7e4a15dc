"""``activeeval calibration``: how far a grade model can be believed on a pool whose labels are known."""

from __future__ import annotations

from typing import Any

import click

from activeeval.cli.inputs import PoolOptions, check_names, load_case, pool_options
from activeeval.cli.output import emit, output_option, places_option


@click.command()
@pool_options
@click.option("--measure", default="DCG", show_default=True, help="DCG, ERR, RBP, P, RR, nDCG or AP.")
@places_option
@output_option
def calibration(measure: str, places: int, form: str, **options: Any) -> None:
    """Hold the grade model against labels: what it predicts, grade by grade, and of the measure.

    Rows are for the model with its query factor and, below, without. The savings follow from the variances: where the
    predicted variance of the measure is far from the observed one, sampling probabilities are far from the best ones.
    """
    from activeeval.grade_models import calibration_report

    check_names([measure], [])
    case = load_case(PoolOptions(**options), use_labels=True)
    target = case.target(measure)
    rows: list[dict[str, Any]] = []
    for name, nodes, weights in case.beliefs.models(case.max_grade + 1):
        report = calibration_report(target, nodes, weights, case.workload.grades)
        rows += [{"model": name, "part": "whole", **row} for row in report.summary_rows()]
        rows += [{"model": name, "part": "reliability", **row} for row in report.reliability_rows()]
    emit(rows, form, places)
