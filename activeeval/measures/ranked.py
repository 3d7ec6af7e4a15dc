"""Measures that depend on more than their ranked items: values only, no moments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.measures.doors import check_pool, checked_cutoff, checked_grades, longest_list, sealed
from activeeval.measures.families import Additive
from activeeval.measures.named import DCG, gain_rule, relevance_rule
from activeeval.measures.rules import Linear
from activeeval.pool import QueryPool, Rankings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class _Ranked:
    """Scores one ranking or the difference of two through `_value`."""

    __slots__ = ()
    cutoff: int | None

    @property
    def max_grade(self) -> int | None:
        """The largest grade that the measure knows, None where it takes any."""
        return None

    def bound_to(self, max_grade: int) -> Self:
        """Return the measure itself, unless its grade scale was open."""
        return self

    def score(self, pool: QueryPool, grades: ArrayLike, ranking: Rankings, versus: Rankings | None = None) -> Floats:
        """Return the value of each query, or the difference ``ranking − versus``, shape (n_queries,)."""
        whole, n_grades = checked_grades(pool, grades, self.max_grade)
        check_pool(pool, ranking, *(() if versus is None else (versus,)))
        value = self._value(pool, whole, n_grades, ranking)
        return value if versus is None else value - self._value(pool, whole, n_grades, versus)

    def _value(self, pool: QueryPool, grades: Ints, n_grades: int, ranking: Rankings) -> Floats:
        raise TypeError("a measure says what it is worth")

    def _depth(self, pool: QueryPool) -> int:
        return pool.n_items if self.cutoff is None else int(self.cutoff)

    def _written(self, name: str, inside: str) -> str:
        at = "" if self.cutoff is None else f"@{self.cutoff}"
        return f"{name}({inside}){at}" if inside else f"{name}{at}"


@dataclass(frozen=True, slots=True)
class NDCG(_Ranked):
    """DCG divided by the DCG of the best ranking of all judged items; 0 where nothing is relevant.

    Parameters
    ----------
    gains : {"linear", "exp"} or array of float
        ``"linear"`` (the default, as in trec_eval) takes the grade itself, ``"exp"`` 2^y − 1.
    cutoff : int, optional

    Examples
    --------
    >>> print(NDCG(cutoff=10), NDCG("exp"))
    nDCG(dcg='log2')@10 nDCG(dcg='exp-log2')
    """

    gains: Any = "linear"
    cutoff: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "gains", gain_rule(self.gains, Linear()))
        object.__setattr__(self, "cutoff", checked_cutoff(self.cutoff))

    @property
    def max_grade(self) -> int | None:
        """The largest grade that the measure knows, None where it takes any."""
        top: int | None = self.gains.max_grade
        return top

    @property
    def dcg(self) -> Additive:
        """The measure that is divided."""
        return replace(DCG(cutoff=self.cutoff), gains=self.gains)

    def _value(self, pool: QueryPool, grades: Ints, n_grades: int, ranking: Rankings) -> Floats:
        from activeeval.kernels import scores

        gains = sealed(self.gains.values(n_grades))
        by_gain = np.argsort(-gains, kind="stable")
        ideal = np.empty(pool.n_queries)
        discounts = self.dcg.discount_vector(int(np.diff(pool.query_offsets).max()))
        rewarded = sealed(by_gain[gains[by_gain] > 0], np.int64)
        scores.ideal_scores(grades, gains, rewarded, discounts, pool.query_offsets, ideal)
        own = self.dcg.score(pool, grades, ranking)
        return np.divide(own, ideal, out=np.zeros_like(own), where=ideal > 0)

    def __str__(self) -> str:
        return self._written("nDCG", str(self.gains))


@dataclass(frozen=True, slots=True)
class AP(_Ranked):
    """Average precision: precision at each relevant rank over the number of relevant items."""

    rel: int = 1
    cutoff: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rel", relevance_rule(self.rel).rel)
        object.__setattr__(self, "cutoff", checked_cutoff(self.cutoff))

    def _value(self, pool: QueryPool, grades: Ints, n_grades: int, ranking: Rankings) -> Floats:
        from activeeval.kernels import scores

        out = np.empty(pool.n_queries)
        scores.average_precisions(
            grades, self.rel, self._depth(pool), pool.query_offsets, ranking.offsets, ranking.items, out
        )
        return out

    def __str__(self) -> str:
        return self._written("AP", f"rel={self.rel}")


@dataclass(frozen=True, slots=True)
class Judged(_Ranked):
    """The share of the first ``cutoff`` ranked items that somebody has judged; 0 for an empty list."""

    cutoff: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "cutoff", checked_cutoff(self.cutoff))

    def _value(self, pool: QueryPool, grades: Ints, n_grades: int, ranking: Rankings) -> Floats:
        from activeeval.kernels import scores

        out = np.empty(pool.n_queries)
        depth = min(self._depth(pool), max(longest_list(ranking), 1))
        scores.judged_shares(grades, depth, ranking.offsets, ranking.items, out)
        return out

    def __str__(self) -> str:
        return self._written("Judged", "")
