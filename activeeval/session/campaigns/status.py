"""How far a campaign is: what is spent and left, what waits, block by block, and what the judges' clocks say."""

from __future__ import annotations

from typing import Any

from activeeval.session.answers import answers
from activeeval.session.campaigns.standing import Standing
from activeeval.store import Store


def status(found: Standing, store: Store) -> dict[str, Any]:
    """Return how far a campaign is as a row; costs in the pool's mean items.

    ``spent`` counts a unit by the share of its items that are judged; ``in_hand`` and ``free`` are as of now.
    """
    campaign, slots = found.sample.campaign, store.waiting(found.campaign.name)
    settled = campaign.settled
    spent = sum(unit.cost * len(settled.intersection(unit.items)) / len(unit.items) for unit in campaign.units)
    events = [e for own in found.ledger.standing.values() for e in own.values()]
    timed = [e.active_ms for e in events if e.active_ms is not None]
    return {
        "campaign": found.campaign.name,
        "as_of": found.as_of,
        "version": found.version,
        "budget": campaign.design.budget,
        "spent": spent,
        "left": sum(unit.cost for unit in campaign.units) - spent,
        "block": found.block,
        "blocks": len(campaign.design.blocks),
        "judged": found.progress.judged,
        "waiting": found.progress.waiting,
        "cannot": found.progress.cannot,
        "free": slots["free"],
        "in_hand": slots["leased"],
        "late": len(found.ledger.late),
        "put_off": found.ledger.put_off,
        "judges": len({e.judge for e in events}),
        "hours": sum(timed) / 3.6e6 if timed else None,
    }


def intervals(found: Standing, level: float = 0.95) -> list[dict[str, Any]]:
    """Return the estimate of each question that the campaign was made for, now and expected at the end.

    Nothing where no block is complete.
    """
    if found.block == 0:
        return []
    told, _ = answers(found.sample, found.sample.made_for, level=level)
    return [
        {
            "measure": one.target.name,
            "question": one.question,
            "value": one.estimate.value,
            "low": one.interval.low,
            "high": one.interval.high,
            "half_width": (one.interval.high - one.interval.low) / 2,
            "half_width_at_end": one.half_width_at_end,
        }
        for one in told
    ]
