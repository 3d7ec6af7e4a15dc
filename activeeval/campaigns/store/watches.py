"""Store watches: evaluations repeated on many dates. The run of a date is a campaign and a payload for the next run."""

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
"""Suffixes of a date: for the step with further labels after a suspected change, and for a run drawn again (with a
two-digit number). Steps sort in the order in which they were drawn, before those of the next date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRow:
    """A watch (an index whose quality is followed by a run on each of many dates) as it was set up.

    Attributes
    ----------
    name : str
    config : mapping
        Settings of the watch's creator; the store itself does not use them.
    payload : bytes
        The fixed run that every date's run is compared with; empty if the baseline is an earlier run of the watch.
    """

    name: str
    config: Mapping[str, Any]
    payload: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightRow:
    """One step of a night (a watch's run of a date): its first labels, or further labels after a suspected change.

    Attributes
    ----------
    date : str
        As 2026-11-25; 2026-11-25.more for the further labels, 2026-11-25.redrawn-01 for a run drawn again.
    campaign : str
        Name of the campaign in which it is judged.
    payload : bytes
        Encoded run, and the state passed to the next run.
    """

    date: str
    campaign: str
    payload: bytes

    @property
    def night(self) -> str:
        """Date of the run (the night), without the step's suffix."""
        return self.date.partition(".")[0]

    @property
    def drawing(self) -> str:
        """Name of the first step with this step's run: the date, with its suffix if the run was drawn again."""
        return self.date.removesuffix(MORE)

    @property
    def is_more(self) -> bool:
        """True if this step holds the further labels after a suspected change."""
        return self.date.endswith(MORE)


class Watches:
    """Watches of a store (runs repeated on many dates); each method is one transaction.

    Parameters
    ----------
    database : Database
    now : callable
        Returns the time in UTC microseconds for a connection.
    """

    def __init__(self, database: Database, now: Callable[[Connection], int]) -> None:
        """Keep the database, and the function that reads its clock (UTC microseconds) for a connection."""
        self._database, self._now = database, now

    def names(self) -> list[str]:
        """List the names of all watches, sorted."""
        return self._database.read(_names)

    def create(self, watch: WatchRow) -> None:
        """Store a watch; raise InputError if one of this name exists."""

        def work(connection: Connection) -> None:
            """Insert the watch unless the name is taken."""
            if watch.name in _names(connection):
                raise InputError(f"there is a watch {shown(watch.name)} already")
            values = {"name": watch.name, "config": canonical(dict(watch.config)), "payload": watch.payload}
            # two processes may both have found the name free
            adding = samples.insertion(connection, tables.watch).values(**values, created_at=self._now(connection))
            inserted = connection.execute(adding.on_conflict_do_nothing().returning(tables.watch.c.id))
            if inserted.scalar() is None:
                raise InputError(f"there is a watch {shown(watch.name)} already")

        self._database.write(work)

    def get(self, name: str) -> WatchRow:
        """Read a watch; raise InputError listing the existing watches if none of this name exists."""
        return self._database.read(lambda connection: _watch(connection, name)[1])

    def nights(self, name: str) -> list[NightRow]:
        """List the steps of a watch's nights (runs of a date) in order, without their payloads, which are large."""

        def work(connection: Connection) -> list[NightRow]:
            """Read date and campaign of each step of the watch, by date."""
            night, campaign = tables.night, tables.campaign
            chosen = select(night.c.date, campaign.c.name).where(night.c.campaign_id == campaign.c.id)
            of_watch = chosen.where(night.c.watch_id == _watch(connection, name)[0]).order_by(night.c.date)
            return [NightRow(date=row[0], campaign=row[1], payload=b"") for row in connection.execute(of_watch)]

        return self._database.read(work)

    def payload(self, name: str, date: str) -> bytes:
        """Read the payload of the step ``date`` of a watch; raise InputError if there is no such watch or step."""

        def work(connection: Connection) -> bytes:
            """Read the payload of the step with this date."""
            night, (watch_id, _) = tables.night, _watch(connection, name)
            chosen = select(night.c.payload).where(night.c.watch_id == watch_id, night.c.date == date)
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
        """Store a step of a night with the campaign in which it is judged, both or neither.

        Parameters
        ----------
        night : NightRow
            The step.
        last : str
            Date of the latest step, which this one follows; empty for the first.
        campaign, sample, units : CampaignRow, SampleRow, sequence of UnitRow
            The new campaign, its sample, and the units (items judged together) of the sample.
        ended : str
            Why no further units will follow; empty while they may.

        Returns
        -------
        int
            Number of the campaign's last event.

        Raises
        ------
        StateError
            If another step was stored meanwhile.
        """

        def work(connection: Connection) -> int:
            """Check that no other step was stored meanwhile, then insert the campaign and the step."""
            watch_id, _ = _watch(connection, name)
            # a concurrent transaction waits here and then sees this step; SQLite has a single writer anyway
            connection.execute(select(tables.watch.c.id).where(tables.watch.c.id == watch_id).with_for_update())
            dates = select(tables.night.c.date).where(tables.night.c.watch_id == watch_id)
            latest = max(connection.execute(dates).scalars(), default="")
            if latest != last:
                raise StateError(f"watch {shown(name)}: the night of {latest} was stored meanwhile: call again")
            timed = replace(campaign, created_at=campaign.created_at or self._now(connection))
            seq = samples.create(connection, timed, sample, units, ended)
            of_name = select(tables.campaign.c.id).where(tables.campaign.c.name == campaign.name)
            values = {"watch_id": watch_id, "date": night.date, "payload": night.payload}
            values["campaign_id"] = connection.execute(of_name).scalar()
            connection.execute(insert(tables.night).values(**values))
            return seq

        return self._database.write(work)


def _names(connection: Connection) -> list[str]:
    """List the names of all watches, sorted."""
    return sorted(connection.execute(select(tables.watch.c.name)).scalars())


def _watch(connection: Connection, name: str) -> tuple[int, WatchRow]:
    """Read a watch's id and row; raise InputError if none of this name exists."""
    table = tables.watch
    row = connection.execute(select(table).where(table.c.name == name)).first()
    if row is None:
        raise not_there("watch", name, _names(connection), "; `watch init` makes one")
    config = parsed(row.config, f"the configuration of watch {shown(name)}")
    return row.id, WatchRow(name=row.name, config=config, payload=bytes(row.payload))
