"""Command ``activeeval campaign report``: write a campaign's report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from activeeval.campaigns.commands.inspect import say_campaign_costs
from activeeval.campaigns.commands.options import as_of_option, of_campaign, opened
from activeeval.cli.help import command
from activeeval.cli.input_options import confidence_option, scope_option
from activeeval.cli.output import check_new, emit_done, force_option, out_option, output_option, say
from activeeval.cli.waiting import settle, tell
from activeeval.graders.commands.audit import grader_option
from activeeval.sampling.commands.price_options import price_option

if TYPE_CHECKING:
    from activeeval.campaigns.status import Status
    from activeeval.campaigns.store import Store
    from activeeval.core.planning.prices import Price


@command()
@of_campaign
@out_option(help="Report to write: .html, .md or .json. Default: NAME.html in this folder.")
@as_of_option
@grader_option(required=False)
@scope_option("pool")
@confidence_option
@price_option
@force_option
@output_option
def report(
    name: str,
    db: str | None,
    out: str | None,
    as_of: int | None,
    graders: tuple[str, ...],
    scope: str,
    confidence: float,
    price: Price | None,
    force: bool,
    form: str,
) -> None:
    """Write the report of a campaign: estimates now and over time, queries, cost, judges, design.

    The report is one self-contained HTML file, for screen and print; or markdown without charts, or JSON with all
    numbers. It names the event of the log up to which it holds, and the same log gives the same bytes. For two runs
    whose verdict is worse or undecided it lists the queries with the largest losses, with both result lists. It
    reports the judges' agreement, the calibration of the grade model, and judges who skip relevant items more often
    than others; with --grader also an audit of graders.

    \b
    activeeval campaign report week1
    activeeval campaign report week1 --db postgresql://team@db/judging --as-of 812 --out week1.json
    """
    from activeeval.campaigns.commands.next_step import next_command
    from activeeval.campaigns.report.collect import summary
    from activeeval.campaigns.report.page import SUFFIXES, campaign_text
    from activeeval.formats.writing import write_atomically

    path = f"{name}.html" if out is None else out
    check_new(path, SUFFIXES, force)
    tell("reading the log")
    with opened(name, db) as store:
        summed = summary(store, name, as_of, scope=scope, confidence=confidence, graders=graders)
        by_query = store.campaign(name).judging.is_whole  # top-k judging, which has no sheets
        costs = None if price is None else _costs(store, name, as_of, price)
    judges = [work.judge for work in summed.cost.judges]
    options: dict[str, Any] = {"judges": judges, "judges_per_item": summed.head.judges_per_item, "by_query": by_query}
    command = next_command(summed.next, name, db, **options)
    text = campaign_text(summed, Path(path.lower().removesuffix(".gz")).suffix, command)
    with write_atomically(path) as handle:
        handle.write(text)
    settle()
    say(f"wrote {path}, as of event {summed.head.as_of}")
    if costs is not None:
        say_campaign_costs(*costs)
    emit_done([{"report": path, "as_of": summed.head.as_of}], form)


def _costs(store: Store, name: str, as_of: int | None, price: Price) -> tuple[Price, Status]:
    """Compute what `say_campaign_costs` needs: the price with the measured time of a judgment, and the progress."""
    from activeeval.campaigns.judges import seconds_an_item
    from activeeval.campaigns.state import state_of
    from activeeval.campaigns.status import status

    return price.timed(seconds_an_item(store, name)), status(state_of(store, name, as_of), store)
