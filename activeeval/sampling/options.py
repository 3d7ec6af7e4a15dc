"""Options of samples, plans and simulations: questions, goals and methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from activeeval.core.errors import ChoiceError
from activeeval.core.options import option
from activeeval.inputs.options import IntervalFields

QUESTIONS = ("difference", "run", "versus")
WEIGHTS = ("equal", "sum", "minimax")
DEPTHS = ("each", "3", "1", "off")
"""Copy of `activeeval.core.design.histories.LOOKS`, so that ``--help`` need not import it."""
MEASURES_HELP = (
    "DCG, ERR, RBP, P, Success, RR, nDCG, R or AP, as DCG@10; kNDCG(k=5)@10, by comparing two; @FILE: learned gains"
)
QUESTIONS_HELP = "The first run minus the second, the first alone, or the second"
DEFAULT_BUDGETS = ("5%", "10%", "20%")
BUDGET_HELP = "Judgments (200), or a share of judging everything (10%)"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFields:
    """Options of the questions of a sample."""

    measures: Sequence[Any] = option(("DCG",), f"{MEASURES_HELP}; repeatable.", is_many=True)
    questions: Sequence[str] = option(
        (), f"{QUESTIONS_HELP}; repeatable. Default: the difference of two.", is_many=True, choices=QUESTIONS
    )
    weights: str = option(
        "equal",
        "Balance of several questions: equal loss of precision, least total variance, or least maximum loss.",
        choices=WEIGHTS,
    )
    adaptive_depth: str | None = option(
        None,
        "Labels of a query decide how deep it is judged; re-plan after each label, after the first, third and last "
        "ranked item (3), after the last (1), or never (off). Default for nDCG: 3, in campaigns each, for one ranking "
        "without a grade model off.",
        choices=DEPTHS,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalFields(QuestionFields):
    """Options of the questions of a sample, and of a goal in place of a budget."""

    half_width: Any = option(
        (),
        "Budget whose intervals are expected to be ± E, or ± E for a segment of `segments` (mobile=0.05), "
        "simultaneously; repeatable.",
        "named number",
        is_many=True,
        metavar="[NAME=]E",
    )
    difference: float | None = option(
        None, "Budget that should detect a difference of D, with `power`.", "positive", metavar="D"
    )
    power: float = option(0.8, "Probability that the interval excludes 0.", "share")
    segments: Any = option(None, "For half-widths of segments: a table of query_id and segment.", "file")

    @property
    def whole_half_width(self) -> float | None:
        """Half-width to reach for all queries; None if not set."""
        return halves_of(self.half_width)[0]

    @property
    def segment_half_widths(self) -> list[tuple[str, float]]:
        """Pairs of segment and half-width to reach."""
        return halves_of(self.half_width)[1]


def halves_of(half_width: Any) -> tuple[float | None, list[tuple[str, float]]]:
    """Split half-widths into the one for all queries (None if not set) and those of segments.

    Parameters
    ----------
    half_width : float, mapping of segment to float, or sequence of (segment, float)
        The segment None means all queries.

    Raises
    ------
    ChoiceError
        If a sequence has all queries twice.

    Examples
    --------
    >>> halves_of(0.1), halves_of({"mobile": 0.05, None: 0.1})
    ((0.1, []), (0.1, [('mobile', 0.05)]))
    """
    if half_width is None:
        return None, []
    if not isinstance(half_width, (Mapping, tuple, list)):
        return half_width, []
    pairs = list(half_width.items() if isinstance(half_width, Mapping) else half_width)
    whole = [half for name, half in pairs if name is None]
    if len(whole) > 1:
        raise ChoiceError("`half_width` for all queries is given twice", field="half_width")
    return (whole[0] if whole else None), [(name, half) for name, half in pairs if name is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFields(GoalFields):
    """Options of the questions of a sample, and of how it is drawn."""

    method: str | None = option(
        None, "Sampling method, see docs/choose.md. Default: the best that is robust against a bad model."
    )
    expected: bool = option(False, "Draws with replacement meet the budget on average instead of as a limit.", "flag")
    budget: Any = option(None, f"{BUDGET_HELP}, at most. Or:", "budget")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFields(GoalFields, IntervalFields):
    """Options of a plan."""

    methods: Sequence[str] = option(
        (), "Methods besides passive and the default; repeatable; `all`: all that are possible.", is_many=True
    )
    budget: Sequence[Any] = option(
        (), f"{BUDGET_HELP}, or with a price money (400EUR); repeatable.", "budget", is_many=True
    )
    pilots: Sequence[str] = option(
        (), "A judged sample of this pool, which rescales the forecast. Repeatable.", is_many=True, metavar="SAMPLE"
    )
    sheets: Sequence[str] = option((), "Judgments of the pilots; repeatable.", "file", is_many=True)
    ask_price: float | None = option(
        None,
        "Price of a grader that is not asked yet, relative to a person's: is it worth it?",
        "positive",
        metavar="C",
    )
    ask_skill: float = option(
        0.7, "Assumed correlation of a grader's values with people's grades; `audit` measures it.", "share", metavar="R"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulateFields(QuestionFields):
    """Options of a simulation; its one question is the difference, or the value of a single system."""

    methods: Sequence[str] = option(
        (), "Repeatable; `all` is every method that fits. Default: passive and the best for the measure.", is_many=True
    )
    budgets: Sequence[Any] = option(DEFAULT_BUDGETS, f"{BUDGET_HELP}; repeatable.", "budget", is_many=True)
    repetitions: int = option(2000, "Replays of each method.", "several")
    interval: str = option(
        "t", "Intervals to measure: t or group-sequential (the budgets are its looks).", metavar="KIND"
    )
    expected: bool = option(False, "Draws with replacement meet budgets in expectation, by n* draws.", "flag")
