"""Plans: what methods should reach for the questions of one sample, which one to take, and what that means."""

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
"""How many times as wide as for the pool an interval for all queries is, where both are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRow:
    """What to expect of a method at a budget.

    Attributes
    ----------
    prospect : Prospect
    least_variance : float
        The least variance for the pool that any probabilities of being judged leave at this budget; NaN where depths
        follow labels, of which no such bound is known.
    goal : Goal or None
        What the budget should reach.
    """

    prospect: Prospect
    least_variance: float
    goal: Goal | None = None

    def limit(self, confidence: float = 0.95) -> float:
        """Compute the half-width of a normal interval with the least variance, inside the measure."""
        half = float(t_quantile(confidence, math.inf)) * math.sqrt(self.least_variance)
        return min(half, self.prospect.widest) if math.isfinite(half) else half


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuestionPlan:
    """A question with the forecasts of methods for it.

    Attributes
    ----------
    question : {"difference", "run", "versus"}
    target : Target
    forecasts : mapping of str to Forecast
        By method, passive first.
    rows : tuple of PlannedRow
        By method, then by budget.
    goals : tuple of Goal
        What was asked for.
    best : str
        The method to take: of those that a bad model cannot spoil the one that needs, or errs, least.
    lesson : Lesson or None
        What pilots have taught.
    systems : tuple of str
        Of several the one that is asked of, and the one it is compared with; else empty.
    name : str
        What messages call it.
    names : tuple of str
        The ranking that is asked of, and the one it is compared with, as messages call them.
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
        """The rows of the method to take at the goals' budgets, or at the largest one."""
        rows = self.rows_of({self.best})
        return tuple(row for row in rows if row.goal is not None) or (rows[-1],)

    def rows_of(self, methods: Collection[str]) -> tuple[PlannedRow, ...]:
        """Return the rows of some methods."""
        return tuple(row for row in self.rows if row.prospect.method in methods)

    def passive_budget(self, row: PlannedRow, confidence: float, scope: str = "pool") -> float | None:
        """Return what passive should need for the half-width of a row; None where that is everything."""
        passive, wanted = self.forecasts["passive"], row.prospect.half_width(scope, confidence)
        if wanted == 0 or not math.isfinite(wanted):
            return None
        needed = Goal(half_width=wanted, confidence=confidence, scope=scope).budget(passive)
        return None if needed is None or needed >= passive.cost else needed

    def power(self, prospect: Prospect) -> tuple[float, float | None, float | None] | None:
        """Compute the power for the difference that is to be detected and its range; None where there is no such one.

        The range is (None, None) where no label has been held against the model.
        """
        for goal in self.goals:
            if goal.difference is not None:
                asked = (goal.difference, goal.scope, goal.confidence)
                low, high = (None, None) if prospect.is_guess else prospect.powers(*asked)
                return prospect.power(*asked), low, high
        return None

    def floor(self, confidence: float) -> float:
        """Return the half-width for the population that remains once everything is judged."""
        return self.forecasts[self.best].all_judged.half_width("population", confidence)

    def notes(self, confidence: float = 0.95) -> list[Note]:
        """Return what limits it: what pilots have taught, and the best that any choice of items would come to."""
        taught = [] if self.lesson is None else [_taught(self.lesson, self.forecasts[self.best])]
        is_followed = self.forecasts[self.best].is_followed
        return taught if is_followed else [*taught, self._limits(self.chosen[0], confidence)]

    def _limits(self, row: PlannedRow, confidence: float) -> Note:
        forecast, budget = self.forecasts[self.best], row.prospect.budget
        numbers: dict[str, Told] = {
            "budget": rounded_up(budget),
            "limit": row.limit(confidence),
            "explained": forecast.values.explained,
            "between": None,
            "free": None,
        }
        way = forecast.way
        if isinstance(way, LevelSpending) and row.prospect.of_pool > 0:
            numbers["between"] = way.plan.between(budget)
            if self.target.pool.query_costs.any():
                free = forecast.taught_scale.value * way.plan.without_overhead().least(budget)
                numbers["free"] = replace(row, least_variance=free).limit(confidence)
        return Note("limits", numbers)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SamplePlan:
    """What one sample should come to for each of its questions; draws with replacement are of their own.

    Attributes
    ----------
    questions : tuple of QuestionPlan
        All of one method to take, at the same budgets.
    """

    questions: tuple[QuestionPlan, ...]

    @property
    def best(self) -> str:
        """The method to take."""
        return self.questions[0].best

    @property
    def hardest(self) -> tuple[QuestionPlan, ...]:
        """Of each measure and kind of question the one whose interval is to be the widest."""
        kinds: dict[tuple[str, str], list[QuestionPlan]] = {}
        for plan in self.questions:
            kinds.setdefault((plan.target.name, plan.question), []).append(plan)
        return tuple(max(alike, key=lambda plan: plan.chosen[0].prospect.half_width()) for alike in kinds.values())

    def headlines(self, confidence: float = 0.95, seconds: float | None = None, scope: str = "pool") -> list[Note]:
        """Return what to do, and how much wider intervals for all queries are where that differs much.

        Parameters
        ----------
        seconds : float, optional
            What judging a mean item takes.
        scope : {"pool", "population"}
            What the intervals are about.
        """
        notes = [self._advice(which, confidence, seconds, scope) for which in range(len(self.questions[0].chosen))]
        return [*notes, *self._unknown(), *self._scopes(confidence, scope)]

    def _unknown(self) -> list[Note]:
        """Say when it is known how wide intervals get, where no label tells it beforehand."""
        plan = self.questions[0]
        budget, forecast = max(row.prospect.budget for row in plan.chosen), plan.forecasts[self.best]
        if not any(row.prospect.is_guess and row.prospect.of_pool > 0 for row in plan.chosen):
            return []
        first = None if forecast.is_followed else min([*quarters(budget, forecast.least), budget])
        unit = plan.target.pool.cost_unit
        return [Note("width unknown", {"n": None if first is None else rounded_up(first), "unit": unit})]

    def _advice(self, which: int, confidence: float, seconds: float | None, scope: str) -> Note:
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
        """Return what the choice of the queries leaves, where that is much more than the sample does."""
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
        """Return what else the rows of the hardest questions mean, with the name of each."""
        return [(plan.name, note) for plan in self.hardest for note in plan.notes(confidence)]


def _taught(lesson: PilotRatios, forecast: Forecast) -> Note:
    """Return what pilots have taught."""
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
    """Return what to expect of methods for a question, by method and budget.

    Parameters
    ----------
    forecasts : mapping of str to Forecast
        By method, passive first.
    budgets : mapping of str to sequence of float
        Where each method is shown, in mean items.
    needed : mapping of Goal to mapping of str to float or None
        What reaches each goal, by method, where that is to be shown too.
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
    """Return the budget of each method at which all of several questions reach a goal; None where none does.

    ``names`` are what messages call the questions.

    Raises
    ------
    InputError
        Where no method gets there.
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
    """Return the method that needs least for the first goal, or errs least at the largest budget, over all questions.

    The default where it is hardly worse. Errors of several questions are compared by their geometric mean.

    Parameters
    ----------
    rows : sequence of sequence of PlannedRow
        Of each question.
    """
    robust = robust_methods(*measures)
    of_questions = [[row for row in each if row.prospect.method in robust] for each in rows]
    candidates = of_questions[0]
    first = next((row.goal for row in candidates if row.goal is not None), None)
    if first is not None:
        merit = {row.prospect.method: row.prospect.budget for row in candidates if row.goal == first}
    else:
        last = max(row.prospect.budget for row in candidates)
        halves: dict[str, list[float]] = {}
        for row in (row for each in of_questions for row in each if row.prospect.budget == last):
            halves.setdefault(row.prospect.method, []).append(row.prospect.half_width())
        merit = {name: math.prod(each) ** (1 / len(each)) for name, each in halves.items()}
    return min(merit, key=lambda name: (merit[name] * (1.0 if name == default else _HARDLY), name))


def _out_of_reach(goal: Goal, forecast: Forecast) -> str:
    text = f"no budget in this pool reaches {goal}: {goal.reachable(forecast)}"
    if goal.scope == "population":
        text += f"; about {goal.queries_needed(forecast):,.0f} queries like these, all of them judged, should reach it"
    return text
