"""Seconds and memory of learning from 10⁵ pairs, each in a process of its own, on one thread."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from activeeval.core.errors import SolverError
from benchmarks.frame.processes import ONE_THREAD, apart
from benchmarks.machine import seconds
from benchmarks.memory import peak_mb
from benchmarks.metric_learning.data import LONG_LIST, N_RANKS, TRUTHS, draw, learned, orders_of
from benchmarks.metric_learning.running import Found, Row

N_PAIRS, C = 100_000, 1.0
CASES = {
    "C given": (0.0, C),
    "C given, 25 % turned": (0.25, C),
    "C by cross-validation": (0.0, "cv"),
    "C by cross-validation, 25 % turned": (0.25, "cv"),
}


def measure(case: str) -> Row:
    """Return seconds and peak memory in MB of one case, in this process."""
    share, chosen = CASES[case]
    rng = np.random.default_rng(2010)
    pairs = draw(orders_of(LONG_LIST, N_RANKS), TRUTHS["Data 2"], N_PAIRS, rng).flipped(int(share * N_PAIRS), rng)
    data = pairs.preferences()
    learned(data.subset(np.arange(100)), C=C)
    before = peak_mb()
    try:
        taken = seconds(lambda: learned(data, C=chosen))
    except SolverError:
        return {"seconds": np.nan, "peak MB": np.nan, "failed": 1.0}
    return {"seconds": taken, "peak MB": max(peak_mb(), before), "failed": 0.0}


def speed(_: np.random.Generator) -> Iterator[Found]:
    """Run the cases of a given C, each in its own process; the pairs are the same in every repetition."""
    return _run("C given")


def choosing(_: np.random.Generator) -> Iterator[Found]:
    """Run the cases of cross-validation."""
    return _run("C by")


def _run(kind: str) -> Iterator[Found]:
    for case in CASES:
        if case.startswith(kind):
            yield "speed", {"case": case}, apart(measure, case, environment=ONE_THREAD)
