"""Verbs `evaluate` and `compare`: one run, or the difference of two, with as few judgments as a budget allows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Unpack

from activeeval.core.estimation import check_scope
from activeeval.core.estimation.significance import holm, holm_confidences
from activeeval.formats.judgments.from_files import labels_of
from activeeval.formats.reading_rules import reading
from activeeval.formats.tables.frames import kind_of_frame
from activeeval.inputs.arguments import budget_of, checked, judgments_in, measures_of, warn_of
from activeeval.inputs.loading import sampled_measure
from activeeval.inputs.traffic import reading_queries
from activeeval.sampling.results import Result, Results
from activeeval.scoring import active_evaluation as task
from activeeval.scoring.evaluation import Evaluation
from activeeval.traffic.queries import drawn_if_any


@checked
def evaluate(
    run: Any,
    *,
    judgments: Any,
    measure: Any = "DCG@10",
    scope: str = "population",
    confidence: float = 0.95,
    **options: Unpack[task.Options],
) -> Any:
    """Estimate the performance of a run, from all judgments or from a sample within a budget.

    Parameters
    ----------
    run : path, dict of dicts, data frame or Run
    judgments : path, Judgments, dict of dicts, data frame, or callable
        Judgments to look up, or a function ``judge(query_id, item_ids) -> grades`` that is called for every sampled
        query and returns −1 for an item without a judgment.
    measure : str or measure, or a list of them
        A text for `activeeval.parse_measure`, ``@FILE`` (learned gains and discounts), or an object of ir_measures.
    scope : {"pool", "population"}
        Scope of `std_error`, `low` and `high`: these queries, or all queries that they are a sample of.
    confidence : float
        Confidence of the intervals.
    options
        `activeeval.scoring.active_evaluation.Options`: budget (200, "10%"), share, method, grade_probs, max_grade,
        overhead, unjudged, ties, names, rng and queries.

    Returns
    -------
    Result, or Results for a list of measures
        Warnings and severe warnings are also emitted as a `CautionWarning`.

    Examples
    --------
    >>> qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "b": 2}, "q3": {"a": 1, "b": 1}}
    >>> run = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    >>> print(evaluate(run, judgments=qrels, measure="DCG@2", names=["BM25"]))
    BM25: DCG@2 1.5 (0.6 to 3.4), 3 queries, 6 judgments (one of them decides 61% of it).
    <BLANKLINE>
    about          value  interval
    these queries  1.508  exactly known
    all queries    1.508  0.6 to 3.4
    <BLANKLINE>
    DCG@2 is DCG(dcg='exp-log2')@2. 95 % intervals; all queries: those that these are a sample of.
    """
    evaluations, kind, is_several = _evaluations(task.evaluate, (run,), judgments, measure, scope, options)
    return _warned([evaluation.result(scope, confidence, None, kind) for evaluation in evaluations], is_several)


@checked
def compare(
    old: Any,
    new: Any,
    *,
    judgments: Any,
    measure: Any = "DCG@10",
    scope: str = "population",
    confidence: float = 0.95,
    **options: Unpack[task.Options],
) -> Any:
    """Estimate the difference in performance of two runs, new − old.

    For two equal rankings the difference is 0, and nothing is judged. With several measures each interval has the
    confidence that Holm's method assigns to it.

    Parameters
    ----------
    old, new : path, dict of dicts, data frame or Run
    judgments : path, Judgments, dict of dicts, data frame, or callable
        Judgments to look up, or a function ``judge(query_id, item_ids) -> grades``; see `evaluate`.
    measure : str or measure, or a list of them
    scope : {"pool", "population"}
        Scope of `std_error`, `low` and `high`: these queries, or all queries that they are a sample of.
    confidence : float
        Confidence of the intervals, of all measures together.
    options
        `activeeval.scoring.active_evaluation.Options`: budget (200, "10%"), share, method, grade_probs, max_grade,
        overhead, unjudged, ties, names, rng and queries.

    Examples
    --------
    >>> qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "b": 2}, "q3": {"a": 0, "b": 2}, "q4": {"a": 0, "b": 2}}
    >>> old = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    >>> new = {query: {"a": 1.0, "b": 2.0} for query in qrels if query != "q1"} | {"q1": old["q1"]}
    >>> answer = compare(old, new, judgments=qrels, measure="DCG@2")
    >>> print(answer.sentences[0].partition(",")[0])
    new and old cannot be told apart: DCG@2 +0.83 (−0.77 to 2.70)
    >>> low, high = answer.interval
    """
    evaluations, kind, is_several = _evaluations(task.compare, (old, new), judgments, measure, scope, options)
    p_values = [evaluation.of(scope).p_value for evaluation in evaluations]
    adjusted = zip(evaluations, holm_confidences(p_values, confidence), holm(p_values), strict=True)
    results = [
        evaluation.result(scope, float(level), float(p) if is_several else None, kind)
        for evaluation, level, p in adjusted
    ]
    return _warned(results, is_several)


def _warned(results: list[Result], is_several: bool) -> Result | Results:
    """Emit the warnings of results; return one result, or all as Results."""
    warn_of([(result.measure, result.cautions) for result in results])
    return Results(results) if is_several else results[0]


@reading(gains=True)
def _evaluations(
    evaluated: Callable[..., Evaluation],
    runs: Sequence[Any],
    judgments: Any,
    measure: Any,
    scope: str,
    options: task.Options,
) -> tuple[list[Evaluation], str, bool]:
    """Evaluate each measure; also return the library of the input frames ("" for none), and if measures are a list.

    ``evaluated`` estimates one measure (`active_evaluation.evaluate` or `compare`) of ``runs``, its first arguments.
    """
    check_scope(scope)
    measures, is_several = measures_of(measure)
    sources = [os.fspath(run) if isinstance(run, os.PathLike) else run for run in runs]
    kind = kind_of_frame(*sources, *([] if callable(judgments) else [judgments]))
    arguments: dict[str, Any] = {**options}
    arguments["queries"] = drawn_if_any(options.get("queries"))
    with reading_queries(options.get("queries")):
        labels = judgments if callable(judgments) else labels_of(judgments_in(judgments))
    if "budget" in arguments or "share" in arguments:
        arguments["budget"] = budget_of(arguments.pop("budget", None), arguments.pop("share", None))
    answers = [
        evaluated(*sources, judgments=labels, measure=sampled_measure(each_measure), **arguments)
        for each_measure in measures
    ]
    return answers, kind, is_several
