"""What `sample` and `plan` share: which pool, which model, what is known, what it costs."""

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
    """What else `sample` and `plan` may be told of a pool, its grade model and its costs.

    Attributes
    ----------
    train : path, frame, dict or Judgments
        Judgments of other queries, which train the grade model; queries of the pool that they hold are not measured.
    grade_probs : path, frame or callable
        The grade model: a table of query_id, doc_id, p0, p1, …; or a function of the pool (`QueryPool`) that returns an
        array of shape (n_items, n_grades).
    graders : path, frame, Judgments, Grades, list of these, or dict of names to these
        Machines that graded the items, say language models: they say where to look and are never labels.
    grader_trust : {"auto", "model", "regressor", "off"}
        What they are for, see `activeeval.inputs.choices.Choices`.
    model : str or list of str
        forest, logit, uniform or scores; several make a mixture; forest:tune chooses its parameters on half of what
        trains it, forest:no-factor learns nothing that the grades of a query have in common. By default forest where
        there is something to learn from, else uniform.
    pool_runs : list of path, frame or dict
        Runs for features only.
    pool_depth : int
        The rank at which lists end, and the pool is what they hold then. By default 100.
    judged_policy : {"refuse", "majority", "median"}
        What several judges' different grades of a known item count as.
    contrasts : {"all", "first"}
        Of several runs: which are compared.
    ties : {"id", "rank", "input"}
        Order of equal scores.
    overhead : float
        Cost of turning to a query, in mean items.
    cost : str
        uniform, or a file of what each item costs.
    traffic : str
        A file that says how often each query is asked.
    queries : path, or what `activeeval.draw_queries` returns
        Queries that were drawn from a log of searches: the scope ``population`` is then all its traffic.
    defensive_share : float
    pool_parquet, engine : str
        A pool of `activeeval.write_pool`, as "pool/*.parquet"; ``runs`` then name some of its own. Who goes over it.
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
    """What else `sample` and `plan` may be told of what is asked.

    Attributes
    ----------
    questions : {"difference", "run", "versus"} or a list of them
        By default the difference of several runs, or the one there is.
    weights : {"equal", "sum", "minimax"}
        How several questions share the sample.
    adaptive_depth : {"each", "3", "1", "off"}
        Judge a query further as far as its own labels make it worth it, of methods that judge to depths: they are
        looked at after each, after the first, third and last ranked item, after the last alone, never. The sheet is
        then the first batch, and `Sample.next` draws what follows. By default 3 where nDCG alone is asked, of two
        runs or with a grade model, else none.
    difference, power : float
        A difference that the intervals should leave 0 out for, and the chance of that; by default 0.8.
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
    """What else `simulate` and `calibration` may be told of a pool whose labels are known.

    There ``train`` may be a share of the queries too, as "40%" or 0.4.

    Attributes
    ----------
    unjudged : {"error", "irrelevant"}
        What an item without a label is.
    index_update : float
        Compare a run with itself less this share of its items.
    """

    unjudged: str
    index_update: float


_NOT_PLAIN = ("train", "grade_probs", "graders", "model", "pool_runs")


def asked_of(options: Mapping[str, Any], known: type[PoolOptions]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of what is asked, in the form that requests have, and those of the pool.

    Raises
    ------
    TypeError
        Where an option is none of the known ones.
    """
    check_names(options, known)
    asked = {name: value for name, value in options.items() if name not in PoolOptions.__annotations__}
    if "questions" in asked:
        asked["questions"] = tuple(asked["questions"] or ())
    asked["adaptive_depth"] = adaptive_depth_of(asked.get("adaptive_depth"))
    return asked, {name: value for name, value in options.items() if name in PoolOptions.__annotations__}


def choices_of(
    runs: Any, names: Any, judged: Any, max_grade: int | None, seed: int, options: Mapping[str, Any]
) -> Choices:
    """Return what the arguments of `sample` and `plan` choose of a pool."""
    loaded, called = runs_of(runs, names)
    extra = options.get("pool_runs")
    models, tables = _models(options)
    plain = {name: value for name, value in options.items() if name not in _NOT_PLAIN and value is not None}
    if "queries" in plain:
        plain["queries"] = drawn_of(plain["queries"])
    return Choices(
        runs=loaded,
        pool_runs=[] if extra is None else runs_of(extra)[0],
        names=called,
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
    """Return the library of the first frame among the arguments."""
    return kind_of_frame(*listed(runs), *sources_of(judged), options.get("train"), options.get("grade_probs"))


def _training(source: Any) -> tuple[Any, ...]:
    """Return what trains a grade model, as choices have it: judgments, or a share of the queries."""
    return () if source is None else (source if isinstance(source, float) else judgments_in(source),)


def _models(options: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Return the grade models by the names that choices have for them, and what stands for their files."""
    models, tables = list(options.get("model") or ()), dict[str, Any]()
    source = options.get("grade_probs")
    if source is None:
        return models, tables
    if isinstance(source, dict):
        raise InputError("`grade_probs` is a path, a data frame or a function of the pool, got a dict")
    models.append(f"probs={source if isinstance(source, str) else 'grade_probs'}")
    tables[models[-1].partition("=")[2]] = source
    return models, tables
