"""``activeeval campaign``: campaigns in a durable store, for judges who work for weeks."""

from __future__ import annotations

from activeeval.cli.campaign.judging import claim, import_, judge, label, next_, retract, submit
from activeeval.cli.campaign.making import create, list_, redraw, top_up
from activeeval.cli.campaign.reading import cost, estimate, export, status, verify
from activeeval.cli.campaign.reporting import report
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


retract.context_settings["show_default"] = False  # that of a reason is nothing
campaign.add_section("Draw", create, top_up, redraw, list_)
campaign.add_section("Judge", next_, import_, label, claim, submit, judge, retract)
campaign.add_section("Read", status, estimate, report, export, cost, verify)
