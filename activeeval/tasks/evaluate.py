"""The short way in: one run evaluated, or two compared, with as few judgments as the budget allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from activeeval.campaign import Campaign
from activeeval.cases.budgets import Budget, check_open, whole_cost
from activeeval.cases.inputs import Workload, from_tables, sampled_measure
from activeeval.cases.modelling import uniform_beliefs
from activeeval.design import Design
from activeeval.design.methods import Method, default_method, find_method
from activeeval.errors import BudgetError, InputError
from activeeval.estimation import check_scope
from activeeval.estimation.significance import mean_interval
from activeeval.io.loading import load_run
from activeeval.judgments import labels_of
from activeeval.measures import Measure, SampledMeasure, Target
from activeeval.pool import Seed, check_judged
from activeeval.results import Estimate, Note

DEFENSIVE_SHARE = 0.1
Judge = Callable[[str, list[str]], Sequence[int]]


def evaluate(
    qrels_or_judge: Any,
    run: Any,
    *,
    measure: str | Measure = "DCG@10",
    budget: float | None = None,
    share: float | None = None,
    method: str | None = None,
    grade_probs: ArrayLike | Callable[[Any], ArrayLike] | None = None,
    max_grade: int | None = None,
    overhead: float = 0.0,
    unjudged: str = "error",
    scope: str = "pool",
    ties: str = "id",
    rng: Seed = 0,
) -> Estimate:
    """Estimate the performance of a run.

    Parameters
    ----------
    qrels_or_judge : path, dict of dicts, frame, or callable
        Judgments that are looked up as they are asked for, or ``judge(query_id, item_ids) -> grades``
        that is called for every drawn query; its −1 is an item without a judgment.
    run : path, dict of dicts or frame
    measure : str or Measure
        As `activeeval.parse_measure` reads it, or ``@FILE``: learned gains and discounts. nDCG, R and AP compare with
        the best order of the items at hand: with a judge function those of the runs alone.
    budget : float, optional
        How much may be judged, in mean items of the pool: without an overhead a number of judgments.
    share : float, optional
        The same as a share of what judging everything costs. Without either everything is judged, and the answer is
        exact.
    method : str, optional
        A key of `activeeval.METHODS`. By default the best for the measure that a bad model cannot
        spoil.
    grade_probs : array of shape (n_items, n_grades), or callable of the pool, optional
        The grade model, taken as it is; without one all grades are taken as equally likely, and those
        of a query as alike (`activeeval.cases.modelling.UNTRAINED_FACTOR`).
    max_grade : int, optional
        Largest grade of the scale; taken from the judgments where there are some. A judge function
        does not tell it.
    overhead : float
        Cost of turning to a query, in items.
    unjudged : {"error", "irrelevant"}
        What an item is that is asked for and has no judgment: an error, or of grade 0.
    scope : {"pool", "population"}
        What the interval is about: these queries, or all those that they are a sample of.
    ties : {"id", "rank", "input"}
        Order of equal scores: document id descending, the rank column, or input order.
    rng : Generator, SeedSequence, int or None
        One seed, one answer; None takes the operating system's randomness.

    Returns
    -------
    Estimate
        Queries that a run lacks, or that have no judgment, are counted in its `cautions`.

    Raises
    ------
    BudgetError
        Where the budget does not pay for the dearest that may have to be judged at once; names the smallest that works.
    InputError
        Where an argument is wrong, the budget so small that nothing was drawn, or an item that was
        asked for is not judged.

    Examples
    --------
    >>> qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "b": 2}}
    >>> run = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 2.0, "b": 1.0}}
    >>> round(evaluate(qrels, run, measure="DCG").value, 3)
    1.446
    """
    paid = Budget.given(budget, share)
    return _estimate(
        qrels_or_judge, [run], measure, paid, method, grade_probs, max_grade, overhead, unjudged, scope, ties, rng
    )


def compare(
    qrels_or_judge: Any,
    run_a: Any,
    run_b: Any,
    *,
    measure: str | Measure = "DCG@10",
    budget: float | None = None,
    share: float | None = None,
    method: str | None = None,
    grade_probs: ArrayLike | Callable[[Any], ArrayLike] | None = None,
    max_grade: int | None = None,
    overhead: float = 0.0,
    unjudged: str = "error",
    scope: str = "pool",
    ties: str = "id",
    rng: Seed = 0,
) -> Estimate:
    """Estimate by how much run A performs better than run B; everything else as in `evaluate`.

    Of two equal rankings it is 0, and nothing is judged.

    Examples
    --------
    >>> qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "b": 2}}
    >>> first = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 2.0, "b": 1.0}}
    >>> second = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 1.0, "b": 2.0}}
    >>> round(compare(qrels, first, second, measure="DCG").value, 3)
    -0.554
    """
    runs, paid = [run_a, run_b], Budget.given(budget, share)
    return _estimate(
        qrels_or_judge, runs, measure, paid, method, grade_probs, max_grade, overhead, unjudged, scope, ties, rng
    )


def _estimate(
    qrels_or_judge: Any,
    runs: Sequence[Any],
    measure: str | Measure,
    budget: Budget | None,
    method: str | None,
    grade_probs: ArrayLike | Callable[[Any], ArrayLike] | None,
    max_grade: int | None,
    overhead: float,
    unjudged: str,
    scope: str,
    ties: str,
    rng: Seed,
) -> Estimate:
    check_scope(scope)
    is_judge = callable(qrels_or_judge)
    qrels = None if is_judge else labels_of(qrels_or_judge)
    held = [load_run(run) for run in runs]
    workload = from_tables(qrels, held, evaluated=len(runs), ties=ties, unjudged=unjudged)
    workload = workload.with_costs(None, overhead)
    if qrels is not None:
        max_grade = max(workload.max_grade, max_grade or 0)
    target = Target(_bound(measure, max_grade), workload.ranking, workload.versus)
    probs = grade_probs(workload.pool) if callable(grade_probs) else grade_probs
    chosen = find_method(method) if method else _default(target, probs, max_grade)
    is_unknown = probs is None and chosen.stage.needs_model
    beliefs = _uniform(target, max_grade, chosen) if is_unknown else {"grade_probs": probs}
    if target.versus is not None and not target.matters.any():
        return _nothing(chosen.name, scope, workload.notes)
    check_open(target)
    is_scored = budget is None and not is_judge
    if not is_scored or method is not None or probs is not None:  # a method and a model that do not work are refused
        design = chosen.design(target, **beliefs, max_grade=max_grade, defensive_share=DEFENSIVE_SHARE)
        design = _with_budget(design, target, budget)
    if is_scored:
        return _scored(target, workload, chosen.name, scope)
    oracle = _Oracle(qrels_or_judge if is_judge else _lookup(workload))
    campaign = Campaign(design, rng=rng)
    while (drawn := campaign.ask()) is not None:
        campaign.tell(drawn, oracle(drawn.query_id, list(drawn.item_ids)))
    if unjudged == "error":
        check_judged(oracle.missing, oracle.n_asked, "asked for")
    found = campaign.estimate(scope=scope)
    return replace(found, notes=(*workload.notes, *found.notes))


def _with_budget(design: Design, target: Target, budget: Budget | None) -> Design:
    try:
        return design.with_budget(design.cost if budget is None else budget.of(target))
    except BudgetError as problem:
        raise problem if budget is None else budget.refused(problem, target) from None


def _scored(target: Target, workload: Workload, method: str, scope: str) -> Estimate:
    """Return what all judgments say: chance has a part only in which queries of the population these are."""
    pool, matters = workload.pool, target.matters
    missing = np.flatnonzero(matters & (workload.grades < 0))
    check_judged(pool.pairs_of(missing), int(np.count_nonzero(matters)), "asked for")
    summary = mean_interval(target.values(np.maximum(workload.grades, 0)))
    judged = np.unique(pool.item_queries[matters])
    is_spread = summary.std_error > 0 or summary.mean == 0
    return Estimate(
        value=summary.mean,
        std_error=0.0 if scope == "pool" else summary.std_error if is_spread else math.inf,
        degrees_of_freedom=summary.n - 1.0 if scope == "population" else math.inf,
        n_open=0,
        n_draws=judged.size,
        n_queries=judged.size,
        n_items=int(np.count_nonzero(matters)),
        cost=whole_cost(target),
        method=method,
        scope=scope,
        notes=workload.notes,
    )


def _nothing(method: str, scope: str, notes: tuple[Note, ...]) -> Estimate:
    """Return the difference of two rankings that no label can change: 0, and nothing is judged."""
    return Estimate(
        value=0.0,
        std_error=0.0,
        degrees_of_freedom=math.inf,
        n_open=0,
        n_draws=0,
        n_queries=0,
        n_items=0,
        cost=0.0,
        method=method,
        scope=scope,
        notes=notes,
    )


def _default(target: Target, probs: ArrayLike | None, max_grade: int | None) -> Method:
    if probs is None and max_grade is None and target.measure.max_grade is None:
        raise InputError(f"a judge function does not tell the grade scale of {target.name}: give max_grade")
    return default_method(target.measure)


def _uniform(target: Target, max_grade: int | None, method: Method) -> dict[str, Any]:
    """Return what a method takes where nothing was trained."""
    top = max_grade if target.measure.max_grade is None else target.measure.max_grade
    if top is None:
        raise InputError(f"without a grade model max_grade is needed to sample for {target.measure}")
    return uniform_beliefs(target.pool.n_items, top).for_method(method, top + 1)


def _bound(measure: str | Measure, max_grade: int | None) -> SampledMeasure:
    parsed = sampled_measure(measure)
    if max_grade is not None:
        return parsed.bound_to(max_grade)
    if parsed.needs_max_grade:
        raise InputError("ERR needs the largest grade of the scale: give max_grade, or write ERR(max_rel=4)")
    return parsed


@dataclass(slots=True, eq=False)
class _Oracle:
    """A judge whose −1, an item without a judgment, is remembered and handed on as grade 0.

    So the campaign goes on to its end and all that is missing is counted before an estimate is given.
    """

    judge: Judge
    n_asked: int = 0
    missing: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, query_id: str, item_ids: list[str]) -> Sequence[int]:
        grades = self.judge(query_id, item_ids)
        if not isinstance(grades, Sequence | np.ndarray):
            return grades  # the campaign says what is wrong with it
        is_missing = [isinstance(grade, Real) and grade == -1 for grade in grades]
        self.n_asked += len(item_ids)
        self.missing += [(query_id, item) for item, lacks in zip(item_ids, is_missing, strict=False) if lacks]
        return [0 if lacks else grade for grade, lacks in zip(grades, is_missing, strict=True)]


def _lookup(workload: Workload) -> Judge:
    pool, places = workload.pool, workload.pool.item_positions()
    index = {name: q for q, name in enumerate(pool.query_texts)}

    def judge(query_id: str, item_ids: list[str]) -> Sequence[int]:
        return [int(workload.grades[places[index[query_id], item]]) for item in item_ids]

    return judge
