"""Runs scored against judgments: per query, in the mean with its interval, and two runs compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from activeeval.core.answers import Answer
from activeeval.core.campaign.deciding import more_queries
from activeeval.core.checks import LARGEST_SEED, one_of, whole_number
from activeeval.core.errors import ChoiceError
from activeeval.core.estimation.first_phase import all_values, compare_drawn
from activeeval.core.estimation.significance import (
    CORRECTIONS,
    TESTS,
    MeanSummary,
    PairedComparison,
    compare_scores,
    corrected,
    corrected_confidences,
    mean_interval,
)
from activeeval.core.judgments.judging import judging_of
from activeeval.core.measures import Judged, Measure, SampledMeasure, Target, shown_name
from activeeval.core.pool import QueryPool, Rankings
from activeeval.core.results import Caution, Note
from activeeval.core.types import Floats
from activeeval.formats.judgments.from_files import read as judgments_of
from activeeval.formats.judgments.truths import judged_labels
from activeeval.formats.loading import TablePool, load_tables, pool_from_tables
from activeeval.inputs.traffic import drawn_queries_of, left_out
from activeeval.report.cautions import NO_RELEVANT, no_relevant_fields
from activeeval.report.findings import missing_lists_sentence, sentence
from activeeval.report.numbers import agreeing, counted
from activeeval.report.rendering import Cell

_NO_DIFFERENCE = (0.0, 0.0)
"""Limits of a difference between runs where no label makes one."""
_OF_RUN = ("value", "judged", "missing", "ignored", "tied_at_cutoff")


@dataclass(frozen=True, slots=True, eq=False)
class RunScores:
    """One run by one measure.

    Attributes
    ----------
    measure, definition : str
        As it is shown, and written with all its parameters.
    values : ndarray, shape (n_queries,)
    limits : (float, float)
        Lowest and highest of what a value can be.
    ranking : Rankings
        The lists as deep as the measure counts.
    by : Measure
    summary : MeanSummary
    judged : float
        Mean share of judged items among those that count.
    n_unjudged, n_counted : int
        Ranked items down to the cutoff that nobody judged, which earn nothing, and all of them.
    n_missing, n_ignored, n_tied : int
        Judged queries missing from the run (they score 0), queries of the run without judgments,
        queries whose cutoff falls between equal scores.
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
        """Return the run as a row; its interval is of a confidence."""
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


def read_tables(
    qrels: Any,
    runs: Sequence[Any],
    measures: Sequence[Measure],
    ties: str = "id",
    *,
    machine_is_truth: bool = False,
    no_relevant: str = "zero",
) -> TablePool:
    """Return judgments, or truths of the top k where measures are of these, and runs as one pool.

    Parameters
    ----------
    no_relevant : {"zero", "skip"}
        What a query without any relevant document is; see `TablePool.with_rule`.
    """
    judging = judging_of(measures)
    source = judgments_of(qrels, machine_is_truth=True) if machine_is_truth else qrels
    judgments, read = load_tables(partial(judged_labels, judging, source), runs)
    tables = pool_from_tables(judgments, read, evaluated=len(read), ties=ties)
    judging.check_labels(tables.pool, tables.grades, getattr(qrels, "source", qrels))
    if no_relevant == "zero" and all(isinstance(measure, Judged) for measure in measures):
        return tables  # shares of judged items ask nothing of relevance
    return tables.with_rule(no_relevant)


def score_run(tables: TablePool, run: int, measure: Measure, confidence: float = 0.95) -> RunScores:
    """Score the ``run``-th run of a table pool."""
    ranking = tables.rankings[run]
    values = measure.score(tables.pool, tables.grades, ranking)
    judged = Judged(measure.cutoff).score(tables.pool, tables.grades, ranking)
    held, drawn = ranking.lengths > 0, all_values(tables.pool, values)
    lists = ranking if measure.cutoff is None else ranking.cut_at(measure.cutoff)
    longest = max(int(each.lengths.max(initial=0)) for each in tables.rankings)
    limits = measure.limits(max(int(tables.grades.max(initial=0)), 1), measure.cutoff or longest)
    return RunScores(
        measure=shown_name(measure),
        definition=str(measure),
        values=values,
        limits=limits,
        ranking=lists,
        by=measure,
        summary=mean_interval(values, confidence, limits) if drawn is None else drawn.interval(confidence, limits),
        judged=float(judged[held].mean()) if held.any() else 0.0,
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
    """Compare two runs query by query: for the log, where the pool was drawn from one.

    Of the same lists no label makes a difference, here or in other queries.
    """
    low, high = first.limits
    limits = (low - high, high - low) if _can_differ(first, second) else _NO_DIFFERENCE
    drawn = compare_drawn(first.values, second.values, pool, confidence, limits)
    if drawn is not None:
        return drawn
    return compare_scores(first.values, second.values, confidence, rng=rng, limits=limits)


def _can_differ(first: RunScores, second: RunScores) -> bool:
    """Whether a label can make a difference between two runs, by a measure that tells it; else whether lists differ."""
    if isinstance(first.by, SampledMeasure):
        return bool(Target(first.by, first.ranking, second.ranking).matters.any())
    mine, other = first.ranking, second.ranking
    return not (np.array_equal(mine.offsets, other.offsets) and np.array_equal(mine.items, other.items))


def input_notes(tables: TablePool, names: Sequence[str]) -> list[Note | Caution]:
    """Return what to know of judgments and runs, queries that are ignored too; tables of scores say the rest.

    Parameters
    ----------
    names : sequence of str
        Of the runs.
    """
    ignored: dict[int, list[str]] = {}
    for name, n_ignored in zip(names, tables.n_ignored, strict=True):
        if n_ignored:
            ignored.setdefault(n_ignored, []).append(name)
    unjudged = [Note("unjudged queries", {"n": n, "names": tuple(alike)}) for n, alike in ignored.items()]
    return [*(note for note in tables.notes if note.code != NO_RELEVANT), *unjudged]


def for_log(tables: TablePool, queries: Any) -> TablePool:
    """Return a table pool whose queries stand for the log that they were drawn from; its notes say what was left out.

    Parameters
    ----------
    queries : path or DrawnQueries
    """
    drawn = drawn_queries_of(queries)
    probs, draw = drawn.align(tables.pool)
    weighed = tables.pool.replace(query_probs=probs, draw=draw)
    return replace(tables, pool=weighed, notes=(*tables.notes, *left_out(drawn, tables.pool)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunRow:
    """One run by one measure, beside the baseline.

    Attributes
    ----------
    run : str
        Its name.
    scores : RunScores
    comparison : PairedComparison or None
        Run − baseline; None for the baseline itself.
    same_lists : bool
        Whether the lists are those of the baseline in all queries, as far as the measure reads them.
    p_value : float or None
        Of the test that was asked for, corrected for all comparisons of all measures.
    confidence : float
        Of the intervals.
    """

    run: str
    scores: RunScores
    comparison: PairedComparison | None
    same_lists: bool
    p_value: float | None
    confidence: float = 0.95

    @property
    def mean(self) -> Answer:
        """What is told of the run alone."""
        summary = self.scores.summary
        names: dict[str, Any] = {"system": self.run, "measure": self.scores.measure, "n_items": None}
        names["is_constant"] = True  # an interval without a width is one of values that are all the same
        names |= {"scope": "population", "is_supported": math.isfinite(summary.std_error)}
        return Answer(value=summary.mean, low=summary.low, high=summary.high, n_queries=summary.n, **names)

    def finding(self, baseline: str) -> Answer:
        """Return what is told of it: of its difference to the baseline, else of its mean."""
        pair = self.comparison
        if pair is None:
            return self.mean
        half = pair.difference - pair.low if pair.difference > 0 else pair.high - pair.difference
        needed = more_queries(half, abs(pair.difference), self.scores.summary.n, self.confidence)
        difference = replace(
            self.mean, versus=baseline, p_value=self.p_value, needed=needed, same_lists=self.same_lists
        )
        difference = replace(difference, largest_share=pair.largest_share)
        return replace(difference, value=pair.difference, low=pair.low, high=pair.high)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunTable:
    """Several runs side by side by some measures.

    Attributes
    ----------
    pool : QueryPool
    by_measure : tuple of tuple of RunRow
        In the order of the measures, and of the runs.
    baseline : int
        The run that the others are compared with.
    confidence : float
    test, correction : str
        What the p values are of.
    notes : tuple of Note
        What is to be known of the judgments and the runs.
    """

    pool: QueryPool
    by_measure: tuple[tuple[RunRow, ...], ...]
    baseline: int
    confidence: float
    test: str
    correction: str
    notes: tuple[Note | Caution, ...] = ()

    @property
    def missing(self) -> list[str]:
        """The sentences on runs without lists for some queries, which stand before all others."""
        counts = {run.run: run.scores.n_missing for run in self.by_measure[0]}
        return [missing_lists_sentence(n, self.pool.n_queries, name) for name, n in counts.items() if n]

    @property
    def unjudged(self) -> list[str]:
        """The sentences on ranked items without a judgment; measures of one cutoff say the same, once."""
        lines = []
        for run in (run for runs in self.by_measure for run in runs if run.scores.n_unjudged):
            n, of, cutoff = run.scores.n_unjudged, run.scores.n_counted, run.scores.by.cutoff
            what = agreeing(n, "is not judged and earns nothing", "are not judged and earn nothing")
            where = counted(of, "ranked item") if cutoff is None else f"{counted(of, 'item')} down to rank {cutoff}"
            lines.append(f"{run.run}: {n:,} of {where} {what}")
        return list(dict.fromkeys(lines))

    @property
    def findings(self) -> list[list[Answer]]:
        """What is told of each run by each measure, measure by measure."""
        return [[run.finding(runs[self.baseline].run) for run in runs] for runs in self.by_measure]

    def rows(self, *, by_query: bool, in_all: bool, versus: bool) -> list[dict[str, Cell]]:
        """Return rows measure by measure: of queries, where these are wanted, and of all together.

        Parameters
        ----------
        versus : bool
            Of two runs: a row has the figures of both.
        """
        rows = []
        for runs in self.by_measure:
            rows += self._query_rows(runs, versus) if by_query else []
            rows += self._summary_rows(runs, versus) if in_all else []
        return rows

    def _query_rows(self, runs: Sequence[RunRow], versus: bool) -> list[dict[str, Cell]]:
        """Return a row for each query and run of one measure; of ``versus`` both runs share it."""
        baseline, rows = runs[self.baseline].scores.values.tolist(), []
        values = [(run, run.scores.values.tolist()) for run in (runs[:1] if versus else runs)]
        for q, query in enumerate(self.pool.query_ids.tolist()):
            for run, scores in values:
                row = {"query_id": query} | _named(run, runs, versus)
                row |= {"measure": run.scores.measure, "value": scores[q]}
                row |= {"versus_value": baseline[q]} if versus else {}
                rows.append(row if run.comparison is None else row | {"difference": scores[q] - baseline[q]})
        return rows

    def _summary_rows(self, runs: Sequence[RunRow], versus: bool) -> list[dict[str, Cell]]:
        """Return a row for each run of one measure, or of ``versus`` one for the first with the other's figures."""
        rows = []
        for run in runs[:1] if versus else runs:
            row = {"query_id": "all"} | _named(run, runs, versus) | run.scores.row(self.confidence)
            row |= {} if self.pool.draw is None else {"log": self.pool.draw.log.name}
            row |= no_relevant_fields(self.notes)
            row["sentence"] = sentence(run.finding(runs[self.baseline].run))
            if versus:
                figures = runs[self.baseline].scores.row(self.confidence)
                row |= {f"versus_{name}": figures[name] for name in _OF_RUN}
            elif run.comparison is not None:
                row |= {"baseline": runs[self.baseline].run}
            rows.append(row | self._difference(run))
        return rows

    def _difference(self, run: RunRow) -> dict[str, Cell]:
        """Return how a run differs from the baseline; nothing of the baseline."""
        pair = run.comparison
        if pair is None:
            return {}
        return {
            "difference": pair.difference,
            "difference_low": pair.low,
            "difference_high": pair.high,
            "p_t": pair.p_t,
            "p_wilcoxon": pair.p_wilcoxon,
            "p_randomization": pair.p_randomization,
            "p_value": run.p_value,
            "verdict": run.finding(self.by_measure[0][self.baseline].run).verdict,
            "test": self.test,
            "correction": self.correction,
            "wins": pair.wins,
            "ties": pair.ties,
            "losses": pair.losses,
        }


def _named(run: RunRow, runs: Sequence[RunRow], versus: bool) -> dict[str, Cell]:
    """Return the name of a run, and of the one that it is compared with in the same row."""
    names: dict[str, Cell] = {"run": run.run}
    return names | ({"versus": runs[-1].run} if versus else {})


def run_table(
    tables: TablePool,
    names: Sequence[str],
    measures: Sequence[Measure],
    *,
    baseline: int = 0,
    confidence: float = 0.95,
    test: str = "t",
    correction: str = "holm",
    seed: int = 0,
) -> RunTable:
    """Score all runs by some measures, each against a baseline.

    Parameters
    ----------
    names : sequence of str
        Of the table pool's runs.
    baseline : int
        The run that the others are compared with.
    confidence : float
        Confidence of all intervals.
    test : {"t", "wilcoxon", "randomization"}
    correction : {"holm", "bonferroni", "none"}
        Of the p values, for runs × measures.
    seed : int
        Of every randomization test.
    """
    one_of(correction, CORRECTIONS, "`correction`")
    whole_number(seed, "seed", 0, LARGEST_SEED)
    if one_of(test, TESTS, "`test`") != "t" and tables.pool.draw is not None:
        raise ChoiceError(f"`test` {test} takes queries for alike, drawn `queries` are not: expected t", field="test")
    scored = [[score_run(tables, run, measure, confidence) for run in range(len(names))] for measure in measures]
    pairs = [
        [
            None if k == baseline else compare_runs(run, runs[baseline], tables.pool, confidence, seed)
            for k, run in enumerate(runs)
        ]
        for runs in scored
    ]
    made = [pair for row in pairs for pair in row if pair is not None]
    adjusted = iter(corrected([pair.p_value(test) for pair in made], correction).tolist() if made else [])
    shared = iter(corrected_confidences([pair.p_t for pair in made], correction, confidence).tolist() if made else [])
    by_measure = tuple(
        tuple(
            RunRow(
                run=name,
                scores=scores,
                comparison=None if pair is None else pair.at(each := next(shared)),
                same_lists=pair is not None and pair.basis.limits == _NO_DIFFERENCE,
                p_value=None if pair is None else next(adjusted),
                confidence=confidence if pair is None else each,
            )
            for name, scores, pair in zip(names, runs, row, strict=True)
        )
        for runs, row in zip(scored, pairs, strict=True)
    )
    how = {"confidence": confidence, "test": test, "correction": correction}
    parts: dict[str, Any] = {"pool": tables.pool, "by_measure": by_measure, "baseline": baseline, "notes": tables.notes}
    return RunTable(**parts, **how)  # type: ignore[arg-type]


def n_tied_at_cutoff(pool: QueryPool, scores: Floats, ranking: Rankings, cutoff: int | None) -> int:
    """Return the number of queries whose items at ranks ``cutoff`` and ``cutoff + 1`` score the same."""
    if cutoff is None:
        return 0
    cut = np.flatnonzero(ranking.lengths > cutoff)
    if cut.size == 0:
        return 0
    last = ranking.offsets[cut] + cutoff - 1
    return int(np.count_nonzero(scores[ranking.items[last]] == scores[ranking.items[last + 1]]))
