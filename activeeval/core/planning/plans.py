"""Plans: expected precision of methods for the questions of one sample, the recommended method, and notes."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from activeeval.core.design.levels import quarters
from activeeval.core.design.methods import robust_methods
from activeeval.core.errors import InputError
from activeeval.core.interval_ends import t_quantile
from activeeval.core.measures import SampledMeasure, Target
from activeeval.core.planning.forecasts import Forecast, LevelSpending
from activeeval.core.planning.goals import Goal
from activeeval.core.planning.pilots import PilotRatios
from activeeval.core.planning.prospects import Prospect
from activeeval.core.results import Note, Told, rounded_up

_HARDLY = 1.02
_FEW = 30
_MUCH = 1.5
"""Ratio of the half-width for the population to that for the pool from which both are reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRow:
    """Expected precision of a method at a budget.

    Attributes
    ----------
    prospect : Prospect
    least_variance : float
        Least variance for the pool over all inclusion probabilities at this budget; NaN with adaptive depth, for which
        no such bound is known.
    goal : Goal or None
        The goal that the budget should reach.
    """

    prospect: Prospect
    least_variance: float
    goal: Goal | None = None

    def limit(self, confidence: float = 0.95) -> float:
        """Compute the half-width of a normal interval with the least variance, at most `widest`; NaN if unknown."""
        half = float(t_quantile(confidence, math.inf)) * math.sqrt(self.least_variance)
        return min(half, self.prospect.widest) if math.isfinite(half) else half


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuestionPlan:
    """A question with the forecasts of several methods.

    Attributes
    ----------
    question : {"difference", "run", "versus"}
        The kind: difference of two rankings, value of the first, or value of the one it is compared with.
    target : Target
    forecasts : mapping of str to Forecast
        Expected precision by budget, by name of the method; "passive" first.
    rows : tuple of PlannedRow
        Expected precision of each method at each budget, by method, then by budget.
    goals : tuple of Goal
        The requested goals.
    best : str
        Recommended method: among methods that are robust to a bad model, the one with the smallest budget or
        half-width.
    lesson : PilotRatios or None
        Variance ratios observed in pilots.
    systems : tuple of str
        If there are several systems: the one in question, and the one it is compared with; else empty.
    name : str
        Name of the question in messages.
    names : tuple of str
        Names in messages of the ranking in question and of the one it is compared with.
    """

    question: str
    target: Target
    forecasts: Mapping[str, Forecast]
    rows: tuple[PlannedRow, ...]
    goals: tuple[Goal, ...]
    best: str
    lesson: PilotRatios | None = None
    systems: tuple[str, ...] = ()
    name: str = ""
    names: tuple[str, ...] = ()

    @property
    def chosen(self) -> tuple[PlannedRow, ...]:
        """Rows of the recommended method at the budgets of the goals; without goals, the one at the largest budget."""
        rows = self.rows_of({self.best})
        return tuple(row for row in rows if row.goal is not None) or (rows[-1],)

    def rows_of(self, methods: Collection[str]) -> tuple[PlannedRow, ...]:
        """Return the rows of some methods, given by name."""
        return tuple(row for row in self.rows if row.prospect.method in methods)

    def passive_budget(self, row: PlannedRow, confidence: float, scope: str = "pool") -> float | None:
        """Compute the budget with which method passive (random queries, judged whole) has the half-width of a row.

        It is in mean items (the mean item costs 1); None if passive must judge everything, or the row has no finite
        positive half-width.
        """
        passive, wanted = self.forecasts["passive"], row.prospect.half_width(scope, confidence)
        if wanted == 0 or not math.isfinite(wanted):
            return None
        needed = Goal(half_width=wanted, confidence=confidence, scope=scope).budget(passive)
        return None if needed is None or needed >= passive.cost else needed

    def power(self, prospect: Prospect) -> tuple[float, float | None, float | None] | None:
        """Compute the power to detect the goal's difference, and the low and high end of its range.

        Returns None if no goal is a difference. The ends are None if the model has not been checked against labels.
        """
        for goal in self.goals:
            if goal.difference is not None:
                test = (goal.difference, goal.scope, goal.confidence)
                low, high = (None, None) if prospect.is_guess else prospect.powers(*test)
                return prospect.power(*test), low, high
        return None

    def floor(self, confidence: float) -> float:
        """Compute the half-width for the population that remains after everything is judged."""
        return self.forecasts[self.best].all_judged.half_width("population", confidence)

    def notes(self, confidence: float = 0.95) -> list[Note]:
        """Build notes about pilots (judged samples) and, without adaptive depth, the least half-width by any items."""
        taught = [] if self.lesson is None else [_taught(self.lesson, self.forecasts[self.best])]
        is_followed = self.forecasts[self.best].is_followed
        return taught if is_followed else [*taught, self._limits(self.chosen[0], confidence)]

    def _limits(self, row: PlannedRow, confidence: float) -> Note:
        """Build the note about the least half-width that any choice of items could reach at the budget of a row.

        It has the share of variance that predictions explain, the share between queries, and the limit without
        overhead.
        """
        forecast, budget = self.forecasts[self.best], row.prospect.budget
        numbers: dict[str, Told] = {
            "budget": rounded_up(budget),
            "limit": row.limit(confidence),
            "explained": forecast.values.explained,
            "between": None,
            "free": None,
        }
        spending = forecast.spending
        if isinstance(spending, LevelSpending) and row.prospect.of_pool > 0:
            numbers["between"] = spending.plan.between(budget)
            if self.target.pool.query_costs.any():
                free = forecast.taught_scale.value * spending.plan.without_overhead().least(budget)
                numbers["free"] = replace(row, least_variance=free).limit(confidence)
        return Note("limits", numbers)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SamplePlan:
    """Plan of one sample for all its questions; draws with replacement use a separate sample for each question.

    Attributes
    ----------
    questions : tuple of QuestionPlan
        All with the same recommended method and budgets.
    """

    questions: tuple[QuestionPlan, ...]

    @property
    def best(self) -> str:
        """The recommended method."""
        return self.questions[0].best

    @property
    def hardest(self) -> tuple[QuestionPlan, ...]:
        """For each measure and kind of question, the plan with the largest expected half-width."""
        kinds: dict[tuple[str, str], list[QuestionPlan]] = {}
        for plan in self.questions:
            kinds.setdefault((plan.target.name, plan.question), []).append(plan)
        return tuple(max(plans, key=lambda plan: plan.chosen[0].prospect.half_width()) for plans in kinds.values())

    def headlines(self, confidence: float = 0.95, seconds: float | None = None, scope: str = "pool") -> list[Note]:
        """Build notes with the recommended budget, and with wider intervals for the population if they differ much.

        Parameters
        ----------
        confidence : float
            Confidence of the intervals.
        seconds : float, optional
            Duration of judging a mean item; without it no hours are reported.
        scope : {"pool", "population"}
            The queries that intervals are for: those of the pool, or all that these are a sample of.
        """
        notes = [self._advice(which, confidence, seconds, scope) for which in range(len(self.questions[0].chosen))]
        return [*notes, *self._unknown(), *self._scopes(confidence, scope)]

    def _unknown(self) -> list[Note]:
        """Note the budget at which half-widths are known (adaptive depth: None), if no label has checked the model."""
        plan = self.questions[0]
        budget, forecast = max(row.prospect.budget for row in plan.chosen), plan.forecasts[self.best]
        if not any(row.prospect.is_guess and row.prospect.of_pool > 0 for row in plan.chosen):
            return []
        first_block = None if forecast.is_followed else min([*quarters(budget, forecast.least), budget])
        unit = plan.target.pool.cost_unit
        return [Note("width unknown", {"n": None if first_block is None else rounded_up(first_block), "unit": unit})]

    def _advice(self, which: int, confidence: float, seconds: float | None, scope: str) -> Note:
        """Build the note with the recommended method and budget, for row ``which`` of each question's chosen rows.

        ``seconds`` is the duration of judging a mean item, None if unknown; intervals have level ``confidence`` and
        ``scope`` "pool" or "population".
        """
        plans, rows = self.questions, [plan.chosen[which] for plan in self.questions]
        prospect, goal, pool = rows[0].prospect, rows[0].goal, plans[0].target.pool
        forecasts = [plan.forecasts[self.best] for plan in plans]
        halves = [row.prospect.known_half_widths(scope, confidence) for row in rows]
        passive = [plan.passive_budget(row, confidence, scope) for plan, row in zip(plans, rows, strict=True)]
        needed = None if None in passive else max(budget for budget in passive if budget is not None)
        bounds = [] if goal is None else [goal.budgets(forecast) for forecast in forecasts]
        numbers: dict[str, Told] = {
            "names": tuple(plan.name for plan in plans),
            "budget": rounded_up(prospect.budget),
            "unit": pool.cost_unit,
            "everything": int(prospect.budget >= forecasts[0].cost * (1 - 1e-9)),
            "hours": None if seconds is None else prospect.budget * seconds / 3600,
            "method": self.best,
            "n_queries": rounded_up(prospect.queries),
            "few": min(_FEW, pool.n_queries),
            "of": pool.n_queries,
            "half_widths": tuple(row.prospect.half_width(scope, confidence) for row in rows),
            "lows": tuple(low for low, _ in halves),
            "highs": tuple(high for _, high in halves),
            "goal": None if goal is None else str(goal),
            "least": max((least for least, _ in bounds if least is not None), default=None),
            "most": max((most for _, most in bounds if most is not None), default=None),
            "passive": needed,
            "times": None if needed is None else needed / prospect.budget,
        }
        if not all(math.isfinite(row.prospect.half_width(scope, confidence)) for row in rows):
            return Note("no interval to expect", numbers)
        return Note("budget to take", numbers)

    def _scopes(self, confidence: float, scope: str) -> list[Note]:
        """Build the note about the population's error, if it is unknown, asked for or much larger than the pool's."""
        floors = [plan.floor(confidence) for plan in self.questions]
        if not all(map(math.isfinite, floors)):
            return [Note("population unknown")]
        prospects = [plan.chosen[0].prospect for plan in self.questions]
        wider = [p.half_width("population", confidence) > _MUCH * p.half_width("pool", confidence) for p in prospects]
        if scope == "pool" and not any(wider):
            return []
        numbers: dict[str, Told] = {
            "names": tuple(plan.name for plan in self.questions),
            "half_widths": tuple(floors),
            "n_queries": self.questions[0].target.pool.n_queries,
        }
        return [Note("population floor", numbers)]

    def notes(self, confidence: float = 0.95) -> list[tuple[str, Note]]:
        """Build further notes about the hardest questions, each with the name of its question."""
        return [(plan.name, note) for plan in self.hardest for note in plan.notes(confidence)]


def _taught(lesson: PilotRatios, forecast: Forecast) -> Note:
    """Build the note about the ratio of actual to expected variances in pilots (judged samples), and its effect."""
    ratio = lesson.of_residuals
    low, high = ratio.bounds
    numbers: dict[str, Told] = {
        "ratio": ratio.value,
        "low": low,
        "high": high,
        "factor": math.sqrt(forecast.taught_scale.value / forecast.scale.value),
        "may_be_chance": int(ratio.may_be_chance),
    }
    return Note("pilots", numbers)


def planned_rows(
    forecasts: Mapping[str, Forecast],
    budgets: Mapping[str, Sequence[float]],
    needed: Mapping[Goal, Mapping[str, float | None]],
) -> tuple[PlannedRow, ...]:
    """Compute the rows of a question by method, then budget, with the least variance there (NaN: adaptive depth).

    Parameters
    ----------
    forecasts : mapping of str to Forecast
        By method, passive first.
    budgets : mapping of str to sequence of float
        Budgets of each method, in mean items (the mean item costs 1).
    needed : mapping of Goal to mapping of str to float or None
        Budget that reaches each goal, by method; None if out of reach. Each adds a row.
    """
    rows = []
    for name, forecast in forecasts.items():
        amounts = [(amount, None) for amount in set(budgets[name])]
        wanted = [(amount, goal) for goal, budget_of in needed.items() if (amount := budget_of[name]) is not None]
        for amount, goal in sorted([*amounts, *wanted], key=lambda pair: pair[0]):
            prospect = forecast.at(amount)
            least = min(prospect.of_pool, *(rival.least_variance(amount) for rival in forecasts.values()))
            least = math.nan if any(rival.is_followed for rival in forecasts.values()) else least
            rows.append(PlannedRow(prospect=prospect, least_variance=least, goal=goal))
    return tuple(rows)


def needed_for(
    goal: Goal, forecasts: Sequence[Mapping[str, Forecast]], default: str, names: Sequence[str]
) -> dict[str, float | None]:
    """Compute the budget of each method at which several questions all reach a goal; None if out of reach.

    Parameters
    ----------
    forecasts : sequence of mapping of str to Forecast
        For each question, the forecasts by method.
    default : str
        Method whose precision the error describes.
    names : sequence of str
        Names of the questions in messages.

    Raises
    ------
    InputError
        If no method reaches the goal.
    """
    needed: dict[str, float | None] = {}
    for method in forecasts[0]:
        budgets = [goal.budget(forecast_of[method]) for forecast_of in forecasts]
        needed[method] = None if None in budgets else max(budget for budget in budgets if budget is not None)
    if all(budget is None for budget in needed.values()):
        lost = [goal.budget(forecast_of[default]) is None for forecast_of in forecasts].index(True)
        raise InputError(f"{names[lost]}: {_out_of_reach(goal, forecasts[lost][default])}")
    return needed


def best_method(rows: Sequence[Sequence[PlannedRow]], measures: Sequence[SampledMeasure], default: str) -> str:
    """Choose the method with the smallest budget for the first goal, or the smallest half-width at the largest budget.

    The default is kept unless another is better by more than 2 %. Half-widths of several questions are compared by
    their geometric mean.

    Parameters
    ----------
    rows : sequence of sequence of PlannedRow
        Rows of each question.
    measures : sequence of SampledMeasure
        Only methods that suit all of these and are robust to a bad grade model are considered.
    default : str
        The default method.
    """
    robust = robust_methods(*measures)
    of_questions = [[row for row in question if row.prospect.method in robust] for question in rows]
    candidates = of_questions[0]  # the budget for a goal is the same for all questions
    first = next((row.goal for row in candidates if row.goal is not None), None)
    if first is not None:
        merit = {row.prospect.method: row.prospect.budget for row in candidates if row.goal == first}
    else:
        last = max(row.prospect.budget for row in candidates)
        halves: dict[str, list[float]] = {}
        for row in (row for question in of_questions for row in question if row.prospect.budget == last):
            halves.setdefault(row.prospect.method, []).append(row.prospect.half_width())
        merit = {name: math.prod(widths) ** (1 / len(widths)) for name, widths in halves.items()}
    return min(merit, key=lambda name: (merit[name] * (1.0 if name == default else _HARDLY), name))


def _out_of_reach(goal: Goal, forecast: Forecast) -> str:
    """Describe in a sentence that no budget in the pool reaches a goal, and how many queries would."""
    text = f"no budget in this pool reaches {goal}: {goal.reachable(forecast)}"
    if goal.scope == "population":
        text += f"; about {goal.queries_needed(forecast):,.0f} queries like these, all of them judged, should reach it"
    return text
