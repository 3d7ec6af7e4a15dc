"""Who is told when something is compiled because it is used for the first time; apart, as it loads nothing."""

from __future__ import annotations

from collections.abc import Callable

WATCHERS: list[Callable[[], object]] = []
"""Each is called once, before the first function is compiled that is not kept from an earlier process."""


def say_first_use() -> None:
    """Tell all watchers, and forget them."""
    watchers, WATCHERS[:] = WATCHERS[:], []
    for watcher in watchers:
        watcher()
