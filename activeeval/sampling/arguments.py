"""Arguments that `sample` and `plan` share: pool, grade model, known grades and costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from activeeval.core.checks import check_names
from activeeval.core.errors import InputError
from activeeval.formats.tables.frames import kind_of_frame
from activeeval.inputs.arguments import (
    adaptive_depth_of,
    graders_of,
    judgments_in,
    known_of,
    listed,
    runs_of,
    sources_of,
)
from activeeval.inputs.choices import Choices
from activeeval.traffic.queries import drawn_of


class PoolOptions(TypedDict, total=False):
    """Further options of `sample` and `plan`: the pool, its grade model and its costs.

    Attributes
    ----------
    train : path, frame, dict or Judgments
        Judgments of other queries, which train the grade model; queries of the pool among them are not measured.
    grade_probs : path, frame or callable
        The grade model: a table of query_id, doc_id, p0, p1, …; or a function of the pool (`QueryPool`) that returns an
        array of shape (n_items, n_grades).
    graders : path, frame, Judgments, Grades, list of these, or dict of names to these
        Grades of the items by graders such as language models; they guide the sampling and are never labels.
    grader_trust : {"auto", "model", "regressor", "off"}
        Use of the graders, see `activeeval.inputs.choices.Choices`.
    model : str or list of str
        forest, logit, uniform or scores; several make a mixture; forest:tune tunes its parameters on half of the
        training data, forest:no-factor fits no common factor of a query's grades. By default forest if there is
        training data, else uniform.
    pool_runs : list of path, frame or dict
        Runs for features only.
    pool_depth : int
        Rank at which lists are cut, and with them the pool. By default 100.
    judged_policy : {"refuse", "majority", "median"}
        Rule for a known item with different grades by several judges.
    contrasts : {"all", "first"}
        Pairs of systems to compare, if there are several runs.
    ties : {"id", "rank", "input"}
        Order of equal scores.
    overhead : float
        Cost of opening a query, in mean items.
    cost : str
        "uniform", or a file with the cost of each item.
    traffic : str
        A file with the frequency of each query.
    queries : path, or the result of `activeeval.draw_queries`
        Queries drawn from a search log; the scope ``population`` is then all its traffic.
    defensive_share : float
    pool_parquet, engine : str
        A pool by `activeeval.write_pool`, as "pool/*.parquet"; ``runs`` then name some of its own. The engine processes
        its partitions.
    """

    train: Any
    grade_probs: Any
    graders: Any
    grader_trust: str
    model: str | Sequence[str]
    pool_runs: Sequence[Any]
    pool_depth: int
    judged_policy: str
    contrasts: str
    ties: str
    overhead: float
    cost: str
    traffic: str
    queries: Any
    defensive_share: float
    pool_parquet: str
    engine: str


class QuestionOptions(PoolOptions, total=False):
    """Further options of `sample` and `plan`: the questions.

    Attributes
    ----------
    questions : {"difference", "run", "versus"} or a list of them
        By default the difference of several runs, or the value of one.
    weights : {"equal", "sum", "minimax"}
        Balance between several questions.
    adaptive_depth : {"each", "3", "1", "off"}
        Let the labels of a query decide how deep it is judged, for methods that judge to a depth: re-plan after each
        label; after the first, third and last ranked item; after the last only; never. The sheet is then the first
        batch, and `Sample.next` draws the following ones. By default 3 for nDCG alone, on two runs or with a grade
        model; else off.
    difference, power : float
        A difference that the intervals should distinguish from 0, and the probability of that; by default 0.8.
    segments : path, data frame or dict
        A table of query_id and segment, or a dict of queries to segments.
    """

    questions: Any
    weights: str
    adaptive_depth: str | int
    difference: float
    power: float
    segments: Any


class LabelledOptions(PoolOptions, total=False):
    """Further options of `simulate` and `calibration`, for pools with labels.

    ``train`` may also be a share of the queries, as "40%" or 0.4.

    Attributes
    ----------
    unjudged : {"error", "irrelevant"}
        Treatment of items without a label.
    index_update : float
        Compare a run with itself after removing this share of its items.
    """

    unjudged: str
    index_update: float


_NOT_PLAIN = ("train", "grade_probs", "graders", "model", "pool_runs")
"""Options that `choices_of` converts; the others become fields of `Choices` as they are."""


def asked_of(options: Mapping[str, Any], known: type[PoolOptions]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the keyword arguments of `sample`, `plan` and others into options of the questions and of the pool.

    ``known`` is the class that lists all possible options. The options of the questions are converted to the form of
    requests; those of the pool (the names of `PoolOptions`) stay as they are.

    Raises
    ------
    TypeError
        If an option is unknown.
    """
    check_names(options, known)
    question_options = {name: value for name, value in options.items() if name not in PoolOptions.__annotations__}
    if "questions" in question_options:
        question_options["questions"] = tuple(question_options["questions"] or ())
    question_options["adaptive_depth"] = adaptive_depth_of(question_options.get("adaptive_depth"))
    return question_options, {name: value for name, value in options.items() if name in PoolOptions.__annotations__}


def choices_of(
    runs: Any, names: Any, judged: Any, max_grade: int | None, seed: int, options: Mapping[str, Any]
) -> Choices:
    """Build `Choices` (what a pool is prepared from) from the arguments of `sample` and `plan`.

    Parameters
    ----------
    runs : path, dict of dicts or data frame, a list of them, or a mapping of names to them
    names : sequence of str
        Names of the runs; () for those of their files.
    judged : path, frame, dict or Judgments, a list of them, or None
        Known grades.
    max_grade : int or None
        Largest grade of the scale.
    options : mapping of str to object
        Options of `PoolOptions`, by name.

    Raises
    ------
    InputError
        If an argument has a wrong form.
    """
    loaded, system_names = runs_of(runs, names)
    extra = options.get("pool_runs")
    models, tables = _models(options)
    plain = {name: value for name, value in options.items() if name not in _NOT_PLAIN and value is not None}
    if "queries" in plain:
        plain["queries"] = drawn_of(plain["queries"])
    return Choices(
        runs=loaded,
        pool_runs=[] if extra is None else runs_of(extra)[0],
        names=system_names,
        judged=[known_of(source, number) for number, source in enumerate(sources_of(judged), 1)],
        train=_training(options.get("train")),
        graders=graders_of(options.get("graders")),
        model=models or None,
        tables=tables,
        max_grade=max_grade,
        seed=seed,
        **plain,
    )


def frame_kind_of(runs: Any, judged: Any, options: Mapping[str, Any]) -> str:
    """Return the library (as "pandas") of the first data frame among the arguments, "" if there is none.

    Results are converted to frames of this library.
    """
    return kind_of_frame(*listed(runs), *sources_of(judged), options.get("train"), options.get("grade_probs"))


def _training(source: Any) -> tuple[Any, ...]:
    """Convert the argument ``train`` to a tuple for `Choices`: () or one entry, judgments or a share of the queries."""
    if source is None:
        return ()
    return (source if isinstance(source, float) else judgments_in(source),)


def _models(options: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """List the names of the grade models for `Choices`; the second result maps file names in them to objects.

    The objects (a data frame or a function) replace the files. Raise InputError if ``grade_probs`` is a dict.
    """
    models, tables = list(options.get("model") or ()), dict[str, Any]()
    source = options.get("grade_probs")
    if source is None:
        return models, tables
    if isinstance(source, dict):
        raise InputError("`grade_probs` is a path, a data frame or a function of the pool, got a dict")
    name = source if isinstance(source, str) else "grade_probs"
    models.append(f"probs={name}")
    tables[name] = source
    return models, tables
