"""Leaves that items reach in regression trees, and sums of leaf weights.

An item goes down from the root of a tree: left if the feature compared at a node is at most its threshold, else
right. A missing value (NaN) goes to the side stored in the node; so does a zero at a node that treats zeros as missing.
Zero means, as in LightGBM, a value of at most 1e-35 in size.
"""

from __future__ import annotations

from activeeval.core.kernels.compiling import jit as _jit

# LightGBM's kZeroThreshold, a number of single precision there
ZERO = 1.0000000180025095e-35


@_jit
def _leaf(features, nodes, node):
    """Find the column of the leaf that an item with ``features`` (n_features,) reaches from node ``node`` of a tree.

    A missing value (NaN, or 0 where the node treats zeros as missing) goes to the side stored in the node.
    """
    while nodes.features[node] >= 0:
        value = features[nodes.features[node]]
        if value != value or (nodes.zero_is_missing[node] and abs(value) <= ZERO):
            goes_left = nodes.missing_left[node]
        else:
            goes_left = value <= nodes.thresholds[node]
        node = nodes.left[node] if goes_left else nodes.right[node]
    return nodes.columns[node]


@_jit
def leaf_columns(features, nodes, out):
    """Fill ``out`` with the column (index) of the leaf that each item reaches in each regression tree.

    Parameters
    ----------
    features : array of float64, shape (n_items, n_features)
    nodes : Nodes
    out : array of int32, shape (n_items, n_trees)
    """
    for i in range(features.shape[0]):
        for t in range(nodes.roots.size):
            out[i, t] = _leaf(features[i], nodes, nodes.roots[t])


@_jit
def tree_sums(features, nodes, weights, out):
    """Add to ``out`` the weights of the leaves that each item reaches, summed in the order of the trees.

    The tree libraries use the same order, so that sums are equal.

    Parameters
    ----------
    features : array of float64, shape (n_items, n_features)
    nodes : Nodes
        All trees, one after the other.
    weights : array of float64, shape (n_leaves,)
        Of the leaves of all trees.
    out : array of float64, shape (n_items,)
    """
    for i in range(features.shape[0]):
        for t in range(nodes.roots.size):
            out[i] += weights[_leaf(features[i], nodes, nodes.roots[t])]
