"""The labels of a watch so far: what the judges of all its nights say, night by night."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from activeeval.campaigns.store import NightRow, Store
from activeeval.core.judgments.policies import CANNOT, given_grades, one_grade
from activeeval.core.judgments.state import State
from activeeval.inputs.known_grades import Row
from activeeval.monitoring.night_outputs import ItemHistory, NightRecord, Pair, is_same_text
from activeeval.monitoring.settings import Settings


def labels_so_far(
    store: Store,
    name: str,
    rows: Sequence[NightRow],
    held: Mapping[Pair, ItemHistory],
    settings: Settings,
    *,
    replaces: bool = False,
) -> dict[Pair, int]:
    """Collect the grade of each item that is judged, by query and document; −1 of one that nobody could judge.

    What a lead has decided comes first, then what was said last, on whichever night.

    Parameters
    ----------
    name : str
        Of the watch.
    held : mapping
        What is held of tonight's texts: a grade of another text is none.
    replaces : bool
        Whether the last night is being drawn anew.
    """
    nights = by_night(rows)
    drawings = {steps[0].drawing for steps in (nights[:-1] if replaces else nights)}
    labels: dict[Pair, Label] = {}
    for number, row in enumerate(rows, 1):
        of_step = labels_of_step(store, row, settings)
        # a night that was drawn anew may have been of texts that were not the right ones
        drawn = None if row.drawing in drawings or not of_step else left_by(store, name, row).held
        for pair, label in of_step.items():
            is_held = pair in held and held[pair].since <= number
            if is_held and (drawn is None or is_same_text(drawn.get(pair), held[pair])):
                labels[pair] = max(labels.get(pair, label), label, key=lambda each: each[1:])
    return {pair: label.grade for pair, label in labels.items()}


def by_night(rows: Sequence[NightRow]) -> list[list[NightRow]]:
    """List the steps of each night, in order: of a night that was drawn anew those of its last drawing."""
    drawings = [list(steps) for _, steps in groupby(rows, key=lambda row: row.drawing)]
    return list({steps[0].night: steps for steps in drawings}.values())


def left_by(store: Store, name: str, row: NightRow) -> NightRecord:
    """Unpack what a step of a night leaves."""
    return NightRecord.of(store.watches.payload(name, row.date), f"watch {name}, {row.date}")


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


def folded(store: Store, row: NightRow, judges_per_item: int = 1) -> State:
    """Fold the log of a step of a night."""
    state = State(judges_per_item=judges_per_item)
    state.apply_all(store.events(row.campaign))
    return state


def n_waiting(store: Store, row: NightRow) -> int:
    """Count the items that wait on a step of a night, handed out or not."""
    waiting = store.waiting(row.campaign)
    return waiting["free"] + waiting["leased"]


class Label(NamedTuple):
    """A grade, whether a lead has decided it, and when the last of what it rests on was said."""

    grade: int
    is_decided: bool
    at: int


def labels_of_step(store: Store, night: NightRow, settings: Settings) -> dict[Pair, Label]:
    """Collect the grades of the items that were judged on a step of a night; else as `labels_so_far`."""
    state = folded(store, night, settings.judges_per_item)
    labels: dict[Pair, Label] = {}
    for place, by_judge in state.judgments.items():
        if len(by_judge) < settings.judges_per_item:
            continue
        first = next(iter(by_judge.values()))
        grades = {judge: CANNOT if event.grade is None else event.grade for judge, event in by_judge.items()}
        decided = state.adjudicated.get(place)
        several = given_grades(grades) if decided is None or decided.grade is None else (decided.grade,)
        at = max(event.at for event in (*by_judge.values(), *([] if decided is None else [decided])))
        grade = one_grade(several, settings.policy)
        labels[first.query_id, first.doc_id] = Label(grade, decided is not None, at)
    return labels
