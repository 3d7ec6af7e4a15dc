"""Is a campaign still what it was? Its log whole, its sample the one that seed and ids give, its units those drawn."""

from __future__ import annotations

from activeeval.campaign import Campaign
from activeeval.errors import ActiveEvalError
from activeeval.session.campaigns.making import item_probabilities
from activeeval.session.samples import unpacked_sample
from activeeval.store import Store, UnitRow

_MOST = 5


def verify(store: Store, name: str) -> list[str]:
    """Return what is wrong with a campaign, a line each; nothing where the log is whole and replay is identical.

    The sample is read from what is kept of it, which its digest proves, and drawn again from its key and ids; every
    unit must be the one that is stored.
    """
    problems = list(store.verify(name))
    versions, units = store.samples(name), store.units(name)
    for row in versions:
        try:
            sample, own = unpacked_sample(row.payload, f"version {row.version}")
        except ActiveEvalError as problem:
            problems.append(str(problem))
            continue
        if own != row.digest:
            problems.append(f"version {row.version}: the sample's id is {own}, the store says {row.digest}")
        stored = [unit for unit in units if unit.version <= row.version]
        problems += _differences(sample.campaign, stored, row.version)
    return problems


def _differences(campaign: Campaign, stored: list[UnitRow], version: int) -> list[str]:
    """Return where the units that a sample gives are not those that are stored."""
    given = campaign.planned
    if len(given) != len(stored):
        return [f"version {version}: the sample has {len(given)} units, the store {len(stored)}"]
    found = []
    for unit, row in zip(given, stored, strict=True):
        docs = tuple(place.doc_id for place in row.places)
        if (unit.number, unit.block, unit.query_id, unit.item_ids) != (row.number, row.block, row.query_id, docs):
            found.append(f"version {version}: unit {row.number} is not the one that the sample gives")
    if not found:
        probs = item_probabilities(campaign)
        for unit, row in zip(given, stored, strict=True):
            own = [place.probability for place in row.places]
            if row.version == version and own != probs[list(unit.items)].tolist():
                found.append(f"version {version}: unit {row.number} has other probabilities than the sample gives")
    return found[:_MOST] + ([f"version {version}: {len(found) - _MOST} more"] if len(found) > _MOST else [])
