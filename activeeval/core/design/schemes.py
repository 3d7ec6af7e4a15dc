"""Schemes: how an order is gone through, and all that follows from it.

What depends on the scheme is asked of it, so that nobody has to ask which one it is. What needs more than a design
knows (evidence, repetitions, forecasts) goes by its class, once in each room.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from activeeval.core.checks import brief, is_number
from activeeval.core.design.inputs import DesignInput
from activeeval.core.design.orders import Order, OrderPlaces
from activeeval.core.design.rates import RelativeRates
from activeeval.core.design.readings import Reading
from activeeval.core.design.selections import Selection
from activeeval.core.errors import BudgetError, InputError
from activeeval.core.measures import Target
from activeeval.core.results import Caution
from activeeval.core.types import Floats, Ints

ROUNDING = 1e-12
"""Room for the rounding of a sum of costs."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnUnits:
    """What a key draws of an order: the units that a budget pays for, in the order in which they are judged.

    Attributes
    ----------
    queries : ndarray of int64, shape (n_units,)
    levels : sequence of float
        Where each comes in its order; NaN, `math.nan` itself, of a draw with replacement.
    costs : ndarray, shape (n_units,)
        In mean items.
    places_of : callable
        Takes a unit, counted from 0, and returns its places.
    selection : callable
        Takes a number of units and returns what the first ones make.
    block_ends : tuple of int
        How many units each block and those before it hold.
    ended : str
        Why there is no further unit.
    """

    queries: Ints
    levels: Sequence[float]
    costs: Floats
    places_of: Callable[[int], Ints]
    selection: Callable[[int], Selection]
    block_ends: tuple[int, ...]
    ended: str


class Scheme(Protocol):
    """How an order is gone through; what has a body here is so of all schemes that say nothing else.

    Attributes
    ----------
    title : str
        What it is called.
    is_with_replacement : bool
        Whether a query may be drawn again.
    answers_several : bool
        Whether one sample answers several questions.
    can_be_topped_up : bool
        Whether a larger budget's sample holds a smaller one's.
    goes_on : bool
        Whether the next sample of the same numbers holds this one, and what it says has an error of its own.
    is_planned : bool
        Whether the level that a budget reaches says what chance leaves open.
    takes_known : bool
        Whether it takes notice of grades that are known beforehand.
    """

    title: ClassVar[str] = "levels"
    is_with_replacement: ClassVar[bool] = False
    answers_several: ClassVar[bool] = True
    can_be_topped_up: ClassVar[bool] = True
    goes_on: ClassVar[bool] = False
    is_planned: ClassVar[bool] = True
    takes_known: ClassVar[bool] = True

    # Of a method, before there is an order

    @classmethod
    def made(cls, draw_probs: Callable[[], Floats]) -> Self:
        """Return the scheme of a pool; ``draw_probs`` computes q of its queries, shape (n_queries,)."""
        return cls()

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_queries: int) -> Self:
        """Return the scheme that `arrays` made arrays of; raises ValueError where they do not fit."""
        return cls()

    @classmethod
    def check_asked(cls, name: str, targets: Sequence[Target], known: Ints) -> None:
        """Raise InputError where a method's sample cannot answer some targets, or not with what is known."""
        return

    @classmethod
    def places(cls, places: OrderPlaces) -> OrderPlaces:
        """Return places with those wanted that have to be judged."""
        return places

    @classmethod
    def rates(cls, design_input: DesignInput, weights: Sequence[float], *, is_optimal: bool) -> RelativeRates:
        """Return how rates of a part compare."""
        return design_input.rates(weights, alike=not is_optimal)

    @classmethod
    def columns(cls, design_input: DesignInput) -> tuple[Floats, ...]:
        """Return what has to be known of every query of the pool before any is drawn, shape (n_queries,) each."""
        return ()

    @classmethod
    def estimator(cls, *, is_fitted: bool) -> str:
        """Return the name of the estimator of a method, fitted to what was judged or not."""
        return "regression" if is_fitted else "difference"

    @classmethod
    def questions(cls, targets: Sequence[Target]) -> list[Sequence[Target]]:
        """Return which targets one sample answers together."""
        return [targets]

    # Of an order

    @property
    def in_hand(self) -> Ints | None:
        """Grades of items that earlier samples of the same numbers have judged, −1 elsewhere; None where none has."""
        return None

    @property
    def unjudgeable(self) -> Ints:
        """Items that judges of earlier samples could not judge."""
        return np.empty(0, dtype=np.int64)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what it knows, for a sample's file."""
        return {}

    def cost(self, order: Order) -> float:
        """Return what judging everything costs, in mean items."""
        return order.cost

    def least(self, order: Order) -> float:
        """Return the smallest budget that works, in mean items."""

    def ends(
        self, name: str, order: Order, budget: float, blocks: Sequence[float] | None, *, expected: bool
    ) -> tuple[float, ...]:
        """Return the cumulated budgets at which blocks end, the last with the budget, or refuse as `Design` says."""

    def caution(self, order: Order, budget: float) -> Caution | None:
        """Return what to be wary of at a budget."""
        return None

    def inclusion_probs(self, order: Order, budget: float) -> tuple[Floats, Floats]:
        """Return the probabilities of `Design.inclusion_probs` at a budget."""

    def item_probs(self, order: Order, selection: Selection, level: float) -> Floats:
        """Return the probability with which each place's item is among what is below a level, shape (n_places,)."""
        return order.inclusion_probs(level)[1]

    def mean_size(self, query_probs: Floats) -> float:
        """Return how many queries to expect where they come with probabilities π (n_queries,), or in one draw."""

    def drawn(self, order: Order, key: np.uint64, blocks: Sequence[float], *, expected: bool) -> DrawnUnits:
        """Return what a key draws for the cumulated budgets at which blocks end."""

    def rows(self, reading: Reading, selection: Selection) -> Ints:
        """Return the query of each row that an estimator makes of a selection."""
        return selection.queries[reading.chosen_by_chance(selection)]

    # Of a simulation

    @classmethod
    def interval(cls, kind: str) -> str:
        """Return the name of the kind of interval that repetitions have where this one is asked for."""
        return kind

    @classmethod
    def on_average(cls, expected: bool) -> bool:
        """Return whether repetitions meet a budget on average where that is asked for."""
        return False


def ascending(budgets: Sequence[float]) -> Floats:
    """Return budgets as an array once they ascend."""
    array = np.asarray(budgets, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or np.any(np.diff(array) <= 0):
        raise InputError(f"budgets must be given once each, in ascending order, got {list(budgets)}")
    return array


def check_budget(budget: float) -> float:
    """Return a budget that is a positive number."""
    if not is_number(budget) or not (math.isfinite(budget) and budget > 0):
        raise InputError(f"the budget must be a positive number, got {brief(budget)}")
    return float(budget)


def check_pays(budget: float, least: float, order: Order, costs: Floats, what: str) -> None:
    """Raise BudgetError where a budget is less than the least that works; ``what`` the dearest of some costs are."""
    if check_budget(budget) * (1 + ROUNDING) < least:
        query, dearest = repr(order.pool.query_texts[int(np.argmax(costs))]), float(costs.max(initial=0.0))
        text = f"budget {budget:g} is below what {what}, {dearest:g} for {query}"
        raise BudgetError(text, budget=budget, needed=least, what=f"what {what} ({{}} at most)")
