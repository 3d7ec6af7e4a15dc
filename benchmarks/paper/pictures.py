"""The paper's figures, in its layout, from stored results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from activeeval.report.pictures import line_style
from benchmarks.frame.pictures import one_legend, panels, save
from benchmarks.paper.averages import ERRORS, Row, curve
from benchmarks.paper.cases import MEASURES, PAPER_METHODS

STYLES = {name: line_style(name) for name in (*PAPER_METHODS, "items", "depth")}
LABELS = {"mae": "mean absolute error", "selection_error": "model selection error"}


def _panels(n_rows: int, n_columns: int, width: float = 3.6) -> tuple[Figure, Any]:
    return panels(n_columns, n_rows, width, 3.1 + 0.5 / n_rows)


def _draw(
    axis: Any,
    rows: Sequence[Row],
    cases: Sequence[str],
    measure: str,
    x: Callable[[Row], float] = lambda r: r["budget"],
) -> None:
    """Draw every method of a panel with bars of one standard error, as in the paper."""
    for method, style in STYLES.items():
        points = [row for case in cases for row in curve(rows, case, measure, method)]
        if points:
            name = ERRORS[points[0]["figure"]]
            values, bars = ([row[key] for row in points] for key in (name, f"{name}_se"))
            axis.errorbar([x(row) for row in points], values, bars, label=method, **style)
            axis.set_ylabel(LABELS[name])
    axis.set(title=f"{cases[0]}, {measure}", xlabel="labelling budget Λ")
    axis.set_ylim(bottom=0)
    axis.grid(alpha=0.3)


def _grid_of(number: int) -> Callable[[Row], Figure]:
    """Return the drawing of a figure whose panels are its measures, a row for each case; of one case a row."""

    def draw(result: Row) -> Figure:
        rows = [row for row in result["rows"] if row["figure"] == number]
        cases = list(dict.fromkeys(row["case"] for row in rows))
        figure, axes = _panels(len(cases), len(MEASURES), 4.2)
        for line, case in zip(axes, cases, strict=True):
            for axis, measure in zip(line, MEASURES, strict=True):
                _draw(axis, rows, [case], measure)
        one_legend(figure, axes, 6)
        return figure

    return draw


def _figure_1(result: Row) -> Figure:
    figure, axes = _panels(1, 2)
    for axis, name, label in zip(
        axes[0], ("items", "costs"), ("number of documents of a query", "labelling cost λ(x)"), strict=True
    ):
        edges, counts = np.array(result["figure_1"][name]["edges"]), result["figure_1"][name]["counts"]
        axis.bar(edges[:-1], counts, np.diff(edges), align="edge", color="#0072b2", edgecolor="white", linewidth=0.3)
        axis.set(xlabel=label, ylabel="number of queries")
    return figure


def _figure_5(result: Row) -> Figure:
    rows = [row for row in result["rows"] if row["figure"] == 5]
    cases = list(dict.fromkeys(row["case"] for row in rows))
    figure, axes = _panels(2, len(MEASURES), 4.2)
    sizes, budget = result["sizes"], _second_budget(rows)
    for k, measure in enumerate(MEASURES):
        _draw(axes[0, k], rows, cases[-1:], measure)
        at_budget = [row for row in rows if row["budget"] == budget]
        _draw(axes[1, k], at_budget, cases, measure, lambda row: sizes[cases.index(row["case"])])
        axes[1, k].set(title=f"{measure} at Λ = {budget:g}", xlabel="query-document pairs that r₂ is trained on")
    one_legend(figure, axes, 6)
    return figure


def _second_budget(rows: Sequence[Row]) -> float:
    """Return the second smallest budget, or the only one."""
    return sorted({row["budget"] for row in rows})[:2][-1]


def _plain_ticks(axis: Any) -> None:
    axis.set_major_locator(LogLocator(subs=(1, 3)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def _figure_6(result: Row) -> Figure:
    figure, axes = _panels(1, 2, 4.4)
    found = result["figure_6"]
    ratios = np.array(found["ratio"], dtype=float)
    mesh = axes[0, 0].pcolormesh(found["cost_edges"], found["value_edges"], ratios.T, norm=LogNorm(), cmap="viridis")
    scale = figure.colorbar(mesh, ax=axes[0, 0], label="mean of q*(x) / p(x)").ax.yaxis
    _plain_ticks(scale)
    axes[0, 0].axhline(found["overall"], color="#d55e00", lw=1)
    axes[0, 0].set(xscale="log", xlabel="labelling cost λ(x)", ylabel="E[L(x, y) | x; θ], DCG of RF_class")
    _plain_ticks(axes[0, 0].xaxis)
    rows = [
        row for row in result["rows"] if row["figure"] == 2 and row["case"] == "RF_class" and row["measure"] == "DCG"
    ]
    budget = _second_budget(rows)
    drawn = {
        row["method"]: row["queries"] for row in rows if row["budget"] == budget and row["method"] in PAPER_METHODS
    }
    axes[0, 1].bar(list(drawn), list(drawn.values()), color=[STYLES[method]["color"] for method in drawn])
    axes[0, 1].set(ylabel="number of queries drawn", title=f"Λ = {budget:g}")
    axes[0, 1].tick_params(axis="x", labelsize=8)
    return figure


FIGURES = {1: _figure_1, 2: _grid_of(2), 3: _grid_of(3), 4: _grid_of(4), 5: _figure_5, 6: _figure_6}


def draw(result: Row, number: int) -> Figure:
    """Return one of the paper's figures."""
    return FIGURES[number](result)


def numbers_in(result: Row) -> list[int]:
    """Return the figures for which a result has what they need."""
    there = {row["figure"] for row in result["rows"]}
    return [number for number in FIGURES if number == 1 or (2 if number == 6 else number) in there]


def save_all(result: Row, folder: Path) -> None:
    """Write the figures as SVG."""
    save(((f"{result['collection']}-figure-{number}", draw(result, number)) for number in numbers_in(result)), folder)
