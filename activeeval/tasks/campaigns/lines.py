"""What is claimed and what is stored, as lines for programs: printed by the command line, sent by the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from activeeval.tasks.campaigns.controls import as_seen

if TYPE_CHECKING:
    from activeeval.report.rendering import Row
    from activeeval.store import Acknowledged, Claimed

_CLAIMED = ("token", "query_id", "doc_id", "unit", "block", "k", "lease_until", "was_put_off", "query_text", "text")
_STORED = ("seq", "kind", "judge", "query_id", "doc_id", "grade")


def claimed_line(item: Claimed | None) -> Row:
    """Return an item with the token with which the answer is given; a token of None where nothing is left."""
    return {"token": None} if item is None else {name: getattr(item, name) for name in _CLAIMED}


def acknowledged_line(done: Acknowledged, token: str | None = None) -> Row:
    """Return what the store has made of an answer, with the token that it was given with, where there is one."""
    done = as_seen(done)
    record = {name: getattr(done.event, name) for name in _STORED}
    record |= {"reason": done.event.reason} if done.event.reason else {}
    record |= {"said": dict(done.event.body)} if done.event.kind == "preferred" else {}
    record |= {"repeated": True} if done.is_repeated else {}
    record |= {"machine_is_truth": True} if done.event.machine else {}
    return record if token is None else record | {"token": token}
