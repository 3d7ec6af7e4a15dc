"""Boundaries of a test with several interim analyses.

B(τ) is a Brownian motion over the information fraction τ, Z_k = B(τ_k)/sqrt(τ_k). With f_k the
density of B(τ_k) on the paths that stayed inside, |B(τ_j)| < c_j (Armitage, McPherson and Rowe 1969),

    P(first outside at analysis k) = ∫ f_{k−1}(x) [Φ((−c_k − x)/s) + Φ((x − c_k)/s)] dx,      s² = τ_k − τ_{k−1},
    f_k(y) = ∫ f_{k−1}(x) φ((y − x)/s)/s dx,

by Gauss-Legendre quadrature on [−c_k, c_k]; c_k is found by bisection.
"""

from __future__ import annotations

import math

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit

_HALVINGS = 60
_LARGEST_BOUNDARY = 8.0
_ROOT2 = math.sqrt(2.0)


@_jit
def _first_out(points, masses, step, c):
    """Compute the probability that Brownian paths now at ``points`` (n,) are beyond ±c after a further step.

    ``masses`` (n,) are the probabilities of the points, ``step`` the standard deviation of the step.
    """
    total = 0.0
    for i in range(points.size):
        outside = math.erfc((c + points[i]) / (step * _ROOT2)) + math.erfc((c - points[i]) / (step * _ROOT2))
        total += 0.5 * masses[i] * outside
    return total


@_jit
def _move_on(points, masses, step, nodes):
    """Compute the density at ``nodes`` (m,) of Brownian paths that were at ``points`` before a step.

    ``masses`` (n,) are the probabilities of the points, ``step`` the standard deviation of the step.
    """
    density = np.zeros(nodes.size)
    for j in range(nodes.size):
        for i in range(points.size):
            distance = (nodes[j] - points[i]) / step
            density[j] += masses[i] * math.exp(-0.5 * distance * distance)
        density[j] /= step * math.sqrt(2.0 * math.pi)
    return density


@_jit
def boundaries(fractions, spent, nodes, weights, bounds, probs):
    """Fill the boundaries of |Z| at each interim analysis, and the probabilities of crossing them there first.

    Z_k = B(τ_k) / sqrt(τ_k) for a Brownian motion B; τ_k is the share of the information at analysis k. Computed by
    recursive integration (Armitage, McPherson and Rowe 1969).

    Parameters
    ----------
    fractions : array, shape (n_looks,)
        τ_k, ascending to 1.
    spent : array, shape (n_looks,)
        Cumulative crossing probability allowed by each analysis; if negative, the boundary already in ``bounds`` is
        used.
    nodes, weights : arrays, shape (n,)
        A quadrature rule on [−1, 1].
    bounds, probs : arrays, shape (n_looks,)
        Out: boundary, and probability that |Z| exceeds it at this analysis and at none before.
    """
    points, masses = np.zeros(1), np.ones(1)
    before, total = 0.0, 0.0
    for k in range(fractions.size):
        step, root = math.sqrt(fractions[k] - before), math.sqrt(fractions[k])
        if spent[k] >= 0.0:
            low, bounds[k] = 0.0, _LARGEST_BOUNDARY
            for _ in range(_HALVINGS):
                middle = 0.5 * (low + bounds[k])
                if total + _first_out(points, masses, step, middle * root) > spent[k]:
                    low = middle
                else:
                    bounds[k] = middle
        c = bounds[k] * root
        probs[k] = _first_out(points, masses, step, c)
        total += probs[k]
        density = _move_on(points, masses, step, c * nodes)
        points, masses, before = c * nodes, c * weights * density, fractions[k]
