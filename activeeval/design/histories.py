"""Depth that follows a query's own labels: how far the labels seen make a query worth going on with.

Rates are planned before any label, r as today's depth has them; with S_k what the first k labels are planned to leave
open of a value and C_k what they do leave open,

    ρ_k = clip(C_k / S_k, ¼, 4),      r_{k+1} = min(r_k, max(s_k floor, sqrt(ρ_k b_{k+1}))),

sqrt(b) the planned slope and, of a cascade, s_k the share of users who are expected to come so far. Given the labels of
its items a query's rates are constants, whatever the model says, so that all that holds of a design whose rates are
planned holds of this one: with labels at hand it *is* such a design (`History.followed`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from activeeval.design.beliefs import GradeProbs
from activeeval.design.expectations import walked
from activeeval.design.orders import Order, rounded
from activeeval.design.planned import Planned
from activeeval.errors import InputError
from activeeval.kernels import leftover, rates
from activeeval.measures import SoftLabels, Target
from activeeval.measures.checks import mean_over_nodes
from activeeval.measures.terms import ADDITIVE
from activeeval.types import Bools, Floats, Ints, sealed

LOOKS = ("each", "3", "1", "none")
"""When labels are looked at: after each, after the first, the third and the ranked items, after these alone, never."""
_EARLY = (1, 3)
_BLOCK_ITEMS = 5_000
_PATH_PLACES, _FEWEST_PATHS, _MOST_PATHS = 8192, 4, 32
"""Sets of labels that a query's plan is made of, a power of two that makes 8,192 places at most."""
_NOTHING = 1e-12
"""Of what was open at first: less is rounding, and says nothing of how much more was left than planned."""


def check_looks(looks: str) -> str:
    """Return when labels are looked at, once it is known to be one of `LOOKS`."""
    if looks not in LOOKS:
        raise InputError(f"looks must be one of {', '.join(LOOKS)}, got {looks!r}")
    return looks


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class History:
    """What rates need to follow the labels of their queries.

    Attributes
    ----------
    looks : ndarray of bool, shape (n_places,)
        Whether labels are looked at once the place has its own.
    planned : ndarray, shape (n_places,)
        S once it has, all targets together.
    weights : ndarray, shape (n_targets, n_queries)
        Of each target's C and S.
    curves : tuple of Planned
        The variance that the design plans for each target, by level.
    """

    looks: Bools
    planned: Floats
    weights: Floats
    curves: tuple[Planned, ...]

    @classmethod
    def of(
        cls,
        order: Order,
        targets: Sequence[Target],
        weights: Sequence[float],
        beliefs: GradeProbs,
        known: Ints,
        looks: str,
    ) -> History:
        """Return the history of an order that was planned for some targets.

        Parameters
        ----------
        weights : sequence of float
            ω of each target; of one alone it may be empty.
        looks : str
            One of `LOOKS`.
        """
        omega = np.array(
            [_weights_of(target, weight) for target, weight in zip(targets, weights or (1.0,), strict=True)]
        )
        at_looks = looks_of(check_looks(looks), order, targets, beliefs)
        planned, parts = np.zeros(order.items.size), []
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            asked = (order, targets, omega, beliefs, known, at_looks)
            work = [threads.submit(_planned_of_block, *asked, block) for block in _blocks(order.offsets)]
            for part, (first, last) in zip(work, _blocks(order.offsets), strict=True):
                planned[order.offsets[first] : order.offsets[last]], curves = part.result()
                parts.append(curves)
        summed = [sum(curves[1:], curves[0]) for curves in zip(*parts, strict=True)]
        return cls(looks=at_looks, planned=planned, weights=omega, curves=tuple(summed))

    def followed(
        self,
        order: Order,
        targets: Sequence[Target],
        beliefs: GradeProbs,
        labels: SoftLabels,
        depths: Ints,
    ) -> tuple[Order, Ints]:
        """Return the order as labels have it, and of how many places of each query labels are asked.

        Parameters
        ----------
        labels : SoftLabels
            With those that are known.
        depths : ndarray of int64, shape (n_queries,)
            How many places of each query have theirs.
        """
        left, shares = np.zeros((2, order.items.size))
        stops = np.zeros(order.n_queries, dtype=np.int64)
        for target, weights in zip(targets, self.weights, strict=True):
            of_target, of_shares, of_stops = _left_of(target, beliefs, order, labels, depths)
            left += weights[order.place_queries] * of_target
            shares = np.maximum(shares, np.where(weights[order.place_queries] > 0, of_shares, 0.0))
            stops = np.maximum(stops, np.where(weights > 0, of_stops, 0))
        ratios = np.divide(left, self.planned, out=np.ones_like(left), where=self.planned > 0)
        place_rates, living = np.empty(order.items.size), np.empty(order.n_queries, dtype=np.int64)
        arrays = (order.query_rates, *made_of(order), ratios, shares, self.looks, stops)
        rates.go_on(order.offsets, wanted_of(order), depths, *arrays, place_rates, living)
        is_dead = (np.arange(order.items.size) - order.offsets[order.place_queries]) >= living[order.place_queries]
        costs = np.where(is_dead & (order.place_rates > 0), 0.0, order.costs)
        return replace(order, place_rates=rounded(place_rates), costs=costs, dead=is_dead), living


def wanted_of(order: Order) -> Ints:
    """Return how many places of each query may be judged, shape (n_queries,): its first ones."""
    return np.bincount(order.place_queries, order.place_rates > 0, minlength=order.n_queries).astype(np.int64)


def tails_of(order: Order, target: Target, beliefs: GradeProbs) -> Ints:
    """Return behind how many places of each query only the ideal depends on labels, shape (n_queries,).

    All of its places where there is no ideal.
    """
    wanted = wanted_of(order)
    if target.terms(beliefs.max_grade + 1).is_exact:
        return wanted
    moves = moves_numerator(target, beliefs)[order.items] & (order.place_rates > 0)
    tails = np.zeros(order.n_queries, dtype=np.int64)
    np.maximum.at(
        tails, order.place_queries[moves], (np.flatnonzero(moves) + 1 - order.offsets[order.place_queries[moves]])
    )
    return tails


def moves_numerator(target: Target, beliefs: GradeProbs) -> Bools:
    """Return which items' labels move the numerator of a value, shape (n_items,)."""
    if target.terms(beliefs.max_grade + 1).numerator == ADDITIVE:
        return np.asarray(target.contrast != 0)
    moves = np.zeros(target.pool.n_items, dtype=np.bool_)
    for ranking in (target.ranking, target.other):
        moves[ranking.items[ranking.ranks <= target.depth]] = True
    return moves


def ranked_first(targets: Sequence[Target], beliefs: GradeProbs, items: Ints, worth: Floats) -> Floats:
    """Return by what items are ordered: those that move a numerator by what they are worth, then by expected gain.

    Parameters
    ----------
    worth : ndarray, shape (items.size,)
    """
    moves = np.any([moves_numerator(target, beliefs)[items] for target in targets], axis=0)
    owners = targets[0].pool.item_queries[items]
    gains = np.zeros(items.size)
    for target in targets:
        values = target.terms(beliefs.max_grade + 1).values
        gains += mean_over_nodes(beliefs.weights[owners], (beliefs.nodes @ values)[:, items])
    return np.where(moves, 1.0 + worth / (1.0 + worth), gains / (1.0 + gains))


def looks_of(looks: str, order: Order, targets: Sequence[Target], beliefs: GradeProbs) -> Bools:
    """Return after which places labels are looked at, shape (n_places,)."""
    if looks in ("each", "none"):
        return np.full(order.items.size, looks == "each")
    n_labels = np.arange(order.items.size) - order.offsets[order.place_queries] + 1
    tails = np.max([tails_of(order, target, beliefs) for target in targets], axis=0)
    at = n_labels == tails[order.place_queries]
    return np.asarray(at | np.isin(n_labels, _EARLY) if looks == "3" else at)


def _weights_of(target: Target, weight: float) -> Floats:
    """Return what a target counts for in each query, shape (n_queries,); nothing where it is not about one."""
    p, within = target.pool.query_probs, target.within
    if within is None:
        return np.full(p.size, float(weight))
    return np.where(within, weight / float(p[within].sum()) ** 2, 0.0)


def _left_of(
    target: Target, beliefs: GradeProbs, order: Order, labels: SoftLabels, depths: Ints
) -> tuple[Floats, Floats, Ints]:
    """Return C by place, once it has its label, which share of users goes on, and after how many labels values stop."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        asked = (target, beliefs, order, labels, depths, _NO_PATHS)
        work = [threads.submit(_walk, *asked, _Part.of(order, block), 1) for block in _blocks(order.offsets)]
        parts = [part.result() for part in work]
    _, left, shares, stops = (np.concatenate([part[k][0] for part in parts]) for k in range(4))
    return left, shares, stops


_NO_PATHS = sealed(np.empty(0), np.int64)


def _walk(
    target: Target,
    beliefs: GradeProbs,
    order: Order,
    labels: SoftLabels,
    depths: Ints,
    n_paths: Ints,
    part: _Part,
    n_sets: int,
) -> tuple[Floats, Floats, Floats, Ints]:
    """Return C before and after each place of a part, a row for each set of labels, who goes on, where values stop."""
    terms = target.terms(beliefs.max_grade + 1)
    codes, values = labels.coded(terms.values)
    arrays = walked(target, replace(terms, values=values), beliefs, order.offsets, order.items)
    left, shares = np.zeros((n_sets, part.n_places + part.n_queries)), np.ones((n_sets, part.n_places + part.n_queries))
    stops = np.zeros((n_sets, part.n_queries), dtype=np.int64)
    block = (part.queries.start, part.queries.stop)
    leftover.leftover(
        *(*arrays, block, wanted_of(order), depths, codes, order.hashes, sealed(n_paths, np.int64)),
        *(left, shares, stops),
    )
    at = np.arange(part.n_places) + part.owners
    return left[:, at], left[:, at + 1], shares[:, at + 1], stops


def _planned_of_block(
    order: Order,
    targets: Sequence[Target],
    omega: Floats,
    beliefs: GradeProbs,
    known: Ints,
    looks: Bools,
    block: tuple[int, int],
) -> tuple[Floats, list[Planned]]:
    """Return S by place of a block of queries, and each target's planned variance, by labels that the model draws."""
    part = _Part.of(order, block)
    lengths = np.maximum(np.diff(part.offsets), 1)
    powers = np.floor(np.log2(_PATH_PLACES / lengths)).astype(np.int64)
    n_paths = np.zeros(order.n_queries, dtype=np.int64)
    n_paths[part.queries] = np.clip(2 ** np.maximum(powers, 0), _FEWEST_PATHS, _MOST_PATHS)
    most = int(n_paths.max(initial=1))
    before, after, shares = [], [], np.zeros((most, part.n_places))
    stops = np.zeros((most, part.n_queries), dtype=np.int64)
    for target, weights in zip(targets, omega, strict=True):
        asked = (target, beliefs, order, SoftLabels.of(known), wanted_of(order), n_paths)
        of_before, of_after, of_shares, of_stops = _walk(*asked, part, most)
        before.append(of_before)
        after.append(of_after)
        shares = np.maximum(shares, np.where(weights[part.queries][part.owners] > 0, of_shares, 0.0))
        stops = np.maximum(stops, np.where(weights[part.queries] > 0, of_stops, 0))
    sizes = n_paths[part.queries][part.owners]
    of_places = omega[:, part.queries][:, None, part.owners]
    joint = (of_places * after).sum(axis=0)
    planned = joint.sum(axis=0) / sizes
    planned[planned <= _NOTHING * (of_places * before).sum(axis=(0, 1)) / sizes] = 0.0
    paths = part.paths(
        order, np.divide(joint, planned, out=np.ones_like(joint), where=planned > 0), shares, stops, looks
    )
    terms: list[list[tuple[Floats, Floats]]] = [[] for _ in targets]
    for s, path in enumerate(paths):
        is_of = (s < sizes) & (path > 0)
        for t, target in enumerate(targets):
            p = segment_probs(target, order)[part.queries][part.owners]
            variances = p**2 * (before[t][s] - after[t][s]) / sizes
            terms[t].append((path[is_of], variances[is_of]))
    return planned, [Planned.of(*(np.concatenate(column) for column in zip(*each, strict=True))) for each in terms]


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """A block of the queries of an order, its places counted from its first."""

    queries: slice
    first_place: int
    offsets: Ints
    owners: Ints

    @classmethod
    def of(cls, order: Order, block: tuple[int, int]) -> _Part:
        """Return the part of some queries."""
        offsets = order.offsets[block[0] : block[1] + 1]
        owners = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
        return cls(slice(*block), int(offsets[0]), offsets - offsets[0], owners)

    @property
    def n_queries(self) -> int:
        """Number of its queries."""
        return self.offsets.size - 1

    @property
    def n_places(self) -> int:
        """Number of its places."""
        return self.owners.size

    def paths(self, order: Order, ratios: Floats, shares: Floats, stops: Ints, looks: Bools) -> Floats:
        """Return the rates that each set of labels makes, shape (n_sets, n_places), of the ρ that it comes to."""
        places = slice(self.first_place, self.first_place + self.n_places)
        wanted = wanted_of(order)[self.queries]
        of_places = [each[places] for each in made_of(order)]
        out, living = np.empty(ratios.shape), np.empty(self.n_queries, dtype=np.int64)
        for path, of_set, of_shares, of_stops in zip(out, ratios, shares, stops, strict=True):
            arrays = (order.query_rates[self.queries], *of_places, of_set, of_shares, looks[places], of_stops)
            rates.go_on(self.offsets, wanted, wanted, *arrays, path, living)
        return out


def made_of(order: Order) -> tuple[Floats, Floats]:
    """Return the slopes and floors that rates of a nested order are made of."""
    assert order.slopes is not None
    assert order.floors is not None
    return order.slopes, order.floors


def segment_probs(target: Target, order: Order) -> Floats:
    """Return p of every query among those that a target is about."""
    p = order.query_probs if target.within is None else np.where(target.within, order.query_probs, 0.0)
    return np.asarray(p / p.sum()) if target.within is not None else p


def _blocks(offsets: Ints) -> list[tuple[int, int]]:
    """Cut the queries into runs of about equally many items, whatever the machine."""
    edges = np.unique(np.searchsorted(offsets, np.arange(0, offsets[-1], _BLOCK_ITEMS)))
    edges = np.unique(np.concatenate(([0], edges, [offsets.size - 1])))
    return list(pairwise(edges.tolist()))
