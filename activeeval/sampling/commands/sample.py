"""``activeeval sample``, ``top-up`` and ``sheet``: draw samples, extend them, and write their sheets."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli import input_options, output
from activeeval.cli.help import command
from activeeval.cli.waiting import tell
from activeeval.core.errors import InputError
from activeeval.report.numbers import agreeing, counted
from activeeval.sampling.commands import sampling_options, sheet_options
from activeeval.sampling.commands.answer_table import show_estimates
from activeeval.sampling.commands.next import next_command
from activeeval.sampling.commands.price_options import price_option, say_costs
from activeeval.sampling.options import BUDGET_HELP

if TYPE_CHECKING:
    from activeeval.core.planning.prices import Price
    from activeeval.inputs.budgets import Budget
    from activeeval.sampling.drawn_sample import DrawnSample
    from activeeval.sampling.sheets import SheetPlan

_out_option = output.out_option(required=True, help="Sample to write, as week1.sample.")
_sheet_option = input_options.any_sheet_option(required=True, help=f"Sheet for the judges: {sheet_options.FORMS}.")


@command()
@sampling_options.drawing_options
@input_options.columns_option
@input_options.chunk_options
@_out_option
@_sheet_option
@sheet_options.people_options
@sampling_options.texts_options
@price_option
@output.force_option
def sample(
    out: str, sheet: str, documents: str | None, queries: str | None, price: Price | None, force: bool, **options: Any
) -> None:
    """Draw the items to judge for a budget, or for half-widths to reach; no label of the pool is read. Judges fill in
    the sheet that it writes, and `activeeval estimate` reads it with the sample.

    One sample answers every measure and question that is named here; it may not answer others later.
    Writes two files. The sheet goes to the judges: one row an item, block by block. They fill in the column `grade`, in
    a spreadsheet if they like, and write `cannot` if an item cannot be judged. The sample stays with you;
    `activeeval estimate` reads both, once the first block is judged.

    With --documents and --queries the sheet has the texts for the judges. For a spreadsheet a text is cut behind 32,767
    characters, and a `'` is put before a text that looks like a formula.

    With --segments and --half-width the budget is the smallest that brings the interval of each of these segments, all
    at once, to its own half-width; `estimate --by` reads them. Queries in none of them are judged rarely, not never.

    With a measure as kNDCG(k=5)@10 whole queries are drawn. Their judge finds the k best documents of each by
    comparing two at a time, with `activeeval label` or otherwise: `activeeval estimate` takes a table of query, rank
    and doc_id.

    \b
    activeeval sample --run new.run --versus-run old.run --max-grade 3 --measure DCG@10 --budget 200 \\
        --out week1.sample --sheet week1.csv
    activeeval sample --run a.run --run b.run --run c.run --max-grade 3 --budget 10% \\
        --out abc.sample --sheet abc.csv
    """
    from activeeval.sampling.draw import draw_for
    from activeeval.sampling.estimate import estimate as estimate_of

    plan = _plan(sheet, force, options)
    _check_files(out, plan, force, documents, queries)
    with input_options.worded():
        drawn = draw_for(*sampling_options.requested(options, queries), progress=tell, say=output.say_note)
    drawn_sample = drawn.sample
    _write(drawn_sample, out, plan, documents, queries, whence=f"seed {drawn_sample.seed}")
    _say_price(drawn_sample, plan, price)
    if drawn_sample.campaign.planned:  # else all items that matter are known
        output.say(_next_step(drawn_sample, out, plan))
    else:
        show_estimates(estimate_of([(out, [])]), "text")
    output.warn_of_weights(drawn_sample.campaign.design.name, drawn_sample.campaign.design)


@command("top-up")
@click.argument("path", metavar="SAMPLE")
@input_options.budget_option(required=True, help=f"What is added. {BUDGET_HELP}.")
@_out_option
@_sheet_option
@sheet_options.people_options
@sampling_options.texts_options
@price_option
@sampling_options.files_options
@output.force_option
def top_up(
    path: str,
    budget: Budget,
    out: str,
    sheet: str,
    documents: str | None,
    queries: str | None,
    price: Price | None,
    force: bool,
    **options: Any,
) -> None:
    """Add to the budget of a sample: the same sample, and more of it.

    The new sheet has the new items alone. `activeeval estimate` then takes the new sample and all sheets. If estimates
    decided about the top-up, a plain interval misses more often than its confidence allows. If several judges share the
    work, give --judge and --overlap again.

    \b
    activeeval top-up week1.sample --budget 100 --out week2.sample --sheet week2.csv
    activeeval estimate week2.sample week1.csv week2.csv
    """
    from activeeval.sampling.draw_pool_files import top_up_of_files
    from activeeval.sampling.read_samples import read_sample

    plan = _plan(sheet, force, options)
    _check_files(out, plan, force, documents, queries)
    tell(f"topping up {path}")
    with input_options.worded():
        files = sampling_options.pool_in_files(options)
        before, sample_id = read_sample(path)
        is_in_hand = files is None and before.campaign.design.order.larger_pool is None
        grown = (
            before.topped_up(budget, sample_id)
            if is_in_hand
            else top_up_of_files(before, sample_id, budget, files, tell)
        )
    if before.judges and len(plan.judges) < 2:
        judges, share = ", ".join(before.judges), "--judge, repeated, shares it out, with --overlap"
        output.say(f"{path} was shared out to {judges}; {plan.path} is one sheet for all: {share}")
    _write(grown, out, plan, documents, queries, whence=f"topped up from {path}")
    _say_price(grown, plan, price)
    reads = f"{shlex.join(['activeeval', 'estimate', out])} SHEET... {shlex.join(plan.paths)}{_policy(grown, plan)}"
    if grown.campaign.paths is not None:  # adaptive depth: the sample goes on batch by batch
        reads = f"{shlex.join(['activeeval', 'next', out])} SHEET... {shlex.join(plan.paths)} --sheet NEXT.csv"
        output.say(f"once judged, `{reads}` goes on, with the sheets so far")
        return
    output.say(f"`{reads}` reads it with the sheets so far")


@command("sheet")
@click.argument("path", metavar="SAMPLE")
@output.out_option(required=True, help=f"Sheet to write: {sheet_options.FORMS}.")
@sheet_options.people_options
@sampling_options.texts_options
@output.force_option
def sheet_again(path: str, out: str, documents: str | None, queries: str | None, force: bool, **options: Any) -> None:
    """Write the sheet of a sample once more, with the same bytes as `sample` or `top-up`: no item is judged.

    For a sheet that was lost, or that a killed command did not write. Texts are looked up in the files that the
    sample was drawn with, unless --documents and --queries name others; give judges and --overlap again.

    \b
    activeeval sheet week1.sample --out week1.csv
    """
    from activeeval.inputs.texts import recalled, texts_of
    from activeeval.sampling.read_samples import read_sample

    plan = _plan(out, force, options)
    _check_sheet(path, plan, documents, queries)
    sample, sample_id = read_sample(path)
    files, notes = recalled(sample.text_files, documents, queries)
    texts, more = texts_of(sample.pairs, out, **{what: file.path for what, file in files.items()})
    output.say_notes([*notes, *more])
    sample.write_sheet(plan, sample_id, texts)
    output.say(f"sample {sample_id}: wrote {_listed(plan)} for the judges")
    reads = shlex.join(["activeeval", "estimate", path, *plan.paths])
    output.say(f"`{reads}{_policy(sample, plan)}` reads it once it is judged")


def _say_price(sample: DrawnSample, plan: SheetPlan, price: Price | None) -> None:
    """Report the price of judging the sheets, in money and hours."""
    say_costs(price, _gradings(sample, plan), "gradings" if plan.overlap else "judgments")


def _gradings(sample: DrawnSample, plan: SheetPlan) -> int:
    """Count the grades to fill in: an item of the overlap has one on the sheet of each judge."""
    n_items = len(sample.pairs)
    return n_items + min(plan.overlap or 0, n_items) * max(len(plan.judges) - 1, 0)


def _next_step(sample: DrawnSample, out: str, plan: SheetPlan) -> str:
    """Write the sentence with the command that reads the sample and its sheets, or draws the next batch.

    ``out`` is the file of the sample.
    """
    from activeeval.core.judgments.judging import ByComparisons

    match sample.campaign.judging:
        case ByComparisons(k=k):
            asks = f"{shlex.join(['activeeval', 'label', plan.path, '--k', str(k)])} --log JUDGE.log --out JUDGE.csv"
            return f"`{asks}` asks, `{shlex.join(['activeeval', 'estimate', out, 'JUDGE.csv'])}` reads what it writes"
    if sample.campaign.paths is not None:  # adaptive depth: the sample goes on batch by batch
        policy = _policy(sample, plan).removeprefix(" --policy ") or "refuse"
        return f"once judged, `{next_command(out, plan.paths, plan, policy)}` draws what comes next"
    reads = "reads both" if len(plan.paths) == 1 else "reads them all"
    return f"`{shlex.join(['activeeval', 'estimate', out, *plan.paths])}{_policy(sample, plan)}` {reads}"


def _policy(sample: DrawnSample, plan: SheetPlan) -> str:
    """Write the option --policy, which sheets with an overlap need (items that all judges grade); "" without one."""
    from activeeval.sampling.policies import policy_that_works

    if not plan.overlap:
        return ""
    measures = [str(target.measure) for target in sample.campaign.design.targets]
    return f" --policy {policy_that_works(len(plan.judges), measures)}"


def _plan(sheet: str, force: bool, options: dict[str, Any]) -> SheetPlan:
    """Remove the options of sheets from ``options``, and build the plan (path, judges, guide) of the sheets."""
    names = ("judges", "overlap", "grade_names", "guidelines")
    return sheet_options.planned(sheet, **{name: options.pop(name) for name in names}, force=force)


def _listed(plan: SheetPlan) -> str:
    """List the files of the sheets."""
    return ", ".join(plan.paths)


def _check_files(out: str, plan: SheetPlan, force: bool, *texts: str | None) -> None:
    """Raise InputError if a file of the sample or its sheets has a wrong name, or exists and ``force`` is not set."""
    _check_sheet(out, plan, *texts)
    output.check_new(out, (), force)


def _check_sheet(out: str, plan: SheetPlan, *texts: str | None) -> None:
    """Raise InputError if a sheet has the path of the sample (``out``) or of a text file, or a text file is missing."""
    written = {os.path.realpath(sheet) for sheet in plan.paths}
    if os.path.realpath(out) in written:
        raise InputError(f"{out}: the sample and its sheet are two files, got one name for both")
    for path in filter(None, texts):
        if not os.path.exists(path):  # checked before anything is drawn
            raise InputError(f"{path}: no such file")
        if os.path.realpath(path) in {os.path.realpath(out), *written}:
            raise InputError(f"{path}: is read and would be overwritten, expected another name for what is written")


def _write(
    sample: DrawnSample, out: str, plan: SheetPlan, documents: str | None, queries: str | None, whence: str
) -> None:
    """Write the sample to ``out``, and its sheets with texts of ``documents`` and ``queries``; report the files.

    ``whence`` says in the report how the sample came about, as "seed 7".
    """
    from activeeval.sampling.draw import with_texts

    named, texts = with_texts(sample, plan.path, documents, queries, output.say_note)
    sample_id = named.write(out, plan, texts)
    output.say(f"{whence}, sample {sample_id}: wrote {out}, and {_listed(plan)} for the judges")
    if plan.overlap:
        n_items, n_judges = len(sample.pairs), len(plan.judges)
        n = min(plan.overlap, n_items)
        shared = (
            f"{counted(n, 'item')} {agreeing(n, 'stands', 'stand')} on the sheets of all {n_judges} judges, the "
            "others on one each"
        )
        output.say(f"{shared}: {counted(_gradings(sample, plan), 'grading')} for {counted(n_items, 'judgment')}")
