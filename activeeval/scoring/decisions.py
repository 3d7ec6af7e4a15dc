"""Decisions on the difference of two runs: whether the new one is worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from activeeval.core.answers import Answer, MoreNeeded, verdict_of, wanted_half_width
from activeeval.core.campaign.more_needed import needed_of_queries
from activeeval.core.errors import InputError
from activeeval.core.estimation.significance import holm, holm_confidences
from activeeval.core.measures import Measure, shown_name
from activeeval.core.results import Caution, Estimate, Interval, Note
from activeeval.report.answer_sentences import sentence
from activeeval.report.cautions import missing_fields, no_relevant_fields
from activeeval.report.rendering import Cell
from activeeval.sampling.estimate import asked_row, estimate_row
from activeeval.sampling.query_values import QueryValues


@dataclass(frozen=True, slots=True)
class QueryMetric:
    """A metric whose value of each query was computed elsewhere.

    Attributes
    ----------
    label : str
        Its name; with a minus before it, lower values are better, and values are negated.
    is_judged_whole : bool
        True: all items of a query are judged together, so that no number of judgments is reported.
    """

    label: str
    is_judged_whole: bool = True

    def __str__(self) -> str:
        """Format as the label."""
        return self.label


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
        """Keyword arguments shared by the answers of both scopes.

        Without ``n_items`` an answer reports no number of judgments, as for measures whose queries are judged whole.
        ``is_constant`` says that an interval of width 0 comes from equal values, not from equal lists.
        """
        return {
            "system": self.system,
            "versus": self.versus,
            "measure": self.name,
            "margin": self.margin,
            "same_lists": self.same_lists,
            **({"n_items": None} if getattr(self.measure, "is_judged_whole", False) else {}),
            "is_constant": self.same_lists and isinstance(self.measure, QueryMetric),
        }

    @property
    def verdict(self) -> str:
        """Verdict: equal, worse, equivalent, better, not worse or undecided; see `verdict_of`."""
        return self.finding.verdict

    @property
    def is_open_by_cannot(self) -> bool:
        """True if only the items that could not be judged leave the difference undecided.

        The verdict widens the interval by the possible values of these items; the interval alone would decide.
        """
        estimate, ends = self.estimate, self.interval
        alone = verdict_of(estimate.value, ends.low, ends.high, self.margin, scope=estimate.scope)
        return self.verdict == "undecided" and alone != "undecided"

    @property
    def obstacle(self) -> Note:
        """Note on why no budget or number of queries is known that would decide it.

        The reasons in order: items that could not be judged (their values stay open), no interval (nothing bounds the
        value), no prediction for the open items, or a difference so small that only a margin can decide.
        """
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
    """Build one row for each decision, with Holm's p value for several measures.

    ``notes`` of a sample, and those of the estimates, add columns on missing lists and queries without a relevant
    document.
    """
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


class ScopeEstimates(NamedTuple):
    """Estimates of a difference for the scope that decides and for the other one.

    Attributes
    ----------
    measure : Measure
    system, versus : str
        Names of the new run and of the old one, which is subtracted.
    estimate, other : Estimate
        For the scope that decides, and for the other scope (None if unknown); scopes are "pool", these queries, and
        "population", queries like these.
    same_lists : bool
        True if no label can change the difference.
    p_value : float
        p value of ``estimate`` for a difference of 0.
    """

    measure: Measure
    system: str
    versus: str
    estimate: Estimate
    other: Estimate | None
    same_lists: bool
    p_value: float


def decided(estimates: Sequence[ScopeEstimates], request: GateRequest) -> list[Decision]:
    """Turn estimates of several measures into decisions, with Holm's correction.

    ``request`` has the confidence of all intervals together, and the margin. Raise InputError if a measure is there
    twice.
    """
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
    """Add to a decision by all judgments the number of further queries that would decide it, for both scopes."""
    parts: dict[str, Any] = {"needed": needed_of_queries(decision.estimate, decision.interval, decision.margin)}
    if decision.other is not None:
        beside = decision.other.interval(decision.interval.confidence)
        parts["other_needed"] = needed_of_queries(decision.other, beside, decision.margin)
    return replace(decision, **parts)


def decided_by_queries(
    estimates: Sequence[ScopeEstimates],
    queries: Sequence[QueryValues | None],
    request: GateRequest,
    *,
    can_add: bool = True,
) -> list[Decision]:
    """Turn estimates into decisions with their values query by query.

    Parameters
    ----------
    estimates : sequence of ScopeEstimates
        One for each measure.
    queries : sequence of QueryValues or None
        Values of both runs by each measure, query by query; None if no list differs.
    request : GateRequest
        Confidence of all intervals together, and margin.
    can_add : bool
        Add to each undecided one the number of queries that would decide it.
    """
    decisions = [
        replace(decision, queries=values) for decision, values in zip(decided(estimates, request), queries, strict=True)
    ]
    return [_with_queries(decision) for decision in decisions] if can_add else decisions
