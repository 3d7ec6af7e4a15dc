"""Graders that are machines: what they say of items, cheap, everywhere, and wrong.

Their grades say what to expect of an item and where a person's judgment is worth most. They are never labels.
"""

from typing import TYPE_CHECKING

from activeeval.lazily import attached

_HOMES = {
    "activeeval.graders.asking": ("Prompt", "Question", "questions"),
    "activeeval.graders.grades": ("Grades", "GradesOnPool"),
}
__all__ = ["Grades", "GradesOnPool", "Prompt", "Question", "questions"]

if TYPE_CHECKING:
    from activeeval.graders.asking import Prompt, Question, questions
    from activeeval.graders.grades import Grades, GradesOnPool

__getattr__, __dir__ = attached(__name__, _HOMES)
