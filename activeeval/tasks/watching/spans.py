"""From one night to another: the difference of two runs of a watch, read from all that is judged so far."""

from __future__ import annotations

from activeeval.campaign import Campaign
from activeeval.cases.case import Case, prepare
from activeeval.cases.choices import Choices
from activeeval.cases.known import KnownGrades
from activeeval.design.carried import reread
from activeeval.errors import StateError
from activeeval.pool import key_of
from activeeval.store import NightRow, Store
from activeeval.tasks.watching.labels import certain_grades, labels_so_far
from activeeval.tasks.watching.leaving import Left, in_hand, with_name
from activeeval.tasks.watching.series import FALSE_ALARMS, Change, no_change
from activeeval.tasks.watching.settings import Settings


def change_between(store: Store, name: str, earlier: str, later: str) -> list[Change]:
    """Return by measure what a night is more than an earlier one, by one sample: all that is judged so far.

    Raises
    ------
    StateError
        Where items of the last night wait: what was drawn counts as a whole.
    """
    settings, nights = Settings.of(store.watches.get(name).config), store.watches.nights(name)
    left = {date: Left.of(store.watches.payload(name, date), f"watch {name}, {date}") for date in (earlier, later)}
    last = nights[-1]
    latest = left.get(last.date) or Left.of(store.watches.payload(name, last.date), f"watch {name}, {last.date}")
    labels = labels_so_far(store, nights, latest.held, settings)
    _check_judged(store, name, nights)
    case = _case(store, nights, settings, left, latest, labels)
    changes = []
    for each in case.asked(settings.measures, ["difference"]):
        if not each.target.matters.any():
            changes.append(no_change(earlier, later, each.target.name))
            continue
        base = case.design(settings.method, [each.target])
        design = reread(base, in_hand(case.inputs.pool, latest.held, labels))
        campaign = Campaign(design, key=int(key_of(settings.seed)))
        pool, population = campaign.estimate(), campaign.estimate(scope="population")
        low, high = pool.bounds(pool.interval(0.95))
        together = population.interval(1 - 2 * FALSE_ALARMS / settings.n_compared(1))
        changes.append(
            Change(
                earlier=earlier,
                later=later,
                measure=each.target.name,
                value=pool.value,
                low=low,
                high=high,
                p_value=population.p_value,
                alarm=population.bounds(together)[1] < -(settings.margin or 0.0),
                margin=settings.margin or 0.0,
            )
        )
    return changes


def _case(
    store: Store,
    nights: list[NightRow],
    settings: Settings,
    left: dict[str, Left],
    latest: Left,
    labels: dict[tuple[str, str], int],
) -> Case:
    """Return the case of two nights, the earlier one first in `left`, by what the last night knows."""
    listed = {pair for each in left.values() for pair in zip(each.run.query_ids, each.run.doc_ids, strict=True)}
    rows = certain_grades(latest.known_grades, labels, listed)
    dates = tuple(reversed(left))
    choices = Choices(
        runs=tuple(with_name(left[date].run, date) for date in dates),
        names=dates,
        judged=(KnownGrades("grades given before", rows),) if rows else (),
        max_grade=store.campaign(nights[0].campaign).max_grade,
        pool_depth=settings.pool_depth,
        model=settings.models or None,
        seed=settings.seed,
    )
    return prepare(choices, use_labels=False, taught={pair: grade for pair, grade in labels.items() if grade >= 0})


def _check_judged(store: Store, name: str, nights: list[NightRow]) -> None:
    """Raise where something that was drawn waits on the last night."""
    waiting = store.waiting(nights[-1].campaign)
    n = waiting["free"] + waiting["leased"]
    if n:
        raise StateError(f"watch {name}: {n} items of {nights[-1].date} wait: what was drawn counts as a whole")
