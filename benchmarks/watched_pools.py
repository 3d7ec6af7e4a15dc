"""The pools of the benchmarks of watches: MQ2008, and a run of a TREC track with a model of other topics."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import numpy as np

from activeeval import QueryPool, Rankings
from activeeval.inputs.loading import Inputs
from activeeval.inputs.modelling import GradeBeliefs
from benchmarks.machine import data_folder
from benchmarks.pools import JudgedPool, load

RUNS, DEPTH, TOP = ("VTcdhgp1", "InexpC2"), 50, 2


def robust03() -> JudgedPool:
    """Two runs of TREC's Robust track of 2003 on its 100 topics, to rank 50; what nobody judged is of no use.

    The model knows how grades fall with rank in the first run, on the other half of the topics.
    """
    home = data_folder() / "trec-robust03"
    qrels: dict[tuple[str, str], int] = {}
    with gzip.open(home / "robust03_qrels.txt.gz", "rt") as lines:
        for line in lines:
            topic, _, document, grade = line.split()
            qrels[topic, document] = max(int(grade), 0)
    topics = sorted({topic for topic, _ in qrels})
    runs = [_run(home / "runs" / f"input.{name}.gz") for name in RUNS]
    documents = [sorted({d for run in runs for d in run.get(topic, [])[:DEPTH]}) for topic in topics]
    pool = QueryPool(topics, np.cumsum([0, *map(len, documents)]), [d for each in documents for d in each])
    scores = np.full((2, pool.n_items), np.nan)
    for q, topic in enumerate(topics):
        places = {document: int(pool.query_offsets[q]) + k for k, document in enumerate(documents[q])}
        for row, run in zip(scores, runs, strict=True):
            for rank, document in enumerate(run.get(topic, [])[:DEPTH]):
                row[places[document]] = -rank
    grades = np.array([qrels.get((t, d), 0) for t, each in zip(topics, documents, strict=True) for d in each])
    first, second = (Rankings.from_scores(pool, row) for row in scores)
    ranks = np.where(np.isnan(scores[0]), DEPTH, -scores[0]).astype(int)
    beliefs = GradeBeliefs(_by_rank(ranks, grades, pool.item_queries % 2))
    return JudgedPool("Robust03", Inputs(pool, (first,), grades, None), second, beliefs, TOP)


def _run(path) -> dict[str, list[str]]:
    """Return the documents of each topic, best first."""
    rows: dict[str, list[tuple[float, str]]] = {}
    with gzip.open(path, "rt") as lines:
        for line in lines:
            topic, _, document, _, score, *_ = line.split()
            rows.setdefault(topic, []).append((-float(score), document))
    return {topic: [document for _, document in sorted(each)] for topic, each in rows.items()}


def _by_rank(ranks: np.ndarray, grades: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Return the shares of grades about each rank on the other half of the topics, one label of each grade added."""
    probs = np.empty((ranks.size, TOP + 1))
    bands = np.minimum(ranks // 5, 9)
    for side in (0, 1):
        for band in np.unique(bands):
            taught = np.bincount(grades[(half != side) & (bands == band)], minlength=TOP + 1) + 1.0
            probs[(half == side) & (bands == band)] = taught / taught.sum()
    return probs


POOLS: dict[str, Callable[[], JudgedPool]] = {"mq2008": lambda: load("mq2008"), "robust03": robust03}
