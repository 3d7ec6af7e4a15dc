"""Who has which item, from the log alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from activeeval.store.rows import CampaignRow, EventRow

ANSWERS = ("judged", "cannot")
"""Kinds after which nobody waits for an item."""
MICROSECONDS = 1_000_000


@dataclass(slots=True, kw_only=True)
class Slot:
    """An item's place for one judge.

    Attributes
    ----------
    state : {"free", "leased", "done"}
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


def slots_of(campaign: CampaignRow, events: Iterable[EventRow]) -> tuple[list[Slot], list[str]]:
    """Return the slots that a log comes to, and what in it does not follow from what was before."""
    slots: dict[tuple[int | None, str, int | None], Slot] = {}
    problems = []
    for event in events:
        if event.kind == "drawn":
            slots.update(_drawn(campaign, event))
        elif event.kind in ("shown", "later", "retracted", "preferred", *ANSWERS):
            slot = slots.get((event.unit, event.doc_id, event.k))
            if slot is None:
                problems.append(f"event {event.seq} is {event.kind} of {event.doc_id!r}, which was never drawn")
            else:
                _take(slot, event, campaign.lease_s)
    return sorted(slots.values(), key=lambda s: (s.block, s.unit, s.position, s.k)), problems


def _drawn(campaign: CampaignRow, event: EventRow) -> dict[tuple[int | None, str, int | None], Slot]:
    return {
        (event.unit, doc_id, k): Slot(block=event.body["block"], unit=event.unit or 0, position=position, k=k)
        for position, doc_id in enumerate(event.body["items"])
        for k in range(1, campaign.judges_per_item + 1)
    }


def _take(slot: Slot, event: EventRow, lease_s: int) -> None:
    if event.kind == "preferred":
        slot.lease_until = event.at + lease_s * MICROSECONDS
        return
    slot.state = {"shown": "leased", "judged": "done", "cannot": "done"}.get(event.kind, "free")
    slot.judge = None if slot.state == "free" else event.judge
    slot.token_hash = slot.lease_until = None
    if event.kind == "shown":
        slot.token_hash = (event.key or "").removeprefix("shown:")
        slot.lease_until = event.at + lease_s * MICROSECONDS
