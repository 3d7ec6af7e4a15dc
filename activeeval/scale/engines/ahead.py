"""Results in the order of their keys, of which a few run ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from itertools import islice
from typing import Any, Protocol, TypeVar

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
