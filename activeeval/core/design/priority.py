"""Priority sampling: a fixed number of units with probability proportional to size, with permanent random numbers.

Each of N units has a size f > 0 and a permanent number u in (0, 1). Its level is u / f; the n units with the lowest
levels are the sample, and T is the level of the next one. Given T the sample behaves as a Poisson sample with

    π = min(1, f T),    weight f / π = max(f, 1 / T).

T does not change when the level of a sampled unit is lowered, so E[1 / π; in the sample] = 1 exactly, and by the same
argument for two units, E[1 / (π_i π_j); both in it] = 1: totals are unbiased, and Σ (1 − π) / π² y² over the
sample is unbiased for their variance, from n = 2 on (Duffield, Lund and Thorup, JACM 2007; levels as in
`activeeval.core.kernels.levels`). Because numbers are permanent, two lists that share most of their sizes share most
of their samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from activeeval.core.types import Floats, Ints

FEWEST = 2
"""Fewest units of a stratum: a single one gives no estimate of the variance within it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrioritySample:
    """Units drawn by priority sampling.

    Attributes
    ----------
    places : ndarray of int64, shape (n,)
        Indices of the drawn units, by ascending level u / f.
    probs, weights : ndarray, shape (n,)
        Inclusion probability π of each drawn unit, and its weight f / π.
    threshold : float
        T, the lowest level of the other units; infinite if all units were drawn.
    """

    places: Ints
    probs: Floats
    weights: Floats
    threshold: float


def priority_sample(sizes: Floats, numbers: Floats, n: int) -> PrioritySample:
    """Draw ``n`` units (all, if there are fewer) with probability proportional to size.

    Parameters
    ----------
    sizes : ndarray, shape (n_all,)
        Positive.
    numbers : ndarray, shape (n_all,)
        Permanent random number in (0, 1) of each unit.
    n : int
        Sample size.

    Examples
    --------
    >>> drawn = priority_sample(np.array([8.0, 1.0, 2.0]), np.array([0.5, 0.5, 0.5]), 1)
    >>> drawn.places.tolist(), drawn.threshold, drawn.probs.tolist(), drawn.weights.tolist()
    ([0], 0.25, [1.0], [8.0])
    """
    levels = numbers / sizes
    if n >= sizes.size:
        order, threshold = np.argsort(levels, kind="stable"), math.inf
    else:
        near = np.argpartition(levels, n)[: n + 1]
        order = near[np.argsort(levels[near], kind="stable")]
        order, threshold = order[:n], float(levels[order[n]])
    drawn = sizes[order]
    probs = np.minimum(1.0, drawn * threshold)
    return PrioritySample(places=order, probs=probs, weights=np.maximum(drawn, 1.0 / threshold), threshold=threshold)


def allocated(n: int, shares: Floats, counts: Ints) -> Ints:
    """Allocate a sample of n units to strata in proportion to their shares; shape (n_strata,).

    Each stratum gets at least two units and at most all of its own; a stratum's excess goes to the others, and the
    rest from rounding down to the largest remainders. ``shares`` are F for proportional allocation and F σ for
    Neyman's, with F the stratum's share of the traffic and σ the standard deviation of values within it.

    Parameters
    ----------
    n : int
        Total sample size; all units if there are fewer. If it is too small for two per stratum, strata with larger
        shares come first.
    shares : ndarray, shape (n_strata,)
        Not negative.
    counts : ndarray of int64, shape (n_strata,)
        Number of units in each stratum.

    Examples
    --------
    >>> allocated(10, np.array([5.0, 3.0, 2.0]), np.array([3, 50, 50])).tolist()
    [3, 4, 3]
    """
    least = np.minimum(counts, FEWEST)
    if n <= least.sum():
        out = np.zeros_like(counts)
        for k in np.argsort(-shares, kind="stable"):
            out[k] = min(least[k], n - int(out.sum()))
        return out
    out, is_open = least.copy(), np.ones(counts.size, dtype=np.bool_)
    wanted = least.astype(np.float64)
    while is_open.any():
        left = min(n, int(counts.sum())) - float(wanted[~is_open].sum())
        total = float(shares[is_open].sum())
        part = shares[is_open] / total if total > 0 else counts[is_open] / counts[is_open].sum()
        wanted[is_open] = left * part
        is_bound = is_open & ((wanted > counts) | (wanted < least))
        if not is_bound.any():
            break
        # cap strata at their size first: their excess may lift others above the minimum
        beyond = is_open & (wanted > counts)
        fixed = beyond if beyond.any() else is_bound
        wanted[fixed] = np.clip(wanted[fixed], least[fixed], counts[fixed])
        is_open &= ~fixed
    out = np.floor(wanted + 1e-9).astype(np.int64)
    rest = min(n, int(counts.sum())) - int(out.sum())
    for k in np.argsort(out - wanted, kind="stable"):
        more = 1 if rest > 0 and out[k] < counts[k] else 0
        out[k], rest = out[k] + more, rest - more
    return out
