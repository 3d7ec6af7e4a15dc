"""Draw a sample for choices and a request: prepare the case, find the budget of a goal, draw, and look up texts.

Choices name the files and options from which a pool is prepared; a request has the questions, and the budget or goal; a
case is the prepared pool with its rankings, grade model and known grades.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from activeeval.core.design.methods import find_method
from activeeval.core.errors import ChoiceError
from activeeval.core.planning import Goal
from activeeval.core.results import Caution, Note, Told
from activeeval.formats.arrays import is_arrays
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.inputs.judging_choice import judging_for
from activeeval.inputs.prepared_case import PreparedCase, check_fits, prepare
from activeeval.inputs.texts import SheetTexts, recalled, texts_of
from activeeval.sampling.adaptive_depth import OF_SHEETS
from activeeval.sampling.draw_case import draw
from activeeval.sampling.drawn_sample import DrawnSample
from activeeval.sampling.expected_precision import expected_notes
from activeeval.sampling.grader_price import priced_names
from activeeval.sampling.options import SampleFields
from activeeval.sampling.plan_case import budget_for
from activeeval.sampling.segment_budgets import SegmentGoals, segment_budget

_SEED_BITS = 31
_NEARLY_ALL = 0.9
"""Share of known items that affect a target above which a note asks whether they are a grader's: files of graders
cover nearly all items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRequest(SampleFields):
    """Questions of a sample, and its budget or the goal to reach instead.

    Attributes
    ----------
    usual : {"each", "3", "1", "off"}
        Default adaptive depth of measures that have one.
    surely : bool
        For adaptive depth: draw smaller batches; see `activeeval.sampling.draw_case.draw`.
    """

    usual: str = OF_SHEETS
    surely: bool = False

    def checked_price(self) -> Budget | Goal | SegmentGoals:
        """Check the request, and return the budget of the sample or the goal to reach instead.

        Raises
        ------
        ChoiceError
            If not exactly one is given, or ``expected`` (the budget is met on average, not a limit) is set for a method
            without such draws.
        InputError
            If a method does not fit a measure, or one of them is unknown.
        """
        budget_or_goal = self._budget_or_goal()
        if self.expected and not (self.method and find_method(self.method).scheme.on_average(True)):
            problem = "`expected` is for draws with replacement: passive, active, active_uniC, active_uniD"
            raise ChoiceError(problem, field="expected")
        check_fits(self.measures, [self.method] if self.method else [])
        return budget_or_goal

    def _budget_or_goal(self) -> Budget | Goal | SegmentGoals:
        """Return the one of budget, goal and segment goals that is set; raise ChoiceError for none or several."""
        if self.segments is not None or self.segment_half_widths:
            goals = SegmentGoals.of(self.segments, self.segment_half_widths, self.whole_half_width)
            for name in ("budget", "difference"):
                if getattr(self, name) is not None:
                    problem = f"half-widths of segments ask which budget: give these or `{name}`"
                    raise ChoiceError(problem, field=name)
            return goals
        if sum(value is not None for value in (self.budget, self.whole_half_width, self.difference)) != 1:
            raise ChoiceError("give one of `budget`, `half_width` and `difference`", field="budget")
        return self.budget or Goal(half_width=self.whole_half_width, difference=self.difference, power=self.power)


@dataclass(frozen=True, slots=True, eq=False)
class DrawnCase:
    """A drawn sample with its budget and its prepared pool; ``case`` is None for a pool in files."""

    case: PreparedCase | None
    sample: DrawnSample
    budget: Budget


def fresh_seed() -> int:
    """Draw a random seed from the operating system."""
    return secrets.randbits(_SEED_BITS)


def draw_for(
    choices: Choices,
    request: SampleRequest,
    *,
    progress: Callable[[str], object] = lambda step: None,
    say: Callable[[Note | Caution], object] = lambda note: None,
) -> DrawnCase:
    """Draw the sample of a request; no label of the pool is used.

    Parameters
    ----------
    choices : Choices
        Files and options from which the pool is prepared; what judges answer follows from the request's measures.
    request : SampleRequest
        Questions, and budget or goal.
    progress : callable
        Called with a text that names the next step.
    say : callable
        Called with each note on the pool, the budget and the expected precision, as soon as it is known; pass
        ``list.append`` to collect them.

    Raises
    ------
    ChoiceError
        If choices contradict each other or one is missing.
    InputError
        If a file or a number is wrong, or no budget reaches the goal.
    BudgetError
        If the budget is too small for the sample's most expensive unit (what is judged at once).
    """
    budget_or_goal = request.checked_price()
    judging = judging_for(request.measures)
    chosen = replace(choices, judging=judging)
    chosen.check_files()
    if choices.pool_parquet is not None:
        return _of_files(chosen, request, budget_or_goal, progress, say)
    case = prepare(chosen, use_labels=False, measures=request.measures, progress=progress)
    for note in case.notes:
        say(note)
    progress("choosing what to judge")
    share = choices.defensive_share
    budget, how = _budget_of(case, request, budget_or_goal, share, say)
    how |= {"method": request.method, "expected": request.expected, "surely": request.surely}
    drawn = DrawnCase(
        case, draw(case, request.measures, request.questions, budget, defensive_share=share, **how), budget
    )
    targets = drawn.sample.campaign.design.targets
    if grader_cost := case.asking_cost(*targets):  # the budget pays for graders' grades too
        amounts: dict[str, Told] = {"budget": budget.of(*targets, known=case.known), "cost": grader_cost}
        say(Note("asking paid", {**amounts, "names": priced_names(case), "unit": case.inputs.pool.cost_unit}))
    for note in _nearly_all_judged(choices, case, drawn.sample):
        say(note)
    for expected in expected_notes(case, drawn.sample, share):
        say(expected)
    return drawn


def _of_files(
    choices: Choices,
    request: SampleRequest,
    budget: Budget | Goal | SegmentGoals,
    progress: Callable[[str], object],
    say: Callable[[Note | Caution], object],
) -> DrawnCase:
    """Draw the sample of a pool in files (too large for memory), part by part.

    ``progress`` gets texts that name the next step, ``say`` notes on the pool and the budget.
    Raise ChoiceError for a goal in place of a budget, or if comparisons are to be judged.
    """
    from activeeval.sampling.draw_pool_files import (  # imported here so that other samples do not load it
        FilesRequest,
        draw_of_files,
    )

    if not isinstance(budget, Budget):
        problem = "`half_width` needs the pool at hand: of `pool_parquet` give a `budget`"
        raise ChoiceError(problem, field="half_width")
    if not choices.judging.has_grades:
        raise ChoiceError("a pool in files is judged by grades, not by comparisons as kNDCG is", field="measures")
    fields: dict[str, Any] = {name: getattr(request, name) for name in ("method", "weights", "adaptive_depth", "usual")}
    request_of_files = FilesRequest.of(choices, request.measures, request.questions, **fields)
    if choices.trust_ids:
        say(Note("ids trusted", {}))
    sample = draw_of_files(
        choices, request_of_files, budget, expected=request.expected, surely=request.surely, progress=progress
    )
    return DrawnCase(None, sample, budget)


def _budget_of(
    case: PreparedCase,
    request: SampleRequest,
    budget_or_goal: Budget | Goal | SegmentGoals,
    share: float | None,
    say: Callable[[Note | Caution], object],
) -> tuple[Budget, dict[str, Any]]:
    """Determine the budget of a sample, and the keyword arguments of `draw` that follow from how it was requested.

    A budget is returned as it is. For a goal (a half-width, or a power) it is the smallest that reaches it. Goals of
    segments need one weight for each segment as a further target (``beside``) of the design, for which adaptive depth
    (depths that follow labels) is off, as it cannot weigh further targets. ``share`` is the share of sampling that
    ignores the grade model. Notes on the budget that a goal needs go to ``say``.
    """
    how: dict[str, Any] = {"weights": request.weights, "adaptive_depth": request.adaptive_depth, "usual": request.usual}
    if isinstance(budget_or_goal, Budget):
        return budget_or_goal, how
    if isinstance(budget_or_goal, Goal):
        measures = list(dict.fromkeys(request.measures))
        budget = budget_for(
            case, measures, budget_or_goal, request.method, questions=request.questions, defensive_share=share, **how
        )
        say(_goal_note(budget_or_goal, budget))
        return budget, how
    chosen: dict[str, Any] = {
        "method": request.method,
        "weights": request.weights,
        "adaptive_depth": request.adaptive_depth,
    }
    planned = segment_budget(case, request.measures, request.questions, budget_or_goal, defensive_share=share, **chosen)
    say(_goal_note(budget_or_goal, planned.budget))
    for note in planned.notes:
        say(note)
    return planned.budget, {"weights": planned.weights, "beside": planned.beside, "adaptive_depth": "off"}


def _goal_note(goal: Goal | SegmentGoals, budget: Budget) -> Note:
    """Build the note on the budget that a goal needs."""
    return Note("goal budget", {"goal": str(goal), "budget": str(budget)})


def _nearly_all_judged(choices: Choices, case: PreparedCase, sample: DrawnSample) -> list[Note]:
    """Build a note that asks whether known grades come from an LLM or another model, if nearly all items have one.

    Only files of judgments are suspected: not earlier samples (`is_arrays`), nor grades that the user declared labels.
    """
    matters = np.logical_or.reduce([target.matters for target in sample.campaign.design.targets])
    if case.known is None or (case.known[matters] >= 0).mean() < _NEARLY_ALL:
        return []
    files = tuple(source for source in choices.judged if isinstance(source, str) and not is_arrays(source))
    if not files or choices.machine_is_truth:
        return []
    n_known = int((case.known[matters] >= 0).sum())
    return [Note("all judged", {"n": n_known, "of": int(matters.sum()), "sources": files})]


def texts_for(
    sample: DrawnSample,
    sheet: str,
    documents: str | None = None,
    queries: str | None = None,
    say: Callable[[Note | Caution], object] = lambda note: None,
) -> SheetTexts:
    """Look up the texts for the judges of a sample, and report notes on the sample and on missing texts.

    Parameters
    ----------
    sheet : str
        Name of the sheet in messages.
    documents, queries : str, optional
        Tables with the texts of documents and queries, for `activeeval.formats.tables.text_tables.read_texts`.
    say : callable
        Called with each note.
    """
    texts, notes = texts_of(sample.pairs, sheet, documents, queries)
    for note in (*sample.notes(), *notes):
        say(note)
    return texts


def with_texts(
    sample: DrawnSample,
    sheet: str,
    documents: str | None = None,
    queries: str | None = None,
    say: Callable[[Note | Caution], object] = lambda note: None,
) -> tuple[DrawnSample, SheetTexts]:
    """Look up the texts for the judges; return the sample with the paths and digests of their files, and the texts.

    ``documents`` and ``queries`` are the tables of texts; for None, the table that the sample used before is read
    again. ``sheet`` names the sheet in messages, ``say`` is called with each note.
    """
    files, notes = recalled(sample.text_files, documents, queries)
    for note in notes:
        say(note)
    texts = texts_for(sample, sheet, say=say, **{what: file.path for what, file in files.items()})
    return replace(sample, text_files={what: file.kept for what, file in files.items()}), texts
