"""What is claimed and what is stored, as lines for programs: printed by the command line, sent by the page."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

from activeeval.campaigns.control_items import as_seen

if TYPE_CHECKING:
    from activeeval.campaigns.store import Acknowledged, ItemClaim, Store
    from activeeval.report.rendering import Row

_CLAIMED = ("token", "query_id", "doc_id", "unit", "block", "k", "lease_until", "was_put_off", "query_text", "text")
_STORED = ("seq", "kind", "judge", "query_id", "doc_id", "grade")


def claimed_line(item: ItemClaim | None, store: Store, name: str) -> Row:
    """Return an item with the token with which the answer is given; a token of None where nothing is left."""
    if item is None:
        return {"token": None}
    return {name: getattr(item, name) for name in _CLAIMED} | {"unit": _unit_word(item, store, name)}


def _unit_word(item: ItemClaim, store: Store, name: str) -> str:
    """Return a word that tells units apart and says nothing of their order in the queue.

    It is keyed with the digest of the first event, which stands for the campaign's set-up and its sample and which no
    judge is shown; so it is the same each time.
    """
    key = store.digest_at(name, 1) or ""
    return hmac.new(key.encode(), str(item.unit).encode(), hashlib.sha256).hexdigest()[:16]


def acknowledged_line(done: Acknowledged, token: str | None = None) -> Row:
    """Return what the store has made of an answer, with the token that it was given with, where there is one."""
    done = as_seen(done)
    record = {name: getattr(done.event, name) for name in _STORED}
    record |= {"reason": done.event.reason} if done.event.reason else {}
    record |= {"said": dict(done.event.body)} if done.event.kind == "preferred" else {}
    record |= {"repeated": True} if done.is_repeated else {}
    record |= {"machine_is_truth": True} if done.event.machine else {}
    return record if token is None else record | {"token": token}
