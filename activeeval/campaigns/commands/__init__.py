"""Command group ``activeeval campaign``: judging campaigns in a durable store."""

from __future__ import annotations

from activeeval.cli.help import group


@group()
def campaign() -> None:
    """Judge a sample in a durable store: several judges, early readings, nothing lost.

    A campaign is a drawn sample with a log that only grows: what was drawn, shown, judged, taken back. Every estimate
    and every export is a reading of that log and names the event that it is true for. The store is a file,
    NAME.activeeval in this folder, or a PostgreSQL database (--db).

    \b
    activeeval campaign create week1 --run new.run --versus-run old.run --max-grade 3 --budget 200
    activeeval campaign next week1 --out week1.csv         a sheet for a spreadsheet
    activeeval campaign import week1 week1.csv --judge ann
    activeeval campaign status week1
    activeeval campaign estimate week1
    activeeval campaign report week1                       one HTML file: what the team reads
    """


campaign.add_late(
    "Draw",
    create=("campaigns.commands.create:create", "Draw a sample and store it, ready for judges; or a further round"),
    top_up=("campaigns.commands.create:top_up", "Add to the budget"),
    close=("campaigns.commands.close:close", "Give out nothing more, or open it again"),
    list=("campaigns.commands.create:list_", "The campaigns of a store"),
)
campaign.add_late(
    "Judge",
    next=("campaigns.commands.judge:next_", "Write the sheet of what is to be judged next"),
    import_=("campaigns.commands.judge:import_", "Take judged sheets and other judgments in"),
    label=("campaigns.commands.judge:label", "Compare two documents at a time, at the terminal"),
    claim=("campaigns.commands.judge:claim", "Take the next item, for a program"),
    submit=("campaigns.commands.judge:submit", "Give the answer to an item"),
    judge=("campaigns.commands.judge:judge", "Judge by a file of judgments"),
    retract=("campaigns.commands.judge:retract", "Take a judgment back"),
)
campaign.add_late(
    "Read",
    status=("campaigns.commands.inspect:status", "How far the judging is, and the interval now"),
    estimate=("campaigns.commands.inspect:estimate", "Estimates from what is judged so far"),
    audit=("campaigns.commands.grader_audit:audit", "Hold a machine's grades against the labels so far"),
    report=("campaigns.commands.report:report", "One page for the team: estimates, cost, judges"),
    export=("campaigns.commands.inspect:export", "Write judgments and weights for other tools"),
    cost=("campaigns.commands.inspect:cost", "How long judging takes, by the judges' clocks"),
    verify=("campaigns.commands.inspect:verify", "Check that nothing was lost or changed"),
)
