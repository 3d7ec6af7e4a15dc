"""The least new labels with which a sample that goes on from earlier ones reaches half-widths, of segments say.

As in `activeeval.core.planning.least_budget` half-widths become bounds on variances, v_g = h_g² / f_g, for which
`activeeval.core.design.least_cost` finds the weights of the targets, now above what is in hand. The design that these
make has least rates of its own, so that all it may be read for can come; the threshold is then the one at which this
design reaches every half-width, and bounds of those that it more than reaches are widened. What is in hand counts with
its probability M. By how much the model errs and how samples differ is what rehearsals show of samples that begin with
nothing and cost what is in hand in the end.

Questions that have no half-width, as what a night is more than another, keep a share of what rates are made of. The
pooled variance of the goals, Σ w_g V_g, and that of each of these questions are scaled so that a design of its own
would leave 1 of it at the same cost, and added up by their shares.
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
"""Of what rates are made of, for all questions together that have no half-width. Of 0, .1, .25 and .5 (docs/nights.py,
± 2 and ± 2.5 in two segments, three seeds, new items with .01 at least) three nights took 17, 19, 21 and 23 new labels,
and what each was more than the one before came to ± .44, .36, .35 and .34."""
_STEPS, _NEAR, _ROUNDS, _ALIKE = 8, 0.002, 4, 0.05
"""Of moving bounds, first until `least_cost` reaches the half-widths, then until the design reaches all alike."""
_BELOW, _STRIDE, _CLOSE = 7.0, 0.25, 1e-4
"""In logarithms of a threshold: how far below the first place that is sure it is looked for, by which steps, and how
well it is told."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeastLabels:
    """What reaches half-widths, with what is in hand.

    Attributes
    ----------
    weights : tuple of float
        Of all targets of the planner.
    enough : float
        The threshold of the design that they make; 0 where what is in hand is enough.
    cost : float
        Of new labels on average at that threshold, in mean items.
    prospects : tuple of Prospect
        Of all targets, at the threshold that the budget pays for.
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
    """Return the least new labels that reach a half-width for each of several targets, and by which weights.

    Parameters
    ----------
    planner : Planner
        Of all targets, its weights put aside.
    method : Method
        By levels, with a grade model, on items or to depths that follow no labels; nothing costs to turn to a query.
    goals : mapping of int to Goal
        Half-widths, by the number of the target.
    budget : float
        What new labels may cost on average.
    beside : sequence of int
        The numbers of targets that keep a share.
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
    """Return weights with a share for targets beside; where there are no weights all lose alike."""
    p = design_input.places.pool.query_probs
    alone = design_input.planned(p) ** 2
    if not weights.any():
        return np.array(equal_loss_weights(np.sqrt(alone)))
    counted = [which for which in beside if alone[which] > 0]
    if not counted:
        return weights
    joint = joint_variances(design_input.target_variances, weights.tolist(), design_input.places)
    ratios = design_input.stage.pooled(design_input.places, joint)
    together = math.fsum(weighed(design_input.places, ratios, p)[0].tolist()) ** 2
    out = weights.copy()
    out[counted] += SHARE / (1 - SHARE) * together / (len(counted) * alone[counted])
    return out


@dataclass(frozen=True, kw_only=True, eq=False)
class _LabelSearch:
    """What is planned for, by which method, with what in hand."""

    planner: Planner
    method: Method
    goals: Mapping[int, Goal]
    in_hand: EarlierLabels
    budget: float
    beside: Sequence[int]

    def places(self, forecasts: Sequence[Forecast]) -> EarlierPlaces:
        """Return the places of the order of a design, with what is in hand of them."""
        return EarlierPlaces.of(plan_of(forecasts[0]).order, self.in_hand, self.budget)

    @cached_property
    def known(self) -> tuple[Forecast, ...]:
        """What is known of how much the values of all targets vary, whatever the weights."""
        plain = self.planner.forecasts(self.method)
        return self.planner.rehearsed(self.method) if plain[0].cost else plain

    def least(self, bounds: Floats) -> LeastCost:
        """Return the least new labels for bounds on variances, were there no least rates and nothing beside."""
        forecasts = self.known
        floors = self.places(forecasts).floors[plan_of(forecasts[0]).places]
        return least_cost(self.planner.design_input(self.method), bounds, floors)

    def first_bounds(self) -> Floats:
        """Return bounds on variances that make the probabilities of `least` reach the half-widths."""
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
        """Return what the design of weights takes, and how far its variances are from what reaches each half-width."""
        weights = shared(self.planner.design_input(self.method), weights, self.beside)
        forecasts = forecasts_like(self.planner, self.method, weights, self.known)
        places = self.places(forecasts)
        enough = self.enough(forecasts, places)
        reached, drawn = (places.readable(at) for at in (enough, min(enough, places.threshold(self.budget))))
        labels = LeastLabels(
            weights=tuple(weights.tolist()),
            enough=enough,
            cost=places.cost(enough),
            prospects=tuple(self.prospect(forecast, drawn) for forecast in forecasts),
        )
        moves = {which: move(goal, self.prospect(forecasts[which], reached)) for which, goal in self.goals.items()}
        return labels, moves

    def enough(self, forecasts: Sequence[Forecast], places: EarlierPlaces) -> float:
        """Return the least threshold at which all half-widths are reached; 0 where they are already."""
        if self.reaches(forecasts, places.readable(0.0)):
            return 0.0
        rates = places.order.place_rates[places.order.place_rates > 0]
        low, most = -math.log(float(rates.max())) - _BELOW, -math.log(float(rates.min()))
        high = low
        # with few queries left to chance intervals widen again before all is judged
        while high < most and not self.reaches(forecasts, places.readable(math.exp(high))):
            low, high = high, high + _STRIDE
        while high - low > _CLOSE:
            middle = (low + high) / 2
            reached = self.reaches(forecasts, places.readable(math.exp(middle)))
            low, high = (low, middle) if reached else (middle, high)
        return math.exp(high)

    def reaches(self, forecasts: Sequence[Forecast], readable: Floats) -> bool:
        """Return whether probabilities of places (n_places,) reach all half-widths."""
        return all(goal.is_met(self.prospect(forecasts[which], readable)) for which, goal in self.goals.items())

    def prospect(self, forecast: Forecast, readable: Floats) -> Prospect:
        """Return what to expect of probabilities with which places can be read, shape (n_places,)."""
        plan = plan_of(forecast)
        chances = np.ones(plan.offsets.size - 1)
        if plan.order.is_nested:
            has_any = np.diff(plan.offsets) > 0
            chances[has_any] = readable[plan.places[plan.offsets[:-1][has_any]]]
        return self.prospect_of(forecast, readable[plan.places], chances)

    def prospect_of(self, forecast: Forecast, judged: Floats, chances: Floats) -> Prospect:
        """Return what to expect of probabilities of wanted places and of queries."""
        assert isinstance(forecast.way, LevelSpending)
        plan = forecast.way.plan
        in_the_end = float(plan.order.costs[plan.places] @ judged)
        return forecast.prospect(in_the_end, forecast.way.of_chances(chances, judged))


def _are_settled(moves: Mapping[int, float], least: LeastCost, near: float) -> bool:
    """Return whether bounds would hardly move; one that others imply may be as wide as it likes."""
    return all(moved > 1 - near and (least.weights[which] == 0 or moved < 1 + near) for which, moved in moves.items())


def _moved(bounds: Floats, moves: Mapping[int, float], least: LeastCost) -> Floats:
    """Return bounds that are so many times the variances that were reached."""
    moved = bounds.copy()
    for which, factor in moves.items():
        reached = least.variances[which]
        moved[which] = (reached if reached > 0 else bounds[which]) * factor
    return moved
