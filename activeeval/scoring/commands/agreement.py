"""``activeeval agreement``: measure how far judges agree, on grades and on preferences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from activeeval.cli.help import command
from activeeval.cli.input_options import columns_option, confidence_option, seed_option
from activeeval.cli.output import emit, is_asked, output_option, say, show_text
from activeeval.sampling.commands.sampling_options import query_texts_option

if TYPE_CHECKING:
    from activeeval.scoring.judge_agreement import JudgesAgree

_MOST_PAIRS = 6
"""Most tables of grades printed: those of four judges."""


@command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--resamples", type=click.IntRange(1, 100_000), default=1000,
              help="Bootstrap resamples of the queries, for the intervals.")  # fmt: skip
@columns_option
@query_texts_option
@confidence_option
@seed_option
@output_option
def agreement(files: tuple[str, ...], resamples: int, confidence: float, seed: int, form: str) -> None:
    """Measure how far judges agree: Krippendorff's alpha, Gwet's AC1 and AC2, Cohen's kappa, tables of preferences.

    A FILE is a judged sheet of a sample, judgments (TREC text, or a table of query_id, doc_id and grade), the log of a
    campaign, preferences (a table of query, preferred, other and tie) or a top-k truth (query, rank, doc_id). A judge
    is a name in the column judge, or, without one, a file. Grades are compared by the preferences they imply, too:
    A>B, A~B for equal grades, A<B, with A the document whose id comes first. A coefficient that is not defined is left
    empty.

    Beside each coefficient it prints the raw agreement, how often two judges give an item the same grade, and the base
    rate, the share of the commonest grade: if that is high, alpha and kappa are low however often judges agree. A mean
    difference is the first judge's grade less the second's. A line names the judge who grades lower if the interval of
    the difference does not hold 0: at 95 %, of judges who are equally strict at most one pair in twenty.

    \b
    activeeval agreement ann.csv bob.csv
    activeeval agreement ann.jsonl bob.jsonl ann.qrels bob.qrels -o jsonl
    """
    from activeeval.scoring.judge_agreement import agreement as agreement_of

    result = agreement_of(list(files), confidence=confidence, resamples=resamples, seed=seed)
    for problem in result.agreements.problems:
        say(problem)
    _show(result, form)


def _show(result: JudgesAgree, form: str) -> None:
    """Print the coefficients, then the tables of preferences: one cell a row for programs, else as squares."""
    from activeeval.scoring.agreement_rows import cell_rows, confusion_tables, square_rows, tables_of

    rows, agreements = result.rows(), result.agreements
    if form in ("jsonl", "tsv"):
        emit(rows, form)
        if form == "tsv":
            click.echo()
        emit(cell_rows(agreements), form)
        return
    is_brief = form == "text" and not is_asked("wide")
    if is_brief and rows:
        for sentence in result.sentences:
            show_text(sentence)
        click.echo()
        rows = list(map(dict, result.table))
    emit([row | {"value": "n/a"} if row["value"] is None else row for row in rows], form)
    for grades in confusion_tables(agreements)[:_MOST_PAIRS]:
        click.echo()
        emit(grades, form)
    for name, table in tables_of(agreements).items():
        shares = {} if is_brief else {"by row": table.by_row, "by column": table.by_column}
        for title, square in ({"pairs": table.counts} | shares).items():
            click.echo()
            emit(square_rows(f"{name}, {title}", square.tolist()), form)
