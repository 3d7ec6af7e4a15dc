"""Simulated people: comparisons and grades of items whose relevance is a number that people see with noise.

An item z has a latent relevance x_z. Asked for the better of two, a person sees x_a − x_b with noise of scale σ: normal
(Thurstone 1927), so that P(a ≻ b) = Φ((x_a − x_b) / σ), or logistic (Bradley and Terry 1952). A difference seen as
smaller than a margin is a tie. Asked for a grade, a person sees x_z with normal noise and reports between which of the
scale's thresholds it falls.

Times are lognormal, with the published means: 5.51 s a comparison and 13.87 s a grade (Niu et al. 2012, table 1).
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
prints one; means over hundreds of judgments do not depend on it."""


class TimedAnswer(NamedTuple):
    """What a person said of a pair, the preferred one or None, and the seconds it took."""

    preferred: int | None
    seconds: float


class TimedLabelling(NamedTuple):
    """A labelling that a person went through, and the seconds it took."""

    labelling: TopKLabelling
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessors:
    """How people of one kind see relevance; `person` returns one of them.

    Parameters
    ----------
    noise : {"thurstone", "bradley-terry"}
        Law of the noise in comparisons.
    comparison_scale : float
        Its scale σ, in the unit of the latent relevance; 0 for none.
    tie_margin : float
        Differences that are seen as smaller are ties; 0 for none.
    thresholds : sequence of float
        Ascending; a grade is the number of thresholds that are at most what is seen.
    grade_scale : float
        Standard deviation of the noise in what is seen of an item to be graded.

    Raises
    ------
    InputError
        Where a scale is negative or thresholds do not ascend.
    """

    noise: str = "thurstone"
    comparison_scale: float = 0.0
    tie_margin: float = 0.0
    thresholds: Sequence[float] = ()
    grade_scale: float = 0.0

    def __post_init__(self) -> None:
        if self.noise not in NOISES:
            raise InputError(f"unknown noise {self.noise!r}; known: {', '.join(NOISES)}")
        for name in ("comparison_scale", "tie_margin", "grade_scale"):
            if not 0 <= getattr(self, name) < np.inf:
                raise InputError(f"{name} must be a finite number from 0 on, got {getattr(self, name)!r}")
        if not np.all(np.diff(np.asarray(self.thresholds, dtype=np.float64)) > 0):
            raise InputError(f"thresholds must ascend, got {list(self.thresholds)!r}")

    def person(self, rng: Seed = None) -> Assessor:
        """Return one person."""
        return Assessor(self, np.random.default_rng(rng))


@dataclass(frozen=True, slots=True)
class Assessor:
    """One simulated person.

    Examples
    --------
    >>> ann = Assessors(thresholds=[1, 2]).person(0)
    >>> ann.compare([0.5, 2.5], 0, 1).preferred, ann.grade([0.5, 1.0, 2.5])[0].tolist()
    (1, [0, 1, 2])
    """

    kind: Assessors
    random: np.random.Generator

    def compare(self, relevance: ArrayLike, first: int, second: int) -> TimedAnswer:
        """Tell which of two items is seen as the better one."""
        x = np.asarray(relevance, dtype=np.float64)
        draw = self.random.standard_normal if self.kind.noise == "thurstone" else self.random.logistic
        seen = x[first] - x[second] + self.kind.comparison_scale * draw()
        tied = abs(seen) < self.kind.tie_margin or seen == 0
        preferred = None if tied else first if seen > 0 else second
        return TimedAnswer(preferred, float(self._seconds(SECONDS_A_COMPARISON, 1)[0]))

    def grade(self, relevance: ArrayLike) -> tuple[Ints, Floats]:
        """Return a grade for every item and the seconds that each took."""
        x = np.asarray(relevance, dtype=np.float64)
        seen = x + self.kind.grade_scale * self.random.standard_normal(x.size)
        grades = np.searchsorted(self.kind.thresholds, seen, side="right").astype(np.int64)
        return grades, self._seconds(SECONDS_A_GRADE, x.size)

    def label(self, relevance: ArrayLike, labelling: TopKLabelling) -> TimedLabelling:
        """Answer a labelling to its end."""
        seconds = 0.0
        while (pair := labelling.ask()) is not None:
            answer = self.compare(relevance, *pair)
            labelling.tell(answer.preferred)
            seconds += answer.seconds
        return TimedLabelling(labelling, seconds)

    def _seconds(self, mean: float, n: int) -> Floats:
        return self.random.lognormal(np.log(mean) - TIME_SPREAD**2 / 2, TIME_SPREAD, size=n)
