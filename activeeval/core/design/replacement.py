"""Draws with replacement: queries by the hash of their ids, how a budget ends them, and the scheme of the paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from activeeval.core.design.inputs import DesignInput
from activeeval.core.design.orders import Order, OrderPlaces
from activeeval.core.design.rates import RelativeRates
from activeeval.core.design.readings import Reading
from activeeval.core.design.schemes import ROUNDING, DrawnUnits, Scheme, check_budget, check_pays
from activeeval.core.design.selections import Selection, whole
from activeeval.core.errors import BudgetError, InputError, StateError
from activeeval.core.kernels import replication
from activeeval.core.measures import Target
from activeeval.core.types import Floats, Ints, Words

DRAWS_PER_QUERY = 100
"""Draws with replacement after which a run ends, lest it look for the last query that the budget pays for ever."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReplacementDraws:
    """Queries to draw with replacement. A draw is the place of a uniform number on their cumulated probabilities.

    Attributes
    ----------
    queries : ndarray of int64, shape (n,)
        By the hash of their ids, so that the order of rows does not matter to a draw; −1 stands for what lies between
        those at hand, where these are a part of a larger pool's.
    cumulative : ndarray, shape (n,)
        Σ q up to and with each.
    costs : ndarray, shape (n_queries,)
        λ(x) of the queries at hand, by their index, in mean items.
    size : int
        How many queries there are in all.
    cost, expected_cost : float
        Σ λ and E_q[λ] over all of them.
    """

    queries: Ints
    cumulative: Floats
    costs: Floats
    size: int
    cost: float
    expected_cost: float

    @classmethod
    def of(cls, hashes: Words, sampling_probs: Floats, costs: Floats) -> ReplacementDraws:
        """Return the draws of a whole pool."""
        by_hash = np.argsort(hashes, kind="stable")
        return cls(
            queries=by_hash,
            cumulative=np.cumsum(sampling_probs[by_hash]),
            costs=costs,
            size=costs.size,
            cost=float(costs.sum()),
            expected_cost=float(sampling_probs @ costs),
        )

    def part(self, queries: Ints) -> ReplacementDraws:
        """Return the draws that hold some queries, in ascending order, and know where the rest lie."""
        is_kept = np.zeros(self.costs.size, dtype=np.bool_)
        is_kept[queries] = True
        places = np.flatnonzero(is_kept[self.queries])
        before = np.where(places > 0, self.cumulative[places - 1], 0.0)
        cumulative = np.append(np.column_stack((before, self.cumulative[places])).ravel(), self.cumulative[-1])
        indices = np.full(cumulative.size, -1)
        indices[1::2] = np.searchsorted(queries, self.queries[places])
        # an empty interval at the end would be where a number that exceeds the rounded sum of q falls
        n = indices.size - (places.size > 0 and places[-1] == self.cumulative.size - 1)
        return ReplacementDraws(
            queries=indices[:n],
            cumulative=cumulative[:n],
            costs=self.costs[queries],
            size=self.size,
            cost=self.cost,
            expected_cost=self.expected_cost,
        )

    def is_census(self, budget: float) -> bool:
        """Whether the budget pays for judging every query."""
        return budget * (1 + ROUNDING) >= self.cost

    def n_draws(self, budget: float) -> int:
        """Return how many draws cost the budget on average, n* = Λ / E_q[λ] rounded down.

        Raises
        ------
        BudgetError
            Where the budget does not pay for one expected draw.
        """
        cost, most = self.expected_cost, DRAWS_PER_QUERY * self.size
        if cost == 0:
            return most
        n = int(check_budget(budget) / cost * (1 + ROUNDING))
        if n < 1:
            raise BudgetError(
                f"budget {budget:g} does not pay for one draw, {cost:g} on average",
                budget=budget,
                needed=cost,
                what="one draw ({} on average)",
            )
        return min(n, most)

    def queries_drawn(self, key: np.uint64) -> Iterator[int]:
        """Yield the queries of a key as they are drawn, without end."""
        random = np.random.default_rng(int(key))
        while True:
            query = int(self.queries[replication.locate(self.cumulative, random.random())])
            if query < 0:
                raise StateError("a query came up that was not gathered: gather for a larger budget")
            yield query

    def run(self, key: np.uint64, budget: float, *, expected: bool = False) -> tuple[Ints, float, int | None]:
        """Return the queries that a budget pays for, in the order of their draws, what they cost, and what ended it.

        Parameters
        ----------
        expected : bool
            False (default): until a query comes up that the budget, which is never overspent, cannot pay for; that
            is what ended it. True: n* = Λ / E_q[λ] draws, which cost the budget on average.
        """
        if not expected and self.is_census(budget):
            return self.queries[self.queries >= 0], self.cost, None
        most = self.n_draws(budget) if expected else DRAWS_PER_QUERY * self.size
        limit = math.inf if expected else budget * (1 + ROUNDING)
        drawn: list[int] = []
        is_new, spent, last = np.ones(self.costs.size, dtype=np.bool_), 0.0, None
        queries = self.queries_drawn(key)
        while len(drawn) < most:
            query = next(queries)
            cost = float(self.costs[query]) if is_new[query] else 0.0
            if spent + cost > limit:
                last = query
                break
            drawn.append(query)
            is_new[query] = False
            spent += cost
        return np.array(drawn, dtype=np.int64), spent, last


_DECK = ("queries", "cumulative", "costs")
"""Fields of draws that a file holds as arrays of their own."""


@dataclass(frozen=True, slots=True, eq=False)
class Replacement(Scheme):
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
    title: ClassVar[str] = "with replacement"
    is_with_replacement: ClassVar[bool] = True
    answers_several: ClassVar[bool] = False
    can_be_topped_up: ClassVar[bool] = False
    is_planned: ClassVar[bool] = False
    takes_known: ClassVar[bool] = False

    @classmethod
    def made(cls, draw_probs: Callable[[], Floats]) -> Self:
        """Return the draws of a pool."""
        return cls(draw_probs())

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_queries: int) -> Self:
        """Return the draws that `arrays` made arrays of."""
        probs, draws = arrays["sampling_probs"], None
        if probs.shape != (n_queries,) or not (probs > 0).all():
            raise ValueError("its sampling probabilities do not fit its pool")
        if "gathered" in arrays:
            size, cost, expected_cost = arrays["deck"].tolist()
            places = {name: arrays[f"deck.{name}"] for name in _DECK}
            draws = ReplacementDraws(**places, size=int(size), cost=cost, expected_cost=expected_cost)
        return cls(probs, draws)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return q, and what is drawn from of a larger pool."""
        arrays: dict[str, NDArray[Any]] = {"sampling_probs": self.sampling_probs}
        if self.draws is not None:
            arrays |= {f"deck.{name}": getattr(self.draws, name) for name in _DECK}
            arrays["deck"] = np.array([self.draws.size, self.draws.cost, self.draws.expected_cost])
        return arrays

    @classmethod
    def check_asked(cls, name: str, targets: Sequence[Target], known: Ints) -> None:
        """Raise InputError unless one target of all queries is asked, and no grade known."""
        if len(targets) > 1 or targets[0].within is not None or (known >= 0).any():
            raise InputError(f"method {name!r} draws with replacement: one target of all queries, no known grades")

    @classmethod
    def places(cls, places: OrderPlaces) -> OrderPlaces:
        """Return places all of which are wanted: a query is judged whole."""
        return places.all_wanted()

    @classmethod
    def rates(cls, design_input: DesignInput, weights: Sequence[float], *, is_optimal: bool) -> RelativeRates:
        """Return rates that are all alike: q says who is drawn."""
        return design_input.rates(weights, alike=True)

    @classmethod
    def columns(cls, design_input: DesignInput) -> tuple[Floats, ...]:
        """Return what q follows from."""
        return design_input.draw_columns

    @classmethod
    def estimator(cls, *, is_fitted: bool) -> str:
        """Return the ratio, of every method."""
        return "ratio"

    @classmethod
    def questions(cls, targets: Sequence[Target]) -> list[Sequence[Target]]:
        """Return targets one by one: each has a sample of its own."""
        return [[target] for target in targets]

    def draws_of(self, order: Order) -> ReplacementDraws:
        """Return what is drawn from."""
        if self.draws is not None:
            return self.draws
        costs = np.bincount(order.place_queries, order.costs, minlength=order.n_queries) + order.overheads
        return ReplacementDraws.of(order.query_hashes, self.sampling_probs, costs)

    def cost(self, order: Order) -> float:
        """Return what judging every query costs, in mean items."""
        return self.draws_of(order).cost

    def least(self, order: Order) -> float:
        """Return the smallest budget that works, in mean items: it pays for the dearest single query."""
        return float(self.draws_of(order).costs.max())

    def ends(
        self, name: str, order: Order, budget: float, blocks: Sequence[float] | None, *, expected: bool
    ) -> tuple[float, ...]:
        """Return the one end that was planned, once it pays for the dearest query, or for a draw on average.

        With less, the queries that can be judged at all would depend on the budget, and the estimate would be biased
        towards cheap queries.
        """
        draws = self.draws_of(order)
        if expected:
            draws.n_draws(budget)
        elif blocks:
            raise InputError(f"{name!r} draws with replacement to one planned end: it has no blocks before that")
        else:
            check_pays(budget, self.least(order), order, draws.costs, "one query may take")
        return (float(budget),)

    def inclusion_probs(self, order: Order, budget: float) -> tuple[Floats, Floats]:
        """Return q of every query, and that of the query of every place."""
        return self.sampling_probs, self.sampling_probs[order.place_queries]

    def item_probs(self, order: Order, selection: Selection, level: float) -> Floats:
        """Return the probability with which the query of each place is in one draw or more of a selection."""
        return (1 - (1 - self.sampling_probs) ** selection.queries.size)[order.place_queries]

    def mean_size(self, query_probs: Floats) -> float:
        """Return the queries of one draw."""
        return 1.0

    def drawn(self, order: Order, key: np.uint64, blocks: Sequence[float], *, expected: bool) -> DrawnUnits:
        """Return the queries of a key in the order in which they come up first; they are read all together."""
        draws = self.draws_of(order)
        queries, spent, _ = draws.run(key, blocks[-1], expected=expected)
        distinct, first = np.unique(queries, return_index=True)
        new = queries[np.sort(first)]
        new = new[np.diff(order.offsets)[new] > 0]
        return DrawnUnits(
            queries=new,
            levels=[math.nan] * new.size,
            costs=draws.costs[new],
            places_of=lambda unit: np.arange(order.offsets[new[unit]], order.offsets[new[unit] + 1]),
            selection=lambda n_units: whole(order, queries, spent),
            block_ends=(new.size,),
            ended=f"{queries.size} draws of {distinct.size} queries are done",
        )

    def rows(self, reading: Reading, selection: Selection) -> Ints:
        """Return the query of each draw."""
        return selection.queries

    @classmethod
    def interval(cls, kind: str) -> str:
        """Return the t interval, the only one that draws are replayed for."""
        return "t"

    @classmethod
    def on_average(cls, expected: bool) -> bool:
        """Return what is asked for."""
        return expected
