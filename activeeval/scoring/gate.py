"""Gate for scripts: decide whether a new run is worse than the old one, by complete judgments or a judged sample."""

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
from activeeval.formats.judgments.query_names import by_query_ids
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
    """Decision on the difference new − old by one measure.

    Attributes
    ----------
    measure : Measure
    system, versus : str
        Names of the new and the old run.
    estimate : Estimate
        Estimate of new − old.
    interval : Interval
        With several measures, at the confidence that Holm's method assigns; see `significance.holm_confidences`.
    p_value, p_holm : float
        p value of the t test for a difference of 0, and the same adjusted for the number of measures.
    margin : float
        Largest difference that is irrelevant, in the unit of the measure.
    other : Estimate or None
        Estimate for the scope that does not decide.
    same_lists : bool
        True if no label can change the difference.
    needed, other_needed : MoreNeeded or None
        If undecided: the budget or number of queries that should decide it if the difference stays the same; None if
        unknown.
    other_interval : Interval or None
        Interval of ``other`` if it differs from its own at the same confidence, as for repeated readings of a sample.
    readings : int
        Number of readings of the sample (interim analyses); after each but the last more items were sampled.
    queries : QueryValues or None
        Values of both runs query by query; None if no list differs.
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
        """Display name of the measure."""
        return shown_name(self.measure)

    @property
    def finding(self) -> Answer:
        """The decision as an Answer, with that of the other scope beside it."""
        answer = Answer.of(self.estimate, self.interval, p_value=self.p_holm, needed=self.needed, **self._names)
        if self.other is None:
            return answer
        beside = self.other_interval or self.other.interval(self.interval.confidence)
        other = Answer.of(self.other, beside, p_value=self.other.p_value, needed=self.other_needed, **self._names)
        return answer.with_other(other)

    @property
    def _names(self) -> dict[str, Any]:
        """Keyword arguments shared by the answers of both scopes."""
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
        """Verdict: equal, worse, equivalent, better, not worse or undecided; see `verdict_of`."""
        return self.finding.verdict

    @property
    def is_open_by_cannot(self) -> bool:
        """True if only the items that could not be judged leave the difference undecided."""
        estimate, ends = self.estimate, self.interval
        alone = verdict_of(estimate.value, ends.low, ends.high, self.margin, scope=estimate.scope)
        return self.verdict == "undecided" and alone != "undecided"

    @property
    def obstacle(self) -> Note:
        """Note on why no budget or number of queries is known that would decide it."""
        if self.is_open_by_cannot:
            return Note("open by cannot")
        if not self.finding.is_bounded:
            return Note("nothing bounded")
        wanted = wanted_half_width(self.estimate.value, self.margin)
        return Note("outlook unknown" if self.estimate.n_open and wanted else "margin needed")


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRequest:
    """Parameters of the gate.

    Attributes
    ----------
    measures : sequence of str
        For a sample any that it supports; () means those of its design.
    margin : float
        Largest difference that is irrelevant, in the unit of the measure; not negative.
    confidence : float
    scope : {"pool", "population"}
        Scope that decides.
    names : sequence of str
        Names of the new and the old run; by default those of their files, or those in the sample.
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
    """Build one row for each decision, with Holm's p value for several measures; ``notes`` are those of a sample."""
    rows = []
    for decision in decisions:
        more: dict[str, Cell] = {"p_value": decision.p_value}
        more |= {"p_holm": decision.p_holm} if len(decisions) > 1 else {}
        more |= decision.finding.fields()
        budget, queries = (None, None) if (needed := decision.needed) is None else (needed.budget, needed.queries)
        more |= {"margin": decision.margin, "more_budget": budget, "more_queries": queries}
        question = asked_row(decision.measure, "difference", decision.system, decision.versus)
        row = estimate_row(question, decision.estimate, decision.interval, **more)
        all_notes = (*notes, *decision.estimate.notes)
        row |= missing_fields(all_notes, decision.system, decision.versus)
        row |= no_relevant_fields(all_notes)
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
    """Decide each measure by judgments: by all of them, or by a simulated sample of them within a budget.

    Parameters
    ----------
    judgments, old, new : str
        Files.
    say : callable
        Called with each note on the judgments.
    machine_is_truth : bool
        Accept graders' grades as labels.
    options
        See `activeeval.compare`.
    """
    source, options["queries"] = by_query_ids(judgments, options.get("queries"), machine_is_truth=machine_is_truth)
    labels = labels_of(source, machine_is_truth=machine_is_truth)
    after, before = load_run(new), load_run(old)
    for note in labels.notes:
        if not isinstance(note, Caution):  # cautions are part of each decision
            say(note)
    system_pair = request.names or system_names([after.name, before.name], [after.source, before.source])
    options |= {"names": system_pair[::-1], "ties": request.ties}
    estimates: list[_ScopeEstimates] = []
    queries = []
    for text in request.measures:
        measure = sampled_measure(text)
        try:
            answer = compare(before, after, judgments=labels, measure=measure, **options)
        except BudgetError as problem:
            raise InputError(f"{text}: {problem}", field="budget") from None
        estimate, other = answer.of(request.scope), answer.of(other_scope(request.scope))
        read = _ScopeEstimates(
            measure, system_pair[0], system_pair[1], estimate, other, answer.same_lists, estimate.p_value
        )
        estimates.append(read)
        queries.append(answer.queries)
    decisions = _decided(estimates, request)
    decisions = [replace(decision, queries=values) for decision, values in zip(decisions, queries, strict=True)]
    return [_with_queries(decision) for decision in decisions] if options.get("budget") is None else decisions


def by_sample(sample: DrawnSample, old: str, new: str, request: GateRequest) -> tuple[list[Decision], list[Note]]:
    """Decide each measure by a judged sample; also return notes on missing and cut lists.

    Parameters
    ----------
    sample : DrawnSample
        As returned by `activeeval.sampling.judged_samples.judged`.

    Raises
    ------
    InputError
        If the sample was not drawn for these runs.
    """
    ties, named = request.ties, request.names
    questions = sample.asked(request.measures, ["difference"], "all" if sample.is_contest else None)
    if sample.is_contest:
        questions = _between(questions, {path: _ranking(path, sample.depth, ties) for path in (new, old)})
    if _is_turned(questions[0].target, old, new, sample.depth, ties):
        questions = [question.turned for question in questions]
    if named:
        questions = [question._replace(system=named[0], versus=named[1]) for question in questions]
    estimates = [_read(sample, question, request.scope) for question in questions]
    decisions = [
        replace(
            _with_repeated_readings(decision, sample, question.target),
            queries=values_of_sample(sample.campaign, question.target),
        )
        for decision, question in zip(_decided(estimates, request), questions, strict=True)
    ]
    return decisions, missing_lists_of(sample, questions) + cut_notes(sample, questions)


class _ScopeEstimates(NamedTuple):
    """Estimates of a difference for the scope that decides and for the other one."""

    measure: Measure
    system: str
    versus: str
    estimate: Estimate
    other: Estimate
    same_lists: bool
    p_value: float


def _read(sample: DrawnSample, question: QuestionTarget, scope: str) -> _ScopeEstimates:
    """Estimate a difference from a judged sample, for both scopes."""
    target = question.target
    estimate, other = (sample.estimate(target, about) for about in (scope, other_scope(scope)))
    p_value = sample.campaign.p_value_now(estimate.p_value, target, scope=scope)
    return _ScopeEstimates(
        target.measure, question.system, question.versus, estimate, other, not target.matters.any(), p_value
    )


def _decided(estimates: Sequence[_ScopeEstimates], request: GateRequest) -> list[Decision]:
    """Turn estimates into decisions, with Holm's correction for several measures."""
    names = [str(read.measure) for read in estimates]
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise InputError(f"the measure {twice} is given twice, expected each once: Holm's method counts them")
    p_values = [read.p_value for read in estimates]
    adjusted = zip(estimates, holm(p_values), holm_confidences(p_values, request.confidence), strict=True)
    return [
        Decision(
            **read._asdict(),
            interval=read.estimate.interval(float(shared)),
            p_holm=float(p_holm),
            margin=request.margin,
        )
        for read, p_holm, shared in adjusted
    ]


def _with_queries(decision: Decision) -> Decision:
    """Add to a decision by all judgments the number of queries that would decide it."""
    parts: dict[str, Any] = {"needed": needed_of_queries(decision.estimate, decision.interval, decision.margin)}
    if decision.other is not None:
        beside = decision.other.interval(decision.interval.confidence)
        parts["other_needed"] = needed_of_queries(decision.other, beside, decision.margin)
    return replace(decision, **parts)


def _with_repeated_readings(decision: Decision, sample: DrawnSample, target: Target) -> Decision:
    """Adjust a decision's intervals for repeated readings of the sample, and add the budget that would decide it."""
    confidence = decision.interval.confidence
    parts: dict[str, Any] = {"readings": len(sample.campaign.readings)}
    for name, estimate in (("", decision.estimate), ("other_", decision.other)):
        if estimate is not None:
            adjusted = sample.campaign.confidence_now(confidence, target, scope=estimate.scope)
            interval = replace(estimate.interval(adjusted), confidence=confidence)
            needed = needed_of_sample(sample.campaign, target, estimate, interval, decision.margin)
            parts |= {f"{name}interval": interval, f"{name}needed": needed}
    return replace(decision, **parts)


def _is_turned(target: Target, old: str, new: str, depth: int | None, ties: str) -> bool:
    """Check whether a sample's difference is old − new; raise InputError if it is of other runs."""
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


def _between(questions: Sequence[QuestionTarget], runs: Mapping[str, Rankings]) -> list[QuestionTarget]:
    """Select the differences of two runs among those of many systems; raise InputError if there are none."""
    lists = {question.system: question.target.ranking for question in questions}
    lists |= {question.versus: question.target.other for question in questions}
    names = {}
    for path, run in runs.items():
        names[path] = next((name for name, ranking in lists.items() if not _where_unlike(run, ranking)), "")
        if not names[path]:
            raise InputError(f"{path} is no run that the sample was drawn for: {', '.join(lists)}")
    between = [question for question in questions if {question.system, question.versus} == set(names.values())]
    if not between:
        raise InputError(f"{' and '.join(runs)}: one and the same run of those that the sample was drawn for")
    return between


def _ranking(path: str, depth: int | None, ties: str) -> Rankings:
    """Load a run as a ranking of its own pool, cut at `depth`."""
    ranking = pool_from_tables(None, [load_run(path)], evaluated=1, ties=ties).rankings[0]
    return ranking if depth is None else ranking.cut_at(depth)


def _where_unlike(run: Rankings, expected_run: Rankings) -> str:
    """Describe the first place where a run's list differs from a ranking, "" if none; other queries do not count."""
    places = {name: q for q, name in enumerate(run.pool.query_texts)}
    for q, name in enumerate(expected_run.pool.query_texts):
        expected, actual = _ids_of(expected_run, q), _ids_of(run, places[name]) if name in places else []
        if expected != actual:
            rank = next((k for k, pair in enumerate(zip(expected, actual, strict=False)) if len(set(pair)) > 1), None)
            if rank is None:
                return f"its list of query {name!r} has {counted(len(actual), 'document')}, expected {len(expected)}"
            return f"at rank {rank + 1} of query {name!r} it has {actual[rank]!r}, expected {expected[rank]!r}"
    return ""


def _ids_of(ranking: Rankings, query: int) -> list[str]:
    """List the document ids of a query's ranking, in order."""
    items = ranking.items[ranking.offsets[query] : ranking.offsets[query + 1]]
    ids: list[str] = ranking.pool.item_texts[items].tolist()
    return ids
