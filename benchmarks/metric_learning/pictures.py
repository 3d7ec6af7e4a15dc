"""The pictures of the experiments, from stored rows; the same rows give the same files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks.frame.pictures import COLOURS, finish, line, one_legend, panels, save
from benchmarks.metric_learning.rows import Tables
from benchmarks.metric_learning.running import Row

PREFIX = "metric-learning-"
SHAPES = ("monotone", "decreasing")
DATA = ("Data 1", "Data 2")


def curves(tables: Tables) -> Figure:
    """Precision and similarity over pairs."""
    figure, axes = panels(2, 2)
    for column, data in enumerate(DATA):
        other = tables.one("curves", "baseline", data=data)
        for number, shape in enumerate(SHAPES):
            rows = tables.rows("curves", "curve", data=data, shape=shape)
            for row, value in enumerate(("precision", "similarity")):
                line(axes[row, column], rows, "pairs", value, number, label=shape)
            best = {"ls": ":", "lw": 1, "marker": None, "label": f"{shape}, best C in hindsight"}
            line(axes[0, column], rows, "pairs", "best C in hindsight", number, **best)
        for row, value in enumerate(("precision", "similarity")):
            axes[row, column].axhline(other[value], color="grey", ls="--", lw=1, label="Other")
            finish(axes[row, column], data, "training pairs", value, xscale="log", xticks=[20, 50, 100, 200, 400, 800])
            axes[row, column].set_xticklabels([20, 50, 100, 200, 400, 800])
            axes[row, column].minorticks_off()
    return figure


def by_difference(tables: Tables) -> Figure:
    """Accuracy over the true difference."""
    figure, axes = panels(3 if "web" in tables else 2)
    cases = [("curves", {"data": data}, data, (200, 800)) for data in DATA]
    cases += [("web", {}, "Web-style", (200, 1000))] if "web" in tables else []
    for axis, (experiment, keys, title, sizes) in zip(axes[0], cases, strict=True):
        names = ["Other", *(f"{shape}, {n} pairs" for n in sizes for shape in SHAPES)]
        for number, weights in enumerate(names):
            rows = tables.rows(experiment, "by difference", weights=weights, **keys)
            _places(axis, rows, "low", "precision", number, label=weights)
        finish(axis, title, "true DCG difference, from", "accuracy")
    return figure


def _places(axis: Any, rows: Sequence[Row], x: str, y: str, number: int, **style: Any) -> None:
    """Draw rows side by side, each named by its own x."""
    line(axis, [row | {"place": place} for place, row in enumerate(rows)], "place", y, number, **style)
    axis.set_xticks(np.arange(len(rows)), [f"{row[x]:g}" for row in rows])


def agreement(tables: Tables) -> Figure:
    """Share of pairs on which 2^l − 1 and l agree."""
    rows = tables.rows("agreement", "summary")
    codings = list(dict.fromkeys(row["grades"] for row in rows))
    figure, axes = panels(len(codings))
    for axis, grades in zip(axes[0], codings, strict=True):
        for number, row in enumerate(one for one in rows if one["grades"] == grades):
            name = row["discount"]
            shares = tables.rows("agreement", "share", grades=grades, discount=name)
            line(axis, shares, "difference", "agree", number, label=f"1 / {name}", marker=None)
        axis.plot(1, 0.8, "kx", label="the paper says")
        title = f"grades {grades}: gains 2^l − 1 against l"
        finish(axis, title, "DCG difference by 2^l − 1", "share that agrees")
    return figure


def noise(tables: Tables) -> Figure:
    """Precision over turned pairs and wrong grades."""
    figure, axes = panels(2, 2)
    for column, data in enumerate(DATA):
        kinds = [(n, shape) for n in (800, 200) for shape in SHAPES]
        for number, (n, shape) in enumerate(kinds):
            every = tables.rows("noisy-pairs", "turned", data=data, pairs=n, shape=shape)
            for by, style in (("validation", {}), ("cross-validation", {"ls": "none", "mfc": "white", "ms": 7})):
                rows = [row | {"share": row["turned"] / n} for row in every if row["C by"] == by]
                label = f"{shape}, {n} pairs" + (", cross-validated" if style else "")
                if rows:
                    line(axes[0, column], rows, "share", "precision", number, label=label, **style)
            rows = tables.rows("noisy-grades", "regraded", data=data, pairs=n, shape=shape)
            line(axes[1, column], rows, "share", "precision", number, label=f"{shape}, {n} pairs")
        axes[0, column].axhline(0.85, color="grey", ls="--", lw=1)
        finish(axes[0, column], data, "share of training pairs turned", "precision")
        finish(axes[1, column], data, "share of grades made random", "precision")
    one_legend(figure, axes)
    return figure


def best_order(tables: Tables) -> Figure:
    """Precision over pairs with the best order."""
    figure, axes = panels(2, 2)
    for row, shape in enumerate(SHAPES):
        for column, data in enumerate(DATA):
            axis = axes[row, column]
            for number, kind in enumerate(("random", "best, other grades", "best, same grades")):
                rows = tables.rows("best-order", "best order", data=data, shape=shape, kind=kind)
                line(axis, rows, "pairs", "precision", number, label=kind)
            finish(axis, f"{data}, {shape}", "training pairs", "precision")
    return figure


def read_out(tables: Tables) -> Figure:
    """Estimated over true discounts and gains."""
    figure, axes = panels(2, 2)
    for row, (experiment, keys, title) in enumerate(
        (("curves", {}, "one list, 800 pairs"), ("read-out", {"pairs": 800}, "top 10 of 20, 800 pairs"))
    ):
        for column, of in enumerate(("discount", "gain")):
            axis = axes[row, column]
            axis.plot([0, 1], [0, 1], color="grey", lw=1)
            for number, (data, shape) in enumerate((d, s) for d in DATA for s in SHAPES):
                rows = tables.rows(experiment, "read-out", data=data, shape=shape, of=of, **keys)
                line(axis, rows, "true", "found", number, ls="none", mfc="none", label=f"{data}, {shape}")
            known = "(c_k − c_K) / (c_1 − c_K)" if of == "discount" and experiment == "curves" else of
            finish(axis, title, f"true {known}", f"estimated {known}")
    return figure


def web(tables: Tables) -> Figure:
    """Web-style pairs: precision over pairs and over wrong grades."""
    figure, axes = panels(2)
    for number, shape in enumerate(SHAPES):
        line(axes[0, 0], tables.rows("web", "curve", shape=shape), "pairs", "precision", number, label=shape)
    axes[0, 0].axhline(tables.one("web", "baseline")["precision"], color="grey", ls="--", lw=1, label="Other")
    for number, n in enumerate((200, 600, 1000)):
        line(axes[0, 1], tables.rows("web", "regraded", pairs=n), "share", "precision", number, label=f"{n} pairs")
    finish(axes[0, 0], "Web-style pairs", "training pairs", "precision")
    finish(axes[0, 1], "wrong grades", "share of a query's documents", "precision")
    return figure


def ties(tables: Tables) -> Figure:
    """Score differences of ties and accuracy over the weight of a tie."""
    values = {"tied difference": "mean |score difference| of ties", "over that of untied": "over that of untied pairs"}
    values["accuracy, change"] = "accuracy, change from C_ties = 0"
    simulated = [("ties-simulated", f"{data}, 200 pairs") for data in DATA]
    sets = [*simulated, ("ties-news", "news-shaped")] if "ties-news" in tables else simulated
    figure, axes = panels(3)
    for axis, (value, title) in zip(axes[0], values.items(), strict=True):
        for number, (experiment, name) in enumerate(sets):
            for margin, style in ((1.0, {}), (0.0, {"ls": "--", "mfc": "white"})):
                rows = tables.rows(experiment, "ties", set=name, tie_margin=margin)
                _places(axis, rows, "C_ties", value, number, label=f"{name}, margin {margin:g}", **style)
        finish(axis, title, "C_ties", "")
    one_legend(figure, axes)
    return figure


def active(tables: Tables) -> Figure:
    """Precision over pairs that SimpleMargin chose, or chance."""
    names = {"Data 1": "simulated", "Data 2": "simulated", "Web-style": "web", "news-shaped": "news"}
    held = {name: f"active-{key}" for name, key in names.items() if f"active-{key}" in tables}
    figure, axes = panels(2, 2)
    for axis, (name, experiment) in zip(axes.ravel(), held.items(), strict=False):
        for number, shape in enumerate(SHAPES):
            for chosen, style in (("SimpleMargin", {}), ("random", {"ls": "--", "mfc": "white"})):
                rows = tables.rows(experiment, "active", set=name, shape=shape, chosen=chosen)
                if rows:
                    line(axis, rows, "pairs", "precision", number, label=f"{chosen}, {shape}", **style)
        finish(axis, name, "labelled pairs", "precision")
    return figure


def news(tables: Tables) -> Figure:
    """News-shaped pairs: accuracy, learning curve, differences by label, one set alone."""
    figure, axes = panels(2, 2)
    sets = ("all", "Set1", "Set2")
    for axis, table, key in ((axes[0, 0], "accuracy", "weights"), (axes[1, 1], "one set", "trained on")):
        rows = tables.rows("news", table)
        for number, row in enumerate(rows):
            places = np.arange(3) + (number - len(rows) / 2 + 0.5) * 0.16
            errors = [row[f"{name}_se"] or 0.0 for name in sets]
            heights = [row[name] for name in sets]
            colour = COLOURS[number % 6]
            axis.bar(places, heights, 0.15, yerr=errors, label=row[key], color=colour, error_kw={"lw": 0.8})
        axis.set_xticks(range(3), sets)
        finish(axis, "accuracy" if table == "accuracy" else "trained on", "", "accuracy", ylim=(0.4, 1.3))
    for number, name in enumerate(sets):
        line(axes[0, 1], tables.rows("news", "curve"), "pairs", name, number, label=name)
    finish(axes[0, 1], "learning curve", "training pairs", "accuracy")
    line(axes[1, 0], tables.rows("news", "by label"), "label", "difference", ls="none")
    finish(axes[1, 0], "mean |score difference|, untied pairs: 1", "label", "", xticks=range(1, 6))
    return figure


PICTURES: dict[str, tuple[tuple[str, ...], Callable[[Tables], Figure], str]] = {
    "curves": (("curves",), curves, "Precision and similarity over training pairs."),
    "by-difference": (("curves",), by_difference, "Accuracy among test pairs of alike true differences."),
    "agreement": (("agreement",), agreement, "How often gains 2^l − 1 and l prefer the same list."),
    "noise": (("noisy-pairs", "noisy-grades"), noise, "Turned preferences (top), wrong grades (bottom)."),
    "best-order": (("best-order",), best_order, "Pairs with the best order of a list."),
    "read-out": (("curves", "read-out"), read_out, "Estimated over true discounts and gains."),
    "web": (("web",), web, "Web-style pairs."),
    "ties": (("ties-simulated",), ties, "Ties of growing weight, margins of a tie 1 and 0."),
    "active": (("active-simulated",), active, "Pairs chosen by SimpleMargin and at random."),
    "news": (("news",), news, "News-shaped pairs."),
}


def held(tables: Tables) -> list[tuple[str, str]]:
    """List the files of what was run and what they show."""
    return [(f"{PREFIX}{name}.svg", PICTURES[name][2]) for name in _names(tables)]


def _names(tables: Tables) -> list[str]:
    return [name for name, (needs, _, _) in PICTURES.items() if all(need in tables for need in needs)]


def save_all(result: Row, folder: Path) -> None:
    """Write the pictures of what was run as SVG."""
    tables = Tables(result["experiments"])
    save(((f"{PREFIX}{name}", PICTURES[name][1](tables)) for name in _names(tables)), folder)
