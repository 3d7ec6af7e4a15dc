"""Intervals that hold at every look, and the rule that stops judging when one is narrow enough.

Who looks at a plain interval again and again and stops when it pleases is wrong far more often than it says:
a 90 % interval that is looked at after each of 10 … 400 draws misses the truth at some time in about 61 % of runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

from activeeval.design import Design
from activeeval.errors import InputError
from activeeval.estimation.estimators import Evaluated
from activeeval.estimation.intervals import Bootstrap, FromVariance, IntervalKind, Skewed, Student, check_level
from activeeval.estimation.samples import JudgedSample
from activeeval.kernels import intervals
from activeeval.results import Interval

Floats = NDArray[np.float64]

_FEWEST_DRAWS = 20
_ROUNDING = 1e-12
_LEAST_STEP = 0.005
_N_NODES = 400
_RUNNING = (("replacement", "difference"), ("replacement", "regression"), ("sequential", "difference"))


def _check_running(name: str, scheme: str, estimator: str) -> None:
    """Raise InputError unless draws follow each other and each brings an unbiased total of its own."""
    if (scheme, estimator) not in _RUNNING:
        wanted = ", ".join(f"{one} with {other}" for one, other in _RUNNING)
        raise InputError(
            f"the interval {name!r} is for draws one after the other ({wanted}), not for {scheme} with {estimator}"
        )


@dataclass(frozen=True, slots=True)
class AsymptoticSequence(FromVariance):
    """Asymptotic confidence sequence, valid at every look from draw 20 on.

    R̂ ± σ̂ sqrt(2 (tρ² + 1) / (t²ρ²) log(sqrt(tρ² + 1)/α)) with σ̂²/t = V̂ and
    ρ² = (−2 ln α + ln(1 − 2 ln α)) / t*.

    Parameters
    ----------
    planned : int
        t*, the number of draws where the interval is to be tightest.

    Examples
    --------
    >>> AsymptoticSequence(planned=100).half_widths([1.0, 1.0, 1.0], 99, [19, 20, 100], 0.95).round(2)
    array([ inf, 3.36, 3.04])
    """

    name: ClassVar[str] = "asympcs"
    when: ClassVar[str] = "stop whenever it is narrow enough, from draw 20 on; contributions not too uneven"
    valid_at_every_look: ClassVar[bool] = True
    planned: int = 200

    def __post_init__(self) -> None:
        _check_planned(self.planned)

    def check(self, scheme: str, estimator: str) -> None:
        """Raise InputError where the kind is not one for a scheme and an estimator."""
        _check_running(self.name, scheme, estimator)

    def _multiples(self, degrees: Floats, n_draws: Floats, level: float) -> Floats:
        log_alpha = math.log1p(-level)
        rho2 = (-2 * log_alpha + math.log1p(-2 * log_alpha)) / self.planned
        t = np.maximum(n_draws, 1.0)
        grown = t * rho2 + 1
        multiples = np.sqrt(2 * grown / (t * rho2) * (np.log(grown) / 2 - log_alpha))
        return np.asarray(np.where(n_draws >= _FEWEST_DRAWS, multiples, np.inf))


def _obrien_fleming(fraction: float, alpha: float) -> float:
    return float(4 * ndtr(ndtri(alpha / 4) / math.sqrt(fraction)))


def _pocock(fraction: float, alpha: float) -> float:
    return alpha * math.log1p((math.e - 1) * fraction)


SPENDING: dict[str, Callable[[float, float], float]] = {"obrien-fleming": _obrien_fleming, "pocock": _pocock}


@lru_cache(maxsize=256)
def spending_boundaries(fractions: tuple[float, ...], alpha: float, spending: str) -> tuple[float, ...]:
    """Return the boundaries of |Z| at each look that spend α as a spending function says.

    Parameters
    ----------
    fractions : tuple of float
        Information fractions, ascending, the last is 1.
    alpha : float
        What is spent at the end; by the fraction τ it is 4 (1 − Φ(z_{1−α/4} / sqrt(τ))) for "obrien-fleming",
        α ln(1 + (e − 1) τ) for "pocock".
    spending : {"obrien-fleming", "pocock"}

    Raises
    ------
    InputError
        Where two looks are closer than one part in 200.

    Examples
    --------
    >>> [round(z, 3) for z in spending_boundaries((0.5, 1.0), 0.05, "pocock")]
    [2.157, 2.201]
    """
    if min(np.diff(fractions, prepend=0.0)) < _LEAST_STEP:
        raise InputError(f"looks must be at least {_LEAST_STEP:g} of the last one apart, got {list(fractions)}")
    spent = np.array([SPENDING[spending](fraction, alpha) for fraction in fractions])
    found, probs = np.empty((2, spent.size))
    intervals.boundaries(np.array(fractions), spent, *np.polynomial.legendre.leggauss(_N_NODES), found, probs)
    return tuple(found.tolist())


def crossing_probs(fractions: Sequence[float], boundaries: Sequence[float]) -> Floats:
    """Return the probability that |Z| first exceeds its boundary at each look, shape (n_looks,).

    Examples
    --------
    >>> float(crossing_probs([0.2, 0.4, 0.6, 0.8, 1.0], [2.413] * 5).sum().round(4))
    0.05
    """
    given = np.array(boundaries, dtype=np.float64)
    rule = np.polynomial.legendre.leggauss(_N_NODES)
    probs = np.empty_like(given)
    intervals.boundaries(np.asarray(fractions, dtype=np.float64), np.full(given.size, -1.0), *rule, given, probs)
    return probs


@dataclass(frozen=True, slots=True)
class GroupSequential(FromVariance):
    """Repeated confidence intervals at a few planned looks, R̂ ± t_k se, by alpha spending (Lan and DeMets 1983).

    Parameters
    ----------
    looks : sequence of int
        Numbers of draws at which one looks, ascending; the last is where judging ends at the latest.
    spending : {"obrien-fleming", "pocock"}
        Wide at first and nearly the ordinary interval at the last look, or about equal at all.

    Examples
    --------
    >>> GroupSequential([20, 40, 60, 80, 100]).boundaries(0.95).round(2)
    array([4.88, 3.36, 2.68, 2.29, 2.03])
    """

    name: ClassVar[str] = "group-sequential"
    when: ClassVar[str] = "stop at one of a few looks that are planned beforehand"
    valid_at_every_look: ClassVar[bool] = True
    looks: tuple[int, ...]
    spending: str = "obrien-fleming"

    def __post_init__(self) -> None:
        looks = tuple(int(look) for look in self.looks)
        if not looks or looks[0] < 2 or any(b <= a for a, b in pairwise(looks)):
            raise InputError(f"looks must be ascending numbers of draws from 2 on, got {list(self.looks)}")
        if self.spending not in SPENDING:
            raise InputError(f"unknown spending {self.spending!r}; known: {', '.join(SPENDING)}")
        object.__setattr__(self, "looks", looks)

    def check(self, scheme: str, estimator: str) -> None:
        """Raise InputError where the kind is not one for a scheme and an estimator."""
        _check_running(self.name, scheme, estimator)

    def boundaries(self, level: float) -> Floats:
        """Return the boundaries of a standard normal statistic, shape (n_looks,)."""
        fractions = tuple(look / self.looks[-1] for look in self.looks)
        return np.array(spending_boundaries(fractions, 1 - level, self.spending))

    def _multiples(self, degrees: Floats, n_draws: Floats, level: float) -> Floats:
        looks = np.array(self.looks)
        place = np.minimum(np.searchsorted(looks, n_draws), looks.size - 1)
        tails = ndtr(-self.boundaries(level))[place]  # as likely under t as the boundary is under the normal
        multiples = -stdtrit(np.maximum(degrees, 1.0), tails)
        return np.asarray(np.where(looks[place] == n_draws, multiples, np.inf))


@dataclass(frozen=True, slots=True, eq=False)
class Betting:
    """What no bet has refuted: valid at every look and for any labels, of draws without replacement.

    Two bettors start with 1, one stakes on R > μ, one on R < μ, on each draw of a sequential sample; the
    fair game R = μ makes neither rich, so a μ at which one has ever held 2/α is out
    (`activeeval.kernels.intervals` has the argument). Nothing is approximate: no normal limit, no variance
    that has to be right. What the labels of the unseen queries can still add bounds the interval besides.

    Parameters
    ----------
    design : Design
        A sequential one.
    low, high : array of float, shape (n_queries,)
        Bounds of the value of each query, `activeeval.measures.value_bounds`.
    planned : int
        The number of draws where the interval is to be tightest.
    """

    name: ClassVar[str] = "betting"
    when: ClassVar[str] = "stop at any time, with a guarantee that needs no approximation; wide"
    valid_at_every_look: ClassVar[bool] = True
    design: Design
    low: Floats
    high: Floats
    planned: int = 200

    def __post_init__(self) -> None:
        _check_planned(self.planned)
        self.check(self.design.scheme, self.design.estimator)
        for side in ("low", "high"):
            bounds = np.asarray(getattr(self, side), dtype=np.float64)
            if bounds.shape != (self.design.pool.n_queries,) or not np.all(np.isfinite(bounds)):
                raise InputError(f"{side} must be a finite bound for each query, got shape {bounds.shape}")
            object.__setattr__(self, side, bounds)

    def check(self, scheme: str, estimator: str) -> None:
        """Raise InputError where the kind is not one for a scheme and an estimator."""
        if (scheme, estimator) != ("sequential", "difference"):
            wanted = "sequential draws with the difference estimator"
            raise InputError(f"the interval 'betting' is for {wanted}, not for {scheme} with {estimator}")

    def interval(self, sample: JudgedSample, evaluated: Evaluated, level: float) -> Interval:
        """Return the interval of what an estimator made of a sample.

        With probability at most 1 − level the two bets contradict each other; the interval is then the
        point between them.

        Raises
        ------
        InputError
            Where a value lies outside its bounds.
        """
        check_level(level)
        if sample.is_census:
            return Interval(evaluated.value, evaluated.value, level)
        self._check_values(sample)
        base = float(self.design.population[1])
        least, most = self._possible(sample)
        bet = math.log(2 / (1 - level))
        terms = self._terms(sample, bet)
        low = base + intervals.bet_end(least - base, most - base, 1.0, bet, *terms)
        high = base + intervals.bet_end(least - base, most - base, -1.0, bet, *terms)
        if low > high:
            low = high = (low + high) / 2
        return Interval(float(low), float(high), level)

    def _check_values(self, sample: JudgedSample) -> None:
        values, queries = sample.values, sample.queries
        room = _ROUNDING * (1 + np.abs(values))
        bad = np.flatnonzero((values < self.low[queries] - room) | (values > self.high[queries] + room))
        if bad.size:
            query = queries[bad[0]]
            name = str(self.design.pool.query_ids[query])
            bounds = f"[{self.low[query]:g}, {self.high[query]:g}]"
            raise InputError(f"the value {values[bad[0]]:g} of query {name!r} is outside its bounds {bounds}")

    def _possible(self, sample: JudgedSample) -> tuple[float, float]:
        """Return what R is at least and at most, whatever the labels of the unseen queries."""
        seen = float(sample.query_probs @ sample.values)
        left = self.design.query_probs.copy()
        left[sample.queries] = 0.0
        return seen + float(left @ self.low), seen + float(left @ self.high)

    def _terms(self, sample: JudgedSample, bet: float) -> tuple[Floats, ...]:
        """Return Z_t − M, its bounds and the size of each bet."""
        design = self.design
        p, q, m = design.query_probs, design.sampling_probs, design.stage.regressors[:, 1]
        lowest, highest = p * (self.low - m) / q, p * (self.high - m) / q
        known = p**2 * design.variances / q
        prior = float(known.sum()) if np.all(np.isfinite(known)) else float((highest.max() - lowest.min()) / 4) ** 2
        orders = np.argsort((lowest, -highest), axis=1, kind="stable")
        z, low, high, sizes = np.empty((4, sample.queries.size))
        arrays = (np.ascontiguousarray(sample.queries, dtype=np.int64), sample.sampling_probs)
        gaps = sample.values - sample.totals[:, 2]
        prior, planned = max(prior, 0.0), float(self.planned)
        intervals.bet_terms(*arrays, gaps, p, q, lowest, highest, orders, prior, planned, bet, z, low, high, sizes)
        room = _ROUNDING * (np.abs(low) + np.abs(high))
        return z, low - room, high + room, sizes


def _check_planned(planned: int) -> None:
    if planned < 1:
        raise InputError(f"the planned number of draws must be positive, got {planned!r}")


INTERVALS: dict[str, type[IntervalKind]] = {
    kind.name: kind for kind in (Student, Skewed, Bootstrap, AsymptoticSequence, Betting, GroupSequential)
}


def find_interval(name: str) -> type[IntervalKind]:
    """Return an interval kind by its name, or say which there are."""
    if name not in INTERVALS:
        raise InputError(f"unknown interval {name!r}; known: {', '.join(INTERVALS)}")
    return INTERVALS[name]


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to stop, the interval at this look, and why."""

    stop: bool
    interval: Interval
    reason: str


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """Stop when the half-width is at most ε; the interval then holds at its level all the same.

    Parameters
    ----------
    kind : IntervalKind
        One that is valid at every look: plain intervals that are looked at until they please miss
        the truth far more often than they say.
    half_width : float
        ε, in the unit of the measure.
    level : float

    Examples
    --------
    >>> StoppingRule(AsymptoticSequence(planned=100), half_width=0.05).level
    0.95
    >>> StoppingRule(Student(), half_width=0.05)
    Traceback (most recent call last):
    activeeval.errors.InputError: the interval 't' is for one look; to stop choose asympcs, betting, group-sequential
    """

    kind: IntervalKind
    half_width: float
    level: float = 0.95

    def __post_init__(self) -> None:
        if not self.kind.valid_at_every_look:
            fit = ", ".join(name for name, kind in INTERVALS.items() if kind.valid_at_every_look)
            raise InputError(f"the interval {self.kind.name!r} is for one look; to stop choose {fit}")
        if not self.half_width > 0:
            raise InputError(f"the half-width to stop at must be positive, got {self.half_width!r}")
        check_level(self.level)

    def check(self, scheme: str, estimator: str) -> None:
        """Raise InputError where the interval is not one for a scheme and an estimator."""
        self.kind.check(scheme, estimator)

    def decide(self, sample: JudgedSample, evaluated: Evaluated) -> Decision:
        """Return whether to stop after the draws so far."""
        interval = self.kind.interval(sample, evaluated, self.level)
        half = (interval.high - interval.low) / 2
        stop = half <= self.half_width
        relation = "at most" if stop else "above"
        return Decision(
            stop, interval, f"half-width {half:.4g} after {sample.n_draws} draws, {relation} {self.half_width:g}"
        )
