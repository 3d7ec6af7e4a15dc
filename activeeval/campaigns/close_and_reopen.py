"""Close a campaign, so that no further items are given out, and reopen it.

Closing checks out every free assignment to an empty judge name with a lease of 100 years. Items already given out may
still be answered, earlier answers may be corrected, and all results can be read.
"""

from __future__ import annotations

from collections.abc import Sequence

from activeeval.campaigns.store import Chosen, OpenPlace, Store
from activeeval.core.errors import StateError
from activeeval.core.judgments.state import MICROSECONDS, State

_FOREVER_S = 100 * 365 * 86_400
_FAR_US = 50 * 365 * 86_400 * MICROSECONDS  # distinguishes closing from a sheet, which is checked out for weeks
OPENED = "the campaign was opened again"


def close(store: Store, name: str) -> int:
    """Stop giving out the items of campaign ``name``; return the number of free assignments that are now held back.

    An assignment is one of the judgments that an item needs.

    Raises
    ------
    StateError
        If no assignment is free.
    """
    # checked out to no judge for 100 years: no other judge can get these items
    chosen, _ = store.lend(name, [], _all_free, _FOREVER_S)
    if not chosen:
        raise StateError(f"campaign {name}: no item is open, so there is nothing to close")
    return len(chosen)


def reopen(store: Store, name: str) -> int:
    """Give out again the items that were held back when the campaign was closed; return the number of assignments.

    An assignment is one of the judgments that an item needs.

    Raises
    ------
    StateError
        If the campaign is not closed.
    """
    closed: list[OpenPlace] = []
    now = store.now(name)

    def look(open_places: Sequence[OpenPlace]) -> Chosen:
        """Remember the assignments (needed judgments) that closing has checked out for 100 years; choose no others."""
        closed[:] = [place for place in open_places if not place.judge and (place.lease_until or 0) > now + _FAR_US]
        return []

    store.lend(name, [], look, 1)  # only lists the open assignments: `look` chooses none to check out
    if not closed:
        raise StateError(f"campaign {name}: it is not closed")
    store.take_back(name, [(place, "") for place in closed], OPENED)
    return len(closed)


def is_closed(state: State, now: int) -> bool:
    """Check whether a campaign is closed: assignments (needed judgments) are checked out to no judge for decades.

    Parameters
    ----------
    state : State
        State of the campaign's log.
    now : int
        Time in UTC microseconds.
    """
    out = (row for row in state.assignments.values() if row.state == "checked_out" and not row.judge)
    return any((row.lease_until or 0) > now + _FAR_US for row in out)


def _all_free(open_places: Sequence[OpenPlace]) -> Chosen:
    """Choose all free assignments (needed judgments) for checking out, with judge "" (no named judge)."""
    return [(place, "") for place in open_places if place.is_free]
