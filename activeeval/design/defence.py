"""A grade model that is never sure of itself: a share of it says that grades are much lower, or higher."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SHIFTS = (-4.0, -2.0, 2.0)
SHARE = 0.3
_SMALLEST = 1e-6


def defended_nodes(nodes: Floats, node_weights: Floats, share: float = SHARE) -> tuple[Floats, Floats]:
    """Add nodes to a grade model whose cumulative logits are shifted.

    The labels of the first items then say whether a query is one of those, and what is expected of the rest
    follows: a depth design is safe with a model that is wrong about the level of the grades.

    Parameters
    ----------
    nodes : ndarray, shape (n_nodes, n_items, n_grades)
    node_weights : ndarray, shape (n_nodes,)
    share : float
        Weight of all shifted nodes together.

    Returns
    -------
    ndarray, shape (n_nodes + 3, n_items, n_grades), and ndarray, shape (n_nodes + 3,)
        Nodes that shift the logits of p(y > k) by −4, −2 and 2 follow the model's own.
    """
    if share == 0:
        return nodes, node_weights
    out = np.empty((len(nodes) + len(SHIFTS), *nodes.shape[1:]))
    out[: len(nodes)] = nodes
    above = 1.0 - np.cumsum(np.tensordot(node_weights, nodes, 1), axis=1)[:, :-1]
    odds = np.clip(above, _SMALLEST, 1 - _SMALLEST)
    odds /= 1.0 - odds
    for shift, shifted in zip(SHIFTS, out[len(nodes) :], strict=True):
        tail = odds * np.exp(shift)
        tail /= 1.0 + tail
        shifted[:, 0] = 1.0 - tail[:, 0]
        shifted[:, 1:-1] = tail[:, :-1] - tail[:, 1:]
        shifted[:, -1] = tail[:, -1]
    np.maximum(out, 0.0, out=out)
    weights = np.concatenate((node_weights * (1 - share), np.full(len(SHIFTS), share / len(SHIFTS))))
    return out, weights
