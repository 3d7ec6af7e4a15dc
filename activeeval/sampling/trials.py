"""Methods simulated on a case with known labels, the budgets sufficient for all of them, and their replays.

A replay, or repetition, draws a sample and reads its labels from the known ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from activeeval.core.design import Design
from activeeval.core.design.methods import METHODS, default_method, fitting_methods
from activeeval.core.errors import BudgetError, InputError
from activeeval.core.measures import Target
from activeeval.core.simulation import SimultaneousResults, Summary, simulate as simulated
from activeeval.inputs.budgets import Budget, check_open
from activeeval.inputs.prepared_case import PreparedCase
from activeeval.inputs.systems import QuestionTarget, direction
from activeeval.report.answer_sentences import short_name
from activeeval.report.rendering import Cell
from activeeval.sampling.adaptive_depth import adaptive_depth_in
from activeeval.sampling.contests import Contest
from activeeval.sampling.simulation_tables import at_once_sentence, brief_rows, simulation_sentence

_SHORT = 16
"""Largest length of a system's name, so that two names and the numbers fit in a table."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasureTrials:
    """Simulated results of methods by one measure.

    Attributes
    ----------
    measure, definition : str
        Display name, and full definition.
    system, versus : str
        For one or two systems: the system of the question, and the one subtracted, "" if none.
    summaries : tuple of Summary
        For one or two systems: results of each method and budget.
    contrasts : tuple of (QuestionTarget, list of Summary)
        For more than two systems: results of each difference.
    at_once : tuple of SimultaneousResults
        Simultaneous results of all differences.
    """

    measure: str
    definition: str
    system: str = ""
    versus: str = ""
    summaries: tuple[Summary, ...] = ()
    contrasts: tuple[tuple[QuestionTarget, list[Summary]], ...] = ()
    at_once: tuple[SimultaneousResults, ...] = ()

    def rows(self) -> list[dict[str, Cell]]:
        """Build a row for each method and budget, of each difference, and of all differences together."""
        named: dict[str, Cell] = {"measure": self.measure}
        of_one: dict[str, Cell] = {"definition": self.definition, "system": self.system}
        of_one |= {"versus": self.versus} if self.versus else {}
        rows = [named | summary.row() | of_one for summary in self.summaries]
        for question, summaries in self.contrasts:
            of = named | {
                "definition": self.definition,
                "question": question.question,
                "system": question.system,
                "versus": question.versus,
            }
            rows += [of | summary.row() for summary in summaries]
        return rows + [{**named, "question": "at once", **together.row()} for together in self.at_once]

    def sentence(self, unit: str) -> str:
        """Write a sentence on the best method at the largest budget; ``unit`` is that of budgets.

        With several systems (`at_once`: summaries of all their differences together) it is on all differences.
        """
        if self.at_once:
            return at_once_sentence(self.measure, self.at_once, unit)
        return simulation_sentence(self.measure, direction(self.system, self.versus), self.summaries, unit)

    def table(self, rows_of: Callable[[Sequence[Summary]], list[dict[str, str]]] = brief_rows) -> list[dict[str, str]]:
        """Format rows for reading by ``rows_of``; with several systems each row names its difference."""
        rows = rows_of(self.summaries) if self.summaries else []
        for question, summaries in self.contrasts:
            names = " − ".join(short_name(name, _SHORT) for name in (question.system, question.versus) if name)
            rows += [{"difference": names, **row} for row in rows_of(summaries)]
        return rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """Methods for one measure, ready to be replayed.

    Attributes
    ----------
    targets : tuple of Target
        For several systems, one for each difference.
    designs : dict of str to Design
        All designs that a budget must allow, by name.
    budgets : tuple of float
        Budgets sufficient for all designs, ascending.
    left_out : tuple of (str, BudgetError)
        For each other budget, the design that it is too small for, and the error.
    contest : Contest or None
        For more than two systems: their differences and designs.
    expected : bool
        True if draws with replacement meet budgets on average instead of as a limit.
    """

    case: PreparedCase
    targets: tuple[Target, ...]
    designs: dict[str, Design]
    budgets: tuple[float, ...]
    left_out: tuple[tuple[str, BudgetError], ...]
    contest: Contest | None
    expected: bool

    @property
    def measure(self) -> str:
        """Display name of the measure."""
        return self.targets[0].name

    def check_paid(self) -> None:
        """Raise InputError if no budget is sufficient for all designs."""
        if not self.budgets:
            name, refusal = self.left_out[-1]
            raise InputError(f"{self.measure}, {name}: {refusal}", field="budget")

    def least(self) -> dict[str, Design]:
        """Return each design at the smallest of the sufficient budgets, by name."""
        return {name: _paid(design, self.budgets[0], self.expected) for name, design in self.designs.items()}

    def run(self, advance: Callable[[str], object], *, repetitions: int, interval: str) -> MeasureTrials:
        """Simulate all methods ``repetitions`` times; ``advance`` is called with a text after each method.

        ``interval`` is "t" or "group-sequential"; a method that does not support it keeps its own.
        """
        how: dict[str, Any] = {"rng": self.case.seed, "expected": self.expected}
        definition = str(self.targets[0].measure)
        if self.contest is not None:
            contrasts, at_once = self.contest.simulate(
                self.budgets, repetitions, interval=interval, progress=advance, **how
            )
            return MeasureTrials(
                measure=self.measure, definition=definition, contrasts=tuple(contrasts), at_once=tuple(at_once)
            )
        kinds = {name: design.scheme.interval(interval) for name, design in self.designs.items()}
        how |= {"interval": kinds, "progress": lambda name: advance(f"{self.measure}, {name}")}
        summaries = simulated(self.designs, self.case.inputs.grades, self.budgets, repetitions, **how)
        system, versus = (*self.case.systems, "")[:2]
        return MeasureTrials(
            measure=self.measure, definition=definition, system=system, versus=versus, summaries=tuple(summaries)
        )


def methods_of(case: PreparedCase, measure: str, methods: Sequence[str] = ()) -> list[str]:
    """List the methods to simulate for a measure, first passive: random queries, judged whole, the reference.

    For more than two systems, only methods whose sample serves several questions.

    Parameters
    ----------
    methods : sequence of str
        ``all`` is every method that fits; by default the best one that stays unbiased under a bad grade model.

    Raises
    ------
    InputError
        If none of them draws one sample for several questions.
    """
    measured = case.target(measure).measure
    chosen = fitting_methods(measured) if "all" in methods else methods or (default_method(measured).name,)
    names = list(dict.fromkeys(["passive", *chosen]))
    if not case.is_contest:
        return names
    shared = [name for name in names if METHODS[name].scheme.answers_several]
    if not shared:
        raise InputError(f"method {names[-1]!r} draws with replacement for one question, not one sample for several")
    return shared


def trial_of(
    case: PreparedCase,
    measure: str,
    methods: Sequence[str],
    budgets: Sequence[Budget],
    *,
    expected: bool = False,
    defensive_share: float | None = None,
    weights: str = "equal",
    adaptive_depth: str | None = None,
) -> Trial:
    """Design the samples of methods for a measure, and select the budgets that are sufficient for all of them.

    Parameters
    ----------
    measure : str
        Name of the measure, as "DCG@10".
    methods : sequence of str
        Names of the methods to simulate, from `methods_of`.
    budgets : sequence of Budget
        Numbers of judgments or shares of judging everything.
    expected : bool
        True if draws with replacement meet budgets on average instead of as a limit.
    defensive_share : float, optional
        Share of sampling, from 0 to 1, that ignores the grade model, which bounds the weights.
    weights : {"equal", "sum", "minimax"}
        How to balance several questions.
    adaptive_depth : {"each", "3", "1", "off"}, optional
        When the labels of a query decide how deep it is judged, for methods that judge to a depth; by default that of
        sheets.

    Raises
    ------
    InputError
        If no label can change a target.
    """
    adaptive_depth = adaptive_depth_in(case, METHODS["depth"], [case.target(measure)], adaptive_depth)
    contest = (
        Contest.of(case, measure, methods, defensive_share, weights=weights, adaptive_depth=adaptive_depth)
        if case.is_contest
        else None
    )
    if contest is not None:
        targets, designs = contest.targets, contest.all_designs
    else:
        targets = [case.target(measure)]
        check_open(targets[0])
        designs = {
            name: case.design(name, targets[0], defensive_share, adaptive_depth=adaptive_depth) for name in methods
        }
    paid, left_out = [], []
    by_amount = {budget.of(*targets, known=case.known): budget for budget in budgets}
    for amount in sorted(by_amount):
        try:
            for name, design in designs.items():  # noqa: B007  # the name is that of the design that raises
                _paid(design, amount, expected)
            paid.append(amount)
        except BudgetError as problem:
            left_out.append((name, by_amount[amount].refused(problem, *targets, known=case.known)))
    return Trial(
        case=case,
        targets=tuple(targets),
        designs=designs,
        budgets=tuple(paid),
        left_out=tuple(left_out),
        contest=contest,
        expected=expected,
    )


def _paid(design: Design, amount: float, expected: bool) -> Design:
    """Return a design with a budget (the mean item costs 1); ``expected`` (draws with replacement): met on average.

    Raise BudgetError if the budget is too small.
    """
    return design.with_budget(amount, expected=expected and not design.scheme.can_be_topped_up)
