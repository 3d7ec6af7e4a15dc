"""Distance of a design from the least variance that its model and its costs allow.

Under the model, opening a query with probability ρ and judging its places with probabilities a ≤ ρ leaves the variance

    Σ_x p² [ V_0 (1/ρ − 1) + Σ_i V_i (1/a_i − 1) ]        at a cost of        Σ_x [ λ_0 ρ + Σ_i λ_i a_i ],

V_0 of the query itself, below 0 if its items cancel in a difference, and V_i the variance that judging place i
removes; a never rises along a list judged to a depth. The least variance at that cost has ρ and
a = min(1, κ p sqrt(V / λ)) with V / λ pooled (`activeeval.core.kernels.rates`). A design differs from it by least
probabilities, rounding and a budget that is never exceeded.

If items are sampled independently, an opened query without any sampled item costs nothing, so κ is a little higher.
These probabilities are then not exactly optimal: at an overhead of one item, queries of two to five items, they leave
up to 10 % more variance, at 0, .1 and 5 items at most .5 % (tests/core/design/test_limits.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from activeeval.core.design.designs import Design
from activeeval.core.design.inputs import DesignInput
from activeeval.core.design.orders import Order
from activeeval.core.design.rates import variance_terms
from activeeval.core.errors import InputError
from activeeval.core.kernels import rates as kernel
from activeeval.core.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RatePlan:
    """Variance under a design's grade model as a function of its inclusion probabilities, for one target.

    Attributes
    ----------
    order : Order
    places : ndarray of int64, shape (n_wanted,)
        Wanted places, as positions on the order's place axis.
    offsets : ndarray of int64, shape (n_queries + 1,)
        Start of the wanted places of each query.
    of_query, of_open : ndarray, shape (n_queries,) and (n_wanted,)
        p² V_0 and p² V_i.
    query_rates, place_rates : ndarray, shape (n_queries,) and (n_wanted,)
        p sqrt(V / λ), pooled, without any least probability.
    """

    order: Order
    places: Ints
    offsets: Ints
    of_query: Floats
    of_open: Floats
    query_rates: Floats
    place_rates: Floats

    @classmethod
    def of(cls, design: Design) -> RatePlan:
        """Build the plan of a design for its first target.

        Raises
        ------
        InputError
            If the design draws with replacement or has no grade model.
        """
        if not design.scheme.is_planned or design.beliefs is None:
            raise InputError(f"method {design.name!r} has no plan: it needs levels and a grade model")
        stage, known = design.stage, design.known
        places = stage.places(design.targets, design.beliefs, known)
        design_input = DesignInput(
            stage=stage, targets=design.targets, beliefs=design.beliefs, known=known, places=places
        )
        return cls.of_input(design_input, design.order)

    @classmethod
    def of_input(cls, design_input: DesignInput, order: Order, which: int = 0) -> RatePlan:
        """Build the plan for one of the targets of a pool, on the order of all of them."""
        stage, places, variances, p = (
            design_input.stage,
            design_input.places,
            design_input.target_variances[which],
            order.query_probs,
        )
        owners, ratios = places.open_queries, design_input.bare_ratios(variances)
        of_query, of_open = variance_terms(places, variances, p, is_nested=stage.is_nested)
        return cls(
            order=order,
            places=np.flatnonzero(places.matters),
            offsets=places.open_offsets,
            of_query=of_query,
            of_open=of_open,
            query_rates=p * ratios.of_query,
            place_rates=p[owners] * ratios.of_open,
        )

    def variance(self, turned_to: Floats, judged: Floats) -> float:
        """Compute the variance of the estimate at probabilities of queries (n_queries,) and places (n_wanted,)."""
        return _left(self.of_query, turned_to) + _left(self.of_open, judged)

    def chances(self, budget: float) -> tuple[Floats, Floats]:
        """Compute the design's probabilities of opening queries and judging places at a budget in mean items.

        ρ (n_queries,) and a (n_wanted,).
        """
        return self._chances(self.order.level_for(budget))

    def _chances(self, level: float) -> tuple[Floats, Floats]:
        """Compute the probabilities of queries and of wanted places at a level."""
        pi, a = self.order.inclusion_probs(level)
        return pi, a[self.places]

    def at_budget(self, budget: float) -> float:
        """Compute the design's variance at a budget in mean items."""
        return self.variance(*self.chances(budget))

    def at_level(self, level: float) -> float:
        """Compute the design's variance at a level."""
        return self.variance(*self._chances(level))

    def between(self, budget: float) -> float:
        """Compute the share of that variance due to the choice of queries, if chosen queries were judged whole."""
        turned_to, judged = self.chances(budget)
        whole = self.of_query + np.bincount(self._owners, self.of_open, minlength=turned_to.size)
        left = self.variance(turned_to, judged)
        return min(_left(whole, turned_to) / left, 1.0) if left > 0 else 0.0

    def is_certain(self, judged: Floats) -> NDArray[np.bool_]:
        """Flag the queries all of whose places are judged with certainty, shape (n_queries,)."""
        return np.asarray(np.bincount(self._owners, judged < 1, minlength=self.offsets.size - 1) == 0)

    def without_overhead(self) -> RatePlan:
        """Return the plan without overhead per query, for a design that judges parts of queries."""
        order, costs = self.order, self.order.costs[self.places]
        free = np.zeros_like(order.overheads)
        ratios, of_query = self.of_open / costs, np.zeros_like(self.of_query)
        has_any = np.diff(self.offsets) > 0
        query_rates = np.where(has_any, np.inf, 0.0)
        if order.is_nested:
            of_query = self.of_query
            kernel.pool_chain(self.offsets, self.of_open, costs, free, ratios)
            query_rates[has_any] = np.sqrt(ratios[self.offsets[:-1][has_any]])
        return replace(
            self,
            order=replace(order, overheads=free),
            of_query=of_query,
            query_rates=query_rates,
            place_rates=np.sqrt(ratios),
        )

    def least(self, budget: float) -> float:
        """Compute the least variance that any probabilities leave at a budget in mean items."""
        order, level = self.order, np.inf
        if budget < order.cost:
            arrays = (self.offsets, self.query_rates, self.place_rates, order.overheads, order.costs[self.places])
            level = float(kernel.level_of_cost(*arrays, order.is_nested, budget))
        with np.errstate(invalid="ignore"):
            turned_to, judged = (np.minimum(1.0, level * rates) for rates in (self.query_rates, self.place_rates))
        return self.variance(np.nan_to_num(turned_to), np.nan_to_num(judged))

    def excess(self, budget: float) -> float:
        """Compute the ratio of the design's variance to the least one: at least 1, and 1 if no variance is left."""
        least, actual = self.least(budget), self.at_budget(budget)
        if least > 0:
            return max(actual / least, 1.0)
        return 1.0 if actual <= 0 else np.inf

    @property
    def _owners(self) -> Ints:
        """Query of every wanted place."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))

    def turned_to(self, pi: Floats, judged: Floats) -> Floats:
        """Compute the probability that any place of each query is judged; below ρ for independent items."""
        if self.order.is_nested:
            return pi
        owners = self._owners
        inside = np.divide(judged, pi[owners], out=np.zeros_like(judged), where=judged > 0)
        with np.errstate(divide="ignore"):
            none = np.bincount(owners, np.log1p(-np.minimum(inside, 1.0)), minlength=pi.size)
        return np.asarray(-pi * np.expm1(none))


def _left(variances: Floats, chances: Floats) -> float:
    """Compute the variance Σ V (1/a − 1) at probabilities a, over the terms with V ≠ 0."""
    varies = variances != 0
    with np.errstate(divide="ignore"):
        return float((variances[varies] * (1.0 / chances[varies] - 1.0)).sum())
