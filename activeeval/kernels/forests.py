"""Regression trees on coded features, and what many of them say on average.

A feature is coded by which of at most 1,023 intervals holds its value, MISSING where there is none. What a node holds
of a feature is then a histogram of weights and targets over the intervals: a split takes one pass over the node's rows
and one over the intervals that hold any, and nothing is sorted.

A node of weight W whose targets sum to S_k over outputs k has the squared error Σ_k (Σ t² − S_k² / W); a split is
therefore best where

    Σ_k S_k(left)² / W(left) + S_k(right)² / W(right)                                                            (1)

is largest. Rows that miss the feature go left or right, whichever is better. A row that misses a feature of which the
node missed none goes to the side that held more rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from activeeval.kernels.compiling import jit as _jit
from activeeval.kernels.numbers import number

# 255 intervals, as in gradient boosting, put the first four ranks of lists 1,000 deep into one; 1,023 tell them apart.
MISSING = 1023


class Split(NamedTuple):
    """The best split so far: (1), feature, the last code on the left, whether missing values go left."""

    gain: float
    feature: int
    cut: int
    to_left: bool


@_jit
def grow_tree(codes, targets, counts, min_leaf, n_tried, key):
    """Grow a tree until a leaf is pure or cannot be split.

    Parameters
    ----------
    codes : array of uint16, shape (n_features, n)
        Up to MISSING.
    targets : array of float64, shape (n, n_outputs)
    counts : array of int64, shape (n,)
        How often each row was drawn, some at least once.
    min_leaf : int
        Drawn rows, each counted once, that a leaf holds at least.
    n_tried : int
        Features drawn for a split; where none of these varies, more are.
    key : uint64
        Of the features that are drawn.

    Returns
    -------
    feature : array of int32, shape (n_nodes,)
        −1 marks a leaf.
    cut : array of uint16
        Codes up to it go left.
    to_left : array of bool
        Whether missing values do.
    child : array of int32
        The left child, with the right one behind it; of a leaf its row in ``means``.
    means : array of float64, shape (n_leaves, n_outputs)
    """
    rows, drawn = np.flatnonzero(counts), _drawn(targets, counts)
    room, width = 2 * max(rows.size // min_leaf, 1), drawn.shape[1]
    feature, child = np.empty(room, np.int32), np.empty(room, np.int32)
    cut, to_left = np.empty(room, np.uint16), np.empty(room, np.bool_)
    means, sums = np.empty((room // 2, width - 1)), np.zeros((room, width))
    ends, waiting = np.empty((room, 2), np.int64), np.empty(room, np.int64)
    order, of_left = np.arange(codes.shape[0]), np.empty(width)
    histogram, n_rows = np.zeros((MISSING + 1, width)), np.zeros(MISSING + 1, np.int64)
    for i in rows:
        for k in range(width):
            sums[0, k] += drawn[i, k]
    ends[0, 0], ends[0, 1], waiting[0] = 0, rows.size, 0
    n_nodes, n_waiting, n_leaves, word = 1, 1, 0, np.uint64(0)
    while n_waiting > 0:
        n_waiting -= 1
        node = waiting[n_waiting]
        start, stop = ends[node, 0], ends[node, 1]
        own, best, k, varies = rows[start:stop], Split(-1.0, -1, 0, False), 0, False
        goes_on = own.size >= 2 * min_leaf and not _is_pure(own, targets)
        while goes_on and k < order.size and (k < n_tried or not varies):
            other = k + int(number(key, word) * (order.size - k))
            order[k], order[other] = order[other], order[k]
            _count_codes(codes[order[k]], own, drawn, histogram, n_rows)
            best, is_varied = _best_cut(order[k], histogram, n_rows, sums[node], own.size, min_leaf, best, of_left)
            varies, k, word = varies or is_varied, k + 1, word + np.uint64(1)
        feature[node], cut[node], to_left[node] = best.feature, best.cut, best.to_left
        if best.feature < 0:
            child[node] = n_leaves
            for k in range(1, width):
                means[n_leaves, k - 1] = sums[node, k] / sums[node, 0]
            n_leaves += 1
        else:
            child[node] = n_nodes
            middle = start + _part(codes[best.feature], own, best)
            for k in range(width):
                sums[n_nodes, k], sums[n_nodes + 1, k] = of_left[k], sums[node, k] - of_left[k]
            for n, first, last in ((n_nodes, start, middle), (n_nodes + 1, middle, stop)):
                ends[n, 0], ends[n, 1], waiting[n_waiting] = first, last, n
                n_waiting += 1
            n_nodes += 2
    return feature[:n_nodes], cut[:n_nodes], to_left[:n_nodes], child[:n_nodes], means[:n_leaves]


@_jit
def _drawn(targets, counts):
    """Return the weight of each row and, behind it, that times its targets, shape (n, 1 + n_outputs)."""
    out = np.empty((targets.shape[0], targets.shape[1] + 1))
    for i in range(out.shape[0]):
        out[i, 0] = counts[i]
        for k in range(targets.shape[1]):
            out[i, k + 1] = counts[i] * targets[i, k]
    return out


@_jit
def _is_pure(own, targets):
    for i in own:
        for k in range(targets.shape[1]):
            if targets[i, k] != targets[own[0], k]:
                return False
    return True


@_jit
def _count_codes(codes, own, drawn, histogram, n_rows):
    """Add weights, sums of targets and numbers of a node's rows to those of their codes."""
    for i in own:
        code = codes[i]
        n_rows[code] += 1
        for k in range(drawn.shape[1]):
            histogram[code, k] += drawn[i, k]


@_jit
def _best_cut(feature, histogram, n_rows, sums, n, min_leaf, best, of_left):
    """Return the best split, of this feature where (1) is larger there, and whether it varies; clear the histogram.

    A cut lies in the middle of the codes that hold no row; ``of_left`` takes the sums of the left side.
    """
    n_missing, n_held, width = n_rows[MISSING], 0, sums.size
    of_missing, held, n_left = np.empty(width), np.empty(MISSING, np.int64), np.empty(MISSING, np.int64)
    n_rows[MISSING] = 0
    for k in range(width):
        of_missing[k], histogram[MISSING, k] = histogram[MISSING, k], 0.0
    for code in range(MISSING):
        if n_rows[code] > 0:
            held[n_held], n_left[n_held], n_rows[code] = code, n_rows[code], 0
            n_held += 1
    running = np.empty((width, n_held))
    for k in range(width):
        total = 0.0
        for j in range(n_held):
            total += histogram[held[j], k]
            running[k, j], histogram[held[j], k] = total, 0.0
    for j in range(1, n_held):
        n_left[j] += n_left[j - 1]
    most, at, is_left = best.gain, -1, False
    for side in range(2 if n_missing > 0 else 1):
        # right of the last code nothing is left but missing values
        for j in range(n_held if n_missing > 0 and side == 0 else n_held - 1):
            if min_leaf <= n_left[j] + side * n_missing <= n - min_leaf:
                weight, left, right = running[0, j] + side * of_missing[0], 0.0, 0.0
                for k in range(1, width):
                    on_left = running[k, j] + side * of_missing[k]
                    left += on_left**2
                    right += (sums[k] - on_left) ** 2
                gain = left / weight + right / (sums[0] - weight)
                if gain > most:
                    most, at, is_left = gain, j, side == 1
    if at >= 0:
        for k in range(width):
            of_left[k] = running[k, at] + (of_missing[k] if is_left else 0.0)
        cut = held[at] if at == n_held - 1 else (held[at] + held[at + 1]) // 2
        best = Split(most, feature, cut, is_left if n_missing > 0 else 2 * n_left[at] > n)
    return best, n_held + (n_missing > 0) > 1


@_jit
def _part(codes, own, split):
    """Put the rows that go left before the others; return how many do."""
    n = 0
    for i in range(own.size):
        row = own[i]
        code = codes[row]
        if code <= split.cut or (code == MISSING and split.to_left):
            own[i], own[n] = own[n], row
            n += 1
    return n


@_jit
def add_means(codes, roots, feature, cut, to_left, child, means, out):
    """Add to ``out`` (n, n_outputs) what each tree says of each row.

    Parameters
    ----------
    codes : array of uint16, shape (n_features, n)
    roots : array of int64, shape (n_trees, 2)
        The first node and the first leaf of each tree; its children and leaves count from there.
    feature, cut, to_left, child, means : arrays
        Of all trees, as `grow_tree` returns them.
    """
    for t in range(roots.shape[0]):
        root, first_leaf = roots[t]
        for i in range(out.shape[0]):
            node = root
            while feature[node] >= 0:
                code = codes[feature[node], i]
                is_left = to_left[node] if code == MISSING else code <= cut[node]
                node = root + child[node] + (0 if is_left else 1)
            leaf = first_leaf + child[node]
            for k in range(out.shape[1]):
                out[i, k] += means[leaf, k]
