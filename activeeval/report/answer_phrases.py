"""Parts of an answer's sentence: how much was judged, and what should decide what is open."""

from __future__ import annotations

import math

from activeeval.core.answers import Answer, MoreNeeded, about
from activeeval.report.numbers import agreeing, counted, number, places_of


def extent_of(finding: Answer) -> str:
    """Write how much was judged, and where few queries decide; nothing where everything was known before."""
    if not finding.n_queries:
        return ""
    judged = "" if finding.n_items is None else f", {counted(finding.n_items, 'judgment')}"
    return f", {counted(finding.n_queries, 'query')}{judged}{_few(finding)}{cannot_be_judged(finding)}"


def cannot_be_judged(finding: Answer) -> str:
    """Write that the interval has room for items that cannot be judged."""
    n = finding.n_cannot
    if not n or not finding.is_bounded or finding.low == finding.high:
        return ""
    room = f"the interval has room for every grade that {agreeing(n, 'it', 'they')} could have"
    return f"; {counted(n, 'item')} cannot be judged: {room}"


def _few(finding: Answer) -> str:
    """Write that the estimate rests on few queries, or on one."""
    effective, share = finding.effective_queries, finding.largest_share
    if effective is None and share is None:
        return ""
    says = [] if effective is None else [f"as good as {counted(math.ceil(effective), 'query')}"]
    says += [] if share is None else [f"one of them decides {_share(share)} of it"]
    return f" ({', '.join(says)})"


def _share(share: float) -> str:
    named = {0.5: "half", 0.67: "two thirds", 0.75: "three quarters", 1.0: "all"}
    nearest = min(named, key=lambda part: abs(part - share))
    return named[nearest] if abs(nearest - share) < 0.04 else f"{share:.0%}"


def next_step(finding: Answer) -> str:
    """Write what should decide an open difference, as far as that is known."""
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
    budget, low, high = (None if each is None else math.ceil(each) for each in (needed.budget, needed.low, needed.high))
    more = f"about {counted(budget or 0, f'more {needed.unit[:-1]}', f'more {needed.unit}')}"
    between = "" if low is None or high is None else f" ({low:,} to {high:,})"
    odds = "" if needed.chance is None else f", {_times_in_ten(needed.chance)}"
    return f"; {'' if needed.can_grow else 'a new sample with '}{more}{between} should decide{odds}"


def _left(needed: MoreNeeded) -> str:
    half = needed.half_width_left or 0.0
    ends = number(half, places_of(half, half))
    return f"all judgments that are left give ± {ends}: these queries cannot decide it; "


def _times_in_ten(chance: float) -> str:
    return "19 times in 20" if chance >= 0.93 else f"{min(max(round(10 * chance), 1), 9)} times in 10"
