"""Estimates of one run, or of the difference of two, for both scopes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from activeeval.core.answers import Answer
from activeeval.core.campaign.more_needed import needed_of_queries
from activeeval.core.estimation.first_phase import FirstPhaseValues
from activeeval.core.estimation.significance import mean_interval
from activeeval.core.measures import Target
from activeeval.core.results import Estimate
from activeeval.core.types import Floats
from activeeval.report.answer_sentences import sentence, table_of
from activeeval.report.cautions import counting_lines, missing_fields, missing_lists, no_relevant_fields
from activeeval.report.rendering import Cell
from activeeval.sampling.answers import other_scope
from activeeval.sampling.estimate import asked_row, estimate_row
from activeeval.sampling.query_values import QueryValues
from activeeval.sampling.results import Result

_ABOUT = {"pool": "these queries", "population": "all queries"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Estimates of a measure, for these queries and for the population of queries.

    Attributes
    ----------
    target : Target
    system, versus : str
        Name of the run, and for a difference of the run subtracted; else "".
    pool : Estimate
        For these queries: estimates the value after judging all of them.
    population : Estimate
        For all queries that these are a sample of: the same value with a wider interval.
    queries : QueryValues or None
        For a difference, the values of both runs query by query.
    """

    target: Target
    system: str
    versus: str = ""
    pool: Estimate
    population: Estimate
    queries: QueryValues | None = None

    @property
    def same_lists(self) -> bool:
        """True if no label can change the difference, as both lists agree down to the measure's depth."""
        return bool(self.versus) and not self.target.matters.any()

    @property
    def question(self) -> str:
        """ "run", or "difference" for two runs."""
        return "difference" if self.versus else "run"

    def of(self, scope: str) -> Estimate:
        """Return the estimate of a scope, ``pool`` or ``population``."""
        estimate: Estimate = getattr(self, scope)
        return estimate

    def result(self, scope: str, confidence: float, p_holm: float | None = None, frame_kind: str = "") -> Result:
        """Build the printable result for a scope ("pool" or "population"), with intervals of a confidence.

        ``p_holm`` is the p value adjusted for several measures, ``frame_kind`` the library of the input frames.
        """
        scopes = scope, other_scope(scope)
        answers = {name: self._answer(name, confidence, p_holm if name == scope else None) for name in scopes}
        findings = {name: answers[name].with_other(answers[other_scope(name)]) for name in scopes}
        return Result(
            answer=findings[scope],
            question=self.question,
            definition=str(self.target.measure),
            estimates={"pool": self.pool, "population": self.population},
            confidence=confidence,
            sentences=[*missing_lists(self.pool.notes), sentence(findings[scope])],
            table=_table(findings),
            footnotes=self._footnotes(confidence),
            records=[
                self._row(name, findings[name], confidence, p_holm if name == scope else None) for name in findings
            ],
            queries=self.queries,
            frame_kind=frame_kind,
        )

    def _answer(self, scope: str, confidence: float, p_holm: float | None) -> Answer:
        """Build the Answer of a scope, with the number of queries that would decide a difference.

        ``p_holm`` replaces the p value if it is adjusted for several measures.
        """
        estimate = self.of(scope)
        interval, needed = estimate.interval(confidence), None
        if self.versus and self.pool.std_error == 0:  # all of these queries are judged: only more queries can decide
            needed = needed_of_queries(estimate, interval)
        return Answer.of(
            estimate,
            interval,
            system=self.system,
            versus=self.versus,
            measure=self.target.name,
            p_value=(estimate.p_value if p_holm is None else p_holm) if self.versus else None,
            needed=needed,
            same_lists=self.same_lists,
        )

    def _footnotes(self, confidence: float) -> list[str]:
        """List the footnotes: definition of the measure, intervals, and counts of queries left out or counted as 0.

        ``pool.log`` is the name of the search log that the queries were drawn from, "" for none.
        """
        name, definition = self.target.name, str(self.target.measure)
        defined = [] if name == definition else [f"{name} is {definition}."]
        wide = f"all the traffic of {self.pool.log}" if self.pool.log else "those that these are a sample of"
        intervals = f"{100 * confidence:g} % intervals; all queries: {wide}."
        return [*defined, intervals, *counting_lines(self.pool.notes)]

    def _row(self, scope: str, finding: Answer, confidence: float, p_holm: float | None) -> dict[str, Cell]:
        """Build the row of a scope for JSON and CSV output, with Holm's p value if there are several measures.

        ``finding`` is the answer of the scope; only its sentence is used. ``p_holm`` is None for a single measure.
        """
        question = asked_row(self.target.measure, self.question, self.system, self.versus)
        estimate = self.of(scope)
        more: dict[str, Cell] = {"p_value": estimate.p_value if self.versus else None}
        more |= {} if p_holm is None else {"p_holm": p_holm}
        row = estimate_row(question, estimate, estimate.interval(confidence), **more)
        row |= missing_fields(self.pool.notes, self.system, self.versus)
        row |= no_relevant_fields(self.pool.notes)
        return row | {"sentence": sentence(finding)}


def estimates_of_values(
    values: Floats,
    *,
    limits: tuple[float, float],
    drawn: FirstPhaseValues | None = None,
    can_differ: bool = True,
    **parts: Any,
) -> tuple[Estimate, Estimate]:
    """Estimate the mean of known values of queries, for these queries (exact) and for the population of queries.

    Parameters
    ----------
    values : ndarray, shape (n_queries,)
    limits : (float, float)
        Lowest and highest possible value.
    drawn : FirstPhaseValues or None
        The values as those of queries drawn from a log; see `all_values`.
    can_differ : bool
        False if no label can change the values from 0.
    parts
        Further fields of the estimates: n_items, cost, method and notes.

    Returns
    -------
    pool, population : Estimate
        For these queries, with a standard error of 0, and for all queries that these are a sample of.
    """
    summary = mean_interval(values, limits=limits) if drawn is None else drawn.interval(limits=limits)
    parts = {"n_items": 0, "cost": 0.0, "method": "", **parts}
    pool = Estimate(
        value=summary.mean,
        std_error=0.0,
        degrees_of_freedom=math.inf,
        n_open=0,
        n_draws=values.size,
        n_queries=values.size,
        log="" if drawn is None else drawn.log,
        limits=limits,
        **parts,
    )
    if not can_differ:
        return pool, replace(pool, scope="population")
    # equal non-zero values give no estimate of spread if the measure has no upper limit
    is_known = summary.std_error > 0 or summary.mean == 0 or drawn is not None or math.isfinite(limits[1])
    wide = replace(
        pool,
        scope="population",
        std_error=summary.std_error if is_known else math.inf,
        degrees_of_freedom=summary.basis.degrees_of_freedom,
        shares=summary.basis.shares,  # of single queries in the variance, for warnings about outliers
        largest=summary.basis.largest,
        inner=pool.basis,  # the error within these queries, which is 0
    )
    return pool, wide


def _table(findings: dict[str, Answer]) -> list[dict[str, str]]:
    """Tabulate the interval for these queries and that for all queries, from the answers by scope.

    The value is the same in both rows: that for these queries.
    """
    rows = table_of([findings["pool"], findings["population"]])
    columns = ("value", "interval", "p")
    return [
        {"about": _ABOUT[scope]} | {name: row[name] for name in columns if name in row} | {"value": rows[0]["value"]}
        for scope, row in zip(("pool", "population"), rows, strict=True)
    ]
