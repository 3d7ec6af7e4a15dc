"""How near a design comes to the best that its model and its costs allow.

Under the model a query turned to with probability ρ, its places judged with probabilities a ≤ ρ, leaves the variance

    Σ_x p² [ V_0 (1/ρ − 1) + Σ_i V_i (1/a_i − 1) ]        at a cost of        Σ_x [ λ_0 ρ + Σ_i λ_i a_i ],

V_0 of the query itself, below 0 where its items cancel in a difference, and V_i what judging place i takes away; of
lists judged to a depth a never rises. The least variance at that cost has ρ and a = min(1, κ p sqrt(V / λ)) with V / λ
pooled (`activeeval.core.kernels.rates`): what a design does too, but for least probabilities, rounding and a budget
that is never exceeded.

Where items come on their own a query none of whose items came costs nothing, so that κ is a little higher. These
probabilities are then no longer the very best: at an overhead of one item, queries of two to five items, they leave up
to 10 % more variance, at 0, .1 and 5 items at most .5 % (tests/core/design/test_limits.py).
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
    """What a design's grade model expects of the probabilities with which places are judged, for its first target.

    Attributes
    ----------
    order : Order
    places : ndarray of int64, shape (n_wanted,)
        The wanted places on the order's place axis.
    offsets : ndarray of int64, shape (n_queries + 1,)
        Where the wanted places of each query begin.
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
        """Return the plan of a design that goes by levels and has a grade model.

        Raises
        ------
        InputError
            Where it draws with replacement, or has no grade model.
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
        """Return the plan for one of the targets of a pool, on the order of all of them."""
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
        """Return the variance that probabilities of queries, ρ (n_queries,), and of places, a (n_wanted,), leave."""
        return _left(self.of_query, turned_to) + _left(self.of_open, judged)

    def chances(self, budget: float) -> tuple[Floats, Floats]:
        """Return with which probabilities the design turns to queries and judges places at a budget in mean items.

        ρ (n_queries,) and a (n_wanted,).
        """
        return self._chances(self.order.level_for(budget))

    def _chances(self, level: float) -> tuple[Floats, Floats]:
        """Return ρ and a at a level."""
        pi, a = self.order.inclusion_probs(level)
        return pi, a[self.places]

    def at_budget(self, budget: float) -> float:
        """Return the variance that the design's probabilities leave at a budget in mean items."""
        return self.variance(*self.chances(budget))

    def at_level(self, level: float) -> float:
        """Return the variance that the design's probabilities leave at a level."""
        return self.variance(*self._chances(level))

    def between(self, budget: float) -> float:
        """Return the share of that variance which the choice of queries leaves, were all of the chosen judged."""
        turned_to, judged = self.chances(budget)
        whole = self.of_query + np.bincount(self._owners, self.of_open, minlength=turned_to.size)
        left = self.variance(turned_to, judged)
        return min(_left(whole, turned_to) / left, 1.0) if left > 0 else 0.0

    def is_certain(self, judged: Floats) -> NDArray[np.bool_]:
        """Return whether each query has no place that chance leaves out, shape (n_queries,)."""
        return np.asarray(np.bincount(self._owners, judged < 1, minlength=self.offsets.size - 1) == 0)

    def without_overhead(self) -> RatePlan:
        """Return the plan of a pool in which turning to a query is free, of a design that judges parts of queries."""
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
        """Return the least variance that any probabilities leave at a budget in mean items."""
        order, level = self.order, np.inf
        if budget < order.cost:
            arrays = (self.offsets, self.query_rates, self.place_rates, order.overheads, order.costs[self.places])
            level = float(kernel.level_of_cost(*arrays, order.is_nested, budget))
        with np.errstate(invalid="ignore"):
            turned_to, judged = (np.minimum(1.0, level * rates) for rates in (self.query_rates, self.place_rates))
        return self.variance(np.nan_to_num(turned_to), np.nan_to_num(judged))

    def excess(self, budget: float) -> float:
        """Return how many times the least variance the design's own is: 1 or more, 1 where nothing is left."""
        least, actual = self.least(budget), self.at_budget(budget)
        if least > 0:
            return max(actual / least, 1.0)
        return 1.0 if actual <= 0 else np.inf

    @property
    def _owners(self) -> Ints:
        """The query of every wanted place."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))

    def turned_to(self, pi: Floats, judged: Floats) -> Floats:
        """Return the probability that any place of each query is judged: where places come on their own below ρ."""
        if self.order.is_nested:
            return pi
        owners = self._owners
        inside = np.divide(judged, pi[owners], out=np.zeros_like(judged), where=judged > 0)
        with np.errstate(divide="ignore"):
            none = np.bincount(owners, np.log1p(-np.minimum(inside, 1.0)), minlength=pi.size)
        return np.asarray(-pi * np.expm1(none))


def _left(variances: Floats, chances: Floats) -> float:
    """Return Σ V (1/a − 1) over what varies."""
    varies = variances != 0
    with np.errstate(divide="ignore"):
        return float((variances[varies] * (1.0 / chances[varies] - 1.0)).sum())
