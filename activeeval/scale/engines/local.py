"""Engine in this process, and ordered results with tasks running ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeVar

from activeeval.core.errors import InputError
from activeeval.scale.engines import Task

K = TypeVar("K")


class Future(Protocol):
    """Pending result of a task: the methods that futures of `concurrent.futures` and Dask share."""

    def result(self) -> Any:
        """Wait for the result."""

    def cancel(self) -> Any:
        """Cancel the task."""


def in_order(submit: Callable[[K], Future], keys: Iterable[K], n_ahead: int) -> Generator[Any, None, None]:
    """Yield results in the order of keys, with ``n_ahead`` tasks submitted ahead of the one that is awaited.

    `submit` starts the task of a key. Pending tasks are cancelled when the generator is closed.
    """
    rest = iter(keys)
    pending = deque(submit(key) for key in islice(rest, n_ahead))
    try:
        while pending:
            result = pending.popleft().result()
            pending.extend(submit(key) for key in islice(rest, 1))
            yield result
    finally:
        for future in pending:
            future.cancel()


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Runs tasks in this process, sequentially or on threads.

    Attributes
    ----------
    n_workers : int
        Number of threads; 1 runs in the calling thread.

    Examples
    --------
    >>> list(LocalEngine(2).map(lambda key: b"%d" % key, range(3)))
    [b'0', b'1', b'2']
    """

    n_workers: int = 1

    def __post_init__(self) -> None:
        """Raise InputError if there are fewer than one worker."""
        if self.n_workers < 1:
            raise InputError(f"an engine needs a worker, got {self.n_workers}", field="engine")

    def map(self, task: Task, keys: Iterable[Any]) -> Iterator[bytes]:
        """Yield the result of the task for each key, in the order of keys."""
        if self.n_workers == 1:
            yield from map(task, keys)
            return
        threads = ThreadPoolExecutor(self.n_workers)
        try:
            yield from in_order(lambda key: threads.submit(task, key), keys, self.n_workers + 1)
        finally:  # no wait: the generator may be closed from one of these threads
            threads.shutdown(wait=False, cancel_futures=True)
