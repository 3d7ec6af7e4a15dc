"""What a judge says of an item, as an event."""

from __future__ import annotations

from numbers import Real

from activeeval.campaign.events import CannotJudge, Event, Judged
from activeeval.design import Design
from activeeval.errors import InputError


def answered(design: Design, item: int, grade: int | None, judge: str, at: str) -> Event:
    """Return the event that a grade makes, None where the item cannot be judged.

    Raises
    ------
    InputError
        Where the grade is not one of the scale.
    """
    if grade is None:
        return CannotJudge(item, judge, at)
    if not _is_grade(grade, design.top_grade):
        top = design.max_grade
        scale = "0, 1, 2 …" if top is None else f"0 … {top}"
        raise InputError(
            f"the grade of {design.pool.place(item)} must be one of {scale}, "
            f"or None where it cannot be judged, got {grade!r}"
        )
    return Judged(item, int(grade), judge, at)


def _is_grade(grade: object, top: int | None) -> bool:
    if not isinstance(grade, Real) or isinstance(grade, bool) or not float(grade).is_integer():
        return False
    return float(grade) >= 0 and (top is None or float(grade) <= top)
