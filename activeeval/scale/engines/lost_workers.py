"""One-line errors of engines, and protection of workers from Ctrl-C, which a terminal sends to all processes."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker

from activeeval.core.errors import ActiveEvalError, EngineError

_LONGEST = 300


@contextmanager
def as_engine_error(name: str, *kinds: type[BaseException]) -> Iterator[None]:
    """Raise errors of some kinds as an EngineError prefixed with the name of the engine.

    Examples
    --------
    >>> with as_engine_error("dask", KeyError):
    ...     raise KeyError("no scheduler")
    Traceback (most recent call last):
    ...
    activeeval.core.errors.EngineError: dask: KeyError: 'no scheduler'
    """
    try:
        yield
    except ActiveEvalError:
        raise
    except kinds as problem:
        raise EngineError(f"{name}: {one_line(problem)}") from None


def one_line(problem: BaseException) -> str:
    r"""Shorten an error to one line, its type and root cause, as errors of engines span pages.

    The cause is the unindented rest of the first Python traceback, else Java's "Caused by" lines, else the first line.

    Examples
    --------
    >>> one_line(RuntimeError("a worker said:\nTraceback (most recent call last):\n  File x\nOSError: no disk\n"))
    'RuntimeError: OSError: no disk'
    """
    lines = [line for line in str(problem).splitlines() if line.strip()]
    traces = [k for k, line in enumerate(lines) if line.startswith("Traceback")]
    of_python = [line for line in lines[traces[0] + 1 :] if not line.startswith(" ")] if traces else []
    of_java = [line for line in lines if line.startswith("Caused by: ")]
    text = " ".join((of_python or of_java or lines or [""])[0].split())
    return f"{type(problem).__name__}{': ' if text else ''}{text[:_LONGEST]}"


@contextmanager
def deaf_children() -> Iterator[None]:
    """Make processes and threads started within the block ignore SIGINT (Ctrl-C); the main process handles it after."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start unblocks SIGINT in this thread
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
