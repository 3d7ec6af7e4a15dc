"""From ratios of variance to cost to probabilities: with replacement, or to be in a sample at all."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.design.stages import Stage
from activeeval.errors import InputError
from activeeval.kernels import rates

Floats = NDArray[np.float64]

_LEAST_ROOT = 1e-6
_NOTHING = 1e-9
_ROUNDING = 1e-9


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
    return (1 - checked_share(share)) * sampling_probs + share * query_probs


def checked_share(share: float) -> float:
    """Return a defensive share that lies in [0, 1]."""
    if not 0 <= share <= 1:
        raise InputError(f"the defensive share must lie in [0, 1], got {share!r}")
    return share


def roots(stage: Stage, extra: Floats, share: float) -> tuple[Floats, Floats]:
    """Return what sampling rates are proportional to, for queries and for the places of their items.

    A rate is p sqrt(variance / cost). However sure the model is, a query's counts as at least ``share``
    times the mean one, and an item's as at least the stage's least share of its query's.
    """
    p = stage.target.pool.query_probs
    of_query, of_item = (np.sqrt(ratio) for ratio in stage.ratios(extra))
    queries = stage.slot_queries
    floor = share * _mean_root(stage, of_query, of_item)
    if not of_query.any():
        of_query, of_item = np.ones_like(of_query), np.ones_like(of_item)
    of_query = np.maximum(of_query, max(floor, _LEAST_ROOT * of_query.max()))
    if stage.kind == "whole":
        return p * of_query, (p * of_query)[queries]
    least = of_query.copy()
    if not stage.is_nested:  # with little overhead a query's root is high: its best item says what an item deserves
        best = np.zeros_like(of_query)
        np.maximum.at(best, queries, of_item)
        least = np.where(best > _NOTHING * of_query, np.minimum(best, of_query), of_query)
    of_item = np.clip(of_item, stage.least_shares * least[queries], of_query[queries])
    if stage.is_nested:
        starts = stage.offsets[:-1][np.diff(stage.offsets) > 0]
        of_item[starts] = of_query[queries[starts]]
    return p * of_query, p[queries] * of_item


def _mean_root(stage: Stage, of_query: Floats, of_item: Floats) -> float:
    """Return the mean root, each weighted by its cost and p."""
    p = stage.target.pool.query_probs
    own, item = stage.overheads * p, stage.slot_costs * p[stage.slot_queries]
    total = own.sum() + item.sum()
    return float((own @ of_query + item @ of_item) / total) if total > 0 else 0.0


def inclusion_probs(stage: Stage, of_query: Floats, of_item: Floats, budget: float) -> tuple[Floats, Floats]:
    """Return π of every query and G of every place of its items, min(1, κ root), whose expected cost is the budget.

    A budget that pays for everything gives 1 everywhere.
    """
    all_roots = np.concatenate((of_query, of_item))
    all_costs = np.concatenate((stage.overheads, stage.slot_costs))
    if budget >= all_costs.sum() * (1 - _ROUNDING):
        return np.ones_like(of_query), np.ones_like(of_item)
    level = rates.water_level(all_roots, all_costs, np.argsort(-all_roots, kind="stable"), budget)
    if not stage.is_nested:
        arrays = (stage.offsets, of_query, of_item, stage.overheads, stage.slot_costs)
        level = rates.star_level(*(*arrays, level, budget))
    pi = np.minimum(1.0, level * of_query)
    return pi, np.minimum(np.minimum(1.0, level * of_item) / pi[stage.slot_queries], 1.0)
