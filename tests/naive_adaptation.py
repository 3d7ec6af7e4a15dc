"""Obviously right, slow forms of what adapts boosted trees: plain loops, dense matrices, generic solvers."""

import math

import clarabel
import numpy as np
from scipy import sparse


def leaf_of(x, tree, node=0):
    """Down one tree of six lists; the number of the node where x ends."""
    features, thresholds, left, right, missing_left, zero_is_missing = tree
    if features[node] < 0:
        return node
    value = x[features[node]]
    if math.isnan(value) or (zero_is_missing[node] and abs(value) <= 1.0000000180025095e-35):
        goes_left = missing_left[node]
    else:
        goes_left = value <= thresholds[node]
    return leaf_of(x, tree, left[node] if goes_left else right[node])


def differences(H, pairs):
    return np.array([H[u] - H[v] for u, v in pairs])


def objective(loss, w, w0, D, ridge):
    """Of the mean scale, by loops."""
    total = 0.0
    for row in D:
        margin = sum(a * b for a, b in zip(row, w, strict=True))
        total += max(0.0, 1 - margin) if loss == "hinge" else (1 - margin) ** 2
    return total / len(D) + ridge * sum((a - b) ** 2 for a, b in zip(w, w0, strict=True))


def least_squares(w0, D, ridge):
    """Stacked rows: (1/√n)(Dw − 1) and √λ(w − w_0), by the singular values."""
    n = len(D)
    rows = np.vstack((D / math.sqrt(n), math.sqrt(ridge) * np.eye(w0.size)))
    return np.linalg.lstsq(rows, np.concatenate((np.ones(n) / math.sqrt(n), math.sqrt(ridge) * w0)))[0]


def least_hinge(w0, D, ridge):
    """The program in w and all slacks: λ‖w − w_0‖² + (1/n) Σ ξ, Dw ≥ 1 − ξ, ξ ≥ 0."""
    n, d = D.shape
    quadratic = sparse.block_diag((2 * ridge * sparse.eye_array(d), sparse.csc_array((n, n))), format="csc")
    linear = np.concatenate((-2 * ridge * w0, np.full(n, 1 / n)))
    bounds = sparse.block_array([[sparse.csc_array(-D), -sparse.eye_array(n)], [None, -sparse.eye_array(n)]])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    limits = np.concatenate((-np.ones(n), np.zeros(n)))
    cones = [clarabel.NonnegativeConeT(2 * n)]
    return np.array(clarabel.DefaultSolver(quadratic, linear, bounds.tocsc(), limits, cones, settings).solve().x)[:d]


def stochastic_steps(D, order, start, margins, ridge, curvature, v):
    """Steps of the squared loss, all of v at once; the last v, Σ v_k/η_k and Σ 1/η_k."""
    total, weight = 0 * v, 0.0
    for k, i in enumerate(order):
        step = 1 / (curvature + ridge * (start + k))
        slope = 2 * (1 - margins[i] - D[i] @ v)
        v = v + step * (slope * D[i] - 2 * ridge * v)
        total, weight = total + v / step, weight + 1 / step
    return v, total, weight


def coordinate_steps(D, order, margins, bound, multipliers):
    """Each multiplier by a search among many values of the dual."""
    held = multipliers.copy()

    def dual(a):
        v = a @ D
        return a @ (1 - margins) - 0.5 * v @ v

    for i in order:
        tried = np.linspace(0, bound, 2001)
        values = []
        for value in tried:
            held[i] = value
            values.append(dual(held))
        held[i] = tried[int(np.argmax(values))]
    return held
