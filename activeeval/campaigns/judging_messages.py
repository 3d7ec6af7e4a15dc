"""Texts next to an item on a judging page: names of grades, items left, pace, width of the interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from activeeval.report.numbers import counted

_USUAL: dict[int, tuple[str, ...]] = {
    1: ("Not relevant", "Relevant"),
    2: ("Not relevant", "Relevant", "Highly relevant"),
    3: ("Not relevant", "Related", "Highly relevant", "Perfectly relevant"),
    4: ("Bad", "Fair", "Good", "Excellent", "Perfect"),
}
"""Default names of grades, by the largest grade, as in TREC and web collections."""


def grade_names(max_grade: int, names: Mapping[int, str] | None = None) -> list[str]:
    """Name each grade from 0 to ``max_grade``: by ``names`` where given, else by a usual name.

    Examples
    --------
    >>> grade_names(2, {2: "Spot on"})
    ['Not relevant', 'Relevant', 'Spot on']
    >>> grade_names(5)[:2]
    ['Grade 0', 'Grade 1']
    """
    usual = _USUAL.get(max_grade) or tuple(f"Grade {grade}" for grade in range(max_grade + 1))
    return [(names or {}).get(grade) or usual[grade] for grade in range(max_grade + 1)]


def pairs_sentence(n_compared: int, low: int, high: int) -> str:
    """State how many comparisons of a query are done, and how many (``low`` to ``high``) it may still need.

    Examples
    --------
    >>> pairs_sentence(7, 3, 9), pairs_sentence(0, 4, 4)
    ('7 comparisons of this query done, 3 to 9 to go', '0 comparisons of this query done, 4 to go')
    """
    to_go = f"{low} to {high}" if low < high else str(low)
    return f"{counted(n_compared, 'comparison')} of this query done, {to_go} to go"


def left_sentence(in_block: int, in_all: int, noun: str = "item") -> str:
    """State how many items are left in the current block (part of the sample) and in all.

    ``noun`` names an item.

    Examples
    --------
    >>> left_sentence(12, 40), left_sentence(12, 12), left_sentence(0, 0)
    ('12 items left in this block, 40 in all', '12 items left', 'nothing is left')
    """
    if not in_all:
        return "nothing is left"
    return f"{counted(in_block, noun)} left" + (f" in this block, {in_all:,} in all" if in_all > in_block else "")


def pace_sentence(seconds: float | None, in_all: int) -> str:
    """State a judge's pace (seconds for an item), and how long the remaining items take at this pace.

    Empty if ``seconds`` is None.

    ``in_all`` is the number of remaining items.

    Examples
    --------
    >>> pace_sentence(12.0, 200)
    'you take about 12 s an item; alone, all of it would take you about 40 minutes'
    """
    if seconds is None:
        return ""
    pace = f"you take about {seconds:.0f} s an item" if seconds >= 1 else "you take less than a second an item"
    return pace + (f"; alone, all of it would take you {lasting(seconds * in_all)}" if in_all and seconds >= 1 else "")


def controls_sentence(judge: str, what: str, share: object, n_skipped: int) -> str:
    """State how often a judge agreed with the expected answers to controls (items that check the judge).

    Parameters
    ----------
    what : {"known", "repeated", "swapped"}
        Kind of control: a known grade, an item graded before, or a pair compared before with sides swapped.
    share : object
        Share of expected answers, formatted for readers.
    n_skipped : int
        Controls without a grade or preference.

    Examples
    --------
    >>> controls_sentence("ann", "known", "9 of 10 (60 to 98 %)", 1)
    'ann: 9 of 10 (60 to 98 %) as known, 1 not graded'
    >>> controls_sentence("ann", "repeated", "4 of 4 (51 to 100 %)", 0)
    'ann: 4 of 4 (51 to 100 %) as before'
    """
    than = {"known": "as known", "swapped": "as before, with sides swapped"}.get(what, "as before")
    return f"{judge}: {share} {than}" + (f", {n_skipped:,} not graded" if n_skipped else "")


def lasting(seconds: float) -> str:
    """Format a duration in seconds roughly, in words.

    Examples
    --------
    >>> lasting(30), lasting(2400), lasting(9000)
    ('less than a minute', 'about 40 minutes', 'about 2.5 hours')
    """
    if seconds < 60:
        return "less than a minute"
    if seconds < 5400:
        n = round(seconds / 60)
        return f"about {counted(n, 'minute')}"
    return f"about {seconds / 3600:.2g} hours"


def precision_sentence(half_width: float | None, at_end: float | None, in_all: int) -> str:
    """State the half-width of an interval now and at the end, but not the interval's position.

    Empty if ``half_width`` is None. ``at_end`` is the half-width expected after the remaining ``in_all`` items; None if
    unknown.

    Examples
    --------
    >>> precision_sentence(0.342, 0.261, 40)
    '± 0.34, about ± 0.26 after 40 more'
    >>> precision_sentence(0.342, None, 0)
    '± 0.34'
    """
    if half_width is None:
        return ""
    now = f"± {half_width:.2g}"
    return now + (f", about ± {at_end:.2g} after {in_all:,} more" if at_end is not None and in_all else "")


def named_grade(names: Sequence[str], grade: int | None) -> str:
    """Name an answer by its grade's name, the number if the grade has no name, or "Can’t judge" for None.

    ``names`` are the names of the grades, from 0 on.
    """
    if grade is None:
        return "Can’t judge"
    return names[grade] if grade < len(names) else str(grade)
