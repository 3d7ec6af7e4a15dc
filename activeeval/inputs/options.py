"""Options of a pool: systems, documents, known grades, the grade model and costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from activeeval.core.options import option

TIES = ("id", "rank", "input")
CONTRASTS = ("all", "first")
"""Compare every pair of systems, or the first with each of the others."""
TRUSTS = ("auto", "model", "regressor", "off")
FILES = ("pool_parquet", "engine")
"""Fields of a pool in files."""
JUDGED_POLICIES = ("refuse", "majority", "median")


@dataclass(frozen=True, kw_only=True)
class IntervalFields:
    """Options of an interval: its scope and its confidence."""

    scope: str = option(
        "pool",
        "Population of the interval: these queries, or all the queries that they are a sample of.",
        choices=("pool", "population"),
    )
    confidence: float = option(0.95, "Confidence of the intervals.", "share")


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFields:
    """Options of a pool: rankings of one system or several, costs of judging, and a model of its grades.

    Where the command line names files, fields also take objects that `activeeval.inputs.arguments` converts: runs,
    frames, mappings and judgments. The pool may also be in files, see `activeeval.scale.partitions`; ``runs`` then name
    some of its own.
    """

    letor: Sequence[str] = option((), "LETOR/SVMlight file, in place of runs; repeatable.", "file", is_many=True)
    qrels: Any = option(None, "Judgments of the documents in the runs.", "file")
    runs: Sequence[Any] = option((), "A run: TREC file or table; repeatable.", "file", is_many=True)
    pool_runs: Sequence[Any] = option((), "A run for the model's features only; repeatable.", "file", is_many=True)
    scores: Sequence[str] = option(
        (),
        "Scores of each `letor`, a number a line, ranker by ranker; repeatable.",
        "file",
        is_many=True,
        flag="scores",
    )
    versus_run: Any = option(None, "The run to compare with: the value is `runs` minus this one.", "file")
    names: Sequence[str] = option(
        (),
        "Name of a system, such as 'BM25 v7'; one for each, in their order. Default: its file.",
        is_many=True,
        metavar="TEXT",
    )
    contrasts: str | None = option(
        None,
        "Of several runs: compare every pair (the default), or the first with each of the others.",
        choices=CONTRASTS,
    )
    index_update: float | None = option(
        None, "Compare with the same ranking without a random share of its items.", "share", metavar="SHARE"
    )
    ties: str = option(
        "id",
        "Order of equal scores: by document id, descending (trec_eval); by the rank column; as read.",
        choices=TIES,
    )
    pool_depth: int | None = option(
        None, "Lists end at this rank. Default: 100 for `runs` without `qrels`.", "count", metavar="K"
    )
    model: str | Sequence[str] | None = option(
        None,
        "Predicts grades: forest, logit, uniform, scores, probs=FILE; with :tune parameters are tuned, with "
        ":no-factor grades of a query are independent. Default: the graders, else forest if there are labels, else "
        "uniform. Repeatable: a mixture.",
        is_many=True,
        metavar="MODEL",
    )
    graders: Sequence[Any] = option(
        (),
        "Grades of a grader, such as an LLM: they guide sampling and are never labels. Options: cost=.01, "
        "scale=0-3, name=TEXT, made=RUN, queries=FILE, documents=FILE. Repeatable.",
        "file",
        is_many=True,
        metavar="FILE[:OPTIONS]",
    )
    grader_trust: str = option(
        "auto",
        "Graders guide sampling (auto, model), are only a covariate of the estimate (regressor), or are off.",
        choices=TRUSTS,
    )
    train: Sequence[Any] = option(
        (),
        "Training data of the model, not measured: judgments of other queries (with `letor`: LETOR files, "
        "repeatable), or 40%: a share of the queries.",
        is_many=True,
        metavar="FILE|P%",
    )
    judged: Sequence[Any] = option(
        (),
        "Judgments, judged sheets or samples: known at no cost; they train the model, and their queries are measured "
        "(with `train`: not). Repeatable.",
        "file",
        is_many=True,
    )
    judged_policy: str = option(
        "refuse",
        "If known grades differ: an error, the most frequent grade, or the lower median.",
        choices=JUDGED_POLICIES,
    )
    machine_is_truth: bool = option(
        False, "Use a grader's grades in files of judgments as labels; every output says so.", "flag"
    )
    max_grade: int | None = option(None, "Largest grade of the scale. Default: the largest label.", "scale")
    unjudged: str = option(
        "error", "If a needed grade is missing: an error, or grade 0.", choices=("error", "irrelevant")
    )
    overhead: float = option(0.0, "Cost of opening a query, in mean item costs.", "number")
    cost: Any = option(
        "uniform", "Cost of an item: uniform, log-length:FEATURE (log(e + feature)) or a FILE.", metavar="COST"
    )
    traffic: str | None = option(None, "Frequencies of queries: a line `query weight`. Default: equal.", "file")
    defensive_share: float | None = option(
        None,
        "Share of sampling that ignores the model, to bound weights. Default: 0 or 0.1, by method.",
        "closed share",
    )
    seed: int = option(0, "Seed of the random numbers; the same seed gives the same answer.", "seed")
    pool_parquet: str | None = option(
        None,
        "A pool of `activeeval pool write`, as 'pool/*.parquet' or s3://…; `runs` and `versus_run` name runs in it.",
        "file",
        metavar="PATTERN",
    )
    engine: Any = option(
        "here",
        "Engine for the partitions: here, threads:N, processes:N, dask[://HOST:PORT], ray[://HOST], spark[://…], "
        "sc://…; then, after commas, scratch=DIR, a folder or address that all workers reach, and trust-ids: do "
        "not check that query ids are unique.",
        metavar="ENGINE",
    )
