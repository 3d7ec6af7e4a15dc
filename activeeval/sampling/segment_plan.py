"""Plans by segment: the smallest budget that brings the interval of every segment to its own half-width."""

from __future__ import annotations

from dataclasses import dataclass

from activeeval.core.planning.prices import Price
from activeeval.core.pool import QueryPool
from activeeval.core.results import Caution, Note
from activeeval.inputs.arguments import in_python
from activeeval.report.cautions import marked
from activeeval.report.message_lookup import text_of
from activeeval.report.printable import PrintableResult
from activeeval.report.rendering import Cell
from activeeval.sampling.segment_budgets import SegmentBudget
from activeeval.sampling.segment_messages import plain_segment_rows, segment_footnote, segment_rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SegmentPlan(PrintableResult):
    """Budget of one sample for half-widths by segment, and its predicted precision; `plan` returns it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from activeeval import plan
    >>> run = {f"q{q}": {f"d{d}": float((d + q) % 7) for d in range(6)} for q in range(40)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = pathlib.Path(folder, "segments.csv")
    ...     _ = table.write_text("query_id,segment\\n" + "".join(f"q{q},{'ab'[q % 2]}\\n" for q in range(40)))
    ...     asked = {"segments": table, "half_width": {"a": 3.0, "b": 4.0}}
    ...     planned = plan(run, measure="DCG@5", max_grade=3, **asked)
    >>> half_widths = planned.half_widths
    >>> half_widths["a"] <= 3.0, half_widths["b"] <= 4.0, planned.budget < 200
    (True, True, True)

    Attributes
    ----------
    planned : SegmentBudget
        The budget with its design and predictions.
    pool : QueryPool
    price : Price or None
        Price of a judgment: rows then have hours.
    of_pool : tuple of Note or Caution
        Notes on the pool.
    frame_kind : str
        Library of the input frames, "" if there were none.
    """

    planned: SegmentBudget
    pool: QueryPool
    price: Price | None = None
    of_pool: tuple[Note | Caution, ...] = ()
    frame_kind: str = ""

    @property
    def others(self) -> list[Note | Caution]:
        """Notes on segments, besides the predicted half-widths that the rows show."""
        return [note for note in self.planned.notes if note.code != "planned segment"]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes as sentences."""
        return tuple(dict.fromkeys(text_of(note, in_python) for note in (*self.of_pool, *self.others)))

    @property
    def headline(self) -> Note:
        """Note with the recommended budget."""
        return self.planned.headline(self.pool.cost_unit, None if self.price is None else self.price.seconds)

    @property
    def footnote(self) -> str:
        """Definition of the columns."""
        return segment_footnote(self.planned.rows, self.planned.goals.confidence)

    @property
    def budget(self) -> float:
        """Recommended budget, in mean items (the mean item costs 1)."""
        return self.planned.budget.amount

    @property
    def half_widths(self) -> dict[str, float]:
        """Predicted half-width of each segment with a goal, the largest of several questions."""
        widest: dict[str, float] = {}
        for row in self.planned.rows:
            if row.segment is not None:
                widest[row.segment] = max(row.half_width, widest.get(row.segment, 0.0))
        return widest

    @property
    def sentences(self) -> list[str]:
        """One sentence on the recommended budget."""
        return [text_of(self.headline, in_python)]

    @property
    def table(self) -> list[dict[str, str]]:
        """Segments with goals and predictions."""
        return plain_segment_rows(self.planned.rows)

    @property
    def footnotes(self) -> list[str]:
        """Definition of the columns, and notes."""
        return [self.footnote, *(f"{note}." for note in self.notes)]

    def rows(self) -> list[dict[str, Cell]]:
        """List a row for each question in each segment, as in the command's JSON and CSV output."""
        seconds = None if self.price is None else self.price.seconds
        return marked(segment_rows(self.planned.rows, self.planned.bounded, self.budget, seconds), self.of_pool)
