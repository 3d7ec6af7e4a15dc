"""What draws with replacement are made from: the queries by the hash of their ids, and how a budget ends them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real

import numpy as np

from activeeval.errors import BudgetError, InputError, StateError
from activeeval.kernels import replication
from activeeval.types import Floats, Ints, Words

ROUNDING = 1e-12
"""Room for the rounding of a sum of costs."""
DRAWS_PER_QUERY = 100
"""Draws with replacement after which a run ends, lest it look for the last query that the budget pays for ever."""


def check_budget(budget: float) -> float:
    """Return a budget that is a positive number."""
    if not isinstance(budget, Real) or isinstance(budget, bool) or not (math.isfinite(budget) and budget > 0):
        raise InputError(f"the budget must be a positive number, got {budget!r}")
    return float(budget)


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
