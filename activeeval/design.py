"""Whom to judge, how much of it, and with what probability.

A design is data: sampling probabilities over queries, for each query the items to judge in their
order with the probability that each is judged once its query is drawn, and what that costs. It
also carries what its estimator needs, so that no estimator meets a sample it does not fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.errors import BudgetError, InputError
from activeeval.measures import Target
from activeeval.pool import QueryPool

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LEAST_ROOT = 1e-6
_ROUNDING = 1e-12
_CENSUS_TOLERANCE = 1e-9
_DRAWS_PER_QUERY = 100


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """A sampling design for one target.

    Attributes
    ----------
    name : str
        The method that made it.
    estimator : str
        The estimator that its sample is for.
    target : Target
    sampling_probs : ndarray, shape (n_queries,)
        q(x), the probability that one draw takes the query; sums to 1.
    offsets, items : ndarray
        Items to judge for each query, in judging order, as positions on the flat item axis.
    item_probs : ndarray, shape (items.size,)
        Probability that an item is judged once its query is drawn; 1 judges the query whole.
    predictions, variances : ndarray, shape (n_queries,)
        E[L | x] and Var[L | x] under the grade model; NaN where the design used none.
    """

    name: str
    estimator: str
    target: Target
    sampling_probs: Floats
    offsets: Ints
    items: Ints
    item_probs: Floats
    predictions: Floats
    variances: Floats

    @property
    def pool(self) -> QueryPool:
        """The pool that is sampled."""
        return self.target.pool

    @property
    def query_probs(self) -> Floats:
        """p(x), the query distribution."""
        return self.pool.query_probs

    @property
    def importance_weights(self) -> Floats:
        """p(x) / q(x), shape (n_queries,)."""
        return self.query_probs / self.sampling_probs

    @property
    def largest_weight(self) -> float:
        """The largest p/q: a draw at a weight of hundreds dominates an estimate when it comes."""
        return float(self.importance_weights.max())

    @property
    def item_counts(self) -> Ints:
        """Number of items to judge for each query."""
        return np.diff(self.offsets)

    @property
    def costs(self) -> Floats:
        """λ(x), the cost of judging each query whole; 0 where there is nothing to judge."""
        return judging_costs(self.pool, self.offsets, self.items)

    @property
    def expected_cost(self) -> float:
        """E_q[λ], the mean cost of a draw."""
        return float(self.sampling_probs @ self.costs)

    def n_draws(self, budget: float) -> int:
        """Return n* = Λ / E_q[λ], rounded down and at most `most_draws`: draws that cost the budget on average.

        Raises
        ------
        BudgetError
            Where the budget does not pay for one expected draw.
        """
        n = int(check_budget(budget) / self.expected_cost * (1 + _ROUNDING))
        if n < 1:
            raise BudgetError(
                f"budget {budget:g} does not pay for one draw, which costs {self.expected_cost:g} on average",
                budget=budget,
                needed=self.expected_cost,
            )
        return min(n, self.most_draws)

    @property
    def most_draws(self) -> int:
        """Draws after which any run ends, lest it look for the last query that the budget pays for ever."""
        return _DRAWS_PER_QUERY * self.pool.n_queries

    def hard_limit(self, budget: float) -> float:
        """Return what may be spent: the budget, with room for the rounding of a sum of costs."""
        return check_budget(budget) * (1 + _ROUNDING)

    def is_census(self, budget: float) -> bool:
        """Whether a hard budget pays for judging the whole pool."""
        return bool(check_budget(budget) >= self.costs.sum() * (1 - _CENSUS_TOLERANCE))

    def check_hard_budget(self, budget: float) -> None:
        """Raise BudgetError unless a hard budget pays for the dearest single query.

        With less, the queries that can be judged at all would depend on the budget, and the
        estimate would be biased towards cheap queries.
        """
        dearest = float(self.costs.max())
        if self.hard_limit(budget) < dearest:
            query = str(self.pool.query_ids[int(np.argmax(self.costs))])
            raise BudgetError(
                f"budget {budget:g} is below the cost of the dearest query, {dearest:g} for {query!r}",
                budget=budget,
                needed=dearest,
            )


def check_budget(budget: float) -> float:
    """Return a budget that is a positive number."""
    if not (np.isfinite(budget) and budget > 0):
        raise InputError(f"the budget must be a positive number, got {budget!r}")
    return float(budget)


def judging_costs(pool: QueryPool, offsets: Ints, items: Ints) -> Floats:
    """Return λ(x): overhead plus the costs of the items to judge, 0 where there is none to judge."""
    counts = np.diff(offsets)
    queries = np.repeat(np.arange(pool.n_queries), counts)
    costs = np.bincount(queries, pool.item_costs[items], minlength=pool.n_queries)
    return np.where(counts > 0, costs + pool.query_costs, 0.0)


def optimal_sampling_probs(query_probs: ArrayLike, spread: ArrayLike, costs: ArrayLike) -> Floats:
    """Return q ∝ p sqrt(spread / λ), Theorems 1 and 2 and Corollary 1, eqs. (16), (17).

    Parameters
    ----------
    query_probs : array of float, shape (n_queries,)
        p(x).
    spread : array of float, shape (n_queries,)
        E[(L − R_θ)² | x; θ] or E[(δ − Δ_θ)² | x; θ]. Its root counts as at least a millionth of the
        largest, so that rounding excludes nobody; where all are 0, q ∝ p / sqrt(λ). A model that is
        sure of a query (as of equal lists where Δ_θ is near 0) leaves it a tiny q and a huge weight:
        `defended` bounds it.
    costs : array of float, shape (n_queries,)
        λ(x), positive.

    Returns
    -------
    ndarray, shape (n_queries,)
        Sums to 1, positive wherever p is.

    Examples
    --------
    >>> optimal_sampling_probs([0.5, 0.5], [4.0, 1.0], [1.0, 1.0]).round(3)
    array([0.667, 0.333])
    """
    root = np.sqrt(np.asarray(spread, dtype=np.float64))
    largest = root.max()
    root = np.maximum(root, _LEAST_ROOT * largest) if largest > 0 else np.ones_like(root)
    density = np.asarray(query_probs, dtype=np.float64) * root / np.sqrt(np.asarray(costs, dtype=np.float64))
    return np.asarray(density / density.sum())


def defended(sampling_probs: Floats, query_probs: Floats, share: float) -> Floats:
    """Return (1 − ε) q + ε p: no importance weight exceeds 1/ε, however wrong the model is."""
    if not 0 <= share <= 1:
        raise InputError(f"the defensive share must lie in [0, 1], got {share!r}")
    return (1 - share) * sampling_probs + share * query_probs
