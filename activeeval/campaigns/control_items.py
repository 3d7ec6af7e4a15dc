"""Controls at a page: when a judge meets one, which, how many are left as he sees it, and how often he agreed.

Of every 1 / rate items of a judge one is a control, at a place that chance decides: a digest of the log's first event,
which nobody but its keeper sees. What is left is counted with the controls to come, so that the number falls by one
with every answer, whatever was answered. One that is put off comes again as any item of its block that was put off.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from activeeval.campaigns.live_log import WaitingCounts, left_of
from activeeval.campaigns.report.judges_content import ControlScore, JudgeChecks
from activeeval.campaigns.store import Acknowledged, Control, ItemClaim, ItemTexts
from activeeval.campaigns.training import KnownItem, trained
from activeeval.core.errors import InputError
from activeeval.core.judgments.controls import Checks
from activeeval.core.judgments.log import Event
from activeeval.core.judgments.state import Assignment, Place, State
from activeeval.core.judgments.wilson_intervals import share_of

APART = 10
"""A judge meets none of his last ten items again: he would remember what he said."""
_ALWAYS = 2
"""With so many answers to ask again there is one whenever one is due: each span has more items than controls."""
SWAP_APART = 2
"""Nor one of his last two comparisons: a query takes a dozen or two."""
MOST_RATE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls:
    """How controls are mixed in.

    Attributes
    ----------
    rate : float
        Which part of what a judge is shown.
    known : sequence of KnownItem
        Items whose grades are known, each asked once of every judge; after them, or without any, a judge meets items
        again that he has graded.
    secret : str
        What decides at which places they come.
    """

    rate: float
    known: Sequence[KnownItem] = ()
    secret: str = ""

    def __post_init__(self) -> None:
        if not 0 < self.rate <= MOST_RATE:
            raise InputError(f"controls must be more than 0 % and at most 50 %, got {self.rate:.3g}", field="controls")
        views = [known.item for known in self.known]
        bare = [view.query or view.title for view in views if not (view.query_id and view.doc_id)]
        if bare:
            says = f"a control needs query_id and doc_id, or judges could tell it from others: {bare[0]!r} has none"
            raise InputError(says, field="controls")

    def n_until(self, judge: str, n_said: int) -> int:
        """Return how many of the first items of a judge are controls."""
        span = max(2, round(1 / self.rate))
        whole, rest = divmod(n_said, span)
        return whole + (rest > self._place(judge, whole, span))

    def is_due(self, judge: str, n_said: int) -> bool:
        """Whether the item after so many of a judge is a control."""
        return self.n_until(judge, n_said + 1) > self.n_until(judge, n_said)

    def left(self, judge: str, state: State) -> WaitingCounts:
        """Return what is left as the judge sees it, with the controls to come and those that he has put off."""
        n_said, waiting = state.checks.n_said.get(judge, 0), Counter(state.n_waiting)
        waiting += Counter(map(_block_of, state.checks.put_off.get(judge, {}).values()))
        known, repeated = self._known_to(judge, state.checks), self._graded_by(judge, state.checks)
        spare = len(self._fresh(judge, repeated, state.checks)) or min(0, len(repeated) - APART)
        left = left_of(waiting)
        in_block, in_all = (self.seen(judge, n_said, n, len(known), spare) for n in (left.in_block, left.in_all))
        return replace(left, in_block=in_block, in_all=in_all)

    def choose(self, judge: str, state: State) -> Control | None:
        """Return what a judge is to meet next among the others; None where there is nothing."""
        chosen = self._known_for(judge, state.checks) or self._repeated_for(judge, state.checks)
        return chosen and replace(chosen, block=min((block for block, n in state.n_waiting.items() if n), default=0))

    def seen(self, judge: str, n_said: int, n: int, n_known: int, n_spare: int) -> int:
        """Return how many answers of a judge it takes until so many are of no control.

        Parameters
        ----------
        n_known, n_spare : int
            Known items that he has not met, and answers of his that may be asked again; below 0 so many are to come
            before one may. Where a control is due and there is none another item comes.
        """
        n_all = 0
        while n and n_spare < _ALWAYS:
            if (n_known or n_spare > 0) and self.is_due(judge, n_said + n_all):
                n_known, n_spare = (n_known - 1, n_spare) if n_known else (0, n_spare - 1)
            else:
                n, n_spare = n - 1, n_spare + 1
            n_all += 1
        return n_all + self._with_all(judge, n_said + n_all, n)

    def _known_to(self, judge: str, checks: Checks) -> list[KnownItem]:
        """Return the known items that a judge has not met."""
        return [item for item in self.known if (judge, item.key) not in checks.answers]

    def _known_for(self, judge: str, checks: Checks) -> Control | None:
        fresh = self._known_to(judge, checks)
        if not fresh:
            return None
        item = min(fresh, key=lambda each: self._thrown(judge, each.key))
        view = item.item
        texts = {"need": view.need, "title": view.title, "text": view.text, "url": view.url}
        return Control(
            judge=judge,
            item=item.key,
            what="known",
            expected=item.grade,
            query_id=view.query_id,
            doc_id=view.doc_id,
            texts=ItemTexts(query_text=view.query, text=texts),
        )

    @staticmethod
    def _graded_by(judge: str, checks: Checks) -> list[Event]:
        """Return the grades of a judge that stand and count, as he gave them."""
        return [event for event in checks.standing.get(judge, {}).values() if event.kind == "judged"]

    @staticmethod
    def _fresh(judge: str, graded: Sequence[Event], checks: Checks) -> list[Event]:
        """Return the grades that may be asked again."""
        return [event for event in graded[:-APART] if (judge, _key(event)) not in checks.answers]

    def _repeated_for(self, judge: str, checks: Checks) -> Control | None:
        fresh = self._fresh(judge, self._graded_by(judge, checks), checks)
        if not fresh:
            return None
        event = min(fresh, key=lambda each: self._thrown(judge, _key(each)))
        return Control(
            judge=judge,
            item=_key(event),
            what="repeated",
            expected=event.grade or 0,
            query_id=event.query_id,
            doc_id=event.doc_id,
            unit=event.unit,
        )

    def swapped(self, judge: str, events: Sequence[Event], checks: Checks) -> Control | None:
        """Return a comparison of a judge to be asked again with sides swapped; None where there is none.

        Parameters
        ----------
        events : sequence of Event
            What he said of the documents of one query.
        """
        fresh = swappable(judge, events, checks)
        if not fresh:
            return None
        event = min(fresh, key=lambda each: self._thrown(judge, _pair_key(each)))
        return Control(
            judge=judge,
            item=_pair_key(event),
            what="swapped",
            expected=event.body["preferred"],
            query_id=event.query_id,
            doc_id=event.doc_id,
            unit=event.unit,
            sides=(str(event.body["second"]), str(event.body["first"])),
        )

    def pairs_left(self, judge: str, unit: int, state: State, n: int) -> int:
        """Return how many comparisons of a query are left as its judge sees it, with those that come again."""
        events, n_said = state.preferences.get((unit, judge), []), state.checks.n_said.get(judge, 0)
        if any(event.body.get("what") == "undone" for event in events):
            return n
        n_compared = sum(event.body.get("what") == "compared" for event in events)
        n_spare = len(swappable(judge, events, state.checks)) or min(0, n_compared - SWAP_APART)
        return self.seen(judge, n_said, n, 0, n_spare)

    def _with_all(self, judge: str, n_said: int, n: int) -> int:
        """Return how many items come until so many are no controls, where there always is a control."""
        total, before = n, self.n_until(judge, n_said)
        while (enough := n + self.n_until(judge, n_said + total) - before) > total:
            total = enough
        return total

    def _place(self, judge: str, number: int, span: int) -> int:
        return self._thrown(judge, str(number)) % span

    def _thrown(self, judge: str, what: str) -> int:
        return int(hashlib.sha256("\0".join((self.secret, judge, what)).encode()).hexdigest()[:12], 16)


def checked(state: State, events: Sequence[Event]) -> JudgeChecks:
    """Return what judges said where it is known what they should say, of the log that a state comes to."""
    return JudgeChecks(training=trained(events), controls=controlled(state.checks))


def controlled(checks: Checks) -> list[ControlScore]:
    """Return how often each judge said of controls what was expected, by kind."""
    by_kind: dict[tuple[str, str], list[Event]] = {}
    for (judge, _), event in checks.answers.items():
        by_kind.setdefault((judge, str(event.body["what"])), []).append(event)
    return [_controlled(*named, events) for named, events in sorted(by_kind.items())]


def as_claimed(token: str, posed: Event, texts: ItemTexts) -> ItemClaim:
    """Return a control as a judge gets any item."""
    return ItemClaim(
        token=token,
        unit=0,
        block=0,
        query_id=posed.query_id,
        doc_id=posed.doc_id,
        k=1,
        lease_until=0,
        query_text=texts.query_text,
        text=texts.text,
    )


def as_seen(done: Acknowledged) -> Acknowledged:
    """Return what became of an answer as its judge may see it: of a control as of any item."""
    kind = done.event.kind
    if kind == "checked":
        is_pair = done.event.body["what"] == "swapped" and "preferred" in done.event.body
        kind = "preferred" if is_pair else "cannot" if done.event.grade is None else "judged"
    return replace(done, event=replace(done.event, kind="deferred" if kind == "passed" else kind))


def again(posed: Event, texts: ItemTexts) -> Control:
    """Return the control of an event, to be shown once more."""
    return Control(
        judge=posed.judge,
        item=str(posed.body["item"]),
        what=str(posed.body["what"]),
        expected=posed.body["expected"],
        query_id=posed.query_id,
        doc_id=posed.doc_id,
        unit=posed.unit,
        block=_block_of(posed),
        sides=tuple(posed.body.get("sides", ())),
        texts=texts,
    )


def returned(judge: str, state: State, now: int) -> Event | None:
    """Return the control that a judge has put off and that comes again now; None where another item comes before it.

    As of items: those that were put off come once nothing else of their block can be had, in the order in which they
    were put off, and before those of the next block.
    """
    put_off = sorted(state.checks.put_off.get(judge, {}).values(), key=lambda event: (_block_of(event), event.seq))
    if not put_off:
        return None
    first = put_off[0]
    free = [place for place, held in state.assignments.items() if _can_have(judge, place[:2], held, state, now)]
    block = min((state.blocks[unit] for unit, *_ in free), default=None)
    if block != _block_of(first):
        return first if block is None or block > _block_of(first) else None
    laters = {(event.unit, event.doc_id): event.seq for event in state.put_off if event.judge == judge}
    before = min(laters.get(place[:2], 0) for place in free if state.blocks[place[0]] == block)
    return first if first.seq < before else None


def swappable(judge: str, events: Sequence[Event], checks: Checks) -> list[Event]:
    """Return the comparisons that may be asked again, of what a judge said of one query.

    None where something of it was taken back, which does not stand; nor one of a document that belongs nowhere.
    """
    if any(event.body.get("what") == "undone" for event in events):
        return []
    discarded = discarded_of(events)
    compared = [event for event in events if event.body.get("what") == "compared"][:-SWAP_APART]
    stands = [event for event in compared if discarded.isdisjoint((event.body["first"], event.body["second"]))]
    return [event for event in stands if (judge, _pair_key(event)) not in checks.answers]


def discarded_of(events: Sequence[Event]) -> set[str]:
    """Return the documents that a judge has said belong nowhere."""
    return {str(event.body["document"]) for event in events if event.body.get("what") == "discarded"}


def _controlled(judge: str, what: str, events: Sequence[Event]) -> ControlScore:
    said = [event for event in events if event.grade is not None or "preferred" in event.body]
    right = sum(_said_in(event) == event.body["expected"] for event in said)
    return ControlScore(judge=judge, what=what, share=share_of(right, len(said)), n_skipped=len(events) - len(said))


def _said_in(event: Event) -> object:
    return event.body.get("preferred", event.grade)


def _pair_key(event: Event) -> str:
    """Return what the control of a comparison is called; two documents are compared once."""
    names = "\0".join(sorted((str(event.body["first"]), str(event.body["second"]))))
    return f"{event.unit} {hashlib.sha256(names.encode()).hexdigest()[:32]}"


def _can_have(judge: str, place: Place, held: Assignment, state: State, now: int) -> bool:
    """Whether a judge could be given a place."""
    is_free = held.state == "free" or (held.state != "done" and (held.lease_until or 0) < now)
    return is_free and judge not in state.judgments.get(place, ())


def _block_of(event: Event) -> int:
    return int(event.body.get("block", 0))


def _key(event: Event) -> str:
    return f"{event.unit} {event.doc_id}"[:200]
