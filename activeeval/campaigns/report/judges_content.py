"""What judges did in a campaign, as values: parts of its report on cost, the grade model, agreement; what is next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from activeeval.core.judgments import Coefficient
    from activeeval.core.judgments.wilson_intervals import Share

StepKind = Literal["judge", "wait", "top up", "draw", "stop", "done"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeActivity:
    """What a judge did: what counts of the answers, what does not, and how long they took.

    Attributes
    ----------
    judge : str
    judged, cannot : int
        Answers that stand.
    changed, later, late : int
        Answers that others took the place of, items put off, and answers that came too late to count.
    timed : int
        Answers whose time was taken.
    seconds_median, seconds_mean : float or None
        Of these.
    hours : float or None
        Of all that the judge did.
    """

    judge: str
    judged: int
    cannot: int
    changed: int
    later: int
    late: int
    timed: int
    seconds_median: float | None
    seconds_mean: float | None
    hours: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyAnswers:
    """How many answers a judge gave on a day, UTC."""

    day: str
    judge: str
    answers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Seconds:
    """How long items took, where that is known."""

    timed: int
    seconds_median: float | None
    seconds_mean: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedSeconds:
    """The seconds that judgments take, as the judges' clocks tell, with standard errors.

    Attributes
    ----------
    items : int
        Judgments that it was fitted to.
    item, length, grade, query : float or None
        An item, a thousand letters of its text, a grade above 0, the first item of a query.
    item_std_error, length_std_error, grade_std_error, query_std_error : float or None
        None of what was held at its prior, or at 0.
    """

    items: int
    item: float | None
    item_std_error: float | None
    length: float | None
    length_std_error: float | None
    grade: float | None
    grade_std_error: float | None
    query: float | None
    query_std_error: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What judging took: by judge, by day, of all answers together, and fitted where times were taken."""

    judges: list[JudgeActivity]
    days: list[DailyAnswers]
    all: Seconds
    model: FittedSeconds | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationBin:
    """Grades expected and observed of some items, each counted by 1 / its inclusion probability.

    Attributes
    ----------
    expected, observed : float
        Mean grades.
    lowest, highest : float
        Grades that were expected of single items.
    gap : float
        Observed minus expected.
    std_error, gap_std_error, p_value : float or None
        Of the observed mean and of the gap; None where not known.
    items, queries : int
    """

    expected: float
    observed: float
    lowest: float
    highest: float
    gap: float
    std_error: float | None
    gap_std_error: float | None
    p_value: float | None
    items: int
    queries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How far the grade model of a round is right.

    Attributes
    ----------
    round : int
        From 1.
    bins : list of CalibrationBin
    all : CalibrationBin
    is_off : bool or None
        None where nothing could be tested.
    p_value : float or None
        For all tests together.
    worst : "all", int or None
        Where the model is off most clearly: over all items, or in the bin of that position.
    """

    round: int
    bins: list[CalibrationBin]
    all: CalibrationBin
    is_off: bool | None
    p_value: float | None
    worst: str | int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GradesByJudge:
    """How often a judge gave each grade."""

    judge: str
    counts: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgePair:
    """How often one judge gave the row's grade and another the column's, their weighted kappa and mean difference."""

    judges: list[str]
    table: list[list[int]]
    n: int
    kappa: Coefficient | None
    difference: Coefficient | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAgreement:
    """Grades by judge; where no item has two, ``alpha`` is None and there are no pairs.

    Attributes
    ----------
    grades : list of int
    histogram : list of GradesByJudge
    n_items : int
        That several judges graded.
    confidence : float
    alpha : Coefficient or None
        Krippendorff's, ordinal.
    pairs : list of JudgePair
    """

    grades: list[int]
    histogram: list[GradesByJudge]
    n_items: int
    confidence: float
    alpha: Coefficient | None
    pairs: list[JudgePair]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedAgreement(JudgeAgreement):
    """How far judges agree on items that several of them graded.

    Attributes
    ----------
    n_queries : int
        Of these items.
    n_alike : int
        Items to which all gave one grade.
    common_grade : int
        The commonest grade of these items.
    ac1 : Coefficient
        Gwet's.
    """

    alpha: Coefficient
    n_queries: int
    n_alike: int
    common_grade: int
    ac1: Coefficient


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedByJudge:
    """What a judge put off and could not judge, and how many of the relevant and of the other items.

    Attributes
    ----------
    judge : str
    later, cannot : int
    n_relevant, n_other, skipped_relevant, skipped_other : int
    p_value : float
        As `Skipping` has them.
    is_named : bool
        Whether relevant items are skipped more often, beyond chance.
    """

    judge: str
    later: int
    cannot: int
    n_relevant: int
    n_other: int
    skipped_relevant: int
    skipped_other: int
    p_value: float
    is_named: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippingReason:
    """How often a judge gave a reason for an item put off (``later``) or that cannot be judged."""

    judge: str
    kind: str
    reason: str
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedItems:
    """What judges skipped, and why."""

    judges: list[SkippedByJudge]
    reasons: list[SkippingReason]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingScore:
    """How often a judge gave the known grade of the items that he began with."""

    judge: str
    share: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlScore:
    """How often a judge said of controls what was expected.

    Attributes
    ----------
    judge : str
    what : {"known", "repeated", "swapped"}
        Of items whose grades are known, of those that he had graded before, or of pairs that he had compared with sides
        the other way round.
    share : Share
        Of those that he graded.
    n_skipped : int
        Put off, or said to be beyond judging.
    """

    judge: str
    what: str
    share: Share
    n_skipped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeChecks:
    """What judges said where it is known what they should say: before the real items, and among them; none counts."""

    training: list[TrainingScore]
    controls: list[ControlScore]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is to be done next.

    Attributes
    ----------
    kind : {"judge", "wait", "top up", "draw", "stop", "done"}
        Judge what waits; wait for those who have it in hand; add to the sample; draw a new one, where this cannot grow;
        stop, as the half-width that was asked for is reached; or nothing, as all is judged.
    budget : float or None
        How much more should decide what is open.
    """

    kind: StepKind
    budget: float | None = None
