"""What a design and a key come to: the units to judge, block by block, and the selections that may be read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from activeeval.campaign.units import Unit
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

    @property
    def units(self) -> tuple[Unit, ...]:
        """All units, made when they are first asked for."""

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


def _units(
    design: Design,
    blocks: NDArray[np.int64],
    queries: Ints,
    places: Sequence[Ints],
    levels: Sequence[float],
    costs: NDArray[np.float64],
) -> tuple[Unit, ...]:
    """Return units by the columns of their fields, one entry each; ``places`` are on the order's axis."""
    sizes = [of_query.size for of_query in places]
    items = design.order.items[np.concatenate((*places, np.empty(0, dtype=np.int64)))]
    ends, item_ids = np.cumsum([0, *sizes]).tolist(), design.pool.item_texts[items].tolist()
    names, positions = design.pool.query_texts[queries].tolist(), items.tolist()
    columns = zip(blocks.tolist(), queries.tolist(), names, levels, costs.tolist(), strict=True)
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
        for k, (block, query, name, level, cost) in enumerate(columns)
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Levelled:
    design: Design
    queue: Queue
    block_ends: tuple[int, ...]
    ended: str

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        queue, n = self.queue, self.block_ends[-1]
        blocks = np.searchsorted(self.block_ends, np.arange(n), side="right") + 1
        places = [queue.places_of(k) for k in range(n)]
        return _units(
            self.design, blocks, queue.unit_queries[:n], places, queue.unit_levels[:n].tolist(), queue.unit_costs[:n]
        )

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


@dataclass(frozen=True, kw_only=True, eq=False)
class _Drawn:
    design: Design
    draws: Ints
    new: Ints
    costs: NDArray[np.float64]
    spent: float
    block_ends: tuple[int, ...]
    ended: str

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        offsets, ones = self.design.order.offsets, np.ones(self.new.size, dtype=np.int64)
        places = [np.arange(offsets[query], offsets[query + 1]) for query in self.new.tolist()]
        return _units(self.design, ones, self.new, places, [math.nan] * ones.size, self.costs[self.new])

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
