"""Schemes: how units are drawn from an order under a budget, and everything that depends on that choice.

An order lists all places (items in the judging order of their query) with their sampling rates. A unit is what is drawn
and judged at once: an item, a prefix of a list or a query.

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
from activeeval.core.design.order_places import OrderPlaces
from activeeval.core.design.orders import Order
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
    """Units that a key (the seed of a sample) draws from an order within a budget, in the order of their judging.

    Attributes
    ----------
    queries : ndarray of int64, shape (n_units,)
        Query of each unit.
    levels : sequence of float
        Level of each unit (its position in the judging order); `math.nan` (the object itself) for a draw with
        replacement.
    costs : ndarray, shape (n_units,)
        In mean items (the mean cost of an item of the pool is 1).
    places_of : callable
        Maps a unit, counted from 0, to its places, as positions on the order's place axis.
    selection : callable
        Maps a number n of units to the `Selection` of the first n.
    block_ends : tuple of int
        Cumulated number of units at the end of each block (after which the sample can be read).
    ended : str
        Reason why no further unit follows, as text.
    """

    queries: Ints
    levels: Sequence[float]
    costs: Floats
    places_of: Callable[[int], Ints]
    selection: Callable[[int], Selection]
    block_ends: tuple[int, ...]
    ended: str


class Scheme(Protocol):
    """How units are drawn from an order. Methods with a body are the defaults of all schemes.

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
        True if the sample continues earlier samples with the same random numbers, whose labels count again.
    is_planned : bool
        True if the sampling level that a budget reaches determines the planned variance.
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
        """Build the scheme of a pool; ``draw_probs`` computes draw probabilities (n_queries,), if it needs them."""
        return cls()

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_queries: int) -> Self:
        """Rebuild the scheme from the named arrays of a sample's file; raise ValueError if they do not fit the pool."""
        return cls()

    @classmethod
    def check_asked(cls, name: str, targets: Sequence[Target], known: Ints) -> None:
        """Raise InputError if a sample of the method ``name`` cannot serve the targets with these known grades.

        ``known`` has shape (n_items,), with −1 for an unknown grade. By default all are served.
        """
        return

    @classmethod
    def places(cls, places: OrderPlaces) -> OrderPlaces:
        """Mark which places (items in the judging order) this scheme judges; by default those already marked."""
        return places

    @classmethod
    def rates(cls, design_input: DesignInput, weights: Sequence[float], *, is_optimal: bool) -> RelativeRates:
        """Compute the sampling rates of a part of a pool, up to a common factor; ``weights`` are those of the targets.

        ``is_optimal`` is False for a method with equal rates.
        """
        return design_input.rates(weights, alike=not is_optimal)

    @classmethod
    def columns(cls, design_input: DesignInput) -> tuple[Floats, ...]:
        """Return the arrays by query from which draw probabilities are computed, (n_queries,) each; none by default."""
        return ()

    @classmethod
    def estimator(cls, *, is_fitted: bool) -> str:
        """Return the estimator's name; ``is_fitted`` is True if its coefficients are fitted to the sample."""
        return "regression" if is_fitted else "difference"

    @classmethod
    def questions(cls, targets: Sequence[Target]) -> list[Sequence[Target]]:
        """Group the targets so that one sample serves each group; by default one sample serves all."""
        return [targets]

    # Used with an order

    @property
    def in_hand(self) -> Ints | None:
        """Grades from earlier samples that this one continues, −1 elsewhere; None without earlier samples."""
        return None

    @property
    def unjudgeable(self) -> Ints:
        """Indices of the items that judges of earlier samples could not judge."""
        return np.empty(0, dtype=np.int64)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the scheme's state as named arrays, for a sample's file."""
        return {}

    def cost(self, order: Order) -> float:
        """Return the cost of judging everything that can change a value, in mean items (the mean item costs 1)."""
        return order.cost

    def least(self, order: Order) -> float:
        """Return the smallest valid budget, in mean items (the mean item costs 1)."""

    def ends(
        self, name: str, order: Order, budget: float, blocks: Sequence[float] | None, *, expected: bool
    ) -> tuple[float, ...]:
        """Check the budget and return the cumulated budgets at which blocks end, the whole budget last.

        A block is a part of the budget, at whose end the sample can be read.

        Parameters
        ----------
        name : str
            Name of the method, for errors.
        budget : float
            In mean items (the mean item costs 1), as ``blocks``.
        blocks : sequence of float or None
            Ends of the blocks (parts after which the sample can be read) before the last; None for the default.
        expected : bool
            True if the budget is met on average instead of never exceeded.

        Raises
        ------
        BudgetError, InputError
            If the budget is too small, or the scheme has no such blocks or budgets.
        """

    def caution(self, order: Order, budget: float) -> Caution | None:
        """Return a warning about a budget (in mean items) with which estimates are fragile, or None.

        The mean item costs 1.
        """
        return None

    def inclusion_probs(self, order: Order, budget: float) -> tuple[Floats, Floats]:
        """Compute the probability that each query, and each place, is sampled with a budget; (n_queries,), (n_places,).

        With replacement, they are the probabilities of one draw. A place is an item in the judging order of its query.
        """

    def item_probs(self, order: Order, selection: Selection, level: float) -> Floats:
        """Compute the probability that each place (item in the judging order) is sampled, shape (n_places,).

        ``level`` is the sampling level T that was reached: a place of rate r is taken with probability min(1, T r).
        ``selection``, the sample, is used only by schemes without levels.
        """
        return order.inclusion_probs(level)[1]

    def mean_size(self, query_probs: Floats) -> float:
        """Return the expected number of sampled queries, given their probabilities (n_queries,); 1 with replacement."""

    def drawn(self, order: Order, key: np.uint64, blocks: Sequence[float], *, expected: bool) -> DrawnUnits:
        """Draw the units of a key (the seed of the sample): their queries, levels, costs and places, in judging order.

        A unit is what is judged at once: an item, a part of a query's list, or a whole query. ``order`` holds the
        items that may be judged, with sampling rates and costs. ``blocks`` are the cumulated budgets at which the
        sample can be read, the whole last; ``expected`` is True if the budget is met on average instead of never
        exceeded.
        """

    def rows(self, reading: Reading, selection: Selection) -> Ints:
        """Return the query of each row of an estimator (indices): judged ones sampled by chance, not with certainty."""
        return selection.queries[reading.chosen_by_chance(selection)]

    # Used by simulations

    @classmethod
    def interval(cls, kind: str) -> str:
        """Return the kind of interval ("t", …) that simulations use if ``kind`` is requested."""
        return kind

    @classmethod
    def on_average(cls, expected: bool) -> bool:
        """True if simulated samples meet a budget on average; ``expected`` is what the user requested."""
        return False


def ascending(budgets: Sequence[float]) -> Floats:
    """Return budgets as an array; raise InputError unless they are distinct and ascending."""
    array = np.asarray(budgets, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or np.any(np.diff(array) <= 0):
        raise InputError(f"budgets must be distinct and ascending, got {list(budgets)}")
    return array


def check_budget(budget: float) -> float:
    """Return a budget as a float; raise InputError unless it is a positive finite number."""
    if not is_number(budget) or not (math.isfinite(budget) and budget > 0):
        raise InputError(f"the budget must be a positive number, got {brief(budget)}")
    return float(budget)


def check_pays(budget: float, least: float, order: Order, costs: Floats, what: str) -> None:
    """Raise BudgetError if a budget is below ``least``, and InputError unless it is a positive number.

    The message names the query with the largest of ``costs`` (n_queries,), and calls its unit ``what``. All costs and
    the budget are in mean items (the mean item costs 1).
    """
    if check_budget(budget) * (1 + ROUNDING) < least:
        query, dearest = repr(order.pool.query_texts[int(np.argmax(costs))]), float(costs.max(initial=0.0))
        text = f"budget {budget:g} is below the cost of {what}, {dearest:g} for {query}"
        raise BudgetError(text, budget=budget, needed=least, what=f"{what} ({{}} at most)")
