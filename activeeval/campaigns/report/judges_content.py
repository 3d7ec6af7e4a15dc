"""Values of a campaign's report on judges: cost, calibration of the grade model, agreement; and the next step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from activeeval.core.judgments import Coefficient
    from activeeval.core.judgments.wilson_intervals import Share

StepKind = Literal["judge", "wait", "top up", "draw", "stop", "done"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeActivity:
    """Counts and times of a judge's answers.

    Attributes
    ----------
    judge : str
    judged, cannot : int
        Valid answers.
    changed, later, late : int
        Answers replaced since, items deferred, and answers that came too late to count.
    timed : int
        Answers with a time.
    seconds_median, seconds_mean : float or None
        Of the timed answers.
    hours : float or None
        Total time of all answers.
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
    """Number of a judge's answers on a day (UTC)."""

    day: str
    judge: str
    answers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Seconds:
    """Number, median and mean of the times of answers, in seconds."""

    timed: int
    seconds_median: float | None
    seconds_mean: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedSeconds:
    """Coefficients of judging time fitted to judges' clocks, in seconds, with standard errors.

    Attributes
    ----------
    items : int
        Number of judgments in the fit.
    item, length, grade, query : float or None
        For an item, each thousand characters of its text, each grade above 0, and the first item of a query.
    item_std_error, length_std_error, grade_std_error, query_std_error : float or None
        None for coefficients fixed at their prior or at 0.
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
    """Judging effort: by judge, by day, in total, and as a fitted model if judgments were timed."""

    judges: list[JudgeActivity]
    days: list[DailyAnswers]
    all: Seconds
    model: FittedSeconds | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationBin:
    """Expected and given grades of some items, each weighted by 1 / its inclusion probability.

    Attributes
    ----------
    expected, observed : float
        Mean grades.
    lowest, highest : float
        Range of the items' expected grades.
    gap : float
        Observed minus expected.
    std_error, gap_std_error, p_value : float or None
        Of the observed mean and of the gap; None if unknown.
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
    """Calibration of the grade model of a round (one sample of a campaign).

    Attributes
    ----------
    round : int
        From 1.
    bins : list of CalibrationBin
        Judged items by expected grade.
    all : CalibrationBin
        All judged items.
    is_off : bool or None
        True if the model's expectations differ significantly; None if no bin could be tested.
    p_value : float or None
        For all tests together (Bonferroni).
    worst : "all", int or None
        Test with the smallest p-value: over all items, or the bin with this index.
    """

    round: int
    bins: list[CalibrationBin]
    all: CalibrationBin
    is_off: bool | None
    p_value: float | None
    worst: str | int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GradesByJudge:
    """Number of times that a judge gave each grade, in the order of `JudgeAgreement.grades`."""

    judge: str
    counts: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgePair:
    """Agreement of two judges on the items that both graded.

    Attributes
    ----------
    judges : list of str
        The two names.
    table : list of list of int
        Confusion matrix: rows are the first judge's grades, columns the second's.
    n : int
        Number of items.
    kappa : Coefficient or None
        Quadratically weighted kappa; None if unknown.
    difference : Coefficient or None
        Mean of the first judge's grades minus the second's; None if unknown.
    """

    judges: list[str]
    table: list[list[int]]
    n: int
    kappa: Coefficient | None
    difference: Coefficient | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAgreement:
    """Grades by judge; if no item has two grades, ``alpha`` is None and there are no pairs.

    Attributes
    ----------
    grades : list of int
        All grades of the scale, in ascending order.
    histogram : list of GradesByJudge
    n_items : int
        Items that several judges graded.
    confidence : float
        Of the coefficients' intervals.
    alpha : Coefficient or None
        Krippendorff's alpha, ordinal.
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
    """Agreement of judges on items that several of them graded.

    Attributes
    ----------
    n_queries : int
        Queries of these items.
    n_alike : int
        Items with the same grade from all judges.
    common_grade : int
        The most frequent grade of these items.
    ac1 : Coefficient
        Gwet's AC1.
    """

    alpha: Coefficient
    n_queries: int
    n_alike: int
    common_grade: int
    ac1: Coefficient


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedByJudge:
    """Items that a judge skipped (deferred or could not judge), with a test for skipping relevant ones.

    Attributes
    ----------
    judge : str
    later, cannot : int
        Number of deferrals, and of items that the judge could not judge.
    n_relevant, n_other, skipped_relevant, skipped_other : int
        Relevant items (grade above 0) and others that the judge was shown, and those of them that were skipped.
    p_value : float
        Of the null hypothesis that relevant items are not skipped more often than others.
    is_named : bool
        True if relevant items are skipped significantly more often.
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
    """Number of times that a judge gave a reason for a deferred item or one that cannot be judged."""

    judge: str
    kind: str
    reason: str
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedItems:
    """Items that judges skipped, and their reasons."""

    judges: list[SkippedByJudge]
    reasons: list[SkippingReason]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingScore:
    """Share of training items to which a judge gave the known grade."""

    judge: str
    share: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlScore:
    """Share of controls (items with an expected answer, mixed among the others) that a judge answered as expected.

    Attributes
    ----------
    judge : str
    what : {"known", "repeated", "swapped"}
        Items with a known grade, items that the judge had graded before, or pairs that the judge had compared before
        with sides swapped.
    share : Share
        Of the answered controls.
    n_skipped : int
        Controls deferred or declared impossible to judge.
    """

    judge: str
    what: str
    share: Share
    n_skipped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeChecks:
    """Judges' answers to items with an expected answer: training items, and controls mixed among a judge's other items.

    None counts as a judgment.
    """

    training: list[TrainingScore]
    controls: list[ControlScore]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Recommended next step.

    Attributes
    ----------
    kind : {"judge", "wait", "top up", "draw", "stop", "done"}
        Judge the waiting items; wait for items that judges hold; add to the sample; draw a new sample, if this one
        cannot be extended; stop, as the requested half-width is reached; or nothing, as all items are judged.
    budget : float or None
        Additional budget, in mean items, that should decide the open questions; None if the step needs none.
    """

    kind: StepKind
    budget: float | None = None
