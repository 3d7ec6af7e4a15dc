"""Priority sampling: so many of a list, with probability proportional to size, by numbers that stay.

Each of N things has a size f > 0 and a number u in (0, 1) for good. Its level is u / f; the n of the lowest levels are
the sample, and T is the level of the next one. At T the sample is as a Poisson sample with

    π = min(1, f T),    weight f / π = max(f, 1 / T).

T does not change when the level of a thing in the sample is lowered, so E[1 / π; in the sample] = 1 exactly, and with
the same argument for two things, E[1 / (π_i π_j); both in it] = 1: totals are unbiased, and Σ (1 − π) / π² y² over the
sample is unbiased for their variance, from n = 2 on (Duffield, Lund and Thorup, JACM 2007; levels as in
`activeeval.core.kernels.levels`). As numbers stay, two lists that share most of their sizes share most of their
samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from activeeval.core.types import Floats, Ints

FEWEST = 2
"""Of a stratum: one alone tells nothing of how its kind differ."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrioritySample:
    """What priority sampling drew.

    Attributes
    ----------
    places : ndarray of int64, shape (n,)
        Of what was drawn, by level.
    probs, weights : ndarray, shape (n,)
        π of each, and f / π: as often as it stands for.
    threshold : float
        T; infinite where all were drawn.
    """

    places: Ints
    probs: Floats
    weights: Floats
    threshold: float


def priority_sample(sizes: Floats, numbers: Floats, n: int) -> PrioritySample:
    """Draw ``n``, or all there are, with probability proportional to size.

    Parameters
    ----------
    sizes : ndarray, shape (n_all,)
        Positive.
    numbers : ndarray, shape (n_all,)
        A number in (0, 1) of each, for good.

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
    """Return how many are drawn in each stratum, in proportion to its share, shape (n_strata,).

    At least two of each and at most all of it; what a stratum does not hold goes to the others, and what is left of
    whole numbers to the largest remainders. ``shares`` are F for proportional allocation, F σ for Neyman's, F being
    what a stratum has of the traffic and σ the standard deviation of values within it.

    Parameters
    ----------
    n : int
        In all; all there are where it is more. Where it does not pay for two of each, strata of a larger share come
        first.
    shares : ndarray, shape (n_strata,)
        Not negative.
    counts : ndarray of int64, shape (n_strata,)
        How many there are in each.

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
        # first those beyond what they hold: what they leave may lift others above the least
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
