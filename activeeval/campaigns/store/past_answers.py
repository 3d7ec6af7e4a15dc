"""Store methods beyond claiming and submitting: corrections, decisions, training, texts, guidelines, latest events."""

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
"""Seconds for which a server's time is extrapolated where precision does not matter (sessions, time on a page)."""
Clock = Callable[[], int]


class PastAnswers:
    """Base class of `activeeval.campaigns.store.Store`: methods that a judging page needs besides claim and submit.

    Each method is one transaction, on the campaign with the given name. An unknown name raises InputError.
    """

    def __init__(self, database: Database, clock: Clock | None) -> None:
        """Keep the database and its clock; ``clock`` (UTC microseconds) replaces that of the server or this machine."""
        self._database = database
        self._now: Callable[[Connection], int] = clock_of if clock is None else lambda _: clock()
        # reading a server's clock costs a statement: where precision does not matter it is read once in a while
        self._is_extrapolated = clock is None and not database.is_sqlite
        self._last_reading: tuple[float, int] | None = None  # monotonic seconds here, and microseconds of the server
        self._known: dict[str, tuple[int, CampaignRow]] = {}  # cached, as a campaign's row never changes
        self._guard = threading.Lock()

    def now(self, name: str) -> int:
        """Read the store's clock: UTC microseconds; a server's is extrapolated from a reading of the last minute."""
        last = self._last_reading  # a recent reading of a server's clock needs no statement
        if last is None or not self._is_extrapolated or time.monotonic() - last[0] > ASKED_S:
            return self._read(name, lambda connection, _, __: self._about_now(connection))
        return self._extrapolated(*last)

    def renew(self, name: str, token: str) -> int | None:
        """Restart the lease of the item that was shown under a token; return its new end in UTC microseconds.

        Return None if the item is no longer held under the token.
        """

        def work(connection: Connection, campaign_id: int, campaign: CampaignRow) -> int | None:
            """Renew the lease by the campaign's duration, from now on."""
            return history.renew(connection, campaign_id, token, self._now(connection), campaign.lease_s)

        return self._write(name, work)

    def correct(self, name: str, seq: int, judge: str, judgment: JudgeAnswer, key: str) -> Acknowledged:
        """Store a judge's answer in place of the judge's answer ``seq``, which stays in the log.

        Parameters
        ----------
        key : str
            Idempotency key: sending the same correction again stores nothing new.

        Raises
        ------
        InputError
            If event ``seq`` is not an answer of this judge, or the new answer is not valid.
        StateError
            If the answer was already superseded.
        """
        judge = checked_judge(judge)
        answering.check_key(key)

        def work(connection: Connection, campaign_id: int, campaign: CampaignRow) -> Acknowledged:
            """Check and store the correction, and ask for a third judge if two judges differ now."""
            answering.check_judgment(judgment, campaign, ANSWERS)
            correction = history.Correction(seq, judge, judgment, key)
            stored = history.correct(connection, campaign_id, correction, self._now(connection))
            ask_third(connection, campaign_id, campaign, [stored.event])
            return stored

        return self._write(name, work, is_repeatable=True)

    def adjudicate(self, name: str, seq: int, lead: str, grade: int, reason: str) -> Acknowledged:
        """Store the grade of a lead (who runs the campaign) for an item on which judges differ.

        The judges' own judgments stay in the log.

        Parameters
        ----------
        seq : int
            Event of any judgment of the item.
        lead : str
            Name of the lead.
        grade : int
        reason : str
            Required.

        Raises
        ------
        InputError
            If there is no such judgment, no reason, or the grade is not on the scale.
        StateError
            If judges do not differ, or the item waits for another judge.
        """
        lead = checked_judge(lead)
        check_text("reason", reason, may_be_empty=False, most=MOST_OF_A_REASON)

        def work(connection: Connection, campaign_id: int, campaign: CampaignRow) -> Acknowledged:
            """Check that the grade is on the scale, and store the lead's decision."""
            answering.check_judgment(JudgeAnswer(kind="judged", grade=grade), campaign)
            rules = (campaign.judges_per_item, campaign.adjudicate)
            adjudication = Adjudication(seq, lead, grade, reason, *rules)
            return decide(connection, campaign_id, adjudication, self._now(connection))

        return self._write(name, work)

    def train(self, name: str, judge: str, item: str, grade: int, expected: int) -> Acknowledged:
        """Store a judge's answer to a training item; it never counts, and only the first answer is kept.

        Parameters
        ----------
        item : str
            Key of the item.
        grade, expected : int
            The judge's grade, and the known one.

        Raises
        ------
        InputError
            If the grade is not on the campaign's scale.
        """
        judge = checked_judge(judge)
        check_text("item", item, may_be_empty=False, most=MOST_OF_A_NAME)

        def work(connection: Connection, campaign_id: int, campaign: CampaignRow) -> Acknowledged:
            """Check that the grade is on the scale, and store the answer to the training item."""
            answering.check_judgment(JudgeAnswer(kind="judged", grade=grade), campaign)
            answer = history.TrainingAnswer(judge, item, grade, expected)
            return history.train(connection, campaign_id, answer, self._now(connection))

        return self._write(name, work, is_repeatable=True)

    def trainings(self, name: str, judge: str | None = None) -> list[Event]:
        """Read the answers to training items (with a known grade) of one judge, or of all judges (None)."""
        of_kind = [tables.event.c.kind == "trained"]
        of_kind += [] if judge is None else [tables.event.c.judge == checked_judge(judge)]
        return self._read(name, lambda connection, campaign_id, _: events(connection, campaign_id, *of_kind))

    def pose(self, name: str, control: Control) -> tuple[str, Event]:
        """Show a control (item with an expected answer) to a judge.

        Return the token for `Store.submit`, and the event.
        """
        return self._write(
            name,
            lambda connection, campaign_id, _: controls.pose(connection, campaign_id, control, self._now(connection)),
        )

    def is_answered(self, name: str, token: str) -> bool:
        """Check whether the item that was shown under a token (secret of a claim) was answered."""
        key = f"token:{hashed(token)}"
        return self._read(name, lambda connection, campaign_id, _: with_key(connection, campaign_id, key)) is not None

    def answers_of(self, name: str, judge: str, most: int, before: int | None = None) -> list[Event]:
        """List a judge's latest valid answers, the newest first, at most ``most``.

        With ``before``, only answers whose event number is smaller.
        """
        judge = checked_judge(judge)
        return self._read(
            name, lambda connection, campaign_id, _: history.answers_of(connection, campaign_id, judge, most, before)
        )

    def last_events(self, name: str, until: int, most: int) -> list[Event]:
        """Read at most ``most`` events up to and including ``until``, the newest first."""
        seq = tables.event.c.seq
        wanted = (seq <= until, seq > until - most)
        return self._read(name, lambda connection, campaign_id, _: events(connection, campaign_id, *wanted)[::-1])

    def texts_of(self, name: str, event: Event) -> ItemTexts:
        """Read the texts that judges see of an event's item; raise InputError if there is no such item."""
        return self._read(name, lambda connection, campaign_id, _: history.texts_of(connection, campaign_id, event))

    def texts_of_all(self, name: str, answers: Sequence[Event]) -> list[ItemTexts]:
        """Read the texts that judges see of the items of several events (``answers``), in their order, in one go."""

        def work(connection: Connection, campaign_id: int, _: CampaignRow) -> list[ItemTexts]:
            """Read the texts of each event's item."""
            return [history.texts_of(connection, campaign_id, event) for event in answers]

        return self._read(name, work)

    def keep_guidelines(self, text: str) -> str:
        """Store a version of the guidelines for judges permanently; return its digest."""
        return self._database.write(lambda connection: history.keep_guidelines(connection, text), is_repeatable=True)

    def guidelines(self, digest: str) -> str:
        """Read a version of the guidelines by digest; raise InputError if none exists."""
        return self._database.read(lambda connection: history.guidelines_of(connection, digest))

    def texts_page(self, name: str, wanted: stored_texts.ItemFilter, most: int) -> list[stored_texts.TextRow]:
        """Read at most ``most`` items that match a filter (``wanted``), with the texts that judges see.

        They are ordered by query, unit (items judged together) and position.
        """
        return self._read(
            name, lambda connection, campaign_id, _: stored_texts.page_of(connection, campaign_id, wanted, most)
        )

    def item_texts(self, name: str, at: stored_texts.ItemPosition) -> stored_texts.TextRow:
        """Read the item at a position with the texts that judges see; raise InputError if none exists."""
        return self._read(name, lambda connection, campaign_id, _: stored_texts.item_at(connection, campaign_id, at))

    def text_counts(self, name: str) -> stored_texts.TextCounts:
        """Count a campaign's items and queries, and those without text."""
        return self._read(name, lambda connection, campaign_id, _: stored_texts.counts_of(connection, campaign_id))

    def guidelines_read(self, name: str, served: str = "") -> list[stored_texts.GuidelinesRow]:
        """List the versions of the guidelines that were displayed with answers, and the version displayed now.

        ``served`` is the digest of the latter; empty if there is none.
        """
        return self._read(
            name, lambda connection, campaign_id, _: stored_texts.guidelines_of(connection, campaign_id, served)
        )

    def _about_now(self, connection: Connection) -> int:
        """Read the store's clock, for a server extrapolated from its last reading (at most `ASKED_S` old)."""
        if not self._is_extrapolated:
            return self._now(connection)
        if self._last_reading is None or time.monotonic() - self._last_reading[0] > ASKED_S:
            self._last_reading = (time.monotonic(), self._now(connection))
        return self._extrapolated(*self._last_reading)

    @staticmethod
    def _extrapolated(at: float, now: int) -> int:
        """Extrapolate the server's time (UTC microseconds) from its last reading.

        Parameters
        ----------
        at : float
            Monotonic time of this process at the reading, in seconds.
        now : int
            The reading.
        """
        return now + round((time.monotonic() - at) * MICROSECONDS)

    def _read(self, name: str, work: Callable[[Connection, int, CampaignRow], T]) -> T:
        """Run ``work`` with connection, id and row of a campaign in a read transaction; return its result."""
        return self._database.read(lambda connection: work(connection, *self._campaign(connection, name)))

    def _write(self, name: str, work: Callable[[Connection, int, CampaignRow], T], *, is_repeatable: bool = False) -> T:
        """Run ``work`` with connection, id and row of a campaign in a write transaction; return its result.

        ``is_repeatable`` is True if running it twice has the same effect as once, so that it may be retried.
        """
        return self._database.write(
            lambda connection: work(connection, *self._campaign(connection, name)), is_repeatable=is_repeatable
        )

    def _campaign(self, connection: Connection, name: str) -> tuple[int, CampaignRow]:
        """Read a campaign's id and row, from the cache if known."""
        with self._guard:
            known = self._known.get(name)  # a campaign's row never changes
        if known is None:
            known = reading.campaign_of(connection, name)
            with self._guard:
                self._known[name] = known
        return known

    def retract(self, name: str, seq: int, judge: str, reason: str = "") -> Acknowledged:
        """Retract the answer of event ``seq``: its item waits for a judge again.

        Parameters
        ----------
        judge : str
            Who retracts it.
        reason : str
            Required if it is another judge's answer.

        Raises
        ------
        StateError
            If the event is not a valid answer.
        InputError
            If it is another judge's answer and no reason is given.
        """
        judge = checked_judge(judge)
        check_text("reason", reason, most=MOST_OF_A_REASON)

        def work(connection: Connection, campaign_id: int, _: CampaignRow) -> Acknowledged:
            """Retract the answer at the store's current time."""
            return answering.retract(connection, campaign_id, seq, judge, reason, self._now(connection))

        return self._write(name, work)

    def reopen(self, name: str, seq: int, judge: str) -> ItemClaim:
        """Retract the completed comparisons of event ``seq``; give the query to its judge as the current item.

        The pairs compared so far are kept. Raises StateError if the event is not a valid answer.
        """
        judge = checked_judge(judge)

        def work(connection: Connection, campaign_id: int, campaign: CampaignRow) -> ItemClaim:
            """Lock the judge and the judge's current item, then retract the result and give the query out again."""
            now = self._now(connection)
            lock_judge(connection, campaign_id, judge, now)
            lock_held(connection, campaign_id, judge)
            return answering.reopen(connection, Claim(campaign_id, campaign, judge, now), seq)

        return self._write(name, work)
