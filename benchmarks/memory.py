"""Peak memory of a process."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


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
