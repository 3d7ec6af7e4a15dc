"""Commands that carry out the next step of a campaign."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from activeeval.campaigns.commands.options import place_of
from activeeval.cli.option_names import option_words

if TYPE_CHECKING:
    from activeeval.campaigns.report.judges_content import Step


def campaign_command(name: str, db: str | None, command: str, *arguments: str) -> str:
    """Format a command on a campaign as typed in a shell; the store's address is printed without its password.

    Parameters
    ----------
    db : str or None
        The --db option; None for the default store.
    command : str
        Subcommand of ``activeeval campaign``.
    arguments : str
        Its further words.
    """
    where = option_words(db=db and place_of(name, db))
    return shlex.join(["activeeval", "campaign", command, name, *where, *arguments])


def next_command(
    step: Step,
    name: str,
    db: str | None,
    *,
    judges: Sequence[str] = (),
    judges_per_item: int = 1,
    by_query: bool = False,
) -> str:
    """Format the shell command that carries out a step; empty if none exists.

    Parameters
    ----------
    step : Step
        The next step: its ``kind`` ("judge", "wait", "top up" …) determines the command.
    name, db : str
        The campaign, and its store (the --db option; None for the default one).
    judges : sequence of str
        Judges so far; the command names the first, or "NAME" if there is none.
    judges_per_item : int
        With several, the sheet to write must name its judge.
    by_query : bool
        True for top-k judging, which has no sheets.
    """
    judge = judges[0] if judges else "NAME"
    if step.kind == "judge" and by_query:
        return campaign_command(name, db, "label", *option_words(judge=judge))
    if step.kind == "judge":
        of_judge = judge if judges_per_item > 1 else ""
        return campaign_command(name, db, "next", *option_words(judge=of_judge, out="batch.csv"))
    if step.kind == "wait":
        return "" if by_query else campaign_command(name, db, "import", "batch.csv", *option_words(judge=judge))
    if step.kind == "top up":
        return campaign_command(name, db, "top-up", *option_words(budget=f"{step.budget:.0f}"))
    return campaign_command(name, db, "report")
