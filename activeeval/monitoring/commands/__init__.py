"""``activeeval watch``: monitor search quality night after night, with labels only for new items."""

from __future__ import annotations

from activeeval.cli.help import group


@group()
def watch() -> None:
    """Watch search quality night after night: each night costs only the labels of new items.

    A night compares tonight's run with the night before, and with a reference. Labels of earlier nights count too,
    with the probability with which their items were drawn so far; new labels are drawn where they tell most about
    tonight. A document whose text has changed loses its grade (--documents).
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
    night=("monitoring.commands.nights:night", "Draw a sample of tonight's run"),
    submit=("monitoring.commands.nights:submit", "Store judged sheets"),
)
watch.add_late(
    "Read",
    status=("monitoring.commands.inspect:status", "Show the result of the last night"),
    estimate=("monitoring.commands.inspect:estimate", "Print the results of all nights"),
    report=("monitoring.commands.inspect:report", "Write the results as a page"),
)
