"""Audit graders: compare each measure computed from a grader's grades with the estimate from human labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from activeeval.core.campaign.labels import Progress
from activeeval.core.campaign.reading import read
from activeeval.core.design import GradeProbs
from activeeval.core.design.methods import find_method
from activeeval.core.errors import InputError
from activeeval.core.grade_models.values import ValueTable, default_shares
from activeeval.core.judgments.policies import Agreement
from activeeval.core.measures import SoftLabels
from activeeval.core.measures.target import common_lists
from activeeval.core.results import Estimate, Interval, Note
from activeeval.formats.graders.grader_grades import Grades
from activeeval.graders.audit_orders import cautions_of, circles, orders_of, sign_of
from activeeval.graders.audit_summary import AuditRow, GraderAudit, finite
from activeeval.graders.audit_values import JudgedItems, ScaledGrades, by_labels, drifts, skill, value_rows, with_zeros
from activeeval.inputs.choices import GRADER
from activeeval.inputs.grader_values import read_graders
from activeeval.inputs.modelling import KINDS, uniform_beliefs
from activeeval.sampling.answers import GUARD, SampleAnswer
from activeeval.sampling.drawn_sample import DrawnSample
from activeeval.sampling.estimate import EstimateRequest, estimate_judged

Answering = Callable[[Sequence[Any], Sequence[str], str | None], tuple[list[SampleAnswer], list[Note]]]
"""Function of measures, questions and contrasts that returns the sample's answers and notes about them."""
_REPORTED_BY_CAUTIONS = ("grader missing",)
"""Codes of the reader's notes that an audit reports as cautions, with its own counts."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Audit:
    """Comparison of graders' grades with human labels.

    Attributes
    ----------
    graders : list of GraderAudit
    answers : list of SampleAnswer
        The sample's estimates, the reference for all graders.
    notes : list of Note
    scope : {"pool", "population"}
        The estimates are of these queries, or of all queries that these are a sample of.
    confidence : float
        Nominal coverage of the intervals.
    """

    graders: list[GraderAudit]
    answers: list[SampleAnswer]
    notes: list[Note]
    scope: str
    confidence: float

    @property
    def rows(self) -> list[AuditRow]:
        """Rows of all graders."""
        return [row for grader in self.graders for row in grader.rows]


def audit_judged(
    judged: tuple[Sequence[DrawnSample], Progress, Agreement],
    graders: Sequence[Any],
    measures: Sequence[Any] = (),
    questions: Sequence[str] = (),
    *,
    policy: str = "refuse",
    scope: str = "pool",
    confidence: float = 0.95,
) -> Audit:
    """Compare graders' grades with the human labels of judged samples.

    Parameters
    ----------
    judged : (samples, progress, agreement)
        Judged samples of one pool (several for several rounds), the numbers of judged and unjudged items, and the
        agreement of judges: what `activeeval.sampling.rounds.judged_rounds` returns.
    graders : sequence
        Files or tables of graders' grades: what `activeeval.inputs.grader_values.read_graders` accepts.
    measures, questions : sequence
        By default the measures of the sample's design, and every system and pair that the sample supports.
    policy : str
        How grades of an item whose judges differ are combined: refuse, majority, median or mean-gain.
    scope : {"pool", "population"}
        Estimate for these queries, or for all queries that these are a sample of.

    Raises
    ------
    InputError
        If a grader has no grade for the sample's items, or the judges of the sample compare documents instead of
        grading them.
    StateError
        If no stage of the sample is complete.
    """

    def answering(
        some_measures: Sequence[Any], some_questions: Sequence[str], contrasts: str | None
    ) -> tuple[list[SampleAnswer], list[Note]]:
        """Estimate some measures and questions from the judged samples; return the answers and notes about them."""
        targets: dict[str, Any] = {"measures": some_measures, "questions": some_questions, "contrasts": contrasts}
        request = EstimateRequest(policy=policy, scope=scope, confidence=confidence, **targets)
        estimates = estimate_judged(*judged, request)
        return estimates.answers, estimates.notes

    return audit_answered(judged[0], answering, graders, measures, questions, scope=scope, confidence=confidence)


def audit_answered(
    samples: Sequence[DrawnSample],
    answering: Answering,
    graders: Sequence[Any],
    measures: Sequence[Any] = (),
    questions: Sequence[str] = (),
    *,
    scope: str = "pool",
    confidence: float = 0.95,
) -> Audit:
    """Compare graders' grades with the estimates of judged samples (several for several rounds) by human labels.

    The function `answering` makes these estimates, with the given `scope` ("pool" or "population") and `confidence`,
    from measures, questions and contrasts. `graders` are files or tables of grades; `measures` and `questions` are by
    default all that the sample supports. Raise InputError if there is no grader, one has no grade for the sample's
    items, or the labels are not people's grades.
    """
    read_of = read_graders(graders)
    if not read_of:
        raise InputError("there is nothing to audit: name a grader's grades with `graders`", field="graders")
    _check(samples)
    answers, notes = _answers(samples[0], answering, measures, questions)
    answers = [replace(answer, estimate=_without_guard(answer.estimate)) for answer in answers]
    judged = JudgedItems.of(samples, _top(samples[0]))
    audited = [_grader_audit(samples, grader, answers, judged, confidence) for grader in read_of]
    return Audit(graders=audited, answers=answers, notes=notes, scope=scope, confidence=confidence)


def _without_guard(estimate: Estimate) -> Estimate:
    """Drop an estimate's concerns about its grade model (codes of ``GUARD``); the audit reports them by grader."""
    return replace(estimate, concerns=tuple(each for each in estimate.concerns if each.code not in GUARD))


def _check(samples: Sequence[DrawnSample]) -> None:
    """Raise InputError unless the samples hold human grades, and no others, of a whole pool."""
    design = samples[0].campaign.design
    if not samples[0].campaign.judging.has_grades:
        raise InputError("the sample's judges compare documents: an audit needs people's grades")
    if design.order.larger_pool is not None:
        raise InputError("the sample holds only its own part of a pool in files: an audit needs the whole pool")
    for source, n in (taken for sample in samples for taken in sample.truth_of_machines):
        problem = f"{source}: {n:,} of the labels are a grader's"
        raise InputError(f"{problem}: an audit needs people's labels alone")


def _top(sample: DrawnSample) -> int:
    """Return the largest grade of the human scale; if the scale is open, the largest grade seen."""
    campaign = sample.campaign
    seen = max(SoftLabels.of(campaign.labels).largest, int(campaign.design.known.max(initial=1)))
    return seen if campaign.design.max_grade is None else campaign.design.max_grade


def _answers(
    sample: DrawnSample, answering: Answering, measures: Sequence[Any], questions: Sequence[str]
) -> tuple[list[SampleAnswer], list[Note]]:
    """Estimate every measure for every system and pair with the sample, by `answering`; return the answers and notes.

    Questions that the sample does not support become a note, unless the user named questions. InputError is raised if a
    measure has no supported question.
    """
    if questions:
        return answering(measures, questions, None)
    of_design = list({str(target.measure): target.measure for target in sample.campaign.design.targets}.values())
    # by the number of systems: "run" is the value of each, of two systems only of the first
    wanted = {1: ("run",), 2: ("run", "versus", "difference")}.get(len(sample.systems), ("run", "difference"))
    answers: list[SampleAnswer] = []
    notes: list[Note] = []
    for measure in measures or of_design:
        supported, beyond, problem = [], [], None
        for question in wanted:
            contrasts = "all" if question == "difference" and sample.is_contest else None
            try:
                of_question, its_notes = answering([measure], [question], contrasts)
            except InputError as refusal:
                beyond.append(question)
                problem = problem or refusal
                continue
            supported += of_question
            notes += its_notes
        if problem is not None and not supported:
            raise problem
        if beyond:
            named = supported[0].target.name
            notes.append(Note("audit out of reach", {"measure": named, "questions": tuple(beyond)}))
        answers += supported
    return answers, [note for k, note in enumerate(notes) if note not in notes[:k]]


def _grader_audit(
    samples: Sequence[DrawnSample],
    grades: Grades,
    answers: Sequence[SampleAnswer],
    judged: JudgedItems,
    confidence: float,
) -> GraderAudit:
    """Audit one grader: values, orders of systems, skill, drift, bias for its own run, and cautions.

    Parameters
    ----------
    grades : Grades
        The grader's values, and the run that it produced (``made``), if any.
    answers : sequence of SampleAnswer
        Estimates from human labels.
    judged : JudgedItems
        Items with human labels.
    """
    pool = samples[0].campaign.design.pool
    on_pool = grades.on(pool)
    on_scale = ScaledGrades.of(grades, on_pool, _top(samples[0]))
    without = partial(_half_width_without, samples, grades)
    rows = [_row(answer, grades.name, on_scale, simultaneous, without) for answer, simultaneous in _at_once(answers)]
    _, counted = common_lists([answer.target for answer in answers])
    audited = GraderAudit(
        grader=grades.name,
        rows=rows,
        orders=orders_of(rows),
        values=value_rows(on_pool.values, judged),
        **skill(on_scale.values, judged),
        drift=drifts(grades, pool, on_scale.values, judged),
        circular=circles(rows, grades.made, samples[0].systems),
        missing=int((~on_pool.is_graded[counted]).sum()),
        items=counted.size,
        cautions=[],
        notes=[note for note in on_pool.notes if note.code not in _REPORTED_BY_CAUTIONS],
    )
    return replace(audited, cautions=cautions_of(audited, on_scale, grades.made, samples[0].systems))


def _at_once(answers: Sequence[SampleAnswer]) -> list[tuple[SampleAnswer, Interval | None]]:
    """Pair each answer with an interval that holds at once for all runs, or all differences, of its measure.

    Differences of one sample use their joint distribution (`SampleAnswer.shared`); otherwise Bonferroni. The interval
    is None if the family has one member.
    """
    families = [(str(answer.target.measure), bool(answer.versus)) for answer in answers]
    out: list[tuple[SampleAnswer, Interval | None]] = []
    for answer, family in zip(answers, families, strict=True):
        n = families.count(family)
        if n == 1:
            out.append((answer, None))
        elif answer.shared is not None:
            out.append((answer, answer.shared.interval))
        else:
            confidence = 1 - (1 - answer.interval.confidence) / n
            out.append((answer, answer.estimate.interval(confidence)))
    return out


def _row(
    answer: SampleAnswer,
    name: str,
    on_scale: ScaledGrades,
    simultaneous: Interval | None,
    without: Callable[[SampleAnswer], float | None],
) -> AuditRow:
    """Compare one measure computed from a grader's grades with its estimate from human labels.

    Parameters
    ----------
    answer : SampleAnswer
        The estimate.
    name : str
        Name of the grader.
    on_scale : ScaledGrades
        The grader's values on the human scale.
    simultaneous : Interval or None
        Interval of the estimate that holds for all runs, or differences, at once.
    without : callable
        Returns the half-width of an answer if the grader had not been used, or None if it is unknown.
    """
    target, value, (low, high) = answer.target, answer.estimate.value, answer.interval
    by_grader = by_labels(target, on_scale)
    answered = float(on_scale.is_there[target.judging_lists()[1]].mean())
    half_width = without(answer)
    # at scope "population" the grader's own mean is uncertain too, so that the shifted interval does not cover the bias
    is_of_pool = answer.estimate.scope == "pool"
    at_once = simultaneous if is_of_pool else None
    is_open = half_width is None or not 0 < high - low < math.inf
    # half-widths shrink with the square root of the number of labels
    saved = None if half_width is None or is_open else (2 * half_width / (high - low)) ** 2 - 1
    row = AuditRow(
        measure=target.name,
        definition=str(target.measure),
        question=answer.question,
        system=answer.system,
        versus=answer.versus,
        grader=name,
        by_grader=finite(by_grader),
        answered=answered,
        by_grader_missing_as_0=with_zeros(target, on_scale),
        corrected=finite(value),
        corrected_low=finite(low),
        corrected_high=finite(high),
        bias=finite(by_grader - value),
        bias_low=finite(by_grader - high) if is_of_pool else None,
        bias_high=finite(by_grader - low) if is_of_pool else None,
        bias_low_simultaneous=None if at_once is None else finite(by_grader - at_once.high),
        bias_high_simultaneous=None if at_once is None else finite(by_grader - at_once.low),
        confidence=answer.interval.confidence,
        scope=answer.estimate.scope,
        labels=answer.estimate.n_items,
        half_width_without=half_width,
        labels_saved=None if saved is None else answer.estimate.n_items * saved,
    )
    return replace(row, sign=sign_of(row, knows_order=np.unique(on_scale.labels[on_scale.is_there]).size > 1))


def _half_width_without(samples: Sequence[DrawnSample], grades: Grades, answer: SampleAnswer) -> float | None:
    """Compute the half-width of an answer from the same labels without the grader, i.e. under a uniform grade model.

    Return None if the sample was drawn without these grades or with other graders besides them, has several rounds, or
    uses a method without a grade model.
    """
    sample = samples[0]
    campaign, design = sample.campaign, sample.campaign.design
    if len(samples) > 1 or design.beliefs is None or not _is_drawn_by(sample, grades):
        return None
    n_grades = design.beliefs.max_grade + 1
    model = uniform_beliefs(design.pool.n_items, n_grades - 1).for_method(find_method(design.name), n_grades)
    beliefs = design.stage.model(GradeProbs.of(design.pool, known=design.known, **model))
    reading = design.stage.reading(answer.target, design.order, beliefs, design.known)
    # the design as if drawn without the grader; what was drawn and its probabilities stay
    plain = replace(design, beliefs=beliefs, readings=(reading,))
    estimate = read(plain, campaign.selection, campaign.labels, (), answer.target, answer.estimate.scope)
    low, high = estimate.interval(answer.interval.confidence)
    return finite((high - low) / 2)


def _is_drawn_by(sample: DrawnSample, grades: Grades) -> bool:
    """Check whether the sample's grade model is built from these grades alone, whatever the name of file or grader.

    Values of the grader are binned (kinds). A model from one grader predicts the same grades for all items of a bin,
    and higher ones for a higher bin. The name proves nothing: next month's grades may be in a file of the same name.
    """
    design = sample.campaign.design
    parts = sample.model.split(", ")  # the name of a grader may hold a comma too
    models = [part for part in parts if part.startswith(GRADER) or part.partition("=")[0] in KINDS]
    if len(models) > 1 or not parts[0].startswith(GRADER) or design.beliefs is None:
        return False
    probs = design.beliefs.grade_probs
    values = grades.values_on(design.pool)
    kinds = ValueTable.of(values, default_shares(probs.shape[-1])).codes
    rows = np.unique(probs.reshape(len(kinds), -1), axis=0, return_inverse=True)[1].reshape(-1)
    if np.unique(kinds).size == 1:
        return False
    expected = probs.reshape(len(kinds), -1, probs.shape[-1]).mean(axis=1) @ np.arange(probs.shape[-1])
    by_kind = [expected[kinds == kind].mean() for kind in np.unique(kinds[~np.isnan(values)])]
    if (np.diff(by_kind) <= 0).any():  # the same kinds in another order
        return False
    # known grades may shift the model query by query, so rows and kinds must agree within each query, not overall
    queries = design.pool.item_queries
    pairs = ((queries, rows, kinds), (queries, rows), (queries, kinds))
    return len({np.unique(np.column_stack(columns), axis=0).shape[0] for columns in pairs}) == 1
