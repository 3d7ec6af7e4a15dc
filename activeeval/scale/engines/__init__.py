"""Engines: run tasks over the partitions of a pool.

The interface of an engine is `Engine.map` and `Engine.n_workers`. A task is pure: it reads the partition that its key
names, and returns bytes. Running it twice, after the loss of a worker or in parallel with a slow one, is harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

Task = Callable[[Any], bytes]


class Engine(Protocol):
    """Runs a task over keys.

    Attributes
    ----------
    n_workers : int
        Number of concurrent tasks.
    """

    @property
    def n_workers(self) -> int:
        """Number of concurrent tasks."""

    def map(self, task: Task, keys: Iterable[Any]) -> Iterator[bytes]:
        """Yield the result of the task for each key, in the order of the keys.

        Keys are read as results are consumed: at most a few for each worker are pending. Closing the generator cancels
        the running tasks.

        Raises
        ------
        EngineError
            If workers are lost, or a task fails with an unexpected error.
        """
