"""Scheme of levels: every unit has a random level; units are judged by ascending level within the budget.

A unit is what is drawn and judged at once: one item, or successive places of a list. A place is the position of one
item in the judging order of its query. A key is the seed of one sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from activeeval.core.design.orders import Order
from activeeval.core.design.schemes import ROUNDING, DrawnUnits, Scheme, check_pays
from activeeval.core.design.selections import Selection, Selections
from activeeval.core.errors import InputError, StateError
from activeeval.core.kernels import levels as kernel
from activeeval.core.kernels.bundles import BundlesBelow
from activeeval.core.results import Caution
from activeeval.core.types import Floats, Ints

_ROOM = 1.2
"""Initial size of output arrays relative to the expected number of places."""
_AHEAD = 3.0
"""Initial margin above the budget, in standard deviations of the cost for equal queries, when levels are computed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Queue:
    """The units of an order whose level for one key lies below a limit, by ascending level.

    Attributes
    ----------
    order : Order
    limit : float
        All units below this level are in the queue.
    places, place_levels : ndarray, shape (n_sampled,)
        Sampled places, query by query, and their levels.
    ranks : ndarray of int64, shape (n_sampled,)
        Number of each place's unit in the queue, from 0.
    unit_queries, unit_costs, unit_levels : ndarray, shape (n_units,)
        Query, cost (in mean items) and level of each unit, by ascending level.
    """

    order: Order
    limit: float
    places: Ints
    place_levels: Floats
    ranks: Ints
    unit_queries: Ints
    unit_costs: Floats
    unit_levels: Floats

    @property
    def cost(self) -> float:
        """Cost of all units in the queue, in mean items (the mean cost of an item of the pool is 1)."""
        return float(self.spent[-1]) if self.spent.size else 0.0

    def paid(self, budgets: Floats) -> Ints:
        """Count the units before the first one that exceeds the budget, for each of ``budgets`` (n_budgets,)."""
        return np.searchsorted(self.spent, budgets * (1 + ROUNDING), side="right")

    def level_after(self, n_units: int) -> float:
        """Return the sampling level reached once the first ``n_units`` units are judged: that of the next unit.

        It is infinite if there is none. At level T a place (item in judging order) of rate r was judged with
        probability min(1, T r).
        """
        return float(self.unit_levels[n_units]) if n_units < self.unit_levels.size else math.inf

    def selection(self, n_units: int) -> Selection:
        """Return the selection (places taken) of the first ``n_units`` units; its level is that of the next unit.

        A place is an item in the judging order of its query.
        """
        level = self.level_after(n_units)
        places = self.places[self.place_levels < level]
        queries, counts = np.unique(self.order.place_queries[places], return_counts=True)
        cost = self.order.cost_of(queries, counts, places)
        return Selection(queries=queries, counts=counts, places=places, level=level, cost=cost)

    def places_of(self, unit: int) -> Ints:
        """Return the places of a unit, given by its number in the queue, as positions on the order's place axis.

        A place is an item in the judging order of its query.
        """
        by_rank, starts = self._by_rank
        return self.places[by_rank[starts[unit] : starts[unit + 1]]]

    @cached_property
    def _by_rank(self) -> tuple[Ints, Ints]:
        """Indices that sort the queue's places by unit, (n_sampled,), and each unit's start in them, (n_units + 1,).

        A place is an item in the judging order of its query.
        """
        sizes = np.bincount(self.ranks, minlength=self.unit_levels.size)
        return np.argsort(self.ranks, kind="stable"), np.concatenate(([0], np.cumsum(sizes)))

    @cached_property
    def spent(self) -> Floats:
        """Cumulated cost after each unit."""
        return np.cumsum(self.unit_costs)


@dataclass(frozen=True, slots=True)
class Levels(Scheme):
    """Scheme in which every unit has an independent level; units are judged by ascending level within the budget.

    Examples
    --------
    >>> from activeeval import DCG, METHODS, QueryPool, Rankings, Target
    >>> pool = QueryPool(["q1", "q2"], [0, 2, 4], list("abab"))
    >>> target = Target(DCG([0, 1]), Rankings.from_scores(pool, [2, 1, 2, 1]))
    >>> design = METHODS["items"].design(target, np.full((4, 2), 0.5), budget=3)
    >>> Levels().queue(design.order, np.uint64(7), 3.0).unit_levels.size >= 3
    True
    """

    def least(self, order: Order) -> float:
        """Return the smallest valid budget, in mean items: it pays for any unit (what is judged at once).

        The mean item costs 1.
        """
        return min(float(order.dearest_units.max(initial=0.0)), order.cost)

    def ends(
        self, name: str, order: Order, budget: float, blocks: Sequence[float] | None, *, expected: bool
    ) -> tuple[float, ...]:
        """Check the budget and return the cumulated budgets at which blocks end.

        ``blocks`` are requested ends before the last (None: the default), ``name`` is the method's name for errors.
        The default blocks are the quarters of the budget that pay for the most expensive unit. If a possible unit cost
        more than the first block, the estimate would be biased. A block is a part of the budget, at whose end the
        sample can be read.

        Raises
        ------
        BudgetError
            If the budget, or the first block, does not pay for the most expensive unit.
        InputError
            If the blocks do not ascend, or an expected budget is requested.
        """
        if expected:
            raise InputError(f"{name!r} has a hard budget: an expected one is for draws with replacement")
        dearest = order.dearest_units
        check_pays(budget, self.least(order), order, dearest, "the most expensive unit")
        if blocks is None:
            blocks = quarters(budget, float(dearest.max(initial=0.0)))
        ends = tuple(float(end) for end in (*blocks, budget))
        if any(b <= a for a, b in pairwise(ends)):
            raise InputError(f"the budgets of blocks must ascend, got {[*blocks, budget]}")
        check_pays(ends[0], self.least(order), order, dearest, "the most expensive unit")
        return ends

    def caution(self, order: Order, budget: float) -> Caution | None:
        """Return a warning if the budget does not pay for any two units (what is judged at once), else None.

        The variance is then unbounded.
        """
        if order.cost <= budget:
            return None
        two = order.two_dearest
        return None if budget >= two else Caution("warning", "two units", {"budget": budget, "needed": two})

    def inclusion_probs(self, order: Order, budget: float) -> tuple[Floats, Floats]:
        """Return the inclusion probabilities of queries, (n_queries,), and places, (n_places,), with a budget.

        They are those at the sampling level whose expected cost is the budget, in mean items (the mean item costs 1). A
        place is an item in the judging order of its query. At the sampling level T, a place of rate r is judged with
        probability min(1, T r).
        """
        return order.inclusion_probs(order.level_for(budget))

    def mean_size(self, query_probs: Floats) -> float:
        """Return the expected number of sampled queries, Σ π."""
        return float(query_probs.sum())

    def drawn(self, order: Order, key: np.uint64, blocks: Sequence[float], *, expected: bool) -> DrawnUnits:
        """Draw the units (what is judged at once) of a key (seed), by ascending random level, as the budget allows.

        ``blocks`` are the cumulated budgets at which the sample can be read, the whole budget last. A level is a random
        number divided by the sampling rate.
        """
        queue = self.queue(order, key, blocks[-1])
        ends = tuple(queue.paid(np.array(blocks)).tolist())
        n = ends[-1]
        ended = "everything is judged"
        if not math.isinf(queue.level_after(n)):
            name = order.pool.query_texts[queue.unit_queries[n]]
            ended = f"the next unit, of query {name!r}, exceeds the budget"
        return DrawnUnits(
            queries=queue.unit_queries[:n],
            levels=queue.unit_levels[:n].tolist(),
            costs=queue.unit_costs[:n],
            places_of=queue.places_of,
            selection=queue.selection,
            block_ends=ends,
            ended=ended,
        )

    def limit(self, order: Order, budget: float) -> float:
        """Estimate a level below which the units (items judged at once) probably cost more than the budget.

        Its expected cost exceeds the budget by `_AHEAD` standard deviations (for equal queries). It is infinite if the
        budget pays for everything, and the known limit if the order comes from a larger pool.
        """
        if order.larger_pool is not None:
            return order.larger_pool.horizon
        if budget * (1 + ROUNDING) >= order.cost:
            return math.inf
        n_queries = float(order.inclusion_probs(order.level_for(budget))[0].sum())
        return order.level_for(budget * (1 + _AHEAD / math.sqrt(max(n_queries, 1.0))))

    def queue(self, order: Order, key: np.uint64, budget: float) -> Queue:
        """Compute the units (what is judged at once) of a key (seed) by ascending random level.

        They are all that the budget, in mean items (the mean item costs 1), pays for, and at least the next one. A
        level is a random number divided by the sampling rate.

        Raises
        ------
        StateError
            If the order was gathered for a smaller budget.
        """
        limit = self.limit(order, budget)
        while True:
            queue = self.below(order, key, limit)
            if queue.cost > budget * (1 + ROUNDING) or math.isinf(limit):
                return queue
            if order.larger_pool is not None:
                raise StateError(f"these queries were gathered for a budget below {budget:g}: gather them again")
            limit = _higher(order, limit, queue.unit_levels.size)

    def below(self, order: Order, key: np.uint64, limit: float) -> Queue:
        """Compute the units (what is judged at once) of a key (seed) with random levels below ``limit``, ascending.

        A level is a random number divided by the sampling rate.
        """
        bundles = _bundles_below(order, np.array([key], dtype=np.uint64), limit)
        queries = np.repeat(bundles.queries, np.diff(bundles.row_places))
        by_level = np.lexsort((queries, bundles.levels))
        levels, owners = bundles.levels[by_level], queries[by_level]
        # places of one query with the same level are one unit: flag the first of each
        firsts = (np.diff(levels, prepend=-1.0) > 0) | (np.diff(owners, prepend=-1) != 0)
        ranks = np.empty(by_level.size, np.int64)
        ranks[by_level] = np.cumsum(firsts) - 1
        unit_queries, unit_costs = owners[firsts], np.zeros(np.count_nonzero(firsts))
        np.add.at(unit_costs, ranks, order.costs[bundles.places])
        # the overhead of opening a query is paid with its first unit
        turned_to, first_units = np.unique(unit_queries, return_index=True)
        unit_costs[first_units] += order.overheads[turned_to]
        return Queue(
            order=order,
            limit=limit,
            places=bundles.places,
            place_levels=bundles.levels,
            ranks=ranks,
            unit_queries=unit_queries,
            unit_costs=unit_costs,
            unit_levels=levels[firsts],
        )

    def samples(
        self, order: Order, keys: NDArray[np.uint64], budgets: Floats, limit: float
    ) -> Iterator[tuple[Ints, list[Selections]]]:
        """Draw the samples of many keys (seeds) at many budgets at once, as `drawn` does for one.

        Parameters
        ----------
        keys : ndarray of uint64, shape (n_keys,)
        budgets : ndarray, shape (n_budgets,)
            In mean items (the mean item costs 1).
        limit : float
            Level (random number over sampling rate) up to which to search first: `Levels.limit` for the largest budget.

        Yields
        ------
        indices : ndarray of int64
            A group of keys, as indices into ``keys``; the groups together cover all keys.
        selections : list of Selections
            For each budget, the selections of the keys of this group.
        """
        todo = np.arange(keys.size)
        while todo.size:
            bundles = _bundles_below(order, keys[todo], limit)
            levels = np.empty((todo.size, budgets.size))  # level at which each budget ends, infinite if it pays for all
            kernel.settle(bundles, order.kernel_arrays, budgets * (1 + ROUNDING), levels)
            is_done = np.isfinite(levels[:, -1]) | math.isinf(limit)
            levels[~is_done] = 0.0  # level 0 selects nothing: these keys are repeated with a higher limit
            yield todo[is_done], [_selected(bundles, order, column, is_done) for column in levels.T.copy()]
            todo, limit = todo[~is_done], _higher(order, limit, bundles.places.size // todo.size)


def _bundles_below(order: Order, keys: NDArray[np.uint64], limit: float) -> BundlesBelow:
    """Compute, for each key (seed), all places (items in judging order) whose random level is below ``limit``.

    The size of the output is only known afterwards: arrays are doubled until it fits. A level is a random number
    divided by the sampling rate.
    """
    n_rows, n_places = (int(_ROOM * keys.size * p.sum()) + 16 for p in order.inclusion_probs(limit))
    longest = int(np.diff(order.offsets).max(initial=0))
    while True:
        room = BundlesBelow(
            keys=np.empty(n_rows, np.int64),
            queries=np.empty(n_rows, np.int64),
            row_places=np.zeros(n_rows + 1, np.int64),
            places=np.empty(n_places + longest, np.int64),
            levels=np.empty(n_places + longest),
        )
        n = kernel.come(keys, order.kernel_arrays, limit, room)  # rows written, −1 if they do not fit
        if n >= 0:
            break
        n_rows, n_places = 2 * n_rows, 2 * n_places
    ends = (n, n, n + 1, *2 * [int(room.row_places[n])])
    return BundlesBelow._make(array[:end] for array, end in zip(room, ends, strict=True))


def _higher(order: Order, limit: float, n_units: int) -> float:
    """Return the next level up to which to search for units (items judged at once) to judge, if ``limit`` was too low.

    It is twice the limit, or infinite if the ``n_units`` found are about all.
    """
    return 2 * limit if n_units < order.items.size else math.inf


def _selected(bundles: BundlesBelow, order: Order, levels: Floats, is_done: NDArray[np.bool_]) -> Selections:
    """Select the places (items in judging order) of each finished key (seed) below its level, as rows of `Selections`.

    Parameters
    ----------
    bundles : BundlesBelow
        Candidate places of all keys.
    levels : ndarray, shape (n_keys,)
        Level that each key's sample reaches.
    is_done : ndarray of bool, shape (n_keys,)
        Keys that are finished; the result counts only these.
    """
    costs = np.empty(levels.size)
    # owners: key of each row; only finished keys are numbered in the result
    owners, taken = kernel.take(bundles, order.kernel_arrays, levels, costs)
    return Selections(
        owners=owners if is_done.all() else (np.cumsum(is_done) - 1)[owners],
        queries=taken.queries,
        counts=taken.counts,
        places=taken.places,
        levels=taken.levels,
        costs=costs[is_done],
        thresholds=levels[is_done],
    )


def quarters(budget: float, dearest: float) -> list[float]:
    """List those of 25, 50 and 75 % of a budget that pay for the most expensive unit, whose cost is ``dearest``.

    The sample can be read when these parts of the budget are spent.

    Examples
    --------
    >>> quarters(100, 10), quarters(100, 60), quarters(100, 90)
    ([25.0, 50.0, 75.0], [75.0], [])
    """
    return [end for share in (0.25, 0.5, 0.75) if (end := budget * share) * (1 + ROUNDING) >= dearest]
