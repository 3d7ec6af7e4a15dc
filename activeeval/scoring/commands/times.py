"""``activeeval times``: how long judging takes, grades beside comparisons."""

from __future__ import annotations

import click

from activeeval.cli.help import command
from activeeval.cli.output import emit, is_asked, output_option, say, show_text


@command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@output_option
def times(files: tuple[str, ...], form: str) -> None:
    """Tell how long judging takes, by grades and by comparisons of two documents.

    A FILE is the log of a campaign, as `activeeval campaign export NAME --format jsonl` writes it; so is that of
    `activeeval label`, whose campaign is called as the log. Seconds are by the judge's own clock: of the page, where
    it was looked at, or of the terminal. Judgments that were changed later are left out.

    \b
    activeeval times ann.jsonl bob.jsonl
    activeeval times graded.jsonl compared.jsonl -o jsonl
    """
    from activeeval.scoring.judging_times import times as times_of

    made = times_of(list(files))
    if form == "text" and not is_asked("wide"):
        for line in made.sentences:
            show_text(line)
        click.echo()
    emit(made.rows(), form)
    for line in made.footnotes:
        say(line)
