"""Ctrl-C, which a terminal sends to all processes: only the one that started the others is to answer."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker


@contextmanager
def deaf_children() -> Iterator[None]:
    """Have processes and threads that start within the block not hear Ctrl-C; here it waits for the block's end."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # as it starts it makes this thread hear again
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
