"""Notification of the first compilation of a function; a separate module, because it imports nothing."""

from __future__ import annotations

from collections.abc import Callable

WATCHERS: list[Callable[[], object]] = []
"""Callbacks, each called once, before the first function is compiled that is not in the cache on disk."""


def say_first_use() -> None:
    """Announce that a kernel (a compiled function) is about to be compiled: call all `WATCHERS` and remove them."""
    watchers, WATCHERS[:] = WATCHERS[:], []
    for watcher in watchers:
        watcher()
