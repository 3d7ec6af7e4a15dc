"""What a plan says: budgets, half-widths to expect, the method to take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from activeeval.core.planning import SamplePlan
from activeeval.core.planning.prices import Price
from activeeval.core.results import Caution, Note, rounded_up
from activeeval.inputs.arguments import in_python
from activeeval.report.cautions import marked
from activeeval.report.message_lookup import text_of
from activeeval.report.printable import PrintableResult
from activeeval.report.rendering import Cell
from activeeval.report.result_pictures import draw_half_widths
from activeeval.report.rows import plain_plan_rows, plan_footnote, plan_rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Plan(PrintableResult):
    """What methods should reach for every measure and question by one sample; `plan` makes it.

    Attributes
    ----------
    sample : SamplePlan
    confidence : float
        Of the intervals to expect.
    scope : str
        What they are about.
    goal : float or None
        The half-width that is asked for.
    price : Price or None
        Of a judgment: rows then have money and hours.
    of_pool, asking : tuple of Note or Caution
        What to know of the pool and of pilots, and of asking machines.
    frame_kind : str
        The library whose frames came in, "" where none did.

    Examples
    --------
    >>> from activeeval import plan
    >>> run = {f"q{q}": {f"d{d}": float((d + q) % 7) for d in range(6)} for q in range(20)}
    >>> planned = plan(run, measure="DCG@5", half_width=1, max_grade=3)
    >>> planned.budget, planned.goal
    (52.0, 1)
    >>> planned.half_width <= 1, planned.low is None  # what no label has been held against has no range
    (True, True)
    """

    sample: SamplePlan
    confidence: float
    scope: str = "pool"
    goal: float | None = None
    price: Price | None = None
    of_pool: tuple[Note | Caution, ...] = ()
    asking: tuple[Note, ...] = ()
    frame_kind: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What else to know, in sentences."""
        return tuple(dict.fromkeys(text_of(note, in_python) for note in (*self.of_pool, *self.asking)))

    @property
    def headlines(self) -> list[Note]:
        """What to take and what it should reach, question by question."""
        return self.sample.headlines(self.confidence, None if self.price is None else self.price.seconds, self.scope)

    @property
    def title(self) -> str:
        """What stands above `table`."""
        pool, questions = self.sample.questions[0].target.pool, self.sample.questions
        title = f"{pool.n_queries} queries, budgets in {pool.cost_unit}"
        if len(self.sample.hardest) == len(questions):
            return title
        return f"{title}, the hardest of {len(questions)} questions, one sample for all (-o jsonl has each)"

    @property
    def budget(self) -> float:
        """The budget to take, in mean items: the largest that a goal takes, or that was asked for."""
        return float(rounded_up(max(row.prospect.budget for plan in self.sample.questions for row in plan.chosen)))

    @property
    def half_width(self) -> float:
        """The half-width to expect there; the widest of several questions."""
        return self._widest[0]

    @property
    def low(self) -> float | None:
        """Where four of five samples should lie: from here on; None before the first label."""
        return self._widest[1]

    @property
    def high(self) -> float | None:
        """Where four of five samples should lie: up to here; None before the first label."""
        return self._widest[2]

    @property
    def _widest(self) -> tuple[float, float | None, float | None]:
        rows = [row.prospect for plan in self.sample.questions for row in plan.chosen]
        widest = max(rows, key=lambda prospect: prospect.half_width(self.scope, self.confidence))
        return (widest.half_width(self.scope, self.confidence), *widest.known_half_widths(self.scope, self.confidence))

    @property
    def sentences(self) -> list[str]:
        """What to take and what it should reach."""
        return [text_of(note, in_python) for note in self.headlines]

    @property
    def table(self) -> list[dict[str, str]]:
        """Budgets with the half-widths to expect; ``*`` reaches a goal."""
        return plain_plan_rows(self.sample, confidence=self.confidence, price=self.price)

    @property
    def footnotes(self) -> list[str]:
        """What half-widths are of, and what else to know."""
        draw = self.sample.questions[0].target.pool.draw
        wide = "all queries that these are a sample of" if draw is None else f"all the traffic of {draw.log.name}"
        about = "these queries" if self.scope == "pool" else wide
        notes = [f"{note}." for note in self.notes]
        about_all = f"Half-widths of {100 * self.confidence:g} % intervals about {about}."
        return [about_all, plan_footnote(self.table), *notes]

    def rows(self) -> list[dict[str, Cell]]:
        """Return a row for each question, method and budget, as the command line has it."""
        questions = self.sample.questions
        rows = [row for plan in questions for row in plan_rows(plan, confidence=self.confidence, price=self.price)]
        return marked(rows, self.of_pool)

    def plot(self, ax: Any = None) -> Any:
        """Draw the half-width to expect over budgets, of the question with the widest; return the axes."""
        plan = max(
            self.sample.questions, key=lambda each: each.chosen[0].prospect.half_width(self.scope, self.confidence)
        )
        prospects = [row.prospect for row in plan.rows_of({plan.best})]
        points = [
            (
                each.budget,
                each.half_width(self.scope, self.confidence),
                *each.known_half_widths(self.scope, self.confidence),
            )
            for each in prospects
        ]
        label = f"{plan.name} by {plan.best}"
        return draw_half_widths(points, label, plan.target.pool.cost_unit, self.goal, ax)
