"""Evaluate one run, or compare two, with as few judgments as a budget allows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.core.campaign import Campaign
from activeeval.core.checks import check_names, one_of
from activeeval.core.design import Design
from activeeval.core.design.methods import Method, default_method, find_method
from activeeval.core.errors import BudgetError, InputError
from activeeval.core.estimation.first_phase import all_values
from activeeval.core.measures import Measure, SampledMeasure, Target, by_gains
from activeeval.core.pool import Seed, check_judged
from activeeval.core.results import Estimate, Note
from activeeval.formats.judgments.from_files import labels_of
from activeeval.inputs.budgets import Budget, check_open, whole_cost
from activeeval.inputs.loading import UNJUDGED, Inputs, from_tables, sampled_measure, unjudged_notes
from activeeval.inputs.modelling import MethodModel, uniform_beliefs
from activeeval.inputs.systems import loaded_run
from activeeval.inputs.traffic import of_log
from activeeval.sampling.query_values import values_by_judgments, values_of_sample
from activeeval.scoring.evaluation import Evaluation, estimates_of_values

DEFENSIVE_SHARE = 0.1
ASKED_FOR = "asked for"
"""Describes, in messages, the items whose labels an estimate needs."""
Judge = Callable[[str, list[str]], Sequence[int]]


class Options(TypedDict, total=False):
    """Options of `evaluate` and `compare` besides runs, judgments and measure.

    Attributes
    ----------
    budget : float or Budget, optional
        Judging budget in mean items (cost of the pool's average item): without an overhead the number of judgments.
    share : float, optional
        The budget as a share of the cost of judging everything. Without budget and share everything is judged, and
        the value for these queries is exact.
    method : str, optional
        A key of `activeeval.METHODS`. By default the best one for the measure among those that stay unbiased under a
        bad grade model.
    grade_probs : array of shape (n_items, n_grades), or callable of the pool, optional
        The grade model, used as given. By default all grades are equally likely and correlated within a query
        (`activeeval.inputs.modelling.UNTRAINED_FACTOR`).
    max_grade : int, optional
        Largest grade of the scale; by default that of the judgments. Needed with a judge function.
    overhead : float
        Cost of opening a query, in items. Default: 0.
    unjudged : {"error", "irrelevant"}
        Treatment of a sampled item without a judgment: an error (the default), or grade 0.
    ties : {"id", "rank", "input"}
        Order of equal scores: document id descending (the default), the rank column, or input order.
    rng : Generator, SeedSequence, int or None
        Seed of the sample; None takes the operating system's randomness. Default: 0.
    names : sequence of str
        Names of the runs, in the order of the arguments. Default: those of their files.
    queries : path or DrawnQueries
        Queries drawn from a search log; the interval for all queries is then about that log.
    no_relevant : {"zero", "skip"}
        Value of a query without any relevant document, if all judgments are given and no budget is set: 0 (the
        default), or left out.
    """

    budget: float | Budget | None
    share: float | None
    method: str | None
    grade_probs: ArrayLike | Callable[[Any], ArrayLike] | None
    max_grade: int | None
    overhead: float
    unjudged: str
    ties: str
    rng: Seed
    names: Sequence[str]
    queries: Any
    no_relevant: str


def evaluate(run: Any, *, judgments: Any, measure: str | Measure = "DCG@10", **options: Unpack[Options]) -> Evaluation:
    """Estimate the performance of a run.

    Parameters
    ----------
    run : path, dict of dicts or frame
    judgments : path, Judgments, dict of dicts, frame, or callable
        Judgments to look up, or a function ``judge(query_id, item_ids) -> grades`` that is called for every sampled
        query and returns −1 for an item without a judgment.
    measure : str or Measure
        A text for `activeeval.parse_measure`, or ``@FILE``: learned gains and discounts. nDCG, R and AP compare with
        the best order of the pool's items: with a judge function, those of the runs alone.
    options
        `Options`: budget, share, method, grade_probs, max_grade, overhead, unjudged, ties and rng.

    Returns
    -------
    Evaluation
        Queries that a run lacks, or that have no judgment, are counted in the `cautions` of its estimates.

    Raises
    ------
    BudgetError
        If the budget is below the cost of the largest unit that must be judged at once; the message names the
        smallest budget that works.
    InputError
        If an argument is wrong, the budget is so small that nothing was sampled, or a sampled item is not judged.

    Examples
    --------
    >>> qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "b": 2}}
    >>> run = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 2.0, "b": 1.0}}
    >>> round(evaluate(run, judgments=qrels, measure="DCG").pool.value, 1)
    1.4
    """
    return _evaluation({"the run": run}, judgments, measure, options)


def compare(
    old: Any, new: Any, *, judgments: Any, measure: str | Measure = "DCG@10", **options: Unpack[Options]
) -> Evaluation:
    """Estimate the difference in performance of two runs, new − old.

    For two equal rankings the difference is 0, and nothing is judged.

    Parameters
    ----------
    old, new : path, dict of dicts or frame
        The runs.
    judgments : path, Judgments, dict of dicts, frame, or callable
        Judgments to look up, or a function ``judge(query_id, item_ids) -> grades``; see `evaluate`.
    measure : str or Measure
        A text for `activeeval.parse_measure`, or ``@FILE``: learned gains and discounts.
    options
        `Options`: budget, share, method, grade_probs, max_grade, overhead, unjudged, ties and rng.

    Examples
    --------
    >>> qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "b": 2}}
    >>> old = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 2.0, "b": 1.0}}
    >>> new = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 1.0, "b": 2.0}}
    >>> answer = compare(old, new, judgments=qrels, measure="DCG")
    >>> round(answer.pool.value, 2), round(answer.population.interval().high, 2)
    (0.55, 4.89)
    """
    if names := options.get("names"):
        options = options | {"names": names[::-1]}
    return _evaluation({"new": new, "old": old}, judgments, measure, options)


def _evaluation(runs: Mapping[str, Any], judgments: Any, measure: str | Measure, options: Options) -> Evaluation:
    """Estimate a measure of one run, or the difference of two, for these queries and for their population.

    Without a budget and with all judgments the value is computed exactly; otherwise a sample is designed and judged.
    ``runs`` has the run to measure, then the one subtracted, by a name for runs without one; ``judgments`` are a table,
    or a function of a query id and document ids that returns grades.
    """
    check_names(options, Options)
    one_of(options.get("unjudged", "error"), UNJUDGED, "unjudged")
    budget = Budget.of_either(options.get("budget"), options.get("share"))
    if not callable(judgments):
        judgments = labels_of(judgments)
        measure = by_gains(sampled_measure(measure), judgments.gains)
    inputs, max_grade = _inputs(runs, judgments, options, _rule(options, budget is None and not callable(judgments)))
    target = Target(_bound(measure, max_grade), inputs.ranking, inputs.versus)
    model, method = options.get("grade_probs"), options.get("method")
    probs = model(inputs.pool) if callable(model) else model
    chosen = find_method(method) if method else _default(target, probs, max_grade)
    # `needs_model`: the method cannot do without grade probabilities, so equally likely grades stand in
    is_unknown = probs is None and chosen.stage.needs_model
    beliefs = _uniform(target, max_grade, chosen) if is_unknown else {"grade_probs": probs}
    if target.versus is not None and not target.matters.any():  # `matters`: items whose label can change the value
        return _scored(target, inputs, chosen.name, max_grade, options)
    check_open(target)
    is_scored = budget is None and not callable(judgments)
    if not is_scored or method is not None or probs is not None:  # raises for a method or model that does not fit
        design = chosen.design(target, **beliefs, max_grade=max_grade, defensive_share=DEFENSIVE_SHARE)
        design = _with_budget(design, target, budget)
    if is_scored:
        return _scored(target, inputs, chosen.name, max_grade, options)
    judge = _RememberingJudge(judgments if callable(judgments) else _lookup(inputs))
    campaign = Campaign(design, rng=options.get("rng", 0))
    while (drawn := campaign.ask()) is not None:
        campaign.tell(drawn, judge(drawn.query_id, list(drawn.item_ids)))
    lacking = _unjudged(judge.missing, judge.n_asked, options)
    pool, population = (campaign.estimate(scope=scope) for scope in ("pool", "population"))
    parts: dict[str, Any] = {
        "notes": (*inputs.notes, *lacking, *pool.notes),
        "n_items": pool.n_items - len(judge.missing),
    }
    estimates = replace(pool, **parts), replace(population, **parts)
    queries = None if target.versus is None else values_of_sample(campaign, target)
    return replace(_both(target, inputs.names, *estimates), queries=queries)


def _unjudged(missing: Sequence[tuple[str, str]], n_items: int, options: Options) -> list[Note]:
    """Note the number of items without a judgment, which count as grade 0; raise InputError if they are an error.

    ``missing`` has their (query, document), ``n_items`` is the number of all items whose labels are needed.
    """
    if options.get("unjudged", "error") == "error":
        check_judged(missing, n_items, ASKED_FOR)
    return unjudged_notes(len(missing), n_items, ASKED_FOR)


def _rule(options: Options, is_all_judged: bool) -> str | None:
    """Return the rule for queries without any relevant document: "zero" or "skip", None if not all items are judged.

    Raise InputError if one is chosen that needs all judgments.
    """
    rule = options.get("no_relevant", "zero")
    if is_all_judged:
        return rule
    if rule == "zero":
        return None
    problem = f"`no_relevant` {rule} needs all judgments: leave out the budget, or give judgments for a judge function"
    raise InputError(problem, field="no_relevant")


def _inputs(
    runs: Mapping[str, Any], judgments: Any, options: Options, no_relevant: str | None
) -> tuple[Inputs, int | None]:
    """Combine runs (by their names in messages) and judgments into inputs; also return the largest grade, or None.

    It is unknown for a judge function without ``max_grade``. ``no_relevant`` is the rule for queries without any
    relevant document, None for no rule.
    """
    qrels = None if callable(judgments) else judgments
    inputs = from_tables(
        qrels,
        [loaded_run(run, stand_in) for stand_in, run in runs.items()],
        evaluated=len(runs),
        ties=options.get("ties", "id"),
        names=options.get("names", ()),
        no_relevant=no_relevant,
    ).with_costs(None, options.get("overhead", 0.0))
    if options.get("queries") is not None:
        inputs = of_log(inputs, options["queries"])
    max_grade = options.get("max_grade")
    return inputs, max_grade if qrels is None else max(inputs.max_grade, max_grade or 0)


def _both(target: Target, names: Sequence[str], pool: Estimate, population: Estimate) -> Evaluation:
    """Combine the estimates of both scopes into an Evaluation; ``names`` are those of the runs, as in the target."""
    versus = "" if target.versus is None else names[1]
    return Evaluation(target=target, system=names[0], versus=versus, pool=pool, population=population)


def _with_budget(design: Design, target: Target, budget: Budget | None) -> Design:
    """Fit a design to a budget in mean items (cost of an average item); without one, to the cost of judging everything.

    A share is one of the target's whole cost. BudgetError, in the words of the budget, is raised if it is too small.
    """
    try:
        return design.with_budget(design.cost if budget is None else budget.of(target))
    except BudgetError as problem:
        raise problem if budget is None else budget.refused(problem, target) from None


def _scored(target: Target, inputs: Inputs, method: str, max_grade: int | None, options: Options) -> Evaluation:
    """Compute the value from all judgments.

    The value for these queries is exact; that for the population has the sampling error of the queries. ``method`` is
    the name that the estimates report. An unjudged item (grade −1) counts as grade 0; `_unjudged` raises InputError if
    the options make it an error.
    """
    matters, is_ranked = target.matters, _are_ranked(target)
    missing = inputs.pool.pairs_of(np.flatnonzero(matters & (inputs.grades < 0)))
    notes = (*inputs.notes, *_unjudged(missing, int(np.count_nonzero(matters)), options))
    n_items = int(np.count_nonzero(matters & is_ranked & (inputs.grades >= 0)))
    values = target.values(np.maximum(inputs.grades, 0))
    estimates = estimates_of_values(
        values,
        limits=target.limits(max_grade),
        drawn=all_values(inputs.pool, values),
        can_differ=bool(matters.any()),
        n_items=n_items,
        cost=whole_cost(target) if matters.any() else 0.0,
        method=method,
        notes=notes,
    )
    queries = None if target.versus is None else values_by_judgments(target, np.maximum(inputs.grades, 0))
    return replace(_both(target, inputs.names, *estimates), queries=queries)


def _are_ranked(target: Target) -> NDArray[np.bool_]:
    """Mark the items that a list of the target ranks above its depth, shape (n_items,).

    ``target.other`` is the ranking subtracted, or one with empty lists; the depth is the deepest rank that counts.
    """
    ranked = np.zeros(target.pool.n_items, dtype=np.bool_)
    for ranking in (target.ranking, target.other):
        ranked[ranking.cut_at(target.depth).items] = True
    return ranked


def _default(target: Target, probs: ArrayLike | None, max_grade: int | None) -> Method:
    """Choose the default method of a measure; raise InputError if the grade scale is unknown."""
    if probs is None and max_grade is None and target.measure.max_grade is None:
        raise InputError(f"a judge function does not tell the grade scale of {target.name}: give max_grade")
    return default_method(target.measure)


def _uniform(target: Target, max_grade: int | None, method: Method) -> MethodModel:
    """Build the model with equally likely grades as keyword arguments of ``method.design`` (probabilities, factor).

    Raise InputError if neither the measure nor ``max_grade`` says the largest grade.
    """
    top = max_grade if target.measure.max_grade is None else target.measure.max_grade
    if top is None:
        raise InputError(f"without a grade model max_grade is needed to sample for {target.measure}")
    return uniform_beliefs(target.pool.n_items, top).for_method(method, top + 1)


def _bound(measure: str | Measure, max_grade: int | None) -> SampledMeasure:
    """Parse a measure and bind it to the grade scale; raise InputError if it needs an unknown scale."""
    parsed = sampled_measure(measure)
    if max_grade is not None:
        return parsed.bound_to(max_grade)
    if parsed.needs_max_grade:
        raise InputError("ERR needs the largest grade of the scale: give max_grade, or write ERR(max_rel=4)")
    return parsed


@dataclass(slots=True, eq=False)
class _RememberingJudge:
    """Wrapper of a judge function that records items graded −1 (no judgment) and passes them on as grade 0.

    The campaign so runs to its end, and all missing items are counted before an estimate is reported.
    """

    judge: Judge
    n_asked: int = 0
    missing: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, query_id: str, item_ids: list[str]) -> Sequence[int]:
        """Ask the judge for grades; record the items graded −1 and replace their grade by 0.

        An answer that is no sequence is returned as it is. ``n_asked`` counts all items, ``missing`` lists the (query,
        item) without a judgment.
        """
        grades = self.judge(query_id, item_ids)
        if not isinstance(grades, Sequence | np.ndarray):
            return grades  # the campaign raises the error
        is_missing = [isinstance(grade, Real) and grade == -1 for grade in grades]
        self.n_asked += len(item_ids)
        self.missing += [(query_id, item) for item, lacks in zip(item_ids, is_missing, strict=False) if lacks]
        return [0 if lacks else grade for grade, lacks in zip(grades, is_missing, strict=True)]


def _lookup(inputs: Inputs) -> Judge:
    """Build a judge function that looks up the judgments of the inputs, −1 for unjudged items.

    ``positions`` maps (query number, item id) to the item's position in the pool.
    """
    pool, positions = inputs.pool, inputs.pool.item_positions()
    query_numbers = {name: q for q, name in enumerate(pool.query_texts)}

    def judge(query_id: str, item_ids: list[str]) -> Sequence[int]:
        """Look up the grades of documents of a query."""
        return [int(inputs.grades[positions[query_numbers[query_id], item]]) for item in item_ids]

    return judge
