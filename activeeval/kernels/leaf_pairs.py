"""Steps towards the weights that suit pairs of items, one pair after the other.

Δ_i is a row of differences of features, w_0 the weights to stay close to, v = w − w_0.

**Stochastic gradient** of (1/n) Σ ℓ(m_i) + λ‖v‖², m_i = (w_0 + v)ᵀΔ_i, takes one pair at a time:

    v  ←  (1 − 2ηλ) v + η s_i Δ_i,        s_i = −ℓ'(m_i).

Of all of v only the places where Δ_i is not 0 are touched, as v = c·u: the shrinking goes into the number c. The step
of pair k = 0, 1, … is η_k = 1 / (L + λk). L = 2(max‖Δ_i‖² + λ) is the largest curvature of one pair's squared loss, so
that the first steps do not overshoot; later η_k falls as 1/(λk), the rate at which a function of curvature 2λ forgets
its start with 1/k² while the noise of the pairs dies out.

**Coordinate ascent** (Hsieh et al. 2008) of the dual of ½‖v‖² + C Σ max(0, 1 − m_i),

    max  Σ α_i (1 − w_0ᵀΔ_i) − ½ ‖Σ α_i Δ_i‖²,    0 ≤ α_i ≤ C,        v = Σ α_i Δ_i.

In one α_i it is a parabola of slope 1 − m_i and curvature ‖Δ_i‖²; its best place, cut at the bounds, is taken. A pair
whose items no feature tells apart has the loss 1 whatever v is: α_i = C.
"""

from __future__ import annotations

from activeeval.kernels.compiling import jit as _jit
from activeeval.kernels.losses import margin_loss

# below it the scale c of v is multiplied out, long before rounding or underflow could show
_SMALLEST_SCALE = 1e-9


@_jit
def stochastic_steps(rows, order, start, base_margins, kind, ridge, curvature, moves):
    """Take one step for each pair in the given order.

    Parameters
    ----------
    rows : SparseRows
        Δ, n_pairs rows.
    order : array of int64, shape (n_pairs,)
    start : int
        How many steps have been taken before.
    base_margins : array of float64, shape (n_pairs,)
        w_0ᵀΔ_i.
    kind : int
        Of the loss, as in `activeeval.kernels.losses`.
    ridge, curvature : float
        λ and L.
    moves : array of float64, shape (n_columns,)
        v, changed in place.
    """
    scale = 1.0
    for k in range(order.size):
        i = order[k]
        step = 1.0 / (curvature + ridge * (start + k))
        margin = 0.0
        for p in range(rows.starts[i], rows.starts[i + 1]):
            margin += rows.values[p] * moves[rows.columns[p]]
        _, slope = margin_loss(base_margins[i] + scale * margin, kind)
        scale *= 1.0 - 2.0 * step * ridge
        if scale < _SMALLEST_SCALE:
            moves *= scale
            scale = 1.0
        for p in range(rows.starts[i], rows.starts[i + 1]):
            moves[rows.columns[p]] += step * slope / scale * rows.values[p]
    moves *= scale


@_jit
def coordinate_steps(rows, order, base_margins, norms, bound, multipliers, moves):
    """Make each multiplier the best one, the others as they are, in the given order.

    Parameters
    ----------
    rows : SparseRows
        Δ, n_pairs rows.
    order : array of int64, shape (n_pairs,)
    base_margins : array of float64, shape (n_pairs,)
        w_0ᵀΔ_i.
    norms : array of float64, shape (n_pairs,)
        ‖Δ_i‖².
    bound : float
        C.
    multipliers : array of float64, shape (n_pairs,)
        α, changed in place.
    moves : array of float64, shape (n_columns,)
        v, changed in place.
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
