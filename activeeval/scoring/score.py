"""Verb `score`: score runs against judgments."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from activeeval.core.answers import Answer
from activeeval.core.checks import brief, check_names
from activeeval.core.errors import InputError, did_you_mean
from activeeval.core.judgments.judging import SUBTOPICS, judging_of
from activeeval.core.results import Caution, Interval
from activeeval.core.types import Floats
from activeeval.formats.loading import load_run
from activeeval.formats.reading_rules import reading
from activeeval.formats.tables.frames import frame_of, kind_of_frame
from activeeval.inputs.arguments import checked, in_python, is_path, judgments_in, listed, measures_of, runs_of, warn_of
from activeeval.inputs.file_names import asked_measure
from activeeval.inputs.systems import checked_names, system_names
from activeeval.inputs.traffic import reading_queries
from activeeval.report.answer_sentences import definitions, headline, table_of
from activeeval.report.cautions import counting_lines
from activeeval.report.message_lookup import text_of
from activeeval.report.printable import NamedInterval, PrintableResult
from activeeval.report.rendering import Cell
from activeeval.report.result_pictures import draw_findings
from activeeval.scoring.run_scores import bound_measures, input_notes, read_tables
from activeeval.scoring.run_table import RunRow, RunTable, run_table
from activeeval.traffic.queries import drawn_if_any


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Score(NamedInterval):
    """Score of one run by one measure, and its difference from the baseline.

    Attributes
    ----------
    row : RunRow
        Values by query, their mean, and the comparison with the baseline.
    baseline : str
        Name of the run that it is compared with; "" if there is only one run.
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
        """Name of the run."""
        return self.row.run

    @property
    def measure(self) -> str:
        """Display name of the measure."""
        return self.row.scores.measure

    @property
    def value(self) -> float:
        """Mean over all queries."""
        return self.row.scores.summary.mean

    @property
    def std_error(self) -> float:
        """Standard error of the mean."""
        return self.row.scores.summary.std_error

    @property
    def interval(self) -> Interval:
        """t interval of the mean."""
        summary = self.row.scores.summary
        return Interval(summary.low, summary.high, self.confidence)

    @property
    def by_query(self) -> Floats:
        """Value of each query, shape (n_queries,), in the order of `Scores.query_ids`."""
        return self.row.scores.values

    @property
    def difference(self) -> float | None:
        """Mean minus that of the baseline; None for the baseline itself."""
        return None if self.row.comparison is None else self.row.comparison.difference

    @property
    def difference_interval(self) -> Interval | None:
        """Interval of the difference; None for the baseline itself."""
        pair = self.row.comparison
        return None if pair is None else Interval(pair.low, pair.high, self.confidence)

    @property
    def p_value(self) -> float | None:
        """p value for a difference of 0, corrected for all differences of all measures; None for the baseline."""
        return self.row.p_value


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Scores(PrintableResult):
    """Scores of runs by measures: iterate over each `Score`, or index by the names of a run and a measure.

    Attributes
    ----------
    made : RunTable
    notes : tuple of str
        Sentences on judgments and runs.
    frame_kind : str
        Library of the input frames, "" if there were none.

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
        """Iterate over the scores by measure, then by run."""
        for runs in self.made.by_measure:
            baseline = runs[self.made.baseline].run if len(runs) > 1 else ""
            for row in runs:
                yield Score(row=row, baseline=baseline, confidence=self.made.confidence)

    def __len__(self) -> int:
        """Count the scores: runs × measures."""
        return sum(map(len, self.made.by_measure))

    def __getitem__(self, key: str | tuple[str, str]) -> Score:
        """Return the score of a run, or of a run and a measure if there are several."""
        run, measure = key if isinstance(key, tuple) else (key, None)
        for score in self:
            if score.run == run and measure in (None, score.measure):
                return score
        known = ", ".join(dict.fromkeys(f"{score.run!r}, {score.measure!r}" for score in self))
        raise KeyError(f"{run!r}{'' if measure is None else f', {measure!r}'}; known: {known}")

    @property
    def query_ids(self) -> list[str]:
        """Ids of the judged queries."""
        return list(self.made.pool.query_texts.tolist())

    @property
    def _alone(self) -> Score:
        """The only score; raise InputError if there are several."""
        if len(self) > 1:
            raise InputError(f"there are {len(self)} scores: index them by run and measure")
        return next(iter(self))

    @property
    def value(self) -> float:
        """Mean, if there is one run and one measure."""
        return self._alone.value

    @property
    def std_error(self) -> float:
        """Standard error of the mean, if there is one run and one measure."""
        return self._alone.std_error

    @property
    def interval(self) -> Interval:
        """Interval of the mean, if there is one run and one measure."""
        return self._alone.interval

    @property
    def low(self) -> float:
        """Lower end of the interval, if there is one run and one measure."""
        return self._alone.low

    @property
    def high(self) -> float:
        """Upper end of the interval, if there is one run and one measure."""
        return self._alone.high

    @property
    def _means(self) -> list[Answer]:
        """Answers for each run's mean, measure by measure."""
        return [score.row.mean for score in self]

    @property
    def _differences(self) -> list[Answer]:
        """Answers for each run's difference from the baseline."""
        return [score.row.finding(score.baseline) for score in self if score.row.comparison is not None]

    @property
    def sentences(self) -> list[str]:
        """Sentences on missing lists, and on up to three differences from the baseline or the values of one run."""
        return self.made.missing + headline(self._differences or self._means)

    @property
    def table(self) -> Sequence[Mapping[str, Cell]]:
        """One row for each run and measure, then one for each difference."""
        return table_of(self._means + self._differences)

    @property
    def footnotes(self) -> list[str]:
        """Definitions of measures and intervals, and notes."""
        notes = definitions((score.measure, score.row.scores.definition) for score in self)
        unjudged = [f"{line}." for line in self.made.unjudged]
        intervals = f"{100 * self.made.confidence:g} % intervals."
        return [*notes, intervals, *self.notes, *unjudged, *counting_lines(self.made.notes)]

    def rows(self, *, by_query: bool = False) -> list[dict[str, Cell]]:
        """List a row for each run and measure, or for each query of them, as in the command's JSON and CSV output."""
        return self.made.rows(by_query=by_query, in_all=not by_query, versus=False)

    def to_frame(self, kind: str = "", *, by_query: bool = False) -> Any:
        """Convert the rows to a data frame.

        Parameters
        ----------
        kind : {"", "pandas", "polars", "pyarrow"}
            By default that of the input frames, else pandas if installed, else polars.
        by_query : bool
            One row for each query of each run and measure.
        """
        return frame_of(self.rows(by_query=by_query), kind or self.frame_kind)

    def plot(self, ax: Any = None) -> Any:
        """Plot each value with its interval; return the axes."""
        return draw_findings(self._means, self.made.confidence, ax)


class ScoreOptions(TypedDict, total=False):
    """Further options of `score`.

    Attributes
    ----------
    ties : {"id", "rank", "input"}
        Order of equal scores; by default by document id, descending.
    test : {"t", "wilcoxon", "randomization"}
        Test of the differences; by default t.
    correction : {"holm", "bonferroni", "none"}
        Correction of the p values for all differences of all measures; by default holm.
    seed : int
        Seed of the randomization test; by default 0.
    queries : path, or the result of `activeeval.draw_queries`
        Queries drawn from a search log: means and intervals are then about all its traffic. Or a table of ids and
        texts, for judgments that name queries by their texts.
    no_relevant : {"zero", "skip"}
        Value of a query without any relevant document: 0 as in trec_eval (the default), or left out.
    condensed : bool
        Leave documents without a judgment out of every list before it is scored; by default they keep their ranks.
    columns, leave_out_self, collapse
        Rules for reading tables, runs and judgments; see `activeeval.formats.reading_rules.reading`.
    """

    ties: str
    test: str
    correction: str
    seed: int
    queries: Any
    no_relevant: str
    columns: Mapping[str, str]
    leave_out_self: bool
    collapse: str
    condensed: bool


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
    """Score runs against judgments, with intervals, and compare each with a baseline.

    A judged query that a run lacks scores 0. A query without judgments is ignored. An unjudged item earns nothing and
    keeps its rank.

    Parameters
    ----------
    judgments : path, Judgments, dict of dicts or data frame
        In any form that `activeeval.formats.judgments.from_files.read` reads.
    runs : path, dict of dicts or data frame, a list of them, or a mapping of names to them
        A dict of dicts is one run, in a list or alone.
    measures : str or measure, or a list of them
    baseline : str or int, optional
        The run that the others are compared with, by name or position; by default the first.
    names : sequence of str
        Names of the runs; by default those of their files.
    confidence : float
    options
        See `ScoreOptions`.

    Examples
    --------
    >>> qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "b": 1}, "q3": {"a": 1, "b": 0}}
    >>> runs = {"old": {query: {"a": 1.0, "b": 2.0} for query in qrels},
    ...         "new": {query: {"a": 2.0, "b": 1.0} for query in qrels}}
    >>> scores = score(qrels, runs, ["RR", "P@1"], baseline="old")
    >>> round(scores["new", "RR"].value, 3), round(scores["new", "P@1"].difference, 3)
    (0.833, 0.333)
    """
    check_names(options, ScoreOptions)
    how: dict[str, Any] = {k: v for k, v in options.items() if k in ("columns", "leave_out_self", "collapse") and v}
    with reading(gains=True, **how), reading_queries(options.get("queries")):
        return _scored(judgments, runs, measures, baseline, names, confidence, options)


def _scored(
    judgments: Any,
    runs: Any,
    measures: Any,
    baseline: Any,
    names: Sequence[str],
    confidence: float,
    options: ScoreOptions,
) -> Scores:
    """Score runs with the current rules for reading files; the arguments are those of `score`."""
    run_list = listed(runs)
    kind = kind_of_frame(judgments, *run_list)
    sources, stated_names = runs_of(runs, names)
    chosen, _ = measures_of(measures)
    parsed = [asked_measure(measure) if isinstance(measure, str) else measure for measure in chosen]
    labels = judgments if judging_of(parsed) == SUBTOPICS else judgments_in(judgments)  # subtopics are read later
    loaded = [load_run(run) for run in sources]
    of_files = system_names([run.name for run in loaded], [run.source for run in loaded])
    systems = checked_names(stated_names, len(loaded)) or of_files
    queries = drawn_if_any(options.get("queries"))
    how_read: dict[str, Any] = {k: v for k, v in options.items() if k in ("condensed", "no_relevant", "ties")}
    tables = read_tables(labels, loaded, parsed, queries=queries, **how_read)
    warn_of([("", [note for note in tables.notes if isinstance(note, Caution)])])
    bound = bound_measures(parsed, tables)
    how = {
        "baseline": _place(baseline, run_list, systems),
        "confidence": confidence,
        "test": options.get("test", "t"),
        "correction": options.get("correction", "holm"),
    }
    table = run_table(tables, systems, bound, seed=options.get("seed", 0), **how)  # type: ignore[arg-type]
    notes = tuple(f"{text_of(note, in_python)}." for note in input_notes(tables, systems))
    return Scores(made=table, notes=notes, frame_kind=kind)


def _place(baseline: Any, runs: Sequence[Any], systems: Sequence[str]) -> int:
    """Find the position of the baseline: a position, name (of ``systems``), file or run; InputError if unknown."""
    if baseline is None:
        return 0
    if isinstance(baseline, int) and 0 <= baseline < len(systems):
        return baseline
    for position, run in enumerate(runs):
        if run is baseline or (is_path(run) and is_path(baseline) and os.fspath(run) == os.fspath(baseline)):
            return position
    if isinstance(baseline, str) and baseline in systems:
        return systems.index(baseline)
    meant = did_you_mean(str(baseline), systems)
    problem = f"baseline {brief(baseline)} is none of the runs; {meant}known: {', '.join(systems)}"
    raise InputError(problem, field="baseline")
