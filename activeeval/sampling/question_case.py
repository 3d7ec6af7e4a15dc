"""Prepare the case of a question about a pool, and the base class of results that report its notes.

A case is a prepared pool with its rankings, grade model, and known grades or labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from activeeval.core.errors import ChoiceError
from activeeval.core.results import Caution, Note
from activeeval.inputs.arguments import in_python
from activeeval.inputs.choices import Choices
from activeeval.inputs.judging_choice import check_graded
from activeeval.inputs.prepared_case import PreparedCase, prepare
from activeeval.report.message_lookup import text_of
from activeeval.report.printable import PrintableResult

Say = Callable[[Note | Caution], object]
"""Receives each note or warning."""
Progress = Callable[[str], object]
"""Receives a text that names the next step."""


def unsaid(note: object) -> None:
    """Ignore a note or a progress text."""


def case_for(
    choices: Choices,
    measures: Sequence[str],
    *,
    use_labels: bool,
    most_systems: int | None = None,
    say: Say = unsaid,
    progress: Progress = unsaid,
) -> PreparedCase:
    """Prepare a pool, with rankings and grade model, for measures of grades, and pass its notes on to ``say``.

    Parameters
    ----------
    use_labels : bool
        True if the labels of the pool are needed.
    most_systems : int, optional
        Largest number of runs to accept.
    say, progress : callable
        Called with each note, and with a text that names the next step.

    Raises
    ------
    ChoiceError
        If there are more systems than ``most_systems``, or options contradict each other.
    InputError
        If a measure needs comparisons instead of grades, or a file or a number is wrong.
    """
    check_graded(measures)
    if most_systems is not None and len(choices.systems) > most_systems:
        raise ChoiceError(f"this takes one question, of one system or two, got {len(choices.systems)}")
    case = prepare(choices, use_labels=use_labels, measures=measures, progress=progress)
    for note in case.notes:
        say(note)
    progress("working")
    return case


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CaseResult(PrintableResult):
    """Base class of results with a prepared case.

    Attributes
    ----------
    case : PreparedCase
    frame_kind : str
        Library of the input frames, "" if there were none.
    """

    case: PreparedCase
    frame_kind: str = ""

    @property
    def footnotes(self) -> list[str]:
        """Notes on the pool and its grade model."""
        return [f"{text[:1].upper()}{text[1:]}." for text in (text_of(note, in_python) for note in self.case.notes)]
