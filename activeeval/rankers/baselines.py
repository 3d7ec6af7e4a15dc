"""Rankers that the focused ones are compared with: each learns from pairs, or from whole lists.

Of pairs `RankSVM`, `RankBoost` and `RankNet`, of lists `SVMMAP`, `AdaRank`, `ListNet` and `ListMLE`. Their optimisers
are those of `activeeval.rankers.focused`: largest margins, boosting and gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, get_args

import numpy as np

from activeeval.core.checks import whole_number
from activeeval.core.errors import InputError
from activeeval.core.types import Floats, Ints
from activeeval.rankers.boosting import BoostedRanker, Edges, ListEdges, ListMeasure, PairEdges
from activeeval.rankers.gradients import GradientRanker
from activeeval.rankers.lists import JudgedLists
from activeeval.rankers.losses import ListwiseAP, Loss, PairHinge, PairLogistic, TopKLikelihood, TopOneCrossEntropy
from activeeval.rankers.margins import MarginRanker


class RankSVM(MarginRanker):
    """Rank by a linear function that keeps pairs of a query apart by a margin.

    The weights minimise

        ½‖w‖² + C · mean over queries of the mean over pairs of max(0, 1 − (y_u − y_v) wᵀ(x_u − x_v))

    over all pairs of items of one query in which u has the higher grade.

    Parameters
    ----------
    C : float
        Weight of the loss, which is 1 for w = 0.
    standardize : bool
        Divide each feature by its standard deviation over the items of the fit; a constant feature has no say.
        Without it, features of a large scale are penalised less.
    tol : float
        The objective may be that share above its least value.
    max_iter : int
        Cutting planes at most.

    Attributes
    ----------
    coef_ : ndarray, shape (n_features,)
        w, of the standardised features.
    objective_, gap_ : float
        The objective of w, and by how much it may be above the least one.
    n_iter_ : int
    n_features_in_ : int

    Warns
    -----
    ConvergenceWarning
        Where `max_iter` did not suffice.

    Notes
    -----
    Herbrich et al. and Joachims sum over all pairs of all queries; here each query has the same say. `RankingSVM` is
    the one with the sum, and with squared hinges of which none knows the difference of the grades.

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
        return PairHinge()


class SVMMAP(MarginRanker):
    """Rank by a linear function of largest margin in average precision.

    The weights minimise ½‖w‖² + C · mean over queries of ξ, the least ξ with

        wᵀΨ(y) − wᵀΨ(z) ≥ 1 − AP(z) − ξ        for every ranking z of the query's items,

    Ψ(z) = Σ ± (x_i − x_j) / ``(|R||N|)`` over relevant items i and others j, + where i stands before j. Relevant are
    the items of a grade above 0; queries that lack relevant or other items have no say.

    Parameters
    ----------
    C, standardize, tol, max_iter
        As in `RankSVM`.

    Attributes
    ----------
    coef_, objective_, gap_, n_iter_, n_features_in_
        As in `RankSVM`.

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
        return ListwiseAP()


class RankBoost(BoostedRanker):
    """Rank by a sum of single features, or of thresholds on them, boosted on pairs.

    Each round takes the weak ranker f of the largest edge ρ = Σ D(u, v) (f(x_u) − f(x_v)) over all pairs of items of
    one query in which u has the higher grade, with α = ½ log((1 + ρ) / (1 − ρ)), and multiplies D by
    exp(−α (f(x_u) − f(x_v))). The share of pairs in the wrong order, each query counting the same, is at most
    Π √(1 − ρ²).

    Parameters
    ----------
    n_iter : int
        Rounds.
    max_repeats : int, optional
        A weak ranker that was taken so many times running sits out until another one was taken.
    n_thresholds : int, optional
        Weak rankers are indicators of x > θ for so many equal steps θ over the range of each feature. By default they
        are the features themselves, scaled to [0, 1] by their range over all items of the fit.

    Attributes
    ----------
    coef_ : ndarray, shape (n_weak,)
        Weights of the scaled features; of thresholds: those of all features at the lowest one first.
    path_ : ndarray, shape (``n_iter_`` + 1, n_weak)
        The weights before the first round and after each; see `after`.
    edges_ : ndarray, shape (``n_iter_``,)
        ρ of each round.
    n_iter_ : int
        Rounds; fewer than `n_iter` where no weak ranker has an edge left.
    n_features_in_ : int

    References
    ----------
    Freund, Iyer, Schapire and Singer (2003). An efficient boosting algorithm for combining preferences. Journal of
    Machine Learning Research 4.

    Examples
    --------
    >>> X = [[1.0, 5.0], [2.0, 1.0], [3.0, 4.0], [0.0, 2.0]]
    >>> ranker = RankBoost(n_iter=5).fit(X, grades=[1, 0, 2, 0], query_ids=["a"] * 4)
    >>> ranker.predict(X).argsort()[::-1]
    array([2, 0, 1, 3])
    """

    def _terms(self, weak: Floats, lists: JudgedLists) -> Sequence[tuple[float, Edges]]:
        return ((1.0, PairEdges.of(weak, lists, "all")),)


class AdaRank(BoostedRanker):
    """Rank by a sum of single features, or of thresholds on them, boosted on a measure of whole lists.

    Each round takes the weak ranker f of the largest ρ = Σ D(i) E(f, i) over queries, E the measure, with
    α = ½ log((1 + ρ) / (1 − ρ)), and then weighs queries by exp(−E) of the sum so far.

    Parameters
    ----------
    n_iter, max_repeats, n_thresholds
        As in `RankBoost`.
    measure : {"ndcg", "ap"}
        nDCG with gains 2^y − 1 of the whole list; or average precision, relevant being the items of a grade above 0.
    tol : float, optional
        Where a round lowers the mean of the measure over the training queries by more than that, it is taken back, and
        its weak ranker sits out until another one was taken; boosting ends where none is left. None keeps all.

    Attributes
    ----------
    coef_, path_, edges_, n_iter_, n_features_in_
        As in `RankBoost`.

    Notes
    -----
    Features are scaled to [0, 1] by their range over all items of the fit; tied items are worth the mean over their
    orders. A feature may be taken reversed. The measure knows the order alone: where the second round takes the
    feature of the first again, order and weights stay as they are, and without `max_repeats` it is taken for ever. Five
    rounds of it and one of another are then a small change of its order, which is kept where it pays. On MQ2008 that is
    worth .008 of nDCG@10 beside keeping every round, and as good as the scores that were published with LETOR.

    References
    ----------
    Xu and Li (2007). AdaRank: a boosting algorithm for information retrieval. SIGIR.

    Examples
    --------
    >>> X = [[1.0, 5.0], [2.0, 1.0], [3.0, 4.0], [0.0, 2.0]]
    >>> ranker = AdaRank(n_iter=5).fit(X, grades=[1, 0, 2, 0], query_ids=["a"] * 4)
    >>> ranker.coef_.round(2)
    array([9.99, 0.  ])
    """

    def __init__(
        self,
        n_iter: int = 100,
        max_repeats: int | None = 5,
        n_thresholds: int | None = None,
        measure: ListMeasure = "ndcg",
        tol: float | None = 0.0,
    ) -> None:
        super().__init__(n_iter, max_repeats, n_thresholds)
        self.measure = measure
        self.tol = tol

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.measure not in get_args(ListMeasure):
            raise InputError(f"measure must be 'ndcg' or 'ap', got {self.measure!r}")
        if self.tol is not None and not self.tol >= 0:
            raise InputError(f"tol must not be negative, got {self.tol!r}")

    def _terms(self, weak: Floats, lists: JudgedLists) -> Sequence[tuple[float, ListEdges]]:
        return ((1.0, ListEdges.of(weak, lists, "all", self.measure)),)

    def _pays(self, terms: Sequence[tuple[float, Any]]) -> Callable[[Floats, Floats], bool]:
        if self.tol is None:
            return super()._pays(terms)
        ((_, lists),) = terms
        # before the first round there is no order, and what its ties are worth is no measure to fall behind
        return lambda before, after: not before.any() or lists.mean(after) >= lists.mean(before) - self.tol


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
        self,
        k: int = 10,
        n_iter: int = 50,
        standardize: bool = True,
        rng: np.random.Generator | int | None = None,
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
