"""The second time through the chunks: what one sample needs of them, and nothing else.

The threshold T of a budget only falls as further units come in, so of all chunks so far no query whose units all lie
above it can enter the sample of the whole pool. What is held is then what lies below T at the end: as much
as the budget pays for, however large the pool.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from activeeval.design import Design, Levels, PoolSums
from activeeval.design.schemes import ROUNDING
from activeeval.scale.chunks import Chunk, joined
from activeeval.types import Floats, Ints

_ROOM = 1e-9
"""A level that is computed anew, among other queries, may differ in its last digits."""
_N_DEAREST = 2
"""What a design says of a budget that is too small needs the two dearest queries, see `Levels.caution`."""
_LEAST_PRUNED = 1000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """Queries of a chunk that may be needed.

    Attributes
    ----------
    chunk : Chunk
        Of these queries alone.
    numbers : ndarray of int64, shape (n,)
        Of the queries in the whole pool, ascending.
    lowest : ndarray, shape (n,)
        The level of the lowest unit of each.
    dearest : ndarray, shape (n,)
        The dearest unit that can occur of each.
    """

    chunk: Chunk
    numbers: Ints
    lowest: Floats
    dearest: Floats

    def kept(self, which: Ints) -> Candidates:
        """Return some of them, at least one."""
        if which.size == self.numbers.size:
            return self
        return Candidates(
            chunk=self.chunk.restricted_to(which),
            numbers=self.numbers[which],
            lowest=self.lowest[which],
            dearest=self.dearest[which],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartitionResult:
    """What there is in a chunk: candidates, the levels and costs of their units, and sums over it for each target."""

    candidates: Candidates
    unit_levels: Floats
    unit_costs: Floats
    pool_sums: tuple[PoolSums, ...]


def partition_result(chunk: Chunk, first: int, design: Design, key: np.uint64, limit: float) -> PartitionResult:
    """Return what there is below a level in a chunk whose first query has the number ``first``.

    Where depths follow labels these are the places that are known before any label: as whatever comes behind them costs
    as well, the budget does not reach beyond the level at which they alone use it up.
    """
    queue = Levels().below(design.known_order, key, limit)
    lowest = np.full(design.order.n_queries, np.inf)
    np.minimum.at(lowest, queue.unit_queries, queue.unit_levels)
    dearest = design.order.dearest_units
    is_kept = lowest < np.inf
    is_kept[np.argsort(-dearest, kind="stable")[:_N_DEAREST]] = True
    kept = np.flatnonzero(is_kept)
    candidates = Candidates(
        chunk=chunk.restricted_to(kept), numbers=first + kept, lowest=lowest[kept], dearest=dearest[kept]
    )
    return PartitionResult(
        candidates=candidates,
        unit_levels=queue.unit_levels,
        unit_costs=queue.unit_costs,
        pool_sums=design.part_sums,
    )


@dataclass(slots=True, kw_only=True)
class Gathering:
    """What the chunks so far hold below the level that a budget reaches.

    Attributes
    ----------
    budget : float
        In mean items.
    level : float
        Of the first unit that the budget does not pay for, among the chunks so far.
    """

    budget: float
    level: float = math.inf
    unit_levels: Floats = field(default_factory=lambda: np.empty(0))
    unit_costs: Floats = field(default_factory=lambda: np.empty(0))
    held: list[Candidates] = field(default_factory=list)
    pool_sums: tuple[PoolSums, ...] = ()
    n_pruned: int = 0

    @property
    def horizon(self) -> float:
        """All units below it are held."""
        return self.level * (1 + _ROOM)

    def take(self, new: PartitionResult) -> None:
        """Take in what there is in the next chunk."""
        levels = np.concatenate((self.unit_levels, new.unit_levels))
        by_level = np.argsort(levels, kind="stable")
        levels, costs = levels[by_level], np.concatenate((self.unit_costs, new.unit_costs))[by_level]
        n_paid = int(np.searchsorted(np.cumsum(costs), self.budget * (1 + ROUNDING), side="right"))
        if n_paid < levels.size:
            self.level = float(levels[n_paid])
        n = int(np.searchsorted(levels, self.horizon))
        self.unit_levels, self.unit_costs = levels[:n], costs[:n]
        self.pool_sums = (
            tuple(a + b for a, b in zip(self.pool_sums, new.pool_sums, strict=True)) if self.held else new.pool_sums
        )
        self.held.append(new.candidates)
        if sum(candidates.numbers.size for candidates in self.held) > 2 * self.n_pruned + _LEAST_PRUNED:
            self.prune()

    def prune(self) -> Candidates:
        """Return all candidates that may still be needed, and hold no other."""
        numbers, dearest = (
            np.concatenate([getattr(candidates, name) for candidates in self.held]) for name in ("numbers", "dearest")
        )
        always = numbers[np.argsort(-dearest, kind="stable")[:_N_DEAREST]]
        kept = []
        for candidates in self.held:
            which = np.flatnonzero((candidates.lowest < self.horizon) | np.isin(candidates.numbers, always))
            if which.size:
                kept.append(candidates.kept(which))
        together = Candidates(
            chunk=joined([candidates.chunk for candidates in kept]),
            numbers=np.concatenate([candidates.numbers for candidates in kept]),
            lowest=np.concatenate([candidates.lowest for candidates in kept]),
            dearest=np.concatenate([candidates.dearest for candidates in kept]),
        )
        self.held, self.n_pruned = [together], together.numbers.size
        return together
