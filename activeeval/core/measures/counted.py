"""Measures of the numbers of relevant and other judged items, for scores only: Rprec, R_cap, F1, Bpref and infAP.

Values are those of trec_eval, with R the number of relevant items of a query, h(k) of those among its first k ranks,
and n the length of its list:

    Rprec = h(R) / R        R_cap@k = h(k) / min(R, k)        F1@k = 2 h(k) / (R + k), F1 = 2 h(n) / (R + n)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from activeeval.core.errors import InputError
from activeeval.core.measures.labels import SoftLabels
from activeeval.core.measures.named import needed_cutoff, relevance_rule
from activeeval.core.measures.ranked import _RankedMeasure
from activeeval.core.measures.ranking_checks import checked_cutoff
from activeeval.core.pool import QueryPool, Rankings
from activeeval.core.pool.grades import POOLED
from activeeval.core.types import Bools, Floats, Ints

_SMALL = 1e-5
"""trec_eval's INFAP_EPSILON: smooths the share of relevant items above a rank."""


@dataclass(frozen=True, slots=True, eq=False)
class _Counts:
    """Numbers that the measures are computed from.

    Attributes
    ----------
    n_relevant, n_other : ndarray of int64, shape (n_queries,)
        Number of relevant items, and of judged items that are not.
    lengths : ndarray of int64, shape (n_queries,)
        Denominator of precision: length of the list, or the cutoff.
    queries, ranks : ndarray of int64, shape (n_listed,)
        Query and rank of each listed item.
    is_relevant, is_other, is_pooled : ndarray of bool, shape (n_listed,)
        True for a relevant item, a judged one that is not relevant, a pooled one without a judgment.
    """

    n_relevant: Ints
    n_other: Ints
    lengths: Ints
    queries: Ints
    ranks: Ints
    is_relevant: Bools
    is_other: Bools
    is_pooled: Bools

    @classmethod
    def of(cls, pool: QueryPool, grades: Ints, rel: int, ranking: Rankings, cutoff: int | None) -> _Counts:
        """Count the items of each query and of its list, down to the cutoff.

        ``grades`` (n_items,) are −1 if unjudged, and at most `POOLED` (−2) if pooled but unjudged; ``rel`` is the
        smallest relevant grade.
        """
        lists = ranking if cutoff is None else ranking.cut_at(cutoff)
        lengths = lists.lengths if cutoff is None else np.full(pool.n_queries, cutoff)
        # relevant items, other judged items, pooled items without a judgment
        kinds = (grades >= rel, (grades >= 0) & (grades < rel), grades <= POOLED)
        n_relevant, n_other = (np.bincount(pool.item_queries[kind], minlength=pool.n_queries) for kind in kinds[:2])
        queries = np.repeat(np.arange(pool.n_queries), lists.lengths)
        return cls(n_relevant, n_other, lengths, queries, lists.ranks, *(kind[lists.items] for kind in kinds))

    def sums(self, terms: Floats) -> Floats:
        """Sum ``terms`` (n_listed,), one for each listed item, over the relevant ones by query, shape (n_queries,)."""
        weights = np.where(self.is_relevant, terms, 0.0)
        return np.bincount(self.queries, weights=weights, minlength=self.n_relevant.size).astype(np.float64)

    def hits(self, depths: Ints) -> Floats:
        """Count the relevant items of each list down to the rank in ``depths`` (n_queries,), shape (n_queries,)."""
        return self.sums((self.ranks <= depths[self.queries]).astype(np.float64))

    def above(self, is_counted: Bools) -> Ints:
        """Count the items that ``is_counted`` (n_listed,) flags above each listed item in its list, (n_listed,)."""
        before = np.append(0, np.cumsum(is_counted))
        places = np.arange(self.ranks.size)
        above: Ints = before[places] - before[places - self.ranks + 1]
        return above


def _bpref(counts: _Counts) -> Floats:
    """Compute Σ 1 − min(n, R) / min(N, R) over relevant ranks with n of the N other judged items above, over R."""
    above, relevant = counts.above(counts.is_other), counts.n_relevant
    most = np.maximum(np.minimum(counts.n_other, relevant), 1)[counts.queries]
    return _shares(counts.sums(1.0 - np.minimum(above, relevant[counts.queries]) / most), relevant)


def _inf_ap(counts: _Counts) -> Floats:
    """Compute inferred average precision (Yilmaz and Aslam, CIKM 2006).

    At a relevant rank j: 1 / j + (p / j) (r + ε) / (r + s + 2 ε), with p pooled items above, of which r are judged
    relevant and s are judged otherwise.
    """
    relevant, other, pooled = map(counts.above, (counts.is_relevant, counts.is_other, counts.is_pooled))
    share = (relevant + _SMALL) / (relevant + other + 2 * _SMALL)
    terms = (1.0 + (relevant + other + pooled) * share) / counts.ranks
    return _shares(counts.sums(terms), counts.n_relevant)


def _shares(sums: Floats, numbers: Ints | Floats) -> Floats:
    """Divide ``sums`` by ``numbers``, both (n_queries,); 0 where the number is 0."""
    return np.divide(sums, numbers, out=np.zeros_like(sums), where=numbers > 0)


_CUT = {"R_cap": True, "F1": None, "Rprec": False, "Bpref": False, "infAP": False}
"""Whether a measure needs a cutoff; None if it can have one."""
_VALUES: dict[str, Callable[[_Counts], Floats]] = {
    "Rprec": lambda counts: _shares(counts.hits(counts.n_relevant), counts.n_relevant),
    "R_cap": lambda counts: _shares(counts.hits(counts.lengths), np.minimum(counts.n_relevant, counts.lengths)),
    "F1": lambda counts: _shares(2 * counts.hits(counts.lengths), counts.n_relevant + counts.lengths),
    "Bpref": _bpref,
    "infAP": _inf_ap,
}


@dataclass(frozen=True, slots=True)
class CountMeasure(_RankedMeasure):
    """R-precision, recall with a capped denominator, F1, bpref or inferred average precision; 0 if no item is relevant.

    Parameters
    ----------
    name : {"Rprec", "R_cap", "F1", "Bpref", "infAP"}
    rel : int
        Smallest relevant grade.
    cutoff : int, optional
        Needed for R_cap; F1 can have one; none for the others.

    Notes
    -----
    Bpref and infAP tell judged items from unjudged ones. infAP also tells pooled items without a judgment (grade −2,
    in qrels a negative one) from items outside the pool (grade −1): the first are skipped, the others not relevant.

    Examples
    --------
    >>> pool = QueryPool(["q"], [0, 4], ["a", "b", "c", "d"])
    >>> ranking = Rankings.from_scores(pool, [4.0, 3.0, 2.0, 1.0])
    >>> [CountMeasure(name).score(pool, [0, 1, -1, 1], ranking).round(3).item() for name in ("Rprec", "Bpref", "F1")]
    [0.5, 0.0, 0.667]
    >>> print(CountMeasure("R_cap", cutoff=10))
    R_cap(rel=1)@10
    """

    no_gain_between: ClassVar[str] = "relevant and not"
    name: str
    rel: int = 1
    cutoff: int | None = None
    label: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Check the smallest relevant grade and the cutoff; raise InputError if one is invalid.

        `_CUT` has True for a measure that needs a cutoff, False for one that has none, None for F1, which can have one.
        """
        object.__setattr__(self, "rel", relevance_rule(self.rel).rel)
        if (is_cut := _CUT[self.name]) is False and self.cutoff is not None:
            raise InputError(f"{self.name} counts the whole list: leave out the cutoff, {self.cutoff}")
        cutoff = needed_cutoff(self.cutoff, self.name) if is_cut else checked_cutoff(self.cutoff)
        object.__setattr__(self, "cutoff", cutoff)

    def _value(self, pool: QueryPool, labels: SoftLabels, n_grades: int, ranking: Rankings) -> Floats:
        """Compute the value of each query, shape (n_queries,)."""
        return _VALUES[self.name](_Counts.of(pool, labels.grades, self.rel, ranking, self.cutoff))

    def __str__(self) -> str:
        """Format the measure as text that `parse_measure` reads, as ``F1(rel=1)@10``."""
        return self._written(self.name, f"rel={self.rel}")
