"""Tabulate runs by measures: means with intervals, differences from a baseline, rows by query."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from activeeval.core.answers import Answer
from activeeval.core.campaign.more_needed import more_queries
from activeeval.core.checks import LARGEST_SEED, one_of, whole_number
from activeeval.core.errors import ChoiceError
from activeeval.core.estimation.significance import (
    CORRECTIONS,
    TESTS,
    PairedComparison,
    corrected,
    corrected_confidences,
)
from activeeval.core.measures import Measure
from activeeval.core.pool import QueryPool
from activeeval.core.results import Caution, Note
from activeeval.formats.loading import TablePool
from activeeval.report.answer_sentences import missing_lists_sentence, sentence
from activeeval.report.cautions import no_relevant_fields
from activeeval.report.numbers import agreeing, counted
from activeeval.report.rendering import Cell
from activeeval.scoring.run_scores import NO_DIFFERENCE, RunScores, compare_runs, score_run

_OF_RUN = ("value", "judged", "missing", "ignored", "tied_at_cutoff")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunRow:
    """Scores of one run by one measure, and its difference from the baseline.

    Attributes
    ----------
    run : str
        Name of the run.
    scores : RunScores
    comparison : PairedComparison or None
        Run − baseline; None for the baseline itself.
    same_lists : bool
        True if no label can change the difference from the baseline.
    p_value : float or None
        p value of the chosen test, corrected for all comparisons of all measures; None for the baseline.
    confidence : float
        Confidence of the intervals.
    """

    run: str
    scores: RunScores
    comparison: PairedComparison | None
    same_lists: bool
    p_value: float | None
    confidence: float = 0.95

    @property
    def mean(self) -> Answer:
        """Answer for the run's own mean."""
        summary = self.scores.summary
        names: dict[str, Any] = {"system": self.run, "measure": self.scores.measure, "n_items": None}
        names["is_constant"] = True  # an interval of width 0 comes from equal values
        names |= {"scope": "population", "is_supported": math.isfinite(summary.std_error)}
        return Answer(value=summary.mean, low=summary.low, high=summary.high, n_queries=summary.n, **names)

    def finding(self, baseline: str) -> Answer:
        """Build the answer for the difference from the baseline; for the baseline itself that for its mean."""
        pair = self.comparison
        if pair is None:
            return self.mean
        # the half-width on the side of 0: shrunk below the difference, it would decide
        half = pair.difference - pair.low if pair.difference > 0 else pair.high - pair.difference
        # further queries like these that should bring the half-width below the difference
        needed = more_queries(half, abs(pair.difference), self.scores.summary.n, self.confidence)
        difference = replace(
            self.mean, versus=baseline, p_value=self.p_value, needed=needed, same_lists=self.same_lists
        )
        difference = replace(difference, largest_share=pair.largest_share)
        return replace(difference, value=pair.difference, low=pair.low, high=pair.high)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunTable:
    """Several runs by several measures.

    Attributes
    ----------
    pool : QueryPool
    by_measure : tuple of tuple of RunRow
        Ordered by measure, then by run.
    baseline : int
        Position of the run that the others are compared with.
    confidence : float
    test, correction : str
        Test and multiple-comparison correction of the p values.
    notes : tuple of Note
        Notes on the judgments and the runs.
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
        """Sentences on runs without lists for some queries, shown first."""
        counts = {run.run: run.scores.n_missing for run in self.by_measure[0]}
        return [missing_lists_sentence(n, self.pool.n_queries, name) for name, n in counts.items() if n]

    @property
    def unjudged(self) -> list[str]:
        """Sentences on ranked items without a judgment; measures with equal cutoffs share one."""
        lines = []
        for run in (run for runs in self.by_measure for run in runs if run.scores.n_unjudged):
            n, of, cutoff = run.scores.n_unjudged, run.scores.n_counted, run.scores.by.cutoff
            what = agreeing(n, "is not judged and earns nothing", "are not judged and earn nothing")
            where = counted(of, "ranked item") if cutoff is None else f"{counted(of, 'item')} down to rank {cutoff}"
            lines.append(f"{run.run}: {n:,} of {where} {what}")
        return list(dict.fromkeys(lines))

    @property
    def findings(self) -> list[list[Answer]]:
        """Answers for each run, measure by measure."""
        return [[run.finding(runs[self.baseline].run) for run in runs] for runs in self.by_measure]

    def rows(self, *, by_query: bool, in_all: bool, versus: bool) -> list[dict[str, Cell]]:
        """List rows measure by measure: of single queries, of all queries together, or both.

        Parameters
        ----------
        by_query, in_all : bool
            Include rows of single queries; include rows of all queries together.
        versus : bool
            For two runs: put the figures of both in one row.
        """
        rows = []
        for runs in self.by_measure:
            rows += self._query_rows(runs, versus) if by_query else []
            rows += self._summary_rows(runs, versus) if in_all else []
        return rows

    def _query_rows(self, runs: Sequence[RunRow], versus: bool) -> list[dict[str, Cell]]:
        """Build a row for each query and run of one measure; with ``versus`` the baseline's value is in the other's."""
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
        """Build a row for each run of one measure; with ``versus`` one row with the figures of both runs."""
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
        """Build the fields of a run's difference from the baseline; {} for the baseline."""
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
    """Build the fields with the name of a run, and with ``versus`` of the baseline, the last of the two ``runs``."""
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
    """Score all runs by several measures, each compared with a baseline.

    Parameters
    ----------
    tables : TablePool
        The judgments and the runs.
    names : sequence of str
        Names of the table pool's runs.
    measures : sequence of Measure
        With their grade scale, from `bound_measures`.
    baseline : int
        Position of the run that the others are compared with.
    confidence : float
        Confidence of all intervals.
    test : {"t", "wilcoxon", "randomization"}
    correction : {"holm", "bonferroni", "none"}
        Correction of the p values for runs × measures.
    seed : int
        Seed of each randomization test.
    """
    one_of(correction, CORRECTIONS, "`correction`")
    whole_number(seed, "seed", 0, LARGEST_SEED)
    if one_of(test, TESTS, "`test`") != "t" and tables.pool.draw is not None:
        raise ChoiceError(f"`test` {test} weighs queries alike, drawn `queries` differ: expected t", field="test")
    scored = [[score_run(tables, run, measure, confidence) for run in range(len(names))] for measure in measures]
    pairs = [
        [
            None if k == baseline else compare_runs(run, runs[baseline], tables.pool, confidence, seed)
            for k, run in enumerate(runs)
        ]
        for runs in scored
    ]
    comparisons = [pair for row in pairs for pair in row if pair is not None]
    # p values and confidences of intervals, corrected, in the order of the comparisons
    adjusted = iter(corrected([pair.p_value(test) for pair in comparisons], correction).tolist() if comparisons else [])
    levels = iter(
        corrected_confidences([pair.p_t for pair in comparisons], correction, confidence).tolist()
        if comparisons
        else []
    )
    by_measure = tuple(
        tuple(
            RunRow(
                run=name,
                scores=scores,
                comparison=None if pair is None else pair.at(level := next(levels)),
                same_lists=pair is not None and pair.basis.limits == NO_DIFFERENCE,
                p_value=None if pair is None else next(adjusted),
                confidence=confidence if pair is None else level,
            )
            for name, scores, pair in zip(names, runs, row, strict=True)
        )
        for runs, row in zip(scored, pairs, strict=True)
    )
    how = {"confidence": confidence, "test": test, "correction": correction}
    parts: dict[str, Any] = {"pool": tables.pool, "by_measure": by_measure, "baseline": baseline, "notes": tables.notes}
    return RunTable(**parts, **how)  # type: ignore[arg-type]
