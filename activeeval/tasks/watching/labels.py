"""The labels of a watch so far: what the judges of all its nights say, night by night."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from activeeval.judgments.policies import CANNOT, given_grades, one_grade
from activeeval.judgments.state import State
from activeeval.store import NightRow, Store
from activeeval.tasks.watching.leaving import Held, Pair
from activeeval.tasks.watching.settings import Settings


def labels_so_far(
    store: Store, nights: Sequence[NightRow], held: Mapping[Pair, Held], settings: Settings
) -> dict[Pair, int]:
    """Return the grade of each item that is judged, by query and document; −1 of one that nobody could judge.

    Parameters
    ----------
    held : mapping
        What is held of tonight's texts: a grade of an earlier text is none.
    """
    labels: dict[Pair, int] = {}
    for number, night in enumerate(nights, 1):
        for pair, grade in labels_of_night(store, night, settings).items():
            if pair in held and held[pair].since <= number:
                labels[pair] = grade
    return labels


def labels_of_night(store: Store, night: NightRow, settings: Settings) -> dict[Pair, int]:
    """Return the grades of the items that were judged on a night; else as `labels_so_far`."""
    state = State(judges_per_item=settings.judges_per_item)
    state.apply_all(store.events(night.campaign))
    labels: dict[Pair, int] = {}
    for by_judge in state.judgments.values():
        if len(by_judge) < settings.judges_per_item:
            continue
        first = next(iter(by_judge.values()))
        grades = {judge: CANNOT if event.grade is None else event.grade for judge, event in by_judge.items()}
        labels[first.query_id, first.doc_id] = one_grade(given_grades(grades), settings.policy)
    return labels
