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
    __name__,
    create="making:create",
    top_up="making:top_up",
    redraw="making:redraw",
    close="closing:close",
    list="making:list_",
)
campaign.add_late(
    "Judge",
    __name__,
    next="judging:next_",
    import_="judging:import_",
    label="judging:label",
    claim="judging:claim",
    submit="judging:submit",
    judge="judging:judge",
    retract="judging:retract",
)
campaign.add_late(
    "Read",
    __name__,
    status="reading:status",
    estimate="reading:estimate",
    audit="auditing:audit",
    report="reporting:report",
    export="reading:export",
    cost="reading:cost",
    verify="reading:verify",
)
