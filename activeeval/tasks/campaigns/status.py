"""How far a campaign is: what is spent and left, what waits, block by block, and what the judges' clocks say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from activeeval.store import Store
from activeeval.tasks.campaigns.standing import Standing, answered
from activeeval.tasks.estimate import Estimates
from activeeval.tasks.orders import places


def status(found: Standing, store: Store) -> dict[str, Any]:
    """Return how far a campaign is as a row: `progress_of`, and what is ``free`` and ``in_hand`` as of now.

    These count answers, several an item where it has several judges; of top-k judging queries, as they are called.
    """
    slots, row = store.waiting(found.campaign.name), list(progress_of(found).items())
    middle = [name for name, _ in row].index("late")
    prefix = "" if found.campaign.config.get("top_k") is None else "queries_"
    now = [(prefix + "free", slots["free"]), (prefix + "in_hand", slots["leased"])]
    return dict([*row[:middle], *now, *row[middle:]])


def progress_of(found: Standing) -> dict[str, Any]:
    """Return how far a campaign was as of an event; costs in the pool's mean items.

    ``spent`` counts a unit by the share of its items that are judged; ``hours`` are those of all answers whose time was
    taken, also of those that do not count.
    """
    campaigns = [one.campaign for one in found.rounds]
    costs = [unit.cost for unit in found.units]
    spent = sum(spent_by_block(found).values())
    clock, progress = found.state.active_ms, found.progress
    return {
        "campaign": found.campaign.name,
        "as_of": found.as_of,
        "version": found.version,
        "budget": sum(one.design.budget or 0.0 for one in campaigns),
        "spent": spent,
        "left": sum(costs) - spent,
        "block": found.block,
        "blocks": found.n_blocks,
        "judged": progress.judged,
        "waiting": progress.waiting,
        "cannot": progress.cannot,
        "late": len(found.state.late),
        "put_off": len(found.state.put_off),
        "judges": len({event.judge for event in found.state.standing}),
        "hours": sum(clock) / 3.6e6 if clock else None,
    }


def spent_by_block(found: Standing) -> dict[int, float]:
    """Return what is spent in each block, of all rounds one after another, in the pool's mean items."""
    spent, before = dict.fromkeys(range(1, found.n_blocks + 1), 0.0), 0
    for one in found.rounds:
        for unit in one.campaign.units:
            n_settled = len(unit.items) - one.campaign.n_open(unit)
            spent[before + unit.block] += unit.cost * (n_settled / len(unit.items))
        before += len(one.campaign.design.blocks)
    return spent


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


def estimates_of(
    found: Standing,
    measures: Sequence[str] = (),
    questions: Sequence[str] = (),
    contrasts: str | None = None,
    *,
    scope: str = "pool",
    kind: str = "t",
    confidence: float = 0.95,
) -> Estimates:
    """Return what a campaign answers, and what to know of it; arguments as of `standing.answered`."""
    how = {"scope": scope, "kind": kind, "confidence": confidence}
    answers, notes = answered(found, measures, questions, contrasts, **how)  # type: ignore[arg-type]
    return Estimates(
        answers=answers,
        notes=notes,
        places=places(found.sample.systems, answers) if len(found.read) == 1 else [],
        progress=found.progress,
        agreement=found.agreement,
        policy=found.policy,
        **how,  # type: ignore[arg-type]
    )


def intervals(found: Standing, confidence: float = 0.95) -> list[dict[str, Any]]:
    """Return the estimate of each question that the campaign was made for, now and expected at the end.

    Nothing where no block is complete.
    """
    if found.block == 0:
        return []
    told, _ = answered(found, confidence=confidence)
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
