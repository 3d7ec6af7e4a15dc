"""Drawing where depths follow labels: what is to be judged next, and what has come by the end of a block.

A sample ends where that of one place at a time ends: by level, with the first place that the budget cannot pay. Its
threshold T_R(b) follows from levels and labels alone, whatever the order in which they come. Asking for one place at a
time meets it exactly. An batch asks ahead: for all places that are known, as far up as

    what is known below a level, and what is expected to come behind it,

fits the budget. Where more comes than was expected, some places were asked that lie above T_R(b): they wait outside the
estimate, and what they cost is taken from a tenth of the budget that is kept for that. So a sample in batches is,
unit by unit and bit for bit, the one of a single place at a time with nine tenths of its budget.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from activeeval.core.design import Design, DrawnUnits, Levels, Selection
from activeeval.core.design.query_paths import QueryPaths
from activeeval.core.design.schemes import ROUNDING
from activeeval.core.design.unresolved_variance import wanted_of
from activeeval.core.errors import StateError
from activeeval.core.types import Bools, Floats, Ints

KEPT = 0.1
"""Of the budget, for places that were asked and lie above the threshold."""
_SAFETY = 1.3
"""How many times what is expected behind known places has to be paid for. Of twelve and of fifty queries with small
budgets more than was kept came in 11, 5 and 2.5 % of samples at 1, in 1, 0 and 0 % at 1.3, which takes .6 to 1
batches more; 1.6 takes another one."""
_RISKED = 0.5
"""Of what is left of that, for places of which it is not sure enough that they are needed: the fewer batches."""


@dataclass(frozen=True, eq=False)
class AdaptiveBatches:
    """The places of a design whose depths follow labels, as far as they are known under a key.

    Attributes
    ----------
    planned : Design
        As it was before any label, with a budget and blocks.
    design : Design
        As labels have it now, as `Design.looked` returns it.
    paths : Paths
    settled : ndarray of bool, shape (n_items,)
        Items that are judged, or cannot be.
    key : uint64
    """

    planned: Design
    design: Design
    paths: QueryPaths
    settled: Bools
    key: np.uint64

    @cached_property
    def levels(self) -> Floats:
        """The level of each place, shape (n_places,); infinite where it is not known or nothing is judged."""
        come = Levels().below(self.design.order, self.key, math.inf)
        levels = np.full(self.design.order.items.size, math.inf)
        levels[come.places] = come.place_levels
        return levels

    @cached_property
    def costs(self) -> Floats:
        """What asking for each place costs, in mean items, with its query's overhead where it is the first."""
        order = self.planned.order
        costs = order.costs.copy()
        firsts = order.offsets[:-1][np.diff(order.offsets) > 0]
        costs[firsts] += order.overheads[order.place_queries[firsts]]
        return costs

    @property
    def spent(self) -> float:
        """What all that was asked costs, in mean items."""
        return float(self.costs[self.paths.batches > 0].sum())

    @cached_property
    def _is_known(self) -> Bools:
        """Which places are known and may be judged, shape (n_places,); dead ones too."""
        return np.asarray(np.isfinite(self.levels) & (self.planned.order.place_rates > 0))

    @cached_property
    def is_next(self) -> Bools:
        """Which places may be asked: known, alive as labels have it now, and not asked so far, shape (n_places,)."""
        return np.asarray(self._is_known & ~np.asarray(self.design.order.dead) & (self.paths.batches == 0))

    @cached_property
    def _by_level(self) -> tuple[Floats, Floats]:
        """Levels of places that cost something, ascending, and what all before each cost, with the sum of all behind.

        As they were drawn: a correction that has places asked which were dead, or spares some, moves no threshold.
        """
        order = self.planned.order
        places = np.flatnonzero(self._is_known & (order.numbers < self.paths.living[order.place_queries]))
        places = places[np.argsort(self.levels[places], kind="stable")]
        return self.levels[places], np.concatenate(([0.0], np.cumsum(self.costs[places])))

    def threshold(self, budget: float) -> float:
        """Return the level of the first known place that a budget does not pay; infinite where it pays for all.

        T_R of the budget once nothing below it waits; until then more may come to be known, and T_R be lower.
        """
        levels, spent = self._by_level
        first = int(np.searchsorted(spent[1:], budget * (1 + ROUNDING), side="right"))
        level = float(levels[first]) if first < levels.size else math.inf
        larger_pool = self.planned.order.larger_pool
        if larger_pool is not None and level > larger_pool.horizon:
            raise StateError(f"these queries were gathered for a smaller budget than {budget:g}: gather for it")
        return level

    def lowest(self) -> QueryPaths | None:
        """Return the paths once the lowest place of all is asked too; None where the sample ends with it."""
        places = np.flatnonzero(self.is_next & (self.levels < self.threshold(self.planned.blocks[-1])))
        if not places.size:
            return None
        place = int(places[np.argmin(self.levels[places])])
        return self.paths.asking(np.array([place]))

    def following(self, *, surely: bool = False) -> QueryPaths | None:
        """Return the paths once all is asked that is sure enough to be needed; None where the sample is complete.

        None too where the next place follows from a label that waits, or where what was kept is used up. As all that
        was asked above the horizon may be lost, a part of what is kept is left for later.

        Parameters
        ----------
        surely : bool
            What is asked without being certain to be needed never costs more than what is kept for that, whatever waits
            and whoever asks again meanwhile, so that the sample is completed. It takes more batches.
        """
        assert self.planned.budget is not None
        budget, asked = self.planned.blocks[-1], self.paths.batches > 0
        end = self.threshold(budget)
        places = np.flatnonzero(self.is_next & (self.levels < end))
        if not places.size:
            return None
        places = places[np.argsort(self.levels[places], kind="stable")]
        levels, costs, all_kept = self.levels[places], self.costs[places], self.planned.budget - budget
        certain, horizon = (self._horizon(budget, end, each) for each in (self._largest_behind, self._behind_at_most))
        horizon = max(horizon, certain)

        def asked_above(level: float) -> float:
            return float(self.costs[asked & (self.levels >= level)].sum())

        risk = np.cumsum(np.where(levels < horizon, 0.0, costs)) - _RISKED * (all_kept - asked_above(horizon))
        loss = np.cumsum(np.where(levels < certain, 0.0, costs)) - (all_kept - asked_above(certain))
        may_be_lost = (loss <= ROUNDING) | (not surely)
        is_asked = (levels < certain) | (may_be_lost & ((levels < horizon) | (risk <= ROUNDING)))
        n = int(is_asked.sum())  # they are the first ones: both sums ascend
        # nothing can come below the lowest where nothing is behind: the sample ends with it at the earliest
        n = n if self._largest_behind(float(levels[0])) else max(n, 1)
        n = min(n, int(np.searchsorted(np.cumsum(costs), self.planned.budget * (1 + ROUNDING) - self.spent, "right")))
        return self.paths.asking(places[:n]) if n else None

    def _horizon(self, budget: float, end: float, behind: Callable[[float], float]) -> float:
        """Return the level below which all that is known, and comes behind it, fits a budget; ``end`` at most."""
        levels, spent = self._by_level

        def is_paid(level: float) -> bool:
            needed = spent[np.searchsorted(levels, level)] + behind(level)
            return bool(needed <= budget * (1 + ROUNDING))

        if is_paid(end):
            return end
        at = np.unique(levels[levels < end])
        low, high = 0, at.size  # nothing is below the lowest level of all
        while low + 1 < high:
            middle = (low + high) // 2
            low, high = (middle, high) if is_paid(float(at[middle])) else (low, middle)
        return float(at[low]) if at.size else end

    @cached_property
    def _behind(self) -> tuple[Ints, Ints, Floats, Floats]:
        """The last known place of each query of which more may come to be known; places behind, and whose each is.

        Beside them how often labels that the model draws come so far, and the mean rate then, as shares of those of the
        last known one; where none of them comes so far as that, as planned without labels.
        """
        order, history = self.planned.order, self.planned.history
        assert history is not None
        known, wanted = self.paths.n_known(order), wanted_of(order)
        goes_on = (known > 0) & (known < wanted)
        ends = (order.offsets[:-1] + known - 1)[goes_on]
        sizes = (wanted - known)[goes_on]
        owners = np.repeat(np.arange(ends.size), sizes)
        places = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes) + np.repeat(ends + 1, sizes)
        is_drawn = history.alive[ends] > 0
        columns = ((history.alive, np.ones(order.items.size)), (history.expected, order.place_rates))
        shares = []
        for drawn, unseen in columns:
            of_ends = np.where(is_drawn, drawn[ends], unseen[ends])
            of_places = np.where(is_drawn[owners], drawn[places], unseen[places])
            shares.append(np.minimum(of_places / of_ends[owners], 1.0))
        return ends[owners], places, shares[0], shares[1]

    def _largest_behind(self, level: float) -> float:
        """Return what places that are not known yet cost at most that come below a level."""
        ends, places, *_ = self._behind
        return float(self.planned.order.costs[places[self.levels[ends] < level]].sum())

    def _behind_at_most(self, level: float) -> float:
        """Return what places that are not known yet may well cost that come below a level: no model is to be trusted.

        `_SAFETY` times what is expected by labels that the model draws, or all that were planned to be judged without
        any label, whichever is more: a model that takes values to be settled early is wrong about just that.
        """
        ends, places, alive, shares = self._behind
        counts = self.levels[ends] < level
        if not counts.any():
            return 0.0
        ends, places, unseen = ends[counts], places[counts], self.planned.order.place_rates
        rates, costs = self.paths.rates[ends], self.planned.order.costs[places]

        def cost_of(of_ends: Floats, alive: Floats) -> float:
            with np.errstate(invalid="ignore"):  # an infinite level of a place that never comes
                below = np.nan_to_num(np.minimum(1.0, level * rates * of_ends)) / np.minimum(1.0, level * rates)
            return float((costs * alive * below).sum())

        without = np.minimum(np.divide(unseen[places], unseen[ends]), 1.0)
        return max(_SAFETY * cost_of(shares[counts], alive[counts]), cost_of(without, np.ones_like(without)))

    @cached_property
    def n_complete(self) -> int:
        """How many blocks are complete: of which nothing that is below their threshold waits, or is yet to be asked."""
        is_open = (threshold > self.lowest_open for threshold in self._thresholds)
        return next((k for k, opened in enumerate(is_open) if opened), len(self._thresholds))

    @cached_property
    def waits(self) -> Bools:
        """Which places were asked and wait for a label, shape (n_places,)."""
        return np.asarray((self.paths.batches > 0) & ~self.settled[self.planned.order.items])

    @cached_property
    def lowest_open(self) -> float:
        """The lowest level of a place that waits, or that is known and was not asked; infinite where there is none."""
        return float(self.levels[self.waits | self.is_next].min(initial=math.inf))

    @property
    def is_spent(self) -> bool:
        """Whether nothing further can be asked though a block is not complete: more came than was kept for.

        Below the lowest level that is open everything is judged: it is read there.
        """
        return not self.waits.any() and self.n_complete < len(self.planned.blocks) and self.following() is None

    @cached_property
    def _thresholds(self) -> list[float]:
        return [self.threshold(budget) for budget in self.planned.blocks]

    def block_at(self, level: float) -> int:
        """Return the block of what has a level, from 1; one more than there are above all thresholds."""
        return 1 + bisect_right(self._thresholds, level)

    def selection(self, block: int) -> Selection:
        """Return what comes below the threshold of a block, from 0, or below what is open where it `is_spent`."""
        is_cut = block >= self.n_complete and self.is_spent
        order, level = self.design.order, self.lowest_open if is_cut else self._thresholds[block]
        places = np.flatnonzero(self.levels < level)
        queries, counts = np.unique(order.place_queries[places], return_counts=True)
        cost = order.cost_of(queries, counts, places)
        return Selection(queries=queries, counts=counts, places=places, level=level, cost=cost)

    def drawn(self) -> DrawnUnits:
        """Return what was drawn so far: places of a query that one batch asks for at one level are a unit."""
        order, asked = self.design.order, np.flatnonzero(self.paths.batches > 0)
        owners = order.place_queries
        places = asked[np.lexsort((owners[asked], self.levels[asked], self.paths.batches[asked]))]
        queries, levels, numbers = owners[places], self.levels[places], self.paths.batches[places]
        firsts = np.ones(places.size, dtype=np.bool_)
        firsts[1:] = (np.diff(queries) != 0) | (np.diff(levels) != 0) | (np.diff(numbers) != 0)
        ends = np.append(np.flatnonzero(firsts), places.size)
        batch_ends = np.searchsorted(numbers[firsts], np.arange(1, self.paths.n_batches + 1), side="right")
        return DrawnUnits(
            queries=queries[firsts],
            levels=levels[firsts].tolist(),
            costs=np.add.reduceat(self.costs[places], ends[:-1]) if places.size else np.empty(0),
            places_of=lambda unit: places[ends[unit] : ends[unit + 1]],
            selection=lambda _: self.selection(len(self.planned.blocks) - 1),
            block_ends=tuple(batch_ends.tolist()) or (0,),
            ended=self.ended,
        )

    @property
    def ended(self) -> str:
        """Why nothing further is asked."""
        if not self.is_next.any():
            return "everything that can change a value is judged"
        name = self.planned.pool.query_texts[
            self.planned.order.place_queries[int(np.argmin(np.where(self.is_next, self.levels, math.inf)))]
        ]
        return f"a place of query {name!r} came up, which the budget cannot pay for"
