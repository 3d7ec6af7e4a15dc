"""Several judges of one item: what becomes of grades that differ, and how far judges agree."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from activeeval.errors import InputError

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


def agreement_of(judged: Iterable[Mapping[str, int]]) -> Agreement:
    """Return how far judges agree on items, each with the grades that its judges gave."""
    several = [set(grades.values()) for grades in judged if len(grades) > 1]
    return Agreement(len(several), sum(len(grades) == 1 for grades in several))


def add_grade(grades: dict[str, int], judge: str, grade: int, place: str, policy: str) -> None:
    """Add the grade of a judge to those of the others.

    Parameters
    ----------
    place : str
        Names sheet and item in a message.

    Raises
    ------
    InputError
        Where the judge has said otherwise, or another has and the policy is to refuse.
    """
    others = {judge: grades[judge]} if judge in grades else grades if policy == "refuse" else {}
    differing = [(who, other) for who, other in others.items() if other != grade]
    if differing:
        who, before = differing[0]
        first, second = ("cannot" if g == CANNOT else str(g) for g in (before, grade))
        if judge in grades:
            raise InputError(f"{place} has two grades, {first} and {second}")
        counts = "a policy, as majority, says what counts of several judges"
        raise InputError(f"{place} has two grades, {first} of {who!r} and {second} of {judge!r}; {counts}")
    grades[judge] = grade


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
