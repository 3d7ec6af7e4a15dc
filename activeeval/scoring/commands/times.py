"""``activeeval times``: compute how long judging takes, by grades and by comparisons."""

from __future__ import annotations

import click

from activeeval.cli.help import command
from activeeval.cli.output import emit, is_asked, output_option, say, show_text


@command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@output_option
def times(files: tuple[str, ...], form: str) -> None:
    """Show how long judging takes, by grades and by comparisons of two documents.

    A FILE is the log of a campaign, as `activeeval campaign export NAME --format jsonl` writes it; so is the log of
    `activeeval label`, whose campaign has the name of the log. Seconds are by the judge's own clock: that of the page
    while it was open, or of the terminal. Judgments that were changed later are left out.

    \b
    activeeval times ann.jsonl bob.jsonl
    activeeval times graded.jsonl compared.jsonl -o jsonl
    """
    from activeeval.scoring.judging_times import times as times_of

    result = times_of(list(files))
    if form == "text" and not is_asked("wide"):
        for line in result.sentences:
            show_text(line)
        click.echo()
    emit(result.rows(), form)
    for line in result.footnotes:
        say(line)
