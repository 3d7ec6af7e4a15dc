"""``activeeval score``: score runs against judgments."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.help import command
from activeeval.cli.input_options import (
    chunk_options,
    columns_option,
    confidence_option,
    machine_is_truth_option,
    max_grade_option,
    name_option,
    ties_option,
)
from activeeval.cli.option_types import SEED
from activeeval.cli.output import emit, is_asked, output_option, say, say_notes, show_first, show_text
from activeeval.cli.small import leave_small_to_python
from activeeval.core.errors import InputError, did_you_mean
from activeeval.sampling.commands.sampling_options import log_queries_option
from activeeval.scoring.commands.query_options import (
    check_per_query,
    no_relevant_option,
    per_query_options,
    write_per_query,
)
from activeeval.scoring.commands.run_table import show_run_table
from activeeval.scoring.commands.unjudged_bounds import check_unjudged_options, score_bounds, unjudged_options

if TYPE_CHECKING:
    from activeeval.core.answers import Answer
    from activeeval.core.measures import Measure
    from activeeval.formats.loading import TablePool
    from activeeval.scoring.run_table import RunTable

_HALF = 0.5
_LIKE_A_FILE = re.compile(r"[^()@={}]*[./][A-Za-z][^()@={}]*")


@command()
@click.argument("qrels", metavar="QRELS")
@click.argument("run", metavar="RUN...", required=False)
@click.argument("measures", metavar="MEASURE...", nargs=-1)
@click.option(
    "--values", "is_of_values", is_flag=True, help="The arguments are tables of values per query, then metrics."
)
@click.option("--run", "more_runs", multiple=True, metavar="FILE", help="A further run for the table; repeatable.")
@click.option("--baseline", metavar="RUN", help="The run that the others are compared with. Default: the first.")
@click.option("--versus", metavar="RUN2", help="Compare RUN with this run alone, in one row a measure.")
@click.option(
    "--test",
    type=click.Choice(("t", "wilcoxon", "randomization")),
    show_default="t",
    help="Paired test of the differences that p_value is of.",
)
@click.option(
    "--correction",
    type=click.Choice(("holm", "bonferroni", "none")),
    show_default="holm",
    help="Of p_value, for all differences of all measures.",
)
@click.option("-q", "by_query", is_flag=True, help="Print every query.")
@click.option("-n", "no_summary", is_flag=True, help="Leave out the summary.")
@unjudged_options
@max_grade_option(help="With --unjudged-bounds: largest grade of the scale. Default: the largest judgment.")
@ties_option
@machine_is_truth_option
@columns_option
@chunk_options
@log_queries_option
@no_relevant_option
@click.option("--condensed", is_flag=True, help="Leave documents without a judgment out of the lists.")
@confidence_option
@click.option("--seed", type=SEED, default=0, help="Of the randomization test.")
@name_option
@per_query_options
@output_option
def score(
    qrels: str,
    run: str | None,
    measures: tuple[str, ...],
    is_of_values: bool,
    more_runs: tuple[str, ...],
    baseline: str | None,
    versus: str | None,
    test: str | None,
    correction: str | None,
    by_query: bool,
    no_summary: bool,
    unjudged_bounds: bool,
    more: tuple[int, ...],
    max_grade: int | None,
    ties: str,
    machine_is_truth: bool,
    queries: str | None,
    confidence: float,
    seed: int,
    names: tuple[str, ...],
    no_relevant: str,
    condensed: bool,
    per_query: str | None,
    force: bool,
    form: str,
) -> None:
    """Score runs against judgments, with intervals.

    MEASURE is written as ir_measures does: nDCG@10 (linear gains), "nDCG(dcg='exp-log2')@10", DCG@10 (2^y - 1),
    "ERR(max_rel=4)@20", RBP(p=0.9), P@5, R@100, Success@5, RR@10, AP, Judged@10; @FILE: gains and discounts that
    `activeeval gains` learned. A bare ERR takes the largest grade of the judgments. "kNDCG(k=5)@10" and "kERR(k=5)"
    need a top-k truth: QRELS is then a table of query, rank and doc_id, or judgments of k + 1 - rank; documents that
    share a rank count as the mean over their orders.

    For scores only: Rprec, Bpref, infAP, F1@10, R_cap@100 (recall, divided by 100 if more documents are relevant), and
    alpha_nDCG@20 and ERR_IA@20 of judgments for subtopics: QRELS has the subtopic as second column, or a table names
    it in the column subtopic.

    Several runs, as runs/*.run or a folder, make a table: each has its mean, its difference to the baseline with
    intervals and a corrected p-value, wins, ties and losses. A file may be compressed, and - is standard input.

    A judged query that a run lacks scores 0; a query without judgments is ignored; an item without a judgment earns
    nothing and keeps its rank. All three are counted.

    \b
    activeeval score qrels.txt new.run nDCG@10 AP --versus old.run
    activeeval score qrels.txt runs/*.run nDCG@10 AP --baseline runs/old.run
    activeeval score qrels.txt new.run P@10 DCG@10 --unjudged-bounds --more 100
    """  # fmt: skip
    if is_of_values:
        _show_values([word for word in (qrels, run, *measures) if word is not None], confidence, form)
        return
    if run is None or not measures:
        raise click.UsageError(f"Missing argument '{'MEASURE...' if run else 'RUN...'}'.")
    run, more_runs, measures = _files_apart(run, more_runs, measures)
    paths, reference = _asked_runs(run, more_runs, baseline, versus)
    check_unjudged_options(unjudged_bounds, {"--more": more, "--max-grade": max_grade})
    if unjudged_bounds and (versus or by_query or per_query or condensed):
        others = "--versus, -q, --per-query and --condensed"
        raise click.UsageError(f"--unjudged-bounds takes each run alone, with unjudged items: leave out {others}")
    check_per_query(per_query, force, [qrels, *paths])
    if len(paths) == 1 and not unjudged_bounds:
        leave_small_to_python(qrels, run)
    from activeeval.inputs.file_names import asked_measure
    from activeeval.inputs.systems import system_names
    from activeeval.report.cautions import marked
    from activeeval.scoring.run_scores import bound_measures, read_tables
    from activeeval.scoring.run_table import run_table

    if no_summary and not by_query:
        raise click.UsageError("-n leaves out the summary: give -q too, or nothing is left to print")
    _check_of_several(paths, names, is_of_difference=bool(test or correction or baseline))
    parsed = [asked_measure(text) for text in measures]
    how_read: dict[str, Any] = {"machine_is_truth": machine_is_truth, "no_relevant": no_relevant}
    tables = read_tables(qrels, paths, parsed, ties, queries=queries, condensed=condensed, **how_read)
    bound = bound_measures(parsed, tables)
    names_of_runs = names or system_names([""] * len(paths), paths)
    if unjudged_bounds:
        _tell(tables, names_of_runs, bound)
        score_bounds(tables, paths, names_of_runs, parsed, max_grade, more, form)
        return
    how = {"test": test or "t", "correction": correction or "holm"}
    scored = run_table(tables, names_of_runs, bound, baseline=reference, confidence=confidence, seed=seed, **how)
    rows = scored.rows(by_query=by_query, in_all=not no_summary, versus=bool(versus))
    _show(scored, marked(rows, tables.notes), form, versus=bool(versus))
    write_per_query(per_query, scored.rows(by_query=True, in_all=False, versus=bool(versus)) if per_query else [])
    _tell(tables, names_of_runs, bound)
    for line in scored.unjudged:
        say(line)
    if not any(note.code == "of a sample" for note in tables.notes) and _is_half_judged(scored):
        sample = "if these are judgments of a sample, `activeeval estimate` or `campaign estimate` weights them"
        say(f"{qrels}: in most queries less than half of the ranked items is judged: {sample}")


def _show(scored: RunTable, rows: list[dict[str, Any]], form: str, *, versus: bool) -> None:
    """Print rows for programs, or sentences and tables for readers."""
    show_first(scored.missing, form)
    if form in ("jsonl", "tsv") or is_asked("wide"):
        emit(rows, form)
        return
    summary = [row for row in rows if "queries" in row]
    queries = [row for row in rows if "queries" not in row]
    emit(queries, form)
    if queries and summary:
        click.echo()
    if summary:
        show_run_table(scored, form, versus=versus)


def _show_values(words: Sequence[str], confidence: float, form: str) -> None:
    """Print the means of metrics whose values per query come from other tools, and the differences from the first file.

    ``words`` are the command's arguments: files that exist, then names of metrics.
    """
    from activeeval.cli.output import say_note
    from activeeval.report.answer_sentences import headline, table_of
    from activeeval.scoring.value_tables import score_values

    files = [word for word in words if os.path.exists(word)] or list(words[:1])
    answers = score_values(files, [word for word in words if word not in files], confidence, say=say_note)
    if form in ("jsonl", "tsv"):
        emit([_value_row(answer, confidence) for answer in answers], form)
        return
    for line in headline([answer for answer in answers if answer.versus] or answers):
        show_text(line)
    click.echo()
    emit(table_of(answers), form)


def _value_row(answer: Answer, confidence: float) -> dict[str, Any]:
    """Build the row of a mean or a difference for programs."""
    fields = ("measure", "system", "versus", "value", "low", "high", "n_queries")
    row = {name.removeprefix("n_"): getattr(answer, name) for name in fields}
    more = {"p_value": answer.p_value, "verdict": answer.verdict} if answer.versus else {}
    return {**row, "confidence": confidence, **more}


def _files_apart(
    run: str, more_runs: tuple[str, ...], measures: tuple[str, ...]
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Tell runs from measures among the arguments, and list the runs of folders and patterns.

    Returns
    -------
    str, tuple of str, tuple of str
        First run, further runs, measures.
    """
    from activeeval.formats.suffixes import located, runs_in

    words = [*measures]
    named = [run]
    while words and os.path.exists(located(words[0])[0]):
        named.append(words.pop(0))
    if not words:
        raise click.UsageError("Missing argument 'MEASURE...', after the runs.")
    if len(words) > 1 and _LIKE_A_FILE.fullmatch(words[0]):
        raise InputError(f"{words[0]}: no such file")
    files = [file for path in (*named, *more_runs) for file in runs_in(path)]
    return files[0], tuple(files[1:]), tuple(words)


def _check_of_several(paths: Sequence[str], names: Sequence[str], *, is_of_difference: bool) -> None:
    """Raise UsageError for options of differences with one run, or names that do not fit the runs.

    ``is_of_difference`` says that --test, --correction or --baseline was given; ``names`` are those of --name.
    """
    if len(paths) == 1 and is_of_difference:
        raise click.UsageError("--test, --correction and --baseline are for differences: give --run or --versus too")
    if names and (len(names) != len(paths) or len(set(names)) < len(names)):
        raise click.UsageError(f"--name: expected {len(paths)} different ones, of each run in its order")


def _asked_runs(
    run: str, more_runs: tuple[str, ...], baseline: str | None, versus: str | None
) -> tuple[list[str], int]:
    """List all runs, and the position of the baseline; raise UsageError for options that contradict each other."""
    if versus:
        if more_runs or baseline:
            raise click.UsageError("--versus compares two runs in a row; with --run, --baseline names the one of all")
        return [run, versus], 1
    paths = [run, *more_runs]
    if len(set(paths)) < len(paths):
        twice = next(path for k, path in enumerate(paths) if path in paths[:k])
        raise click.UsageError(f"{twice} is given twice, expected each run once")
    if baseline is not None and baseline not in paths:
        meant = did_you_mean(baseline, paths)
        raise click.UsageError(f"--baseline {baseline} is none of the runs; {meant}given: {', '.join(paths)}")
    return paths, 0 if baseline is None else paths.index(baseline)


def _tell(tables: TablePool, names: Sequence[str], measures: Sequence[Measure]) -> None:
    """Print notes on what the files lack, and on measures for which no judgment is large enough to be relevant."""
    from activeeval.core.measures import least_relevant
    from activeeval.scoring.run_scores import input_notes

    say_notes(input_notes(tables, names))
    top = int(tables.grades.max())
    for measure in measures:
        if (least := least_relevant(measure)) is not None and least > max(1, top):
            say(f"{measure}: no judgment is {least} or more, the largest is {top}: every score is 0")


def _is_half_judged(scored: RunTable) -> bool:
    """Check whether less than half of the ranked items is judged, by any measure."""
    return any(run.scores.n_counted and run.scores.judged < _HALF for runs in scored.by_measure for run in runs)
