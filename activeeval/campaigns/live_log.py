"""Campaign state that a long-running process keeps up to date by reading only new events."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from activeeval.campaigns.store import Store
from activeeval.core.errors import ActiveEvalError
from activeeval.core.judgments.log import Event
from activeeval.core.judgments.state import State

# estimates import slowly: a judge who waits for an item must not wait for them
if TYPE_CHECKING:
    from activeeval.campaigns.state import CampaignState
    from activeeval.campaigns.status import Status

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingCounts:
    """Number of items that wait for a judge.

    Attributes
    ----------
    in_block : int
        In the lowest incomplete block (part of the sample).
    in_all : int
        In all drawn blocks.
    blocks : int
        Number of blocks with waiting items.
    """

    in_block: int
    in_all: int
    blocks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """Width of the interval of the first question, without its position, so that judges do not learn the estimate.

    Attributes
    ----------
    half_width : float
        At the last complete block (part of the sample).
    at_end : float or None
        Expected when all items are judged.
    """

    half_width: float
    at_end: float | None


class LiveLog:
    """State of a campaign's log, updated at each access; threads may share an instance."""

    def __init__(self, store: Store, name: str) -> None:
        """Start before the first event of the campaign ``name``; raise InputError if it does not exist."""
        campaign = store.campaign(name)
        n, third = campaign.judges_per_item, campaign.adjudicate
        self._store, self._name, self._lock = store, name, threading.Lock()
        self._state = State(judges_per_item=n, adjudicate=third, lease_s=campaign.lease_s)
        # last event that was applied
        self._last: Event | None = None

    def look(self, ask: Callable[[State], T]) -> T:
        """Update the state with new events and return ``ask(state)``.

        The result must not refer to the state, which other threads update.
        """
        with self._lock:
            events = self._store.events(self._name, since=self._last)
            self._state.apply_all(events)
            self._last = events[-1] if events else self._last
            return ask(self._state)

    @property
    def left(self) -> WaitingCounts:
        """Items that wait now."""
        return self.look(left_in)


class LiveReading:
    """A campaign with all data for estimates, updated at each access; threads may share an instance.

    An estimate may take a second, and the first one a minute of compilation. So the precision is computed in a
    background thread, and the previous value is used until it is ready.
    """

    def __init__(self, store: Store, name: str) -> None:
        """Remember the campaign ``name`` of a store; nothing is read before the first access."""
        self._store, self._name, self._lock = store, name, threading.Lock()
        self._state: CampaignState | None = None
        self._precision: Precision | None = None
        self._computed_at: tuple[int, int] | None = None  # stage of judging for which the precision was computed
        self._computing: threading.Thread | None = None
        # status as of the last completed block or draw
        self._quiet_status: Status | None = None

    def look(self, ask: Callable[[CampaignState], T]) -> T:
        """Update the campaign's state with new events and return ``ask(state)``, under a lock."""
        from activeeval.campaigns.state import state_of

        with self._lock:
            state = self._state
            self._state = state_of(self._store, self._name) if state is None else state.refresh(self._store)
            return ask(self._state)

    def quiet_status(self) -> Status:
        """Compute the campaign's status as of the last completed block (part of the sample) or draw.

        With controls (items that check a judge), no later status is shown: counts that change with some answers and not
        with others would reveal which of them were controls.
        """
        from activeeval.campaigns.status import last_change, status_as_of

        def ask(state: CampaignState) -> Status:
            """Compute the status, or return the last one if nothing has changed."""
            seq = last_change(state.state, state.log)
            if self._quiet_status is None or self._quiet_status.progress.as_of != seq:
                self._quiet_status = status_as_of(state, seq)
            return self._quiet_status

        return self.look(ask)

    def precision(self, left: WaitingCounts) -> Precision | None:
        """Return the latest known precision (half-widths), and start computing the next if a block was completed.

        A block is a part of the sample. ``left`` are the items that wait now. None before the first precision is ready,
        or if no estimate is possible.
        """
        stage = (left.blocks, min(left.in_all, 1))  # changes if a block is completed, or the last item is judged
        if stage != self._computed_at and (self._computing is None or not self._computing.is_alive()):
            self._computed_at = stage
            # daemon: a server that shuts down does not wait for it
            self._computing = threading.Thread(target=self._make, daemon=True)
            self._computing.start()
        return self._precision

    def wait(self) -> None:
        """Wait until a precision that is being computed is ready."""
        if self._computing is not None:
            self._computing.join()

    def _make(self) -> None:
        """Compute and keep the precision (half-widths of the first question); None if no estimate is possible."""
        try:
            self._precision = self.look(precision_of)
        except ActiveEvalError:  # no estimate is possible: judges then see no width
            self._precision = None


def precision_of(state: CampaignState) -> Precision | None:
    """Compute the half-width of a campaign's first question, now and at the end; None if no estimate is possible.

    An estimate needs a complete block (part of the sample): ``state.block`` is the number of them.
    """
    from activeeval.campaigns.report.content import finite
    from activeeval.campaigns.status import estimates_of, half_width_of

    if not state.block:
        return None
    first = estimates_of(state).answers[0]
    half_width = finite(half_width_of(first))
    return None if half_width is None else Precision(half_width=half_width, at_end=finite(first.half_width_at_end))


def left_in(state: State) -> WaitingCounts:
    """Count the items that wait, from the state of a log."""
    return left_of(state.n_waiting)


def left_of(n_waiting: Mapping[int, int]) -> WaitingCounts:
    """Count the items that wait, from their number (value) in each block (key), a part of the sample."""
    waiting = [n for _, n in sorted(n_waiting.items()) if n]
    return WaitingCounts(in_block=waiting[0] if waiting else 0, in_all=sum(waiting), blocks=len(waiting))
