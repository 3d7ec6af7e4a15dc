"""A design is data: a scheme of drawing queries, their probabilities, what is judged of each, what it costs.

It also carries what its estimator needs, so that no estimator meets a sample it does not fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from activeeval.design.stages import Stage
from activeeval.errors import BudgetError, InputError
from activeeval.measures import Target
from activeeval.pool import QueryPool

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SCHEMES = ("replacement", "sequential", "poisson", "cube")
_ROUNDING = 1e-12
_CENSUS_TOLERANCE = 1e-9
DRAWS_PER_QUERY = 100


class Spender(Protocol):
    """What knows what its queries and draws cost."""

    @property
    def costs(self) -> Floats: ...

    @property
    def expected_cost(self) -> float: ...

    @property
    def most_draws(self) -> int: ...

    def query_name(self, query: int) -> str: ...

    def hard_limit(self, budget: float) -> float: ...


class Spending:
    """What a budget pays for."""

    __slots__ = ()

    def n_draws(self: Spender, budget: float) -> int:
        """Return n* = Λ / E_q[λ], rounded down and at most `most_draws`: draws that cost the budget on average.

        Raises
        ------
        BudgetError
            Where the budget does not pay for one expected draw.
        """
        if self.expected_cost == 0:
            return self.most_draws
        n = int(check_budget(budget) / self.expected_cost * (1 + _ROUNDING))
        if n < 1:
            raise BudgetError(
                f"budget {budget:g} does not pay for one draw, which costs {self.expected_cost:g} on average",
                budget=budget,
                needed=self.expected_cost,
            )
        return min(n, self.most_draws)

    def hard_limit(self: Spender, budget: float) -> float:
        """Return what may be spent: the budget, with room for the rounding of a sum of costs."""
        return check_budget(budget) * (1 + _ROUNDING)

    def is_census(self: Spender, budget: float) -> bool:
        """Whether a hard budget pays for judging the whole pool."""
        return bool(check_budget(budget) >= self.costs.sum() * (1 - _CENSUS_TOLERANCE))

    def check_hard_budget(self: Spender, budget: float) -> None:
        """Raise BudgetError unless a hard budget pays for the dearest single query.

        With less, the queries that can be judged at all would depend on the budget, and the
        estimate would be biased towards cheap queries.
        """
        dearest = float(self.costs.max())
        if self.hard_limit(budget) < dearest:
            query = self.query_name(int(np.argmax(self.costs)))
            raise BudgetError(
                f"budget {budget:g} is below the cost of the dearest query, {dearest:g} for {query}",
                budget=budget,
                needed=dearest,
            )


@dataclass(frozen=True, eq=False)
class Design(Spending):
    """A sampling design for one target.

    Attributes
    ----------
    name : str
        The method that made it.
    scheme : {"replacement", "sequential", "poisson", "cube"}
        Draws with replacement, draws without, every query on its own, or a balanced set of queries.
    estimator : str
        The estimator that its sample is for.
    stage : Stage
        The target, the items of each query in judging order, what the grade model says of them.
    sampling_probs : ndarray, shape (n_queries,)
        With replacement q(x), the probability that one draw takes the query; for a sequential
        scheme that of the first draw, later ones share what is left in proportion; both sum to 1.
        For poisson and cube π(x), the probability that the query is in the sample.
    item_probs : ndarray, shape (items.size,)
        G, the probability that an item is judged once its query is drawn; 1 judges the query whole.
    budget : float or None
        The expected cost that poisson and cube probabilities are made for; None for the others,
        whose draws go on until a budget is spent.
    """

    name: str
    scheme: str
    estimator: str
    stage: Stage
    sampling_probs: Floats
    item_probs: Floats
    budget: float | None = None

    @property
    def target(self) -> Target:
        """What is to be estimated."""
        return self.stage.target

    @property
    def pool(self) -> QueryPool:
        """The pool that is sampled."""
        return self.target.pool

    @property
    def offsets(self) -> Ints:
        """Where the items of each query begin in `items`, shape (n_queries + 1,)."""
        return self.stage.offsets

    @property
    def items(self) -> Ints:
        """Items that may be judged, in judging order, as positions on the flat item axis."""
        return self.stage.items

    @property
    def predictions(self) -> Floats:
        """m(x) = E[L | x] under the grade model; NaN where the design used none."""
        return self.stage.predictions

    @property
    def variances(self) -> Floats:
        """Var[L | x] under the grade model; NaN where the design used none."""
        return self.stage.variances

    @property
    def query_probs(self) -> Floats:
        """p(x), the query distribution."""
        return self.pool.query_probs

    @cached_property
    def is_certain(self) -> NDArray[np.bool_]:
        """Whether any sample tells the value of a query, shape (n_queries,); draws one by one are sure of none."""
        if self.spends_as_it_goes:
            return np.zeros(self.pool.n_queries, dtype=np.bool_)
        return self.stage.certain(self.sampling_probs, self.item_probs)

    @cached_property
    def open_share(self) -> float:
        """Σ p of the queries that are not certain."""
        return float(self.query_probs[~self.is_certain].sum())

    @cached_property
    def population(self) -> Floats:
        """Σ p z of the regressors of queries that are not certain, shape (2,), or (3,) with that of prefixes, 0."""
        known = np.where(self.is_certain, 0.0, self.query_probs) @ self.stage.regressors
        return np.append(known, 0.0) if self.stage.is_nested else np.asarray(known)

    def values(self, grades: Ints) -> Floats:
        """Return L of every query from the grades of the items that a design can ask for, shape (n_queries,)."""
        known = np.full(self.pool.n_items, -1, dtype=np.int64)
        known[self.items] = np.asarray(grades)[self.items]
        return self.target.values(known)

    @property
    def importance_weights(self) -> Floats:
        """p(x) / q(x), or p(x) / π(x), shape (n_queries,)."""
        return self.query_probs / self.sampling_probs

    @property
    def largest_weight(self) -> float:
        """The largest share of one query in the estimate over its mean share in a plain random sample.

        A draw at a weight of hundreds dominates an estimate when it comes. With replacement the shares are p/(n q) and
        1/n. A settled sample has p/π, and at its budget Λ a plain one would take each of the N queries with
        probability Λ/Λ*, Λ* the cost of the whole pool, at a mean share of Λ*/(N Λ).
        """
        if self.budget is None:
            return float(self.importance_weights.max())
        is_open, whole = ~self.is_certain, float(self.costs.sum())
        if not is_open.any() or whole == 0:
            return 1.0
        plain = self.pool.n_queries * min(self.budget / whole, 1.0)
        return float(self.importance_weights[is_open].max()) * plain

    @property
    def item_counts(self) -> Ints:
        """Number of items that may be judged for each query."""
        return np.diff(self.offsets)

    @property
    def costs(self) -> Floats:
        """λ(x), the cost of judging each query whole; 0 where there is nothing to judge."""
        return self.stage.costs

    @property
    def expected_costs(self) -> Floats:
        """Expected cost of each query once it is drawn, shape (n_queries,)."""
        stage, n_queries = self.stage, self.pool.n_queries
        of_items = np.bincount(stage.slot_queries, self.item_probs * stage.slot_costs, minlength=n_queries)
        return np.asarray(of_items + stage.overheads * (1 - self._none_judged))

    @property
    def _none_judged(self) -> Floats:
        """Probability that no item of a drawn query is judged, so that nobody turns to it."""
        if self.stage.is_nested:
            return np.zeros(self.pool.n_queries)
        with np.errstate(divide="ignore"):
            logs = np.log1p(-self.item_probs)
        return np.asarray(np.exp(np.bincount(self.stage.slot_queries, logs, minlength=self.pool.n_queries)))

    @property
    def expected_cost(self) -> float:
        """E_q[λ], the mean cost of a draw, or of the whole sample for poisson and cube."""
        return float(self.sampling_probs @ self.expected_costs)

    @property
    def cost_sd(self) -> float:
        """Standard deviation of what a sample costs; of a cube sample that of its second stage."""
        stage, g = self.stage, self.item_probs
        owners, costs = stage.slot_queries, stage.slot_costs
        if stage.is_nested:  # with C_k the cost down to item k, E[cost²] = C_0² + Σ_k (C_k² − C_{k−1}²) G_k
            cumulative = np.concatenate(([0.0], np.cumsum(costs)))
            down_to = cumulative[1:] - cumulative[self.offsets[owners]] + stage.overheads[owners]
            per_slot, base = (down_to**2 - (down_to - costs) ** 2) * g, stage.overheads
        else:
            per_slot, base = costs**2 * g * (1 - g), self.expected_costs
        second = np.bincount(owners, per_slot, minlength=self.pool.n_queries) + base**2
        if not stage.is_nested:
            none, judged = self._none_judged, np.bincount(owners, costs * g, minlength=self.pool.n_queries)
            second += none * stage.overheads * ((1 - none) * stage.overheads + 2 * judged)
        chance = np.sqrt(self.sampling_probs) if self.scheme == "cube" else self.sampling_probs
        variance = self.sampling_probs * second - (chance * self.expected_costs) ** 2
        return float(np.sqrt(max(float(variance.sum()), 0.0)))

    @property
    def spends_as_it_goes(self) -> bool:
        """Whether draws follow each other until a budget is spent; otherwise the sample is settled at once."""
        return self.budget is None

    @property
    def most_draws(self) -> int:
        """Draws after which any run ends, lest it look for the last query that the budget pays for ever."""
        return (1 if self.scheme == "sequential" else DRAWS_PER_QUERY) * self.pool.n_queries

    def query_name(self, query: int) -> str:
        """Name a query for a message."""
        return repr(str(self.pool.query_ids[query]))


def check_budget(budget: float) -> float:
    """Return a budget that is a positive number."""
    if not (np.isfinite(budget) and budget > 0):
        raise InputError(f"the budget must be a positive number, got {budget!r}")
    return float(budget)
