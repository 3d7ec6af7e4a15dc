"""The store of campaigns: their samples and units, and the event log of judgments."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Connection

from activeeval.campaigns.store import (
    answering,
    checking,
    controls,
    importing,
    samples,
    schema,
    sheet_checkouts,
    stored_rows,
    tables,
)
from activeeval.campaigns.store.access import Access
from activeeval.campaigns.store.adjudicating import ask_third
from activeeval.campaigns.store.claiming import Claim, claim, hashed, lock_held, lock_judge
from activeeval.campaigns.store.log import breaks_of, checked_judge, digest_at, events, genesis, tail
from activeeval.campaigns.store.past_answers import PastAnswers
from activeeval.campaigns.store.rows import Acknowledged, CampaignRow, ItemClaim, JudgeAnswer, SampleRow, UnitRow
from activeeval.campaigns.store.watches import Watches
from activeeval.core.errors import InputError, StateError, shown
from activeeval.core.judgments.log import Event
from activeeval.core.judgments.state import MICROSECONDS


class Store(PastAnswers):
    """Campaigns in a database; open it with `open_store`. Threads may share an instance.

    Each method is one transaction: it returns after the commit, or raises one of activeeval's errors and stores
    nothing.
    """

    def __enter__(self) -> Self:
        """Return the store, for a ``with`` block that closes it."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close the store; after an error also remove a file that was created in vain."""
        if error is not None:
            schema.withdraw(self._database)
        self.close()

    def close(self) -> None:
        """Close the connections; everything stored is already committed."""
        self._database.close()

    @property
    def place(self) -> str:
        """Name of the database in messages, without its password."""
        return self._database.place

    def campaigns(self) -> list[str]:
        """List the names of all campaigns, sorted."""
        return self._database.read(stored_rows.campaign_names)

    def create(self, campaign: CampaignRow, sample: SampleRow, units: Sequence[UnitRow], ended: str = "") -> int:
        """Store a new campaign with its sample, units (items judged together) and assignments (needed judgments).

        Raises InputError if the name is taken, or a value cannot be stored.

        Parameters
        ----------
        ended : str
            Why no further units will follow; empty while they may.

        Returns
        -------
        int
            The number of the last event.
        """

        def work(connection: Connection) -> int:
            """Store it at the time of the transaction."""
            timed = replace(campaign, created_at=campaign.created_at or self._now(connection))
            return samples.create(connection, timed, sample, units, ended)

        return self._database.write(work)

    def campaign(self, name: str) -> CampaignRow:
        """Read a campaign's set-up; raise InputError listing the existing campaigns if none of this name exists."""
        with self._guard:
            known = self._known.get(name)  # id and row, which never change
        return self._read(name, lambda _, __, campaign: campaign) if known is None else known[1]

    def samples(self, name: str) -> list[SampleRow]:
        """Read the versions of a campaign's sample, the oldest first."""
        return self._read(name, lambda connection, campaign_id, _: stored_rows.samples_of(connection, campaign_id))

    def grow(self, name: str, sample: SampleRow, units: Sequence[UnitRow], ended: str = "") -> int:
        """Store the next version of a sample with its new units (items judged together).

        Return the last event's number. ``ended`` states why no further units will follow; it is empty while they may.
        Raises StateError if it is not the next version, or a unit exists already.
        """

        def work(connection: Connection, campaign_id: int, campaign: CampaignRow) -> int:
            """Store it at the time of the transaction."""
            timed = replace(campaign, created_at=self._now(connection))  # the time of the new events
            return samples.grow(connection, campaign_id, timed, sample, units, ended)

        return self._write(name, work)

    def units(self, name: str) -> list[UnitRow]:
        """Read all units (items of a query that are judged together) of a campaign, by number."""
        return self._read(name, lambda connection, campaign_id, _: stored_rows.units_of(connection, campaign_id))

    def events(
        self, name: str, until: int | None = None, *, since: Event | None = None, unit: int | None = None
    ) -> list[Event]:
        """Read the log up to and including event ``until`` and check its digest chain.

        Parameters
        ----------
        since : Event, optional
            Read only the events after this one, which was read before; earlier events are not checked again.
        unit : int, optional
            Read only the events of this unit (items judged together), without checking the chain.

        Raises
        ------
        InputError
            If there is no event ``until``.
        StateError
            If the log was altered; the message names the first such event.
        """
        first = 0 if since is None else since.seq

        def work(connection: Connection, campaign_id: int, _: CampaignRow) -> list[Event]:
            """Read the events; unless they are of one unit, check that they continue the digests of `since`."""
            last = 0 if until is None else tail(connection, campaign_id)[0]
            if until is not None and not first <= until <= last:
                raise InputError(f"the last event is {last}, got {until}")
            conditions = [] if until is None else [tables.event.c.seq <= until]
            if unit is not None:
                return events(connection, campaign_id, *conditions, tables.event.c.unit == unit)
            # one query also reads event `since` again, so that polling after each answer stays cheap
            log = events(connection, campaign_id, *conditions, tables.event.c.seq >= first)
            before = log.pop(0) if since is not None and log else None
            start = genesis(connection, campaign_id) if since is None else since.digest
            broken = next(breaks_of(log, start, first), None)
            if since is not None and (before is None or (before.seq, before.digest) != (first, since.digest)):
                broken = f"event {first} was altered: its digest has changed"
            if broken is not None:
                raise StateError(f"campaign {shown(name)}: {broken}; `campaign verify` lists all problems")
            return log

        return self._read(name, work)

    def digest_at(self, name: str, seq: int) -> str | None:
        """Read the digest of an event, which covers all events up to it; None if there is no such event."""
        return self._read(name, lambda connection, campaign_id, _: digest_at(connection, campaign_id, seq))

    def last_seq(self, name: str) -> int:
        """Read the number of the log's last event; 0 for an empty log."""
        return self._read(name, lambda connection, campaign_id, _: tail(connection, campaign_id)[0])

    def claim(self, name: str, judge: str, *, by_query: bool = False) -> ItemClaim | None:
        """Give a judge the item that the judge holds, or else the next one; None if nothing is left for this judge.

        Parameters
        ----------
        by_query : bool
            True to stay with a query while it has items in the block (part of the sample), and to give these out in
            random order, so that their order does not reveal ranks. No effect with strict order.
        """
        judge = checked_judge(judge)

        def work(connection: Connection, campaign_id: int, campaign: CampaignRow) -> ItemClaim | None:
            """Lock the judge and the judge's current item, then claim."""
            now = self._now(connection)
            lock_judge(connection, campaign_id, judge, now)
            lock_held(connection, campaign_id, judge)
            return claim(connection, Claim(campaign_id, campaign, judge, now, by_query))

        return self._write(name, work, is_repeatable=True)

    def shown(self, name: str, token: str) -> Event:
        """Look up the event in which an item was shown under a claim's token; raise InputError if there is none."""
        return self._read(name, lambda connection, campaign_id, _: answering.claim_of(connection, campaign_id, token))

    def submit(self, name: str, token: str, judgment: JudgeAnswer, key: str | None = None) -> Acknowledged:
        """Store a judge's answer to a claimed item.

        Parameters
        ----------
        token : str
            Secret of the claim, which identifies the item and its judge.
        key : str, optional
            Key of this answer: sending it again returns the stored answer. By default derived from the token.

        Returns
        -------
        Acknowledged
            Its event is of kind ``late`` if the item had gone to another judge: the answer is kept but does not count.

        Raises
        ------
        InputError
            If no item was given out under the token, or the answer is not valid.
        StateError
            If another answer is stored under the same key.
        """
        return self._answer(name, token, judgment, key, goes_on=False)[0]

    def submit_and_claim(
        self, name: str, token: str, judgment: JudgeAnswer, key: str | None = None, *, by_query: bool = False
    ) -> tuple[Acknowledged, ItemClaim | None]:
        """Store a judge's answer (`submit`), claim the judge's next item (`claim`) in one transaction; return both."""
        return self._answer(name, token, judgment, key, goes_on=True, by_query=by_query)

    @property
    def watches(self) -> Watches:
        """Watches of this database: evaluations repeated on many dates."""
        return Watches(self._database, self._now)

    def access(self, name: str) -> Access:
        """Open the credentials (invites, sessions, tokens, passwords) of a campaign, to check and change them."""
        return Access(partial(self._read, name), partial(self._write, name), self._about_now)

    def record(self, name: str, judge: str, judgments: Sequence[tuple[Any, ...]]) -> list[Acknowledged]:
        """Store judgments that a judge made elsewhere, all of them or none.

        Parameters
        ----------
        judgments : sequence of tuple
            (query_id, doc_id, JudgeAnswer), optionally followed by an idempotency key, and by the number of the item's
            unit; see `activeeval.campaigns.store.importing.JudgmentLine`.

        Returns
        -------
        list of Acknowledged
            One for each judgment. An earlier answer of this judge is repeated if equal and superseded if different; the
            event is ``late`` if the item was never drawn or all required judges have judged it.

        Raises
        ------
        InputError, StateError
            If a judgment is not valid or items are given out in strict order; if a key is that of a different answer.
        """
        return self.record_all(name, [(judge, judgments)])[0]

    def record_all(
        self,
        name: str,
        parts: Sequence[tuple[str, Sequence[tuple[Any, ...]]]],
        unjudged: Sequence[importing.Unjudged] = (),
    ) -> list[list[Acknowledged]]:
        """Store the judgments of several judges or files as `record` does, all of them or none.

        Return a list of acknowledgments for each part, one for each judgment.

        Parameters
        ----------
        parts : sequence of (judge, judgments)
            Judgments are (query_id, doc_id, JudgeAnswer), optionally with a key and the number of the unit.
        unjudged : sequence of Unjudged
            Checked-out items that came back without an answer; they become free.
        """
        by_judge = [(checked_judge(judge), [importing.JudgmentLine(*line) for line in lines]) for judge, lines in parts]

        def work(connection: Connection, campaign_id: int, campaign: CampaignRow) -> list[list[Acknowledged]]:
            """Check all lines, lock the judges, store all lines, and ask for third judges where two differ."""
            for _, lines in by_judge:
                importing.check_lines(lines, campaign)
            now = self._now(connection)
            for judge in sorted({judge for judge, _ in by_judge}):
                lock_judge(connection, campaign_id, judge, now)
            done = importing.record(connection, campaign_id, by_judge, now, unjudged)
            ask_third(connection, campaign_id, campaign, [answer.event for answers in done for answer in answers])
            return done

        return self._write(name, work, is_repeatable=True)

    def lend(
        self,
        name: str,
        judges: Sequence[str],
        choose: sheet_checkouts.Choose,
        lease_s: int,
        replaced: Collection[sheet_checkouts.OnSheet] = (),
    ) -> tuple[sheet_checkouts.Chosen, int]:
        """Check items out to judges' sheets; return them with their judges, and the end in UTC microseconds.

        Parameters
        ----------
        judges : sequence of str
            Judges who may receive items; "" for a sheet without a named judge.
        choose : callable
            Selects from the open assignments (needed judgments) those to check out, as (assignment, judge) pairs; it
            may be called more than once.
        lease_s : int
            Duration of the reservation in seconds; a later answer counts if no other judge has the item.
        replaced : collection of (judge, query, document)
            Rows of sheets that are overwritten; they are returned first.
        """
        names = sorted(checked_judge(judge) for judge in judges if judge)

        def work(connection: Connection, campaign_id: int, _: CampaignRow) -> tuple[sheet_checkouts.Chosen, int]:
            """Lock the named judges, then check the chosen items out until ``lease_s`` seconds from now."""
            now = self._now(connection)
            for judge in names:
                lock_judge(connection, campaign_id, judge, now)
            until = now + lease_s * MICROSECONDS
            return sheet_checkouts.lend(connection, campaign_id, choose, now, until, replaced), until

        return self._write(name, work)

    def take_back(self, name: str, lent: sheet_checkouts.Chosen, reason: str = "") -> None:
        """Free the given (assignment, judge) pairs of needed judgments that are still checked out to the same judge."""

        def work(connection: Connection, campaign_id: int, _: CampaignRow) -> None:
            """Free them at the store's current time."""
            sheet_checkouts.take_back(connection, campaign_id, lent, self._now(connection), reason)

        self._write(name, work)

    def waiting(self, name: str) -> dict[str, int]:
        """Count the assignments (judgments needed): ``free`` (or expired), ``leased`` (or checked out) and ``done``."""

        def work(connection: Connection, campaign_id: int, _: CampaignRow) -> dict[str, int]:
            """Count them as of the store's current time."""
            return stored_rows.waiting_of(connection, campaign_id, self._now(connection))

        return self._read(name, work)

    def rebuild(self, name: str) -> None:
        """Recreate the assignments (needed judgments) from the log; raise StateError if the log is damaged."""
        self._write(name, checking.rebuild, is_repeatable=True)

    def verify(self, name: str) -> list[str]:
        """List what is wrong with a campaign's log and its other tables, one line each; empty if nothing is."""
        return self._read(name, checking.problems_of)

    def _answer(
        self, name: str, token: str, judgment: JudgeAnswer, key: str | None, *, goes_on: bool, by_query: bool = False
    ) -> tuple[Acknowledged, ItemClaim | None]:
        """Store an answer and, with ``goes_on``, claim the judge's next item (else None) in the same transaction."""
        answering.check_key(key)
        answer = answering.KeyedAnswer(judgment, f"token:{hashed(token)}" if key is None else key)

        def work(
            connection: Connection, campaign_id: int, campaign: CampaignRow
        ) -> tuple[Acknowledged, ItemClaim | None]:
            """Check and store the answer to the item or control that was shown, then claim if requested."""
            answering.check_judgment(judgment, campaign)
            shown, now = answering.claim_of(connection, campaign_id, token), self._now(connection)
            if goes_on:
                lock_judge(connection, campaign_id, shown.judge, now)
                lock_held(connection, campaign_id, shown.judge)
            if shown.kind == "control_shown":
                stored = controls.check(connection, campaign_id, shown, judgment, now)
            else:
                stored = answering.submit(connection, campaign_id, shown, answer, now, campaign.lease_s)
            ask_third(connection, campaign_id, campaign, [stored.event])
            request = Claim(campaign_id, campaign, shown.judge, now, by_query)
            return stored, claim(connection, request) if goes_on else None

        return self._write(name, work, is_repeatable=True)
