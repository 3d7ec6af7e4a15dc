"""Panels and lines of the pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from benchmarks.metric_learning.running import Row

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


def panels(n_columns: int, n_rows: int = 1) -> tuple[Figure, Any]:
    """Return a drawing with panels."""
    figure = Figure(figsize=(4.2 * n_columns, 3.5 * n_rows), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def line(axis: Any, rows: Sequence[Row], x: str, y: str, number: int = 0, **style: Any) -> None:
    """Draw means with bars of one standard error."""
    errors = [row[f"{y}_se"] or 0.0 for row in rows]
    look = {"marker": "os^DvP"[number % 6], "ms": 4, "lw": 1.2, "color": COLOURS[number % 6], "capsize": 2}
    axis.errorbar([row[x] for row in rows], [row[y] for row in rows], errors, **(look | style))


def finish(axis: Any, title: str, x: str, y: str, **settings: Any) -> None:
    """Name the axes of a panel."""
    axis.set(title=title, xlabel=x, ylabel=y, **settings)
    axis.grid(alpha=0.3)
    if axis.get_legend_handles_labels()[0]:
        axis.legend(fontsize=7, frameon=False)


def one_legend(figure: Figure, axes: Any) -> None:
    """Put the legend of the first panel below all of them."""
    for axis in axes.ravel():
        if axis.get_legend():
            axis.get_legend().remove()
    handles, labels = axes.ravel()[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=8)
