"""Boosted rankers: RankBoost on pairs, AdaRank on lists, and the shared algorithm, also used by FocusedBoost.

A weak ranker f has values from 0 to 1: a feature scaled by its range over all items of the fit, or an indicator that it
is above a threshold, each in both directions, f and 1 − f. Each round takes the one with the largest edge

    ρ = β Σ_i D(T_i) E(f, T_i) + (1 − β) Σ D(u, v) (f(x_u) − f(x_v))

with the weight α = ½ log((1 + ρ) / (1 − ρ)). E is nDCG with gains 2^y − 1, or average precision, averaged over the
orders of tied items. After rounds that add up to scores F the distributions are

    D(T_i) ∝ exp(−E(F, T_i)),        D(u, v) ∝ D_1(u, v) exp(−(F(x_u) − F(x_v))),

each with a sum of 1. Before the first round all lists have equal weight, as have all queries and the pairs of a query.
The second distribution is the slope of `PairExponential`, so that the edges of pairs are its gradient times the weak
rankers' values. RankBoost is β = 0 on all pairs, AdaRank β = 1 on whole lists.
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

_LARGEST_EDGE = 1 - 1e-12  # its weight is 14; a perfect weak ranker would have infinite weight
_NO_EDGE = 1e-12  # rounding level: a feature that is constant in every query has edges of this size
ListMeasure = Literal["ndcg", "ap"]


class Edges(Protocol):
    """Computes the edges ρ of weak rankers: how well each orders the items, from −1 (all wrong) to 1 (all right).

    Lists or pairs that the current scores order badly weigh more.
    """

    def __call__(self, scores: Floats) -> Floats:
        """Compute the edge of every weak ranker, as it is and reversed, shape (2, n_weak), at scores of all items."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class PairEdges:
    """Edges Σ D(u, v) (f(x_u) − f(x_v)) on pairs; `weak`, shape (n_items, n_weak), has the weak rankers' values f.

    The gradient of `term` (loss of the pairs) gives the distribution D.
    """

    weak: Floats
    term: Term

    @classmethod
    def of(cls, weak: Floats, lists: JudgedLists, part: Part) -> Self:
        """Build the edges on all pairs ("all"), or of items above grade 0 with others; `weak` is (n_items, n_weak)."""
        return cls(weak, PairExponential(part).on(lists))

    def __call__(self, scores: Floats) -> Floats:
        """Compute the edge of every weak ranker, as it is and reversed, shape (2, n_weak)."""
        edges = -(self.term(scores)[1] @ self.weak)  # minus the loss's derivative along each weak ranker
        return np.stack((edges, -edges))


@dataclass(frozen=True, slots=True, eq=False)
class ListEdges:
    """Edges on lists, Σ D(T_i) E(f, T_i).

    Attributes
    ----------
    performances : ndarray, shape (2, n_weak, n_lists)
        E of every weak ranker on every list, as it is and reversed.
    labels : ndarray, shape (n_items,)
        Gains 2^y − 1, or relevance 0 or 1.
    spans : ListSpans
        Range of items of each list.
    measure : {"ndcg", "ap"}
    """

    performances: Floats
    labels: Floats
    spans: ListSpans
    measure: ListMeasure

    @classmethod
    def of(cls, weak: Floats, lists: JudgedLists, part: Part, measure: ListMeasure = "ndcg") -> Self:
        """Compute the measure of every weak ranker, as it is and reversed, on every list; `weak` is (n_items, n_weak).

        InputError is raised if a grade is too large for its gain, or no list has two different grades.
        """
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
        """Compute the edge of every weak ranker, as it is and reversed, (2, n_weak); badly ordered lists weigh more."""
        if not scores.any():  # before the first round
            return np.asarray(self.performances @ self.spans.weights)
        shares = np.exp(-performances(scores, self.labels, self.spans, self.measure))
        return np.asarray(self.performances @ (shares / shares.sum()))

    def mean(self, scores: Floats) -> float:
        """Compute the mean of the measure E over the lists, ordered by scores of shape (n_items,)."""
        return float(performances(scores, self.labels, self.spans, self.measure).mean())


def performances(scores: Floats, labels: Floats, spans: ListSpans, measure: ListMeasure) -> Floats:
    """Compute nDCG or AP of each list ordered by scores, shape (n_lists,); `labels` are gains, or relevance for AP."""
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
    accepts: Callable[[Floats, Floats], bool] = lambda before, after: True,
) -> tuple[Floats, Floats]:
    """Boost weak rankers: in each round take the one with the largest weighted edge, and add it to the scores.

    Parameters
    ----------
    weak : array of float, shape (n_items, n_weak)
        Values of the weak rankers minus their minimum in each query; columns of 0 are never taken.
    terms : sequence of (weight, Edges)
        The edge of a round is the weighted sum of these edges.
    n_iter : int
        Largest number of rounds; boosting ends early if no edge is positive.
    max_repeats : int, optional
        A weak ranker taken this many times in a row is excluded until another one is taken.
    accepts : callable
        Acceptance test of the scores before and after a round: if false, the round is undone, and its weak ranker is
        excluded until another one is taken.

    Returns
    -------
    path : ndarray, shape (n_rounds + 1, n_weak)
        Weights of the weak rankers before the first round and after each.
    edges : ndarray, shape (n_rounds,)
        Edge of the weak ranker of each round.
    """
    path, scores = [np.zeros(weak.shape[1])], np.zeros(weak.shape[0])
    edges_taken: list[float] = []
    is_constant = np.asarray(~weak.any(axis=0))
    is_excluded, last, n_running, edges = is_constant.copy(), -1, 0, _edges(terms, scores)
    while len(edges_taken) < n_iter:
        open_edges = np.where(is_excluded, -np.inf, edges)
        is_reversed, best = divmod(int(np.argmax(open_edges)), weak.shape[1])
        if open_edges[is_reversed, best] <= _NO_EDGE:
            break
        edge = min(float(open_edges[is_reversed, best]), _LARGEST_EDGE)
        # reversing f to 1 − f changes the order as −f does
        alpha = np.arctanh(edge) * (-1.0 if is_reversed else 1.0)
        after = scores + alpha * weak[:, best]
        if not accepts(scores, after):
            is_excluded[best] = True
            continue
        path.append(path[-1].copy())
        path[-1][best] += alpha
        edges_taken.append(edge)
        if best == last:
            n_running += 1
        else:
            last, n_running, is_excluded = best, 1, is_constant.copy()
        is_excluded[best] |= n_running == max_repeats
        scores = after
        edges = _edges(terms, scores)
    return np.array(path), np.array(edges_taken)


def _edges(terms: Sequence[tuple[float, Edges]], scores: Floats) -> Floats:
    """Sum the weighted edges of all terms, shape (2, n_weak)."""
    return np.asarray(np.sum([weight * edge(scores) for weight, edge in terms], axis=0))


class BoostedRanker(StagedRanker):
    """Base of the boosted rankers, which add one weak ranker (a feature, or a threshold on it) in each round."""

    def __init__(self, n_iter: int = 100, max_repeats: int | None = None, n_thresholds: int | None = None) -> None:
        """Store the number of rounds, in each of which one weak ranker (a feature) is added; `fit` checks them.

        One added ``max_repeats`` times in a row (None: no limit) is excluded until another is added. ``n_thresholds``
        replaces each feature by indicators that it is above one of that number of thresholds.
        """
        self.n_iter = n_iter
        self.max_repeats = max_repeats
        self.n_thresholds = n_thresholds

    def _terms(self, weak: Floats, lists: JudgedLists) -> Sequence[tuple[float, Edges]]:
        """Build the weighted edges to boost, for weak ranker values (n_items, n_weak); implemented by subclasses."""
        raise TypeError("a subclass defines the edges to boost")

    def _acceptance(self, terms: Sequence[tuple[float, Edges]]) -> Callable[[Floats, Floats], bool]:
        """Return the test, from scores before and after a round, whether the round is accepted; here it always is."""
        return lambda before, after: True

    def _check_parameters(self) -> None:
        """Raise InputError at the first invalid parameter."""
        whole_number(self.n_iter, "n_iter", 1)
        for value, name in ((self.max_repeats, "max_repeats"), (self.n_thresholds, "n_thresholds")):
            if value is not None:
                whole_number(value, name, 1)

    def _columns(self, features: NDArray[Any]) -> Floats:
        """Compute the weak rankers' values, shape (n, n_weak).

        These are the scaled features, or indicators that a feature is above each of equally spaced thresholds.
        """
        scaled = super()._columns(features)
        if self.n_thresholds is None:
            return scaled
        steps = np.arange(1, int(self.n_thresholds) + 1) / (int(self.n_thresholds) + 1)
        return np.hstack([scaled > step for step in steps]).astype(np.float64)

    def _learn_columns(self, features: NDArray[Any]) -> None:
        """Store the minimum (``means_``) and range (``scales_``) of each feature; a constant feature has range 1."""
        self.means_ = features.min(axis=0).astype(np.float64)
        widths = features.max(axis=0) - self.means_
        self.scales_ = np.where(widths > 0, widths, 1.0)

    def _learn(self, columns: Floats, lists: JudgedLists) -> None:
        """Boost the weak rankers (`columns`, shape (n_items, n_weak)) and store their weights after each round."""
        weak = within_queries(columns, lists)
        terms = self._terms(weak, lists)
        path, self.edges_ = boost(weak, terms, int(self.n_iter), self.max_repeats, self._acceptance(terms))
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
        A weak ranker taken this many times in a row is excluded until another one is taken.
    n_thresholds : int, optional
        Weak rankers are indicators of x > θ for this number of equally spaced θ over the range of each feature. By
        default they are the features themselves, scaled to [0, 1] by their range over all items of the fit.

    Attributes
    ----------
    coef_ : ndarray, shape (n_weak,)
        Weights of the scaled features; with thresholds, those of all features at the lowest threshold first.
    path_ : ndarray, shape (``n_iter_`` + 1, n_weak)
        The weights before the first round and after each; see `after`.
    edges_ : ndarray, shape (``n_iter_``,)
        ρ of each round.
    n_iter_ : int
        Number of rounds; fewer than `n_iter` if no weak ranker has a positive edge left.
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
        """Build the only edges to boost, of weight 1: on all pairs; `weak` has weak rankers' values by item."""
        return ((1.0, PairEdges.of(weak, lists, "all")),)


class AdaRank(BoostedRanker):
    """Rank by a sum of single features, or of thresholds on them, boosted on a measure of whole lists.

    Each round takes the weak ranker f of the largest ρ = Σ D(i) E(f, i) over queries, E the measure, with
    α = ½ log((1 + ρ) / (1 − ρ)), and then weighs queries by exp(−E) of the sum so far.

    Parameters
    ----------
    n_iter, max_repeats, n_thresholds
        Rounds, limit of taking one weak ranker in a row, and thresholds per feature; see `RankBoost`.
    measure : {"ndcg", "ap"}
        nDCG with gains 2^y − 1 of the whole list, or average precision with grades above 0 as relevant.
    tol : float, optional
        A round that lowers the mean of the measure over the training queries by more than this is undone, and its
        weak ranker excluded until another one is taken; boosting ends if none is left. None accepts all rounds.

    Attributes
    ----------
    coef_, path_, edges_, n_iter_, n_features_in_
        Weights, these after each round, edges, numbers of rounds and features; see `RankBoost`.

    Notes
    -----
    Features are scaled to [0, 1] by their range over all items of the fit; the measure is averaged over the orders of
    tied items. A feature may be taken reversed. The measure depends only on the order: if the second round takes the
    feature of the first again, order and distribution do not change, and without `max_repeats` it is taken forever.
    Five rounds of it and one of another change its order slightly; the change is accepted if it does not lower the
    measure. On MQ2008 this adds .008 of nDCG@10 over accepting every round, and equals the scores published with LETOR.

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
        """Store rounds, limit of rounds in a row with one weak ranker (a feature), and thresholds per feature.

        A round that lowers the mean of ``measure`` ("ndcg" or "ap") over the training queries by more than ``tol`` is
        undone: by 0.0 after any loss, by None never. `fit` checks the parameters.
        """
        super().__init__(n_iter, max_repeats, n_thresholds)
        self.measure = measure
        self.tol = tol

    def _check_parameters(self) -> None:
        """Raise InputError at the first invalid parameter."""
        super()._check_parameters()
        if self.measure not in get_args(ListMeasure):
            raise InputError(f"measure must be 'ndcg' or 'ap', got {self.measure!r}")
        if self.tol is not None and not self.tol >= 0:
            raise InputError(f"tol must not be negative, got {self.tol!r}")

    def _terms(self, weak: Floats, lists: JudgedLists) -> Sequence[tuple[float, ListEdges]]:
        """Build the only edges to boost, of weight 1: on whole lists; `weak` has weak rankers' values by item."""
        return ((1.0, ListEdges.of(weak, lists, "all", self.measure)),)

    def _acceptance(self, terms: Sequence[tuple[float, Any]]) -> Callable[[Floats, Floats], bool]:
        """Accept a round unless it lowers the mean of the measure by more than `tol`."""
        if self.tol is None:
            return super()._acceptance(terms)
        ((_, lists),) = terms
        # before the first round all items are tied, and the value of that tie is no baseline
        return lambda before, after: not before.any() or lists.mean(after) >= lists.mean(before) - self.tol
