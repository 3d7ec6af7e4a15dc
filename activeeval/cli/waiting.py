"""How far a command is: one line on stderr, for whoever has waited two seconds.

The line is there on a terminal only, never with --quiet, and gone before anything is printed on stdout.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from activeeval.errors import visible

_PATIENCE = 2.0


class _Line:
    """What is being done, how many of how many steps are done, and the bar that says so once it is drawn."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {"description": "working", "total": None, "completed": 0}
        self.lock = threading.Lock()
        self.bar: Any = None
        self.task: Any = None

    def update(self, **changes: Any) -> None:
        with self.lock:
            self.state |= changes
            if self.bar is not None:
                self.bar.update(self.task, **self.state)

    def draw(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
        with self.lock:
            self.bar = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False)
            self.task = self.bar.add_task(**self.state)
            self.bar.start()

    def clear(self) -> None:
        with self.lock:
            if self.bar is not None:
                self.bar.stop()
                self.bar = None


_LINES: list[tuple[_Line, threading.Timer]] = []


@contextmanager
def keep_told(*, quiet: bool) -> Iterator[None]:
    """Show how far it is to whoever waits at a terminal, until what is done within ends or `settle` is called."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    line = _Line()
    patience = threading.Timer(_PATIENCE, line.draw)
    patience.daemon = True
    _LINES.append((line, patience))
    patience.start()
    try:
        yield
    finally:
        settle()


def settle() -> None:
    """Take the line away for good, if there is one: what follows is the answer."""
    while _LINES:
        line, patience = _LINES.pop()
        patience.cancel()
        patience.join()
        line.clear()


def tell(step: str) -> None:
    """Say what is done from now on, of which nobody knows how long it takes."""
    for line, _ in _LINES:
        line.update(description=visible(step), total=None, completed=0)


@contextmanager
def progress(total: int, what: str) -> Iterator[Callable[[str], None]]:
    """Yield a function to call after each of ``total`` steps, with what is to be read beside the bar then."""
    done = 0

    def advance(step: str) -> None:
        nonlocal done
        done += 1
        for line, _ in _LINES:
            line.update(description=f"{step} ({done} of {total})", completed=done)

    for line, _ in _LINES:
        line.update(description=what, total=total, completed=0)
    yield advance
    tell("working")
