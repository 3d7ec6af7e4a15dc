"""Command ``activeeval label``: find the top documents of queries by comparing two at a time, at a terminal."""

from __future__ import annotations

import sys
import textwrap
import time
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.help import command
from activeeval.cli.output import check_new, check_out, force_option, out_option, say
from activeeval.core.errors import visible
from activeeval.report.numbers import counted

if TYPE_CHECKING:
    from activeeval.campaigns.top_k_judging import Comparing, ComparisonOutcome, DocumentPair

_KEYS = "1 or 2: this one is better; =: equally good; x1 or x2: remove this one; u: undo the last answer; q: quit"
_LINES = 6
_WIDTH = 100


@command()
@click.argument("sheet", metavar="SHEET")
@click.option(
    "--k", type=click.IntRange(1), required=True, metavar="K", help="Number of top documents to find for each query."
)
@click.option(
    "--log",
    required=True,
    metavar="FILE",
    help="Store of the answers and their times; each is on disk before the next question. Resumed if it exists.",
)
@out_option(required=True, help="The truth so far: .csv, .tsv, .jsonl or .parquet.")
@click.option("--preferences", metavar="FILE", help="Also write the valid comparisons, as JSON lines.")
@force_option
def label(sheet: str, k: int, log: str, out: str, preferences: str | None, force: bool) -> None:
    """Ask which of two documents is better until the K best documents of each query of a SHEET are known, in order.

    The ten best of fifty documents take about 150 comparisons, in an order that depends only on ids and favours no
    run. Tied documents share a rank, even if they exceed the ranks that are left. Stop with q or Ctrl-C at any time:
    the same call continues with the next question. Use one log and one output file for each judge. The log is a
    campaign named after the file, here `ann`, and can be exported by `activeeval campaign export ann --db ann.log`.

    \b
    activeeval sample --run new.run --max-grade 3 --measure "kNDCG(k=5)@10" \\
        --budget 10% --out s.sample --sheet s.csv --queries queries.tsv --documents documents.jsonl
    activeeval label s.csv --k 5 --log ann.log --out ann.csv
    activeeval estimate s.sample ann.csv
    """  # fmt: skip
    from activeeval.campaigns.label import check_apart, labelling, says_no_more, write_labels
    from activeeval.formats.suffixes import SUFFIXES

    check_out(out, SUFFIXES)
    if preferences:
        check_out(preferences, (".jsonl",))
    check_apart(log, sheet, out, preferences)
    with labelling(sheet, k, log) as work:
        before = work.compared  # the results when the log was opened
        for path in filter(None, (out, preferences)):
            # a file that holds nothing beyond the log may be overwritten
            check_new(path, (), force=force or says_no_more(path, before))
        if before.n_comparisons:
            say(
                f"{log}: {counted(before.n_comparisons, 'comparison')}, {before.n_settled} of "
                f"{counted(before.n_queries, 'query')} settled"
            )
        try:
            converse(work)
        finally:
            outcome = work.compared
            write_labels(outcome, out, preferences)
            say(f"{summed_up(outcome)}: wrote {out}")


def summed_up(compared: ComparisonOutcome) -> str:
    """Summarize a judge's progress in a line: completed queries, comparisons, and ties if there are any.

    Tied documents share a rank, except for the ``n_overruled`` ties whose documents other answers put in different
    ranks.
    """
    done = (
        f"{compared.n_settled} of {counted(compared.n_queries, 'query')} settled by "
        f"{counted(compared.n_comparisons, 'comparison')}"
    )
    if not compared.n_ties:
        return done
    split = f", except {compared.n_overruled} that other answers separate: there the order of questions matters"
    return f"{done}; documents of {compared.n_ties} ties share a rank{split if compared.n_overruled else ''}"


def converse(work: Comparing) -> None:
    """Ask at the terminal for comparisons and store the answers, until all queries are complete or the judge stops.

    Parameters
    ----------
    work : Comparing
        The judge's session, which chooses the pairs.
    """
    query, current, began = None, None, 0.0  # last query and pair shown, and when the pair was shown
    while True:
        question = work.ask()
        if question is None:  # all queries are complete
            # without a terminal and without any question there is nobody who could undo an answer
            if (query is None and not sys.stdin.isatty()) or not _is_undone(work):
                return
            continue
        if question.query != query:
            query = question.query
            _show_query(question, work.n_queries)
        if question is not current:
            current, began = question, time.monotonic()
        _show(question)
        answer = _typed("better", prompt_suffix=" [1/2/=/x1/x2/u/q]: ")
        if answer in (None, "q"):
            return
        if not _is_taken(work, question, answer, round(1000 * (time.monotonic() - began))):
            click.echo(_KEYS, err=True)


def _typed(prompt: str, **options: Any) -> str | None:
    """Read a line from the terminal, without blanks and in lower case; None at the end of input or after Ctrl-C.

    ``options`` are those of `click.prompt`.
    """
    try:
        return str(click.prompt(prompt, err=True, **options)).strip().lower()
    except click.Abort:
        click.echo(err=True)
        return None


def _is_undone(work: Comparing) -> bool:
    """Ask, once all queries are complete, whether to undo the last answer; return True if it was undone."""
    answer = _typed("all settled", default="", show_default=False, prompt_suffix=" [Enter/u]: ")
    if not sys.stdin.isatty():
        click.echo(err=True)  # without a terminal no Enter has ended the line
    return answer == "u" and work.undo() is not None


def _is_taken(work: Comparing, question: DocumentPair, answer: str | None, active_ms: int) -> bool:
    """Store a typed answer to a pair; return False if the text is not a valid answer.

    Parameters
    ----------
    work : Comparing
        The judge's session.
    question : DocumentPair
        The pair.
    answer : str or None
        "1" or "2" (this document is better), "=" (tie), "x1" or "x2" (discard), "u" (undo the last answer).
    active_ms : int
        Milliseconds since the pair was printed.
    """
    sides = {"1": question.first, "2": question.second}
    if answer in ("1", "2", "="):
        done = work.prefer(sides.get(answer), active_ms)
    elif answer in ("x1", "x2"):
        done = work.discard(sides[answer[1]], active_ms)
    else:
        return answer == "u" and work.undo() is not None
    if done.event.kind == "late":
        say(f"the answer is kept but does not count: {done.event.reason}")
    return True


def _show_query(question: DocumentPair, n_queries: int) -> None:
    """Print a query with its text and the expected number of comparisons on stderr.

    ``question`` is the first pair of the query, ``n_queries`` the number of queries of the campaign.
    """
    claimed, left = question.claimed, question.remaining  # left: 90 % interval of the comparisons still needed
    place = f"query {claimed.unit} of {n_queries}, {counted(question.n_documents, 'document')}"
    click.echo(f"\n{place}, {left.low} to {left.high} comparisons: {visible(question.query)}", err=True)
    click.echo(_cut(claimed.query_text, "  "), err=True)


def _show(question: DocumentPair) -> None:
    """Print the two documents of a pair on stderr."""
    for side, document in enumerate(question.documents, start=1):
        text = "\n".join(words for name, words in document.items() if name != "doc_id")
        click.echo(f"\n {side}  {visible(document['doc_id'])}", err=True)
        click.echo(_cut(text, "    "), nl=bool(text), err=True)


def _cut(text: str, margin: str) -> str:
    """Wrap a text to `_WIDTH` characters and keep its first `_LINES` lines, each after the margin."""
    lines = [line for part in text.splitlines() for line in textwrap.wrap(part, _WIDTH)]
    kept_lines = lines[:_LINES] + (["…"] if len(lines) > _LINES else [])
    return "\n".join(margin + visible(line) for line in kept_lines)
