"""How many threads one call takes."""

from __future__ import annotations

import os


def n_threads() -> int:
    """Return how many threads a call may take: all processors, or what ACTIVEEVAL_NUM_THREADS says, as on a worker.

    Examples
    --------
    >>> n_threads() > 0
    True
    """
    return int(os.environ.get("ACTIVEEVAL_NUM_THREADS") or os.cpu_count() or 1)
