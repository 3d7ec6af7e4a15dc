"""Forecasts of a design for which only sums over the pool at some sampling levels are known."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from activeeval.core.planning.curves import Curve
from activeeval.core.planning.prospects import FITTED, Prospect
from activeeval.core.planning.scales import Scale
from activeeval.core.types import Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class ForecastBySums:
    """Forecast of a design's precision for the queries of its pool, interpolated between some sampling levels.

    Attributes
    ----------
    method : str
    costs, variances, queries, items, by_chance : ndarray, shape (n_levels,)
        At each level, ascending by cost: cost in mean items (the mean item of the pool costs 1), variance of the
        estimate, and expected numbers of judged queries, of judged items and of queries judged by chance.
    n_queries : int
        Number of queries in the pool.
    cost, least : float
        Cost of judging everything, and the smallest valid budget, in mean items.
    is_fitted : bool
        True if the estimator fits coefficients, which cost degrees of freedom.
    scale : Scale
        Ratio of the actual variance to the variance expected by the model.
    is_untried : bool
        True if the model was not checked against any label.
    widest : float
        Upper bound of half-widths: half the range of the measure.

    Examples
    --------
    >>> sums = {"costs": [1.0, 4.0, 16.0], "variances": [16.0, 4.0, 0.0], "queries": [1.0, 3.0, 8.0]}
    >>> arrays = {name: np.array(values) for name, values in sums.items()}
    >>> arrays |= {"items": arrays["costs"], "by_chance": arrays["queries"]}
    >>> forecast = ForecastBySums(
    ...     method="items", **arrays, n_queries=8, cost=16.0, least=1.0, is_fitted=False, scale=Scale()
    ... )
    >>> round(forecast.at(2.0).of_pool, 6), forecast.at(16.0).of_pool
    (8.0, 0.0)
    """

    method: str
    costs: Floats
    variances: Floats
    queries: Floats
    items: Floats
    by_chance: Floats
    n_queries: int
    cost: float
    least: float
    is_fitted: bool
    scale: Scale
    is_untried: bool = False
    widest: float = math.inf

    @property
    def all_judged(self) -> Prospect:
        """Expected precision if everything is judged."""
        return self.at(self.cost)

    def at(self, budget: float) -> Prospect:
        """Compute the expected precision at a budget in mean items (the mean item costs 1)."""
        return replace(self._alone(budget), curve=self._curve)

    @cached_property
    def _curve(self) -> Curve:
        """Half-widths as a non-increasing function of the budget."""
        return Curve(self._alone, self.least, self.cost)

    def _alone(self, budget: float) -> Prospect:
        """Compute the expected precision at a budget without regard to other budgets.

        Judging everything leaves no variance; below the smallest valid budget the variance is infinite. So is the part
        that the choice of the pool adds for the population (`of_scope`), which the sums do not contain.
        """
        if budget >= self.cost * (1 - 1e-9):
            variance, n = 0.0, math.inf
        else:
            variance, n = self._between(budget, self.variances), self._between(budget, self.by_chance)
            if self.is_fitted:
                variance = variance * n / (n - FITTED) if n > FITTED else math.inf
        works = budget >= self.least * (1 - 1e-9)
        return Prospect(
            method=self.method,
            budget=budget,
            of_pool=self.scale.value * variance if works else math.inf,
            of_scope=math.inf,
            n_open=n,
            of_census=self.n_queries - 1.0,
            queries=self._between(budget, self.queries),
            items=self._between(budget, self.items),
            spread=self.scale.spread,
            is_guess=self.is_untried,
            widest=self.widest,
        )

    def _between(self, budget: float, values: Floats) -> float:
        """Interpolate ``values`` (n_levels,) at a budget, between the costs of the levels.

        It is linear in the log of the budget, for the log of the values if both neighbours are positive, else for the
        values themselves.
        """
        rising = np.maximum.accumulate(self.costs)
        at = math.log(budget)
        known = np.log(np.maximum(rising, np.finfo(float).tiny))
        k = int(np.clip(np.searchsorted(known, at), 1, known.size - 1))
        low, high = values[k - 1], values[k]
        share = float(np.clip((at - known[k - 1]) / max(known[k] - known[k - 1], 1e-300), 0, 1))
        if low > 0 and high > 0:
            return float(np.exp((1 - share) * np.log(low) + share * np.log(high)))
        return float((1 - share) * low + share * high)
