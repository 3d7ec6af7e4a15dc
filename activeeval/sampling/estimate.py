"""Estimate the questions of judged samples: of one sample, or of several rounds combined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from activeeval.core.campaign.labels import Progress
from activeeval.core.judgments.policies import Agreement
from activeeval.core.measures import Measure, shown_name
from activeeval.core.results import Estimate, Interval, Note
from activeeval.formats.tables.segments import Segments
from activeeval.inputs.choices import GRADER
from activeeval.inputs.systems import direction
from activeeval.report.answer_sentences import (
    contest_sentence,
    definitions,
    headline,
    intervals_in_words,
    scope_in_words,
    sentence,
)
from activeeval.report.cautions import missing_fields, missing_lists
from activeeval.report.rendering import Cell
from activeeval.sampling.answers import SampleAnswer, answers, missing_lists_of
from activeeval.sampling.drawn_sample import DrawnSample
from activeeval.sampling.rounds import judged_rounds, round_answers
from activeeval.sampling.system_order import Place, places

Rows = list[dict[str, Cell]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimates:
    """Answers of a judged sample, or of several rounds.

    Attributes
    ----------
    answers : list of SampleAnswer
    notes : list of Note
    places : list of Place
        Possible ranks of each of more than two systems; [] for rounds.
    progress : Progress
        Numbers of items that are judged, waiting and unjudgeable.
    agreement : Agreement
        Numbers of items judged by several judges, and of those on which they agree.
    policy : str
        Rule for items with different grades by several judges.
    scope, kind : str
        The queries that the intervals are for ("pool" or "population"), and their kind ("t", "group-sequential").
    confidence : float
    model : str
        Name of the grade model of the draw, "" if unknown.
    goes_on : bool
        True if a sample with adaptive depth has another batch.
    n_unread : int
        Number of judged items that the estimates do not use; a note reports it.
    missing : list of Note
        Systems without a list for some queries; first in the headline.
    readings : int
        How often a topped-up sample was read at the ends of its budgets; intervals are adjusted for that number.
    """

    answers: list[SampleAnswer]
    notes: list[Note]
    places: list[Place]
    progress: Progress
    agreement: Agreement
    policy: str
    scope: str
    kind: str
    confidence: float
    model: str = ""
    goes_on: bool = False
    n_unread: int = 0
    missing: Sequence[Note] = ()
    readings: int = 1

    @property
    def headline(self) -> list[str]:
        """Sentences on missing lists, and on the possible winners among several systems, else differences or values."""
        return missing_lists(self.missing) + self._findings

    @property
    def _findings(self) -> list[str]:
        """Sentences on the possible winners of more than two systems, else on differences or values."""
        if not self.places:
            return headline([answer.finding for answer in self.answers])
        families: dict[tuple[str, str | None], list[Place]] = {}
        for place in self.places:
            families.setdefault((place.measure, place.segment), []).append(place)
        return [self._contest(family) for family in families.values()]

    def _contest(self, family: Sequence[Place]) -> str:
        """Write the sentence on the possible winners by one measure, in one segment or all queries.

        ``family`` has the possible ranks of each system by it.
        """
        first = family[0]
        pairs = [answer.finding for answer in self.answers if answer.shared and answer.segment == first.segment]
        pairs = [finding for finding in pairs if finding.measure == first.measure]
        n_decided = sum(finding.verdict in ("better", "worse") for finding in pairs)
        best = [place.system for place in family if place.ranks[0] == 1]
        measure = first.measure if first.segment is None else f"{first.measure} of {first.segment}"
        return contest_sentence(measure, best, len(family), n_decided, len(pairs))

    @property
    def footnotes(self) -> list[str]:
        """Definitions of measures and intervals, one sentence each."""
        notes = definitions((answer.target.name, str(answer.target.measure)) for answer in self.answers)
        about = scope_in_words(self.scope, self.answers[0].estimate.log if self.answers else "")
        intervals = intervals_in_words(f"{100 * self.confidence:g} %", self.kind, self.readings)
        notes.append(f"{intervals}, about {about}.")
        return notes + ([f"Grade model: {self.model.replace(GRADER, 'grader ')}."] if self.model else [])

    @classmethod
    def of(
        cls,
        read: Sequence[DrawnSample],
        answered: tuple[list[SampleAnswer], list[Note]],
        *,
        progress: Progress,
        agreement: Agreement,
        policy: str,
        scope: str,
        kind: str,
        confidence: float,
    ) -> Self:
        """Collect the answers and notes (``answered``) of the samples ``read``, with the systems' possible ranks.

        Several samples are rounds, in order. The other arguments become fields of the result: numbers of items and of
        agreeing judges, the rule for judges who differ, and scope, kind and confidence of the intervals.
        """
        answers, notes = answered
        n_unread = sum(sample.campaign.n_unread for sample in read)
        return cls(
            answers=answers,
            notes=notes + beyond(n_unread),
            places=places(read[0].systems, answers) if len(read) == 1 else [],
            progress=progress,
            agreement=agreement,
            policy=policy,
            scope=scope,
            kind=kind,
            confidence=confidence,
            model=read[0].model,
            goes_on=read[-1].campaign.goes_on,
            n_unread=n_unread,
            missing=missing_lists_of(read[0], answers),
            # intervals of rounds are not adjusted for readings, group-sequential ones need no adjustment
            readings=len(read[0].campaign.readings) if len(read) == 1 and kind != "group-sequential" else 1,
        )

    def rows(self, beside: Mapping[str, Cell] | None = None) -> Rows:
        """List a row for each answer and for each system's possible ranks; answers' rows get the columns ``beside``."""
        rows = [self.row(answer) | dict(beside or {}) for answer in self.answers]
        return rows + [_rank_row(place, self.confidence) for place in self.places]

    def row(self, answer: SampleAnswer) -> dict[str, Cell]:
        """Convert one answer to a row."""
        missing = missing_fields(self.missing, answer.system, answer.versus)
        return answer_row(answer, self.kind, self.progress) | missing | {"model": self.model}


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateRequest:
    """Questions and settings of an estimate from judged samples.

    Attributes
    ----------
    measures : sequence of str or measure
        By default those of the design.
    questions : sequence of {"difference", "run", "versus"}
        By default those of the design.
    contrasts : {"all", "first"} or None
        Pairs of more than two systems to compare.
    policy : {"refuse", "majority", "median", "mean-gain"}
        Rule for items with different grades by several judges.
    scope : {"pool", "population"}
        The queries that the intervals are for: these, or all that they are a sample of.
    kind : {"t", "group-sequential"}
        Kind of interval.
    confidence : float
    segments : str or Segments, optional
        A file of query_id and segment: one answer for each segment of each question.
    """

    measures: Sequence[Any] = ()
    questions: Sequence[str] = ()
    contrasts: str | None = None
    policy: str = "refuse"
    scope: str = "pool"
    kind: str = "t"
    confidence: float = 0.95
    segments: str | Segments | None = None


def estimate(
    rounds: Sequence[tuple[str, Sequence[str]]],
    request: EstimateRequest = EstimateRequest(),
    *,
    machine_is_truth: bool = False,
) -> Estimates:
    """Estimate the questions of one sample, or of several rounds together, from their judged sheets.

    Parameters
    ----------
    rounds : sequence of (str, sequence of str)
        File of each sample, and the files of its sheets, in the order of the rounds; from `rounds.by_round`.
    machine_is_truth : bool
        Accept grades of graders (LLMs or other models) as labels; see `activeeval.sampling.judged_samples.judged`.

    Raises
    ------
    InputError
        If a file is wrong or of another sample, or the sample does not support a question.
    StateError
        If no block (a part at whose end the sample can be read) is complete.
    """
    samples, progress, agreement = judged_rounds(rounds, request.policy, machine_is_truth=machine_is_truth)
    return estimate_judged(samples, progress, agreement, request)


def estimate_judged(
    samples: Sequence[DrawnSample],
    progress: Progress,
    agreement: Agreement,
    request: EstimateRequest = EstimateRequest(),
) -> Estimates:
    """Estimate the questions of samples that hold their judgments; several samples are rounds, in order.

    ``progress`` (numbers of judged, waiting and unjudgeable items) and ``agreement`` of the judges are passed on to the
    result. Raise StateError if no estimate is possible yet, InputError if the samples do not support a question.
    """
    wanted = (request.measures, request.questions, request.contrasts)
    how: dict[str, Any] = {"scope": request.scope, "confidence": request.confidence}
    if len(samples) > 1:
        answered = round_answers(samples, *wanted, **how)
    else:
        questions = samples[0].asked(*wanted)
        answered = answers(samples[0], questions, kind=request.kind, segments=request.segments, **how)
    settings = {"policy": request.policy, "kind": request.kind, **how}
    return Estimates.of(samples, answered, progress=progress, agreement=agreement, **settings)


def beyond(n_unread: int) -> list[Note]:
    """Build the note on judged items that estimates do not use; [] if there are none."""
    return [Note("judged beyond", {"n": n_unread})] if n_unread else []


def estimate_row(asked: Mapping[str, str], result: Estimate, interval: Interval, /, **more: Cell) -> dict[str, Cell]:
    """Build the row of an estimate: the fields of the question (``asked``) first, ``more`` columns after the interval.

    The ends of the interval are widened for items that cannot be judged: they allow for any grade.
    """
    low, high = result.bounds(interval)
    return {
        **asked,
        "scope": result.scope,
        **({"log": result.log} if result.log else {}),
        "value": result.value,
        "std_error": result.std_error,
        "low": low,
        "high": high,
        "confidence": interval.confidence,
        **more,
        "effective_sample_size": result.effective_sample_size,
        "queries": result.n_queries,
        "items": result.n_judged,
        "spent": result.cost,
        **({} if result.cannot is None else {"cannot_low": result.cannot.low, "cannot_high": result.cannot.high}),
    }


def asked_row(measure: Measure, question: str, system: str, versus: str) -> dict[str, str]:
    """Build the fields that identify a question; ``direction`` is "system − versus"."""
    fields = {"measure": shown_name(measure), "question": question, "system": system}
    return (
        fields
        | ({"versus": versus} if versus else {})
        | {"direction": direction(system, versus), "definition": str(measure)}
    )


def answer_row(answer: SampleAnswer, kind: str, progress: Progress) -> dict[str, Cell]:
    """Build the row of an answer: column names to values.

    ``kind`` is that of the interval, ``progress`` has numbers of judged, waiting and unjudgeable items. Differences
    among more than two systems include simultaneous intervals.
    """
    question = asked_row(answer.target.measure, answer.question, answer.system, answer.versus)
    more: dict[str, Cell] = {}
    if answer.shared is not None:
        low, high = answer.estimate.bounds(answer.shared.interval)
        more |= {"low_simultaneous": low, "high_simultaneous": high}
    more["p_value"] = answer.p_value if answer.question == "difference" else None
    more |= {} if answer.shared is None else {"p_holm": answer.shared.p_holm}
    more |= answer.finding.fields()
    more |= {} if answer.segment is None else {"segment": answer.segment}
    more |= {"half_width_at_end": answer.half_width_at_end if kind == "t" else None, "interval": kind}
    more |= {"method": answer.estimate.method, **progress._asdict(), "draws": answer.estimate.n_draws}
    return estimate_row(question, answer.estimate, answer.interval, **more) | {"sentence": sentence(answer.finding)}


def _rank_row(place: Place, confidence: float) -> dict[str, Cell]:
    """Build the row of a system's possible ranks by a measure: ``rank_from`` is the best, ``rank_to`` the worst."""
    named: dict[str, Cell] = {"measure": place.measure, "question": "rank", "system": place.system}
    named |= {} if place.segment is None else {"segment": place.segment}
    ranks = {"rank_from": place.ranks[0], "rank_to": place.ranks[1]}
    return {**named, "scope": place.scope, "confidence": confidence, **ranks}
