"""What judgments say of one run, or of a new run less the old one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from activeeval.core.answers import Answer, Needed
from activeeval.core.campaign.deciding import needed_of_queries
from activeeval.core.results import Caution, Estimate, Interval
from activeeval.inputs.systems import direction
from activeeval.report.cautions import counting_lines, missing_fields, missing_lists, no_relevant_fields
from activeeval.report.findings import sentence, table_of
from activeeval.report.rendering import Cell
from activeeval.report.result_pictures import draw_findings
from activeeval.report.shown import PrintableResult, WithEnds
from activeeval.sampling.estimate import estimate_row
from activeeval.sampling.query_values import QueryValues


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Evaluation(WithEnds, PrintableResult):
    """What judgments say of one run, or of a new run less the old one; as text a sentence and a small table.

    Attributes
    ----------
    measure, definition : str
        As it is shown, and written with all its parameters.
    question : {"run", "difference"}
    system, versus : str
        What the run is called, and of a difference the one that is taken off; else empty.
    pool : Estimate
        About these queries: what judging all of them would give.
    population : Estimate
        About all the queries that these are a sample of: the same value, with a wider interval.
    same_lists : bool
        Of a difference: whether both lists are the same in all queries, as far as the measure reads them.
    scope : {"pool", "population"}
        What `std_error`, `low`, `high` and the sentence are about.
    confidence : float
        Of the intervals.
    p_holm : float or None
        Of several measures: the p value by Holm's method, which belongs to the interval.
    frame_kind : str
        The library whose frames came in, "" where none did.
    queries : QueryValues or None
        Of a difference the values of both runs query by query.

    Examples
    --------
    >>> from activeeval import compare
    >>> qrels = {f"q{q}": {"a": q % 2, "b": 2} for q in range(60)}
    >>> runs = [{query: dict(zip("ab", scores)) for query in qrels} for scores in ((2.0, 1.0), (1.0, 2.0))]
    >>> answer = compare(*runs, judgments=qrels, measure="DCG@2")
    >>> print(answer.sentences[0])
    new is better than old by 0.92 (0.58 to 0.98): DCG@2, 60 queries, 120 judgments.
    >>> round(answer.value, 2), round(answer.low, 2), answer.pool.interval().low == answer.value
    (0.92, 0.58, True)
    """

    measure: str
    definition: str
    question: str
    system: str
    versus: str = ""
    pool: Estimate
    population: Estimate
    same_lists: bool = False
    scope: str = "population"
    confidence: float = 0.95
    p_holm: float | None = None
    frame_kind: str = ""
    queries: QueryValues | None = None

    @property
    def value(self) -> float:
        """The estimate."""
        return self.pool.value

    @property
    def std_error(self) -> float:
        """The standard error."""
        return self.of(self.scope).std_error

    @property
    def interval(self) -> Interval:
        """The interval: it unpacks into its two ends."""
        return self.of(self.scope).interval(self.confidence)

    @property
    def p_value(self) -> float | None:
        """Of a difference: that of the t test that it is 0."""
        return self.of(self.scope).p_value if self.versus else None

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """What a reader should be told."""
        return self.of(self.scope).cautions

    def of(self, scope: str) -> Estimate:
        """Return the estimate of a scope, ``pool`` or ``population``."""
        estimate: Estimate = getattr(self, scope)
        return estimate

    def finding(self, scope: str | None = None) -> Answer:
        """Return what is told of it."""
        about = scope or self.scope
        (other,) = {"pool", "population"} - {about}
        return self._answer(about).with_other(self._answer(other))

    def _p_of(self, scope: str) -> float:
        """Return the p value that belongs to the interval of a scope."""
        return self.of(scope).p_value if self.p_holm is None or scope != self.scope else self.p_holm

    def _answer(self, scope: str) -> Answer:
        estimate = self.of(scope)
        interval = estimate.interval(self.confidence)
        return Answer.of(
            estimate,
            interval,
            system=self.system,
            versus=self.versus,
            measure=self.measure,
            p_value=self._p_of(scope) if self.versus else None,
            needed=self._needed(estimate),
            same_lists=self.same_lists,
        )

    def _needed(self, estimate: Estimate) -> Needed | None:
        """Return how many queries like these should decide a difference, where all of these are judged."""
        if not self.versus or self.pool.std_error > 0:
            return None
        return needed_of_queries(estimate, estimate.interval(self.confidence))

    @property
    def sentences(self) -> list[str]:
        """Which lists are missing, and what it says, in a sentence."""
        return [*missing_lists(self.pool.notes), sentence(self.finding())]

    @property
    def table(self) -> list[dict[str, str]]:
        """The interval about these queries, and that about all of them."""
        rows = table_of([self.finding("pool"), self.finding("population")])
        kept = ("value", "interval", "p")
        about = {"pool": "these queries", "population": "all queries"}
        return [
            {"about": about[scope]} | {name: row[name] for name in kept if name in row} | {"value": rows[0]["value"]}
            for scope, row in zip(("pool", "population"), rows, strict=True)
        ]

    @property
    def footnotes(self) -> list[str]:
        """What measure and intervals are."""
        defined = [] if self.measure == self.definition else [f"{self.measure} is {self.definition}."]
        wide = f"all the traffic of {self.pool.log}" if self.pool.log else "those that these are a sample of"
        intervals = f"{100 * self.confidence:g} % intervals; all queries: {wide}."
        return [*defined, intervals, *counting_lines(self.pool.notes)]

    def rows(self) -> list[dict[str, Cell]]:
        """Return a row for each scope, as the command line has it."""
        asked: dict[str, str] = {"measure": self.measure, "question": self.question, "system": self.system}
        asked |= {"versus": self.versus} if self.versus else {}
        asked |= {"direction": direction(self.system, self.versus), "definition": self.definition}
        return [
            estimate_row(
                asked,
                self.of(scope),
                self.of(scope).interval(self.confidence),
                p_value=self.of(scope).p_value if self.versus else None,
            )
            | missing_fields(self.pool.notes, self.system, self.versus)
            | no_relevant_fields(self.pool.notes)
            | {"sentence": sentence(self.finding(scope))}
            for scope in (self.scope, *({"pool", "population"} - {self.scope}))
        ]

    def plot(self, ax: Any = None) -> Any:
        """Draw the value with its interval; return the axes, on which ``ax`` may insist."""
        return draw_findings([self.finding()], self.confidence, ax)
