"""Charts of results. Matplotlib is imported on first use."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from activeeval.core.errors import InputError
from activeeval.report.rows import amount, design_columns

if TYPE_CHECKING:
    from activeeval.core.design import Design
    from activeeval.core.planning import QuestionPlan
    from activeeval.core.simulation import Summary
    from activeeval.formats.writing import AtomicFiles
COLOURS = ("#4d4d4d", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_LINE_STYLES = {
    "passive": ("#4d4d4d", "o"),
    "active": ("#332288", "s"),
    "active_uniC": ("#88ccee", "^"),
    "active_uniD": ("#44aa99", "D"),
    "random": ("#ddaa33", "v"),
    "whole": ("#999933", "P"),
    "depth_plain": ("#aa4499", "<"),
    "depth": ("#117733", "X"),
    "items_plain": ("#cc6677", ">"),
    "items": ("#882255", "h"),
}
"""Colour and marker of each method in all charts: Tol's muted scheme, which is safe for colour-blind readers."""
_MOST_LINES = 6
_WIDTH, _IN_A_ROW = 4.6, 3
_MANY = 100
_SHADES = 96
"""Number of colours of a PNG: enough for six antialiased lines; 256 look the same and need a fifth more space."""
PICTURES = (".png", ".svg", ".pdf")


def styled(look: Any) -> Any:
    """Return a context manager that applies matplotlib settings (`look`) within its block."""
    from matplotlib import rc_context

    return rc_context(look)


def plain_figure(width: float, height: float, n_rows: int = 1, **settings: Any) -> tuple[Any, Any]:
    """Create a figure with vertically stacked panels that share their x axis; return it and its axes, shape (n_rows,).

    Width and height are in inches; further settings are those of matplotlib's Figure.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", **settings)
    return figure, figure.subplots(n_rows, 1, sharex=True, squeeze=False)[:, 0]


def new_figure(path: str | Path, n_panels: int, width: float = _WIDTH) -> tuple[Any, Any]:
    """Create a figure of n panels in up to three columns; return it and its axes, shape (n_panels,).

    `width` is that of a panel in inches. InputError is raised if the file name does not end in one of `PICTURES`.
    """
    if Path(path).suffix.lower() not in PICTURES:
        raise InputError(f"{path}: expected a picture's name that ends in {', '.join(PICTURES)}")
    from matplotlib.figure import Figure

    n_columns = n_panels if n_panels <= 3 else 2
    n_rows = -(-n_panels // n_columns)
    figure = Figure(figsize=(width * n_columns, 3.6 * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for unused in axes[n_panels:]:
        unused.remove()
    return figure, axes[:n_panels]


def _plain_ticks(axis: Any) -> None:
    """Label a logarithmic axis with plain numbers, with several ticks per decade unless it spans many decades."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    subs = (1, 1.5, 2, 3, 5, 7) if high < _MANY * low else (1, 3)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def save_figure(figure: Any, path: str | Path, files: AtomicFiles | None = None) -> None:
    """Write a figure atomically, alone or, if `files` is set, together with other files.

    A PNG is reduced to a palette, which makes it a third as large.
    """
    from activeeval.formats.writing import write_atomically

    form = Path(path).suffix[1:].lower()
    with write_atomically(path, binary=True) if files is None else files.open(path, binary=True) as handle:
        if form != "png":
            figure.savefig(handle, format=form)
            return
        from PIL import Image

        with BytesIO() as buffer:
            figure.savefig(buffer, format=form, dpi=150)
            Image.open(buffer).convert("RGB").quantize(_SHADES).save(handle, form, optimize=True)


def plot_errors(panels: Mapping[str, Sequence[Summary]], path: str | Path, *, unit: str = "mean items") -> None:
    """Plot root mean squared error against budget, a panel for each entry of `panels`, a line for each method.

    Bars are ± 2 Monte-Carlo standard errors. A method has the same style in all charts; the legend is below. With more
    than six methods, passive (random queries) and the five most precise at the largest budget are plotted. ``unit`` is
    the unit of the budgets, for the axis.
    """
    figure, axes = new_figure(path, len(panels))
    handles: dict[str, Any] = {}
    for axis, (title, summaries) in zip(axes, panels.items(), strict=True):
        for method in _most_precise([(s.method, s.budget, s.rmse.value) for s in summaries]):
            of_method = [s for s in summaries if s.method == method]
            bars = [2 * s.rmse.se for s in of_method]
            line = axis.errorbar(
                [s.budget for s in of_method], [s.rmse.value for s in of_method], bars, **line_style(method)
            )
            handles.setdefault(method, line)
        over_budget(axis, title, sorted({s.budget for s in summaries}))
        axis.set(xlabel=f"budget, {unit}", ylabel="root mean squared error")
    _legend(figure, handles)
    save_figure(figure, path)


def plot_plans(plans: Sequence[QuestionPlan], confidence: float, path: str | Path) -> None:
    """Plot the expected half-width for the pool against budget, a panel for each question, a line for each method.

    The dotted line is the smallest half-width that any choice of items reaches; a star is a budget that should reach a
    goal. A method has the same colour in all charts; at most six methods are plotted, the most precise ones.
    """
    figure, axes = new_figure(path, len(plans))
    handles: dict[str, Any] = {}
    for axis, plan in zip(axes, plans, strict=True):
        planned = [(row.prospect, row.prospect.half_width("pool", confidence), row) for row in plan.rows]
        planned = [(prospect, half, row) for prospect, half, row in planned if 0 < half < math.inf]
        for method in _most_precise([(prospect.method, prospect.budget, half) for prospect, half, _ in planned]):
            of_method = [(prospect.budget, half, row) for prospect, half, row in planned if prospect.method == method]
            line = axis.plot(
                [budget for budget, *_ in of_method], [half for _, half, _ in of_method], **line_style(method)
            )[0]
            handles.setdefault(method, line)
            stars = [(budget, half) for budget, half, row in of_method if row.goal]
            axis.plot(*zip(*stars, strict=True), "*", color=line.get_color(), ms=12) if stars else None
        limits = sorted(
            {(row.prospect.budget, row.limit(confidence)) for _, _, row in planned if row.limit(confidence) > 0}
        )
        if limits:
            dotted = axis.plot(*zip(*limits, strict=True), ":", color="#000000", lw=1.2)[0]
            handles.setdefault("limit", dotted)
        for goal in plan.goals:
            if goal.half_width is not None and goal.scope == "pool":
                axis.axhline(goal.half_width, color="#bbbbbb", lw=0.8)
        over_budget(
            axis,
            plan.name if len(plans) > 1 else plan.target.name,
            sorted({prospect.budget for prospect, _, row in planned if not row.goal}),
        )
        axis.set(xlabel=f"budget, {plan.target.pool.cost_unit}", ylabel=f"half-width of the {confidence:.0%} interval")
    if "limit" in handles:
        handles["limit"] = handles.pop("limit")  # the last of all panels
    _legend(figure, handles)
    save_figure(figure, path)


def over_budget(axis: Any, title: str, budgets: Sequence[float]) -> None:
    """Format an axis of errors over budgets: logarithmic scales, a title, and ticks at `budgets`."""
    axis.set(xscale="log", yscale="log", title=title)
    if budgets:
        axis.set_xticks(budgets, [amount(b) for b in budgets])
    axis.minorticks_off()
    _plain_ticks(axis.yaxis)
    axis.grid(alpha=0.3)


def _legend(figure: Any, handles: Mapping[str, Any]) -> None:
    """Draw one legend below all panels; `handles` maps a label to what matplotlib drew."""
    n_columns = min(len(handles), round(_IN_A_ROW * figure.get_figwidth() / _WIDTH)) or 1
    figure.set_figheight(figure.get_figheight() + 0.2 * -(-len(handles) // n_columns))
    look = {"frameon": False, "fontsize": 8, "handlelength": 3.5}
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=n_columns, **look)


def _most_precise(errors: Sequence[tuple[str, float, float]]) -> list[str]:
    """Select at most six methods to plot from points (method, budget, error), in their order.

    These are "passive" (random queries) and the methods with the least error at their largest budget.
    """
    # sorted by budget, so that the largest one of each method is kept
    last = {method: (budget, error) for method, budget, error in sorted(errors, key=lambda point: point[1])}
    ranked = sorted(last, key=lambda method: (method != "passive", -last[method][0], last[method][1]))
    return [method for method in dict.fromkeys(method for method, *_ in errors) if method in ranked[:_MOST_LINES]]


def line_style(method: str) -> dict[str, str | float]:
    """Return the matplotlib style of a method's line, the same in all charts; passive (random queries) is dashed."""
    colour, marker = _LINE_STYLES.get(method, ("#000000", "."))
    return {"color": colour, "marker": marker, "linestyle": "--" if method == "passive" else "-", "ms": 4, "lw": 1.2}


def plot_design(design: Design, path: str | Path) -> None:
    """Plot the importance q/p of every query against its judging cost and its expected measure value.

    q is the probability that the design draws it, p its weight in the mean. InputError is raised if the method has no
    grade model.
    """
    columns = design_columns(design)
    if not np.all(np.isfinite(columns["mean"])):
        raise InputError(f"method {design.name!r} uses no model, so there is no expected performance to draw")
    figure, axes = new_figure(path, 1, width=6.0)
    ratio = columns["sampling_prob"] / columns["query_prob"]
    # queries that are never drawn are left out; the most important ones are plotted last
    order = np.argsort(ratio)[np.count_nonzero(ratio == 0) :]
    costs, means = columns["cost"][order], columns["mean"][order]
    dots = axes[0].scatter(costs, means, c=ratio[order], s=9, cmap="viridis", norm="log", linewidths=0)
    axes[0].set(
        xlabel=f"judging the query, {design.pool.cost_unit}",
        ylabel=f"expected {design.target.measure}",
        title=design.name,
    )
    if costs.min(initial=1.0) > 0:
        axes[0].set_xscale("log")
        _plain_ticks(axes[0].xaxis)
    _plain_ticks(figure.colorbar(dots, ax=axes[0], label="q / p").ax.yaxis)
    save_figure(figure, path)
