"""Regression trees as flat arrays."""

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
    """One tree, the root first and every node before its children; `Trees` documents the fields."""

    features: Ints
    thresholds: Floats
    left: Ints
    right: Ints
    missing_left: Bools
    zero_is_missing: Bools


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Trees:
    """Concatenated regression trees; an item reaches one leaf of each.

    Attributes
    ----------
    roots : ndarray of int64, shape (n_trees,)
        Root node of each tree.
    features : ndarray of int64, shape (n_nodes,)
        Feature that a node compares, −1 at a leaf.
    thresholds : ndarray of float64, shape (n_nodes,)
        Values up to the threshold go left.
    left, right : ndarray of int64, shape (n_nodes,)
        Child nodes, numbered above their parent; −1 at a leaf.
    missing_left, zero_is_missing : ndarray of bool, shape (n_nodes,)
        True if a missing value goes left; true if zero counts as missing.
    n_features : int
    single : bool
        True: features are rounded to single precision before comparison, as in scikit-learn's trees.
    takes_missing : bool
        True if NaN is allowed.
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
        """Concatenate trees over `n_features` features; node numbers are shifted.

        With `single` features are rounded to single precision before comparison; `takes_missing` allows NaN.
        """
        tree_list = list(trees)
        sizes = [tree.features.size for tree in tree_list]
        roots = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        shifted = [
            tree._replace(left=_shifted(tree.left, root), right=_shifted(tree.right, root))
            for tree, root in zip(tree_list, roots, strict=True)
        ]
        fields = dict(zip(Tree._fields, map(np.concatenate, zip(*shifted, strict=True)), strict=True))
        return cls(roots=roots, **fields, n_features=n_features, single=single, takes_missing=takes_missing)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.roots.size

    @property
    def n_leaves(self) -> int:
        """Number of leaves of all trees."""
        return int(np.count_nonzero(self.features == LEAF))

    @property
    def leaf_trees(self) -> Ints:
        """Tree number of each leaf, shape (n_leaves,)."""
        return np.searchsorted(self.roots, np.flatnonzero(self.features == LEAF), side="right") - 1

    def leaves(self, X: ArrayLike, rows: Ints | None = None) -> NDArray[np.int32]:
        """Find the leaf that each row reaches in each tree, numbered over all trees; shape (n, n_trees).

        Parameters
        ----------
        X : array of float, shape (n_rows, n_features)
        rows : array of int, shape (n,), optional
            Row numbers; all rows by default.

        Raises
        ------
        InputError
            If a feature value is missing or too large for the trees, or there are more or fewer features.
        """
        from activeeval.core.kernels.learning.trees import leaf_columns

        features = self._compared(X)
        if rows is not None:
            features = features[rows]
        columns = np.empty((features.shape[0], self.n_trees), dtype=np.int32)
        leaf_columns(features, self._nodes(), columns)
        return columns

    def sums(self, X: ArrayLike, weights: Floats, intercept: float) -> Floats:
        """Compute the intercept plus the weights of the leaves that each row reaches, shape (n,).

        `weights`, shape (n_leaves,), are numbered over all trees. InputError is raised as by `leaves`.
        """
        from activeeval.core.kernels.learning.trees import tree_sums

        features = self._compared(X)
        total = np.full(features.shape[0], intercept)
        tree_sums(features, self._nodes(), weights, total)
        return total

    def problem(self) -> str | None:
        """Describe the first inconsistency of arrays of unknown origin; None if they are valid trees."""
        n = self.features.size
        columns = (self.thresholds, self.left, self.right, self.missing_left, self.zero_is_missing)
        if any(column.size != n for column in columns):
            return "its nodes are no trees"
        nodes = np.arange(n)
        inner = self.features != LEAF
        parents, children = nodes[inner], np.concatenate((self.left[inner], self.right[inner]))
        # every node except roots is the child of exactly one node, an earlier one: no cycles, no shared or lost nodes
        once = np.array_equal(np.sort(np.concatenate((children, self.roots))), nodes)
        if not (once and n and np.array_equal(np.unique(self.roots), self.roots)):
            return "its nodes are no trees"
        if not (children > np.tile(parents, 2)).all():
            return "its nodes are no trees"
        if inner.any() and not 0 <= self.features[inner].min() <= self.features[inner].max() < self.n_features:
            return f"it compares a feature outside 0 … {self.n_features - 1}"
        return "a threshold is missing" if np.isnan(self.thresholds[inner]).any() else None

    def _nodes(self) -> Nodes:
        """Bundle the arrays for the compiled kernels, with the leaf number of every node (only leaves' are used)."""
        columns = np.cumsum(self.features == LEAF) - 1
        branches = (self.left, self.right, self.missing_left, self.zero_is_missing)
        return Nodes(self.roots, self.features, self.thresholds, *branches, columns)

    def _compared(self, X: ArrayLike) -> NDArray[Any]:
        """Convert features to the precision of the comparisons, shape (n, n_features); raise InputError as `leaves`."""
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


def _shifted(children: Ints, root: int) -> Ints:
    """Add the number of a tree's root to its child numbers; −1 (a leaf's child) stays."""
    return np.where(children == LEAF, LEAF, children + root)
