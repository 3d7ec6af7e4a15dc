"""The append-only event log of a campaign."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

KINDS = (
    *("drawn", "trained", "shown", "renewed", "checked_out", "returned", "control_shown", "checked", "passed"),
    *("judged", "preferred", "cannot", "deferred", "adjudicated", "retracted", "late", "ended"),
)
"""Kinds of events. Some of them:

- ``trained``: an answer to a training item, which never counts.
- ``renewed``: a lease starts again while its judge works on the item.
- ``checked_out``: the item is on a judge's sheet; ``returned``: any judge may take it again.
- ``control_shown``: a control item was shown among the others; ``checked``: it was answered; ``passed``: it was
  deferred. None of these counts.
- ``adjudicated``: the lead decided the grade of an item whose judges differ; their judgments stay in the log.
- ``late``: a judgment that is stored but does not count; its reason says why.
"""
ANSWERS = ("judged", "cannot")
"""Kinds of events after which an item no longer waits for a judge."""
CONTROLS = ("control_shown", "checked", "passed")
"""Kinds of events of a control."""
OF_MACHINE = "machine"
"""Key in the body of a judgment: the grader's file that it came from, accepted as a person's judgment."""
BESIDE = frozenset({"note", "guidelines", "hidden_ms", "input"})
"""Keys in the body of an answer that do not affect it: a remark, the version of the guidelines that the judge could
read, how long the page was hidden (ms), and the input device, a key or a mouse."""
REOPENED = "reopened"
"""Reason of a retraction that gives a query back to its judge, with the comparisons made so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event of a campaign; never changed, never deleted.

    Attributes
    ----------
    seq : int
        Event number within the campaign: 1, 2, 3 … without gaps, in the order of storage.
    kind : str
        One of `KINDS`.
    at : int
        Time of receipt, microseconds since the epoch, UTC; 0 if no time was recorded.
    judge, query_id, doc_id : str
        Empty if the event has none.
    unit, k : int or None
        Number of the item's unit (what was drawn and is judged at once), and of the assignment of the item to this
        judge, from 1: an item with two judges has two.
    grade : int or None
    reason : str
        Why the item cannot be judged, or the event is late, was retracted or has ended.
    body : mapping
        Further data: the items of a drawn unit, the sides of a preference.
    shown_at, active_ms, idle_ms : int or None
        Times of the judge's clock; the last two in milliseconds.
    supersedes : int or None
        Number of the event that this one replaces or retracts.
    key : str or None
        Idempotency key, unique within a campaign: a repeated request gets the stored answer.
    digest : str
        Digest of this event and of the preceding digest, forming a chain; empty in a log that is not stored.
    """

    seq: int
    kind: str
    at: int
    judge: str = ""
    query_id: str = ""
    doc_id: str = ""
    unit: int | None = None
    k: int | None = None
    grade: int | None = None
    reason: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)
    shown_at: int | None = None
    active_ms: int | None = None
    idle_ms: int | None = None
    supersedes: int | None = None
    key: str | None = None
    digest: str = ""

    @property
    def machine(self) -> str:
        """File of a grader (an LLM or another model) whose judgment was accepted as a person's; else empty."""
        return str(self.body.get(OF_MACHINE, ""))

    @property
    def note(self) -> str:
        """The judge's remark on the answer, empty if there is none; a late event has the answer's data in its body."""
        body = self.body.get("body", {}) if self.kind == "late" else self.body
        return str(body.get("note", ""))


def is_of_control(event: Event) -> bool:
    """True if an event belongs to a control (an item with a known grade, shown to check a judge).

    These are events that it was shown, answered or deferred, its lease renewed, or its answer too late.
    """
    return event.kind in CONTROLS or (event.kind in ("renewed", "late") and "item" in event.body)
