"""One way to draw: panels, lines with bars of one standard error, names, legends, and reproducible files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = "os^DvP"


def panels(n_columns: int, n_rows: int = 1, width: float = 4.2, height: float = 3.5) -> tuple[Figure, Any]:
    """Make a drawing of panels, sizes in inches each; the panels have the shape (n_rows, n_columns)."""
    drawing = Figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
    return drawing, drawing.subplots(n_rows, n_columns, squeeze=False)


def line(axis: Any, rows: Sequence[Mapping[str, Any]], x: str, y: str, number: int = 0, **style: Any) -> None:
    """Draw the means ``y`` of rows over ``x`` with bars of their standard errors, ``y_se``."""
    errors = [row[f"{y}_se"] or 0.0 for row in rows]
    look = {"marker": MARKERS[number % 6], "ms": 4, "lw": 1.2, "color": COLOURS[number % 6], "capsize": 2}
    axis.errorbar([row[x] for row in rows], [row[y] for row in rows], errors, **(look | style))


def finish(axis: Any, title: str, x: str, y: str, **settings: Any) -> None:
    """Name the axes of a panel, and draw its grid and its legend."""
    axis.set(title=title, xlabel=x, ylabel=y, **settings)
    axis.grid(alpha=0.3)
    if axis.get_legend_handles_labels()[0]:
        axis.legend(fontsize=7, frameon=False)


def one_legend(drawing: Figure, axes: Any, n_columns: int = 3) -> None:
    """Put one legend of all panels below them."""
    labelled: dict[str, Any] = {}
    for axis in axes.ravel():
        if axis.get_legend():
            axis.get_legend().remove()
        handles, labels = axis.get_legend_handles_labels()
        labelled |= dict(zip(labels, handles, strict=True))
    drawing.legend(labelled.values(), labelled, loc="outside lower center", ncols=n_columns, frameon=False, fontsize=8)


def save(drawings: Iterable[tuple[str, Figure]], folder: Path, formats: Sequence[str] = ("svg",)) -> list[Path]:
    """Write drawings by name and return their files; the same drawing gives the same file."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    with mpl.rc_context({"svg.hashsalt": "activeeval", "svg.fonttype": "path"}):
        for name, drawing in drawings:
            for suffix in formats:
                paths.append(folder / f"{name}.{suffix}")
                options = {"metadata": {"Date": None}} if suffix == "svg" else {"dpi": 110}
                drawing.savefig(paths[-1], **options)
    return paths
