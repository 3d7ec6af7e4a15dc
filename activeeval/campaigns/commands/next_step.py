"""Which command does the next step of a campaign."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from activeeval.campaigns.commands.options import place_of
from activeeval.cli.option_names import option_words

if TYPE_CHECKING:
    from activeeval.campaigns.report.judges_content import Step


def campaign_command(name: str, db: str | None, command: str, *arguments: str) -> str:
    """Return a command on a campaign as it is typed; a password is left out of the store's address."""
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
    """Return the command that does a step.

    Parameters
    ----------
    judges : sequence of str
        Who has judged; the first of them goes on.
    by_query : bool
        Of top-k judging, which no sheet is written for.
    """
    who = judges[0] if judges else "NAME"
    if step.kind == "judge" and by_query:
        return campaign_command(name, db, "label", *option_words(judge=who))
    if step.kind == "judge":
        of_judge = who if judges_per_item > 1 else ""
        return campaign_command(name, db, "next", *option_words(judge=of_judge, out="batch.csv"))
    if step.kind == "wait":
        return "" if by_query else campaign_command(name, db, "import", "batch.csv", *option_words(judge=who))
    if step.kind == "top up":
        return campaign_command(name, db, "top-up", *option_words(budget=f"{step.budget:.0f}"))
    return campaign_command(name, db, "report")
