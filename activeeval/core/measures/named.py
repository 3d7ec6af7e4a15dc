"""Constructors of well-known measures as instances of the two families."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from numpy.typing import ArrayLike

from activeeval.core.checks import LARGEST_GRADE, strict_share, whole_number
from activeeval.core.errors import InputError
from activeeval.core.measures.families import Additive, Cascade
from activeeval.core.measures.gains_and_discounts import (
    BinaryGain,
    ConstantDiscount,
    Exponential,
    GeometricDiscount,
    GradeRule,
    Linear,
    StopProbability,
    as_rule,
    log_discount,
    reciprocal_discount,
)


def gain_rule(gains: str | ArrayLike | GradeRule | None, default: GradeRule) -> GradeRule:
    """Convert gains given as ``"linear"`` (y), ``"exp"`` (2^y − 1), a vector or None (``default``) to a rule.

    Raises InputError for anything else.
    """
    if gains is None:
        return default
    if isinstance(gains, str):
        if gains not in ("linear", "exp"):
            raise InputError(f"gains must be 'linear', 'exp' or a number for each grade, got {gains!r:.100}")
        return Linear() if gains == "linear" else Exponential()
    return as_rule(gains, "gains")


def least_relevant(measure: object) -> int | None:
    """Get the smallest relevant grade of a measure with binary relevance; None for other measures.

    Examples
    --------
    >>> least_relevant(Precision(10, rel=2)), least_relevant(DCG())
    (2, None)
    """
    values = [getattr(measure, field.name) for field in fields(measure)] if is_dataclass(measure) else []
    rules = [value.rel for value in values if isinstance(value, BinaryGain)]
    rel = getattr(measure, "rel", None)
    return rules[0] if rules else rel if isinstance(rel, int) else None


def relevance_rule(rel: int) -> BinaryGain:
    """Build the rule that gives 1 to grades of at least `rel`, else 0.

    Raises InputError unless `rel` is a whole number from 0.
    """
    return BinaryGain(rel=whole_number(rel, "rel", 0))


def needed_cutoff(cutoff: Any, name: str) -> int:
    """Check the cutoff of a measure that requires one and return it; raise InputError if it is missing or invalid.

    ``name`` is the measure's name in the message.
    """
    if cutoff is None:
        raise InputError(f"{name} needs a cutoff, as {name}@10")
    return whole_number(cutoff, "a cutoff", 1)


def DCG(gains: str | ArrayLike | None = None, cutoff: int | None = None) -> Additive:
    """Build discounted cumulative gain, Σ g(y_i) / log2(1 + i) over ranks i; gains 2^y − 1 by default.

    ``gains`` is ``"linear"`` (y), ``"exp"`` (2^y − 1) or a number for each grade. Raises InputError for other gains or
    an invalid cutoff.

    Examples
    --------
    >>> print(DCG(cutoff=10), DCG("linear"))
    DCG(dcg='exp-log2')@10 DCG(dcg='log2')
    """
    return Additive(gain_rule(gains, Exponential()), log_discount, cutoff, "DCG")


def ERR(max_grade: int | None = None, cutoff: int | None = None) -> Cascade:
    """Build expected reciprocal rank, Σ_i ℓ(y_i) / i Π_{l<i} (1 − ℓ(y_l)) with ℓ(y) = (2^y − 1) / 2^max_grade.

    ℓ is the probability that a user stops at an item of grade y. ``max_grade`` None uses the largest grade of the
    scored labels; `bound_to` fixes the scale. Raises InputError if it is not a positive whole number, or the cutoff is
    invalid.

    Examples
    --------
    >>> print(ERR(4, cutoff=20), ERR().bound_to(2))
    ERR(max_rel=4)@20 ERR(max_rel=2)
    """
    top = None if max_grade is None else whole_number(max_grade, "max_grade", 1, LARGEST_GRADE)
    return Cascade(StopProbability(top), reciprocal_discount, cutoff, "ERR")


def RBP(p: float = 0.8, rel: int = 1, gains: Any = None, cutoff: int | None = None) -> Additive:
    """Build rank-biased precision, (1 − p) Σ p^(i−1) g(y_i) over ranks i; gains are 1 from grade `rel` on unless given.

    ``p`` is the probability that a user goes on to the next rank; ``gains`` is ``"linear"`` (y), ``"exp"`` (2^y − 1) or
    a number for each grade. Raises InputError unless 0 < p < 1, or if another parameter is invalid.

    Examples
    --------
    >>> print(RBP(), RBP(p=0.5).discount_vector(3))
    RBP(p=0.8,rel=1) [0.5   0.25  0.125]
    """
    discount = GeometricDiscount(strict_share(p, "p"))
    return Additive(gain_rule(gains, relevance_rule(rel)), discount, cutoff, "RBP")


def Precision(cutoff: int | None, rel: int = 1) -> Additive:
    """Build precision: the share of relevant items (grade at least `rel`) among the first `cutoff` ranks.

    Raises InputError without a cutoff, or if a parameter is not a whole number.

    Examples
    --------
    >>> print(Precision(10), Precision(10, rel=2))
    P(rel=1)@10 P(rel=2)@10
    """
    depth = needed_cutoff(cutoff, "P")
    return Additive(relevance_rule(rel), ConstantDiscount(1.0 / depth), depth, "P")


def RR(rel: int = 1, cutoff: int | None = None) -> Cascade:
    """Build the reciprocal rank of the first relevant item (grade at least `rel`), 0 without one.

    Raises InputError if a parameter is not a whole number.

    Examples
    --------
    >>> print(RR(), RR(rel=2, cutoff=10))
    RR(rel=1) RR(rel=2)@10
    """
    return Cascade(relevance_rule(rel), reciprocal_discount, cutoff, "RR")


def Success(cutoff: int | None, rel: int = 1) -> Cascade:
    """Build success: 1 if any of the first `cutoff` ranks is relevant (grade at least `rel`), else 0.

    Raises InputError without a cutoff, or if a parameter is not a whole number.

    Examples
    --------
    >>> print(Success(5), Success(10, rel=2))
    Success(rel=1)@5 Success(rel=2)@10
    """
    depth = needed_cutoff(cutoff, "Success")
    return Cascade(relevance_rule(rel), ConstantDiscount(1.0), depth, "Success")
