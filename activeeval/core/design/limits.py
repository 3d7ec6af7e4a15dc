"""Distance of a design from the least variance that its model and its costs allow.

A place is the position of one item in the judging order of its query. Under the model, opening a query (judging any of
its places) with probability ρ and judging its places with probabilities a ≤ ρ leaves the variance

    Σ_x p² [ V_0 (1/ρ − 1) + Σ_i V_i (1/a_i − 1) ]        at a cost of        Σ_x [ λ_0 ρ + Σ_i λ_i a_i ],

with p the probability of the query, V_0 the variance of the query itself (below 0 if its items cancel in a difference),
V_i the variance that judging place i removes, λ_0 the cost of opening the query and λ_i that of judging the place.
Along a list judged to a depth, a never rises. The least variance at that cost has ρ and a = min(1, κ p sqrt(V / λ))
with V / λ pooled (`activeeval.core.kernels.rates`). A design differs from it by least probabilities, rounding and a
budget that is never exceeded.

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
    """Variance of one target's estimate under a design's grade model, as a function of the inclusion probabilities.

    Symbols are those of the module. A place is wanted if its label is unknown and can change a target's value.

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
        Optimal rates p sqrt(V / λ), pooled, without any least probability.
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
        """Build the variance of a design's first target as a function of inclusion probabilities.

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
        """Build the variance of target number ``which``, from 0, as a function of inclusion probabilities.

        ``order`` (items in judging order, with sampling rates) serves all targets of ``design_input``.
        """
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
        """Compute the variance of the estimate from inclusion probabilities.

        Parameters
        ----------
        turned_to : ndarray, shape (n_queries,)
            ρ: probability of opening each query (judging any of its items).
        judged : ndarray, shape (n_wanted,)
            a: probability of judging each wanted place (an item whose unknown label can change the value).
        """
        return _left(self.of_query, turned_to) + _left(self.of_open, judged)

    def chances(self, budget: float) -> tuple[Floats, Floats]:
        """Compute the probabilities with which the design opens queries and judges places at a budget.

        The budget is in mean items (the mean cost of an item is 1), met on average. The results have shapes
        (n_queries,) and (n_wanted,); a place (item in the judging order of its query) is wanted if its label is unknown
        and can change the value.
        """
        return self._chances(self.order.level_for(budget))

    def _chances(self, level: float) -> tuple[Floats, Floats]:
        """Compute the probabilities with which queries are opened and wanted places are judged at a sampling level.

        A place is wanted if its item's label is unknown and can change the value. A place is an item in the judging
        order of its query. At the sampling level T, a place of rate r is judged with probability min(1, T r).
        """
        pi, a = self.order.inclusion_probs(level)
        return pi, a[self.places]

    def at_budget(self, budget: float) -> float:
        """Compute the design's variance at a budget in mean items (the mean item costs 1)."""
        return self.variance(*self.chances(budget))

    def at_level(self, level: float) -> float:
        """Compute the design's variance at a sampling level T: a place of rate r has the probability min(1, T r).

        A place is an item in the judging order of its query.
        """
        return self.variance(*self._chances(level))

    def between(self, budget: float) -> float:
        """Compute which share of the variance at a budget would be left if all opened queries were judged whole.

        It is the share that comes from the choice of queries, between 0 and 1. The budget is in mean items (the mean
        item costs 1).
        """
        turned_to, judged = self.chances(budget)
        whole = self.of_query + np.bincount(self._owners, self.of_open, minlength=turned_to.size)
        left = self.variance(turned_to, judged)
        return min(_left(whole, turned_to) / left, 1.0) if left > 0 else 0.0

    def is_certain(self, judged: Floats) -> NDArray[np.bool_]:
        """Flag the queries all of whose items are judged with certainty, shape (n_queries,).

        ``judged`` (n_wanted,) is the probability of judging each wanted place: an item whose unknown label can change
        the value.
        """
        return np.asarray(np.bincount(self._owners, judged < 1, minlength=self.offsets.size - 1) == 0)

    def without_overhead(self) -> RatePlan:
        """Return this function as if opening a query cost nothing; only for a design that judges parts of queries.

        Ratios of variance to cost are then those of the single items; if prefixes are judged, they are pooled again so
        that they never rise along a query. Items sampled independently leave no variance to the opening of a query.
        """
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
        """Compute the least variance that any inclusion probabilities could reach at a budget in mean items.

        The mean item costs 1. The probabilities are min(1, T r) with the optimal rates r of queries and places, at the
        level T with this expected cost.
        """
        order, level = self.order, np.inf
        if budget < order.cost:
            arrays = (self.offsets, self.query_rates, self.place_rates, order.overheads, order.costs[self.places])
            level = float(kernel.level_of_cost(*arrays, order.is_nested, budget))
        with np.errstate(invalid="ignore"):
            turned_to, judged = (np.minimum(1.0, level * rates) for rates in (self.query_rates, self.place_rates))
        return self.variance(np.nan_to_num(turned_to), np.nan_to_num(judged))

    def excess(self, budget: float) -> float:
        """Compute the ratio of the design's variance to the least one at a budget: at least 1; 1 if both are 0.

        It is infinite if only the design leaves a variance.
        """
        least, actual = self.least(budget), self.at_budget(budget)
        if least > 0:
            return max(actual / least, 1.0)
        return 1.0 if actual <= 0 else np.inf

    @property
    def _owners(self) -> Ints:
        """Query of every wanted place (an item whose unknown label can change the value), shape (n_wanted,)."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))

    def turned_to(self, pi: Floats, judged: Floats) -> Floats:
        """Compute the probability that at least one place of each query is judged, shape (n_queries,).

        It is below ρ if items are sampled independently, because all items of an opened query may be left out. A place
        is an item in the judging order of its query.

        Parameters
        ----------
        pi : ndarray, shape (n_queries,)
            ρ: probability of opening each query.
        judged : ndarray, shape (n_wanted,)
            Probability of judging each wanted place.
        """
        if self.order.is_nested:
            return pi
        owners = self._owners
        inside = np.divide(judged, pi[owners], out=np.zeros_like(judged), where=judged > 0)
        inside[self.order.joined[self.places]] = 0.0  # judged whenever the place before is
        with np.errstate(divide="ignore"):  # log of the probability that no item of an opened query is judged
            none = np.bincount(owners, np.log1p(-np.minimum(inside, 1.0)), minlength=pi.size)
        return np.asarray(-pi * np.expm1(none))


def _left(variances: Floats, chances: Floats) -> float:
    """Compute Σ V (1/a − 1) over the variance terms V ≠ 0, with inclusion probabilities a (``chances``); (n,) each."""
    varies = variances != 0
    with np.errstate(divide="ignore"):
        return float((variances[varies] * (1.0 / chances[varies] - 1.0)).sum())
