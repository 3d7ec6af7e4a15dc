"""What a log comes to: the one fold over its events, one after another.

Whoever looks again applies what is new; whoever looks at an earlier moment stops earlier. Three things are kept, of
places (a document of a unit) and judges: who has which place in hand, which judgment of which judge stands, and which
blocks are complete.
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
"""The number of a unit, and a document of it."""


@dataclass(slots=True, kw_only=True)
class Assignment:
    """A place for one judge.

    Attributes
    ----------
    state : {"free", "leased", "checked_out", "done"}
        Leased is what a judge looks at, lent what stands on a sheet.
    judge, token_hash, lease_until : None where there is none
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
        """Take in what happened to the place."""
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
        """Let anybody take the place, who had it in hand has another one."""
        self.state, self.judge, self.token_hash, self.lease_until = "free", None, None, None


@dataclass(slots=True, kw_only=True)
class State:
    """What a log comes to, event by event.

    Attributes
    ----------
    judges_per_item : int
        A place waits until so many have judged it.
    adjudicate : bool
        Where two judges differ a third one decides.
    lease_s : int
        Seconds for which a place is a judge's who was shown it.
    seq : int
        The number of the last event.
    blocks : dict of int to int
        The block of each unit that was drawn.
    judgments : dict of Place to dict of str to Event
        By place and judge the event that stands: of a grade, of an order, or that there can be none.
    assignments : dict
        By unit, document and k, of places that were drawn with their judges.
    in_hand : dict of str to Assignment
        By judge the place that was shown last: whoever is shown another one puts it back.
    adjudicated : dict of Place to Event
        By place what it counts as in place of what its judges say, once it does not wait for them.
    preferences : dict of (int, str) to list of Event
        By unit and judge what was compared since it was last taken back, but for what was reopened.
    machine_judgments : dict of str to int
        By file how many judgments stand that are a machine's and were taken for people's.
    n_waiting : dict of int to int
        By block the places that wait.
    complete_at : dict of int to int
        By block the first event as of which it and all before it were complete.
    late, put_off : list of Event
        Judgments that are kept and do not count; when somebody has said ``later``.
    active_ms : list of int
        The active time of all answers whose time was taken, also of those that do not count (any more).
    problems : list of str
        What does not follow from what was before.
    checks : Checks
        What judges said of controls.
    ended : str
        Why there will be no further unit; empty while there may be one.
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
        """Return what a log comes to."""
        state = cls(judges_per_item=judges_per_item, adjudicate=adjudicate, lease_s=lease_s)
        state.apply_all(events)
        return state

    def apply(self, event: Event) -> Place | None:
        """Take an event in; return the place of which another judgment stands now, if there is one."""
        self.seq = event.seq
        if event.active_ms is not None:
            self.active_ms.append(event.active_ms)
        if self.checks.apply(event):  # of nothing that counts
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
        """Take events in; return the places of which other judgments stand now."""
        return {place for place in map(self.apply, events) if place is not None}

    def waits(self, place: Place) -> bool:
        """Whether a place that was drawn waits for a judge."""
        return len(self.judgments.get(place, ())) < self.judges_per_item or self.is_differing(place)

    def is_differing(self, place: Place) -> bool:
        """Whether two judges differ on a place, so that it waits for a third."""
        by_judge = self.judgments.get(place, {})
        return self.adjudicate and needs_third([event.grade for event in by_judge.values()])

    @property
    def n_differing(self) -> int:
        """How many places wait for a third judge."""
        return sum(map(self.is_differing, self.judgments))

    @property
    def standing(self) -> list[Event]:
        """Every judgment that stands, by unit and document."""
        return [event for _, by_judge in sorted(self.judgments.items()) for event in by_judge.values()]

    @property
    def assigned(self) -> list[Assignment]:
        """Every place for every judge, in the order in which they are given out."""
        return sorted(self.assignments.values(), key=lambda held: (held.block, held.unit, held.position, held.k))

    def _draw(self, event: Event) -> None:
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
        """Take in what happened to a place."""
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
            before = self.in_hand.get(event.judge, assigned)
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
        """Take in a judgment, or that one is taken back: what it takes the place of stands no longer."""
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
        """Count a judgment of a machine that stands now, or no longer."""
        if event.machine:
            n = self.machine_judgments.pop(event.machine, 0) + more
            self.machine_judgments |= {event.machine: n} if n else {}

    def _count(self, block: int, more: int, seq: int) -> None:
        """Count a place that waits again, or no longer; note which blocks are complete now, with all before them."""
        self.n_waiting[block] += more
        if self.n_waiting[block]:
            return
        for before in sorted(self.n_waiting):
            if self.n_waiting[before]:
                return
            self.complete_at.setdefault(before, seq)
