"""Random forests of regression trees, grown by histograms (kernels/forests.py)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from activeeval.grade_models.probabilities import Floats, Ints
from activeeval.kernels.forests import MISSING, add_means, grow_tree

Codes = NDArray[np.uint16]
Singles = NDArray[np.float32]
BLOCK_ROWS = 8192
"""What a thread takes through all trees: smaller blocks fetch the trees more often, larger ones leave others idle."""


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """Trees that are grown, side by side in arrays, and the intervals of their features.

    Attributes
    ----------
    edges : list of ndarray
        Of each feature the upper ends of its intervals but the last.
    roots : ndarray of int64, shape (n_trees, 2)
        The first node and the first leaf of each tree.
    nodes : tuple of ndarray
        feature, cut, to_left, child and means, as `grow_tree` returns them.
    """

    edges: list[Floats]
    roots: Ints
    nodes: tuple[NDArray[Any], ...]

    @classmethod
    def of(cls, edges: list[Floats], trees: Sequence[tuple[NDArray[Any], ...]]) -> Self:
        """Put trees side by side."""
        sizes = [(tree[0].size, tree[-1].shape[0]) for tree in trees]
        roots = np.concatenate(([[0, 0]], np.cumsum(sizes, axis=0)[:-1]))
        return cls(edges, roots.astype(np.int64), tuple(np.concatenate(parts) for parts in zip(*trees, strict=True)))

    def means_of(self, features: Singles, n_jobs: int | None = None) -> Floats:
        """Return the mean over the trees, shape (n, n_outputs); the same, bit for bit, whatever ``n_jobs`` is."""
        out = np.zeros((features.shape[0], self.nodes[-1].shape[1]))
        starts = range(0, max(len(out), 1), BLOCK_ROWS)
        blocks = [slice(start, start + BLOCK_ROWS) for start in starts]
        Parallel(n_jobs=n_jobs, prefer="threads", require="sharedmem")(
            delayed(self._add)(features[block], out[block]) for block in blocks
        )
        out /= len(self.roots)
        return out

    def _add(self, features: Singles, out: Floats) -> None:
        add_means(coded(features, self.edges), self.roots, *self.nodes, out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """How a forest grows: numbers of trees, of rows in a leaf, of features tried at a split, of rows drawn for a tree.

    Raises
    ------
    ValueError
        Names the parameter that is wrong.
    """

    n_trees: int
    min_leaf: int
    n_tried: int
    n_drawn: int
    n_jobs: int | None

    @classmethod
    def of(cls, model: Any, n_rows: int, n_features: int) -> Self:
        """Return what the parameters of a model mean for data of a size; they are as in scikit-learn."""
        return cls(
            n_trees=_whole(model.n_estimators, "n_estimators"),
            min_leaf=_number(model.min_samples_leaf, "min_samples_leaf", n_rows, math.ceil),
            n_tried=_features_tried(model.max_features, n_features),
            n_drawn=_drawn(model.max_samples, n_rows),
            n_jobs=model.n_jobs,
        )

    def forest(self, features: Singles, edges: list[Floats], targets: Floats, seed: int) -> Forest:
        """Grow the trees, each on rows that are drawn with replacement."""
        codes, targets = coded(features, edges), np.ascontiguousarray(targets.reshape(len(targets), -1))
        streams = np.random.SeedSequence(seed).spawn(self.n_trees)
        grown = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._tree)(codes, targets, stream) for stream in streams
        )
        return Forest.of(edges, grown)

    def _tree(self, codes: Codes, targets: Floats, stream: np.random.SeedSequence) -> tuple[NDArray[Any], ...]:
        rng, n = np.random.default_rng(stream), targets.shape[0]
        counts = np.bincount(rng.integers(n, size=self.n_drawn), minlength=n)
        key = rng.integers(2**64, dtype=np.uint64)
        tree: tuple[NDArray[Any], ...] = grow_tree(codes, targets, counts, self.min_leaf, self.n_tried, key)
        return tree


def intervals(features: Singles) -> list[Floats]:
    """Return of each feature the upper ends of its intervals but the last, which lie between distinct values.

    There are at most 1,023 that hold about equally many rows; as many values or fewer have one each.
    """
    return [_edges(column[~np.isnan(column)].astype(np.float64)) for column in features.T]


def _edges(column: Floats) -> Floats:
    values, counts = np.unique(column, return_counts=True)
    ends = np.arange(max(values.size - 1, 0))
    if values.size > MISSING:
        wanted = np.arange(1, MISSING) * (column.size / MISSING)
        ends = np.unique(np.searchsorted(np.cumsum(counts), wanted))
        ends = ends[ends < values.size - 1]
    return np.asarray(values[ends] / 2 + values[ends + 1] / 2)


def coded(features: Singles, edges: list[Floats]) -> Codes:
    """Return in which interval each value lies, MISSING where there is none, shape (n_features, n)."""
    codes = np.empty(features.shape[::-1], dtype=np.uint16)
    for own, column, ends in zip(codes, features.T, edges, strict=True):
        own[:] = np.searchsorted(ends, column.astype(np.float64))
        own[np.isnan(column)] = MISSING
    return codes


def _whole(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
    return int(value)


def _number(value: Any, name: str, of: int, rounded: Callable[[float], int]) -> int:
    """Return a number that is given as such, or as a share in (0, 1] of another, at least 1."""
    if isinstance(value, Real) and not isinstance(value, Integral):
        if not 0 < float(value) <= 1:
            raise ValueError(f"{name} must be a share in (0, 1] or a whole number of at least 1, got {value!r}")
        return max(rounded(float(value) * of), 1)
    return _whole(value, name)


def _drawn(value: Any, n_rows: int) -> int:
    drawn = n_rows if value is None else _number(value, "max_samples", n_rows, round)
    if drawn > n_rows:
        raise ValueError(f"max_samples must be at most {n_rows}, the number of rows, got {value}")
    return drawn


def _features_tried(value: Any, n_features: int) -> int:
    if value is None:
        return n_features
    if isinstance(value, str):
        if value not in ("sqrt", "log2"):
            raise ValueError(f"max_features must be sqrt, log2, a number, a share or None, got {value!r}")
        return max(int(math.sqrt(n_features) if value == "sqrt" else math.log2(n_features)), 1)
    return min(_number(value, "max_features", n_features, int), n_features)
