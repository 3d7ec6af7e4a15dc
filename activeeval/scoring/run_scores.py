"""Score runs against judgments: values by query, means with intervals, and differences of two runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from activeeval.core.estimation.first_phase import all_values, compare_drawn
from activeeval.core.estimation.significance import MeanSummary, PairedComparison, compare_scores, mean_interval
from activeeval.core.judgments.judging import SUBTOPICS, judging_of
from activeeval.core.measures import Judged, Measure, SampledMeasure, Target, by_gains, shown_name
from activeeval.core.pool import QueryPool, Rankings
from activeeval.core.pool.keyed import Qrels
from activeeval.core.results import Caution, Note
from activeeval.core.types import Floats
from activeeval.formats.judgments.from_files import held_or_read
from activeeval.formats.judgments.truths import judged_labels
from activeeval.formats.loading import TablePool, load_tables, pool_from_tables
from activeeval.formats.reading_rules import reading
from activeeval.formats.subtopics import SubtopicQrels
from activeeval.formats.suffixes import check_one_stdin
from activeeval.inputs.traffic import drawn_queries_of, left_out
from activeeval.report.cautions import NO_RELEVANT
from activeeval.report.rendering import Cell

NO_DIFFERENCE = (0.0, 0.0)
"""Limits of a difference that no label can change from 0."""


@dataclass(frozen=True, slots=True, eq=False)
class RunScores:
    """Values of one run by one measure.

    Attributes
    ----------
    measure, definition : str
        Display name, and text with all parameters.
    values : ndarray, shape (n_queries,)
    limits : (float, float)
        Lowest and highest possible value.
    ranking : Rankings
        The lists down to the measure's cutoff.
    by : Measure
        The measure itself.
    summary : MeanSummary
        Mean over the queries, with its interval and standard error.
    judged : float
        Mean share of judged items down to the cutoff, over queries with a list.
    n_unjudged, n_counted : int
        Number of ranked items down to the cutoff that are unjudged (they earn nothing), and of all of them.
    n_missing, n_ignored, n_tied : int
        Number of judged queries missing from the run (they score 0), of queries of the run without judgments (they
        are ignored), and of queries with equal scores on both sides of the cutoff.
    """

    measure: str
    definition: str
    values: Floats
    limits: tuple[float, float]
    ranking: Rankings
    by: Measure
    summary: MeanSummary
    judged: float
    n_unjudged: int
    n_counted: int
    n_missing: int
    n_ignored: int
    n_tied: int

    def row(self, confidence: float) -> dict[str, Cell]:
        """Convert to a row; `confidence` is that of its interval."""
        return {
            "measure": self.measure,
            "definition": self.definition,
            "value": self.summary.mean,
            "low": self.summary.low,
            "high": self.summary.high,
            "confidence": confidence,
            "queries": self.summary.n,
            "judged": self.judged,
            "missing": self.n_missing,
            "ignored": self.n_ignored,
            "tied_at_cutoff": self.n_tied,
        }


@reading(gains=True)
def read_tables(
    qrels: Any,
    runs: Sequence[Any],
    measures: Sequence[Measure],
    ties: str = "id",
    *,
    machine_is_truth: bool = False,
    no_relevant: str = "zero",
    queries: Any = None,
    condensed: bool = False,
) -> TablePool:
    """Read judgments (of subtopics, or top-k truths, for measures of those) and runs into one pool.

    Parameters
    ----------
    qrels : path, Judgments, dict of dicts or data frame
    runs : sequence of path, Run, dict of dicts or data frame
    measures : sequence of Measure
        They decide in which form judgments are read.
    ties : {"id", "rank", "input"}
        Order of equal scores: document id descending, the rank column, or input order.
    machine_is_truth : bool
        Accept graders' grades as labels.
    no_relevant : {"zero", "skip"}
        Queries without any relevant document score 0, or are left out.
    condensed : bool
        Leave unjudged items out of the lists.
    queries : path or DrawnQueries, optional
        Queries drawn from a log, which they then represent.
    """
    check_one_stdin([qrels, *runs])
    judging = judging_of(measures)
    is_read = machine_is_truth and judging != SUBTOPICS  # to accept graders' grades, judgments are read here
    source = held_or_read(qrels, machine_is_truth=True) if is_read else qrels
    judgments, read = load_tables(partial(judged_labels, judging, source), runs)
    tables = pool_from_tables(judgments, read, evaluated=len(read), ties=ties)
    judging.check_labels(tables.pool, tables.grades, getattr(qrels, "source", qrels))
    tables = tables.condensed() if condensed else tables
    if no_relevant != "zero" or not all(isinstance(measure, Judged) for measure in measures):
        tables = tables.with_rule(no_relevant)  # shares of judged items do not depend on relevance
    tables = judgments.labelled(tables) if isinstance(judgments, SubtopicQrels) else tables
    tables = tables if tables.gains is None else replace(tables, notes=(*tables.notes, gains_note(judgments)))
    return tables if queries is None else _for_log(tables, queries)


def gains_note(judgments: Qrels) -> Note:
    """Note that judgments are read as gains."""
    return Note("gains", {"source": judgments.source})


def bound_measures(measures: Sequence[Measure], tables: TablePool) -> list[Measure]:
    """Fix the grade scale of measures at the largest grade of a table pool.

    If its judgments are gains (fractions) instead of grades, measures use these as the gain of each item.
    """
    top = max(1, int(tables.grades.max()))
    if tables.gains is None:
        return [measure.bound_to(top) for measure in measures]
    return [measure if isinstance(measure, Judged) else by_gains(measure, tables.gains) for measure in measures]


def score_run(tables: TablePool, run: int, measure: Measure, confidence: float = 0.95) -> RunScores:
    """Score the ``run``-th run of a table pool (judgments and runs) by one measure, with an interval for its mean."""
    # labels are what measures read: grades (below 0: unjudged), or grades for each subtopic
    ranking = tables.rankings[run]
    values = measure.score(tables.pool, tables.labels, ranking)
    judged = Judged(measure.cutoff).score(tables.pool, tables.grades, ranking)
    has_list, drawn = ranking.lengths > 0, all_values(tables.pool, values)
    lists = ranking if measure.cutoff is None else ranking.cut_at(measure.cutoff)
    longest = max(int(lists.lengths.max(initial=0)) for lists in tables.rankings)
    limits = measure.limits(max(int(tables.grades.max(initial=0)), 1), measure.cutoff or longest)
    return RunScores(
        measure=shown_name(measure),
        definition=str(measure),
        values=values,
        limits=limits,
        ranking=lists,
        by=measure,
        summary=mean_interval(values, confidence, limits) if drawn is None else drawn.interval(confidence, limits),
        judged=float(judged[has_list].mean()) if has_list.any() else 0.0,
        n_unjudged=int(np.count_nonzero(tables.grades[lists.items] < 0)),
        n_counted=lists.items.size,
        n_missing=tables.n_missing[run],
        n_ignored=tables.n_ignored[run],
        n_tied=n_tied_at_cutoff(tables.pool, tables.scores[run], ranking, measure.cutoff),
    )


def compare_runs(
    first: RunScores,
    second: RunScores,
    pool: QueryPool,
    confidence: float = 0.95,
    rng: np.random.Generator | int | None = None,
) -> PairedComparison:
    """Compare two runs, first − second, query by query; queries drawn from a log are weighted to represent the log.

    For equal lists no label can change the difference, so that its limits are 0. ``rng`` is the seed of the
    randomization test.
    """
    low, high = first.limits
    limits = (low - high, high - low) if _can_differ(first, second) else NO_DIFFERENCE
    drawn = compare_drawn(first.values, second.values, pool, confidence, limits)  # None: not drawn from a log
    if drawn is not None:
        return drawn
    return compare_scores(first.values, second.values, confidence, rng=rng, limits=limits)


def _can_differ(first: RunScores, second: RunScores) -> bool:
    """Check whether a label can change the difference of two runs of the same measure.

    For measures that no sample supports, which cannot say which items matter, check whether the lists differ.
    """
    if isinstance(first.by, SampledMeasure):
        return bool(Target(first.by, first.ranking, second.ranking).matters.any())
    a, b = first.ranking, second.ranking
    return not (np.array_equal(a.offsets, b.offsets) and np.array_equal(a.items, b.items))


def input_notes(tables: TablePool, names: Sequence[str]) -> list[Note | Caution]:
    """Collect notes on judgments and runs, ignored queries included; tables of scores report the rest.

    Parameters
    ----------
    names : sequence of str
        Names of the runs.
    """
    ignored: dict[int, list[str]] = {}  # runs by their number of ignored queries
    for name, n_ignored in zip(names, tables.n_ignored, strict=True):
        if n_ignored:
            ignored.setdefault(n_ignored, []).append(name)
    unjudged = [Note("unjudged queries", {"n": n, "names": tuple(alike)}) for n, alike in ignored.items()]
    return [*(note for note in tables.notes if note.code != NO_RELEVANT), *unjudged]


def _for_log(tables: TablePool, queries: Any) -> TablePool:
    """Weight the queries of a table pool as a sample of the log they were drawn from; notes name those left out.

    Parameters
    ----------
    queries : path or DrawnQueries
    """
    drawn = drawn_queries_of(queries)
    probs, draw = drawn.align(tables.pool)  # probability of each query in the log, and how they were drawn
    weighed = tables.pool.replace(query_probs=probs, draw=draw)
    return replace(tables, pool=weighed, notes=(*tables.notes, *left_out(drawn, tables.pool)))


def n_tied_at_cutoff(pool: QueryPool, scores: Floats, ranking: Rankings, cutoff: int | None) -> int:
    """Count the queries whose items at ranks ``cutoff`` and ``cutoff + 1`` (from 1) have equal scores.

    ``scores`` are those of the run, shape (n_items,); without a cutoff there are none.
    """
    if cutoff is None:
        return 0
    cut = np.flatnonzero(ranking.lengths > cutoff)
    if cut.size == 0:
        return 0
    last = ranking.offsets[cut] + cutoff - 1
    return int(np.count_nonzero(scores[ranking.items[last]] == scores[ranking.items[last + 1]]))
