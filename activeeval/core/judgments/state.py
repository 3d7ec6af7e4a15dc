"""State of a campaign, computed by applying the events of its log one after another.

To update the state, apply the new events; to see an earlier state, stop earlier. The state covers places (a document of
a unit) and judges: the judge who holds each place, the valid judgment of each judge, and the complete blocks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

from activeeval.core.judgments.controls import Checks
from activeeval.core.judgments.log import ANSWERS, REOPENED, Event
from activeeval.core.judgments.policies import needs_third

MICROSECONDS = 1_000_000
Place = tuple[int, str]
"""The number of a unit, and the id of a document in it."""


@dataclass(slots=True, kw_only=True)
class Assignment:
    """A judgment that a place (a document of a unit) needs, and the judge who holds it.

    Attributes
    ----------
    state : {"free", "leased", "checked_out", "done"}
        Leased: shown to a judge; checked out: on a judge's sheet.
    block, unit, position, k : int
        The block (part of the sample that is judged before the next) and unit of the place, its position in the unit,
        and the number of this assignment among those of the place, from 1.
    judge, token_hash, lease_until
        Judge; hash of the token that allows the answer; end of the lease (reserved time), microseconds since the epoch.
        None if the place is free.
    """

    block: int
    unit: int
    position: int
    k: int
    state: str = "free"
    judge: str | None = None
    token_hash: str | None = None
    lease_until: int | None = None

    def take(self, event: Event, lease_s: int) -> None:
        """Update the assignment by an event of its place, a document of a unit.

        "shown" leases the place to a judge, "checked_out" puts it on the judge's sheet, "judged" and "cannot" complete
        it; a comparison ("preferred") or "renewed" extends the lease; any other kind frees the place. ``lease_s`` is
        the length of a lease, for which the place is reserved for its judge, in seconds.
        """
        if event.kind == "preferred":
            self.token_hash, self.lease_until = None, event.at + lease_s * MICROSECONDS
            return
        if event.kind == "renewed":
            self.lease_until = event.at + lease_s * MICROSECONDS
            return
        states = {"shown": "leased", "checked_out": "checked_out", "judged": "done", "cannot": "done"}
        self.state = states.get(event.kind, "free")
        self.judge = None if self.state == "free" else event.judge or None
        self.token_hash = self.lease_until = None
        if event.kind == "shown":
            self.token_hash = (event.key or "").removeprefix("shown:")
            self.lease_until = event.at + lease_s * MICROSECONDS
        elif event.kind == "checked_out":
            self.lease_until = int(event.body["until"])

    def put_back(self) -> None:
        """Free the place after its judge was shown another one."""
        self.state, self.judge, self.token_hash, self.lease_until = "free", None, None, None


@dataclass(slots=True, kw_only=True)
class State:
    """State of a campaign after the events so far.

    A place is a document of a unit (what was drawn and is judged at once); a block is a part of the sample that is
    judged before the next.

    Attributes
    ----------
    judges_per_item : int
        Number of judgments that a place needs.
    adjudicate : bool
        If True, a third judge decides where two differ.
    lease_s : int
        Duration of a lease in seconds, from the time a place is shown.
    seq : int
        Number of the last event.
    blocks : dict of int to int
        Block of each drawn unit.
    judgments : dict of Place to dict of str to Event
        Valid judgment of each place by judge: a grade, an order, or that the item cannot be judged.
    assignments : dict
        Assignments of drawn places by unit, document and k.
    in_hand : dict of str to Assignment
        The place last shown to each judge; it is freed when the judge is shown another.
    adjudicated : dict of Place to Event
        Decision for each adjudicated place; it replaces the judges' grades unless the place waits for judges.
    preferences : dict of (int, str) to list of Event
        Comparisons by unit and judge; a retraction removes those of its unit, unless it reopens the query.
    machine_judgments : dict of str to int
        Number of valid judgments that were accepted from each grader's file as a person's.
    n_waiting : dict of int to int
        Number of places in each block that wait for a judge.
    complete_at : dict of int to int
        For each block, the first event after which it and all earlier blocks were complete.
    late, put_off : list of Event
        Judgments that are stored but do not count; deferrals.
    active_ms : list of int
        Active time (ms) of all timed answers, including answers that do not count or no longer count.
    problems : list of str
        Events that contradict earlier ones.
    checks : Checks
        State of the controls (items with a known grade, shown to check judges).
    ended : str
        Reason why there will be no further unit; empty while units can follow.
    """

    judges_per_item: int = 1
    adjudicate: bool = False
    lease_s: int = 0
    seq: int = 0
    blocks: dict[int, int] = field(default_factory=dict)
    judgments: dict[Place, dict[str, Event]] = field(default_factory=dict)
    assignments: dict[tuple[int, str, int], Assignment] = field(default_factory=dict)
    in_hand: dict[str, Assignment] = field(default_factory=dict)
    adjudicated: dict[Place, Event] = field(default_factory=dict)
    preferences: dict[tuple[int, str], list[Event]] = field(default_factory=dict)
    machine_judgments: dict[str, int] = field(default_factory=dict)
    n_waiting: dict[int, int] = field(default_factory=dict)
    complete_at: dict[int, int] = field(default_factory=dict)
    late: list[Event] = field(default_factory=list)
    put_off: list[Event] = field(default_factory=list)
    active_ms: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    checks: Checks = field(default_factory=Checks)
    ended: str = ""

    @classmethod
    def of(
        cls, events: Iterable[Event], *, judges_per_item: int = 1, adjudicate: bool = False, lease_s: int = 0
    ) -> Self:
        """Compute the state from the events of a log.

        ``judges_per_item`` is the number of judgments that an item needs; with ``adjudicate`` a third judge decides
        where two differ; ``lease_s`` is the time in seconds for which a shown item is reserved for its judge.
        """
        state = cls(judges_per_item=judges_per_item, adjudicate=adjudicate, lease_s=lease_s)
        state.apply_all(events)
        return state

    def apply(self, event: Event) -> Place | None:
        """Apply an event; return the place (unit, document) whose valid judgments changed, or None.

        Events of controls (items with a known grade, shown to check a judge) and of training never change a judgment.
        """
        self.seq = event.seq
        if event.active_ms is not None:
            self.active_ms.append(event.active_ms)
        if self.checks.apply(event):  # events of controls never count
            return None
        if event.kind == "drawn":
            self._draw(event)
        elif event.kind == "late":
            self.late.append(event)
        elif event.kind == "ended":
            self.ended = event.reason
        elif event.kind != "trained":
            return self._of_place(event)
        return None

    def apply_all(self, events: Iterable[Event]) -> set[Place]:
        """Apply events; return the places (unit, document) whose valid judgments changed."""
        return {place for place in map(self.apply, events) if place is not None}

    def waits(self, place: Place) -> bool:
        """Check whether a drawn place (unit, document) still needs a judgment, such as a third one if two differ."""
        return len(self.judgments.get(place, ())) < self.judges_per_item or self.is_differing(place)

    def is_differing(self, place: Place) -> bool:
        """Check whether two judges differ on a place (unit, document), so that it needs a third judgment."""
        by_judge = self.judgments.get(place, {})
        return self.adjudicate and needs_third([event.grade for event in by_judge.values()])

    @property
    def n_differing(self) -> int:
        """Number of places (unit, document) that need a third judgment."""
        return sum(map(self.is_differing, self.judgments))

    @property
    def standing(self) -> list[Event]:
        """All valid judgments, sorted by unit and document."""
        return [event for _, by_judge in sorted(self.judgments.items()) for event in by_judge.values()]

    @property
    def assigned(self) -> list[Assignment]:
        """All assignments (a judgment that a place needs, and its judge), in the order in which they are handed out."""
        return sorted(self.assignments.values(), key=lambda place: (place.block, place.unit, place.position, place.k))

    def _draw(self, event: Event) -> None:
        """Add the unit and the places (its documents) of a ``drawn`` event; record in `problems` a unit drawn twice."""
        unit, block, docs = event.unit or 0, int(event.body["block"]), event.body["items"]
        if unit in self.blocks:
            self.problems.append(f"event {event.seq} draws unit {unit} once more")
            return
        self.blocks[unit] = block
        self.n_waiting[block] = self.n_waiting.get(block, 0) + len(docs)
        for position, doc in enumerate(docs):
            for k in range(1, self.judges_per_item + 1):
                self.assignments[unit, doc, k] = Assignment(block=block, unit=unit, position=position, k=k)
        self.ended = ""

    def _of_place(self, event: Event) -> Place | None:
        """Apply an event that concerns one place (a document of a unit).

        Return the place if its valid judgments changed, else None. An event of a place that was never drawn is recorded
        in `problems`.
        """
        place = event.unit or 0, event.doc_id
        assigned = self.assignments.get((*place, event.k or 1))
        if assigned is None:
            self.problems.append(f"event {event.seq} is {event.kind} of {event.doc_id!r}, which was never drawn")
            return None
        if event.kind == "adjudicated":
            self.adjudicated[place] = event
            return place
        assigned.take(event, self.lease_s)
        if event.kind == "shown":
            before = self.in_hand.get(event.judge, assigned)  # shown to this judge before: freed unless answered
            if before is not assigned and (before.state, before.judge) == ("leased", event.judge):
                before.put_back()
            self.in_hand[event.judge] = assigned
        elif event.kind == "deferred":
            self.put_off.append(event)
        elif event.kind == "preferred":
            self.preferences.setdefault((place[0], event.judge), []).append(event)
        elif event.kind in ANSWERS or event.kind == "retracted":
            return self._judge(place, event)
        return None

    def _judge(self, place: Place, event: Event) -> Place:
        """Record a judgment or a retraction of a place (unit, document), update the waiting counts, return the place.

        The judgment that the event replaces is removed. If two judges now differ and differences are adjudicated, an
        assignment for a third one is added. A retraction also removes the comparisons of the unit, unless it only gives
        the query back to its judge (`REOPENED`).
        """
        by_judge = self.judgments.setdefault(place, {})
        did_wait = self.waits(place)
        replaced = next((judge for judge, before in by_judge.items() if before.seq == event.supersedes), None)
        if replaced is not None:
            self._count_machine(by_judge.pop(replaced), -1)
        if event.kind in ANSWERS:
            if (before := by_judge.get(event.judge)) is not None:
                self._count_machine(before, -1)
            by_judge[event.judge] = event
            self._count_machine(event, 1)
        elif event.body.get("what") != REOPENED:
            for key in [key for key in self.preferences if key[0] == place[0]]:
                del self.preferences[key]
        if self.is_differing(place):
            first, k = self.assignments[*place, 1], self.judges_per_item + 1
            third = Assignment(block=first.block, unit=first.unit, position=first.position, k=k)
            self.assignments.setdefault((*place, k), third)
        waits = self.waits(place)
        if did_wait != waits:
            self._count(self.blocks[place[0]], 1 if waits else -1, event.seq)
        return place

    def _count_machine(self, event: Event, more: int) -> None:
        """Add `more` to the number of valid judgments from the event's grader (an LLM or another model), if any."""
        if event.machine:
            n = self.machine_judgments.pop(event.machine, 0) + more
            self.machine_judgments |= {event.machine: n} if n else {}

    def _count(self, block: int, more: int, seq: int) -> None:
        """Add `more` to the number of waiting places (documents to judge) of a block, a part of the sample.

        Record the blocks that are now complete: they and all earlier ones have no waiting place. ``seq`` is the number
        of the event that changed it.
        """
        self.n_waiting[block] += more
        if self.n_waiting[block]:
            return
        for before in sorted(self.n_waiting):
            if self.n_waiting[before]:
                return
            self.complete_at.setdefault(before, seq)
