"""A campaign that is looked at again and again by one process: what is new is taken in, nothing is read twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from activeeval.campaigns.store import Store
from activeeval.core.errors import ActiveEvalError
from activeeval.core.judgments.log import Event
from activeeval.core.judgments.state import State

# what estimates need takes longer to import than all else: whoever waits for an item does without
if TYPE_CHECKING:
    from activeeval.campaigns.state import CampaignState
    from activeeval.campaigns.status import Status

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingCounts:
    """How many items wait: of the lowest open block, and of all that is drawn; how many blocks are open."""

    in_block: int
    in_all: int
    blocks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """How wide the interval of the first question is, and nothing of where it lies.

    Attributes
    ----------
    half_width : float
        At the last complete block.
    at_end : float or None
        To expect once all is judged.
    """

    half_width: float
    at_end: float | None


class LiveLog:
    """What the log of a campaign comes to, brought up to date at each look; threads may share it."""

    def __init__(self, store: Store, name: str) -> None:
        campaign = store.campaign(name)
        n, third = campaign.judges_per_item, campaign.adjudicate
        self._store, self._name, self._lock = store, name, threading.Lock()
        self._state = State(judges_per_item=n, adjudicate=third, lease_s=campaign.lease_s)
        self._last: Event | None = None

    def look(self, ask: Callable[[State], T]) -> T:
        """Return what is asked of the state as it is now; what is answered must not hold on to it."""
        with self._lock:
            events = self._store.events(self._name, since=self._last)
            self._state.apply_all(events)
            self._last = events[-1] if events else self._last
            return ask(self._state)

    @property
    def left(self) -> WaitingCounts:
        """What waits now."""
        return self.look(left_in)


class LiveReading:
    """A campaign with all that its estimates need, brought up to date at each look; threads may share it.

    An estimate may take a second, and the first one a minute while it is compiled: the precision is made in a thread of
    its own, and until it is there the one before is what is known.
    """

    def __init__(self, store: Store, name: str) -> None:
        self._store, self._name, self._lock = store, name, threading.Lock()
        self._state: CampaignState | None = None
        self._precision: Precision | None = None
        self._made_for: tuple[int, int] | None = None
        self._making: threading.Thread | None = None
        self._told: Status | None = None

    def look(self, ask: Callable[[CampaignState], T]) -> T:
        """Return what is asked of the campaign as it is now."""
        from activeeval.campaigns.state import state_of

        with self._lock:
            state = self._state
            self._state = state_of(self._store, self._name) if state is None else state.refresh(self._store)
            return ask(self._state)

    def quiet_status(self) -> Status:
        """Return how far the campaign was when a block was complete last, or something was drawn.

        Where controls are mixed in nobody is told more than that: counts that move with some answers and not with
        others would say which of them were controls.
        """
        from activeeval.campaigns.status import last_change, status_as_of

        def ask(state: CampaignState) -> Status:
            seq = last_change(state.state, state.log)
            if self._told is None or self._told.progress.as_of != seq:
                self._told = status_as_of(state, seq)
            return self._told

        return self.look(ask)

    def precision(self, left: WaitingCounts) -> Precision | None:
        """Return the last precision that is known, and have the next one made where a block is complete since."""
        place = (left.blocks, left.in_all and 1)
        if place != self._made_for and (self._making is None or not self._making.is_alive()):
            self._made_for = place
            # a server that is to end does not wait for it
            self._making = threading.Thread(target=self._make, daemon=True)
            self._making.start()
        return self._precision

    def wait(self) -> None:
        """Wait for a precision that is being made."""
        if self._making is not None:
            self._making.join()

    def _make(self) -> None:
        try:
            self._precision = self.look(precision_of)
        except ActiveEvalError:  # nothing can be read: judges see no width then
            self._precision = None


def precision_of(state: CampaignState) -> Precision | None:
    """Return how wide the interval of a campaign's first question is; None where nothing can be read."""
    from activeeval.campaigns.report.content import finite
    from activeeval.campaigns.status import estimates_of, half_width_of

    if not state.block:
        return None
    first = estimates_of(state).answers[0]
    half_width = finite(half_width_of(first))
    return None if half_width is None else Precision(half_width=half_width, at_end=finite(first.half_width_at_end))


def left_in(state: State) -> WaitingCounts:
    """Return what waits."""
    return left_of(state.n_waiting)


def left_of(n_waiting: Mapping[int, int]) -> WaitingCounts:
    """Return what waits, by block."""
    waiting = [n for _, n in sorted(n_waiting.items()) if n]
    return WaitingCounts(in_block=waiting[0] if waiting else 0, in_all=sum(waiting), blocks=len(waiting))
