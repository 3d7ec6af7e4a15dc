"""Engines of concurrent.futures: a given Executor, and local processes."""

from __future__ import annotations

import os
import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing import connection, get_context, parent_process
from typing import Any

from activeeval.core.errors import EngineError, InputError
from activeeval.scale.engines import Task
from activeeval.scale.engines.lost_workers import as_engine_error, deaf_children
from activeeval.scale.engines.shipping import RemoteTask, opened, pickled, results, set_up

_MOST_LOSSES = 3


@dataclass(frozen=True, slots=True)
class ExecutorEngine:
    """Runs tasks on the caller's executor; the task is sent with every key.

    Attributes
    ----------
    executor : concurrent.futures.Executor
    n_workers : int
        Number of concurrent calls.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as threads:
    ...     list(ExecutorEngine(threads, 2).map(bytes, range(3)))
    [b'', b'\\x00', b'\\x00\\x00']
    """

    executor: Executor
    n_workers: int = 1

    def map(self, task: Task, keys: Iterable[Any]) -> Iterator[bytes]:
        """Yield the result of the task for each key, in the order of keys; raise EngineError if the executor breaks."""
        shipped = RemoteTask.of(task)
        with as_engine_error("executor", BrokenExecutor):
            yield from results(lambda key: self.executor.submit(shipped, key), keys, self.n_workers + 1)


@dataclass(slots=True)
class _Run:
    """A pending pickled key, its future, and the number of workers lost while it ran."""

    key: bytes
    future: Future[bytes]
    n_losses: int = 0


class Processes:
    """Runs tasks on local processes, which start on first use and run until `close`.

    Parameters
    ----------
    n_workers : int

    Examples
    --------
    >>> with Processes(2) as engine:
    ...     list(engine.map(bytes, range(3)))
    [b'', b'\\x00', b'\\x00\\x00']
    """

    def __init__(self, n_workers: int) -> None:
        """Store the number of workers (InputError below 1); processes start later."""
        if n_workers < 1:
            raise InputError(f"an engine needs a worker, got {n_workers}", field="engine")
        self.n_workers = n_workers
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Processes:
        """Return the engine."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all workers."""
        self.close()

    def map(self, task: Task, keys: Iterable[Any]) -> Iterator[bytes]:
        """Yield the result of the task for each key, in the order of keys; raise EngineError on repeated losses.

        A lost worker is replaced and its key run again; an error is raised if the same key loses three workers.
        """
        rest, pending = map(pickled, keys), deque[_Run]()
        with tempfile.TemporaryDirectory(prefix="activeeval-") as folder:
            shipped = RemoteTask.of(task).left_in(folder)
            try:
                pending.extend(_Run(key, self._submitted(shipped, key)) for key in islice(rest, self.n_workers + 1))
                while pending:
                    try:
                        content = pending[0].future.result()
                    except BrokenExecutor:
                        self._run_again(shipped, pending)
                        continue
                    pending.popleft()
                    pending.extend(_Run(key, self._submitted(shipped, key)) for key in islice(rest, 1))
                    yield opened(content)
            except BaseException:  # only ending the processes cancels running tasks
                self.close()
                raise

    def close(self) -> None:
        """Kill all workers."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        workers = list((pool._processes or {}).values())
        with suppress(OSError):  # the pool may be breaking at this moment
            pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.join()

    def _run_again(self, shipped: RemoteTask, pending: Iterable[_Run]) -> None:
        """Resubmit unfinished keys to new workers, as a pool that has lost a worker returns nothing more.

        ``shipped`` is the task as sent to workers, ``pending`` has the runs not yielded yet. EngineError is raised if
        workers were lost three times while the same key ran.
        """
        self.close()
        for run in pending:
            if _has_result(run.future):
                continue
            run.n_losses += 1
            if run.n_losses == _MOST_LOSSES:
                why = 'killed, out of memory, or of a script without `if __name__ == "__main__"`'
                raise EngineError(f"processes: a worker was lost {_MOST_LOSSES} times over the same task: {why}")
            run.future = self._submitted(shipped, run.key)

    def _submitted(self, shipped: RemoteTask, key: bytes) -> Future[bytes]:
        """Submit the task (``shipped``, as sent to workers) for a pickled key; return a failed future if that fails.

        The pool of processes starts with the first key. A broken pool is no error here: `map` sees it in the future.
        """
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.n_workers, get_context("spawn"), initializer=_begin)
        try:
            with deaf_children():
                return self._pool.submit(shipped, key)
        except (BrokenExecutor, OSError) as problem:  # a breaking pool may have closed its pipes already
            future: Future[bytes] = Future()
            future.set_exception(BrokenExecutor(str(problem)))
            return future


def _has_result(future: Future[bytes]) -> bool:
    """Check whether a future has finished without error."""
    return future.done() and not future.cancelled() and future.exception() is None


def _begin() -> None:
    """Initialise a worker process, and make it exit when its parent process ends."""
    set_up()
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    """Wait for the end of the parent process (`sentinel` becomes ready), then exit."""
    connection.wait([sentinel])
    os._exit(1)
