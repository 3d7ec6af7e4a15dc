"""Variance of a query's value that labels leave open: given actual labels, or planned over simulated labels."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from activeeval.core.design.beliefs import GradeProbs
from activeeval.core.design.expectations import walked
from activeeval.core.design.n_threads import n_threads
from activeeval.core.design.orders import Order
from activeeval.core.design.planned_variance import PlannedVariance
from activeeval.core.kernels import rates, residual_variance
from activeeval.core.measures import SoftLabels, Target
from activeeval.core.types import Bools, Floats, Ints, sealed

_BLOCK_ITEMS = 5_000
"""Number of items that one thread processes at a time."""
_PATH_PLACES, _FEWEST_PATHS, _MOST_PATHS = 8192, 4, 32
"""Simulated label sets per query: a power of two between 4 and 32, with at most 8,192 places in total beyond 4 sets."""
_NOTHING = 1e-12
"""Share of the initial variance below which the variance left is rounding error and its ratio to the plan is noise."""


def wanted_of(order: Order) -> Ints:
    """Count the places (items in the judging order) of each query that may be judged, shape (n_queries,).

    They have a positive sampling rate, and are the query's first places.
    """
    return np.bincount(order.place_queries, order.place_rates > 0, minlength=order.n_queries).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelsSoFar:
    """Labels of an order known so far: a prefix of the places of each query.

    Attributes
    ----------
    order : Order
        As it was planned.
    targets : tuple of Target
        Targets that the order was planned for.
    beliefs : GradeProbs
    labels : SoftLabels
        Including grades known beforehand.
    depths : ndarray of int64, shape (n_queries,)
        Number of first places of each query that have labels.
    wanted : ndarray of int64, shape (n_queries,)
        Number of places of each query that may be judged (`wanted_of`); 0 for queries to skip.
    """

    order: Order
    targets: tuple[Target, ...]
    beliefs: GradeProbs
    labels: SoftLabels
    depths: Ints
    wanted: Ints

    def of(self, queries: Bools) -> LabelsSoFar:
        """Restrict computations to the queries flagged in ``queries``, (n_queries,): others have no wanted places."""
        return replace(self, wanted=np.where(queries, self.wanted, 0))


def left_of(target: Target, seen: LabelsSoFar) -> tuple[Floats, Floats, Ints]:
    """Compute how much of each query's value its labels so far (``seen``) leave open.

    Returns
    -------
    left : ndarray, shape (n_places,)
        Variance of the query's value under the grade model, given the labels up to each place (item in judging order).
    shares : ndarray, shape (n_places,)
        Expected share of users who continue after each place (cascade measures; 1 for others).
    stops : ndarray of int64, shape (n_queries,)
        Number of labels after which no further label can change the query's value.
    """
    with ThreadPoolExecutor(n_threads()) as threads:
        blocks = _blocks(seen.order.offsets)
        work = [
            threads.submit(_walk, target, seen, _NO_PATHS, _QueryBlock.of(seen.order, block), 1) for block in blocks
        ]
        parts = [part.result() for part in work]
    # row 0: there is one set of labels, the actual ones
    _, left, shares, stops = (np.concatenate([part[k][0] for part in parts]) for k in range(4))
    return left, shares, stops


_NO_PATHS = sealed(np.empty(0), np.int64)


def _walk(
    target: Target, seen: LabelsSoFar, n_paths: Ints, part: _QueryBlock, n_sets: int
) -> tuple[Floats, Floats, Floats, Ints]:
    """Compute the results of `left_of` for a block of queries, under one or more sets of labels.

    A block is some consecutive queries of the order.

    Parameters
    ----------
    seen : LabelsSoFar
        The order, the grade model, the labels and how many of each query's first places have them.
    n_paths : ndarray of int64, shape (n_queries,)
        Number of label sets to draw from the model for each query; empty to use the actual labels of ``seen``.
    part : _QueryBlock
        The block of queries.
    n_sets : int
        Number of rows of the results: the largest of ``n_paths``, or 1.

    Returns
    -------
    tuple of ndarray
        Variance left before and after the label of each place (item in judging order), share of continuing users after
        it, each of shape (n_sets, n_places); and the stop of each query, shape (n_sets, n_queries).
    """
    order, terms = seen.order, target.terms(seen.beliefs.max_grade + 1)
    codes, values = seen.labels.coded(terms.values)  # labels as indices into values, −1 for none
    arrays = walked(target, replace(terms, values=values), seen.beliefs, order.offsets, order.items)
    left, shares = np.zeros((n_sets, part.n_places + part.n_queries)), np.ones((n_sets, part.n_places + part.n_queries))
    stops = np.zeros((n_sets, part.n_queries), dtype=np.int64)
    block = (part.queries.start, part.queries.stop)
    residual_variance.leftover(
        *(*arrays, block, seen.wanted, seen.depths, codes, order.hashes, sealed(n_paths, np.int64)),
        *(left, shares, stops),
    )
    # each query has an entry more than places, before its first label
    before = np.arange(part.n_places) + part.owners
    return left[:, before], left[:, before + 1], shares[:, before + 1], stops


def planned_of(
    order: Order, targets: Sequence[Target], omega: Floats, beliefs: GradeProbs, known: Ints, looks: Bools
) -> tuple[Floats, tuple[PlannedVariance, ...]]:
    """Plan adaptive depth by simulating labels from the grade model.

    At the sampling level T, a place of rate r is judged with probability min(1, T r).

    Parameters
    ----------
    omega : ndarray, shape (n_targets, n_queries)
        Weight of each target in each query.
    known : ndarray of int64, shape (n_items,)
        Grades known beforehand, −1 for unknown.
    looks : ndarray of bool, shape (n_places,)
        True if the query's depth is planned again once the place (item in judging order) has its label.

    Returns
    -------
    of_places : ndarray, shape (3, n_places)
        Rows: the planned variance left (S), `History.alive` and `History.expected`.
    curves : tuple of PlannedVariance
        The planned variance of each target, by sampling level.
    """
    of_places, parts = np.zeros((3, order.items.size)), []
    with ThreadPoolExecutor(n_threads()) as threads:
        arguments = (order, targets, omega, beliefs, known, looks)
        work = [threads.submit(_planned_of_block, *arguments, block) for block in _blocks(order.offsets)]
        for part, (first, last) in zip(work, _blocks(order.offsets), strict=True):
            of_places[:, order.offsets[first] : order.offsets[last]], curves = part.result()
            parts.append(curves)
    return of_places, tuple(sum(curves[1:], curves[0]) for curves in zip(*parts, strict=True))


def _planned_of_block(
    order: Order,
    targets: Sequence[Target],
    omega: Floats,
    beliefs: GradeProbs,
    known: Ints,
    looks: Bools,
    block: tuple[int, int],
) -> tuple[Floats, list[PlannedVariance]]:
    """Plan adaptive depth for the queries from ``block[0]`` to before ``block[1]``, over simulated labels.

    ``omega`` (n_targets, n_queries) are the weights of the targets, ``known`` (n_items,) the grades known beforehand
    (−1: unknown); ``looks`` (n_places,) flags places after whose label a query's depth is planned again.

    Returns rows by place (item in judging order): the mean variance that labels up to it leave, the share of label sets
    in which it is judged, and its mean rate in these; and the planned variance of each target, by sampling level. A
    place of rate r is judged with probability min(1, T r) at the level T.
    """
    part = _QueryBlock.of(order, block)
    lengths = np.maximum(np.diff(part.offsets), 1)
    powers = np.floor(np.log2(_PATH_PLACES / lengths)).astype(np.int64)
    n_paths = np.zeros(order.n_queries, dtype=np.int64)
    n_paths[part.queries] = np.clip(2 ** np.maximum(powers, 0), _FEWEST_PATHS, _MOST_PATHS)
    most = int(n_paths.max(initial=1))
    wanted, labels = wanted_of(order), SoftLabels.of(known)
    seen = LabelsSoFar(
        order=order, targets=tuple(targets), beliefs=beliefs, labels=labels, depths=wanted, wanted=wanted
    )
    before, after, shares = [], [], np.zeros((most, part.n_places))
    stops = np.zeros((most, part.n_queries), dtype=np.int64)
    for target, weights in zip(targets, omega, strict=True):
        of_before, of_after, of_shares, of_stops = _walk(target, seen, n_paths, part, most)
        before.append(of_before)
        after.append(of_after)
        shares = np.maximum(shares, np.where(weights[part.queries][part.owners] > 0, of_shares, 0.0))
        stops = np.maximum(stops, np.where(weights[part.queries] > 0, of_stops, 0))
    n_sets = n_paths[part.queries][part.owners]  # label sets of each place's query: later rows of its arrays are unused
    of_places = omega[:, part.queries][:, None, part.owners]
    joint = (of_places * after).sum(axis=0)
    planned = joint.sum(axis=0) / n_sets
    planned[planned <= _NOTHING * (of_places * before).sum(axis=(0, 1)) / n_sets] = 0.0
    ratios = np.divide(joint, planned, out=np.ones_like(joint), where=planned > 0)
    paths, are_living = part.paths(order, ratios, shares, stops, looks)
    counts = are_living & (np.arange(most)[:, None] < n_sets) & (paths > 0)
    n_living = counts.sum(axis=0)
    expected = np.where(counts, paths, 0.0).sum(axis=0) / np.maximum(n_living, 1)
    terms: list[list[tuple[Floats, Floats]]] = [[] for _ in targets]
    for s, path in enumerate(paths):
        is_used = (s < n_sets) & (path > 0)
        for t, target in enumerate(targets):
            p = segment_probs(target, order)[part.queries][part.owners]
            variances = p**2 * (before[t][s] - after[t][s]) / n_sets
            terms[t].append((path[is_used], variances[is_used]))
    curves = [PlannedVariance.of(*(np.concatenate(column) for column in zip(*each, strict=True))) for each in terms]
    return np.array((planned, n_living / n_sets, expected)), curves


@dataclass(frozen=True, slots=True, eq=False)
class _QueryBlock:
    """A block of successive queries of an order; queries and places are counted from the first of the block.

    Attributes
    ----------
    queries : slice
        The queries, in the order.
    first_place : int
        Position of the first place on the order's place axis.
    offsets : ndarray of int64, shape (n_queries + 1,)
        Start of each query's places.
    owners : ndarray of int64, shape (n_places,)
        Query of each place.
    """

    queries: slice
    first_place: int
    offsets: Ints
    owners: Ints

    @classmethod
    def of(cls, order: Order, block: tuple[int, int]) -> _QueryBlock:
        """Cut the queries from ``block[0]`` to before ``block[1]`` from an order."""
        offsets = order.offsets[block[0] : block[1] + 1]
        owners = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
        return cls(slice(*block), int(offsets[0]), offsets - offsets[0], owners)

    @property
    def n_queries(self) -> int:
        """Number of queries in the block (some consecutive queries of the order)."""
        return self.offsets.size - 1

    @property
    def n_places(self) -> int:
        """Number of places (items in judging order) in the block (some consecutive queries)."""
        return self.owners.size

    def paths(self, order: Order, ratios: Floats, shares: Floats, stops: Ints, looks: Bools) -> tuple[Floats, Bools]:
        """Compute, for each set of labels, the rates of places and flags of the places that are still judged.

        Both results have shape (n_sets, n_places). A place is an item in the judging order of its query.

        Parameters
        ----------
        ratios, shares : ndarray, shape (n_sets, n_places)
            Variance left over the planned one, and share of continuing users, after each place.
        stops : ndarray of int64, shape (n_sets, n_queries)
            Number of labels after which no further label can change a query's value.
        looks : ndarray of bool, shape (n_places of the order,)
            True if the query's depth is planned again after the place.
        """
        places = slice(self.first_place, self.first_place + self.n_places)
        wanted = wanted_of(order)[self.queries]
        of_places = [each[places] for each in made_of(order)]
        out, living, nothing = np.empty(ratios.shape), np.empty(self.n_queries, dtype=np.int64), np.zeros(self.n_places)
        are_living = np.empty(ratios.shape, dtype=np.bool_)
        numbers = np.arange(self.n_places) - self.offsets[self.owners]
        for s, (of_set, of_shares, of_stops) in enumerate(zip(ratios, shares, stops, strict=True)):
            arrays = (order.query_rates[self.queries], *of_places, of_set, of_shares, looks[places], of_stops, nothing)
            rates.go_on(self.offsets, wanted, wanted, *arrays, out[s], living)
            are_living[s] = numbers < living[self.owners]
        return out, are_living


def made_of(order: Order) -> tuple[Floats, Floats]:
    """Return p sqrt(variance / cost) and the least rate of each place, (n_places,) each, of an order of prefixes.

    Its sampling rates are computed from these two. A place is an item in the judging order of its query.
    """
    assert order.slopes is not None
    assert order.floors is not None
    return order.slopes, order.floors


def segment_probs(target: Target, order: Order) -> Floats:
    """Compute query probabilities within a target's segment, shape (n_queries,): they sum to 1, and are 0 outside."""
    p = order.query_probs if target.within is None else np.where(target.within, order.query_probs, 0.0)
    return np.asarray(p / p.sum()) if target.within is not None else p


def _blocks(offsets: Ints) -> list[tuple[int, int]]:
    """Split queries into runs, (first, last + 1), of about equally many items, whatever the number of processors."""
    edges = np.unique(np.searchsorted(offsets, np.arange(0, offsets[-1], _BLOCK_ITEMS)))
    edges = np.unique(np.concatenate(([0], edges, [offsets.size - 1])))
    return list(pairwise(edges.tolist()))
