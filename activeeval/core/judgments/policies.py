"""Several judges of one item: what becomes of grades that differ, how far judges agree, and that machines are none."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from activeeval.core.errors import FormatError, InputError, raise_all

if TYPE_CHECKING:
    from activeeval.core.results import Caution

CANNOT = -1
"""As a grade: the judge says that the item cannot be judged."""
POLICIES = ("refuse", "majority", "median", "mean-gain")
"""An error; the grade that most give, the lowest of several such; the lower median; the mean of what grades are worth.

The last needs a measure: what is known beforehand is a grade, by one of the others.
"""


class Agreement(NamedTuple):
    """How many items several judges have judged, and on how many of these they agree."""

    several: int
    alike: int


class DisagreedItem(NamedTuple):
    """An item with what its judges say of it, and where each says so: ``path:line``, or words for a place."""

    item: str
    grades: Mapping[str, int]
    places: Mapping[str, str]

    def problem(self, field: str) -> FormatError:
        """Return the error: at the place of the last grade, the places of the others in brackets."""
        *others, last = self.grades
        words = [f"{_worded(self.grades[judge])} of {judge!r} ({self.places[judge]})" for judge in others]
        words.append(f"{_worded(self.grades[last])} of {last!r}")
        problem = f"{self.item} has two grades, {' and '.join(words)}"
        path, _, line = self.places[last].rpartition(":")
        if line.isdigit():
            return FormatError(path, int(line), problem, field=field)
        return FormatError(self.places[last], None, problem, field=field)


def agreement_of(judged: Iterable[Mapping[str, int]]) -> Agreement:
    """Return how far judges agree on items, each with the grades that its judges gave."""
    several = [set(grades.values()) for grades in judged if len(grades) > 1]
    return Agreement(len(several), sum(len(grades) == 1 for grades in several))


def add_grade(grades: dict[str, int], judge: str, grade: int, place: str) -> None:
    """Add the grade of a judge to those of the others.

    Parameters
    ----------
    place : str
        Names sheet and item in a message.

    Raises
    ------
    InputError
        Where the judge has said otherwise.
    """
    before = grades.setdefault(judge, grade)
    if before != grade:
        raise InputError(f"{place} has two grades, {_worded(before)} and {_worded(grade)}")


def check_alike(items: Iterable[DisagreedItem], *, field: str = "policy") -> None:
    """Raise where judges grade items differently, with the place of each grade; all such items are named.

    Parameters
    ----------
    items : iterable of Differing
        Those on which judges agree are passed over.
    field : str
        The parameter that says what counts of several judges.

    Raises
    ------
    FormatError
        With what to do about it.
    """
    differing = [item.problem(field) for item in items if len(set(item.grades.values())) > 1]
    policies = " | ".join(POLICIES[1:] if field == "policy" else POLICIES[1:-1])  # what is known beforehand is a grade
    raise_all(differing, f"add `{field}` {policies}, or let the judges agree on one grade", field=field)


def _worded(grade: int) -> str:
    return "cannot" if grade == CANNOT else str(grade)


def given_grades(grades: Mapping[str, int]) -> tuple[int, ...]:
    """Return the grades that judges gave, ascending, without those who could not judge."""
    return tuple(sorted(grade for grade in grades.values() if grade != CANNOT))


def needs_third(grades: Collection[int | None]) -> bool:
    """Return whether two judges differ, so that a third decides; None is of a judge who could not say.

    Examples
    --------
    >>> needs_third([0, 2]), needs_third([2, 2]), needs_third([2, None]), needs_third([0, 2, 2])
    (True, False, False, False)
    """
    clear = [grade for grade in grades if grade is not None and grade != CANNOT]
    return len(grades) == 2 == len(set(clear))


def one_grade(grades: Sequence[int], policy: str) -> int:
    """Return one of several grades, which ascend; that it cannot be judged where there is none.

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
    """Return the caution that so many grades of machines are taken for people's."""
    from activeeval.core.results import Caution

    return Caution("warning", "machine is truth", {"source": source, "n": n})


def refuse_as_labels(source: str, what: str = "") -> NoReturn:
    """Raise InputError: a machine's grades are no labels; ``what`` says whose output they are."""
    of_what = f" ({what})" if what else ""
    problem = f"these are a machine's grades{of_what}, which are no labels: they belong to `grader`"
    raise InputError(f"{source}: {problem}", field="grader")
