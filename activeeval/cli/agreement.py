"""``activeeval agreement``: how far judges agree, on grades and on which of two documents is better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.help import command
from activeeval.cli.inputs import confidence_option, seed_option
from activeeval.cli.output import emit, is_asked, rows_options, say, show_text
from activeeval.report.numbers import counted, number

if TYPE_CHECKING:
    from activeeval.judgments import Agreements
    from activeeval.report.rendering import Cell


@command("How far judges agree")
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
    from activeeval.tasks.agreement import cell_rows, coefficient_rows, square_rows, tables_of

    rows = coefficient_rows(agreements)
    if form in ("jsonl", "tsv"):
        emit(rows, form, places)
        if form == "tsv":
            click.echo()
        emit(cell_rows(agreements), form, places)
        return
    is_brief = form == "text" and not is_asked("wide")
    if is_brief and rows:
        show_text(_sentence(rows))
        click.echo()
        rows = [{name: _short(name, row[name]) for name in row if name != "confidence"} for row in rows]
    emit([row | {"value": "n/a"} if row["value"] is None else row for row in rows], form, places)
    for name, table in tables_of(agreements).items():
        shares = {} if is_brief else {"by row": table.by_row, "by column": table.by_column}
        for title, square in ({"pairs": table.counts} | shares).items():
            click.echo()
            emit(square_rows(f"{name}, {title}", square.tolist()), form, places)


def _sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return how far judges agree: by grades Krippendorff's ordinal alpha, else the preferences that are the same."""
    ordinal = [row for row in rows if row["of"] == "grades" and row["what"].endswith("ordinal")]
    row = (ordinal or rows)[0]
    if row["value"] is None:
        return "How far the judges agree is not defined: too little was judged by several."
    ends = "" if row.get("low") is None else f" ({number(row['low'], 2)} to {number(row['high'], 2)})"
    if not ordinal:
        return f"Judges say the same of {number(row['value'], 2)}{ends} of {counted(row['n'], 'pair')} of documents."
    scale = "1 is full agreement, 0 what chance would give"
    return f"Judges agree to {number(row['value'], 2)}{ends} by {row['what']}, on {counted(row['n'], 'item')}; {scale}."


def _short(name: str, cell: Cell) -> Cell:
    """Return a cell for a page of a hundred columns; a coefficient has its whole name."""
    from activeeval.report.findings import short_name

    if not isinstance(cell, str) or name == "what":
        return cell
    return short_name(cell.replace("preferences implied by", "order of"))
