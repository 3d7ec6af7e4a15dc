"""Number of threads that one call may use."""

from __future__ import annotations

import os


def n_threads() -> int:
    """Return the number of threads of a call: ACTIVEEVAL_NUM_THREADS if set (as on a worker), else all processors.

    Examples
    --------
    >>> n_threads() > 0
    True
    """
    return int(os.environ.get("ACTIVEEVAL_NUM_THREADS") or os.cpu_count() or 1)
