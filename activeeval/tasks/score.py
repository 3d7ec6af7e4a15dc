"""Runs scored against judgments: per query, in the mean with its interval, and two runs compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from activeeval.estimation.significance import MeanSummary, PairedComparison, compare_scores, corrected, mean_interval
from activeeval.io.loading import TablePool
from activeeval.measures import Judged, Measure, shown_name
from activeeval.pool import QueryPool, Rankings
from activeeval.types import Floats


@dataclass(frozen=True, slots=True, eq=False)
class RunScores:
    """One run by one measure.

    Attributes
    ----------
    measure : str
        Written with all its parameters.
    values : ndarray, shape (n_queries,)
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
    values: Floats
    summary: MeanSummary
    judged: float
    n_unjudged: int
    n_counted: int
    n_missing: int
    n_ignored: int
    n_tied: int


def score_run(tables: TablePool, run: int, measure: Measure, confidence: float = 0.95) -> RunScores:
    """Score the ``run``-th run of a table pool."""
    ranking = tables.rankings[run]
    values = measure.score(tables.pool, tables.grades, ranking)
    judged = Judged(measure.cutoff).score(tables.pool, tables.grades, ranking)
    held = ranking.lengths > 0
    counted = ranking.items if measure.cutoff is None else ranking.cut_at(measure.cutoff).items
    return RunScores(
        measure=shown_name(measure),
        values=values,
        summary=mean_interval(values, confidence),
        judged=float(judged[held].mean()) if held.any() else 0.0,
        n_unjudged=int(np.count_nonzero(tables.grades[counted] < 0)),
        n_counted=counted.size,
        n_missing=tables.n_missing[run],
        n_ignored=tables.n_ignored[run],
        n_tied=n_tied_at_cutoff(tables.pool, tables.scores[run], ranking, measure.cutoff),
    )


def compare_runs(
    first: RunScores, second: RunScores, confidence: float = 0.95, rng: np.random.Generator | int | None = None
) -> PairedComparison:
    """Compare two runs query by query."""
    return compare_scores(first.values, second.values, confidence, rng=rng)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standing:
    """One run by one measure, beside the baseline.

    Attributes
    ----------
    run : str
        Its name.
    scores : RunScores
    comparison : PairedComparison or None
        Run − baseline; None for the baseline itself.
    p_value : float or None
        Of the test that was asked for, corrected for all comparisons of all measures.
    """

    run: str
    scores: RunScores
    comparison: PairedComparison | None
    p_value: float | None


def standings(
    tables: TablePool,
    names: Sequence[str],
    measures: Sequence[Measure],
    *,
    baseline: int = 0,
    confidence: float = 0.95,
    test: str = "t",
    correction: str = "holm",
    seed: int = 0,
) -> list[list[Standing]]:
    """Score all runs by some measures, each against a baseline; a list for each measure, in the order of the runs.

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
    scored = [[score_run(tables, run, measure, confidence) for run in range(len(names))] for measure in measures]
    pairs = [
        [None if k == baseline else compare_runs(one, runs[baseline], confidence, seed) for k, one in enumerate(runs)]
        for runs in scored
    ]
    made = [pair.p_value(test) for row in pairs for pair in row if pair is not None]
    adjusted = iter(corrected(made, correction).tolist() if made else [])
    return [
        [
            Standing(run=name, scores=one, comparison=pair, p_value=None if pair is None else next(adjusted))
            for name, one, pair in zip(names, runs, row, strict=True)
        ]
        for runs, row in zip(scored, pairs, strict=True)
    ]


def n_tied_at_cutoff(pool: QueryPool, scores: Floats, ranking: Rankings, cutoff: int | None) -> int:
    """Return the number of queries whose items at ranks ``cutoff`` and ``cutoff + 1`` score the same."""
    if cutoff is None:
        return 0
    cut = np.flatnonzero(ranking.lengths > cutoff)
    if cut.size == 0:
        return 0
    last = ranking.offsets[cut] + cutoff - 1
    return int(np.count_nonzero(scores[ranking.items[last]] == scores[ranking.items[last + 1]]))
