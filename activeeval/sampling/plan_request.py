"""What is asked of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from activeeval.core.errors import ChoiceError
from activeeval.core.grade_models.values import PLANNED_RHO
from activeeval.core.planning import Goal
from activeeval.core.planning.prices import Price
from activeeval.formats.tables.segments import Segments
from activeeval.inputs.budgets import Budget
from activeeval.sampling.segment_budgets import HalfWidths

ALL = "all"
"""In the place of the name of a method: all that fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What is asked of a plan; fields are named as the arguments of `plan` and the options of the command line are.

    Attributes
    ----------
    measures, questions, methods : sequence of str
        ``all`` among the methods stands for all that fit.
    judging, weights, looks
        As of `activeeval.sampling.draw.SampleRequest`.
    half_width, difference, power
        What to reach.
    budget : sequence of Budget
        Where methods are shown.
    pilots, sheets : sequence of str
        Judged samples of the pool by whose residuals what is expected is rescaled, and their sheets.
    price : Price or None
    ask_price, ask_skill : float
        See `activeeval.sampling.grader_price.asking_notes`.
    segments, segment_half_widths
        See `activeeval.sampling.segment_budgets.SegmentGoals.of`.
    beside : sequence of str
        What else a face is asked for, as money and plot, by the names of its options.
    """

    measures: Sequence[Any]
    questions: Sequence[str] = ()
    methods: Sequence[str] = ()
    judging: str = "grades"
    weights: str = "equal"
    looks: str | None = None
    half_width: float | None = None
    difference: float | None = None
    power: float = 0.8
    budget: Sequence[Budget] = ()
    scope: str = "pool"
    confidence: float = 0.95
    pilots: Sequence[str] = ()
    sheets: Sequence[str] = ()
    price: Price | None = None
    ask_price: float | None = None
    ask_skill: float = PLANNED_RHO
    segments: str | Segments | None = None
    segment_half_widths: HalfWidths = field(default_factory=dict)
    beside: Sequence[str] = ()

    @property
    def goals(self) -> list[Goal]:
        """What is to be reached: a half-width, a difference that is to be detected, both or nothing."""
        about: dict[str, Any] = {"scope": self.scope, "confidence": self.confidence}
        goals = [] if self.half_width is None else [Goal(half_width=self.half_width, **about)]
        if self.difference is not None:
            goals.append(Goal(difference=self.difference, power=self.power, **about))
        return goals

    def method_for(self, what: str) -> str | None:
        """Return the one method that is named, None where none is; raise ChoiceError where several are."""
        if len(self.methods) > 1 or ALL in self.methods:
            raise ChoiceError(f"{what} is planned for one `methods`", field="methods")
        return self.methods[0] if self.methods else None

    def check_left_out(self, names: Sequence[str], problem: str) -> None:
        """Raise ChoiceError where one of some fields is given; ``problem`` has a place for its name."""
        for name in names:
            if name in self.beside or getattr(self, name, None) not in (None, (), []):
                raise ChoiceError(problem.format(f"`{name}`"), field=name)
