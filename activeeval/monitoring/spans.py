"""Estimate the difference between two nights of a watch from all labels so far."""

from __future__ import annotations

from activeeval.campaigns.store import Store
from activeeval.core.answers import Answer
from activeeval.core.campaign import Campaign
from activeeval.core.design.carried_samples import reread
from activeeval.core.pool import key_of
from activeeval.monitoring.cases import case_of
from activeeval.monitoring.judged_labels import by_night, labels_so_far
from activeeval.monitoring.night_outputs import NightRecord, in_hand
from activeeval.monitoring.nights import check_judged
from activeeval.monitoring.series import change_of, same_lists
from activeeval.monitoring.settings import Settings


def change_between(store: Store, name: str, earlier: str, later: str) -> list[Answer]:
    """Estimate night `later` minus night `earlier` for each measure of watch `name`, from all labels so far.

    The intervals have the confidence of a night with a single comparison. A night is a dated run of the watched index.

    Raises
    ------
    StateError
        If items of the last night are unjudged.
    KeyError
        If the watch has no night of one of these dates.
    """
    settings, nights = Settings.of(store.watches.get(name).config), store.watches.nights(name)
    steps = {of_night[0].night: of_night[0].date for of_night in by_night(nights)}  # date -> name of its first sample
    records = {
        date: NightRecord.of(store.watches.payload(name, steps[date]), f"watch {name}, {date}")
        for date in (earlier, later)
    }
    last = nights[-1]  # its record has the inclusion probabilities and known grades of all nights
    latest = records.get(last.date) or NightRecord.of(
        store.watches.payload(name, last.date), f"watch {name}, {last.date}"
    )
    labels = labels_so_far(store, name, nights, latest.histories, settings)
    check_judged(store, name, last)
    runs = {date: records[date].run for date in (later, earlier)}
    max_grade = store.campaign(nights[0].campaign).max_grade
    case = case_of(runs, settings, latest.known_grades, labels, max_grade)
    hand = in_hand(case.inputs.pool, latest.histories, labels)
    changes = []
    for each in case.asked(settings.measures, ["difference"]):
        if not each.target.matters.any():
            n_queries = case.inputs.pool.n_queries
            changes.append(same_lists(later, earlier, each.target.name, settings, n_queries))
            continue
        # no new items: the labels in hand are weighted by the probabilities with which they were drawn
        design = reread(case.design(settings.method, [each.target]), hand)
        campaign = Campaign(design, key=int(key_of(settings.seed)))
        estimates = {scope: campaign.estimate(scope=scope) for scope in ("pool", "population")}
        confidence = settings.confidence(1)
        changes.append(change_of(later, earlier, campaign, each.target, estimates, settings, confidence))
    return changes
