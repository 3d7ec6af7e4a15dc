"""Upper bounds of measures for partly judged rankings: the best values of each query over all grades of unjudged items.

Additive measures: each unjudged rank separately takes the grade with the largest gain, or with the smallest if its
discount is negative.

Cascade measures: from the last rank up, V_i = V_{i+1} + ℓ_i (c_i − V_{i+1}), where V_i is the value from rank i on for
users who reach rank i. V_i increases with V_{i+1}, and an unjudged item takes the largest ℓ or the smallest according
to the sign of c_i − V_{i+1}.

Additive measures divided by an ideal (nDCG, R): N / I with the discounts d of the list and δ of the ideal, neither
increasing with the rank. With gains 0 ≤ g_0 < g_1 < … of the grades, Δ_y = g_y − g_{y−1} and Δ_0 = g_0, summation by
parts gives

    I = Σ_y Δ_y D(A_y + s_y)      N = (of judged items) + Σ_y Δ_y P(s_y)

where D and P are sums of the first δ, and of the first d of unjudged ranks. A_y + s_y items have at least the gain g_y,
and s_y of them are unjudged. For given s, N is largest if the larger gains go to the better ranks; I does not change.
Unjudged items at ranks that do not count only enter I: they take g_0 and count in A. The largest ratio x = N / I is
that of the s that maximizes N − x I (Dinkelbach 1967), a sum of terms Δ_y (P(s_y) − x D(A_y + s_y)) that each depend on
one s_y. As A_y increases when y decreases, and δ does not increase with the rank, the smallest optimal s_y increases
too (Topkis 1978), so the separate optima form one consistent assignment of grades. Starting at any x, the maximizer's
ratio is larger, until it is the largest.

Average precision: for a given number of relevant unjudged items, the best ranks hold them. Let one move up from rank j
to an unjudged rank i, with b relevant items above i and m between, at ranks l. The sum changes by Σ_l 1 / l +
(b + 1) / i − (b + m + 1) / j > 0, and its divisor does not change. The h-th item adds the number of relevant items down
to its rank i, divided by i, and 1 / l for each judged relevant rank l below. The best h has the largest ratio.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from activeeval.core.measures.target import SampledMeasure
from activeeval.core.measures.terms import CASCADE, PRECISION, Terms
from activeeval.core.pool import QueryPool, Rankings
from activeeval.core.types import Ints


def best_grades(
    measure: SampledMeasure, pool: QueryPool, grades: Ints, ranking: Rankings, max_grade: int
) -> Ints | None:
    """Fill in the unjudged grades that maximize each query's value, for an upper bound of the measure.

    Parameters
    ----------
    grades : ndarray of int64, shape (n_items,)
        Negative for an unjudged item, which can have any grade.
    max_grade : int
        Largest grade of the scale.

    Returns
    -------
    ndarray of int64, shape (n_items,), or None
        None for measures of the top k (their grades depend on each other), for gains by rank, and for ratios to an
        ideal with negative gains.

    Examples
    --------
    >>> from activeeval.core.measures import NDCG
    >>> pool = QueryPool(["q"], [0, 3], ["a", "b", "c"])
    >>> ranking = Rankings.from_scores(pool, [3.0, 2.0, 1.0])
    >>> best_grades(NDCG(), pool, np.array([1, -1, -1]), ranking, 2)
    array([1, 1, 1])
    """
    if not measure.reads_parts:
        return None
    longest = max(int(ranking.lengths.max(initial=0)), 1)
    terms = measure.terms(max_grade + 1, longest, int(np.diff(pool.query_offsets).max()))
    has_ideal = terms.cumulative.size > 1
    if has_ideal and terms.values.min() < 0:
        return None
    if terms.numerator == CASCADE:
        return _of_cascade(grades, terms, ranking)
    if not has_ideal:
        return _of_sum(grades, terms, ranking)
    return _by_query(_of_precision if terms.numerator == PRECISION else _of_share, pool, grades, terms, ranking)


def _of_sum(grades: Ints, terms: Terms, ranking: Rankings) -> Ints:
    """Fill in the unjudged ones of `grades` (negative), shape (n_items,), such that an additive measure is largest.

    An unjudged item takes the grade of the largest gain; at a rank of negative discount, or one that does not count,
    that of the smallest. ``terms.discounts`` (depth,) are the weights of the ranks that count.
    """
    least, most = _ends(terms)
    filled = np.where(grades < 0, least, grades)
    counted = ranking.ranks <= terms.discounts.size
    items = ranking.items[counted]
    unjudged = items[(grades[items] < 0) & (terms.discounts[ranking.ranks[counted] - 1] > 0)]
    filled[unjudged] = most
    return filled


def _of_cascade(grades: Ints, terms: Terms, ranking: Rankings) -> Ints:
    """Fill in the unjudged grades that maximize a cascade measure, from the last rank up, all queries at once.

    An unjudged item takes the largest stop probability if stopping there is worth more than going on, else the
    smallest. ``terms.values`` (n_grades,) are the stop probabilities, ``terms.discounts`` (depth,) the value of
    stopping at each rank.
    """
    least, most = _ends(terms)
    filled = np.where(grades < 0, least, grades)
    starts, lengths = ranking.offsets[:-1], ranking.lengths
    below = np.zeros(lengths.size)  # expected value of going on below the rank
    for rank in range(min(terms.discounts.size, int(lengths.max(initial=0))), 0, -1):
        queries = np.flatnonzero(lengths >= rank)
        items = ranking.items[starts[queries] + rank - 1]
        gained = terms.discounts[rank - 1] - below[queries]  # by stopping here instead of going on
        filled[items[(grades[items] < 0) & (gained > 0)]] = most
        below[queries] += terms.values[filled[items]] * gained
    return filled


def _by_query(
    levels_of: Callable[[Ints, Ints, Ints, Terms], Ints], pool: QueryPool, grades: Ints, terms: Terms, ranking: Rankings
) -> Ints:
    """Fill in the unjudged grades that maximize a measure in which every item of a query counts, query by query.

    Parameters
    ----------
    levels_of : callable
        Maps the gain levels of a query's items (−1 for unjudged items at ranks that count), the levels at its ranks,
        the positions of the unjudged ranks, and the terms to the best levels of the unjudged ranks. A level is the
        index of a gain among the distinct gains, smallest first.
    """
    _, grade_of, level_of = np.unique(terms.values, return_index=True, return_inverse=True)
    counted = ranking.items[ranking.ranks <= terms.discounts.size]
    filled = np.where(grades < 0, grade_of[0], grades)
    levels = level_of.ravel()[filled]
    levels[counted[grades[counted] < 0]] = -1
    for query, (begin, end) in enumerate(zip(pool.query_offsets[:-1], pool.query_offsets[1:], strict=True)):
        ranked = ranking.items[ranking.offsets[query] : ranking.offsets[query + 1]][: terms.discounts.size]
        unjudged = np.flatnonzero(grades[ranked] < 0)
        if unjudged.size:
            filled[ranked[unjudged]] = grade_of[levels_of(levels[begin:end], levels[ranked], unjudged, terms)]
    return filled


def _of_share(levels: Ints, ranked: Ints, unjudged: Ints, terms: Terms) -> Ints:
    """Find the levels of a query's unjudged ranks that maximize its ratio to the ideal (Dinkelbach's iteration).

    A level is the index of a gain among the distinct gains, smallest first. ``levels`` (n_items,) and ``ranked``
    (n_ranks,) are those of the query's items and of its ranks, −1 if unjudged at a rank that counts; ``unjudged`` are
    the indices of such ranks. For each step from a gain to the next, the number of unjudged ranks with a gain above it
    is the best for the ratio so far; this repeats until the ratio no longer grows. ``terms.cumulative[n]`` is the value
    of the first n ranks of an ideal ranking at a gain of 1.
    """
    gains, discounts, ideal = np.unique(terms.values), terms.discounts[: ranked.size], terms.cumulative
    sums = np.append(0.0, np.cumsum(discounts[unjudged]))  # discounts of the first 0, 1 … unjudged ranks
    judged = ranked >= 0
    numerator = discounts[judged] @ gains[ranked[judged]] + gains[0] * sums[-1]
    denominator = gains[0] * ideal[min(levels.size, ideal.size - 1)]
    steps = np.diff(gains)
    rows, share, n_filled = np.arange(steps.size), 0.0, np.zeros(steps.size, dtype=np.int64)
    n_above = np.count_nonzero(levels > rows[:, None], axis=1)  # judged items above each step
    of_ideal = ideal[np.minimum(n_above[:, None] + np.arange(unjudged.size + 1), ideal.size - 1)]
    while True:
        tried = np.argmax(sums - share * of_ideal, axis=1)
        above, below = numerator + steps @ sums[tried], denominator + steps @ of_ideal[rows, tried]
        reached = above / below if below > 0 else 0.0
        if reached <= share:
            # the level of the j-th unjudged rank is the number of steps with more than j ranks above them
            return np.asarray(np.count_nonzero(n_filled[:, None] > np.arange(unjudged.size), axis=0))
        share, n_filled = reached, tried


def _of_precision(levels: Ints, ranked: Ints, unjudged: Ints, terms: Terms) -> Ints:
    """Find the levels (1 relevant, 0 not) of a query's unjudged ranks that maximize its average precision.

    Relevant items go to the best of these ranks; their number is the best of 0, 1 …. ``levels`` (n_items,) and
    ``ranked`` (n_ranks,) are 1, 0 or −1 (unjudged) for the query's items and its ranks, ``unjudged`` the indices of the
    unjudged ranks.
    """
    if np.unique(terms.values).size == 1:  # every grade is relevant, or none is
        return np.zeros(unjudged.size, dtype=np.int64)
    is_relevant = ranked > 0
    per_rank = 1.0 / np.arange(1, ranked.size + 1)
    # for each rank: relevant items judged down to it, and Σ 1 / rank over those at it or below
    above = np.cumsum(is_relevant)
    below = np.append(np.cumsum((is_relevant * per_rank)[::-1])[::-1], 0.0)
    n_filled = np.arange(1, unjudged.size + 1)
    # what the first, second … relevant item adds: its own precision, and 1 / rank to that of each below
    added = (above[unjudged] + n_filled) * per_rank[unjudged] + below[unjudged + 1]
    sums = (above * per_rank)[is_relevant].sum() + np.append(0.0, np.cumsum(added))
    n_relevant = np.count_nonzero(levels > 0) + np.append(0, n_filled)
    best = int(np.argmax(sums / np.maximum(n_relevant, 1)))
    return (np.arange(unjudged.size) < best).astype(np.int64)


def _ends(terms: Terms) -> tuple[int, int]:
    """Find the grades with the smallest and the largest value (gain, stop probability or relevance)."""
    return int(np.argmin(terms.values)), int(np.argmax(terms.values))
