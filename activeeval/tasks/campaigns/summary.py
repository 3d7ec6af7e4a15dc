"""All that the report of a campaign says, as of an event: plain numbers and text, made of the log alone.

The same log gives the same summary: nothing in it is of the time or the machine it was made on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from activeeval.campaign import drawing_of
from activeeval.design import Replacement
from activeeval.judgments.log import Event
from activeeval.report.words import worded
from activeeval.results import Note
from activeeval.store import Store, UnitRow
from activeeval.tasks.answers import Answer
from activeeval.tasks.campaigns.calibrating import calibrations
from activeeval.tasks.campaigns.judges import agreement_of, cost_model_of, days_of, seconds_of, skipped_by, work_of
from activeeval.tasks.campaigns.making import item_probabilities
from activeeval.tasks.campaigns.over_time import date_of, finite, queries_that_matter, readings_of
from activeeval.tasks.campaigns.standing import Standing, answered, standing
from activeeval.tasks.campaigns.status import progress_of, reached, spent_by_block
from activeeval.tasks.samples import Sample

FORMAT = "activeeval campaign report 1"
Row = dict[str, Any]


def summary(
    store: Store, name: str, as_of: int | None = None, *, scope: str = "pool", confidence: float = 0.95
) -> dict[str, Any]:
    """Return what the report of a campaign says, as of an event, by default the last.

    Raises
    ------
    InputError
        Where there is no such campaign or event.
    StateError
        Where nothing had been drawn yet.

    Returns
    -------
    dict
        Of numbers, text, None, lists and dicts: `json.dumps` takes it. What is not known is None; no number is NaN or
        infinite. ``seq`` numbers are those of the log, costs are in the pool's mean items.
    """
    found, units = standing(store, name, as_of), store.units(name)
    events = found.log
    texts = {unit.query_id: unit.query_text for unit in units}
    told: list[Answer] = []
    notes: list[Note] = []
    if found.block:
        told, notes = answered(found, scope=scope, confidence=confidence)
    return {
        "format": FORMAT,
        "head": _head(found),
        "scope": scope,
        "confidence": confidence,
        "estimates": [_estimate(one, confidence) for one in told],
        "notes": [asdict(worded(note)) for note in notes],
        "readings": readings_of(found, scope, confidence) if told else [],
        "queries": queries_that_matter(found, texts) if told else [],
        "cost": _cost(found, events, units),
        "calibration": calibrations(found),
        "agreement": agreement_of(found, confidence),
        "skipped": skipped_by(found, events),
        "design": _design(found),
        "log": _log(found, events),
    }


def _head(found: Standing) -> Row:
    """Return how far the campaign is, and as of when that is true."""
    waiting = Counter[int]()
    before = 0
    for one in found.rounds:
        for unit in one.campaign.waiting:
            waiting[before + unit.block] += len(set(unit.items) - one.campaign.settled)
        before += len(one.campaign.design.blocks)
    return progress_of(found) | {
        "date": date_of(found.log[-1].at),
        "created": date_of(found.campaign.created_at),
        "rounds": len(found.rounds),
        "rounds_read": len(found.read) if found.block else 0,
        "block_read": sum(one.campaign.complete_block[0] for one in found.read),
        "unit": found.sample.campaign.design.pool.cost_unit,
        "judges_per_item": found.campaign.judges_per_item,
        "waiting_by_block": [{"block": block, "items": n} for block, n in sorted(waiting.items())],
        "goal": reached(found),
    }


def _estimate(one: Answer, confidence: float) -> Row:
    """Return an answer; ``low_whatever`` to ``high_whatever`` has room for items that cannot be judged."""
    low, high = one.interval.low, one.interval.high
    whatever = one.estimate.bounds(one.interval) if one.estimate.cannot is not None else None
    found: Row = {
        "measure": one.target.name,
        "question": one.question,
        "system": one.system,
        "versus": one.versus,
        "value": finite(one.estimate.value),
        "std_error": finite(one.estimate.std_error),
        "low": finite(low),
        "high": finite(high),
        "low_whatever": whatever and finite(whatever[0]),
        "high_whatever": whatever and finite(whatever[1]),
        "confidence": confidence,
        "half_width": finite((high - low) / 2),
        "half_width_at_end": finite(one.half_width_at_end),
        "p_value": finite(one.p_value) if one.question == "difference" else None,
        "queries": one.estimate.n_queries,
        "items": one.estimate.n_items,
        "effective_sample_size": one.estimate.effective_sample_size,
        "cautions": [asdict(worded(caution)) for caution in one.estimate.cautions],
    }
    at_once = None if one.shared is None else one.estimate.bounds(one.shared.interval)
    return found | {"low_at_once": at_once and finite(at_once[0]), "high_at_once": at_once and finite(at_once[1])}


def _cost(found: Standing, events: Sequence[Event], units: Sequence[UnitRow]) -> Row:
    answers = [event for event in events if event.kind in ("judged", "cannot")]
    return {
        "judges": work_of(found.state, events),
        "days": days_of(events),
        "all": seconds_of([e.active_ms / 1000 for e in answers if e.active_ms is not None]),
        "model": cost_model_of([unit for unit in units if unit.version <= found.version], events),
    }


def _design(found: Standing) -> Row:
    """Return what was drawn, and how."""
    campaign, versions = found.sample.campaign, [row for row in found.versions if row.version <= found.version]
    design = campaign.design
    return {
        "method": design.name,
        "with_replacement": isinstance(design.scheme, Replacement),
        "has_model": design.beliefs is not None,
        "questions": [
            {"measure": a.target.name, "question": a.question, "system": a.system, "versus": a.versus}
            for a in found.sample.made_for
        ],
        "max_grade": design.max_grade,
        "seed": found.campaign.config.get("seed", found.sample.seed),
        "sample": versions[-1].digest,
        "versions": [{"version": v.version, "sample": v.digest, "as_of": v.seq, "reason": v.reason} for v in versions],
        "queries": design.pool.n_queries,
        "items": design.pool.n_items,
        "open_items": int((design.order.place_rates > 0).sum()),
        "known": _known(found.rounds[0]),
        "rounds": [_round(one) for one in found.rounds],
        "blocks": _blocks(found),
        "judges_per_item": found.campaign.judges_per_item,
        "policy": found.policy,
        "lease_s": found.campaign.lease_s,
        "ends": campaign.planned_end,
        "cautions": [asdict(worded(caution)) for caution in design.cautions],
    }


def _round(one: Sample) -> Row:
    """Return the probabilities with which the items of a round came into its sample."""
    campaign = one.campaign
    items = [item for unit in campaign.units for item in unit.items]
    own = item_probabilities(campaign)[items]
    ends = (float(own.min()), float(np.median(own)), float(own.max())) if own.size else (None,) * 3
    named = dict(zip(("least_probability", "median_probability", "largest_probability"), ends, strict=True))
    return {"budget": campaign.design.budget, "items": len(items), "known": _known(one)} | named


def _known(one: Sample) -> int:
    return int((one.campaign.design.known >= 0).sum())


def _blocks(found: Standing) -> list[Row]:
    """Return every block, of all rounds one after another."""
    spent, ends, rows = spent_by_block(found), found.state.complete_at, list[Row]()
    for k, one in enumerate(found.rounds):
        campaign, drawing = one.campaign, drawing_of(one.campaign.design, one.campaign.key)
        levels = [drawing.selection(end).level for end in drawing.block_ends]
        for number, (budget, level) in enumerate(zip(campaign.design.blocks, levels, strict=True), 1):
            own = [unit for unit in campaign.units if unit.block == number]
            block = len(rows) + 1
            items = {item for unit in own for item in unit.items}
            complete = ends.get(block) if block <= found.block else None
            rows.append(
                {
                    "block": block,
                    "round": k + 1,
                    "budget": budget,
                    "threshold": finite(level),
                    "units": len(own),
                    "items": len(items),
                    "settled": len(items & campaign.settled),
                    "cost": sum(unit.cost for unit in own),
                    "spent": spent[block],
                    "complete_as_of": complete,
                    "date": None if complete is None else date_of(found.log[complete - 1].at),
                }
            )
    return rows


def _log(found: Standing, events: Sequence[Event]) -> Row:
    late = Counter((event.judge, event.reason) for event in found.state.late)
    return {
        "events": len(events),
        "kinds": [{"kind": kind, "n": n} for kind, n in sorted(Counter(event.kind for event in events).items())],
        "late": [{"judge": judge, "reason": reason, "n": n} for (judge, reason), n in sorted(late.items())],
        "digest": events[-1].digest,
    }
