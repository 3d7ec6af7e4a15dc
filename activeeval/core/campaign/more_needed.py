"""Advice on an undecided difference: how large a top-up, how many waiting items or how many more queries decide it.

A top-up is a larger budget for the same sample; a reading is an estimate while the sample grows; an outlook predicts
the variance at larger budgets.

Only this module computes an answer's `activeeval.core.answers.MoreNeeded`. The deciding half-width is that of
`activeeval.core.answers.wanted_half_width`. A top-up based on this advice is a further interim analysis, whose interval
is wider than a plain one (`activeeval.core.estimation.confidence_after`): the wider one has to reach the deciding
half-width. In a watch, more labels are judged in the next run, which has its own error: the interval then has the
confidence of the current run.

The advised top-up is the smallest whose expected half-width is small enough, based on the sample's own variance, which
falls as planned (`activeeval.core.campaign.outlook`); a rehearsal on simulated labels would take longer than a reader
waits. The variance expected from a sample is off by a factor; the range of the advice covers the top-ups needed if that
factor is as low, or as high, as in one sample of ten.

The later estimate is distributed about N(d, V₂ (1 − V₂/V₁)) if the earlier one is d with variance V₁, and so is the
true value; that of a new sample, which draws with replacement need, is N(d, V₂).
An undecided estimate is more often below the true value than above it: `LEAN` accounts for that.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from activeeval.core.answers import MoreNeeded, about, verdict_of, wanted_half_width
from activeeval.core.campaign import Campaign
from activeeval.core.campaign.outlook import Outlook
from activeeval.core.interval_ends import t_quantile
from activeeval.core.measures import Target
from activeeval.core.results import Estimate, Interval

LEAN = 1.2
"""Assumed downward bias of a nearly decided difference, in standard errors of the later estimate; smaller differences
get it times their squared share of the half-width, because a difference near 0 may well be 0. Fitted to true
differences of a half, three quarters and one half-width of the first reading: .65, .76 and .85 of them were decided by
one advised top-up, .71, .72 and .75 were expected to be (benchmarks/results/advice.json)."""
OFF = 0.1
"""Standard deviation of the log error of a top-up's predicted variance, in addition to that from its own degrees of
freedom: .04 to .15 of the top-ups at the low ends of ranges were enough, .96 to .99 of those at the high ends; with .3
none to .03, and all."""
_NORMAL = NormalDist()
_TENTH = _NORMAL.inv_cdf(0.9)
_MOST_QUERIES, _CLOSE = 2.0**40, 1.0001


def needed_of_sample(
    campaign: Campaign, target: Target, estimate: Estimate, interval: Interval, margin: float = 0.0
) -> MoreNeeded | None:
    """Estimate the judgments needed to decide a difference that a judged sample leaves undecided; None if unknown.

    A difference is decided if its interval is wholly above, below or within the margin around 0.

    Parameters
    ----------
    target : Target
        The difference, of which ``estimate`` is the estimate.
    interval : Interval
        The deciding interval, without allowance for unjudgeable items: if these alone leave the difference open, no
        judgments can decide it.
    margin : float
        The largest difference that does not matter, in the unit of the measure.
    """
    if estimate.shares is not None:  # a sample of everything
        return needed_of_queries(estimate, interval, margin)
    wanted, confidence = _wanted(estimate, interval, margin), interval.confidence
    outlook = campaign.outlook(target, scope=estimate.scope) if wanted > 0 else None
    if outlook is None or not math.isfinite(outlook.variance):
        return None
    if outlook.order.cost <= campaign.reached_budget and campaign.progress.waiting == 0:
        return needed_of_queries(estimate, interval, margin)  # the deciding interval need not be a t interval
    design, unit = campaign.drawn_design, campaign.design.pool.cost_unit
    # all items of the sample so far, requested or not, without those judged or found unjudgeable
    waiting = sum(len(unit.items) for unit in campaign.planned) - sum(campaign.progress) + campaign.progress.waiting
    if waiting or campaign.goes_on:
        at_end = campaign.half_width_at_end(confidence, target, scope=estimate.scope)
        if at_end <= wanted:
            return MoreNeeded(budget=0.0, waiting=waiting, unit=unit, can_grow=outlook.has_looks)
    budget, read = campaign.reached_budget, campaign.read_budget
    # a campaign has a budget; with adaptive depth a part of it is a reserve, which is not read
    scale = (design.budget or math.nan) / read
    least = design.scheme.least(design.order) * scale if outlook.can_grow else 0.0
    return needed_of_outlook(outlook, wanted, confidence, budget=budget, least=least, scale=scale, waiting=waiting)


def needed_of_outlook(
    outlook: Outlook,
    wanted: float,
    confidence: float,
    *,
    budget: float,
    least: float = 0.0,
    scale: float = 1.0,
    waiting: int = 0,
) -> MoreNeeded | None:
    """Estimate the judgments that bring the interval of a further interim analysis to a half-width; None if unknown.

    Parameters
    ----------
    outlook : Outlook
        Prediction of the variance at larger budgets.
    wanted, confidence : float
        The half-width, and the confidence of the interval.
    budget : float
        Cost of the part of the sample read so far, in mean items (the mean item costs 1).
    least : float
        Smallest top-up that surely adds a unit: the cost of the most expensive one.
    scale : float
        Ratio of a budget to the part of it that is read; above 1 with a reserve (adaptive depth).
    waiting : int
        Number of requested items without a grade.
    """
    left = max(outlook.order.cost - budget, 0.0)
    total = outlook.budget_for(wanted, confidence)
    if not math.isfinite(total) or left == 0:
        return _of_more_queries(outlook, wanted, confidence, left, waiting)

    def rounded(whole: float) -> float:
        """Convert a total budget into a top-up (additional budget), rounded up to two digits, at most what is left."""
        return float(min(about(max((whole - budget) * scale, least)), math.ceil(left)))

    more = rounded(total)
    # log of the factor that the variance exceeds in one sample of ten; its reciprocal is the low end
    spread = _TENTH * math.sqrt(OFF**2 + 2 / max(outlook.degrees_of_freedom, 1.0))
    low, high = (
        rounded(min(outlook.budget_for(wanted, confidence, math.exp(side * spread)), outlook.order.cost))
        for side in (-1, 1)
    )
    is_range = low < more or more < high
    return MoreNeeded(
        budget=more,
        low=min(low, more) if is_range else None,
        high=max(high, more) if is_range else None,
        chance=_chance(outlook, budget + more / scale, wanted, confidence),
        waiting=waiting,
        unit=outlook.reading.order.pool.cost_unit,
        can_grow=outlook.has_looks,
    )


def needed_of_queries(estimate: Estimate, interval: Interval, margin: float = 0.0) -> MoreNeeded | None:
    """Estimate how many more queries like these decide a difference that stays undecided with all items judged.

    Returns None if the number is unknown.

    Parameters
    ----------
    estimate : Estimate
        The difference.
    interval : Interval
        The interval of the estimate that has to decide it.
    margin : float
        The largest difference that does not matter, in the unit of the measure.
    """
    is_below = _is_below(estimate.value, margin)
    half = estimate.value - interval.low if is_below else interval.high - estimate.value
    n = estimate.degrees_of_freedom + 1 if estimate.shares is None else estimate.shares.n
    return more_queries(half, _wanted(estimate, interval, margin), n, interval.confidence)


def more_queries(half: float, wanted: float, n: float, confidence: float) -> MoreNeeded | None:
    """Compute how many more queries reduce the half-width ``half``, which n queries gave, to ``wanted``.

    Returns None if it is no reduction, a number is not finite, or too many queries are needed.

    Examples
    --------
    >>> more_queries(3.0, 1.0, 9, 0.95).queries
    52
    """
    if not (0 < wanted < half < math.inf and 1 < n < math.inf):
        return None
    of_one = half * math.sqrt(n) / float(t_quantile(confidence, n - 1))  # standard deviation between queries
    lowest, highest = n, n * _CLOSE
    while highest < _MOST_QUERIES and of_one * float(t_quantile(confidence, highest - 1)) / math.sqrt(highest) > wanted:
        lowest, highest = highest, 2 * highest
    if of_one * float(t_quantile(confidence, highest - 1)) / math.sqrt(highest) > wanted:
        return None
    while highest > lowest * _CLOSE:
        middle = math.sqrt(lowest * highest)
        enough = of_one * float(t_quantile(confidence, middle - 1)) / math.sqrt(middle) <= wanted
        lowest, highest = (lowest, middle) if enough else (middle, highest)
    return MoreNeeded(queries=max(math.ceil(highest - n), 1))


def _of_more_queries(
    outlook: Outlook, wanted: float, confidence: float, left: float, waiting: int
) -> MoreNeeded | None:
    """Advise how many more queries to add, all of them judged; None if their number is unknown.

    The advice also states the half-width that is left once everything in the present queries is judged. If the sample
    was drawn with replacement and to judge everything decides the difference, that is advised instead.

    Parameters
    ----------
    wanted, confidence : float
        The half-width that decides, and the confidence of the interval.
    left : float
        Cost of what is not judged yet, in mean items (the mean item costs 1).
    waiting : int
        Number of requested items without a grade.
    """
    half = outlook.topped_up(math.inf, confidence)[1]
    if half <= wanted and left > 0 and not outlook.can_grow:
        unit = outlook.reading.order.pool.cost_unit
        return MoreNeeded(budget=float(math.ceil(left)), unit=unit, waiting=waiting, can_grow=False)
    queries = outlook.queries_for(wanted, confidence)
    if not math.isfinite(queries) or half <= wanted:
        return None
    return MoreNeeded(
        queries=max(math.ceil(queries - outlook.pool_size), 1),
        half_width_left=half if left > 0 else None,
        waiting=waiting,
        can_grow=outlook.has_looks,
    )


def _chance(outlook: Outlook, budget: float, wanted: float, confidence: float) -> float:
    """Compute the probability that judging on to a total ``budget`` (in mean items) decides the difference.

    ``wanted`` is the half-width that decides if the estimate stays the same. The later estimate is taken to be normal
    around the present one, with the variance V₂ (1 − V₂/V₁) for variances V₁ now and V₂ then, moved up by `LEAN`. The
    mean item costs 1.
    """
    later, half = outlook.topped_up(budget, confidence)
    moves = later * max(1 - later / outlook.variance, 0.0) if outlook.can_grow else later
    if moves <= 0:
        return float(half <= wanted)
    lean = LEAN * min(wanted / outlook.at_budget(outlook.spent, confidence), 1.0) ** 2
    return _NORMAL.cdf((wanted - half) / math.sqrt(moves) + lean)


def _wanted(estimate: Estimate, interval: Interval, margin: float) -> float:
    """Compute the half-width that would decide the difference despite unjudgeable items.

    It is 0 if no half-width does, the estimate is not reliable, or the difference is decided already. ``margin`` is the
    largest difference that does not matter.
    """
    is_finite = math.isfinite(interval.high - interval.low) and estimate.is_supported
    ends = (interval.low, interval.high)
    if not is_finite or verdict_of(estimate.value, *ends, margin, scope=estimate.scope) != "undecided":
        return 0.0
    wanted = wanted_half_width(estimate.value, margin)
    if estimate.cannot is None:
        return wanted
    below, above = estimate.value - estimate.cannot.low, estimate.cannot.high - estimate.value
    return max(wanted - (below if _is_below(estimate.value, margin) else above), 0.0)


def _is_below(value: float, margin: float) -> bool:
    """True if the value is above −margin: the difference is decided once the interval's lower end is above −margin.

    Otherwise it is decided once the upper end is below −margin.
    """
    return value > -margin
