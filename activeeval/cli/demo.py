"""``activeeval demo``: the main job on a generated pool."""

from __future__ import annotations

from pathlib import Path

import click

from activeeval.cli.help import command
from activeeval.cli.inputs import seed_option
from activeeval.cli.output import say, show_table, show_text
from activeeval.cli.waiting import progress, tell
from activeeval.errors import InputError


@command("See what sampling saves, on a generated collection")
@click.option("--queries", type=click.IntRange(20), default=800, help="A tenth of them train.")
@click.option("--repetitions", type=click.IntRange(2), default=1000, help="Replays of each method.")
@seed_option
@click.option("--out", type=click.Path(), default="demo-out", help="Folder for the picture.")
def demo(queries: int, repetitions: int, seed: int, out: str) -> None:
    """Compare the methods on a generated pool: how well each measures a ranking for the same judging budget.

    A pool in the likeness of MSLR-WEB30K is generated, a forest learns to predict grades on a tenth of its queries, and
    each method then measures one ranking, and the effect of an index update, thousands of times over.

    \b
    activeeval demo --queries 200 --repetitions 100
    """
    from activeeval.report import compact_rows, plot_errors
    from activeeval.tasks.demonstration import cases

    picture = Path(out) / "methods.png"
    try:
        picture.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"--out {out}: cannot make this folder: {problem.strerror}") from None
    panels = {}
    tell("making a pool and learning from a tenth of it")
    steps = cases(queries, repetitions, seed)
    with progress(len(steps), "demo") as advance:
        for title, run in steps.items():
            panels[title] = run()
            advance(title)
    for title, summaries in panels.items():
        show_table(compact_rows(summaries), f"{title}: truth {summaries[0].truth:.4f}, {repetitions} repetitions")
    plot_errors(panels, picture)
    show_text(
        "A budget of 1 pays for judging a mean item. Error: root mean squared; in brackets the efficiency, how many "
        "times the labels passive would need for it. The last columns are for the largest budget."
    )
    say(f"wrote {picture}")
