"""What a design and a key come to: the units to judge, block by block, and the selections that may be read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from activeeval.campaign.events import Unit
from activeeval.design import Design, Levels, Queue, Replacement, Selection, whole
from activeeval.errors import InputError
from activeeval.types import Ints


class Drawing(Protocol):
    """The units of a sample, in their order.

    Attributes
    ----------
    block_ends : tuple of int
        How many units each block and those before it hold.
    ended : str
        Why there is no further unit.
    """

    @property
    def block_ends(self) -> tuple[int, ...]: ...

    @property
    def ended(self) -> str: ...

    def unit(self, k: int) -> Unit:
        """Return a unit, counted from 0."""

    def selection(self, n_units: int) -> Selection:
        """Return what the first units make."""


def drawing_of(design: Design, key: np.uint64) -> Drawing:
    """Return what a design with a budget and a key come to."""
    if design.budget is None:
        raise InputError(f"the design of {design.name!r} has no budget: give one")
    design.order.check_key(key)
    if isinstance(design.scheme, Levels):
        return _levelled(design, design.scheme, key)
    return _drawn(design, design.scheme, key)


def _unit(design: Design, number: int, block: int, query: int, slots: Ints, level: float, cost: float) -> Unit:
    items = design.order.items[slots]
    return Unit(
        number=number,
        block=block,
        query=query,
        query_id=design.pool.query_texts[query],
        items=tuple(items.tolist()),
        item_ids=tuple(design.pool.item_texts[items].tolist()),
        level=level,
        cost=cost,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Levelled:
    design: Design
    queue: Queue
    block_ends: tuple[int, ...]
    ended: str

    def unit(self, k: int) -> Unit:
        block = int(np.searchsorted(self.block_ends, k, side="right")) + 1
        queue = self.queue
        costs = (float(queue.unit_levels[k]), float(queue.unit_costs[k]))
        return _unit(self.design, k + 1, block, int(queue.unit_queries[k]), queue.places_of(k), *costs)

    def selection(self, n_units: int) -> Selection:
        return self.queue.selection(n_units)


def _levelled(design: Design, scheme: Levels, key: np.uint64) -> Drawing:
    queue = scheme.queue(design.order, key, float(design.budget or 0.0))
    ends = tuple(queue.paid(np.array(design.blocks)).tolist())
    if math.isinf(queue.level_after(ends[-1])):
        ended = "everything is judged"
    else:
        name = design.pool.query_texts[queue.unit_queries[ends[-1]]]
        ended = f"a unit of query {name!r} came up, which the budget cannot pay for"
    return _Levelled(design=design, queue=queue, block_ends=ends, ended=ended)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Drawn:
    design: Design
    draws: Ints
    new: Ints
    costs: NDArray[np.float64]
    spent: float
    block_ends: tuple[int, ...]
    ended: str

    def unit(self, k: int) -> Unit:
        query, offsets = int(self.new[k]), self.design.order.offsets
        slots = np.arange(offsets[query], offsets[query + 1])
        return _unit(self.design, k + 1, 1, query, slots, math.nan, float(self.costs[query]))

    def selection(self, n_units: int) -> Selection:
        return whole(self.design.order, self.draws, self.spent)


def _drawn(design: Design, scheme: Replacement, key: np.uint64) -> Drawing:
    deck = scheme.draws_of(design.order)
    draws, spent, _ = deck.run(key, float(design.budget or 0.0), expected=design.expected)
    new = draws[np.sort(np.unique(draws, return_index=True)[1])]
    new = new[np.diff(design.order.offsets)[new] > 0]
    return _Drawn(
        design=design,
        draws=draws,
        new=new,
        costs=deck.costs,
        spent=spent,
        block_ends=(new.size,),
        ended=f"{draws.size} draws of {np.unique(draws).size} queries are done",
    )
