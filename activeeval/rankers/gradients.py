"""Linear rankers that follow the gradient of a smooth loss, of pairs or of lists; how far regularises them."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from activeeval.core.checks import whole_number
from activeeval.core.types import Floats, Ints
from activeeval.rankers.judged_lists import JudgedLists
from activeeval.rankers.linear import StagedRanker, within_queries
from activeeval.rankers.losses import Loss, PairLogistic, TopKLikelihood, TopOneCrossEntropy


class GradientRanker(StagedRanker):
    """Base of the rankers that descend from w = 0 by L-BFGS, whose first n steps do not depend on how many follow."""

    def __init__(self, n_iter: int = 50, standardize: bool = True) -> None:
        self.n_iter = n_iter
        self.standardize = standardize

    def _loss(self) -> Loss:
        raise TypeError("a ranker says what it minimises")

    def _check_parameters(self) -> None:
        whole_number(self.n_iter, "n_iter", 1)

    def _learn(self, columns: Floats, lists: JudgedLists) -> None:
        term, differences = self._loss().on(lists), within_queries(columns, lists)

        def value_and_gradient(weights: Floats) -> tuple[float, Floats]:
            value, pulls = term(differences @ weights)
            return value, pulls @ differences

        path = [np.zeros(columns.shape[1])]
        # its own stopping rules are off but for rounding: the number of steps is the regulariser
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
    """Rank by a linear function under which preferred items come first with a high probability.

    Each step lowers

        mean over queries of the mean over pairs of log(1 + exp(−wᵀ(x_u − x_v)))

    over all pairs of items of one query in which u has the higher grade; equal grades are left out.

    Parameters
    ----------
    n_iter : int
        Steps of L-BFGS from w = 0; the fewer, the smaller the weights stay.
    standardize : bool
        Divide each feature by its standard deviation over the items of the fit; a constant feature has no say.

    Attributes
    ----------
    coef_ : ndarray, shape (n_features,)
        w, of the standardised features.
    path_ : ndarray, shape (``n_iter_`` + 1, n_features)
        w before the first step and after each; see `after`.
    n_iter_ : int
        Steps taken; fewer than `n_iter` where there was nothing left to gain.
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
        return PairLogistic()


class ListNet(GradientRanker):
    """Rank by a linear function under which the items that come first are those of the best grades.

    Each step lowers the mean over queries of −Σ_i P_y(i) log P_s(i), where P(i) = e^{s_i} / Σ_l e^{s_l} is the
    probability of item i to be first, of the query's grades y and scores s = Xw.

    Parameters
    ----------
    n_iter, standardize
        As in `RankNet`.

    Attributes
    ----------
    coef_, path_, n_iter_, n_features_in_
        As in `RankNet`.

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
        return TopOneCrossEntropy()


class ListMLE(GradientRanker):
    """Rank by a linear function under which the first k places of each list are most probable.

    Each step lowers the mean over queries of

        −Σ_{j ≤ k} [s_π(j) − log Σ_{l ≥ j} e^{s_π(l)}],        s = Xw,

    π the items by falling grade.

    Parameters
    ----------
    k : int
        Places that count; fewer where fewer items have a grade above 0, as there is no order below.
    n_iter, standardize
        As in `RankNet`.
    rng : Generator, int or None
        Orders items of one query and one grade above 0, as those are of a top-k truth that are alike.

    Attributes
    ----------
    coef_, path_, n_iter_, n_features_in_
        As in `RankNet`.

    Notes
    -----
    The drawn order depends on the seed and on what the rows hold, not on the order of the rows.

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
        super().__init__(n_iter, standardize)
        self.k = k
        self.rng = rng

    def _check_parameters(self) -> None:
        whole_number(self.k, "k", 1)
        super()._check_parameters()

    def _loss(self) -> Loss:
        return TopKLikelihood(int(self.k))

    def _tie_order(self, grades: Ints) -> Floats:
        drawn = np.random.default_rng(self.rng).random(grades.size)
        return np.where(grades > 0, drawn, super()._tie_order(grades))
