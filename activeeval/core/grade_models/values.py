"""A grader's grades as a model of people's: expected grades of people for each value of the grader, without labels.

A grader's value r of an item becomes an interval of normal scores z, from Φ⁻¹(share below r) to Φ⁻¹(share up to r)
among its values over the pool. People's grade y depends on z linearly, with independent noise,

    P(y ≤ k | z) = Φ((θ_k − ρ z) / √(1 − ρ²)),                                                              (1)

with θ_k from the marginal shares of people's grades. The mean of (1) over the interval,

    P(y ≤ k | r) = (Φ₂(θ_k, z_hi; ρ) − Φ₂(θ_k, z_lo; ρ)) / (share of r),                                    (2)

keeps these marginals exactly, for any number of values. (With (1) at the middle ranks of a grader with two values, a
share of .35 would become .339.) Φ₂ is the normal distribution of two variables with correlation ρ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri, owens_t

from activeeval.core.errors import InputError
from activeeval.core.types import Floats, Ints

RHO = 0.4
"""Default correlation of normal scores, for unknown graders; benchmarks/graders.py measures others."""
PLANNED_RHO = 0.7
"""Default correlation for planning whether to use a grader, where safety against bad graders is not required. Of four
language models on passages of 2021 (DCG@10, at .002, .01 and .05 of a person's price; benchmarks/asking.py), its advice
is within 2 % of the least squared error in replays; `RHO` advised against three of them at .002, with a fifth more
error.
"""
PRIOR_LABELS = 8.0
"""Prior weight of (2) for each value of a grader, in labels, relative to people's grades of items with that value."""
MOST_VALUES = 10
"""Largest number of distinct values; more values (scores) are grouped into this many bins of about equal counts."""
CUMULATIVE_SHARES = ((0.0, 0.25, 0.5, 0.75, 1.0), (0.0, 0.35, 0.65, 0.85, 1.0))
"""Cumulative share of items by position on the scale, interpolated linearly: .35, .30, .20 and .15 for four grades,
about as TREC's judges graded pools of passages."""


def default_shares(n_grades: int) -> Floats:
    """Compute default shares of people's grades, as judges of TREC gave them, for use without data; shape (n_grades,).

    Examples
    --------
    >>> default_shares(4).round(2).tolist(), default_shares(2).round(2).tolist()
    ([0.35, 0.3, 0.2, 0.15], [0.65, 0.35])
    """
    return np.diff(np.interp(np.arange(n_grades + 1) / n_grades, *CUMULATIVE_SHARES))


@dataclass(frozen=True, slots=True, eq=False)
class ValueTable:
    """The distinct values of a grader (an LLM or another model), and people's expected grades for each.

    Attributes
    ----------
    codes : ndarray of int64, shape (n,)
        Code of each value, ascending with the value; the last code if it is missing.
    probs : ndarray, shape (n_kinds + 1, n_grades)
        P(y = k | r), people's expected shares of grade k given value r; the last row, for missing values, holds the
        shares among all items.
    """

    codes: Ints
    probs: Floats

    @classmethod
    def of(cls, values: ArrayLike, shares: ArrayLike, rho: float = RHO) -> Self:
        """Build the table of the values of a grader (an LLM or another model), such as its grades or scores.

        Parameters
        ----------
        values : array of float, shape (n,)
            On any scale that increases with relevance; NaN if missing.
        shares : array of float, shape (n_grades,)
            Shares of people's grades among items with a value.
        rho : float
            Assumed correlation between the grader's values and people's grades, on the scale of normal scores.

        Raises
        ------
        InputError
            If every value is missing.

        Examples
        --------
        >>> table = ValueTable.of([0.0, 1.0, 1.0, float("nan")], [0.5, 0.5])
        >>> table.codes.tolist(), table.probs.round(3).tolist()
        ([0, 1, 1, 2], [[0.678, 0.322], [0.411, 0.589], [0.5, 0.5]])
        """
        codes, n_kinds = _kinds(np.asarray(values, dtype=np.float64))
        marginal = np.asarray(shares, dtype=np.float64)
        marginal = marginal / marginal.sum()
        of_kinds = expected_grades(np.bincount(codes[codes < n_kinds], minlength=n_kinds), marginal, rho)
        return cls(codes, np.vstack((of_kinds, marginal)))


def expected_grades(counts: ArrayLike, shares: ArrayLike, rho: float = RHO) -> Floats:
    """Compute people's expected grades for each value of a grader (an LLM or another model), shape (n_kinds, n_grades).

    P(y = k | r) follows from a bivariate normal distribution of both (equation (2) of the module). ``counts``
    (n_kinds,) are the numbers of items with each value, ascending, ``shares`` (n_grades,) those of people's grades, and
    ``rho`` is the correlation.

    Examples
    --------
    >>> two = expected_grades([30, 10], [0.75, 0.25])
    >>> (np.array([0.75, 0.25]) @ two).round(12).tolist()
    [0.75, 0.25]
    """
    weights = np.asarray(counts, dtype=np.float64)
    weights = weights / weights.sum()
    edges = _scores(np.concatenate(([0.0], np.cumsum(weights))))
    thresholds = _scores(np.concatenate(([0.0], np.cumsum(np.asarray(shares, dtype=np.float64)))))
    below = bivariate_normal(thresholds[None, :], edges[:, None], rho)
    of_kinds = np.diff(np.diff(below, axis=0), axis=1) / weights[:, None]
    positive = np.maximum(of_kinds, 0.0)
    return np.asarray(positive / positive.sum(axis=1, keepdims=True))


def imagined_probs(probs: ArrayLike, ranks: ArrayLike, rho: float = RHO) -> Floats:
    """Simulate the grade probabilities of items after a hypothetical grader (an LLM, say) has given its values.

    Grades and values have a bivariate normal distribution, as in `expected_grades`, with the item's own thresholds of
    grades. The mean over the grader's possible values equals ``probs``, for any model.

    Parameters
    ----------
    probs : array of float, shape (n_items, n_grades)
        Probabilities without the grader.
    ranks : array of float, shape (n_items,)
        The grader's values as the share of items below, in [0, 1); only the bin among `MOST_VALUES` matters.
    rho : float
        Correlation of normal scores, given the probabilities.

    Examples
    --------
    >>> imagined_probs([[0.5, 0.5]] * 2, [0.05, 0.95], 0.4).round(3).tolist()
    [[0.774, 0.226], [0.226, 0.774]]
    """
    bins = (np.asarray(ranks, dtype=np.float64) * MOST_VALUES).astype(np.int64)
    cumulative = np.cumsum(np.asarray(probs, dtype=np.float64), axis=1)
    thresholds = _scores_of_rows(cumulative)
    edges = _scores(np.linspace(0.0, 1.0, MOST_VALUES + 1))
    below, above = (bivariate_normal(thresholds, edges[bins + k][:, None], rho) for k in (0, 1))
    positive = np.maximum(np.diff(above - below, axis=1, prepend=0.0), 0.0)
    return np.asarray(positive / positive.sum(axis=1, keepdims=True))


def bivariate_normal(h: ArrayLike, k: ArrayLike, rho: float) -> Floats:
    """Compute Φ₂(h, k; ρ), the probability that two normal variables with correlation ρ are below h and k.

    Uses Owen's T function (Owen 1956); h and k can be infinite.

    Examples
    --------
    >>> bivariate_normal([0.0, np.inf], [0.0, 1.0], 0.5).round(6).tolist()
    [0.333333, 0.841345]
    """
    x, y = np.broadcast_arrays(np.asarray(h, dtype=np.float64), np.asarray(k, dtype=np.float64))
    is_finite = np.isfinite(x) & np.isfinite(y)
    a, b = np.where(is_finite, x, 1.0), np.where(is_finite, y, 1.0)
    root = np.sqrt(1 - rho**2)
    with np.errstate(all="ignore"):  # ratios of tiny numbers can overflow
        # at 0 the ratio is infinite with the sign of its numerator, and T(0, ± ∞) = ± 1/4
        of_a = owens_t(a, np.where(a == 0, np.copysign(np.inf, b), (b / a - rho) / root))
        of_b = owens_t(b, np.where(b == 0, np.copysign(np.inf, a), (a / b - rho) / root))
    both_zero = (a == 0) & (b == 0)
    signs = np.sign(a) * np.sign(b)  # not the sign of the product, which can underflow to 0
    opposite = (signs < 0) | ((signs == 0) & (a + b < 0))
    inside = 0.5 * (ndtr(a) + ndtr(b) - opposite) - of_a - of_b
    inside = np.where(both_zero, 0.25 + np.arcsin(rho) / (2 * np.pi), inside)
    return np.asarray(np.where(is_finite, inside, np.minimum(ndtr(x), ndtr(y))))


def posterior(counts: Floats, expected: Floats, prior_labels: float = PRIOR_LABELS) -> Floats:
    """Combine counts of labels with prior probabilities: (c_rk + w P⁰_rk) / (c_r + w), shape (…, n_kinds, n_grades).

    ``counts`` c is the number of labels k of items with value r, ``expected`` P⁰ the prior, ``prior_labels`` w its
    weight.

    Examples
    --------
    >>> posterior(np.array([[2.0, 0.0]]), np.array([[0.5, 0.5]]), 2.0).tolist()
    [[0.75, 0.25]]
    """
    learned = (counts + prior_labels * expected) / (counts.sum(axis=-1, keepdims=True) + prior_labels)
    return np.asarray(learned)


def _kinds(values: Floats) -> tuple[Ints, int]:
    """Code the values (n,) in ascending order, missing ones last; return ``(codes, number of codes of known values)``.

    More than `MOST_VALUES` values are grouped into bins of about equal counts. Raises InputError if all are missing.
    """
    is_known = ~np.isnan(values)
    if not is_known.any():
        raise InputError("every value of the grader is missing, expected at least one")
    distinct, counts = np.unique(values[is_known], return_counts=True)
    kind_of = np.arange(distinct.size)
    if distinct.size > MOST_VALUES:
        middle = (np.cumsum(counts) - counts / 2) / counts.sum()
        kind_of = np.unique((middle * MOST_VALUES).astype(np.int64), return_inverse=True)[1]
    n_kinds = int(kind_of[-1]) + 1
    codes = np.full(values.size, n_kinds, dtype=np.int64)
    codes[is_known] = kind_of[np.searchsorted(distinct, values[is_known])]
    return codes, n_kinds


def _scores_of_rows(cumulative: Floats) -> Floats:
    """Compute normal scores Φ⁻¹ of cumulative shares (n, k); the last of each row counts as 1 despite rounding."""
    clipped = np.clip(cumulative, 0.0, 1.0)
    clipped[:, -1] = 1.0
    return np.asarray(ndtri(clipped))


def _scores(cumulative: Floats) -> Floats:
    """Compute normal scores Φ⁻¹ of cumulative shares, (k,); the last counts as 1 despite rounding."""
    return np.asarray(ndtri(np.append(np.clip(cumulative[:-1], 0.0, 1.0), 1.0)))
