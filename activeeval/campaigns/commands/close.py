"""Command ``activeeval campaign close``: stop giving out items, or reopen a campaign."""

from __future__ import annotations

import click

from activeeval.campaigns.commands.options import of_campaign, opened
from activeeval.cli.help import command
from activeeval.cli.output import emit_done, output_option, say
from activeeval.report.numbers import counted


@command()
@of_campaign
@click.option("--reopen", "opens", is_flag=True, help="Reopen the campaign: give out the items held back.")
@output_option
def close(name: str, db: str | None, opens: bool, form: str) -> None:
    """Close a campaign: judges get no further items; they may still answer the items in hand, and no data are lost.

    \b
    activeeval campaign close week1
    activeeval campaign close week1 --reopen
    """
    from activeeval.campaigns import close_and_reopen

    with opened(name, db) as store:
        n = (close_and_reopen.reopen if opens else close_and_reopen.close)(store, name)
        as_of = store.last_seq(name)
    say(f"campaign {name} is {'open again' if opens else 'closed'}: {counted(n, 'judgment')}, as of event {as_of}")
    emit_done([{"campaign": name, "closed": not opens, "judgments": n, "as_of": as_of}], form)
