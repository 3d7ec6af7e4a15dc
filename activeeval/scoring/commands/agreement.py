"""``activeeval agreement``: how far judges agree, on grades and on which of two documents is better."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.help import command
from activeeval.cli.input_options import confidence_option, seed_option
from activeeval.cli.output import emit, is_asked, output_option, say, show_text
from activeeval.report.numbers import counted, number

if TYPE_CHECKING:
    from activeeval.core.judgments import Agreements
    from activeeval.report.rendering import Cell


_WIDE = ("of", "what", "confidence", "why_undefined")
"""Columns that a page of a hundred columns has no room for."""
_BRIEF = {"raw_agreement": "raw", "base_rate": "base"}


@command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--resamples", type=click.IntRange(1, 100_000), default=1000,
              help="Bootstrap resamples of the queries, for the intervals.")  # fmt: skip
@confidence_option
@seed_option
@output_option
def agreement(files: tuple[str, ...], resamples: int, confidence: float, seed: int, form: str) -> None:
    """Tell how far judges agree: Krippendorff's alpha, Gwet's AC1 and AC2, Cohen's kappa, and tables of preferences.

    A FILE is a judged sheet of a sample, judgments (TREC text, or a table of query_id, doc_id and grade), the log of a
    campaign, preferences (a table of query, preferred, other and tie) or a top-k truth (query, rank, doc_id). A judge
    is a name in the column judge, or, without one, a file. Grades are compared by the preferences they imply, too:
    A>B, A~B where both have one grade, A<B, with A the document whose id comes first. What is not defined is left
    empty.

    Beside each coefficient stand the raw agreement, how often two judges say the same of an item, and the base rate,
    the share of the commonest grade: where that is high, alpha and kappa are low however often judges agree. A mean
    difference is the first judge's grade less the second's. A line says which judge grades lower where the interval of
    the difference does not hold 0: at 95 %, of judges who are equally strict at most one pair in twenty.

    \b
    activeeval agreement ann.csv bob.csv
    activeeval agreement ann.jsonl bob.jsonl ann.qrels bob.qrels -o jsonl
    """
    from activeeval.formats.judgments.from_files import read_all

    agreements = read_all(files).agreement(confidence, resamples, seed)
    for problem in agreements.problems:
        say(problem)
    _show(agreements, form)


def _show(agreements: Agreements, form: str) -> None:
    """Print the coefficients, then the tables: for machines a cell a row, else as squares."""
    from activeeval.scoring.agreement_rows import cell_rows, coefficient_rows, square_rows, tables_of

    rows = coefficient_rows(agreements)
    if form in ("jsonl", "tsv"):
        emit(rows, form)
        if form == "tsv":
            click.echo()
        emit(cell_rows(agreements), form)
        return
    is_brief = form == "text" and not is_asked("wide")
    if is_brief and rows:
        for sentence in _sentences(agreements, rows):
            show_text(sentence)
        click.echo()
        rows = list(map(_brief, rows))
    emit([row | {"value": "n/a"} if row["value"] is None else row for row in rows], form)
    for name, table in tables_of(agreements).items():
        shares = {} if is_brief else {"by row": table.by_row, "by column": table.by_column}
        for title, square in ({"pairs": table.counts} | shares).items():
            click.echo()
            emit(square_rows(f"{name}, {title}", square.tolist()), form)


def _sentences(agreements: Agreements, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say how far judges agree, what coefficients leave out, and who is stricter than whom."""
    from activeeval.campaigns.report.agreement_messages import alike_sentence, severity_sentence, undefined_sentence

    grades = agreements.grades
    if grades is None:
        yield _sentence(rows)
        return
    alpha, common = grades.alphas["ordinal"], grades.common_grade
    yield undefined_sentence(alpha, grades.n_items, common) or _sentence(rows)
    ac1 = grades.acs["none"].value
    alike = alike_sentence(grades.n_alike, grades.n_items, common, alpha.base_rate or 0.0)
    yield alike if ac1 is None else f"{alike} Gwet's AC1, which a common grade does not lower, is {number(ac1, 2)}."
    for pair in grades.pairs:
        if sentence := severity_sentence(pair.judges, pair.difference, grades.confidence):
            yield sentence


def _sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return how far judges agree: by grades Krippendorff's ordinal alpha, else the preferences that are the same."""
    ordinal = [row for row in rows if row["of"] == "grades" and row["what"].endswith("ordinal")]
    row = (ordinal or rows)[0]
    ends = "" if row.get("low") is None else f" ({number(row['low'], 2)} to {number(row['high'], 2)})"
    if not ordinal:
        return f"Judges say the same of {number(row['value'], 2)}{ends} of {counted(row['n'], 'pair')} of documents."
    scale = "1 is full agreement, 0 what chance would give"
    return f"Judges agree to {number(row['value'], 2)}{ends} by {row['what']}, on {counted(row['n'], 'item')}; {scale}."


def _brief(row: Mapping[str, Any]) -> dict[str, Cell]:
    """Return a row for a page of a hundred columns; a coefficient has its whole name, a share is less than 100 %."""
    from activeeval.report.findings import short_name

    of = row["of"].replace("preferences implied by", "order of")
    cells: dict[str, Cell] = {"what": row["what"] if of == "grades" else f"{of}, {row['what']}"}
    for name, cell in row.items():
        if name in _BRIEF:
            cells[_BRIEF[name]] = f"{math.floor(100 * cell + 1e-9)}%" if isinstance(cell, float) else None
        elif name not in _WIDE:
            cells[name] = short_name(cell) if isinstance(cell, str) else cell
    return cells
