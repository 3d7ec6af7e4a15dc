"""The second time through the partitions, by their unit tables: which queries one sample needs, and nothing else.

The threshold T of a budget only falls as further units come in, so of all partitions so far no query whose units all
lie above it can enter the sample of the whole pool. What is held is then what lies below T at the end: as much as the
budget pays for, however large the pool. Partitions go by in waves, each as many as have gone by: what these leave
below T cuts what the next wave sends, and where nothing is known yet each partition cuts itself at the budget.
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
"""A level that is computed anew, among other queries, may differ in its last digits."""
_N_DEAREST = 2
"""What a design says of a budget that is too small needs the two dearest queries, see `Levels.caution`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartitionUnits:
    """What a partition has for a sample.

    Attributes
    ----------
    numbers : ndarray of int64, shape (n_units,)
        The query of each unit, in its partition.
    levels, costs : ndarray, shape (n_units,)
        Ascending by level.
    dearest : ndarray, shape (n, 3)
        Of the dearest queries: what their dearest unit costs, their number, and the first half of a hash of their id.
    curves : tuple of (Planned, Planned or None)
        What is planned of each target.
    """

    numbers: Ints
    levels: Floats
    costs: Floats
    dearest: Floats
    curves: Curves

    def packed(self) -> bytes:
        """Return the bytes that `unpacked` makes it of again."""
        arrays: dict[str, Any] = {name: getattr(self, name) for name in ("levels", "costs", "dearest")}
        arrays["numbers"] = self.numbers.astype(np.int32)
        for t, (planned, blind) in enumerate(self.curves):
            arrays[f"planned{t}"] = planned.array()
            arrays |= {} if blind is None else {f"blind{t}": blind.array()}
        return packed(arrays)

    @classmethod
    def unpacked(cls, content: bytes) -> PartitionUnits:
        """Return what `packed` made bytes of."""
        arrays = unpacked(content)
        n_targets = sum(name.startswith("planned") for name in arrays)
        held = [(PlannedVariance.of_array(arrays[f"planned{t}"]), arrays.get(f"blind{t}")) for t in range(n_targets)]
        return cls(
            numbers=arrays["numbers"].astype(np.int64),
            levels=arrays["levels"],
            costs=arrays["costs"],
            dearest=arrays["dearest"],
            curves=tuple(
                (planned, None if blind is None else PlannedVariance.of_array(blind)) for planned, blind in held
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitsTask:
    """Finds what a partition has below a level.

    Attributes
    ----------
    sums : RateSums
        Of the whole pool.
    key : uint64
        Of the sample.
    budget : float
        In mean items: no more than it pays for is sent.
    limit : float
        The level.
    """

    source: Source
    recipe: Recipe
    scratch: Scratch
    sums: RateSums
    key: np.uint64
    budget: float
    limit: float

    def __call__(self, part: tuple[int, Any]) -> bytes:
        """Return the units of a partition."""
        number, key = part
        if self.recipe.follows_labels:
            return self._by_labels(number, key).packed()
        table = UnitTable.unpacked(self.scratch.read(f"units-{number}"))
        if not table.numbers.size:
            return _nothing(table).packed()
        order = table.order(self.recipe, self.sums)
        return self._units(order, order, table.numbers, table.curves(order)).packed()

    def _by_labels(self, number: int, key: Any) -> PartitionUnits:
        """Return what there is where depths follow labels.

        These are the places that are known before any label: as whatever comes behind them costs as well, the budget
        does not reach beyond the level at which they alone use it up.
        """
        try:
            chunk = self.source.read(key)
            check_state(self.source, self.scratch, number, key)
            design_input = self.recipe.design_input(chunk)
        except InputError as problem:
            raise named(problem, self.source.name(number, key)) from None
        order = self.recipe.order(design_input, chunk.weights / self.sums.weight, self.sums)
        design = self.recipe.part(design_input, order, Levels())
        curves = tuple((each.planned, each.planned_blindly) for each in design.part_sums if each.planned is not None)
        return self._units(design.known_order, order, np.arange(order.n_queries), curves)

    def _units(self, known: Order, order: Order, numbers: Ints, curves: Curves) -> PartitionUnits:
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
        if math.isinf(self.limit):
            return Levels().queue(order, self.key, self.budget)
        return Levels().below(order, self.key, self.limit)


def _halves(hashes: Words) -> Floats:
    return (hashes >> np.uint64(32)).astype(np.float64)


def _nothing(table: UnitTable) -> PartitionUnits:
    """Return what there is of a partition of which nothing can be judged."""
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
    """Return the level of the first unit, ascending, that a budget does not pay for, and how many lie up to it."""
    n_paid = int(np.searchsorted(np.cumsum(costs), budget * (1 + ROUNDING), side="right"))
    if n_paid >= levels.size:
        return math.inf, levels.size
    level = float(levels[n_paid])
    return level, int(np.searchsorted(levels, level * (1 + _ROOM)))


def waves(parts: Iterable[Any], n_first: int) -> Iterator[list[Any]]:
    """Yield partitions in waves, each of as many as have gone by.

    Examples
    --------
    >>> [len(wave) for wave in waves(range(20), 2)]
    [2, 2, 4, 8, 4]
    """
    rest, n = iter(parts), n_first
    gone = 0
    while wave := list(islice(rest, n)):
        yield wave
        gone += len(wave)
        n = gone


@dataclass(slots=True, kw_only=True)
class SelectedUnits:
    """What the partitions so far hold below the level that a budget reaches.

    Attributes
    ----------
    budget : float
        In mean items.
    level : float
        Of the first unit that the budget does not pay for, among the partitions so far.
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
        """All units below it are held."""
        return self.level * (1 + _ROOM)

    def take(self, partition: int, new: PartitionUnits) -> None:
        """Take in what there is in the next partition."""
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
        """Return the queries that the sample needs, by partition."""
        dearest = self.dearest[:, [0, 2]].astype(np.int64)
        needed = np.unique(np.concatenate((self.places, dearest)), axis=0)
        if not needed.size:
            return {0: np.zeros(1, np.int64)}
        return {k: needed[needed[:, 0] == k, 1] for k in np.unique(needed[:, 0]).tolist()}

    def sums(self, of_pool: tuple[PoolSums, ...]) -> tuple[PoolSums, ...]:
        """Return sums over the pool with what is planned of it."""
        return tuple(
            replace(sums, planned=planned, planned_blindly=blind)
            for sums, (planned, blind) in zip(of_pool, self.curves, strict=True)
        )


def _added(curves: Curves, others: Curves) -> Curves:
    together = zip(curves, others, strict=True)
    return tuple(
        (planned + more, None if blind is None or blind_more is None else blind + blind_more)
        for (planned, blind), (more, blind_more) in together
    )
