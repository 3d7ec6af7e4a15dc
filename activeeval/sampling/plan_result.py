"""Result of `plan`: budgets, predicted half-widths and the recommended method."""

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
    """Predicted precision of methods for every measure and question by one sample; `plan` returns it.

    Attributes
    ----------
    sample : SamplePlan
        Plan of the sample, for each question.
    confidence : float
        Confidence of the intervals.
    scope : {"pool", "population"}
        The queries that intervals are for: these, or all that they are a sample of.
    goal : float or None
        The half-width to reach.
    price : Price or None
        Price of a judgment: rows then have money and hours.
    of_pool, asking : tuple of Note or Caution
        Notes on the pool and pilots, and on asking graders.
    frame_kind : str
        Library of the input frames, "" if there were none.

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
        """Notes as sentences."""
        return tuple(dict.fromkeys(text_of(note, in_python) for note in (*self.of_pool, *self.asking)))

    @property
    def headlines(self) -> list[Note]:
        """Recommended budget and its predicted precision, question by question."""
        return self.sample.headlines(self.confidence, None if self.price is None else self.price.seconds, self.scope)

    @property
    def title(self) -> str:
        """Title of `table`."""
        pool, questions = self.sample.questions[0].target.pool, self.sample.questions
        title = f"{pool.n_queries} queries, budgets in {pool.cost_unit}"
        if len(self.sample.hardest) == len(questions):
            return title
        return f"{title}, the hardest of {len(questions)} questions, one sample for all (-o jsonl has each)"

    @property
    def budget(self) -> float:
        """Recommended budget in mean items (the mean item costs 1): the largest that a goal needs or was requested."""
        return float(rounded_up(max(row.prospect.budget for plan in self.sample.questions for row in plan.chosen)))

    @property
    def half_width(self) -> float:
        """Predicted half-width at that budget; the largest of several questions."""
        return self._widest[0]

    @property
    def low(self) -> float | None:
        """Lower end of the range with the half-widths of 80 % of samples; None before the first label."""
        return self._widest[1]

    @property
    def high(self) -> float | None:
        """Upper end of the range with the half-widths of 80 % of samples; None before the first label."""
        return self._widest[2]

    @property
    def _widest(self) -> tuple[float, float | None, float | None]:
        """Largest predicted half-width over all questions, and the ends of the range with that of 80 % of samples."""
        rows = [row.prospect for plan in self.sample.questions for row in plan.chosen]
        widest = max(rows, key=lambda prospect: prospect.half_width(self.scope, self.confidence))
        return (widest.half_width(self.scope, self.confidence), *widest.known_half_widths(self.scope, self.confidence))

    @property
    def sentences(self) -> list[str]:
        """Sentences on the recommended budget and its predicted precision."""
        return [text_of(note, in_python) for note in self.headlines]

    @property
    def table(self) -> list[dict[str, str]]:
        """Budgets with predicted half-widths; ``*`` marks those that reach a goal."""
        return plain_plan_rows(self.sample, confidence=self.confidence, price=self.price)

    @property
    def footnotes(self) -> list[str]:
        """Definition of half-widths, and notes."""
        draw = self.sample.questions[0].target.pool.draw
        wide = "all queries that these are a sample of" if draw is None else f"all the traffic of {draw.log.name}"
        about = "these queries" if self.scope == "pool" else wide
        notes = [f"{note}." for note in self.notes]
        about_all = f"Half-widths of {100 * self.confidence:g} % intervals about {about}."
        return [about_all, plan_footnote(self.table), *notes]

    def rows(self) -> list[dict[str, Cell]]:
        """List a row for each question, method and budget, as in the command's JSON and CSV output."""
        questions = self.sample.questions
        rows = [row for plan in questions for row in plan_rows(plan, confidence=self.confidence, price=self.price)]
        return marked(rows, self.of_pool)

    def plot(self, ax: Any = None) -> Any:
        """Plot the predicted half-width over budgets, for the question with the largest; return the axes."""
        plan = max(
            self.sample.questions,
            key=lambda question: question.chosen[0].prospect.half_width(self.scope, self.confidence),
        )
        prospects = [row.prospect for row in plan.rows_of({plan.best})]
        points = [
            (
                prospect.budget,
                prospect.half_width(self.scope, self.confidence),
                *prospect.known_half_widths(self.scope, self.confidence),
            )
            for prospect in prospects
        ]
        label = f"{plan.name} by {plan.best}"
        return draw_half_widths(points, label, plan.target.pool.cost_unit, self.goal, ax)
