"""Counts of pairs that repeat each other, contradict each other, or have the same order under every measure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from activeeval.core.types import Bools, Ints
from activeeval.gains.pairs import PreferenceData


@dataclass(frozen=True, slots=True)
class PairSummary:
    """Number of pairs, and of those that are uninformative or contradict others.

    Attributes
    ----------
    pairs, ties : int
        Pairs with a preferred list; tied pairs.
    duplicates : int
        Pairs, of both kinds, that repeat the answer of another pair of the same lists and query.
    contradictory : int
        Pairs of lists of a query that are preferred both ways.
    indistinguishable : int
        Preferences between lists of the same grades at the same ranks: no measure of grades separates them.
    decided : int
        Preferences that every DCG shares, whatever its gains and discounts: they are not informative.
    unexplainable : int
        Preferences for a list that every DCG ranks as the worse one.
    """

    pairs: int
    ties: int
    duplicates: int
    contradictory: int
    indistinguishable: int
    decided: int
    unexplainable: int


def summarize_pairs(data: PreferenceData) -> PairSummary:
    """Count the pairs, and those that repeat or contradict others or from which no measure can learn.

    Examples
    --------
    >>> summary = summarize_pairs(PreferenceData([[2, 1], [2, 0], [1, 1], [2, 1]], [[1, 2], [1, 1], [2, 0], [1, 2]]))
    >>> summary.pairs, summary.duplicates, summary.contradictory, summary.decided
    (4, 1, 1, 2)
    """
    group, way = _same_lists(data)
    # what each pair says: the two lists, which is preferred, and if they are tied
    statements = np.stack((group, np.where(data.ties, 0, way), data.ties), axis=1)
    better, worse, same = dominance(data)
    strict = ~data.ties
    return PairSummary(
        pairs=int(strict.sum()),
        ties=int(data.ties.sum()),
        duplicates=data.n_pairs - len(np.unique(statements, axis=0)),
        contradictory=len(_first_both_ways(data, group, way)),
        indistinguishable=int((strict & same).sum()),
        decided=int((strict & better).sum()),
        unexplainable=int((strict & worse).sum()),
    )


def both_ways(data: PreferenceData) -> Ints:
    """Find pairs of one query that prefer the same two lists in opposite directions.

    The result has shape (m, 2): row numbers of the first pair of each direction, one row for each such two lists.
    """
    return _first_both_ways(data, *_same_lists(data))


def _first_both_ways(data: PreferenceData, group: Ints, way: Ints) -> Ints:
    """Find the first pair of each direction in every group of equal lists that are preferred both ways, shape (m, 2).

    `group`, shape (n,), numbers pairs of the same two lists; `way`, shape (n,), is the direction of the preference: 1,
    −1, or 0 for equal lists.
    """
    firsts = np.full((2, group.max() + 1), -1)
    for first, sign in zip(firsts, (1, -1), strict=True):
        rows = np.flatnonzero(~data.ties & (way == sign))[::-1]  # from the last, so that the first row is kept
        first[group[rows]] = rows
    first_two = np.sort(firsts.T[(firsts >= 0).all(axis=0)], axis=1)
    return np.asarray(first_two[np.argsort(first_two[:, 1])], dtype=np.int64)


def dominance(data: PreferenceData) -> tuple[Bools, Bools, Bools]:
    """Classify preferences: every DCG agrees with it, every DCG disagrees, both lists are equal.

    Return three masks of shape (n,). With a the preferred list and b the other, Σ_k c_k (g(a_k) − g(b_k)) ≥ 0 for all
    decreasing c ≥ 0 and all increasing g if and only if, for every rank j and grade y > 0, a has at least as many items
    of grade y or more among its first j as b.
    """
    same = (data.preferred == data.other).all(axis=1)
    if data.documents:
        return np.zeros_like(same), np.zeros_like(same), same
    better, worse = ~same, ~same
    for grade in range(1, data.n_levels):
        lead = np.cumsum((data.preferred >= grade).astype(np.int64) - (data.other >= grade), axis=1)
        better, worse = better & (lead >= 0).all(axis=1), worse & (lead <= 0).all(axis=1)
    return better, worse, same


def open_pairs(data: PreferenceData) -> Bools:
    """Mark the pairs on which DCGs can disagree, shape (n,): only these are informative about gains and discounts.

    A DCG has discounts c_1 > … > c_K > 0 and gains that rise with the grade. A tie can be informative even if every DCG
    prefers one of the lists: it bounds their difference.

    Examples
    --------
    >>> open_pairs(PreferenceData([[2, 1], [2, 0], [1, 0]], [[1, 2], [1, 1], [1, 0]])).tolist()
    [False, True, False]
    """
    better, worse, same = dominance(data)
    return ~(better | worse | same)


def _same_lists(data: PreferenceData) -> tuple[Ints, Ints]:
    """Group the pairs of the same two lists of a query, whichever list is preferred.

    Return two arrays of shape (n,): the group's number, and 1 or −1 for the direction of the preference (0: equal
    lists). The direction is 1 if the preferred list has the better grade at the first rank at which the two differ.
    """
    step = data.preferred - data.other
    way = np.sign(step[np.arange(data.n_pairs), np.argmax(step != 0, axis=1)])
    swap = (way < 0)[:, None]
    sides = (np.where(swap, data.other, data.preferred), np.where(swap, data.preferred, data.other))
    group = np.unique(np.column_stack((data.query_numbers, *sides)), axis=0, return_inverse=True)[1]
    return group.reshape(-1), way
