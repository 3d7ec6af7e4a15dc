"""``activeeval demo``: compare two rankers on a generated pool."""

from __future__ import annotations

from pathlib import Path

import click

from activeeval.cli.help import command
from activeeval.cli.input_options import seed_option
from activeeval.cli.output import out_option, say, show_table, show_text
from activeeval.cli.waiting import progress, tell
from activeeval.core.errors import InputError
from activeeval.report.numbers import counted


@command()
@click.option("--queries", type=click.IntRange(20), default=800, help="A tenth of them train.")
@click.option("--repetitions", type=click.IntRange(2), default=1000, help="Replays of each method.")
@seed_option
@out_option(metavar="DIR", default="demo-out", help="Folder for the picture and for files to try commands with.")
def demo(queries: int, repetitions: int, seed: int, out: str) -> None:
    """Compare two rankers of a generated collection, and see how many judgments activeeval saves.

    A collection in the likeness of MSLR-WEB30K is generated, and a forest learns to predict grades on a tenth of its
    queries. Two rankers are compared on the others by DCG@10 and nDCG@10: by random queries whose lists are judged
    whole, and by the queries and documents that activeeval chooses. Beside the picture two runs, judgments and the
    grades of a grader are written, to try commands with.

    \b
    activeeval demo --queries 200 --repetitions 100
    """
    from activeeval.quickstart.demonstration import savings
    from activeeval.quickstart.example import write_example
    from activeeval.quickstart.savings import plot_savings, saving_words, savings_rows

    picture = Path(out) / "demo.png"
    try:
        files = write_example(Path(out) / "example")
    except OSError as problem:
        raise InputError(f"--out {out}: cannot make this folder: {problem.strerror}") from None
    tell("making a collection and learning from a tenth of it")
    steps = savings(queries, repetitions, seed)
    measured = []
    with progress(len(steps), "demo") as advance:
        for title, run in steps.items():
            measured.append(run())
            advance(title)
    for saving in measured:
        show_text(saving_words(saving))
    show_table(savings_rows(measured), f"± of new − old, the mean of {counted(repetitions, 'sample')}")
    plot_savings(measured, picture)
    say(f"wrote {picture}, and in {Path(out) / 'example'} files to try commands with: {', '.join(files)}")
    say("`activeeval init` asks a few questions about runs of your own")
