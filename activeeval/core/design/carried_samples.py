"""Samples that continue earlier ones with the same random numbers, so that every earlier label keeps counting.

Each sampled unit has one permanent random number u: an item if items are sampled independently, a query if lists are
judged to depths. A sample takes a place of rate r if u < min(1, T r), its threshold T fixed beforehand. The next
sample, with other lists, other targets and other rates r', takes it if u < min(1, T' r'); either sample has taken it if
u lies below the larger of the two. So the probability that a place has been taken is the largest that it ever had,

    M ← max(M, min(1, T r)),

its label is weighted by 1 / M, and new labels are needed only where M ≤ u < T r: T is the threshold at which their mean
cost Σ c (T r − M)⁺ equals the budget. (Permanent random numbers: Ohlsson 1995. No label is discarded, as it would be if
a label counted only below the current sample's own threshold, because M is known of every place, taken or not.)

If less than the budget is enough, T is the sufficient threshold (found by `activeeval.core.planning.least_labels`), 0
if the earlier labels are enough. A place that could never be taken so far is then taken with a small probability
nevertheless: if it were excluded for good, estimates would be biased. There are no pairs: those of tomorrow differ.

A list judged to a depth can be read as far as all earlier places are taken: a_k = min over the places j ≤ k of M_j.
One number u per query serves all its places, so {u < a_k} is the event that the first k are taken.

Estimates are exactly unbiased if thresholds and rates are fixed beforehand. Rates that a model has learned from
earlier labels use labels of other queries only, which leaves the influence of one query on a sum over all. Under a hard
budget a unit's number would change its own price, since known units are free, and shared numbers would cause a bias.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from activeeval.core.design.designs import Design
from activeeval.core.design.orders import Order
from activeeval.core.design.schemes import DrawnUnits, Scheme, check_budget
from activeeval.core.design.selections import Selection
from activeeval.core.errors import InputError
from activeeval.core.pool import hashed_uniforms
from activeeval.core.types import Bools, Floats, Ints, Words

GRADES, IN_HAND, VERSIONS = "carried.grades", "carried.in_hand", "carried.versions"
LEAST = 0.1
"""Least probability of a place that no earlier sample could take. With .01 and .1 (docs/nights.py, ± 2 and ± 2.5 in two
segments, two seeds) three runs took 8 and 12 new labels, and the half-widths of the change from one run to the next
were .43 and .28."""
_UNJUDGED = -1
_STEPS = 100
"""Bisection steps on the logarithm of a threshold: from the full range of doubles to their last bit."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EarlierLabels:
    """Labels and inclusion probabilities that earlier samples leave to the next one, by item of its pool.

    Attributes
    ----------
    probs : ndarray, shape (n_items,)
        M, probability that any earlier sample has taken each item; 0 if none could.
    is_settled : ndarray of bool, shape (n_items,)
        True if the item was taken and then judged or found unjudgeable.
    grades : ndarray of int64, shape (n_items,)
        −1 for unjudged.
    versions : ndarray of uint64, shape (n_items,)
        0, or a hash that makes a new item of one whose text has changed.
    """

    probs: Floats
    is_settled: Bools
    grades: Ints
    versions: Words

    @classmethod
    def nothing(cls, n_items: int) -> Self:
        """Build the state before the first sample of ``n_items`` items: no labels, all probabilities 0."""
        return cls(
            probs=np.zeros(n_items),
            is_settled=np.zeros(n_items, dtype=np.bool_),
            grades=np.full(n_items, _UNJUDGED, dtype=np.int64),
            versions=np.zeros(n_items, dtype=np.uint64),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CarriedScheme(Scheme):
    """Scheme that takes places whose permanent numbers lie below their probabilities and reuses earlier labels.

    The rates of its order are the probabilities themselves, at level 1.

    Attributes
    ----------
    grades : ndarray of int64, shape (n_items,)
        Grades of items that earlier samples have judged; −1 elsewhere.
    is_settled : ndarray of bool, shape (n_items,)
        Items of earlier samples that are judged or cannot be judged.
    versions : ndarray of uint64, shape (n_items,)
        As in `EarlierLabels`.
    """

    grades: Ints
    is_settled: Bools
    versions: Words
    title: ClassVar[str] = "shared numbers"
    can_be_topped_up: ClassVar[bool] = False
    goes_on: ClassVar[bool] = True
    is_planned: ClassVar[bool] = False

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_queries: int) -> Self:
        """Rebuild a scheme from the named arrays of a sample's file, which `arrays` returned."""
        return cls(grades=arrays[GRADES].astype(np.int64), is_settled=arrays[IN_HAND], versions=arrays[VERSIONS])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the earlier labels as named arrays, for a sample's file."""
        return {GRADES: self.grades.astype(np.int32), IN_HAND: self.is_settled, VERSIONS: self.versions}

    @property
    def in_hand(self) -> Ints:
        """Grades of items that earlier samples have judged, −1 elsewhere, shape (n_items,)."""
        return self.grades

    @property
    def unjudgeable(self) -> Ints:
        """Indices of the items that earlier judges could not judge."""
        return np.flatnonzero(self.is_settled & (self.grades < 0))

    def least(self, order: Order) -> float:
        """Return the smallest valid budget, which is 0."""
        return 0.0

    def ends(
        self, name: str, order: Order, budget: float, blocks: Sequence[float] | None, *, expected: bool
    ) -> tuple[float, ...]:
        """Return the budget as the only end of a block; raise InputError unless it is a positive number.

        A block is a part of the budget, at whose end the sample can be read. The budget is met on average. ``name``,
        ``order``, ``blocks`` and ``expected`` are not used.
        """
        return (check_budget(budget),)

    def inclusion_probs(self, order: Order, budget: float) -> tuple[Floats, Floats]:
        """Return the inclusion probabilities of queries (n_queries,) and places (items; n_places,) at any budget."""
        return order.inclusion_probs(1.0)

    def mean_size(self, query_probs: Floats) -> float:
        """Return the expected number of sampled queries."""
        return float(query_probs.sum())

    def drawn(self, order: Order, key: np.uint64, blocks: Sequence[float], *, expected: bool) -> DrawnUnits:
        """Draw the sample of a key (its seed); a unit is a query with its sampled items that have no label yet.

        The probabilities of ``order`` alone decide: ``blocks`` and ``expected`` are not used.
        """
        numbers = numbers_of(order, key, self.versions)  # permanent random numbers, one for each place
        has_come = numbers < order.place_rates  # the rates of this order are probabilities
        requested = np.flatnonzero(has_come & ~self.is_settled[order.items])
        owners = order.place_queries[requested]
        queries, starts = np.unique(owners, return_index=True)
        ends = np.append(starts, requested.size)
        whole = _selection(order, np.flatnonzero(has_come))
        return DrawnUnits(
            queries=queries,
            levels=[float(numbers[requested[a:b]].min()) for a, b in pairwise(ends)],
            costs=np.bincount(owners, order.costs[requested], minlength=order.n_queries)[queries].astype(np.float64),
            places_of=lambda unit: requested[ends[unit] : ends[unit + 1]],
            selection=lambda n_units: whole,
            block_ends=(queries.size,),
            ended="all sampled items are judged",
        )


def numbers_of(order: Order, key: np.uint64, versions: Words) -> Floats:
    """Compute the permanent random number in (0, 1) of every place (item) under a key (the seed), shape (n_places,).

    It is that of the item, or in a nested order (which judges prefixes) that of the query. ``versions`` (n_items,)
    gives an item with a changed text a new number; a query's number does not change then.
    """
    if not order.is_nested:
        return hashed_uniforms(int(key), order.hashes ^ versions[order.items], 1).ravel()
    of_queries = hashed_uniforms(int(key), order.query_hashes, 1).ravel()
    return np.asarray(of_queries[order.place_queries])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EarlierPlaces:
    """The places of the current sample's order, with the probabilities left by earlier samples.

    Attributes
    ----------
    order : Order
        The order as if no earlier sample existed.
    before, floors : ndarray, shape (n_places,)
        M, the probability that earlier samples have taken each place (0: not wanted); its least one after this sample.
    """

    order: Order
    before: Floats
    floors: Floats

    @classmethod
    def of(cls, order: Order, in_hand: EarlierLabels, most: float | None = None) -> Self:
        """Combine an order (items in judging order, with sampling rates) with the labels of earlier samples.

        Parameters
        ----------
        most : float, optional
            Largest expected cost, in mean items, of places that no earlier sample could take if each gets a small
            probability (`LEAST` or less). None: they are taken by their rates alone.

        Raises
        ------
        InputError
            If queries have overheads, because items then share the price of their query.
        """
        if order.overheads.any():
            raise InputError("a sample that continues earlier ones cannot have overheads per query", field="overhead")
        if order.joined.any():
            raise InputError("a sample that continues earlier ones judges no pairs: their items change", field="method")
        before = _before(order, in_hand)
        if most is None:
            return cls(order=order, before=before, floors=before)
        never = (order.place_rates > 0) & (before == 0)
        cost = float(order.costs[never].sum())
        least = min(LEAST, most / cost) if cost > 0 else 0.0
        return cls(order=order, before=before, floors=np.where(never, least, before))

    def at(self, threshold: float) -> Floats:
        """Compute the probability that this sample, or an earlier one, takes each place, shape (n_places,).

        At the threshold T, this sample takes a place (item in judging order) of rate r with probability min(1, T r).
        """
        return np.maximum(self.floors, _at(threshold, self.order.place_rates))

    def readable(self, threshold: float) -> Floats:
        """Compute the probability that the label of each place can be used at a threshold, shape (n_places,).

        If queries are judged as prefixes, all earlier places (items in judging order) of the query must be taken as
        well.
        """
        return _in_turn(self.order, self.at(threshold))

    def cost(self, threshold: float) -> float:
        """Compute the expected cost of new labels at a threshold T, in mean items (the mean item costs 1).

        At T, an item of rate r is taken with probability min(1, T r).
        """
        return float((self.order.costs * (self.at(threshold) - self.before)).sum())

    def threshold(self, budget: float) -> float:
        """Find the threshold T at which new labels cost the budget on average; infinite if it pays for everything."""
        if self.cost(math.inf) <= budget:
            return math.inf
        low, high = -700.0, 700.0
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.cost(math.exp(middle)) >= budget else (middle, high)
        return math.exp(low)


def going_on(
    design: Design, in_hand: EarlierLabels, budget: float, enough: float | None = None
) -> tuple[Design, Floats]:
    """Build the design of a sample that continues earlier ones.

    The second result, shape (n_items,), is the probability that this or an earlier sample has taken each item.

    Parameters
    ----------
    design : Design
        For the current targets, as if no earlier sample existed; without overheads.
    in_hand : EarlierLabels
        From earlier samples with the same key (seed).
    budget : float
        Expected cost of new labels, in mean items (the mean item costs 1); an upper limit if ``enough`` is given.
    enough : float, optional
        Threshold T at which labels are precise enough (an item of rate r is taken with probability min(1, T r)): it is
        not exceeded even if the budget would allow it. Items that no earlier sample could take get a small probability.

    Raises
    ------
    InputError
        If queries have overheads, because items then share the price of their query.
    """
    order = design.order
    places = EarlierPlaces.of(order, in_hand, None if enough is None else budget)
    place_probs = places.at(min(places.threshold(budget), math.inf if enough is None else enough))
    probs = in_hand.probs.copy()
    probs[order.items] = np.maximum(probs[order.items], place_probs)
    return _carried(design, in_hand, place_probs).with_budget(budget, expected=True), probs


def reread(design: Design, in_hand: EarlierLabels) -> Design:
    """Build a design that estimates other targets from the labels of earlier samples, without drawing new items.

    Parameters
    ----------
    design : Design
        For these targets, as if no earlier sample existed.

    Raises
    ------
    InputError
        If an item that matters could not be taken by any earlier sample.
    """
    order, before = design.order, _before(design.order, in_hand)
    never = np.flatnonzero((order.place_rates > 0) & (before == 0))
    if never.size:
        place = order.pool.place(int(order.items[never[0]]))
        raise InputError(f"{place} could never be drawn ({never.size} such items): no earlier list contains it")
    return _carried(design, in_hand, before).with_budget(max(order.cost, 1.0))  # any positive budget: none is spent


def _before(order: Order, in_hand: EarlierLabels) -> Floats:
    """Return the probability that earlier samples have taken each place (item in the judging order), (n_places,).

    It is 0 for places whose label is known or cannot change a value.
    """
    return np.where(order.place_rates > 0, in_hand.probs[order.items], 0.0)


def _carried(design: Design, in_hand: EarlierLabels, place_probs: Floats) -> Design:
    """Return the design with inclusion probabilities (n_places,) in place of sampling rates, for continued samples.

    Its scheme holds the labels of earlier samples, and what estimators need is computed again.
    """
    order, known = design.order, design.known
    # probabilities are fixed: planned slopes and floors, from which rates would be computed anew, are dropped
    carried = replace(order, place_rates=_in_turn(order, place_probs), slopes=None, floors=None)
    if order.is_nested:  # a query is opened with its first place
        first = carried.offsets[:-1][np.diff(carried.offsets) > 0]
        query_rates = np.zeros(order.n_queries)
        query_rates[np.diff(carried.offsets) > 0] = carried.place_rates[first]
        carried = replace(carried, query_rates=query_rates)
    scheme = CarriedScheme(grades=in_hand.grades, is_settled=in_hand.is_settled, versions=in_hand.versions)
    stage, beliefs = design.stage, design.beliefs
    readings = tuple(stage.reading(target, carried, beliefs, known) for target in design.targets)
    return replace(design, order=carried, scheme=scheme, readings=readings)


def _at(threshold: float, rates: Floats) -> Floats:
    """Compute inclusion probabilities min(1, T rate) at a threshold T, (n_places,); 0 where the rate is 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(rates > 0, np.minimum(1.0, threshold * rates), 0.0)


def _in_turn(order: Order, place_probs: Floats) -> Floats:
    """Compute the probability that the label of every place can be used, shape (n_places,).

    If queries are judged as prefixes, all earlier places (items in judging order) must be taken as well: it is the
    least of their probabilities.
    """
    if not order.is_nested:
        return place_probs
    least = np.empty_like(place_probs)
    for first, last in pairwise(order.offsets.tolist()):
        least[first:last] = np.minimum.accumulate(place_probs[first:last])
    return least


def _selection(order: Order, places: Ints) -> Selection:
    """Build the `Selection` of some places (indices), with sampling level 1, because rates are probabilities here.

    At the sampling level T, an item of rate r is judged with probability min(1, T r).
    """
    queries, counts = np.unique(order.place_queries[places], return_counts=True)
    cost = order.cost_of(queries, counts, places)
    return Selection(queries=queries, counts=counts, places=places, level=1.0, cost=cost)
