"""Focused rankers: a listwise loss for the order at the top, and a pairwise loss between the top and the rest.

The top of a query is its items with a grade above 0. `FocusedSVM` combines SVM-MAP and RankSVM, `FocusedBoost` AdaRank
and RankBoost, `FocusedNet` ListNet and RankNet (Niu, Guo, Lan and Cheng 2012).
"""

from __future__ import annotations

from collections.abc import Sequence

from activeeval.core.checks import closed_share
from activeeval.core.types import Floats
from activeeval.rankers.boosting import BoostedRanker, Edges, ListEdges, PairEdges
from activeeval.rankers.gradients import GradientRanker
from activeeval.rankers.judged_lists import JudgedLists
from activeeval.rankers.losses import FocusedLoss, ListwiseAP, Loss, PairHinge, PairLogistic, PermutationCrossEntropy
from activeeval.rankers.margins import MarginRanker


class FocusedSVM(MarginRanker):
    """Rank by a linear max-margin function that orders the top items of a query and separates them from the rest.

    It combines `SVMMAP` among the top items with `RankSVM` between them and the rest. The weights minimise

        ½‖w‖² + C [β · L_list(T) + (1 − β) · L_pair(T × F)],

    T the items of a grade above 0, F the others; L_list the hinge of average precision on T, the mean over
    r = 1 … ``|T| − 1`` of that with the first r relevant; L_pair the hinge of `RankSVM`. Both are means over queries,
    divided by their value at w = 0, so that the bracket is 1 there.

    Parameters
    ----------
    beta : float
        Weight of the order at the top, from 0 to 1.
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
        If `max_iter` did not suffice.

    Notes
    -----
    The paper writes AP(z, y) on T without defining relevance in a set of relevant items only: the mean over the cuts r
    is an interpretation. So are the divisors: the footnote only says "normalised to a comparable range".

    References
    ----------
    Niu, Guo, Lan and Cheng (2012). Top-k learning to rank: labeling, ranking and evaluation. SIGIR.

    Examples
    --------
    >>> X = [[1.0, 5.0], [2.0, 1.0], [3.0, 4.0], [0.0, 2.0]]
    >>> ranker = FocusedSVM(beta=0.3).fit(X, grades=[1, 0, 2, 0], query_ids=["a"] * 4)
    >>> ranker.predict(X).argsort()[::-1]
    array([2, 0, 1, 3])
    """

    def __init__(
        self, beta: float = 0.5, C: float = 10.0, standardize: bool = True, tol: float = 1e-4, max_iter: int = 1000
    ) -> None:
        """Store the parameters; `fit` checks them.

        ``beta``, from 0 to 1, is the weight of the order among items above grade 0, against that between them and the
        rest; ``C`` the weight of the loss against ½‖w‖²; ``standardize`` divides features by their standard deviation;
        ``tol`` is the largest relative excess of the objective over its minimum, ``max_iter`` the most cutting planes.
        """
        super().__init__(C, standardize, tol, max_iter)
        self.beta = beta

    def _check_parameters(self) -> None:
        """Raise InputError at the first invalid parameter."""
        closed_share(self.beta, "beta")
        super()._check_parameters()

    def _loss(self) -> Loss:
        """Build the loss: average precision among the top items, pairwise hinge between them and the rest."""
        return FocusedLoss(ListwiseAP("top"), PairHinge("top"), float(self.beta))


class FocusedBoost(BoostedRanker):
    """Rank by a boosted sum of features or thresholds that orders the top items and separates them from the rest.

    It combines `AdaRank` among the top items with `RankBoost` between them and the rest. Each round takes the weak
    ranker f of the largest

        ρ = β Σ_i D(T_i) nDCG(f, T_i) + (1 − β) Σ D(u, v) (f(x_u) − f(x_v)),

    T_i the items of a query of a grade above 0, (u, v) one of them and one of grade 0, with
    α = ½ log((1 + ρ) / (1 − ρ)). D(T_i) becomes ∝ exp(−nDCG(T_i)) of the sum so far, D(u, v) is multiplied by
    exp(−α (f(x_u) − f(x_v))). The two distributions sum to 1 each, which makes the terms comparable.

    Parameters
    ----------
    beta : float
        Weight of the order at the top, from 0 to 1.
    n_iter, max_repeats, n_thresholds
        Rounds, limit of taking one weak ranker in a row, and thresholds per feature; see `RankBoost`.

    Attributes
    ----------
    coef_, path_, edges_, n_iter_, n_features_in_
        Weights of the weak rankers, these after each round, edge of each round, numbers of rounds and features; see
        `RankBoost`.

    Notes
    -----
    The paper writes the loss of a pair as exp(−(y_u − y_v) wᵀ(x_u − x_v)) and its distribution, in Algorithm 2, without
    the difference of the labels. This class follows the algorithm: all pairs of the top and the rest have equal weight.

    References
    ----------
    Niu, Guo, Lan and Cheng (2012). Top-k learning to rank: labeling, ranking and evaluation. SIGIR.

    Examples
    --------
    >>> X = [[2.0, 5.0], [1.0, 1.0], [3.0, 4.0], [0.0, 2.0]]
    >>> ranker = FocusedBoost(n_iter=5).fit(X, grades=[1, 0, 2, 0], query_ids=["a"] * 4)
    >>> ranker.predict(X).argsort()[::-1]
    array([2, 0, 1, 3])
    """

    def __init__(
        self, beta: float = 0.5, n_iter: int = 100, max_repeats: int | None = None, n_thresholds: int | None = None
    ) -> None:
        """Store the parameters; `fit` checks them.

        ``beta``, from 0 to 1, is the weight of the order among items above grade 0, against that between them and the
        rest. ``n_iter`` is the largest number of rounds, each of which takes a weak ranker; one taken ``max_repeats``
        times in a row (None: no limit) is excluded until another one is taken. Weak rankers are the features or, with
        ``n_thresholds``, indicators that a feature is above one of that number of equally spaced thresholds.
        """
        super().__init__(n_iter, max_repeats, n_thresholds)
        self.beta = beta

    def _check_parameters(self) -> None:
        """Raise InputError at the first invalid parameter."""
        closed_share(self.beta, "beta")
        super()._check_parameters()

    def _terms(self, weak: Floats, lists: JudgedLists) -> Sequence[tuple[float, Edges]]:
        """Build the weighted edges to boost: nDCG of the lists of top items (above grade 0), and pairs with the rest.

        ``weak``, shape (n_items, n_weak), has the values of the weak rankers; the weights are beta and 1 − beta.
        """
        beta = float(self.beta)
        return ((beta, ListEdges.of(weak, lists, "top")), (1.0 - beta, PairEdges.of(weak, lists, "top")))


class FocusedNet(GradientRanker):
    """Rank by a linear function, fitted in gradient steps, that orders the top items and separates them from the rest.

    It combines the permutation cross entropy of `ListNet`'s paper among the top items with `RankNet` between them and
    the rest. Each step lowers

        β · L_list(T) + (1 − β) · L_pair(T × F),

    T the items of a grade above 0, F the others; L_list = −Σ_π P_y(π) log P_s(π) over the permutations of T, L_pair
    the loss of `RankNet`. Both are means over queries, divided by their value at w = 0, so that the sum is 1 there.

    Parameters
    ----------
    beta : float
        Weight of the order at the top, from 0 to 1.
    n_iter, standardize
        Steps of L-BFGS, and scaling of features to unit deviation; see `RankNet`.

    Attributes
    ----------
    coef_, path_, n_iter_, n_features_in_
        Weights of the features, these after each step, numbers of steps and features; see `RankNet`.

    Notes
    -----
    The permutations are summed exactly, by dynamic programming over subsets of T; a query with more than 15 items in T
    raises InputError.

    References
    ----------
    Niu, Guo, Lan and Cheng (2012). Top-k learning to rank: labeling, ranking and evaluation. SIGIR.

    Examples
    --------
    >>> X = [[1.0, 5.0], [2.0, 1.0], [3.0, 4.0], [0.0, 2.0]]
    >>> ranker = FocusedNet(beta=0.3, n_iter=5).fit(X, grades=[1, 0, 2, 0], query_ids=["a"] * 4)
    >>> ranker.predict(X).argsort()[::-1]
    array([2, 0, 1, 3])
    """

    def __init__(self, beta: float = 0.5, n_iter: int = 50, standardize: bool = True) -> None:
        """Store the parameters; `fit` checks them.

        ``beta``, from 0 to 1, is the weight of the order among items above grade 0, against that between them and the
        rest; ``n_iter`` the number of L-BFGS steps; ``standardize`` divides features by their standard deviation.
        """
        super().__init__(n_iter, standardize)
        self.beta = beta

    def _check_parameters(self) -> None:
        """Raise InputError at the first invalid parameter."""
        closed_share(self.beta, "beta")
        super()._check_parameters()

    def _loss(self) -> Loss:
        """Build the loss: permutation cross entropy among the top items, logistic loss between them and the rest."""
        return FocusedLoss(PermutationCrossEntropy("top"), PairLogistic("top"), float(self.beta))
