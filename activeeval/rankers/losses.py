"""Losses of the scores of judged lists, with value and (sub)gradient.

A loss is an object without data, ``PairHinge()``; ``loss.on(lists)`` binds it to lists and gives a function of their
items' scores. Every loss is a mean over queries; a pair loss is first a mean over a query's pairs. So each query has
the same weight, whatever its number of items, and different losses have comparable ranges.

=========================  =====================================  ======================================
loss                       formula                                rankers
=========================  =====================================  ======================================
`PairHinge`                max(0, 1 − (y_u − y_v)(s_u − s_v))     RankSVM, FocusedSVM, HyperLinearRanker
`PairExponential`          e^{−(s_u − s_v)}                       RankBoost, FocusedBoost
`PairLogistic`             log(1 + e^{−(s_u − s_v)})              RankNet, FocusedNet
`PairSquared`              (1 − (s_u − s_v))²                     HyperLinearRanker
`ListwiseAP`               hinge of average precision             SVMMAP, FocusedSVM
`TopOneCrossEntropy`       −Σ_i P_y(i) log P_s(i)                 ListNet
`PermutationCrossEntropy`  −Σ_π P_y(π) log P_s(π)                 FocusedNet
`TopKLikelihood`           −log P_s(the first k places)           ListMLE
`FocusedLoss`              a list loss of T, a pair loss of T×F   FocusedSVM, FocusedNet
=========================  =====================================  ======================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from activeeval.core.errors import InputError
from activeeval.core.types import Floats, Ints
from activeeval.rankers.judged_lists import JudgedLists, Part
from activeeval.rankers.pairs import WeightedPairs

MOST_PERMUTED = 15
"""Largest list whose permutations are summed: 2^15 subsets take some milliseconds for each list and step."""


class Term(Protocol):
    """Loss bound to lists or pairs: from scores of shape (n_items,) to its value and (sub)gradient."""

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Compute the loss and its (sub)gradient, shape (n_items,), at the scores of the items."""
        ...


class Loss(Protocol):
    """Loss that can be bound to lists."""

    def on(self, lists: JudgedLists) -> Term:
        """Bind the loss to lists; the result maps scores, shape (n_items,), to the loss and its gradient."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class KernelTerm:
    """Loss computed by a compiled kernel with fixed arguments (those of the lists or pairs).

    The kernel takes the scores, these arguments, and the gradient, which it adds to.
    """

    kernel: Callable[..., float]
    arguments: tuple[Any, ...]

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Compute the loss and its gradient at the scores, shape (n_items,); the kernel fills the gradient in."""
        gradient = np.zeros(scores.size)
        return float(self.kernel(scores, *self.arguments, gradient)), gradient


# Of pairs


@dataclass(frozen=True, slots=True)
class _PairLoss:
    """Loss of the margins of preference pairs; subclasses name the function (`kind`).

    With `graded` the margin includes the difference of the grades.

    Parameters
    ----------
    part : {"all", "top"}
        "all": pairs of a query's items with different grades. "top": T × F, an item of a grade above 0 and one of grade
        0.
    """

    part: Part = "all"
    kind: ClassVar[str]
    graded: ClassVar[bool] = False

    def on(self, lists: JudgedLists) -> KernelTerm:
        """Bind the loss to the pairs of lists."""
        return self.of_pairs(lists.pairs(self.part, self.graded))

    def of_pairs(self, pairs: WeightedPairs) -> KernelTerm:
        """Bind the loss to pairs of any origin: a function of the scores of all items.

        Each pair has a preferred and another item, a factor of its margin (gap) and a weight; ``kind`` names the
        function of the margin in the kernel module.
        """
        from activeeval.core.kernels.learning import losses

        pair_columns = (pairs.preferred, pairs.other, pairs.gaps, pairs.weights)
        return KernelTerm(losses.pair_losses, (*pair_columns, getattr(losses, self.kind)))


class PairHinge(_PairLoss):
    """Hinge loss max(0, 1 − m) of the margin m = (y_u − y_v)(s_u − s_v), which includes the difference of the grades.

    Examples
    --------
    >>> lists = JudgedLists.of(np.array([2, 0]), np.array([0, 0]))
    >>> PairHinge().on(lists)(np.array([0.25, 0.0]))
    (0.5, array([-2.,  2.]))
    """

    __slots__ = ()
    kind = "HINGE"
    graded = True


class PairLogistic(_PairLoss):
    """Logistic loss log(1 + e^{−m}) of the margin m = s_u − s_v: cross entropy of P(u before v) = 1/(1 + e^{−m})."""

    __slots__ = ()
    kind = "LOGISTIC"


class PairExponential(_PairLoss):
    """Logarithm of the mean of e^{−m} over pairs, m = s_u − s_v; its slopes are the distribution of boosting.

    The logarithm has the minimisers of the mean itself, and stays finite for margins of any size.
    """

    __slots__ = ()
    kind = "EXPONENTIAL"


class PairSquared(_PairLoss):
    """Squared loss (1 − m)² of the margin m = s_u − s_v, with the target margin 1.

    Examples
    --------
    >>> pairs = WeightedPairs.alike(np.array([0]), np.array([1]))
    >>> PairSquared().of_pairs(pairs)(np.array([0.5, 0.0]))
    (0.25, array([-1.,  1.]))
    """

    __slots__ = ()
    kind = "SQUARED"


# Of lists


@dataclass(frozen=True, slots=True)
class ListwiseAP:
    """Hinge of average precision, max_z 1 − AP(z) + wᵀΨ(z) − wᵀΨ(y) of SVM-MAP, at the most violated ranking z.

    y is the ranking by grades and Ψ the feature map of `SVMMAP`.

    Parameters
    ----------
    part : {"all", "top"}
        "all": all items, with grades above 0 as relevant. "top": only the items T of a grade above 0, and the mean over
        r = 1 … |T| − 1 of the hinge with the first r relevant, each r with its own z; this bounds 1 − the mean of AP.
        An r that separates equal grades is left out.
    """

    part: Part = "all"

    def on(self, lists: JudgedLists) -> KernelTerm:
        """Bind the loss to lists: a function of their items' scores.

        A cut of a list separates relevant items, from its start to the middle, from others, up to the stop. Weights
        give each list the same share, divided among its cuts.
        """
        from activeeval.core.kernels.learning import losses

        starts, middles, stops = _relevance_cuts(lists) if self.part == "all" else _grade_cuts(lists)
        _, list_of_cut, n_cuts = np.unique(starts, return_inverse=True, return_counts=True)
        weights = 1.0 / (n_cuts.size * n_cuts[list_of_cut])
        return KernelTerm(losses.ap_hinges, (starts, middles, stops, weights))


def _relevance_cuts(lists: JudgedLists) -> tuple[Ints, Ints, Ints]:
    """Compute start, end of the relevant items, and end of each list that also holds irrelevant items.

    Three arrays of shape (n_lists,). InputError is raised if there is no such list.
    """
    starts, stops = lists.offsets[:-1], lists.offsets[1:]
    middles = starts + lists.tops
    parted = middles < stops
    if not parted.any():
        raise InputError("no query holds items of grade 0 beside better ones: there is nothing to rank them before")
    return starts[parted], middles[parted], stops[parted]


def _grade_cuts(lists: JudgedLists) -> tuple[Ints, Ints, Ints]:
    """Find every place in the top of a list (its items above grade 0) where the grade falls.

    Return three arrays of shape (n_cuts,): start of the list, place of the cut, end of the list's top.
    """
    spans = lists.spans("top")
    places = np.arange(lists.grades.size - 1)
    span_of_place = np.searchsorted(spans.starts, places, side="right") - 1
    inside = (span_of_place >= 0) & (places + 1 < spans.stops[span_of_place])
    cuts = np.flatnonzero(inside & (lists.grades[:-1] > lists.grades[1:]))
    return spans.starts[span_of_place[cuts]], cuts + 1, spans.stops[span_of_place[cuts]]


@dataclass(frozen=True, slots=True)
class TopOneCrossEntropy:
    """Cross entropy −Σ_i P_y(i) log P_s(i) of ListNet, with P(i) = e^{s_i} / Σ_l e^{s_l}, P(item i is first)."""

    part: Part = "all"

    def on(self, lists: JudgedLists) -> KernelTerm:
        """Bind the loss to lists, given by the start, stop and weight of each: a function of their items' scores."""
        from activeeval.core.kernels.learning import losses

        return KernelTerm(losses.top_one_cross_entropies, (lists.grades.astype(np.float64), *lists.spans(self.part)))


@dataclass(frozen=True, slots=True)
class PermutationCrossEntropy:
    """Cross entropy −Σ_π P_y(π) log P_s(π) over all permutations of a list, with P the Plackett-Luce model.

    y are the grades, s the scores. It is exact, by dynamic programming over the 2^n subsets of n items; lists of more
    than 15 items raise InputError.
    """

    part: Part = "top"

    def on(self, lists: JudgedLists) -> KernelTerm:
        """Bind the loss to lists: a function of their items' scores.

        Raises
        ------
        InputError
            If a list has more than 15 items; it names a row of the list.
        """
        from activeeval.core.kernels.learning import losses

        spans = lists.spans(self.part)
        self._refuse_long(lists, spans.stops - spans.starts, spans.starts)
        labels = [tuple(lists.grades[a:b].tolist()) for a, b in zip(spans.starts, spans.stops, strict=True)]
        # lists with top-k labels share their labels, so one table (for each of the 2^n subsets of n items, the
        # probability under the labels that they are the last of a permutation) serves all of them
        begins, tables, n = {}, [], 0
        for key in dict.fromkeys(labels):
            table = np.empty(1 << len(key))
            losses.subset_probs(np.array(key, dtype=np.float64), table)
            begins[key], n = n, n + table.size
            tables.append(table)
        of_list = np.array([begins[key] for key in labels], dtype=np.int64)
        return KernelTerm(losses.permutation_cross_entropies, (*spans, np.concatenate(tables), of_list))

    def _refuse_long(self, lists: JudgedLists, sizes: Ints, starts: Ints) -> None:
        """Raise InputError at the first list with more than 15 items; `sizes` and `starts` have shape (n_lists,)."""
        too_long = np.flatnonzero(sizes > MOST_PERMUTED)
        if too_long.size:
            kind = "of a grade above 0" if self.part == "top" else "in all"
            raise InputError(
                f"the query of row {lists.rows[starts[too_long[0]]]} has {sizes[too_long[0]]} items {kind}, a loss over"
                f" their permutations takes at most {MOST_PERMUTED}"
            )


@dataclass(frozen=True, slots=True)
class TopKLikelihood:
    """Negative log-likelihood −Σ_{j ≤ k} [s_π(j) − log Σ_{l ≥ j} e^{s_π(l)}] of ListMLE, π the order of each list.

    Parameters
    ----------
    k : int
        Number of terms; at most the number of items with a grade above 0, as the rest is unordered.
    """

    k: int

    def on(self, lists: JudgedLists) -> KernelTerm:
        """Bind the likelihood loss of the first k places to lists, as the function and arrays that boosting evaluates.

        ``lists.spans`` gives start, stop and weight of each list in the arrays of items; ``lists.tops`` the number of
        items of each with a grade above 0, which stand first.
        """
        from activeeval.core.kernels.learning import losses

        starts, stops, weights = lists.spans("all")
        return KernelTerm(losses.first_places, (starts, stops, np.minimum(self.k, lists.tops), weights))


# Of both


@dataclass(frozen=True, slots=True)
class FocusedLoss:
    """Weighted sum β · L_list(T) + (1 − β) · L_pair(T × F), each loss divided by its value at equal scores.

    Both terms are thus 1 for an uninformative ranker, whatever their kind and the lengths of the lists.

    Parameters
    ----------
    list_loss, pair_loss : Loss
        With ``part="top"``.
    beta : float
        Weight of the order at the top, from 0 to 1.

    Examples
    --------
    >>> lists = JudgedLists.of(np.array([2, 1, 0]), np.array([0, 0, 0]))
    >>> FocusedLoss(ListwiseAP("top"), PairHinge("top"), 0.3).on(lists)(np.zeros(3))[0]
    1.0
    """

    list_loss: Loss
    pair_loss: Loss
    beta: float

    def on(self, lists: JudgedLists) -> WeightedSum:
        """Bind both losses to lists, each weighted by its share divided by its value at equal scores."""
        terms = (self.list_loss.on(lists), self.pair_loss.on(lists))
        nothing = np.zeros(lists.grades.size)
        return WeightedSum(terms, (self.beta / terms[0](nothing)[0], (1.0 - self.beta) / terms[1](nothing)[0]))


@dataclass(frozen=True, slots=True)
class WeightedSum:
    """Weighted sum of losses bound to the same lists."""

    terms: tuple[Term, ...]
    weights: tuple[float, ...]

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Compute the sum and its gradient at the scores."""
        value, gradient = 0.0, np.zeros(scores.size)
        for term, weight in zip(self.terms, self.weights, strict=True):
            term_value, slope = term(scores)
            value += weight * term_value
            gradient += weight * slope
        return value, gradient
