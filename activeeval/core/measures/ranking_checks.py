"""Checks that measures make before a kernel runs, and conversion to the array type of the kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.checks import LARGEST_GRADE, first_above, whole_number
from activeeval.core.errors import InputError
from activeeval.core.measures.gains_and_discounts import GradeRule
from activeeval.core.pool import QueryPool, Rankings, whole_grades
from activeeval.core.results import Moments
from activeeval.core.types import Floats, Ints, sealed

_PROBABILITY_TOLERANCE = 1e-6  # single precision causes errors of about 1e-7 in the sum of a row


def checked_cutoff(cutoff: Any) -> int | None:
    """Check that a cutoff is a positive whole number or None and return it; raise InputError otherwise."""
    return None if cutoff is None else whole_number(cutoff, "a cutoff", 1)


class WithCutoff:
    """Base class of measures with a cutoff (last rank that counts), written ``DCG() @ 10``.

    Attributes
    ----------
    no_gain_between : str
        Grades between which the measure has no value, for a message; empty if mean values are defined.
    needs_all_items : bool
        True if every item of a query counts, because each can be in the ideal ranking.
    is_judged_whole : bool
        True if whole queries are judged by comparisons, not items by grades.
    reads_parts : bool
        True if an expected value can be computed when only some of a query's items are judged.
    """

    __slots__ = ()
    no_gain_between: ClassVar[str] = ""
    needs_all_items: ClassVar[bool] = False
    is_judged_whole: ClassVar[bool] = False
    reads_parts: ClassVar[bool] = True
    cutoff: int | None

    @property
    def max_grade(self) -> int | None:
        """Largest grade of the measure's scale; None if it accepts any."""
        return None

    def _written(self, name: str, inside: str) -> str:
        """Format the measure as text: ``name(inside)@cutoff``, without empty parts."""
        at = "" if self.cutoff is None else f"@{self.cutoff}"
        return f"{name}({inside}){at}" if inside else f"{name}{at}"

    def __matmul__(self, cutoff: int) -> Self:
        """Copy the measure with a cutoff: the last rank that counts.

        Raises
        ------
        InputError
            If the measure has a cutoff already or the cutoff is not a positive whole number.

        Examples
        --------
        >>> from activeeval.core.measures import DCG, ERR, NDCG
        >>> print(DCG() @ 10, ERR(max_grade=4) @ 20, NDCG() @ 5)
        DCG(dcg='exp-log2')@10 ERR(max_rel=4)@20 nDCG(dcg='log2')@5
        """
        if self.cutoff is not None:
            raise InputError(f"{self} has a cutoff already, got another one, {cutoff}")
        cut: Self = replace(self, cutoff=whole_number(cutoff, "a cutoff", 1), label="")  # type: ignore[type-var]
        return cut


class WithRule(WithCutoff):
    """Base class of measures with a rule (the value of each grade), in the field named by `_rule_field`."""

    __slots__ = ()
    _rule_field: ClassVar[str]

    @property
    def _rule(self) -> GradeRule:
        """The rule for the value of each grade."""
        rule: GradeRule = getattr(self, self._rule_field)
        return rule

    @property
    def max_grade(self) -> int | None:
        """Largest grade of the measure's scale; None if it accepts any."""
        return self._rule.max_grade


def check_pool(pool: QueryPool, *rankings: Rankings) -> None:
    """Raise InputError if a ranking belongs to another pool."""
    for ranking in rankings:
        if not pool.holds_the_same(ranking.pool):
            raise InputError("the ranking belongs to another pool")


def longest_list(*rankings: Rankings) -> int:
    """Get the length of the longest list of any query in the rankings."""
    return max(int(ranking.lengths.max()) for ranking in rankings)


def checked_grades(pool: QueryPool, grades: ArrayLike, max_grade: int | None) -> tuple[Ints, int]:
    """Check grades for a kernel; return ``(grades, number of grades on the scale)``.

    The grades have shape (n_items,), negative if unjudged. An open scale (``max_grade`` None) ends at the largest grade
    that occurs, and has two grades or more. Raises InputError if there is not one whole number for each item, or a
    grade is above ``max_grade`` (None: above `LARGEST_GRADE`).
    """
    from activeeval.core.kernels import scores

    whole = sealed(whole_grades(grades, pool.n_items), np.int64)
    if max_grade is None:
        large = first_above(whole, LARGEST_GRADE)
        if large >= 0:
            raise InputError(
                f"grade {whole[large]} of {pool.place(large)} is too large, expected at most {LARGEST_GRADE}"
            )
        return whole, max(int(whole.max()), 1) + 1
    bad = scores.first_grade_above(whole, max_grade)
    if bad >= 0:
        raise InputError(f"grade {whole[bad]} of {pool.place(bad)} is above the measure's largest, {max_grade}")
    return whole, max_grade + 1


def checked_nodes(pool: QueryPool, grade_probs: ArrayLike, node_weights: ArrayLike | None) -> tuple[Floats, Floats]:
    """Check grade probabilities and the weights of the query factor's nodes; return ``(probabilities, weights)``.

    Parameters
    ----------
    grade_probs : array, shape (n_items, n_grades), or (n_nodes, n_items, n_grades) with ``node_weights``
        p(grade | item), at each quadrature node of the query factor (a random effect shared by a query's items) if any.
    node_weights : array, shape (n_nodes,) or (n_queries, n_nodes), or None
        Probability of each node; None for a model without a query factor.

    Returns
    -------
    (ndarray, ndarray)
        Probabilities of shape (n_nodes, n_items, n_grades), and weights as given; one node of weight 1 without a
        factor.

    Raises
    ------
    InputError
        If a shape does not fit the pool, or probabilities or weights are not distributions.
    """
    from activeeval.core.kernels import checks

    nodes = np.asarray(grade_probs, dtype=np.float64)
    if node_weights is None:
        nodes = nodes[None] if nodes.ndim == 2 else nodes
    if nodes.ndim != 3 or nodes.shape[1] != pool.n_items or (node_weights is None and len(nodes) != 1):
        wanted = f"({pool.n_items}, n_grades)" if node_weights is None else f"(n_nodes, {pool.n_items}, n_grades)"
        raise InputError(f"grade_probs must have shape {wanted}, got {np.shape(grade_probs)}")
    for probs in nodes:
        row = checks.first_bad_probability_row(sealed(probs), _PROBABILITY_TOLERANCE)
        if row >= 0:
            text = ", ".join(f"{p:g}" for p in probs[row])
            raise InputError(f"grade_probs of {pool.place(row)} must be ≥ 0 and sum to 1, got [{text}]")
    weights = np.ones(1) if node_weights is None else np.asarray(node_weights, dtype=np.float64)
    is_shaped = weights.shape in ((len(nodes),), (pool.n_queries, len(nodes)))
    if not (is_shaped and np.all(weights >= 0) and np.all(np.abs(weights.sum(axis=-1) - 1) <= 1e-9)):
        raise InputError(f"node_weights must be {len(nodes)} numbers ≥ 0 that sum to 1, got {weights.tolist()}")
    return nodes, weights


def mean_over_nodes(weights: Floats, values: Floats) -> Floats:
    """Average values (n_nodes, n_queries) over the nodes, Σ_u ω_u v_u, shape (n_queries,).

    A node is a quadrature node of the query factor (a random effect shared by a query's items). The weights ω are
    common to all queries, shape (n_nodes,), or have shape (n_queries, n_nodes).
    """
    return np.asarray(weights @ values if weights.ndim == 1 else np.einsum("qu,uq->q", weights, values))


def moments_over_nodes(weights: Floats, means: Floats, variances: Floats) -> Moments:
    """Combine means and variances given each node, (n_nodes, n_queries), into each query's moments.

    A node is a quadrature node of the query factor (a random effect shared by a query's items). Its ``weights`` have
    shape (n_nodes,), common to all queries, or (n_queries, n_nodes).
    """
    mean = mean_over_nodes(weights, means)
    variance = mean_over_nodes(weights, variances + (means - mean) ** 2)
    return Moments(mean, variance + mean**2, variance)
