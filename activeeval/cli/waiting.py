"""Progress on stderr: on a terminal a bar after two seconds, elsewhere a line every ten seconds.

Nothing is shown with --quiet. On a terminal the bar is removed before results are printed. Compilation on first use is
announced.
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
"""CPU seconds with an empty cache: `score` 8, `sample` 10, `estimate` 20, `plan` 42, `warm-up` 66."""
_PATIENCE = 2.0
_EVERY = 10.0


class _Line:
    """Progress display on stderr, which a timer thread starts after `patience` seconds."""

    patience: float

    def __init__(self) -> None:
        """Prepare the timer that starts the display, and its state: a text, and the steps done and in total."""
        self.state: dict[str, Any] = {"description": "working", "total": None, "completed": 0}
        self.lock = threading.Lock()
        self.timer = threading.Timer(self.patience, self.draw)
        self.timer.daemon = True

    def update(self, **changes: Any) -> None:
        """Change the state (description, total and completed steps) and redraw the display."""
        with self.lock:
            self.state |= changes
            self.redraw()

    def stop(self) -> None:
        """Stop the timer and remove the display."""
        self.timer.cancel()
        self.timer.join()
        with self.lock:
            self.clear()

    def note(self, text: str) -> None:
        """Print a permanent line."""
        with self.lock:
            self.write(f"activeeval: {text}")

    def draw(self) -> None:
        """Start the display; called by the timer, implemented by subclasses."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Show the current state, if the display has started."""

    def clear(self) -> None:
        """Remove the display."""

    def write(self, text: str) -> None:
        """Print a line on stderr."""
        print(text, file=sys.stderr, flush=True)


class _Bar(_Line):
    """Progress bar on a terminal."""

    def __init__(self) -> None:
        """Start without a bar."""
        self.patience = _PATIENCE
        self.bar: Any = None
        self.task: Any = None
        super().__init__()

    def draw(self) -> None:
        """Start the bar."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
        with self.lock:
            self.bar = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False)
            self.task = self.bar.add_task(**self.state)
            self.bar.start()

    def redraw(self) -> None:
        """Update the bar."""
        if self.bar is not None:
            self.bar.update(self.task, **self.state)

    def clear(self) -> None:
        """Remove the bar."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None

    def write(self, text: str) -> None:
        """Print a line above the bar."""
        if self.bar is None:
            super().write(text)
        else:
            self.bar.console.print(text, markup=False, highlight=False)


class _RepeatedLine(_Line):
    """Progress as a line every ten seconds, for stderr that is no terminal."""

    def __init__(self) -> None:
        """Store the start time."""
        self.patience = _EVERY
        self.began = time.monotonic()
        self.done = threading.Event()
        super().__init__()

    def draw(self) -> None:
        """Print the line repeatedly until the command ends."""
        while not self.done.is_set():
            with self.lock:
                self.write(f"activeeval: {self.state['description']}, {time.monotonic() - self.began:.0f} s so far")
            self.done.wait(self.patience)

    def stop(self) -> None:
        """End the repetition."""
        self.done.set()
        super().stop()

    def write(self, text: str) -> None:
        """Print a line; stop if stderr is closed."""
        try:
            super().write(text)
        except OSError:  # stderr is closed: the command continues without progress
            self.done.set()


_LINES: list[_Line] = []


@contextmanager
def keep_told(*, quiet: bool, is_all: bool = True) -> Iterator[None]:
    """Show progress on stderr until the block ends or `settle` is called; nothing if `quiet`.

    Parameters
    ----------
    is_all : bool
        True if the process runs only this command; otherwise progress is shown only on a terminal.
    """
    is_terminal = sys.stderr.isatty()
    if quiet or not (is_terminal or is_all):
        yield
        return
    line = _Bar() if is_terminal else _RepeatedLine()
    _LINES.append(line)
    WATCHERS.append(_say_first_use)  # called when a kernel begins to compile
    line.timer.start()
    try:
        yield
    finally:
        settle()


def settle() -> None:
    """Remove the progress display for good, before results are printed."""
    WATCHERS.clear()
    while _LINES:
        _LINES.pop().stop()


def _say_first_use() -> None:
    """Announce that kernels are being compiled, which takes time on first use."""
    for line in _LINES:
        line.note(FIRST_USE)


def tell(step: str) -> None:
    """Set the description of the current step, of unknown duration."""
    for line in _LINES:
        line.update(description=visible(step), total=None, completed=0)


@contextmanager
def progress(total: int, description: str) -> Iterator[Callable[[str], None]]:
    """Yield a function to call after each of ``total`` steps, with the text to show beside the bar.

    `description` is shown before the first step.
    """
    done = 0

    def advance(step: str) -> None:
        """Count a step and show its text beside the bar."""
        nonlocal done
        done += 1
        for line in _LINES:
            line.update(description=f"{step} ({done} of {total})", completed=done)

    for line in _LINES:
        line.update(description=description, total=total, completed=0)
    yield advance
    tell("working")
