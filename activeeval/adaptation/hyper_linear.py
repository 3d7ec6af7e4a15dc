"""Boosted trees as a linear function of their leaves, adapted to preferences between items."""

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
    """How a ranker's weights were adapted.

    Attributes
    ----------
    method : {"sgd", "closed_form", "hinge"}
    regularization : float
    scaling : {"mean", "sum"}
    n_pairs : int
    objective : float
        What is minimised, at the weights found.
    gap : float
        By how much that is above the least value at most, by the dual program of ``"hinge"``; NaN of the others.
    n_epochs : int
        Passes over the pairs; 0 of the closed form, and without the steps of the interior point method.
    converged : bool
        False where ``"hinge"`` ended with a gap above its tolerance. ``"sgd"`` ends after its epochs and knows of none.
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
    """Rank by boosted trees whose leaves have weights, which preferences can change.

    Its score is H(w, x) = intercept + wᵀh_x, h_x one-hot in the leaf that x reaches in every tree (Chen et al., eq. 3).
    `from_gradient_boosting` makes one that predicts what its base model does; `adapt` returns another whose weights
    suit preferences too. The trees themselves stay. `write_ranker` and `read_ranker` keep it in a file.

    Attributes
    ----------
    trees : Trees
    base_coef_ : ndarray of float64, shape (n_leaves,)
        w_0, the leaves' values with the shrinkage in them; after `adapt` the weights of the ranker that was adapted.
    coef_ : ndarray of float64, shape (n_leaves,)
        w.
    intercept_ : float
        What the base model starts from. No difference of two items holds it, so no preference changes it: it is what
        a column of ones would have as its weight, before and after.
    adaptation_ : Adaptation or None
        None before.
    query_hashes_ : ndarray of int64, shape (n,)
        Of the ids of the queries that `choose_regularization` tuned it on, ascending: held against them its figures
        flatter it.

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
        """The ranker before it was adapted, H(w_0, ·)."""
        return replace(self, coef_=self.base_coef_, adaptation_=None)

    @classmethod
    def from_gradient_boosting(cls, model: Any) -> Self:
        """Return the ranker that a fitted model of boosted regression trees is.

        Parameters
        ----------
        model : GradientBoostingRegressor, HistGradientBoostingRegressor, Booster, LGBMRegressor or LGBMRanker
            Of scikit-learn or LightGBM; stays as it is. Of LightGBM's trees those up to the best iteration
            are taken, as its own ``predict`` does.

        Raises
        ------
        InputError
            Where it is something else, or its prediction is not the sum of its leaves: other objectives, splits on
            categories, linear models in leaves, a start from a model that is no constant.
        NotFittedError
            Where a model of scikit-learn or LightGBM's is not fitted.
        """
        ensemble = read_ensemble(model)
        weights = ensemble.weights
        return cls(trees=ensemble.trees, base_coef_=weights, coef_=weights, intercept_=ensemble.intercept)

    @property
    def n_features_in_(self) -> int:
        """Columns of X."""
        return self.trees.n_features

    def predict(self, X: ArrayLike) -> Floats:
        """Return the score of every row, shape (n,); rows of equal features have equal scores.

        Raises
        ------
        InputError
            On another number of features than the base model learned from, and on missing values where it takes none.
        """
        return self.trees.sums(X, self.coef_, self.intercept_)

    def leaf_features(self, X: ArrayLike) -> sparse.csr_array:
        """Return h_x of every row, shape (n, n_leaves): a 1 for each tree, the rest 0 and not kept."""
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
        """Return a ranker whose weights suit preferences and stay close to this one's, eq. 1:

            (1/n) Σ_i ℓ(wᵀΔ_i) + λ‖w − w_0‖²,        Δ_i = h of the preferred item − h of the other.

        Parameters
        ----------
        X : array of float, shape (n_rows, n_features)
        pairs : array of int, shape (n, 2)
            Row numbers in X, the preferred one first. Each row of it is an observation: a pair that stands there twice
            counts twice, and one that stands there both ways draws the two scores together.
        method : {"sgd", "closed_form", "hinge"}
            ``"closed_form"``: ℓ(m) = (1 − m)² (eq. 5), solved to rounding; the fewer of pairs and leaves may be 10,000.
            ``"sgd"``: the same loss by stochastic gradient, one pair a step, in a given number of epochs, the
            steps averaged. It ends at the closed form where they are many; few keep the weights closer to w_0.
            ``"hinge"``: ℓ(m) = max(0, 1 − m) (eq. 8), by its dual program: coordinate ascent, and an interior point
            method for what 50 passes leave, where no more than 10,000 leaves tell pairs apart.
        regularization : float
            λ, positive.
        scaling : {"mean", "sum"}
            ``"sum"``: Σ ℓ + λ‖w − w_0‖² instead, the same as ``"mean"`` with λ/n. So is eq. 6 printed; the C of eq. 9
            is 1/(2λ) of the sum, 1/(2nλ) of the mean.
        n_epochs : int, optional
            Passes over the pairs, 20 by default. ``"hinge"`` ends after so many, solved or not; by default it takes
            what it needs, without the interior point method 500 at most.
        tol : float
            The gap of ``"hinge"`` may be that share of the objective.
        rng : Generator, SeedSequence, int or None
            Orders the pairs of each epoch. Neither the order of `pairs` nor that of the rows of X matters.

        Raises
        ------
        InputError
            Names the first place that is wrong.
        SolverError
            Where λ is so small that rounding decides the closed form.

        Warns
        -----
        ConvergenceWarning
            Where `n_epochs` did not suffice for ``"hinge"``; `adaptation_` says how large the gap is.
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
        """Yield what `adapt` returns for each λ; what does not depend on λ is done once."""
        epochs = _checked(method, scaling, n_epochs, tol)
        ridges = [positive(value, "regularization") for value in regularizations]
        problem = _Problem.of(self, X, pairs, method)
        unit = 1.0 if scaling == "mean" else float(problem.n_pairs)
        strengths = [check_ridge(value / unit, "regularization", value) for value in ridges]
        solver = _solver(method, problem.differences, epochs, tol, seed_of(rng))
        for value, ridge in zip(ridges, strengths, strict=True):
            moves = solver(ridge)
            weights = problem.weights(moves)
            adaptation = Adaptation(
                method=method,
                regularization=value,
                scaling=scaling,
                n_pairs=problem.n_pairs,
                objective=unit * problem.objective(weights, moves, ridge),
                gap=unit * moves.gap,
                n_epochs=moves.n_epochs,
                converged=moves.converged,
            )
            if not moves.converged:
                _warn(adaptation)
            yield replace(self, base_coef_=self.coef_, coef_=weights, adaptation_=adaptation)


def _warn(adaptation: Adaptation) -> None:
    after = f"λ = {adaptation.regularization:g}: the weights have not converged after {adaptation.n_epochs} epochs"
    short = f"the objective of {adaptation.objective:.6g} is at most {adaptation.gap:.2g} too large"
    warnings.warn(f"{after}: {short}", ConvergenceWarning, stacklevel=4)


def problem_size(ranker: HyperLinearRanker, X: ArrayLike, pairs: ArrayLike) -> tuple[int, int]:
    """Return the number of pairs, and of the leaves in which some pair differs."""
    n_pairs, n_leaves = _Problem.of(ranker, X, pairs, "closed_form").differences.rows.shape
    return n_pairs, n_leaves


def _checked(method: Any, scaling: Any, n_epochs: Any, tol: Any) -> int | None:
    """Return the number of epochs, None for as many as it takes, or say which option is wrong."""
    for value, kind, what in ((method, Method, "method"), (scaling, Scaling, "scaling")):
        one_of(value, get_args(kind), what)
    positive(tol, "tol")
    return None if n_epochs is None else whole_number(n_epochs, "n_epochs", 1)


def _solver(method: Method, differences: Differences, n_epochs: int | None, tol: float, seed: int) -> Solver:
    if method == "closed_form":
        return ClosedForm.of(differences)
    if method == "sgd":
        return StochasticGradient(differences, n_epochs or _SGD_EPOCHS, seed)
    return LargestMargins(differences, n_epochs, tol, seed)


def _one_hot(leaves: NDArray[np.int32], n_leaves: int) -> sparse.csr_array:
    n_rows, n_trees = leaves.shape
    held = (np.ones(leaves.size), leaves.ravel(), np.arange(n_rows + 1, dtype=np.int64) * n_trees)
    return sparse.csr_array(held, shape=(n_rows, n_leaves))


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """Pairs of items that differ in their leaves, ordered by these alone."""

    items: sparse.csr_array
    term: Term
    base: Floats
    differences: Differences

    @classmethod
    def of(cls, ranker: HyperLinearRanker, X: ArrayLike, pairs: ArrayLike, method: Method) -> Self:
        numbered = checked_pairs(pairs, as_features(X).shape[0])
        rows, places = np.unique(numbered, return_inverse=True)
        leaves, leaf_rows = _distinct(ranker.trees.leaves(X, rows))
        ends = leaf_rows[places].reshape(-1, 2)
        preferred, other = np.ascontiguousarray(ends[np.lexsort(ends.T[::-1])].T)
        items = _one_hot(leaves, ranker.trees.n_leaves)
        loss = PairHinge() if method == "hinge" else PairSquared()
        differences = Differences.of((items[preferred] - items[other]).tocsr(), ranker.coef_, ranker.trees.leaf_trees)
        return cls(items, loss.of_pairs(WeightedPairs.alike(preferred, other)), ranker.coef_, differences)

    @property
    def n_pairs(self) -> int:
        return self.differences.n_pairs

    def weights(self, moves: WeightChange) -> Floats:
        weights = self.base.copy()
        weights[self.differences.columns] += moves.values
        return weights

    def objective(self, weights: Floats, moves: WeightChange, ridge: float) -> float:
        """Return what is minimised, of the mean scale."""
        loss, _ = self.term(self.items @ weights)
        return loss + ridge * float(moves.values @ moves.values)


def _distinct(leaves: NDArray[np.int32]) -> tuple[NDArray[np.int32], Ints]:
    """Return the rows that differ, in an order of their own, and which of them each row is."""
    whole = np.ascontiguousarray(leaves).view(f"V{leaves.itemsize * leaves.shape[1]}").ravel()
    held, places = np.unique(whole, return_inverse=True)
    return held.view(np.int32).reshape(-1, leaves.shape[1]), places
