"""What a store says and takes of answers that were given before: corrections, decisions, the last of the log."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from sqlalchemy import Connection

from activeeval.campaigns.store import answering, controls, history, stored_rows as reading, stored_texts, tables
from activeeval.campaigns.store.adjudicating import Adjudication, ask_third, decide
from activeeval.campaigns.store.claiming import Claim, hashed, lock_held, lock_judge
from activeeval.campaigns.store.controls import Control
from activeeval.campaigns.store.database import Database, clock_of
from activeeval.campaigns.store.log import MOST_OF_A_NAME, MOST_OF_A_REASON, check_text, checked_judge, events, with_key
from activeeval.campaigns.store.rows import Acknowledged, CampaignRow, ItemClaim, ItemTexts, JudgeAnswer
from activeeval.core.judgments.log import ANSWERS, Event
from activeeval.core.judgments.state import MICROSECONDS

T = TypeVar("T")
ASKED_S = 60.0
"""After so long the clock of a server is asked again where about now will do: for sessions, and for how long somebody
looked at a page."""
Clock = Callable[[], int]


class PastAnswers:
    """The part of `activeeval.campaigns.store.Store` that a page needs beside claiming and submitting.

    Every method is one transaction, of a campaign by its name.
    """

    def __init__(self, database: Database, clock: Clock | None) -> None:
        self._database = database
        self._now: Callable[[Connection], int] = clock_of if clock is None else lambda _: clock()
        # of a server the clock is asked by a statement: whoever can do with about now asks it once in a while
        self._is_asked = clock is None and not database.is_sqlite
        self._asked: tuple[float, int] | None = None
        self._known: dict[str, tuple[int, CampaignRow]] = {}  # a campaign never changes
        self._guard = threading.Lock()

    def now(self, name: str) -> int:
        """Return the time by the store's clock: UTC, microseconds."""
        if self._asked is None or not self._is_asked or time.monotonic() - self._asked[0] > ASKED_S:
            return self._read(name, lambda connection, _, __: self._about_now(connection))
        return self._since_asked(*self._asked)

    def renew(self, name: str, token: str) -> int | None:
        """Let the lease of an item start again; return its new end, None where nobody has one under the token."""

        def work(connection: Connection, number: int, campaign: CampaignRow) -> int | None:
            return history.renew(connection, number, token, self._now(connection), campaign.lease_s)

        return self._write(name, work)

    def correct(self, name: str, seq: int, judge: str, judgment: JudgeAnswer, key: str) -> Acknowledged:
        """Store what a judge says in place of his answer ``seq``, which stays in the log.

        Raises
        ------
        InputError
            Where it is no answer of his, or nobody can say that.
        StateError
            Where another answer took its place before.
        """
        judge = checked_judge(judge)
        answering.check_key(key)

        def work(connection: Connection, number: int, campaign: CampaignRow) -> Acknowledged:
            answering.check_judgment(judgment, campaign, ANSWERS)
            said = history.Correction(seq, judge, judgment, key)
            stored = history.correct(connection, number, said, self._now(connection))
            ask_third(connection, number, campaign, [stored.event])
            return stored

        return self._write(name, work, is_repeatable=True)

    def adjudicate(self, name: str, seq: int, lead: str, grade: int, reason: str) -> Acknowledged:
        """Store what an item counts as on which its judges differ; what they said stays.

        Parameters
        ----------
        seq : int
            The event of any judgment of the item.

        Raises
        ------
        InputError
            Where there is no such judgment, no reason, or the grade is none of the scale.
        StateError
            Where judges do not differ, or the item waits for another one.
        """
        lead = checked_judge(lead)
        check_text("reason", reason, may_be_empty=False, most=MOST_OF_A_REASON)

        def work(connection: Connection, number: int, campaign: CampaignRow) -> Acknowledged:
            answering.check_judgment(JudgeAnswer(kind="judged", grade=grade), campaign)
            rules = (campaign.judges_per_item, campaign.adjudicate)
            said = Adjudication(seq, lead, grade, reason, *rules)
            return decide(connection, number, said, self._now(connection))

        return self._write(name, work)

    def train(self, name: str, judge: str, item: str, grade: int, expected: int) -> Acknowledged:
        """Store what a judge said of an item whose grade is known: it never counts; the first answer stands."""
        judge = checked_judge(judge)
        check_text("item", item, may_be_empty=False, most=MOST_OF_A_NAME)

        def work(connection: Connection, number: int, campaign: CampaignRow) -> Acknowledged:
            answering.check_judgment(JudgeAnswer(kind="judged", grade=grade), campaign)
            said = history.TrainingAnswer(judge, item, grade, expected)
            return history.train(connection, number, said, self._now(connection))

        return self._write(name, work, is_repeatable=True)

    def trainings(self, name: str, judge: str | None = None) -> list[Event]:
        """Return what a judge, or everybody, said of items whose grades are known."""
        of_kind = [tables.event.c.kind == "trained"]
        of_kind += [] if judge is None else [tables.event.c.judge == checked_judge(judge)]
        return self._read(name, lambda connection, number, _: events(connection, number, *of_kind))

    def pose(self, name: str, control: Control) -> tuple[str, Event]:
        """Show a judge a control; return the token with which `Store.submit` takes the answer, and the event."""
        return self._write(
            name, lambda connection, number, _: controls.pose(connection, number, control, self._now(connection))
        )

    def is_answered(self, name: str, token: str) -> bool:
        """Whether something was said of the item that was shown under a token."""
        key = f"token:{hashed(token)}"
        return self._read(name, lambda connection, number, _: with_key(connection, number, key)) is not None

    def answers_of(self, name: str, judge: str, most: int, before: int | None = None) -> list[Event]:
        """Return the last answers of a judge that stand, the newest first; only those before an event, if any."""
        judge = checked_judge(judge)
        return self._read(
            name, lambda connection, number, _: history.answers_of(connection, number, judge, most, before)
        )

    def last_events(self, name: str, until: int, most: int) -> list[Event]:
        """Return the events up to and with ``until``, the newest first, and no more than so many."""
        seq = tables.event.c.seq
        wanted = (seq <= until, seq > until - most)
        return self._read(name, lambda connection, number, _: events(connection, number, *wanted)[::-1])

    def texts_of(self, name: str, event: Event) -> ItemTexts:
        """Return what judges read of the item of an event."""
        return self._read(name, lambda connection, number, _: history.texts_of(connection, number, event))

    def texts_of_all(self, name: str, answers: Sequence[Event]) -> list[ItemTexts]:
        """Return what judges read of the items of some events, in one transaction."""

        def work(connection: Connection, number: int, _: CampaignRow) -> list[ItemTexts]:
            return [history.texts_of(connection, number, event) for event in answers]

        return self._read(name, work)

    def keep_guidelines(self, text: str) -> str:
        """Keep a version of guidelines for good; return the digest by which it is known."""
        return self._database.write(lambda connection: history.keep_guidelines(connection, text), is_repeatable=True)

    def guidelines(self, digest: str) -> str:
        """Return a version of guidelines; InputError where there is none of that digest."""
        return self._database.read(lambda connection: history.guidelines_of(connection, digest))

    def texts_page(self, name: str, wanted: stored_texts.ItemFilter, most: int) -> list[stored_texts.TextRow]:
        """Return so many of the items that are looked for, query by query, with what judges read."""
        return self._read(name, lambda connection, number, _: stored_texts.page_of(connection, number, wanted, most))

    def item_texts(self, name: str, at: stored_texts.ItemPosition) -> stored_texts.TextRow:
        """Return an item by its place with what judges read; InputError where there is none."""
        return self._read(name, lambda connection, number, _: stored_texts.item_at(connection, number, at))

    def text_counts(self, name: str) -> stored_texts.TextCounts:
        """Return how many items and queries there are, and how many have no text."""
        return self._read(name, lambda connection, number, _: stored_texts.counts_of(connection, number))

    def guidelines_read(self, name: str, served: str = "") -> list[stored_texts.GuidelinesRow]:
        """Return the versions of guidelines beside which somebody has answered, and the one that is served now."""
        return self._read(name, lambda connection, number, _: stored_texts.guidelines_of(connection, number, served))

    def _about_now(self, connection: Connection) -> int:
        """Return the time by the store's clock, of a server as it was asked last and has gone on since."""
        if not self._is_asked:
            return self._now(connection)
        if self._asked is None or time.monotonic() - self._asked[0] > ASKED_S:
            self._asked = (time.monotonic(), self._now(connection))
        return self._since_asked(*self._asked)

    @staticmethod
    def _since_asked(at: float, now: int) -> int:
        return now + round((time.monotonic() - at) * MICROSECONDS)

    def _read(self, name: str, work: Callable[[Connection, int, CampaignRow], T]) -> T:
        return self._database.read(lambda connection: work(connection, *self._campaign(connection, name)))

    def _write(self, name: str, work: Callable[[Connection, int, CampaignRow], T], *, is_repeatable: bool = False) -> T:
        return self._database.write(
            lambda connection: work(connection, *self._campaign(connection, name)), is_repeatable=is_repeatable
        )

    def _campaign(self, connection: Connection, name: str) -> tuple[int, CampaignRow]:
        with self._guard:
            known = self._known.get(name)
        if known is None:
            known = reading.campaign_of(connection, name)
            with self._guard:
                self._known[name] = known
        return known

    def retract(self, name: str, seq: int, judge: str, reason: str = "") -> Acknowledged:
        """Take back what event ``seq`` says: its item waits again.

        Raises
        ------
        StateError
            Where it is not an answer that stands.
        InputError
            Where it is another's and there is no reason.
        """
        judge = checked_judge(judge)
        check_text("reason", reason, most=MOST_OF_A_REASON)

        def work(connection: Connection, number: int, _: CampaignRow) -> Acknowledged:
            return answering.retract(connection, number, seq, judge, reason, self._now(connection))

        return self._write(name, work)

    def reopen(self, name: str, seq: int, judge: str) -> ItemClaim:
        """Take back that event ``seq`` settled a query, and give it to its judge in place of what he has."""
        judge = checked_judge(judge)

        def work(connection: Connection, number: int, campaign: CampaignRow) -> ItemClaim:
            now = self._now(connection)
            lock_judge(connection, number, judge, now)
            lock_held(connection, number, judge)
            return answering.reopen(connection, Claim(number, campaign, judge, now), seq)

        return self._write(name, work)
