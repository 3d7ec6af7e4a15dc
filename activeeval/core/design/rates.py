"""From variances and costs to rates: with replacement, or those of the order that levels are made of."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.checks import closed_share
from activeeval.core.design.orders import LEAST_RATE, Order, OrderPlaces
from activeeval.core.kernels import rates as kernel
from activeeval.core.types import Floats

LEAST_STAGE_SHARE = 0.05
"""What items leave to a query's own stage, as a share of its variance: a model that thinks nothing is left is wrong."""

SIGNED = -1e6
"""The share that leaves V_0 its sign: below 0 where items of a query cancel in a difference. No query's whole variance
then counts as less than a millionth of its items', for one that is exactly 0 would never be judged."""


def optimal_sampling_probs(query_probs: ArrayLike, spread: ArrayLike, costs: ArrayLike) -> Floats:
    """Return the sampling probabilities with which the estimate of a budget varies least.

    q ∝ p sqrt(spread / λ), Theorems 1 and 2 and Corollary 1, eqs. (16), (17).

    Parameters
    ----------
    query_probs : array of float, shape (n_queries,)
        p(x).
    spread : array of float, shape (n_queries,)
        E[(L − R_θ)² | x; θ] or E[(δ − Δ_θ)² | x; θ]. Its square root counts as at least a millionth of the
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
    deviation = np.sqrt(np.asarray(spread, dtype=np.float64))
    largest = deviation.max()
    deviation = np.maximum(deviation, LEAST_RATE * largest) if largest > 0 else np.ones_like(deviation)
    density = np.asarray(query_probs, dtype=np.float64) * deviation / np.sqrt(np.asarray(costs, dtype=np.float64))
    return np.asarray(density / density.sum())


def defended(sampling_probs: Floats, query_probs: Floats, share: float) -> Floats:
    """Leave a share of sampling probabilities to traffic, so that no importance weight gets too large.

    (1 − ε) q + ε p: no weight exceeds 1/ε, however wrong the model is.
    """
    return (1 - closed_share(share, "the defensive share")) * sampling_probs + share * query_probs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Variances:
    """What the targets' values vary by, per query and per wanted place.

    Attributes
    ----------
    of_query : ndarray, shape (n_queries,)
        Var[L | x], in a nested order none of it beside the places.
    of_open : ndarray, shape (n_wanted_places,)
        What judging each place takes away.
    least_shares : ndarray, shape (n_wanted_places,)
        Least probability of a place once its query is in the sample, whatever the model says.
    misplaced : float
        Share of what the places of a query take away that the model may see at the wrong ones.
    """

    of_query: Floats
    of_open: Floats
    least_shares: Floats
    misplaced: float = 0.0

    def mixed_with(self, other: Variances, share: float) -> Variances:
        """Return the weighted mean with what others vary by; least shares stay.

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
    """Square roots of variance over cost, pooled, of queries and wanted places."""

    of_query: Floats
    of_open: Floats


@dataclass(frozen=True, slots=True, eq=False)
class RelativeRates:
    """How the rates of queries and wanted places compare.

    Attributes
    ----------
    ratios : Ratios
    least_shares : ndarray, shape (n_wanted_places,)
        Of each place once its query is in.
    weighs_costs : bool
        Whether the ratios are of variance to cost; else all are alike.
    is_doubted : bool
        Whether the variance may lie at any place of a query: none then falls below what the least query gets.
    """

    ratios: Ratios
    least_shares: Floats
    weighs_costs: bool = True
    is_doubted: bool = False


def of_stage(
    places: OrderPlaces, variances: Variances, *, is_nested: bool, least_share: float = LEAST_STAGE_SHARE
) -> Floats:
    """Return what is left to each query's own stage: of items on their own nothing where turning to it is free."""
    if is_nested:
        return variances.of_query
    of_places = np.bincount(places.open_queries, variances.of_open, minlength=variances.of_query.size)
    left = np.maximum(variances.of_query - of_places, least_share * variances.of_query)
    return np.where(places.overheads > 0, left, 0.0)


def variance_terms(
    places: OrderPlaces, variances: Variances, query_probs: Floats, *, is_nested: bool
) -> tuple[Floats, Floats]:
    """Return what the variance of an estimate is made of: p² V_0 (n_queries,) and p² V_i (n_wanted_places,)."""
    of_query = of_stage(places, variances, is_nested=is_nested, least_share=SIGNED)
    return query_probs**2 * of_query, query_probs[places.open_queries] ** 2 * variances.of_open


def pooled(
    places: OrderPlaces, variances: Variances, *, is_nested: bool, least_share: float = LEAST_STAGE_SHARE
) -> Ratios:
    """Return sqrt(variance / cost), pooled: no place's exceeds its query's or, nested, the place's before."""
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
        if places.overheads.any():  # else there is nothing to pool, and no sort to compile
            stage_variances = of_stage(places, variances, is_nested=False, least_share=least_share)
            kernel.pool_star(offsets, variances.of_open, costs, stage_variances, places.overheads, of_query, of_open)
    return Ratios(np.sqrt(of_query), np.sqrt(of_open))


def weighed(places: OrderPlaces, ratios: Ratios, query_probs: Floats) -> tuple[Floats, Floats]:
    """Return Σ cost p rate and Σ cost p of every query and its wanted places, shape (n_queries,) each."""
    owners, n = places.open_queries, query_probs.size
    top = np.bincount(owners, places.open_costs * ratios.of_open, minlength=n) + places.overheads * ratios.of_query
    bottom = np.bincount(owners, places.open_costs, minlength=n) + places.overheads
    return query_probs * top, query_probs * bottom


def variance_left(
    places: OrderPlaces, variances: Variances, ratios: Ratios, query_probs: Floats, *, is_nested: bool
) -> float:
    """Return the variance that rates leave where none is clipped: Σ p V / rate over queries and wanted places."""
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
    """What the rates of a query depend on beside the query itself: sums over the whole pool, part by part.

    Attributes
    ----------
    weight : float
        Σ p: 1, or in a unit that all parts share.
    n_queries, n_items : int
    item_costs : float
        Σ of the costs of all items, in their own unit, as is all that follows.
    cost : float
        Of judging everything that is wanted.
    top, bottom : float
        Σ cost p rate and Σ cost p over all that is wanted; their ratio is the mean rate.
    largest : float
        Largest rate of a query; 0 where nothing varies, all rates then count as equal.
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
        """Return the sums over a pool or a part of one."""
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
        """Return the sums over two parts together."""
        added = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        return RateSums(**added | {"largest": max(self.largest, other.largest)})

    @property
    def unit(self) -> float:
        """The cost of the mean item."""
        return self.item_costs / self.n_items

    @property
    def mean_rate(self) -> float:
        """The mean rate of all that is wanted, weighed by cost and p; 0 where nothing is wanted."""
        return self.top / self.bottom if self.bottom > 0 else 0.0


def order_of(
    places: OrderPlaces, rates: RelativeRates, query_probs: Floats, sums: RateSums, share: float, *, is_nested: bool
) -> Order:
    """Return the order whose rates are p sqrt(variance / cost), however sure the model is not below floors.

    Parameters
    ----------
    query_probs : ndarray, shape (n_queries,)
        p(x) over the whole pool.
    sums : RateSums
        Over the whole pool.
    share : float
        Least rate of a query, and of items that come on their own, as a share of the mean one.
    """
    of_query, of_open, largest = rates.ratios.of_query, rates.ratios.of_open, sums.largest
    owners = places.open_queries
    if largest == 0:
        of_query, of_open, largest = np.ones_like(of_query), np.ones_like(of_open), 1.0
    floor = max(share * sums.mean_rate, LEAST_RATE * largest)
    of_query = np.maximum(of_query, floor)
    least = rates.least_shares * of_query[owners]
    if not is_nested:  # with little overhead a query's rate is high: its best item says what an item deserves
        best = np.zeros_like(of_query)
        np.maximum.at(best, owners, of_open)
        least = np.maximum(rates.least_shares * np.minimum(best, of_query)[owners], floor)
    elif rates.is_doubted:
        least = np.maximum(least, floor)
    if not is_nested:
        of_open = np.clip(of_open, least, of_query[owners])
    # costs of places are as they came: rates are per mean item, whatever their unit
    scale = math.sqrt(sums.unit) if rates.weighs_costs and sums.largest > 0 else 1.0
    return places.order(
        query_probs, scale * of_query, scale * of_open, sums.unit, is_nested=is_nested, least=scale * least
    )
