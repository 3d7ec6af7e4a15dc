"""The labels of a watch so far: what the judges of all its nights say, night by night."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from activeeval.cases.known import Row
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


def certain_grades(
    elsewhere: Mapping[Pair, tuple[int, int]], labels: Mapping[Pair, int], listed: Collection[Pair]
) -> list[Row]:
    """Return the grades from elsewhere that are known for certain, of the items of some lists, nobody's by name.

    What the watch has drawn goes on counting with its probability, as grades may be the watch's own that were exported:
    were these alone certain, what was drawn would count for itself and no longer for what was not. Where a query is
    graded elsewhere as a whole, and not by what was drawn alone, nothing of it is left to chance, and so where all is.
    """
    by_query: dict[str, list[Pair]] = {}
    for pair in sorted(listed):
        by_query.setdefault(pair[0], []).append(pair)
    is_whole = all(pair in elsewhere for pair in listed)
    rows: list[Row] = []
    for pairs in by_query.values():
        graded = [pair for pair in pairs if pair in elsewhere]
        is_certain = is_whole or (len(graded) == len(pairs) and any(pair not in labels for pair in pairs))
        rows += [(*pair, elsewhere[pair][0], "") for pair in graded if is_certain or pair not in labels]
    return rows


def labels_of_night(store: Store, night: NightRow, settings: Settings) -> dict[Pair, int]:
    """Return the grades of the items that were judged on a night; else as `labels_so_far`."""
    state = State(judges_per_item=settings.judges_per_item)
    state.apply_all(store.events(night.campaign))
    labels: dict[Pair, int] = {}
    for place, by_judge in state.judgments.items():
        if len(by_judge) < settings.judges_per_item:
            continue
        first = next(iter(by_judge.values()))
        grades = {judge: CANNOT if event.grade is None else event.grade for judge, event in by_judge.items()}
        decided = state.adjudicated.get(place)
        several = given_grades(grades) if decided is None or decided.grade is None else (decided.grade,)
        labels[first.query_id, first.doc_id] = one_grade(several, settings.policy)
    return labels
