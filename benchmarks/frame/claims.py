"""Claims of a paper, and verdicts on them that can say no: *holds*, *excluded* or *not shown*.

A claim that one thing is ahead of another *holds* where the 95 % interval of the difference lies above 0; it is
*excluded* where the interval lies below the size that the paper says, or below 0 where it says none; else it is *not
shown*. A claim that two are level *holds* where two one-sided tests at 5 % reject a difference of the bound either way
(the 90 % interval lies within it), and is *excluded* where the 95 % interval lies beyond the bound. Where a claim has
several parts, it holds if each does (an intersection–union test: its false alarms are those of one part) and is
excluded if any is, or each part is tested at Holm's level where the parts are spoken of one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.frame import report

HOLDS, EXCLUDED, NOT_SHOWN = "holds", "excluded", "not shown"


@dataclass(frozen=True, slots=True)
class Gap:
    """A mean of paired differences, its standard error, and the degrees of freedom of that."""

    mean: float
    se: float
    df: int

    @classmethod
    def of_independent(cls, apart: Any) -> Gap:
        """Take differences of independent units: test queries, or worlds that were generated each for itself."""
        values = np.asarray(apart, dtype=np.float64)
        return cls(float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size)), values.size - 1)

    @classmethod
    def of_folds(cls, apart: Any) -> Gap:
        """Take one difference a fold, of folds whose training sets overlap.

        Each two of k = 5 folds share three of the four that both learn from, so that the differences are correlated,
        by ρ, and the mean of k has the variance σ²(1/k + (1 − 1/k) ρ), while their sample variance s² has the mean
        σ²(1 − ρ). So s² (1/k + ρ/(1 − ρ)) is unbiased. Nadeau and Bengio (Machine Learning 52, 2003) take ρ for the
        share of the data that is held out, 1/k, so that ρ/(1 − ρ) = 1/(k − 1). For k = 5 that is 2.25 times the
        variance of independent folds.
        """
        values = np.asarray(apart, dtype=np.float64)
        k = values.size
        return cls(float(values.mean()), float(values.std(ddof=1) * np.sqrt(1 / k + 1 / (k - 1))), k - 1)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return Student's interval."""
        half = float(stats.t.ppf((1 + confidence) / 2, self.df)) * self.se
        return self.mean - half, self.mean + half

    def p_above(self, bound: float = 0.0) -> float:
        """Return the p-value of the one-sided test that the difference is above a bound."""
        if self.se == 0:
            return 0.5 if self.mean == bound else float(self.mean < bound)
        return float(stats.t.sf((self.mean - bound) / self.se, self.df))

    def over(self, divisor: float) -> Gap:
        """Return the difference in other units, as in shares of what it is measured against."""
        return Gap(self.mean / divisor, self.se / abs(divisor), self.df)

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.se:.4f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A row: what the paper says and by how much, what is found ± its standard error, by which test, and the
    verdict.
    """

    data: str
    claim: str
    paper: str
    found: str
    test: str
    verdict: str

    def row(self) -> dict[str, str]:
        return asdict(self)


def above(gap: Gap, bound: float = 0.0, size: float | None = None, confidence: float = 0.95) -> str:
    """Judge a claim that a difference is above a bound, and of the size that the paper says where it says one."""
    low, high = gap.interval(confidence)
    return HOLDS if low > bound else EXCLUDED if high < (bound if size is None else size) else NOT_SHOWN


def ahead(gap: Gap, size: float | None = None) -> str:
    """Judge a claim that a difference is above 0, and of the size that the paper says."""
    return above(gap, size=size)


def level(gap: Gap, bound: float) -> str:
    """Return the verdict on a claim that a difference is within a bound, by two one-sided tests at 5 %."""
    low, high = gap.interval(0.90)
    if -bound < low and high < bound:
        return HOLDS
    low, high = gap.interval(0.95)
    return EXCLUDED if low > bound or high < -bound else NOT_SHOWN


def joined(verdicts: Iterable[str]) -> str:
    """Return the verdict on a claim of which these are all parts."""
    parts = set(verdicts)
    return EXCLUDED if EXCLUDED in parts else NOT_SHOWN if NOT_SHOWN in parts else HOLDS


def holm(p_values: Sequence[float], level: float = 0.05) -> list[bool]:
    """Test hypotheses by Holm's step-down procedure: one false alarm or more in a share ``level`` at
    most.
    """
    rejected = [False] * len(p_values)
    for step, place in enumerate(np.argsort(p_values, kind="stable")):
        if p_values[place] > level / (len(p_values) - step):
            break
        rejected[place] = True
    return rejected


def size_note(gap: Gap, size: float | None) -> str:
    """Say where a difference that is there is not of the paper's size."""
    if size is None:
        return ""
    low, high = gap.interval()
    return ", smaller than the paper's" if high < size else ", larger than the paper's" if low > size else ""


def table(claims: Sequence[dict[str, str]]) -> list[str]:
    """Write the rows of claims as a table in Markdown."""
    head = [field.name for field in fields(Claim)]
    return report.table(head, ([row[name] for name in head] for row in claims))
