"""Coefficients of agreement: Cohen's κ, Krippendorff's α, Gwet's AC1 and AC2, χ² of two shares.

Each is None if it is undefined, for example if the grades do not vary.

Both κ and α compare the observed disagreement with the disagreement expected of judges who grade at random,

    1 − D_o / D_e,

with δ(c, k) the weight of a disagreement between grades c and k. For κ (Cohen 1960, 1968) each random judge has the
grade distribution of the actual judge, D_e = Σ δ(c, k) n_c· n_·k / n. For α (Krippendorff 2011) all have the
distribution of all grades: with o_ck the pairs of grades of the items, each pair of an item with m grades counted
1 / (m − 1), and n_c = Σ_k o_ck,

    α = 1 − (n − 1) Σ o_ck δ(c, k) / Σ n_c n_k δ(c, k).

If nearly all grades are equal, both are low for any judges, as chance agreement is nearly certain. AC1 and AC2 (Gwet
2008, 2014) assume less chance agreement. With r_ik of the r_i judges of item i giving grade k, and
w(k, l) = 1 − δ(k, l) / max δ,

    p_a = mean over items with r_i ≥ 2 of Σ_k r_ik (Σ_l w(k, l) r_il − 1) / (r_i (r_i − 1)),
    π_k = mean over items of r_ik / r_i,    p_e = Σ_kl w(k, l) Σ_k π_k (1 − π_k) / (q (q − 1)),
    AC = (p_a − p_e) / (1 − p_e)

for q grades. AC1 has the weights of δ = 1, AC2 other weights. p_a without weights is the raw agreement.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc

from activeeval.core.errors import InputError
from activeeval.core.types import Floats

METRICS = ("nominal", "ordinal", "interval", "ratio")
WEIGHTS = {"none": 0, "linear": 1, "quadratic": 2}


class ChiSquared(NamedTuple):
    """A χ² statistic of one degree of freedom and its p-value."""

    statistic: float
    p_value: float


def chi_squared(n_agree: int, n: int, other_n_agree: int, other_n: int) -> ChiSquared | None:
    """Compare two shares, ``n_agree`` of ``n`` and ``other_n_agree`` of ``other_n``, by Pearson's χ² test.

    There is no continuity correction.

    The test assumes independent pairs, but pairs of one query are dependent: with few queries the p-value is too
    small.

    Returns
    -------
    ChiSquared or None
        None if either sample is empty, or all or none of the pairs agree.

    Raises
    ------
    InputError
        If a number does not lie between 0 and its total.

    Examples
    --------
    >>> chi_squared(10, 20, 15, 20)
    ChiSquared(statistic=2.666..., p_value=0.102...)
    """
    for agree, of in ((n_agree, n), (other_n_agree, other_n)):
        if not 0 <= agree <= of:
            raise InputError(f"the number of pairs that agree must lie from 0 to {of}, got {agree}")
    total, alike = n + other_n, n_agree + other_n_agree
    if not 0 < alike < total or not n or not other_n:
        return None
    gap = n_agree * (other_n - other_n_agree) - other_n_agree * (n - n_agree)
    statistic = total * gap**2 / (n * other_n * alike * (total - alike))
    return ChiSquared(float(statistic), float(chdtrc(1, statistic)))


def cohen_kappa(first: ArrayLike, second: ArrayLike, weights: str = "none") -> float | None:
    """Compute Cohen's κ of two judges who graded the same items.

    Parameters
    ----------
    first, second : array, shape (n,)
        Their grades.
    weights : {"none", "linear", "quadratic"}
        Weight of a disagreement: 1, ``|c − k|`` or (c − k)².

    Returns
    -------
    float or None
        None if the expected disagreement is 0, as with a single distinct grade.

    Raises
    ------
    InputError
        If the arrays differ in shape, a grade is not finite, or the weights are unknown.

    Examples
    --------
    >>> cohen_kappa([0, 0, 1, 1], [0, 1, 1, 1])
    0.5
    """
    rows, columns = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if rows.ndim != 1 or rows.shape != columns.shape or not np.isfinite([rows, columns]).all():
        raise InputError(f"two judges must have a grade each of the same items, got {rows.shape} and {columns.shape}")
    if weights not in WEIGHTS:
        raise InputError(f"unknown weights {weights!r}; known: {', '.join(WEIGHTS)}")
    values, codes = np.unique(np.stack([rows, columns]), return_inverse=True)
    codes = codes.reshape(2, -1)
    return kappa_of(confusion(codes[0], codes[1], values.size), values, weights)


def confusion(first: NDArray[np.int64], second: NDArray[np.int64], n: int, counts: Floats | None = None) -> Floats:
    """Cross-tabulate the grade codes of two judges, first judge by row, shape (n, n).

    ``first`` and ``second`` (n_items,) lie below ``n``; `counts` (n_items,) weights the items, by default equally.
    """
    return np.bincount(first * n + second, counts, minlength=n * n).astype(np.float64).reshape(n, n)


def kappa_of(table: Floats, values: Floats, weights: str) -> float | None:
    """Compute Cohen's κ from a table of the grades of two judges, shape (n, n); None if the expected disagreement is 0.

    ``values`` (n,) are the grades of rows and columns, ``weights`` a key of `WEIGHTS`.
    """
    weight = _gaps(values, weights)
    expected = weight.ravel() @ np.outer(table.sum(1), table.sum(0)).ravel()
    if not expected > 0:
        return None
    return float(1 - weight.ravel() @ table.ravel() * table.sum() / expected)


def _gaps(values: Floats, weights: str) -> Floats:
    """Compute the weight of a disagreement between every two grades ``values`` (n,), shape (n, n).

    ``weights`` is "none" (1), "linear" (the difference) or "quadratic" (its square).
    """
    gaps = np.abs(values[:, None] - values)
    return np.asarray(gaps ** WEIGHTS[weights] if WEIGHTS[weights] else (gaps > 0).astype(np.float64))


def krippendorff_alpha(grades: ArrayLike, metric: str = "ordinal") -> float | None:
    """Compute Krippendorff's α, chance-corrected agreement of any number of judges.

    Parameters
    ----------
    grades : array, shape (n_judges, n_items)
        NaN if a judge did not grade an item.
    metric : {"nominal", "ordinal", "interval", "ratio"}
        Weight of a disagreement: 1; the square of the number of grades given between the two, plus half of both; the
        square of the difference; the square of the difference divided by the sum.

    Returns
    -------
    float or None
        None if no item has two grades or all grades are equal.

    Raises
    ------
    InputError
        If grades have another shape or are infinite, or the metric is unknown.

    Examples
    --------
    >>> krippendorff_alpha([[1, 2, 3, float("nan")], [1, 2, 2, 3]], "nominal")
    0.5454...
    """
    counts, values = _counts(grades)
    if metric not in METRICS:
        raise InputError(f"unknown metric {metric!r}; known: {', '.join(METRICS)}")
    return alpha_of(coincidences(counts), values, metric)


def _counts(grades: ArrayLike) -> tuple[Floats, Floats]:
    """Count the grades of each item; return ``(counts (n_items, n_values), distinct grades (n_values,))``.

    Raises InputError if grades have another shape than (judges, items) or are infinite; NaN is no grade.
    """
    table = np.asarray(grades, dtype=np.float64)
    if table.ndim != 2 or np.isinf(table).any():
        raise InputError(f"grades must be finite or NaN, of shape (judges, items), got shape {table.shape}")
    judge, item = np.nonzero(~np.isnan(table))
    values, codes = np.unique(table[judge, item], return_inverse=True)
    counts = np.zeros((table.shape[1], values.size))
    np.add.at(counts, (item, codes), 1)
    return counts, values


def gwet_ac(grades: ArrayLike, weights: str = "none") -> float | None:
    """Compute Gwet's AC1, chance-corrected agreement that stays high if nearly all grades are equal; AC2 with weights.

    Parameters
    ----------
    grades : array, shape (n_judges, n_items)
        NaN if a judge did not grade an item. Items with one grade contribute only to the grade frequencies.
    weights : {"none", "linear", "quadratic"}
        Weight of a disagreement: 1, ``|c − k|`` or (c − k)², divided by the largest weight.

    Returns
    -------
    float, or None
        None if no item has two grades, or only one distinct grade occurs.

    Raises
    ------
    InputError
        If grades have another shape or are infinite, or the weights are unknown.

    Examples
    --------
    >>> round(gwet_ac([[1] * 10, [1] * 9 + [0]]), 2)
    0.89
    """
    counts, values = _counts(grades)
    if weights not in WEIGHTS:
        raise InputError(f"unknown weights {weights!r}; known: {', '.join(WEIGHTS)}")
    totals = counts.sum(axis=1)
    alone = counts[totals == 1].sum(axis=0)
    return ac_of(counts[totals > 1], values, weights, alone)


def ac_of(counts: Floats, values: Floats, weights: str, alone: Floats, times: Floats | None = None) -> float | None:
    """Compute Gwet's AC1 or AC2 from counts of grades; None if there are no counts or fewer than two grades.

    Parameters
    ----------
    values : ndarray, shape (n_values,)
        The grades.
    weights : str
        A key of `WEIGHTS`.
    counts : ndarray, shape (n_items, n_values)
        Number of times each grade was given, for items with at least two grades.
    alone : ndarray, shape (n_values,)
        Number of times each grade was the only one of an item.
    times : ndarray, shape (n_items,), optional
        Multiplicity of each item; 1 by default.
    """
    if values.size < 2 or not len(counts):
        return None
    gaps = _gaps(values, weights)
    alike = 1 - gaps / gaps.max()
    times = np.ones(len(counts)) if times is None else times
    common = times @ (counts / counts.sum(axis=1, keepdims=True)) + alone
    common = common / common.sum()
    by_chance = alike.sum() * (common @ (1 - common)) / (values.size * (values.size - 1))
    return float((_alike_share(counts, alike, times) - by_chance) / (1 - by_chance))


def raw_agreement(counts: Floats) -> float:
    """Compute the mean share of an item's pairs of judges with equal grades.

    ``counts`` (n_items, n_values) is how often each grade was given, for items with at least two grades.
    """
    return _alike_share(counts, np.eye(counts.shape[1]), np.ones(len(counts)))


def _alike_share(counts: Floats, alike: Floats, times: Floats) -> float:
    """Compute the mean weighted agreement of an item's pairs of judges (p_a of Gwet's coefficients).

    ``counts`` (n_items, n_values) is how often each grade was given, at least two an item; ``alike`` (n_values,
    n_values) the agreement of two grades, from 0 to 1; ``times`` (n_items,) how often each item counts.
    """
    n_judges = counts.sum(axis=1)
    shares = (counts * (counts @ alike - 1)).sum(axis=1) / (n_judges * (n_judges - 1))
    return float(times @ shares / times.sum())


def coincidences(counts: Floats, times: Floats | None = None) -> Floats:
    """Compute Krippendorff's coincidences o_ck: pairs of grades c and k of one item, shape (n_values, n_values).

    Each pair of an item with m grades counts 1 / (m − 1). ``counts`` (n_items, n_values) is how often each grade was
    given; ``times`` (n_items,) is how often each item counts, 1 by default.
    """
    # an item with one grade has no pair: its two terms cancel for any divisor
    share = (1.0 if times is None else times) / np.maximum(counts.sum(axis=1) - 1, 1)
    weighted = counts * share[:, None]
    return np.asarray(weighted.T @ counts - np.diag(weighted.sum(axis=0)))


def alpha_of(coincidence: Floats, values: Floats, metric: str) -> float | None:
    """Compute Krippendorff's α from coincidences (n, n); None if no item has two grades or all grades are equal.

    ``values`` (n,) are the grades, ``metric`` is one of `METRICS`.
    """
    counts = coincidence.sum(axis=1)
    delta = _deltas(counts, values, metric)
    expected = counts @ delta @ counts
    if not expected > 0:
        return None
    return float(1 - (counts.sum() - 1) * (coincidence * delta).sum() / expected)


def _deltas(counts: Floats, values: Floats, metric: str) -> Floats:
    """Compute the weight of a disagreement between every two grades by a metric of `METRICS`, shape (n, n).

    ``counts`` (n,) is the frequency of each grade of ``values`` (n,), which the ordinal metric needs.
    """
    gaps: Floats = values[:, None] - values
    if metric == "nominal":
        gaps = np.sign(gaps)
    elif metric == "ratio":
        sums = values[:, None] + values
        gaps = gaps / np.where(sums == 0, 1.0, sums)
    elif metric == "ordinal":
        middles = np.cumsum(counts) - counts / 2
        gaps = middles[:, None] - middles
    squares: Floats = gaps**2
    return squares
