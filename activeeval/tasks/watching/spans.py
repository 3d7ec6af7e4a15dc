"""From one night to another: the difference of two runs of a watch, read from all that is judged so far."""

from __future__ import annotations

from dataclasses import replace

from activeeval.campaign import Campaign
from activeeval.design.carried import reread
from activeeval.errors import StateError
from activeeval.pool import key_of
from activeeval.store import NightRow, Store
from activeeval.tasks.watching.cases import case_of
from activeeval.tasks.watching.labels import labels_so_far
from activeeval.tasks.watching.leaving import Left, in_hand
from activeeval.tasks.watching.series import FALSE_ALARMS, Change, change_read, no_change
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
    runs, top = {date: left[date].run for date in (later, earlier)}, store.campaign(nights[0].campaign).max_grade
    case = case_of(runs, settings, latest.known_grades, labels, top)
    hand, of_alarms = in_hand(case.inputs.pool, latest.held, labels), 1 - 2 * FALSE_ALARMS / settings.n_compared(1)
    changes = []
    for each in case.asked(settings.measures, ["difference"]):
        if not each.target.matters.any():
            changes.append(no_change(earlier, later, each.target.name))
            continue
        design = reread(case.design(settings.method, [each.target]), hand)
        campaign = Campaign(design, key=int(key_of(settings.seed)))
        estimates = campaign.estimate(), campaign.estimate(scope="population")
        change = change_read(earlier, later, each.target.name, settings.margin or 0.0, *estimates, of_alarms)
        # bands of all nights are of what each night says, not of a span that somebody picks
        changes.append(replace(change, low_all_nights=None, high_all_nights=None))
    return changes


def _check_judged(store: Store, name: str, nights: list[NightRow]) -> None:
    """Raise where something that was drawn waits on the last night."""
    waiting = store.waiting(nights[-1].campaign)
    n = waiting["free"] + waiting["leased"]
    if n:
        raise StateError(f"watch {name}: {n} items of {nights[-1].date} wait: what was drawn counts as a whole")
