"""The engine that is this process, and results in the order of their keys, of which a few run ahead."""

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
    """What runs: as of `concurrent.futures`, or Dask."""

    def result(self) -> Any:
        """Wait for the result."""

    def cancel(self) -> Any:
        """Give it up."""


def in_order(submit: Callable[[K], Future], keys: Iterable[K], n_ahead: int) -> Generator[Any, None, None]:
    """Yield the result of each key in turn, while those of the next keys run; what waits is cancelled at the end."""
    rest = iter(keys)
    waiting = deque(submit(key) for key in islice(rest, n_ahead))
    try:
        while waiting:
            result = waiting.popleft().result()
            waiting.extend(submit(key) for key in islice(rest, 1))
            yield result
    finally:
        for future in waiting:
            future.cancel()


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Goes over partitions in this process, one after the other or on threads.

    Attributes
    ----------
    n_workers : int
        Threads; 1 takes this one.

    Examples
    --------
    >>> list(LocalEngine(2).map(lambda key: b"%d" % key, range(3)))
    [b'0', b'1', b'2']
    """

    n_workers: int = 1

    def __post_init__(self) -> None:
        if self.n_workers < 1:
            raise InputError(f"an engine needs a worker, got {self.n_workers}", field="engine")

    def map(self, task: Task, keys: Iterable[Any]) -> Iterator[bytes]:
        """Yield what the task makes of each key; see `Engine.map`."""
        if self.n_workers == 1:
            yield from map(task, keys)
            return
        threads = ThreadPoolExecutor(self.n_workers)
        try:
            yield from in_order(lambda key: threads.submit(task, key), keys, self.n_workers + 1)
        finally:  # without waiting: a generator that is given up may be closed in one of these threads
            threads.shutdown(wait=False, cancel_futures=True)
