"""What a design and a key come to: the units to judge, block by block, and the selections that may be read."""

from __future__ import annotations

import numpy as np

from activeeval.core.campaign.units import Unit
from activeeval.core.design import Design, DrawnUnits, Order
from activeeval.core.errors import InputError


def drawing_of(design: Design, key: np.uint64) -> DrawnUnits:
    """Return what a design with a budget and a key come to."""
    if design.budget is None:
        raise InputError(f"the design of {design.name!r} has no budget: give one")
    design.order.check_key(key)
    return design.scheme.drawn(design.order, key, design.blocks, expected=design.expected)


def units_of(order: Order, drawn: DrawnUnits) -> tuple[Unit, ...]:
    """Return all units that were drawn of an order."""
    places = [drawn.places_of(unit) for unit in range(drawn.queries.size)]
    items = order.items[np.concatenate((*places, np.empty(0, dtype=np.int64)))]
    ends, positions = np.cumsum([0, *(of_unit.size for of_unit in places)]).tolist(), items.tolist()
    names, item_ids = order.pool.query_texts[drawn.queries].tolist(), order.pool.item_texts[items].tolist()
    blocks = np.searchsorted(drawn.block_ends, np.arange(drawn.queries.size), side="right") + 1
    columns = (blocks.tolist(), drawn.queries.tolist(), names, drawn.levels, drawn.costs.tolist())
    return tuple(
        Unit(
            number=k + 1,
            block=block,
            query=query,
            query_id=name,
            items=tuple(positions[ends[k] : ends[k + 1]]),
            item_ids=tuple(item_ids[ends[k] : ends[k + 1]]),
            level=level,
            cost=cost,
        )
        for k, (block, query, name, level, cost) in enumerate(zip(*columns, strict=True))
    )
