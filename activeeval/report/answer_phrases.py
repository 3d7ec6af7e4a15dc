"""Parts of an answer's sentence: the number of judgments, and the judgments needed for a decision."""

from __future__ import annotations

import math

from activeeval.core.answers import Answer, MoreNeeded, about
from activeeval.report.numbers import agreeing, counted, number, places_of


def extent_of(finding: Answer) -> str:
    """Format the numbers of queries and judgments behind an answer, with notes on few queries and on unjudgeable items.

    The text is "" if no query was sampled, because all grades were known.
    """
    if not finding.n_queries:
        return ""
    judged = "" if finding.n_items is None else f", {counted(finding.n_items, 'judgment')}"
    return f", {counted(finding.n_queries, 'query')}{judged}{_few(finding)}{cannot_be_judged(finding)}"


def cannot_be_judged(finding: Answer) -> str:
    """Format a note that the interval covers all possible grades of items that cannot be judged.

    The note is "" if there are no such items.
    """
    n = finding.n_cannot
    if not n or not finding.is_bounded or finding.low == finding.high:
        return ""
    room = f"the interval has room for every grade that {agreeing(n, 'it', 'they')} could have"
    return f"; {counted(n, 'item')} cannot be judged: {room}"


def _few(finding: Answer) -> str:
    """Format a note that one query dominates, or that the effective number of queries is small.

    The note is "" if the answer has neither the share of its largest query nor the effective number.
    """
    effective, share = finding.effective_queries, finding.largest_share
    if effective is None and share is None:
        return ""
    parts = [] if effective is None else [f"as good as {counted(math.ceil(effective), 'query')}"]
    parts += [] if share is None else [f"one of them decides {_share(share)} of it"]
    return f" ({', '.join(parts)})"


def _share(share: float) -> str:
    """Format a share in words, such as "half", if it is close to one of these words, else in per cent."""
    named = {0.5: "half", 0.67: "two thirds", 0.75: "three quarters", 1.0: "all"}
    nearest = min(named, key=lambda part: abs(part - share))
    return named[nearest] if abs(nearest - share) < 0.04 else f"{share:.0%}"


def next_step(finding: Answer) -> str:
    """Format how many more judgments should decide an undecided difference, as far as known.

    The text is "" if the verdict is not "undecided". ``finding.needed`` has a number of further queries, or a budget
    with its range and its chance to decide; a budget of 0 means that judging what is drawn already should decide.
    Without ``can_grow`` the present sample takes no further budget.
    """
    needed = finding.needed
    if needed is None or finding.verdict != "undecided":
        return ""
    left = "" if needed.half_width_left is None else _left(needed)
    if needed.queries is not None:
        return f"; {left}about {counted(about(needed.queries), 'more query')} like these should decide"
    if needed.budget is None:
        return f"; {left}".rstrip(" :;") if left else ""
    if needed.budget == 0 and not needed.waiting:
        return "; what is left of the budget should decide"
    if needed.budget == 0:
        wait = agreeing(needed.waiting, "waits", "wait")
        return f"; judging the {counted(needed.waiting, 'item')} that {wait} should decide"
    budget, low, high = (None if end is None else math.ceil(end) for end in (needed.budget, needed.low, needed.high))
    # the unit is a plural in s, as "judgments"
    more = f"about {counted(budget or 0, f'more {needed.unit[:-1]}', f'more {needed.unit}')}"
    interval = "" if low is None or high is None else f" ({low:,} to {high:,})"
    odds = "" if needed.chance is None else f", {_times_in_ten(needed.chance)}"
    return f"; {'' if needed.can_grow else 'a new sample with '}{more}{interval} should decide{odds}"


def _left(needed: MoreNeeded) -> str:
    """Format the half-width that remains after judging all items of these queries."""
    half = needed.half_width_left or 0.0
    ends = number(half, places_of(half, half))
    return f"all judgments that are left give ± {ends}: these queries cannot decide it; "


def _times_in_ten(chance: float) -> str:
    """Format a probability as "7 times in 10"."""
    return "19 times in 20" if chance >= 0.93 else f"{min(max(round(10 * chance), 1), 9)} times in 10"
