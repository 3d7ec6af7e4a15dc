"""Draws of queries with replacement: the drawing by hashed ids, its end under a budget, and the paper's scheme.

Notation: q(x) is the draw probability of query x, λ(x) the cost of judging it whole in mean items (the mean cost of an
item of the pool is 1), Λ the budget. A key is the seed of one sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from activeeval.core.design.inputs import DesignInput
from activeeval.core.design.order_places import OrderPlaces
from activeeval.core.design.orders import Order
from activeeval.core.design.rates import RelativeRates
from activeeval.core.design.readings import Reading
from activeeval.core.design.schemes import ROUNDING, DrawnUnits, Scheme, check_budget, check_pays
from activeeval.core.design.selections import Selection, whole
from activeeval.core.errors import BudgetError, InputError, StateError
from activeeval.core.kernels import replication
from activeeval.core.measures import Target
from activeeval.core.types import Floats, Ints, Words

DRAWS_PER_QUERY = 100
"""Largest number of draws per query of the pool: ends the search for a last affordable query of tiny probability."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReplacementDraws:
    """Queries to draw with replacement: each draw locates a uniform random number on their cumulated probabilities.

    Attributes
    ----------
    queries : ndarray of int64, shape (n,)
        Query indices ordered by the hash of their ids, so that draws do not depend on the order of rows; −1 for
        gaps between the gathered queries of a larger pool.
    cumulative : ndarray, shape (n,)
        Σ q up to and including each.
    costs : ndarray, shape (n_queries,)
        λ(x) of the gathered queries, by their index, in mean items.
    size : int
        Number of queries of the whole pool.
    cost, expected_cost : float
        Σ λ and E_q[λ] over the whole pool.
    """

    queries: Ints
    cumulative: Floats
    costs: Floats
    size: int
    cost: float
    expected_cost: float

    @classmethod
    def of(cls, hashes: Words, sampling_probs: Floats, costs: Floats) -> ReplacementDraws:
        """Build the draws of a whole pool; all arguments have shape (n_queries,), ``costs`` are in mean items.

        ``hashes`` of query ids determine the order of queries on the unit interval of a draw. The mean item costs 1.
        """
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
        """Restrict the draws to some queries, given as ascending indices; a draw of another query is marked −1."""
        is_kept = np.zeros(self.costs.size, dtype=np.bool_)
        is_kept[queries] = True
        places = np.flatnonzero(is_kept[self.queries])
        before = np.where(places > 0, self.cumulative[places - 1], 0.0)
        # two entries for each kept query: the gap up to its interval, then the query itself; and a last gap up to 1
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
        """True if the budget, in mean items (the mean item costs 1), pays for judging every query."""
        return budget * (1 + ROUNDING) >= self.cost

    def n_draws(self, budget: float) -> int:
        """Compute the number of draws whose expected cost is the budget Λ: n* = Λ / E_q[λ], rounded down.

        λ is the cost of judging a query whole, in mean items (the mean item costs 1), and q the draw probability. At
        most `DRAWS_PER_QUERY` draws per query of the pool; that many if judging costs nothing.

        Raises
        ------
        BudgetError
            If the budget does not pay for one draw of average cost.
        InputError
            If the budget is not a positive number.
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
        """Yield the queries (indices) that a key (seed) draws, in order and without end.

        Raises
        ------
        StateError
            If a draw falls on a query that was not gathered from the larger pool.
        """
        random = np.random.default_rng(int(key))
        while True:
            query = int(self.queries[replication.locate(self.cumulative, random.random())])
            if query < 0:
                raise StateError("the sample needs a query that was not gathered: gather for a larger budget")
            yield query

    def run(self, key: np.uint64, budget: float, *, expected: bool = False) -> tuple[Ints, float, int | None]:
        """Draw queries within a budget.

        Parameters
        ----------
        key : uint64
            Seed of the draws.
        budget : float
            In mean items (the mean item costs 1).
        expected : bool
            False (default): the run ends at the first query that the budget, which is never overspent, cannot pay
            for. True: as many draws as cost the budget on average: the budget over the mean cost of a draw.

        Returns
        -------
        queries : ndarray of int64
            In the order of the draws, with repetitions; every query once if the budget pays for all.
        cost : float
            Of judging them, in mean items; a repeated query costs nothing.
        last : int or None
            The query that the budget could not pay for; None if no such query ended the run.

        Raises
        ------
        BudgetError
            If the budget does not pay for one average draw.
        StateError
            If a draw falls on a query that was not gathered from the larger pool.
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
"""Fields of `ReplacementDraws` stored as arrays in a sample's file."""


@dataclass(frozen=True, slots=True, eq=False)
class Replacement(Scheme):
    """The paper's scheme: queries drawn independently with probabilities q, judged whole; repeated draws are free.

    Attributes
    ----------
    sampling_probs : ndarray, shape (n_queries,)
        q(x) over the whole pool.
    draws : ReplacementDraws or None
        The draws of the larger pool, if the order was gathered from one.
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
        """Build the scheme of a pool; ``draw_probs`` computes the draw probabilities q, shape (n_queries,)."""
        return cls(draw_probs())

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_queries: int) -> Self:
        """Rebuild the scheme from the named arrays of a sample's file; raise ValueError if they do not fit the pool."""
        probs, draws = arrays["sampling_probs"], None
        if probs.shape != (n_queries,) or not (probs > 0).all():
            raise ValueError("its sampling probabilities do not fit its pool")
        if "gathered" in arrays:
            # of the larger pool that the queries were gathered from: number of queries, Σ λ and E_q[λ]
            size, cost, expected_cost = arrays["deck"].tolist()
            places = {name: arrays[f"deck.{name}"] for name in _DECK}
            draws = ReplacementDraws(**places, size=int(size), cost=cost, expected_cost=expected_cost)
        return cls(probs, draws)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return q, and the draws if gathered from a larger pool, as named arrays for a sample's file."""
        arrays: dict[str, NDArray[Any]] = {"sampling_probs": self.sampling_probs}
        if self.draws is not None:
            arrays |= {f"deck.{name}": getattr(self.draws, name) for name in _DECK}
            arrays["deck"] = np.array([self.draws.size, self.draws.cost, self.draws.expected_cost])
        return arrays

    @classmethod
    def check_asked(cls, name: str, targets: Sequence[Target], known: Ints) -> None:
        """Raise InputError unless there is one target, over all queries, and no known grade."""
        if len(targets) > 1 or targets[0].within is not None or (known >= 0).any():
            raise InputError(f"method {name!r} draws with replacement: one target of all queries, no known grades")

    @classmethod
    def places(cls, places: OrderPlaces) -> OrderPlaces:
        """Mark all places (items in the judging order) as wanted, because queries are judged whole."""
        return places.all_wanted()

    @classmethod
    def rates(cls, design_input: DesignInput, weights: Sequence[float], *, is_optimal: bool) -> RelativeRates:
        """Return equal rates, because the draw probabilities q replace them."""
        return design_input.rates(weights, alike=True)

    @classmethod
    def columns(cls, design_input: DesignInput) -> tuple[Floats, ...]:
        """Return mean, variance and cost of every query, from which q is computed; shape (n_queries,) each."""
        return design_input.draw_columns

    @classmethod
    def estimator(cls, *, is_fitted: bool) -> str:
        """Return "ratio", the estimator of every method with this scheme."""
        return "ratio"

    @classmethod
    def questions(cls, targets: Sequence[Target]) -> list[Sequence[Target]]:
        """Return targets one by one: each needs a sample of its own."""
        return [[target] for target in targets]

    def draws_of(self, order: Order) -> ReplacementDraws:
        """Return the queries of an order with draw probabilities and costs; those stored for a larger pool if any."""
        if self.draws is not None:
            return self.draws
        costs = np.bincount(order.place_queries, order.costs, minlength=order.n_queries) + order.overheads
        return ReplacementDraws.of(order.query_hashes, self.sampling_probs, costs)

    def cost(self, order: Order) -> float:
        """Return the cost of judging every query, in mean items (the mean item costs 1)."""
        return self.draws_of(order).cost

    def least(self, order: Order) -> float:
        """Return the smallest valid budget, in mean items: it pays for the most expensive query.

        The mean item costs 1.
        """
        return float(self.draws_of(order).costs.max())

    def ends(
        self, name: str, order: Order, budget: float, blocks: Sequence[float] | None, *, expected: bool
    ) -> tuple[float, ...]:
        """Check the budget and return it as the only one at which the sample can be read.

        ``blocks``, requested ends before the last, must be None or empty. ``expected`` is True if the budget is met on
        average. ``name`` is the method's name for errors. With a budget below the cost of the most expensive query, the
        set of queries that can be judged would depend on the budget, and the estimate would be biased towards cheap
        queries.

        Raises
        ------
        BudgetError
            If the budget does not pay for the most expensive query or, if it is an expected one, for an average draw.
        InputError
            If blocks are requested.
        """
        draws = self.draws_of(order)
        if expected:
            draws.n_draws(budget)
        elif blocks:
            raise InputError(f"{name!r} draws with replacement to one planned end: it has no blocks before that")
        else:
            check_pays(budget, self.least(order), order, draws.costs, "the most expensive query")
        return (float(budget),)

    def inclusion_probs(self, order: Order, budget: float) -> tuple[Floats, Floats]:
        """Return the draw probability q of every query, (n_queries,), and of every place's query, (n_places,).

        A place is an item in the judging order of its query.
        """
        return self.sampling_probs, self.sampling_probs[order.place_queries]

    def item_probs(self, order: Order, selection: Selection, level: float) -> Floats:
        """Compute the probability that each place's query is drawn at least once, by the draws of a selection.

        The result has shape (n_places,), a place is an item in the judging order of its query. Draws have no ``level``.
        """
        return (1 - (1 - self.sampling_probs) ** selection.queries.size)[order.place_queries]

    def mean_size(self, query_probs: Floats) -> float:
        """Return 1, the number of queries of one draw."""
        return 1.0

    def drawn(self, order: Order, key: np.uint64, blocks: Sequence[float], *, expected: bool) -> DrawnUnits:
        """Draw the queries of a key (seed); each distinct one is a unit to judge, in order of the first draw.

        The budget is the last of ``blocks``; the sample can only be read when all units are judged.
        """
        draws = self.draws_of(order)
        # repeated draws count in the estimate, but are judged once
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
        """Return the query of each draw: a row of the estimator, also if it was drawn before."""
        return selection.queries

    @classmethod
    def interval(cls, kind: str) -> str:
        """Return "t", the only kind of interval for simulated draws with replacement."""
        return "t"

    @classmethod
    def on_average(cls, expected: bool) -> bool:
        """Return ``expected`` unchanged: both kinds of budget are possible."""
        return expected
