"""Watches: what goes on from night to night. A night is a campaign, with what it leaves to the next one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, insert, select

from activeeval.campaigns.store import samples, tables
from activeeval.campaigns.store.database import Database
from activeeval.campaigns.store.log import canonical, parsed
from activeeval.campaigns.store.rows import CampaignRow, SampleRow, UnitRow
from activeeval.campaigns.store.stored_rows import not_there
from activeeval.core.errors import InputError, StateError, shown

MORE, REDRAWN = ".more", ".redrawn-"
"""Behind the date of a night: the step with its labels on suspicion, and the night drawn anew, with a number of two
digits. Steps sort in the order in which they were drawn, before those of the next date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRow:
    """A watch as it was set up.

    Attributes
    ----------
    name : str
    config : mapping
    payload : bytes
        The run that all nights are compared with; empty where that is one of theirs.
    """

    name: str
    config: Mapping[str, Any]
    payload: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightRow:
    """A step of a night: its labels, or those that it got on suspicion.

    Attributes
    ----------
    date : str
        As 2026-11-25; 2026-11-25.more of the labels on suspicion, 2026-11-25.redrawn-01 of the night drawn anew.
    campaign : str
        In which it is judged.
    payload : bytes
        Its run, and what it leaves to the next night.
    """

    date: str
    campaign: str
    payload: bytes

    @property
    def night(self) -> str:
        """The date of the night."""
        return self.date.partition(".")[0]

    @property
    def drawing(self) -> str:
        """The date of the first step that was drawn with this one's run."""
        return self.date.removesuffix(MORE)

    @property
    def is_more(self) -> bool:
        """Whether these are the labels on suspicion."""
        return self.date.endswith(MORE)


class Watches:
    """The watches of a store; every method is one transaction."""

    def __init__(self, database: Database, now: Callable[[Connection], int]) -> None:
        self._database, self._now = database, now

    def names(self) -> list[str]:
        """Return the names of all watches, sorted."""
        return self._database.read(_names)

    def create(self, watch: WatchRow) -> None:
        """Store a watch; raises InputError where there is one of that name."""

        def work(connection: Connection) -> None:
            if watch.name in _names(connection):
                raise InputError(f"there is a watch {shown(watch.name)} already")
            values = {"name": watch.name, "config": canonical(dict(watch.config)), "payload": watch.payload}
            # two processes may both have found that there is none
            adding = samples.insertion(connection, tables.watch).values(**values, created_at=self._now(connection))
            made = connection.execute(adding.on_conflict_do_nothing().returning(tables.watch.c.id))
            if made.scalar() is None:
                raise InputError(f"there is a watch {shown(watch.name)} already")

        self._database.write(work)

    def get(self, name: str) -> WatchRow:
        """Return a watch; raises InputError, with the names there are, where there is none."""
        return self._database.read(lambda connection: _watch(connection, name)[1])

    def nights(self, name: str) -> list[NightRow]:
        """Return the steps of a watch's nights in order, without their payloads: these are large."""

        def work(connection: Connection) -> list[NightRow]:
            night, campaign = tables.night, tables.campaign
            chosen = select(night.c.date, campaign.c.name).where(night.c.campaign_id == campaign.c.id)
            mine = chosen.where(night.c.watch_id == _watch(connection, name)[0]).order_by(night.c.date)
            return [NightRow(date=row[0], campaign=row[1], payload=b"") for row in connection.execute(mine)]

        return self._database.read(work)

    def payload(self, name: str, date: str) -> bytes:
        """Return what a night has left; raises InputError where there is no such night."""

        def work(connection: Connection) -> bytes:
            night, (number, _) = tables.night, _watch(connection, name)
            chosen = select(night.c.payload).where(night.c.watch_id == number, night.c.date == date)
            content = connection.execute(chosen).scalar()
            if content is None:
                raise InputError(f"watch {shown(name)} has no night of {date}")
            return bytes(content)

        return self._database.read(work)

    def add_night(
        self,
        name: str,
        night: NightRow,
        last: str,
        campaign: CampaignRow,
        sample: SampleRow,
        units: Sequence[UnitRow],
        ended: str,
    ) -> int:
        """Store a night with the campaign in which it is judged, both or neither; return the campaign's last event.

        Parameters
        ----------
        last : str
            The date of the night that it goes on from; empty for the first.

        Raises
        ------
        StateError
            Where another night was stored meanwhile.
        """

        def work(connection: Connection) -> int:
            number, _ = _watch(connection, name)
            # whoever stores another night waits here, and then sees this one; SQLite has a single writer anyway
            connection.execute(select(tables.watch.c.id).where(tables.watch.c.id == number).with_for_update())
            dates = select(tables.night.c.date).where(tables.night.c.watch_id == number)
            latest = max(connection.execute(dates).scalars(), default="")
            if latest != last:
                raise StateError(f"watch {shown(name)}: the night of {latest} was stored meanwhile: call again")
            timed = replace(campaign, created_at=campaign.created_at or self._now(connection))
            seq = samples.create(connection, timed, sample, units, ended)
            of_name = select(tables.campaign.c.id).where(tables.campaign.c.name == campaign.name)
            values = {"watch_id": number, "date": night.date, "payload": night.payload}
            values["campaign_id"] = connection.execute(of_name).scalar()
            connection.execute(insert(tables.night).values(**values))
            return seq

        return self._database.write(work)


def _names(connection: Connection) -> list[str]:
    return sorted(connection.execute(select(tables.watch.c.name)).scalars())


def _watch(connection: Connection, name: str) -> tuple[int, WatchRow]:
    table = tables.watch
    row = connection.execute(select(table).where(table.c.name == name)).first()
    if row is None:
        raise not_there("watch", name, _names(connection), "; `watch init` makes one")
    config = parsed(row.config, f"the configuration of watch {shown(name)}")
    return row.id, WatchRow(name=row.name, config=config, payload=bytes(row.payload))
