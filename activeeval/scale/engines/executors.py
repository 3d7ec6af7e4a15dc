"""Engines of concurrent.futures: whatever has an Executor, and processes of this machine."""

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
    """Goes over partitions by an executor that the caller has, and keeps; the task travels with every key.

    Attributes
    ----------
    executor : concurrent.futures.Executor
    n_workers : int
        How many calls it runs at once.

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
        """Yield what the task makes of each key; see `Engine.map`."""
        shipped = RemoteTask.of(task)
        with as_engine_error("executor", BrokenExecutor):
            yield from results(lambda key: self.executor.submit(shipped, key), keys, self.n_workers + 1)


@dataclass(slots=True)
class _Run:
    """A key that is on its way, and how many workers were lost meanwhile."""

    key: bytes
    future: Future[bytes]
    n_losses: int = 0


class Processes:
    """Goes over partitions by processes of this machine, which start when they are first needed and stay until `close`.

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
        if n_workers < 1:
            raise InputError(f"an engine needs a worker, got {n_workers}", field="engine")
        self.n_workers = n_workers
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def map(self, task: Task, keys: Iterable[Any]) -> Iterator[bytes]:
        """Yield what the task makes of each key; see `Engine.map`. A worker that is lost is replaced."""
        rest, waiting = map(pickled, keys), deque[_Run]()
        with tempfile.TemporaryDirectory(prefix="activeeval-") as folder:
            shipped = RemoteTask.of(task).left_in(folder)
            try:
                waiting.extend(_Run(key, self._submitted(shipped, key)) for key in islice(rest, self.n_workers + 1))
                while waiting:
                    try:
                        content = waiting[0].future.result()
                    except BrokenExecutor:
                        self._run_again(shipped, waiting)
                        continue
                    waiting.popleft()
                    waiting.extend(_Run(key, self._submitted(shipped, key)) for key in islice(rest, 1))
                    yield opened(content)
            except BaseException:  # whoever gives up cancels what runs, which only the end of its process does
                self.close()
                raise

    def close(self) -> None:
        """End all workers."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        workers = list((pool._processes or {}).values())
        with suppress(OSError):  # of a pool that breaks just now
            pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.join()

    def _run_again(self, shipped: RemoteTask, waiting: Iterable[_Run]) -> None:
        """Run what did not end on new workers: of a pool that has lost one nothing more comes."""
        self.close()
        for run in waiting:
            if _has_result(run.future):
                continue
            run.n_losses += 1
            if run.n_losses == _MOST_LOSSES:
                why = 'killed, out of memory, or of a script without `if __name__ == "__main__"`'
                raise EngineError(f"processes: a worker was lost {_MOST_LOSSES} times over the same task: {why}")
            run.future = self._submitted(shipped, run.key)

    def _submitted(self, shipped: RemoteTask, key: bytes) -> Future[bytes]:
        """Start a key; that of a pool which is broken already fails like what runs there."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.n_workers, get_context("spawn"), initializer=_begin)
        try:
            with deaf_children():
                return self._pool.submit(shipped, key)
        except (BrokenExecutor, OSError) as problem:  # a pool that breaks just now may have closed its pipes already
            future: Future[bytes] = Future()
            future.set_exception(BrokenExecutor(str(problem)))
            return future


def _has_result(future: Future[bytes]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _begin() -> None:
    """Make a new process ready, which ends when the one that started it does, however that ends."""
    set_up()
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)
