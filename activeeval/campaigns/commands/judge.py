"""Commands of judges: ``activeeval campaign claim``, ``submit``, ``judge``, ``next``, ``import``, ``retract`` …"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from activeeval.campaigns.commands.options import DURATION, judge_of, judge_option, lasting, of_campaign, opened
from activeeval.cli.help import command
from activeeval.cli.input_options import any_judge_option, machine_is_truth_option, unjudged_option
from activeeval.cli.output import emit_done, force_option, out_option, output_option, say, say_notes
from activeeval.cli.small import leave_small_to_python
from activeeval.sampling.commands import sheet_options

if TYPE_CHECKING:
    from activeeval.campaigns.store import JudgeAnswer
    from activeeval.report.rendering import Row


def _print(record: Row) -> None:
    """Print a record as a JSON line and flush it."""
    click.echo(json.dumps(record, ensure_ascii=False))
    sys.stdout.flush()


@command()
@of_campaign
@judge_option
def claim(name: str, db: str | None, judge: str) -> None:
    """Take the next item: a JSON line with its ids, its texts, and the token with which the answer is given.

    Of top-k judging the item is a query, and its texts are two documents, in the order in which they are to be shown.

    An item stays with its judge until the lease ends. A judge who has one open gets it again, with a new token; the
    old one is dead. A token of null: nothing is left for this judge now.

    \b
    activeeval campaign claim week1 --judge ann
    """
    from activeeval.campaigns.assignments import desk_of
    from activeeval.campaigns.program_lines import claimed_line

    with opened(name, db) as store:
        _print(claimed_line(desk_of(store, name).claim(judge_of(judge)), store, name))


@command()
@of_campaign
@judge_option
def label(name: str, db: str | None, judge: str) -> None:
    """Ask which of two documents is better until the best of every query are known: for top-k judging.

    A query is a judge's until it is settled, or no answer came for as long as the lease. Stop with q or Ctrl-C at any
    time: the same call goes on with the next question. Each answer is stored before the next is asked.

    \b
    activeeval campaign create week1 --run new.run --max-grade 3 \\
        --measure "kNDCG(k=5)@10" --budget 10%
    activeeval campaign label week1 --judge ann
    """
    from activeeval.campaigns.commands.label import converse, summed_up
    from activeeval.campaigns.top_k_judging import Comparing

    with opened(name, db) as store:
        work = Comparing(store, name, judge_of(judge))
        try:
            converse(work)
        finally:
            say(summed_up(work.compared))


@command()
@of_campaign
@click.option("--token", required=True, help="From `claim`.")
@click.option("--grade", type=click.IntRange(0), help="The grade.")
@click.option("--preferred", metavar="DOC", help="Of two documents: the better one.")
@click.option("--tie", is_flag=True, help="Of two documents: they are alike.")
@click.option("--discard", metavar="DOC", help="Of two documents: throw this one out of its query.")
@click.option("--cannot", metavar="REASON", help="In place of these: it, or its query, cannot be judged, and why.")
@click.option("--later", is_flag=True, help="In place of these: for another judge, or for later.")
@click.option("--key", help="The same key again is answered as it was the first time. Default: the token.")
@click.option("--active-ms", type=click.IntRange(0), metavar="MS", help="How long the judge looked at it.")
@click.option("--then-claim", is_flag=True, help="Take the next item in the same step, and print it as a second line.")
def submit(name: str, db: str | None, token: str, key: str | None, then_claim: bool, **answer: Any) -> None:
    """Give the answer to an item, or to two documents: a JSON line with what was stored, once it is.

    An answer whose item has gone to another judge is kept, of kind `late`, and does not count.

    \b
    activeeval campaign submit week1 --token TOKEN --grade 2
    activeeval campaign submit week1 --token TOKEN --cannot "a login page"
    activeeval campaign submit ranked --token TOKEN --preferred d17
    """
    from activeeval.campaigns.assignments import desk_of
    from activeeval.campaigns.program_lines import acknowledged_line, claimed_line

    judgment = _judgment(answer)
    with opened(name, db) as store:
        if then_claim:
            done, item = desk_of(store, name).submit_and_claim(token, judgment, key)
            _print(acknowledged_line(done, token))
            _print(claimed_line(item, store, name))
        else:
            _print(acknowledged_line(desk_of(store, name).submit(token, judgment, key), token))


def _judgment(answer: Mapping[str, Any]) -> JudgeAnswer:
    """Build an answer from the options of ``submit``; raise UsageError unless exactly one answer is given."""
    from activeeval.campaigns.store import JudgeAnswer

    n_answers = sum(answer[name] is not None for name in ("grade", "preferred", "discard", "cannot"))
    if n_answers + answer["tie"] + answer["later"] != 1:
        both = "of two documents --preferred, --tie, --discard"
        raise click.UsageError(f"give one of --grade, --cannot and --later, {both}")
    if answer["cannot"] is not None and not answer["cannot"].strip():
        raise click.UsageError("--cannot says why it cannot be judged, got nothing")
    return JudgeAnswer.of(**answer)


@command()
@of_campaign
@judge_option
@click.option("--oracle", required=True, metavar="FILE", help="Judgments of any form, where the grades are looked up.")
@click.option("--limit", type=click.IntRange(0), metavar="N", help="Judge so many. Default: all that is left.")
@unjudged_option(
    show_default=True, help="What an item is that is asked for and has no grade there: an error, or of grade 0."
)
@machine_is_truth_option
def judge(
    name: str, db: str | None, judge: str, oracle: str, limit: int | None, unjudged: str, machine_is_truth: bool
) -> None:
    """Judge by a file: claim and submit one item after another until nothing is left.

    Top-k judging compares by the grades that the file has; equal ones are a tie, and --limit counts comparisons.

    Prints a JSON line for each judgment once the store has acknowledged it. Several may run at once, under several
    names.

    \b
    activeeval campaign judge week1 --judge ann --oracle qrels.txt --limit 50
    """
    from activeeval.campaigns.program_lines import acknowledged_line
    from activeeval.campaigns.scripted_judge import judge_all, script_of

    script = script_of(oracle, machine_is_truth=machine_is_truth)
    say_notes(script.notes)
    with opened(name, db) as store:
        options: dict[str, Any] = {"limit": limit, "unjudged": unjudged, "machine": script.machine}
        for done, token in judge_all(store, name, judge_of(judge), script.grades, **options):
            _print(acknowledged_line(done, token))


@command("next")
@of_campaign
@out_option(required=True, help=f"Sheet to write: {sheet_options.FORMS}.")
@click.option("--items", type=click.IntRange(1), metavar="N", help="At most so many for each judge. Default: all.")
@any_judge_option(
    "judges",
    multiple=True,
    help="Whose sheet it is: without what he has judged. Of several each has a sheet, FILE-JUDGE.csv. Repeatable; "
    "needed with several judges an item. Default: whoever brings it back.",
)
@click.option(
    "--for", "lease_s", type=DURATION, default="3d", help="For so long its items are the judge's: 45m, 12h, 3d."
)
@click.option("--ahead", is_flag=True, help="Of all blocks. Default: of the lowest one that is not complete.")
@sheet_options.guide_options
@force_option
@output_option
def next_(
    name: str,
    db: str | None,
    out: str,
    items: int | None,
    judges: tuple[str, ...],
    lease_s: int,
    ahead: bool,
    force: bool,
    form: str,
    **guide: Any,
) -> None:
    """Write the sheet of what waits in the lowest open block, for a spreadsheet; `import` takes it back.

    What is written is lent to its judge: nobody else gets it until --for is over or the sheet is back. An answer that
    comes later counts if nobody else has the item by then; else it is kept, of kind `late`. What lies ahead counts once
    the blocks below it are complete.

    \b
    activeeval campaign next week1 --judge ann --judge bob --out batch1.csv
    """
    from activeeval.campaigns.batches import Lease, write_batches

    plan = sheet_options.planned(out, tuple(map(judge_of, judges)), force=force, **guide)
    with opened(name, db) as store:
        sheets = write_batches(store, name, plan, Lease(seconds=lease_s, most=items, ahead=ahead))
        follows = store.campaign(name).follows_labels
    for sheet in sheets:
        owner = f"{sheet.judge}'s" if sheet.judge else "theirs who bring it back"
        part = f"{'batch' if follows else 'block'} {sheet.block}"
        where = f"items from {part} on" if ahead or follows else f"items of {part}"
        where = f"{where}, as of event {sheet.as_of}"
        say(f"wrote {sheet.sheet}: {sheet.items} {where}; {owner} for {lasting(lease_s)}")
    emit_done(list(map(asdict, sheets)), form)


@command("import")
@of_campaign
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@any_judge_option(help="Whose judgments they are, where a file names no judge.")
@click.option(
    "--keep-foreign",
    is_flag=True,
    help="Keep judgments of items that were never drawn, an event each. Default: they are counted and left out.",
)
@machine_is_truth_option
@output_option
def import_(
    name: str,
    db: str | None,
    files: tuple[str, ...],
    judge: str | None,
    keep_foreign: bool,
    machine_is_truth: bool,
    form: str,
) -> None:
    """Take judgments from sheets, qrels, LETOR files, tables, Quepid's ratings and logs of campaigns.

    A table (CSV, TSV, JSONL, parquet, xlsx, ods) has columns query_id, doc_id, grade and, if it likes, judge; a grade
    may be `cannot`, or nothing while the item waits. Of Quepid's (query, docid, rating) queries are known by their
    texts. A log is what `export --format jsonl` has written.

    All of the files, or nothing. What is there already is not stored twice, another grade of the same judge takes
    the earlier one's place, and what others have judged already is kept and does not count. Judgments of items that
    were never drawn are left out.

    \b
    activeeval campaign import week1 batch1.csv --judge ann
    """
    leave_small_to_python(*files)
    from activeeval.campaigns.import_judgments import take_files
    from activeeval.report.cautions import marked

    with opened(name, db) as store:
        by = None if judge is None else judge_of(judge)
        imported = take_files(store, name, files, by, keep_foreign=keep_foreign, machine_is_truth=machine_is_truth)
    for file in imported:
        say(file.sentence("--keep-foreign"))
        say_notes(file.notes)
    rows = [marked([asdict(file) | {"late": sum(file.late.values())}], file.notes)[0] for file in imported]
    emit_done(rows, form)


@command(context_settings={"show_default": False})
@of_campaign
@judge_option
@click.option("--seq", type=click.IntRange(1), required=True, help="The event of the judgment.")
@click.option("--reason", default="", help="Why.")
def retract(name: str, db: str | None, judge: str, seq: int, reason: str) -> None:
    """Take a judgment back: its item waits again.

    \b
    activeeval campaign retract week1 --seq 214 --judge ann --reason "wrong tab"
    """
    from activeeval.campaigns.program_lines import acknowledged_line

    with opened(name, db) as store:
        _print(acknowledged_line(store.retract(name, seq, judge_of(judge), reason)))
