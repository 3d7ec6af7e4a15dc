"""Regression trees as plain arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.core.errors import InputError
from activeeval.core.grade_models.base import as_many_features
from activeeval.core.kernels.bundles import Nodes
from activeeval.core.types import Bools, Floats, Ints
from activeeval.rankers.input_checks import refuse_missing

LEAF = -1


class Tree(NamedTuple):
    """One tree, its root first and every node before its children; see `Trees` for the fields."""

    features: Ints
    thresholds: Floats
    left: Ints
    right: Ints
    missing_left: Bools
    zero_is_missing: Bools


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Trees:
    """Regression trees, one after the other; an item reaches one leaf of each.

    Attributes
    ----------
    roots : ndarray of int64, shape (n_trees,)
        Node with which each tree begins.
    features : ndarray of int64, shape (n_nodes,)
        Which feature a node compares, −1 at a leaf.
    thresholds : ndarray of float64, shape (n_nodes,)
        Values up to it go left.
    left, right : ndarray of int64, shape (n_nodes,)
        Nodes, later than their parent; −1 at a leaf.
    missing_left, zero_is_missing : ndarray of bool, shape (n_nodes,)
        Whether a missing value goes left, and whether zero counts as one.
    n_features : int
    single : bool
        Features are rounded to single precision before they are compared, as scikit-learn's trees do.
    takes_missing : bool
        Whether NaN is allowed.
    """

    roots: Ints
    features: Ints
    thresholds: Floats
    left: Ints
    right: Ints
    missing_left: Bools
    zero_is_missing: Bools
    n_features: int
    single: bool
    takes_missing: bool

    @classmethod
    def joined(cls, trees: Iterable[Tree], *, n_features: int, single: bool, takes_missing: bool) -> Self:
        """Return trees one after the other."""
        held = list(trees)
        sizes = [tree.features.size for tree in held]
        roots = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        moved = [
            tree._replace(left=_moved(tree.left, root), right=_moved(tree.right, root))
            for tree, root in zip(held, roots, strict=True)
        ]
        fields = dict(zip(Tree._fields, map(np.concatenate, zip(*moved, strict=True)), strict=True))
        return cls(roots=roots, **fields, n_features=n_features, single=single, takes_missing=takes_missing)

    @property
    def n_trees(self) -> int:
        return self.roots.size

    @property
    def n_leaves(self) -> int:
        return int(np.count_nonzero(self.features == LEAF))

    @property
    def leaf_trees(self) -> Ints:
        """Number of each leaf's tree, shape (n_leaves,)."""
        return np.searchsorted(self.roots, np.flatnonzero(self.features == LEAF), side="right") - 1

    def leaves(self, X: ArrayLike, rows: Ints | None = None) -> NDArray[np.int32]:
        """Return the leaf that each row reaches in each tree, numbered over all trees; shape (n, n_trees).

        Parameters
        ----------
        X : array of float, shape (n_rows, n_features)
        rows : array of int, shape (n,), optional
            Which rows; all by default.
        """
        from activeeval.core.kernels.learning.trees import leaf_columns

        features = self._compared(X)
        if rows is not None:
            features = features[rows]
        columns = np.empty((features.shape[0], self.n_trees), dtype=np.int32)
        leaf_columns(features, self._nodes(), columns)
        return columns

    def sums(self, X: ArrayLike, weights: Floats, intercept: float) -> Floats:
        """Return the intercept and the weights of the leaves that each row reaches, shape (n,)."""
        from activeeval.core.kernels.learning.trees import tree_sums

        features = self._compared(X)
        total = np.full(features.shape[0], intercept)
        tree_sums(features, self._nodes(), weights, total)
        return total

    def problem(self) -> str | None:
        """Return what is wrong with arrays of unknown origin, None where they are trees."""
        n = self.features.size
        columns = (self.thresholds, self.left, self.right, self.missing_left, self.zero_is_missing)
        if any(column.size != n for column in columns):
            return "its nodes are no trees"
        nodes = np.arange(n)
        inner = self.features != LEAF
        parents, children = nodes[inner], np.concatenate((self.left[inner], self.right[inner]))
        # each node but the roots is the child of one node, an earlier one: no circle, none shared, none lost
        once = np.array_equal(np.sort(np.concatenate((children, self.roots))), nodes)
        if not (once and n and np.array_equal(np.unique(self.roots), self.roots)):
            return "its nodes are no trees"
        if not (children > np.tile(parents, 2)).all():
            return "its nodes are no trees"
        if inner.any() and not 0 <= self.features[inner].min() <= self.features[inner].max() < self.n_features:
            return f"it compares a feature outside 0 … {self.n_features - 1}"
        return "a threshold is missing" if np.isnan(self.thresholds[inner]).any() else None

    def _nodes(self) -> Nodes:
        columns = np.cumsum(self.features == LEAF) - 1
        branches = (self.left, self.right, self.missing_left, self.zero_is_missing)
        return Nodes(self.roots, self.features, self.thresholds, *branches, columns)

    def _compared(self, X: ArrayLike) -> NDArray[Any]:
        """Return features as the nodes compare them, or say what is wrong with them."""
        features = as_many_features(X, self.n_features, "HyperLinearRanker")
        if not self.takes_missing:
            refuse_missing(features)
        if self.single:
            with np.errstate(over="ignore"):
                rounded = features.astype(np.float32)
            if np.isinf(rounded).any():
                row, column = np.argwhere(np.isinf(rounded))[0]
                value = features[row, column]
                raise InputError(f"X must fit into single precision, got {value} at row {row}, column {column}")
            features = rounded
        return np.ascontiguousarray(features, dtype=np.float64)


def _moved(children: Ints, root: int) -> Ints:
    return np.where(children == LEAF, LEAF, children + root)
