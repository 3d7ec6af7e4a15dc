"""``activeeval agreement``: how far judges agree, on grades and on which of two documents is better."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.inputs import confidence_option, seed_option
from activeeval.cli.output import emit, rows_options, say

if TYPE_CHECKING:
    from activeeval.judgments import Agreements, Coefficient, GradeAgreement, PreferenceAgreement

Row = dict[str, Any]
_IMPLIED = "preferences implied by grades"


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--resamples", type=click.IntRange(1, 100_000), default=1000,
              help="Bootstrap resamples of the queries, for the intervals.")  # fmt: skip
@confidence_option
@seed_option
@rows_options
def agreement(files: tuple[str, ...], resamples: int, confidence: float, seed: int, places: int, form: str) -> None:
    """Tell how far judges agree: Krippendorff's alpha, Cohen's kappa, and tables of preferences.

    A FILE is a judged sheet of a sample, judgments (TREC text, or a table of query_id, doc_id and grade), the log of a
    campaign, preferences (a table of query, preferred, other and tie) or a top-k truth (query, rank, doc_id). A judge
    is a name in the column judge, or, without one, a file. Grades are compared by the preferences they imply, too:
    A>B, A~B where both have one grade, A<B, with A the document whose id comes first. What is not defined is left
    empty.

    \b
    activeeval agreement ann.csv bob.csv
    activeeval agreement ann.jsonl bob.jsonl ann.qrels bob.qrels -o jsonl
    """
    from activeeval.judgments import read_all

    agreements = read_all(files).agreement(confidence, resamples, seed)
    for problem in agreements.problems:
        say(problem)
    _show(agreements, form, places)


def _show(agreements: Agreements, form: str, places: int) -> None:
    """Print the coefficients, then the tables: for machines a cell a row, else as squares."""
    rows: list[Row] = []
    tables: dict[str, PreferenceAgreement] = {}
    if agreements.grades is not None:
        rows += _of_grades(agreements.grades, "grades")
        tables |= {_IMPLIED: agreements.grades.preferences} if agreements.grades.preferences is not None else {}
    if agreements.preferences is not None:
        tables["preferences"] = agreements.preferences
    rows += [
        _row(name, what, "all", getattr(table, what), table.confidence)
        for name, table in tables.items()
        for what in ("overall", "strict")
    ]
    rows += _compared(list(tables.values()))
    if form in ("jsonl", "tsv"):
        emit(rows, form, places)
        if form == "tsv":
            click.echo()
        emit([cell for name, table in tables.items() for cell in _cells(name, table)], form, places)
        return
    emit([row | {"value": "n/a"} if row["value"] is None else row for row in rows], form, places)
    for name, table in tables.items():
        squares = {"pairs": table.counts, "by row": table.by_row, "by column": table.by_column}
        for title, square in squares.items():
            click.echo()
            emit([_line(f"{name}, {title}", k, square[k].tolist()) for k in range(3)], form, places)


def _compared(tables: list[PreferenceAgreement]) -> Iterator[Row]:
    """Yield how the judges of two methods differ in how often they say the same."""
    from activeeval.judgments import compare_agreement

    for what in ("overall", "strict") if len(tables) == 2 else ():
        compared = compare_agreement(*tables, strict=what == "strict")
        if compared is not None:
            row = {"of": "preferences against grades", "what": f"chi-squared, {what}", "judges": "all"}
            yield row | {"value": compared.statistic, "p_value": compared.p_value}


def _of_grades(agreement: GradeAgreement, name: str) -> Iterator[Row]:
    for metric, alpha in agreement.alphas.items():
        yield _row(name, f"Krippendorff's alpha, {metric}", "all", alpha, agreement.confidence)
    for pair in agreement.kappas:
        for weights, kappa in pair.by_weights.items():
            what = "Cohen's kappa" if weights == "none" else f"Cohen's kappa, {weights}"
            yield _row(name, what, ", ".join(pair.judges), kappa, agreement.confidence)


def _row(of: str, what: str, judges: str, coefficient: Coefficient, confidence: float) -> Row:
    ends: Row = {"value": coefficient.value, "low": coefficient.low, "high": coefficient.high}
    ends |= {"confidence": confidence, "n": coefficient.n}
    return {"of": of, "what": what, "judges": judges, **ends}


def _line(title: str, k: int, values: list[float]) -> Row:
    from activeeval.judgments.agreement import RELATIONS

    return {title: RELATIONS[k]} | dict(zip(RELATIONS, map(_or_none, values), strict=True))


def _cells(name: str, table: PreferenceAgreement) -> Iterator[Row]:
    from activeeval.judgments.agreement import RELATIONS

    by_row, by_column = table.by_row.tolist(), table.by_column.tolist()
    for j, first in enumerate(RELATIONS):
        for k, second in enumerate(RELATIONS):
            shares = {"by_row": _or_none(by_row[j][k]), "by_column": _or_none(by_column[j][k])}
            yield {"of": name, "first": first, "second": second, "pairs": int(table.counts[j, k])} | shares


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
