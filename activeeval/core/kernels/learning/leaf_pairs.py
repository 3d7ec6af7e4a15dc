"""Optimization of linear weights on pairs of items, one pair at a time.

Δ_i is a row of differences of features, w_0 the weights to stay close to, v = w − w_0.

**Stochastic gradient** of (1/n) Σ ℓ(m_i) + λ‖v‖², m_i = (w_0 + v)ᵀΔ_i, uses one pair at a time:

    v  ←  (1 − 2ηλ) v + η s_i Δ_i,        s_i = −ℓ'(m_i).

The step of pair k = 0, 1, … is η_k = 1 / (L + λk). L = 2(max‖Δ_i‖² + λ) is the largest curvature of one pair's squared
loss, so that no step overshoots; later η_k decreases as 1/(λk). The result is the mean of v after each step, weighted
by 1/η_k (Lacoste-Julien, Schmidt and Bach 2012), because v itself fluctuates with the last pairs.

Only the nonzero entries of Δ_i are updated. The shrinking is kept as a scalar, v = c·u. For the mean let S_k be the
sum of c_l/η_l up to step k, and δ_m the change of an entry of u in step m, which later steps keep. Then its part of
Σ_k v_k/η_k is Σ_m δ_m (S − S_{m−1}) = S u − Σ_m δ_m S_{m−1}, and each step updates the last sum where it updates u.

**Coordinate ascent** (Hsieh et al. 2008) of the dual of ½‖v‖² + C Σ max(0, 1 − m_i),

    max  Σ α_i (1 − w_0ᵀΔ_i) − ½ ‖Σ α_i Δ_i‖²,    0 ≤ α_i ≤ C,        v = Σ α_i Δ_i.

In one α_i it is a parabola of slope 1 − m_i and curvature ‖Δ_i‖²; each step sets α_i to its maximum within the bounds.
A pair of items with equal features has the loss 1 for every v: α_i = C.
"""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit
from activeeval.core.kernels.learning.losses import margin_loss

# below it, c is multiplied into v: S u and the sum subtracted from it grow with 1/c, and so do rounding errors
_SMALLEST_SCALE = 1e-3


@_jit
def stochastic_steps(rows, order, start, base_margins, kind, ridge, curvature, moves, total):
    """Take one stochastic gradient step for each pair in the given order, with loss and L2 penalty; return Σ 1/η_k.

    Minimizes the mean loss of the margins plus λ‖v‖². η_k = 1 / (L + λk) is the length of step k; see the module.

    Parameters
    ----------
    rows : SparseRows
        Δ: a row of feature differences (preferred minus other item) for each of n_pairs pairs.
    order : array of int64, shape (n_pairs,)
        Pairs in the order of the steps.
    start : int
        Number of steps taken before.
    base_margins : array of float64, shape (n_pairs,)
        w_0ᵀΔ_i, the margins by the weights w_0 that v is added to.
    kind : int
        Kind of loss, `HINGE`, `LOGISTIC` or `SQUARED` of `activeeval.core.kernels.learning.losses`.
    ridge, curvature : float
        λ and L.
    moves : array of float64, shape (n_columns,)
        v = w − w_0, changed in place.
    total : array of float64, shape (n_columns,)
        Σ_k v_k/η_k is added to it; divided by Σ 1/η_k it is the mean v.
    """
    # v is scale · moves, so that its shrinking in each step is one product; scales is the sum of scale / η up to now,
    # and earlier has each change of moves times the scales before it: Σ v/η is scales · moves − earlier
    scale, scales, weights = 1.0, 0.0, 0.0
    earlier = np.zeros(moves.size)
    for k in range(order.size):
        i = order[k]
        weight = curvature + ridge * (start + k)
        margin = 0.0
        for p in range(rows.starts[i], rows.starts[i + 1]):
            margin += rows.values[p] * moves[rows.columns[p]]
        _, slope = margin_loss(base_margins[i] + scale * margin, kind)
        scale *= 1.0 - 2.0 * ridge / weight
        if scale < _SMALLEST_SCALE:
            total += scales * moves - earlier
            moves *= scale
            scale, scales = 1.0, 0.0
            earlier[:] = 0.0
        for p in range(rows.starts[i], rows.starts[i + 1]):
            change = slope / (weight * scale) * rows.values[p]
            moves[rows.columns[p]] += change
            earlier[rows.columns[p]] += change * scales
        scales += weight * scale
        weights += weight
    total += scales * moves - earlier
    moves *= scale
    return weights


@_jit
def coordinate_steps(rows, order, base_margins, norms, bound, multipliers, moves):
    """Maximize the dual of a linear ranking SVM over each multiplier in the given order, with the others fixed.

    The primal is ½‖v‖² + C Σ max(0, 1 − margin_i) over pairs i, with margin_i = (w_0 + v)ᵀΔ_i, the dual
    Σ α_i (1 − w_0ᵀΔ_i) − ½‖Σ α_i Δ_i‖² with multipliers 0 ≤ α_i ≤ C and v = Σ α_i Δ_i.

    Parameters
    ----------
    rows : SparseRows
        Δ: a row of feature differences (preferred minus other item) for each of n_pairs pairs.
    order : array of int64, shape (n_pairs,)
    base_margins : array of float64, shape (n_pairs,)
        w_0ᵀΔ_i, the margins by the weights w_0 that v is added to.
    norms : array of float64, shape (n_pairs,)
        ‖Δ_i‖².
    bound : float
        C.
    multipliers : array of float64, shape (n_pairs,)
        α in [0, C], changed in place.
    moves : array of float64, shape (n_columns,)
        v = w − w_0 = Σ α_i Δ_i, changed in place.
    """
    for i in order:
        if norms[i] == 0.0:
            multipliers[i] = bound
            continue
        margin = base_margins[i]
        for p in range(rows.starts[i], rows.starts[i + 1]):
            margin += rows.values[p] * moves[rows.columns[p]]
        best = min(max(multipliers[i] + (1.0 - margin) / norms[i], 0.0), bound)
        change = best - multipliers[i]
        if change != 0.0:
            multipliers[i] = best
            for p in range(rows.starts[i], rows.starts[i + 1]):
                moves[rows.columns[p]] += change * rows.values[p]


@_jit
def weighted_gram(rows, weights, out):
    """Add ΔᵀWΔ to the lower triangle of ``out``.

    Parameters
    ----------
    rows : SparseRows
        Δ, n_pairs rows, the columns of each ascending.
    weights : array of float64, shape (n_pairs,)
        W, a diagonal.
    out : array of float64, shape (n_columns, n_columns)
    """
    for i in range(weights.size):
        for p in range(rows.starts[i], rows.starts[i + 1]):
            line = out[rows.columns[p]]
            share = weights[i] * rows.values[p]
            for r in range(rows.starts[i], p + 1):
                line[rows.columns[r]] += share * rows.values[r]
