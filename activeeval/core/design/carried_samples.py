"""Samples that go on from earlier ones by the same numbers: every label that was ever drawn goes on counting.

What is chosen by chance has one number u for good: an item where items come on their own, a query where lists are
judged to depths. A sample takes a place of rate r where u < min(1, T r), its threshold T fixed beforehand. The next
sample, of other lists, other questions and other rates r', takes it where u < min(1, T' r'); what was taken by either
lies below the larger of the two. So the probability with which a place is in hand is the largest that it ever had,

    M ← max(M, min(1, T r)),

its label counts with 1 / M, and new labels are needed only where M ≤ u < T r: T is the threshold at which those come to
the budget on average, Σ c (T r − M)⁺. (Permanent random numbers: Ohlsson 1995. That nothing is thrown away, as it would
be were a label to count only below tonight's own threshold, is because M is known of every place, taken or not.)

Where less is enough than the budget pays for, T is what is enough (`activeeval.core.planning.least_labels` finds it), 0
where what is in hand is. A place that never could come then comes with a small probability all the same: were it left
out for good, estimates would be biased.

A list that is judged to a depth is read as far as all before is in hand: a_k = min over the places j ≤ k of M_j, one
number u of its query for all of them, so that {u < a_k} is the event that the first k are.

Estimates are exactly unbiased for thresholds and rates that are fixed beforehand; rates that a model has learned from
earlier labels follow those of other queries alone, which leaves what one query does to a sum over all. Under a hard
budget the number of a unit would change its own price, known ones being free, and shared numbers would be biased.
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
"""With which a place comes at least that never could. Of .01 and .1 (docs/nights.py, ± 2 and ± 2.5 in two segments, two
seeds) three nights took 8 and 12 new labels, and what each was more than the one before came to ± .43 and ± .28."""
_UNJUDGED = -1
_STEPS = 100
"""Of halving the logarithm of a threshold: from the widest doubles to their last bit."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EarlierLabels:
    """What earlier samples of the same numbers leave to the next, item by item of its pool.

    Attributes
    ----------
    probs : ndarray, shape (n_items,)
        M, with which each item has come so far; 0 of one that never could.
    is_settled : ndarray of bool, shape (n_items,)
        Whether it came and was judged, or cannot be.
    grades : ndarray of int64, shape (n_items,)
        −1 where there is none.
    versions : ndarray of uint64, shape (n_items,)
        0, or what makes another item of one whose text has changed.
    """

    probs: Floats
    is_settled: Bools
    grades: Ints
    versions: Words

    @classmethod
    def nothing(cls, n_items: int) -> Self:
        """Return what there is before the first sample."""
        return cls(
            probs=np.zeros(n_items),
            is_settled=np.zeros(n_items, dtype=np.bool_),
            grades=np.full(n_items, _UNJUDGED, dtype=np.int64),
            versions=np.zeros(n_items, dtype=np.uint64),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CarriedScheme(Scheme):
    """Places come where their fixed numbers lie below their probabilities; what was judged before is in hand.

    The rates of its order are the probabilities themselves, at the level 1.

    Attributes
    ----------
    grades : ndarray of int64, shape (n_items,)
        Of items that earlier samples have judged; −1 elsewhere.
    is_settled : ndarray of bool, shape (n_items,)
        Items of earlier samples that are judged or cannot be.
    versions : ndarray of uint64, shape (n_items,)
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
        """Return the scheme that `arrays` made arrays of."""
        return cls(grades=arrays[GRADES].astype(np.int64), is_settled=arrays[IN_HAND], versions=arrays[VERSIONS])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is in hand, for a sample's file."""
        return {GRADES: self.grades.astype(np.int32), IN_HAND: self.is_settled, VERSIONS: self.versions}

    @property
    def in_hand(self) -> Ints:
        """Grades of items that nobody is asked for, −1 elsewhere, shape (n_items,)."""
        return self.grades

    @property
    def unjudgeable(self) -> Ints:
        """Items that earlier judges could not judge."""
        return np.flatnonzero(self.is_settled & (self.grades < 0))

    def least(self, order: Order) -> float:
        """Return the smallest budget that works: nothing."""
        return 0.0

    def ends(
        self, name: str, order: Order, budget: float, blocks: Sequence[float] | None, *, expected: bool
    ) -> tuple[float, ...]:
        """Return the budget, which is met on average, as the only end."""
        return (check_budget(budget),)

    def inclusion_probs(self, order: Order, budget: float) -> tuple[Floats, Floats]:
        """Return π of every query and a of every place."""
        return order.inclusion_probs(1.0)

    def mean_size(self, query_probs: Floats) -> float:
        """Return how many queries come on average."""
        return float(query_probs.sum())

    def drawn(self, order: Order, key: np.uint64, blocks: Sequence[float], *, expected: bool) -> DrawnUnits:
        """Return what is to be judged, query by query."""
        numbers = numbers_of(order, key, self.versions)
        has_come = numbers < order.place_rates
        asked = np.flatnonzero(has_come & ~self.is_settled[order.items])
        owners = order.place_queries[asked]
        queries, starts = np.unique(owners, return_index=True)
        ends = np.append(starts, asked.size)
        whole = _selection(order, np.flatnonzero(has_come))
        return DrawnUnits(
            queries=queries,
            levels=[float(numbers[asked[a:b]].min()) for a, b in pairwise(ends)],
            costs=np.bincount(owners, order.costs[asked], minlength=order.n_queries)[queries].astype(np.float64),
            places_of=lambda unit: asked[ends[unit] : ends[unit + 1]],
            selection=lambda n_units: whole,
            block_ends=(queries.size,),
            ended="all that came is judged",
        )


def numbers_of(order: Order, key: np.uint64, versions: Words) -> Floats:
    """Return u of every place under a key: that of its item, or where places follow each other that of its query.

    Of one number for a query an item that has changed makes no other.
    """
    if not order.is_nested:
        return hashed_uniforms(int(key), order.hashes ^ versions[order.items], 1).ravel()
    of_queries = hashed_uniforms(int(key), order.query_hashes, 1).ravel()
    return np.asarray(of_queries[order.place_queries])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EarlierPlaces:
    """The places of tonight's order, with what earlier samples leave of them.

    Attributes
    ----------
    order : Order
        As if nothing had been drawn before.
    before, floors : ndarray, shape (n_places,)
        M, 0 where nobody wants a place; and with which probability a place comes at least tonight.
    """

    order: Order
    before: Floats
    floors: Floats

    @classmethod
    def of(cls, order: Order, in_hand: EarlierLabels, most: float | None = None) -> Self:
        """Return the places of an order.

        Parameters
        ----------
        most : float, optional
            In mean items, what those may cost that come although nothing asks for them: places that never could, with
            the probability `LEAST` or less. None: they come by their rates alone.

        Raises
        ------
        InputError
            Where turning to a query costs something, as items then share the price of it.
        """
        if order.overheads.any():
            raise InputError("what goes on from earlier samples has no overheads", field="overhead")
        before = _before(order, in_hand)
        if most is None:
            return cls(order=order, before=before, floors=before)
        never = (order.place_rates > 0) & (before == 0)
        cost = float(order.costs[never].sum())
        least = min(LEAST, most / cost) if cost > 0 else 0.0
        return cls(order=order, before=before, floors=np.where(never, least, before))

    def at(self, threshold: float) -> Floats:
        """Return the probability with which each place has come after tonight, shape (n_places,)."""
        return np.maximum(self.floors, _at(threshold, self.order.place_rates))

    def readable(self, threshold: float) -> Floats:
        """Return the probability with which each place can be read then: of lists judged to depths with all before."""
        return _in_turn(self.order, self.at(threshold))

    def cost(self, threshold: float) -> float:
        """Return what new labels cost on average, in mean items."""
        return float((self.order.costs * (self.at(threshold) - self.before)).sum())

    def threshold(self, budget: float) -> float:
        """Return T at which new labels cost the budget on average; infinite where it pays for everything."""
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
    """Return the design of a sample that goes on from earlier ones, and M of every item after it, shape (n_items,).

    Parameters
    ----------
    design : Design
        Of tonight's targets, as if nothing had been drawn before; without overheads.
    in_hand : InHand
        Of what earlier samples of the same key leave.
    budget : float
        What new labels cost on average, in mean items: at most, where less is enough.
    enough : float, optional
        The threshold at which nothing more is wanted; see `EarlierPlaces.of` for what comes nevertheless.

    Raises
    ------
    InputError
        Where turning to a query costs something, as items then share the price of it.
    """
    order = design.order
    places = EarlierPlaces.of(order, in_hand, None if enough is None else budget)
    held = places.at(min(places.threshold(budget), math.inf if enough is None else enough))
    probs = in_hand.probs.copy()
    probs[order.items] = np.maximum(probs[order.items], held)
    return _carried(design, in_hand, held).with_budget(budget, expected=True), probs


def reread(design: Design, in_hand: EarlierLabels) -> Design:
    """Return the design of what earlier samples have judged alone, read for other questions: nothing new is drawn.

    Parameters
    ----------
    design : Design
        Of these questions, as if nothing had been drawn before.

    Raises
    ------
    InputError
        Where an item that matters never could come.
    """
    order, before = design.order, _before(design.order, in_hand)
    never = np.flatnonzero((order.place_rates > 0) & (before == 0))
    if never.size:
        place = order.pool.place(int(order.items[never[0]]))
        raise InputError(f"{place} could never be drawn ({never.size} such items): it was in the lists of no sample")
    return _carried(design, in_hand, before).with_budget(max(order.cost, 1.0))  # nothing is bought with it


def _before(order: Order, in_hand: EarlierLabels) -> Floats:
    """Return with which probability each place has come so far; 0 of those that nobody wants."""
    return np.where(order.place_rates > 0, in_hand.probs[order.items], 0.0)


def _carried(design: Design, in_hand: EarlierLabels, held: Floats) -> Design:
    """Return a design whose places have come with given probabilities."""
    order, known = design.order, design.known
    carried = replace(order, place_rates=_in_turn(order, held), slopes=None, floors=None)
    if order.is_nested:
        first = carried.offsets[:-1][np.diff(carried.offsets) > 0]
        query_rates = np.zeros(order.n_queries)
        query_rates[np.diff(carried.offsets) > 0] = carried.place_rates[first]
        carried = replace(carried, query_rates=query_rates)
    scheme = CarriedScheme(grades=in_hand.grades, is_settled=in_hand.is_settled, versions=in_hand.versions)
    stage, beliefs = design.stage, design.beliefs
    readings = tuple(stage.reading(target, carried, beliefs, known) for target in design.targets)
    return replace(design, order=carried, scheme=scheme, readings=readings)


def _at(threshold: float, rates: Floats) -> Floats:
    """Return the probability of every place at a threshold, min(1, T r)."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(rates > 0, np.minimum(1.0, threshold * rates), 0.0)


def _in_turn(order: Order, held: Floats) -> Floats:
    """Return the probability with which every place can be read: where places follow each other, with all before."""
    if not order.is_nested:
        return held
    least = np.empty_like(held)
    for first, last in pairwise(order.offsets.tolist()):
        least[first:last] = np.minimum.accumulate(held[first:last])
    return least


def _selection(order: Order, places: Ints) -> Selection:
    queries, counts = np.unique(order.place_queries[places], return_counts=True)
    cost = order.cost_of(queries, counts, places)
    return Selection(queries=queries, counts=counts, places=places, level=1.0, cost=cost)
