"""Grade models of a pool: grade probabilities at the nodes of a query factor, and grades that are already known.

A query factor is a random effect shared by the grades of a query's items; a node is one of its discrete values, with a
weight. A model without a factor has a single node, at which grades are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, softmax

from activeeval.core.checks import brief
from activeeval.core.design.nodes import (
    SHIFTS,
    Factor,
    informed_weights,
    nodes_of,
    rounded_probs,
    shifted_probs,
    turned_probs,
)
from activeeval.core.errors import InputError
from activeeval.core.kernels import known_grades as known_kernel
from activeeval.core.measures.ranking_checks import checked_grades, checked_nodes
from activeeval.core.pool import QueryPool
from activeeval.core.types import Floats, Ints

SHARE = 0.3
"""Total weight of the shifted nodes. With a uniform model, .3 raised the efficiency of ERR on generated pools from 0.2
to 3.9, at no cost on MQ2008."""
BLIND_SHARE, TURNED_SHARE = 0.5, 0.1
"""Weights of the uninformative (uniform) nodes and of the reversed nodes beside the grader's own, before labels of
other queries show how good the grader is.

ERR@10 of one run and of two, passages of 2021 and 2023, 600 to 1,000 repetitions with the same seeds: with (.1, 0),
(.25, 0), (.5, 0), (.25, .1) and (.5, .1) the efficiency relative to no model is .95, .95, .96, .95 and .97 (± .02) for
a random grader, .95, .96, .98, 1.00 and 1.02 for a reversed one, and 1.03, 1.04, 1.03, 1.04 and 1.02 for the mean of
two ordinary graders per collection. For four pairs of runs of 2023, reversed nodes raise a reversed grader from .91 to
.96. nDCG@10 hardly depends on the shares: a good grader reaches 1.42, 1.32, 1.34 and 1.45 (± .10) for one run of 2021
with (.25, 0), (.5, 0), (.25, .1) and (.5, .1); for two runs 1.85, 1.80 (± .3) with the first two, 1.67 (± .2) with the
last.
"""
MACHINE_SHARES = (1 - BLIND_SHARE - TURNED_SHARE, BLIND_SHARE, TURNED_SHARE)
"""Weights of the grader's own nodes, of the uninformative nodes and of the reversed nodes."""
_LEAST_LIKELIHOOD = 1e-12


class Refit(Protocol):
    """Interface of a model that learns from a sample's labels, as `activeeval.core.grade_models.refit.ValueRefit`."""

    @property
    def folds(self) -> Ints:
        """Fold of each item's query, shape (n_items,): predictions for a query use labels of other folds only."""

    def after(self, items: Ints, grades: Ints) -> tuple[Floats, Ints]:
        """Compute grade probabilities (n_rows, n_grades) from labels, and the row of each item among them (n_items,).

        ``items`` and their ``grades`` have shape (n,). A query's probabilities use labels of other queries only.
        """


RefitMaker = Callable[[QueryPool, ArrayLike], Refit]
"""Builds a `Refit` from a pool and the grade probabilities (n_items, n_grades) of its items."""


class ModelOptions(TypedDict, total=False):
    """Options of `Method.design` about grades, besides their probabilities.

    Attributes
    ----------
    node_weights : array of float, shape (n_nodes,), optional
        Weights of the nodes of a query factor.
    factor : Factor, optional
        Alternative to nodes: builds them from ``grade_probs`` (n_items, n_grades).
    extra_probs : sequence of arrays, each of shape (n_items, n_grades)
        Other grade models. Their predictions serve only as regressors of fitted estimates.
    refit : callable, optional
        Builds the model that learns from the sample's labels, as `activeeval.core.grade_models.ValueRefit.of`.
    max_grade : int, optional
        Largest grade of the scale, if neither ``grade_probs`` nor the measure defines it.
    judged : array of int, shape (n_items,), optional
        Grades already known, −1 for unknown: known items cost nothing and are not judged again.
    bias : float
        Bias b of a query's predicted value to guard against: its variance v becomes v + b². Default: 0.
    """

    node_weights: ArrayLike | None
    factor: Factor | None
    extra_probs: Sequence[ArrayLike]
    refit: RefitMaker | None
    max_grade: int | None
    judged: ArrayLike | None
    bias: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GradeProbs:
    """A grade model of a pool: p(grade | item) at the nodes of a query factor.

    Attributes
    ----------
    query_offsets : ndarray of int64, shape (n_queries + 1,)
        Start of each query's items.
    grade_probs : ndarray of float32, shape (n_items, n_grades) or (n_nodes, n_items, n_grades)
        Grade probabilities as given; everything else is computed from them.
    node_weights : ndarray, shape (n_nodes,)
        Weights of the nodes of `grade_probs`; a single weight if a factor builds the nodes.
    factor : Factor or None
        Turns probabilities into nodes.
    known : ndarray of int64, shape (n_items,)
        Grades known beforehand, −1 for unknown.
    nodes : ndarray, shape (n_nodes, n_items, n_grades)
        Probability of grade k of every item at node u; the row of a known item puts all probability on its grade.
    prior : ndarray, shape (n_nodes,)
        Weights of the nodes before any grade is known.
    weights : ndarray, shape (n_queries, n_nodes)
        Weights of the nodes of each query, given the known grades.
    extra_probs : ndarray of float32, shape (n_models, n_items, n_grades)
        Predictions of other models as given, used only as regressors of fitted estimates.
    refit : Refit or None
        Updates the predictions from the labels of a sample, if given; not used for anything else.
    """

    query_offsets: Ints
    grade_probs: NDArray[np.float32]
    node_weights: Floats
    factor: Factor | None
    known: Ints
    nodes: Floats
    prior: Floats
    weights: Floats
    extra_probs: NDArray[np.float32]
    refit: Refit | None = None

    @classmethod
    def of(
        cls,
        pool: QueryPool,
        grade_probs: ArrayLike,
        node_weights: ArrayLike | None = None,
        factor: Factor | None = None,
        known: ArrayLike | None = None,
        extra_probs: Sequence[ArrayLike] = (),
        refit: RefitMaker | None = None,
    ) -> GradeProbs:
        """Check grade probabilities and known grades, and build the grade model of a pool from them.

        Probabilities are rounded to 32 bits first, so that a stored sample holds exactly the model of its design.

        Parameters
        ----------
        grade_probs : array of float, shape (n_items, n_grades) or (n_nodes, n_items, n_grades)
        node_weights : array of float, shape (n_nodes,), optional
            Weights of the nodes of ``grade_probs`` (values of a random effect shared by a query's items).
        factor : Factor, optional
            This random effect: builds the nodes from ``grade_probs`` (n_items, n_grades).
        known : array of int, shape (n_items,), optional
            Known grades, −1 for unknown.
        extra_probs : sequence of arrays, each of shape (n_items, n_grades)
            Predictions of other models, used only as regressors of fitted estimates.
        refit : callable, optional
            For a model with one node: builds the model that learns from the labels of the sample.

        Raises
        ------
        InputError
            If shapes do not fit the pool, a row is not a distribution, or a known grade is off the scale.
        """
        if factor is not None and node_weights is not None:
            raise InputError("give either nodes with `node_weights` or `factor`, not both")
        try:
            stored = np.asarray(grade_probs, dtype=np.float32)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"grade_probs must be an array of numbers, got {brief(grade_probs)}") from None
        if stored.shape[-1:] == (1,):
            raise InputError("grade_probs must have a column for each grade, 2 at least, got 1")
        nodes, stored_weights = checked_nodes(pool, stored, node_weights)
        grades = known_grades(pool, known, nodes.shape[2] - 1)
        weights = stored_weights if factor is None else factor.node_weights
        if weights.ndim != 1:
            raise InputError("node_weights of a sample must have shape (n_nodes,): the same for all queries")
        model_nodes = nodes_of(stored, factor)
        return cls(
            query_offsets=pool.query_offsets,
            grade_probs=stored,
            node_weights=stored_weights,
            factor=factor,
            known=grades,
            nodes=model_nodes,
            prior=weights,
            weights=informed_weights(pool.query_offsets, model_nodes, weights, grades),
            extra_probs=rounded_probs(pool, extra_probs, model_nodes.shape[2]),
            refit=None if refit is None or stored.ndim == 3 else refit(pool, stored),
        )

    @property
    def made_of(self) -> dict[str, Any]:
        """Keyword arguments with which `GradeProbs.of` rebuilds this model, for example with other known grades."""
        weights = self.node_weights if self.grade_probs.ndim == 3 else None
        learned = self.refit
        refit = None if learned is None else lambda _, __: learned  # a `RefitMaker` that need not learn again
        made_of = {"grade_probs": self.grade_probs, "node_weights": weights, "factor": self.factor}
        return made_of | {"extra_probs": self.extra_probs, "refit": refit}

    @classmethod
    def uniform(cls, pool: QueryPool, max_grade: int, known: ArrayLike | None = None) -> GradeProbs:
        """Build the model of equally likely grades 0 … ``max_grade``; ``known`` (n_items,) are known grades or −1."""
        n_grades = max_grade + 1
        return cls.of(pool, np.full((pool.n_items, n_grades), 1.0 / n_grades), known=known)

    def after(self, items: Ints, grades: Ints, model: Callable[[GradeProbs], GradeProbs]) -> GradeProbs:
        """Update the model with labels of some items through `refit`; the result does not learn further.

        A query's new probabilities follow from labels of other queries only.

        Parameters
        ----------
        items, grades : ndarray of int64, shape (n,)
            Labeled items, as indices, and their grades.
        model : callable
            Transformation of a model to apply, as `defended`, which adds nodes with lower and higher grades. It is
            called on the distinct rows of probabilities only, which are far fewer than the items.
        """
        assert self.refit is not None
        rows, row_of_item = self.refit.after(items, grades)
        probs = rows.astype(np.float32)
        prior = self.model_prior
        # a model of the distinct rows, as if they were the items of one query
        offsets, unknown = np.array([0, len(rows)]), np.full(len(rows), -1, dtype=np.int64)
        table = replace(
            self, query_offsets=offsets, grade_probs=probs, known=unknown, nodes=nodes_of(probs, self.factor),
            prior=prior, weights=np.broadcast_to(prior, (1, prior.size)),
        )  # fmt: skip
        believed = model(table)
        nodes = np.ascontiguousarray(believed.nodes[:, row_of_item])
        weights = informed_weights(self.query_offsets, nodes, believed.prior, self.known)
        return replace(self, nodes=nodes, prior=believed.prior, weights=weights, refit=None)

    def blind(self) -> GradeProbs:
        """Return the model with all grades equally likely and the same dependence between items of a query."""
        even, nodes = self._uniform_probs_and_nodes
        prior = self.model_prior
        weights = informed_weights(self.query_offsets, nodes, prior, self.known)
        return replace(self, grade_probs=even, nodes=nodes, prior=prior, weights=weights, refit=None)

    @property
    def model_prior(self) -> Floats:
        """Weights of the model's nodes before any label, without nodes that `defended` adds, shape (n_nodes,)."""
        return self.node_weights if self.factor is None else self.factor.node_weights

    @property
    def _uniform_probs_and_nodes(self) -> tuple[NDArray[np.float32], Floats]:
        """Equal probabilities of all grades, shaped as `grade_probs`, and their nodes (n_nodes, n_items, n_grades)."""
        even = np.full(self.grade_probs.shape, 1.0 / self.grade_probs.shape[-1], dtype=np.float32)
        return even, nodes_of(even, self.factor)

    def defended(self) -> GradeProbs:
        """Add nodes with much lower and much higher grades, so that the model is never certain.

        The logits of p(y > k) of the added nodes are shifted by `SHIFTS`. The labels of a query's first items reweight
        its nodes, and the predictions for the rest follow: a depth design is safe with a model that is wrong about the
        level of the grades. If the probabilities come from a grader (`refit` is set), uninformative nodes and reversed
        nodes are added as well, with as many nodes each as the model has, between the model's own and the shifted ones.
        A node is a set of grade probabilities with a weight.
        """
        # without the certainty of known grades, which `informed_weights` restores at the end
        plain = nodes_of(self.grade_probs, self.factor) if (self.known >= 0).any() else self.nodes
        parts: list[Floats] = [plain]
        shares: tuple[float, ...] = (1.0,)
        if self.refit is not None:
            reversed_nodes = nodes_of(turned_probs(self.grade_probs), self.factor)
            _, uniform_nodes = self._uniform_probs_and_nodes
            parts, shares = [plain, uniform_nodes, reversed_nodes], MACHINE_SHARES
        nodes = np.concatenate((*parts, shifted_probs(np.tensordot(self.prior, plain, 1))))
        of_plain = [self.prior * (1 - SHARE) * share for share in shares]
        weights = np.concatenate((*of_plain, np.full(len(SHIFTS), SHARE / len(SHIFTS))))
        of_queries = informed_weights(self.query_offsets, nodes, weights, self.known)
        return replace(self, nodes=nodes, prior=weights, weights=of_queries)

    def trusting(self, items: Ints, grades: Ints) -> GradeProbs:
        """Reweight the nodes of a `defended` model by how well a grader (a model, say an LLM) predicts grades (n,).

        A node u is a set of grade probabilities, of weight ω_u. The nodes have three parts: the grader's predictions,
        uninformative ones, and reversed ones. In each part the likelihood of a query's labels y_i is Σ_u ω_u Π_i p(y_i
        | u). The parts' posterior odds are the prior odds times the likelihood ratios of all queries of other folds.
        The selection of ``items`` plays no role, because it depends only on what is known beforehand.
        """
        assert self.refit is not None
        owners = np.searchsorted(self.query_offsets, items, side="right") - 1
        queries, rows = np.unique(owners, return_inverse=True)
        likelihoods = np.zeros((self.prior.size, queries.size))  # their logarithms, by node and query
        of_items = np.log(np.maximum(self.nodes[:, items, grades], _LEAST_LIKELIHOOD))
        for of_query, of_item in zip(likelihoods, of_items, strict=True):
            of_query[:] = np.bincount(rows, of_item, minlength=queries.size)
        prior, parts, shares = self.weights[queries].T, self._parts, np.array(MACHINE_SHARES)[:, None]
        # fold of each query: that of its first item
        folds = self.refit.folds[np.minimum(self.query_offsets[:-1], self.refit.folds.size - 1)]
        evidence = np.zeros((len(parts), int(folds.max()) + 1))
        for part, of_folds in zip(parts, evidence, strict=True):
            # known grades can rule out a part for a query; its labels then count with equal weights of the nodes
            inside = np.where(prior[part].any(axis=0), prior[part], 1.0)
            of_part = logsumexp(likelihoods[part], axis=0, b=inside) - np.log(inside.sum(axis=0))
            of_folds[:] = np.bincount(folds[queries], of_part, minlength=of_folds.size)
        of_others = evidence @ (1.0 - np.eye(evidence.shape[1]))
        # posterior weight of each part by labels of other folds, relative to its prior weight, for each query
        moved = (softmax(of_others + np.log(shares), axis=0) / shares)[:, folds]
        weights = self.weights.copy()
        for part, times in zip(parts, moved, strict=True):
            weights[:, part] *= times[:, None]
        return replace(self, weights=weights / weights.sum(axis=1, keepdims=True))

    def unturned(self) -> GradeProbs:
        """Drop the reversed grade probabilities of a `defended` model and give their weight to the grader's own ones.

        Used after labels have shown whether the grader's values rise or fall with grades.
        """
        of_grader, _, of_reversed = self._parts
        is_kept = np.delete(np.arange(self.prior.size), of_reversed)
        weights, prior = self.weights.copy(), self.prior.copy()
        weights[:, of_grader] += weights[:, of_reversed]
        prior[of_grader] += prior[of_reversed]
        return replace(self, nodes=self.nodes[is_kept], prior=prior[is_kept], weights=weights[:, is_kept])

    @property
    def _parts(self) -> list[slice]:
        """Slices of the node axis of a `defended` model: the grader's own nodes, the uninformative, the reversed."""
        n = self.model_prior.size
        return [slice(k * n, (k + 1) * n) for k in range(len(MACHINE_SHARES))]

    @property
    def extra_models(self) -> Floats:
        """Grade probabilities of extra models, (n_models, n_items, n_grades); known grades have probability 1."""
        probs = np.asarray(self.extra_probs, dtype=np.float64)
        probs = np.asarray(probs / probs.sum(axis=2, keepdims=True), dtype=np.float64)
        known_kernel.settle_known(probs, self.known)
        return probs

    def expected_grades(self) -> tuple[Floats, Floats]:
        """Compute mean and variance of every item's grade before the sample is judged, shape (n_items,) each.

        Nodes (sets of grade probabilities with a weight) that `defended` added are not used.
        """
        nodes = nodes_of(self.grade_probs, self.factor)
        prior = self.model_prior
        weights = informed_weights(self.query_offsets, nodes, prior, self.known)
        grades, of_items = np.arange(nodes.shape[2]), np.repeat(weights, np.diff(self.query_offsets), axis=0).T
        mean, square = ((of_items * (nodes @ grades**power)).sum(axis=0) for power in (1, 2))
        return mean, np.maximum(square - mean**2, 0.0)

    @property
    def max_grade(self) -> int:
        """Largest grade of the model's scale."""
        return int(self.nodes.shape[2]) - 1


def known_grades(pool: QueryPool, known: ArrayLike | None, max_grade: int | None) -> Ints:
    """Return known grades with −1 for unknown ones, (n_items,); raise InputError if one is off the scale.

    ``known`` has shape (n_items,) and is negative for unknown grades, or None; ``max_grade`` None accepts any grade.
    """
    if known is None:
        return np.full(pool.n_items, -1, dtype=np.int64)
    return np.maximum(checked_grades(pool, known, max_grade)[0], -1)
