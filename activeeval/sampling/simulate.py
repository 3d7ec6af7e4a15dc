"""Simulating for a case whose labels are known: the methods that fit, the budgets that pay for all, and the replays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Unpack

from activeeval.core.design import Design
from activeeval.core.design.methods import METHODS, default_method, fitting_methods
from activeeval.core.errors import BudgetError, InputError
from activeeval.core.estimation import find_interval
from activeeval.core.measures import Target
from activeeval.core.simulation import AtOnce, Summary, simulate as simulated
from activeeval.inputs.arguments import budget_of, checked, judgments_in, measures_of
from activeeval.inputs.budgets import Budget, check_open
from activeeval.inputs.case import Case, check_fits
from activeeval.inputs.choices import Choices
from activeeval.inputs.systems import Asked, direction
from activeeval.report.findings import definitions, short_name
from activeeval.report.rendering import Cell
from activeeval.sampling.adaptive_depth import adaptive_depth_in
from activeeval.sampling.arguments import LabelledOptions, asked_of, choices_of, frame_kind_of
from activeeval.sampling.asked_case import Progress, ResultOfCase, Say, case_for, unsaid
from activeeval.sampling.contests import Contest
from activeeval.sampling.options import DEFAULT_BUDGETS, SimulateFields
from activeeval.sampling.simulation_tables import LEGEND, at_once_sentence, brief_rows, simulation_sentence

_SHORT = 16
"""Two names of systems leave room for the numbers of a table."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Panel:
    """What the methods came to by one measure.

    Attributes
    ----------
    measure, definition : str
        As it is shown, and in full.
    system, versus : str
        Which system the one question is of, and the one that is taken off.
    summaries : tuple of Summary
        Of one question.
    contrasts : tuple of (Asked, list of Summary)
        Of more than two systems: each of their differences.
    at_once : tuple of AtOnce
        What holds of all differences together.
    """

    measure: str
    definition: str
    system: str = ""
    versus: str = ""
    summaries: tuple[Summary, ...] = ()
    contrasts: tuple[tuple[Asked, list[Summary]], ...] = ()
    at_once: tuple[AtOnce, ...] = ()

    def rows(self) -> list[dict[str, Cell]]:
        """Return a row for each method and budget, of each contrast, and of all at once."""
        named: dict[str, Cell] = {"measure": self.measure}
        of_one: dict[str, Cell] = {"definition": self.definition, "system": self.system}
        of_one |= {"versus": self.versus} if self.versus else {}
        rows = [named | summary.row() | of_one for summary in self.summaries]
        for asked, summaries in self.contrasts:
            of = named | {
                "definition": self.definition,
                "question": asked.question,
                "system": asked.system,
                "versus": asked.versus,
            }
            rows += [of | summary.row() for summary in summaries]
        return rows + [{**named, "question": "at once", **together.row()} for together in self.at_once]

    def sentence(self, unit: str) -> str:
        """Return what the best method comes to at the largest budget; ``unit`` is that of budgets."""
        if self.at_once:
            return at_once_sentence(self.measure, self.at_once, unit)
        return simulation_sentence(self.measure, direction(self.system, self.versus), self.summaries, unit)

    def table(self, rows_of: Callable[[Sequence[Summary]], list[dict[str, str]]] = brief_rows) -> list[dict[str, str]]:
        """Return rows for reading, of several systems each difference by its name."""
        rows = rows_of(self.summaries) if self.summaries else []
        for asked, summaries in self.contrasts:
            names = " − ".join(short_name(name, _SHORT) for name in (asked.system, asked.versus) if name)
            rows += [{"difference": names, **row} for row in rows_of(summaries)]
        return rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """The methods of one measure, ready to be replayed.

    Attributes
    ----------
    targets : tuple of Target
        Of several systems a difference each.
    designs : dict of str to Design
        All that a budget has to pay for, by their names.
    budgets : tuple of float
        Ascending: those that pay for all.
    left_out : tuple of (str, BudgetError)
        By which method, and why, other budgets do not.
    contest : Contest or None
        Of more than two systems.
    """

    case: Case
    targets: tuple[Target, ...]
    designs: dict[str, Design]
    budgets: tuple[float, ...]
    left_out: tuple[tuple[str, BudgetError], ...]
    contest: Contest | None
    expected: bool

    @property
    def measure(self) -> str:
        """Its name."""
        return self.targets[0].name

    def check_paid(self) -> None:
        """Raise InputError where no budget pays for all."""
        if not self.budgets:
            name, refusal = self.left_out[-1]
            raise InputError(f"{self.measure}, {name}: {refusal}", field="budget")

    def least(self) -> dict[str, Design]:
        """Return the design of each method at the smallest budget."""
        return {name: _paid(design, self.budgets[0], self.expected) for name, design in self.designs.items()}

    def run(self, advance: Callable[[str], object], *, repetitions: int, interval: str) -> Panel:
        """Replay all methods; ``advance`` is told of each that is done."""
        how: dict[str, Any] = {"rng": self.case.seed, "expected": self.expected}
        definition = str(self.targets[0].measure)
        if self.contest is not None:
            contrasts, at_once = self.contest.simulate(
                self.budgets, repetitions, interval=interval, progress=advance, **how
            )
            return Panel(
                measure=self.measure, definition=definition, contrasts=tuple(contrasts), at_once=tuple(at_once)
            )
        kinds = {name: design.scheme.interval(interval) for name, design in self.designs.items()}
        how |= {"interval": kinds, "progress": lambda name: advance(f"{self.measure}, {name}")}
        summaries = simulated(self.designs, self.case.inputs.grades, self.budgets, repetitions, **how)
        system, versus = (*self.case.systems, "")[:2]
        return Panel(
            measure=self.measure, definition=definition, system=system, versus=versus, summaries=tuple(summaries)
        )


def methods_of(case: Case, measure: str, methods: Sequence[str] = ()) -> list[str]:
    """Return the names of the methods to replay for a measure, passive first; of several systems those that share.

    Parameters
    ----------
    methods : sequence of str
        ``all`` is every method that fits; none: the best one that a bad grade model cannot spoil.

    Raises
    ------
    InputError
        Where none of them draws one sample for several questions.
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
    case: Case,
    measure: str,
    methods: Sequence[str],
    budgets: Sequence[Budget],
    *,
    expected: bool = False,
    defensive_share: float | None = None,
    weights: str = "equal",
    adaptive_depth: str | None = None,
) -> Trial:
    """Return the methods of a measure with the budgets that pay for every one of them.

    Parameters
    ----------
    adaptive_depth : {"each", "3", "1", "off"}, optional
        When the labels of a query decide how deep it is judged, of methods that judge to depths; as sheets have it
        where they are not said.

    Raises
    ------
    InputError
        Where no label can change a target.
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
            for name, design in designs.items():  # noqa: B007  # of the one that refuses
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
    return design.with_budget(amount, expected=expected and not design.scheme.can_be_topped_up)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Simulation(ResultOfCase):
    """What methods would have saved on labels that there are: `simulate` returns it.

    Attributes
    ----------
    panels : tuple of Panel
        By measure.
    """

    panels: tuple[Panel, ...]

    @property
    def unit(self) -> str:
        """Of budgets."""
        return self.case.inputs.pool.cost_unit

    @property
    def sentences(self) -> list[str]:
        """What the best method comes to, by measure."""
        return [panel.sentence(self.unit) for panel in self.panels if panel.at_once or panel.summaries]

    @property
    def table(self) -> Sequence[Mapping[str, Cell]]:
        """A row for each method and budget."""
        return [{"measure": panel.measure} | row for panel in self.panels for row in panel.table()]

    @property
    def footnotes(self) -> list[str]:
        """What the columns and measures are, and what to know of the pool."""
        defined = definitions((panel.measure, panel.definition) for panel in self.panels)
        return [LEGEND, *defined, *super(Simulation, self).footnotes]

    def rows(self) -> list[dict[str, Cell]]:
        """Return a row for each method and budget, as the command line has it."""
        return [row for panel in self.panels for row in panel.rows()]


def simulate_for(
    choices: Choices,
    request: SimulateFields,
    *,
    say: Say = unsaid,
    begin: Callable[[Trial], object] = unsaid,
    progress: Progress = unsaid,
    steps: Callable[[int, str], AbstractContextManager[Progress]] = lambda total, what: nullcontext(unsaid),
) -> Simulation:
    """Replay sampling on a pool whose labels are known, and compare the methods.

    Parameters
    ----------
    begin : callable
        Called with the methods of each measure before they are replayed.
    steps : callable
        Shows how many of so many steps are done.

    Raises
    ------
    InputError
        Where a label is missing that a measure needs, or no budget pays for all methods.
    """
    find_interval(request.interval)
    check_fits(request.measures, [name for name in request.methods if name != "all"])
    case = case_for(choices, request.measures, use_labels=True, say=say, progress=progress)
    for target in case.targets(request.measures, [case.question]):
        target.check_judged(case.inputs.grades)
    chosen = {text: methods_of(case, text, request.methods) for text in dict.fromkeys(request.measures)}
    how: dict[str, Any] = {
        name: getattr(request, name) for name in ("budgets", "weights", "expected", "adaptive_depth")
    }
    panels = []
    with steps(sum(len(names) + case.is_contest for names in chosen.values()), "simulating") as advance:
        for text, names in chosen.items():
            trial = trial_of(case, text, names, defensive_share=choices.defensive_share, **how)
            begin(trial)
            trial.check_paid()
            panels.append(trial.run(advance, repetitions=request.repetitions, interval=request.interval))
    return Simulation(case=case, panels=tuple(panels))


class SimulateOptions(LabelledOptions, total=False):
    """What else `simulate` may be told.

    Attributes
    ----------
    methods : str or list of str
        By default passive and the best for the measure; ``all``: all that fit.
    interval : {"t", "skewed", "logit", "group-sequential"}
        By default t; of group-sequential the budgets are the looks.
    expected : bool
        Draws with replacement meet budgets in expectation.
    weights : {"equal", "sum", "minimax"}
        How several differences share a sample.
    adaptive_depth : {"each", "3", "1", "off"}
        As of `sample`.
    """

    methods: Any
    interval: str
    expected: bool
    weights: str
    adaptive_depth: str | int


@checked
def simulate(
    runs: Any,
    qrels: Any,
    *,
    measure: Any = "DCG",
    budget: Any = DEFAULT_BUDGETS,
    repetitions: int = 2000,
    names: Sequence[str] = (),
    max_grade: int | None = None,
    seed: int = 0,
    **options: Unpack[SimulateOptions],
) -> Simulation:
    """Replay sampling thousands of times on judgments that there are: what each method would have saved.

    Parameters
    ----------
    runs, names, max_grade
        As of `sample`.
    qrels : path, dict of dicts, data frame or Judgments
        Every item that a measure needs must be judged, or ``unjudged="irrelevant"`` say that the others are of grade 0.
    measure : str or measure, or a list of them
    budget : int, float or str, or a list of them
        200, "10%".
    repetitions : int
        Of each method.
    options
        `SimulateOptions`: methods, interval, adaptive_depth, unjudged, train, grade_probs, graders, ….

    Examples
    --------
    >>> qrels = {f"q{q}": {f"d{d}": (q * d) % 4 for d in range(6)} for q in range(30)}
    >>> run = {query: {doc: grade + 0.1 * int(doc[1:]) for doc, grade in docs.items()} for query, docs in qrels.items()}
    >>> replayed = simulate(run, qrels, measure="DCG@3", budget=30, repetitions=50)
    >>> [(row["method"], row["budget"]) for row in replayed.rows()]
    [('passive', 30.0), ('items', 30.0)]
    """
    asked, of_pool = asked_of(options, SimulateOptions)
    labelled = {name: asked.pop(name) for name in LabelledOptions.__annotations__ if name in asked}
    choices = choices_of(runs, names, None, max_grade, seed, {**of_pool, **labelled, "qrels": judgments_in(qrels)})
    budgets = [
        held for each in (budget if isinstance(budget, (list, tuple)) else [budget]) if (held := budget_of(each))
    ]
    request = SimulateFields(measures=measures_of(measure)[0], budgets=budgets, repetitions=repetitions, **asked)
    return replace(simulate_for(choices, request), frame_kind=frame_kind_of(runs, qrels, options))
