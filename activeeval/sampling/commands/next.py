"""``activeeval next``: draw the next batch of a sample with adaptive depth."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli import input_options, output
from activeeval.cli.help import command
from activeeval.cli.option_names import option_words
from activeeval.cli.waiting import tell
from activeeval.report.numbers import counted
from activeeval.sampling.commands import sampling_options, sheet_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from activeeval.sampling.next_batch import NextBatch
    from activeeval.sampling.sheets import SheetPlan


@command("next")
@click.argument("path", metavar="SAMPLE")
@click.argument("sheets", metavar="SHEET...", nargs=-1, required=True)
@input_options.any_sheet_option(required=True, help=f"Sheet to write: {sheet_options.FORMS}.")
@sheet_options.people_options
@sampling_options.texts_options
@input_options.policy_option
@input_options.machine_is_truth_option
@output.force_option
def next_(
    path: str,
    sheets: tuple[str, ...],
    sheet: str,
    policy: str,
    machine_is_truth: bool,
    documents: str | None,
    queries: str | None,
    force: bool,
    **options: Any,
) -> None:
    """Draw the next batch of a sample that was drawn with --adaptive-depth, once its sheets so far are judged.

    The labels of a query decide how far it is judged, so that the second sheet depends on the first. The file of the
    sample is written anew: keep all sheets, and give all of them each time. Once the sample is complete a line says so,
    and `activeeval estimate` reads the sheets.

    \b
    activeeval next week1.sample week1.csv --sheet week1b.csv
    activeeval next week1.sample week1.csv week1b.csv --sheet week1c.csv
    """
    from activeeval.sampling.next_batch import follow

    plan = sheet_options.planned(sheet, **{name: options.pop(name) for name in tuple(options)}, force=force)
    tell("reading the sample and its sheets")
    texts: dict[str, Any] = {"documents": documents, "queries": queries, "say": output.say_note}
    with input_options.worded():
        followed = follow(path, sheets, plan, policy=policy, machine_is_truth=machine_is_truth, **texts)
    _say(followed, path, sheets, plan, policy)


def _say(followed: NextBatch, path: str, sheets: tuple[str, ...], plan: SheetPlan, policy: str) -> None:
    """Report the files written, and the command to run next once they are judged.

    ``path`` is the sample, ``sheets`` are its judged sheets so far; ``plan`` has the new one, ``policy`` is the rule
    for different grades by several judges.
    """
    if not followed.n_items:
        output.say(f"the sample is complete: {followed.spent:,.4g} of a budget of {followed.budget:,.4g} were asked")
        from activeeval.sampling.estimate import beyond

        output.say_notes(beyond(followed.n_unread))
        output.say(f"`{_command('estimate', path, *sheets, *_policy(policy))}` reads it")
        return
    written = plan.paths
    again = ", once more: its sample was drawn before" if followed.is_again else f"; {path} holds what was asked"
    output.say(f"wrote {', '.join(written)}: {counted(followed.n_items, 'item')}, batch {followed.number}{again}")
    all_sheets = (*sheets, *written)
    output.say(f"next: `{next_command(path, all_sheets, plan, policy, followed.number + 1)}`, once it is judged")


def next_command(
    path: str, sheets: Sequence[str], plan: SheetPlan | None = None, policy: str = "refuse", number: int = 2
) -> str:
    """Write the command that draws the next batch onto a sheet that does not exist yet.

    Parameters
    ----------
    path : str
        The sample.
    sheets : sequence of str
        Sheets of all batches so far.
    plan : SheetPlan, optional
        Judges and overlap of the sheets so far.
    policy : str
        Rule for different grades by several judges.
    number : int
        Number of the batch, from which the sheet is named.
    """
    place, ending = Path(path), "".join(Path(sheets[0]).suffixes[-1:]) or ".csv"
    while os.path.exists(name := str(place.with_name(f"{place.stem}-{number}{ending}"))):
        number += 1
    people = option_words(judges=plan.judges, overlap=plan.overlap) if plan else []
    return _command("next", path, *sheets, *option_words(sheet=name), *people, *_policy(policy))


def _policy(policy: str) -> list[str]:
    """List the words of the option --policy, [] for the default."""
    return option_words(policy="" if policy == "refuse" else policy)


def _command(*words: str) -> str:
    """Quote the words of a command for the shell."""
    return shlex.join(["activeeval", *words])
