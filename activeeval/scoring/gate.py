"""Gate for scripts: decide whether a new run is worse than the old one, by complete judgments or a judged sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from activeeval.core.campaign.more_needed import needed_of_sample
from activeeval.core.errors import BudgetError, InputError
from activeeval.core.measures import Target
from activeeval.core.pool import Rankings
from activeeval.core.results import Caution, Note
from activeeval.formats.judgments.from_files import labels_of
from activeeval.formats.loading import load_run, pool_from_tables
from activeeval.formats.reading_rules import reading
from activeeval.formats.suffixes import check_one_stdin
from activeeval.inputs.loading import sampled_measure
from activeeval.inputs.systems import QuestionTarget, system_names
from activeeval.report.numbers import counted
from activeeval.sampling.answers import cut_notes, missing_lists_of, other_scope
from activeeval.sampling.drawn_sample import DrawnSample
from activeeval.sampling.query_values import values_of_sample
from activeeval.scoring.active_evaluation import Options, compare
from activeeval.scoring.decisions import Decision, GateRequest, ScopeEstimates, decided, decided_by_queries
from activeeval.scoring.run_scores import gains_note

_OF_READING = ("read as", "index column", "collapsed", "own documents", "own left out")
"""Codes of notes on how runs are read; other notes of runs are part of the estimates."""


@reading(gains=True)
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
    request : GateRequest
        Measures, margin, confidence and scope.
    say : callable
        Called with each note on the judgments.
    machine_is_truth : bool
        Accept graders' grades as labels.
    options
        Budget, method, max_grade, overhead, unjudged, no_relevant, queries and rng; see `active_evaluation.Options`.

    Raises
    ------
    InputError
        If a file is wrong, a needed item is not judged, or the budget is too small.
    """
    check_one_stdin([judgments, old, new])
    labels = labels_of(judgments, machine_is_truth=machine_is_truth)
    after, before = load_run(new), load_run(old)
    of_runs = [note for run in (after, before) for note in run.notes if note.code in _OF_READING]
    of_gains = () if labels.gains is None else (gains_note(labels),)
    for note in (*labels.notes, *of_gains, *of_runs):
        if not isinstance(note, Caution):  # cautions are part of each decision
            say(note)
    system_pair = request.names or system_names([after.name, before.name], [after.source, before.source])
    options |= {"names": system_pair[::-1], "ties": request.ties}
    estimates: list[ScopeEstimates] = []
    queries = []
    for text in request.measures:
        measure = sampled_measure(text)
        try:
            answer = compare(before, after, judgments=labels, measure=measure, **options)
        except BudgetError as problem:
            raise InputError(f"{text}: {problem}", field="budget") from None
        estimate, other = answer.of(request.scope), answer.of(other_scope(request.scope))
        read = ScopeEstimates(
            measure, system_pair[0], system_pair[1], estimate, other, answer.same_lists, estimate.p_value
        )
        estimates.append(read)
        queries.append(answer.queries)
    return decided_by_queries(estimates, queries, request, can_add=options.get("budget") is None)


def by_sample(sample: DrawnSample, old: str, new: str, request: GateRequest) -> tuple[list[Decision], list[Note]]:
    """Decide by a judged sample, for each measure, whether the new run is worse than the old one.

    Return the decisions, and notes on queries without a list and on lists that end above the depth of a measure.

    Parameters
    ----------
    sample : DrawnSample
        With its judgments.
    old, new : str
        Files of the runs; they must equal two of the rankings that the sample was drawn for.
    request : GateRequest
        Measures (() for those of the sample), margin, confidence and scope.

    Raises
    ------
    InputError
        If the sample was not drawn for these runs.
    """
    # a contest is a sample for more than two systems; a turned question subtracts the same two runs the other way
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
        for decision, question in zip(decided(estimates, request), questions, strict=True)
    ]
    return decisions, missing_lists_of(sample, questions) + cut_notes(sample, questions)


def _read(sample: DrawnSample, question: QuestionTarget, scope: str) -> ScopeEstimates:
    """Estimate a difference from a judged sample, for ``scope``, which decides, and for the other one.

    Scopes are "pool" (these queries) and "population" (all queries that these are a sample of).
    """
    target = question.target
    estimate, other = (sample.estimate(target, about) for about in (scope, other_scope(scope)))
    p_value = sample.campaign.p_value_now(estimate.p_value, target, scope=scope)  # adjusted for repeated readings
    return ScopeEstimates(
        target.measure, question.system, question.versus, estimate, other, not target.matters.any(), p_value
    )


def _with_repeated_readings(decision: Decision, sample: DrawnSample, target: Target) -> Decision:
    """Adjust a decision's intervals for repeated readings of the sample, and add the budget that would decide it.

    After several readings (interim analyses) intervals are computed at a higher confidence, so that all readings
    together have the requested one; the fields are set for the deciding scope and, with ``other_``, for the other one.
    """
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
    """Check whether a sample's difference is old − new; raise InputError if it is of other runs.

    The runs are read from the files ``old`` and ``new`` and cut at rank ``depth``; ``ties`` is the order of equal
    scores. The sample's difference is its first ranking − its second; ``differs`` has the first place where a file
    differs from one of them, "" if they are equal.
    """
    lists = {"first": target.ranking, "second": target.other}
    runs = {path: _ranking(path, depth, ties) for path in (new, old)}
    differs = {(path, which): _where_unlike(run, lists[which]) for path, run in runs.items() for which in lists}
    for first, second in ((new, old), (old, new)):
        if not differs[first, "first"] and not differs[second, "second"]:  # the sample's difference is first − second
            return first == old
    for path in (new, old):
        if differs[path, "first"] and differs[path, "second"]:
            raise InputError(f"{path} is no run that the sample was drawn for: {differs[path, 'first']}")
    raise InputError(f"{old} and {new} are one and the same run of the two that the sample was drawn for")


def _between(questions: Sequence[QuestionTarget], runs: Mapping[str, Rankings]) -> list[QuestionTarget]:
    """Select the differences of two runs (rankings by file) among those of many systems; InputError if there are none.

    The systems are found by their lists, as files may have been renamed.
    """
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
    """Load a run as a ranking of its own pool, cut at rank `depth`; `ties` is the order of equal scores."""
    ranking = pool_from_tables(None, [load_run(path)], evaluated=1, ties=ties).rankings[0]
    return ranking if depth is None else ranking.cut_at(depth)


def _where_unlike(run: Rankings, expected_run: Rankings) -> str:
    """Describe the first place where a run's list differs from a ranking, "" if none.

    Queries that only the run has do not count: ``expected_run`` has those of the sample.
    """
    numbers = {name: q for q, name in enumerate(run.pool.query_texts)}
    for q, name in enumerate(expected_run.pool.query_texts):
        expected, actual = _ids_of(expected_run, q), _ids_of(run, numbers[name]) if name in numbers else []
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
