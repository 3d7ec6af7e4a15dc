"""Second pass: select the queries of a sample from the unit tables of the partitions.

The threshold T of a budget only falls as more units are added. So a query whose units all lie above the T of the
partitions read so far cannot enter the sample of the whole pool. The memory holds only units below T, limited by the
budget, however large the pool. Partitions are processed in waves, each as large as all before: the T after a wave
limits what the next wave returns; in the first wave each partition is limited by the budget alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from activeeval.core.design import Levels, Order, PlannedVariance, PoolSums, Queue, RateSums
from activeeval.core.design.schemes import ROUNDING
from activeeval.core.errors import InputError
from activeeval.core.types import Floats, Ints, Words
from activeeval.scale.packed_arrays import packed, unpacked
from activeeval.scale.recipe import Recipe
from activeeval.scale.scratch import Scratch
from activeeval.scale.sources import Source, check_state, named
from activeeval.scale.tables import Curves, UnitTable

_ROOM = 1e-9
"""Relative tolerance for a level recomputed among other queries, which may differ in its last digits."""
_N_DEAREST = 2
"""Number of most expensive queries kept; the warning about a small budget needs two, see `Levels.caution`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartitionUnits:
    """Units of a partition that may enter the sample.

    A unit is what is drawn and judged at once: an item, a prefix of a list or a whole query.

    Attributes
    ----------
    numbers : ndarray of int64, shape (n_units,)
        Query number of each unit, within its partition.
    levels, costs : ndarray, shape (n_units,)
        Random level and cost of each unit, ascending by level. A sample takes the units below a threshold level.
    dearest : ndarray, shape (n, 3)
        The most expensive queries, which a warning about a small budget needs: cost of their most expensive unit, their
        number, and the first half of a hash of their id, which orders equal costs.
    curves : tuple of (PlannedVariance, PlannedVariance or None)
        Planned variance of each target, by the model and for equally likely grades.
    """

    numbers: Ints
    levels: Floats
    costs: Floats
    dearest: Floats
    curves: Curves

    def packed(self) -> bytes:
        """Convert the units to bytes, to be sent by a worker."""
        arrays: dict[str, Any] = {name: getattr(self, name) for name in ("levels", "costs", "dearest")}
        arrays["numbers"] = self.numbers.astype(np.int32)
        # a curve: planned variance by sampling level; blind: for equally likely grades
        for t, (planned, blind) in enumerate(self.curves):
            arrays[f"planned{t}"] = planned.array()
            arrays |= {} if blind is None else {f"blind{t}": blind.array()}
        return packed(arrays)

    @classmethod
    def unpacked(cls, content: bytes) -> PartitionUnits:
        """Rebuild the units from the bytes of `packed`."""
        arrays = unpacked(content)
        n_targets = sum(name.startswith("planned") for name in arrays)
        curves = [(PlannedVariance.of_array(arrays[f"planned{t}"]), arrays.get(f"blind{t}")) for t in range(n_targets)]
        return cls(
            numbers=arrays["numbers"].astype(np.int64),
            levels=arrays["levels"],
            costs=arrays["costs"],
            dearest=arrays["dearest"],
            curves=tuple(
                (planned, None if blind is None else PlannedVariance.of_array(blind)) for planned, blind in curves
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitsTask:
    """Task: find the units of a partition below a level, in its unit table or, with adaptive depth, in the partition.

    Attributes
    ----------
    sums : RateSums
        Sums of sampling rates over the whole pool.
    key : uint64
        Random key of the sample.
    budget : float
        In mean items; units beyond the budget are left out.
    limit : float
        The level; infinite for the first partitions, for which only the budget limits the units.
    """

    source: Source
    recipe: Recipe
    scratch: Scratch
    sums: RateSums
    key: np.uint64
    budget: float
    limit: float

    def __call__(self, part: tuple[int, Any]) -> bytes:
        """Find the units of a partition, given as (number, key), as bytes of `PartitionUnits`."""
        number, key = part
        if self.recipe.follows_labels:
            return self._by_labels(number, key).packed()
        table = UnitTable.unpacked(self.scratch.read(f"units-{number}"))
        if not table.numbers.size:
            return _nothing(table).packed()
        order = table.order(self.recipe, self.sums)
        return self._units(order, order, table.numbers, table.curves(order)).packed()  # all units are known

    def _by_labels(self, number: int, key: Any) -> PartitionUnits:
        """Find the units of a partition with adaptive depth (a query's labels decide how deep it is judged).

        Only places (items in the judging order) known before any label are listed. As later places add to the cost, the
        budget is exhausted at the latest at the level at which the known places alone exhaust it. InputError is raised
        if the partition cannot be read or has changed.
        """
        try:
            chunk = self.source.read(key)
            check_state(self.source, self.scratch, number, key)
            design_input = self.recipe.design_input(chunk)
        except InputError as problem:
            raise named(problem, self.source.name(number, key)) from None
        order = self.recipe.order(design_input, chunk.weights / self.sums.weight, self.sums)
        design = self.recipe.part(design_input, order, Levels())
        curves = tuple((sums.planned, sums.planned_blindly) for sums in design.part_sums if sums.planned is not None)
        return self._units(design.known_order, order, np.arange(order.n_queries), curves)

    def _units(self, known: Order, order: Order, numbers: Ints, curves: Curves) -> PartitionUnits:
        """Select the units within the budget, and the most expensive queries.

        `known` is the order of the units that can be listed, `order` that of all; `numbers`, shape (n,), are the query
        numbers of the orders' queries within the partition; `curves` are planned variances of each target.
        """
        queue = self._queue(known)
        _, n = paid(queue.unit_levels, queue.unit_costs, self.budget)
        dearest = order.dearest_units
        first = np.lexsort((order.query_hashes, -dearest))[:_N_DEAREST]
        return PartitionUnits(
            numbers=numbers[queue.unit_queries[:n]],
            levels=queue.unit_levels[:n],
            costs=queue.unit_costs[:n],
            dearest=np.column_stack((dearest[first], numbers[first], _halves(order.query_hashes[first]))),
            curves=curves,
        )

    def _queue(self, order: Order) -> Queue:
        """Sort the units (what is judged at once) by the random levels that the key draws.

        The queue goes up to the task's limit, a level, or, without one (infinite), up to the budget.
        """
        if math.isinf(self.limit):
            return Levels().queue(order, self.key, self.budget)
        return Levels().below(order, self.key, self.limit)


def _halves(hashes: Words) -> Floats:
    """Return the upper 32 bits of hashes as floats, which hold them exactly."""
    return (hashes >> np.uint64(32)).astype(np.float64)


def _nothing(table: UnitTable) -> PartitionUnits:
    """Build the result of a partition without items that can change a target."""
    nothing = np.empty(0)
    curve = PlannedVariance.of(nothing, nothing)
    return PartitionUnits(
        numbers=np.empty(0, np.int64),
        levels=nothing,
        costs=nothing,
        dearest=np.empty((0, 3)),
        curves=tuple((curve, None if blind is None else curve) for blind in table.blind),
    )


def paid(levels: Floats, costs: Floats, budget: float) -> tuple[float, int]:
    """Find the level of the first unit that a budget does not pay for, and the number of units up to that level.

    `levels` and `costs` are those of the units, ascending by level; the level is infinite if the budget pays for all.
    """
    n_paid = int(np.searchsorted(np.cumsum(costs), budget * (1 + ROUNDING), side="right"))
    if n_paid >= levels.size:
        return math.inf, levels.size
    level = float(levels[n_paid])
    return level, int(np.searchsorted(levels, level * (1 + _ROOM)))


def waves(parts: Iterable[Any], n_first: int) -> Iterator[list[Any]]:
    """Yield partitions in waves (lists), the first of size `n_first`, each later one as large as all waves before it.

    Examples
    --------
    >>> [len(wave) for wave in waves(range(20), 2)]
    [2, 2, 4, 8, 4]
    """
    rest, n = iter(parts), n_first
    n_before = 0
    while wave := list(islice(rest, n)):
        yield wave
        n_before += len(wave)
        n = n_before


@dataclass(slots=True, kw_only=True)
class SelectedUnits:
    """Accumulated units below the level that a budget reaches.

    Attributes
    ----------
    budget : float
        In mean items.
    level : float
        Level of the first unit beyond the budget, among the partitions so far.
    levels, costs : ndarray, shape (n_units,)
        Of the units kept, ascending by level.
    places : ndarray of int64, shape (n_units, 2)
        Partition number and query number of each unit.
    dearest : ndarray, shape (n, 4)
        Partition number, cost of the most expensive unit, query number, and first half of a hash of the query's id.
    curves
        Planned variance of each target, by the model and for equally likely grades, summed over the partitions.
    """

    budget: float
    level: float = math.inf
    levels: Floats = field(default_factory=lambda: np.empty(0))
    costs: Floats = field(default_factory=lambda: np.empty(0))
    places: Ints = field(default_factory=lambda: np.empty((0, 2), np.int64))
    dearest: Floats = field(default_factory=lambda: np.empty((0, 4)))
    curves: Curves = ()

    @property
    def horizon(self) -> float:
        """Level below which all units are kept: that of the budget, with a tolerance for rounding."""
        return self.level * (1 + _ROOM)

    def take(self, partition: int, new: PartitionUnits) -> None:
        """Merge the units of the next partition (by its number), and drop those beyond the budget.

        ``places`` pairs partition and query number of each unit.
        """
        places = np.column_stack((np.full(new.numbers.size, partition), new.numbers))
        levels = np.concatenate((self.levels, new.levels))
        by_level = np.argsort(levels, kind="stable")
        levels, costs = levels[by_level], np.concatenate((self.costs, new.costs))[by_level]
        self.level, n = paid(levels, costs, self.budget)
        self.levels, self.costs = levels[:n], costs[:n]
        self.places = np.concatenate((self.places, places))[by_level[:n]]
        dearest = np.column_stack((np.full(len(new.dearest), partition), new.dearest))
        dearest = np.concatenate((self.dearest, dearest))
        self.dearest = dearest[np.lexsort((dearest[:, 3], -dearest[:, 1]))[:_N_DEAREST]]
        self.curves = _added(self.curves, new.curves) if self.curves else new.curves

    def chosen(self) -> dict[int, Ints]:
        """List the query numbers of the sample by partition number, the most expensive queries included.

        There is at least one query.
        """
        dearest = self.dearest[:, [0, 2]].astype(np.int64)
        needed = np.unique(np.concatenate((self.places, dearest)), axis=0)
        if not needed.size:
            return {0: np.zeros(1, np.int64)}
        return {k: needed[needed[:, 0] == k, 1] for k in np.unique(needed[:, 0]).tolist()}

    def sums(self, of_pool: tuple[PoolSums, ...]) -> tuple[PoolSums, ...]:
        """Attach the planned variances of all partitions to the pool's sums, by target."""
        return tuple(
            replace(sums, planned=planned, planned_blindly=blind)
            for sums, (planned, blind) in zip(of_pool, self.curves, strict=True)
        )


def _added(curves: Curves, others: Curves) -> Curves:
    """Add the planned variances of two sets of partitions, by target."""
    together = zip(curves, others, strict=True)
    return tuple(
        (planned + more, None if blind is None or blind_more is None else blind + blind_more)
        for (planned, blind), (more, blind_more) in together
    )
