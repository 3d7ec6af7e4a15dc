"""Methods: a design and an estimator, as data, and the registry of those on offer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.design import (
    Design,
    Stage,
    check_budget,
    defended,
    defended_nodes,
    inclusion_probs,
    optimal_sampling_probs,
    random_prefixes,
    roots,
    single_items,
    whole_queries,
)
from activeeval.errors import InputError
from activeeval.measures import Additive, Measure, Target
from activeeval.measures.doors import checked_nodes

Floats = NDArray[np.float64]
_MARGIN, _MARGIN_STEPS = 3.0, 8
DRAWS = ("replacement", "whole")
IN_TURN = ("sequential", "whole")
RANDOM = (*IN_TURN, "lure")


@dataclass(frozen=True, slots=True)
class Method:
    """How to choose what is judged and what to make of the judgments.

    Attributes
    ----------
    name : str
    when : str
        One line on when to use it.
    scheme : {"replacement", "sequential", "poisson", "cube"}
        How queries are drawn; see `activeeval.design.Design`.
    stage : {"whole", "depth", "items"}
        What is judged of a query: all, a random prefix of the judging order, or items each with a
        probability of their own (additive measures only).
    estimator : str
        A key of `activeeval.estimation.ESTIMATORS`.
    optimal : bool
        Sample where the model expects variance for the cost; otherwise by p.
    ignores_model : bool
        Put the uniform grade distribution in the model's place.
    ignores_cost : bool
        Put λ ≡ 1 into q*; what judging costs is paid all the same. Whole queries only.
    ignores_factor : bool
        Take the grades of a query as independent, as the paper does, even where a query factor is known.
    defensive_share : float
        Default of the share that is left to p, whatever the model says.
    """

    name: str
    when: str
    scheme: str = "replacement"
    stage: str = "whole"
    estimator: str = "ratio"
    optimal: bool = True
    ignores_model: bool = False
    ignores_cost: bool = False
    ignores_factor: bool = False
    defensive_share: float = 0.1

    def __post_init__(self) -> None:
        fits = {
            "whole queries alone": self.scheme != "sequential" or self.stage == "whole",
            "whole queries or depths": self.scheme != "replacement" or self.stage != "items",
        }
        for what, is_fine in fits.items():
            if not is_fine:
                raise InputError(f"method {self.name!r}: draws by scheme {self.scheme!r} are for {what}")
        if (self.scheme == "sequential") != (self.estimator == "lure") and self.estimator not in ("difference",):
            raise InputError(f"method {self.name!r}: the estimator {self.estimator!r} is not for {self.scheme!r}")
        if not self.optimal and (self.stage != "whole" or self.needs_budget):
            raise InputError(f"method {self.name!r}: without a model queries are drawn one by one and judged whole")

    @property
    def needs_budget(self) -> bool:
        """Whether the design is made for one budget, its expected cost."""
        return self.scheme in ("poisson", "cube")

    @property
    def needs_record(self) -> bool:
        """Whether the estimate needs more than the drawn queries' values and probabilities."""
        return self.scheme != "replacement" or self.stage != "whole" or self.estimator != "ratio"

    def fits(self, measure: Measure) -> bool:
        """Whether the method can estimate a measure."""
        return self.stage != "items" or isinstance(measure, Additive)

    def design(
        self,
        target: Target,
        grade_probs: ArrayLike | None = None,
        *,
        node_weights: ArrayLike | None = None,
        max_grade: int | None = None,
        defensive_share: float | None = None,
        budget: float | None = None,
        bias: float = 0.0,
    ) -> Design:
        """Return the method's design for a target.

        Parameters
        ----------
        grade_probs : array of float, shape (n_items, n_grades) or (n_nodes, n_items, n_grades), optional
            The grade model; needed by every method that uses one and does not ignore it.
        node_weights : array of float, shape (n_nodes,), optional
            Weights of the nodes of a query factor.
        max_grade : int, optional
            Largest grade of the uniform model where neither `grade_probs` nor the measure says it.
        defensive_share : float, optional
            ε: with replacement q ← (1 − ε) q* + ε p for whole queries, elsewhere no query's rate is below
            ε times the mean one. By default the method's own, 0 for those of the paper.
        budget : float, optional
            Expected cost, in the unit of the item costs; needed where `needs_budget`.
        bias : float
            A bias b of the model's prediction of L to be guarded against: v + b² takes the place of v.

        Raises
        ------
        InputError
            Where the method needs a model or a budget and none is given.
        """
        return self.plan(
            target,
            grade_probs,
            node_weights=node_weights,
            max_grade=max_grade,
            defensive_share=defensive_share,
            bias=bias,
        ).design(budget)

    def plan(
        self,
        target: Target,
        grade_probs: ArrayLike | None = None,
        *,
        node_weights: ArrayLike | None = None,
        max_grade: int | None = None,
        defensive_share: float | None = None,
        bias: float = 0.0,
    ) -> Plan:
        """Return the design but for its budget; everything else as in `design`."""
        model = self._model(target, grade_probs, node_weights, max_grade)
        stage = self._stage(target, model)
        share = self.defensive_share if defensive_share is None else defensive_share
        return Plan(self, stage, share, bias)

    def draw_probs(
        self,
        query_probs: Floats,
        predictions: Floats,
        variances: Floats,
        costs: Floats,
        cheapest: float,
        share: float,
        bias: float,
    ) -> Floats:
        """Return q of queries that are drawn one by one and judged whole, eqs. (16), (17), shape (n_queries,).

        Parameters
        ----------
        predictions, variances : ndarray, shape (n_queries,)
            m(x) = E[L | x] and Var[L | x] under the grade model.
        costs : ndarray, shape (n_queries,)
            λ(x).
        cheapest : float
            What stands for λ where there is nothing to judge: q* is not defined for a cost of 0.
        share, bias : float
            As in `design`.
        """
        if not self.optimal:
            return query_probs
        spread = variances + self.unexplained(query_probs, predictions, bias)
        known = np.ones_like(costs) if self.ignores_cost else np.where(costs > 0, costs, cheapest)
        return defended(optimal_sampling_probs(query_probs, spread, known), query_probs, share)

    def unexplained(self, query_probs: Floats, predictions: Floats, bias: float) -> Floats:
        """Return what the estimator leaves beside the variance of a query under the model, shape (n_queries,)."""
        if self.estimator == "ratio":
            return np.asarray((predictions - query_probs @ predictions) ** 2)
        return np.full_like(predictions, bias**2)

    def _model(
        self, target: Target, grade_probs: ArrayLike | None, node_weights: ArrayLike | None, max_grade: int | None
    ) -> tuple[Floats, Floats] | None:
        if not (self.optimal or self.stage != "whole"):
            return None
        if not self.ignores_model:
            if grade_probs is None:
                raise InputError(
                    f"method {self.name!r} needs a grade model: give grade_probs; passive and random need none"
                )
            return checked_nodes(target.pool, grade_probs, node_weights)
        n_grades = None if grade_probs is None else np.shape(grade_probs)[-1]
        top = target.measure.max_grade if target.measure.max_grade is not None else max_grade
        if n_grades is None and top is None:
            raise InputError(f"method {self.name!r} needs max_grade for its uniform model of {target.measure}")
        columns = n_grades if n_grades is not None else int(top) + 1  # type: ignore[arg-type]
        return np.full((1, target.pool.n_items, columns), 1.0 / columns), np.ones(1)

    def _stage(self, target: Target, model: tuple[Floats, Floats] | None) -> Stage:
        if model is None or self.stage == "whole":
            return whole_queries(target, *(model or (None, None)))
        if self.stage == "items":
            return single_items(target, *model)
        return random_prefixes(target, *defended_nodes(*model))


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A method on a target, ready to be made a design for any budget."""

    method: Method
    stage: Stage
    share: float
    bias: float

    @property
    def target(self) -> Target:
        """What is to be estimated."""
        return self.stage.target

    def design(self, budget: float | None = None) -> Design:
        """Return the design for a budget (needed by poisson and cube schemes, ignored by the others).

        Raises
        ------
        InputError
            Where a budget is needed and none is given.
        """
        method, stage = self.method, self.stage
        p = stage.target.pool.query_probs
        if method.needs_budget:
            if budget is None:
                raise InputError(f"method {method.name!r} makes its design for a budget: give one")
            pi, g = inclusion_probs(stage, *roots(stage, self._extra(), self.share), check_budget(budget))
            return Design(method.name, method.scheme, method.estimator, stage, pi, g, float(budget))
        if method.stage == "whole":
            cheapest = float(stage.target.pool.item_costs.min())
            arrays = (p, stage.predictions, stage.variances, stage.costs)
            q = method.draw_probs(*arrays, cheapest, self.share, self.bias)
            return Design(method.name, method.scheme, method.estimator, stage, q, np.ones(stage.items.size))
        of_query, of_item = roots(stage, self._extra(), self.share)
        g = of_item / of_query[stage.slot_queries]
        return Design(method.name, method.scheme, method.estimator, stage, of_query / of_query.sum(), g)

    def design_within(self, budget: float) -> Design:
        """Return a design whose sample hardly ever costs more than a budget, though nothing judged is left out.

        Its expected cost is the budget less three standard deviations of the cost of a sample. Methods
        that draw until the budget is spent never exceed it anyway.
        """
        if not self.method.needs_budget:
            return self.design(budget)
        expected = check_budget(budget)
        for _ in range(_MARGIN_STEPS):
            design = self.design(expected)
            expected = max(budget - _MARGIN * design.cost_sd, budget / 2)
        return self.design(expected)

    def _extra(self) -> Floats:
        return self.method.unexplained(self.stage.target.pool.query_probs, self.stage.predictions, self.bias)


def _paper(name: str, when: str, **choices: Any) -> Method:
    return Method(name, when, ignores_factor=True, defensive_share=0.0, **choices)


METHODS = {
    method.name: method
    for method in (
        _paper("passive", "the reference: queries drawn by traffic, judged whole", optimal=False),
        _paper("active", "the paper's: a grade model is at hand and queries differ in cost"),
        _paper("active_uniC", "active, but blind to cost: what a query costs is not known", ignores_cost=True),
        _paper("active_uniD", "active without a grade model: nothing has been judged yet", ignores_model=True),
        Method("random", "no model, a hard budget: random queries, none twice, judged whole", *RANDOM, optimal=False),
        Method("difference", "a trusted model, draws that can go on for ever", *DRAWS, "difference"),
        Method("regression", "as difference, with a model that need not be trusted", *DRAWS, "regression"),
        Method("sequential", "a trusted model and a hard budget, exactly unbiased", *IN_TURN, "difference"),
        Method("lure", "as sequential, a little more precise", *IN_TURN, "lure"),
        Method("poisson", "a trusted model, queries judged whole in any order", "poisson", "whole", "difference"),
        Method("greg", "as poisson, with a model that need not be trusted", "poisson", "whole", "regression"),
        Method("cube", "as greg, at a nearly fixed cost", "cube", "whole", "regression"),
        Method("depth_draws", "as depth, drawn one by one under a hard budget", "replacement", "depth", "regression"),
        Method("depth_plain", "as depth with a trusted model: exactly unbiased", "poisson", "depth", "difference"),
        Method("depth", "best for ERR, RR, nDCG, AP: lists judged to random depths", "poisson", "depth", "regression"),
        Method("depth_cube", "as depth, at a more nearly fixed cost", "cube", "depth", "regression"),
        Method("items_plain", "as items with a trusted model: exactly unbiased", "poisson", "items", "difference"),
        Method("items", "best for DCG, RBP, P: items judged where it matters", "poisson", "items", "regression"),
        Method("items_cube", "as items, at a more nearly fixed cost", "cube", "items", "regression"),
    )
}


def default_method(measure: Measure) -> Method:
    """Return the most precise method for a measure among those that a bad grade model cannot spoil."""
    return METHODS["items" if isinstance(measure, Additive) else "depth"]


def find_method(name: str) -> Method:
    """Return a method by its name, or say which there are."""
    if name not in METHODS:
        raise InputError(f"unknown method {name!r}; known: {', '.join(METHODS)}")
    return METHODS[name]
