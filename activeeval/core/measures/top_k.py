"""Measures of a top-k truth: the k best items of each query in order, the rest tied below (Niu et al., SIGIR 2012).

A truth is stored as κ-grades: y = k + 1 − rank for the k best items and 0 for all others. κ-NDCG and κ-ERR are
nDCG and ERR computed from κ-grades. Tied items share the κ-grade of the first of their ranks, even if their ranks
extend beyond k; the value is then the mean over all orders of such ties, each equally likely.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.checks import whole_number
from activeeval.core.errors import InputError
from activeeval.core.measures.families import Cascade
from activeeval.core.measures.labels import SoftLabels
from activeeval.core.measures.named import ERR
from activeeval.core.measures.ranked import NDCG, SEED, Normalised
from activeeval.core.measures.ranking_checks import checked_cutoff, longest_list
from activeeval.core.measures.terms import Terms
from activeeval.core.pool import QueryPool, Rankings, hashed_uniforms
from activeeval.core.types import Floats, Ints, Words, sealed

LARGEST_K = 100
"""Largest k. Gains are 2^y − 1: beyond a hundred, the best item of a query alone determines its value."""


def top_k_grades(pool: QueryPool, keys: ArrayLike, k: int, *, share_ties: bool = False) -> Ints:
    """Compute κ-grades: k for the item with the largest key of each query, … 1 for the k-th, and 0 for the rest.

    They are the labels of `kNDCG` and `kERR` (Niu et al., SIGIR 2012).

    Parameters
    ----------
    keys : array of float, shape (n_items,)
        Higher is better; ties are broken by item id descending, as for equal scores.
    k : int
        From 1 on; the first item has grade k even in a query of fewer than k items.
    share_ties : bool
        If True, items with equal keys share the κ-grade of the first of them, and κ-NDCG and κ-ERR average over
        their orders; otherwise ids break the ties.

    Returns
    -------
    ndarray of int64, shape (n_items,)

    Raises
    ------
    InputError
        If k is not a whole number from 1 to 100, or the keys have another shape or are infinite.

    Examples
    --------
    >>> pool = QueryPool(["q"], [0, 4], ["a", "b", "c", "d"])
    >>> top_k_grades(pool, [0.1, 0.9, 0.5, 0.2], k=2)
    array([0, 2, 1, 0])
    >>> top_k_grades(pool, [1, 2, 1, 0], k=2, share_ties=True)
    array([1, 2, 1, 0])
    """
    depth = whole_number(k, "k", 1, LARGEST_K)
    ranked, grades = Rankings.from_scores(pool, keys), np.zeros(pool.n_items, dtype=np.int64)
    ranks = ranked.ranks
    if share_ties:
        sorted_keys = np.asarray(keys, dtype=np.float64)[ranked.items]
        is_first = (ranks == 1) | (sorted_keys != np.roll(sorted_keys, 1))
        ranks = ranks[np.maximum.accumulate(np.where(is_first, np.arange(ranks.size), 0))]
    grades[ranked.items] = np.maximum(depth + 1 - ranks, 0)
    return grades


@dataclass(frozen=True, slots=True)
class TopK(Normalised):
    """A measure of grades, computed from the κ-grades of a top-k truth.

    Items of a query with the same κ-grade y are tied: m of them occupy the ranks from k + 1 − y on, and the value is
    the exact mean over their m! orders. The next κ-grade is y − m, if that is above 0.

    A κ-grade is k for the best item of a query, … 1 for the k-th, and 0 for the rest. The measure's moments are those
    of truths simulated from a model of ordinary grades: items sorted by grade, equal grades in random order, as if
    judges could distinguish all items.

    Parameters
    ----------
    name : {"kNDCG", "kERR"}
    k : int
    cutoff : int, optional
    """

    no_gain_between: ClassVar[str] = "ranks"
    is_judged_whole: ClassVar[bool] = True
    reads_parts: ClassVar[bool] = False
    name: str
    k: int
    cutoff: int | None = None
    label: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Raise InputError unless k lies in 1 … 100 and the cutoff is None or a positive whole number."""
        object.__setattr__(self, "k", whole_number(self.k, "k", 1, LARGEST_K))
        object.__setattr__(self, "cutoff", checked_cutoff(self.cutoff))

    @property
    def of_grades(self) -> NDCG | Cascade:
        """The measure that is applied to the κ-grades (k + 1 − rank): nDCG or ERR with the largest grade k."""
        if self.name == "kNDCG":
            return NDCG([2.0**y - 1 for y in range(self.k + 1)], self.cutoff)
        return ERR(self.k, self.cutoff)

    @property
    def max_grade(self) -> int:
        """κ-grade of the best item, k: the κ-grade of an item is k + 1 − rank, or 0."""
        return self.k

    def discount_vector(self, longest: int) -> Floats:
        """Compute the discounts of the ranks that count in lists of up to `longest` items."""
        return self.of_grades.discount_vector(longest)

    def terms(self, n_grades: int, longest: int, widest: int) -> Terms:
        """Raise InputError: a partly judged query has no top k, so no expected value."""
        raise InputError(f"{self} needs every item of a query judged: a part of the items has no top {self.k}")

    def _value(self, pool: QueryPool, labels: SoftLabels, n_grades: int, ranking: Rankings) -> Floats:
        """Compute the value of each query, averaged over the orders of tied items, shape (n_queries,).

        The labels are κ-grades, k + 1 − rank of the item or 0; ``n_grades`` is k + 1.
        """
        from activeeval.core.kernels import scores, tie_values

        measure, grades = self.of_grades, labels.grades
        label_values, numerators = np.zeros(pool.n_items), np.empty(pool.n_queries)
        # each item has a value of its own: the mean over the ranks that it can have among its ties
        codes = sealed(np.where(grades < 0, -1, np.arange(pool.n_items)), np.int64)
        lists = (self.discount_vector(longest_list(ranking)), ranking.offsets, ranking.items)
        if isinstance(measure, Cascade):
            stops = sealed(measure.stop_probs.values(n_grades))
            tie_values.tied_stops(grades, stops, pool.query_offsets, ranking.offsets, ranking.items, label_values)
            scores.cascade_scores(codes, sealed(label_values), *lists, numerators)
            return numerators
        gains = sealed(measure.gains.values(n_grades))
        tie_values.tied_gains(grades, gains, pool.query_offsets, label_values)
        scores.additive_scores(codes, sealed(label_values), *lists, numerators)
        ideal = self._ideals(pool, grades, gains)
        return np.divide(numerators, ideal, out=np.zeros_like(numerators), where=ideal > 0)

    def _ideals(self, pool: QueryPool, grades: Ints, gains: Floats) -> Floats:
        """Compute the value of the truth's order itself, shape (n_queries,); it is the same for every order of ties.

        ``grades`` (n_items,) are κ-grades (k + 1 − rank, or 0), ``gains`` (k + 1,) their gains.
        """
        n_ranked = np.bincount(pool.item_queries[grades > 0], minlength=pool.n_queries)
        discounts = self.discount_vector(self.k)
        # gains of the κ-grades k, k − 1 … 1, those of the ranks 1, 2 … k
        sums = np.cumsum(discounts * gains[:0:-1][: discounts.size])
        return np.append(0.0, sums)[np.minimum(n_ranked, sums.size)]

    def _check_columns(self, n_grades: int) -> None:
        """Accept ordinary grades of any scale: only their order is used."""

    def _labels(self, pool: QueryPool, grades: Ints, item_hashes: Words, k: int) -> Ints:
        """Convert the grades of simulation `k` to κ-grades (k + 1 − rank, or 0).

        Random numbers derived from ``item_hashes`` (n_items,) order items of equal grade: the second of each item, as
        the first has drawn its grade.
        """
        return top_k_grades(pool, grades + hashed_uniforms(SEED + k, item_hashes, 2)[1], self.k)

    def __str__(self) -> str:
        """Format the measure as text that `parse_measure` reads, as ``kNDCG(k=10)@20``."""
        return self._written(self.name, f"k={self.k}")


def kNDCG(k: int = 10, cutoff: int | None = None) -> TopK:
    """Build κ-NDCG: DCG with gains 2^y − 1 of κ-grades y, divided by the DCG of the truth's own order.

    The κ-grade of an item is k + 1 − rank, or 0 beyond rank k (Niu et al., SIGIR 2012). Raises InputError unless k
    lies in 1 … 100 and the cutoff is valid.

    Examples
    --------
    >>> pool = QueryPool(["q"], [0, 4], ["a", "b", "c", "d"])
    >>> truth = top_k_grades(pool, [4.0, 3.0, 2.0, 1.0], k=2)
    >>> kNDCG(k=2).score(pool, truth, Rankings.from_scores(pool, [3.0, 4.0, 2.0, 1.0])).round(4)
    array([0.7967])
    """
    return TopK("kNDCG", k, cutoff)


def kERR(k: int = 10, cutoff: int | None = None) -> TopK:
    """Build κ-ERR: expected reciprocal rank with stop probability (2^y − 1) / 2^k of κ-grades y.

    The κ-grade of an item is k + 1 − rank, or 0 beyond rank k. Raises InputError unless k lies in 1 … 100 and the
    cutoff is valid.

    Niu et al. (SIGIR 2012) print the factor 1/n, with n the number of documents; here it is 1/rank, as in ERR. With 1/n
    no value could exceed 1/n, but the paper reports values above a third.

    Examples
    --------
    >>> print(kERR(k=5, cutoff=10))
    kERR(k=5)@10
    """
    return TopK("kERR", k, cutoff)
