"""Intervals that need more than a variance: resampled contributions, boundaries of several looks.

*Studentised bootstrap.* Draw j adds u_j to the error of R̂ (``contributions``) and keep_j u_j² to V̂. Draws
that come one after the other are resampled n from n; in a settled sample each is there 0, 1, 2 … times on its
own, as in the Poisson bootstrap. Resample b with counts k gives, with u centred where draws follow each other,

    T = Σ (k − 1) sqrt(keep) u / sqrt(Σ k keep u² − [draws] (Σ k u)² / n).

*Several looks.* B(τ) is a Brownian motion over the information fraction τ, Z_k = B(τ_k)/sqrt(τ_k). With f_k the
density of B(τ_k) on the paths that stayed inside, |B(τ_j)| < c_j (Armitage, McPherson and Rowe 1969),

    P(first out at look k) = ∫ f_{k−1}(x) [Φ((−c_k − x)/s) + Φ((x − c_k)/s)] dx,      s² = τ_k − τ_{k−1},
    f_k(y) = ∫ f_{k−1}(x) φ((y − x)/s)/s dx,

by Gauss-Legendre quadrature on [−c_k, c_k]; c_k is found by bisection.
"""

from __future__ import annotations

import math

import numpy as np

from activeeval.kernels.compiling import jit as _jit

_HALVINGS = 60
_LARGEST_BOUNDARY = 8.0
_ROOT2 = math.sqrt(2.0)


@_jit
def _count(u):
    """Return the Poisson number of mean 1 whose probabilities cumulated exceed ``u``."""
    k = 0
    prob = math.exp(-1.0)
    total = prob
    while u >= total and k < 20:
        k += 1
        prob /= k
        total += prob
    return k


@_jit
def bootstrap_statistics(contributions, keep, settled, rng, out):
    """Fill ``out`` (resamples,) with T, infinite where a resample shows no spread; ``rng`` is a numpy Generator."""
    n = contributions.size
    counts = np.empty(n, np.int64)
    for b in range(out.size):
        counts[:] = 0
        for j in range(n):
            if settled:
                counts[j] = _count(rng.random())
            else:
                counts[min(int(rng.random() * n), n - 1)] += 1
        error, total, spread = 0.0, 0.0, 0.0
        for j in range(n):
            u = contributions[j]
            error += (counts[j] - 1) * math.sqrt(keep[j]) * u
            total += counts[j] * u
            spread += counts[j] * keep[j] * u * u
        if not settled:
            spread = (spread - total * total / n) * n / (n - 1.0)
        if spread > 0.0:
            out[b] = error / math.sqrt(spread)
        else:
            out[b] = 0.0 if error == 0.0 else math.copysign(np.inf, error)


@_jit
def _first_out(points, masses, step, c):
    """Return the probability that paths at ``points`` are beyond ±c after a further ``step``."""
    total = 0.0
    for i in range(points.size):
        outside = math.erfc((c + points[i]) / (step * _ROOT2)) + math.erfc((c - points[i]) / (step * _ROOT2))
        total += 0.5 * masses[i] * outside
    return total


@_jit
def _move_on(points, masses, step, nodes):
    """Return the density at ``nodes`` of paths at ``points`` after a further ``step``."""
    density = np.zeros(nodes.size)
    for j in range(nodes.size):
        for i in range(points.size):
            distance = (nodes[j] - points[i]) / step
            density[j] += masses[i] * math.exp(-0.5 * distance * distance)
        density[j] /= step * math.sqrt(2.0 * math.pi)
    return density


@_jit
def boundaries(fractions, spent, nodes, weights, given, probs):
    """Fill the boundaries of |Z| at each look, and the probabilities to be first out there.

    Parameters
    ----------
    fractions : array, shape (n_looks,)
        τ_k, ascending to 1.
    spent : array, shape (n_looks,)
        The probability that may have been spent by each look; where it is negative, ``given`` holds.
    nodes, weights : arrays, shape (n,)
        A quadrature rule on [−1, 1].
    given, probs : arrays, shape (n_looks,)
        Out.
    """
    points, masses = np.zeros(1), np.ones(1)
    before, total = 0.0, 0.0
    for k in range(fractions.size):
        step, root = math.sqrt(fractions[k] - before), math.sqrt(fractions[k])
        if spent[k] >= 0.0:
            low, given[k] = 0.0, _LARGEST_BOUNDARY
            for _ in range(_HALVINGS):
                middle = 0.5 * (low + given[k])
                if total + _first_out(points, masses, step, middle * root) > spent[k]:
                    low = middle
                else:
                    given[k] = middle
        c = given[k] * root
        probs[k] = _first_out(points, masses, step, c)
        total += probs[k]
        density = _move_on(points, masses, step, c * nodes)
        points, masses, before = c * nodes, c * weights * density, fractions[k]
