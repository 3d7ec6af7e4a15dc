"""Planner: forecasts of several methods for the questions of one sample, with each common part computed once.

A rehearsal simulates samples of a method on simulated labels, to see how precise its estimates are.
"""

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
    """Planner for the targets of one sample, given a grade model.

    Attributes
    ----------
    targets : sequence of Target
        Questions that one sample is to answer; draws with replacement use a separate sample for each.
    believed : callable
        ``believed(method)`` returns the grade-model arguments of `Method.design`.
    max_grade : int
        Largest grade of the scale.
    known : ndarray of int64, shape (n_items,), optional
        Known grades, −1 if unknown; draws with replacement ignore them.
    defensive_share : float, optional
        Least share of sampling that does not follow the model, to guard against a bad one; None: the method's default.
    weights : sequence of float or "minimax", optional
        Weights of the targets in the choice of sampling rates; None: equal.
    scale : Scale
        Ratio of actual to expected variances and its uncertainty, unless ``held_out`` or ``is_uniform`` is given.
    held_out : HeldOut, optional
        Predictions for labelled queries that the model was not trained on: rehearsals estimate the scale of each
        target from them, in place of ``scale``.
    is_uniform : bool
        True if grades are equally likely because no model is available: rehearsals then assume that high grades are
        rare, and estimate the scale of each target from that.

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
        """Forecast the precision of a method for each target by formulas alone, without simulated samples.

        Only a method with adaptive depth (``looks`` not "off") needs its whole design for that. Targets that share a
        sample form a group (``questions``).
        """
        forecasts, values_of_targets = [], iter(self.values)
        for group in method.scheme.questions(self.targets):
            design_input = self._design_input(method, group)
            design = None if method.looks == "off" else self._designed(method, group)
            order, scheme = method.ordered(design_input, self.weights, self.defensive_share)
            for which, values in zip(range(len(group)), values_of_targets, strict=False):  # goes on in the next group
                if design is None:
                    spending = _spending(scheme, method, design_input, order, which, values)
                else:
                    spending = _adaptive_spending(design, which, method)
                cost, least = scheme.cost(order), scheme.least(order)
                common: dict[str, Any] = {"cost": cost, "least": least, **self._trust(group[which])}
                forecasts.append(Forecast(method=method.name, spending=spending, values=values, **common))
        return tuple(forecasts)

    def least(self, method: Method) -> float:
        """Compute the smallest valid budget for all targets, in mean items: the largest of those of their samples."""
        least = 0.0
        for group in method.scheme.questions(self.targets):
            order, scheme = method.ordered(self._design_input(method, group), self.weights, self.defensive_share)
            least = max(least, scheme.least(order))
        return least

    def weighing(self, weights: Sequence[float]) -> Planner:
        """Copy the planner with other weights of the targets; results that do not depend on weights are shared."""
        other = replace(self, weights=weights)
        for name in {"beliefs", "values"} & self.__dict__.keys():
            other.__dict__[name] = self.__dict__[name]
        other._design_inputs.update(self._design_inputs)
        return other

    def design_input(self, method: Method) -> DesignInput:
        """Compute the inputs of a design without replacement, which do not depend on the weights of the targets."""
        return self._design_input(method, self.targets)

    def rehearsed(self, method: Method) -> tuple[Forecast, ...]:
        """Forecast the precision of a method for each target, calibrated by simulated samples (rehearsals).

        Pools of more than `MOST_ITEMS` items (times targets) are not simulated: they get the forecasts of formulas.
        """
        forecasts, targets = self.forecasts(method), self.targets
        if targets[0].pool.n_items * len(targets) > MOST_ITEMS:
            return forecasts
        return tuple(
            self._rehearsed(*arguments) for arguments in zip(forecasts, self.designs(method), targets, strict=True)
        )

    def drawn(self, design: Design) -> tuple[Prospect, ...]:
        """Compute the expected precision for each target of a design at its budget (all its cost without a budget).

        It equals that of the forecasts that `rehearsed` makes for the design's method. A design with a ``history`` has
        adaptive depth.
        """
        budget = design.cost if design.budget is None else design.blocks[-1]
        method, cost, least = METHODS[design.name], design.scheme.cost(design.order), design.scheme.least(design.order)
        is_tried = design.pool.n_items * len(self.targets) <= MOST_ITEMS
        prospects = []
        for which, (reading, values) in enumerate(zip(design.readings, self.values, strict=True)):
            spending = _drawn_spending(design.scheme, method, design.order, reading, values)
            spending = spending if design.history is None else _adaptive_spending(design, which, method)
            common: dict[str, Any] = {"cost": cost, "least": least, **self._trust(reading.target)}
            forecast = Forecast(method=method.name, spending=spending, values=values, **common)
            if is_tried:
                forecast = self._rehearsed(forecast, design, reading.target)
            prospects.append(forecast.at(budget))
        return tuple(prospects)

    def _trust(self, target: Target) -> dict[str, Any]:
        """Return the arguments of a `Forecast` for the model's calibration and the upper bound of half-widths."""
        low, high = target.limits(self.max_grade)
        return {"scale": self._scale, "is_untried": self.is_uniform, "widest": (high - low) / 2}

    @property
    def _scale(self) -> Scale:
        """Ratio of actual to expected variances, with its uncertainty, if no samples are simulated to estimate it."""
        if self.held_out is not None:
            return usual_scale(self.held_out.n_queries)
        return UNREHEARSED if self.is_uniform else self.scale

    def _rehearsed(self, forecast: Forecast, design: Design, target: Target) -> Forecast:
        """Simulate samples of a design, and add their variation and the ratio of variances to its forecast."""
        forecast = replace(forecast, spending=_with_design_variance(forecast.spending, design, target))
        rehearsal = rehearse(design, self._labels, lambda budget: forecast.spending.expect(budget)[0], target=target)
        scale = self._scale_shown(rehearsal.ratio) if rehearsal.noises else self._scale
        return replace(forecast, rehearsal=rehearsal, scale=scale)

    def _labels(self, rng: Seed) -> Ints:
        """Simulate labels of the pool (n_items,); the model's highest grade is spread over all higher ones."""
        random = np.random.default_rng(rng)
        if self.held_out is None:
            labels = drawn_labels(self._expected, random)
        else:
            labels = self.held_out.drawn_labels(self.beliefs, random)
        return spread_above(labels, self._n_taught, self.max_grade + 1, random)

    def _scale_shown(self, ratio: float) -> Scale:
        """Compute the ratio of actual to expected variances, with its uncertainty, from that of simulated samples.

        It is the simulated ratio for a model that is uniform or lacks the highest grades, whose error the simulation
        contains; the simulated one shrunk to the usual one with held-out queries; else the planner's `scale`.
        """
        if self.is_uniform or self._n_taught <= self.max_grade:
            return rehearsed_scale(ratio)
        return self.scale if self.held_out is None else learned_scale(ratio, self.held_out.n_queries)

    @cached_property
    def _expected(self) -> GradeProbs:
        """Grade probabilities for simulation; those of a uniform model are skewed to low grades."""
        return skewed(self.beliefs) if self.is_uniform else self.beliefs

    @cached_property
    def _n_taught(self) -> int:
        """Number of grades that the model can predict."""
        return n_taught(self.beliefs)

    def designs(self, method: Method) -> tuple[Design, ...]:
        """Build the design for each target: a common one without replacement, or one each if drawn with replacement."""
        designs: list[Design] = []
        for group in method.scheme.questions(self.targets):
            designs += [self._designed(method, group)] * len(group)
        return tuple(designs)

    def _designed(self, method: Method, targets: Sequence[Target]) -> Design:
        """Build the design of a method for some targets, or return the last one if it was for the same."""
        key = (method.name, method.looks, *map(id, targets))
        if key not in self._designs:
            design_input = self._design_input(method, targets)
            order, scheme = method.ordered(design_input, self.weights, self.defensive_share)
            restaged = replace(design_input, stage=method.stage)  # the cached input may have another, equal one
            design = method.design_of(restaged, order, scheme, self.max_grade)
            # only the last design is cached (for a forecast and its rehearsal): one of a large pool takes gigabytes
            self._designs.clear()
            self._designs[key] = method.looked(design, restaged.target_weights(self.weights))
        return self._designs[key]

    @cached_property
    def beliefs(self) -> GradeProbs:
        """Grade probabilities with the query factor and the known grades."""
        return self._beliefs_given(self.known)

    def lesson(self, design: Design, selection: Selection, labels: LabelsLike, which: int = 0) -> PilotRatios:
        """Compute the ratios of actual to expected variances from a pilot, for the target number ``which``.

        The grade model does not use the labels of the pilot, even if they are known by now. ``design`` and
        ``selection`` are the design and the judged part of the pilot (an earlier sample), ``labels`` its labels
        (n_items,), −1 for an item that cannot be judged. Raise InputError if the pilot shows no random variation or its
        design does not fit.
        """
        key = (id(design.order), which)
        if key not in self._pilots:
            self._pilots[key] = Pilot.of(design, self.targets[which], self._beliefs_given(design.known))
        return self._pilots[key].lesson(selection, labels)

    def _beliefs_given(self, known: Ints | None) -> GradeProbs:
        """Build the grade model with its query factor (an effect shared by a query's items), given known grades."""
        return GradeProbs.of(self.targets[0].pool, **self.believed(METHODS["whole"]), known=known)

    @cached_property
    def values(self) -> tuple[Values, ...]:
        """Moments of the query values of each target under the grade model."""
        return tuple(Values.of(target, self.beliefs) for target in self.targets)

    def _design_input(self, method: Method, targets: Sequence[Target]) -> DesignInput:
        """Compute the design inputs of a method for ``targets``, or return the last ones if they would be the same.

        They depend on what is judged at once (stage), how it is drawn (scheme) and the grade model.
        """
        uses_model = method.is_optimal or method.stage.needs_model
        model_key = (uses_model, method.ignores_model, method.ignores_factor)
        key = (method.stage.name, method.looks, method.scheme, *model_key, *map(id, targets))
        if key not in self._design_inputs:
            known = self.known if method.scheme.takes_known else None
            model = dict(self.believed(method))
            if uses_model and not method.ignores_model and not method.ignores_factor:  # these share one model
                model = {"grade_probs": self.beliefs}
            # only the last input is cached (methods that share it are adjacent): one of a large pool takes gigabytes
            self._design_inputs.clear()
            self._design_inputs[key] = method.design_input(targets, **model, max_grade=self.max_grade, judged=known)
        return self._design_inputs[key]


def _with_design_variance(spending: SpendingRule, design: Design, target: Target) -> SpendingRule:
    """Use the variance that the design itself planned for a target; only without replacement and with a grade model.

    Other methods' spending (what they judge with a budget) stays as it is.
    """
    if not isinstance(spending, LevelSpending) or not spending.is_predicted:
        return spending
    (reading,) = (candidate for candidate in design.readings if candidate.target is target)
    return replace(spending, curve=reading.plan)


def _adaptive_spending(design: Design, which: int, method: Method) -> SpendingRule:
    """Describe what a design with adaptive depth judges, for target ``which``, by averages over simulated labels."""
    history = design.history
    assert history is not None
    shared: dict[str, Any] = {
        "order": history.averaged(design.order),
        "alive": history.alive,
        "curve": history.curves[which],
    }
    return AdaptiveSpending(**shared, is_fitted=method.is_fitted)


@singledispatch
def _spending(
    scheme: Scheme, method: Method, design_input: DesignInput, order: Order, which: int, values: Values
) -> SpendingRule:
    """Describe what a method without replacement judges with a budget, for target number ``which``.

    ``scheme`` only selects the function; ``values`` are the moments of the query values. Without a grade model all
    variance is between queries.
    """
    if design_input.beliefs is None:
        return LevelSpending(
            plan=_unmodelled(design_input.places, order, values), is_fitted=method.is_fitted, is_predicted=False
        )
    plan, within = RatePlan.of_input(design_input, order, which), design_input.targets[which].within
    return LevelSpending(plan=plan, is_fitted=method.is_fitted, within=within)


@_spending.register
def _by_draws(
    scheme: Replacement, method: Method, design_input: DesignInput, order: Order, which: int, values: Values
) -> SpendingRule:
    """Describe what draws with replacement judge with a budget, from the drawing probabilities of ``scheme``.

    ``order`` has the items and costs of each query, ``values`` the moments of query values; the other parameters are
    those that `_spending` needs for methods without replacement.
    """
    return _draws(scheme, order, values)


@singledispatch
def _drawn_spending(scheme: Scheme, method: Method, order: Order, reading: Reading, values: Values) -> SpendingRule:
    """Describe what a finished design without replacement judges with a budget, for the target of a reading.

    ``scheme`` only selects the function; ``values`` are the moments of the query values under the grade model. The
    variance is the one that the design planned (``reading.plan``), if it has a plan.
    """
    plan = _unmodelled(OrderPlaces.of_order(order), order, values)
    return LevelSpending(
        plan=plan, is_fitted=method.is_fitted, is_predicted=reading.beliefs is not None, curve=reading.plan
    )


@_drawn_spending.register
def _drawn_by_draws(
    scheme: Replacement, method: Method, order: Order, reading: Reading, values: Values
) -> SpendingRule:
    """Describe what a design with replacement judges with a budget, from its order and moments of query values."""
    return _draws(scheme, order, values)


def _draws(scheme: Replacement, order: Order, values: Values) -> DrawSpending:
    """Describe what draws with replacement judge with a budget."""
    sizes = np.bincount(order.place_queries, minlength=order.n_queries).astype(np.float64)  # items of each query
    return DrawSpending(draws=scheme.draws_of(order), sampling_probs=scheme.sampling_probs, values=values, sizes=sizes)


def _unmodelled(places: OrderPlaces, order: Order, values: Values) -> RatePlan:
    """Build the rate plan (variance by inclusion probabilities) of a target without using a model for predictions.

    The same value is predicted for all queries, so all variance is between queries.
    """
    return RatePlan(
        order=order,
        places=np.flatnonzero(places.matters),
        offsets=places.open_offsets,
        of_query=np.where(order.is_open, order.query_probs**2 * values.squares, 0.0),
        of_open=np.zeros(places.open_costs.size),
        query_rates=order.query_rates,
        place_rates=order.place_rates[places.matters],
    )
