"""What an audit of machines' grades says, as values: numbers and names that faces word and JSON carries."""

from __future__ import annotations

import math
from dataclasses import dataclass

from activeeval.core.results import Caution, Note

DIFFERS, OPEN, AGREES = "differs", "may differ", "agrees"
"""Whether the sign that a machine gives a difference is people's: surely not, perhaps not, surely."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteredFigure:
    """A figure and its standard error, clustered by query; None where it is not known."""

    value: float | None
    std_error: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """What a machine alone says of a system, or of a difference, beside what people say with the sample.

    No end that is infinite stands here: it is None.

    Attributes
    ----------
    measure, definition : str
        As it is shown, and in full.
    question : str
        run, versus or difference.
    system, versus : str
        Which system, and of a difference the one that is taken off; else empty.
    grader : str
    by_grader : float or None
        The measure by the machine's grades: an item without a reply counts as the mean of the answered ones of its
        query, a query without any is left out. None where it answered nothing that counts.
    corrected, corrected_low, corrected_high : float or None
        The estimate from people's labels, with its interval.
    bias, bias_low, bias_high : float or None
        ``by_grader`` less what is corrected: the estimate's interval, shifted. Without ends where the estimate is about
        all queries, of which the machine's own mean is not known either.
    bias_low_simultaneous, bias_high_simultaneous : float or None
        Such that all runs, or all differences, of the measure hold at once; None where there is one alone.
    confidence : float
    scope : str
    sign : str
        Of a difference whether the machine's sign `differs`, `may differ` or `agrees`; else empty.
    labels : int
        People's, that it rests on.
    half_width_without : float or None
        Of the same labels read without the machine; None where the sample was not drawn with its grades.
    labels_saved : float or None
        How many more labels that would take to come to the same half-width.
    answered : float
        Share of the items that count which have a reply.
    by_grader_missing_as_0 : float
        The same as ``by_grader`` where an item without a reply has grade 0.
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
        """Of the interval of what is corrected; None where nothing bounds it."""
        if self.corrected_low is None or self.corrected_high is None:
            return None
        return (self.corrected_high - self.corrected_low) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemOrder:
    """How far a machine orders systems by a measure as people do.

    Attributes
    ----------
    measure : str
    systems : int
    tau : float or None
        Kendall's τ of its values with the corrected ones; None where one of both knows no order.
    winner, winner_by_grader : str
        Whom people put first, by the estimate, and whom the machine; empty where the pairs do not connect all systems.
    differ, open, agree : int
        Pairs by how sure it is that their signs are the same.
    winner_sign : str
        How sure that is of the two winners, where they are two.
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
    """What people's grades are where a machine gives one value, or one of a range.

    Attributes
    ----------
    least, most : float or None
        The values; None where its reply is missing.
    judged : int
        Items that people have judged.
    share : Measured
        Of the items that the sample could reach.
    by_grade : list of Measured
        Of these the share to which people give each grade, from 0.
    """

    least: float | None
    most: float | None
    judged: int
    share: ClusteredFigure
    by_grade: list[ClusteredFigure]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How much more than people the replies of one model, or by one prompt, give."""

    kind: str
    name: str
    judged: int
    leniency: ClusteredFigure


@dataclass(frozen=True, slots=True, kw_only=True)
class CircularBias:
    """The bias of a run that a machine has made beside the mean bias of the other runs.

    Attributes
    ----------
    measure, run : str
    excess : float
        Its bias beyond the mean of the others'.
    bias, others : float or None
        Its own, and that mean; None where the sample tells differences alone.
    is_sure : bool
        Whether the bias of every difference of the run to another surely is in its favour.
    """

    measure: str
    run: str
    excess: float
    bias: float | None
    others: float | None
    is_sure: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GraderAudit:
    """All that is to be known of one machine.

    Attributes
    ----------
    grader : str
    rows : list of AuditRow
    orders : list of SystemOrder
        By measure, where systems are compared.
    values : list of ValueRow
        Its values beside people's grades, ascending; missing ones last.
    leniency : Measured
        Mean of its value, on people's scale, less people's grade.
    correlation : Measured
        Of its values with people's grades.
    slope : Measured
        Of people's grade on its value.
    between_queries : Measured
        Share of what its value leaves of people's grades that the items of a query have in common.
    drift : list of Drift
        Where its file names several models or prompts.
    circular : list of Circular
        Where it has made a run of the sample.
    missing, items : int
        Items that count by some measure and have no reply, and all that count.
    cautions : list of Caution
    notes : list of Note
        What its reader found odd.
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
    """Return a number, None where it is not finite."""
    return value if math.isfinite(value) else None
