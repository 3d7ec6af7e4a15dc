"""Paired comparison of two runs on the same queries, and the interval of one run's mean."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from activeeval.core.checks import floats, generator, one_of, strict_share, whole_number
from activeeval.core.errors import InputError
from activeeval.core.interval_ends import ROUNDING, UNLIMITED, IntervalBasis, Shares
from activeeval.core.results import LARGEST_SHARE
from activeeval.core.types import Floats

LARGEST_EXACT = 50
"""Number of nonzero differences up to which the signed-rank distribution is computed exactly."""
BLOCK_SIGNS = 4_000_000
TESTS = {
    "t": "the paired t test (larger where few queries differ)",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "randomization": "the randomization test",
}
CORRECTIONS = ("holm", "bonferroni", "none")


@dataclass(frozen=True, slots=True)
class MeanSummary:
    """The mean of per-query scores with its interval.

    Attributes
    ----------
    mean, std_error, low, high : float
        In the unit of the measure; one query gives an infinite std_error.
    n : int
        Number of queries.
    basis : IntervalBasis
        Numbers from which the interval is computed at any confidence.
    """

    mean: float
    std_error: float
    low: float
    high: float
    n: int
    basis: IntervalBasis

    @classmethod
    def of(cls, basis: IntervalBasis, n: int, confidence: float) -> MeanSummary:
        """Summarise the mean of ``n`` queries from the basis of its interval."""
        low, high = basis.ends(confidence)
        return cls(basis.value, basis.std_error, low, high, n, basis)


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """Two runs compared query by query, first − second.

    Attributes
    ----------
    difference, std_error, low, high : float
        Mean difference, its standard error and interval, in the unit of the measure.
    p_t, p_wilcoxon, p_randomization : float
        Two-sided p values of the paired t test, Wilcoxon's signed-rank test and the randomization
        (sign-flip) test. If the limits of the measure are known, the first is the smallest α whose interval excludes 0:
        larger than that of the t test if few queries differ from most.
    wins, ties, losses : int
        Queries on which the first run is better, equal, worse.
    n : int
        Number of queries.
    basis : IntervalBasis
        Numbers from which the interval is computed at any confidence.
    largest_share : float or None
        Largest share of the variance due to one query, if it exceeds `activeeval.core.results.LARGEST_SHARE`, else
        None.
    """

    difference: float
    std_error: float
    low: float
    high: float
    p_t: float
    p_wilcoxon: float
    p_randomization: float
    wins: int
    ties: int
    losses: int
    n: int
    basis: IntervalBasis
    largest_share: float | None = None

    def at(self, confidence: float) -> PairedComparison:
        """Return the comparison with its interval at another confidence."""
        low, high = self.basis.ends(confidence)
        return replace(self, low=low, high=high)

    def p_value(self, test: str) -> float:
        """Return the p value of a test, "t", "wilcoxon" or "randomization"."""
        p: float = getattr(self, f"p_{test}")
        return p


def mean_interval(scores: ArrayLike, confidence: float = 0.95, limits: tuple[float, float] = UNLIMITED) -> MeanSummary:
    """Compute the mean of per-query scores with its interval: a t interval, see `activeeval.core.interval_ends`.

    Parameters
    ----------
    scores : array of float, shape (n,)
    confidence : float
        Confidence, strictly between 0 and 1.
    limits : (float, float)
        Lowest and highest possible score. With both known the interval allows for queries that differ from most, and
        lies inside the limits.

    Raises
    ------
    InputError
        If the scores are empty or not finite.

    Examples
    --------
    >>> summary = mean_interval([1.0, 2.0, 3.0])
    >>> summary.mean, round(summary.low, 3), round(summary.high, 3)
    (2.0, -0.484, 4.484)
    """
    values = _scores(scores, "scores")
    mean, n = float(values.mean()), values.size
    rounding = ROUNDING * np.abs(values).max()
    mean = 0.0 if abs(mean) <= rounding else mean  # a sum of 0 up to rounding is no difference
    is_constant = np.ptp(values) <= rounding
    std_error = math.inf if n == 1 else 0.0 if is_constant else float(values.std(ddof=1)) / math.sqrt(n)
    basis = IntervalBasis(
        value=mean, std_error=std_error, degrees_of_freedom=n - 1.0, limits=limits, shares=Shares.of(values)
    )
    return MeanSummary.of(basis, n, confidence)


def compare_scores(
    first: ArrayLike,
    second: ArrayLike,
    confidence: float = 0.95,
    n_permutations: int = 10_000,
    rng: np.random.Generator | int | None = None,
    *,
    limits: tuple[float, float] = UNLIMITED,
) -> PairedComparison:
    """Compare two runs by their scores on the same queries.

    Parameters
    ----------
    first, second : array of float, shape (n,)
        Scores of one measure, in the same order of queries. Scores that differ by no more than
        rounding (a share of 1e-12) are tied.
    confidence : float
        Confidence of the interval.
    n_permutations : int
        Sign flips of the randomization test. All of them are enumerated if the k untied queries allow
        2^k ≤ n_permutations; otherwise p = (r + 1)/(n_permutations + 1), with r the number of drawn flips at least as
        far from 0 as the observed difference.
    rng : Generator, int or None
        Random generator or seed of the flips; the same seed gives the same p.
    limits : (float, float)
        Lowest and highest possible difference; see `mean_interval`.

    Returns
    -------
    PairedComparison
        If all queries are tied, the three p values are 1.

    Notes
    -----
    Wilcoxon's test drops ties and gives equal absolute differences their mean rank. Its
    distribution is exact, also with such ranks, for up to 50 differences; beyond, it is the
    normal one with its variance corrected for equal ranks and without continuity correction.

    Raises
    ------
    InputError
        If the scores are empty, not finite or of different number.

    Examples
    --------
    >>> result = compare_scores([0.5, 0.75, 0.5, 1.0], [0.25, 0.25, 0.5, 0.5])
    >>> result.wins, result.ties, result.losses, result.p_randomization
    (3, 1, 0, 0.25)
    """
    ours, theirs = _scores(first, "first"), _scores(second, "second")
    if ours.size != theirs.size:
        raise InputError(f"first holds {ours.size} scores, second {theirs.size}: both must score the same queries")
    n_permutations, rng = whole_number(n_permutations, "n_permutations", 1), generator(rng)
    differences = ours - theirs
    differences[np.abs(differences) <= ROUNDING * np.maximum(np.abs(ours), np.abs(theirs))] = 0.0
    summary = mean_interval(differences, confidence, limits)
    untied = differences[differences != 0]
    return PairedComparison(
        difference=summary.mean,
        std_error=summary.std_error,
        low=summary.low,
        high=summary.high,
        p_t=summary.basis.p_value,
        p_wilcoxon=_signed_rank_test(untied),
        p_randomization=_randomization_test(untied, int(n_permutations), np.random.default_rng(rng)),
        wins=int((differences > 0).sum()),
        ties=differences.size - untied.size,
        losses=int((differences < 0).sum()),
        n=differences.size,
        basis=summary.basis,
        largest_share=largest if (largest := summary.basis.largest) > LARGEST_SHARE else None,
    )


def holm(p_values: ArrayLike) -> Floats:
    """Adjust p values for their number by Holm's step-down method.

    Parameters
    ----------
    p_values : array of float, shape (n,)

    Returns
    -------
    ndarray, shape (n,)
        Adjusted p values, in the order given: those at most α may be rejected together with a
        chance of at most α that any of them is rejected wrongly.

    Raises
    ------
    InputError
        If there are no p values or one lies outside [0, 1].

    Examples
    --------
    >>> holm([0.25, 0.0625, 0.125])
    array([0.25  , 0.1875, 0.25  ])
    """
    values = _p_values(p_values)
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(values.size, 0, -1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def corrected(p_values: ArrayLike, correction: str = "holm") -> Floats:
    """Adjust p values for their number, shape (n,): by `holm`, by ``"bonferroni"`` (n p, at most 1) or not, ``"none"``.

    Examples
    --------
    >>> corrected([0.25, 0.0625, 0.5], "bonferroni")
    array([0.75  , 0.1875, 1.    ])
    """
    if one_of(correction, CORRECTIONS, "correction") == "holm":
        return holm(p_values)
    values = _p_values(p_values)
    return np.minimum(values * values.size, 1.0) if correction == "bonferroni" else values


def holm_confidences(p_values: ArrayLike, confidence: float = 0.95) -> Floats:
    """Compute the confidence of each of several intervals so that they agree with Holm's method.

    With α = 1 − confidence and p values p_(1) ≤ p_(2) ≤ …, p_(i) is rejected while p_(i) ≤ α / (n − i + 1). Its
    interval has confidence 1 − α / (n − i + 1), those after the last rejected one 1 − α over their number: an interval
    contains 0 exactly if Holm's method does not reject.

    Parameters
    ----------
    p_values : array of float, shape (n,)
        P values of the tests that belong to the intervals.
    confidence : float
        Joint confidence of the tests: if nothing differs, any interval excludes 0 with a probability of at most
        1 − confidence.

    Notes
    -----
    Intervals of rejected tests are not simultaneous: with all n rejected, the probability that any misses its true
    value is up to α (1 + 1/2 + … + 1/n). Statements about values other than 0, such as a difference within a margin,
    hold for each interval alone.

    Examples
    --------
    >>> holm_confidences([0.25, 0.01, 0.2]).round(4)
    array([0.975 , 0.9833, 0.975 ])
    """
    strict_share(confidence, "confidence")
    adjusted = holm(p_values)
    values, n = _scores(p_values, "p_values"), adjusted.size
    is_rejected = adjusted <= 1 - confidence
    n_left = n - np.searchsorted(np.sort(values), values)  # equal p values share the wider interval
    n_left[~is_rejected] = np.count_nonzero(~is_rejected)
    return np.asarray(1 - (1 - confidence) / n_left)


def corrected_confidences(p_values: ArrayLike, correction: str = "holm", confidence: float = 0.95) -> Floats:
    """Compute the confidence of each interval so that it excludes 0 exactly if its `corrected` p value rejects, (n,).

    Examples
    --------
    >>> corrected_confidences([0.25, 0.01], "bonferroni")
    array([0.975, 0.975])
    """
    if correction == "holm":
        return holm_confidences(p_values, confidence)
    n = corrected(p_values, correction).size
    return np.full(n, 1 - (1 - confidence) / (n if correction == "bonferroni" else 1))


def _p_values(p_values: ArrayLike) -> Floats:
    """Return p values as an array; raise InputError unless they are a non-empty vector of numbers in [0, 1]."""
    values = _scores(p_values, "p_values")
    outside = np.flatnonzero((values < 0) | (values > 1))
    if outside.size:
        raise InputError(f"p_values must lie in [0, 1], got {values[outside[0]]} at position {outside[0]}")
    return values


def _scores(values: ArrayLike, what: str) -> Floats:
    """Return values as an array; raise InputError, naming ``what``, unless a non-empty vector of finite numbers."""
    array = floats(values, what)
    if array.ndim != 1:
        raise InputError(f"{what} must be one-dimensional, got shape {array.shape}")
    if array.size == 0:
        raise InputError(f"{what} is empty")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise InputError(f"{what} must be finite, got {array[bad[0]]} at position {bad[0]}")
    return array


def _signed_rank_test(differences: Floats) -> float:
    """Compute the two-sided p value of Wilcoxon's signed-rank test of nonzero differences; 1 if there are none."""
    n = differences.size
    if n == 0:
        return 1.0
    sizes = np.abs(differences)
    # Equal differences of decimal scores differ in their last digits, but must share a rank.
    _, place, counts = np.unique(np.round(sizes / sizes.max(), 12), return_inverse=True, return_counts=True)
    doubled = (2 * np.cumsum(counts) - counts + 1)[place]  # twice the ranks: whole numbers, also if ranks are shared
    smaller = int(min(doubled[differences > 0].sum(), doubled[differences < 0].sum()))
    if n > LARGEST_EXACT:
        return float(min(1.0, 2 * ndtr((smaller - doubled.sum() / 2) / math.sqrt((doubled**2).sum() / 4))))
    chances = np.zeros(doubled.sum() + 1)  # probability of each sum of ranks with a random sign
    chances[0] = 1.0
    for rank in doubled:
        chances[rank:] = (chances[rank:] + chances[:-rank]) / 2
        chances[:rank] /= 2
    return float(min(1.0, 2 * chances[: smaller + 1].sum()))


def _randomization_test(differences: Floats, n_permutations: int, random: np.random.Generator) -> float:
    """Compute the two-sided p value of the sign-flip randomization test of nonzero differences; 1 if there are none.

    ``n_permutations`` random flips of signs are drawn; all flips are enumerated if they are not more.
    """
    n = differences.size
    total = differences.sum()
    # A sum equal to the observed one up to rounding counts as equally extreme.
    least = abs(total) - ROUNDING * np.abs(differences).sum()
    exact = n < 63 and 2**n <= n_permutations
    n_flips = 2**n if exact else n_permutations
    extreme = 0
    size = max(1, BLOCK_SIGNS // max(n, 1))
    for start in range(0, n_flips, size):
        stop = min(start + size, n_flips)
        if exact:
            signs = (np.arange(start, stop)[:, None] >> np.arange(n)) & 1
        else:
            signs = random.integers(0, 2, size=(stop - start, n), dtype=np.int8)
        extreme += int((np.abs(2 * (signs @ differences) - total) >= least).sum())
    return extreme / n_flips if exact else (extreme + 1) / (n_flips + 1)
