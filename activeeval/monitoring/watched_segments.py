"""Segments of a watch: which queries are of which, what half-widths in them take of a night, what a night says of them.

Intervals of segments hold at once, as everywhere (`activeeval.sampling.answers.by_segment`). A night draws the least
new labels that should bring tonight's values to the half-widths, with all that earlier nights have drawn in hand. So
that alarms still work, what a night is more than another keeps `activeeval.core.planning.new_labels.SHARE` of what
rates are made of, and an item that no night could draw comes with `activeeval.core.design.carried_samples.LEAST` at
least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from activeeval.core.design.carried_samples import EarlierLabels
from activeeval.core.design.methods import find_method
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
    """How a night is drawn so that it comes to half-widths.

    Attributes
    ----------
    beside : tuple of Target
        Tonight's values in the named segments: they count in whom to judge behind the questions.
    weights : tuple of float
        Of the questions, then of these.
    enough : float or None
        The threshold at which all half-widths should be reached; None where none is asked for.
    notes : tuple of Note or Caution
        How many labels that takes.
    """

    beside: tuple[Target, ...] = ()
    weights: tuple[float, ...] | str = "equal"
    enough: float | None = None
    notes: tuple[Note | Caution, ...] = ()


def plan_night(
    case: PreparedCase,
    settings: Settings,
    asked: Sequence[QuestionTarget],
    segments: Segments | None,
    in_hand: EarlierLabels,
) -> NightPlan:
    """Return how a night is drawn: for its whole budget, or for half-widths where such are asked for.

    Raises
    ------
    InputError
        Where no query of the night is of a segment that has a half-width.
    """
    goals = settings.goals
    if goals is None:
        return NightPlan()
    members, notes = ({}, []) if segments is None else goals.members(segments, case.inputs.pool)
    values = [each for each in asked if not each.versus]
    parts = [(None, each) for each in asked] + [(name, each) for name in goals.half_widths for each in values]
    targets = [each.target if name is None else replace(each.target, within=members[name]) for name, each in parts]
    wanted = {
        which: goal
        for which, (name, each) in enumerate(parts)
        if not each.versus and (goal := goals.of_part(name, len(members))) is not None
    }
    changes = [which for which, (_, each) in enumerate(parts) if each.versus]
    method, planner = find_method(settings.method), planner_of(case, targets)
    least = least_labels(planner, method, wanted, in_hand, settings.budget, changes)
    names = [name for name, _ in parts]
    return NightPlan(
        beside=tuple(targets[len(asked) :]),
        weights=least.weights,
        enough=least.enough,
        notes=(_price(goals, least, settings.budget), *notes, *_hardly_read(names, least.prospects)),
    )


def answers_by_segment(sample: DrawnSample, segments: Segments | None) -> list[SampleAnswer]:
    """Return what a night's sample says of its values in each segment of which enough is judged."""
    if segments is None:
        return []
    return by_segment(sample, [each for each in sample.made_for if not each.versus], segments)[0]


def _price(goals: SegmentGoals, least: LeastLabels, budget: float) -> Note | Caution:
    """Return how many labels the half-widths take tonight."""
    numbers: dict[str, Told] = {"goals": str(goals), "needed": rounded_up(least.cost), "budget": budget}
    if least.cost > budget:
        return Caution("warning", "night too dear", numbers)
    return Note("night enough", numbers) if least.cost else Note("night in hand", {"goals": str(goals)})


def _hardly_read(names: Sequence[str | None], prospects: Sequence[Prospect]) -> list[Caution]:
    """Return which segments are to have too few judged queries to be read."""
    few = [
        name
        for name, prospect in zip(names, prospects, strict=True)
        if name is not None and prospect.of_pool and prospect.queries < FEWEST
    ]
    numbers: dict[str, Told] = {"segments": tuple(dict.fromkeys(few)), "fewest": FEWEST}
    return [Caution("warning", "hardly read", numbers)] if few else []
