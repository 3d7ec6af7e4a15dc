"""``activeeval watch``: quality from night to night, for the price of what is new."""

from __future__ import annotations

from activeeval.cli.help import group


@group()
def watch() -> None:
    """Watch the quality of an index night after night: each night costs what is new.

    A night compares tonight's run with the night before, and with a reference. Every label that was ever drawn goes on
    counting, with the probability with which it came so far; new ones are drawn where they say most about tonight. A
    document whose text has changed loses its grade (--documents).

    Exit codes of `night`, `submit` and `status`: 0 fine, 10 worse: an alarm, 11 undecided, or items wait.

    \b
    activeeval watch init quality --measure DCG@10 --max-grade 4 --budget-per-night 40 --margin 0.2
    activeeval watch night quality --run tonight.run --sheet tonight.csv
    activeeval watch submit quality tonight.csv --judge ann
    activeeval watch estimate quality
    """


watch.add_late(
    "Every night",
    init=("monitoring.commands.nights:init", "Set up a watch"),
    night=("monitoring.commands.nights:night", "Take tonight's run"),
    submit=("monitoring.commands.nights:submit", "Take judged sheets in"),
)
watch.add_late(
    "Read",
    status=("monitoring.commands.inspect:status", "What the last night says"),
    estimate=("monitoring.commands.inspect:estimate", "What the nights say, one after the other"),
    report=("monitoring.commands.inspect:report", "What the nights say, as a page"),
)
