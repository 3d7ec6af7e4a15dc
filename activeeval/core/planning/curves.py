"""Half-widths over budgets: what a larger budget is to expect is never wider than what a smaller one is.

A method by levels judges upward: the sample of a larger budget holds that of each smaller one, at whose end it may be
read as well. So the larger one says no less. What is planned at each budget alone need not follow: rehearsals differ by
chance, few queries hide how much values differ (a handful of equal ones makes a narrow interval), and near the end few
queries are left to chance, of which a t quantile is large. Both ends are put right from above: a budget is to expect no
less than the widest of what larger ones are. What a small sample seems to promise beyond them is luck, and a plan that
took the least of the smaller ones in place of it would promise that luck to all larger ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from activeeval.core.planning.prospects import Prospect
from activeeval.core.types import Floats

_STEP, _ROUNDING = 1.15, 1e-9
"""Between budgets that are looked up: a half-width falls by about 7 % from one to the next."""


@dataclass(frozen=True, eq=False)
class Curve:
    """What to expect of a method at budgets from the least that works to that of everything.

    Attributes
    ----------
    at : callable
        Of a budget in mean items makes what is to expect there, whatever other budgets say.
    least, cost : float
        The smallest budget that works, and that of everything, at which nothing is left to chance.
    knots : sequence of float
        Budgets that are looked up in any case: those that were rehearsed.
    """

    at: Callable[[float], Prospect]
    least: float
    cost: float
    knots: Sequence[float] = ()
    _prospects: dict[float, Prospect] = field(default_factory=dict, init=False, repr=False)
    _halves: dict[tuple[str, float, float], Floats] = field(default_factory=dict, init=False, repr=False)

    @property
    def budgets(self) -> Floats:
        """Where half-widths are looked up, ascending."""
        if not 0 < self.least < self.cost:
            return np.array([self.cost])
        n_steps = math.ceil(math.log(self.cost / self.least) / math.log(_STEP))
        between = np.geomspace(self.least, self.cost, n_steps + 1)[:-1]
        inside = [knot for knot in self.knots if self.least <= knot < self.cost]
        return np.unique([*between, *inside, self.cost])

    def half_width(self, budget: float, scope: str, confidence: float, chance: float) -> float:
        """Compute the half-width to expect at a budget: straight lines of logarithms between those looked up."""
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
        """Compute half-widths that never rise, at the budgets that are looked up."""
        key = (scope, confidence, chance)
        if key not in self._halves:
            alone = np.array(
                [self._prospect(b).half_width_alone(scope, confidence, chance=chance) for b in self.budgets.tolist()]
            )
            known = np.where(np.isfinite(alone), alone, -math.inf)
            falling = np.maximum.accumulate(known[::-1])[::-1]
            # before the first interval that is to expect there is none, from it on there always is one
            first = int(np.argmax(np.isfinite(alone))) if np.isfinite(alone).any() else alone.size
            self._halves[key] = np.where(np.arange(alone.size) < first, math.inf, falling)
        return self._halves[key]

    def _prospect(self, budget: float) -> Prospect:
        if budget not in self._prospects:
            self._prospects[budget] = self.at(budget)
        return self._prospects[budget]
