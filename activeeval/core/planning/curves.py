"""Expected half-widths as a function of the budget, made non-increasing.

A method that samples by level judges upward: the sample of a larger budget contains that of each smaller budget, and
can be read at its end. So a larger budget never gives less information. Plans for single budgets can contradict this:
rehearsals have random errors, few queries can hide the variation of values (a few equal values give a narrow interval),
and near the full budget few queries remain random, so that the t quantile is large. Both ends are corrected upward: the
half-width at a budget is the largest of those at this and all larger budgets. A small budget that seems to do better
than larger ones does so by chance; taking the minimum over smaller budgets would extend that error to all larger ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from activeeval.core.planning.prospects import Prospect
from activeeval.core.types import Floats

_STEP, _ROUNDING = 1.15, 1e-9
"""Ratio between budgets of the grid: the half-width falls by about 7 % from one to the next. Rounding error."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Expected half-widths of a method over budgets, from the smallest that works to the cost of judging everything.

    Attributes
    ----------
    at : callable
        Maps a budget to the `Prospect` (expected precision) there, without regard to other budgets. Budgets are in mean
        items (the mean item of the pool costs 1).
    least, cost : float
        Smallest valid budget, and the cost of judging everything.
    knots : sequence of float
        Further budgets for the grid: those at which samples were simulated.
    """

    at: Callable[[float], Prospect]
    least: float
    cost: float
    knots: Sequence[float] = ()
    _prospects: dict[float, Prospect] = field(default_factory=dict, init=False, repr=False)
    _halves: dict[tuple[str, float, float], Floats] = field(default_factory=dict, init=False, repr=False)

    @property
    def budgets(self) -> Floats:
        """Grid of budgets in mean items for which half-widths are computed, ascending, shape (n_budgets,).

        They are the smallest valid budget and steps of about the ratio `_STEP` from it, the `knots`, and the cost of
        everything.
        """
        if not 0 < self.least < self.cost:
            return np.array([self.cost])
        n_steps = math.ceil(math.log(self.cost / self.least) / math.log(_STEP))
        between = np.geomspace(self.least, self.cost, n_steps + 1)[:-1]
        inside = [knot for knot in self.knots if self.least <= knot < self.cost]
        return np.unique([*between, *inside, self.cost])

    def half_width(self, budget: float, scope: str, confidence: float, chance: float) -> float:
        """Compute the expected half-width at a budget in mean items, by log-linear interpolation on the grid.

        ``chance`` is the probability with which a sample's half-width stays below the result; ``scope`` is "pool" or
        "population". The result is infinite below the smallest valid budget, or if no half-width is known there. The
        mean item costs 1.
        """
        budgets, halves = self.budgets, self._falling(scope, confidence, chance)
        k = int(np.searchsorted(budgets, budget * (1 + _ROUNDING), side="right")) - 1
        if k < 0 or not math.isfinite(halves[k]):
            return math.inf
        if k == budgets.size - 1 or halves[k] == 0:
            return float(halves[k])
        share = max(math.log(budget / budgets[k]) / math.log(budgets[k + 1] / budgets[k]), 0.0)
        if halves[k + 1] == 0:
            return float((1 - share) * halves[k])
        return float(halves[k] ** (1 - share) * halves[k + 1] ** share)

    def _falling(self, scope: str, confidence: float, chance: float) -> Floats:
        """Compute non-increasing half-widths on the grid of budgets, shape (n_budgets,).

        ``chance`` is the probability with which a sample's half-width stays below the result.
        """
        key = (scope, confidence, chance)
        if key not in self._halves:
            halves = np.array(
                [self._prospect(b).half_width_alone(scope, confidence, chance=chance) for b in self.budgets.tolist()]
            )
            known = np.where(np.isfinite(halves), halves, -math.inf)  # the maximum ignores unknown half-widths
            falling = np.maximum.accumulate(known[::-1])[::-1]
            # infinite before the first budget with a finite half-width, finite from it on
            first = int(np.argmax(np.isfinite(halves))) if np.isfinite(halves).any() else halves.size
            self._halves[key] = np.where(np.arange(halves.size) < first, math.inf, falling)
        return self._halves[key]

    def _prospect(self, budget: float) -> Prospect:
        """Return the expected precision at a budget (a `Prospect`), computed on first use."""
        if budget not in self._prospects:
            self._prospects[budget] = self.at(budget)
        return self._prospects[budget]
