"""Results of estimates: a value or a difference with its interval, and lists of several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from activeeval.core.answers import Answer
from activeeval.core.campaign.labels import Progress
from activeeval.core.results import Caution, Estimate, Interval
from activeeval.formats.tables.frames import frame_of
from activeeval.report.answer_sentences import headline, table_of
from activeeval.report.cautions import missing_lists
from activeeval.report.numbers import agreeing, counted
from activeeval.report.printable import NamedInterval, PrintableResult, shown_html, shown_text
from activeeval.report.rendering import Cell
from activeeval.report.result_pictures import EarlyReading, draw_findings, draw_readings
from activeeval.sampling.answers import SampleAnswer
from activeeval.sampling.estimate import Estimates
from activeeval.sampling.query_values import QueryValues


def _no_readings() -> list[EarlyReading]:
    """Return no earlier readings."""
    return []


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Result(NamedInterval, PrintableResult):
    """Estimate of one question: the value of a run, or the difference of two.

    `evaluate`, `compare`, `Sample.estimate` and `StoredCampaign.estimate` return it. Its numbers are those that it
    prints, and those of the command line.

    Attributes
    ----------
    answer : Answer
        The value with the deciding interval: simultaneous over several systems, by Holm's method over several measures.
    question : {"difference", "run", "versus"}
        Difference of two runs, value of a run, or value of the one that it is compared with.
    definition : str
        The measure with all parameters.
    estimates : mapping of str to Estimate
        By scope, "pool" (these queries) and "population" (all that they are a sample of), as far as they are known.
    confidence : float
        Confidence of the interval.
    sentences, table, footnotes, records
        Printed parts, and the rows of `to_frame`.
    progress : Progress or None
        For a sample: numbers of items that are judged, wait, and cannot be judged.
    queries : QueryValues or None
        For a difference by judgments, the values of both runs query by query.
    family : Estimates or None
        For a sample: all estimates made together.
    readings : callable
        Returns the estimates at the end of each block (a part of a sample, after which it can be read).
    frame_kind : str
        Library of the input frames, "" if there were none.

    Examples
    --------
    >>> from activeeval import compare, sample
    >>> run = {f"q{q}": {f"d{d}": float((d + q) % 7) for d in range(6)} for q in range(20)}
    >>> drawn = sample(run, measure="DCG@5", budget=60, max_grade=3, seed=1, names=["new"])
    >>> sheet = drawn.sheet("pandas")
    >>> sheet["grade"] = [int(document[1:]) % 4 for document in sheet["doc_id"]]
    >>> result = drawn.estimate(sheet)
    >>> print(result.sentences[0])
    new: DCG@5 5.6 (4.6 to 6.8), 20 queries, 60 judgments.
    >>> low, high = result.interval
    >>> low < result.value < high, result.measure
    (True, 'DCG@5')

    >>> qrels = {f"q{q}": {"a": q % 2, "b": 2} for q in range(60)}
    >>> runs = [{query: dict(zip("ab", scores)) for query in qrels} for scores in ((2.0, 1.0), (1.0, 2.0))]
    >>> result = compare(*runs, judgments=qrels, measure="DCG@2")
    >>> print(result.sentences[0])
    new is better than old by 0.92 (0.58 to 0.98): DCG@2, 60 queries, 120 judgments.
    >>> round(result.value, 2), round(result.low, 2), result.of("pool").interval().low == result.value
    (0.92, 0.58, True)
    """

    answer: Answer
    question: str
    definition: str
    estimates: Mapping[str, Estimate]
    confidence: float
    sentences: list[str]
    table: Sequence[Mapping[str, Cell]]
    footnotes: list[str]
    records: Sequence[dict[str, Cell]]
    progress: Progress | None = None
    queries: QueryValues | None = None
    family: Estimates | None = None
    readings: Callable[[], list[EarlyReading]] = field(default=_no_readings)
    frame_kind: str = ""

    @property
    def measure(self) -> str:
        """Display name of the measure."""
        return self.answer.measure

    @property
    def system(self) -> str:
        """Name of the run."""
        return self.answer.system

    @property
    def versus(self) -> str:
        """For a difference, the run subtracted; else ""."""
        return self.answer.versus

    @property
    def segment(self) -> str | None:
        """Segment of the queries; None for all queries."""
        return self.answer.segment

    @property
    def scope(self) -> str:
        """The queries that the interval is for: "pool" (these) or "population" (all that they are a sample of)."""
        return self.answer.scope

    @property
    def estimate(self) -> Estimate:
        """Estimate for the result's scope."""
        return self.estimates[self.scope]

    @property
    def value(self) -> float:
        """Estimated value."""
        return self.estimate.value

    @property
    def std_error(self) -> float:
        """Standard error of the value."""
        return self.estimate.std_error

    @property
    def interval(self) -> Interval:
        """Interval, widened for items that cannot be judged; it unpacks into its two ends."""
        return Interval(self.answer.low, self.answer.high, self.confidence)

    @property
    def p_value(self) -> float | None:
        """For a difference: p value of the t test for 0, by Holm's method if there are several."""
        return self.answer.p_value

    @property
    def verdict(self) -> str:
        """For a difference: better, worse, equal or undecided; see `activeeval.core.answers.verdict_of`."""
        return self.answer.verdict

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """Warnings of the estimate."""
        return self.estimate.cautions

    def of(self, scope: str) -> Estimate:
        """Return the estimate for a scope, "pool" or "population"; KeyError if it is not known."""
        return self.estimates[scope]

    def rows(self) -> list[dict[str, Cell]]:
        """List the rows of the result, as in the command's JSON and CSV output."""
        return list(self.records)

    def plot(self, ax: Any = None) -> Any:
        """Plot the value with its interval, at the end of each block if there are several; return the axes.

        ``ax`` are matplotlib axes to draw on; by default new ones.
        """
        moments = self.readings()
        if len(moments) > 1:
            return draw_readings(moments, self.answer, self.confidence, ax)
        return draw_findings([self.answer], self.confidence, ax)


class Results(list[Result]):
    """List of several results that prints as their sentences and one table.

    For a sample of more than two runs `sentences` name the possible winners, and `ranks` the possible ranks of each.

    Examples
    --------
    >>> from activeeval import sample
    >>> runs = {name: {f"q{q}": {f"d{d}": float(d * k % 7) for d in range(6)} for q in range(20)}
    ...         for k, name in enumerate(["a", "b", "c"], 1)}
    >>> drawn = sample(runs, measure="DCG@5", budget=90, max_grade=3, seed=1)
    >>> sheet = drawn.sheet("pandas")
    >>> sheet["grade"] = [(int(row.doc_id[1:]) * int(row.query_id[1:])) % 4 for row in sheet.itertuples()]
    >>> results = drawn.estimate(sheet)
    >>> len(results), results[0].system, results[0].versus
    (3, 'a', 'b')
    >>> results.ranks
    {('DCG@5', 'b'): (1, 1), ('DCG@5', 'a'): (2, 2), ('DCG@5', 'c'): (3, 3)}
    """

    @property
    def _answers(self) -> list[Answer]:
        """Answers of all results."""
        return [result.answer for result in self]

    @property
    def sentences(self) -> list[str]:
        """Main results as sentences, after warnings on runs without a list for some queries."""
        family = self[0].family
        if family is not None:
            return family.headline + _early(family)
        return missing_lists(note for result in self for note in result.estimate.notes) + headline(self._answers)

    @property
    def table(self) -> Sequence[Mapping[str, Cell]]:
        """One row for each result."""
        return table_of(self._answers)

    @property
    def footnotes(self) -> list[str]:
        """Definitions of the table's terms."""
        return list(dict.fromkeys(note for result in self for note in result.footnotes))

    @property
    def ranks(self) -> dict[tuple[str, str], tuple[int, int]]:
        """First and last possible rank of each of more than two runs, by measure and run."""
        family = self[0].family
        return {} if family is None else {(place.measure, place.system): place.ranks for place in family.places}

    def rows(self) -> list[dict[str, Cell]]:
        """List the first record of each result: that of the scope (pool or population) that decides."""
        return [result.records[0] for result in self]

    def to_frame(self, kind: str = "") -> Any:
        """Convert the rows of all results to a data frame of a library, "pandas", "polars" or "pyarrow" (``kind``).

        By default it is that of the input frames.
        """
        return frame_of(self.rows(), kind or next((result.frame_kind for result in self), ""))

    def plot(self, ax: Any = None) -> Any:
        """Plot each value with its interval; return the axes."""
        return draw_findings(self._answers, self[0].confidence, ax)

    def __str__(self) -> str:
        """Format the sentences, the table and the footnotes as text."""
        return shown_text(self.sentences, self.table, self.footnotes)

    def __repr__(self) -> str:
        """Format as `str`, because notebooks and shells show it."""
        return str(self)

    def _repr_html_(self) -> str:
        """Format the sentences, the table and the footnotes as HTML, for notebooks."""
        return shown_html(self.sentences, self.table, self.footnotes)


def results_of(
    estimates: Estimates, readings: Callable[[SampleAnswer], list[EarlyReading]] | None = None, frame_kind: str = ""
) -> Result | Results:
    """Convert the answers of a sample to results: a Result for one answer, else Results.

    Parameters
    ----------
    readings : callable, optional
        Returns the estimates of an answer at the end of each block of the sample.
    frame_kind : str
        Library of the input frames, "" if there were none.
    """
    results = [
        _result_of(answer, estimates, _no_readings if readings is None else partial(readings, answer), frame_kind)
        for answer in estimates.answers
    ]
    return results[0] if len(results) == 1 else Results(results)


def _result_of(
    answer: SampleAnswer, estimates: Estimates, readings: Callable[[], list[EarlyReading]], frame_kind: str
) -> Result:
    """Convert one answer of ``estimates`` to a Result; ``readings`` returns its estimates at the ends of blocks.

    ``frame_kind`` is the library of its data frames, as "pandas".
    """
    finding = answer.finding
    both = [answer] if answer.other is None else [answer, answer.other]
    return Result(
        answer=finding,
        question=answer.question,
        definition=str(answer.target.measure),
        estimates={of_scope.estimate.scope: of_scope.estimate for of_scope in both},
        confidence=answer.interval.confidence,
        sentences=missing_lists(estimates.missing) + headline([finding]) + _early(estimates),
        table=table_of([finding]),
        footnotes=estimates.footnotes,
        records=[estimates.row(answer)],
        progress=estimates.progress,
        family=estimates,
        readings=readings,
        frame_kind=frame_kind,
    )


def _early(estimates: Estimates) -> list[str]:
    """Write a sentence on the number of items that wait for a grade; [] if none do."""
    counts = estimates.progress
    if not counts.waiting:
        return []
    waits = agreeing(counts.waiting, "waits", "wait")
    return [f"This is early: {counts.waiting:,} of {counted(sum(counts), 'item')} {waits}."]
