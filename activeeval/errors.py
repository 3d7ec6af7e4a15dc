"""What can go wrong, each with the numbers or the place that a caller needs to act on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def shown(text: str) -> str:
    """Quote a text for a message, shortened where it is long."""
    return repr(text if len(text) <= 60 else text[:59] + "…")


class ActiveEvalError(Exception):
    """Base of every error that activeeval raises on purpose; its text is one line."""

    def __reduce__(self) -> tuple[Any, ...]:
        # an error that is raised in another process must come back as it was
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[ActiveEvalError], args: tuple[Any, ...], state: dict[str, Any]) -> ActiveEvalError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class InputError(ActiveEvalError, ValueError):
    """An argument or a table is wrong; the text names the place and what was expected."""


class ChoiceError(InputError):
    """Choices contradict each other, or one is missing; nothing has been read yet, or nothing that helps."""


class FormatError(InputError):
    """A file is wrong at a line: ``path:line: what is wrong, the text, what was expected``.

    Attributes
    ----------
    path : str
        The file as the caller named it.
    line : int or None
        1-based line number; None where the file as a whole is meant.
    """

    def __init__(self, path: str | Path, line: int | None, problem: str) -> None:
        self.path = str(path)
        self.line = line
        place = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{place}: {problem}")


class BudgetError(ActiveEvalError, ValueError):
    """The budget cannot pay for what must be possible.

    Attributes
    ----------
    budget, needed : float
        What was given and the least that works, in the unit of the item costs.
    """

    def __init__(self, problem: str, *, budget: float, needed: float) -> None:
        self.budget = budget
        self.needed = needed
        super().__init__(problem)


class StateError(ActiveEvalError, RuntimeError):
    """A step was asked for out of turn, as an estimate while judgments are awaited."""


class SolverError(ActiveEvalError, RuntimeError):
    """A solver gave up; there is no answer in its place.

    Attributes
    ----------
    status : str
        What the solver says of itself.
    """

    def __init__(self, problem: str, *, status: str) -> None:
        self.status = status
        super().__init__(problem)
