"""What a team reads before it trusts a machine's grades: the machine alone beside people's labels, from any sample."""

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
"""Takes measures, questions and contrasts, and returns what is answered, and what to know of it."""
_SAID_HERE = ("grader missing",)
"""What an audit says in words of its own."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Audit:
    """What is to be known of some machines' grades, by people's labels.

    Attributes
    ----------
    graders : list of GraderAudit
    answers : list of SampleAnswer
        What the sample answers, which the machines are held against.
    notes : list of Note
    scope : str
    confidence : float
    """

    graders: list[GraderAudit]
    answers: list[SampleAnswer]
    notes: list[Note]
    scope: str
    confidence: float

    @property
    def rows(self) -> list[AuditRow]:
        """The rows of all machines."""
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
    """Return what samples with their judged sheets say of machines' grades.

    Parameters
    ----------
    judged : (samples, progress, agreement)
        As of `activeeval.sampling.rounds.judged_rounds`.
    graders : sequence
        As of `activeeval.inputs.grader_values.read_graders`.
    measures, questions : sequence
        By default the measures that the sample was made for; every system of it and every pair, as far as it reaches.

    Raises
    ------
    InputError
        Where a grader says nothing of the sample's items, or the sample is none of grades.
    StateError
        Where no block is complete.
    """

    def answering(
        asked: Sequence[Any], wanted: Sequence[str], contrasts: str | None
    ) -> tuple[list[SampleAnswer], list[Note]]:
        what: dict[str, Any] = {"measures": asked, "questions": wanted, "contrasts": contrasts}
        request = EstimateRequest(policy=policy, scope=scope, confidence=confidence, **what)
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
    """Return the audit of samples by what they answer; else as `audit_judged`."""
    read_of = read_graders(graders)
    if not read_of:
        raise InputError("there is nothing to audit: name a machine's grades with `graders`", field="graders")
    _check(samples)
    answers, notes = _answers(samples[0], answering, measures, questions)
    answers = [replace(answer, estimate=_without_guard(answer.estimate)) for answer in answers]
    judged = JudgedItems.of(samples, _top(samples[0]))
    audited = [_grader_audit(samples, grader, answers, judged, confidence) for grader in read_of]
    return Audit(graders=audited, answers=answers, notes=notes, scope=scope, confidence=confidence)


def _without_guard(estimate: Estimate) -> Estimate:
    """Return an estimate that does not say what it thinks of its model: an audit says it of each machine."""
    return replace(estimate, concerns=tuple(each for each in estimate.concerns if each.code not in GUARD))


def _check(samples: Sequence[DrawnSample]) -> None:
    """Raise where samples are none of people's grades of whole pools."""
    design = samples[0].campaign.design
    if not samples[0].campaign.judging.has_grades:
        raise InputError("the sample's judges compare documents: a machine's grades are held against people's grades")
    if design.order.larger_pool is not None:
        raise InputError("the sample was gathered of a pool in chunks, whose other items are not at hand")
    for source, n in (taken for sample in samples for taken in sample.truth_of_machines):
        problem = f"{source}: {n:,} of the labels are a machine's that was taken for a person"
        raise InputError(f"{problem}: a machine's grades are held against people's labels alone")


def _top(sample: DrawnSample) -> int:
    """Return the largest grade of people's scale: of an open one the largest that was seen."""
    campaign = sample.campaign
    seen = max(SoftLabels.of(campaign.labels).largest, int(campaign.design.known.max(initial=1)))
    return seen if campaign.design.max_grade is None else campaign.design.max_grade


def _answers(
    sample: DrawnSample, answering: Answering, measures: Sequence[Any], questions: Sequence[str]
) -> tuple[list[SampleAnswer], list[Note]]:
    """Return what the sample says of every system and pair; what it does not reach is a note where nobody asked it."""
    if questions:
        return answering(measures, questions, None)
    made = list({str(target.measure): target.measure for target in sample.campaign.design.targets}.values())
    wanted = {1: ("run",), 2: ("run", "versus", "difference")}.get(len(sample.systems), ("run", "difference"))
    answers: list[SampleAnswer] = []
    notes: list[Note] = []
    for measure in measures or made:
        reached, beyond, problem = [], [], None
        for question in wanted:
            contrasts = "all" if question == "difference" and sample.is_contest else None
            try:
                of_question, of_it = answering([measure], [question], contrasts)
            except InputError as refusal:
                beyond.append(question)
                problem = problem or refusal
                continue
            reached += of_question
            notes += of_it
        if problem is not None and not reached:
            raise problem
        if beyond:
            named = reached[0].target.name
            notes.append(Note("audit out of reach", {"measure": named, "questions": tuple(beyond)}))
        answers += reached
    return answers, [note for k, note in enumerate(notes) if note not in notes[:k]]


def _grader_audit(
    samples: Sequence[DrawnSample],
    grades: Grades,
    answers: Sequence[SampleAnswer],
    judged: JudgedItems,
    confidence: float,
) -> GraderAudit:
    """Return all that is to be known of one machine."""
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
        notes=[note for note in on_pool.notes if note.code not in _SAID_HERE],
    )
    return replace(audited, cautions=cautions_of(audited, on_scale, grades.made, samples[0].systems))


def _at_once(answers: Sequence[SampleAnswer]) -> list[tuple[SampleAnswer, Interval | None]]:
    """Return each answer with an interval such that all runs, or all differences, of its measure hold together.

    Of differences of one sample as they hang together; else what may go wrong is shared out (Bonferroni). None where
    there is one alone.
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
    """Return what a machine alone says of a question beside what people say."""
    target, value, (low, high) = answer.target, answer.estimate.value, answer.interval
    by_grader = by_labels(target, on_scale)
    answered = float(on_scale.is_there[target.judging_lists()[1]].mean())
    half_width = without(answer)
    # of all queries the machine's mean is as uncertain as people's: their interval, shifted, is none of the bias
    is_of_pool = answer.estimate.scope == "pool"
    at_once = simultaneous if is_of_pool else None
    is_open = half_width is None or not 0 < high - low < math.inf
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
    """Return the half-width of the same labels where nothing is expected of any item; None where that is no question.

    It is none of a sample that was drawn without these grades, or with others beside them, of rounds, and of a method
    that expects nothing.
    """
    sample = samples[0]
    campaign, design = sample.campaign, sample.campaign.design
    if len(samples) > 1 or design.beliefs is None or not _is_drawn_by(sample, grades):
        return None
    n_grades = design.beliefs.max_grade + 1
    model = uniform_beliefs(design.pool.n_items, n_grades - 1).for_method(find_method(design.name), n_grades)
    beliefs = design.stage.model(GradeProbs.of(design.pool, known=design.known, **model))
    reading = design.stage.reading(answer.target, design.order, beliefs, design.known)
    plain = replace(design, beliefs=beliefs, readings=(reading,))
    estimate = read(plain, campaign.selection, campaign.labels, (), answer.target, answer.estimate.scope)
    low, high = estimate.interval(answer.interval.confidence)
    return finite((high - low) / 2)


def _is_drawn_by(sample: DrawnSample, grades: Grades) -> bool:
    """Return whether a sample's model is that of these grades alone, whatever their file or machine is called.

    A model of a machine expects the same of all items to which it gives one value. Its name tells nothing: next month's
    grades may lie in a file of the same name.
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
    # what is known teaches a query nothing of its own: the model is the same within each, not of all
    queries = design.pool.item_queries
    pairs = ((queries, rows, kinds), (queries, rows), (queries, kinds))
    return len({np.unique(np.column_stack(columns), axis=0).shape[0] for columns in pairs}) == 1
