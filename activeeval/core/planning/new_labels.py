"""Smallest number of new labels with which a sample that extends earlier ones reaches given half-widths.

As in `activeeval.core.planning.least_budget`, half-widths become bounds on variances, v_g = h_g² / f_g, for which
`activeeval.core.design.least_cost` finds the weights of the targets, here beyond the labels in hand. The resulting
design has minimum rates, so that every item it may be read for can be drawn. The threshold is the one at which this
design reaches every half-width; bounds that are more than reached are widened. Labels in hand count with their
probability M of having been taken by an earlier sample. Model errors and variation between samples come from rehearsals
of samples that start without labels and cost as much as labels in hand and new labels together.

Questions without a half-width, for example the difference between two dates, keep a share of the rates. The pooled
variance of the goals, Σ w_g V_g, and that of each of these questions are scaled so that a design for it alone would
leave a variance of 1 at the same cost, and added up by their shares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from activeeval.core.design import DesignInput, LeastCost, equal_loss_weights, least_cost
from activeeval.core.design.carried_samples import EarlierLabels, EarlierPlaces
from activeeval.core.design.inputs import joint_variances
from activeeval.core.design.methods import Method
from activeeval.core.design.rates import weighed
from activeeval.core.interval_ends import t_quantile
from activeeval.core.planning.forecasts import Forecast, LevelSpending
from activeeval.core.planning.goals import Goal
from activeeval.core.planning.least_budget import forecasts_like, move, plan_of
from activeeval.core.planning.planner import Planner
from activeeval.core.planning.prospects import Prospect
from activeeval.core.types import Floats

SHARE = 0.1
"""Share of the rates for all questions without a half-width together. With 0, .1, .25 and .5 (docs/nights.py, ± 2 and
± 2.5 in two segments, three seeds, minimum rate .01 for new items), three runs took 17, 19, 21 and 23 new labels, and
the half-widths of the differences to the run before were ± .44, .36, .35 and .34."""
_STEPS, _NEAR, _ROUNDS, _ALIKE = 8, 0.002, 4, 0.05
"""Steps and tolerance for moving bounds until `least_cost` reaches the half-widths; then until the design does."""
_BELOW, _STRIDE, _CLOSE = 7.0, 0.25, 1e-4
"""In logarithms of a threshold: start of the search below the threshold at which the first place is certain, step, and
tolerance."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeastLabels:
    """New labels that, together with the labels in hand, reach the half-widths.

    Attributes
    ----------
    weights : tuple of float
        Weights of all targets of the planner.
    enough : float
        Threshold T of the resulting design, which takes a place of rate r with probability min(1, T r) or more; 0 if
        the labels in hand suffice.
    cost : float
        Expected cost of new labels at that threshold, in mean items (the mean item of the pool costs 1).
    prospects : tuple of Prospect
        Expected precision for each target, at the threshold that the budget pays for.
    """

    weights: tuple[float, ...]
    enough: float
    cost: float
    prospects: tuple[Prospect, ...]


def least_labels(
    planner: Planner,
    method: Method,
    goals: Mapping[int, Goal],
    in_hand: EarlierLabels,
    budget: float,
    beside: Sequence[int],
) -> LeastLabels:
    """Find the smallest number of new labels, and the weights, that reach a half-width for each of several targets.

    Parameters
    ----------
    planner : Planner
        Planner of all targets; its weights are ignored.
    method : Method
        A method that judges by random levels (without replacement), with a grade model, without adaptive depth and
        without overhead per query.
    goals : mapping of int to Goal
        Half-widths by index of the target.
    in_hand : EarlierLabels
        Labels of the earlier samples.
    budget : float
        Largest expected cost of new labels, in mean items (the mean item costs 1).
    beside : sequence of int
        Indices of targets without a half-width that keep a share of the sampling rates.
    """
    search = _LabelSearch(planner=planner, method=method, goals=goals, in_hand=in_hand, budget=budget, beside=beside)
    bounds, best = search.first_bounds(), None
    for _ in range(_ROUNDS):
        least = search.least(bounds)
        labels, moves = search.labels(least.weights)
        best = labels if best is None or labels.cost < best.cost else best
        if not least.weights.any() or _are_settled(moves, least, _ALIKE):
            break
        bounds = _moved(bounds, moves, least)
    assert best is not None
    return best


def shared(design_input: DesignInput, weights: Floats, beside: Sequence[int]) -> Floats:
    """Add weights for the targets ``beside`` (indices), so that together they get `SHARE` of the sampling rates.

    ``weights`` and the result have shape (n_targets,). If all weights are 0, all targets get weights of equal loss.
    ``separate`` holds the variance of each target at a cost of 1 with a design for it alone, ``together`` that of the
    weighted sum of all targets: a weight of ``together / separate`` gives a target the same influence as all others.
    """
    p = design_input.places.pool.query_probs
    separate = design_input.planned(p) ** 2
    if not weights.any():
        return np.array(equal_loss_weights(np.sqrt(separate)))
    counted = [which for which in beside if separate[which] > 0]
    if not counted:
        return weights
    joint = joint_variances(design_input.target_variances, weights.tolist(), design_input.places)
    ratios = design_input.stage.pooled(design_input.places, joint)
    together = math.fsum(weighed(design_input.places, ratios, p)[0].tolist()) ** 2
    out = weights.copy()
    out[counted] += SHARE / (1 - SHARE) * together / (len(counted) * separate[counted])
    return out


@dataclass(frozen=True, kw_only=True, eq=False)
class _LabelSearch:
    """Search for the fewest new labels: the steps of `least_labels`, with its parameters as attributes."""

    planner: Planner
    method: Method
    goals: Mapping[int, Goal]
    in_hand: EarlierLabels
    budget: float
    beside: Sequence[int]

    def places(self, forecasts: Sequence[Forecast]) -> EarlierPlaces:
        """Combine the places and sampling rates of the forecasts' design with the labels of earlier samples.

        A place is an item in the judging order of its query.
        """
        return EarlierPlaces.of(plan_of(forecasts[0]).order, self.in_hand, self.budget)

    @cached_property
    def known(self) -> tuple[Forecast, ...]:
        """Forecasts for all targets, calibrated by simulated samples; their calibration is used for all weights.

        Without anything left to judge (cost 0) there is nothing to simulate.
        """
        plain = self.planner.forecasts(self.method)
        return self.planner.rehearsed(self.method) if plain[0].cost else plain

    def least(self, bounds: Floats) -> LeastCost:
        """Find the inclusion probabilities of least cost that keep variances below bounds (n_targets,).

        Minimum rates and the targets `beside` (without a half-width) are ignored. ``floors`` (n_wanted,) are the
        probabilities with which earlier samples took the places, below which those found here do not go.
        """
        forecasts = self.known
        floors = self.places(forecasts).floors[plan_of(forecasts[0]).places]
        return least_cost(self.planner.design_input(self.method), bounds, floors)

    def first_bounds(self) -> Floats:
        """Find bounds on variances, shape (n_targets,), that make the intervals as narrow as their goals.

        The first bounds suppose normal quantiles; each step corrects them by the precision expected with the inclusion
        probabilities of least cost under the bounds (`least`). The bound is infinite for a target without a goal.
        """
        bounds = np.full(len(self.known), math.inf)
        for which, goal in self.goals.items():
            normal = float(t_quantile(goal.confidence, math.inf))
            bounds[which] = ((goal.half_width or 0.0) / normal) ** 2 / self.known[which].taught_scale.value
        for _ in range(_STEPS):
            least = self.least(bounds)
            moves = {
                which: move(goal, self.prospect_of(self.known[which], least.judged, least.turned_to))
                for which, goal in self.goals.items()
            }
            if _are_settled(moves, least, _NEAR):
                break
            bounds = _moved(bounds, moves, least)
        return bounds

    def labels(self, weights: Floats) -> tuple[LeastLabels, dict[int, float]]:
        """Evaluate the design with these weights of the targets, shape (n_targets,).

        Returns the new labels that it needs and, by index of each target with a goal, the factor by which its variance
        may still change to just reach the goal. The factors suppose the threshold that reaches all goals (``enough``),
        the expected precision of the labels at most the threshold that the budget pays for (``affordable``).
        """
        weights = shared(self.planner.design_input(self.method), weights, self.beside)
        forecasts = forecasts_like(self.planner, self.method, weights, self.known)
        places = self.places(forecasts)
        enough = self.enough(forecasts, places)
        # probability of each place to have a usable label at the threshold needed, and at the one that can be paid for
        reached, affordable = (places.readable(at) for at in (enough, min(enough, places.threshold(self.budget))))
        labels = LeastLabels(
            weights=tuple(weights.tolist()),
            enough=enough,
            cost=places.cost(enough),
            prospects=tuple(self.prospect(forecast, affordable) for forecast in forecasts),
        )
        moves = {which: move(goal, self.prospect(forecasts[which], reached)) for which, goal in self.goals.items()}
        return labels, moves

    def enough(self, forecasts: Sequence[Forecast], places: EarlierPlaces) -> float:
        """Find the smallest threshold T that reaches all half-widths; 0 if the labels in hand do.

        A place (item in judging order) of rate r is taken with probability min(1, T r), or more if an earlier sample
        took it with more.
        """
        if self.reaches(forecasts, places.readable(0.0)):
            return 0.0
        rates = places.order.place_rates[places.order.place_rates > 0]
        low, most = -math.log(float(rates.max())) - _BELOW, -math.log(float(rates.min()))
        high = low
        # near the full sample few queries remain random and intervals widen again
        while high < most and not self.reaches(forecasts, places.readable(math.exp(high))):
            low, high = high, high + _STRIDE
        while high - low > _CLOSE:
            middle = (low + high) / 2
            reached = self.reaches(forecasts, places.readable(math.exp(middle)))
            low, high = (low, middle) if reached else (middle, high)
        return math.exp(high)

    def reaches(self, forecasts: Sequence[Forecast], readable: Floats) -> bool:
        """Check whether all half-widths are reached if places have labels with probabilities ``readable`` (n_places,).

        A place is an item in the judging order of its query.
        """
        return all(goal.is_met(self.prospect(forecasts[which], readable)) for which, goal in self.goals.items())

    def prospect(self, forecast: Forecast, readable: Floats) -> Prospect:
        """Compute the expected precision if each place has a label with probability ``readable``, shape (n_places,).

        A place is an item in the judging order of its query. If prefixes are judged (``is_nested``), a query is opened
        with its first wanted place; items that are sampled independently suppose that every query is open.
        """
        plan = plan_of(forecast)
        chances = np.ones(plan.offsets.size - 1)
        if plan.order.is_nested:
            has_any = np.diff(plan.offsets) > 0
            chances[has_any] = readable[plan.places[plan.offsets[:-1][has_any]]]
        return self.prospect_of(forecast, readable[plan.places], chances)

    def prospect_of(self, forecast: Forecast, judged: Floats, chances: Floats) -> Prospect:
        """Compute the expected precision from inclusion probabilities.

        ``judged`` (n_wanted,) are those of wanted places (with an unknown label that can change the value), ``chances``
        (n_queries,) those of queries.
        """
        assert isinstance(forecast.spending, LevelSpending)
        plan = forecast.spending.plan
        total_cost = float(plan.order.costs[plan.places] @ judged)
        return forecast.prospect(total_cost, forecast.spending.of_chances(chances, judged))


def _are_settled(moves: Mapping[int, float], least: LeastCost, near: float) -> bool:
    """Check whether the bounds on variances have settled, up to a tolerance ``near``.

    ``moves`` holds, by index of a target, the factor by which its variance would have to change to just reach its goal:
    near 1, or above 1 for a target of weight 0, whose goal the others imply.
    """
    return all(moved > 1 - near and (least.weights[which] == 0 or moved < 1 + near) for which, moved in moves.items())


def _moved(bounds: Floats, moves: Mapping[int, float], least: LeastCost) -> Floats:
    """Return new bounds (n_targets,): the variances that ``least`` reached, times the factors of ``moves`` by index.

    A variance of 0 leaves no room for a factor: the old bound is multiplied then.
    """
    moved = bounds.copy()
    for which, factor in moves.items():
        reached = least.variances[which]
        moved[which] = (reached if reached > 0 else bounds[which]) * factor
    return moved
