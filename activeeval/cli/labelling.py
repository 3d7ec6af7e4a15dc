"""``activeeval label``: find the best documents of queries by comparing two at a time, at a terminal."""

from __future__ import annotations

import os
import sys
import textwrap
from typing import TYPE_CHECKING

import click

from activeeval.cli.output import check_new, check_out, force_option, say
from activeeval.errors import InputError, visible

if TYPE_CHECKING:
    from activeeval.io.labelling import Told
    from activeeval.tasks.campaigns.comparing import Comparing
    from activeeval.tasks.label import Labelling, Question

_KEYS = "1 or 2 is better, = alike, x1 or x2 throws one out, u takes the last answer back, q stops"
_LINES = 6
_WIDTH = 100


@click.command()
@click.argument("sheet", metavar="SHEET")
@click.option("--k", type=click.IntRange(1), required=True, metavar="K", help="How many of the best of each query.")
@click.option(
    "--log", required=True, metavar="FILE", help="Answers, each on the disk before the next is asked; resumed."
)
@click.option("--out", required=True, metavar="FILE", help="The truth so far: .csv, .tsv, .jsonl or .parquet.")
@click.option("--preferences", metavar="FILE", help="The comparisons that stand, as JSON lines.")
@force_option
def label(sheet: str, k: int, log: str, out: str, preferences: str | None, force: bool) -> None:
    """Ask which of two documents is better until the K best of every query of a SHEET are known, in order.

    Some 150 comparisons for the ten best of fifty documents, which come in an order that belongs to their ids and
    favours no run. Documents that are alike share a rank, also where there are more of them than ranks are left.
    Stop with q or Ctrl-C at any time: the same call goes on with the next question. One log and one file a judge.

    \b
    activeeval sample --run new.run --max-grade 3 --judging top-k --measure "kNDCG(k=5)@10" --budget 10% \\
        --out s.sample --sheet s.csv --queries queries.tsv --documents documents.jsonl
    activeeval label s.csv --k 5 --log ann.log --out ann.csv
    activeeval estimate s.sample ann.csv
    """  # fmt: skip
    from activeeval.io.comparisons import write_comparisons, write_truth
    from activeeval.io.suffixes import SUFFIXES
    from activeeval.tasks.label import Labelling

    check_out(out, SUFFIXES)
    if preferences:
        check_out(preferences, (".jsonl",))
    files = [os.path.realpath(path) for path in (sheet, log, out, preferences) if path]
    if len(set(files)) < len(files):
        raise InputError(f"{log}: sheet, log and what is written are files of their own, got one name twice")
    work = Labelling.of(sheet, k, log)
    for path in filter(None, (out, preferences)):
        check_new(path, (), force=force or work.is_own(path))
    if work.n_comparisons:
        say(f"{log}: {work.n_comparisons} comparisons, {work.n_settled} of {len(work.docs)} queries settled")
    try:
        converse(work)
    finally:
        write_truth(work.truths(), out)
        if preferences:
            write_comparisons(work.comparisons(), preferences)
        settled = f"{work.n_settled} of {len(work.docs)} queries settled"
        say(f"{settled} by {work.n_comparisons} comparisons{ties_told(work)}: wrote {out}")


def ties_told(work: Labelling | Comparing) -> str:
    """Return what is to be said of ties, nothing where there are none."""
    if not work.n_ties:
        return ""
    split = f", but for {work.n_overruled} that other answers set apart: there the order of asking has a say"
    return f"; documents of {work.n_ties} ties share a rank{split if work.n_overruled else ''}"


def converse(work: Labelling | Comparing) -> None:
    """Ask and record until all is settled, or the judge has enough."""
    query = None
    while True:
        question = work.ask()
        if question is None:
            if (query is None and not sys.stdin.isatty()) or _is_enough(work):
                return
            continue
        if question.query != query:
            query = question.query
            _show_query(work, question)
        _show(work, question)
        try:
            answer = click.prompt("better", prompt_suffix=" [1/2/=/x1/x2/u/q]: ", err=True).strip().lower()
        except click.Abort:
            click.echo(err=True)
            return
        if answer == "q":
            return
        told = _told(work, question, answer)
        if told is None:
            click.echo(_KEYS, err=True)
        else:
            work.tell(told)


def _is_enough(work: Labelling | Comparing) -> bool:
    """Ask whether the last answer shall stand, once all is settled; take it back where it shall not."""
    from activeeval.io.labelling import Told

    try:
        answer = click.prompt("all settled", default="", show_default=False, prompt_suffix=" [Enter/u]: ", err=True)
    except click.Abort:
        return True
    last = work.last() if answer.strip().lower() == "u" else None
    if last is None:
        return True
    work.tell(Told(last, "undone"))
    return False


def _told(work: Labelling | Comparing, question: Question, answer: str) -> Told | None:
    """Return what an answer says; None where it is none."""
    from activeeval.io.labelling import Told

    sides = {"1": question.first, "2": question.second, "=": None}
    if answer in sides:
        return Told(question.query, "compared", question.first, question.second, sides[answer])
    if answer in ("x1", "x2"):
        return Told(question.query, "discarded", sides[answer[1]] or "")
    last = work.last() if answer == "u" else None
    return None if last is None else Told(last, "undone")


def _show_query(work: Labelling | Comparing, question: Question) -> None:
    left = work.remaining(question.query)
    told = f"query {question.number} of {work.n_queries}, {len(work.docs[question.query])} documents"
    click.echo(f"\n{told}, {left.low} to {left.high} comparisons: {visible(question.query)}", err=True)
    click.echo(_cut(work.texts[question.query, ""], "  "), err=True)


def _show(work: Labelling | Comparing, question: Question) -> None:
    for side, doc in (("1", question.first), ("2", question.second)):
        click.echo(f"\n {side}  {visible(doc)}", err=True)
        click.echo(_cut(work.texts[question.query, doc], "    "), nl=bool(work.texts[question.query, doc]), err=True)


def _cut(text: str, margin: str) -> str:
    """Return the first lines of a text, wrapped."""
    lines = [line for part in text.splitlines() for line in textwrap.wrap(part, _WIDTH)]
    shown = lines[:_LINES] + (["…"] if len(lines) > _LINES else [])
    return "\n".join(margin + visible(line) for line in shown)
