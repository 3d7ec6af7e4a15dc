"""The store as plain lists: what it promises, with no database, no locks and no thought of speed.

Tokens are given, not made, so that both can be asked the same.
"""

import hashlib
import json
from dataclasses import dataclass, replace

from activeeval.campaigns.store import Acknowledged, ItemClaim
from activeeval.core.errors import InputError, StateError
from activeeval.core.judgments.log import Event

ANSWERS = ("judged", "cannot")
PLAIN = {"ensure_ascii": False, "separators": (",", ":")}


@dataclass
class Slot:
    unit: object
    position: int
    doc_id: str
    k: int
    state: str = "free"
    judge: str | None = None
    token: str | None = None
    lease_until: int = 0

    @property
    def order(self):
        return self.unit.number, self.position, self.k

    @property
    def item(self):
        return self.unit.number, self.doc_id


class NaiveStore:
    """One campaign."""

    def __init__(self, campaign, units, clock, ended=""):
        self.campaign, self.clock = campaign, clock
        self.assignments, self.log = [], []
        self.draw(units, ended)

    # log

    def add(self, **fields):
        event = Event(seq=len(self.log) + 1, at=self.clock(), **fields)
        self.log.append(event)
        return event

    def draw(self, units, ended="", sample="abc", version=1):
        for unit in units:
            texts = json.dumps([unit.query_text, *(place.text for place in unit.places)], sort_keys=True, **PLAIN)
            body = {"items": [place.doc_id for place in unit.places]}
            body |= {"probabilities": [place.probability for place in unit.places]}
            body |= {"level": unit.level, "cost": unit.cost, "block": unit.block, "version": unit.version}
            body |= {"sample": sample, "texts": hashlib.blake2b(texts.encode(), digest_size=16).hexdigest()}
            self.add(kind="drawn", unit=unit.number, query_id=unit.query_id, body=body)
            for position, place in enumerate(unit.places):
                for k in range(1, self.campaign.judges_per_item + 1):
                    self.assignments.append(Slot(unit, position, place.doc_id, k))
        if ended:
            self.add(kind="ended", reason=ended, body={"sample": sample, "version": version})

    def event_of(self, key):
        return next((event for event in self.log if key is not None and event.key == key), None)

    # claims

    def claim(self, judge, token):
        now = self.clock()
        own = [slot for slot in self.assignments if slot.state == "leased" and slot.judge == judge]
        chosen = own[0] if own else self.best(judge, now)
        if chosen is None:
            return None
        chosen.state, chosen.judge, chosen.token = "leased", judge, token
        chosen.lease_until = now + self.campaign.lease_s * 1_000_000
        self.add(
            kind="shown",
            judge=judge,
            query_id=chosen.unit.query_id,
            doc_id=chosen.doc_id,
            unit=chosen.unit.number,
            k=chosen.k,
            shown_at=now,
            key="shown:" + hashed(token),
        )
        return ItemClaim(
            token=token,
            unit=chosen.unit.number,
            block=chosen.unit.block,
            query_id=chosen.unit.query_id,
            doc_id=chosen.doc_id,
            k=chosen.k,
            lease_until=chosen.lease_until,
            was_put_off=bool(self.laters(judge, chosen)),
            query_text=chosen.unit.query_text,
            text=chosen.unit.places[chosen.position].text,
        )

    def best(self, judge, now):
        his = {slot.item for slot in self.assignments if slot.judge == judge}
        may = [slot for slot in self.assignments if self.is_takeable(slot, now) and slot.item not in his]
        if not may:
            return None
        block = min(slot.unit.block for slot in may)
        may = [slot for slot in may if slot.unit.block == block]
        last = [event.unit for event in self.log if event.judge == judge and event.kind in (*ANSWERS, "deferred")]
        leased = [slot for slot in self.assignments if slot.state == "leased" and slot.lease_until >= now]
        others = {(slot.unit.number, slot.k) for slot in leased}

        if self.campaign.strict_order:
            return min(may, key=lambda slot: slot.order)

        def rank(slot):
            laters = self.laters(judge, slot)
            if laters:
                return 1, max(laters), slot.k
            place = 0 if last and slot.unit.number == last[-1] else 1 + ((slot.unit.number, slot.k) in others)
            return 0, place, *slot.order

        return min(may, key=rank)

    def is_takeable(self, slot, now):
        return slot.state == "free" or (slot.state == "leased" and slot.lease_until < now)

    def laters(self, judge, slot):
        return [
            event.seq
            for event in self.log
            if event.kind == "deferred" and event.judge == judge and (event.unit, event.doc_id) == slot.item
        ]

    # answers

    def submit(self, token, said, key=None):
        shown = self.event_of("shown:" + hashed(token))
        if shown is None:
            raise InputError("unknown token")
        if said.kind == "deferred" and self.campaign.strict_order:
            raise InputError("nothing is put off")
        key = key or "token:" + hashed(token)
        stored = self.event_of(key)
        item = {name: getattr(shown, name) for name in ("judge", "query_id", "doc_id", "unit", "k", "shown_at")}
        if stored is not None:
            return self.repeated(stored, said, item)
        slot = next((slot for slot in self.assignments if slot.state == "leased" and slot.token == token), None)
        if slot is None:
            return self.late(said, self.why_late(shown), key=key, **item)
        self.put(slot, "free" if said.kind == "deferred" else "done")
        return Acknowledged(event=self.add(**spoken(said), **item, key=key))

    def put(self, slot, state, judge=None):
        slot.state, slot.token = state, None
        slot.judge = None if state == "free" else judge or slot.judge

    def repeated(self, stored, said, item):
        same = (stored.judge, stored.query_id, stored.doc_id) == (item["judge"], item["query_id"], item["doc_id"])
        if not same or not says(stored, said):
            raise StateError("key of something else")
        return Acknowledged(event=stored, is_repeated=True)

    def late(self, said, why, **item):
        spent = {"active_ms": said.active_ms, "idle_ms": said.idle_ms}
        body = {"said": said.kind, "reason": said.reason}
        return Acknowledged(event=self.add(kind="late", grade=said.grade, reason=why, body=body, **spent, **item))

    def why_late(self, shown):
        for event in self.log[shown.seq :]:
            same = (event.unit, event.doc_id, event.k) == (shown.unit, shown.doc_id, shown.k)
            if same and event.kind in ("shown", "deferred", *ANSWERS):
                if event.judge != shown.judge:
                    return "the item had gone to another judge"
                if event.kind == "shown":
                    return "a later claim took its place"
                break
        return "the item had been answered already"

    def record(self, judge, lines):
        if self.campaign.strict_order:
            raise InputError("one at a time")
        kept = len(self.log), [replace(slot) for slot in self.assignments]
        try:
            return [self.record_line(judge, *line) for line in lines]
        except StateError:
            del self.log[kept[0] :]
            self.assignments = kept[1]
            raise

    def record_line(self, judge, query_id, doc_id, said, key):
        item = {"judge": judge, "query_id": query_id, "doc_id": doc_id}
        stored = self.event_of(key)
        if stored is not None:
            return self.repeated(stored, said, item)
        assignments = sorted(
            (slot for slot in self.assignments if (slot.unit.query_id, slot.doc_id) == (query_id, doc_id)),
            key=lambda slot: (slot.unit.number, slot.k),
        )
        for slot in assignments:
            if slot.judge == judge and slot.state == "done":
                before = self.stands(judge, doc_id, slot.unit.number, slot.k)
                if says(before, said):
                    return Acknowledged(event=before, is_repeated=True)
        assignments = [slot for slot in assignments if slot.unit.number == assignments[-1].unit.number]
        own = [slot for slot in assignments if slot.judge == judge]
        if own and own[0].state == "done":
            place = {"unit": own[0].unit.number, "k": own[0].k}
            before = self.stands(judge, doc_id, **place)
            if says(before, said):
                return Acknowledged(event=before, is_repeated=True)
            return Acknowledged(event=self.add(**spoken(said), **item, **place, key=key, supersedes=before.seq))
        open_assignments = [slot for state in ("free", "leased") for slot in assignments if slot.state == state]
        if not own and not open_assignments:
            for event in reversed(self.log):
                mine = (event.judge, event.query_id, event.doc_id) == (judge, query_id, doc_id)
                if event.kind == "late" and mine:
                    if says(event, said):
                        return Acknowledged(event=event, is_repeated=True)
                    break
            why = "all judges asked for have judged it" if assignments else "never drawn"
            return self.late(said, why, key=key, **item)
        slot = (own or open_assignments)[0]
        self.put(slot, "done", judge)
        return Acknowledged(event=self.add(**spoken(said), **item, unit=slot.unit.number, k=slot.k, key=key))

    def stands(self, judge, doc_id, unit, k):
        return [
            event
            for event in self.log
            if event.kind in ANSWERS and (event.judge, event.doc_id, event.unit, event.k) == (judge, doc_id, unit, k)
        ][-1]

    def retract(self, seq, judge, reason):
        event = self.log[seq - 1] if 0 < seq <= len(self.log) else None
        if event is None or event.kind not in ANSWERS or any(other.supersedes == seq for other in self.log):
            raise StateError("does not stand")
        item = {name: getattr(event, name) for name in ("query_id", "doc_id", "unit", "k")}
        for slot in self.assignments:
            if (*slot.item, slot.k) == (event.unit, event.doc_id, event.k):
                self.put(slot, "free")
        return Acknowledged(event=self.add(kind="retracted", judge=judge, reason=reason, supersedes=seq, **item))

    def waiting(self):
        now = self.clock()
        free = sum(self.is_takeable(slot, now) for slot in self.assignments)
        done = sum(slot.state == "done" for slot in self.assignments)
        return {"free": free, "leased": len(self.assignments) - free - done, "done": done}


def hashed(token):
    return hashlib.sha256(token.encode()).hexdigest()


def spoken(said):
    return {name: getattr(said, name) for name in ("kind", "grade", "reason", "active_ms", "idle_ms")}


def says(event, said):
    kind, reason = (event.body["said"], event.body["reason"]) if event.kind == "late" else (event.kind, event.reason)
    return (kind, reason, event.grade) == (said.kind, said.reason, said.grade)
