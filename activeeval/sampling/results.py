"""What a judged sample or a campaign answers: a value with its interval, and several of them as a list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from activeeval.core.answers import Answer
from activeeval.core.campaign.labels import Progress
from activeeval.core.measures import shown_name
from activeeval.core.results import Caution, Interval
from activeeval.formats.tables.frames import frame_of
from activeeval.report.cautions import missing_lists
from activeeval.report.findings import headline, table_of
from activeeval.report.numbers import agreeing, counted
from activeeval.report.rendering import Cell
from activeeval.report.result_pictures import EarlyReading, draw_findings, draw_readings
from activeeval.report.shown import PrintableResult, WithEnds, shown_html, shown_text
from activeeval.sampling.answers import SampleAnswer
from activeeval.sampling.estimate import Estimates
from activeeval.sampling.evaluation import Evaluation

AnyResult = TypeVar("AnyResult", bound=PrintableResult)


def _no_moments() -> list[EarlyReading]:
    return []


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Result(WithEnds, PrintableResult):
    """What a judged sample or a campaign says of one question.

    Attributes
    ----------
    answer : SampleAnswer
        The question with its estimate.
    estimates : Estimates
        All that was answered with it.
    readings : callable
        Returns what could be read at the end of each block.
    frame_kind : str
        The library whose frames came in, "" where none did.

    Examples
    --------
    >>> from activeeval import sample
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
    """

    answer: SampleAnswer
    estimates: Estimates
    readings: Callable[[], list[EarlyReading]] = field(default=_no_moments)
    frame_kind: str = ""

    @property
    def measure(self) -> str:
        """The measure, as it is shown."""
        return shown_name(self.answer.target.measure)

    @property
    def question(self) -> str:
        """What is asked: difference, run or versus."""
        return self.answer.question

    @property
    def system(self) -> str:
        """What the run is called."""
        return self.answer.system

    @property
    def versus(self) -> str:
        """Of a difference the run that is taken off, else empty."""
        return self.answer.versus

    @property
    def segment(self) -> str | None:
        """The queries that it is about, where these are not all."""
        return self.answer.segment

    @property
    def scope(self) -> str:
        """What the interval is about: pool or population."""
        return self.answer.estimate.scope

    @property
    def value(self) -> float:
        """The estimate."""
        return self.answer.estimate.value

    @property
    def std_error(self) -> float:
        """The standard error."""
        return self.answer.estimate.std_error

    @property
    def interval(self) -> Interval:
        """The interval, with room for items that cannot be judged: it unpacks into its two ends."""
        interval = self.answer.interval
        return Interval(*self.answer.estimate.bounds(interval), interval.confidence)

    @property
    def p_value(self) -> float | None:
        """Of a difference: that of the t test that it is 0."""
        return self.answer.p_value if self.versus else None

    @property
    def progress(self) -> Progress:
        """How many items are judged, wait, and cannot be judged."""
        return self.estimates.progress

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """What a reader should be told."""
        return self.answer.estimate.cautions

    @property
    def finding(self) -> Answer:
        """What is told of it."""
        return self.answer.finding

    @property
    def sentences(self) -> list[str]:
        """What it says, in a sentence; and how much of it waits, where something does."""
        return missing_lists(self.estimates.missing) + headline([self.finding]) + _early(self.estimates)

    @property
    def table(self) -> list[dict[str, str]]:
        """The value and its interval."""
        return table_of([self.finding])

    @property
    def footnotes(self) -> list[str]:
        """What measure and interval are."""
        return self.estimates.footnotes

    def rows(self) -> list[dict[str, Cell]]:
        """Return its row, as the command line has it."""
        return [self.estimates.row(self.answer)]

    def plot(self, ax: Any = None) -> Any:
        """Draw the value with its interval, at the end of each block where there are several; return the axes."""
        moments = self.readings()
        if len(moments) > 1:
            return draw_readings(moments, self.finding, self.interval.confidence, ax)
        return draw_findings([self.finding], self.interval.confidence, ax)


class ResultList(list[AnyResult]):
    """Several results: a list that prints as their sentences and one table."""

    @property
    def sentences(self) -> list[str]:
        """What they begin with."""
        return headline(self._findings)

    @property
    def table(self) -> Sequence[Mapping[str, Cell]]:
        """A row for each."""
        return table_of(self._findings)

    @property
    def footnotes(self) -> list[str]:
        """What the words in the table mean."""
        return list(dict.fromkeys(note for result in self for note in result.footnotes))

    @property
    def _findings(self) -> list[Answer]:
        raise TypeError("only results have findings")

    def rows(self) -> list[dict[str, Cell]]:
        """Return the rows of all."""
        return [row for result in self for row in result.rows()]

    def to_frame(self, kind: str = "") -> Any:
        """Return the rows of all as a data frame; ``kind`` as of a single result."""
        return frame_of(self.rows(), kind or next((result.frame_kind for result in self), ""))

    def plot(self, ax: Any = None) -> Any:
        """Draw each value with its interval; return the axes."""
        return draw_findings(self._findings, self._confidence, ax)

    @property
    def _confidence(self) -> float:
        raise TypeError("only results have a confidence")

    def __str__(self) -> str:
        return shown_text(self.sentences, self.table, self.footnotes)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return shown_html(self.sentences, self.table, self.footnotes)


class Evaluations(ResultList[Evaluation]):
    """What judgments say by several measures."""

    @property
    def _findings(self) -> list[Answer]:
        return [evaluation.finding() for evaluation in self]

    @property
    def _confidence(self) -> float:
        return self[0].confidence

    @property
    def sentences(self) -> list[str]:
        """Which lists are missing, and what they begin with."""
        return missing_lists(note for each in self for note in each.pool.notes) + headline(self._findings)

    def rows(self) -> list[dict[str, Cell]]:
        """Return a row for each, about what its scope says."""
        return [evaluation.rows()[0] for evaluation in self]


class Results(ResultList[Result]):
    """What a judged sample or a campaign says of several questions.

    Of more than two runs `sentences` say which may be the best, and `ranks` where each may stand.

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
    def _findings(self) -> list[Answer]:
        return [result.finding for result in self]

    @property
    def _confidence(self) -> float:
        return self[0].interval.confidence

    @property
    def sentences(self) -> list[str]:
        """What they begin with."""
        return self[0].estimates.headline + _early(self[0].estimates)

    @property
    def ranks(self) -> dict[tuple[str, str], tuple[int, int]]:
        """The first and the last rank that each of more than two runs can have, by measure and run."""
        return {(place.measure, place.system): place.ranks for place in self[0].estimates.places}


def results_of(
    estimates: Estimates, readings: Callable[[SampleAnswer], list[EarlyReading]] | None = None, frame_kind: str = ""
) -> Result | Results:
    """Return what was answered: one result where one question was asked, else a list of them."""

    def reading_of(answer: SampleAnswer) -> Callable[[], list[EarlyReading]]:
        return _no_moments if readings is None else lambda: readings(answer)

    made = [
        Result(answer=answer, estimates=estimates, readings=reading_of(answer), frame_kind=frame_kind)
        for answer in estimates.answers
    ]
    return made[0] if len(made) == 1 else Results(made)


def _early(estimates: Estimates) -> list[str]:
    """Return how much waits, where something does."""
    counts = estimates.progress
    return (
        [
            f"This is early: {counts.waiting:,} of {counted(sum(counts), 'item')} "
            f"{agreeing(counts.waiting, 'waits', 'wait')}."
        ]
        if counts.waiting
        else []
    )
