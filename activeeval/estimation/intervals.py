"""Intervals: between which values the performance lies, by kinds that differ in what they ask for and guard against.

An ordinary interval is valid at one look that was planned beforehand. Who looks again and again and
stops when the interval pleases needs a kind that is valid at every look.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.errors import InputError
from activeeval.estimation.estimators import Evaluated
from activeeval.estimation.samples import JudgedSample
from activeeval.kernels import intervals
from activeeval.results import Interval, t_quantile

Floats = NDArray[np.float64]

_SEED = 20130301


def check_level(level: float) -> None:
    """Raise InputError where a confidence level does not lie strictly between 0 and 1."""
    if not 0 < level < 1:
        raise InputError(f"level must lie strictly between 0 and 1, got {level!r}")


@runtime_checkable
class IntervalKind(Protocol):
    """A way to make an interval.

    Attributes
    ----------
    name : str
    when : str
        One line on when to use it.
    valid_at_every_look : bool
        Whether the interval holds at all its looks at once, so that one may stop when it pleases.
    """

    name: ClassVar[str]
    when: ClassVar[str]
    valid_at_every_look: ClassVar[bool]

    def check(self, scheme: str, estimator: str) -> None:
        """Raise InputError where the kind is not one for a scheme and an estimator."""

    def interval(self, sample: JudgedSample, evaluated: Evaluated, level: float) -> Interval:
        """Return the interval of what an estimator made of a sample."""


class FromVariance:
    """What kinds share that need no more than an estimate and its variance: half-widths of many at once."""

    __slots__ = ()
    valid_at_every_look: ClassVar[bool]

    def check(self, scheme: str, estimator: str) -> None:
        """Raise InputError where the kind is not one for a scheme and an estimator."""

    def half_widths(self, variances: ArrayLike, degrees: ArrayLike, n_draws: ArrayLike, level: float) -> Floats:
        """Return half-widths.

        Parameters
        ----------
        variances, degrees, n_draws : arrays that broadcast
            Variance of each estimate, its degrees of freedom, and the number of its draws.
        level : float

        Returns
        -------
        ndarray
            Infinite where the kind has nothing to say. 0 where the variance is; where one may look
            again only if the degrees of freedom are infinite, as when all is judged: draws that are
            alike so far say nothing of the rest.
        """
        v, df, n = (np.asarray(a, dtype=np.float64) for a in (variances, degrees, n_draws))
        check_level(level)
        with np.errstate(invalid="ignore"):
            half = self._multiples(df, n, level) * np.sqrt(v)
        is_exact = (v == 0) & (np.isinf(df) | (not self.valid_at_every_look))
        knows = np.isfinite(v) & (df > 0) & (v > 0)
        return np.asarray(np.where(is_exact, 0.0, np.where(knows, half, np.inf)))

    def interval(self, sample: JudgedSample, evaluated: Evaluated, level: float) -> Interval:
        """Return the interval of what an estimator made of a sample."""
        half = self.half_widths(evaluated.variance, evaluated.degrees_of_freedom, sample.n_draws, level)
        return Interval(evaluated.value - float(half), evaluated.value + float(half), level)

    def _multiples(self, degrees: Floats, n_draws: Floats, level: float) -> Floats:
        raise TypeError("an interval kind says how many standard errors it takes")


@dataclass(frozen=True, slots=True)
class Student(FromVariance):
    """R̂ ± t se.

    Examples
    --------
    >>> Student().half_widths([0.01, 0.04], 29, 30, 0.95).round(3)
    array([0.205, 0.409])
    """

    name: ClassVar[str] = "t"
    when: ClassVar[str] = "the default: one look, planned beforehand"
    valid_at_every_look: ClassVar[bool] = False

    def _multiples(self, degrees: Floats, n_draws: Floats, level: float) -> Floats:
        return t_quantile(level, np.maximum(degrees, 1.0))


def _is_settled(sample: JudgedSample) -> bool:
    return sample.scheme in ("poisson", "cube")


def _parts(sample: JudgedSample, evaluated: Evaluated) -> tuple[Floats, Floats]:
    """Return u, what each draw adds to the error, centred where draws follow each other, and ``keep``.

    V̂ is Σ keep u² and what is unseen within the queries; that goes to 1 − keep in proportion to u².
    """
    u = evaluated.contributions
    if not _is_settled(sample):
        return u - u.mean(), np.ones_like(u)
    keep, squares = 1 - sample.open_part.sampling_probs, u**2
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
    valid_at_every_look: ClassVar[bool] = False

    def check(self, scheme: str, estimator: str) -> None:
        """Raise InputError where the kind is not one for a scheme and an estimator; it is for all."""

    def interval(self, sample: JudgedSample, evaluated: Evaluated, level: float) -> Interval:
        """Return the interval of what an estimator made of a sample."""
        value, variance, degrees = evaluated.value, evaluated.variance, evaluated.degrees_of_freedom
        if not (math.isfinite(variance) and variance > 0 and degrees > 0):
            return Student().interval(sample, evaluated, level)
        u, keep = _parts(sample, evaluated)
        shares = keep * u**2
        shares /= shares.sum()
        q = float(t_quantile(level, max(degrees, 1.0)))
        lean = q**2 * float((keep * shares) @ u) / 2
        reach = q * math.sqrt(variance)
        low, high = lean - math.hypot(lean, reach), lean + math.hypot(lean, reach)
        return Interval(value + min(low, -reach), value + max(high, reach), level)


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Studentised bootstrap (bootstrap-t) of what each draw contributed: [R̂ − T_hi se, R̂ − T_lo se].

    Parameters
    ----------
    n_resamples : int
    seed : int
        The same sample gives the same interval.
    """

    name: ClassVar[str] = "bootstrap"
    when: ClassVar[str] = "one look, sides of different length without a formula; beside skewed, as a check"
    valid_at_every_look: ClassVar[bool] = False
    n_resamples: int = 1999
    seed: int = _SEED

    def check(self, scheme: str, estimator: str) -> None:
        """Raise InputError where the kind is not one for a scheme and an estimator; it is for all."""

    def interval(self, sample: JudgedSample, evaluated: Evaluated, level: float) -> Interval:
        """Return the interval of what an estimator made of a sample."""
        value, se = evaluated.value, math.sqrt(evaluated.variance)
        if not (math.isfinite(se) and se > 0 and evaluated.degrees_of_freedom > 0):
            return Student().interval(sample, evaluated, level)
        check_level(level)
        contributions, keep = _parts(sample, evaluated)
        statistics = np.empty(self.n_resamples)
        rng = np.random.default_rng(self.seed)
        intervals.bootstrap_statistics(contributions, keep, _is_settled(sample), rng, statistics)
        statistics.sort()
        tail = max(int((self.n_resamples + 1) * (1 - level) / 2), 1)  # order statistics bear what is infinite
        low, high = statistics[tail - 1], statistics[-tail]
        return Interval(value - float(high) * se, value - float(low) * se, level)
