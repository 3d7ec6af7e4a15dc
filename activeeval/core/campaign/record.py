"""Record of a campaign: requested units and judgments in an append-only event log, and the state that results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from activeeval.core.campaign.judging_rules import Rules
from activeeval.core.campaign.labels import grades_of_place
from activeeval.core.campaign.requested_units import RequestedUnits
from activeeval.core.campaign.units import Unit
from activeeval.core.checks import brief, is_number
from activeeval.core.design import Design
from activeeval.core.errors import InputError, StateError
from activeeval.core.judgments.judging import Judging, judging_of
from activeeval.core.judgments.log import ANSWERS, Event
from activeeval.core.judgments.state import Place, State


class Record(RequestedUnits):
    """The requested units of a sample, with the event log of their judgments.

    A unit is what is judged at once: items of one query. Items are given by their index in the pool.
    """

    def __init__(self, design: Design, key: np.uint64, rules: Rules, **ways: Any) -> None:
        """Draw the sample of a design with a budget, by a ``key`` (seed), and start with an empty log.

        ``rules`` are the number of judges per item and the aggregation of their grades; ``ways`` are ``paths``,
        ``by_batches`` and ``surely`` of `RequestedUnits`, for adaptive depth (labels decide how deep to judge).
        """
        super().__init__(design, key, rules, **ways)
        self._log: list[Event] = []
        self._has_external_log = False
        self._state = State(judges_per_item=rules.judges_per_item, adjudicate=rules.adjudicate)
        self._n_before = 0  # units of earlier rounds in an external log

    @property
    def log(self) -> tuple[Event, ...]:
        """All events (requests and judgments), in order; `replay` rebuilds the same campaign from them."""
        return tuple(self._log)

    @cached_property
    def judging(self) -> Judging:
        """What judges answer (a grade of an item, or another form), as the measures of the targets require."""
        return judging_of(target.measure for target in self.drawn_design.targets)

    @property
    def ended(self) -> str:
        """Reason why no further unit (items judged at once) follows, as text; empty while more may follow."""
        return self._state.ended

    def ask(self) -> Unit | None:
        """Request the next unit (items of one query judged at once); None if no unit is left.

        Several units may be requested before any grades arrive. With adaptive depth (labels decide how deep to judge)
        None may also mean that the next unit depends on missing grades: `ended` is then still empty.
        """
        if self._state.ended:
            return None
        k = len(self._labels.units)
        if k == len(self.planned) and not self.go_on():
            if self.paths is None or not self.is_open:
                self._append(self._event("ended", reason=self.drawing.ended))
            return None
        unit = self.planned[k]
        self._append(self._drawn(unit))
        return unit

    def ask_all(self) -> None:
        """Request all units (items judged at once) that are known so far.

        With adaptive depth (`paths`) later units depend on labels; otherwise one more request records the end.
        """
        for unit in self.planned[len(self._labels.units) :]:
            self._append(self._drawn(unit))
        if self.paths is None:
            self.ask()

    def tell(self, unit: Unit, grades: Sequence[int | None], *, judge: str = "", at: int = 0) -> None:
        """Record the grades of the items of a unit (items judged at once).

        Parameters
        ----------
        unit : Unit
            As returned by `ask`.
        grades : sequence of int or None
            In the order of ``unit.items``; None for an item that cannot be judged.
        judge : str
            Name of the judge.
        at : int
            Time: UTC, microseconds.

        Raises
        ------
        StateError
            If the unit does not wait for grades.
        InputError
            If ``unit`` is no unit, the number of grades is wrong or a grade is off the scale.
        """
        if not isinstance(unit, Unit):
            raise InputError(f"tell takes a unit that ask returned, got {unit!r}")
        k, units = unit.number - 1, self._labels.units
        if not 0 <= k < len(units) or units[k] != unit or not self._labels.waits(unit):
            raise StateError(f"unit {unit.number} of query {unit.query_id!r} does not wait for grades")
        is_list = isinstance(grades, Sequence) or (isinstance(grades, np.ndarray) and grades.ndim == 1)
        if not is_list or isinstance(grades, str | bytes):
            raise InputError(f"the grades of query {unit.query_id!r} must be a list, one for each item, got {grades!r}")
        if len(grades) != len(unit.items):
            raise InputError(f"unit {unit.number} has {len(unit.items)} items to judge, got {len(grades)} grades")
        for item, grade in zip(unit.items, grades, strict=True):
            self._check_grade(item, grade)
        for item, grade in zip(unit.items, grades, strict=True):
            self.judge(item, grade, judge=judge, at=at)

    def judge(self, item: int, grade: int | None, *, judge: str = "", at: int = 0) -> None:
        """Record the grade of one item, given by its index; None if it cannot be judged.

        It replaces the earlier judgment of this judge and, if one judge per item is enough, of any judge (unless the
        policy "refuse" rejects differing grades). ``judge`` is the judge's name, ``at`` the time in microseconds, UTC.

        Raises
        ------
        StateError
            If the item was not requested.
        InputError
            If the grade is off the scale.
        """
        before = self._standing_of(item)
        self._check_grade(item, grade)
        is_enough = self.rules.judges_per_item == 1 and self.rules.policy != "refuse"
        stands = before.get(judge) or (next(iter(before.values()), None) if is_enough else None)
        self.add(item, grade, judge=judge, at=at, supersedes=None if stands is None else stands.seq)

    def add(self, item: int, grade: int | None, *, judge: str = "", at: int = 0, supersedes: int | None = None) -> None:
        """Record a judgment of a requested item without checking the grade, which must be on the scale.

        Parameters
        ----------
        item : int
            Index of the item in the pool.
        grade : int or None
            None if it cannot be judged.
        judge : str
            Name of the judge.
        at : int
            Time: UTC, microseconds.
        supersedes : int, optional
            Number of the event in the log that this judgment replaces.
        """
        kind = "cannot" if grade is None else "judged"
        value = None if grade is None else int(grade)
        self._append(self._of_item(kind, item, grade=value, judge=judge, at=at, supersedes=supersedes))

    def retract(self, item: int, *, judge: str = "", at: int = 0) -> None:
        """Withdraw all judgments of an item, given by its index, which then waits again.

        ``judge`` names the person who withdraws, ``at`` is the time in microseconds, UTC. Raise StateError if the item
        was not requested.
        """
        for before in list(self._standing_of(item).values()):
            self._append(self._of_item("retracted", item, judge=judge, at=at, supersedes=before.seq))

    def follow(self, log: list[Event], state: State, n_before: int = 0) -> None:
        """Use the log and state of another object from now on; all units (items judged at once) count as requested.

        Parameters
        ----------
        log : list of Event
            Shared with its owner, who appends events and calls `settle`.
        state : State
            The result of all events of the log.
        n_before : int
            Number of units of earlier rounds in the log, which precede the units of this one.
        """
        self._log, self._state, self._n_before = log, state, n_before
        self._has_external_log = True
        for unit in self.planned[len(self._labels.units) :]:
            self._labels.add(unit)
        numbers = range(n_before + 1, n_before + len(self.planned) + 1)  # of this round's units in the log
        self.settle(place for place in state.judgments if place[0] in numbers)

    def settle(self, places: Iterable[Place]) -> None:
        """Update the labels of some documents from their current judgments.

        ``places`` are pairs of a unit's number in the log (a unit is what is judged at once) and a document id.
        """
        for number, doc in places:
            place = (number, doc)
            unit, decided = self.planned[number - self._n_before - 1], self._state.adjudicated.get(place)
            for item, grades in grades_of_place(unit, doc, self._state.judgments[place], self.judging):
                self._labels.judge(item, grades, None if decided is None else decided.grade)
        self._forget()

    def audit(self) -> None:
        """Raise StateError if the log requests other units (items judged at once) than design and key (seed) draw."""
        drawn = (event for event in self._log if event.kind == "drawn")
        for k, event in enumerate(drawn):
            self._check_unit(k, event)

    def _check_unit(self, k: int, event: Event) -> None:
        """Raise StateError unless an event requests the unit of number ``k`` (from 0) that the design and key draw."""
        unit = self.planned[k] if k < len(self.planned) else None
        if unit is None or (event.query_id, list(event.body["items"])) != (unit.query_id, list(unit.item_ids)):
            raise StateError(f"the log says {event}, but this design and key give {unit}")

    def _check_event(self, event: Event) -> None:
        """Raise StateError unless an event can follow the log so far, InputError if it is no event or off the scale.

        An event that requests a unit beyond those drawn makes adaptive depth draw the next batch first.
        """
        if not isinstance(event, Event):
            raise InputError(f"a log holds what happened in a campaign, got {event!r}")
        if event.kind == "drawn":
            if self._state.ended:
                raise StateError(f"the log continues after its end: unit {event.unit}")
            if len(self._labels.units) == len(self.planned):
                self.go_on()
            self._check_unit(len(self._labels.units), event)
        elif event.kind in (*ANSWERS, "retracted"):
            item = self._item_of(event)
            if event.kind == "judged":
                self._check_grade(item, event.grade)

    def _item_of(self, event: Event) -> int:
        """Return the index in the pool of an event's item; raise StateError if it was not requested."""
        k = (event.unit or 0) - 1
        unit = self._labels.units[k] if 0 <= k < len(self._labels.units) else None
        if unit is None or event.doc_id not in unit.item_ids:
            raise StateError(f"item {event.doc_id!r} of query {event.query_id!r} belongs to no unit that was drawn")
        return unit.items[unit.item_ids.index(event.doc_id)]

    def _drawn_unit(self, item: int) -> Unit:
        """Return the unit (items judged at once) of an item, given by index; StateError if it was not requested."""
        unit = self._labels.unit_of(int(item)) if isinstance(item, Integral) else None
        if unit is None:
            raise StateError(f"item position {item} belongs to no unit that was drawn")
        return unit

    def _check_grade(self, item: int, grade: object) -> None:
        """Raise InputError unless a grade is on the scale or None (cannot be judged); ``item`` is for the message."""
        top = self.drawn_design.max_grade
        is_whole = is_number(grade) and float(grade).is_integer()  # type: ignore[arg-type]
        if grade is None or (is_whole and 0 <= float(grade) <= (np.inf if top is None else top)):  # type: ignore[arg-type]
            return
        scale = "0, 1, 2 …" if top is None else f"0 … {top}"
        raise InputError(
            f"the grade of {self.drawn_design.pool.place(item)} must be one of {scale}, "
            f"or None if it cannot be judged, got {brief(grade)}"
        )

    def _event(self, kind: str, **fields: Any) -> Event:
        """Build an event with the next number of the log; its time ``at`` is 0 unless it is among the fields."""
        return Event(seq=len(self._log) + 1, kind=kind, **{"at": 0, **fields})

    def _drawn(self, unit: Unit) -> Event:
        """Build the event that requests a unit (items judged at once)."""
        body = {"block": unit.block, "items": list(unit.item_ids)}
        return self._event("drawn", query_id=unit.query_id, unit=unit.number, body=body)

    def _place_of(self, item: int) -> tuple[Unit, str]:
        """Return the unit of an item, and the item's id; raise StateError if it was not requested."""
        unit = self._drawn_unit(item)
        return unit, unit.item_ids[unit.items.index(item)]

    def _standing_of(self, item: int) -> dict[str, Event]:
        """Return the current judgments of an item by judge; raise StateError if the item was not requested."""
        unit, doc = self._place_of(item)
        return self._state.judgments.get((unit.number, doc), {})

    def _of_item(self, kind: str, item: int, **fields: Any) -> Event:
        """Build the next event about an item; raise StateError if it was not requested."""
        unit, doc = self._place_of(item)
        return self._event(kind, query_id=unit.query_id, doc_id=doc, unit=unit.number, **fields)

    def _append(self, event: Event) -> None:
        """Append an event to the log and update state and labels; the end of the sample fixes its sampling rates."""
        self._log.append(event)
        place = self._state.apply(event)  # (unit number, document id) whose judgments the event changed, or None
        if event.kind == "drawn":
            self._labels.add(self.planned[len(self._labels.units)])
        elif place is not None:
            self.settle([place])
        elif event.kind == "ended":
            self.keep()
