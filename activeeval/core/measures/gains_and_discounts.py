"""Rules that map grades to gains or stop probabilities, and discounts of ranks; each prints as measure text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.checks import LARGEST_GRADE
from activeeval.core.errors import InputError
from activeeval.core.types import Floats

Discounts = tuple[float, ...] | Callable[[Any], ArrayLike]


class GradeRule(Protocol):
    """Maps the grades 0 … n_grades − 1 to values: gains or stop probabilities.

    ``max_grade`` is None while the scale is open; ``depends_on_scale`` is True if the values depend on the largest
    grade.
    """

    depends_on_scale: ClassVar[bool]

    @property
    def max_grade(self) -> int | None:
        """Largest grade with a value; None if the scale is open."""
        ...

    def values(self, n_grades: int) -> Floats:
        """Compute the gain or stop probability of each grade 0 … n_grades − 1, shape (n_grades,)."""
        ...

    def bound_to(self, max_grade: int) -> GradeRule:
        """Copy the rule with an open scale fixed at `max_grade`."""
        ...


def number_text(value: float) -> str:
    """Format a number without loss of digits; whole numbers without a decimal point."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


@dataclass(frozen=True, slots=True)
class _OpenRule:
    """Base class of rules for a scale of any length, until `bound_to` fixes it."""

    depends_on_scale: ClassVar[bool] = False
    max_grade: int | None = None

    def bound_to(self, max_grade: int) -> Any:
        """Copy the rule with an open scale fixed at `max_grade`; a fixed one is not changed.

        Raises InputError if `max_grade` is above `LARGEST_GRADE`.
        """
        if max_grade > LARGEST_GRADE:
            raise InputError(f"max_grade must be at most {LARGEST_GRADE}, got {max_grade}")
        return self if self.max_grade is not None else replace(self, max_grade=max_grade)


@dataclass(frozen=True, slots=True)
class Exponential(_OpenRule):
    """The gain 2^y − 1 of a grade y."""

    def values(self, n_grades: int) -> Floats:
        """Compute 2^y − 1 for each grade y, shape (n_grades,)."""
        with np.errstate(over="ignore"):  # grades above 1023 have no finite gain; the measure reports that
            return np.asarray(np.exp2(np.arange(n_grades, dtype=np.float64)) - 1)

    def __str__(self) -> str:
        """Format the rule as a parameter of DCG, in the spelling of ir_measures."""
        return "dcg='exp-log2'"


@dataclass(frozen=True, slots=True)
class Linear(_OpenRule):
    """The gain g(y) = y."""

    def values(self, n_grades: int) -> Floats:
        """Compute y for each grade y, shape (n_grades,)."""
        return np.arange(n_grades, dtype=np.float64)

    def __str__(self) -> str:
        """Format the rule as a parameter of DCG, in the spelling of ir_measures."""
        return "dcg='log2'"


@dataclass(frozen=True, slots=True)
class BinaryGain(_OpenRule):
    """The gain 1 for relevant items, with a grade of at least `rel`, else 0."""

    rel: int = field(default=1, kw_only=True)

    def values(self, n_grades: int) -> Floats:
        """Compute 1 for each grade from `rel` on and 0 for those below, shape (n_grades,)."""
        return (np.arange(n_grades) >= self.rel).astype(np.float64)

    def __str__(self) -> str:
        """Format the rule as a parameter of a measure: the smallest relevant grade."""
        return f"rel={self.rel}"


@dataclass(frozen=True, slots=True)
class StopProbability(_OpenRule):
    """The probability that a user stops at an item of grade y: ℓ(y) = (2^y − 1) / 2^max_grade."""

    depends_on_scale: ClassVar[bool] = True

    def values(self, n_grades: int) -> Floats:
        """Compute (2^y − 1) / 2^max_grade for each grade y, shape (n_grades,).

        On an open scale the last grade counts as the largest.
        """
        top = n_grades - 1 if self.max_grade is None else self.max_grade
        return np.asarray(np.exp2(np.arange(n_grades, dtype=np.float64) - top) - np.exp2(-float(top)))

    def __str__(self) -> str:
        """Format the rule as a parameter of ERR: the largest grade; empty on an open scale."""
        return "" if self.max_grade is None else f"max_rel={self.max_grade}"


@dataclass(frozen=True, slots=True)
class LookupTable:
    """One explicit value for each grade 0 … Y."""

    depends_on_scale: ClassVar[bool] = False
    table: tuple[float, ...]

    @property
    def max_grade(self) -> int | None:
        """Largest grade with a value."""
        return len(self.table) - 1

    def values(self, n_grades: int) -> Floats:
        """Get the values of the first ``n_grades`` grades, shape (n_grades,)."""
        return np.array(self.table[:n_grades])

    def bound_to(self, max_grade: int) -> LookupTable:
        """Return the rule unchanged: a table has a fixed scale."""
        return self

    def __str__(self) -> str:
        """Format the table as a parameter of a measure, ``gains={grade:value,…}``."""
        return "gains={" + ",".join(f"{y}:{number_text(g)}" for y, g in enumerate(self.table)) + "}"


def as_rule(values: Any, what: str, lower: float = -np.inf, upper: float = np.inf) -> GradeRule:
    """Convert values to a rule; a vector with a value for each grade becomes a `LookupTable`.

    Raises InputError if they are not at least two finite numbers in [``lower``, ``upper``]; ``what`` names them in
    messages.
    """
    if isinstance(values, (Exponential, Linear, BinaryGain, StopProbability, LookupTable)):
        return values
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} must be numbers, one for each grade, got {values!r:.100}") from None
    if vector.ndim != 1 or vector.size < 2:
        raise InputError(f"{what} must hold a value for each of two grades or more, got shape {vector.shape}")
    bad = np.flatnonzero(~(np.isfinite(vector) & (vector >= lower) & (vector <= upper)))
    if bad.size:
        bounds = "finite" if upper == np.inf else f"between {lower:g} and {upper:g}"
        raise InputError(f"{what} must be {bounds}, got {vector[bad[0]]} for grade {bad[0]}")
    return LookupTable(tuple(vector.tolist()))


def as_discounts(discounts: Any) -> Discounts:
    """Convert discounts to a function of ranks, or to a tuple with the discount of each rank.

    Raises InputError if they are neither callable nor a vector of finite numbers.
    """
    if callable(discounts):
        function: Callable[[Any], ArrayLike] = discounts
        return function
    try:
        vector = np.asarray(discounts, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"discounts must be numbers, one for each rank, got {discounts!r:.100}") from None
    if vector.ndim != 1 or vector.size == 0:
        raise InputError(f"discounts must hold a number for each rank, got shape {vector.shape}")
    bad = np.flatnonzero(~np.isfinite(vector))
    if bad.size:
        raise InputError(f"discounts must be finite, got {vector[bad[0]]} at rank {bad[0] + 1}")
    return tuple(vector.tolist())


def log_discount(ranks: Any) -> Any:
    """Compute 1 / log2(1 + rank), the discount of DCG."""
    return 1.0 / np.log2(1.0 + ranks)


def reciprocal_discount(ranks: Any) -> Any:
    """Compute 1 / rank, the discount of ERR."""
    return 1.0 / ranks


@dataclass(frozen=True, slots=True)
class GeometricDiscount:
    """The discount (1 − p) p^(rank − 1) of RBP: a user continues with probability p."""

    p: float

    def __call__(self, ranks: Any) -> Any:
        """Compute the discounts of an array of ranks (from 1), in its shape."""
        return (1.0 - self.p) * self.p ** (ranks - 1.0)


@dataclass(frozen=True, slots=True)
class ConstantDiscount:
    """The same weight at every rank."""

    weight: float

    def __call__(self, ranks: Any) -> Any:
        """Return the weight for each of an array of ranks, in its shape."""
        return np.full(np.shape(ranks), self.weight)
