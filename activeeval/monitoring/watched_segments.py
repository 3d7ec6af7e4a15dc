"""Segments of a watch: plan a night for half-widths in segments, and estimate its values in them.

Intervals of segments hold simultaneously, as everywhere (`activeeval.sampling.answers.by_segment`). A night draws the
fewest new labels that should bring tonight's values to the half-widths, given all items of earlier nights. To keep
alarms reliable, changes between nights keep the weight `activeeval.core.planning.new_labels.SHARE` in the sampling
rates, and an item that no night could draw otherwise has an inclusion probability of at least
`activeeval.core.design.carried_samples.LEAST`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from activeeval.core.design.carried_samples import EarlierLabels
from activeeval.core.measures import Target
from activeeval.core.planning import LeastLabels, Prospect, least_labels
from activeeval.core.results import Caution, Note, Told, rounded_up
from activeeval.formats.tables.segments import Segments
from activeeval.inputs.prepared_case import PreparedCase
from activeeval.inputs.systems import QuestionTarget
from activeeval.monitoring.settings import Settings
from activeeval.sampling.answers import FEWEST, SampleAnswer, by_segment
from activeeval.sampling.drawn_sample import DrawnSample
from activeeval.sampling.plan_case import planner_of
from activeeval.sampling.segment_budgets import SegmentGoals


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NightPlan:
    """Sampling plan of a night (a dated run).

    Attributes
    ----------
    beside : tuple of Target
        Targets in addition to the questions: tonight's values in the segments with a half-width.
    weights : tuple of float
        Weights of the questions, then of `beside`, in the sampling rates; "equal" for one weight.
    enough : float or None
        Threshold of the sample at which all half-widths should be reached: an item is drawn if its random number is
        below threshold times rate. None spends the whole budget.
    notes : tuple of Note or Caution
        Messages on the number of labels needed.
    """

    beside: tuple[Target, ...] = ()
    weights: tuple[float, ...] | str = "equal"
    enough: float | None = None
    notes: tuple[Note | Caution, ...] = ()


def plan_night(
    case: PreparedCase,
    settings: Settings,
    questions: Sequence[QuestionTarget],
    segments: Segments | None,
    in_hand: EarlierLabels,
) -> NightPlan:
    """Plan a night: for its whole budget, or for half-widths in segments (groups of queries) if some are set.

    A night is a dated run of the watched index.

    Parameters
    ----------
    case : PreparedCase
        The pool of tonight's run and those it is compared with, and the grade model.
    settings : Settings
        Settings of the watch: half-widths, budget and measures.
    questions : sequence of QuestionTarget
        Tonight's values, and its differences from other runs.
    in_hand : EarlierLabels
        Labels and inclusion probabilities of earlier nights, by item of the pool.

    Raises
    ------
    InputError
        If a segment with a half-width has no query of the night.
    """
    goals = settings.goals
    if goals is None:
        return NightPlan()
    # targets: the questions for all queries, then tonight's values in each segment with a half-width
    members, notes = ({}, []) if segments is None else goals.members(segments, case.inputs.pool)
    values = [each for each in questions if not each.versus]
    parts = [(None, each) for each in questions] + [(name, each) for name in goals.half_widths for each in values]
    targets = [each.target if name is None else replace(each.target, within=members[name]) for name, each in parts]
    wanted = {
        which: goal
        for which, (name, each) in enumerate(parts)
        if not each.versus and (goal := goals.of_part(name, len(members))) is not None
    }
    changes = [which for which, (_, each) in enumerate(parts) if each.versus]
    planner = planner_of(case, targets)
    least = least_labels(planner, settings.method, wanted, in_hand, settings.budget, changes)
    names = [name for name, _ in parts]
    return NightPlan(
        beside=tuple(targets[len(questions) :]),
        weights=least.weights,
        enough=least.enough,
        notes=(_price(goals, least, settings.budget), *notes, *_too_few_queries(names, least.prospects)),
    )


def answers_by_segment(sample: DrawnSample, segments: Segments | None) -> list[SampleAnswer]:
    """Estimate the values of a night (a dated run) in each segment (group of queries) with enough judged queries.

    Without segments the list is empty.
    """
    if segments is None:
        return []
    # of the questions that the sample was made for only the values, not the differences
    return by_segment(sample, [each for each in sample.made_for if not each.versus], segments)[0]


def _price(goals: SegmentGoals, least: LeastLabels, budget: float) -> Note | Caution:
    """Note the number of labels that the half-widths need tonight; a warning if it exceeds the budget.

    `least` is the plan for the half-widths. Numbers are in mean items (the cost of an average item).
    """
    numbers: dict[str, Told] = {"goals": str(goals), "needed": rounded_up(least.cost), "budget": budget}
    if least.cost > budget:
        return Caution("warning", "night too dear", numbers)
    return Note("night enough", numbers) if least.cost else Note("night in hand", {"goals": str(goals)})


def _too_few_queries(names: Sequence[str | None], prospects: Sequence[Prospect]) -> list[Caution]:
    """Warn about segments that will have too few judged queries for an estimate.

    `names` and `prospects` (predicted precision and number of queries) are aligned; a name of None is a question about
    all queries. A segment whose variance for these queries (``of_pool``) is 0 is exactly known, and left out.
    """
    few = [
        name
        for name, prospect in zip(names, prospects, strict=True)
        if name is not None and prospect.of_pool and prospect.queries < FEWEST
    ]
    numbers: dict[str, Told] = {"segments": tuple(dict.fromkeys(few)), "fewest": FEWEST}
    return [Caution("warning", "hardly read", numbers)] if few else []
