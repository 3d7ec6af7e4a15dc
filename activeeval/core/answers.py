"""Verdicts: the only place where an estimate with its interval becomes better, worse or undecided.

`compare`, `estimate`, `score`, campaigns, the judging page, reports and watches build an `Answer` here and print it.
`activeeval.core.campaign.more_needed` computes the judgments that should decide an undecided answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

from activeeval.core.results import Estimate, Interval

FINE, WORSE, OPEN = 0, 10, 11
"""Exit codes: not worse; worse; undecided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreNeeded:
    """Further judgments or queries that should decide an undecided answer, if it stays near its present value.

    Attributes
    ----------
    budget : float or None
        Size of a top-up, in judgments or mean items beyond the present sample; 0 if judging the waiting items should
        be enough. None if no number of judgments of these queries should be.
    low, high : float or None
        The 80 % range of ``budget``.
    chance : float or None
        Probability that a top-up of ``budget`` decides, if the true value is the estimate.
    queries : int or None
        If judging these queries cannot decide: number of further queries like them, all judged, that should.
    half_width_left : float or None
        Expected half-width once everything is judged, if that does not decide.
    waiting : int
        Items that wait for a judgment now.
    unit : str
        Unit of ``budget``; see `QueryPool.cost_unit`.
    can_grow : bool
        True if the sample can be topped up; False for draws with replacement, whose ``budget`` is that of a new sample.
    """

    budget: float | None = None
    low: float | None = None
    high: float | None = None
    chance: float | None = None
    queries: int | None = None
    half_width_left: float | None = None
    waiting: int = 0
    unit: str = "judgments"
    can_grow: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The value of a system, or its difference from another, with its interval and verdict.

    Attributes
    ----------
    system, versus : str
        The system, and the one whose value is subtracted; ``versus`` is empty for the value of one system.
    measure : str
        Display name.
    value, low, high : float
        Estimate and interval, in the unit of the measure; the interval allows for items that cannot be judged.
    n_queries : int
        Number of judged queries.
    n_items : int or None
        Number of items with a grade; None if whole queries were judged by comparisons.
    p_value : float or None
        P value of a difference.
    segment : str or None
        Segment of queries, if not all.
    half_width_at_end : float or None
        Expected half-width once all of the sample is judged, if items wait.
    needed : MoreNeeded or None
        Judgments or queries that should decide an undecided difference.
    n_cannot : int
        Number of items that judges could not grade, such as a broken page.
    margin : float
        The largest difference that does not matter, in the unit of the measure.
    is_supported : bool
        True if the judgments support the interval; otherwise it must not be used.
    is_constant : bool
        True if all queries have the same value: the interval of zero width does not apply to other queries.
    same_lists : bool
        True if the lists are equal in all queries down to the depth of the measure, so that no label can change the
        difference.
    scope : {"pool", "population"}
        The interval holds for these queries, or for the population of which they are a sample.
    effective_queries : float or None
        Effective number of queries of equal influence, if it is small; see `Estimate.effective_queries`.
    largest_share : float or None
        Share of the variance due to one query, if it is large; see `Estimate.largest_share`.
    other : Answer or None
        The answer for the other scope, if it differs.

    Examples
    --------
    >>> new = Answer(system="new.run", versus="old.run", measure="P@1", value=-0.5, low=-0.7, high=-0.3, n_queries=40,
    ...              n_items=80, margin=0.1)
    >>> new.verdict, exit_code([new])
    ('worse', 10)
    """

    system: str
    measure: str
    value: float
    low: float
    high: float
    n_queries: int
    n_items: int | None
    versus: str = ""
    p_value: float | None = None
    segment: str | None = None
    half_width_at_end: float | None = None
    needed: MoreNeeded | None = None
    n_cannot: int = 0
    margin: float = 0.0
    is_supported: bool = True
    is_constant: bool = False
    same_lists: bool = False
    scope: str = "pool"
    effective_queries: float | None = None
    largest_share: float | None = None
    other: Answer | None = None

    @classmethod
    def of(cls, estimate: Estimate, interval: Interval, **names: Any) -> Self:
        """Build an answer from an estimate and its interval; ``names`` are further attributes, such as ``system``.

        The interval is widened by the possible effect of items that cannot be judged. An estimate outside of it, which
        can happen by chance, is moved to the nearest end.
        """
        low, high = estimate.bounds(interval)
        attributes: dict[str, Any] = {
            "value": estimate.value,
            "low": low,
            "high": high,
            "n_queries": estimate.n_queries,
            "n_items": estimate.n_judged,
            "n_cannot": 0 if estimate.cannot is None else estimate.cannot.n_items,
            "is_supported": estimate.is_supported,
            "scope": estimate.scope,
            "effective_queries": estimate.effective_queries,
            "largest_share": estimate.largest_share,
        }
        answer = cls(**(attributes | names))
        return replace(answer, value=min(max(answer.value, answer.low), answer.high))

    @property
    def is_bounded(self) -> bool:
        """True if the interval may be used and is finite on both sides."""
        return self.is_supported and math.isfinite(self.high - self.low)

    @property
    def verdict(self) -> str:
        """Verdict on a difference by `verdict_of`; empty for the value of one system."""
        if not self.versus:
            return ""
        if not self.is_supported:
            return "undecided"
        return verdict_of(self.value, self.low, self.high, self.margin, same_lists=self.same_lists, scope=self.scope)

    def fields(self) -> dict[str, float | str | None]:
        """Tabulate the verdict on a difference, and interval and verdict for the other scope; empty for one system.

        The keys are ``verdict``, ``other_scope``, ``other_low``, ``other_high`` and ``other_verdict``; the values of
        the other scope (these queries, or their population) are None if there is none.
        """
        other = self.other
        if not self.versus:
            return {}
        return {
            "verdict": self.verdict,
            "other_scope": None if other is None else other.scope,
            "other_low": None if other is None else other.low,
            "other_high": None if other is None else other.high,
            "other_verdict": None if other is None else other.verdict,
        }

    def with_other(self, other: Answer) -> Self:
        """Copy this answer with the one for the other scope (these queries, or their population) attached.

        It is left out if its interval is the same, or if a population's interval is a single point.
        """
        differs = (other.low, other.high) != (self.low, self.high)
        is_known = other.low < other.high or other.scope == "pool"  # a population is never known exactly
        return replace(self, other=other if differs and is_known else None)


def verdict_of(
    value: float, low: float, high: float, margin: float = 0.0, *, same_lists: bool = False, scope: str = "pool"
) -> str:
    """Decide the verdict on a difference with the interval [``low``, ``high``]: the first whose condition holds.

    | condition | verdict |
    |---|---|
    | same lists, or of the pool an interval that is 0 alone | equal |
    | high < 0 and value ≤ −margin | worse |
    | margin > 0, −margin ≤ low and high ≤ margin | equivalent |
    | low > 0 | better |
    | margin > 0 and −margin ≤ low | not worse |
    | else | undecided |

    ``margin`` is the largest difference that does not matter, ``same_lists`` True if both rankings are equal in all
    queries, ``scope`` "pool" for an interval of these queries, "population" for all queries like them. If all queries
    of a pool tie with different lists, other queries of the population may still differ.

    "worse" requires a certain difference (high < 0) that is large enough to matter (value ≤ −margin); if the true
    difference is 0, it occurs as often as the interval misses 0 from below.

    Examples
    --------
    >>> verdict_of(-0.58, -0.77, -0.38, 0.02), verdict_of(-0.008, -0.012, -0.004, 0.02), verdict_of(0.0, -0.03, 0.03)
    ('worse', 'equivalent', 'undecided')
    """
    if same_lists or (scope == "pool" and low == high == 0):
        return "equal"
    if high < 0 and value <= -margin:
        return "worse"
    if margin > 0 and low >= -margin and high <= margin:
        return "equivalent"
    if low > 0:
        return "better"
    return "not worse" if margin > 0 and low >= -margin else "undecided"


def wanted_half_width(value: float, margin: float = 0.0) -> float:
    """Compute the half-width of an interval around ``value`` at which the verdict is no longer undecided.

    ``margin`` is the largest difference that does not matter.

    With margin 0 it is ``|value|``. With a margin the verdict is decided as better once low > 0 or not worse once
    low ≥ −margin, that is at value + margin where this is positive; as worse at −value where value ≤ −margin.

    Examples
    --------
    >>> wanted_half_width(-0.3), wanted_half_width(0.1, 0.2), wanted_half_width(-0.3, 0.2)
    (0.3, 0.30000000000000004, 0.3)
    """
    if margin == 0:
        return abs(value)
    return -value if value <= -margin else value + margin


def about(amount: float) -> int:
    """Round a number up to two significant digits.

    Examples
    --------
    >>> about(1042), about(58.3)
    (1100, 59)
    """
    step = int(10.0 ** max(math.floor(math.log10(max(amount, 1))) - 1, 0))
    return math.ceil(amount / step) * step


def exit_code(answers: Iterable[Answer]) -> int:
    """Return the exit code of a command: 10 if any verdict is worse, else 11 if any is undecided, else 0.

    Examples
    --------
    >>> exit_code([])
    0
    """
    verdicts = {answer.verdict for answer in answers}
    if "worse" in verdicts:
        return WORSE
    return OPEN if "undecided" in verdicts else FINE
