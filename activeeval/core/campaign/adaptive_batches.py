"""Sampling with adaptive depth: which places to judge next, and what has been sampled by the end of a block.

A place is the position of one item in the judging order of its query. With adaptive depth the labels of a query decide
how deep it is judged: the level of a place (a random number divided by its rate) is known once the labels before it
are. A block is a part of the budget at whose end the sample can be read.

The sample ends where a sample of one place at a time ends: by level, at the first place that the budget cannot pay for.
Its threshold T_R(b) for a budget b, the level of that place, depends on levels and labels only, whatever the order in
which labels arrive. Requesting one place at a time meets it exactly. A batch requests in advance: all known places up
to the level at which

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
        The rates fixed so far, and the batch that requested each place.
    settled : ndarray of bool, shape (n_items,)
        Items that are judged or cannot be judged.
    key : uint64
        Seed of the sample.
    """

    planned: Design
    design: Design
    paths: QueryPaths
    settled: Bools
    key: np.uint64

    @cached_property
    def levels(self) -> Floats:
        """Level of each place, shape (n_places,): a uniform random number divided by the rate of the place.

        Places (items in the judging order of their query) are judged by ascending level. The level is infinite if the
        rate, which depends on labels, is not yet known, or if the place is never judged.
        """
        queue = Levels().below(self.design.order, self.key, math.inf)
        levels = np.full(self.design.order.items.size, math.inf)
        levels[queue.places] = queue.place_levels
        return levels

    @cached_property
    def costs(self) -> Floats:
        """Cost of each place in mean items (the mean item costs 1); a query's first place includes its overhead."""
        order = self.planned.order
        costs = order.costs.copy()
        firsts = order.offsets[:-1][np.diff(order.offsets) > 0]
        costs[firsts] += order.overheads[order.place_queries[firsts]]
        return costs

    @property
    def spent(self) -> float:
        """Cost of all requested places (items in the judging order of their query), in mean items (cost 1)."""
        return float(self.costs[self.paths.batches > 0].sum())

    @cached_property
    def _is_known(self) -> Bools:
        """True for places (items in judging order) whose level is known and whose rate is positive, shape (n_places,).

        Places whose label is no longer needed are included.
        """
        return np.asarray(np.isfinite(self.levels) & (self.planned.order.place_rates > 0))

    @cached_property
    def is_next(self) -> Bools:
        """True for places (items in judging order) that may be requested now, shape (n_places,).

        Their level is known, their label can still change a value, and they were not requested before.
        """
        return np.asarray(self._is_known & ~np.asarray(self.design.order.dead) & (self.paths.batches == 0))

    @cached_property
    def _by_level(self) -> tuple[Floats, Floats]:
        """Ascending levels of the places with a known level that cost something, and their cumulated costs.

        The shapes are (n,) and (n + 1,); the first cumulated cost is 0. A place costs nothing if no label was needed
        when its level became known (it is beyond the first `living` places of its query). A later correction of a label
        does not change that, so it moves no threshold. A place is an item in the judging order of its query.
        """
        order = self.planned.order
        places = np.flatnonzero(self._is_known & (order.numbers < self.paths.living[order.place_queries]))
        places = places[np.argsort(self.levels[places], kind="stable")]
        return self.levels[places], np.concatenate(([0.0], np.cumsum(self.costs[places])))

    def threshold(self, budget: float) -> float:
        """Return the level of the first place that a budget (in mean items) does not pay for; infinite if none.

        Only places (items in judging order) with a known level (random number over rate) count, in ascending order of
        level. Labels below the threshold that are still missing may reveal further places and so lower the threshold.
        Raise StateError if the queries were gathered from a larger pool for a smaller budget. The mean item costs 1.
        """
        levels, spent = self._by_level
        first = int(np.searchsorted(spent[1:], budget * (1 + ROUNDING), side="right"))
        level = float(levels[first]) if first < levels.size else math.inf
        larger_pool = self.planned.order.larger_pool
        if larger_pool is not None and level > larger_pool.horizon:
            raise StateError(f"these queries were gathered for a budget below {budget:g}: gather them again")
        return level

    def lowest(self) -> QueryPaths | None:
        """Request the one place (item in judging order) with the lowest level; None if the sample is complete.

        Returns the new paths: the rates fixed so far, and the batch that requested each place.
        """
        places = np.flatnonzero(self.is_next & (self.levels < self.threshold(self.planned.blocks[-1])))
        if not places.size:
            return None
        place = int(places[np.argmin(self.levels[places])])
        return self.paths.asking(np.array([place]))

    def following(self, *, surely: bool = False) -> QueryPaths | None:
        """Request a batch: every place that is likely enough to be needed; None if there is none.

        Returns the new paths: the rates fixed so far, and the batch that requested each place. There is no batch if the
        sample is complete, if the next place depends on a label that is missing, or if the reserve (a tenth of the
        budget) is used up. Places requested above the level that the budget surely or probably reaches may not be
        needed in the end; they are paid from the reserve, of which a part is left for later batches.

        Parameters
        ----------
        surely : bool
            If True, places (items in judging order) that are not certain to be needed never cost more than the reserve,
            whichever labels are missing and however often batches are requested meanwhile, so that the sample is always
            completed. It takes more batches.
        """
        assert self.planned.budget is not None
        budget, requested = self.planned.blocks[-1], self.paths.batches > 0
        end = self.threshold(budget)
        places = np.flatnonzero(self.is_next & (self.levels < end))
        if not places.size:
            return None
        places = places[np.argsort(self.levels[places], kind="stable")]
        levels, costs, reserve = self.levels[places], self.costs[places], self.planned.budget - budget
        # levels below which the budget pays for all places: surely, and probably
        certain, horizon = (self._horizon(budget, end, each) for each in (self._largest_behind, self._behind_at_most))
        horizon = max(horizon, certain)

        def requested_above(level: float) -> float:
            """Compute the cost of requested places (items in judging order) at or above a level."""
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
        """Find the highest level, at most ``end``, below which the budget pays for all places (judged by level).

        It pays for the places (items in judging order) with a known level below it, and for those whose level still
        depends on missing labels: ``behind(level)`` estimates the cost of these.
        """
        levels, spent = self._by_level

        def is_paid(level: float) -> bool:
            """True if the budget pays for all places below a level, including those whose level is not yet known.

            A place is an item in the judging order of its query.
            """
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
        """The places whose level still depends on missing labels, and what the plan expects of them.

        Returns four arrays of shape (n_unknown,): the last place of the same query with a known level, and the place
        itself, both as indices; its chance of being reached if the last known place is, and its mean rate divided by
        that of the last known place. The last two are averages over labels drawn from the model. If no drawn labels
        reach the last known place, they are as planned without labels. A place is an item in the judging order of its
        query.
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
        for drawn, unseen in columns:  # means over labels drawn from the model, and as planned without labels
            of_ends = np.where(is_drawn, drawn[ends], unseen[ends])
            of_places = np.where(is_drawn[owners], drawn[places], unseen[places])
            shares.append(np.minimum(of_places / of_ends[owners], 1.0))
        return ends[owners], places, shares[0], shares[1]

    def _largest_behind(self, level: float) -> float:
        """Compute the largest possible cost, in mean items, of places that may turn out to lie below a level.

        The level of these places still depends on missing labels. A place is an item in the judging order of its query.
        The mean item costs 1.
        """
        ends, places, *_ = self._behind
        return float(self.planned.order.costs[places[self.levels[ends] < level]].sum())

    def _behind_at_most(self, level: float) -> float:
        """Estimate cautiously the cost, in mean items, of places that will turn out to lie below a level.

        The level of these places still depends on missing labels. The estimate is the larger of `_SAFETY` times the
        mean cost over labels drawn from the model, and the cost planned without labels: a model that wrongly expects
        values to be certain early underestimates exactly this cost. A place is an item in the judging order of its
        query. The mean item costs 1.
        """
        ends, places, alive, shares = self._behind
        counts = self.levels[ends] < level
        if not counts.any():
            return 0.0
        ends, places, unseen = ends[counts], places[counts], self.planned.order.place_rates
        rates, costs = self.paths.rates[ends], self.planned.order.costs[places]

        def cost_of(of_ends: Floats, alive: Floats) -> float:
            """Compute the expected cost of the places (items in judging order) below the level.

            ``of_ends`` and ``alive`` are each place's rate and chance of being reached, relative to those of the last
            place of its query with a known level.
            """
            with np.errstate(invalid="ignore"):  # infinite level times rate 0 of a place that is never judged
                below = np.nan_to_num(np.minimum(1.0, level * rates * of_ends)) / np.minimum(1.0, level * rates)
            return float((costs * alive * below).sum())

        without = np.minimum(np.divide(unseen[places], unseen[ends]), 1.0)
        return max(_SAFETY * cost_of(shares[counts], alive[counts]), cost_of(without, np.ones_like(without)))

    @cached_property
    def n_complete(self) -> int:
        """Number of complete blocks (parts of the budget): no place below the level where they end needs a label.

        A place is an item in the judging order of its query.
        """
        is_open = (threshold > self.lowest_open for threshold in self._thresholds)
        return next((k for k, opened in enumerate(is_open) if opened), len(self._thresholds))

    @cached_property
    def waits(self) -> Bools:
        """True for places (items in judging order) that were requested and have no label yet, shape (n_places,)."""
        return np.asarray((self.paths.batches > 0) & ~self.settled[self.planned.order.items])

    @cached_property
    def lowest_open(self) -> float:
        """Lowest level of a place that still needs a label, whether it is requested or not; infinite if none does.

        A place is an item in the judging order of its query.
        """
        return float(self.levels[self.waits | self.is_next].min(initial=math.inf))

    @property
    def is_spent(self) -> bool:
        """True if nothing more can be requested though a block (part of the budget) is incomplete.

        The reserve (a tenth of the budget) is then used up. Estimates use the places (items in judging order) below
        `lowest_open`, which are all judged.
        """
        return not self.waits.any() and self.n_complete < len(self.planned.blocks) and self.following() is None

    @cached_property
    def _thresholds(self) -> list[float]:
        """Level (random number over rate; the judging order) at which each block (part of the budget) ends."""
        return [self.threshold(budget) for budget in self.planned.blocks]

    def block_at(self, level: float) -> int:
        """Return the number, from 1, of the block (part of the budget) that contains a level.

        Above the last block it is the number of blocks plus 1. Items are judged by ascending level, a random number
        over their rate.
        """
        return 1 + bisect_right(self._thresholds, level)

    def selection(self, block: int) -> Selection:
        """Return the places sampled by the end of a block (a part of the budget, counted from 0).

        These are the places below the level where the block ends. If the reserve was used up before (`is_spent`), they
        are the places below the lowest one without a label. A place is an item in the judging order of its query.
        """
        is_cut = block >= self.n_complete and self.is_spent
        order, level = self.design.order, self.lowest_open if is_cut else self._thresholds[block]
        places = np.flatnonzero(self.levels < level)
        queries, counts = np.unique(order.place_queries[places], return_counts=True)
        cost = order.cost_of(queries, counts, places)
        return Selection(queries=queries, counts=counts, places=places, level=level, cost=cost)

    def drawn(self) -> DrawnUnits:
        """Return the units requested so far, by batch, then by level.

        A unit is what is judged at once: the places (items in the judging order) of one query that a batch requests at
        one level.
        """
        order, requested = self.design.order, np.flatnonzero(self.paths.batches > 0)
        owners = order.place_queries
        places = requested[np.lexsort((owners[requested], self.levels[requested], self.paths.batches[requested]))]
        queries, levels, numbers = owners[places], self.levels[places], self.paths.batches[places]
        firsts = np.ones(places.size, dtype=np.bool_)  # True for the first place of a unit
        firsts[1:] = (np.diff(queries) != 0) | (np.diff(levels) != 0) | (np.diff(numbers) != 0)
        ends = np.append(np.flatnonzero(firsts), places.size)
        batch_ends = np.searchsorted(numbers[firsts], np.arange(1, self.paths.n_batches + 1), side="right")
        return DrawnUnits(
            queries=queries[firsts],
            levels=levels[firsts].tolist(),
            costs=np.add.reduceat(self.costs[places], ends[:-1]) if places.size else np.empty(0),
            places_of=lambda unit: places[ends[unit] : ends[unit + 1]],
            selection=lambda _: self.selection(len(self.planned.blocks) - 1),  # it ends at a level, not a unit
            block_ends=tuple(batch_ends.tolist()) or (0,),
            ended=self.ended,
        )

    @property
    def ended(self) -> str:
        """Reason why nothing more is requested, as text."""
        if not self.is_next.any():
            return "everything that can change a value is judged"
        name = self.planned.pool.query_texts[
            self.planned.order.place_queries[int(np.argmin(np.where(self.is_next, self.levels, math.inf)))]
        ]
        return f"the next place, of query {name!r}, exceeds the budget"
