"""The store: campaigns, their samples and units, and the log of what judges say."""

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
    """Campaigns in a database; open it with `open_store`. Threads may share it.

    Every method is one transaction: it returns after the commit, or raises one of activeeval's errors and nothing
    of it is stored.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is not None:
            schema.withdraw(self._database)
        self.close()

    def close(self) -> None:
        """Give the connections back; what is stored is stored."""
        self._database.close()

    @property
    def place(self) -> str:
        """How messages name it, without its password."""
        return self._database.place

    def campaigns(self) -> list[str]:
        """Return the names of all campaigns, sorted."""
        return self._database.read(stored_rows.campaign_names)

    def create(self, campaign: CampaignRow, sample: SampleRow, units: Sequence[UnitRow], ended: str = "") -> int:
        """Store a new campaign with its sample, units and assignments.

        Parameters
        ----------
        ended : str
            Why there will be no further unit; empty while there may be one.

        Returns
        -------
        int
            The number of the last event.
        """

        def work(connection: Connection) -> int:
            timed = replace(campaign, created_at=campaign.created_at or self._now(connection))
            return samples.create(connection, timed, sample, units, ended)

        return self._database.write(work)

    def campaign(self, name: str) -> CampaignRow:
        """Return a campaign as it was set up; InputError, with the names there are, where there is none."""
        with self._guard:
            known = self._known.get(name)
        return self._read(name, lambda _, __, campaign: campaign) if known is None else known[1]

    def samples(self, name: str) -> list[SampleRow]:
        """Return the versions of a campaign's sample, the first one first."""
        return self._read(name, lambda connection, number, _: stored_rows.samples_of(connection, number))

    def grow(self, name: str, sample: SampleRow, units: Sequence[UnitRow], ended: str = "") -> int:
        """Store the next version of a sample with the units that are new; return the number of the last event.

        Raises
        ------
        StateError
            Where it is not the next version, or a unit is there already.
        """

        def work(connection: Connection, number: int, campaign: CampaignRow) -> int:
            timed = replace(campaign, created_at=self._now(connection))
            return samples.grow(connection, number, timed, sample, units, ended)

        return self._write(name, work)

    def units(self, name: str) -> list[UnitRow]:
        """Return all units of a campaign by number."""
        return self._read(name, lambda connection, number, _: stored_rows.units_of(connection, number))

    def events(
        self, name: str, until: int | None = None, *, since: Event | None = None, unit: int | None = None
    ) -> list[Event]:
        """Return the log, up to and with event ``until``.

        Parameters
        ----------
        since : Event, optional
            The events after this one, which was read before; what came before it is not looked at again.
        unit : int, optional
            Of a unit alone: their chain has gaps and is not checked.

        Raises
        ------
        InputError
            Where there is no such event.
        StateError
            Where the log is not what was written, with the first event that is not.
        """
        first = 0 if since is None else since.seq

        def work(connection: Connection, number: int, _: CampaignRow) -> list[Event]:
            last = 0 if until is None else tail(connection, number)[0]
            if until is not None and not first <= until <= last:
                raise InputError(f"the last event is {last}, got {until}")
            conditions = [] if until is None else [tables.event.c.seq <= until]
            if unit is not None:
                return events(connection, number, *conditions, tables.event.c.unit == unit)
            # whoever looks after each answer asks once: the event before comes with those after it
            log = events(connection, number, *conditions, tables.event.c.seq >= first)
            before = log.pop(0) if since is not None and log else None
            start = genesis(connection, number) if since is None else since.digest
            broken = next(breaks_of(log, start, first), None)
            if since is not None and (before is None or (before.seq, before.digest) != (first, since.digest)):
                broken = f"event {first} is not what was written: its digest is another"
            if broken is not None:
                raise StateError(f"campaign {shown(name)}: {broken}; campaign verify says all that is wrong")
            return log

        return self._read(name, work)

    def digest_at(self, name: str, seq: int) -> str | None:
        """Return the digest of an event, which stands for all up to it; None where there is no such event."""
        return self._read(name, lambda connection, number, _: digest_at(connection, number, seq))

    def last_seq(self, name: str) -> int:
        """Return the number of the last event."""
        return self._read(name, lambda connection, number, _: tail(connection, number)[0])

    def claim(self, name: str, judge: str, *, by_query: bool = False) -> ItemClaim | None:
        """Give a judge the item that he has already, or else the next one; None where there is none for him.

        Parameters
        ----------
        by_query : bool
            Within a block stay with a query as long as it has items, and give these out as chance will have it: who is
            shown them sees nothing of ranks and levels. Has no say where items go out strictly in their order.
        """
        judge = checked_judge(judge)

        def work(connection: Connection, number: int, campaign: CampaignRow) -> ItemClaim | None:
            now = self._now(connection)
            lock_judge(connection, number, judge, now)
            lock_held(connection, number, judge)
            return claim(connection, Claim(number, campaign, judge, now, by_query))

        return self._write(name, work, is_repeatable=True)

    def shown(self, name: str, token: str) -> Event:
        """Return the event in which an item was shown under a token; InputError where there is none."""
        return self._read(name, lambda connection, number, _: answering.claim_of(connection, number, token))

    def submit(self, name: str, token: str, judgment: JudgeAnswer, key: str | None = None) -> Acknowledged:
        """Store what a judge says of an item that was given to him.

        Parameters
        ----------
        token : str
            Of the claim.
        key : str, optional
            Of this answer: sent again, it gets the stored one. That of the token by default.

        Returns
        -------
        Acknowledged
            Of kind ``late`` where the item had gone to somebody else: kept, and not counted.

        Raises
        ------
        InputError
            Where no item was given out under the token, or nobody can say that of it.
        StateError
            Where something else was said under the same key.
        """
        return self._answer(name, token, judgment, key, goes_on=False)[0]

    def submit_and_claim(
        self, name: str, token: str, judgment: JudgeAnswer, key: str | None = None, *, by_query: bool = False
    ) -> tuple[Acknowledged, ItemClaim | None]:
        """Do `submit` and `claim` of the same judge in one transaction."""
        return self._answer(name, token, judgment, key, goes_on=True, by_query=by_query)

    @property
    def watches(self) -> Watches:
        """What goes on from night to night."""
        return Watches(self._database, self._now)

    def access(self, name: str) -> Access:
        """Return who may come in to a campaign, to be asked and changed."""
        return Access(partial(self._read, name), partial(self._write, name), self._about_now)

    def record(self, name: str, judge: str, judgments: Sequence[tuple[Any, ...]]) -> list[Acknowledged]:
        """Store judgments that a judge made elsewhere, all or none of them.

        Parameters
        ----------
        judgments : sequence of (query_id, doc_id, JudgeAnswer) or of these with a key, and with the number of the unit
            See `activeeval.campaigns.store.importing.JudgmentLine`.

        Returns
        -------
        list of Acknowledged
            One for each. What this judge has said before is repeated, or superseded where he says something else now;
            ``late`` where the item was never drawn or all the judges asked for have judged it.
        """
        return self.record_all(name, [(judge, judgments)])[0]

    def record_all(
        self,
        name: str,
        parts: Sequence[tuple[str, Sequence[tuple[Any, ...]]]],
        unjudged: Sequence[importing.Unjudged] = (),
    ) -> list[list[Acknowledged]]:
        """Store what several judges, or several files, say as `record` does: all of it or nothing.

        Parameters
        ----------
        parts : sequence of (judge, judgments)
        unjudged : sequence of Unjudged
            What has come back without an answer: it is lent no longer.
        """
        by_judge = [(checked_judge(judge), [importing.JudgmentLine(*line) for line in lines]) for judge, lines in parts]

        def work(connection: Connection, number: int, campaign: CampaignRow) -> list[list[Acknowledged]]:
            for _, lines in by_judge:
                importing.check_lines(lines, campaign)
            now = self._now(connection)
            for judge in sorted({judge for judge, _ in by_judge}):
                lock_judge(connection, number, judge, now)
            done = importing.record(connection, number, by_judge, now, unjudged)
            ask_third(connection, number, campaign, [answer.event for answers in done for answer in answers])
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
        """Lend items for sheets; return them with their judges, and until when (UTC, microseconds).

        Parameters
        ----------
        judges : sequence of str
            Who may get some; "" is nobody by name.
        choose : callable
            See `activeeval.campaigns.store.sheet_checkouts.Choose`; it may be called more than once.
        lease_s : int
            For how many seconds; an answer after that counts where nobody else has the item.
        replaced : collection of (judge, query, document)
            What stands on sheets that are written anew, and is given back first.
        """
        names = sorted(checked_judge(judge) for judge in judges if judge)

        def work(connection: Connection, number: int, _: CampaignRow) -> tuple[sheet_checkouts.Chosen, int]:
            now = self._now(connection)
            for judge in names:
                lock_judge(connection, number, judge, now)
            until = now + lease_s * MICROSECONDS
            return sheet_checkouts.lend(connection, number, choose, now, until, replaced), until

        return self._write(name, work)

    def take_back(self, name: str, lent: sheet_checkouts.Chosen, reason: str = "") -> None:
        """Let anybody have what was lent and still is."""

        def work(connection: Connection, number: int, _: CampaignRow) -> None:
            sheet_checkouts.take_back(connection, number, lent, self._now(connection), reason)

        self._write(name, work)

    def waiting(self, name: str) -> dict[str, int]:
        """Return how many assignments are ``free``, ``leased`` (and the lease is not over) and ``done``."""

        def work(connection: Connection, number: int, _: CampaignRow) -> dict[str, int]:
            return stored_rows.waiting_of(connection, number, self._now(connection))

        return self._read(name, work)

    def rebuild(self, name: str) -> None:
        """Throw the assignments away and make them again from the log; StateError where that is not whole."""
        self._write(name, checking.rebuild, is_repeatable=True)

    def verify(self, name: str) -> list[str]:
        """Return what is wrong with a campaign, one line each: its log, units, assignments; empty where all is well."""
        return self._read(name, checking.problems_of)

    def _answer(
        self, name: str, token: str, judgment: JudgeAnswer, key: str | None, *, goes_on: bool, by_query: bool = False
    ) -> tuple[Acknowledged, ItemClaim | None]:
        answering.check_key(key)
        answer = answering.KeyedAnswer(judgment, f"token:{hashed(token)}" if key is None else key)

        def work(connection: Connection, number: int, campaign: CampaignRow) -> tuple[Acknowledged, ItemClaim | None]:
            answering.check_judgment(judgment, campaign)
            shown, now = answering.claim_of(connection, number, token), self._now(connection)
            if goes_on:
                lock_judge(connection, number, shown.judge, now)
                lock_held(connection, number, shown.judge)
            if shown.kind == "control_shown":
                stored = controls.check(connection, number, shown, judgment, now)
            else:
                stored = answering.submit(connection, number, shown, answer, now, campaign.lease_s)
            ask_third(connection, number, campaign, [stored.event])
            asked = Claim(number, campaign, shown.judge, now, by_query)
            return stored, claim(connection, asked) if goes_on else None

        return self._write(name, work, is_repeatable=True)
