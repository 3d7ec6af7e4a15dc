"""Peak memory of a process, and of each step from stored arrays to moments."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import numpy as np
import polars as pl

from activeeval import DCG, ERR, QueryPool, Rankings
from activeeval.formats.graders.grader_grades import Grades
from benchmarks.machine import seconds


def peak_mb() -> float:
    """Return the peak resident memory of this process since it was asked last.

    On Linux VmHWM, which can be set back; getrusage cannot, and starts there from the peak of the
    process that started this one. Elsewhere getrusage: the peak so far.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e6
        Path("/proc/self/clear_refs").write_text("5")
    except (OSError, StopIteration):
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    return peak


def peaks_of_moments(folder: str) -> dict[str, float]:
    """Load arrays, take the moments, and measure the peak of each step."""
    small = QueryPool(["a"], [0, 2])
    one = Rankings.from_scores(small, [2.0, 1.0])
    for measure in (DCG(), ERR(4)):
        measure.moments(small, np.full((2, 5), 0.2), one, one)
    peaks = {"importing and compiling": peak_mb()}
    names = ("probs", "offsets", "first", "second")
    probs, offsets, first, second = (np.load(Path(folder) / f"{name}.npy") for name in names)
    peaks["loading probabilities and two lists as arrays"] = peak_mb()
    pool = QueryPool(np.arange(offsets.size - 1), offsets)
    peaks["making the pool"] = peak_mb()
    ranking, versus = Rankings(pool, offsets, first), Rankings(pool, offsets, second)
    peaks["making the rankings"] = peak_mb()
    for measure in (DCG(), ERR(4)):
        measure.moments(pool, probs, ranking)
    peaks["taking moments, absolute"] = peak_mb()
    for measure in (DCG(), ERR(4)):
        measure.moments(pool, probs, ranking, versus)
    peaks["taking moments, comparison"] = peak_mb()
    return peaks


def timed_grades(*paths: str) -> dict[str, float]:
    """Measure the seconds of reading some files of grades, compiled before, and the peak of memory of this process."""
    Grades.read(pl.DataFrame({"query_id": ["a"], "doc_id": ["b"], "grade": [1]}))
    return {"seconds": sum(seconds(Grades.read, path) for path in paths), "peak_mb": peak_mb()}
