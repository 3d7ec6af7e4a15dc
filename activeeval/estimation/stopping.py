"""Stopping rules: judge until the interval is narrow enough, without spoiling what the interval promises."""

from __future__ import annotations

from dataclasses import dataclass

from activeeval.errors import InputError
from activeeval.estimation.estimators import Evaluated
from activeeval.estimation.intervals import INTERVALS, IntervalKind
from activeeval.estimation.samples import JudgedSample
from activeeval.results import Interval


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
    >>> from activeeval.estimation.intervals import AsymptoticSequence, Student
    >>> StoppingRule(AsymptoticSequence(planned=100), half_width=0.05).level
    0.95
    >>> StoppingRule(Student(), half_width=0.05)
    Traceback (most recent call last):
    activeeval.errors.InputError: the interval 't' is for one planned look; to stop choose asympcs, betting, group-sequential
    """

    kind: IntervalKind
    half_width: float
    level: float = 0.95

    def __post_init__(self) -> None:
        if not self.kind.valid_at_every_look:
            fit = ", ".join(name for name, kind in INTERVALS.items() if kind.valid_at_every_look)
            raise InputError(f"the interval {self.kind.name!r} is for one planned look; to stop choose {fit}")
        if not self.half_width > 0:
            raise InputError(f"the half-width to stop at must be positive, got {self.half_width!r}")
        if not 0 < self.level < 1:
            raise InputError(f"level must lie strictly between 0 and 1, got {self.level!r}")

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
