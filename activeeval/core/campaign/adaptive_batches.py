"""Sampling with adaptive depth: which places to judge next, and what has been sampled by the end of a block.

The sample ends where a sample of one place at a time ends: by level, at the first place that the budget cannot pay for.
Its threshold T_R(b) depends on levels and labels only, whatever the order in which labels arrive. Requesting one place
at a time meets it exactly. A batch requests in advance: all known places up to the level at which

    the cost of known places below it plus the expected cost of places not yet known

fits the budget. If more turns out to be needed than expected, some requested places lie above T_R(b): they are not part
of the estimate, and their cost is taken from a reserve of one tenth of the budget. So a sample in batches is, unit by
unit and bit for bit, the sample of one place at a time with nine tenths of its budget.
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
"""Share of the budget reserved for requested places above the threshold."""
_SAFETY = 1.3
"""Safety factor on the expected cost of places not yet known. With twelve and fifty queries and small budgets, the
reserve was exceeded in 11, 5 and 2.5 % of samples at 1, in 1, 0 and 0 % at 1.3, which takes .6 to 1 batches more; 1.6
takes another one."""
_RISKED = 0.5
"""Share of the remaining reserve risked in a batch on places that may not be needed, to save batches."""


@dataclass(frozen=True, eq=False)
class AdaptiveBatches:
    """The places of a design with adaptive depth, as far as they are known under a key.

    Attributes
    ----------
    planned : Design
        The design before any label, with a budget and blocks.
    design : Design
        The design under the current labels, as returned by `Design.looked`.
    paths : QueryPaths
    settled : ndarray of bool, shape (n_items,)
        Items that are judged or cannot be judged.
    key : uint64
    """

    planned: Design
    design: Design
    paths: QueryPaths
    settled: Bools
    key: np.uint64

    @cached_property
    def levels(self) -> Floats:
        """Level of each place, shape (n_places,); infinite if it is not yet known or the place is never judged."""
        queue = Levels().below(self.design.order, self.key, math.inf)
        levels = np.full(self.design.order.items.size, math.inf)
        levels[queue.places] = queue.place_levels
        return levels

    @cached_property
    def costs(self) -> Floats:
        """Cost of each place, in mean items, including its query's overhead for the first place."""
        order = self.planned.order
        costs = order.costs.copy()
        firsts = order.offsets[:-1][np.diff(order.offsets) > 0]
        costs[firsts] += order.overheads[order.place_queries[firsts]]
        return costs

    @property
    def spent(self) -> float:
        """Cost of all requested places, in mean items."""
        return float(self.costs[self.paths.batches > 0].sum())

    @cached_property
    def _is_known(self) -> Bools:
        """True for known places that may be judged, shape (n_places,); dead ones too."""
        return np.asarray(np.isfinite(self.levels) & (self.planned.order.place_rates > 0))

    @cached_property
    def is_next(self) -> Bools:
        """True for places that may be requested: known, alive, not yet requested; shape (n_places,)."""
        return np.asarray(self._is_known & ~np.asarray(self.design.order.dead) & (self.paths.batches == 0))

    @cached_property
    def _by_level(self) -> tuple[Floats, Floats]:
        """Ascending levels of places that cost something, and their cumulated costs, starting with 0.

        As they were drawn: a correction that revives dead places, or spares some, moves no threshold.
        """
        order = self.planned.order
        places = np.flatnonzero(self._is_known & (order.numbers < self.paths.living[order.place_queries]))
        places = places[np.argsort(self.levels[places], kind="stable")]
        return self.levels[places], np.concatenate(([0.0], np.cumsum(self.costs[places])))

    def threshold(self, budget: float) -> float:
        """Return the level of the first known place that a budget does not pay for; infinite if it pays for all.

        This is T_R of the budget once no place below it waits for a label; until then further places may become known
        and lower T_R.
        """
        levels, spent = self._by_level
        first = int(np.searchsorted(spent[1:], budget * (1 + ROUNDING), side="right"))
        level = float(levels[first]) if first < levels.size else math.inf
        larger_pool = self.planned.order.larger_pool
        if larger_pool is not None and level > larger_pool.horizon:
            raise StateError(f"these queries were gathered for a budget below {budget:g}: gather them again")
        return level

    def lowest(self) -> QueryPaths | None:
        """Return the paths after requesting the lowest open place; None if the sample is complete."""
        places = np.flatnonzero(self.is_next & (self.levels < self.threshold(self.planned.blocks[-1])))
        if not places.size:
            return None
        place = int(places[np.argmin(self.levels[places])])
        return self.paths.asking(np.array([place]))

    def following(self, *, surely: bool = False) -> QueryPaths | None:
        """Return the paths after requesting every place that is likely enough to be needed; None if there is none.

        That is so if the sample is complete, if the next place depends on a label that is missing, or if the reserve is
        used up. Because all places requested above the horizon may be lost, a part of the reserve is left for later.

        Parameters
        ----------
        surely : bool
            If True, places that are not certain to be needed never cost more than the reserve, whichever labels are
            missing and however often batches are requested meanwhile, so that the sample is always completed. It takes
            more batches.
        """
        assert self.planned.budget is not None
        budget, requested = self.planned.blocks[-1], self.paths.batches > 0
        end = self.threshold(budget)
        places = np.flatnonzero(self.is_next & (self.levels < end))
        if not places.size:
            return None
        places = places[np.argsort(self.levels[places], kind="stable")]
        levels, costs, reserve = self.levels[places], self.costs[places], self.planned.budget - budget
        certain, horizon = (self._horizon(budget, end, each) for each in (self._largest_behind, self._behind_at_most))
        horizon = max(horizon, certain)

        def requested_above(level: float) -> float:
            """Return the cost of requested places at or above a level."""
            return float(self.costs[requested & (self.levels >= level)].sum())

        risk = np.cumsum(np.where(levels < horizon, 0.0, costs)) - _RISKED * (reserve - requested_above(horizon))
        loss = np.cumsum(np.where(levels < certain, 0.0, costs)) - (reserve - requested_above(certain))
        may_be_lost = (loss <= ROUNDING) | (not surely)
        is_in_batch = (levels < certain) | (may_be_lost & ((levels < horizon) | (risk <= ROUNDING)))
        n = int(is_in_batch.sum())  # these are the first n places: both sums ascend
        # without unknown places behind it, the lowest place is certainly needed
        n = n if self._largest_behind(float(levels[0])) else max(n, 1)
        n = min(n, int(np.searchsorted(np.cumsum(costs), self.planned.budget * (1 + ROUNDING) - self.spent, "right")))
        return self.paths.asking(places[:n]) if n else None

    def _horizon(self, budget: float, end: float, behind: Callable[[float], float]) -> float:
        """Find the level below which known places plus the cost ``behind`` them fit a budget; ``end`` at most."""
        levels, spent = self._by_level

        def is_paid(level: float) -> bool:
            """True if the budget pays for all places below a level, known and unknown."""
            needed = spent[np.searchsorted(levels, level)] + behind(level)
            return bool(needed <= budget * (1 + ROUNDING))

        if is_paid(end):
            return end
        at = np.unique(levels[levels < end])
        low, high = 0, at.size  # below the lowest level the cost is 0, so it is always paid
        while low + 1 < high:
            middle = (low + high) // 2
            low, high = (middle, high) if is_paid(float(at[middle])) else (low, middle)
        return float(at[low]) if at.size else end

    @cached_property
    def _behind(self) -> tuple[Ints, Ints, Floats, Floats]:
        """For each place not yet known: its query's last known place, itself, and two shares.

        The shares are relative to the last known place, over labels drawn from the model: how often the place is
        reached, and its mean rate then. If no drawn labels reach the last known place, they are as planned without
        labels.
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
        """Return the largest possible cost, below a level, of places not yet known."""
        ends, places, *_ = self._behind
        return float(self.planned.order.costs[places[self.levels[ends] < level]].sum())

    def _behind_at_most(self, level: float) -> float:
        """Return a cautious estimate of the cost, below a level, of places not yet known.

        The larger of `_SAFETY` times the expectation over labels drawn from the model and the cost planned without
        labels: a model that wrongly expects values to be settled early underestimates exactly this cost.
        """
        ends, places, alive, shares = self._behind
        counts = self.levels[ends] < level
        if not counts.any():
            return 0.0
        ends, places, unseen = ends[counts], places[counts], self.planned.order.place_rates
        rates, costs = self.paths.rates[ends], self.planned.order.costs[places]

        def cost_of(of_ends: Floats, alive: Floats) -> float:
            with np.errstate(invalid="ignore"):  # infinite level times rate 0 of a place that is never judged
                below = np.nan_to_num(np.minimum(1.0, level * rates * of_ends)) / np.minimum(1.0, level * rates)
            return float((costs * alive * below).sum())

        without = np.minimum(np.divide(unseen[places], unseen[ends]), 1.0)
        return max(_SAFETY * cost_of(shares[counts], alive[counts]), cost_of(without, np.ones_like(without)))

    @cached_property
    def n_complete(self) -> int:
        """Number of complete blocks: no place below their threshold waits for a label or for its request."""
        is_open = (threshold > self.lowest_open for threshold in self._thresholds)
        return next((k for k, opened in enumerate(is_open) if opened), len(self._thresholds))

    @cached_property
    def waits(self) -> Bools:
        """True for places that were requested and wait for a label, shape (n_places,)."""
        return np.asarray((self.paths.batches > 0) & ~self.settled[self.planned.order.items])

    @cached_property
    def lowest_open(self) -> float:
        """Lowest level of a place that waits for a label or for its request; infinite if there is none."""
        return float(self.levels[self.waits | self.is_next].min(initial=math.inf))

    @property
    def is_spent(self) -> bool:
        """True if nothing more can be requested though a block is incomplete, because the reserve is exceeded.

        Everything below the lowest open level is judged: the sample is read there.
        """
        return not self.waits.any() and self.n_complete < len(self.planned.blocks) and self.following() is None

    @cached_property
    def _thresholds(self) -> list[float]:
        """Threshold level of each block."""
        return [self.threshold(budget) for budget in self.planned.blocks]

    def block_at(self, level: float) -> int:
        """Return the block of a level, from 1; the number of blocks plus 1 above all thresholds."""
        return 1 + bisect_right(self._thresholds, level)

    def selection(self, block: int) -> Selection:
        """Return the selection below the threshold of a block, from 0, or below the lowest open level if `is_spent`."""
        is_cut = block >= self.n_complete and self.is_spent
        order, level = self.design.order, self.lowest_open if is_cut else self._thresholds[block]
        places = np.flatnonzero(self.levels < level)
        queries, counts = np.unique(order.place_queries[places], return_counts=True)
        cost = order.cost_of(queries, counts, places)
        return Selection(queries=queries, counts=counts, places=places, level=level, cost=cost)

    def drawn(self) -> DrawnUnits:
        """Return the units requested so far: places of one query that a batch requests at one level form a unit."""
        order, requested = self.design.order, np.flatnonzero(self.paths.batches > 0)
        owners = order.place_queries
        places = requested[np.lexsort((owners[requested], self.levels[requested], self.paths.batches[requested]))]
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
        """Reason why nothing more is requested."""
        if not self.is_next.any():
            return "everything that can change a value is judged"
        name = self.planned.pool.query_texts[
            self.planned.order.place_queries[int(np.argmin(np.where(self.is_next, self.levels, math.inf)))]
        ]
        return f"the next place, of query {name!r}, exceeds the budget"
