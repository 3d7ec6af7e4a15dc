"""Collect the labels of a watch so far, over the judges of all its nights."""

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
    histories: Mapping[Pair, ItemHistory],
    settings: Settings,
    *,
    replaces: bool = False,
) -> dict[Pair, int]:
    """Collect the grade of each judged item of watch `name`, by (query, document); −1 if it cannot be judged.

    If an item was judged on several nights, a lead's decision has precedence, then the latest judgment. A night is a
    dated run of the watched index.

    Parameters
    ----------
    name : str
        Name of the watch.
    rows : sequence of NightRow
        All steps of the watch: samples drawn for a date.
    histories : mapping
        History of each item in tonight's texts, by (query, document): labels given to another text are ignored.
    replaces : bool
        True if the last night is being redrawn: texts of its first drawing may differ from those of the new one.
    """
    nights = by_night(rows)
    # a drawing is the first sample of a night or of its redrawing; those replaced are not among these
    current_drawings = {steps[0].drawing for steps in (nights[:-1] if replaces else nights)}
    labels: dict[Pair, Label] = {}
    for number, row in enumerate(rows, 1):
        of_step = labels_of_step(store, row, settings)
        # a night that was redrawn may have had other texts
        is_safe = row.drawing in current_drawings or not of_step
        drawn = None if is_safe else record_of_step(store, name, row).histories
        for pair, label in of_step.items():
            is_current = pair in histories and histories[pair].since <= number  # judged in tonight's text
            if is_current and (drawn is None or is_same_text(drawn.get(pair), histories[pair])):
                labels[pair] = max(labels.get(pair, label), label, key=lambda each: (each.is_decided, each.at))
    return {pair: label.grade for pair, label in labels.items()}


def by_night(rows: Sequence[NightRow]) -> list[list[NightRow]]:
    """Group the steps (samples drawn for a date) by night (a dated run), in order.

    Of a night that was drawn again, only the steps of its last drawing are kept.
    """
    drawings = [list(steps) for _, steps in groupby(rows, key=lambda row: row.drawing)]
    return list({steps[0].night: steps for steps in drawings}.values())


def record_of_step(store: Store, name: str, row: NightRow) -> NightRecord:
    """Load the record that a step of a night (a dated run) stored: its run, item histories and known grades."""
    return NightRecord.of(store.watches.payload(name, row.date), f"watch {name}, {row.date}")


def certain_grades(
    elsewhere: Mapping[Pair, tuple[int, int]], labels: Mapping[Pair, int], listed: Collection[Pair]
) -> list[Row]:
    """Select the grades from other sources to treat as known with certainty, for the items of `listed`.

    `elsewhere` has these grades with the digest of their text, `labels` the grades by judges of the watch. The result
    has rows (query, document, grade, "" for no judge).

    An item with a label of the watch is left out, so that the label counts with its inclusion probability: external
    grades may be an export of these labels, which would then no longer represent the items that were not drawn.
    Exceptions, in which all graded items are certain: queries that are graded completely, not only in labelled items,
    and all queries if every listed item is graded.
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


def state_of_step(store: Store, row: NightRow, judges_per_item: int = 1) -> State:
    """Compute the judging state of a step of a night (a dated run) from the event log of its campaign."""
    state = State(judges_per_item=judges_per_item)
    state.apply_all(store.events(row.campaign))
    return state


def n_waiting(store: Store, row: NightRow) -> int:
    """Count the unjudged items of a step of a night, including those that a judge has reserved (leased).

    A night is a dated run of the watched index.
    """
    waiting = store.waiting(row.campaign)
    return waiting["free"] + waiting["leased"]


class Label(NamedTuple):
    """A grade (−1: cannot be judged), whether a lead decided it, and the time of the latest judgment behind it."""

    grade: int
    is_decided: bool
    at: int


def labels_of_step(store: Store, night: NightRow, settings: Settings) -> dict[Pair, Label]:
    """Collect the labels of a step of a night, by (query, document); items with too few judges are left out.

    A lead's decision replaces the judges' grades; otherwise the policy of the watch reduces them to one. A night is a
    dated run of the watched index.
    """
    state = state_of_step(store, night, settings.judges_per_item)
    labels: dict[Pair, Label] = {}
    for place, by_judge in state.judgments.items():  # a place is an item in the campaign: its unit and its document
        if len(by_judge) < settings.judges_per_item:
            continue
        first = next(iter(by_judge.values()))
        grades = {judge: CANNOT if event.grade is None else event.grade for judge, event in by_judge.items()}
        decided = state.adjudicated.get(place)
        # `given_grades` leaves out judges who could not judge the item
        several = given_grades(grades) if decided is None or decided.grade is None else (decided.grade,)
        at = max(event.at for event in (*by_judge.values(), *([] if decided is None else [decided])))
        grade = one_grade(several, settings.policy)
        labels[first.query_id, first.doc_id] = Label(grade, decided is not None, at)
    return labels
