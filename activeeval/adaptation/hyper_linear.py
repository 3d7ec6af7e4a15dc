"""Boosted trees as a linear model of their leaves, adapted to preferences between items."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from activeeval.adaptation.ensembles import read_ensemble
from activeeval.adaptation.margins import LargestMargins
from activeeval.adaptation.trees import Trees
from activeeval.adaptation.weights import (
    ClosedForm,
    Differences,
    Solver,
    StochasticGradient,
    WeightChange,
    check_ridge,
    seed_of,
)
from activeeval.core.checks import one_of, positive, whole_number
from activeeval.core.grade_models.probabilities import as_features
from activeeval.core.pool import Seed
from activeeval.core.types import Floats, Ints
from activeeval.rankers.losses import PairHinge, PairSquared, Term
from activeeval.rankers.pairs import WeightedPairs, checked_pairs

Method = Literal["sgd", "closed_form", "hinge"]
Scaling = Literal["mean", "sum"]
_SGD_EPOCHS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptation:
    """Settings and results of an adaptation of a ranker's weights.

    Attributes
    ----------
    method : {"sgd", "closed_form", "hinge"}
        Loss and solver, see `HyperLinearRanker.adapt`.
    regularization : float
        λ, the weight of staying close to the base.
    scaling : {"mean", "sum"}
        Whether the loss is averaged or summed over pairs.
    n_pairs : int
    objective : float
        Objective at the weights found.
    gap : float
        Upper bound of the excess over the optimum, by the dual program of ``"hinge"``; NaN for other methods.
    n_epochs : int
        Passes over the pairs, steps of the interior point method excluded; 0 for the closed form.
    converged : bool
        False if ``"hinge"`` ended with a gap above its tolerance. ``"sgd"`` ends after its epochs without such a test.
    """

    method: Method
    regularization: float
    scaling: Scaling
    n_pairs: int
    objective: float
    gap: float
    n_epochs: int
    converged: bool


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HyperLinearRanker:
    """Rank by boosted trees with adjustable leaf weights.

    The score is H(w, x) = intercept + wᵀh_x, with h_x one-hot in the leaf of x in every tree (Chen et al., eq. 3).
    `from_gradient_boosting` builds a ranker with the predictions of its base model; `adapt` returns another whose
    weights also fit preferences. The trees do not change. `write_ranker` and `read_ranker` save and load it.

    Attributes
    ----------
    trees : Trees
    base_coef_ : ndarray of float64, shape (n_leaves,)
        w_0, the leaf values, shrinkage included; after `adapt` the weights of the ranker before adaptation.
    coef_ : ndarray of float64, shape (n_leaves,)
        w.
    intercept_ : float
        Start value of the base model. It cancels in the difference of two items, so preferences do not change it.
    adaptation_ : Adaptation or None
        None before an adaptation.
    query_hashes_ : ndarray of int64, shape (n,)
        Hashed ids of the queries on which `choose_regularization` tuned it, ascending: figures on these queries are
        too optimistic.

    References
    ----------
    Chen, Zhang, Zheng, Zha and Sun (2008). Adapting ranking functions to user preference. ICDE Workshops.

    Examples
    --------
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> model = GradientBoostingRegressor(n_estimators=5, max_leaf_nodes=4, random_state=0)
    >>> base = HyperLinearRanker.from_gradient_boosting(model.fit(X, [0, 0, 0, 1, 1, 1, 2, 2]))
    >>> bool(np.allclose(base.predict(X), model.predict(X), rtol=0, atol=1e-12))
    True
    >>> adapted = base.adapt(X, [[0, 7], [1, 7]], method="closed_form", regularization=0.01)
    >>> scores = adapted.predict(X)
    >>> bool(base.predict(X)[0] < base.predict(X)[7]), bool(scores[0] > scores[7])
    (True, True)
    """

    trees: Trees
    base_coef_: Floats
    coef_: Floats
    intercept_: float
    adaptation_: Adaptation | None = None
    query_hashes_: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def base(self) -> Self:
        """The ranker before adaptation, H(w_0, ·)."""
        return replace(self, coef_=self.base_coef_, adaptation_=None)

    @classmethod
    def from_gradient_boosting(cls, model: Any) -> Self:
        """Build a ranker with the trees and predictions of a fitted model of boosted regression trees.

        Parameters
        ----------
        model : GradientBoostingRegressor, HistGradientBoostingRegressor, Booster, LGBMRegressor or LGBMRanker
            Of scikit-learn or LightGBM; not modified. LightGBM's trees are used up to the best iteration, as in its
            own ``predict``.

        Raises
        ------
        InputError
            On another model, or if its prediction is not the sum of its leaves: other objectives, splits on categories,
            linear models in leaves, a start from a model other than a constant.
        NotFittedError
            If a model of scikit-learn or LightGBM is not fitted.
        """
        ensemble = read_ensemble(model)
        weights = ensemble.weights
        return cls(trees=ensemble.trees, base_coef_=weights, coef_=weights, intercept_=ensemble.intercept)

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X."""
        return self.trees.n_features

    def predict(self, X: ArrayLike) -> Floats:
        """Compute the score of every row, shape (n,); rows of equal features have equal scores.

        Raises
        ------
        InputError
            If X has another number of features than the base model, or missing values that it does not support.
        """
        return self.trees.sums(X, self.coef_, self.intercept_)

    def leaf_features(self, X: ArrayLike) -> sparse.csr_array:
        """Compute h_x of every row, sparse, shape (n, n_leaves): a 1 for the leaf reached in each tree."""
        return _one_hot(self.trees.leaves(X), self.trees.n_leaves)

    def adapt(
        self,
        X: ArrayLike,
        pairs: ArrayLike,
        *,
        method: Method = "closed_form",
        regularization: float = 1.0,
        scaling: Scaling = "mean",
        n_epochs: int | None = None,
        tol: float = 1e-6,
        rng: Seed = None,
    ) -> Self:
        """Return a ranker with weights that fit preferences and stay close to the current ones, eq. 1:

            (1/n) Σ_i ℓ(wᵀΔ_i) + λ‖w − w_0‖²,        Δ_i = h of the preferred item − h of the other.

        Parameters
        ----------
        X : array of float, shape (n_rows, n_features)
        pairs : array of int, shape (n, 2)
            Row numbers in X, the preferred one first. Each pair is an observation: repeated pairs count repeatedly, and
            a pair in both directions pulls the two scores together.
        method : {"sgd", "closed_form", "hinge"}
            ``"closed_form"``: ℓ(m) = (1 − m)² (eq. 5), solved to rounding; at most 10,000 pairs or leaves (the fewer).
            ``"sgd"``: the same loss by stochastic gradient, one pair a step, for a given number of epochs, with
            averaged iterates. Many epochs reach the closed form; few keep the weights closer to w_0.
            ``"hinge"``: ℓ(m) = max(0, 1 − m) (eq. 8), by its dual program: coordinate ascent, then an interior point
            method if 50 passes do not suffice and at most 10,000 leaves differ in some pair.
        regularization : float
            λ, positive.
        scaling : {"mean", "sum"}
            ``"sum"``: Σ ℓ + λ‖w − w_0‖², as eq. 6 is printed; the same as ``"mean"`` with λ/n. The C of eq. 9 is
            1/(2λ) of the sum, 1/(2nλ) of the mean.
        n_epochs : int, optional
            Passes over the pairs, 20 by default. ``"hinge"`` stops after this number, converged or not; by default it
            runs until convergence, without the interior point method for at most 500 passes.
        tol : float
            Largest gap of ``"hinge"``, as a share of the objective.
        rng : Generator, SeedSequence, int or None
            Shuffles the pairs in each epoch. The result depends neither on the order of `pairs` nor on that of X.

        Raises
        ------
        InputError
            At the first invalid value.
        SolverError
            If λ is so small that rounding dominates the closed form.

        Warns
        -----
        ConvergenceWarning
            If `n_epochs` did not suffice for ``"hinge"``; `adaptation_` holds the gap.
        """
        options = {"method": method, "scaling": scaling, "n_epochs": n_epochs, "tol": tol, "rng": rng}
        return next(self.path(X, pairs, [regularization], **options))  # type: ignore[arg-type]

    def path(
        self,
        X: ArrayLike,
        pairs: ArrayLike,
        regularizations: Sequence[float],
        *,
        method: Method = "closed_form",
        scaling: Scaling = "mean",
        n_epochs: int | None = None,
        tol: float = 1e-6,
        rng: Seed = None,
    ) -> Iterator[Self]:
        """Yield the result of `adapt` for each λ of `regularizations`; work that does not depend on λ is done once.

        `pairs` are row numbers of X, the preferred one first. `method` is "closed_form", "sgd" or "hinge", `scaling`
        "mean" or "sum" of the loss over pairs, `n_epochs` the passes over the pairs of "sgd" and "hinge", `tol` the
        relative gap at which "hinge" stops; `rng` shuffles the pairs. Raise InputError for an invalid value,
        SolverError if rounding dominates a closed form; warn with ConvergenceWarning if "hinge" did not converge.
        """
        epochs = _checked(method, scaling, n_epochs, tol)
        ridges = [positive(value, "regularization") for value in regularizations]
        problem = _Problem.of(self, X, pairs, method)
        unit = 1.0 if scaling == "mean" else float(problem.n_pairs)  # solvers average the loss over pairs
        strengths = [check_ridge(value / unit, "regularization", value) for value in ridges]
        solver = _solver(method, problem.differences, epochs, tol, seed_of(rng))
        for value, ridge in zip(ridges, strengths, strict=True):
            change = solver(ridge)
            weights = problem.weights(change)
            adaptation = Adaptation(
                method=method,
                regularization=value,
                scaling=scaling,
                n_pairs=problem.n_pairs,
                objective=unit * problem.objective(weights, change, ridge),
                gap=unit * change.gap,
                n_epochs=change.n_epochs,
                converged=change.converged,
            )
            if not change.converged:
                _warn(adaptation)
            yield replace(self, base_coef_=self.coef_, coef_=weights, adaptation_=adaptation)


def _warn(adaptation: Adaptation) -> None:
    """Warn (ConvergenceWarning) that the solver of the hinge loss stopped before its tolerance."""
    after = f"λ = {adaptation.regularization:g}: the weights have not converged after {adaptation.n_epochs} epochs"
    short = f"the objective of {adaptation.objective:.6g} is at most {adaptation.gap:.2g} too large"
    warnings.warn(f"{after}: {short}", ConvergenceWarning, stacklevel=4)


def problem_size(ranker: HyperLinearRanker, X: ArrayLike, pairs: ArrayLike) -> tuple[int, int]:
    """Count the pairs, and the leaves in which the two items of at least one pair differ.

    `pairs` are row numbers of `X`.
    """
    n_pairs, n_leaves = _Problem.of(ranker, X, pairs, "closed_form").differences.rows.shape
    return n_pairs, n_leaves


def _checked(method: Any, scaling: Any, n_epochs: Any, tol: Any) -> int | None:
    """Validate the options of `HyperLinearRanker.adapt`; return the number of epochs, or None for no limit."""
    for value, kind, name in ((method, Method, "method"), (scaling, Scaling, "scaling")):
        one_of(value, get_args(kind), name)
    positive(tol, "tol")
    return None if n_epochs is None else whole_number(n_epochs, "n_epochs", 1)


def _solver(method: Method, differences: Differences, n_epochs: int | None, tol: float, seed: int) -> Solver:
    """Build the solver of a method for the pairs' leaf differences; `n_epochs` None: default, or until convergence."""
    if method == "closed_form":
        return ClosedForm.of(differences)
    if method == "sgd":
        return StochasticGradient(differences, n_epochs or _SGD_EPOCHS, seed)
    return LargestMargins(differences, n_epochs, tol, seed)


def _one_hot(leaves: NDArray[np.int32], n_leaves: int) -> sparse.csr_array:
    """Build the sparse one-hot matrix, shape (n_rows, n_leaves), of leaf numbers of shape (n_rows, n_trees)."""
    n_rows, n_trees = leaves.shape
    parts = (np.ones(leaves.size), leaves.ravel(), np.arange(n_rows + 1, dtype=np.int64) * n_trees)
    return sparse.csr_array(parts, shape=(n_rows, n_leaves))


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """The optimisation problem of `HyperLinearRanker.adapt`.

    Attributes
    ----------
    items : sparse array, shape (n_items, n_leaves)
        Leaf indicators of the distinct items that occur in pairs.
    term : Term
        Loss of the pairs.
    base : ndarray, shape (n_leaves,)
        Weights w_0 before the adaptation.
    differences : Differences
        Indicators of the preferred item minus those of the other, sorted by leaves alone, not by input order.
    """

    items: sparse.csr_array
    term: Term
    base: Floats
    differences: Differences

    @classmethod
    def of(cls, ranker: HyperLinearRanker, X: ArrayLike, pairs: ArrayLike, method: Method) -> Self:
        """Build the problem of a ranker's pairs; raise InputError if a pair or a feature is invalid."""
        numbered = checked_pairs(pairs, as_features(X).shape[0])
        rows, places = np.unique(numbered, return_inverse=True)
        leaves, leaf_rows = _distinct(ranker.trees.leaves(X, rows))
        ends = leaf_rows[places].reshape(-1, 2)  # of each pair, its two rows of ``leaves``; sorted for any input order
        preferred, other = np.ascontiguousarray(ends[np.lexsort(ends.T[::-1])].T)
        items = _one_hot(leaves, ranker.trees.n_leaves)
        loss = PairHinge() if method == "hinge" else PairSquared()
        differences = Differences.of((items[preferred] - items[other]).tocsr(), ranker.coef_, ranker.trees.leaf_trees)
        return cls(items, loss.of_pairs(WeightedPairs.alike(preferred, other)), ranker.coef_, differences)

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return self.differences.n_pairs

    def weights(self, moves: WeightChange) -> Floats:
        """Add a change of the leaves in which pairs differ to the base weights; shape (n_leaves,)."""
        weights = self.base.copy()
        weights[self.differences.columns] += moves.values
        return weights

    def objective(self, weights: Floats, moves: WeightChange, ridge: float) -> float:
        """Compute the objective at the weights w: the loss averaged over pairs, plus λ (`ridge`) times ‖w − w_0‖².

        `moves` has w − w_0 of the leaves in which pairs differ; the others do not move. `term` maps scores of the items
        to the loss and its gradient.
        """
        loss, _ = self.term(self.items @ weights)
        return loss + ridge * float(moves.values @ moves.values)


def _distinct(leaves: NDArray[np.int32]) -> tuple[NDArray[np.int32], Ints]:
    """Find the distinct rows of `leaves`, shape (n, n_trees), sorted, and the number of each row among them."""
    whole = np.ascontiguousarray(leaves).view(f"V{leaves.itemsize * leaves.shape[1]}").ravel()
    distinct, places = np.unique(whole, return_inverse=True)
    return distinct.view(np.int32).reshape(-1, leaves.shape[1]), places
