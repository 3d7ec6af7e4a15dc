"""Verb `simulate`: replay sampling on a pool with known labels, and compare methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Unpack

from activeeval.core.checks import one_of, whole_number
from activeeval.core.estimation import find_interval
from activeeval.inputs.arguments import budget_of, checked, judgments_in, measures_of
from activeeval.inputs.choices import Choices
from activeeval.inputs.prepared_case import check_fits
from activeeval.report.answer_sentences import definitions
from activeeval.report.rendering import Cell
from activeeval.sampling.arguments import LabelledOptions, asked_of, choices_of, frame_kind_of
from activeeval.sampling.options import DEFAULT_BUDGETS, WEIGHTS, SimulateFields
from activeeval.sampling.question_case import CaseResult, Progress, Say, case_for, unsaid
from activeeval.sampling.simulation_tables import LEGEND
from activeeval.sampling.trials import MeasureTrials, Trial, methods_of, trial_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Simulation(CaseResult):
    """Simulated errors and savings of methods on known labels; `simulate` returns it.

    Attributes
    ----------
    panels : tuple of MeasureTrials
        One for each measure.
    """

    panels: tuple[MeasureTrials, ...]

    @property
    def unit(self) -> str:
        """Unit of budgets."""
        return self.case.inputs.pool.cost_unit

    @property
    def sentences(self) -> list[str]:
        """One sentence for each measure on the best method."""
        return [panel.sentence(self.unit) for panel in self.panels if panel.at_once or panel.summaries]

    @property
    def table(self) -> Sequence[Mapping[str, Cell]]:
        """One row for each method and budget."""
        return [{"measure": panel.measure} | row for panel in self.panels for row in panel.table()]

    @property
    def footnotes(self) -> list[str]:
        """Definitions of columns and measures, and notes on the pool."""
        defined = definitions((panel.measure, panel.definition) for panel in self.panels)
        return [LEGEND, *defined, *super(Simulation, self).footnotes]

    def rows(self) -> list[dict[str, Cell]]:
        """List a row for each method and budget, as in the command's JSON and CSV output."""
        return [row for panel in self.panels for row in panel.rows()]


def simulate_for(
    choices: Choices,
    request: SimulateFields,
    *,
    say: Say = unsaid,
    begin: Callable[[Trial], object] = unsaid,
    progress: Progress = unsaid,
    steps: Callable[[int, str], AbstractContextManager[Progress]] = lambda total, title: nullcontext(unsaid),
) -> Simulation:
    """Simulate sampling on a pool with known labels, and compare methods; `simulate` and the command share it.

    Parameters
    ----------
    choices : Choices
        Files and options from which the pool is prepared, with labels.
    request : SimulateFields
        Measures, methods, budgets and number of repetitions.
    say, progress : callable
        Called with each note on the pool, and with a text that names the next step.
    begin : callable
        Called with each measure's `Trial` before its methods are replayed.
    steps : callable
        Called with the total number of steps and a title; returns a context manager of a progress function.

    Raises
    ------
    InputError
        If a label that a measure needs is missing, or no budget is sufficient for all methods.
    """
    find_interval(request.interval)
    one_of(request.weights, WEIGHTS, "`weights`")
    whole_number(request.repetitions, "`repetitions`", 2)
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
    """Further options of `simulate`.

    Attributes
    ----------
    methods : str or list of str
        By default passive and the best for the measure; ``all`` means all that fit.
    interval : {"t", "group-sequential"}
        By default t; for group-sequential the budgets are the interim analyses.
    expected : bool
        Draws with replacement meet budgets in expectation.
    weights : {"equal", "sum", "minimax"}
        Balance between several differences.
    adaptive_depth : {"each", "3", "1", "off"}
        When the labels of a query decide how deep it is judged: after each, the first, third and last, the last, never.
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
    """Replay sampling thousands of times on known labels, and compare the errors of methods.

    Parameters
    ----------
    runs : path, dict of dicts or data frame, a list of them, or a mapping of names to them
    names : sequence of str
        Names of the runs; by default those of their files.
    max_grade : int, optional
        Largest grade of the scale; by default that of the labels.
    qrels : path, dict of dicts, data frame or Judgments
        Labels of every item that a measure needs; with ``unjudged="irrelevant"`` the others have grade 0.
    measure : str or measure, or a list of them
        Each is simulated on its own.
    budget : int, float or str, or a list of them
        Numbers of judgments, or shares of judging everything: 200, "10%".
    repetitions : int
        Number of replays of each method.
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
    arguments, of_pool = asked_of(options, SimulateOptions)
    labelled = {name: arguments.pop(name) for name in LabelledOptions.__annotations__ if name in arguments}
    choices = choices_of(runs, names, None, max_grade, seed, {**of_pool, **labelled, "qrels": judgments_in(qrels)})
    budgets = [
        parsed for entry in (budget if isinstance(budget, (list, tuple)) else [budget]) if (parsed := budget_of(entry))
    ]
    request = SimulateFields(measures=measures_of(measure)[0], budgets=budgets, repetitions=repetitions, **arguments)
    return replace(simulate_for(choices, request), frame_kind=frame_kind_of(runs, qrels, options))
