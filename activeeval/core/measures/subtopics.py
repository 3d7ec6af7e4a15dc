"""Measures of lists for queries with several subtopics, for scores only: α-nDCG and intent-aware ERR, as in ndeval.

An item at rank i gains Σ_s (1 − α)^m over the subtopics s that it is relevant to, with m items above that are relevant
to s too. α-nDCG sums gain / log2(1 + i) down to the cutoff and divides by the sum of a list that is built greedily from
all relevant items (Clarke et al., SIGIR 2008). ERR-IA sums gain / i with α = 1/2 and divides by the largest sum of any
items, each relevant to all subtopics (Chapelle et al., CIKM 2009).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from activeeval.core.checks import closed_share
from activeeval.core.errors import InputError
from activeeval.core.measures.gains_and_discounts import log_discount, number_text, reciprocal_discount
from activeeval.core.measures.labels import SoftLabels
from activeeval.core.measures.named import needed_cutoff, relevance_rule
from activeeval.core.measures.ranked import _RankedMeasure
from activeeval.core.pool import QueryPool, Rankings
from activeeval.core.types import Bools, Floats, Ints

_DISCOUNTS: dict[str, Any] = {"alpha_nDCG": log_discount, "ERR_IA": reciprocal_discount}


@dataclass(frozen=True, slots=True, eq=False)
class SubtopicLabels(SoftLabels):
    """Grades of items for single subtopics of their query; the grade of an item itself is its best.

    Attributes
    ----------
    rated, subtopics, ratings : ndarray of int64, shape (n_ratings,)
        Position of an item, number of a subtopic, and its grade; negative if unjudged.

    Examples
    --------
    >>> SubtopicLabels.of_ratings(3, [0, 0, 2], [0, 1, 1], [0, 2, 1]).grades
    array([ 2, -1,  1])
    """

    rated: Ints
    subtopics: Ints
    ratings: Ints

    @classmethod
    def of_ratings(cls, n_items: int, rated: Any, subtopics: Any, ratings: Any) -> Self:
        """Build labels of `n_items` items from grades for subtopics; items without any are unjudged.

        The arrays (n_ratings,) hold positions of items, numbers of subtopics, and grades, negative if unjudged.
        """
        best = np.full(n_items, -1, dtype=np.int64)
        columns = [np.asarray(column, dtype=np.int64) for column in (rated, subtopics, ratings)]
        np.maximum.at(best, columns[0], columns[2])
        return cls(best, np.empty(0, dtype=np.int64), np.empty((0, 0)), *columns)


@dataclass(frozen=True, slots=True)
class SubtopicMeasure(_RankedMeasure):
    """α-nDCG or ERR-IA: lists gain from each subtopic, less from one that items above cover; 0 if nothing is relevant.

    Parameters
    ----------
    name : {"alpha_nDCG", "ERR_IA"}
    cutoff : int
    alpha : float
        Loss of a subtopic's gain by each relevant item above, from 0 to 1; always 0.5 for ERR_IA.
    rel : int
        Smallest relevant grade.

    Examples
    --------
    >>> pool = QueryPool(["q"], [0, 3], ["a", "b", "c"])
    >>> labels = SubtopicLabels.of_ratings(3, [0, 1, 2], [0, 0, 1], [1, 1, 1])
    >>> ranking = Rankings.from_scores(pool, [3.0, 2.0, 1.0])
    >>> SubtopicMeasure("alpha_nDCG", 2).score(pool, labels, ranking).round(3)
    array([0.807])
    >>> print(SubtopicMeasure("ERR_IA", 20))
    ERR_IA(rel=1)@20
    """

    no_gain_between: ClassVar[str] = "relevant and not"
    needs_subtopics: ClassVar[bool] = True
    name: str
    cutoff: int | None
    alpha: float = 0.5
    rel: int = 1
    label: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Check alpha, the smallest relevant grade and the cutoff; raise InputError if one is invalid."""
        object.__setattr__(self, "alpha", closed_share(self.alpha, "alpha"))
        object.__setattr__(self, "rel", relevance_rule(self.rel).rel)
        object.__setattr__(self, "cutoff", needed_cutoff(self.cutoff, self.name))

    def _value(self, pool: QueryPool, labels: SoftLabels, n_grades: int, ranking: Rankings) -> Floats:
        """Compute the value of each query over that of its ideal list, shape (n_queries,); 0 if nothing is relevant.

        The ideal list is built greedily; that of ERR-IA has items that are relevant to all subtopics.
        """
        if not isinstance(labels, SubtopicLabels):
            raise InputError(f"{self} needs judgments of subtopics: a query, subtopic, document and grade each")
        # a relevant item above multiplies a subtopic's gain by `keep`
        values, keep, depth = np.zeros(pool.n_queries), 1.0 - self.alpha, self._depth(pool)
        discounts = _DISCOUNTS[self.name](np.arange(1.0, depth + 1.0))
        # items of each query by id descending: the first of equals enters the ideal list
        by_id = Rankings.from_scores(pool, np.zeros(pool.n_items)).items
        # indices of the relevant ratings, sorted by query: those of query q are rows[bounds[q]:bounds[q + 1]]
        rows = np.flatnonzero(labels.ratings >= self.rel)
        owners = pool.item_queries[labels.rated[rows]]
        rows, owners = rows[order := np.argsort(owners, kind="stable")], owners[order]
        bounds = np.searchsorted(owners, np.arange(pool.n_queries + 1))
        for query in np.unique(owners).tolist():
            of_query, (begin, end) = rows[slice(*bounds[query : query + 2])], pool.query_offsets[query : query + 2]
            _, columns = np.unique(labels.subtopics[of_query], return_inverse=True)
            # items of the query by subtopics: True if the item is relevant to the subtopic
            covers = np.zeros((end - begin, columns.max() + 1), dtype=np.bool_)
            covers[labels.rated[of_query] - begin, columns.ravel()] = True
            listed = ranking.items[ranking.offsets[query] : ranking.offsets[query + 1]][:depth] - begin
            if self.name == "ERR_IA":
                ideal = covers.shape[1] * keep ** np.arange(depth) @ discounts
            else:
                ordered = covers[by_id[begin:end] - begin]
                ideal = _value_of(_greedy(ordered[ordered.any(axis=1)], keep, depth), keep, discounts)
            values[query] = _value_of(covers[listed], keep, discounts) / ideal
        return values

    def __str__(self) -> str:
        """Format the measure as text that `parse_measure` reads, as ``alpha_nDCG(alpha=0.5,rel=1)@10``."""
        alpha = "" if self.name == "ERR_IA" else f"alpha={number_text(self.alpha)},"
        return self._written(self.name, f"{alpha}rel={self.rel}")


def _value_of(covers: Bools, keep: float, discounts: Floats) -> float:
    """Sum the discounted gains of a list; ``covers`` (n_ranks, n_subtopics) flags the relevant subtopics of each rank.

    Each rank above that covers a subtopic multiplies its gain by ``keep``; ``discounts`` (depth,) are the ranks'.
    """
    gains = np.where(covers, keep ** (np.cumsum(covers, axis=0) - covers), 0.0).sum(axis=1)
    return float(gains @ discounts[: gains.size])


def _greedy(covers: Bools, keep: float, depth: int) -> Bools:
    """Order items by what each adds to the gain of those before it, the first of equals, down to a depth.

    ``covers`` (n_items, n_subtopics) flags the relevant subtopics of each item; a subtopic's gain is multiplied by
    ``keep`` each time it is covered. Returns the rows of ``covers`` in that order.
    """
    gains, left, chosen = np.ones(covers.shape[1]), np.ones(len(covers), dtype=np.bool_), []
    for _ in range(min(depth, len(covers))):
        added = np.cumsum(covers * gains, axis=1)[:, -1]  # in ndeval's order, so that the same items are equal
        best = int(np.argmax(np.where(left, added, -1.0)))
        chosen.append(best)
        left[best] = False
        gains[covers[best]] *= keep
    return covers[chosen]
