"""Variance that an item's label removes from a value divided by an ideal (nDCG, R, AP); it orders the judging of lists.

A value is L = N / I, a numerator over an ideal (the best possible numerator), both replaced by their expectations. A
label that moves the gain of item i by v moves L by about v (s_i − L d) / I, where s_i is the slope of the numerator,
and d the discount of the rank that one more relevant item adds to the ideal. Averaged over the labels, the square of
that is, to first order,

    w_i = Var[v_i] ((s_i − m d)² + V d²) / I²,        m = E[N] / I,    V = Σ_j s_j² Var[v_j] / I².

In a comparison m and most s_i are about 0: the most informative items are those whose ranks differ, then all others
about equally.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from activeeval.core.design.beliefs import GradeProbs
from activeeval.core.measures import Target
from activeeval.core.measures.ranking_checks import mean_over_nodes
from activeeval.core.measures.terms import PRECISION, Terms
from activeeval.core.pool import Rankings
from activeeval.core.types import Floats, Ints


def label_values(target: Target, beliefs: GradeProbs, items: Ints) -> Floats:
    """Compute the variance that each item's label removes from a value divided by an ideal, as nDCG.

    To first order it is Var[v_i] ((s_i − m d)² + V d²) / I², with the gain v_i of item i, the slope s_i of the
    numerator N in it, the expected ideal I, m = E[N] / I, the variance V of N / I, and the discount d of the rank that
    one more relevant item adds to the ideal.

    Parameters
    ----------
    target : Target
    beliefs : GradeProbs
        The grade model.
    items : ndarray of int64, shape (n,)
        All items that can matter. Their order must not depend on the order of the input's rows, because the rounding
        of sums follows it.

    Returns
    -------
    ndarray, shape (n,)
    """
    pool, terms = target.pool, target.terms(beliefs.max_grade + 1)
    owners, n = pool.item_queries[items], pool.n_queries
    mean, variance, relevant = _moments(beliefs, owners, items, terms)
    # numerator: each item's part of E[N]; by default its slope times its expected gain
    ideal, discount = _ideals(owners, n, mean, relevant, terms)
    slopes, numerator = target.contrast[items], None
    if terms.numerator == PRECISION:
        slopes, numerator = _precision_slopes(target, items, mean, terms.discounts.size)
    expected = np.bincount(owners, slopes * mean if numerator is None else numerator, minlength=n)
    inverse = np.divide(1.0, ideal, out=np.zeros(n), where=ideal > 0)
    m, spread = expected * inverse, np.bincount(owners, slopes**2 * variance, minlength=n) * inverse**2
    lost = m * discount
    return np.asarray(variance * ((slopes - lost[owners]) ** 2 + (spread * discount**2)[owners]) * inverse[owners] ** 2)


def _moments(beliefs: GradeProbs, owners: Ints, items: Ints, terms: Terms) -> tuple[Floats, Floats, Floats]:
    """Compute mean and variance of each item's gain, and the probability that it is above 0; (items.size,) each.

    ``owners`` (items.size,) is the query of each item.
    """
    weights, nodes = beliefs.weights[owners], beliefs.nodes[:, items]
    columns = (terms.values, terms.values**2, (terms.values > 0).astype(np.float64))
    mean, square, relevant = (mean_over_nodes(weights, nodes @ column) for column in columns)
    return mean, np.maximum(square - mean**2, 0.0), relevant


def _ideals(owners: Ints, n: int, mean: Floats, relevant: Floats, terms: Terms) -> tuple[Floats, Floats]:
    """Compute the expected ideal of each query, and its increase if one more item has a gain of 1; (n,) each.

    Both are conditional on at least one relevant item: queries without one score 0 whatever is judged.

    Parameters
    ----------
    owners : ndarray of int64, shape (n_items,)
        Query of each item.
    n : int
        Number of queries.
    mean, relevant : ndarray, shape (n_items,)
        Expected gain of each item, and the probability that it is above 0.
    """
    with np.errstate(divide="ignore"):  # any_left: probability of at least one relevant item
        any_left = -np.expm1(np.bincount(owners, np.log1p(-np.minimum(relevant, 1.0)), minlength=n))
    count = np.bincount(owners, relevant, minlength=n)
    gain = np.divide(np.bincount(owners, mean, minlength=n), count, out=np.zeros(n), where=count > 0)
    n_relevant = np.divide(count, any_left, out=np.zeros(n), where=any_left > 0)
    # clip by the query's own number of items: the length of the discounts depends on other queries
    ranks = np.minimum([n_relevant, n_relevant + 1.0], np.bincount(owners, minlength=n))
    # value of an ideal with that many items of gain 1, and with one more
    worth = np.interp(ranks, np.arange(terms.cumulative.size), terms.cumulative)
    return gain * worth[0], worth[1] - worth[0]


def _precision_slopes(target: Target, items: Ints, mean: Floats, depth: int) -> tuple[Floats, Floats]:
    """Compute, for average precision, the slope of the numerator in each item's gain, and the item's share of E[N].

    The numerator of a list is N = Σ_i (r_i / i)(1 + Σ_{j<i} r_j), with r_i the relevance at rank i ≤ ``depth``; in a
    comparison it is the difference of two lists. ``mean`` is the expected gain of each item. All arrays have shape
    (items.size,).
    """
    place, slopes, numerator = np.full(target.pool.n_items, -1), np.zeros(items.size), np.zeros(items.size)
    place[items] = np.arange(items.size)
    for sign, ranking in ((1.0, target.ranking), (-1.0, target.other)):
        counts = (ranking.ranks <= depth) & (place[ranking.items] >= 0)
        positions = place[ranking.items[counts]]
        ranks = ranking.ranks[counts]
        above, below = (
            _around(ranking, counts, mean[positions]),
            _around(ranking, counts, mean[positions] / ranks, after=True),
        )
        slopes[positions] += sign * ((1.0 + above) / ranks + below)
        numerator[positions] += sign * mean[positions] / ranks * (1.0 + above)
    return slopes, numerator


def _around(ranking: Rankings, counts: NDArray[np.bool_], values: Floats, *, after: bool = False) -> Floats:
    """Sum the values above (or below) each counted entry within its list.

    Parameters
    ----------
    counts : ndarray of bool, shape (n_entries,)
        The entries of the ranking that count.
    values : ndarray, shape (counts.sum(),)
        A value for each counted entry; the result has the same shape.
    after : bool
        True to sum the values below the entry.
    """
    sums = np.zeros(counts.size)
    sums[counts] = values
    for start, end in zip(ranking.offsets[:-1].tolist(), ranking.offsets[1:].tolist(), strict=True):
        segment = sums[start:end]
        sums[start:end] = segment[::-1].cumsum()[::-1] - segment if after else segment.cumsum() - segment
    return sums[counts]
