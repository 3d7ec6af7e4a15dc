"""Registry of methods. A method combines a sampling design with an estimator, as plain data.

Examples
--------
>>> for name in ("random", "items"):
...     print(f"{name}: {METHODS[name].when}")
random: no model: random queries without replacement, judged whole
items: best for DCG, RBP, P: items judged where it matters
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.checks import brief, check_names, closed_share, is_number
from activeeval.core.design.beliefs import GradeProbs, ModelOptions, known_grades
from activeeval.core.design.designs import Design
from activeeval.core.design.histories import History, check_looks
from activeeval.core.design.inputs import DesignInput, checked_targets, largest_grade
from activeeval.core.design.item_stage import ITEMS, Items
from activeeval.core.design.levels import Levels
from activeeval.core.design.orders import Order
from activeeval.core.design.rates import RateSums, RelativeRates, defended, optimal_sampling_probs, order_of
from activeeval.core.design.replacement import Replacement
from activeeval.core.design.schemes import Scheme
from activeeval.core.design.stages import DEPTH, WHOLE, Depth, Stage
from activeeval.core.errors import InputError, did_you_mean
from activeeval.core.measures import Measure, Target
from activeeval.core.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A sampling design and its estimator.

    Attributes
    ----------
    name, when : str
        Its name, and one line on when to use it.
    stage : Stage
        What is judged of a query: all, a random prefix of the judging order, or independent items.
    scheme : class of Scheme
        How units are drawn: by random levels, or with replacement as in the paper, with its ratio estimator.
    is_fitted : bool
        True if the estimator fits regressors to the sample (robust to a bad model), else it is exactly unbiased.
    is_optimal : bool
        True to sample where the model expects much variance for the cost; False to sample by query probabilities p.
    ignores_model : bool
        Replace the model by the uniform grade distribution.
    ignores_cost : bool
        Compute draw probabilities as if all queries cost the same; the budget still pays their costs.
    ignores_factor : bool
        Treat a query's grades as independent, as the paper does: no query factor (a random effect that they share).
    defensive_share : float
        Default share of sampling that follows the query probabilities p, independent of the model.

    Examples
    --------
    >>> method = METHODS["items"]
    >>> print(method.when)
    best for DCG, RBP, P: items judged where it matters
    >>> method.is_fitted, method.with_replacement, METHODS["passive"].with_replacement
    (True, False, True)
    """

    name: str
    when: str
    stage: Stage = WHOLE
    scheme: type[Scheme] = Levels
    is_fitted: bool = True
    is_optimal: bool = True
    ignores_model: bool = False
    ignores_cost: bool = False
    ignores_factor: bool = False
    defensive_share: float = 0.1

    @property
    def with_replacement(self) -> bool:
        """True if queries are drawn with replacement."""
        return self.scheme.is_with_replacement

    @property
    def estimator(self) -> str:
        """Name of the estimator for the method's samples."""
        return self.scheme.estimator(is_fitted=self.is_fitted)

    @property
    def looks(self) -> str:
        """When the labels of a query decide again how deep it is judged: "each", "3", "1" or "off" (`LOOKS`)."""
        return str(getattr(self.stage, "looks", "off"))

    @property
    def has_depths(self) -> bool:
        """True if queries are judged to random depths."""
        return isinstance(self.stage, Depth)

    def looking(self, looks: str) -> Method:
        """Return the method with an adaptive depth, as `looks`; InputError if it does not judge to depths."""
        if check_looks(looks) == self.looks:
            return self
        if not self.has_depths:
            raise InputError(f"adaptive_depth is for methods that judge queries to a depth, {self.name!r} does not")
        return replace(self, stage=Depth(looks))

    @property
    def continuing(self) -> Method:
        """The method for samples that continue earlier ones: items are judged alone, as pairs would change."""
        return replace(self, stage=replace(self.stage, in_pairs=False)) if isinstance(self.stage, Items) else self

    def row(self) -> dict[str, str]:
        """Describe the method as a row of a table: column names to texts."""
        names = ("method", "judged", "scheme", "estimator", "when")
        return dict(zip(names, (self.name, self.stage.name, self.scheme.title, self.estimator, self.when), strict=True))

    def fits(self, measure: Measure) -> bool:
        """True if the method can estimate a measure."""
        return self.stage.fits(measure)

    def design(
        self,
        targets: Target | Sequence[Target],
        grade_probs: ArrayLike | None = None,
        *,
        budget: float | None = None,
        blocks: Sequence[float] | None = None,
        expected: bool = False,
        weights: Sequence[float] | Literal["minimax"] | None = None,
        defensive_share: float | None = None,
        beside: Sequence[Target] = (),
        **model: Unpack[ModelOptions],
    ) -> Design:
        """Build the method's design for one target, or one design for several targets.

        Parameters
        ----------
        targets : Target or sequence of Target
            Targets on one pool. The sample is balanced between them; any other target that it covers can be read.
        grade_probs : array of float, shape (n_items, n_grades) or (n_nodes, n_items, n_grades), optional
            The grade model, for each value of its query factor if it has one; required by methods that use a model.
        budget : float, optional
            In mean items (the pool's mean item costs 1).
        blocks : sequence of float, optional
            Cumulated budgets, ascending, at which the sample may be read early; by default quarters of the budget.
        expected : bool
            For draws with replacement only: the budget is met on average, instead of never exceeded.
        weights : sequence of float or "minimax", optional
            Of each target. By default 1 over the variance of a design for it alone, so that all lose equal shares.
            "minimax" minimizes the largest loss of a target against a design for it alone.
        defensive_share : float, optional
            ε: with replacement q ← (1 − ε) q* + ε p, otherwise no query's rate is below ε times the mean one. By
            default the method's own, 0 for those of the paper.
        beside : sequence of Target
            Further targets, such as segments, that only influence the rates; their ``weights`` follow the others.
        **model
            `ModelOptions`: node_weights, factor, extra_probs, refit, max_grade, judged and bias.

        Raises
        ------
        InputError
            If the method needs a model and none is given, or cannot sample for a measure.
        BudgetError
            If the budget does not pay for the most expensive unit.

        Examples
        --------
        >>> from activeeval import DCG, QueryPool, Rankings
        >>> pool = QueryPool(["q1", "q2"], [0, 2, 4], list("abab"))
        >>> target = Target(DCG([0, 1]), Rankings.from_scores(pool, [2, 1, 2, 1]))
        >>> METHODS["items"].design(target, np.full((4, 2), 0.5), budget=2).blocks
        (1.0, 1.5, 2.0)
        """
        targets = checked_targets(targets)
        if beside and self.looks != "off":
            raise InputError("adaptive depth supports no further targets or segments: `adaptive_depth` must be off")
        design_input = self.design_input([*targets, *beside], grade_probs, **model)
        omega = design_input.target_weights(weights)
        order, scheme = self.ordered(design_input, omega, defensive_share)
        plain = self.design_of(design_input.first(len(targets)), order, scheme, model.get("max_grade"))
        design = self.looked(plain, omega)
        return design if budget is None else design.with_budget(budget, blocks, expected=expected)

    def ordered(
        self,
        design_input: DesignInput,
        weights: Sequence[float] | Literal["minimax"] | None = None,
        defensive_share: float | None = None,
    ) -> tuple[Order, Scheme]:
        """Build the order (items in judging order, with sampling rates) and the sampling scheme of a pool.

        ``weights`` are those of the targets, by default for equal losses. ``defensive_share`` is the share of sampling
        that follows the query probabilities instead of the model, by default the method's.
        """
        share = self.defensive_share if defensive_share is None else defensive_share
        share = closed_share(share, "the defensive share")
        p = design_input.places.pool.query_probs
        rates = self.rates(design_input, design_input.target_weights(weights))
        sums = RateSums.of(design_input.places, rates.ratios, p)
        scheme = self.scheme.made(
            lambda: self.draw_probs(p, design_input.draw_columns, design_input.places.cheapest, sums.unit, share)
        )
        return self.order(design_input, rates, p, sums, share), scheme

    def design_input(
        self,
        targets: Target | Sequence[Target],
        grade_probs: ArrayLike | GradeProbs | None = None,
        **model: Unpack[ModelOptions],
    ) -> DesignInput:
        """Prepare a pool, or a part of one: known grades, grade model and places (items in judging order).

        ``targets`` are of this pool. ``grade_probs``, the grade model, has the shape (n_items, n_grades) or (n_nodes,
        n_items, n_grades), or is a `GradeProbs`; ``model`` are `ModelOptions`. Raises InputError as `design`.
        """
        targets = checked_targets(targets)
        check_names(model, ModelOptions)
        known = known_grades(targets[0].pool, model.get("judged"), largest_grade(targets, model.get("max_grade")))
        bias = model.get("bias", 0.0)
        if not is_number(bias) or not 0 <= bias < math.inf:
            raise InputError(f"`bias` must be a finite number of at least 0, got {brief(bias)}")
        self.scheme.check_asked(self.name, targets, known)
        beliefs = self._beliefs(targets, grade_probs, known, model)
        places = self.scheme.places(self.stage.places(targets, beliefs, known))
        return DesignInput(
            stage=self.stage, targets=tuple(targets), beliefs=beliefs, known=known, places=places, bias=bias
        )

    def rates(self, design_input: DesignInput, weights: Sequence[float]) -> RelativeRates:
        """Compute sampling rates of a part of a pool, up to a common factor, for targets with these weights."""
        return self.scheme.rates(design_input, weights, is_optimal=self.is_optimal)

    def draw_probs(
        self, query_probs: Floats, columns: Sequence[Floats], cheapest: float, unit: float, share: float
    ) -> Floats:
        """Compute the draw probabilities q with replacement, shape (n_queries,); eqs. (16), (17) of the paper.

        Parameters
        ----------
        columns : sequence of three ndarrays, shape (n_queries,)
            Mean and variance of each query's value L under the grade model, and the cost λ of judging it whole.
        cheapest, unit : float
            Cost of the cheapest item to judge and of the mean item; the smaller one replaces a λ of 0 (nothing to
            judge), for which the formula is not defined.
        share : float
            Share of a mixture with the query probabilities, which bounds importance weights (defensive sampling).
        """
        if not self.is_optimal:
            return query_probs
        predictions, variances, costs = columns
        # an exactly rounded sum does not depend on the order of the queries
        performance = math.fsum((query_probs * predictions).data)
        spread = variances + (predictions - performance) ** 2
        paid = np.ones_like(costs) if self.ignores_cost else np.where(costs > 0, costs, min(cheapest, unit))
        return defended(optimal_sampling_probs(query_probs, spread, paid), query_probs, share)

    def order(
        self, design_input: DesignInput, rates: RelativeRates, query_probs: Floats, sums: RateSums, share: float
    ) -> Order:
        """Build the order (items with rates) of a part of a pool; least rate: ``share`` of the mean one in ``sums``."""
        return order_of(design_input.places, rates, query_probs, sums, share, is_nested=self.stage.is_nested)

    def design_of(self, design_input: DesignInput, order: Order, scheme: Scheme, max_grade: int | None) -> Design:
        """Build the design, without a budget, from its parts: those of a pool or of queries taken from a larger one."""
        return Design(
            name=self.name,
            scheme=scheme,
            stage=self.stage,
            order=order,
            readings=design_input.readings(order),
            beliefs=design_input.beliefs,
            known=design_input.known,
            is_fitted=self.is_fitted,
            scale=largest_grade(design_input.targets, max_grade),
        )

    def looked(self, design: Design, weights: Sequence[float]) -> Design:
        """Add to a design how its rates follow labels, if the method has adaptive depth; one weight for each target."""
        if self.looks == "off":
            return design
        assert design.beliefs is not None
        about = (design.order, design.targets, weights, design.beliefs, design.known, self.looks)
        return replace(design, history=History.of(*about))

    def _beliefs(
        self, targets: Sequence[Target], grade_probs: ArrayLike | GradeProbs | None, known: Ints, model: ModelOptions
    ) -> GradeProbs | None:
        """Build the method's grade model (uniform if it ignores models), or None; InputError if a model is missing."""
        pool = targets[0].pool
        if not self.is_optimal and not self.stage.needs_model:
            return None
        if isinstance(grade_probs, GradeProbs):
            return self.stage.model(grade_probs)
        if self.ignores_model:
            n_grades = None if grade_probs is None else np.shape(grade_probs)[-1]
            top = largest_grade(targets, model.get("max_grade"))
            if n_grades is None and top is None:
                raise InputError(f"method {self.name!r} needs max_grade for its uniform model of {targets[0].measure}")
            largest = n_grades - 1 if n_grades is not None else int(top)  # type: ignore[arg-type]
            return self.stage.model(GradeProbs.uniform(pool, largest, known))
        if grade_probs is None:
            raise InputError(
                f"method {self.name!r} needs a grade model: give grade_probs; passive and random need none"
            )
        names = ("node_weights", "factor", *(("extra_probs", "refit") if self.is_fitted else ()))  # regressors of a fit
        options: dict[str, Any] = {name: model[name] for name in names if name in model}  # type: ignore[literal-required]
        return self.stage.model(GradeProbs.of(pool, grade_probs, known=known, **options))


def _paper(name: str, when: str, **choices: Any) -> Method:
    """Define a method of the paper: draws with replacement, ratio estimator, independent grades; ``choices``: rest."""
    paper: dict[str, Any] = {"scheme": Replacement, "is_fitted": False, "ignores_factor": True, "defensive_share": 0.0}
    return Method(name=name, when=when, **paper, **choices)


def _levels(name: str, when: str, stage: Stage, **choices: Any) -> Method:
    """Define a method that judges units (items judged at once) by ascending random level; ``choices``: fields."""
    return Method(name=name, when=when, stage=stage, **choices)


METHODS = {
    method.name: method
    for method in (
        _paper("passive", "the reference: queries drawn by traffic, judged whole", is_optimal=False),
        _paper("active", "the paper's: with a grade model, for queries that differ in cost"),
        _paper("active_uniC", "as active, but ignores costs: for unknown costs of queries", ignores_cost=True),
        _paper("active_uniD", "as active without a grade model: for a first sample", ignores_model=True),
        _levels("random", "no model: random queries without replacement, judged whole", WHOLE, is_optimal=False),
        _levels("whole", "queries judged whole, with a model that need not be trusted", WHOLE),
        _levels("depth_plain", "as depth with a trusted model: exactly unbiased", DEPTH, is_fitted=False),
        _levels("depth", "best for ERR, RR, Success, nDCG, R, AP: lists judged to random depths", DEPTH),
        _levels("items_plain", "as items with a trusted model: exactly unbiased", Items(learns=False), is_fitted=False),
        _levels("items", "best for DCG, RBP, P: items judged where it matters", ITEMS),
    )
}
"""All methods by name; `Method.when` is one line on when to use each."""


def default_method(*measures: Measure) -> Method:
    """Return the most precise method for all given measures that a bad grade model cannot spoil.

    Examples
    --------
    >>> from activeeval import DCG, ERR
    >>> default_method(DCG()).name, default_method(DCG(), ERR(3)).name
    ('items', 'depth')
    """
    names = {next(stage.name for stage in (ITEMS, DEPTH, WHOLE) if stage.fits(measure)) for measure in measures}
    return METHODS[names.pop() if len(names) == 1 else DEPTH.name]


def fitting_methods(*measures: Measure) -> list[str]:
    """List the methods that can estimate all given measures."""
    return [name for name, method in METHODS.items() if all(map(method.fits, measures))]


def robust_methods(*measures: Measure) -> list[str]:
    """List the methods for measures that a bad model cannot spoil: without replacement, with a fitted estimator."""
    return [name for name in fitting_methods(*measures) if METHODS[name].is_fitted]


def find_method(name: str) -> Method:
    """Return a method by its name, or raise InputError with the known names."""
    if name not in METHODS:
        raise InputError(f"unknown method {name!r}; {did_you_mean(name, METHODS)}known: {', '.join(METHODS)}")
    return METHODS[name]
