"""Simulated assessors: comparisons and grades of items from a latent relevance observed with noise.

An item z has a latent relevance x_z. In a comparison, an assessor observes x_a − x_b with noise of scale σ: normal
(Thurstone 1927), so that P(a ≻ b) = Φ((x_a − x_b) / σ), or logistic (Bradley and Terry 1952). An observed difference
below a margin is a tie. In grading, an assessor observes x_z with normal noise and reports its position among the
scale's thresholds.

Times are lognormal, with the published means: 5.51 s per comparison and 13.87 s per grade (Niu et al. 2012, table 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.errors import InputError
from activeeval.core.types import Floats, Ints
from activeeval.topk.labelling import TopKLabelling

Seed = np.random.Generator | int | None

NOISES = ("thurstone", "bradley-terry")
SECONDS_A_COMPARISON, SECONDS_A_GRADE = 5.51, 13.87
TIME_SPREAD = 0.6
"""Standard deviation of the logarithm of a time: 90 % of the times lie within a factor of 2.7 of the median. No source
publishes it; means over hundreds of judgments do not depend on it."""


class TimedAnswer(NamedTuple):
    """Answer to a comparison: the preferred item, or None for a tie, and the time in seconds."""

    preferred: int | None
    seconds: float


class TimedLabelling(NamedTuple):
    """Completed labelling, and its time in seconds."""

    labelling: TopKLabelling
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessors:
    """Parameters of one kind of simulated assessor; `person` creates an assessor.

    Parameters
    ----------
    noise : {"thurstone", "bradley-terry"}
        Distribution of the noise in comparisons.
    comparison_scale : float
        Its scale σ, in the unit of the latent relevance; 0 for no noise.
    tie_margin : float
        Smaller observed differences are ties; 0 for no ties.
    thresholds : sequence of float
        Ascending; a grade is the number of thresholds at or below the observed relevance.
    grade_scale : float
        Standard deviation of the noise in grading.

    Raises
    ------
    InputError
        If a scale is negative or thresholds do not ascend.
    """

    noise: str = "thurstone"
    comparison_scale: float = 0.0
    tie_margin: float = 0.0
    thresholds: Sequence[float] = ()
    grade_scale: float = 0.0

    def __post_init__(self) -> None:
        """Raise InputError at the first invalid parameter."""
        if self.noise not in NOISES:
            raise InputError(f"unknown noise {self.noise!r}; known: {', '.join(NOISES)}")
        for name in ("comparison_scale", "tie_margin", "grade_scale"):
            if not 0 <= getattr(self, name) < np.inf:
                raise InputError(f"{name} must be a finite number from 0 on, got {getattr(self, name)!r}")
        if not np.all(np.diff(np.asarray(self.thresholds, dtype=np.float64)) > 0):
            raise InputError(f"thresholds must ascend, got {list(self.thresholds)!r}")

    def person(self, rng: Seed = None) -> Assessor:
        """Create one assessor with its own random state: a generator, or a seed (None: a random one)."""
        return Assessor(self, np.random.default_rng(rng))


@dataclass(frozen=True, slots=True)
class Assessor:
    """One simulated assessor: its kind (parameters) and its random state.

    Examples
    --------
    >>> ann = Assessors(thresholds=[1, 2]).person(0)
    >>> ann.compare([0.5, 2.5], 0, 1).preferred, ann.grade([0.5, 1.0, 2.5])[0].tolist()
    (1, [0, 1, 2])
    """

    kind: Assessors
    random: np.random.Generator

    def compare(self, relevance: ArrayLike, first: int, second: int) -> TimedAnswer:
        """Compare two items and return the preferred one, or None for a tie, with the time in seconds.

        `relevance`, shape (n_items,), has the latent relevance of all items; `first` and `second` are indices of it.
        """
        x = np.asarray(relevance, dtype=np.float64)
        noise = self.random.standard_normal if self.kind.noise == "thurstone" else self.random.logistic
        observed = x[first] - x[second] + self.kind.comparison_scale * noise()
        tied = abs(observed) < self.kind.tie_margin or observed == 0
        preferred = None if tied else first if observed > 0 else second
        return TimedAnswer(preferred, float(self._seconds(SECONDS_A_COMPARISON, 1)[0]))

    def grade(self, relevance: ArrayLike) -> tuple[Ints, Floats]:
        """Grade every item from its latent relevance, shape (n_items,); return the grades and the seconds of each."""
        x = np.asarray(relevance, dtype=np.float64)
        observed = x + self.kind.grade_scale * self.random.standard_normal(x.size)
        grades = np.searchsorted(self.kind.thresholds, observed, side="right").astype(np.int64)
        return grades, self._seconds(SECONDS_A_GRADE, x.size)

    def label(self, relevance: ArrayLike, labelling: TopKLabelling) -> TimedLabelling:
        """Answer the comparisons of a labelling until it is complete, and add up the seconds.

        `relevance`, shape (n_items,), has the latent relevance of the items.
        """
        seconds = 0.0
        while (pair := labelling.ask()) is not None:
            answer = self.compare(relevance, *pair)
            labelling.tell(answer.preferred)
            seconds += answer.seconds
        return TimedLabelling(labelling, seconds)

    def _seconds(self, mean: float, n: int) -> Floats:
        """Draw n lognormal times of a given mean, in seconds, shape (n,)."""
        return self.random.lognormal(np.log(mean) - TIME_SPREAD**2 / 2, TIME_SPREAD, size=n)
