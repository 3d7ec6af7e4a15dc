"""Intervals: between which values the performance lies, by kinds that differ in what they ask for and guard against.

An ordinary interval is valid at one look that was planned beforehand. Who looks again and again and stops when the
interval pleases needs the one that is valid at every planned look.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from activeeval.core.checks import strict_share
from activeeval.core.design import Reading
from activeeval.core.errors import InputError, did_you_mean
from activeeval.core.estimation.estimators import Evaluated, evaluate
from activeeval.core.estimation.evidence import Evidence
from activeeval.core.interval_ends import half_widths, inside, t_quantile
from activeeval.core.kernels import intervals
from activeeval.core.results import Interval
from activeeval.core.types import Floats

_FARTHEST = 500.0
"""Of the exponent: beyond it an end is the lowest or highest value in all digits."""
_LEAST_STEP = 0.005
"""Looks that are closer than one part in 200 tell each other's answer, and the quadrature needs some width."""
_ROUNDING = 1e-9
_N_NODES = 400
"""Gauss–Legendre nodes of the density between the boundaries: boundaries are right to 1e-8."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Look:
    """A sample as it was when somebody looked at it.

    Attributes
    ----------
    evidence : Evidence
    evaluated : Evaluated
    share : float
        The part of the planned budget that had been judged; above 1 after a top-up.
    """

    evidence: Evidence
    evaluated: Evaluated
    share: float = 1.0


def looks_of(evidence: Sequence[Evidence], shares: Sequence[float], scope: str) -> list[Look]:
    """Return a look for each of the samples that a growing one was; there may be more shares than samples so far."""
    parts = zip(evidence, shares, strict=False)
    return [Look(evidence=each, evaluated=evaluate(each, scope), share=share) for each, share in parts]


class IntervalKind(Protocol):
    """A way to make an interval.

    Attributes
    ----------
    name : str
    when : str
        One line on when to use it.
    """

    name: ClassVar[str]
    when: ClassVar[str]

    def interval(self, looks: Sequence[Look], confidence: float) -> Interval:
        """Return the interval at the last of all planned looks so far."""


def _between(evaluated: Evaluated, low: float, high: float, confidence: float) -> Interval:
    """Return an interval that lies inside what the target can be."""
    least, most = inside(np.array([low, high]), evaluated.limits).tolist()
    return Interval(least, most, confidence)


def _knows(evaluated: Evaluated) -> bool:
    return math.isfinite(evaluated.variance) and evaluated.variance > 0 and evaluated.degrees_of_freedom > 0


def _half_width(evaluated: Evaluated, confidence: float) -> float:
    """Return the half-width of the t interval."""
    return float(half_widths(np.array(evaluated.variance), np.array(evaluated.degrees_of_freedom), confidence))


def _has_contributions(evaluated: Evaluated) -> bool:
    return _knows(evaluated) and bool(evaluated.contributions.any())


@dataclass(frozen=True, slots=True)
class Student:
    """The default interval: R̂ ± t se for a difference; `activeeval.core.interval_ends` has the rule."""

    name: ClassVar[str] = "t"
    when: ClassVar[str] = "the default: one look, planned beforehand"

    def interval(self, looks: Sequence[Look], confidence: float) -> Interval:
        """Return the interval at the last look."""
        return Interval(*looks[-1].evaluated.basis.ends(confidence), confidence)


def _parts(evidence: Evidence, evaluated: Evaluated) -> tuple[Floats, Floats]:
    """Return u, what each draw adds to the error, centred where draws follow each other, and ``keep``.

    V̂ is Σ keep u² and what is unseen within the queries; that goes to 1 − keep in proportion to u².
    """
    u, keep = evidence.centred(evaluated.contributions), evidence.keep
    squares = u**2
    room = float((1 - keep) @ squares)
    within = evaluated.variance - float(keep @ squares)
    if room > 0 and within > 0:
        keep = keep + (1 - keep) * min(within / room, 1.0)
    return u, keep


@dataclass(frozen=True, slots=True)
class Skewed:
    """The t interval, made longer on the side of what is rare and large.

    Draw j adds v_j = keep u_j² to V̂, scaled to sum to it; q is the t quantile. Where contributions are skewed a
    low R̂ comes with a low V̂: cov(R̂, V̂) is about C = Σ keep u v, so at a distance d = R − R̂ the variance is
    about V̂ + d C/V̂. The interval holds d wherever d² ≤ q² V̂ or d² ≤ q² (V̂ + d C/V̂).
    """

    name: ClassVar[str] = "skewed"
    when: ClassVar[str] = "one look, a few contributions dwarf the others, as in comparisons of near-equal rankings"

    def interval(self, looks: Sequence[Look], confidence: float) -> Interval:
        """Return the interval at the last look."""
        evidence, last = looks[-1].evidence, looks[-1].evaluated
        if not _has_contributions(last):
            return Student().interval(looks, confidence)
        u, keep = _parts(evidence, last)
        shares = keep * u**2
        shares /= shares.sum()
        q = float(t_quantile(confidence, max(last.degrees_of_freedom, 1.0)))
        lean = q**2 * float((keep * shares) @ u) / 2
        reach = q * math.sqrt(last.variance)
        low, high = lean - math.hypot(lean, reach), lean + math.hypot(lean, reach)
        return _between(last, last.value + min(low, -reach), last.value + max(high, reach), confidence)


@dataclass(frozen=True, slots=True)
class Logit:
    """The t interval on the scale ln((R − lowest) / (highest − R)), for one ranking: its ends are turned back.

    Lowest and highest are what the pool comes to with every unknown grade the least, and the largest; on an open scale
    of grades it is ln(R − lowest). A ranking's value is skewed to the right near its lowest and its variance grows with
    it, so that the t interval misses above more often than below; here it is longer on that side. Beyond those values
    it never reaches, and where R̂ itself does it is the default interval.
    """

    name: ClassVar[str] = "logit"
    when: ClassVar[str] = "one look at one ranking, sides of different length within what the measure can be"

    def interval(self, looks: Sequence[Look], confidence: float) -> Interval:
        """Return the interval at the last look.

        Raises
        ------
        InputError
            Of a difference, whose sides have no such ends, and of a pool in chunks.
        """
        plain, evidence, last = Student().interval(looks, confidence), looks[-1].evidence, looks[-1].evaluated
        if evidence.reading is None or evidence.reading.target.versus is not None:
            raise InputError("logit intervals are for one ranking, a difference has no such ends: ask for another kind")
        if evidence.reading.larger_pool_sums is not None:
            raise InputError("logit intervals need all of a pool, this one came in chunks: ask for another kind")
        lowest, highest = _ends_of(evidence.reading)
        if not _knows(last) or not lowest < last.value < highest:
            return plain
        above, below = last.value - lowest, highest - last.value
        slope = 1 / above + (1 / below if math.isfinite(below) else 0.0)
        factor = math.exp(min(_half_width(last, confidence) * slope, _FARTHEST))
        if math.isinf(below):
            return Interval(lowest + above / factor, lowest + above * factor, confidence)
        low, high = ((highest * above * by + lowest * below) / (above * by + below) for by in (1 / factor, factor))
        return Interval(low, high, confidence)


def _ends_of(reading: Reading) -> tuple[float, float]:
    """Return what a ranking's value can be at least, and at most, by what is known of the pool's grades."""
    p, n, top = reading.query_probs, reading.target.pool.n_items, reading.largest_grade
    lowest = float(p @ reading.values(np.zeros(n, dtype=np.int64)))
    return lowest, math.inf if top is None else float(p @ reading.values(np.full(n, top)))


def _obrien_fleming(share: float, alpha: float) -> float:
    return float(4 * ndtr(ndtri(alpha / 4) / math.sqrt(share)))


def _pocock(share: float, alpha: float) -> float:
    return alpha * math.log1p((math.e - 1) * share)


SPENDING: dict[str, Callable[[float, float], float]] = {"obrien-fleming": _obrien_fleming, "pocock": _pocock}


@lru_cache(maxsize=2)
def _rule(n_nodes: int = _N_NODES) -> tuple[Floats, Floats]:
    """Return nodes and weights on [−1, 1]; finding them takes longer than a boundary."""
    return np.polynomial.legendre.leggauss(n_nodes)


@lru_cache(maxsize=4096)
def spending_boundaries(
    information: tuple[float, ...], shares: tuple[float, ...], alpha: float, spending: str
) -> tuple[float, ...]:
    """Return the boundaries of |Z| at each look that spend α as a spending function says.

    Parameters
    ----------
    information : tuple of float
        1/V of each look in any unit, ascending: Z of looks j < k correlate by sqrt(I_j / I_k).
    shares : tuple of float
        The part of the planned budget at each look, ascending to at most 1.
    alpha : float
        What is spent at the end; by a share τ it is 4 (1 − Φ(z_{1−α/4} / sqrt(τ))) for "obrien-fleming",
        α ln(1 + (e − 1) τ) for "pocock".
    spending : {"obrien-fleming", "pocock"}

    Examples
    --------
    >>> [round(z, 3) for z in spending_boundaries((0.5, 1.0), (0.5, 1.0), 0.05, "pocock")]
    [2.157, 2.201]
    """
    return boundaries_of(information, np.array([SPENDING[spending](share, alpha) for share in shares]))


def boundaries_of(information: Sequence[float], spent: Floats, n_nodes: int = _N_NODES) -> tuple[float, ...]:
    """Return the boundaries of |Z| at each look that have spent so much of α by then."""
    bounds, probs = np.empty((2, spent.size))
    fractions = np.array(information) / information[-1]
    intervals.boundaries(fractions, spent, *_rule(n_nodes), bounds, probs)
    return tuple(bounds.tolist())


def crossing_probs(fractions: Sequence[float], boundaries: Sequence[float]) -> Floats:
    """Return the probability that |Z| first exceeds its boundary at each look, shape (n_looks,).

    Examples
    --------
    >>> float(crossing_probs([0.2, 0.4, 0.6, 0.8, 1.0], [2.413] * 5).sum().round(4))
    0.05
    """
    bounds = np.array(boundaries, dtype=np.float64)
    probs = np.empty_like(bounds)
    intervals.boundaries(np.asarray(fractions, dtype=np.float64), np.full(bounds.size, -1.0), *_rule(), bounds, probs)
    return probs


@dataclass(frozen=True, slots=True)
class GroupSequential:
    """Repeated confidence intervals at the planned ends of blocks, R̂ ± t_k se, by alpha spending (Lan, DeMets 1983).

    What is spent by a look depends on the part of the planned budget alone; how looks hang together on the variances
    that were found, as increments of a sample that grows by levels are independent: Cov(R̂_j, R̂_k) = Var R̂_k.

    Parameters
    ----------
    spending : {"obrien-fleming", "pocock"}
        Wide at first and nearly the ordinary interval at the last look, or about equal at all.
    """

    name: ClassVar[str] = "group-sequential"
    when: ClassVar[str] = "stop at the end of one of a few blocks that were planned beforehand"
    spending: str = "obrien-fleming"

    def __post_init__(self) -> None:
        if self.spending not in SPENDING:
            raise InputError(f"unknown spending {self.spending!r}; known: {', '.join(SPENDING)}")

    def interval(self, looks: Sequence[Look], confidence: float) -> Interval:
        """Return the interval at the last of all looks so far; infinite where a variance is not known.

        Raises
        ------
        InputError
            Where a top-up went beyond the budget that the looks were planned for: all that may miss is spent there.
        """
        strict_share(confidence, "confidence")
        if looks[-1].share > 1 + _ROUNDING:
            raise InputError(
                f"group-sequential looks end with the budget they were planned for, this sample has "
                f"{looks[-1].share:.3g} times as much: plan the larger budget's blocks beforehand, or take one look (t)"
            )
        last = looks[-1].evaluated
        if last.variance == 0:
            return Interval(last.value, last.value, confidence)
        known = [look for look in looks if _knows(look.evaluated)]
        if looks[-1] not in known:
            return _between(last, -math.inf, math.inf, confidence)
        bounds = spending_boundaries(*_timetable(known), 1 - confidence, self.spending)
        tail = float(ndtr(-bounds[-1]))  # as likely under t as the boundary is under the normal
        multiple = -float(stdtrit(max(last.degrees_of_freedom, 1.0), tail))
        half = multiple * math.sqrt(last.variance)
        return _between(last, last.value - half, last.value + half, confidence)


def _timetable(looks: Sequence[Look]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return information, to two digits of the last look's, and shares of looks that lie far enough apart."""
    final = looks[-1].evaluated.variance
    information, shares, before = [], [], 0.0
    for k, look in enumerate(looks):
        reached = round(final / look.evaluated.variance, 2)  # two digits: few boundaries to find, none off by much
        left = len(looks) - 1 - k
        information.append(min(max(reached, before + _LEAST_STEP), 1.0 - left * _LEAST_STEP))
        before = information[-1]
        shares.append(look.share)
    return tuple(information), tuple(shares)


INTERVALS: dict[str, type[IntervalKind]] = {kind.name: kind for kind in (Student, Skewed, Logit, GroupSequential)}


def find_interval(name: str) -> type[IntervalKind]:
    """Return an interval kind by its name, or say which there are."""
    if name not in INTERVALS:
        raise InputError(f"unknown interval {name!r}; {did_you_mean(name, INTERVALS)}known: {', '.join(INTERVALS)}")
    return INTERVALS[name]
