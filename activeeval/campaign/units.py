"""Units: places of one query that are judged together."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Places of one query that are judged together.

    Attributes
    ----------
    number : int
        1 for the first unit, by level.
    block : int
        1 for the first block.
    query : int
        Index of the query in the pool.
    query_id : str
    items : tuple of int
        Positions of the items to judge on the flat item axis.
    item_ids : tuple of str
    level : float
        Where the unit comes in its order; NaN of a draw with replacement.
    cost : float
        In mean items: the overhead of a query that is new, and the items.
    """

    number: int
    block: int
    query: int
    query_id: str
    items: tuple[int, ...]
    item_ids: tuple[str, ...]
    level: float
    cost: float
