"""How far a campaign is: what is spent and left, what waits, block by block, and what the judges' clocks say."""

from __future__ import annotations

from typing import Any

from activeeval.session.campaigns.standing import Standing, answered
from activeeval.store import Store


def status(found: Standing, store: Store) -> dict[str, Any]:
    """Return how far a campaign is as a row; costs in the pool's mean items.

    ``spent`` counts a unit by the share of its items that are judged; ``in_hand`` and ``free`` are as of now.
    """
    slots = store.waiting(found.campaign.name)
    campaigns = [one.campaign for one in found.rounds]
    units = [(unit, one.settled.intersection(unit.items)) for one in campaigns for unit in one.units]
    shares = [(unit.cost, len(settled) / len(unit.items)) for unit, settled in units]
    spent = sum(cost * share for cost, share in shares)
    events = [e for own in found.ledger.standing.values() for e in own.values()]
    timed = [e.active_ms for e in events if e.active_ms is not None]
    return {
        "campaign": found.campaign.name,
        "as_of": found.as_of,
        "version": found.version,
        "budget": sum(one.design.budget or 0.0 for one in campaigns),
        "spent": spent,
        "left": sum(cost for cost, _ in shares) - spent,
        "block": found.block,
        "blocks": found.n_blocks,
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


def reached(found: Standing) -> str:
    """Return whether the half-width that the campaign was made for is reached, in words; nothing where it has none.

    Whoever stops as soon as it is has looked at the end of every block: the group-sequential interval is valid then.
    """
    wanted = found.campaign.config.get("half_width")
    if wanted is None or found.block == 0 or found.version > 1:  # looks are planned for the first budget
        return ""
    told, _ = answered(found, kind="group-sequential")
    widest = max((one.interval.high - one.interval.low) / 2 for one in told)
    state = "reached: judging may stop" if widest <= wanted else "not reached yet"
    return f"± {wanted:g} is {state}; by the interval that may be looked at after every block it is ± {widest:.3g}"


def intervals(found: Standing, level: float = 0.95) -> list[dict[str, Any]]:
    """Return the estimate of each question that the campaign was made for, now and expected at the end.

    Nothing where no block is complete.
    """
    if found.block == 0:
        return []
    told, _ = answered(found, level=level)
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
