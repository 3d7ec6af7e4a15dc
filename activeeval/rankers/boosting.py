"""Boosted rankers: RankBoost on pairs, AdaRank on lists, and their body, with FocusedBoost on the top of each list.

A weak ranker f has values from 0 to 1: a feature scaled by its range over all items of the fit, or an indicator that it
is above a threshold, either of them in both directions, f and 1 − f. In each round the one of the largest edge

    ρ = β Σ_i D(T_i) E(f, T_i) + (1 − β) Σ D(u, v) (f(x_u) − f(x_v))

is taken with α = ½ log((1 + ρ) / (1 − ρ)). E is nDCG with gains 2^y − 1 or average precision, tied items worth the mean
over their orders. After rounds that add up to scores F the distributions are

    D(T_i) ∝ exp(−E(F, T_i)),        D(u, v) ∝ D_1(u, v) exp(−(F(x_u) − F(x_v))),

each with a sum of 1; before the first all lists are alike, and so are all queries and the pairs of a query. The second
is the slope of `PairExponential`, so that the edges of pairs are its gradient times the weak rankers' values.
RankBoost is β = 0 on all pairs, AdaRank β = 1 on whole lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self, get_args

import numpy as np
from numpy.typing import NDArray

from activeeval.core.checks import LARGEST_GRADE, whole_number
from activeeval.core.errors import InputError
from activeeval.core.types import Floats
from activeeval.rankers.judged_lists import JudgedLists, ListSpans, Part
from activeeval.rankers.linear import StagedRanker, within_queries
from activeeval.rankers.losses import PairExponential, Term

# a perfect weak ranker would weigh infinitely much; this one weighs 14
_LARGEST_EDGE = 1 - 1e-12
# of rounding: a feature that is constant in every query has edges of this size
_NO_EDGE = 1e-12
ListMeasure = Literal["ndcg", "ap"]


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
    """Σ D(T_i) E(f, T_i) of lists.

    Attributes
    ----------
    performances : ndarray, shape (2, n_weak, n_lists)
    labels : ndarray, shape (n_items,)
    spans : Spans
    measure : {"ndcg", "ap"}
    """

    performances: Floats
    labels: Floats
    spans: ListSpans
    measure: ListMeasure

    @classmethod
    def of(cls, weak: Floats, lists: JudgedLists, part: Part, measure: ListMeasure = "ndcg") -> Self:
        if lists.grades.max() > LARGEST_GRADE:
            raise InputError(f"grades holds {lists.grades.max()}, gains 2^y − 1 go up to a grade of {LARGEST_GRADE}")
        grades, spans = lists.grades.astype(np.float64), lists.spans(part)
        labels = np.exp2(grades) - 1.0 if measure == "ndcg" else np.minimum(grades, 1.0)
        both = [
            [performances(values, labels, spans, measure) for values in np.ascontiguousarray(sign * weak.T)]
            for sign in (1, -1)
        ]
        return cls(np.array(both), labels, spans, measure)

    def __call__(self, scores: Floats) -> Floats:
        if not scores.any():  # before the first round
            return np.asarray(self.performances @ self.spans.weights)
        shares = np.exp(-performances(scores, self.labels, self.spans, self.measure))
        return np.asarray(self.performances @ (shares / shares.sum()))

    def mean(self, scores: Floats) -> float:
        """Return the mean of E over the lists."""
        return float(performances(scores, self.labels, self.spans, self.measure).mean())


def performances(scores: Floats, labels: Floats, spans: ListSpans, measure: ListMeasure) -> Floats:
    """Return the nDCG of gains, or AP of relevances, of each list in the order of the scores, shape (n_lists,)."""
    from activeeval.core.kernels.learning import losses

    out = np.empty(spans.starts.size)
    kernel = losses.tied_ndcgs if measure == "ndcg" else losses.tied_precisions
    kernel(scores, labels, spans.starts, spans.stops, out)
    return out


def boost(
    weak: Floats,
    terms: Sequence[tuple[float, Edges]],
    n_iter: int,
    max_repeats: int | None = None,
    pays: Callable[[Floats, Floats], bool] = lambda before, after: True,
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
        A weak ranker that was taken so many times running sits out until another one was taken.
    pays : callable
        Of the scores before a round and after it: where it is false, the round is taken back, and its weak ranker sits
        out until another one was taken.

    Returns
    -------
    path : ndarray, shape (n_rounds + 1, n_weak)
    edges : ndarray, shape (n_rounds,)
    """
    path, scores = [np.zeros(weak.shape[1])], np.zeros(weak.shape[0])
    taken: list[float] = []
    is_constant = np.asarray(~weak.any(axis=0))
    sits_out, last, n_running, edges = is_constant.copy(), -1, 0, _edges(terms, scores)
    while len(taken) < n_iter:
        open_edges = np.where(sits_out, -np.inf, edges)
        is_reversed, best = divmod(int(np.argmax(open_edges)), weak.shape[1])
        if open_edges[is_reversed, best] <= _NO_EDGE:
            break
        edge = min(float(open_edges[is_reversed, best]), _LARGEST_EDGE)
        # 1 − f instead of f is −f, as far as an order goes
        alpha = np.arctanh(edge) * (-1.0 if is_reversed else 1.0)
        after = scores + alpha * weak[:, best]
        if not pays(scores, after):
            sits_out[best] = True
            continue
        path.append(path[-1].copy())
        path[-1][best] += alpha
        taken.append(edge)
        if best == last:
            n_running += 1
        else:
            last, n_running, sits_out = best, 1, is_constant.copy()
        sits_out[best] |= n_running == max_repeats
        scores = after
        edges = _edges(terms, scores)
    return np.array(path), np.array(taken)


def _edges(terms: Sequence[tuple[float, Edges]], scores: Floats) -> Floats:
    return np.asarray(np.sum([weight * edge(scores) for weight, edge in terms], axis=0))


class BoostedRanker(StagedRanker):
    """Base of the rankers that add up weak ones."""

    def __init__(self, n_iter: int = 100, max_repeats: int | None = None, n_thresholds: int | None = None) -> None:
        self.n_iter = n_iter
        self.max_repeats = max_repeats
        self.n_thresholds = n_thresholds

    def _terms(self, weak: Floats, lists: JudgedLists) -> Sequence[tuple[float, Edges]]:
        raise TypeError("a ranker says what it boosts")

    def _pays(self, terms: Sequence[tuple[float, Edges]]) -> Callable[[Floats, Floats], bool]:
        """Return what says of the scores before a round and after it whether it is kept."""
        return lambda before, after: True

    def _check_parameters(self) -> None:
        whole_number(self.n_iter, "n_iter", 1)
        for value, name in ((self.max_repeats, "max_repeats"), (self.n_thresholds, "n_thresholds")):
            if value is not None:
                whole_number(value, name, 1)

    def _columns(self, features: NDArray[Any]) -> Floats:
        scaled = super()._columns(features)
        if self.n_thresholds is None:
            return scaled
        steps = np.arange(1, int(self.n_thresholds) + 1) / (int(self.n_thresholds) + 1)
        return np.hstack([scaled > step for step in steps]).astype(np.float64)

    def _learn_columns(self, features: NDArray[Any]) -> None:
        self.means_ = features.min(axis=0).astype(np.float64)
        widths = features.max(axis=0) - self.means_
        self.scales_ = np.where(widths > 0, widths, 1.0)

    def _learn(self, columns: Floats, lists: JudgedLists) -> None:
        weak = within_queries(columns, lists)
        terms = self._terms(weak, lists)
        path, self.edges_ = boost(weak, terms, int(self.n_iter), self.max_repeats, self._pays(terms))
        self._take_path(path)


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
