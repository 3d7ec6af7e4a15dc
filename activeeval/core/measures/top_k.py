"""Measures of a top-k truth: the k best items of each query in order, the rest tied below (Niu et al., SIGIR 2012).

A truth is held as κ-grades, y = k + 1 − rank of the items among the k best and 0 of all others; κ-NDCG and κ-ERR are
nDCG and ERR on them. Items that are alike share the κ-grade of the first of their ranks, also where their ranks go on
beyond k; a value is then the mean over the orders of such ties, each as likely as the next.
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
"""Gains are 2^y − 1: beyond a hundred the best item of a query alone makes its value."""


def top_k_grades(pool: QueryPool, keys: ArrayLike, k: int, *, share_ties: bool = False) -> Ints:
    """Return κ-grades of the items with the k largest keys of each query: k for the first … 1 for the k-th, else 0.

    Parameters
    ----------
    keys : array of float, shape (n_items,)
        Higher is better; equal ones go by item id descending, as equal scores do.
    k : int
        From 1 on; in a query of fewer items the first has k all the same.
    share_ties : bool
        Items with equal keys have the κ-grade of the first of them, so that κ-NDCG and κ-ERR count the mean over their
        orders; without it ids decide.

    Returns
    -------
    ndarray of int64, shape (n_items,)

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
        held = np.asarray(keys, dtype=np.float64)[ranked.items]
        is_first = (ranks == 1) | (held != np.roll(held, 1))
        ranks = ranks[np.maximum.accumulate(np.where(is_first, np.arange(ranks.size), 0))]
    grades[ranked.items] = np.maximum(depth + 1 - ranks, 0)
    return grades


@dataclass(frozen=True, slots=True)
class TopK(Normalised):
    """A measure of ordinary grades, read on the κ-grades of a top-k truth.

    Items of a query that share a κ-grade y are tied: m of them have the ranks from k + 1 − y on, and the value is the
    mean over their m! orders, exactly. The next κ-grade is y − m, where that is above 0.

    Its moments are of truths that a model of ordinary grades draws: by grade, equal ones in random order, as judges
    have them who tell all items apart.

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
        object.__setattr__(self, "k", whole_number(self.k, "k", 1, LARGEST_K))
        object.__setattr__(self, "cutoff", checked_cutoff(self.cutoff))

    @property
    def of_grades(self) -> NDCG | Cascade:
        """The measure of grades up to k."""
        if self.name == "kNDCG":
            return NDCG([2.0**y - 1 for y in range(self.k + 1)], self.cutoff)
        return ERR(self.k, self.cutoff)

    @property
    def max_grade(self) -> int:
        """The κ-grade of the best item."""
        return self.k

    def discount_vector(self, longest: int) -> Floats:
        """Return the discounts of the ranks that count in lists of up to ``longest`` items."""
        return self.of_grades.discount_vector(longest)

    def terms(self, n_grades: int, longest: int, widest: int) -> Terms:
        """Refuse: a part of a query's items has no top k."""
        raise InputError(f"{self} is of queries judged whole: a part of the items has no top {self.k}")

    def _value(self, pool: QueryPool, labels: SoftLabels, n_grades: int, ranking: Rankings) -> Floats:
        from activeeval.core.kernels import scores, tie_values

        measure, grades = self.of_grades, labels.grades
        label_values, numerators = np.zeros(pool.n_items), np.empty(pool.n_queries)
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
        """Return what the truth's own order is worth, shape (n_queries,): the same for every order of its ties."""
        n_ranked = np.bincount(pool.item_queries[grades > 0], minlength=pool.n_queries)
        discounts = self.discount_vector(self.k)
        sums = np.cumsum(discounts * gains[:0:-1][: discounts.size])
        return np.append(0.0, sums)[np.minimum(n_ranked, sums.size)]

    def _check_columns(self, n_grades: int) -> None:
        """Take ordinary grades of any scale: their order alone is looked at."""

    def _labels(self, pool: QueryPool, grades: Ints, item_hashes: Words, k: int) -> Ints:
        """Return the κ-grades of grades that a model has drawn; equal ones go by a number drawn of each item's id."""
        return top_k_grades(pool, grades + hashed_uniforms(SEED + k, item_hashes, 2)[1], self.k)

    def __str__(self) -> str:
        return self._written(self.name, f"k={self.k}")


def kNDCG(k: int = 10, cutoff: int | None = None) -> TopK:
    """Return κ-NDCG: DCG with gains 2^y − 1 of κ-grades y, over that of the truth's own order.

    Examples
    --------
    >>> pool = QueryPool(["q"], [0, 4], ["a", "b", "c", "d"])
    >>> truth = top_k_grades(pool, [4.0, 3.0, 2.0, 1.0], k=2)
    >>> kNDCG(k=2).score(pool, truth, Rankings.from_scores(pool, [3.0, 4.0, 2.0, 1.0])).round(4)
    array([0.7967])
    """
    return TopK("kNDCG", k, cutoff)


def kERR(k: int = 10, cutoff: int | None = None) -> TopK:
    """Return κ-ERR: expected reciprocal rank with stop probability (2^y − 1) / 2^k of κ-grades y.

    The paper prints 1/n before each term, n the number of documents; that is read as 1/rank, as ERR has it: with 1/n no
    value could be above 1/n, and its own are above a third.

    Examples
    --------
    >>> print(kERR(k=5, cutoff=10))
    kERR(k=5)@10
    """
    return TopK("kERR", k, cutoff)
