"""Measures that depend on more than the ranked items; their moments are means over simulated labels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.errors import InputError
from activeeval.core.measures.families import Additive
from activeeval.core.measures.gains_and_discounts import BinaryGain, ConstantDiscount, GradeRule, Linear
from activeeval.core.measures.labels import LabelsLike, SoftLabels, checked_labels
from activeeval.core.measures.named import DCG, gain_rule, needed_cutoff, relevance_rule
from activeeval.core.measures.ranking_checks import (
    WithCutoff,
    WithRule,
    check_pool,
    checked_cutoff,
    checked_nodes,
    longest_list,
)
from activeeval.core.measures.terms import ADDITIVE, PRECISION, Terms, normalised_terms
from activeeval.core.pool import QueryPool, Rankings, hashed_uniforms, pool_hashes
from activeeval.core.results import Moments
from activeeval.core.types import Floats, Ints, Words, sealed

# 200 samples increase the variance of a whole-query design for nDCG@10 on MQ2008 by .17 % (50 samples: .7 %, 1,000:
# .04 %) and take .05 s on its 12,278 items.
_N_SAMPLES = 200
SEED = 20130301  # arbitrary but fixed, so that moments are a function of their arguments


class _RankedMeasure(WithCutoff):
    """Base class of measures that score one ranking, or the difference of two, through `_value`."""

    __slots__ = ()

    def bound_to(self, max_grade: int) -> Self:
        """Return the measure unchanged; subclasses with an open grade scale fix it."""
        return self

    def score(self, pool: QueryPool, grades: LabelsLike, ranking: Rankings, versus: Rankings | None = None) -> Floats:
        """Compute the value of each query, or the difference ``ranking − versus``, shape (n_queries,).

        Raises InputError if a grade is above the measure's largest, a ranking belongs to another pool, or an item has a
        distribution of grades, of which the measure has no mean.
        """
        labels, n_grades = checked_labels(pool, grades, self.max_grade)
        labels.check(self)
        check_pool(pool, ranking, *(() if versus is None else (versus,)))
        value = self._value(pool, labels, n_grades, ranking)
        return value if versus is None else value - self._value(pool, labels, n_grades, versus)

    def limits(self, max_grade: int | None, longest: int) -> tuple[float, float]:
        """Return the lowest and highest possible value of a query: 0 and 1 for any scale and list, as it is a ratio."""
        return 0.0, 1.0

    def _value(self, pool: QueryPool, labels: SoftLabels, n_grades: int, ranking: Rankings) -> Floats:
        """Compute the value of each query, shape (n_queries,); every subclass overrides it.

        ``n_grades`` is the number of grades on the scale of the labels.
        """
        raise TypeError("a measure says what it is worth")

    def _depth(self, pool: QueryPool) -> int:
        """Get the cutoff; without one the number of items in the pool, which no list exceeds."""
        return pool.n_items if self.cutoff is None else int(self.cutoff)


class Normalised(_RankedMeasure):
    """Base class of nDCG, R and AP: every item of a query counts, as each can be in the ideal (best) ranking."""

    __slots__ = ()
    needs_max_grade: ClassVar[bool] = False
    needs_all_items: ClassVar[bool] = True
    is_additive: ClassVar[bool] = False

    def discount_vector(self, longest: int) -> Floats:
        """Compute the discounts of the ranks that count in lists of up to `longest` items; subclasses override it."""
        raise TypeError("a measure says what a rank is worth")

    def moments(
        self,
        pool: QueryPool,
        grade_probs: ArrayLike,
        ranking: Rankings,
        versus: Rankings | None = None,
        node_weights: ArrayLike | None = None,
    ) -> Moments:
        """Compute mean, mean square and variance of each query's value over 200 sets of labels simulated by the model.

        The random numbers are hashes of the ids: they are the same in every call, in any order of the rows.
        ``grade_probs`` has shape (n_items, n_grades), or (n_nodes, n_items, n_grades) with ``node_weights`` (n_nodes,)
        or (n_queries, n_nodes), the probabilities of the nodes of a query factor (a random effect of a query). With
        ``versus`` the moments are those of the difference. Raises InputError if a shape or a row is wrong.
        """
        from activeeval.core.kernels import sampling

        nodes, weights = checked_nodes(pool, grade_probs, node_weights)
        self._check_columns(nodes.shape[2])
        of_queries = np.broadcast_to(weights, (pool.n_queries, len(nodes)))
        cumulative, nodes = sealed(np.cumsum(of_queries, axis=1)), sealed(nodes)
        query_hashes, item_hashes = pool_hashes(pool)
        values = np.empty((_N_SAMPLES, pool.n_queries))
        grades = np.empty(pool.n_items, dtype=np.int64)
        for k, row in enumerate(values):
            of_query, of_item = (hashed_uniforms(SEED + k, hashes, 1)[0] for hashes in (query_hashes, item_hashes))
            sampling.draw_grades(pool.query_offsets, nodes, cumulative, of_query, of_item, grades)
            row[:] = self.score(pool, self._labels(pool, grades, item_hashes, k), ranking, versus)
        mean, variance = values.mean(axis=0), values.var(axis=0, ddof=1)
        return Moments(mean, variance + mean**2, variance)

    def _check_columns(self, n_grades: int) -> None:
        """Raise InputError if the number of grade columns does not fit the measure's scale."""
        if self.max_grade is not None and n_grades != self.max_grade + 1:
            raise InputError(f"grade_probs must have {self.max_grade + 1} columns for {self}, got {n_grades}")

    def _labels(self, pool: QueryPool, grades: Ints, item_hashes: Words, k: int) -> Ints:
        """Convert the grades of simulation `k` to the labels that the measure scores: here the grades themselves.

        A subclass may use ``item_hashes`` (hashes of the items' ids) for random numbers.
        """
        return grades


class _Ratio(WithRule, Normalised):
    """Base class of an additive measure divided by its value for the best ranking of all judged items."""

    __slots__ = ()
    _name: ClassVar[str]

    @property
    def numerator(self) -> Additive:
        """The measure in the numerator; every subclass overrides it."""
        raise TypeError("a ratio says what it divides")

    @property
    def ideal(self) -> Additive:
        """The measure whose value for the best ranking is the denominator."""
        return self.numerator

    def discount_vector(self, longest: int) -> Floats:
        """Compute the discounts of the ranks that count in lists of up to `longest` items, those of the numerator."""
        return self.numerator.discount_vector(longest)

    def terms(self, n_grades: int, longest: int, widest: int) -> Terms:
        """Get the values and discounts from which expected values of partly judged queries are computed.

        Lists have up to `longest` ranks, and queries up to `widest` items.
        """
        gains = sealed(self._rule.values(n_grades))
        return normalised_terms(ADDITIVE, gains, self.discount_vector(longest), self.ideal.discount_vector(widest))

    def _value(self, pool: QueryPool, labels: SoftLabels, n_grades: int, ranking: Rankings) -> Floats:
        """Compute each query's numerator over the value of its best ranking, shape (n_queries,); 0 if that is 0."""
        from activeeval.core.kernels import scores

        codes, gains = labels.coded(sealed(self._rule.values(n_grades)))
        by_gain = np.argsort(-gains, kind="stable")  # codes of labels, the largest gain first
        ideal = np.empty(pool.n_queries)
        discounts = self.ideal.discount_vector(int(np.diff(pool.query_offsets).max()))
        rewarded = sealed(by_gain[gains[by_gain] > 0], np.int64)  # only these add to the best ranking
        scores.ideal_scores(codes, gains, rewarded, discounts, pool.query_offsets, ideal)
        numerators = self.numerator.score(pool, labels, ranking)
        return np.divide(numerators, ideal, out=np.zeros_like(numerators), where=ideal > 0)

    def __str__(self) -> str:
        """Format the measure as text that `parse_measure` reads, as ``nDCG(dcg='log2')@10``."""
        return self._written(self._name, str(self._rule))


@dataclass(frozen=True, slots=True)
class NDCG(_Ratio):
    """DCG divided by the DCG of the best ranking of all judged items; 0 if no item is relevant.

    Parameters
    ----------
    gains : {"linear", "exp"} or array of float
        ``"linear"`` (the default, as in trec_eval): the grade itself; ``"exp"``: 2^y − 1.
    cutoff : int, optional

    Examples
    --------
    >>> print(NDCG(cutoff=10), NDCG("exp"))
    nDCG(dcg='log2')@10 nDCG(dcg='exp-log2')
    """

    _rule_field: ClassVar[str] = "gains"
    _name: ClassVar[str] = "nDCG"
    gains: Any = "linear"
    cutoff: int | None = None
    label: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Convert the gains to a rule (linear by default) and check the cutoff; raise InputError if one is invalid."""
        object.__setattr__(self, "gains", gain_rule(self.gains, Linear()))
        object.__setattr__(self, "cutoff", checked_cutoff(self.cutoff))

    @property
    def numerator(self) -> Additive:
        """The measure in the numerator: DCG."""
        return _dcg(self.gains, self.cutoff)


@lru_cache(maxsize=64)
def _dcg(gains: GradeRule, cutoff: int | None) -> Additive:
    """Build a DCG with the given rule for gains; cached, because moments need it for every simulation."""
    return replace(DCG(cutoff=cutoff), gains=gains)


@dataclass(frozen=True, slots=True)
class Recall(_Ratio):
    """The share of a query's relevant items among the first `cutoff` ranks; 0 if no item is relevant.

    Parameters
    ----------
    cutoff : int
    rel : int
        Smallest relevant grade.

    Examples
    --------
    >>> pool = QueryPool(["q"], [0, 3], ["a", "b", "c"])
    >>> Recall(2).score(pool, [1, 0, 1], Rankings.from_scores(pool, [3.0, 2.0, 1.0]))
    array([0.5])
    """

    _rule_field: ClassVar[str] = "rel"
    _name: ClassVar[str] = "R"
    cutoff: int | None
    rel: Any = 1
    label: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Convert the smallest relevant grade to a rule and check the cutoff; raise InputError if one is invalid."""
        object.__setattr__(self, "rel", self.rel if isinstance(self.rel, BinaryGain) else relevance_rule(self.rel))
        object.__setattr__(self, "cutoff", needed_cutoff(self.cutoff, "R"))

    @property
    def numerator(self) -> Additive:
        """The measure in the numerator: the number of relevant items down to the cutoff."""
        return Additive(self.rel, ConstantDiscount(1.0), self.cutoff)

    @property
    def ideal(self) -> Additive:
        """The measure in the denominator: the number of relevant items at any rank."""
        return replace(self.numerator, cutoff=None)


@dataclass(frozen=True, slots=True)
class AP(Normalised):
    """Average precision: the sum of precision at each relevant rank, divided by the number of relevant items.

    Parameters
    ----------
    rel : int
        Smallest relevant grade.
    cutoff : int, optional

    Examples
    --------
    >>> pool = QueryPool(["q"], [0, 3], ["a", "b", "c"])
    >>> AP().score(pool, [1, 0, 1], Rankings.from_scores(pool, [3.0, 2.0, 1.0])).round(4)
    array([0.8333])
    """

    no_gain_between: ClassVar[str] = "relevant and not"
    rel: int = 1
    cutoff: int | None = None
    label: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Check the smallest relevant grade and the cutoff; raise InputError if one is invalid."""
        object.__setattr__(self, "rel", relevance_rule(self.rel).rel)
        object.__setattr__(self, "cutoff", checked_cutoff(self.cutoff))

    def discount_vector(self, longest: int) -> Floats:
        """Compute 1 for each rank that counts in lists of up to `longest` items."""
        return sealed(np.ones(longest if self.cutoff is None else min(self.cutoff, longest)))

    def terms(self, n_grades: int, longest: int, widest: int) -> Terms:
        """Get the values and discounts from which expected values of partly judged queries are computed.

        Lists have up to `longest` ranks, and queries up to `widest` items.
        """
        relevance = sealed((np.arange(n_grades) >= self.rel).astype(np.float64))
        return normalised_terms(PRECISION, relevance, self.discount_vector(longest), np.ones(widest))

    def _value(self, pool: QueryPool, labels: SoftLabels, n_grades: int, ranking: Rankings) -> Floats:
        """Compute the average precision of each query, shape (n_queries,)."""
        from activeeval.core.kernels import scores

        out = np.empty(pool.n_queries)
        scores.average_precisions(
            labels.grades, self.rel, self._depth(pool), pool.query_offsets, ranking.offsets, ranking.items, out
        )
        return out

    def __str__(self) -> str:
        """Format the measure as text that `parse_measure` reads, as ``AP(rel=1)@10``."""
        return self._written("AP", f"rel={self.rel}")


@dataclass(frozen=True, slots=True)
class Judged(_RankedMeasure):
    """The share of judged items among the first `cutoff` ranks; 0 for an empty list.

    Examples
    --------
    >>> pool = QueryPool(["q"], [0, 3], ["a", "b", "c"])
    >>> Judged(2).score(pool, [1, -1, 0], Rankings.from_scores(pool, [3.0, 2.0, 1.0]))
    array([0.5])
    """

    cutoff: int | None = None
    label: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Raise InputError unless the cutoff is None or a positive whole number."""
        object.__setattr__(self, "cutoff", checked_cutoff(self.cutoff))

    def _value(self, pool: QueryPool, labels: SoftLabels, n_grades: int, ranking: Rankings) -> Floats:
        """Compute the share of judged items of each query down to the cutoff, shape (n_queries,)."""
        from activeeval.core.kernels import scores

        out = np.empty(pool.n_queries)
        depth = min(self._depth(pool), max(longest_list(ranking), 1))
        scores.judged_shares(labels.grades, depth, ranking.offsets, ranking.items, out)
        return out

    def __str__(self) -> str:
        """Format the measure as text, as ``Judged@10``."""
        return self._written("Judged", "")
