"""A planner: forecasts of several methods for the questions of one sample, each of their parts computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, singledispatch
from typing import Any, Literal

import numpy as np

from activeeval.core.design import (
    Design,
    DesignInput,
    GradeProbs,
    Order,
    OrderPlaces,
    RatePlan,
    Reading,
    Replacement,
    Scheme,
    Selection,
)
from activeeval.core.design.methods import METHODS, Method
from activeeval.core.measures import LabelsLike, Target
from activeeval.core.planning.drawn_labels import drawn_labels, n_taught, skewed, spread_above
from activeeval.core.planning.forecasts import AdaptiveSpending, DrawSpending, Forecast, LevelSpending, SpendingRule
from activeeval.core.planning.held_out import HeldOut
from activeeval.core.planning.pilots import Pilot, PilotRatios
from activeeval.core.planning.prospects import Prospect
from activeeval.core.planning.rehearsals import MOST_ITEMS, rehearse
from activeeval.core.planning.scales import UNREHEARSED, UNTRAINED, Scale, learned_scale, rehearsed_scale, usual_scale
from activeeval.core.planning.values import Values
from activeeval.core.pool import Seed
from activeeval.core.types import Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Planner:
    """Targets, and what is believed of their grades.

    Attributes
    ----------
    targets : sequence of Target
        Questions that one sample is to answer; draws with replacement answer each by a sample of its own.
    believed : callable
        ``believed(method)`` returns what `Method.design` takes of the grade model.
    max_grade : int
    known : ndarray of int64, shape (n_items,), optional
        Grades that are known already, −1 where none is; draws with replacement take no notice of them.
    defensive_share : float, optional
    weights : sequence of float or "minimax", optional
        How a sample balances several targets, as of `Method.design`.
    scale : Scale
        How many times what the model expects variances should turn out to be, and how uncertain that is, where neither
        ``held_out`` nor ``is_uniform`` says more.
    held_out : HeldOut, optional
        What the model said of labelled queries that it had not learned from: a rehearsal learns the scale of each
        target from them, in place of ``scale``.
    is_uniform : bool
        Whether grades are believed to be equally likely because nothing is known of them: rehearsals then take high
        grades for rare, and learn the scale of each target from that.

    Examples
    --------
    >>> from activeeval import DCG, QueryPool, Rankings
    >>> pool = QueryPool([f"q{q}" for q in range(20)], range(0, 42, 2), 20 * ["a", "b"])
    >>> target = Target(DCG([0, 1]), Rankings.from_scores(pool, 20 * [2, 1]))
    >>> planner = Planner(targets=[target], believed=lambda method: {"grade_probs": np.full((40, 2), 0.5)}, max_grade=1)
    >>> [round(planner.forecasts(METHODS["items_plain"])[0].at(budget).half_width(), 2) for budget in (10, 20, 40)]
    [0.52, 0.27, 0.0]
    """

    targets: Sequence[Target]
    believed: Callable[[Method], Mapping[str, Any]]
    max_grade: int
    known: Ints | None = None
    defensive_share: float | None = None
    weights: Sequence[float] | Literal["minimax"] | None = None
    scale: Scale = UNTRAINED
    held_out: HeldOut | None = None
    is_uniform: bool = False
    _design_inputs: dict[tuple[object, ...], DesignInput] = field(default_factory=dict, init=False, repr=False)
    _designs: dict[tuple[object, ...], Design] = field(default_factory=dict, init=False, repr=False)
    _pilots: dict[tuple[int, int], Pilot] = field(default_factory=dict, init=False, repr=False)

    def forecasts(self, method: Method) -> tuple[Forecast, ...]:
        """Return what to expect of a method for each target."""
        forecasts, values_of_targets = [], iter(self.values)
        for group in method.scheme.questions(self.targets):
            design_input = self._design_input(method, group)
            design = None if method.looks == "off" else self._designed(method, group)
            order, scheme = method.ordered(design_input, self.weights, self.defensive_share)
            for which, values in zip(range(len(group)), values_of_targets, strict=False):
                if design is None:
                    way = _way(scheme, method, design_input, order, which, values)
                else:
                    way = _following(design, which, method)
                cost, least = scheme.cost(order), scheme.least(order)
                common: dict[str, Any] = {"cost": cost, "least": least, **self._trust(group[which])}
                forecasts.append(Forecast(method=method.name, way=way, values=values, **common))
        return tuple(forecasts)

    def least(self, method: Method) -> float:
        """Compute the smallest budget that works for all targets, in mean items."""
        least = 0.0
        for group in method.scheme.questions(self.targets):
            order, scheme = method.ordered(self._design_input(method, group), self.weights, self.defensive_share)
            least = max(least, scheme.least(order))
        return least

    def weighing(self, weights: Sequence[float]) -> Planner:
        """Return a planner whose sample balances the targets by other weights; what is believed is worked out once."""
        other = replace(self, weights=weights)
        for name in {"beliefs", "values"} & self.__dict__.keys():
            other.__dict__[name] = self.__dict__[name]
        other._design_inputs.update(self._design_inputs)
        return other

    def design_input(self, method: Method) -> DesignInput:
        """Return what a method by levels makes of the pool, whatever the weights of the targets."""
        return self._design_input(method, self.targets)

    def rehearsed(self, method: Method) -> tuple[Forecast, ...]:
        """Return the forecasts of a method after its samples have been rehearsed; of very large pools before."""
        forecasts, targets = self.forecasts(method), self.targets
        if targets[0].pool.n_items * len(targets) > MOST_ITEMS:
            return forecasts
        return tuple(
            self._rehearsed(*arguments) for arguments in zip(forecasts, self.designs(method), targets, strict=True)
        )

    def drawn(self, design: Design) -> tuple[Prospect, ...]:
        """Plan for a design of the targets, at its budget: the same that `rehearsed` says of its method there."""
        budget = design.cost if design.budget is None else design.blocks[-1]
        method, cost, least = METHODS[design.name], design.scheme.cost(design.order), design.scheme.least(design.order)
        is_tried = design.pool.n_items * len(self.targets) <= MOST_ITEMS
        prospects = []
        for which, (reading, values) in enumerate(zip(design.readings, self.values, strict=True)):
            way = _drawn_way(design.scheme, method, design.order, reading, values)
            way = way if design.history is None else _following(design, which, method)
            common: dict[str, Any] = {"cost": cost, "least": least, **self._trust(reading.target)}
            forecast = Forecast(method=method.name, way=way, values=values, **common)
            if is_tried:
                forecast = self._rehearsed(forecast, design, reading.target)
            prospects.append(forecast.at(budget))
        return tuple(prospects)

    def _trust(self, target: Target) -> dict[str, Any]:
        """Say how far the model's word may be taken, and how wide an interval of a target can be."""
        low, high = target.limits(self.max_grade)
        return {"scale": self._scale, "is_untried": self.is_uniform, "widest": (high - low) / 2}

    @property
    def _scale(self) -> Scale:
        """What to think of the factor where nothing is tried out."""
        if self.held_out is not None:
            return usual_scale(self.held_out.n_queries)
        return UNREHEARSED if self.is_uniform else self.scale

    def _rehearsed(self, forecast: Forecast, design: Design, target: Target) -> Forecast:
        forecast = replace(forecast, way=_of_design(forecast.way, design, target))
        rehearsal = rehearse(design, self._labels, lambda budget: forecast.way.expect(budget)[0], target=target)
        scale = self._scale_shown(rehearsal.ratio) if rehearsal.noises else self._scale
        return replace(forecast, rehearsal=rehearsal, scale=scale)

    def _labels(self, rng: Seed) -> Ints:
        """Return labels as those of the pool may turn out, shape (n_items,)."""
        random = np.random.default_rng(rng)
        if self.held_out is None:
            labels = drawn_labels(self._expected, random)
        else:
            labels = self.held_out.drawn_labels(self.beliefs, random)
        return spread_above(labels, self._n_taught, self.max_grade + 1, random)

    def _scale_shown(self, ratio: float) -> Scale:
        """Return what to think of the factor once a rehearsal has shown one."""
        if self.is_uniform or self._n_taught <= self.max_grade:
            return rehearsed_scale(ratio)
        return self.scale if self.held_out is None else learned_scale(ratio, self.held_out.n_queries)

    @cached_property
    def _expected(self) -> GradeProbs:
        return skewed(self.beliefs) if self.is_uniform else self.beliefs

    @cached_property
    def _n_taught(self) -> int:
        return n_taught(self.beliefs)

    def designs(self, method: Method) -> tuple[Design, ...]:
        """Return the design for each target: one for all by levels, each its own of draws with replacement."""
        designs: list[Design] = []
        for group in method.scheme.questions(self.targets):
            designs += [self._designed(method, group)] * len(group)
        return tuple(designs)

    def _designed(self, method: Method, targets: Sequence[Target]) -> Design:
        key = (method.name, method.looks, *map(id, targets))
        if key not in self._designs:
            design_input = self._design_input(method, targets)
            order, scheme = method.ordered(design_input, self.weights, self.defensive_share)
            restaged = replace(design_input, stage=method.stage)
            design = method.design_of(restaged, order, scheme, self.max_grade)
            # those of a large pool take gigabytes; a method's is made once for its forecast and its rehearsal
            self._designs.clear()
            self._designs[key] = method.looked(design, restaged.target_weights(self.weights))
        return self._designs[key]

    @cached_property
    def beliefs(self) -> GradeProbs:
        """The grade model with its query factor and what is known."""
        return self._beliefs_given(self.known)

    def lesson(self, design: Design, selection: Selection, labels: LabelsLike, which: int = 0) -> PilotRatios:
        """Return what a pilot's judged selection teaches of a target; see `activeeval.core.planning.pilots.Pilot`.

        The grade model is asked without the labels of the pilot, also where they are known by now.
        """
        key = (id(design.order), which)
        if key not in self._pilots:
            self._pilots[key] = Pilot.of(design, self.targets[which], self._beliefs_given(design.known))
        return self._pilots[key].lesson(selection, labels)

    def _beliefs_given(self, known: Ints | None) -> GradeProbs:
        return GradeProbs.of(self.targets[0].pool, **self.believed(METHODS["whole"]), known=known)

    @cached_property
    def values(self) -> tuple[Values, ...]:
        """What the grade model expects of the values of each target."""
        return tuple(Values.of(target, self.beliefs) for target in self.targets)

    def _design_input(self, method: Method, targets: Sequence[Target]) -> DesignInput:
        """Return the part of a method, the same for all that judge the same of a query and believe the same."""
        looks = method.is_optimal or method.stage.needs_model
        believes = (looks, method.ignores_model, method.ignores_factor)
        key = (method.stage.name, method.looks, method.scheme, *believes, *map(id, targets))
        if key not in self._design_inputs:
            known = self.known if method.scheme.takes_known else None
            model = dict(self.believed(method))
            if looks and not method.ignores_model and not method.ignores_factor:
                model = {"grade_probs": self.beliefs}
            # those of a large pool take gigabytes; methods that share one stand side by side
            self._design_inputs.clear()
            self._design_inputs[key] = method.design_input(targets, **model, max_grade=self.max_grade, judged=known)
        return self._design_inputs[key]


def _of_design(way: SpendingRule, design: Design, target: Target) -> SpendingRule:
    """Take the variance by level that a design plans itself, as it has it at hand: a drawn sample says the same."""
    if not isinstance(way, LevelSpending) or not way.is_predicted:
        return way
    (reading,) = (each for each in design.readings if each.target is target)
    return replace(way, curve=reading.plan)


def _following(design: Design, which: int, method: Method) -> SpendingRule:
    """Return how a design whose depths follow labels spends a budget on one of its targets."""
    history = design.history
    assert history is not None
    shared: dict[str, Any] = {
        "order": history.averaged(design.order),
        "alive": history.alive,
        "curve": history.curves[which],
    }
    return AdaptiveSpending(**shared, is_fitted=method.is_fitted)


@singledispatch
def _way(
    scheme: Scheme, method: Method, design_input: DesignInput, order: Order, which: int, values: Values
) -> SpendingRule:
    """Return how a method spends a budget on one of the targets of a part: by levels, where nothing else is known."""
    if design_input.beliefs is None:
        return LevelSpending(
            plan=_unmodelled(design_input.places, order, values), is_fitted=method.is_fitted, is_predicted=False
        )
    plan, within = RatePlan.of_input(design_input, order, which), design_input.targets[which].within
    return LevelSpending(plan=plan, is_fitted=method.is_fitted, within=within)


@_way.register
def _by_draws(
    scheme: Replacement, method: Method, design_input: DesignInput, order: Order, which: int, values: Values
) -> SpendingRule:
    return _draws(scheme, order, values)


@singledispatch
def _drawn_way(scheme: Scheme, method: Method, order: Order, reading: Reading, values: Values) -> SpendingRule:
    """Return how a design spends a budget on the target of one of its readings."""
    plan = _unmodelled(OrderPlaces.of_order(order), order, values)
    return LevelSpending(
        plan=plan, is_fitted=method.is_fitted, is_predicted=reading.beliefs is not None, curve=reading.plan
    )


@_drawn_way.register
def _drawn_by_draws(
    scheme: Replacement, method: Method, order: Order, reading: Reading, values: Values
) -> SpendingRule:
    return _draws(scheme, order, values)


def _draws(scheme: Replacement, order: Order, values: Values) -> DrawSpending:
    sizes = np.bincount(order.place_queries, minlength=order.n_queries).astype(np.float64)
    return DrawSpending(draws=scheme.draws_of(order), sampling_probs=scheme.sampling_probs, values=values, sizes=sizes)


def _unmodelled(places: OrderPlaces, order: Order, values: Values) -> RatePlan:
    """Return the plan of a target without a model: one value is predicted for all queries."""
    return RatePlan(
        order=order,
        places=np.flatnonzero(places.matters),
        offsets=places.open_offsets,
        of_query=np.where(order.is_open, order.query_probs**2 * values.squares, 0.0),
        of_open=np.zeros(places.open_costs.size),
        query_rates=order.query_rates,
        place_rates=order.place_rates[places.matters],
    )
