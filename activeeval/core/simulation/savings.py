"""Labels that a method saves relative to random queries judged whole, from the half-widths of both by budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from activeeval.core.simulation.summaries import Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetComparison:
    """A budget of the default method, and the budget of random queries with the same half-width.

    Attributes
    ----------
    budget, random_budget : float
        In judgments; that of random queries by interpolation of logarithms.
    half_width : float
        Half-width that both reach.
    coverage : float
        Share of the default method's 95 % intervals that contain the true value.
    """

    budget: float
    random_budget: float
    half_width: float
    coverage: float

    @property
    def labels_saved(self) -> float:
        """Share of the judgments of random queries that the default method saves."""
        return 1 - self.budget / self.random_budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """Half-widths of a difference by budget, with random queries and with the default method of its measure.

    Attributes
    ----------
    title : str
        The measure.
    budgets : tuple of float
        In judgments.
    random, sampled : tuple of float
        Mean half-widths of the 95 % intervals at each budget: of random queries judged whole, and of the default
        method.
    compared : BudgetComparison or None
        None if no half-width is reached by both.
    """

    title: str
    budgets: tuple[float, ...]
    random: tuple[float, ...]
    sampled: tuple[float, ...]
    compared: BudgetComparison | None


def saving_of(title: str, summaries: Sequence[Summary]) -> Saving:
    """Compare the default method with random queries at one budget, by their half-widths.

    ``summaries`` are those of methods "passive" (random queries) and "sampled". The budget is the middle one of those
    whose half-width random queries reach within the simulated budgets: there is no extrapolation. ``title`` is the
    measure.
    """
    random = [s for s in summaries if s.method == "passive"]
    sampled = [s for s in summaries if s.method == "sampled"]
    budgets, halves = [s.budget for s in random], [s.width.value / 2 for s in random]
    reached = [s for s in sampled if halves[-1] <= s.width.value / 2 <= halves[0]]
    return Saving(
        title=title,
        budgets=tuple(budgets),
        random=tuple(halves),
        sampled=tuple(s.width.value / 2 for s in sampled),
        compared=_compared(reached[len(reached) // 2], budgets, halves) if reached else None,
    )


def _compared(chosen: Summary, budgets: Sequence[float], halves: Sequence[float]) -> BudgetComparison:
    """Interpolate the budget at which random queries reach a summary's half-width.

    ``budgets`` and ``halves`` are those of random queries, ascending by budget.
    """
    half = chosen.width.value / 2
    falling = np.log(np.minimum.accumulate(halves))
    needed = math.exp(np.interp(-math.log(half), -falling, np.log(budgets)))
    return BudgetComparison(budget=chosen.budget, random_budget=needed, half_width=half, coverage=chosen.coverage.value)
