"""Boosted rankers: RankBoost on pairs, AdaRank on lists, FocusedBoost on the top of each list, as one body.

A weak ranker f has values from 0 to 1: a feature scaled by its range over all items of the fit, or an indicator that it
is above a threshold, either of them in both directions, f and 1 − f. In each round the one of the largest edge

    ρ = β Σ_i D(T_i) E(f, T_i) + (1 − β) Σ D(u, v) (f(x_u) − f(x_v))

is taken with α = ½ log((1 + ρ) / (1 − ρ)). E is nDCG with gains 2^y − 1, tied items worth the mean over their orders.
After rounds that add up to scores F the distributions are

    D(T_i) ∝ exp(−E(F, T_i)),        D(u, v) ∝ D_1(u, v) exp(−(F(x_u) − F(x_v))),

each with a sum of 1; before the first all lists are alike, and so are all queries and the pairs of a query. The second
is the slope of `PairExponential`, so that the edges of pairs are its gradient times the weak rankers' values.
RankBoost is β = 0 on all pairs, AdaRank β = 1 on whole lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from activeeval.checks import LARGEST_GRADE, closed_share, whole_number
from activeeval.errors import InputError
from activeeval.rankers.linear import StagedRanker, within_queries
from activeeval.rankers.lists import JudgedLists, Part, Spans
from activeeval.rankers.losses import PairExponential, Term
from activeeval.types import Floats

# a perfect weak ranker would weigh infinitely much; this one weighs 14
_LARGEST_EDGE = 1 - 1e-12
# of rounding: a feature that is constant in every query has edges of this size
_NO_EDGE = 1e-12


class Edges(Protocol):
    """What weak rankers are worth to those that are not served yet by given scores."""

    def __call__(self, scores: Floats) -> Floats:
        """Return the edge of every weak ranker, as it is and reversed, shape (2, n_weak)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class PairEdges:
    """Σ D(u, v) (f(x_u) − f(x_v)) of pairs."""

    weak: Floats
    term: Term

    @classmethod
    def of(cls, weak: Floats, lists: JudgedLists, part: Part) -> Self:
        return cls(weak, PairExponential(part).on(lists))

    def __call__(self, scores: Floats) -> Floats:
        edges = -(self.term(scores)[1] @ self.weak)
        return np.stack((edges, -edges))


@dataclass(frozen=True, slots=True, eq=False)
class ListEdges:
    """Σ D(T_i) E(f, T_i) of lists."""

    performances: Floats
    gains: Floats
    spans: Spans

    @classmethod
    def of(cls, weak: Floats, lists: JudgedLists, part: Part) -> Self:
        if lists.grades.max() > LARGEST_GRADE:
            raise InputError(f"grades holds {lists.grades.max()}, gains 2^y − 1 go up to a grade of {LARGEST_GRADE}")
        gains, spans = np.exp2(lists.grades.astype(np.float64)) - 1.0, lists.spans(part)
        both = [[ndcgs(values, gains, spans) for values in np.ascontiguousarray(sign * weak.T)] for sign in (1, -1)]
        return cls(np.array(both), gains, spans)

    def __call__(self, scores: Floats) -> Floats:
        if not scores.any():  # before the first round
            return np.asarray(self.performances @ self.spans.weights)
        shares = np.exp(-ndcgs(scores, self.gains, self.spans))
        return np.asarray(self.performances @ (shares / shares.sum()))


def ndcgs(scores: Floats, gains: Floats, spans: Spans) -> Floats:
    """Return the nDCG of each list in the order of the scores, shape (n_lists,); ties are worth their mean."""
    from activeeval.kernels.learning import losses

    out = np.empty(spans.starts.size)
    losses.tied_ndcgs(scores, gains, spans.starts, spans.stops, out)
    return out


def boost(
    weak: Floats, terms: Sequence[tuple[float, Edges]], n_iter: int, max_repeats: int | None = None
) -> tuple[Floats, Floats]:
    """Return the weights of weak rankers before the first round and after each, and the edges taken.

    Parameters
    ----------
    weak : array of float, shape (n_items, n_weak)
        Values of the weak rankers, less their least in each query; those that are all 0 are never taken.
    terms : sequence of (weight, Edges)
    n_iter : int
        Rounds at most: there are no more once no edge is positive.
    max_repeats : int, optional
        A weak ranker that was taken so many times running is not taken again.

    Returns
    -------
    path : ndarray, shape (n_rounds + 1, n_weak)
    edges : ndarray, shape (n_rounds,)
    """
    path, taken, scores = [np.zeros(weak.shape[1])], [], np.zeros(weak.shape[0])
    is_out = np.asarray(~weak.any(axis=0))
    last, n_running = -1, 0
    for _ in range(n_iter):
        edges = np.where(is_out, -np.inf, sum(weight * edge(scores) for weight, edge in terms))
        is_reversed, best = divmod(int(np.argmax(edges)), weak.shape[1])
        if edges[is_reversed, best] <= _NO_EDGE:
            break
        edge = min(float(edges[is_reversed, best]), _LARGEST_EDGE)
        # 1 − f instead of f is −f, as far as an order goes
        alpha = np.arctanh(edge) * (-1.0 if is_reversed else 1.0)
        scores = scores + alpha * weak[:, best]
        path.append(path[-1].copy())
        path[-1][best] += alpha
        taken.append(edge)
        last, n_running = best, n_running + 1 if best == last else 1
        is_out[best] = n_running == max_repeats
    return np.array(path), np.array(taken)


class _BoostedRanker(StagedRanker):
    """Base of the rankers that add up weak ones."""

    def __init__(self, n_iter: int = 100, max_repeats: int | None = None) -> None:
        self.n_iter = n_iter
        self.max_repeats = max_repeats

    def _terms(self, weak: Floats, lists: JudgedLists) -> Sequence[tuple[float, Edges]]:
        raise TypeError("a ranker says what it boosts")

    def _check_parameters(self) -> None:
        whole_number(self.n_iter, "n_iter", 1)
        if self.max_repeats is not None:
            whole_number(self.max_repeats, "max_repeats", 1)

    def _learn_columns(self, features: NDArray[Any]) -> None:
        self.means_ = features.min(axis=0).astype(np.float64)
        widths = features.max(axis=0) - self.means_
        self.scales_ = np.where(widths > 0, widths, 1.0)

    def _learn(self, columns: Floats, lists: JudgedLists) -> None:
        weak = within_queries(columns, lists)
        path, self.edges_ = boost(weak, self._terms(weak, lists), int(self.n_iter), self.max_repeats)
        self._take_path(path)


class RankBoost(_BoostedRanker):
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
        A weak ranker that was taken so many times running is not taken again.
    n_thresholds : int, optional
        Weak rankers are indicators of x > θ for so many equal steps θ over the range of each feature. By default they
        are the features themselves, scaled to [0, 1] by their range over all items of the fit.

    Attributes
    ----------
    coef_ : ndarray, shape (n_weak,)
        Weights of the scaled features; of thresholds: those of all features at the lowest one first.
    path_ : ndarray, shape (n_iter_ + 1, n_weak)
        The weights before the first round and after each; see `after`.
    edges_ : ndarray, shape (n_iter_,)
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

    def __init__(self, n_iter: int = 100, max_repeats: int | None = None, n_thresholds: int | None = None) -> None:
        super().__init__(n_iter, max_repeats)
        self.n_thresholds = n_thresholds

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_thresholds is not None:
            whole_number(self.n_thresholds, "n_thresholds", 1)

    def _columns(self, features: NDArray[Any]) -> Floats:
        scaled = super()._columns(features)
        if self.n_thresholds is None:
            return scaled
        steps = np.arange(1, int(self.n_thresholds) + 1) / (int(self.n_thresholds) + 1)
        return np.hstack([scaled > step for step in steps]).astype(np.float64)

    def _terms(self, weak: Floats, lists: JudgedLists) -> Sequence[tuple[float, Edges]]:
        return ((1.0, PairEdges.of(weak, lists, "all")),)


class AdaRank(_BoostedRanker):
    """Rank by a sum of single features, boosted on the nDCG of whole lists.

    Each round takes the feature f of the largest ρ = Σ D(i) nDCG(f, i) over queries, with α = ½ log((1 + ρ) / (1 − ρ)),
    and then weighs queries by exp(−nDCG) of the sum so far.

    Parameters
    ----------
    n_iter, max_repeats
        As in `RankBoost`.

    Attributes
    ----------
    coef_, path_, edges_, n_iter_, n_features_in_
        As in `RankBoost` without thresholds.

    Notes
    -----
    Features are scaled to [0, 1] by their range over all items of the fit; tied items are worth the mean over their
    orders. A feature may be taken reversed. nDCG knows the order alone: where the second round takes the
    feature of the first again, order and weights stay as they are and it is taken for ever. `max_repeats` then lets the
    others come in.

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

    def _terms(self, weak: Floats, lists: JudgedLists) -> Sequence[tuple[float, Edges]]:
        return ((1.0, ListEdges.of(weak, lists, "all")),)


class FocusedBoost(_BoostedRanker):
    """Rank by a sum of single features, boosted on nDCG within the top items and on pairs between them and the rest.

    Each round takes the feature f of the largest

        ρ = β Σ_i D(T_i) nDCG(f, T_i) + (1 − β) Σ D(u, v) (f(x_u) − f(x_v)),

    T_i the items of a query of a grade above 0, (u, v) one of them and one of grade 0, with
    α = ½ log((1 + ρ) / (1 − ρ)). D(T_i) becomes ∝ exp(−nDCG(T_i)) of the sum so far, D(u, v) is multiplied by
    exp(−α (f(x_u) − f(x_v))). The two distributions sum to 1 each, which makes the terms comparable.

    Parameters
    ----------
    beta : float
        Weight of the order at the top, from 0 to 1.
    n_iter, max_repeats
        As in `RankBoost`.

    Attributes
    ----------
    coef_, path_, edges_, n_iter_, n_features_in_
        As in `RankBoost` without thresholds.

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

    def __init__(self, beta: float = 0.5, n_iter: int = 100, max_repeats: int | None = None) -> None:
        super().__init__(n_iter, max_repeats)
        self.beta = beta

    def _check_parameters(self) -> None:
        closed_share(self.beta, "beta")
        super()._check_parameters()

    def _terms(self, weak: Floats, lists: JudgedLists) -> Sequence[tuple[float, Edges]]:
        beta = float(self.beta)
        return ((beta, ListEdges.of(weak, lists, "top")), (1.0 - beta, PairEdges.of(weak, lists, "top")))
