"""A gate for scripts: is the new run worse than the old one, by judgments that are complete or by a judged sample?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Unpack

from activeeval.core.answers import Answer, MoreNeeded, verdict_of, wanted_half_width
from activeeval.core.campaign.more_needed import needed_of_queries, needed_of_sample
from activeeval.core.errors import BudgetError, InputError
from activeeval.core.estimation.significance import holm, holm_confidences
from activeeval.core.measures import Measure, Target, shown_name
from activeeval.core.pool import Rankings
from activeeval.core.results import Caution, Estimate, Interval, Note
from activeeval.formats.judgments.from_files import labels_of
from activeeval.formats.loading import load_run, pool_from_tables
from activeeval.inputs.loading import sampled_measure
from activeeval.inputs.systems import QuestionTarget, system_names
from activeeval.report.answer_sentences import sentence
from activeeval.report.cautions import missing_fields, no_relevant_fields
from activeeval.report.numbers import counted
from activeeval.report.rendering import Cell
from activeeval.sampling.answers import cut_notes, missing_lists_of, other_scope
from activeeval.sampling.drawn_sample import DrawnSample
from activeeval.sampling.estimate import asked_row, estimate_row
from activeeval.sampling.query_values import QueryValues, values_of_sample
from activeeval.scoring.active_evaluation import Options, compare


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What one measure says of the new run, less the old one.

    Attributes
    ----------
    measure : Measure
    system, versus : str
        What the new run and the old one are called.
    estimate : Estimate
        Of new − old.
    interval : Interval
        Of several measures each at the confidence that Holm's method gives it; see `significance.holm_confidences`.
    p_value, p_holm : float
        Of the t test that the difference is 0, alone and adjusted for the number of measures.
    margin : float
        The largest difference that does not matter, in the unit of the measure.
    other : Estimate or None
        The same for the scope that does not decide.
    same_lists : bool
        Whether no label can change the difference.
    needed, other_needed : Needed or None
        Where undecided: what should decide it, if the difference stays as it is; None where that is not known.
    other_interval : Interval or None
        Of ``other``, where it is not its own at the same confidence: all readings of a sample share one.
    readings : int
        Of the sample, by each of which a top-up followed but the last.
    queries : QueryValues or None
        The values of both runs query by query; None where no list differs.
    """

    measure: Measure
    system: str
    versus: str
    estimate: Estimate
    interval: Interval
    p_value: float
    p_holm: float
    margin: float
    other: Estimate | None = None
    same_lists: bool = False
    needed: MoreNeeded | None = None
    other_interval: Interval | None = None
    other_needed: MoreNeeded | None = None
    readings: int = 1
    queries: QueryValues | None = None

    @property
    def name(self) -> str:
        """How the measure is shown."""
        return shown_name(self.measure)

    @property
    def finding(self) -> Answer:
        """What is told of it."""
        answer = Answer.of(self.estimate, self.interval, p_value=self.p_holm, needed=self.needed, **self._names)
        if self.other is None:
            return answer
        beside = self.other_interval or self.other.interval(self.interval.confidence)
        other = Answer.of(self.other, beside, p_value=self.other.p_value, needed=self.other_needed, **self._names)
        return answer.with_other(other)

    @property
    def _names(self) -> dict[str, Any]:
        return {
            "system": self.system,
            "versus": self.versus,
            "measure": self.name,
            "margin": self.margin,
            "same_lists": self.same_lists,
            **({"n_items": None} if getattr(self.measure, "is_judged_whole", False) else {}),
        }

    @property
    def verdict(self) -> str:
        """By `activeeval.core.answers.verdict_of`."""
        return self.finding.verdict

    @property
    def is_open_by_cannot(self) -> bool:
        """Whether it is the items that could not be judged that leave it undecided."""
        estimate, ends = self.estimate, self.interval
        alone = verdict_of(estimate.value, ends.low, ends.high, self.margin, scope=estimate.scope)
        return self.verdict == "undecided" and alone != "undecided"

    @property
    def obstacle(self) -> Note:
        """Why nothing is named that would decide it."""
        if self.is_open_by_cannot:
            return Note("open by cannot")
        if not self.finding.is_bounded:
            return Note("nothing bounded")
        wanted = wanted_half_width(self.estimate.value, self.margin)
        return Note("outlook unknown" if self.estimate.n_open and wanted else "margin needed")


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRequest:
    """What the gate is asked.

    Attributes
    ----------
    measures : sequence of str
        Of a sample any that it reaches, without one those that it was made for.
    margin : float
        The largest difference that does not matter, in the unit of the measure; not negative.
    confidence : float
    scope : {"pool", "population"}
        The one that decides.
    names : sequence of str
        What the new run and the old one are called; by default their files, or as when the sample was drawn.
    ties : {"id", "rank", "input"}
        Order of equal scores.
    """

    measures: Sequence[str] = ()
    margin: float = 0.0
    confidence: float = 0.95
    scope: str = "population"
    names: Sequence[str] = ()
    ties: str = "id"


def rows_of(decisions: Sequence[Decision], notes: Sequence[Note | Caution] = ()) -> list[dict[str, Cell]]:
    """Return each decision as a row; of several measures with the p value by Holm's method.

    Parameters
    ----------
    notes : sequence
        Of the lists of a sample; those of judgments are with each estimate.
    """
    rows = []
    for decision in decisions:
        more: dict[str, Cell] = {"p_value": decision.p_value}
        more |= {"p_holm": decision.p_holm} if len(decisions) > 1 else {}
        more |= decision.finding.fields()
        budget, queries = (None, None) if (needed := decision.needed) is None else (needed.budget, needed.queries)
        more |= {"margin": decision.margin, "more_budget": budget, "more_queries": queries}
        asked = asked_row(decision.measure, "difference", decision.system, decision.versus)
        row = estimate_row(asked, decision.estimate, decision.interval, **more)
        known = (*notes, *decision.estimate.notes)
        row |= missing_fields(known, decision.system, decision.versus)
        row |= no_relevant_fields(known)
        rows.append({"measure": decision.name, **row, "sentence": sentence(decision.finding)})
    return rows


def by_judgments(
    judgments: str,
    old: str,
    new: str,
    request: GateRequest,
    *,
    say: Callable[[Note | Caution], object] = lambda note: None,
    machine_is_truth: bool = False,
    **options: Unpack[Options],
) -> list[Decision]:
    """Return the decision of each measure by judgments: by all of them, or by what a budget would have looked up.

    Parameters
    ----------
    judgments, old, new : str
        Files.
    say : callable
        Takes what to know of the judgments.
    machine_is_truth : bool
        Take what machines say for labels.
    options
        As `activeeval.compare` takes them.
    """
    labels = labels_of(judgments, machine_is_truth=machine_is_truth)
    after, before = load_run(new), load_run(old)
    for note in labels.notes:
        if not isinstance(note, Caution):  # of which each decision says it
            say(note)
    called = request.names or system_names([after.name, before.name], [after.source, before.source])
    options |= {"names": called[::-1], "ties": request.ties}
    estimates: list[_ScopeEstimates] = []
    queries = []
    for text in request.measures:
        measure = sampled_measure(text)
        try:
            answer = compare(before, after, judgments=labels, measure=measure, **options)
        except BudgetError as problem:
            raise InputError(f"{text}: {problem}", field="budget") from None
        estimate, other = answer.of(request.scope), answer.of(other_scope(request.scope))
        read = _ScopeEstimates(measure, called[0], called[1], estimate, other, answer.same_lists, estimate.p_value)
        estimates.append(read)
        queries.append(answer.queries)
    decisions = _decided(estimates, request)
    decisions = [replace(decision, queries=each) for decision, each in zip(decisions, queries, strict=True)]
    return [_with_queries(decision) for decision in decisions] if options.get("budget") is None else decisions


def by_sample(sample: DrawnSample, old: str, new: str, request: GateRequest) -> tuple[list[Decision], list[Note]]:
    """Return the decision of each measure by a judged sample, and what to know of its lists.

    Parameters
    ----------
    sample : DrawnSample
        As `activeeval.sampling.judged_samples.judged` returns it.

    Raises
    ------
    InputError
        Where the runs are not those that it was drawn for.
    """
    ties, named = request.ties, request.names
    asked = sample.asked(request.measures, ["difference"], "all" if sample.is_contest else None)
    if sample.is_contest:
        asked = _between(asked, {path: _ranking(path, sample.depth, ties) for path in (new, old)})
    if _is_turned(asked[0].target, old, new, sample.depth, ties):
        asked = [each.turned for each in asked]
    asked = [each._replace(system=named[0], versus=named[1]) for each in asked] if named else asked
    estimates = [_read(sample, each, request.scope) for each in asked]
    decisions = _decided(estimates, request)
    grown = [
        replace(_after_looks(decision, sample, each.target), queries=values_of_sample(sample.campaign, each.target))
        for decision, each in zip(decisions, asked, strict=True)
    ]
    return grown, missing_lists_of(sample, asked) + cut_notes(sample, asked)


class _ScopeEstimates(NamedTuple):
    """The estimates of a difference: of the scope that decides, and of the other one."""

    measure: Measure
    system: str
    versus: str
    estimate: Estimate
    other: Estimate
    same_lists: bool
    p_value: float


def _read(sample: DrawnSample, asked: QuestionTarget, scope: str) -> _ScopeEstimates:
    """Read a difference from a judged sample, for both scopes."""
    target = asked.target
    estimate, other = (sample.estimate(target, about) for about in (scope, other_scope(scope)))
    p_value = sample.campaign.p_value_now(estimate.p_value, target, scope=scope)
    return _ScopeEstimates(
        target.measure, asked.system, asked.versus, estimate, other, not target.matters.any(), p_value
    )


def _decided(estimates: Sequence[_ScopeEstimates], request: GateRequest) -> list[Decision]:
    names = [str(read.measure) for read in estimates]
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise InputError(f"the measure {twice} is given twice, expected each once: Holm's method counts them")
    p_values = [read.p_value for read in estimates]
    together = zip(estimates, holm(p_values), holm_confidences(p_values, request.confidence), strict=True)
    return [
        Decision(
            **read._asdict(),
            interval=read.estimate.interval(float(shared)),
            p_holm=float(adjusted),
            margin=request.margin,
        )
        for read, adjusted, shared in together
    ]


def _with_queries(decision: Decision) -> Decision:
    """Return a decision by all judgments with what would decide it: more queries alone."""
    parts: dict[str, Any] = {"needed": needed_of_queries(decision.estimate, decision.interval, decision.margin)}
    if decision.other is not None:
        beside = decision.other.interval(decision.interval.confidence)
        parts["other_needed"] = needed_of_queries(decision.other, beside, decision.margin)
    return replace(decision, **parts)


def _after_looks(decision: Decision, sample: DrawnSample, target: Target) -> Decision:
    """Return a decision by a sample with the intervals that all its readings share, and what would decide it."""
    confidence = decision.interval.confidence
    parts: dict[str, Any] = {"readings": len(sample.campaign.readings)}
    for name, estimate in (("", decision.estimate), ("other_", decision.other)):
        if estimate is not None:
            each = sample.campaign.confidence_now(confidence, target, scope=estimate.scope)
            interval = replace(estimate.interval(each), confidence=confidence)
            needed = needed_of_sample(sample.campaign, target, estimate, interval, decision.margin)
            parts |= {f"{name}interval": interval, f"{name}needed": needed}
    return replace(decision, **parts)


def _is_turned(target: Target, old: str, new: str, depth: int | None, ties: str) -> bool:
    """Return whether a sample's difference is old − new; raise InputError where it is of other runs."""
    lists = {"first": target.ranking, "second": target.other}
    runs = {path: _ranking(path, depth, ties) for path in (new, old)}
    differs = {(path, which): _where_unlike(run, lists[which]) for path, run in runs.items() for which in lists}
    for first, second in ((new, old), (old, new)):
        if not differs[first, "first"] and not differs[second, "second"]:
            return first == old
    for path in (new, old):
        if differs[path, "first"] and differs[path, "second"]:
            raise InputError(f"{path} is no run that the sample was drawn for: {differs[path, 'first']}")
    raise InputError(f"{old} and {new} are one and the same run of the two that the sample was drawn for")


def _between(asked: Sequence[QuestionTarget], runs: Mapping[str, Rankings]) -> list[QuestionTarget]:
    """Return the differences of two runs among those of many systems."""
    lists = {each.system: each.target.ranking for each in asked} | {each.versus: each.target.other for each in asked}
    names = {}
    for path, run in runs.items():
        names[path] = next((name for name, ranking in lists.items() if not _where_unlike(run, ranking)), "")
        if not names[path]:
            raise InputError(f"{path} is no run that the sample was drawn for: {', '.join(lists)}")
    between = [each for each in asked if {each.system, each.versus} == set(names.values())]
    if not between:
        raise InputError(f"{' and '.join(runs)}: one and the same run of those that the sample was drawn for")
    return between


def _ranking(path: str, depth: int | None, ties: str) -> Rankings:
    ranking = pool_from_tables(None, [load_run(path)], evaluated=1, ties=ties).rankings[0]
    return ranking if depth is None else ranking.cut_at(depth)


def _where_unlike(run: Rankings, expected_run: Rankings) -> str:
    """Return where a run's list is not that of a ranking; queries that the ranking's pool lacks do not count."""
    places = {name: q for q, name in enumerate(run.pool.query_texts)}
    for q, name in enumerate(expected_run.pool.query_texts):
        expected, seen = _ids_of(expected_run, q), _ids_of(run, places[name]) if name in places else []
        if expected != seen:
            rank = next((k for k, pair in enumerate(zip(expected, seen, strict=False)) if len(set(pair)) > 1), None)
            if rank is None:
                return f"its list of query {name!r} has {counted(len(seen), 'document')}, expected {len(expected)}"
            return f"at rank {rank + 1} of query {name!r} it has {seen[rank]!r}, expected {expected[rank]!r}"
    return ""


def _ids_of(ranking: Rankings, query: int) -> list[str]:
    items = ranking.items[ranking.offsets[query] : ranking.offsets[query + 1]]
    ids: list[str] = ranking.pool.item_texts[items].tolist()
    return ids
