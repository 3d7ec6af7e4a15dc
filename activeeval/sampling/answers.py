"""Answers of a judged sample: an estimate with its interval for each question, for all queries or by segment."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from activeeval.core.answers import Answer, MoreNeeded
from activeeval.core.campaign import Campaign
from activeeval.core.campaign.more_needed import needed_of_sample
from activeeval.core.errors import InputError, StateError
from activeeval.core.estimation import SCOPES, pair_roots, simultaneous_confidence
from activeeval.core.estimation.significance import holm
from activeeval.core.measures import Target
from activeeval.core.pool import Rankings
from activeeval.core.results import Caution, Estimate, Interval, Note, Told
from activeeval.formats.sample_file import lists_of
from activeeval.formats.tables.segments import Segments, read_segments
from activeeval.inputs.choices import GRADER
from activeeval.inputs.systems import QuestionTarget, contrasts_of, direction
from activeeval.report.cautions import MISSING_LISTS
from activeeval.sampling.drawn_sample import DrawnSample

FEWEST = 10
"""Fewest randomly sampled, judged queries of a segment with an estimate. Twelve random segments of each of six sizes on
MQ2008 (DCG@10 by items, ERR by depth, one ranking and two, a tenth of the budget, 150 repetitions): from 5 queries on
the intervals covered 91 to 98 %, below that most were infinite."""
GUARD = ("model turned", "model says little")
"""Codes of cautions that human grades fall, or hardly rise, with the grades that graders predict."""
_ALIKE = 0.01
"""Relative difference below which two half-widths are reported as equal."""


class SimultaneousComparison(NamedTuple):
    """Interval and p value of a difference, adjusted for all differences of its measure.

    Attributes
    ----------
    interval : Interval
        Covers simultaneously with the intervals of the other differences, at the requested confidence.
    p_holm : float
        The p value, adjusted by Holm's method.
    """

    interval: Interval
    p_holm: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleAnswer:
    """Answer of a sample to a question.

    Attributes
    ----------
    question : {"difference", "run", "versus"}
        Difference of two runs, value of a run, or value of the one that it is compared with.
    target : Target
        The measure, and its ranking or the two rankings whose difference it is.
    estimate : Estimate
    interval : Interval
        Of the requested kind and confidence; for segments, all of them cover simultaneously at that confidence.
    p_value : float
        p value of the t test for a target of 0; for segments multiplied by their number (Bonferroni).
    half_width_at_end : float
        Half-width of a t interval of this confidence to expect once the whole sample is judged.
    segment : str or None
        None for all queries.
    system, versus : str
        The system, and for a difference the system subtracted; else "".
    shared : SimultaneousComparison or None
        For a difference among more than two systems, interval and p value adjusted for all differences.
    needed : MoreNeeded or None
        Budget or number of queries that should decide an undecided difference.
    other : SampleAnswer or None
        The answer to the same question for the other scope ("pool": these queries; "population": all that these are
        a sample of).
    """

    question: str
    target: Target
    estimate: Estimate
    interval: Interval
    p_value: float
    half_width_at_end: float
    system: str
    versus: str = ""
    segment: str | None = None
    shared: SimultaneousComparison | None = None
    needed: MoreNeeded | None = None
    other: SampleAnswer | None = None

    @property
    def title(self) -> str:
        """Name in messages: measure, systems and segment."""
        return ", ".join(filter(None, (self.target.name, direction(self.system, self.versus), self.segment)))

    @property
    def finding(self) -> Answer:
        """The answer as a printable `Answer`; among more than two systems with the adjusted interval and p value."""
        interval, p_value = self.shared or (self.interval, self.p_value)
        now, end = (self.interval.high - self.interval.low) / 2, self.half_width_at_end
        answer = Answer.of(
            self.estimate,
            interval,
            system=self.system,
            versus=self.versus,
            measure=self.target.name,
            n_items=None if self.target.measure.is_judged_whole else self.estimate.n_judged,  # else judged by query
            p_value=p_value if self.versus and interval.low < interval.high else None,
            segment=self.segment,
            half_width_at_end=end if end < (1 - _ALIKE) * now else None,
            needed=self.needed,
            same_lists=bool(self.versus) and not self.target.matters.any(),
        )
        return answer if self.other is None or self.shared is not None else answer.with_other(self.other.finding)


def other_scope(scope: str) -> str:
    """Return the other scope: "population" for "pool", and vice versa."""
    return next(other for other in SCOPES if other != scope)


def answers(
    sample: DrawnSample,
    questions: Sequence[QuestionTarget],
    *,
    scope: str = "pool",
    kind: str = "t",
    confidence: float = 0.95,
    segments: str | Segments | None = None,
) -> tuple[list[SampleAnswer], list[Note]]:
    """Estimate each question, for all queries or by segment; also return notes on cut lists and on segments.

    Parameters
    ----------
    questions : sequence of QuestionTarget
        Kind of question, target (measure and rankings) and names of the systems; from `DrawnSample.asked`.
    scope : {"pool", "population"}
        The queries that the answers are for; without segments each answer has the one for the other scope beside it.
    kind, confidence
        Kind of interval, "t" or "group-sequential", and its confidence, a float.
    segments : str or Segments, optional
        A file for `activeeval.formats.tables.segments.read_segments`: one answer for each segment of each question. Its
        intervals are Bonferroni-corrected: those of a question cover simultaneously, also for overlapping segments.

    Raises
    ------
    StateError
        If no block of the sample (a part at whose end it can be read) is complete.
    InputError
        If the sample does not support a question, or no segment is large enough.
    """
    ends = cut_notes(sample, questions)
    if segments is None:
        guard = _of_grader(sample)  # warnings on graders' grades

        def read(question: QuestionTarget, scope: str) -> SampleAnswer:
            """Answer a question about all queries, for a scope."""
            estimate = _guarded(sample.estimate(question.target, scope), guard)
            return _answer(sample.campaign, question, estimate, n_rows=1, kind=kind, confidence=confidence)

        if sample.is_contest:  # more than two systems
            answered = together(sample, [read(question, scope) for question in questions], kind)
            return [_with_needed(sample.campaign, answer) for answer in answered], ends
        scopes = scope, other_scope(scope)
        both = [[_with_needed(sample.campaign, read(question, about)) for about in scopes] for question in questions]
        return [replace(answer, other=beside) for answer, beside in both], ends
    answered, notes = by_segment(
        sample, questions, read_segments(segments), scope=scope, kind=kind, confidence=confidence
    )
    if not answered:
        raise InputError(f"{segments}: no segment has {FEWEST} judged queries: there is nothing to read")
    return answered, ends + notes


def by_segment(
    sample: DrawnSample,
    questions: Sequence[QuestionTarget],
    segments: Segments,
    *,
    scope: str = "pool",
    kind: str = "t",
    confidence: float = 0.95,
) -> tuple[list[SampleAnswer], list[Note]]:
    """Estimate each question in each segment (part of the queries) that is large enough; also return notes on these.

    ``kind`` ("t", "group-sequential"), ``confidence`` and ``scope`` ("pool", "population") are those of the intervals.
    """
    members, notes = segments.of(sample.campaign.design.pool)
    answer = partial(_answer, sample.campaign, kind=kind, confidence=confidence)
    answered = []
    small: dict[tuple[str, ...], list[str]] = {}  # questions by the segments that are too small for them
    for question in questions:
        read = _by_segment(sample, question.target, members, scope)
        missing = tuple(name for name in members if name not in read)
        small.setdefault(missing, []).append(f"{question.target.name} ({question.title})")
        for name, (part, estimate) in read.items():
            answered.append(answer(question._replace(target=part), estimate, len(read), name))
    for missing, of in small.items():
        if missing:
            whose = () if len(small) == 1 else tuple(of)  # questions are named if they differ
            notes.append(Note("small segments", {"fewest": FEWEST, "questions": whose, "segments": missing}))
    return together(sample, answered, kind), notes


def _answer(
    campaign: Campaign,
    question: QuestionTarget,
    estimate: Estimate,
    n_rows: int,
    segment: str | None = None,
    *,
    kind: str,
    confidence: float,
) -> SampleAnswer:
    """Build an answer; interval and p value allow for ``n_rows`` segments (Bonferroni) and for earlier readings."""
    adjusted, scope = 1 - (1 - confidence) / n_rows, estimate.scope
    return SampleAnswer(
        question=question.question,
        target=question.target,
        estimate=estimate,
        interval=_interval(campaign, kind, adjusted, question.target, scope),
        p_value=min(1.0, n_rows * campaign.p_value_now(estimate.p_value, question.target, scope=scope)),
        half_width_at_end=campaign.half_width_at_end(adjusted, question.target, scope=scope),
        segment=segment,
        system=question.system,
        versus=question.versus,
    )


def _interval(campaign: Campaign, kind: str, confidence: float, target: Target, scope: str) -> Interval:
    """Compute an interval ("t", "group-sequential") that holds jointly with those before the sample was topped up."""
    adjusted = confidence
    if kind != "group-sequential":  # this kind is already adjusted for its planned interim analyses
        adjusted = campaign.confidence_now(confidence, target, scope=scope)
    return replace(campaign.interval(kind, adjusted, target, scope=scope), confidence=confidence)


def _of_grader(sample: DrawnSample) -> tuple[Caution, ...]:
    """Build a warning if human grades do not rise with those of the sample's graders (LLMs, other models); else ()."""
    if GRADER not in sample.model or (slope := sample.campaign.grade_slope) is None:
        return ()
    if not (slope.is_turned or slope.says_little):
        return ()
    numbers: dict[str, Told] = {"model": sample.model.replace(GRADER, ""), "slope": slope.value}
    numbers |= {"std_error": slope.std_error, "n_items": slope.n_items}
    return (Caution("warning", "model turned" if slope.is_turned else "model says little", numbers),)


def _guarded(estimate: Estimate, concerns: tuple[Caution, ...]) -> Estimate:
    """Add the cautions ``concerns`` to an estimate."""
    return replace(estimate, concerns=(*estimate.concerns, *concerns)) if concerns else estimate


def _with_needed(campaign: Campaign, answer: SampleAnswer) -> SampleAnswer:
    """Add to an answer that is an undecided difference what should decide it; other answers stay as they are."""
    if not answer.versus:
        return answer
    interval = (answer.shared or answer).interval
    return replace(answer, needed=needed_of_sample(campaign, answer.target, answer.estimate, interval))


def together(sample: DrawnSample, answered: Sequence[SampleAnswer], kind: str = "t") -> list[SampleAnswer]:
    """Adjust the differences among more than two systems for all differences of the same measure and segment.

    They get `SampleAnswer.shared`: an interval of the given kind, with the confidence at which all hold at once, and a
    p value by Holm's method. Answers to other questions stay as they are.
    """
    families: dict[tuple[str, str | None], list[int]] = {}
    for k, answer in enumerate(answered):
        if answer.versus and sample.is_contest:
            families.setdefault((str(answer.target.measure), answer.segment), []).append(k)
    out = list(answered)
    for places in families.values():
        family = [answered[k] for k in places]
        confidence = _shared_confidence(sample, family)
        adjusted = holm([answer.p_value for answer in family])
        for k, answer, p_holm in zip(places, family, adjusted.tolist(), strict=True):
            scope = answer.estimate.scope
            wide = _interval(sample.campaign, kind, confidence, answer.target, scope)
            out[k] = replace(answer, shared=SimultaneousComparison(wide, p_holm))
    return out


def _shared_confidence(sample: DrawnSample, family: Sequence[SampleAnswer]) -> float:
    """Compute the confidence of single intervals with which all of one measure and segment (``family``) hold at once.

    Differences that share systems are correlated, which this allows for; those exactly known do not count.
    """
    names, confidence = sample.systems, min(answer.interval.confidence for answer in family)
    uncertain = [answer for answer in family if 0 < answer.estimate.std_error < math.inf]
    if not uncertain:
        return confidence
    pairs = [(names.index(answer.system), names.index(answer.versus)) for answer in uncertain]
    variances = _pair_variances(sample, family)
    degrees = [answer.estimate.degrees_of_freedom for answer in uncertain]
    return simultaneous_confidence(pair_roots(variances, pairs), degrees, confidence)


def _pair_variances(sample: DrawnSample, family: Sequence[SampleAnswer]) -> NDArray[np.float64]:
    """Compute the variance of the estimated difference of every pair of systems, shape (n_systems, n_systems).

    Pairs without an answer in ``family`` (the answers of one measure and segment) are estimated here.
    """
    names, scope = sample.systems, family[0].estimate.scope
    known = {(answer.system, answer.versus): answer.estimate for answer in family}
    lists = lists_of(sample.campaign.design)
    variances = np.zeros((len(names), len(names)))
    for i, j in contrasts_of(len(names)):
        estimate = known.get((names[i], names[j]))
        if estimate is None:
            other = replace(family[0].target, ranking=lists[i], versus=lists[j])
            estimate = sample.estimate(other, scope)
        variances[i, j] = variances[j, i] = estimate.std_error**2
    return variances


def cut_notes(sample: DrawnSample, questions: Sequence[QuestionTarget]) -> list[Note]:
    """List notes on how judged files were read, and one if a measure of all ranks ends where the lists were cut."""
    cut = [question.target.name for question in questions if question.target.measure.cutoff == sample.depth is not None]
    ends = [Note("lists end", {"depth": sample.depth, "measure": cut[0]})] if cut else []
    return [*sample.read_notes, *ends]


def missing_lists_of(sample: DrawnSample, questions: Iterable[QuestionTarget | SampleAnswer]) -> list[Note]:
    """Build a note on each system without a list for some queries; [] if only a part of the pool is in memory."""
    if sample.campaign.design.order.larger_pool is not None:
        return []
    lists: dict[str, Rankings] = {}
    for question in questions:
        named = ((question.system, question.target.ranking), (question.versus, question.target.versus))
        lists |= {name: ranking for name, ranking in named if ranking is not None}
    counts = {name: int(np.count_nonzero(ranking.lengths == 0)) for name, ranking in lists.items()}
    of = {name: ranking.pool.n_queries for name, ranking in lists.items()}
    return [Note(MISSING_LISTS, {"n": n, "of": of[name], "name": name}) for name, n in counts.items() if n]


def _is_certain(sample: DrawnSample, target: Target, estimate: Estimate) -> bool:
    """Check whether the value for the pool is known exactly, because every label that matters is known."""
    of_pool = estimate if estimate.scope == "pool" else sample.campaign.estimate(target)
    return of_pool.std_error == 0


def _by_segment(
    sample: DrawnSample, target: Target, members: Mapping[str, NDArray[np.bool_]], scope: str
) -> dict[str, tuple[Target, Estimate]]:
    """Estimate a target in each segment that is large enough, or known exactly; by name of the segment.

    ``members`` maps each segment to flags of its queries, shape (n_queries,). The result has the target restricted to
    the segment, and the estimate.
    """
    large = {}
    for name, within in members.items():
        part = replace(target, within=within)
        try:
            estimate = sample.estimate(part, scope)
        except StateError:  # nothing of the segment has been judged
            continue
        # n_open: judged queries selected by chance
        if min(estimate.n_open, estimate.n_queries) >= FEWEST or _is_certain(sample, part, estimate):
            large[name] = (part, estimate)
    return large
