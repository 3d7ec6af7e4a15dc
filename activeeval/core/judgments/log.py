"""The log of a campaign: everything that happened, in the order in which it did; nothing in it is ever changed."""

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
"""Kinds after which nobody waits for an item."""
CONTROLS = ("control_shown", "checked", "passed")
"""Kinds of what happens to a control."""
OF_MACHINE = "machine"
"""In the body of a judgment: the file of a machine that it came from, which was taken for a person's."""
BESIDE = frozenset({"note", "guidelines", "hidden_ms", "input"})
"""In the body of an answer what goes with it and says nothing of the item: a remark, the version of the guidelines that
the judge could read, how long the page was hidden, and what was used, a key or a mouse."""
REOPENED = "reopened"
"""What a retraction says that gives a query back to its judge, with what he has compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened; never changed, never deleted.

    Attributes
    ----------
    seq : int
        1, 2, 3 … without a gap within a campaign, in the order in which they were kept.
    kind : str
        One of `KINDS`.
    at : int
        When it was received: UTC, microseconds; 0 where nobody looked at a clock.
    judge, query_id, doc_id : str
        Empty where there is none.
    unit, k : int or None
        The unit of the item, and the how manieth judge's place at it (from 1).
    grade : int or None
    reason : str
        Why it cannot be judged, is late, was retracted or has ended.
    body : mapping
        What else belongs to it: the items of a unit that was drawn, the sides of a preference.
    shown_at, active_ms, idle_ms : int or None
        The judge's clock.
    supersedes : int or None
        The event that this one takes the place of, or takes back.
    key : str or None
        No two events of a campaign have the same: whoever sends one again gets the stored answer.
    digest : str
        Of this event and of the digest of the one before: a chain; empty in a log that is not stored.
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
        """The file of a machine whose judgment was taken for a person's; empty of what people say."""
        return str(self.body.get(OF_MACHINE, ""))

    @property
    def note(self) -> str:
        """What its judge remarked beside the answer; empty where that is nothing."""
        body = self.body.get("body", {}) if self.kind == "late" else self.body
        return str(body.get("note", ""))


def is_of_control(event: Event) -> bool:
    """Whether an event is of a control: that it was shown or answered, its lease began again, an answer came late."""
    return event.kind in CONTROLS or (event.kind in ("renewed", "late") and "item" in event.body)
