"""Several judges of one item: policies for grades that differ, agreement, and exclusion of graders."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from activeeval.core.errors import FormatError, InputError, raise_all

if TYPE_CHECKING:
    from activeeval.core.results import Caution

CANNOT = -1
"""Grade that means: the judge declared that the item cannot be judged."""
POLICIES = ("refuse", "majority", "median", "mean-gain")
"""Policies for several grades of an item: an error; the most frequent grade, the lowest if tied; the lower median; the
mean gain of the grades.

The last requires a measure. Known grades are single grades, so they use one of the others.
"""


class Agreement(NamedTuple):
    """Number of items with several judges, and number of these on which all agree."""

    several: int
    alike: int


class DisagreedItem(NamedTuple):
    """An item with the grade of each judge and the place of each grade: ``path:line``, or words."""

    item: str
    grades: Mapping[str, int]
    places: Mapping[str, str]

    def problem(self, field: str) -> FormatError:
        """Build the error for an item on which judges differ: at the place of the last grade, the others in brackets.

        ``field`` is the parameter that the error names.
        """
        *others, last = self.grades
        words = [f"{_worded(self.grades[judge])} of {judge!r} ({self.places[judge]})" for judge in others]
        words.append(f"{_worded(self.grades[last])} of {last!r}")
        problem = f"{self.item} has two grades, {' and '.join(words)}"
        path, _, line = self.places[last].rpartition(":")
        if line.isdigit():
            return FormatError(path, int(line), problem, field=field)
        return FormatError(self.places[last], None, problem, field=field)


def agreement_of(judged: Iterable[Mapping[str, int]]) -> Agreement:
    """Count the items with several judges and those on which they agree; ``judged`` has each item's grades by judge."""
    several = [set(grades.values()) for grades in judged if len(grades) > 1]
    return Agreement(len(several), sum(len(grades) == 1 for grades in several))


def add_grade(grades: dict[str, int], judge: str, grade: int, place: str) -> None:
    """Add the grade of a judge to an item's grades by judge.

    Parameters
    ----------
    place : str
        Sheet and item, for the message.

    Raises
    ------
    InputError
        If the judge has given another grade.
    """
    before = grades.setdefault(judge, grade)
    if before != grade:
        raise InputError(f"{place} has two grades, {_worded(before)} and {_worded(grade)}")


def check_alike(items: Iterable[DisagreedItem], *, field: str = "policy") -> None:
    """Raise FormatError if judges grade items differently; it names all such items and the place of each grade.

    Parameters
    ----------
    items : iterable of DisagreedItem
        Items on which the judges agree are skipped.
    field : str
        Name of the parameter that sets the policy.

    Raises
    ------
    FormatError
        Also suggests the policies.
    """
    differing = [item.problem(field) for item in items if len(set(item.grades.values())) > 1]
    policies = " | ".join(POLICIES[1:] if field == "policy" else POLICIES[1:-1])  # known grades are single grades
    raise_all(differing, f"add `{field}` {policies}, or let the judges agree on one grade", field=field)


def _worded(grade: int) -> str:
    """Format a grade for a message: the number, or "cannot"."""
    return "cannot" if grade == CANNOT else str(grade)


def given_grades(grades: Mapping[str, int]) -> tuple[int, ...]:
    """Collect an item's grades from those by judge, ascending, without "cannot" answers."""
    return tuple(sorted(grade for grade in grades.values() if grade != CANNOT))


def needs_third(grades: Collection[int | None]) -> bool:
    """Check whether two judges differ, so that a third must decide; None stands for a judge without a grade.

    Examples
    --------
    >>> needs_third([0, 2]), needs_third([2, 2]), needs_third([2, None]), needs_third([0, 2, 2])
    (True, False, False, False)
    """
    clear = [grade for grade in grades if grade is not None and grade != CANNOT]
    return len(grades) == 2 == len(set(clear))


def one_grade(grades: Sequence[int], policy: str) -> int:
    """Combine an item's ascending grades into one; `CANNOT` if there is none.

    Policy "majority" takes the most frequent one, the lowest if tied; any other policy the lower median.

    Examples
    --------
    >>> one_grade((1, 2, 2, 3), "majority"), one_grade((0, 1, 2, 3), "median")
    (2, 1)
    """
    if not grades:
        return CANNOT
    if policy == "majority":
        return max(dict.fromkeys(grades), key=grades.count)
    return grades[(len(grades) - 1) // 2]


def truth_of_machines(source: str, n: int) -> Caution:
    """Build the warning that ``n`` grades of a grader (an LLM or another model) are accepted as people's.

    ``source`` names them.
    """
    from activeeval.core.results import Caution

    return Caution("warning", "machine is truth", {"source": source, "n": n})


def refuse_as_labels(source: str, what: str = "") -> NoReturn:
    """Raise InputError because grades of a grader (an LLM or another model) are not labels.

    ``source`` names them, `what` the grader's output.
    """
    of_what = f" ({what})" if what else ""
    problem = f"these are a grader's grades{of_what}, not labels: pass them with `grader`"
    raise InputError(f"{source}: {problem}", field="grader")
