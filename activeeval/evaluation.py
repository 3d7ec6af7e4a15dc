"""The short way in: one run evaluated, or two compared, with as few judgments as the budget allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from activeeval.campaign import Campaign
from activeeval.design import check_budget, whole_queries
from activeeval.errors import BudgetError, InputError
from activeeval.io.tables import load_qrels, load_run
from activeeval.measures import Measure, SampledMeasure, Target
from activeeval.methods import METHODS, Method, default_method, find_method
from activeeval.pool import Rankings
from activeeval.results import Estimate
from activeeval.workload import Workload, budget_unit, from_tables, in_units, sampled_measure

DEFENSIVE_SHARE = 0.1
Judge = Callable[[str, list[str]], Sequence[int]]


def evaluate(
    qrels_or_judge: Any,
    run: Any,
    *,
    measure: str | Measure = "DCG@10",
    budget: float | None = None,
    method: str | None = None,
    grade_probs: ArrayLike | Callable[[Any], ArrayLike] | None = None,
    max_grade: int | None = None,
    overhead: float = 0.0,
    rng: np.random.Generator | int | None = None,
) -> Estimate:
    """Estimate the performance of a run.

    Parameters
    ----------
    qrels_or_judge : path, dict of dicts, frame, or callable
        Judgments that are looked up as they are asked for (an item without one earns nothing), or
        ``judge(query_id, item_ids) -> grades`` that is called for every drawn query.
    run : path, dict of dicts or frame
    measure : str or Measure
    budget : float, optional
        How much may be judged: in units of the mean cost of judging a query whole. None judges
        everything, and the answer is exact.
    method : str, optional
        A key of `activeeval.METHODS`. By default the best for the measure that a bad model cannot
        spoil; ``passive`` where neither a model nor the grade scale is known.
    grade_probs : array of shape (n_items, n_grades), or callable of the pool, optional
        The grade model; without one all grades are taken as equally likely.
    max_grade : int, optional
        Largest grade of the scale; taken from the judgments where there are some.
    overhead : float
        Cost of turning to a query, in items.
    rng : Generator or int, optional

    Returns
    -------
    Estimate

    Raises
    ------
    BudgetError
        Where the budget does not pay for the dearest query; names the smallest that works.
    InputError
        Where an argument is wrong, or the budget so small that nothing was drawn.

    Examples
    --------
    >>> qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "b": 2}}
    >>> run = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 2.0, "b": 1.0}}
    >>> round(evaluate(qrels, run, measure="DCG").value, 3)
    1.446
    """
    return _estimate(qrels_or_judge, [run], measure, budget, method, grade_probs, max_grade, overhead, rng)


def compare(
    qrels_or_judge: Any,
    run_a: Any,
    run_b: Any,
    *,
    measure: str | Measure = "DCG@10",
    budget: float | None = None,
    method: str | None = None,
    grade_probs: ArrayLike | Callable[[Any], ArrayLike] | None = None,
    max_grade: int | None = None,
    overhead: float = 0.0,
    rng: np.random.Generator | int | None = None,
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
    return _estimate(qrels_or_judge, [run_a, run_b], measure, budget, method, grade_probs, max_grade, overhead, rng)


def _estimate(
    qrels_or_judge: Any,
    runs: Sequence[Any],
    measure: str | Measure,
    budget: float | None,
    method: str | None,
    grade_probs: ArrayLike | Callable[[Any], ArrayLike] | None,
    max_grade: int | None,
    overhead: float,
    rng: np.random.Generator | int | None,
) -> Estimate:
    is_judge = callable(qrels_or_judge)
    qrels = None if is_judge else load_qrels(qrels_or_judge)
    workload = from_tables(qrels, [load_run(run) for run in runs], evaluated=len(runs)).with_costs(None, overhead)
    if qrels is not None:
        max_grade = max(workload.max_grade, max_grade or 0)
    target = Target(_bound(measure, max_grade), workload.ranking, workload.versus)
    probs = grade_probs(workload.pool) if callable(grade_probs) else grade_probs
    unit = budget_unit(target)
    limit = _whole_cost(target) if budget is None else check_budget(budget) * unit
    chosen = find_method(method) if method else _default(target, probs, max_grade)
    if probs is None and chosen.stage != "whole":
        probs = _uniform(target, max_grade)
    design = chosen.plan(target, probs, max_grade=max_grade, defensive_share=DEFENSIVE_SHARE).design(limit)
    judge = qrels_or_judge if is_judge else _lookup(workload)
    try:
        campaign = Campaign(design, None if chosen.needs_budget else limit, rng=rng)
    except BudgetError as problem:
        raise in_units(problem, unit) from None
    if target.versus is not None and _are_equal(target.ranking, target.versus):
        return Estimate(0.0, 0.0, 0, 0, 0, cost=0.0, method=chosen.name, degrees_of_freedom=math.inf, n_open=0)
    estimate = campaign.run(judge)
    if estimate.n_items == 0 < design.items.size:
        raise InputError(f"budget {budget:g} is so small that nothing was drawn to judge: raise it")
    return estimate


def _are_equal(one: Rankings, other: Rankings) -> bool:
    return np.array_equal(one.offsets, other.offsets) and np.array_equal(one.items, other.items)


def _default(target: Target, probs: ArrayLike | None, max_grade: int | None) -> Method:
    is_known = probs is not None or max_grade is not None or target.measure.max_grade is not None
    return default_method(target.measure) if is_known else METHODS["passive"]


def _uniform(target: Target, max_grade: int | None) -> ArrayLike:
    """Return equally likely grades of every item."""
    top = max_grade if target.measure.max_grade is None else target.measure.max_grade
    if top is None:
        raise InputError(f"without a grade model max_grade is needed to sample for {target.measure}")
    return np.full((target.pool.n_items, top + 1), 1.0 / (top + 1))


def _whole_cost(target: Target) -> float:
    return float(whole_queries(target, None, None).costs.sum())


def _bound(measure: str | Measure, max_grade: int | None) -> SampledMeasure:
    parsed = sampled_measure(measure)
    if max_grade is not None:
        return parsed.bound_to(max_grade)
    if parsed.needs_max_grade:
        raise InputError("ERR needs the largest grade of the scale: give max_grade, or write ERR(max_rel=4)")
    return parsed


def _lookup(workload: Workload) -> Judge:
    pool, places = workload.pool, workload.pool.item_positions()
    index = {name: q for q, name in enumerate(pool.query_ids.tolist())}

    def judge(query_id: str, item_ids: list[str]) -> Sequence[int]:
        return [int(workload.grades[places[index[query_id], item]]) for item in item_ids]

    return judge
