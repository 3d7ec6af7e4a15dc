"""Peak memory of a process, and of one that reads grades."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import polars as pl

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


def timed_grades(*paths: str) -> dict[str, float]:
    """Measure the seconds of reading some files of grades, compiled before, and the peak of memory of this process."""
    Grades.read(pl.DataFrame({"query_id": ["a"], "doc_id": ["b"], "grade": [1]}))
    return {"seconds": sum(seconds(Grades.read, path) for path in paths), "peak_mb": peak_mb()}
