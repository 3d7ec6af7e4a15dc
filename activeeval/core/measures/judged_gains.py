"""Measures of judgments that are gains, not grades: fractions such as the mean of several judges."""

from __future__ import annotations

from dataclasses import dataclass, replace

from activeeval.core.errors import InputError
from activeeval.core.measures.gains_and_discounts import Linear, LookupTable, number_text
from activeeval.core.measures.target import AnyMeasure, shown_name
from activeeval.core.types import Floats


@dataclass(frozen=True, slots=True)
class JudgedGains(LookupTable):
    """The gains of judgments that are gains, not grades: ascending from 0, indexed by the judgments."""

    def __str__(self) -> str:
        """Describe the gains in a measure's text: they are not listed, as there can be many."""
        return "gains of the judgments"


def by_gains(measure: AnyMeasure, gains: Floats | None) -> AnyMeasure:
    """Copy a measure with linear gains so that its gains are those of judgments.

    Parameters
    ----------
    measure : Measure
    gains : ndarray of float64, or None
        The gains that occur, ascending from 0: grade k of the labels has gain ``gains[k]``. For None the measure is
        returned unchanged.

    Raises
    ------
    InputError
        If the measure's values are not linear in the grade.

    Examples
    --------
    >>> import numpy as np
    >>> from activeeval.core.measures import NDCG
    >>> from activeeval.core.pool import QueryPool, Rankings
    >>> pool = QueryPool(["q"], [0, 2], ["a", "b"])
    >>> ranking = Rankings.from_scores(pool, [2.0, 1.0])
    >>> by_gains(NDCG(), np.array([0.0, 0.5, 1.5])).score(pool, [1, 2], ranking).round(4)
    array([0.7967])
    """
    if gains is None:
        return measure
    if not isinstance(getattr(measure, "gains", None), Linear):
        half = number_text(gains[gains % 1 > 0][0])
        raise InputError(f"{shown_name(measure)} needs whole grades, got {half}: only nDCG, DCG(dcg='log2') and others "
                         "of linear gains take fractions as gains")  # fmt: skip
    rule = JudgedGains(tuple(gains.tolist()))
    return replace(measure, gains=rule, label=shown_name(measure))  # type: ignore[type-var]
