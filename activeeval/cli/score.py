"""``activeeval score``: runs against judgments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.inputs import level_option, ties_option
from activeeval.cli.output import emit, output_option, places_option, say

if TYPE_CHECKING:
    from activeeval.io.tables import TablePool
    from activeeval.scoring import RunScores
    from activeeval.significance import PairedComparison


@click.command()
@click.argument("qrels", metavar="QRELS")
@click.argument("run", metavar="RUN")
@click.argument("measures", metavar="MEASURE...", nargs=-1, required=True)
@click.option("--versus", metavar="RUN2", help="Compare with this run: difference, interval, tests.")
@click.option("-q", "by_query", is_flag=True, help="Print every query.")
@click.option("-n", "no_summary", is_flag=True, help="Leave out the summary.")
@ties_option
@level_option
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the randomization test.")
@places_option
@output_option
def score(
    qrels: str,
    run: str,
    measures: tuple[str, ...],
    versus: str | None,
    by_query: bool,
    no_summary: bool,
    ties: str,
    level: float,
    seed: int,
    places: int,
    form: str,
) -> None:
    """Score a run against judgments, with intervals.

    MEASURE is written as ir_measures does: nDCG@10 (linear gains), "nDCG(dcg='exp-log2')@10", DCG@10 (2^y - 1),
    "ERR(max_rel=4)@20", RBP(p=0.9), P@5, RR, AP, Judged@10; @FILE: gains and discounts that
    `activeeval gains` learned. A bare ERR takes the largest grade of the judgments.

    A judged query that the run lacks scores 0; a query without judgments is ignored; an item nobody judged earns
    nothing and keeps its rank. All three are counted.
    """  # fmt: skip
    from activeeval.io.tables import load_tables, pool_from_tables
    from activeeval.scoring import compare_runs, score_run
    from activeeval.session.arguments import asked_measure

    if no_summary and not by_query:
        raise click.UsageError("-n leaves out the summary: give -q too, or nothing is left to print")
    parsed = [asked_measure(text) for text in measures]
    names = [run] if versus is None else [run, versus]
    judgments, runs = load_tables(qrels, names)
    tables = pool_from_tables(judgments, runs, evaluated=len(runs), ties=ties)
    _tell(tables, names)
    rows: list[dict[str, Any]] = []
    unjudged: dict[str, None] = {}
    for measure in parsed:
        bound = measure.bound_to(max(1, int(tables.grades.max())))
        scored = [score_run(tables, i, bound, level) for i in range(len(runs))]
        unjudged |= dict.fromkeys(_unjudged(names, scored, measure.cutoff))
        if by_query:
            rows += _query_rows(tables, scored)
        if not no_summary:
            comparison = compare_runs(scored[0], scored[1], level, seed) if versus else None
            rows.append(_summary_row(scored, comparison, level))
    for told in unjudged:
        say(told)
    if form in ("jsonl", "tsv"):
        emit(rows, form, places)
        return
    summary = [row for row in rows if "queries" in row]
    queries = [row for row in rows if "queries" not in row]
    emit(queries, form, places)
    if queries and summary:
        click.echo()
    emit(_read_down(summary) if form == "text" and versus else summary, form, places)


def _read_down(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Turn rows that are too long for a line: a row for each field, a column for each measure."""
    return (
        [{"": name} | {row["measure"]: row[name] for row in rows} for name in rows[0] if name != "measure"]
        if rows
        else []
    )


def _tell(tables: TablePool, names: list[str]) -> None:
    n_queries = tables.pool.n_queries
    for note in tables.notes:
        say(note)
    for name, n_missing, n_ignored in zip(names, tables.n_missing, tables.n_ignored, strict=True):
        if n_missing:
            say(f"{name}: {n_missing} of {n_queries} judged queries are missing from the run and score 0")
        if n_ignored:
            say(f"{name}: {n_ignored} queries have no judgments and are ignored")


def _unjudged(names: list[str], scored: list[RunScores], cutoff: int | None) -> Iterator[str]:
    """Yield what is to be said of items without a judgment; measures of one cutoff say the same."""
    where = "ranked items" if cutoff is None else f"items down to rank {cutoff}"
    for name, run in zip(names, scored, strict=True):
        if run.n_unjudged:
            yield f"{name}: {run.n_unjudged} of {run.n_counted} {where} are not judged and earn nothing"


def _query_rows(tables: TablePool, scored: list[RunScores]) -> list[dict[str, Any]]:
    rows = []
    for q, name in enumerate(tables.pool.query_texts):
        row: dict[str, Any] = {"query_id": name, "measure": scored[0].measure, "value": float(scored[0].values[q])}
        if len(scored) > 1:
            other = float(scored[1].values[q])
            row |= {"versus_value": other, "difference": row["value"] - other}
        rows.append(row)
    return rows


def _summary_row(scored: list[RunScores], comparison: PairedComparison | None, level: float) -> dict[str, Any]:
    first = scored[0]
    row: dict[str, Any] = {
        "query_id": "all",
        "measure": first.measure,
        "value": first.summary.mean,
        "low": first.summary.low,
        "high": first.summary.high,
        "level": level,
        "queries": first.summary.n,
        "judged": first.judged,
        "missing": first.n_missing,
        "ignored": first.n_ignored,
        "tied_at_cutoff": first.n_tied,
    }
    if comparison is not None:
        second = scored[1]
        row |= {
            "versus_value": second.summary.mean,
            "versus_judged": second.judged,
            "versus_missing": second.n_missing,
            "versus_ignored": second.n_ignored,
            "versus_tied_at_cutoff": second.n_tied,
            "difference": comparison.difference,
            "difference_low": comparison.low,
            "difference_high": comparison.high,
            "p_t": comparison.p_t,
            "p_wilcoxon": comparison.p_wilcoxon,
            "p_randomization": comparison.p_randomization,
            "wins": comparison.wins,
            "ties": comparison.ties,
            "losses": comparison.losses,
        }
    return row
