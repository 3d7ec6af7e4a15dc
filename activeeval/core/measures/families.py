"""The two families of measures with exact moments: additive and cascade measures.

*Additive*: L = Σ_i c_i g(y_i), as DCG, RBP and P. *Cascade*: L = Σ_i c_i ℓ(y_i) Π_{l<i}(1 − ℓ(y_l)),
as ERR, RR and Success. A measure consists of a value for each grade, a discount for each rank, and a cutoff.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.errors import InputError
from activeeval.core.interval_ends import UNLIMITED
from activeeval.core.measures.gains_and_discounts import (
    BinaryGain,
    Discounts,
    Exponential,
    as_discounts,
    as_rule,
    log_discount,
    number_text,
    reciprocal_discount,
)
from activeeval.core.measures.labels import LabelsLike, checked_labels
from activeeval.core.measures.ranking_checks import (
    WithRule,
    check_pool,
    checked_cutoff,
    checked_nodes,
    longest_list,
    moments_over_nodes,
)
from activeeval.core.measures.terms import ADDITIVE, CASCADE, Terms, plain_terms
from activeeval.core.pool import QueryPool, Rankings
from activeeval.core.results import Moments
from activeeval.core.types import Floats, sealed

Kernel = Callable[..., None]


class _Family(WithRule):
    """Base class of both families; a subclass adds a rule (value of each grade) and kernels (scores and moments)."""

    __slots__ = ()
    _numerator: ClassVar[int]

    @property
    def is_additive(self) -> bool:
        """True if the value is a sum of one term per item."""
        return self._numerator == ADDITIVE

    discounts: Discounts
    cutoff: int | None
    name: str

    def _kernels(self) -> tuple[Kernel, Kernel]:
        """Get ``(scores, moments)``, the compiled functions that compute them; every subclass overrides it."""
        raise TypeError("only a family has kernels")

    @property
    def needs_max_grade(self) -> bool:
        """True if a grade's value depends on the largest grade (as in ERR), and that is not known yet."""
        return self.max_grade is None and self._rule.depends_on_scale

    def bound_to(self, max_grade: int) -> Self:
        """Copy the measure with its open grade scale fixed at `max_grade`; a fixed scale is not changed.

        A measure with a fixed scale raises InputError for a grade above it when it scores.
        """
        changed: Self = replace(self, **{self._rule_field: self._rule.bound_to(max_grade)})  # type: ignore[type-var]
        return changed

    def discount_vector(self, longest: int) -> Floats:
        """Compute the discounts of the ranks that count in lists of up to `longest` items, shape (depth,).

        A discount vector shorter than a list cuts the list, as the cutoff does. Raises InputError if a discount
        function does not give one finite number for each rank.
        """
        depth = longest if self.cutoff is None else min(self.cutoff, longest)
        if not callable(self.discounts):
            return sealed(np.asarray(self.discounts, dtype=np.float64)[:depth])
        vector = np.asarray(self.discounts(np.arange(1.0, depth + 1.0)), dtype=np.float64)
        if vector.shape != (depth,) or not np.all(np.isfinite(vector)):
            raise InputError(
                f"discounts must give one finite number a rank, got shape {vector.shape} for {depth} ranks"
            )
        return sealed(vector)

    def score(self, pool: QueryPool, grades: LabelsLike, ranking: Rankings, versus: Rankings | None = None) -> Floats:
        """Compute the value of each query's ranking, or the difference ``ranking − versus``.

        Parameters
        ----------
        grades : array of int, shape (n_items,), or SoftLabels
            A negative grade means unjudged: the item has no gain but keeps its rank.

        Returns
        -------
        ndarray, shape (n_queries,)

        Raises
        ------
        InputError
            If a grade is above the measure's largest, or a ranking belongs to another pool.
        """
        labels, n_grades = checked_labels(pool, grades, self.max_grade)
        codes, values = labels.coded(self._values(n_grades))
        kernel, _ = self._kernels()
        rankings = [ranking] if versus is None else [ranking, versus]
        check_pool(pool, *rankings)
        out = np.empty((2, pool.n_queries))
        for row, scored in zip(out, rankings, strict=False):
            kernel(codes, values, self.discount_vector(longest_list(scored)), scored.offsets, scored.items, row)
        scores: Floats = out[0] if versus is None else out[0] - out[1]
        return scores

    def moments(
        self,
        pool: QueryPool,
        grade_probs: ArrayLike,
        ranking: Rankings,
        versus: Rankings | None = None,
        node_weights: ArrayLike | None = None,
    ) -> Moments:
        """Compute mean, mean square and variance of each query's value under a grade model.

        Sawade et al. (2013), eqs. (16)–(18).

        Parameters
        ----------
        grade_probs : array of float, shape (n_items, n_grades)
            p(y = k) of every item. With a query factor (a random effect shared by a query's items), shape (n_nodes,
            n_items, n_grades), one table for each of its quadrature nodes: grades are independent given a node.
        versus : Rankings, optional
            If given, the moments are those of the difference ``ranking − versus``.
        node_weights : array of float, shape (n_nodes,) or (n_queries, n_nodes)
            Probability of each node of the query factor, for all queries or for each query.

        Raises
        ------
        InputError
            If the columns do not fit the measure's grades, a row is not a distribution, or a ranking belongs to another
            pool.

        Examples
        --------
        >>> pool = QueryPool(["q"], [0, 2], ["a", "b"])
        >>> ranking = Rankings.from_scores(pool, [2.0, 1.0])
        >>> found = Additive([0, 1], [1.0, 0.5]).moments(pool, [[0.5, 0.5], [0.5, 0.5]], ranking)
        >>> found.mean, found.second
        (array([0.75]), array([0.875]))
        """
        reference = Rankings.empty(pool) if versus is None else versus
        check_pool(pool, ranking, reference)
        nodes, weights = checked_nodes(pool, grade_probs, node_weights)
        values = self._values(self._check_columns(nodes.shape[2]))
        discounts = self.discount_vector(longest_list(ranking, reference))
        lists = (ranking.offsets, ranking.items, reference.offsets, reference.items)
        _, kernel = self._kernels()
        means, variances = np.empty((2, len(nodes), pool.n_queries))
        for probs, mean, variance in zip(nodes, means, variances, strict=True):
            kernel(pool.query_offsets, sealed(probs), values, discounts, *lists, mean, variance)
        return moments_over_nodes(weights, means, variances)

    def terms(self, n_grades: int, longest: int, widest: int) -> Terms:
        """Get the values and discounts from which expected values of partly judged queries are computed.

        Lists have up to `longest` ranks and queries up to `widest` items. Raises InputError if the number of grades
        does not fit the measure.
        """
        return plain_terms(self._numerator, self._values(self._check_columns(n_grades)), self.discount_vector(longest))

    def limits(self, max_grade: int | None, longest: int) -> tuple[float, float]:
        """Compute the lowest and highest possible value of a query whose list has at most `longest` items.

        An unknown largest grade makes the highest value infinite, and with negative discounts both, except for binary
        gains. A cascade measure lies between its extreme discounts: of the rank where the user stops, or 0 if at none.
        In an additive one each rank adds its discount times any gain, or 0 if the list is shorter.

        Parameters
        ----------
        max_grade : int or None
            Largest grade, used if the measure does not fix it; None if the scale is open.
        """
        top = max_grade if self.max_grade is None else self.max_grade
        discounts, gains = np.append(self.discount_vector(longest), 0.0), np.array([0.0, 1.0])
        if not self.is_additive:
            return float(discounts.min()), float(discounts.max())
        if top is None and not isinstance(self._rule, BinaryGain):
            return UNLIMITED if (discounts < 0).any() else (0.0, math.inf)
        if top is not None:
            gains = np.append(self._values(top + 1), 0.0)
        worth = discounts[:, None] * gains
        return float(worth.min(axis=1).sum()), float(worth.max(axis=1).sum())

    def _values(self, n_grades: int) -> Floats:
        """Compute the gain or stop probability of each grade; raise InputError if one is not finite."""
        values = sealed(self._rule.values(n_grades))
        if not np.all(np.isfinite(values)):
            raise InputError(f"{self} has no finite value for grade {int(np.argmin(np.isfinite(values)))}")
        return values

    def _check_columns(self, n_grades: int) -> int:
        """Return the number of grade columns; raise InputError unless it fits the measure's scale and is at least 2."""
        if n_grades < 2 or (self.max_grade is not None and n_grades != self.max_grade + 1):
            wanted = "at least 2" if self.max_grade is None else str(self.max_grade + 1)
            raise InputError(f"grade_probs must have {wanted} columns, one for each grade of {self}, got {n_grades}")
        return n_grades

    def __str__(self) -> str:
        """Format the measure as text that `parse_measure` reads, with every parameter, as ``DCG(dcg='log2')@10``."""
        persistence = f"p={number_text(self.discounts.p)}" if hasattr(self.discounts, "p") else ""
        listed = self.discounts if isinstance(self.discounts, tuple) else ()
        ranks = f"discounts=[{','.join(map(number_text, listed))}]" if listed else ""
        return self._written(self.name, ",".join(part for part in (persistence, str(self._rule), ranks) if part))


@dataclass(frozen=True, slots=True)
class Additive(_Family):
    """A measure that sums discounted gains over the ranks: DCG, RBP, P, CG, learned gains and discounts.

    L = Σ_i c_i g(y_i), with the discount c of a rank and the gain g of a grade.

    Parameters
    ----------
    gains : array of float, shape (max_grade + 1,), or rule, optional
        Gain of each grade; 2^y − 1 by default.
    discounts : array of float or callable, optional
        Weight of each rank, as a vector or a function of the rank array; 1 / log2(1 + rank) by
        default. A vector shorter than a ranking cuts it.
    cutoff : int, optional
        Last rank that counts.
    name : str
        Name in the measure string, as in ``Additive(gains={…})``.
    label : str
        Caller's name for the measure, as ``@gains.json``; see `shown_name`.

    Examples
    --------
    >>> pool = QueryPool(["q"], [0, 3], ["a", "b", "c"])
    >>> ranking = Rankings.from_scores(pool, [3.0, 2.0, 1.0])
    >>> Additive([0, 1, 3], [1.0, 0.5]).score(pool, [2, 1, 2], ranking)
    array([3.5])
    """

    _rule_field: ClassVar[str] = "gains"
    _numerator: ClassVar[int] = ADDITIVE
    gains: Any = None
    discounts: Any = log_discount
    cutoff: int | None = None
    name: str = "Additive"
    label: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Convert gains, discounts and cutoff to their checked forms; raise InputError if one is invalid."""
        object.__setattr__(self, "gains", Exponential() if self.gains is None else as_rule(self.gains, "gains"))
        object.__setattr__(self, "discounts", as_discounts(self.discounts))
        object.__setattr__(self, "cutoff", checked_cutoff(self.cutoff))

    def _kernels(self) -> tuple[Kernel, Kernel]:
        """Get ``(scores, moments)``, the compiled functions that compute them."""
        from activeeval.core.kernels import moments, scores

        return scores.additive_scores, moments.additive_moments


@dataclass(frozen=True, slots=True)
class Cascade(_Family):
    """A measure of users who read down a list until an item stops them: ERR, RR, Success and others.

    L = Σ_i c_i ℓ(y_i) Π_{l<i}(1 − ℓ(y_l)), with the discount c of a rank and the stop probability ℓ of a grade.

    Parameters
    ----------
    stop_probs : array of float, shape (max_grade + 1,), or rule
        Probability that a user stops at an item of each grade, in [0, 1].
    discounts : array of float or callable, optional
        Value of stopping at each rank, as a vector or a function of the rank array; 1 / rank by
        default. A vector shorter than a ranking cuts it.
    cutoff : int, optional
        Last rank that counts.
    name : str
        Name in the measure string.
    label : str
        Caller's name for the measure.

    Examples
    --------
    >>> pool = QueryPool(["q"], [0, 2], ["a", "b"])
    >>> ranking = Rankings.from_scores(pool, [2.0, 1.0])
    >>> Cascade([0, 0.5]).score(pool, [1, 1], ranking)
    array([0.625])
    """

    _rule_field: ClassVar[str] = "stop_probs"
    _numerator: ClassVar[int] = CASCADE
    stop_probs: Any
    discounts: Any = reciprocal_discount
    cutoff: int | None = None
    name: str = "Cascade"
    label: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Convert stop probabilities (in [0, 1]), discounts and cutoff to their checked forms, or raise InputError."""
        object.__setattr__(self, "stop_probs", as_rule(self.stop_probs, "stop_probs", lower=0.0, upper=1.0))
        object.__setattr__(self, "discounts", as_discounts(self.discounts))
        object.__setattr__(self, "cutoff", checked_cutoff(self.cutoff))

    def _kernels(self) -> tuple[Kernel, Kernel]:
        """Get ``(scores, moments)``, the compiled functions that compute them."""
        from activeeval.core.kernels import moments, scores

        return scores.cascade_scores, moments.cascade_moments
