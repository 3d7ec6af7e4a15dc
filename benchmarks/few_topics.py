"""Judged pools of 30 to 50 queries, what most teams have; each with a forest trained on other queries."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

import numpy as np

from activeeval.formats.loading import load_qrels, load_run
from activeeval.inputs.loading import Inputs, from_tables
from activeeval.inputs.modelling import believe
from benchmarks.machine import data_folder
from benchmarks.pools import SEED, JudgedPool, lightgbm_inputs, load, ranked_by_model

RUNS = ("pircRBa1", "THUIRr0301")
FIRST_GRADED = 601
"""The first of the Robust track's topics with three grades; the fifty before are binary."""
MAX_GRADE, DEPTH, N_CHOSEN = 2, 100, 30


def robust03(n_topics: int = 50) -> JudgedPool:
    """Return topics 601–650 of TREC 2003 Robust, or some of them by seed: the first 100 ranks of two runs.

    A forest learns on the fifty old topics.
    """
    whole = _robust03_inputs()
    is_new = whole.pool.query_ids.astype(np.int64) >= FIRST_GRADED
    chosen = np.sort(np.random.default_rng(SEED).permutation(np.flatnonzero(is_new))[:n_topics])
    inputs = whole.of_queries(chosen).trained_on(whole.of_queries(np.flatnonzero(~is_new)))
    beliefs = believe(inputs, "forest", MAX_GRADE, np.random.default_rng(SEED), n_jobs=-1)
    assert inputs.versus is not None
    return JudgedPool(f"Robust03, {n_topics}", inputs, inputs.versus, beliefs, MAX_GRADE)


def lightgbm_test() -> JudgedPool:
    """Return the 50 test queries of LightGBM's example; its 201 training queries train."""
    whole = lightgbm_inputs(data_folder())
    is_test = np.char.startswith(whole.pool.query_ids.astype(str), "test")
    parts = (whole.of_queries(np.flatnonzero(which)) for which in (is_test, ~is_test))
    inputs = next(parts).trained_on(next(parts))
    beliefs = believe(inputs, "forest", 4, np.random.default_rng(SEED), n_jobs=-1)
    return ranked_by_model("LightGBM test", inputs, beliefs, 4)


@cache
def _robust03_inputs() -> Inputs:
    home = data_folder() / "trec-robust03"
    paths = sorted((home / "runs").glob("input.*.gz"))
    others = [path for path in paths if _tag(path) not in RUNS]
    ranked = [next(path for path in paths if _tag(path) == tag) for tag in RUNS]
    runs = [load_run(str(path)) for path in (*ranked, *others)]
    whole = from_tables(load_qrels(str(home / "robust03_qrels.txt.gz")), runs, evaluated=2, unjudged="irrelevant")
    return whole.cut_at(DEPTH)


def _tag(path: Path) -> str:
    return path.name.split(".")[1]


POOLS_OF_FEW = {
    "OHSUMED, 42": partial(load, "ohsumed"),
    "Robust03, 50": robust03,
    "Robust03, 30": partial(robust03, N_CHOSEN),
    "LightGBM test, 50": lightgbm_test,
}
