"""One run evaluated, or two compared, with as few judgments as the budget allows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Unpack

from activeeval.core.estimation import check_scope
from activeeval.core.estimation.significance import holm, holm_confidences
from activeeval.formats.tables.frames import kind_of_frame
from activeeval.inputs.arguments import budget_of, checked, judgments_in, measures_of, warn_of
from activeeval.inputs.loading import sampled_measure
from activeeval.sampling.results import Result, Results
from activeeval.scoring import active_evaluation as task
from activeeval.scoring.evaluation import Evaluation
from activeeval.traffic.queries import drawn_of


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
    """Estimate the performance of a run; all judged, or what a budget pays for.

    Parameters
    ----------
    run : path, dict of dicts, data frame or Run
    judgments : path, Judgments, dict of dicts, data frame, or callable
        Looked up as they are asked for; or ``judge(query_id, item_ids) -> grades`` that is called for every drawn
        query; its −1 is an item without a judgment.
    measure : str or measure, or a list of them
        As `activeeval.parse_measure` reads it, or ``@FILE``: learned gains and discounts. Objects of ir_measures are
        read too.
    scope : {"pool", "population"}
        What `std_error`, `low` and `high` are about: these queries, or all that they are a sample of.
    confidence : float
        Of the intervals.
    options
        `activeeval.scoring.active_evaluation.Options`: budget (200, "10%"), share, method, grade_probs, max_grade,
        overhead, unjudged, ties, names, rng and queries.

    Returns
    -------
    Result, or Results where measures came as a list
        A caution of level warning or severe warning is warned of, as a `CautionWarning`.

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
    made, kind, is_several = _evaluations(task.evaluate, (run,), judgments, measure, scope, options)
    return _warned([each.result(scope, confidence, None, kind) for each in made], is_several)


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
    """Estimate by how much the run ``new`` performs better than the run ``old``; everything else as in `evaluate`.

    The value is new − old, as on the command line. Of two equal rankings it is 0, and nothing is judged. Of several
    measures each interval has the confidence that Holm's method gives it, as there.

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
    made, kind, is_several = _evaluations(task.compare, (old, new), judgments, measure, scope, options)
    p_values = [answer.of(scope).p_value for answer in made]
    together = zip(made, holm_confidences(p_values, confidence), holm(p_values), strict=True)
    results = [
        answer.result(scope, float(each), float(p) if is_several else None, kind) for answer, each, p in together
    ]
    return _warned(results, is_several)


def _warned(results: list[Result], is_several: bool) -> Result | Results:
    """Emit the warnings of results; return one result, or all as a list."""
    warn_of([(result.measure, result.cautions) for result in results])
    return Results(results) if is_several else results[0]


def _evaluations(
    evaluated: Callable[..., Evaluation],
    runs: Sequence[Any],
    judgments: Any,
    measure: Any,
    scope: str,
    options: task.Options,
) -> tuple[list[Evaluation], str, bool]:
    """Evaluate by each measure; also the kind of the frames that came in, and whether several measures were asked."""
    check_scope(scope)
    measures, is_several = measures_of(measure)
    sources = [os.fspath(run) if isinstance(run, os.PathLike) else run for run in runs]
    kind = kind_of_frame(*sources, *([] if callable(judgments) else [judgments]))
    labels = judgments if callable(judgments) else judgments_in(judgments)
    asked: dict[str, Any] = {**options}
    if asked.get("queries") is not None:
        asked["queries"] = drawn_of(asked["queries"])
    if "budget" in asked or "share" in asked:
        asked["budget"] = budget_of(asked.pop("budget", None), asked.pop("share", None))
    answers = [evaluated(*sources, judgments=labels, measure=sampled_measure(each), **asked) for each in measures]
    return answers, kind, is_several
