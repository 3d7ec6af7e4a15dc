"""The engine that is this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from activeeval.core.errors import InputError
from activeeval.scale.engines import Task
from activeeval.scale.engines.ahead import in_order


@dataclass(frozen=True, slots=True)
class Here:
    """Goes over partitions in this process, one after the other or on threads.

    Attributes
    ----------
    n_workers : int
        Threads; 1 takes this one.

    Examples
    --------
    >>> list(Here(2).map(lambda key: b"%d" % key, range(3)))
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
