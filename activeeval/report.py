"""Results as tables and pictures. Matplotlib is imported where something is drawn."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from activeeval.errors import InputError
from activeeval.results import Figure

if TYPE_CHECKING:
    from activeeval.design import Design
    from activeeval.preferences import CoherenceReport
    from activeeval.simulation import Summary

Row = Mapping[str, Any]
FORMATS = ("text", "jsonl", "tsv", "md", "latex")
_COLOURS = ("#4d4d4d", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_LOOKS = {
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
"""Colour and marker of each method in every picture: Tol's muted scheme, which colour-blind readers tell apart."""
_MOST_LINES = 6
_WIDTH, _IN_A_ROW = 4.6, 3
_MANY = 100
PICTURES = (".png", ".svg", ".pdf")
_TSV = str.maketrans("\t\n\r", "   ")
_LATEX = str.maketrans({c: f"\\{c}" for c in "_%&#${}"} | {"\\": "\\textbackslash{}", "^": "\\^{}", "~": "\\~{}"})
_LATEX |= str.maketrans({"<": "\\textless{}", ">": "\\textgreater{}"})


def render(rows: Sequence[Row], form: str, places: int = 4) -> str:
    """Return rows as text in a format; a field that a row lacks is empty.

    Parameters
    ----------
    form : {"text", "jsonl", "tsv", "md", "latex"}
    places : int
        Decimal places of numbers that are not whole; −1 prints all digits. JSON lines always do.
    """
    if form == "jsonl":
        return "\n".join(json.dumps({k: _finite(v) for k, v in row.items()}, ensure_ascii=False) for row in rows)
    header = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[format_cell(row.get(name), places) for name in header] for row in rows]
    if form == "tsv":
        return "\n".join("\t".join(cell.translate(_TSV) for cell in line) for line in [header, *cells])
    if form == "md":
        lines = [header, ["---"] * len(header), *cells]
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    if form == "latex":
        return _latex(header, cells)
    if form != "text":
        raise InputError(f"unknown format {form!r}; known: {', '.join(FORMATS)}")
    return _text(header, cells)


def note_text(note: str, form: str) -> str:
    """Return a line to print below a table, with what LaTeX reads escaped there and what markdown does."""
    if form == "latex":
        return f"\\par {note.translate(_LATEX)}"
    return note.replace("*", "\\*", 1) if form == "md" else note


def format_cell(value: Any, places: int = 4) -> str:
    """Return one value as text; nothing for None."""
    if value is None:
        return ""
    if isinstance(value, float):
        if not math.isfinite(value):
            return "inf" if value > 0 else "-inf" if value < 0 else "nan"
        return repr(value) if places < 0 else f"{value:.{places}f}"
    return str(value)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _text(header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)] if header else []
    is_number = [all(_looks_numeric(line[i]) for line in cells) for i in range(len(header))]

    def line(texts: Sequence[str]) -> str:
        parts = (
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(texts, widths, is_number, strict=True)
        )
        return "  ".join(parts).rstrip()

    return "\n".join([line(header), *map(line, cells)])


def _looks_numeric(text: str) -> bool:
    return text == "" or text.lstrip("-> ")[:1].isdigit() or text in ("inf", "-inf", "nan")


def _latex(header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    def line(texts: Sequence[str]) -> str:
        escaped = (text.translate(_LATEX) for text in texts)
        return "  " + " & ".join(escaped) + " \\\\"

    body = [
        f"\\begin{{tabular}}{{{'l' * len(header)}}}",
        line(header),
        "  \\hline",
        *map(line, cells),
        "\\end{tabular}",
    ]
    return "\n".join(body)


def amount(budget: float) -> str:
    """Return a budget as a reader wants it: whole numbers from 100 on."""
    return f"{budget:,.0f}" if budget >= 100 else f"{budget:.4g}"


def summary_rows(measure: str, summaries: Sequence[Summary], *, with_errors: bool = True) -> list[dict[str, Any]]:
    """Return one row for each summary, its fields in the order of `Summary`, the measure first."""
    return [{"measure": measure, **summary.row(with_errors=with_errors)} for summary in summaries]


def plain_rows(summaries: Sequence[Summary]) -> list[dict[str, str]]:
    """Return rows for reading: each figure with its Monte-Carlo standard error in brackets."""
    named = (
        ("rmse", 4),
        ("bias", 4),
        ("coverage", 3),
        ("width", 3),
        ("queries", 1),
        ("items", 0),
        ("spent", 1),
        ("spent_max", 1),
    )
    rows = []
    for summary in summaries:
        row, figures = {"method": summary.method, "budget": amount(summary.budget)}, summary.row()
        row |= {name: f"{figures[name]:.{places}f}" for name, places in named}
        if summary.undetermined.value > 0:
            row["coverage"] += f" ({summary.undetermined.value:.1%} none)"
        if summary.interval == "group-sequential":
            row["at every look"] = f"{summary.coverage_so_far.value:.3f}"
        row["efficiency"] = _with_error(summary.efficiency, 2)
        if any(one.limit is not None for one in summaries):
            row["limit"] = "" if summary.limit is None else f"{summary.limit.value:.2f}"
        row["labels saved"] = _saved(summary)
        if summary.selection_error is not None:
            row["wrong winner"] = _with_error(summary.selection_error, 3)
        rows.append(row)
    return rows


def _saved(summary: Summary) -> str:
    if summary.labels_saved is not None:
        return f"{summary.labels_saved.value:.0%}"
    return "" if summary.labels_saved_above is None else f"> {summary.labels_saved_above:.0%}"


def _with_error(figure: Figure, places: int) -> str:
    return f"{figure.value:.{places}f} ({figure.se:.{places}f})"


def compact_rows(summaries: Sequence[Summary]) -> list[dict[str, str]]:
    """Return a row for each method: error at every budget with the efficiency, what is saved, coverage."""
    rows = []
    for method in dict.fromkeys(s.method for s in summaries):
        own = [s for s in summaries if s.method == method]
        row = {"method": method}
        row |= {f"error at {amount(s.budget)}": f"{s.rmse.value:.3g} ({s.efficiency.value:.2f})" for s in own}
        row["labels saved"] = _saved(own[-1])
        row["coverage"] = f"{own[-1].coverage.value:.1%}"
        rows.append(row)
    return rows


def design_columns(design: Design) -> dict[str, NDArray[Any]]:
    """Return what a design says of each query, column by column.

    ``sampling_prob`` is q, or the probability π of being in the sample at the budget; ``cost`` that of judging all of
    the query, ``expected_cost`` what is spent on it on average, by a draw or by the budget, both in mean items.
    """
    from activeeval.design import WHOLE  # what only prints scores need not know of designs

    order, n = design.order, design.order.n_queries
    pi, _ = design.inclusion_probs
    moments = None if design.beliefs is None else WHOLE.moments(design.target, design.beliefs)
    open_costs = np.where(order.roots > 0, order.costs, 0.0)
    whole = np.bincount(order.slot_queries, open_costs, minlength=n) + order.overheads
    return {
        "query_id": design.pool.query_ids,
        "query_prob": order.query_probs,
        "sampling_prob": pi,
        "weight": np.divide(order.query_probs, pi, out=np.zeros(n), where=pi > 0),
        "mean": design.readings[0].predictions,
        "variance": np.full(n, np.nan) if moments is None else moments.variance,
        "cost": whole,
        "expected_cost": _expected_costs(design),
        "n_items": np.bincount(order.slot_queries, order.roots > 0, minlength=n),
    }


def _expected_costs(design: Design) -> NDArray[np.float64]:
    """Return what is spent on each query on average; turning to it is paid for where any of its items comes."""
    order, owners, n = design.order, design.order.slot_queries, design.order.n_queries
    pi, a = design.inclusion_probs
    inside = np.divide(a, pi[owners], out=np.zeros_like(a), where=a > 0)
    with np.errstate(divide="ignore"):
        none = np.exp(np.bincount(owners, np.log1p(-inside), minlength=n))
    return np.asarray(np.bincount(owners, a * order.costs, minlength=n) + pi * (1 - none) * order.overheads)


def _figure(path: str | Path, n_panels: int, width: float = _WIDTH) -> tuple[Any, Any]:
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
    """Label a logarithmic axis with plain numbers, several a decade unless there are many decades."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    subs = (1, 1.5, 2, 3, 5, 7) if high < _MANY * low else (1, 3)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def _save(figure: Any, path: str | Path) -> None:
    from activeeval.io.writing import write_atomically

    with write_atomically(path, binary=True) as handle:
        figure.savefig(handle, format=Path(path).suffix[1:].lower(), dpi=150)


def plot_errors(panels: Mapping[str, Sequence[Summary]], path: str | Path, *, unit: str = "mean items") -> None:
    """Draw root mean squared error over budget, a panel for each entry, a line for each method, six at most.

    Bars are ± 2 Monte-Carlo standard errors. A method looks the same in all pictures; the legend is below. Of more than
    six methods passive and the five most precise at the largest budget are drawn. ``unit`` is that of the budgets, see
    `QueryPool.cost_unit`.
    """
    figure, axes = _figure(path, len(panels))
    shown: dict[str, Any] = {}
    for axis, (title, summaries) in zip(axes, panels.items(), strict=True):
        for method in _drawn(summaries):
            own = [s for s in summaries if s.method == method]
            bars = [2 * s.rmse.se for s in own]
            line = axis.errorbar([s.budget for s in own], [s.rmse.value for s in own], bars, **line_style(method))
            shown.setdefault(method, line)
        axis.set(xscale="log", yscale="log", title=title, xlabel=f"budget, {unit}")
        budgets = sorted({s.budget for s in summaries})
        axis.set_xticks(budgets, [amount(b) for b in budgets])
        axis.minorticks_off()
        _plain_ticks(axis.yaxis)
        axis.grid(alpha=0.3)
        axis.set_ylabel("root mean squared error")
    n_columns = min(len(shown), round(_IN_A_ROW * figure.get_figwidth() / _WIDTH))
    figure.set_figheight(figure.get_figheight() + 0.2 * -(-len(shown) // n_columns))
    look = {"frameon": False, "fontsize": 8, "handlelength": 3.5}
    figure.legend(shown.values(), shown, loc="outside lower center", ncols=n_columns, **look)
    _save(figure, path)


def _drawn(summaries: Sequence[Summary]) -> list[str]:
    """Return the methods of a panel that are drawn, in their order."""
    last = max((s.budget for s in summaries), default=0.0)
    ranked = sorted((s for s in summaries if s.budget == last), key=lambda s: (s.method != "passive", s.rmse.value))
    kept = {s.method for s in ranked[:_MOST_LINES]}
    return [method for method in dict.fromkeys(s.method for s in summaries) if method in kept]


def line_style(method: str) -> dict[str, Any]:
    """Return how the line of a method is drawn, the same in all pictures; passive is dashed."""
    colour, marker = _LOOKS.get(method, ("#000000", "."))
    return {"color": colour, "marker": marker, "linestyle": "--" if method == "passive" else "-", "ms": 4, "lw": 1.2}


def plot_design(design: Design, path: str | Path) -> None:
    """Draw the importance q/p of every query over its cost and its expected performance."""
    columns = design_columns(design)
    if not np.all(np.isfinite(columns["mean"])):
        raise InputError(f"method {design.name!r} uses no model, so there is no expected performance to draw")
    figure, axes = _figure(path, 1, width=6.0)
    ratio = columns["sampling_prob"] / columns["query_prob"]
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
    _save(figure, path)


class GainsBand(NamedTuple):
    """What a gains file says of how far its numbers can be believed: ends by name, their columns, what they are."""

    ends: Row
    columns: tuple[str, str]
    meaning: str


def gains_band(fields: Row) -> GainsBand | None:
    """Return the confidence intervals of a gains file, where it holds none its stability band, or nothing.

    Intervals that do not name their method are of files from before there were any, and are of resamples.
    """
    found = fields.get("intervals") or {}
    if found.get("method") == "likelihood ratio":
        return GainsBand(found, ("low", "high"), f"{found['level']:.0%} confidence interval")
    if held := fields.get("stability") or found:
        meaning = f"stability band, {held['level']:.0%} of the resamples: not a confidence interval"
        return GainsBand(held, ("resampled_low", "resampled_high"), meaning)
    return None


def gains_rows(fields: Row) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a row for each grade and a row for each rank of a gains file, beside the usual gains and discounts.

    Shares are of the best grade's gain and of the first rank's discount; low and high are the ends of confidence
    intervals, those of a stability band have names of their own.
    """
    band = gains_band(fields)
    gains, discounts = np.array(fields["gains"], dtype=float), np.array(fields["discounts"], dtype=float)
    grades, ranks = np.arange(gains.size), np.arange(1, discounts.size + 1)
    shares = gains / gains[-1] if gains[-1] else np.full(gains.size, np.nan)
    by_grade: dict[str, Any] = {"grade": grades, "gain": gains, "share": shares}
    by_rank: dict[str, Any] = {"rank": ranks, "discount": discounts}
    for columns, name in ((by_grade, "gains"), (by_rank, "discounts")):
        if band is not None:
            columns |= zip(band.columns, map(np.array, band.ends[name]), strict=True)
    by_grade |= {"2^y - 1": (2.0**grades - 1) / (2.0 ** grades[-1] - 1), "y": grades / grades[-1]}
    by_rank["1/log2(1 + rank)"] = 1 / np.log2(1 + ranks)
    return _rows(by_grade), _rows(by_rank)


def _rows(columns: Mapping[str, NDArray[Any]]) -> list[dict[str, Any]]:
    cells = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in cells]


def plot_gains(fields: Row, path: str | Path) -> None:
    """Draw gains over grades and discounts over ranks of a gains file, with intervals, beside the usual ones."""
    figure, axes = _figure(path, 2)
    by_grade, by_rank = gains_rows(fields)
    band = gains_band(fields)
    drawn = (
        (axes[0], by_grade, "grade", "share", {"2^y - 1": "$2^y - 1$", "y": "$y$"}, "gain, share of the best grade's"),
        (axes[1], by_rank, "rank", "discount", {"1/log2(1 + rank)": r"$1/\log_2(1 + k)$"}, "discount"),
    )
    for axis, rows, place, value, usual, label in drawn:
        x, y = [row[place] for row in rows], np.array([row[value] for row in rows])
        for (name, text), colour, line in zip(usual.items(), _COLOURS[4:], ("--", ":"), strict=False):
            axis.plot(x, [row[name] for row in rows], line, color=colour, label=text, lw=1.2)
        axis.plot(x, y, "o-", color=_COLOURS[1], label="learned", ms=4)
        if band is not None:
            low, high = (np.array([row[end] for row in rows]) for end in band.columns)
            meaning = band.meaning.replace(": ", ":\n")
            axis.fill_between(x, low, high, color=_COLOURS[1], alpha=0.2, lw=0, label=meaning)
        axis.set(xlabel=place, ylabel=label)
        axis.set_xticks(x)
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, fontsize=8)
    _save(figure, path)


def plot_coherence(report: CoherenceReport, path: str | Path) -> None:
    """Draw the share of pairs on which two measures agree over their difference, ± 2 standard errors."""
    figure, axes = _figure(path, 1, width=6.0)
    held = [one for one in report.bins if one.pairs]
    middles, shares = [(one.low + one.high) / 2 for one in held], [one.agree for one in held]
    errors = None if any(np.isnan(one.std_error) for one in held) else [2 * one.std_error for one in held]
    axes[0].errorbar(middles, shares, errors, fmt="o-", color=_COLOURS[1], ms=4, lw=1.2)
    axes[0].axhline(report.agree, color=_COLOURS[0], ls="--", lw=1, label=f"all pairs: {report.agree:.1%}")
    axes[0].set(xlabel="difference under the first measure", ylabel="share of pairs on which both agree")
    axes[0].legend(frameon=False, fontsize=8, loc="lower right")
    axes[0].grid(alpha=0.3)
    _save(figure, path)
