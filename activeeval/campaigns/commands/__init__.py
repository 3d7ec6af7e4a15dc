"""Command group ``activeeval campaign``: judging campaigns in a durable store."""

from __future__ import annotations

from activeeval.cli.help import group


@group()
def campaign() -> None:
    """Judge a sample in a durable store: several judges, early estimates, no data lost.

    A campaign is a drawn sample with an append-only log of what was drawn, shown, judged and retracted. Each estimate
    and export is computed from this log and names the event up to which it holds. The store is a file, NAME.activeeval
    in this folder, or a PostgreSQL database (--db).

    \b
    activeeval campaign create week1 --run new.run --versus-run old.run --max-grade 3 --budget 200
    activeeval campaign next week1 --out week1.csv         a sheet for a spreadsheet
    activeeval campaign import week1 week1.csv --judge ann
    activeeval campaign status week1
    activeeval campaign estimate week1
    activeeval campaign report week1                       one HTML file for the team
    """


campaign.add_late(
    "Draw",
    create=("campaigns.commands.create:create", "Draw a sample and store it, ready for judges; or a further round"),
    top_up=("campaigns.commands.create:top_up", "Add to the budget"),
    close=("campaigns.commands.close:close", "Stop giving out items, or reopen it"),
    list=("campaigns.commands.create:list_", "List the campaigns of a store"),
)
campaign.add_late(
    "Judge",
    next=("campaigns.commands.judge:next_", "Write a sheet of the next items to judge"),
    import_=("campaigns.commands.judge:import_", "Import judged sheets and other judgments"),
    label=("campaigns.commands.judge:label", "Compare two documents at a time, at the terminal"),
    claim=("campaigns.commands.judge:claim", "Claim the next item, for programs"),
    submit=("campaigns.commands.judge:submit", "Give the answer to an item"),
    judge=("campaigns.commands.judge:judge", "Judge with the grades of a file"),
    retract=("campaigns.commands.judge:retract", "Retract a judgment"),
)
campaign.add_late(
    "Read",
    status=("campaigns.commands.inspect:status", "Show progress, and the estimates so far"),
    estimate=("campaigns.commands.inspect:estimate", "Estimates from what is judged so far"),
    audit=("campaigns.commands.grader_audit:audit", "Audit a grader with the judgments so far"),
    report=("campaigns.commands.report:report", "One page for the team: estimates, cost, judges"),
    export=("campaigns.commands.inspect:export", "Write judgments and weights for other tools"),
    cost=("campaigns.commands.inspect:cost", "Fit the time of judging from the judges' clocks"),
    verify=("campaigns.commands.inspect:verify", "Check that nothing was lost or changed"),
)
