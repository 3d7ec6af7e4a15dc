"""Judging page for grades: a judge claims an item, answers it, and corrects earlier answers."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from activeeval.campaigns.assignments import Desk, desk_of
from activeeval.campaigns.close_and_reopen import is_closed
from activeeval.campaigns.control_items import Controls, again, as_claimed, as_seen, returned
from activeeval.campaigns.desk_views import AnswerView, CorrectingView, ItemView, JudgingView, Reply
from activeeval.campaigns.judging_messages import grade_names, named_grade
from activeeval.campaigns.live_log import LiveLog, LiveReading, left_in
from activeeval.campaigns.store import Acknowledged, Control, ItemClaim, ItemTexts, JudgeAnswer, Store
from activeeval.campaigns.store.answering import RECLAIMED
from activeeval.core.errors import InputError, shown
from activeeval.core.judgments.judge_names import judge_name
from activeeval.core.judgments.log import Event
from activeeval.core.judgments.state import State

if TYPE_CHECKING:  # estimates import slowly: only where needed
    from activeeval.campaigns.status import Status

N_RECENT = 5
"""Number of latest answers shown for correction."""
_N_PACE = 30
_MOST_HEADS = 10_000
_PlaceOfItem = tuple[int | None, str, str]


@dataclass(slots=True)
class PageDesk:
    """Base class of the judging pages of a campaign, for grades and for comparisons.

    Parameters
    ----------
    store : Store
    name : str
        Name of the campaign.
    controls : Controls, optional
        Control items (with an expected answer) to mix in, so that judges are checked.
    """

    store: Store
    name: str
    controls: Controls | None = None
    log: LiveLog = field(init=False)
    reading: LiveReading = field(init=False)

    def __post_init__(self) -> None:
        """Begin to follow the campaign's log, and its estimates."""
        self.log, self.reading = LiveLog(self.store, self.name), LiveReading(self.store, self.name)

    @property
    def desk(self) -> Desk:
        """Desk (interface for claims and answers) that gives a judge the items of one query after another."""
        return desk_of(self.store, self.name, by_query=True)

    @property
    def is_closed(self) -> bool:
        """True if a lead (who runs the campaign) has closed it, so that no items are given out."""
        now = self.store.now(self.name)
        return self.log.look(lambda state: is_closed(state, now))

    def status(self) -> Status:
        """Compute the campaign's status for programs.

        With controls (items that check a judge) it is as of the last complete block (part of the sample): a later
        status would reveal which items were controls.
        """
        from activeeval.campaigns.status import status

        if self.controls is not None:
            return self.reading.quiet_status()
        return self.reading.look(lambda state: status(state, self.store))

    def event_of(self, judge: str, token: str) -> Event:
        """Look up the event that showed a judge an item under a claim's token (a secret); raise InputError if none."""
        event = self.store.shown(self.name, token)
        if event.judge != judge:
            raise InputError(f"no item was given out under the token {shown(token)}")
        return event

    def said(self, event: Event, reply: Reply) -> JudgeAnswer:
        """Convert a judge's reply to the answer that is stored.

        ``event`` is the one in which the item was shown. Times measured by the page (``reply.clocks``, if any) are left
        out if they exceed the time since.
        """
        elapsed = 0 if reply.clocks is None else (self.store.now(self.name) - event.at) // 1000
        return reply.said(elapsed)

    def renew(self, judge: str, token: str) -> bool:
        """Restart the lease (reservation) of a judge's item; return True if the judge still holds it.

        Raises InputError if the judge was shown no item under the token.
        """
        self.event_of(judge, token)
        return self.store.renew(self.name, token) is not None


@dataclass(slots=True)
class JudgesDesk(PageDesk):
    """Judging page for grades.

    The other parameters are those of `PageDesk`: the store, the campaign's name, and controls that check judges.

    Parameters
    ----------
    names : mapping of int to str
        Names of grades, by grade; others get usual names.

    Raises
    ------
    InputError
        If a named grade is not on the scale, or documents are compared instead of graded.
    """

    names: Mapping[int, str] = field(default_factory=dict)
    grades: list[str] = field(init=False)
    _heads: dict[_PlaceOfItem, tuple[str, str]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Complete the names of grades; raise InputError if a named grade is not on the scale."""
        PageDesk.__post_init__(self)  # not super(): a dataclass with slots replaces the class
        campaign = self.store.campaign(self.name)
        if campaign.max_grade is None or campaign.judging.is_whole:
            raise InputError(f"campaign {self.name}: its documents are compared, but this page is for grades")
        for grade in sorted(self.names):
            if not 0 <= grade <= campaign.max_grade:
                scale = f"0 to {campaign.max_grade}"
                raise InputError(f"campaign {self.name}: {shown(self.names[grade])} is named grade {grade} of {scale}")
        self.grades = grade_names(campaign.max_grade, self.names)

    def page(self, judge: str) -> JudgingView:
        """Claim the judge's next item and build its page."""
        return self._view(judge, self._control(judge) or self.desk.claim(judge))

    def answer(
        self, event: Event, token: str, reply: Reply, *, goes_on: bool
    ) -> tuple[Acknowledged, JudgingView | None]:
        """Store a judge's answer; return the acknowledgment, and the next page if ``goes_on`` (else None).

        If the same judge has opened the same item on another page since, the answer counts as given there.

        Parameters
        ----------
        event : Event
            Event in which the item was shown under the token (`event_of`).
        token, reply : str, Reply
            Token of the claim, and the reply that the page sent.
        goes_on : bool
            True to claim the next item as well.

        Raises
        ------
        InputError
            If the answer is not valid.
        StateError
            If another answer was stored under the token.
        """
        judgment = self.said(event, reply)
        # a control (item that checks the judge) may follow, which `page` claims: not in one transaction with the answer
        if not goes_on or self._is_control_near(event.judge):
            done = as_seen(self._told_elsewhere(event, judgment, self.desk.submit(token, judgment)))
            return done, self.page(event.judge) if goes_on else None
        done, following = self.desk.submit_and_claim(token, judgment)
        if _is_reclaimed(done) and following is not None and _is_of(following, event):
            done, following = self.desk.submit_and_claim(following.token, judgment)
        return as_seen(done), self._view(event.judge, following)

    def correcting(self, judge: str, seq: int) -> CorrectingView:
        """Build the page to correct the answer of event ``seq``; raise InputError if the judge has no valid one."""
        event = self._answer_of(judge, seq)
        before = self.store.answers_of(self.name, judge, most=1, before=seq)
        item = self.texts(event)
        return CorrectingView(
            item=item, answer=self._answer(event, item), grades=self.grades, before=before[0].seq if before else None
        )

    def correct(self, judge: str, seq: int, reply: Reply) -> Acknowledged:
        """Store a judge's reply in place of the answer of event ``seq``; sending the same reply again changes nothing.

        Raises InputError if that is not an answer of the judge or the reply is not valid, StateError if it was
        replaced.
        """
        judgment = reply.said(0)  # without the page's times: the item was shown long ago
        same = self.store.answers_of(self.name, judge, most=1, before=seq + 1)  # answer `seq` itself, if it is valid
        contents = [(event.seq, event.grade, event.reason, event.note) for event in same]
        if contents == [(seq, judgment.grade, judgment.reason, reply.note)]:
            return as_seen(Acknowledged(event=same[0], is_repeated=True))
        return as_seen(self.store.correct(self.name, seq, judge, judgment, key=f"instead of {seq}"))

    def texts(self, event: Event) -> ItemView:
        """Build the view of an event's item with its texts."""
        return ItemView.of(event.query_id, event.doc_id, self.store.texts_of(self.name, event))

    def shown_answer(self, judge: str, seq: int) -> ItemView:
        """Build the view of the item answered in event ``seq``.

        Raises InputError if it is not a valid answer of the judge.
        """
        return self.texts(self._answer_of(judge, seq))

    def history(self, judge: str, most: int) -> list[AnswerView]:
        """List a judge's latest valid answers, the newest first, at most ``most``."""
        return self._answers(self._last_of(judge, most))

    def _control(self, judge: str) -> ItemClaim | None:
        """Claim the control (item with an expected answer) to show to the judge now.

        It is the control that the judge has open, or a new one if one is due. Return None if an ordinary item comes
        next.
        """
        if self.controls is None:
            return None
        control = self.log.look(partial(self._next_control, self.controls, judge))
        if control is None:
            return None
        token, posed = self.store.pose(self.name, control)
        return as_claimed(token, posed, self.store.texts_of(self.name, posed))

    def _next_control(self, controls: Controls, judge: str, state: State) -> Control | None:
        """Choose the control (item that checks the judge) to show: the open one, a new one if due, or a deferred one.

        Return None if an ordinary item comes next. ``state`` is the state of the campaign's log.
        """
        if (posed := state.checks.posed.get(judge)) is not None:
            return again(posed, self.store.texts_of(self.name, posed))
        assignment, put_off = state.in_hand.get(judge), state.checks.put_off.get(judge)
        has_item = assignment is not None and (assignment.state, assignment.judge) == ("leased", judge)
        is_due = controls.is_due(judge, state.checks.n_said.get(judge, 0)) and any((put_off, *state.n_waiting.values()))
        now = self.store.now(self.name)
        if has_item or not (is_due or put_off) or is_closed(state, now):
            return None
        if is_due and (control := controls.choose(judge, state)) is not None:
            return control
        event = returned(judge, state, now)
        return None if event is None else again(event, self.store.texts_of(self.name, event))

    def _is_control_near(self, judge: str) -> bool:
        """Check whether a control (item that checks the judge) may follow the answer that a judge gives now.

        If not, the next item can be claimed in the same transaction.
        """
        if self.controls is None:
            return False
        n_said, is_near = self.log.look(
            lambda state: (
                state.checks.n_said.get(judge, 0),
                judge in state.checks.posed or bool(state.checks.put_off.get(judge)),
            )
        )
        return is_near or self.controls.is_due(judge, n_said + 1)

    def _told_elsewhere(self, event: Event, judgment: JudgeAnswer, done: Acknowledged) -> Acknowledged:
        """Submit a late answer again if the same judge has claimed the same item anew since the page of the answer.

        ``event`` showed the item on that page, ``judgment`` is the answer; ``done`` is returned if it was not late for
        this.
        """
        if not _is_reclaimed(done):
            return done
        claimed = self.desk.claim(event.judge)
        return self.desk.submit(claimed.token, judgment) if claimed is not None and _is_of(claimed, event) else done

    def _answer_of(self, judge: str, seq: int) -> Event:
        """Look up a judge's valid answer by event number ``seq``; raise InputError if none exists."""
        answers = self.store.answers_of(self.name, judge, most=1, before=seq + 1)
        if not answers or answers[0].seq != seq:
            raise InputError(f"event {seq} is not a valid answer of {shown(judge)}")
        return answers[0]

    def _view(self, judge: str, claimed: ItemClaim | None) -> JudgingView:
        """Build a judge's page for a claimed item, or for no item (None).

        The number of items left (``left_as_seen``) includes controls (items that check the judge), if there are any.
        """
        campaign, controls, name = self.store.campaign(self.name), self.controls, judge_name(judge)
        left, left_as_seen, answers = self.log.look(
            lambda state: (
                left_in(state),
                left_in(state) if controls is None else controls.left(name, state),
                _said_by(state, name, _N_PACE),
            )
        )
        timed = [event.active_ms / 1000 for event in answers if event.active_ms is not None]
        item = None if claimed is None else _item_of(claimed)
        if claimed is not None and item is not None:
            self._keep_head((claimed.unit, claimed.query_id, claimed.doc_id), item)
        return JudgingView(
            item=item,
            token="" if claimed is None else claimed.token,
            lease_s=campaign.lease_s,
            can_put_off=not campaign.strict_order,
            grades=self.grades,
            left=left_as_seen,
            pace_s=statistics.median(timed) if timed else None,
            precision=self.reading.precision(left),
            is_closed=claimed is None and self.is_closed,
            recent=self._answers(answers[:N_RECENT]),
        )

    def _last_of(self, judge: str, most: int) -> list[Event]:
        """List the events of a judge's latest valid answers, the newest first, at most ``most``."""
        return self.log.look(lambda state: _said_by(state, judge_name(judge), most))

    def _answers(self, events: Sequence[Event]) -> list[AnswerView]:
        """Build the views of answers, with query and title of each item."""
        new = [event for event in events if _place_of(event) not in self._heads]
        for event, texts in zip(new, self.store.texts_of_all(self.name, new) if new else (), strict=True):
            self._keep_head(_place_of(event), ItemView.of(event.query_id, event.doc_id, texts))
        return [self._answered(event, *self._heads[_place_of(event)]) for event in events]

    def _keep_head(self, place: _PlaceOfItem, view: ItemView) -> None:
        """Cache query and title of an item, which are displayed with the judge's latest answers.

        Texts never change. ``place`` is the key of the item (`_place_of`), ``view`` the item as displayed.
        """
        if len(self._heads) > _MOST_HEADS:
            self._heads = {}
        self._heads[place] = (view.query or view.query_id, view.title or view.doc_id)

    def _answer(self, event: Event, view: ItemView) -> AnswerView:
        """Build the view of an answer from that of its item, with ids where the item has no texts."""
        return self._answered(event, view.query or view.query_id, view.title or view.doc_id)

    def _answered(self, event: Event, query: str, title: str) -> AnswerView:
        """Build the view of an answer with the given query and title."""
        return AnswerView(
            seq=event.seq,
            query=query,
            title=title,
            grade=event.grade,
            name=named_grade(self.grades, event.grade),
            reason=event.reason,
            note=event.note,
        )


def _said_by(state: State, judge: str, most: int) -> list[Event]:
    """List the events of a judge's latest valid answers, the newest first, at most ``most``."""
    return list(islice(reversed(state.checks.standing.get(judge, {}).values()), most))


def _item_of(claimed: ItemClaim) -> ItemView:
    """Build the view of a claimed item."""
    texts = ItemTexts(query_text=claimed.query_text, text=claimed.text)
    return ItemView.of(claimed.query_id, claimed.doc_id, texts)


def _place_of(event: Event) -> _PlaceOfItem:
    """Return the key under which an item's texts are cached: unit (items judged together), query and document."""
    return event.unit, event.query_id, event.doc_id


def _is_reclaimed(done: Acknowledged) -> bool:
    """Check whether an answer is kept as late because the same judge had been shown the same item again before it."""
    return done.event.kind == "late" and done.event.reason == RECLAIMED and not done.is_repeated


def _is_of(claimed: ItemClaim, event: Event) -> bool:
    """Check whether a claim is for the same item as an event."""
    return (claimed.unit, claimed.doc_id) == (event.unit, event.doc_id)
