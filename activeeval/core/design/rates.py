"""Sampling rates from variances and costs: draw probabilities with replacement, or the rates of an order.

A place is the position of one item in the judging order of its query; it is wanted if its label is unknown and can
change a target's value. In a nested order, a place is judged only together with all earlier places of its query.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.checks import closed_share
from activeeval.core.design.order_places import OrderPlaces
from activeeval.core.design.orders import LEAST_RATE, Order
from activeeval.core.kernels import rates as kernel
from activeeval.core.types import Floats

LEAST_STAGE_SHARE = 0.05
"""Least share of a query's variance left to its own stage after its items: a model that leaves none is wrong."""

SIGNED = -1e6
"""Least share that keeps the sign of V_0, which is below 0 if items of a query cancel in a difference. The variance of
a whole query then counts as at least a millionth of its items', because a query with 0 would never be judged."""


def optimal_sampling_probs(query_probs: ArrayLike, spread: ArrayLike, costs: ArrayLike) -> Floats:
    """Compute the draw probabilities that minimize the variance of the estimate for a given budget.

    q ∝ p sqrt(spread / λ), by Theorems 1 and 2, Corollary 1 and eqs. (16), (17) of Sawade et al., *Active evaluation of
    ranking functions based on graded relevance*.

    Parameters
    ----------
    query_probs : array of float, shape (n_queries,)
        Probability p(x) of each query x.
    spread : array of float, shape (n_queries,)
        Expected squared distance of each query's value L from the performance R_θ that the grade model θ expects, E[(L
        − R_θ)² | x; θ]; for a difference of two rankings E[(δ − Δ_θ)² | x; θ]. Its square root counts as at least a
        millionth of the largest, so that rounding excludes no query; if all are 0, q ∝ p / sqrt(λ). A model that is
        certain of a query (as of equal lists where Δ_θ is near 0) gives it a tiny q and a huge weight: `defended`
        bounds the weight.
    costs : array of float, shape (n_queries,)
        Cost λ(x) of judging each query whole, positive.

    Returns
    -------
    ndarray, shape (n_queries,)
        Sums to 1, positive wherever p is.

    Examples
    --------
    >>> optimal_sampling_probs([0.5, 0.5], [4.0, 1.0], [1.0, 1.0]).round(3)
    array([0.667, 0.333])
    """
    deviation = np.sqrt(np.asarray(spread, dtype=np.float64))
    largest = deviation.max()
    deviation = np.maximum(deviation, LEAST_RATE * largest) if largest > 0 else np.ones_like(deviation)
    density = np.asarray(query_probs, dtype=np.float64) * deviation / np.sqrt(np.asarray(costs, dtype=np.float64))
    return np.asarray(density / density.sum())


def defended(sampling_probs: Floats, query_probs: Floats, share: float) -> Floats:
    """Mix draw probabilities q with the query probabilities p, (1 − ε) q + ε p with the share ε, shape (n_queries,).

    No importance weight then exceeds 1/ε, however wrong the model is. Raise InputError unless 0 ≤ ε ≤ 1.
    """
    return (1 - closed_share(share, "the defensive share")) * sampling_probs + share * query_probs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Variances:
    """Variance components of the targets' values, per query and per wanted place.

    Attributes
    ----------
    of_query : ndarray, shape (n_queries,)
        Var[L | x], the variance of a query's value; for lists judged to a depth 0, because the places hold all of it.
    of_open : ndarray, shape (n_wanted_places,)
        Variance of the query's value that judging each place removes.
    least_shares : ndarray, shape (n_wanted_places,)
        Least probability of a place once its query is in the sample, whatever the model says.
    misplaced : float
        Share of a query's variance that the model may assign to the wrong places: it is spread over all its places.
    """

    of_query: Floats
    of_open: Floats
    least_shares: Floats
    misplaced: float = 0.0

    def mixed_with(self, other: Variances, share: float) -> Variances:
        """Compute (1 − share) times these variances plus ``share`` times the others; least probabilities stay.

        Examples
        --------
        >>> sure, unsure = (Variances(of_query=v, of_open=v, least_shares=v) for v in (np.zeros(1), np.ones(1)))
        >>> sure.mixed_with(unsure, 0.25).of_open
        array([0.25])
        """
        of_query = (1 - share) * self.of_query + share * other.of_query
        return replace(self, of_query=of_query, of_open=(1 - share) * self.of_open + share * other.of_open)


@dataclass(frozen=True, slots=True, eq=False)
class Ratios:
    """sqrt(variance / cost) of queries (n_queries,) and of wanted places (n_wanted_places,).

    They are pooled: no place exceeds its query or, in a nested order, the place before it.
    """

    of_query: Floats
    of_open: Floats


@dataclass(frozen=True, slots=True, eq=False)
class RelativeRates:
    """Sampling rates of queries and wanted places up to a common factor, before query probabilities enter.

    Attributes
    ----------
    ratios : Ratios
    least_shares : ndarray, shape (n_wanted_places,)
        Least probability of each place once its query is in the sample.
    weighs_costs : bool
        True if the ratios are of variance to cost; False if all are equal.
    is_doubted : bool
        True if the variance may lie at any place of a query: no place's rate is then below the least query rate.
    """

    ratios: Ratios
    least_shares: Floats
    weighs_costs: bool = True
    is_doubted: bool = False


def of_stage(
    places: OrderPlaces, variances: Variances, *, is_nested: bool, least_share: float = LEAST_STAGE_SHARE
) -> Floats:
    """Compute the variance of each query's value that its single items do not account for, shape (n_queries,).

    It is removed as soon as the query is opened (any of its items is judged). It is at least ``least_share`` of the
    query's variance, and 0 for independently sampled items if opening a query is free. If prefixes are judged
    (``is_nested``), it is the given variance of the query.
    """
    if is_nested:
        return variances.of_query
    of_places = np.bincount(places.open_queries, variances.of_open, minlength=variances.of_query.size)
    left = np.maximum(variances.of_query - of_places, least_share * variances.of_query)
    return np.where(places.overheads > 0, left, 0.0)


def variance_terms(
    places: OrderPlaces, variances: Variances, query_probs: Floats, *, is_nested: bool
) -> tuple[Floats, Floats]:
    """Compute the variance terms of an estimate: p² V_0 (n_queries,) and p² V_i (n_wanted_places,).

    p is the probability of a query, V_0 the variance of its value that opening the query removes, and V_i that judging
    its wanted place (item in judging order) i removes (an item whose unknown label can change the value). V_0 may be
    below 0 if items of a query cancel in a difference.
    """
    of_query = of_stage(places, variances, is_nested=is_nested, least_share=SIGNED)
    return query_probs**2 * of_query, query_probs[places.open_queries] ** 2 * variances.of_open


def pooled(
    places: OrderPlaces, variances: Variances, *, is_nested: bool, least_share: float = LEAST_STAGE_SHARE
) -> Ratios:
    """Compute sqrt(variance / cost) of queries and of wanted places: optimal sampling rates, up to query probabilities.

    Neighbours share a ratio Σ variance / Σ cost (are pooled) where otherwise a place would exceed its query or, if
    prefixes are judged (``is_nested``), the place before it. A place is an item in the judging order of its query.

    Parameters
    ----------
    least_share : float
        Least share of a query's variance that opening it removes; the variance removed counts as at least that.
    """
    offsets, costs = places.open_offsets, places.open_costs
    of_query = np.zeros(offsets.size - 1)
    if is_nested:
        of_open = np.empty(costs.size)
        kernel.pool_chain(offsets, variances.of_open, costs, places.overheads, of_open)
        has_any = np.diff(offsets) > 0
        of_query[has_any] = of_open[offsets[:-1][has_any]]
    else:
        of_open = variances.of_open / costs
        np.maximum.at(of_query, places.open_queries, of_open)
        if places.overheads.any():  # without overheads there is nothing to pool: skip compiling the sort
            stage_variances = of_stage(places, variances, is_nested=False, least_share=least_share)
            kernel.pool_star(offsets, variances.of_open, costs, stage_variances, places.overheads, of_query, of_open)
    return Ratios(np.sqrt(of_query), np.sqrt(of_open))


def weighed(places: OrderPlaces, ratios: Ratios, query_probs: Floats) -> tuple[Floats, Floats]:
    """Compute Σ cost p rate and Σ cost p of every query, over its opening and its wanted places; (n_queries,) each.

    Their ratio over all queries is the mean rate. p are ``query_probs`` (n_queries,), rates are ``ratios``. A place is
    an item in the judging order of its query.
    """
    owners, n = places.open_queries, query_probs.size
    top = np.bincount(owners, places.open_costs * ratios.of_open, minlength=n) + places.overheads * ratios.of_query
    bottom = np.bincount(owners, places.open_costs, minlength=n) + places.overheads
    return query_probs * top, query_probs * bottom


def variance_left(
    places: OrderPlaces, variances: Variances, ratios: Ratios, query_probs: Floats, *, is_nested: bool
) -> float:
    """Compute the variance of the estimate, Σ p V / rate over queries and wanted places (items in judging order).

    Rates are ``ratios`` times p = ``query_probs`` (n_queries,), and count as at least a millionth of the largest;
    probabilities are not clipped to 1 here. V are the ``variances`` that opening queries and judging places remove.
    """
    owners = places.open_queries
    of_query = of_stage(places, variances, is_nested=is_nested)
    left = 0.0
    for v, rate, p in (
        (of_query, ratios.of_query, query_probs),
        (variances.of_open, ratios.of_open, query_probs[owners]),
    ):
        varies = v > 0
        if varies.any():
            left += float((p * v)[varies] @ (1 / np.maximum(rate[varies], LEAST_RATE * rate.max())))
    return left


@dataclass(frozen=True, slots=True, kw_only=True)
class RateSums:
    """Sums over the whole pool on which the rates of every query depend; the sums of two parts of a pool add up.

    Attributes
    ----------
    weight : float
        Σ p: 1, or in a unit that all parts share.
    n_queries, n_items : int
    item_costs : float
        Σ of the costs of all items, in their own unit, like all costs below.
    cost : float
        Cost of judging everything that is wanted.
    top, bottom : float
        Σ cost p rate and Σ cost p over everything that is wanted; their ratio is the mean rate.
    largest : float
        Largest rate of a query; 0 if nothing varies: all rates then count as equal.
    """

    weight: float
    n_queries: int
    n_items: int
    item_costs: float
    cost: float
    top: float
    bottom: float
    largest: float

    @classmethod
    def of(cls, places: OrderPlaces, ratios: Ratios, query_probs: Floats) -> RateSums:
        """Compute sums of probabilities, costs, and rates times costs over a pool or a part of one.

        ``places`` are the items to judge with their costs; rates are ``ratios`` times the query probabilities
        ``query_probs`` (n_queries,).
        """
        # exactly rounded sums do not depend on the order of the queries
        top, bottom = (math.fsum(part.tolist()) for part in weighed(places, ratios, query_probs))
        return cls(
            weight=float(query_probs.sum()),
            n_queries=query_probs.size,
            n_items=places.pool.n_items,
            item_costs=float(places.pool.item_costs.sum()),
            cost=float(places.open_costs.sum() + places.overheads.sum()),
            top=top,
            bottom=bottom,
            largest=float(ratios.of_query.max(initial=0.0)),
        )

    def __add__(self, other: RateSums) -> RateSums:
        """Add the sums of two parts of a pool; the largest rate is the larger one."""
        added = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        return RateSums(**added | {"largest": max(self.largest, other.largest)})

    @property
    def unit(self) -> float:
        """Cost of the mean item."""
        return self.item_costs / self.n_items

    @property
    def mean_rate(self) -> float:
        """Mean sampling rate of all queries and places to judge, weighted by cost and p; 0 if there are none.

        A place is an item in the judging order of its query.
        """
        return self.top / self.bottom if self.bottom > 0 else 0.0


def order_of(
    places: OrderPlaces, rates: RelativeRates, query_probs: Floats, sums: RateSums, share: float, *, is_nested: bool
) -> Order:
    """Build the order: places with sampling rates p sqrt(variance / cost), bounded below however sure the model is.

    A place is an item in the judging order of its query; it is wanted if its unknown label can change a value.

    Parameters
    ----------
    rates : RelativeRates
        Ratios sqrt(variance / cost) of queries and wanted places, and the least probability of each wanted place once
        its query is sampled. If the variance may lie at any place (``is_doubted``), no place is below the query bound.
    query_probs : ndarray, shape (n_queries,)
        p(x) over the whole pool.
    sums : RateSums
        Over the whole pool.
    share : float
        Least rate of a query, and of independently sampled items, as a share of the mean rate.
    is_nested : bool
        True if a place is judged only together with all earlier places of its query.
    """
    of_query, of_open, largest = rates.ratios.of_query, rates.ratios.of_open, sums.largest
    owners = places.open_queries
    if largest == 0:
        of_query, of_open, largest = np.ones_like(of_query), np.ones_like(of_open), 1.0
    # least rate of a query: never 0, because an excluded query would bias the estimate
    floor = max(share * sums.mean_rate, LEAST_RATE * largest)
    of_query = np.maximum(of_query, floor)
    least = rates.least_shares * of_query[owners]
    if not is_nested:  # with little overhead a query's rate is high: bound its items by the rate of its best item
        best = np.zeros_like(of_query)
        np.maximum.at(best, owners, of_open)
        least = np.maximum(rates.least_shares * np.minimum(best, of_query)[owners], floor)
    elif rates.is_doubted:
        least = np.maximum(least, floor)
    if not is_nested:
        of_open = np.clip(of_open, least, of_query[owners])
    # costs of places have the caller's unit; rates are per mean item
    scale = math.sqrt(sums.unit) if rates.weighs_costs and sums.largest > 0 else 1.0
    return places.order(
        query_probs, scale * of_query, scale * of_open, sums.unit, is_nested=is_nested, least=scale * least
    )
