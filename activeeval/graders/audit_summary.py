"""Results of an audit as values: numbers and names that reports and JSON output format."""

from __future__ import annotations

import math
from dataclasses import dataclass

from activeeval.core.results import Caution, Note

DIFFERS, OPEN, AGREES = "differs", "may differ", "agrees"
"""Whether the grader's sign of a difference is that of human labels: significantly not, undecided, significantly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteredFigure:
    """A figure and its standard error, clustered by query; None where unknown."""

    value: float | None
    std_error: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """Measure of a system, or difference of two, by the grader's grades and by the estimate from human labels.

    Infinite ends of intervals are None.

    Attributes
    ----------
    measure, definition : str
        Display name, and full definition.
    question : str
        run, versus or difference.
    system, versus : str
        The system, and for a difference the system subtracted; else "".
    grader : str
    by_grader : float or None
        The measure computed from the grader's grades: an item without a reply counts as the mean of the answered ones
        of its query, a query without any reply is left out. None if the grader answered no item that affects it.
    corrected, corrected_low, corrected_high : float or None
        The estimate from human labels, with the ends of its interval.
    bias, bias_low, bias_high : float or None
        ``by_grader`` − ``corrected``, with the shifted interval. No ends at scope "population", where the grader's own
        mean is uncertain too.
    bias_low_simultaneous, bias_high_simultaneous : float or None
        Ends that cover all runs, or all differences, of the measure simultaneously; None if there is only one.
    confidence : float
    scope : str
    sign : str
        For a difference, whether the grader's sign `differs`, `may differ` or `agrees`; else "".
    labels : int
        Number of human labels behind the estimate.
    half_width_without : float or None
        Half-width from the same labels without the grader; None if the sample was not drawn with its grades.
    labels_saved : float or None
        Number of further labels that would reach ``corrected``'s half-width without the grader.
    answered : float
        Share of the items that affect the measure to which the grader replied.
    by_grader_missing_as_0 : float
        ``by_grader`` with grade 0 for items without a reply.
    """

    measure: str
    definition: str
    question: str
    system: str
    versus: str
    grader: str
    by_grader: float | None
    corrected: float | None
    corrected_low: float | None
    corrected_high: float | None
    bias: float | None
    bias_low: float | None
    bias_high: float | None
    bias_low_simultaneous: float | None = None
    bias_high_simultaneous: float | None = None
    confidence: float
    scope: str
    sign: str = ""
    labels: int
    half_width_without: float | None = None
    labels_saved: float | None = None
    answered: float = 1.0
    by_grader_missing_as_0: float | None = None

    @property
    def half_width(self) -> float | None:
        """Half-width of the corrected interval; None if it is unbounded."""
        if self.corrected_low is None or self.corrected_high is None:
            return None
        return (self.corrected_high - self.corrected_low) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemOrder:
    """Agreement of a grader and human labels on the order of systems by a measure.

    Attributes
    ----------
    measure : str
    systems : int
        Number of systems.
    tau : float or None
        Kendall's τ between the grader's differences and the corrected ones; None if one of them has only ties.
    winner, winner_by_grader : str
        First system by the estimates, and by the grader; "" if the pairs do not connect all systems.
    differ, open, agree : int
        Number of pairs whose signs significantly differ, are undecided, significantly agree.
    winner_sign : str
        Class (`DIFFERS`, `OPEN`, `AGREES`) of the sign of the two winners' difference; "" if they are the same.
    """

    measure: str
    systems: int
    tau: float | None
    winner: str
    winner_by_grader: str
    differ: int
    open: int
    agree: int
    winner_sign: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRow:
    """Human grades of the items with one value, or a range of values, of a grader.

    Attributes
    ----------
    least, most : float or None
        Range of values; None for items without a reply.
    judged : int
        Number of items with human labels.
    share : ClusteredFigure
        Share of the sampled population's items that lie in this range.
    by_grade : list of ClusteredFigure
        Among these, the share of each human grade, from 0.
    """

    least: float | None
    most: float | None
    judged: int
    share: ClusteredFigure
    by_grade: list[ClusteredFigure]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Leniency of one model, or of one prompt, of a grader: its values minus human grades.

    Attributes
    ----------
    kind : {"model", "prompt"}
    name : str
        Name of the model, or version of the prompt.
    judged : int
        Number of its items with human labels.
    leniency : ClusteredFigure
    """

    kind: str
    name: str
    judged: int
    leniency: ClusteredFigure


@dataclass(frozen=True, slots=True, kw_only=True)
class CircularBias:
    """Bias of the run that a grader produced, relative to the mean bias of the other runs.

    Attributes
    ----------
    measure, run : str
    excess : float
        The run's bias minus the mean bias of the others.
    bias, others : float or None
        The run's bias and the others' mean bias; None if the sample estimates differences only.
    is_sure : bool
        True if the intervals of all differences with the run show a bias in its favour.
    """

    measure: str
    run: str
    excess: float
    bias: float | None
    others: float | None
    is_sure: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GraderAudit:
    """Audit of one grader.

    Attributes
    ----------
    grader : str
    rows : list of AuditRow
    orders : list of SystemOrder
        One for each measure with differences.
    values : list of ValueRow
        Human grades by the grader's value, ascending; missing replies last.
    leniency : ClusteredFigure
        Mean of the grader's value, on the human scale, minus the human grade.
    correlation : ClusteredFigure
        Correlation of the grader's values and human grades.
    slope : ClusteredFigure
        Slope of the regression of human grades on the grader's values.
    between_queries : ClusteredFigure
        Share of the residual variance of human grades, given the grader's value, that lies between queries.
    drift : list of Drift
        Leniency by model or prompt, if the file names several.
    circular : list of CircularBias
        Bias for the run of the sample that the grader produced.
    missing, items : int
        Number of items that affect a measure and have no reply, and number that affect a measure.
    cautions : list of Caution
    notes : list of Note
        Oddities found while reading the grader's file.
    """

    grader: str
    rows: list[AuditRow]
    orders: list[SystemOrder]
    values: list[ValueRow]
    leniency: ClusteredFigure
    correlation: ClusteredFigure
    slope: ClusteredFigure
    between_queries: ClusteredFigure
    drift: list[Drift]
    circular: list[CircularBias]
    missing: int
    items: int
    cautions: list[Caution]
    notes: list[Note]


def finite(value: float) -> float | None:
    """Return `value`, or None if it is not finite."""
    return value if math.isfinite(value) else None
