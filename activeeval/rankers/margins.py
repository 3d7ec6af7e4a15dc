"""Linear max-margin rankers on pairs and on whole lists; subclasses of one base define the loss."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from activeeval.core.checks import positive, whole_number
from activeeval.core.types import Floats
from activeeval.rankers.bundle import least_regularised
from activeeval.rankers.judged_lists import JudgedLists
from activeeval.rankers.linear import ListRanker, within_queries
from activeeval.rankers.losses import ListwiseAP, Loss, PairHinge


class MarginRanker(ListRanker):
    """Base of the rankers that minimise ½‖w‖² + C · R(w) by a bundle method, with R the loss of a subclass.

    Parameters are explained at `RankSVM`.
    """

    def __init__(self, C: float = 10.0, standardize: bool = True, tol: float = 1e-4, max_iter: int = 1000) -> None:
        """Store the parameters; `fit` checks them.

        ``C`` is the weight of the loss against ½‖w‖²; ``standardize`` divides features by their standard deviation;
        ``tol`` is the largest relative excess of the objective over its minimum, ``max_iter`` the most cutting planes.
        """
        self.C = C
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter

    def _loss(self) -> Loss:
        """Build the loss R to minimise; implemented by subclasses."""
        raise TypeError("a subclass defines the loss to minimise")

    def _check_parameters(self) -> None:
        """Raise InputError at the first invalid parameter."""
        positive(self.C, "C")
        positive(self.tol, "tol")
        whole_number(self.max_iter, "max_iter", 1)

    def _learn(self, columns: Floats, lists: JudgedLists) -> None:
        """Minimise the objective by the bundle method, and warn (ConvergenceWarning) if it does not converge.

        `columns`, shape (n_items, n_features), has the scaled features of each item of the lists.
        """
        term = self._loss().on(lists)
        solution = least_regularised(
            within_queries(columns, lists), term, float(self.C), float(self.tol), int(self.max_iter)
        )
        self.coef_, self.objective_, self.gap_ = solution.weights, solution.objective, solution.gap
        self.n_iter_ = solution.n_iter
        if not solution.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in {solution.n_iter} iterations: its objective"
                f" {solution.objective:.6g} may be {solution.gap:.2g} above the least one",
                ConvergenceWarning,
                stacklevel=3,
            )


class RankSVM(MarginRanker):
    """Rank by a linear function fitted to the hinge loss of preference pairs.

    The weights minimise

        ½‖w‖² + C · mean over queries of the mean over pairs of max(0, 1 − (y_u − y_v) wᵀ(x_u − x_v))

    over all pairs of items of one query in which u has the higher grade.

    Parameters
    ----------
    C : float
        Weight of the loss, which is 1 for w = 0.
    standardize : bool
        Divide each feature by its standard deviation over the items of the fit; a constant feature has no effect.
        Without it, features of a large scale are penalised less.
    tol : float
        Largest relative excess of the objective over its minimum.
    max_iter : int
        Largest number of cutting planes.

    Attributes
    ----------
    coef_ : ndarray, shape (n_features,)
        w, of the standardised features.
    objective_, gap_ : float
        The objective of w, and an upper bound of its excess over the minimum.
    n_iter_ : int
    n_features_in_ : int

    Warns
    -----
    ConvergenceWarning
        Where `max_iter` did not suffice.

    Notes
    -----
    Herbrich et al. and Joachims sum over all pairs of all queries; here each query has the same weight. `RankingSVM`
    has the sum, with squared hinges that ignore the size of the difference of grades.

    References
    ----------
    Joachims (2002). Optimizing search engines using clickthrough data. KDD.

    Examples
    --------
    >>> X = [[1.0, 5.0], [2.0, 1.0], [3.0, 4.0], [0.0, 2.0]]
    >>> ranker = RankSVM().fit(X, grades=[1, 0, 2, 0], query_ids=["a"] * 4)
    >>> ranker.predict(X).argsort()[::-1]
    array([2, 0, 1, 3])
    """

    def _loss(self) -> Loss:
        """Build the hinge loss of all pairs of different grades."""
        return PairHinge()


class SVMMAP(MarginRanker):
    """Rank by a linear function of largest margin in average precision.

    The weights minimise ½‖w‖² + C · mean over queries of ξ, the least ξ with

        wᵀΨ(y) − wᵀΨ(z) ≥ 1 − AP(z) − ξ        for every ranking z of the query's items,

    Ψ(z) = Σ ± (x_i − x_j) / ``(|R||N|)`` over relevant items i and others j, + if i is before j. Items with a grade
    above 0 are relevant; queries without relevant or without other items are ignored.

    Parameters
    ----------
    C, standardize, tol, max_iter
        Weight of the loss, scaling of features to unit deviation, largest relative excess of the objective over its
        minimum, and largest number of cutting planes; see `RankSVM`.

    Attributes
    ----------
    coef_, objective_, gap_, n_iter_, n_features_in_
        Weights of the features, objective, bound of its excess, numbers of cutting planes and features; see `RankSVM`.

    Warns
    -----
    ConvergenceWarning
        Where `max_iter` did not suffice.

    References
    ----------
    Yue, Finley, Radlinski and Joachims (2007). A support vector method for optimizing average precision. SIGIR.

    Examples
    --------
    >>> X = [[1.0, 5.0], [2.0, 1.0], [3.0, 4.0], [0.0, 2.0]]
    >>> ranker = SVMMAP().fit(X, grades=[1, 0, 2, 0], query_ids=["a"] * 4)
    >>> ranker.predict(X).argsort()[::-1]
    array([2, 0, 1, 3])
    """

    def _loss(self) -> Loss:
        """Build the hinge of average precision on whole lists."""
        return ListwiseAP()
