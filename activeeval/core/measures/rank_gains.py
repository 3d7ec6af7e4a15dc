"""A measure with a separate gain for each rank and grade, not necessarily a product of gain and discount."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.checks import LARGEST_GRADE
from activeeval.core.errors import InputError
from activeeval.core.measures.gains_and_discounts import number_text
from activeeval.core.measures.labels import SoftLabels
from activeeval.core.measures.ranked import _RankedMeasure
from activeeval.core.measures.ranking_checks import (
    check_pool,
    checked_cutoff,
    checked_nodes,
    longest_list,
    moments_over_nodes,
)
from activeeval.core.measures.terms import Terms
from activeeval.core.pool import QueryPool, Rankings
from activeeval.core.results import Moments
from activeeval.core.types import Floats, sealed

Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class RankGains(_RankedMeasure):
    """A measure that sums one gain per rank, where the gain of a grade differs between ranks.

    L = Σ_i w_{i, y_i} over ranks i with grades y_i. If the weights have rank one, w_{i,y} = c_i g(y), it is `Additive`
    (case 2 and case 1 of Zhou et al.).

    Parameters
    ----------
    gains : array of float, shape (n_ranks, max_grade + 1)
        w: one row for each rank that counts, with the gain of each grade at that rank.
    cutoff : int, optional
        Last rank that counts.
    name : str
        Name in the measure string.
    label : str
        Caller's name for the measure.

    Notes
    -----
    The contribution of a label depends on its rank as well as on its grade. Therefore only methods that judge whole
    queries, down to the last rank, can sample for it: for example whole and active.

    Examples
    --------
    >>> pool = QueryPool(["q"], [0, 3], ["a", "b", "c"])
    >>> ranking = Rankings.from_scores(pool, [3.0, 2.0, 1.0])
    >>> RankGains([[0, 1, 3], [0, 1, 1.5]]).score(pool, [2, 1, 2], ranking)
    array([4.])
    """

    needs_max_grade: ClassVar[bool] = False
    is_additive: ClassVar[bool] = False
    reads_parts: ClassVar[bool] = False
    gains: Any
    cutoff: int | None = None
    name: str = "RankGains"
    label: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Convert the gains to rows of numbers, one for each rank, and check the cutoff, or raise InputError."""
        object.__setattr__(self, "gains", _as_rows(self.gains))
        object.__setattr__(self, "cutoff", checked_cutoff(self.cutoff))

    @property
    def max_grade(self) -> int:
        """Largest grade with a gain."""
        return len(self.gains[0]) - 1

    @property
    def _weights(self) -> Floats:
        """Weights w of the ranks that count, shape (n_ranks, n_grades)."""
        return np.asarray(self.gains, dtype=np.float64)[: self.cutoff]

    def discount_vector(self, longest: int) -> Floats:
        """Compute 1 for each rank that counts in lists of up to `longest` items."""
        return sealed(np.ones(min(longest, len(self._weights))))

    def terms(self, n_grades: int, longest: int, widest: int) -> Terms:
        """Raise InputError: a partly judged query has no expected value, as gains depend on the rank."""
        raise InputError(f"{self.name} needs a method that judges whole queries: its gains depend on the rank")

    def limits(self, max_grade: int | None, longest: int) -> tuple[float, float]:
        """Compute the lowest and highest possible value of a query whose list has at most `longest` items.

        ``max_grade`` is not used: the gains fix the scale.
        """
        worth = np.column_stack((self._weights, np.zeros(len(self._weights))))[:longest]
        return float(worth.min(axis=1).sum()), float(worth.max(axis=1).sum())

    def _value(self, pool: QueryPool, labels: SoftLabels, n_grades: int, ranking: Rankings) -> Floats:
        """Compute the value of each query, shape (n_queries,): the sum over ranks of the gain of rank and grade."""
        from activeeval.core.kernels import scores

        total = np.zeros(pool.n_queries)
        depth = longest_list(ranking)
        for grade, column in enumerate(self._weights.T):
            # score one grade at a time: its gain is 1, its discounts are its weights at each rank
            codes, values = labels.coded(sealed(np.arange(n_grades) == grade, np.float64))
            part = np.empty(pool.n_queries)
            scores.additive_scores(codes, values, sealed(column[:depth]), ranking.offsets, ranking.items, part)
            total += part
        return total

    def moments(
        self,
        pool: QueryPool,
        grade_probs: ArrayLike,
        ranking: Rankings,
        versus: Rankings | None = None,
        node_weights: ArrayLike | None = None,
    ) -> Moments:
        """Compute mean, mean square and variance of each query's value under a grade model.

        Items are independent given a node of the query factor (a random effect shared by a query's items). An item at
        rank i of one list and rank j of the other has the value f(y) = w_{i,y} − w_{j,y} (w: `gains`), so that E[δ] = Σ
        E[f] and Var[δ] = Σ Var[f]. ``grade_probs`` has shape (n_items, n_grades), or (n_nodes, n_items, n_grades) with
        ``node_weights`` (n_nodes,), the probabilities of the nodes. Raises InputError if a shape or a row is wrong.

        Examples
        --------
        >>> pool = QueryPool(["q"], [0, 2], ["a", "b"])
        >>> ranking = Rankings.from_scores(pool, [2.0, 1.0])
        >>> found = RankGains([[0, 1], [0, 0.5]]).moments(pool, [[0.5, 0.5], [0.5, 0.5]], ranking)
        >>> found.mean, found.second
        (array([0.75]), array([0.875]))
        """
        check_pool(pool, ranking, *(() if versus is None else (versus,)))
        nodes, weights = checked_nodes(pool, grade_probs, node_weights)
        if nodes.shape[2] != self.max_grade + 1:
            wanted = f"{self.max_grade + 1} columns for {self.name}"
            raise InputError(f"grade_probs must have {wanted}, got {nodes.shape[2]}")
        items, worth = self._worth(pool, ranking, versus)
        queries = pool.item_queries[items]
        means, variances = np.empty((2, len(nodes), pool.n_queries))
        for probs, mean, variance in zip(nodes, means, variances, strict=True):
            expected = (probs[items] * worth).sum(axis=1)
            spread = (probs[items] * (worth - expected[:, None]) ** 2).sum(axis=1)
            mean[:] = np.bincount(queries, expected, minlength=pool.n_queries)
            variance[:] = np.bincount(queries, spread, minlength=pool.n_queries)
        return moments_over_nodes(weights, means, variances)

    def _worth(self, pool: QueryPool, ranking: Rankings, versus: Rankings | None) -> tuple[Any, Floats]:
        """Find the items at ranks that count, and what each grade adds to the value for each of them.

        Returns ``(items, worth)``, shapes (n,) and (n, n_grades); in a comparison the list ``versus`` counts
        negatively.
        """
        signed = [(1.0, ranking), *(() if versus is None else ((-1.0, versus),))]
        counted = [(sign, lists, lists.ranks <= len(self._weights)) for sign, lists in signed]
        items = np.unique(np.concatenate([lists.items[counts] for _, lists, counts in counted]))
        worth = np.zeros((items.size, self.max_grade + 1))
        for sign, lists, counts in counted:
            worth[np.searchsorted(items, lists.items[counts])] += sign * self._weights[lists.ranks[counts] - 1]
        return items, worth

    def __str__(self) -> str:
        """Format the measure as text that `parse_measure` reads, with the gains of each rank."""
        rows = ",".join(f"[{','.join(map(number_text, row))}]" for row in self.gains)
        return self._written(self.name, f"gains=[{rows}]")


def _as_rows(gains: ArrayLike) -> Rows:
    """Convert gains to a tuple of rows, one for each rank, with a gain for each grade.

    Raises InputError unless they are a finite matrix of two grades or more.
    """
    wanted = "a row of gains for each rank, as [[0, 1, 3], [0, 0.6, 1.9]]"
    try:
        rows = np.asarray(gains, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"gains must be {wanted}, got {gains!r:.100}") from None
    if rows.ndim != 2 or rows.shape[0] < 1 or rows.shape[1] < 2:
        raise InputError(f"gains must be {wanted}, got an array of shape {rows.shape}")
    if rows.shape[1] > LARGEST_GRADE + 1:
        raise InputError(f"gains of {rows.shape[1]} grades, expected at most {LARGEST_GRADE + 1}")
    if not np.isfinite(rows).all():
        rank, grade = np.argwhere(~np.isfinite(rows))[0]
        raise InputError(f"gains must be finite, got {rows[rank, grade]} at rank {rank + 1}, grade {grade}")
    return tuple(tuple(row) for row in rows.tolist())
