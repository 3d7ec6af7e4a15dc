"""Engines: who goes over the partitions of a pool.

All that the rest knows of an engine are two names, `Engine.map` and `Engine.n_workers`. A task is pure: it reads what
its key names and returns bytes. So a task that runs twice, on a worker that died or beside a slow one, does no harm.
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
        How many tasks run at once.
    """

    @property
    def n_workers(self) -> int:
        """How many tasks run at once."""

    def map(self, task: Task, keys: Iterable[Any]) -> Iterator[bytes]:
        """Yield what the task makes of each key, in the order of the keys.

        Keys are taken from the iterable as results are: no more than a few for each worker wait. A generator that is
        given up cancels what runs.

        Raises
        ------
        EngineError
            Where the workers are lost, or a task fails for no reason that it gives itself.
        """
