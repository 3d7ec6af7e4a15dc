"""Linear rankers fitted by gradient steps on a smooth pairwise or listwise loss; the number of steps regularises."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from activeeval.core.checks import whole_number
from activeeval.core.types import Floats, Ints
from activeeval.rankers.judged_lists import JudgedLists
from activeeval.rankers.linear import StagedRanker, within_queries
from activeeval.rankers.losses import Loss, PairLogistic, TopKLikelihood, TopOneCrossEntropy


class GradientRanker(StagedRanker):
    """Base of the rankers that run L-BFGS from w = 0.

    Their first n steps do not depend on the total number of steps.
    """

    def __init__(self, n_iter: int = 50, standardize: bool = True) -> None:
        """Store the number of L-BFGS steps, and whether features are divided by their standard deviation.

        `fit` checks them.
        """
        self.n_iter = n_iter
        self.standardize = standardize

    def _loss(self) -> Loss:
        """Build the loss to minimise; implemented by subclasses."""
        raise TypeError("a subclass defines the loss to minimise")

    def _check_parameters(self) -> None:
        """Raise InputError at the first invalid parameter."""
        whole_number(self.n_iter, "n_iter", 1)

    def _learn(self, columns: Floats, lists: JudgedLists) -> None:
        """Minimise the loss by L-BFGS and store the weights after each step.

        `columns`, shape (n_items, n_features), has the scaled features of each item of the lists.
        """
        term, differences = self._loss().on(lists), within_queries(columns, lists)

        def value_and_gradient(weights: Floats) -> tuple[float, Floats]:
            """Compute the loss and its gradient by the weights, shape (n_features,)."""
            value, pulls = term(differences @ weights)
            return value, pulls @ differences

        path = [np.zeros(columns.shape[1])]
        # stopping rules are disabled down to rounding level, as the number of steps is the regulariser
        minimize(
            value_and_gradient,
            path[0],
            jac=True,
            method="L-BFGS-B",
            callback=lambda weights: path.append(weights.copy()),
            options={"maxiter": int(self.n_iter), "maxfun": 100 * int(self.n_iter), "ftol": 1e-15, "gtol": 1e-10},
        )
        self._take_path(np.array(path))


class RankNet(GradientRanker):
    """Rank by a linear function fitted to the logistic loss of preference pairs.

    Each step lowers

        mean over queries of the mean over pairs of log(1 + exp(−wᵀ(x_u − x_v)))

    over all pairs of items of one query in which u has the higher grade; equal grades are left out.

    Parameters
    ----------
    n_iter : int
        Steps of L-BFGS from w = 0; fewer steps keep the weights smaller.
    standardize : bool
        Divide each feature by its standard deviation over the items of the fit; a constant feature has no effect.

    Attributes
    ----------
    coef_ : ndarray, shape (n_features,)
        w, of the standardised features.
    path_ : ndarray, shape (``n_iter_`` + 1, n_features)
        w before the first step and after each; see `after`.
    n_iter_ : int
        Number of steps; fewer than `n_iter` if the loss could not be lowered further.
    n_features_in_ : int

    References
    ----------
    Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton and Hullender (2005). Learning to rank using gradient descent.
    ICML.

    Examples
    --------
    >>> X = [[1.0, 5.0], [2.0, 1.0], [3.0, 4.0], [0.0, 2.0]]
    >>> ranker = RankNet(n_iter=5).fit(X, grades=[1, 0, 2, 0], query_ids=["a"] * 4)
    >>> ranker.predict(X).argsort()[::-1]
    array([2, 0, 1, 3])
    """

    def _loss(self) -> Loss:
        """Build the logistic loss of all pairs of different grades."""
        return PairLogistic()


class ListNet(GradientRanker):
    """Rank by a linear function whose top-one probabilities match those of the grades.

    Each step lowers the mean over queries of −Σ_i P_y(i) log P_s(i), where P(i) = e^{s_i} / Σ_l e^{s_l} is the
    probability that item i is first, computed from the query's grades y and from scores s = Xw.

    Parameters
    ----------
    n_iter, standardize
        Steps of L-BFGS, and scaling of features to unit deviation; see `RankNet`.

    Attributes
    ----------
    coef_, path_, n_iter_, n_features_in_
        Weights of the features, these after each step, numbers of steps and features; see `RankNet`.

    References
    ----------
    Cao, Qin, Liu, Tsai and Li (2007). Learning to rank: from pairwise approach to listwise approach. ICML.

    Examples
    --------
    >>> X = [[1.0, 5.0], [2.0, 1.0], [3.0, 4.0], [0.0, 2.0]]
    >>> ranker = ListNet(n_iter=5).fit(X, grades=[1, 0, 2, 0], query_ids=["a"] * 4)
    >>> ranker.predict(X).argsort()[::-1]
    array([2, 0, 1, 3])
    """

    def _loss(self) -> Loss:
        """Build the cross entropy of the top-one probabilities."""
        return TopOneCrossEntropy()


class ListMLE(GradientRanker):
    """Rank by a linear function that maximises the likelihood of the first k positions of each list.

    Each step lowers the mean over queries of

        −Σ_{j ≤ k} [s_π(j) − log Σ_{l ≥ j} e^{s_π(l)}],        s = Xw,

    with π the items by decreasing grade.

    Parameters
    ----------
    k : int
        Number of positions in the likelihood; at most the number of items with a grade above 0, as the rest is
        unordered.
    n_iter, standardize
        Steps of L-BFGS, and scaling of features to unit deviation; see `RankNet`.
    rng : Generator, int or None
        Breaks ties of items of one query and one grade above 0.

    Attributes
    ----------
    coef_, path_, n_iter_, n_features_in_
        Weights of the features, these after each step, numbers of steps and features; see `RankNet`.

    Notes
    -----
    The random order depends on the seed and on the content of the rows, not on their order.

    References
    ----------
    Xia, Liu and Li (2009). Statistical consistency of top-k ranking. NIPS.

    Examples
    --------
    >>> X = [[1.0, 5.0], [2.0, 1.0], [3.0, 4.0], [0.0, 2.0]]
    >>> ranker = ListMLE(k=2, n_iter=5).fit(X, grades=[1, 0, 2, 0], query_ids=["a"] * 4)
    >>> ranker.predict(X).argsort()[::-1]
    array([2, 0, 1, 3])
    """

    def __init__(
        self, k: int = 10, n_iter: int = 50, standardize: bool = True, rng: np.random.Generator | int | None = None
    ) -> None:
        """Store the parameters; `fit` checks them.

        ``k`` is the number of positions of a list in the likelihood, ``n_iter`` the number of L-BFGS steps;
        ``standardize`` divides features by their standard deviation; ``rng`` breaks ties of equal grades.
        """
        super().__init__(n_iter, standardize)
        self.k = k
        self.rng = rng

    def _check_parameters(self) -> None:
        """Raise InputError at the first invalid parameter."""
        whole_number(self.k, "k", 1)
        super()._check_parameters()

    def _loss(self) -> Loss:
        """Build the likelihood of the first k positions."""
        return TopKLikelihood(int(self.k))

    def _tie_order(self, grades: Ints) -> Floats:
        """Draw random sort keys in [0, 1) for items with grades above 0; other items keep their present order."""
        uniforms = np.random.default_rng(self.rng).random(grades.size)
        return np.where(grades > 0, uniforms, super()._tie_order(grades))
