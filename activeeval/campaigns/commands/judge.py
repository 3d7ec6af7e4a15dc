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
    """Claim the next item: print a JSON line with its ids, its texts, and the token for the answer.

    In top-k judging the item is a query, and its texts are two documents, in display order.

    An item is reserved for its judge until the lease ends. A judge with an open item gets it again, with a new token;
    the old token becomes invalid. A token of null means that nothing is left for this judge now.

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
    """Ask which of two documents is better until the top documents of each query are known: for top-k judging.

    A query is reserved for its judge until it is complete, or until the lease passes without an answer. Stop with q or
    Ctrl-C at any time: the same call continues with the next question. Each answer is stored before the next question.

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
@click.option("--preferred", metavar="DOC", help="For a pair: the better document.")
@click.option("--tie", is_flag=True, help="For a pair: the documents are equally good.")
@click.option("--discard", metavar="DOC", help="For a pair: remove this document from its query.")
@click.option("--cannot", metavar="REASON", help="Instead: the item, or its query, cannot be judged, with the reason.")
@click.option("--later", is_flag=True, help="Instead: defer the item.")
@click.option("--key", help="Sending the same key again returns the stored answer. Default: the token.")
@click.option("--active-ms", type=click.IntRange(0), metavar="MS", help="Time that the judge was active on it.")
@click.option("--then-claim", is_flag=True, help="Claim the next item in the same step and print it as a second line.")
def submit(name: str, db: str | None, token: str, key: str | None, then_claim: bool, **answer: Any) -> None:
    """Submit the answer to an item or a pair; print the stored answer as a JSON line.

    An answer whose item has gone to another judge is kept with kind `late` and does not count.

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
    """Build an answer from the options of ``submit`` by name.

    Raises
    ------
    UsageError
        Unless exactly one answer is given, or if ``cannot`` is blank.
    """
    from activeeval.campaigns.store import JudgeAnswer

    n_answers = sum(answer[name] is not None for name in ("grade", "preferred", "discard", "cannot"))
    if n_answers + answer["tie"] + answer["later"] != 1:
        both = "of two documents --preferred, --tie, --discard"
        raise click.UsageError(f"give one of --grade, --cannot and --later, {both}")
    if answer["cannot"] is not None and not answer["cannot"].strip():
        raise click.UsageError("--cannot needs the reason why the item cannot be judged, got an empty one")
    return JudgeAnswer.of(**answer)


@command()
@of_campaign
@judge_option
@click.option("--oracle", required=True, metavar="FILE", help="Judgments in any form, the source of the grades.")
@click.option(
    "--limit", type=click.IntRange(0), metavar="N", help="Maximum number of items. Default: all that are left."
)
@unjudged_option(
    show_default=True, help="How to treat a claimed item without a grade there: as an error, or as grade 0."
)
@machine_is_truth_option
def judge(
    name: str, db: str | None, judge: str, oracle: str, limit: int | None, unjudged: str, machine_is_truth: bool
) -> None:
    """Judge with the grades of a file: claim and submit one item after another until nothing is left.

    Top-k judging compares documents by these grades; equal grades are a tie, and --limit counts comparisons.

    Prints a JSON line for each judgment once the store has acknowledged it. Several judges may run at the same time.

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
@click.option(
    "--items", type=click.IntRange(1), metavar="N", help="Maximum number of items for each judge. Default: all."
)
@any_judge_option(
    "judges",
    multiple=True,
    help="Judge of the sheet, which omits items that this judge has judged. Several judges have a sheet FILE-JUDGE.csv "
    "each. Repeatable; needed if items have several judges. Default: the judge named at import.",
)
@click.option(
    "--for",
    "lease_s",
    type=DURATION,
    default="3d",
    help="Time for which its items are reserved for the judge: 45m, 12h, 3d.",
)
@click.option("--ahead", is_flag=True, help="Items of all blocks. Default: only of the lowest incomplete one.")
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
    """Write a sheet of the waiting items in the lowest open block, for a spreadsheet; `import` reads it back.

    The items are reserved for the judge: no other judge gets them until --for has passed or the sheet is imported. A
    later answer counts if no other judge has the item by then; otherwise it is kept with kind `late`. Items of later
    blocks (--ahead) count once the blocks before them are complete.

    \b
    activeeval campaign next week1 --judge ann --judge bob --out batch1.csv
    """
    from activeeval.campaigns.batches import Lease, write_batches

    plan = sheet_options.planned(out, tuple(map(judge_of, judges)), force=force, **guide)
    with opened(name, db) as store:
        sheets = write_batches(store, name, plan, Lease(seconds=lease_s, most=items, ahead=ahead))
        follows = store.campaign(name).follows_labels
    for sheet in sheets:
        owner = sheet.judge or "the judge who returns it"
        part = f"{'batch' if follows else 'block'} {sheet.block}"
        where = f"items from {part} on" if ahead or follows else f"items of {part}"
        where = f"{where}, as of event {sheet.as_of}"
        say(f"wrote {sheet.sheet}: {sheet.items} {where}; reserved for {lasting(lease_s)} for {owner}")
    emit_done(list(map(asdict, sheets)), form)


@command("import")
@of_campaign
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@any_judge_option(help="Judge of files that name none.")
@click.option(
    "--keep-foreign",
    is_flag=True,
    help="Keep judgments of items that were never drawn, one event each. Default: they are counted and left out.",
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
    """Import judgments from sheets, qrels, LETOR files, tables, Quepid ratings and logs of campaigns.

    A table (CSV, TSV, JSONL, parquet, xlsx, ods) has columns query_id, doc_id, grade and optionally judge; a grade
    may be `cannot`, or empty while the item waits. Quepid ratings (query, docid, rating) identify queries by their
    texts. A log is a file written by `export --format jsonl`.

    Either all files are imported or none. Judgments that are stored already are not stored again; a different grade of
    the same judge replaces the earlier one; judgments of items that other judges have completed are kept but do not
    count. Judgments of items that were never drawn are left out.

    \b
    activeeval campaign import week1 batch1.csv --judge ann
    """
    leave_small_to_python(*files)  # compiling the readers takes longer than small files do
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
@click.option("--seq", type=click.IntRange(1), required=True, help="Number of the judgment's event.")
@click.option("--reason", default="", help="Why.")
def retract(name: str, db: str | None, judge: str, seq: int, reason: str) -> None:
    """Retract a judgment: its item waits for a judge again.

    \b
    activeeval campaign retract week1 --seq 214 --judge ann --reason "wrong tab"
    """
    from activeeval.campaigns.program_lines import acknowledged_line

    with opened(name, db) as store:
        _print(acknowledged_line(store.retract(name, seq, judge_of(judge), reason)))
