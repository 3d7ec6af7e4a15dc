"""How far a command is, on stderr: a line at a terminal for whoever has waited two seconds, elsewhere one every ten.

Never with --quiet. At a terminal the line is gone before anything is printed on stdout. Both say so where a first use
compiles.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from activeeval.core.errors import visible
from activeeval.core.kernels.first_use import WATCHERS

FIRST_USE = "first use: compiling, 10 s to a minute on a free machine (`activeeval warm-up` does all)"
"""Seconds of the processor where nothing was kept: `score` 8, `sample` 10, `estimate` 20, `plan` 42, `warm-up` 66."""
_PATIENCE = 2.0
_EVERY = 10.0


class _Line:
    """What is being done, how many of how many steps are done, and who says so after a while."""

    patience: float

    def __init__(self) -> None:
        self.state: dict[str, Any] = {"description": "working", "total": None, "completed": 0}
        self.lock = threading.Lock()
        self.timer = threading.Timer(self.patience, self.draw)
        self.timer.daemon = True

    def update(self, **changes: Any) -> None:
        with self.lock:
            self.state |= changes
            self.redraw()

    def stop(self) -> None:
        self.timer.cancel()
        self.timer.join()
        with self.lock:
            self.clear()

    def note(self, text: str) -> None:
        """Say something that stays."""
        with self.lock:
            self.write(f"activeeval: {text}")

    def draw(self) -> None:
        raise NotImplementedError

    def redraw(self) -> None:
        """Show what has changed."""

    def clear(self) -> None:
        """Take away what is shown."""

    def write(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class _Bar(_Line):
    """A line with a bar, at a terminal."""

    def __init__(self) -> None:
        self.patience = _PATIENCE
        self.bar: Any = None
        self.task: Any = None
        super().__init__()

    def draw(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
        with self.lock:
            self.bar = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False)
            self.task = self.bar.add_task(**self.state)
            self.bar.start()

    def redraw(self) -> None:
        if self.bar is not None:
            self.bar.update(self.task, **self.state)

    def clear(self) -> None:
        if self.bar is not None:
            self.bar.stop()
            self.bar = None

    def write(self, text: str) -> None:
        if self.bar is None:
            super().write(text)
        else:
            self.bar.console.print(text, markup=False, highlight=False)


class _RepeatedLine(_Line):
    """A line every ten seconds, where there is no terminal."""

    def __init__(self) -> None:
        self.patience = _EVERY
        self.began = time.monotonic()
        self.done = threading.Event()
        super().__init__()

    def draw(self) -> None:
        while not self.done.is_set():
            with self.lock:
                self.write(f"activeeval: {self.state['description']}, {time.monotonic() - self.began:.0f} s so far")
            self.done.wait(self.patience)

    def stop(self) -> None:
        self.done.set()
        super().stop()

    def write(self, text: str) -> None:
        try:
            super().write(text)
        except OSError:  # nobody reads it any more: what is waited for is no worse for that
            self.done.set()


_LINES: list[_Line] = []


@contextmanager
def keep_told(*, quiet: bool, is_all: bool = True) -> Iterator[None]:
    """Show how far it is to whoever waits, until what is done within ends or `settle` is called.

    Parameters
    ----------
    is_all : bool
        Whether the process does nothing else; a stderr that others write to is left alone, but at a terminal.
    """
    is_seen = sys.stderr.isatty()
    if quiet or not (is_seen or is_all):
        yield
        return
    line = _Bar() if is_seen else _RepeatedLine()
    _LINES.append(line)
    WATCHERS.append(_say_first_use)
    line.timer.start()
    try:
        yield
    finally:
        settle()


def settle() -> None:
    """Take the line away for good, if there is one: what follows is the answer."""
    WATCHERS.clear()
    while _LINES:
        _LINES.pop().stop()


def _say_first_use() -> None:
    for line in _LINES:
        line.note(FIRST_USE)


def tell(step: str) -> None:
    """Say what is done from now on, of which nobody knows how long it takes."""
    for line in _LINES:
        line.update(description=visible(step), total=None, completed=0)


@contextmanager
def progress(total: int, what: str) -> Iterator[Callable[[str], None]]:
    """Yield a function to call after each of ``total`` steps, with what is to be read beside the bar then."""
    done = 0

    def advance(step: str) -> None:
        nonlocal done
        done += 1
        for line in _LINES:
            line.update(description=f"{step} ({done} of {total})", completed=done)

    for line in _LINES:
        line.update(description=what, total=total, completed=0)
    yield advance
    tell("working")
