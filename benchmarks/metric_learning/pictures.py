"""The pictures of the experiments, from stored rows; the same rows give the same files."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from benchmarks.frame.pictures import finish, line, panels, save
from benchmarks.metric_learning.rows import Tables
from benchmarks.metric_learning.running import Row

PREFIX = "metric-learning-"
PLACES = ("low", "C_ties", "weights", "trained on")
"""What is drawn at even distances, each value by its name."""
NO_LINE = ("true", "weights", "trained on")
SETS = ("all", "Set1", "Set2")


class Lines(NamedTuple):
    """Lines of values ``ys`` over ``x`` of a table, one for each set of ``by``; a panel for each set of ``over``."""

    experiment: str
    table: str
    x: str
    ys: tuple[str, ...] = ("precision",)
    by: tuple[str, ...] = ()
    over: tuple[str, ...] = ()


PICTURES = {
    "curves": (
        "Precision and similarity over training pairs.",
        Lines("curves", "curve", "pairs", ("precision", "best C in hindsight"), ("shape",), ("data",)),
        Lines("curves", "curve", "pairs", ("similarity",), ("shape",), ("data",)),
    ),
    "by-difference": (
        "Accuracy among test pairs of alike true differences.",
        Lines("curves", "by difference", "low", by=("weights",), over=("data",)),
        Lines("web", "by difference", "low", by=("weights",)),
    ),
    "agreement": (
        "How often gains 2^l − 1 and l prefer the same list.",
        Lines("agreement", "share", "difference", ("agree",), ("discount",), ("grades",)),
    ),
    "noise": (
        "Turned preferences, wrong grades.",
        Lines("noisy-pairs", "turned", "turned", by=("pairs", "shape", "C by"), over=("data",)),
        Lines("noisy-grades", "regraded", "share", by=("pairs", "shape"), over=("data",)),
    ),
    "best-order": (
        "Pairs with the best order of a list.",
        Lines("best-order", "best order", "pairs", by=("kind",), over=("data", "shape")),
    ),
    "read-out": (
        "Estimated over true discounts and gains.",
        Lines("curves", "read-out", "true", ("found",), ("data", "shape"), ("of",)),
        Lines("read-out", "read-out", "true", ("found",), ("data", "shape"), ("of", "pairs")),
    ),
    "web": (
        "Web-style pairs.",
        Lines("web", "curve", "pairs", by=("shape",)),
        Lines("web", "regraded", "share", by=("pairs",)),
    ),
    "ties": (
        "Ties of growing weight, margins of a tie 1 and 0.",
        *(
            Lines(experiment, "ties", "C_ties", (value,), ("set", "tie_margin"))
            for experiment in ("ties-simulated", "ties-news")
            for value in ("tied difference", "over that of untied", "accuracy, change")
        ),
    ),
    "active": (
        "Pairs chosen by SimpleMargin and at random.",
        *(
            Lines(f"active-{pairs}", "active", "pairs", by=("chosen", "shape"), over=("set",))
            for pairs in ("simulated", "web", "news")
        ),
    ),
    "news": (
        "News-shaped pairs.",
        *(Lines("news", table, x, SETS) for table, x in (("accuracy", "weights"), ("curve", "pairs"))),
        Lines("news", "one set", "trained on", SETS),
        Lines("news", "by label", "label", ("difference",)),
    ),
}
"""By name: what a picture shows, and its lines."""


def grouped(rows: Sequence[Row], by: tuple[str, ...]) -> dict[tuple[Any, ...], list[Row]]:
    """Return rows by the values of some of their keys."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    return groups


def draw(name: str, tables: Tables) -> Figure:
    """Draw a picture, two or three panels in a row."""
    drawn = [
        (lines, names, rows)
        for lines in PICTURES[name][1:]
        if lines.experiment in tables
        for names, rows in grouped(tables.rows(lines.experiment, lines.table), lines.over).items()
    ]
    n_columns = 3 if len(drawn) % 3 == 0 else 2
    figure, axes = panels(n_columns, -(-len(drawn) // n_columns))
    for axis in axes.ravel()[len(drawn) :]:
        axis.remove()
    for axis, (lines, over, rows) in zip(axes.ravel(), drawn, strict=False):
        x = "place" if lines.x in PLACES else lines.x
        for number, ((names, own), y) in enumerate(product(grouped(rows, lines.by).items(), lines.ys)):
            placed = [row | {"place": place} for place, row in enumerate(own)]
            label = ", ".join(map(str, (*names, *([y] if len(lines.ys) > 1 else []))))
            line(axis, placed, x, y, number, label=label, ls="none" if lines.x in NO_LINE else "-")
        title = ", ".join(map(str, (lines.experiment, *over)))
        finish(axis, title, lines.x, ", ".join(lines.ys), xscale="log" if x == "pairs" else "linear")
        if x in ("place", "pairs"):
            values = sorted({row[x] for row in placed})
            axis.set_xticks(values, [str(row[lines.x]) for row in placed], fontsize=7)
            axis.minorticks_off()
    return figure


def names_of(tables: Tables) -> list[str]:
    """List the pictures of what was run."""
    return [name for name, (_, *drawn) in PICTURES.items() if any(lines.experiment in tables for lines in drawn)]


def held(tables: Tables) -> list[tuple[str, str]]:
    """List the files of what was run and what they show."""
    return [(f"{PREFIX}{name}.svg", PICTURES[name][0]) for name in names_of(tables)]


def save_all(result: Row, folder: Path) -> None:
    """Write the pictures of what was run as SVG."""
    tables = Tables(result["experiments"])
    save(((f"{PREFIX}{name}", draw(name, tables)) for name in names_of(tables)), folder)
