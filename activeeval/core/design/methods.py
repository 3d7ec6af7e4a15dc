"""Methods: how to choose what is judged and what to make of the judgments, as data; the registry of those on offer.

Examples
--------
>>> for name in ("random", "depth", "items"):
...     print(f"{name}: {METHODS[name].when}")
random: no model: random queries, none twice, judged whole
depth: best for ERR, RR, Success, nDCG, R, AP: lists judged to random depths
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
from activeeval.core.design.levels import Levels
from activeeval.core.design.orders import Order
from activeeval.core.design.rates import RateSums, RelativeRates, defended, optimal_sampling_probs, order_of
from activeeval.core.design.replacement import Replacement
from activeeval.core.design.schemes import Scheme
from activeeval.core.design.stages import DEPTH, ITEMS, WHOLE, Depth, Items, Stage
from activeeval.core.errors import InputError, did_you_mean
from activeeval.core.measures import Measure, Target
from activeeval.core.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """How to choose what is judged and what to make of the judgments.

    Attributes
    ----------
    name : str
    when : str
        One line on when to use it.
    stage : Stage
        What is judged of a query: all, a random prefix of the judging order, or items on their own.
    scheme : class of Scheme
        How the order is gone through: by levels, or by the paper's draws with its ratio estimator.
    is_fitted : bool
        Whether the estimator fits regressors to the sample (no model can spoil it much); the regression estimator takes
        the model at its word otherwise (exactly unbiased).
    is_optimal : bool
        Sample where the model expects variance for the cost; otherwise by p.
    ignores_model : bool
        Put the uniform grade distribution in the model's place.
    ignores_cost : bool
        Put λ ≡ 1 into q*; what judging costs is paid all the same.
    ignores_factor : bool
        Take the grades of a query as independent, as the paper does, even where a query factor is known.
    defensive_share : float
        Default of the share that is left to p, whatever the model says.

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
        """Whether queries are drawn with replacement."""
        return self.scheme.is_with_replacement

    @property
    def estimator(self) -> str:
        """The name of the estimator that reads its samples."""
        return self.scheme.estimator(is_fitted=self.is_fitted)

    @property
    def looks(self) -> str:
        """When the labels of a query are looked at, to see how far it is worth going on with."""
        return str(getattr(self.stage, "looks", "off"))

    @property
    def has_depths(self) -> bool:
        """Whether queries are judged to random depths."""
        return isinstance(self.stage, Depth)

    def looking(self, looks: str) -> Method:
        """Return the method with depths that follow the labels of their own queries, or do not.

        Parameters
        ----------
        looks : {"each", "3", "1", "off"}
            When labels are looked at: `activeeval.core.design.histories.LOOKS`.

        Raises
        ------
        InputError
            Where the method does not judge to depths.
        """
        if check_looks(looks) == self.looks:
            return self
        if not self.has_depths:
            raise InputError(f"adaptive_depth is for methods that judge queries to a depth, {self.name!r} does not")
        return replace(self, stage=Depth(looks))

    def row(self) -> dict[str, str]:
        """Tabulate what is judged of a query, how it is drawn, the estimator, and when to use it."""
        names = ("method", "judged", "scheme", "estimator", "when")
        return dict(zip(names, (self.name, self.stage.name, self.scheme.title, self.estimator, self.when), strict=True))

    def fits(self, measure: Measure) -> bool:
        """Whether the method can estimate a measure."""
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
        """Return the method's design for a target, or one that answers several.

        Parameters
        ----------
        targets : Target or sequence of Target
            Questions on one pool. What the sample is drawn for is balanced between them; all it reaches can be read.
        grade_probs : array of float, shape (n_items, n_grades) or (n_nodes, n_items, n_grades), optional
            The grade model; needed by every method that uses one and does not ignore it.
        budget : float, optional
            Λ in mean items of the pool, a hard limit; see `Design.with_budget`, as for ``blocks`` and ``expected``.
        weights : sequence of float or "minimax", optional
            ω of each target. By default 1 over its planned variance alone: equal shares of what all lose. "minimax"
            makes the largest loss of a target against a design of its own as small as it can be.
        defensive_share : float, optional
            ε: with replacement q ← (1 − ε) q* + ε p, elsewhere no query's rate is below ε times the mean one. By
            default the method's own, 0 for those of the paper.
        beside : sequence of Target
            Further questions that count in whom to judge, their ``weights`` behind the others', as of segments.
        **model
            `ModelOptions`: node_weights, factor, extra_probs, refit, max_grade, judged and bias.

        Raises
        ------
        InputError
            Where the method needs a model and none is given, or cannot sample for a measure.
        BudgetError
            Where the budget does not pay for the dearest that may have to be judged at once.

        Examples
        --------
        >>> from activeeval import DCG, QueryPool, Rankings
        >>> pool = QueryPool(["q1", "q2"], [0, 2, 4], list("abab"))
        >>> target = Target(DCG([0, 1]), Rankings.from_scores(pool, [2, 1, 2, 1]))
        >>> METHODS["items"].design(target, np.full((4, 2), 0.5), budget=2).blocks
        (1.0, 1.5, 2.0)
        """
        asked = checked_targets(targets)
        if beside and self.looks != "off":
            raise InputError(
                "depths that follow labels weigh no questions beside those asked: adaptive_depth must be off"
            )
        design_input = self.design_input([*asked, *beside], grade_probs, **model)
        omega = design_input.target_weights(weights)
        order, scheme = self.ordered(design_input, omega, defensive_share)
        held = design_input.first(len(asked))
        design = self.looked(self.design_of(held, order, scheme, model.get("max_grade")), omega)
        return design if budget is None else design.with_budget(budget, blocks, expected=expected)

    def ordered(
        self,
        design_input: DesignInput,
        weights: Sequence[float] | Literal["minimax"] | None = None,
        defensive_share: float | None = None,
    ) -> tuple[Order, Scheme]:
        """Return the order of a pool and how it is gone through, of its `design_input`; see `design`."""
        share = closed_share(
            self.defensive_share if defensive_share is None else defensive_share, "the defensive share"
        )
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
        """Return what the method makes of a pool, or of a part of one, query by query; see `design`.

        ``grade_probs`` may be the beliefs that it, the factor and what is known make, where these are at hand already.
        """
        asked = checked_targets(targets)
        check_names(model, ModelOptions)
        known = known_grades(asked[0].pool, model.get("judged"), largest_grade(asked, model.get("max_grade")))
        bias = model.get("bias", 0.0)
        if not is_number(bias) or not 0 <= bias < math.inf:
            raise InputError(f"the bias to be guarded against must be a finite number from 0 on, got {brief(bias)}")
        self.scheme.check_asked(self.name, asked, known)
        beliefs = self._beliefs(asked, grade_probs, known, model)
        places = self.scheme.places(self.stage.places(asked, beliefs, known))
        return DesignInput(
            stage=self.stage, targets=tuple(asked), beliefs=beliefs, known=known, places=places, bias=bias
        )

    def rates(self, design_input: DesignInput, weights: Sequence[float]) -> RelativeRates:
        """Return how rates of a part compare."""
        return self.scheme.rates(design_input, weights, is_optimal=self.is_optimal)

    def draw_probs(
        self, query_probs: Floats, columns: Sequence[Floats], cheapest: float, unit: float, share: float
    ) -> Floats:
        """Return q of queries that are drawn with replacement and judged whole, eqs. (16), (17), shape (n_queries,).

        Parameters
        ----------
        columns : sequence of three ndarrays, shape (n_queries,)
            m(x) = E[L | x] and Var[L | x] under the grade model, and λ(x).
        cheapest, unit : float
            Cost of the cheapest place and of the mean item; the less of the two stands for λ where there is nothing to
            judge: q* is not defined for a cost of 0.
        share : float
            As in `design`.
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
        """Return the order of a part; ``query_probs`` (n_queries,) are p(x) over the whole pool, as `sums` are."""
        return order_of(design_input.places, rates, query_probs, sums, share, is_nested=self.stage.is_nested)

    def design_of(self, design_input: DesignInput, order: Order, scheme: Scheme, max_grade: int | None) -> Design:
        """Return the design of a pool, or of what was gathered of a larger one; ``max_grade`` as in `design`."""
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
        """Return a design of the method whose rates follow labels, where they do; ``weights`` ω of its targets."""
        if self.looks == "off":
            return design
        assert design.beliefs is not None
        about = (design.order, design.targets, weights, design.beliefs, design.known, self.looks)
        return replace(design, history=History.of(*about))

    def _beliefs(
        self, targets: Sequence[Target], grade_probs: ArrayLike | GradeProbs | None, known: Ints, model: ModelOptions
    ) -> GradeProbs | None:
        """Return what the method believes of the grades; nothing where it looks at no model."""
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
        names = ("node_weights", "factor", *(("extra_probs", "refit") if self.is_fitted else ()))
        held: dict[str, Any] = {name: model[name] for name in names if name in model}  # type: ignore[literal-required]
        return self.stage.model(GradeProbs.of(pool, grade_probs, known=known, **held))


def _paper(name: str, when: str, **choices: Any) -> Method:
    paper: dict[str, Any] = {"scheme": Replacement, "is_fitted": False, "ignores_factor": True, "defensive_share": 0.0}
    return Method(name=name, when=when, **paper, **choices)


def _levels(name: str, when: str, stage: Stage, **choices: Any) -> Method:
    return Method(name=name, when=when, stage=stage, **choices)


METHODS = {
    method.name: method
    for method in (
        _paper("passive", "the reference: queries drawn by traffic, judged whole", is_optimal=False),
        _paper("active", "the paper's: a grade model is at hand and queries differ in cost"),
        _paper("active_uniC", "active, but blind to cost: what a query costs is not known", ignores_cost=True),
        _paper("active_uniD", "active without a grade model: nothing has been judged yet", ignores_model=True),
        _levels("random", "no model: random queries, none twice, judged whole", WHOLE, is_optimal=False),
        _levels("whole", "queries judged whole, with a model that need not be trusted", WHOLE),
        _levels("depth_plain", "as depth with a trusted model: exactly unbiased", DEPTH, is_fitted=False),
        _levels("depth", "best for ERR, RR, Success, nDCG, R, AP: lists judged to random depths", DEPTH),
        _levels("items_plain", "as items with a trusted model: exactly unbiased", Items(learns=False), is_fitted=False),
        _levels("items", "best for DCG, RBP, P: items judged where it matters", ITEMS),
    )
}
"""Every method by its name; `Method.when` says when to use it, as the module shows."""


def default_method(*measures: Measure) -> Method:
    """Return the most precise method for a measure that a bad grade model cannot spoil; of several one for them all.

    Examples
    --------
    >>> from activeeval import DCG, ERR
    >>> default_method(DCG()).name, default_method(DCG(), ERR(3)).name
    ('items', 'depth')
    """
    names = {next(stage.name for stage in (ITEMS, DEPTH, WHOLE) if stage.fits(measure)) for measure in measures}
    return METHODS[names.pop() if len(names) == 1 else DEPTH.name]


def fitting_methods(*measures: Measure) -> list[str]:
    """Return the names of all methods that can estimate a measure, or every one of several."""
    return [name for name, method in METHODS.items() if all(map(method.fits, measures))]


def robust_methods(*measures: Measure) -> list[str]:
    """Return the names of the methods for measures that a bad model cannot spoil: by levels, with a fit."""
    return [name for name in fitting_methods(*measures) if METHODS[name].is_fitted]


def find_method(name: str) -> Method:
    """Return a method by its name, or say which there are."""
    if name not in METHODS:
        raise InputError(f"unknown method {name!r}; {did_you_mean(name, METHODS)}known: {', '.join(METHODS)}")
    return METHODS[name]
