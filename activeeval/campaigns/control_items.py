"""Mix control items into a judge's work: when, which, how many answers remain, and how often the judge agreed.

Controls are items with a known grade, the judge's own earlier items, or earlier pairs with sides swapped. One of every
1 / rate items of a judge is a control. Its position is pseudorandom: a digest of the log's first event, which judges
never see. The number of remaining items includes the controls to come, so that it falls by one with each answer. A
control that the judge defers returns as a deferred item of its block does.
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
"""Number of a judge's latest items that are not repeated, because the judge would remember the answer."""
_ALWAYS = 2
"""With this many repeatable answers, one exists whenever a control is due: each span has more items than controls."""
SWAP_APART = 2
"""Number of a judge's latest comparisons that are not repeated; small, as a query takes only 12 to 24 comparisons."""
MOST_RATE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls:
    """Settings of a campaign's controls: items with an expected answer, mixed into a judge's work to check the judge.

    Attributes
    ----------
    rate : float
        Share of controls among the items that a judge is shown, in (0, 0.5].
    known : sequence of KnownItem
        Items with known grades, each shown once to every judge. After them, or without any, items that the judge has
        graded are shown again.
    secret : str
        Seed of the pseudorandom positions and choices.

    Raises
    ------
    InputError
        If the rate is outside its range, or a known item has no query_id or doc_id.
    """

    rate: float
    known: Sequence[KnownItem] = ()
    secret: str = ""

    def __post_init__(self) -> None:
        """Raise InputError if the rate of controls is not in (0, 0.5] or a known item lacks an id."""
        if not 0 < self.rate <= MOST_RATE:
            raise InputError(f"controls must be more than 0 % and at most 50 %, got {self.rate:.3g}", field="controls")
        views = [known.item for known in self.known]
        bare = [view.query or view.title for view in views if not (view.query_id and view.doc_id)]
        if bare:
            problem = f"a control needs query_id and doc_id, or judges could tell it from others: {bare[0]!r} has none"
            raise InputError(problem, field="controls")

    def n_until(self, judge: str, n_said: int) -> int:
        """Count the controls (items that check the judge) among the first ``n_said`` items that a judge answers.

        Each span of round(1 / rate) items has one control, at a pseudorandom position (`_place`).
        """
        span = max(2, round(1 / self.rate))
        whole, rest = divmod(n_said, span)
        return whole + (rest > self._place(judge, whole, span))  # one a span, in the current span once it is passed

    def is_due(self, judge: str, n_said: int) -> bool:
        """Check whether the item after the first ``n_said`` items is a control (an item that checks the judge)."""
        return self.n_until(judge, n_said + 1) > self.n_until(judge, n_said)

    def left(self, judge: str, state: State) -> WaitingCounts:
        """Count the items that remain for a judge, with controls (items that check the judge) to come or deferred.

        Judges see this count: it falls by one with each answer, so that it does not reveal the controls. ``state`` is
        the state of the log: ``n_waiting`` counts ordinary items by block (part of the sample), ``checks.n_said`` the
        judge's answers so far, ``checks.put_off`` has the judge's deferred controls.
        """
        n_said, waiting = state.checks.n_said.get(judge, 0), Counter(state.n_waiting)
        waiting += Counter(map(_block_of, state.checks.put_off.get(judge, {}).values()))
        known, repeated = self._known_to(judge, state.checks), self._graded_by(judge, state.checks)
        # answers that may be repeated; negative: answers still missing before one may be
        spare = len(self._fresh(judge, repeated, state.checks)) or min(0, len(repeated) - APART)
        left = left_of(waiting)
        in_block, in_all = (self.seen(judge, n_said, n, len(known), spare) for n in (left.in_block, left.in_all))
        return replace(left, in_block=in_block, in_all=in_all)

    def choose(self, judge: str, state: State) -> Control | None:
        """Choose the judge's next control: an item with a known grade, else a graded item to repeat, else None.

        It belongs to the lowest block (part of the sample) with waiting items. ``state`` is the state of the log.
        """
        chosen = self._known_for(judge, state.checks) or self._repeated_for(judge, state.checks)
        return chosen and replace(chosen, block=min((block for block, n in state.n_waiting.items() if n), default=0))

    def seen(self, judge: str, n_said: int, n: int, n_known: int, n_spare: int) -> int:
        """Count the answers that a judge must give until ``n`` of them are to ordinary items, not to controls.

        If a control is due and none is available, an ordinary item is shown. Once two earlier answers may be repeated,
        a control is always available, and the rest is counted in one step.

        Parameters
        ----------
        n_said : int
            Answers that the judge has given.
        n_known, n_spare : int
            Known items that the judge has not seen, and earlier answers that may be repeated. A negative ``n_spare`` is
            the number of answers still missing before one may be repeated.
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
        """List the items with a known grade that a judge has not yet answered or deferred (``checks.answers``)."""
        return [item for item in self.known if (judge, item.key) not in checks.answers]

    def _known_for(self, judge: str, checks: Checks) -> Control | None:
        """Build a control from a pseudorandomly chosen known item that is new to the judge; None if there is none."""
        fresh = self._known_to(judge, checks)
        if not fresh:
            return None
        item = min(fresh, key=lambda known_item: self._thrown(judge, known_item.key))
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
        """List a judge's valid grades (``judged`` events) in order; ``checks.standing`` has all valid answers."""
        return [event for event in checks.standing.get(judge, {}).values() if event.kind == "judged"]

    @staticmethod
    def _fresh(judge: str, graded: Sequence[Event], checks: Checks) -> list[Event]:
        """Select the grades that may be repeated: not among the last `APART`, and not repeated before.

        ``graded`` are the judge's valid grades in order; ``checks.answers`` has the repetitions, by judge and key.
        """
        return [event for event in graded[:-APART] if (judge, _key(event)) not in checks.answers]

    def _repeated_for(self, judge: str, checks: Checks) -> Control | None:
        """Build a control that repeats one of the judge's graded items, pseudorandomly chosen; None if none may be."""
        fresh = self._fresh(judge, self._graded_by(judge, checks), checks)
        if not fresh:
            return None
        event = min(fresh, key=lambda grade_event: self._thrown(judge, _key(grade_event)))
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
        """Build a control: one of the judge's comparisons (``events``) of a query, sides swapped; None if none may be.

        The expected answer is the earlier one: the id of the preferred document, None for a tie.
        """
        fresh = swappable(judge, events, checks)
        if not fresh:
            return None
        event = min(fresh, key=lambda comparison: self._thrown(judge, _pair_key(comparison)))
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
        """Count the comparisons of a query that remain for its judge: ``n`` new ones, and repeated ones (controls).

        ``unit`` is the number of the query's unit (items judged together), ``state`` the state of the log.
        """
        events, n_said = state.preferences.get((unit, judge), []), state.checks.n_said.get(judge, 0)
        if any(event.body.get("what") == "undone" for event in events):
            return n  # after an undo no pair of the query is repeated
        n_compared = sum(event.body.get("what") == "compared" for event in events)
        n_spare = len(swappable(judge, events, state.checks)) or min(0, n_compared - SWAP_APART)
        return self.seen(judge, n_said, n, n_known=0, n_spare=n_spare)  # n_spare: comparisons that may be repeated

    def _with_all(self, judge: str, n_said: int, n: int) -> int:
        """Count the answers after the first ``n_said`` until ``n`` of them are not to controls.

        A control (item that checks the judge) is assumed to be available whenever one is due. ``total`` grows by the
        controls among the answers counted so far, until it contains ``n`` others.
        """
        total, before = n, self.n_until(judge, n_said)
        while (enough := n + self.n_until(judge, n_said + total) - before) > total:
            total = enough
        return total

    def _place(self, judge: str, number: int, span: int) -> int:
        """Choose the control's position, 0 to ``span`` − 1, in the judge's span of items with this number (from 0)."""
        return self._thrown(judge, str(number)) % span

    def _thrown(self, judge: str, text: str) -> int:
        """Compute a pseudorandom integer (48 bits) from the secret, the judge and a text; the same each time."""
        return int(hashlib.sha256("\0".join((self.secret, judge, text)).encode()).hexdigest()[:12], 16)


def checked(state: State, events: Sequence[Event]) -> JudgeChecks:
    """Score each judge's answers to training items and controls (items with an expected answer) in a log."""
    return JudgeChecks(training=trained(events), controls=controlled(state.checks))


def controlled(checks: Checks) -> list[ControlScore]:
    """Score each judge's answers to controls (items that check the judge), by judge and kind of control."""
    by_kind: dict[tuple[str, str], list[Event]] = {}
    for (judge, _key_of_item), event in checks.answers.items():
        by_kind.setdefault((judge, str(event.body["what"])), []).append(event)
    return [_controlled(judge, what, events) for (judge, what), events in sorted(by_kind.items())]


def as_claimed(token: str, posed: Event, texts: ItemTexts) -> ItemClaim:
    """Convert a control (item that checks the judge), shown in event ``posed``, to the claim of an ordinary item.

    Judging pages do not show unit, block and end of the lease, which a control does not have: they are 0.
    """
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
    """Disguise the acknowledgment of an answer to a control (which checks the judge) as that of an ordinary item.

    The event's kind ``checked`` (an answer) becomes preferred, cannot or judged, and ``passed`` becomes deferred.
    """
    kind = done.event.kind
    if kind == "checked":
        is_pair = done.event.body["what"] == "swapped" and "preferred" in done.event.body
        kind = "preferred" if is_pair else "cannot" if done.event.grade is None else "judged"
    return replace(done, event=replace(done.event, kind="deferred" if kind == "passed" else kind))


def again(posed: Event, texts: ItemTexts) -> Control:
    """Rebuild the control (item that checks the judge) that an event showed or deferred, to show it once more."""
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
    """Find the control (item that checks the judge) that a judge deferred and must see now.

    Return None if another item is first.

    Deferred controls follow the rule of deferred items: they come after all other items of their block (part of the
    sample), in the order in which they were deferred, and before the items of the next block. ``now`` is in UTC
    microseconds.
    """
    put_off = sorted(state.checks.put_off.get(judge, {}).values(), key=lambda event: (_block_of(event), event.seq))
    if not put_off:
        return None
    first = put_off[0]
    # places are keys of assignments: unit, document, and number among the item's judgments
    free = [place for place, slot in state.assignments.items() if _can_have(judge, place[:2], slot, state, now)]
    block = min((state.blocks[unit] for unit, *_ in free), default=None)
    if block != _block_of(first):
        return first if block is None or block > _block_of(first) else None
    deferred_at = {(event.unit, event.doc_id): event.seq for event in state.put_off if event.judge == judge}
    # 0: an item that the judge has not deferred comes first
    before = min(deferred_at.get(place[:2], 0) for place in free if state.blocks[place[0]] == block)
    return first if first.seq < before else None


def swappable(judge: str, events: Sequence[Event], checks: Checks) -> list[Event]:
    """Select the comparisons of one query that may be shown again, with sides swapped, to check their judge.

    Empty if the judge has undone a comparison of this query. Excludes the latest `SWAP_APART` comparisons, pairs with a
    document that the judge discarded, and pairs already repeated. ``events`` are the judge's answers to pairs of the
    query.
    """
    if any(event.body.get("what") == "undone" for event in events):
        return []
    discarded = discarded_of(events)
    compared = [event for event in events if event.body.get("what") == "compared"][:-SWAP_APART]
    valid = [event for event in compared if discarded.isdisjoint((event.body["first"], event.body["second"]))]
    return [event for event in valid if (judge, _pair_key(event)) not in checks.answers]


def discarded_of(events: Sequence[Event]) -> set[str]:
    """Collect the ids of the documents that a judge has discarded as not belonging in the ranking."""
    return {str(event.body["document"]) for event in events if event.body.get("what") == "discarded"}


def _controlled(judge: str, what: str, events: Sequence[Event]) -> ControlScore:
    """Score a judge's answers to one kind of control; those without a grade or preference count as skipped."""
    graded = [event for event in events if event.grade is not None or "preferred" in event.body]
    right = sum(_said_in(event) == event.body["expected"] for event in graded)
    return ControlScore(judge=judge, what=what, share=share_of(right, len(graded)), n_skipped=len(events) - len(graded))


def _said_in(event: Event) -> object:
    """Extract the answer from an event: the preferred document, or else the grade."""
    return event.body.get("preferred", event.grade)


def _pair_key(event: Event) -> str:
    """Build the key of a repeated pair: its unit (items judged together), and a digest of both ids in either order."""
    names = "\0".join(sorted((str(event.body["first"]), str(event.body["second"]))))
    return f"{event.unit} {hashlib.sha256(names.encode()).hexdigest()[:32]}"


def _can_have(judge: str, place: Place, slot: Assignment, state: State, now: int) -> bool:
    """Check whether an assignment (needed judgment) is free at ``now`` (UTC microseconds) and new to the judge.

    ``place`` is its unit and document, ``slot`` the assignment itself.
    """
    is_free = slot.state == "free" or (slot.state != "done" and (slot.lease_until or 0) < now)
    return is_free and judge not in state.judgments.get(place, ())


def _block_of(event: Event) -> int:
    """Read the block (part of the sample) among whose items a control is shown; 0 if unknown."""
    return int(event.body.get("block", 0))


def _key(event: Event) -> str:
    """Build the key of a repeated item from its unit (items judged together) and document."""
    return f"{event.unit} {event.doc_id}"[:200]
