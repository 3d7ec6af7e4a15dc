"""Verb `calibration`: compare a grade model's predictions with the labels of a pool."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from activeeval.core.checks import check_names
from activeeval.core.grade_models import CalibrationReport, calibration_report
from activeeval.inputs.arguments import checked, judgments_in, measure_of
from activeeval.inputs.choices import Choices
from activeeval.inputs.judging_choice import check_graded
from activeeval.inputs.prepared_case import check_fits
from activeeval.report.numbers import agreeing, counted
from activeeval.report.rendering import Cell
from activeeval.sampling.arguments import LabelledOptions, choices_of, frame_kind_of
from activeeval.sampling.question_case import CaseResult, Progress, Say, case_for, unsaid

_MUCH = 1.5
"""Ratio of predicted and observed variance beyond which the sentence reports it; 1.2 in terms of half-widths."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ModelCalibration(CaseResult):
    """Comparison of a grade model with labels; `calibration` returns it.

    Attributes
    ----------
    measure : str
        Display name.
    reports : dict of str to CalibrationReport
        Reports for the model with its query factor (a random effect shared by a query's items), if any, and without.
    """

    measure: str
    reports: Mapping[str, CalibrationReport]

    @property
    def figures(self) -> dict[str, dict[str, float]]:
        """Summary figures, by name, of the model with its query factor (a shared random effect) and without."""
        return {name: report.figures(with_factor=name == "with factor") for name, report in self.reports.items()}

    @property
    def sentences(self) -> list[str]:
        """One sentence on how well the model's uncertainty matches the labels."""
        return [_sentence(self.measure, next(iter(self.figures.values())))]

    @property
    def table(self) -> Sequence[Mapping[str, Cell]]:
        """Figures of the model with its query factor (a random effect shared by a query's items) and without."""
        names = dict.fromkeys(what for column in self.figures.values() for what in column)
        return [{"what": what} | {name: column.get(what) for name, column in self.figures.items()} for what in names]

    def rows(self) -> list[dict[str, Cell]]:
        """List a row for each figure and each bin of the reliability, as in the command's JSON and CSV output."""
        rows: list[dict[str, Cell]] = []
        for name, report in self.reports.items():
            figures = self.figures[name].items()
            rows += [{"model": name, "part": "whole", "what": what, "value": value} for what, value in figures]
            rows += [{"model": name, "part": "reliability", **row} for row in report.reliability_rows()]
        return rows


def calibrated(choices: Choices, measure: str, *, say: Say = unsaid, progress: Progress = unsaid) -> ModelCalibration:
    """Compare the grade model of some choices with the labels of their pool; `calibration` and the command share it.

    ``say`` gets notes on the pool, ``progress`` texts that name the next step. Raise ChoiceError for more than two
    systems or options that do not fit, InputError for a wrong file or a measure that is not one of grades.
    """
    check_fits([measure], [])
    check_graded([measure])
    case = case_for(choices, (), use_labels=True, most_systems=2, say=say, progress=progress)
    target = case.target(measure)
    progress("comparing the model with labels")
    # probabilities of grades, with a query factor at each of its quadrature nodes, which then have weights
    reports = {
        name: calibration_report(target, probs, weights, case.inputs.grades)
        for name, probs, weights in case.beliefs.models(case.n_grades(target))
    }
    return ModelCalibration(case=case, measure=target.name, reports=reports)


@checked
def calibration(
    runs: Any,
    qrels: Any,
    *,
    measure: Any = "DCG",
    max_grade: int | None = None,
    names: Sequence[str] = (),
    seed: int = 0,
    **options: Unpack[LabelledOptions],
) -> ModelCalibration:
    """Compare a grade model's predictions with labels, grade by grade and for a measure.

    Parameters
    ----------
    runs : path, dict of dicts or data frame, or a list of two
        One run or two.
    max_grade : int, optional
        Largest grade of the scale; by default that of the labels.
    names : sequence of str
        Names of the runs; by default those of their files.
    qrels : path, dict of dicts, data frame or Judgments
        The labels of the pool.
    measure : str or measure
        For one measure, its mean and variance are compared too.
    options
        `LabelledOptions`: unjudged, train, grade_probs, graders, model, ….

    Examples
    --------
    >>> qrels = {f"q{q}": {f"d{d}": (q + d) % 4 for d in range(6)} for q in range(30)}
    >>> run = {query: {doc: grade + 0.1 * int(doc[1:]) for doc, grade in docs.items()} for query, docs in qrels.items()}
    >>> held = calibration(run, qrels, measure="DCG@3", train="50%", model="forest")
    >>> held.figures["with factor"]["judged items"]
    90
    """
    check_names(options, LabelledOptions)
    choices = choices_of(runs, names, None, max_grade, seed, {**options, "qrels": judgments_in(qrels)})
    result = calibrated(choices, measure_of(measure))
    return replace(result, frame_kind=frame_kind_of(runs, qrels, options))


def _sentence(measure: str, figures: Mapping[str, float]) -> str:
    """Write the sentence on the mean and variance of a measure's values that the model predicts, against the labels."""
    # L is the measure's value for a query
    means = [figures[f"mean of L, {whose}"] for whose in ("predicted", "observed")]
    variances = [figures[f"variance of L, {whose}"] for whose in ("predicted", "observed")]
    if not all(map(math.isfinite, (*means, *variances))) or not variances[1]:
        n_items = figures["judged items"]
        return (
            f"{measure} cannot be compared with labels: {counted(n_items, 'item')} "
            f"{agreeing(n_items, 'is', 'are')} judged, no query in full."
        )
    ratio = variances[0] / variances[1]
    how = "too sure of itself" if ratio < 1 / _MUCH else "less sure of itself than it could be" if ratio > _MUCH else ""
    judged = f"on {counted(figures['queries judged in full'], 'query')} judged in full"
    sums = f"it expects {measure} {means[0]:.3g} where the labels give {means[1]:.3g}, {judged}"
    spread = f"its variance is {ratio:.2g} times what the labels show"
    return f"The grade model is {how or 'about as sure as it should be'}: {spread}; {sums}."
