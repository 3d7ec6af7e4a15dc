"""Store many judgments from files in one transaction, without claims and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from sqlalchemy import Connection, select, text, update

from activeeval.campaigns.store import tables
from activeeval.campaigns.store.answering import (
    GONE,
    check_judgment,
    check_key,
    judgment_event,
    late_event,
    says_the_same,
)
from activeeval.campaigns.store.claiming import FREED
from activeeval.campaigns.store.log import append, check_text, chunks, events, lock_log, tail
from activeeval.campaigns.store.rows import Acknowledged, CampaignRow, JudgeAnswer
from activeeval.core.errors import InputError, StateError, shown
from activeeval.core.judgments.log import ANSWERS, Event, is_of_control


class JudgmentLine(NamedTuple):
    """One judgment of a file.

    Attributes
    ----------
    query_id, doc_id : str
    judgment : JudgeAnswer
    key : str or None
        Idempotency key: a line with the same key is stored only once.
    unit : int or None
        Number of the unit (items judged together) of the item. Needed if a later round includes an item again that an
        earlier round could not have judged; by default the latest unit with this item.
    """

    query_id: str
    doc_id: str
    judgment: JudgeAnswer
    key: str | None = None
    unit: int | None = None


assignment, event, place, unit = tables.assignment, tables.event, tables.place, tables.unit
NEVER_DRAWN = "never drawn"
ALL_DONE = "all judges asked for have judged it"
_NEVER = 9
UNJUDGED = "came back without a grade"


def check_lines(lines: Sequence[JudgmentLine], campaign: CampaignRow) -> None:
    """Raise InputError, which names the item, if a line of a file is not a valid judgment for the campaign."""
    if campaign.strict_order:
        raise InputError("this campaign has strict order: answers are given one at a time, by claim and submit")
    for query_id, doc_id, judgment, key, _ in lines:
        check_text("query_id", query_id, may_be_empty=False)
        check_text("doc_id", doc_id, may_be_empty=False)
        check_key(key)
        try:
            check_judgment(judgment, campaign, ANSWERS)
        except InputError as error:
            raise InputError(f"{error} (query {shown(query_id)}, document {shown(doc_id)})") from None


class Unjudged(NamedTuple):
    """An item that came back on a sheet without an answer; an empty judge stands for a sheet without a named judge."""

    judge: str
    query_id: str
    doc_id: str
    unit: int | None


def record(
    connection: Connection,
    campaign_id: int,
    parts: Sequence[tuple[str, Sequence[JudgmentLine]]],
    at: int,
    unjudged: Sequence[Unjudged] = (),
) -> list[list[Acknowledged]]:
    """Store judgments made elsewhere, each in a free assignment of its item if there is one.

    Return the acknowledgments of each part, one for each line.

    An assignment is one of the judgments that an item needs. Checked-out items that came back unjudged become free
    again. The judges' rows must be locked. ``parts`` has (judge, lines), ``at`` is the time in UTC microseconds.
    """
    # lock all assignments before the log: the transaction that holds the log waits for no other lock
    lines = [line for _, of_judge in parts for line in of_judge]
    items = {(line.query_id, line.doc_id) for line in lines} | {(line.query_id, line.doc_id) for line in unjudged}
    assignments = _locked_assignments(connection, campaign_id, items)
    lock_log(connection, campaign_id)
    done = [_record(connection, campaign_id, judge, lines, assignments, at) for judge, lines in parts]
    _free(connection, campaign_id, unjudged, assignments, at)
    return done


def _free(
    connection: Connection, campaign_id: int, unjudged: Sequence[Unjudged], assignments: _Assignments, at: int
) -> None:
    """Free the checked-out assignments (needed judgments) of items that came back unjudged at ``at`` (microseconds)."""
    back: dict[int, Event] = {}
    for judge, query_id, doc_id, unit_number in unjudged:
        for p in assignments.get((query_id, doc_id), ()):
            if p.state == "checked_out" and p.unit == unit_number and p.judge in (None, judge):
                item: dict[str, Any] = {"query_id": query_id, "doc_id": doc_id, "unit": p.unit, "k": p.k}
                back[p.id] = Event(seq=0, kind="returned", at=at, judge=p.judge or "", reason=UNJUDGED, **item)
    append(connection, campaign_id, list(back.values()))
    for chosen in back:
        connection.execute(update(assignment).where(assignment.c.id == chosen).values(FREED))


def _record(
    connection: Connection,
    campaign_id: int,
    judge: str,
    lines: Sequence[JudgmentLine],
    assignments: _Assignments,
    at: int,
) -> list[Acknowledged]:
    """Store the lines of one judge, and complete their assignments (needed judgments); return one result for each line.

    ``assignments`` are those of all items of the import, by query and document; ``at`` is the time in UTC microseconds.
    """
    # the judge's earlier answers, and events with the keys of the lines
    before = _Before(connection, campaign_id, judge, [line.key for line in lines if line.key is not None])
    # collects the new events, and the ids of the assignments that they complete (`done`)
    desk = _Desk(
        judge=judge, at=at, assignments=assignments, before=before, next_seq=tail(connection, campaign_id)[0] + 1
    )
    answers = [desk.take(line) for line in lines]
    stored = {event.seq: event for event in append(connection, campaign_id, desk.new)}
    for chosen in desk.done:
        values = {**FREED, "state": "done", "judge": judge}
        connection.execute(update(assignment).where(assignment.c.id == chosen).values(values))
    return [replace(answer, event=stored.get(answer.event.seq, answer.event)) for answer in answers]


@dataclass(slots=True)
class _Place:
    """An assignment (one of the judgments that an item needs) while a file is imported.

    ``k`` is its number among those of the item, ``state`` is "free", "leased", "checked_out" or "done"; ``judge`` holds
    it until ``lease_until`` (UTC microseconds).
    """

    id: int
    unit: int
    k: int
    state: str
    judge: str | None
    lease_until: int | None

    def rank(self, at: int, *, was_lent: bool) -> int:
        """Rank this assignment for an answer from a file: the smallest is taken first, `_NEVER` never.

        A judge does not lose a leased item while another assignment is free, nor a checked-out item. A judge whose own
        check-out has expired (``was_lent``) does not take the item from a judge who holds it now. ``at`` is the time in
        UTC microseconds.
        """
        is_over = self.lease_until is not None and self.lease_until < at
        if self.state == "checked_out":
            return 1 if self.judge is None or is_over else _NEVER
        if self.state == "leased":
            return _NEVER if was_lent and not is_over else 2
        return 0 if self.state == "free" else _NEVER


_Assignments = dict[tuple[str, str], list[_Place]]


class _Before:
    """Earlier events of a judge, and the events under the keys of a file."""

    def __init__(self, connection: Connection, campaign_id: int, judge: str, keys: Sequence[str]) -> None:
        """Read the events of a judge, and those with one of the idempotency ``keys``.

        ``lent`` has the items (unit, document) that were checked out to the judge, ``answers`` the latest answer by
        unit, document and number of the assignment, ``late`` late answers by query and document, ``keyed`` events by
        key.
        """
        kinds = (*ANSWERS, "late", "checked_out")
        events_of_judge = events(connection, campaign_id, event.c.judge == judge, event.c.kind.in_(kinds))
        self.lent = {(e.unit, e.doc_id) for e in events_of_judge if e.kind == "checked_out"}
        self.answers = {(e.unit, e.doc_id, e.k): e for e in events_of_judge if e.kind in ANSWERS}
        self.late = {(e.query_id, e.doc_id): e for e in events_of_judge if e.kind == "late" and not is_of_control(e)}
        self.keyed = {e.key: e for part in chunks(keys) for e in events(connection, campaign_id, event.c.key.in_(part))}

    def add(self, new: Event) -> None:
        """Add a new event to the lookups."""
        if new.kind == "late":
            self.late[new.query_id, new.doc_id] = new
        else:
            self.answers[new.unit, new.doc_id, new.k] = new
        if new.key is not None:
            self.keyed[new.key] = new


@dataclass(slots=True, kw_only=True)
class _Desk:
    """Processes the lines of a judge's file one by one and collects new events, which are written at the end in one go.

    ``before`` has earlier events and those of the lines so far, ``next_seq`` is the number of the first new event,
    ``done`` has the ids of the assignments that were completed.
    """

    judge: str
    at: int
    assignments: _Assignments
    before: _Before
    next_seq: int
    new: list[Event] = field(default_factory=list)
    done: list[int] = field(default_factory=list)

    def take(self, line: JudgmentLine) -> Acknowledged:
        """Process a line: repeat or supersede the judge's earlier answer, complete an assignment, or add it as late.

        A late answer is kept but does not count. Raises StateError if the line's key is that of a different answer.
        ``assignments`` are the needed judgments by (query, document), ``before`` has the judge's earlier answers by
        unit, document and number of the assignment, and the items that were checked out to the judge (``lent``).
        """
        query_id, doc_id, judgment, key, unit_number = line
        if key is not None and key in self.before.keyed:
            return self._repeated(self.before.keyed[key], line)
        item = Event(seq=0, kind="", at=self.at, judge=self.judge, query_id=query_id, doc_id=doc_id)
        drawn = self.assignments.get((query_id, doc_id), [])
        if unit_number is None:
            earlier = (self.before.answers[p.unit, doc_id, p.k] for p in drawn if self._is_answered(p))
            if (same := next((answer for answer in earlier if says_the_same(answer, judgment)), None)) is not None:
                return Acknowledged(event=same, is_repeated=True)
            unit_number = drawn[-1].unit if drawn else None  # the latest unit with this item
        places = [p for p in drawn if p.unit == unit_number]
        assigned = next((p for p in places if p.judge == self.judge), None)
        if assigned is not None and self._is_answered(assigned):
            return self._again(self.before.answers[assigned.unit, doc_id, assigned.k], judgment, key)
        was_lent = (unit_number, doc_id) in self.before.lent
        # the judge's own assignment comes first, then the lowest rank, then the first in order
        ranked = [(-1 if p is assigned else p.rank(self.at, was_lent=was_lent), n, p) for n, p in enumerate(places)]
        rank, _, chosen = min(ranked, default=(_NEVER, 0, None))
        if chosen is None or rank == _NEVER:
            is_gone = any(p.state != "done" for p in places)  # another judge holds the item
            return self._late(item, judgment, key, GONE if is_gone else ALL_DONE if places else NEVER_DRAWN)
        chosen.state, chosen.judge = "done", self.judge
        self.done.append(chosen.id)
        return self._add(judgment_event(replace(item, unit=chosen.unit, k=chosen.k), judgment, self.at, key))

    def _is_answered(self, at: _Place) -> bool:
        """Check whether this judge has completed the assignment (needed judgment) ``at``."""
        return at.judge == self.judge and at.state == "done"

    def _repeated(self, stored: Event, line: JudgmentLine) -> Acknowledged:
        """Acknowledge a line whose key is stored; raise StateError if its content differs."""
        query_id, doc_id, judgment, key, _ = line
        is_of_item = (stored.query_id, stored.doc_id, stored.judge) == (query_id, doc_id, self.judge)
        if not is_of_item or not says_the_same(stored, judgment):
            raise StateError(f"the key {shown(key or '')} is that of event {stored.seq}, which is a different answer")
        return Acknowledged(event=stored, is_repeated=True)

    def _again(self, old: Event, judgment: JudgeAnswer, key: str | None) -> Acknowledged:
        """Acknowledge the judge's earlier answer ``old`` if it is the same, else supersede it."""
        if says_the_same(old, judgment):
            return Acknowledged(event=old, is_repeated=True)
        # an imported answer was not shown by this system
        return self._add(judgment_event(replace(old, shown_at=None), judgment, self.at, key, supersedes=old.seq))

    def _late(self, item: Event, judgment: JudgeAnswer, key: str | None, why: str) -> Acknowledged:
        """Acknowledge the judge's earlier late answer if it is the same, else add a late event with the reason ``why``.

        ``item`` is an event with the ids of the item.
        """
        stored = self.before.late.get((item.query_id, item.doc_id))
        if stored is not None and says_the_same(stored, judgment):
            return Acknowledged(event=stored, is_repeated=True)
        return self._add(late_event(item, judgment, self.at, key, why))

    def _add(self, happened: Event) -> Acknowledged:
        """Add a new event, with the number that it will have when it is stored; return its acknowledgment."""
        new = replace(happened, seq=self.next_seq + len(self.new))
        self.new.append(new)
        self.before.add(new)
        return Acknowledged(event=new)


def _locked_assignments(connection: Connection, campaign_id: int, wanted: set[tuple[str, str]]) -> _Assignments:
    """Lock and read all assignments (needed judgments) of the wanted (query, document) items; return them by item.

    Those of an item are in the order of units (an item may be drawn again in a later unit) and of their numbers k.
    """
    if connection.dialect.name == "postgresql":
        # `rebuild` changes the ids of assignments: keep it out between reading these and locking them
        connection.execute(text("LOCK TABLE assignment IN ROW SHARE MODE"))
    items = _items(connection, campaign_id, wanted)
    assignments: _Assignments = {}
    columns = [assignment.c[name] for name in ("id", "unit", "k", "state", "judge", "lease_until")]
    for chunk in chunks(sorted(items)):  # one global order, so that concurrent imports cannot deadlock
        chosen = select(*columns).where(assignment.c.id.in_(chunk)).order_by(assignment.c.id).with_for_update()
        for row in connection.execute(chosen):
            assignments.setdefault(items[row.id], []).append(_Place(*row))
    for places in assignments.values():
        places.sort(key=lambda p: (p.unit, p.k))
    return assignments


def _items(connection: Connection, campaign_id: int, wanted: set[tuple[str, str]]) -> dict[int, tuple[str, str]]:
    """Map the id of each assignment (needed judgment) of the wanted (query, document) items to its item."""
    assignments: dict[int, tuple[str, str]] = {}
    for chunk in chunks(sorted({doc_id for _, doc_id in wanted})):
        for row in connection.execute(_assignment_of_documents(campaign_id, chunk)):
            if (row.query_id, row.doc_id) in wanted:
                assignments[row.id] = (row.query_id, row.doc_id)
    return assignments


def _assignment_of_documents(campaign_id: int, doc_ids: Sequence[str]) -> Any:
    """Select id, query_id and doc_id of the assignments (needed judgments) of some documents, for any query."""
    at_place = assignment.join(
        place,
        (assignment.c.campaign_id == place.c.campaign_id)
        & (assignment.c.unit == place.c.unit)
        & (assignment.c.position == place.c.position),
    )
    of_unit = at_place.join(unit, (unit.c.campaign_id == place.c.campaign_id) & (unit.c.number == place.c.unit))
    columns = select(assignment.c.id, unit.c.query_id, place.c.doc_id).select_from(of_unit)
    return columns.where(place.c.campaign_id == campaign_id, place.c.doc_id.in_(doc_ids))
