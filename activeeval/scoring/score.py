"""Runs scored against judgments."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from activeeval.core.answers import Answer
from activeeval.core.checks import brief, check_names
from activeeval.core.errors import InputError, did_you_mean
from activeeval.core.results import Caution, Interval
from activeeval.core.types import Floats
from activeeval.formats.loading import load_run
from activeeval.formats.tables.frames import frame_of, kind_of_frame
from activeeval.inputs.arguments import checked, in_python, is_path, judgments_in, listed, measures_of, runs_of, warn_of
from activeeval.inputs.file_names import asked_measure
from activeeval.inputs.systems import checked_names, system_names
from activeeval.report.answer_sentences import definitions, headline, table_of
from activeeval.report.cautions import counting_lines
from activeeval.report.message_lookup import text_of
from activeeval.report.printable import NamedInterval, PrintableResult
from activeeval.report.rendering import Cell
from activeeval.report.result_pictures import draw_findings
from activeeval.scoring.run_scores import for_log, input_notes, read_tables
from activeeval.scoring.run_table import RunRow, RunTable, run_table
from activeeval.traffic.queries import drawn_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Score(NamedInterval):
    """One run by one measure.

    Attributes
    ----------
    row : RunRow
    baseline : str
        What the run is called that it is compared with.
    confidence : float

    Examples
    --------
    >>> qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "b": 1}, "q3": {"a": 1, "b": 0}}
    >>> result = score(qrels, {"new": {query: {"a": 2.0, "b": 1.0} for query in qrels}}, "RR")["new", "RR"]
    >>> round(result.value, 3), round(result.std_error, 3)
    (0.833, 0.167)
    >>> result.by_query
    array([1. , 0.5, 1. ])
    """

    row: RunRow
    baseline: str
    confidence: float

    @property
    def run(self) -> str:
        """What the run is called."""
        return self.row.run

    @property
    def measure(self) -> str:
        """The measure, as it is shown."""
        return self.row.scores.measure

    @property
    def value(self) -> float:
        """The mean over all queries."""
        return self.row.scores.summary.mean

    @property
    def std_error(self) -> float:
        """The standard error of the mean."""
        return self.row.scores.summary.std_error

    @property
    def interval(self) -> Interval:
        """The t interval of the mean."""
        summary = self.row.scores.summary
        return Interval(summary.low, summary.high, self.confidence)

    @property
    def by_query(self) -> Floats:
        """The value of each query, shape (n_queries,), in the order of `Scores.query_ids`."""
        return self.row.scores.values

    @property
    def difference(self) -> float | None:
        """By how much the mean is above the baseline's; None of the baseline itself."""
        return None if self.row.comparison is None else self.row.comparison.difference

    @property
    def difference_interval(self) -> Interval | None:
        """The interval of the difference."""
        pair = self.row.comparison
        return None if pair is None else Interval(pair.low, pair.high, self.confidence)

    @property
    def p_value(self) -> float | None:
        """Of the test that the difference is 0, corrected for all differences of all measures."""
        return self.row.p_value


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Scores(PrintableResult):
    """Runs by measures; iterates over each `Score`, and is indexed by the names of a run and a measure.

    Attributes
    ----------
    made : RunTable
    notes : tuple of str
        What to know of judgments and runs, in sentences.
    frame_kind : str
        The library whose frames came in, "" where none did.

    Examples
    --------
    >>> qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "b": 1}, "q3": {"a": 1, "b": 0}}
    >>> scores = score(qrels, {"new": {query: {"a": 2.0, "b": 1.0} for query in qrels}}, ["RR", "P@1"])
    >>> [(each.run, each.measure, round(each.value, 2)) for each in scores]
    [('new', 'RR', 0.83), ('new', 'P@1', 0.67)]
    >>> round(scores["new", "P@1"].value, 2)
    0.67
    """

    made: RunTable
    notes: tuple[str, ...] = ()
    frame_kind: str = ""

    def __iter__(self) -> Iterator[Score]:
        for runs in self.made.by_measure:
            baseline = runs[self.made.baseline].run if len(runs) > 1 else ""
            for row in runs:
                yield Score(row=row, baseline=baseline, confidence=self.made.confidence)

    def __len__(self) -> int:
        return sum(map(len, self.made.by_measure))

    def __getitem__(self, key: str | tuple[str, str]) -> Score:
        """Return the score of a run, and a measure where there are several."""
        run, measure = key if isinstance(key, tuple) else (key, None)
        for score in self:
            if score.run == run and measure in (None, score.measure):
                return score
        known = ", ".join(dict.fromkeys(f"{score.run!r}, {score.measure!r}" for score in self))
        raise KeyError(f"{run!r}{'' if measure is None else f', {measure!r}'}; known: {known}")

    @property
    def query_ids(self) -> list[str]:
        """The queries that are judged."""
        ids: list[str] = self.made.pool.query_texts.tolist()
        return ids

    @property
    def _alone(self) -> Score:
        if len(self) > 1:
            raise InputError(f"there are {len(self)} scores: index them by run and measure")
        return next(iter(self))

    @property
    def value(self) -> float:
        """Of one run by one measure: the mean."""
        return self._alone.value

    @property
    def std_error(self) -> float:
        """Of one run by one measure: its standard error."""
        return self._alone.std_error

    @property
    def interval(self) -> Interval:
        """Of one run by one measure: its interval."""
        return self._alone.interval

    @property
    def low(self) -> float:
        """Of one run by one measure: the lower end of the interval."""
        return self._alone.low

    @property
    def high(self) -> float:
        """Of one run by one measure: the upper end of the interval."""
        return self._alone.high

    @property
    def _means(self) -> list[Answer]:
        return [score.row.mean for score in self]

    @property
    def _differences(self) -> list[Answer]:
        return [score.row.finding(score.baseline) for score in self if score.row.comparison is not None]

    @property
    def sentences(self) -> list[str]:
        """Which lists are missing; the differences to the baseline, or the values of one run, at most three."""
        return self.made.missing + headline(self._differences or self._means)

    @property
    def table(self) -> Sequence[Mapping[str, Cell]]:
        """A row for each run and measure, then one for each difference."""
        return table_of(self._means + self._differences)

    @property
    def footnotes(self) -> list[str]:
        """What measures and intervals are."""
        notes = definitions((score.measure, score.row.scores.definition) for score in self)
        unjudged = [f"{line}." for line in self.made.unjudged]
        intervals = f"{100 * self.made.confidence:g} % intervals."
        return [*notes, intervals, *self.notes, *unjudged, *counting_lines(self.made.notes)]

    def rows(self, *, by_query: bool = False) -> list[dict[str, Cell]]:
        """Return a row for each run and measure, as the command line has it, or for each query of them."""
        return self.made.rows(by_query=by_query, in_all=not by_query, versus=False)

    def to_frame(self, kind: str = "", *, by_query: bool = False) -> Any:
        """Return the rows as a data frame.

        Parameters
        ----------
        kind : {"", "pandas", "polars", "pyarrow"}
            By default that of the frames that came in; else pandas where it is installed, else polars.
        by_query : bool
            A row for each query of each run and measure.
        """
        return frame_of(self.rows(by_query=by_query), kind or self.frame_kind)

    def plot(self, ax: Any = None) -> Any:
        """Draw each value with its interval; return the axes."""
        return draw_findings(self._means, self.made.confidence, ax)


class ScoreOptions(TypedDict, total=False):
    """What else `score` may be told.

    Attributes
    ----------
    ties : {"id", "rank", "input"}
        Order of equal scores; by default by document id, descending.
    test : {"t", "wilcoxon", "randomization"}
        Of the differences; by default t.
    correction : {"holm", "bonferroni", "none"}
        Of the p values, for all differences of all measures; by default holm.
    seed : int
        Of the randomization test; by default 0.
    queries : path, or what `activeeval.draw_queries` returns
        Queries that were drawn from a log of searches: means and intervals are then about all its traffic.
    no_relevant : {"zero", "skip"}
        What a query without any relevant document is: of value 0, as in trec_eval, which is the default, or left out.
    """

    ties: str
    test: str
    correction: str
    seed: int
    queries: Any
    no_relevant: str


@checked
def score(
    judgments: Any,
    runs: Any,
    measures: Any = "nDCG@10",
    *,
    baseline: Any = None,
    names: Sequence[str] = (),
    confidence: float = 0.95,
    **options: Unpack[ScoreOptions],
) -> Scores:
    """Score runs against judgments, with intervals, and each against a baseline.

    A judged query that a run lacks scores 0; a query without judgments is ignored; an item nobody judged earns nothing
    and keeps its rank.

    Parameters
    ----------
    judgments : path, Judgments, dict of dicts or data frame
        In any form that `activeeval.formats.judgments.from_files.read` knows.
    runs : path, dict of dicts or data frame, a list of them, or a mapping of names to them
        A dict of dicts is a run where it is in a list, or the only one that is given.
    measures : str or measure, or a list of them
    baseline : str or int, optional
        The run that the others are compared with, by its name or its place; by default the first.
    names : sequence of str
        What the runs are called; by default their files.
    confidence : float
    options
        `ScoreOptions`: ties, test, correction, seed, queries and no_relevant.

    Examples
    --------
    >>> qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "b": 1}, "q3": {"a": 1, "b": 0}}
    >>> runs = {"old": {query: {"a": 1.0, "b": 2.0} for query in qrels},
    ...         "new": {query: {"a": 2.0, "b": 1.0} for query in qrels}}
    >>> scores = score(qrels, runs, ["RR", "P@1"], baseline="old")
    >>> round(scores["new", "RR"].value, 3), round(scores["new", "P@1"].difference, 3)
    (0.833, 0.333)
    >>> scores.to_frame("polars").shape[0]
    4
    """
    check_names(options, ScoreOptions)
    held = listed(runs)
    kind = kind_of_frame(judgments, *held)
    asked, called = runs_of(runs, names)
    labels = judgments_in(judgments)
    chosen, _ = measures_of(measures)
    parsed = [asked_measure(each) if isinstance(each, str) else each for each in chosen]
    loaded = [load_run(run) for run in asked]
    of_files = system_names([run.name for run in loaded], [run.source for run in loaded])
    systems = checked_names(called, len(loaded)) or of_files
    tables = read_tables(
        labels, loaded, parsed, options.get("ties", "id"), no_relevant=options.get("no_relevant", "zero")
    )
    if options.get("queries") is not None:
        tables = for_log(tables, drawn_of(options["queries"]))
    warn_of([("", [note for note in tables.notes if isinstance(note, Caution)])])
    bound = [measure.bound_to(max(1, int(tables.grades.max()))) for measure in parsed]
    how = {
        "baseline": _place(baseline, held, systems),
        "confidence": confidence,
        "test": options.get("test", "t"),
        "correction": options.get("correction", "holm"),
    }
    made = run_table(tables, systems, bound, seed=options.get("seed", 0), **how)  # type: ignore[arg-type]
    notes = tuple(f"{text_of(note, in_python)}." for note in input_notes(tables, systems))
    return Scores(made=made, notes=notes, frame_kind=kind)


def _place(baseline: Any, runs: Sequence[Any], systems: Sequence[str]) -> int:
    """Return which run the others are compared with: by its place, its name, its file, or as the object it is."""
    if baseline is None:
        return 0
    if isinstance(baseline, int) and 0 <= baseline < len(systems):
        return baseline
    for place, run in enumerate(runs):
        if run is baseline or (is_path(run) and is_path(baseline) and os.fspath(run) == os.fspath(baseline)):
            return place
    if isinstance(baseline, str) and baseline in systems:
        return systems.index(baseline)
    meant = did_you_mean(str(baseline), systems)
    raise InputError(
        f"baseline {brief(baseline)} is none of the runs; {meant}known: {', '.join(systems)}", field="baseline"
    )
