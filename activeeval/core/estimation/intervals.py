"""Kinds of confidence intervals, which differ in the number of planned analyses.

An ordinary interval is valid at one analysis planned beforehand. If a sample is analysed repeatedly and judging stops
as soon as the interval is satisfactory, use the kind that is valid at every planned analysis.
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
from activeeval.core.errors import InputError, did_you_mean
from activeeval.core.estimation.estimators import EstimatorResult, evaluate
from activeeval.core.estimation.evidence import Evidence
from activeeval.core.interval_ends import inside
from activeeval.core.kernels import intervals
from activeeval.core.results import Interval
from activeeval.core.types import Floats

_LEAST_STEP = 0.005
"""Least difference of information shares, 1 in 200: closer ones are nearly equal, and the quadrature needs width."""
_ROUNDING = 1e-9
_N_NODES = 400
"""Gauss–Legendre nodes of the density between the boundaries: boundaries are accurate to 1e-8."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InterimLook:
    """A sample at one interim analysis (a reading of the sample while it grows).

    Attributes
    ----------
    evidence : Evidence
        Data of the sample at that time.
    evaluated : EstimatorResult
        The estimate from it.
    share : float
        Share of the planned budget judged by then; above 1 after a top-up.
    """

    evidence: Evidence
    evaluated: EstimatorResult
    share: float = 1.0


def looks_of(evidence: Sequence[Evidence], shares: Sequence[float], scope: str) -> list[InterimLook]:
    """Evaluate a growing sample at each interim analysis, in order.

    Parameters
    ----------
    evidence : sequence of Evidence
        Data of the sample at each analysis so far.
    shares : sequence of float
        Share of the planned budget at each planned analysis; may be longer than ``evidence``.
    scope : {"pool", "population"}
        The queries that estimates are for.

    Raises
    ------
    StateError
        If nothing has been judged at an analysis.
    InputError
        If the scope is unknown.
    """
    parts = zip(evidence, shares, strict=False)
    return [InterimLook(evidence=each, evaluated=evaluate(each, scope), share=share) for each, share in parts]


class IntervalKind(Protocol):
    """Interface of an interval kind.

    Attributes
    ----------
    name : str
    when : str
        One line on when to use it.
    """

    name: ClassVar[str]
    when: ClassVar[str]

    def interval(self, looks: Sequence[InterimLook], confidence: float) -> Interval:
        """Compute the interval at the last of ``looks``, which are all planned analyses so far, in order."""


def _between(evaluated: EstimatorResult, low: float, high: float, confidence: float) -> Interval:
    """Build the interval from ``low`` to ``high``, clipped to the lowest and highest possible value of the target.

    ``evaluated`` is the estimate, which holds these limits; ``confidence`` is only recorded.
    """
    least, most = inside(np.array([low, high]), evaluated.limits).tolist()
    return Interval(least, most, confidence)


def _has_variance(evaluated: EstimatorResult) -> bool:
    """True if the variance of an estimate is finite, positive and has degrees of freedom."""
    return math.isfinite(evaluated.variance) and evaluated.variance > 0 and evaluated.degrees_of_freedom > 0


@dataclass(frozen=True, slots=True)
class Student:
    """The default interval: R̂ ± t se for a difference; see `activeeval.core.interval_ends` for the rule."""

    name: ClassVar[str] = "t"
    when: ClassVar[str] = "the default: one analysis, planned beforehand"

    def interval(self, looks: Sequence[InterimLook], confidence: float) -> Interval:
        """Compute the interval at the last of ``looks``, as if it were the only analysis."""
        return Interval(*looks[-1].evaluated.basis.ends(confidence), confidence)


def _obrien_fleming(share: float, alpha: float) -> float:
    """Compute the part of the error probability α spent when a share of the budget is judged (O'Brien–Fleming type).

    It is 4 (1 − Φ(z_{1−α/4} / sqrt(share))), by Lan and DeMets 1983.
    """
    return float(4 * ndtr(ndtri(alpha / 4) / math.sqrt(share)))


def _pocock(share: float, alpha: float) -> float:
    """Compute the part of the error probability α spent when a share of the budget is judged (Pocock type).

    It is α ln(1 + (e − 1) share), by Lan and DeMets 1983.
    """
    return alpha * math.log1p((math.e - 1) * share)


SPENDING: dict[str, Callable[[float, float], float]] = {"obrien-fleming": _obrien_fleming, "pocock": _pocock}


@lru_cache(maxsize=2)
def _rule(n_nodes: int = _N_NODES) -> tuple[Floats, Floats]:
    """Compute Gauss–Legendre nodes and weights on [−1, 1]; cached, because that is slower than finding a boundary."""
    return np.polynomial.legendre.leggauss(n_nodes)


@lru_cache(maxsize=4096)
def spending_boundaries(
    information: tuple[float, ...], shares: tuple[float, ...], alpha: float, spending: str
) -> tuple[float, ...]:
    """Compute the boundaries of |Z| (the estimate in standard errors) at each interim analysis, by a spending function.

    Parameters
    ----------
    information : tuple of float
        1/V at each analysis in any unit, ascending: Z of analyses j < k correlate by sqrt(I_j / I_k).
    shares : tuple of float
        Share of the planned budget at each analysis, ascending to at most 1.
    alpha : float
        Error probability spent at the end; at a share τ it is 4 (1 − Φ(z_{1−α/4} / sqrt(τ))) for "obrien-fleming",
        α ln(1 + (e − 1) τ) for "pocock".
    spending : {"obrien-fleming", "pocock"}

    Examples
    --------
    >>> [round(z, 3) for z in spending_boundaries((0.5, 1.0), (0.5, 1.0), 0.05, "pocock")]
    [2.157, 2.201]
    """
    return boundaries_of(information, np.array([SPENDING[spending](share, alpha) for share in shares]))


def boundaries_of(information: Sequence[float], spent: Floats, n_nodes: int = _N_NODES) -> tuple[float, ...]:
    """Compute the boundaries of |Z| (the estimate in standard errors) at each of several analyses.

    Parameters
    ----------
    information : sequence of float, shape (n_looks,)
        1 / variance at each analysis, ascending, in any unit.
    spent : ndarray, shape (n_looks,)
        Error probability that may be used up to each analysis, ascending.
    n_nodes : int
        Number of Gauss–Legendre nodes of the integration.

    Returns
    -------
    tuple of float, length n_looks
        ``|Z|`` stays within the boundaries of the first k analyses with probability 1 − (k-th of ``spent``).
    """
    bounds, probs = np.empty((2, spent.size))
    fractions = np.array(information) / information[-1]
    intervals.boundaries(fractions, spent, *_rule(n_nodes), bounds, probs)
    return tuple(bounds.tolist())


def crossing_probs(fractions: Sequence[float], boundaries: Sequence[float]) -> Floats:
    """Compute the probability that |Z| first exceeds its boundary at each analysis, shape (n_looks,).

    ``fractions`` is the share of the final information at each analysis, ascending to 1; Z is standard normal.

    Examples
    --------
    >>> float(crossing_probs([0.2, 0.4, 0.6, 0.8, 1.0], [2.413] * 5).sum().round(4))
    0.05
    """
    bounds = np.array(boundaries, dtype=np.float64)
    probs = np.empty_like(bounds)
    # negative error probabilities: the boundaries are known, not sought
    intervals.boundaries(np.asarray(fractions, dtype=np.float64), np.full(bounds.size, -1.0), *_rule(), bounds, probs)
    return probs


@dataclass(frozen=True, slots=True)
class GroupSequential:
    """Repeated confidence intervals at the planned ends of blocks, R̂ ± t_k se, by alpha spending (Lan, DeMets 1983).

    The error probability spent by an analysis depends only on its share of the planned budget; the correlations of
    analyses follow from the estimated variances, because increments of a sample that grows by levels are independent:
    Cov(R̂_j, R̂_k) = Var R̂_k.

    Parameters
    ----------
    spending : {"obrien-fleming", "pocock"}
        "obrien-fleming" is wide at first and nearly the ordinary interval at the last analysis; "pocock" is about
        equally wide at all.
    """

    name: ClassVar[str] = "group-sequential"
    when: ClassVar[str] = "stop at the end of any of a few blocks that are planned beforehand"
    spending: str = "obrien-fleming"

    def __post_init__(self) -> None:
        """Raise InputError if the spending function is unknown."""
        if self.spending not in SPENDING:
            raise InputError(f"unknown spending {self.spending!r}; known: {', '.join(SPENDING)}")

    def interval(self, looks: Sequence[InterimLook], confidence: float) -> Interval:
        """Compute the interval at the last of ``looks``, all analyses so far; infinite if its variance is unknown.

        Raises
        ------
        InputError
            If a top-up exceeds the budget that the analyses were planned for: all error probability is spent there.
        """
        strict_share(confidence, "confidence")
        if looks[-1].share > 1 + _ROUNDING:
            raise InputError(
                f"group-sequential analyses end with their planned budget, this sample has "
                f"{looks[-1].share:.3g} times as much: plan its blocks beforehand, or use one analysis (interval t)"
            )
        last = looks[-1].evaluated
        if last.variance == 0:
            return Interval(last.value, last.value, confidence)
        known = [look for look in looks if _has_variance(look.evaluated)]
        if looks[-1] not in known:
            return _between(last, -math.inf, math.inf, confidence)
        bounds = spending_boundaries(*_timetable(known), 1 - confidence, self.spending)
        tail = float(ndtr(-bounds[-1]))  # the t quantile with the normal boundary's tail probability
        multiple = -float(stdtrit(max(last.degrees_of_freedom, 1.0), tail))
        half = multiple * math.sqrt(last.variance)
        return _between(last, last.value - half, last.value + half, confidence)


def _timetable(looks: Sequence[InterimLook]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Compute the information (1 / variance) and the budget share of each analysis, for `spending_boundaries`.

    Information is relative to the last analysis, rounded to two digits and kept at least `_LEAST_STEP` apart.
    """
    final = looks[-1].evaluated.variance
    information, shares, before = [], [], 0.0
    for k, look in enumerate(looks):
        reached = round(final / look.evaluated.variance, 2)  # two digits: few boundaries to compute, little error
        left = len(looks) - 1 - k
        information.append(min(max(reached, before + _LEAST_STEP), 1.0 - left * _LEAST_STEP))
        before = information[-1]
        shares.append(look.share)
    return tuple(information), tuple(shares)


INTERVALS: dict[str, type[IntervalKind]] = {kind.name: kind for kind in (Student, GroupSequential)}
RETIRED = ("skewed", "logit")
"""Removed kinds. Skewed intervals of a difference were 1.35 times as wide, closer to .95 in 11 of 658 cells and farther
in 17; logit intervals were the default without `activeeval.core.interval_ends.STRETCH`."""


def find_interval(name: str) -> type[IntervalKind]:
    """Return an interval kind by its name, or raise InputError with the known names."""
    if name in RETIRED:
        raise InputError(f"interval {name!r} was removed: use t, the default")
    if name not in INTERVALS:
        raise InputError(f"unknown interval {name!r}; {did_you_mean(name, INTERVALS)}known: {', '.join(INTERVALS)}")
    return INTERVALS[name]
