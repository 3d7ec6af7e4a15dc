"""The least new labels with which a sample that goes on from earlier ones reaches half-widths, of segments say.

As in `activeeval.planning.bounded` half-widths become bounds on variances, v_g = h_g² / f_g, for which
`activeeval.design.least_cost` finds the weights of the targets, now above what is in hand. The design that these make
has least rates of its own, so that all it may be read for can come; the threshold is then the one at which this design
reaches every half-width. What is in hand counts with its probability M, and samples are taken to differ as χ² of the
judged queries has it: rehearsals are of samples that begin with nothing. Before any label one tells all the same how
much less than the uniform model expects values vary where high grades are rare.

Questions that have no half-width, as what a night is more than another, keep a share of what rates are made of. The
pooled variance of the goals, Σ w_g V_g, and that of each of these questions are scaled so that a design of its own
would leave 1 of it at the same cost, and added up by their shares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from activeeval.design import DesignInput, equal_loss_weights, least_cost
from activeeval.design.carried import InHand, PlacesInHand
from activeeval.design.inputs import joint_variances
from activeeval.design.methods import Method
from activeeval.design.rates import weighed
from activeeval.planning.bounded import move, plan_of
from activeeval.planning.forecasts import ByLevels, Forecast
from activeeval.planning.goals import Goal
from activeeval.planning.planner import Planner
from activeeval.planning.prospects import Prospect
from activeeval.results import t_quantile
from activeeval.types import Floats

SHARE = 0.25
"""Of what rates are made of, for all questions together that have no half-width."""
_STEPS, _NEAR = 8, 0.002
_RANGE, _CLOSE = 40.0, 1e-4
"""How far, in logarithms, a threshold may lie below the one at which all is judged, and how well it is told."""


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
    planner: Planner, method: Method, goals: Mapping[int, Goal], in_hand: InHand, budget: float, beside: Sequence[int]
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
    search = _Search(planner=planner, method=method, goals=goals, in_hand=in_hand, budget=budget)
    weights = shared(planner.design_input(method), search.weights(), beside)
    forecasts = search.forecasts(weights)
    places = search.places(forecasts)
    enough = search.enough(forecasts, places)
    drawn = min(enough, places.threshold(budget))
    return LeastLabels(
        weights=tuple(weights.tolist()),
        enough=enough,
        cost=places.cost(enough),
        prospects=tuple(search.prospect(forecast, places.readable(drawn)) for forecast in forecasts),
    )


def shared(design_input: DesignInput, weights: Floats, beside: Sequence[int], share: float = SHARE) -> Floats:
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
    out[counted] += share / (1 - share) * together / (len(counted) * alone[counted])
    return out


@dataclass(frozen=True, kw_only=True, eq=False)
class _Search:
    """What is planned for, by which method, with what in hand."""

    planner: Planner
    method: Method
    goals: Mapping[int, Goal]
    in_hand: InHand
    budget: float

    def places(self, forecasts: Sequence[Forecast]) -> PlacesInHand:
        """Return the places of the order of a design, with what is in hand of them."""
        return PlacesInHand.of(plan_of(forecasts[0]).order, self.in_hand, self.budget)

    @cached_property
    def known(self) -> tuple[Forecast, ...]:
        """What is known of how much the values of all targets vary, whatever the weights."""
        return self.planner.rehearsed(self.method) if self.planner.is_uniform else self.planner.forecasts(self.method)

    def forecasts(self, weights: Floats) -> tuple[Forecast, ...]:
        """Return the forecasts of the design that weights make."""
        of_design = self.planner.weighing(weights.tolist()).forecasts(self.method)
        return tuple(replace(made, scale=known.scale) for made, known in zip(of_design, self.known, strict=True))

    def weights(self) -> Floats:
        """Return the multipliers of the targets for which the least is new; all 0 where what is in hand is enough."""
        forecasts = [replace(forecast, rehearsal=None) for forecast in self.known]
        floors = self.places(forecasts).floors[plan_of(forecasts[0]).places]
        bounds = np.full(len(forecasts), math.inf)
        for which, goal in self.goals.items():
            normal = float(t_quantile(goal.confidence, math.inf))
            bounds[which] = ((goal.half_width or 0.0) / normal) ** 2 / forecasts[which].taught_scale.value
        for _ in range(_STEPS):
            least = least_cost(self.planner.design_input(self.method), bounds, floors)
            moves = {
                which: move(goal, self.prospect_of(forecasts[which], least.judged, least.turned_to))
                for which, goal in self.goals.items()
            }
            if all(_is_settled(moved, least.weights[which]) for which, moved in moves.items()):
                break
            for which, moved in moves.items():
                reached = least.variances[which]
                bounds[which] = (reached if reached > 0 else bounds[which]) * moved
        return least.weights

    def enough(self, forecasts: Sequence[Forecast], places: PlacesInHand) -> float:
        """Return the least threshold at which all half-widths are reached; 0 where they are already."""
        if self.reaches(forecasts, places.readable(0.0)):
            return 0.0
        rates = places.order.place_rates
        high = -math.log(float(rates[rates > 0].min()))
        low = high - _RANGE
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
        assert isinstance(forecast.way, ByLevels)
        return forecast.prospect(self.budget, forecast.way.of_chances(chances, judged))


def _is_settled(moved: float, weight: float) -> bool:
    """Return whether a bound would hardly move; one that others imply may be as wide as it likes."""
    return moved > 1 - _NEAR and (weight == 0 or moved < 1 + _NEAR)
