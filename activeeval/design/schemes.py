"""How an order is gone through: unit by unit at rising levels, or query by query with replacement."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from activeeval.design.orders import Order
from activeeval.design.replacement import ROUNDING, ReplacementDraws, check_budget
from activeeval.design.selections import Selection, Selections
from activeeval.errors import BudgetError, InputError, StateError
from activeeval.kernels import levels as kernel
from activeeval.kernels.bundles import Come
from activeeval.results import Caution
from activeeval.types import Floats, Ints

_ROOM = 1.2
"""How much more than is expected to come there is room for at first."""
_AHEAD = 3.0
"""Standard deviations of the cost, were all queries alike, by which levels are looked up beyond the budget at first."""


def ascending(budgets: Sequence[float]) -> Floats:
    """Return budgets as an array once they ascend."""
    array = np.asarray(budgets, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or np.any(np.diff(array) <= 0):
        raise InputError(f"budgets must be given once each, in ascending order, got {list(budgets)}")
    return array


@dataclass(frozen=True, kw_only=True, eq=False)
class Queue:
    """The units of an order below a level, lowest first, for one key.

    Attributes
    ----------
    order : Order
    limit : float
        All units below it are here.
    places, place_levels : ndarray
        Places that have come, query by query, and at which level.
    ranks : ndarray of int64
        The rank of each place's unit.
    unit_queries, unit_costs, unit_levels : ndarray, shape (n_units,)
        By level.
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
        """What all units cost."""
        return float(self.spent[-1]) if self.spent.size else 0.0

    def paid(self, budgets: Floats) -> Ints:
        """Return how many units each budget pays for: up to the first that it cannot pay."""
        return np.searchsorted(self.spent, budgets * (1 + ROUNDING), side="right")

    def level_after(self, n_units: int) -> float:
        """Return T once ``n_units`` are taken: the level of the next; infinite where there is none."""
        return float(self.unit_levels[n_units]) if n_units < self.unit_levels.size else math.inf

    def selection(self, n_units: int) -> Selection:
        """Return the selection of the lowest units, with the level of the first that is left out."""
        level = self.level_after(n_units)
        places = self.places[self.place_levels < level]
        queries, counts = np.unique(self.order.place_queries[places], return_counts=True)
        cost = self.order.cost_of(queries, counts, places)
        return Selection(queries=queries, counts=counts, places=places, level=level, cost=cost)

    def places_of(self, unit: int) -> Ints:
        """Return the places of a unit, by its rank."""
        by_rank, starts = self._by_rank
        return self.places[by_rank[starts[unit] : starts[unit + 1]]]

    @cached_property
    def _by_rank(self) -> tuple[Ints, Ints]:
        sizes = np.bincount(self.ranks, minlength=self.unit_levels.size)
        return np.argsort(self.ranks, kind="stable"), np.concatenate(([0], np.cumsum(sizes)))

    @cached_property
    def spent(self) -> Floats:
        """What has been spent once each unit is taken."""
        return np.cumsum(self.unit_costs)


@dataclass(frozen=True, slots=True)
class Levels:
    """Every unit has a level, independent of the others; units are judged upward until the budget is spent.

    Examples
    --------
    >>> from activeeval import DCG, METHODS, QueryPool, Rankings, Target
    >>> pool = QueryPool(["q1", "q2"], [0, 2, 4], list("abab"))
    >>> target = Target(DCG([0, 1]), Rankings.from_scores(pool, [2, 1, 2, 1]))
    >>> design = METHODS["items"].design(target, np.full((4, 2), 0.5), budget=3)
    >>> Levels().queue(design.order, np.uint64(7), 3.0).unit_levels.size >= 3
    True
    """

    @property
    def can_be_topped_up(self) -> bool:
        """Whether a larger budget's sample holds a smaller one's."""
        return True

    def least(self, order: Order) -> float:
        """Return the smallest budget that works, in mean items: it pays for the dearest unit that can occur."""
        return min(float(order.dearest_units.max(initial=0.0)), order.cost)

    def check(self, order: Order, budget: float) -> None:
        """Raise BudgetError where a unit that can occur costs more than the budget: the estimate would be biased."""
        dearest = order.dearest_units
        largest = float(dearest.max(initial=0.0))
        if check_budget(budget) * (1 + ROUNDING) < self.least(order):
            query = repr(order.pool.query_texts[int(np.argmax(dearest))])
            raise BudgetError(
                f"budget {budget:g} is below what may have to be judged at once, {largest:g} for {query}",
                budget=budget,
                needed=largest,
            )

    def caution(self, order: Order, budget: float) -> Caution | None:
        """Return what to be wary of: below the two dearest units the variance of the estimate has no bound."""
        if order.cost <= budget:
            return None
        two = order.two_dearest
        return None if budget >= two else Caution("careful", "two units", {"budget": budget, "needed": two})

    def limit(self, order: Order, budget: float) -> float:
        """Return the level to look up to for a budget: infinite where it pays for everything."""
        if order.larger_pool is not None:
            return order.larger_pool.horizon
        if budget * (1 + ROUNDING) >= order.cost:
            return math.inf
        n_queries = float(order.inclusion_probs(order.level_for(budget))[0].sum())
        return order.level_for(budget * (1 + _AHEAD / math.sqrt(max(n_queries, 1.0))))

    def queue(self, order: Order, key: np.uint64, budget: float, limit: float | None = None) -> Queue:
        """Return the units of a key, all that the budget pays for and the first that it does not.

        Parameters
        ----------
        limit : float, optional
            `limit` of the order and the budget, where that is at hand.

        Raises
        ------
        StateError
            Where the order was gathered for a smaller budget.
        """
        limit = self.limit(order, budget) if limit is None else limit
        while True:
            queue = self.below(order, key, limit)
            if queue.cost > budget * (1 + ROUNDING) or math.isinf(limit):
                return queue
            if order.larger_pool is not None:
                raise StateError(f"these queries were gathered for a smaller budget than {budget:g}: gather for it")
            limit = _higher(order, limit, queue.unit_levels.size)

    def below(self, order: Order, key: np.uint64, limit: float) -> Queue:
        """Return the units of a key below a level."""
        come = _come(order, np.array([key], dtype=np.uint64), limit)
        queries = np.repeat(come.queries, np.diff(come.row_places))
        by_level = np.lexsort((queries, come.levels))
        levels, owners = come.levels[by_level], queries[by_level]
        firsts = (np.diff(levels, prepend=-1.0) > 0) | (np.diff(owners, prepend=-1) != 0)
        ranks = np.empty(by_level.size, np.int64)
        ranks[by_level] = np.cumsum(firsts) - 1
        unit_queries, unit_costs = owners[firsts], np.zeros(np.count_nonzero(firsts))
        np.add.at(unit_costs, ranks, order.costs[come.places])
        turned_to, first_units = np.unique(unit_queries, return_index=True)
        unit_costs[first_units] += order.overheads[turned_to]
        return Queue(
            order=order,
            limit=limit,
            places=come.places,
            place_levels=come.levels,
            ranks=ranks,
            unit_queries=unit_queries,
            unit_costs=unit_costs,
            unit_levels=levels[firsts],
        )

    def samples(
        self, order: Order, keys: NDArray[np.uint64], budgets: Floats, limit: float
    ) -> Iterator[tuple[Ints, list[Selections]]]:
        """Yield which keys, and what every budget pays for under each of them: `Queue.selection` of all keys at once.

        Parameters
        ----------
        limit : float
            `limit` of the order and the largest budget.
        """
        todo = np.arange(keys.size)
        while todo.size:
            come = _come(order, keys[todo], limit)
            levels = np.empty((todo.size, budgets.size))
            kernel.settle(come, order.kernel_arrays, budgets * (1 + ROUNDING), levels)
            is_done = np.isfinite(levels[:, -1]) | math.isinf(limit)
            levels[~is_done] = 0.0  # nothing lies below
            yield todo[is_done], [_selected(come, order, column, is_done) for column in levels.T.copy()]
            todo, limit = todo[~is_done], _higher(order, limit, come.places.size // todo.size)


def _come(order: Order, keys: NDArray[np.uint64], limit: float) -> Come:
    """Return all that comes below a level under each key."""
    n_rows, n_places = (int(_ROOM * keys.size * p.sum()) + 16 for p in order.inclusion_probs(limit))
    longest = int(np.diff(order.offsets).max(initial=0))
    while True:
        room = Come(
            keys=np.empty(n_rows, np.int64),
            queries=np.empty(n_rows, np.int64),
            row_places=np.zeros(n_rows + 1, np.int64),
            places=np.empty(n_places + longest, np.int64),
            levels=np.empty(n_places + longest),
        )
        n = kernel.come(keys, order.kernel_arrays, limit, room)
        if n >= 0:
            break
        n_rows, n_places = 2 * n_rows, 2 * n_places
    ends = (n, n, n + 1, *2 * [int(room.row_places[n])])
    return Come._make(array[:end] for array, end in zip(room, ends, strict=True))


def _higher(order: Order, limit: float, n_units: int) -> float:
    """Return the level to look up to where a limit, with so many units below it, was too low."""
    return 2 * limit if n_units < order.items.size else math.inf


def _selected(come: Come, order: Order, levels: Floats, is_done: NDArray[np.bool_]) -> Selections:
    costs = np.empty(levels.size)
    owners, taken = kernel.take(come, order.kernel_arrays, levels, costs)
    return Selections(
        owners=owners if is_done.all() else (np.cumsum(is_done) - 1)[owners],
        queries=taken.queries,
        counts=taken.counts,
        places=taken.places,
        levels=taken.levels,
        costs=costs[is_done],
        thresholds=levels[is_done],
    )


@dataclass(frozen=True, slots=True, eq=False)
class Replacement:
    """The paper's draws: queries drawn independently with probabilities q, judged whole; one drawn again is free.

    Attributes
    ----------
    sampling_probs : ndarray, shape (n_queries,)
        q(x) over the whole pool.
    draws : ReplacementDraws or None
        What is drawn from where the order was gathered of a larger pool.
    """

    sampling_probs: Floats
    draws: ReplacementDraws | None = None

    @property
    def can_be_topped_up(self) -> bool:
        """Whether a larger budget's sample holds a smaller one's; the paper's estimator asks for one planned end."""
        return False

    def draws_of(self, order: Order) -> ReplacementDraws:
        """Return what is drawn from."""
        if self.draws is not None:
            return self.draws
        costs = np.bincount(order.place_queries, order.costs, minlength=order.n_queries) + order.overheads
        return ReplacementDraws.of(order.query_hashes, self.sampling_probs, costs)

    def least(self, order: Order) -> float:
        """Return the smallest budget that works, in mean items: it pays for the dearest single query."""
        return float(self.draws_of(order).costs.max())

    def check(self, order: Order, budget: float) -> None:
        """Raise BudgetError unless the budget pays for the dearest single query.

        With less, the queries that can be judged at all would depend on the budget, and the
        estimate would be biased towards cheap queries.
        """
        costs, dearest = self.draws_of(order).costs, self.least(order)
        if check_budget(budget) * (1 + ROUNDING) < dearest:
            query = repr(order.pool.query_texts[int(np.argmax(costs))])
            raise BudgetError(
                f"budget {budget:g} is below what one query may take, {dearest:g} for {query}",
                budget=budget,
                needed=dearest,
            )

    def caution(self, order: Order, budget: float) -> Caution | None:
        """Return what to be wary of; nothing."""
        return None


Scheme = Levels | Replacement


def quarters(scheme: Scheme, order: Order, budget: float) -> tuple[float, ...]:
    """Return where blocks end: quarters of the budget that pay for the dearest unit, and the budget itself."""
    if not scheme.can_be_topped_up:
        return (budget,)
    least = float(order.dearest_units.max(initial=0.0))
    ends = [budget * share for share in (0.25, 0.5, 0.75) if budget * share * (1 + ROUNDING) >= least]
    return (*ends, budget)


def check_blocks(scheme: Scheme, order: Order, budgets: Sequence[float]) -> tuple[float, ...]:
    """Return planned ends of blocks once they ascend and each pays for the dearest unit; draws have one."""
    ends = tuple(float(b) for b in budgets)
    if not ends or any(b <= a for a, b in pairwise(ends)):
        raise InputError(f"the budgets of blocks must ascend, got {list(budgets)}")
    if len(ends) > 1 and not scheme.can_be_topped_up:
        raise InputError(f"draws with replacement have one planned end, got blocks that end at {list(ends)}")
    scheme.check(order, ends[0])
    return ends


def whole(order: Order, queries: Ints, cost: float, level: float = math.inf) -> Selection:
    """Return the selection of whole queries."""
    counts = np.diff(order.offsets)[queries]
    first = order.offsets[queries]
    places = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    return Selection(queries=queries, counts=counts, places=places, level=level, cost=cost)
