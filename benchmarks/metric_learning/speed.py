"""Seconds and memory of learning from 10⁵ pairs, each in a process of its own, on one thread; beside cvxpy."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np

from activeeval.core.errors import SolverError
from benchmarks.frame.processes import ONE_THREAD, apart
from benchmarks.machine import seconds
from benchmarks.memory import peak_mb
from benchmarks.metric_learning.data import LONG_LIST, N_RANKS, TOP_GRADE, TRUTHS, Floats, draw, learned, orders_of
from benchmarks.metric_learning.running import Found

N_PAIRS, C, N_LEVELS = 100_000, 1.0, TOP_GRADE + 1
CASES = {
    "C given": (0.0, "activeeval"),
    "C given, 25 % turned": (0.25, "activeeval"),
    "C by cross-validation": (0.0, "cv"),
    "C by cross-validation, 25 % turned": (0.25, "cv"),
    "cvxpy with Clarabel": (0.0, "cvxpy"),
    "cvxpy with Clarabel, 25 % turned": (0.25, "cvxpy"),
}


def has_cvxpy() -> bool:
    """Tell whether the optional peer is installed."""
    return importlib.util.find_spec("cvxpy") is not None


def measure(case: str) -> dict[str, Any]:
    """Return seconds, peak memory in MB and the weights of one case, in this process."""
    share, how = CASES[case]
    rng = np.random.default_rng(2010)
    pairs = draw(orders_of(LONG_LIST, N_RANKS), TRUTHS["Data 2"], N_PAIRS, rng).flipped(int(share * N_PAIRS), rng)
    data = pairs.preferences()
    learned(data.subset(np.arange(100)), C=C)
    found: list[Floats] = []
    before = peak_mb()

    def work() -> None:
        if how == "cvxpy":
            found.append(_by_cvxpy(data.differences()))
        else:
            found.append(learned(data, C="cv" if how == "cv" else C).weights_)

    try:
        taken = seconds(work)
    except SolverError:
        return {"seconds": np.nan, "peak MB": np.nan, "failed": 1.0, "weights": []}
    return {"seconds": taken, "peak MB": max(peak_mb(), before), "failed": 0.0, "weights": found[0].tolist()}


def _by_cvxpy(rows: Any) -> Floats:
    """Solve the same program as a user would write it."""
    import cvxpy

    weights, lacks = cvxpy.Variable(rows.shape[1]), cvxpy.Variable(rows.shape[0])
    falls = np.eye(N_RANKS) - np.eye(N_RANKS, k=1)
    shape = np.kron(falls, np.diff(np.eye(N_LEVELS), axis=0))
    limits = [rows @ weights >= 1 - lacks, lacks >= 0, shape @ weights >= 0]
    aim = cvxpy.Minimize(cvxpy.sum_squares(weights) + C * cvxpy.sum_squares(lacks))
    cvxpy.Problem(aim, limits).solve(solver=cvxpy.CLARABEL)
    found = weights.value.reshape(N_RANKS, N_LEVELS)
    return np.asarray(found - found[:, :1])


def speed(rng: np.random.Generator) -> Iterator[Found]:
    """Run the cases of a given C, each in its own process; the pairs are the same in every repetition."""
    yield from _run("activeeval", "cvxpy")


def choosing(rng: np.random.Generator) -> Iterator[Found]:
    """Run the cases of cross-validation."""
    yield from _run("cv")


def _run(*kinds: str) -> Iterator[Found]:
    weights: dict[tuple[float, str], Floats] = {}
    for case, (share, how) in CASES.items():
        if how not in kinds or (how == "cvxpy" and not has_cvxpy()):
            continue
        found = apart(measure, case, environment=ONE_THREAD)
        weights[share, how] = np.array(found.pop("weights"))
        if how == "cvxpy":
            ours = weights[share, "activeeval"]
            found["largest difference to ours"] = np.abs(weights[share, how] - ours).max() / np.abs(ours).max()
        yield "speed", {"case": case}, found
