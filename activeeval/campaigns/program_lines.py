"""Output rows for programs: claimed items and stored answers, printed by the command line and sent by the page."""

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
    """Convert a claim to an output row with the token for its answer; the token is None if nothing is left.

    The number of the unit (items judged together) is replaced by a word that reveals no order.
    """
    if item is None:
        return {"token": None}
    return {name: getattr(item, name) for name in _CLAIMED} | {"unit": _unit_word(item, store, name)}


def _unit_word(item: ItemClaim, store: Store, name: str) -> str:
    """Compute a word that identifies a unit (items judged together) without revealing its place in the queue.

    It is keyed with the digest of the first event, which covers the campaign's set-up and sample and which judges never
    see; so it is the same each time.
    """
    key = store.digest_at(name, 1) or ""
    return hmac.new(key.encode(), str(item.unit).encode(), hashlib.sha256).hexdigest()[:16]


def acknowledged_line(done: Acknowledged, token: str | None = None) -> Row:
    """Convert the acknowledgment of an answer to an output row, with the token if one is given.

    An answer to a control (an item that checks the judge) looks like that to an ordinary item.
    """
    done = as_seen(done)
    record = {name: getattr(done.event, name) for name in _STORED}
    record |= {"reason": done.event.reason} if done.event.reason else {}
    record |= {"said": dict(done.event.body)} if done.event.kind == "preferred" else {}
    record |= {"repeated": True} if done.is_repeated else {}
    record |= {"machine_is_truth": True} if done.event.machine else {}
    return record if token is None else record | {"token": token}
