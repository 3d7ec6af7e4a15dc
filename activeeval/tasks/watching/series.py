"""What a watch says: a value a night, and what tonight is more than the night before and than the reference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from activeeval.answers import FINE, OPEN, WORSE, Answer, Needed
from activeeval.errors import InputError, StateError
from activeeval.io.tables.segments import Segments
from activeeval.results import Caution, Estimate
from activeeval.store import NightRow, Store
from activeeval.tasks.answers import SampleAnswer
from activeeval.tasks.campaigns.over_time import finite
from activeeval.tasks.campaigns.state import CampaignState, answered, state_of
from activeeval.tasks.watching.nights import last_night
from activeeval.tasks.watching.segments import SegmentValue, answers_by_segment, segment_value
from activeeval.tasks.watching.settings import OF_NIGHTS, REFERENCE, Settings, segments_of

FALSE_ALARMS = 0.05
"""The probability, at most, of any false alarm over the nights of a watch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A measure on a night.

    Attributes
    ----------
    date, measure : str
    value, low, high : float or None
        With the interval of this night alone; None while items wait.
    low_all_nights, high_all_nights : float or None
        Of an interval that holds together with those of all nights that the watch was set up for.
    judged, waiting, known : int
        Items that were judged for this night, that wait, and whose labels counted already.
    """

    date: str
    measure: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    low_all_nights: float | None = None
    high_all_nights: float | None = None
    judged: int = 0
    waiting: int = 0
    known: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a night is more than another, by one sample of both.

    Attributes
    ----------
    earlier, later : str
        Dates, or what the reference is called.
    measure : str
    value, low, high : float or None
        About these queries.
    low_all_nights, high_all_nights : float or None
        About queries like these, as the alarm is: of an interval that holds together with all that the watch looks at.
    p_value : float or None
        That the difference is 0 over queries like these.
    alarm : bool
        Whether it is certain that more than the margin was lost.
    margin : float
    verdict : {"fine", "worse", "open", ""}
        Against the reference, of a watch that has a margin.
    needed : Needed or None
        What should decide it where it is open.
    """

    earlier: str
    later: str
    measure: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    low_all_nights: float | None = None
    high_all_nights: float | None = None
    p_value: float | None = None
    alarm: bool = False
    margin: float = 0.0
    verdict: str = ""
    needed: Needed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NightSays:
    """All that a night says: values, changes, what waits, what to be wary of, by segment, and the same for readers."""

    date: str
    campaign: str
    values: Sequence[Value]
    changes: Sequence[Change]
    waiting: int
    cautions: Sequence[Caution] = ()
    segments: Sequence[SegmentValue] = ()
    findings: Sequence[Answer] = ()
    segment_findings: Sequence[Answer] = ()
    definitions: Sequence[tuple[str, str]] = ()

    @property
    def exit_code(self) -> int:
        """0 where all is fine, 10 where something is worse, 11 where that is open."""
        if any(change.alarm or change.verdict == "worse" for change in self.changes):
            return WORSE
        is_read = not self.waiting and all(value.value is not None for value in self.values)
        return FINE if is_read and all(change.verdict != "open" for change in self.changes) else OPEN


def night_says(
    store: Store, settings: Settings, segments: Segments | None, night: NightRow, last: str, first: str
) -> NightSays:
    """Return what a night says as far as it is judged.

    Parameters
    ----------
    segments : Segments or None
        Of the watch, where it has some.
    last, first : str
        The dates of the night before, empty for the first one, and of the first.
    """
    state = state_of(store, night.campaign)
    names = [called for called in dict.fromkeys((last, _reference(settings, first, last))) if called != night.date]
    try:
        pool, _ = answered(state)
        population, _ = answered(state, scope="population")
    except StateError:  # items wait, or nothing has come
        return NightSays(
            date=night.date,
            campaign=night.campaign,
            values=[_waiting(night, measure, state) for measure in settings.measures],
            changes=[],
            waiting=state.progress.waiting,
            cautions=state.machine_cautions,
        )
    by_segment = answers_by_segment(state.read[0], segments)
    shown = list(dict.fromkeys(answer.target.name for answer in pool))
    values = [_value(night, answer, state, settings) for answer in pool if not answer.versus]
    changes = [
        _change(settings, night, earlier, measure, pool, population, settings.n_compared(len(names)))
        for measure in shown
        for earlier in names
        if earlier
    ]
    return NightSays(
        date=night.date,
        campaign=night.campaign,
        values=values,
        changes=changes,
        waiting=state.progress.waiting,
        cautions=state.machine_cautions,
        segments=[segment_value(night.date, answer, settings) for answer in by_segment],
        segment_findings=[answer.finding for answer in by_segment],
        findings=[_finding(answer) for answer in pool],
        definitions=[(answer.target.name, str(answer.target.measure)) for answer in pool],
    )


def last_says(store: Store, name: str) -> NightSays:
    """Return what the last night of a watch says.

    Raises
    ------
    InputError
        Where it has none yet.
    """
    return nights_say(store, name, last_night(store, name).date)[-1]


def nights_say(store: Store, name: str, begin: str = "", end: str = "") -> list[NightSays]:
    """Return what each night of a watch says, by date; of some nights where a first or a last date is given.

    Raises
    ------
    InputError
        Where the watch has no such night.
    """
    watch, nights = store.watches.get(name), store.watches.nights(name)
    settings = Settings.of(watch.config)
    segments = segments_of(watch, settings)
    dates = [night.date for night in nights]
    for date in (begin, end):
        if date and date not in dates:
            there = f"its nights are from {dates[0]} to {dates[-1]}" if dates else "it has none yet"
            raise InputError(f"watch {name} has no night of {date}: {there}", field="date")
    if begin and end and begin > end:
        raise InputError(f"{begin} is later than {end}: the earlier night comes first", field="date")
    return [
        night_says(store, settings, segments, night, dates[k - 1] if k else "", dates[0])
        for k, night in enumerate(nights)
        if (not begin or night.date >= begin) and (not end or night.date <= end)
    ]


def _reference(settings: Settings, first: str, last: str) -> str:
    """Return what the reference is called among a night's systems."""
    return {"previous": last, "first": first}.get(settings.reference, REFERENCE)


def _waiting(night: NightRow, measure: str, state: CampaignState) -> Value:
    progress = state.progress
    return Value(
        date=night.date, measure=measure, judged=progress.judged, waiting=progress.waiting, known=_known(state)
    )


def _known(state: CampaignState) -> int:
    """Return how many items of a night's lists had labels before it: judged on an earlier night, or given."""
    design = state.sample.campaign.drawn_design
    in_hand = design.scheme.in_hand
    before = design.known >= 0
    return int((before if in_hand is None else before | (in_hand >= 0)).sum())


def _value(night: NightRow, answer: SampleAnswer, state: CampaignState, settings: Settings) -> Value:
    estimate, progress = answer.estimate, state.progress
    low, high = estimate.bounds(answer.interval)
    together = estimate.bounds(estimate.interval(1 - FALSE_ALARMS / settings.nights))
    return Value(
        date=night.date,
        measure=answer.target.name,
        value=finite(estimate.value),
        low=finite(low),
        high=finite(high),
        low_all_nights=finite(together[0]),
        high_all_nights=finite(together[1]),
        judged=progress.judged,
        waiting=progress.waiting,
        known=_known(state),
    )


def _change(
    settings: Settings,
    night: NightRow,
    earlier: str,
    measure: str,
    pool: Sequence[SampleAnswer],
    population: Sequence[SampleAnswer],
    n_compared: int,
) -> Change:
    """Return what a night is more than another run; nothing where their lists are the same as far as they count."""
    margin = settings.margin or 0.0
    mine = [each for each in pool if (each.target.name, each.versus) == (measure, earlier)]
    has_verdict = settings.margin is not None and _is_reference(settings, earlier)
    if not mine:
        return no_change(earlier, night.date, measure, "fine" if has_verdict else "")
    like = next(each for each in population if (each.target.name, each.versus) == (measure, earlier))
    of_alarms = 1 - 2 * FALSE_ALARMS / n_compared
    change = change_read(earlier, night.date, measure, margin, mine[0].estimate, like.estimate, of_alarms)
    verdict = _verdict(change.alarm, like.estimate, margin) if has_verdict else ""
    needed = _needed(mine[0].estimate, like.estimate, margin, of_alarms) if verdict == "open" else None
    return replace(change, verdict=verdict, needed=needed)


def change_read(
    earlier: str, later: str, measure: str, margin: float, pool: Estimate, population: Estimate, of_alarms: float
) -> Change:
    """Return what estimates of a difference say, about these queries and about queries like these.

    Parameters
    ----------
    of_alarms : float
        The confidence of an interval that holds together with all that the watch looks at.
    """
    (low, high), together = (
        each.bounds(each.interval(confidence)) for each, confidence in ((pool, 0.95), (population, of_alarms))
    )
    return Change(
        earlier=earlier,
        later=later,
        measure=measure,
        value=finite(pool.value),
        low=finite(low),
        high=finite(high),
        low_all_nights=finite(together[0]),
        high_all_nights=finite(together[1]),
        p_value=finite(population.p_value),
        alarm=together[1] < -margin,
        margin=margin,
    )


def no_change(earlier: str, later: str, measure: str, verdict: str = "") -> Change:
    """Return what there is of two runs whose lists are the same as far as they count."""
    return Change(
        earlier=earlier,
        later=later,
        measure=measure,
        value=0.0,
        low=0.0,
        high=0.0,
        low_all_nights=0.0,
        high_all_nights=0.0,
        p_value=1.0,
        verdict=verdict,
    )


def _is_reference(settings: Settings, earlier: str) -> bool:
    return settings.reference in OF_NIGHTS or earlier == REFERENCE


def _verdict(is_worse: bool, estimate: Estimate, margin: float) -> str:
    if is_worse:
        return "worse"
    return "fine" if estimate.bounds(estimate.interval(0.95))[0] >= -margin else "open"


def _needed(pool: Estimate, population: Estimate, margin: float, of_alarms: float) -> Needed | None:
    """Return how many more labels should decide a loss, if the difference stays as it is; None where none would.

    What labels leave open of these queries goes by the root of how many there are; that these are only some queries
    stays. Beyond the margin it is the interval of alarms that has to lie there.
    """
    confidence = of_alarms if population.value < -margin else 0.95
    ends = [each.interval(confidence) for each in (pool, population)]
    of_pool, of_both = ((end.high - end.low) ** 2 / 4 for end in ends)
    left = (population.value + margin) ** 2 - max(of_both - of_pool, 0.0)
    if left <= 0 or not math.isfinite(of_both) or not pool.n_items:
        return None
    return Needed(budget=math.ceil(max(pool.n_items * (of_pool / left - 1), 1.0)))


def _finding(answer: SampleAnswer) -> Answer:
    """Return what is told of an answer; a watch goes on, so that what should decide it comes on top."""
    needed = answer.finding.needed
    return replace(answer.finding, needed=None if needed is None else replace(needed, can_grow=True))
