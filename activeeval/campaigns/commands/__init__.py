"""``activeeval campaign``: campaigns in a durable store, for judges who work for weeks."""

from __future__ import annotations

from activeeval.cli.help import group


@group("Judge a sample in a durable store, with several judges")
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
    create="campaigns.commands.create:create",
    top_up="campaigns.commands.create:top_up",
    redraw="campaigns.commands.create:redraw",
    close="campaigns.commands.close:close",
    list="campaigns.commands.create:list_",
)
campaign.add_late(
    "Judge",
    next="campaigns.commands.judge:next_",
    import_="campaigns.commands.judge:import_",
    label="campaigns.commands.judge:label",
    claim="campaigns.commands.judge:claim",
    submit="campaigns.commands.judge:submit",
    judge="campaigns.commands.judge:judge",
    retract="campaigns.commands.judge:retract",
)
campaign.add_late(
    "Read",
    status="campaigns.commands.inspect:status",
    estimate="campaigns.commands.inspect:estimate",
    audit="campaigns.commands.grader_audit:audit",
    report="campaigns.commands.report:report",
    export="campaigns.commands.inspect:export",
    cost="campaigns.commands.inspect:cost",
    verify="campaigns.commands.inspect:verify",
)
