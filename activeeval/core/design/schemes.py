"""Schemes: how an order is traversed under a budget, and everything that depends on that choice.

Scheme-dependent behaviour is a method of the scheme, so callers never test for its type. Only what needs more than a
design (evidence, repetitions, forecasts) dispatches on the class, once per package.
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
"""Relative tolerance for the rounding of a sum of costs."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnUnits:
    """Units of an order that a key draws within a budget, in the order in which they are judged.

    Attributes
    ----------
    queries : ndarray of int64, shape (n_units,)
    levels : sequence of float
        Level of each unit in its order; `math.nan` (the object itself) for a draw with replacement.
    costs : ndarray, shape (n_units,)
        In mean items.
    places_of : callable
        Maps a unit, counted from 0, to its places.
    selection : callable
        Maps a number of units to the selection of the first ones.
    block_ends : tuple of int
        Cumulated number of units at the end of each block.
    ended : str
        Reason why no further unit follows.
    """

    queries: Ints
    levels: Sequence[float]
    costs: Floats
    places_of: Callable[[int], Ints]
    selection: Callable[[int], Selection]
    block_ends: tuple[int, ...]
    ended: str


class Scheme(Protocol):
    """How an order is traversed. Methods with a body are the defaults of all schemes.

    Attributes
    ----------
    title : str
        Display name.
    is_with_replacement : bool
        True if a query may be drawn again.
    answers_several : bool
        True if one sample serves several targets.
    can_be_topped_up : bool
        True if the sample of a larger budget contains that of a smaller one.
    goes_on : bool
        True if the next sample with the same random numbers contains this one, while its estimate has an error of
        its own.
    is_planned : bool
        True if the level that a budget reaches determines the planned variance.
    takes_known : bool
        True if it uses grades known beforehand.
    """

    title: ClassVar[str] = "levels"
    is_with_replacement: ClassVar[bool] = False
    answers_several: ClassVar[bool] = True
    can_be_topped_up: ClassVar[bool] = True
    goes_on: ClassVar[bool] = False
    is_planned: ClassVar[bool] = True
    takes_known: ClassVar[bool] = True

    # Used by methods, before an order exists

    @classmethod
    def made(cls, draw_probs: Callable[[], Floats]) -> Self:
        """Build the scheme of a pool; ``draw_probs`` computes q of its queries, shape (n_queries,)."""
        return cls()

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_queries: int) -> Self:
        """Rebuild the scheme from the arrays that `arrays` wrote; raise ValueError if they do not fit."""
        return cls()

    @classmethod
    def check_asked(cls, name: str, targets: Sequence[Target], known: Ints) -> None:
        """Raise InputError if a method's sample cannot serve the targets, or not with these known grades."""
        return

    @classmethod
    def places(cls, places: OrderPlaces) -> OrderPlaces:
        """Return places with those marked as wanted that have to be judged."""
        return places

    @classmethod
    def rates(cls, design_input: DesignInput, weights: Sequence[float], *, is_optimal: bool) -> RelativeRates:
        """Compute the relative rates of a part of a pool."""
        return design_input.rates(weights, alike=not is_optimal)

    @classmethod
    def columns(cls, design_input: DesignInput) -> tuple[Floats, ...]:
        """Return per-query columns needed over the whole pool before drawing, shape (n_queries,) each."""
        return ()

    @classmethod
    def estimator(cls, *, is_fitted: bool) -> str:
        """Return the name of a method's estimator, fitted to the sample or not."""
        return "regression" if is_fitted else "difference"

    @classmethod
    def questions(cls, targets: Sequence[Target]) -> list[Sequence[Target]]:
        """Group targets by the samples that serve them."""
        return [targets]

    # Used with an order

    @property
    def in_hand(self) -> Ints | None:
        """Grades that earlier samples with the same numbers have judged, −1 elsewhere; None without earlier samples."""
        return None

    @property
    def unjudgeable(self) -> Ints:
        """Items that judges of earlier samples could not judge."""
        return np.empty(0, dtype=np.int64)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the scheme's state as arrays, for a sample's file."""
        return {}

    def cost(self, order: Order) -> float:
        """Return the cost of judging everything, in mean items."""
        return order.cost

    def least(self, order: Order) -> float:
        """Return the smallest valid budget, in mean items."""

    def ends(
        self, name: str, order: Order, budget: float, blocks: Sequence[float] | None, *, expected: bool
    ) -> tuple[float, ...]:
        """Check the budget and return the cumulated budgets at which blocks end, the budget last; see `Design`."""

    def caution(self, order: Order, budget: float) -> Caution | None:
        """Return a warning about a budget, or None."""
        return None

    def inclusion_probs(self, order: Order, budget: float) -> tuple[Floats, Floats]:
        """Compute the probabilities of `Design.inclusion_probs` at a budget."""

    def item_probs(self, order: Order, selection: Selection, level: float) -> Floats:
        """Compute the probability that each place is in the sample of a level, shape (n_places,)."""
        return order.inclusion_probs(level)[1]

    def mean_size(self, query_probs: Floats) -> float:
        """Return the expected number of queries given their probabilities π (n_queries,), or per draw."""

    def drawn(self, order: Order, key: np.uint64, blocks: Sequence[float], *, expected: bool) -> DrawnUnits:
        """Draw the units of a key, given the cumulated budgets at which blocks end."""

    def rows(self, reading: Reading, selection: Selection) -> Ints:
        """Return the query of each row that an estimator uses from a selection."""
        return selection.queries[reading.chosen_by_chance(selection)]

    # Used by simulations

    @classmethod
    def interval(cls, kind: str) -> str:
        """Return the kind of interval that repetitions use if this kind is requested."""
        return kind

    @classmethod
    def on_average(cls, expected: bool) -> bool:
        """True if repetitions meet a budget on average, where requested."""
        return False


def ascending(budgets: Sequence[float]) -> Floats:
    """Check that budgets ascend and return them as an array."""
    array = np.asarray(budgets, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or np.any(np.diff(array) <= 0):
        raise InputError(f"budgets must be distinct and ascending, got {list(budgets)}")
    return array


def check_budget(budget: float) -> float:
    """Check that a budget is a positive number and return it."""
    if not is_number(budget) or not (math.isfinite(budget) and budget > 0):
        raise InputError(f"the budget must be a positive number, got {brief(budget)}")
    return float(budget)


def check_pays(budget: float, least: float, order: Order, costs: Floats, what: str) -> None:
    """Raise BudgetError if a budget is below the least valid one.

    ``what`` names, in the message, the unit with the largest of ``costs`` (n_queries,).
    """
    if check_budget(budget) * (1 + ROUNDING) < least:
        query, dearest = repr(order.pool.query_texts[int(np.argmax(costs))]), float(costs.max(initial=0.0))
        text = f"budget {budget:g} is below the cost of {what}, {dearest:g} for {query}"
        raise BudgetError(text, budget=budget, needed=least, what=f"{what} ({{}} at most)")
