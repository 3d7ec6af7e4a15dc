"""Units: places of one query that are judged together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from activeeval.core.design import DrawnUnits, Order


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Places of one query that are judged together.

    Attributes
    ----------
    number : int
        Position in the order of judging, from 1.
    block : int
        Number of the part of the sample, at whose end it can be read, from 1; with adaptive depth, of the batch.
    query : int
        Index of the query in the pool.
    query_id : str
    items : tuple of int
        Indices in the pool of the items to judge.
    item_ids : tuple of str
    level : float
        Sampling level of the unit: units are judged by ascending level. NaN for a draw with replacement.
    cost : float
        In mean items (the mean item of the pool costs 1): the items, plus the overhead if the query is new.

    Examples
    --------
    >>> from activeeval import DCG, METHODS, Campaign, QueryPool, Rankings, Target
    >>> pool = QueryPool(["q1", "q2"], [0, 2, 4], list("abab"))
    >>> target = Target(DCG(), Rankings.from_scores(pool, [2, 1, 2, 1]))
    >>> campaign = Campaign(METHODS["random"].design(target, budget=4), rng=0)
    >>> unit = campaign.ask()
    >>> unit.number, unit.query_id, unit.item_ids, unit.cost
    (1, 'q1', ('a', 'b'), 2.0)
    >>> campaign.tell(unit, [1, 0])
    """

    number: int
    block: int
    query: int
    query_id: str
    items: tuple[int, ...]
    item_ids: tuple[str, ...]
    level: float
    cost: float


def units_of(order: Order, drawn: DrawnUnits) -> tuple[Unit, ...]:
    """Build the units (items of one query judged at once) that were drawn.

    A block is a part of the budget, at whose end the sample can be read.

    Parameters
    ----------
    order : Order
        The judging order of each query's items, from which they were drawn.
    drawn : DrawnUnits
        Query, level, cost and places (indices into the order) of each unit, and the units at which blocks end.
    """
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
