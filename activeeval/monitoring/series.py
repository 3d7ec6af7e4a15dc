"""Estimate nights: values, and tonight minus the previous night and the reference, with verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from activeeval.campaigns.estimates_over_time import answer_of
from activeeval.campaigns.report.content import finite
from activeeval.campaigns.state import CampaignState, answered, state_of
from activeeval.campaigns.store import NightRow, Store
from activeeval.core.answers import OPEN, WORSE, Answer, exit_code
from activeeval.core.campaign import Campaign
from activeeval.core.campaign.more_needed import needed_of_sample
from activeeval.core.errors import InputError, StateError
from activeeval.core.measures import Target
from activeeval.core.results import Caution, Estimate
from activeeval.core.types import Bools
from activeeval.formats.tables.segments import Segments
from activeeval.monitoring.judged_labels import by_night
from activeeval.monitoring.night_inputs import last_night
from activeeval.monitoring.nights import MISSING
from activeeval.monitoring.settings import REFERENCE, Settings, segments_of
from activeeval.monitoring.watched_segments import answers_by_segment
from activeeval.report.rendering import Cell
from activeeval.sampling.answers import SampleAnswer

PLAIN = 0.95
"""Confidence of values' intervals, and of the interval that decides whether a night looks bad."""
_OF_A_NIGHT = ("date", "measure", "value", "low", "high", "judged", "waiting", "known")


@dataclass(frozen=True, slots=True, kw_only=True)
class NightValue:
    """The value of a measure on a night (a dated run).

    Attributes
    ----------
    date, measure : str
    answer : Answer or None
        The estimate with its 95 % interval; None while items are unjudged.
    judged, waiting, known : int
        Number of items judged for this night, unjudged, and labelled before.
    """

    date: str
    measure: str
    answer: Answer | None = None
    judged: int = 0
    waiting: int = 0
    known: int = 0

    @property
    def value(self) -> float | None:
        """The estimate; None if there is none or it is infinite."""
        return None if self.answer is None else finite(self.answer.value)

    @property
    def low(self) -> float | None:
        """The lower bound of the interval; None if there is none or it is infinite."""
        return None if self.answer is None else finite(self.answer.low)

    @property
    def high(self) -> float | None:
        """The upper bound of the interval; None if there is none or it is infinite."""
        return None if self.answer is None else finite(self.answer.high)

    def row(self) -> dict[str, Cell]:
        """Convert the value to a row for JSON."""
        return {name: getattr(self, name) for name in _OF_A_NIGHT}


@dataclass(frozen=True, slots=True, kw_only=True)
class NightContent:
    """Results of a night (a dated run): values, changes with verdicts, unjudged items, warnings, values by segment.

    Attributes
    ----------
    date, before : str
        Date of the night, and of the previous one; "" for the first.
    campaign : str
        The campaign to judge: of the night, or of its labels on suspicion.
    values : sequence of NightValue
    changes : sequence of Answer
        Tonight minus the previous night and minus the reference, each with the interval of its verdict.
    waiting : int
        Number of unjudged items.
    settings : Settings
        Settings of the watch.
    n_missing, n_queries : int
        Number of the watch's queries without a list tonight, and of all.
    run : str
        Name of tonight's run.
    looks_bad : bool
        True if labels on suspicion should be drawn: a 95 % interval lies below 0, and its verdict is undecided.
    n_suspicion : int
        Number of items drawn on suspicion (after the night looked bad).
    cautions : sequence of Caution
        Warnings.
    segments, findings, segment_findings : sequence of Answer
        Values by segment as estimated; for display, values of all queries and by segment.
    definitions : sequence of (str, str)
        Displayed and full names of measures.
    """

    date: str
    campaign: str
    values: Sequence[NightValue]
    changes: Sequence[Answer]
    waiting: int
    settings: Settings
    before: str = ""
    n_missing: int = 0
    n_queries: int = 0
    run: str = ""
    looks_bad: bool = False
    n_suspicion: int = 0
    cautions: Sequence[Caution] = ()
    segments: Sequence[Answer] = ()
    findings: Sequence[Answer] = ()
    segment_findings: Sequence[Answer] = ()
    definitions: Sequence[tuple[str, str]] = ()

    @property
    def exit_code(self) -> int:
        """10 if a change is worse; 11 if one is undecided, items are unjudged or there is no estimate; otherwise 0."""
        code = exit_code(self.changes)
        is_read = not self.waiting and all(value.value is not None for value in self.values)
        return code if code == WORSE or is_read else OPEN


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Reading:
    """Estimates of a night (a dated run) from its last completely judged sample.

    Attributes
    ----------
    state : CampaignState
    look : {0, 1}
        Interim analysis: 0 for the night's own labels, 1 with the labels on suspicion.
    by_scope : dict of str to list of SampleAnswer
        Estimates for "pool" (these queries) and "population" (all queries that these are a sample of).
    """

    state: CampaignState
    look: int
    by_scope: dict[str, list[SampleAnswer]]

    @classmethod
    def of(cls, states: Sequence[CampaignState]) -> _Reading | None:
        """Estimate from the last of `states` without unjudged items; None if the first has some, or nothing is judged.

        `states` has a night's (dated run's) own sample, and its labels on suspicion if there are some.
        """
        for look in range(len(states) - 1, -1, -1):
            try:
                by_scope = {scope: answered(states[look], scope=scope)[0] for scope in ("pool", "population")}
            except StateError:
                continue
            return cls(state=states[look], look=look, by_scope=by_scope)
        return None

    def of_change(self, measure: str, earlier: str) -> dict[str, SampleAnswer]:
        """Select the estimates of tonight's run minus `earlier`, by scope (these queries, or their population).

        The result is empty if both runs have the same lists.
        """
        return {
            scope: each
            for scope, answers in self.by_scope.items()
            for each in answers
            if (each.target.name, each.versus) == (measure, earlier)
        }


def estimate_night(
    store: Store, settings: Settings, segments: Segments | None, steps: Sequence[NightRow], last: str, first: str
) -> NightContent:
    """Estimate a night (a dated run) from its labels so far; there are no estimates while items are unjudged.

    Parameters
    ----------
    segments : Segments or None
        Groups of queries of the watch, if it has some.
    steps : sequence of NightRow
        The night's own sample, and that of its labels on suspicion (further ones as it looks bad) if there is one.
    last, first : str
        Dates of the previous night ("" for the first one) and of the first night.
    """
    date, states = steps[0].night, [state_of(store, step.campaign) for step in steps]
    reading = _Reading.of(states)
    waiting, missing = sum(state.progress.waiting for state in states), states[0].campaign.config.get(MISSING, {})
    shared = {
        "date": date,
        "before": last,
        "campaign": steps[-1].campaign,
        "waiting": waiting,
        "settings": settings,
        "cautions": states[-1].machine_cautions,
        "n_suspicion": states[1].progress.judged + states[1].progress.waiting if len(states) > 1 else 0,
        **missing,  # n_missing, n_queries and run
    }
    if reading is None:  # unjudged items, or no judgments yet
        values = [_value(date, measure, None, states) for measure in settings.measures]
        return NightContent(values=values, changes=[], **shared)
    answers = reading.by_scope[settings.scope]
    names = [name for name in dict.fromkeys((last, _reference(settings, first, last))) if name and name != date]
    changes, looks_bad = _changes_of(date, names, reading, settings)
    by_segment = answers_by_segment(reading.state.read[0], segments)
    of_tonight = [answer for answer in answers if not answer.versus]
    return NightContent(
        values=[_value(date, answer.target.name, answer, states) for answer in of_tonight],
        changes=changes,
        looks_bad=looks_bad and len(states) == 1 and settings.on_suspicion > 0,
        segments=[answer_of(answer) for answer in by_segment],
        segment_findings=[answer.finding for answer in by_segment],
        findings=[answer.finding for answer in of_tonight],
        definitions=[(answer.target.name, str(answer.target.measure)) for answer in answers],
        **shared,
    )


def _changes_of(date: str, names: Sequence[str], reading: _Reading, settings: Settings) -> tuple[list[Answer], bool]:
    """Estimate tonight minus each run of `names` for each measure; also return whether one looks bad and is undecided.

    A change looks bad if its 95 % interval lies below 0. `reading.look` is 1 with labels on suspicion, else 0.
    """
    measures = dict.fromkeys(answer.target.name for answer in reading.by_scope[settings.scope])
    compared = [(measure, name) for measure in measures for name in names]
    confidence, campaign = settings.confidence(len(compared), reading.look), reading.state.read[0].campaign
    changes, looks_bad = [], False
    for measure, name in compared:
        by_scope = reading.of_change(measure, name)
        if not by_scope:
            changes.append(same_lists(date, name, measure, settings, campaign.design.pool.n_queries))
            continue
        estimates, target = {scope: each.estimate for scope, each in by_scope.items()}, by_scope[settings.scope].target
        changes.append(change_of(date, name, campaign, target, estimates, settings, confidence))
        looks_bad |= changes[-1].verdict == "undecided" and _is_below(estimates[settings.scope])
    return changes, looks_bad


def estimate_last_night(store: Store, name: str) -> NightContent:
    """Estimate the last night (a dated run) of watch `name`; raise InputError if it has no night yet."""
    return estimate_nights(store, name, last_night(store, name).night)[-1]


def estimate_nights(store: Store, name: str, begin: str = "", end: str = "") -> list[NightContent]:
    """Estimate the nights (dated runs) of watch `name`, from date `begin` to `end`; "" is the first and the last.

    Raises
    ------
    InputError
        If the watch has no night of one of these dates, or `begin` is after `end`.
    """
    watch = store.watches.get(name)
    nights = by_night(store.watches.nights(name))
    settings = Settings.of(watch.config)
    segments = segments_of(watch, settings)
    dates = [steps[0].night for steps in nights]
    for date in (begin, end):
        if date and date not in dates:
            dates_text = f"its nights are from {dates[0]} to {dates[-1]}" if dates else "it has none yet"
            raise InputError(f"watch {name} has no night of {date}: {dates_text}", field="date")
    if begin and end and begin > end:
        raise InputError(f"{begin} is later than {end}: the earlier night comes first", field="date")
    return [
        estimate_night(store, settings, segments, steps, dates[k - 1] if k else "", dates[0])
        for k, steps in enumerate(nights)
        if (not begin or dates[k] >= begin) and (not end or dates[k] <= end)
    ]


def change_of(
    later: str,
    earlier: str,
    campaign: Campaign,
    target: Target,
    estimates: dict[str, Estimate],
    settings: Settings,
    confidence: float,
) -> Answer:
    """Build the answer for a night (a dated run) minus an earlier one, for the watch's scope, and attach the other's.

    Scopes are "pool" (these queries) and "population" (all queries that these are a sample of); `target` is the
    difference.

    Parameters
    ----------
    later, earlier : str
        Names of the two runs: dates, or the name of the reference.
    campaign : Campaign
        The campaign behind the estimates, used to predict how many more labels would decide.
    estimates : dict of str to Estimate
        Estimates of the difference, by scope.
    confidence : float
        Confidence of the interval that decides the verdict.
    """
    answers = {}
    for scope, estimate in estimates.items():
        interval = estimate.interval(confidence)
        needed = needed_of_sample(campaign, target, estimate, interval, settings.margin)
        answers[scope] = Answer.of(
            estimate,
            interval,
            system=later,
            versus=earlier,
            measure=target.name,
            p_value=estimate.p_value,
            margin=settings.margin,
            needed=needed and replace(needed, can_grow=True),  # the next night adds labels
        )
    other_scope = "population" if settings.scope == "pool" else "pool"
    return answers[settings.scope].with_other(answers[other_scope])


def same_lists(later: str, earlier: str, measure: str, settings: Settings, n_queries: int) -> Answer:
    """Build the answer for two runs with the same lists down to the measure's cutoff: a difference of exactly 0."""
    return Answer(
        system=later,
        versus=earlier,
        measure=measure,
        value=0.0,
        low=0.0,
        high=0.0,
        n_queries=n_queries,
        n_items=0,
        p_value=1.0,
        margin=settings.margin,
        same_lists=True,
        scope=settings.scope,
    )


def _reference(settings: Settings, first: str, last: str) -> str:
    """Return the name of the run that a night (a dated run) is compared with beside the previous one.

    `first` and `last` are the dates of the first and the previous night. The result is a date, "reference", or "".
    """
    return {"previous": last, "first": first}.get(settings.reference, REFERENCE)


def _is_below(estimate: Estimate) -> bool:
    """Check whether the 95 % interval of a difference lies below 0."""
    return estimate.bounds(estimate.interval(PLAIN))[1] < 0


def _had_labels(state: CampaignState) -> Bools:
    """Mark the items with labels before tonight's sample, judged on an earlier date or known; shape (n_items,)."""
    design = state.sample.campaign.drawn_design
    in_hand = design.scheme.in_hand  # grade of each item's earlier label, −1 without one
    before = design.known >= 0
    return np.asarray(before if in_hand is None else before | (in_hand >= 0))


def _value(date: str, measure: str, answer: SampleAnswer | None, states: Sequence[CampaignState]) -> NightValue:
    """Build a night's (dated run's) value of a measure with label counts; `answer` is None without an estimate.

    `states` has the night's own sample, and its labels on suspicion if there are some.
    """
    return NightValue(
        date=date,
        measure=measure,
        answer=None if answer is None else answer_of(answer),
        judged=sum(state.progress.judged for state in states),
        waiting=sum(state.progress.waiting for state in states),
        known=int(_had_labels(states[0]).sum()),
    )
