"""Read campaigns, samples, units and counts of assignments from the database."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, func, select

from activeeval.campaigns.store import tables
from activeeval.campaigns.store.claiming import is_takeable
from activeeval.campaigns.store.log import parsed
from activeeval.campaigns.store.rows import CampaignRow, PlaceRow, SampleRow, UnitRow
from activeeval.core.errors import InputError, did_you_mean, shown


def campaign_names(connection: Connection) -> list[str]:
    """List the names of all campaigns, sorted."""
    # sorted here, because databases sort text differently
    return sorted(connection.execute(select(tables.campaign.c.name)).scalars())


def not_there(what: str, name: str, there: Sequence[str], none: str = "") -> InputError:
    """Build the error for an unknown name, with suggestions.

    Parameters
    ----------
    what : str
        What the name should name, as "campaign".
    name : str
        The unknown name.
    there : sequence of str
        Names that exist.
    none : str
        Added to the message if nothing exists yet.
    """
    hint = f"there are {', '.join(map(shown, there[:20]))}" if there else f"there are none{none}"
    return InputError(f"there is no {what} {shown(str(name))}: {did_you_mean(str(name), there)}{hint}")


def campaign_of(connection: Connection, name: str) -> tuple[int, CampaignRow]:
    """Read a campaign's id and row; raise InputError if there is no campaign of this name."""
    table = tables.campaign
    row = connection.execute(select(table).where(table.c.name == name)).first()
    if row is None:
        raise not_there("campaign", name, campaign_names(connection))
    values = dict(row._mapping)
    campaign_id = values.pop("id")
    values["config"] = parsed(values["config"], f"the configuration of {shown(name)}")
    return campaign_id, CampaignRow(**values)


def samples_of(connection: Connection, campaign_id: int) -> list[SampleRow]:
    """Read the versions of a campaign's sample, the oldest first."""
    table = tables.sample
    columns = (table.c.version, table.c.digest, table.c.payload, table.c.seq, table.c.reason)
    chosen = select(*columns).where(table.c.campaign_id == campaign_id).order_by(table.c.version)
    return [SampleRow(**{**row._mapping, "payload": bytes(row.payload)}) for row in connection.execute(chosen)]


def units_of(connection: Connection, campaign_id: int) -> list[UnitRow]:
    """Read a campaign's units (items of a query that are judged together) with places and texts, by number."""
    unit, query = tables.unit, tables.query
    places = _places(connection, campaign_id)
    texts = select(query.c.query_id, query.c.text).where(query.c.campaign_id == campaign_id)
    query_texts: dict[str, str] = {row[0]: row[1] for row in connection.execute(texts)}
    columns = [column for column in unit.c if column.name != "campaign_id"]
    chosen = select(*columns).where(unit.c.campaign_id == campaign_id).order_by(unit.c.number)
    return [
        UnitRow(**row._mapping, places=tuple(places.get(row.number, ())), query_text=query_texts.get(row.query_id, ""))
        for row in connection.execute(chosen)
    ]


def waiting_of(connection: Connection, campaign_id: int, now: int) -> dict[str, int]:
    """Count the assignments (judgments needed) that are ``free``, ``leased`` or checked out, and ``done``.

    An expired lease counts as free; ``now`` is the time in UTC microseconds.
    """
    table = tables.assignment
    is_free = is_takeable(table, now)
    counted = select(is_free, table.c.state, func.count()).where(table.c.campaign_id == campaign_id)
    counts = {"free": 0, "leased": 0, "done": 0}
    # "free" are those that may be taken, "leased" the others that are leased or checked out to a sheet
    for may_be_taken, state, n in connection.execute(counted.group_by(is_free, table.c.state)):
        counts["free" if may_be_taken else "leased" if state == "checked_out" else state] += n
    return counts


def _places(connection: Connection, campaign_id: int) -> dict[int, list[PlaceRow]]:
    """Read the places (documents of a unit) of all units of a campaign, by unit number, in the order of positions."""
    place, document = tables.place, tables.document
    chosen = select(place.c.unit, place.c.doc_id, place.c.probability, document.c.content).where(
        place.c.campaign_id == campaign_id, place.c.document == document.c.digest
    )
    places: dict[int, list[PlaceRow]] = {}
    for number, doc_id, probability, content in connection.execute(chosen.order_by(place.c.unit, place.c.position)):
        text = parsed(content, f"the text of document {doc_id!r}")
        places.setdefault(number, []).append(PlaceRow(doc_id=doc_id, probability=probability, text=text))
    return places
