"""The pictures of the experiments on adaptation, from the stored result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.adaptation.running import LAMBDAS, PRINTED
from benchmarks.frame.pictures import COLOURS, finish, one_legend, panels, save
from benchmarks.frame.report import Row

MEASURES = {"b": "B", "mu": "NDCG5", "nu": "user pairs in order"}


def save_all(result: Row, folder: Path) -> list[Path]:
    """Draw what a result holds; return the files."""
    drawings = (("adaptation-lambda", _lambdas(result)), ("adaptation-models", _models(result)))
    return save(drawings, folder, ("svg", "png"))


def _lambdas(result: Row) -> Any:
    """Figures 3 to 5: B, NDCG5 and precision over each algorithm's printed λ, the base as lines."""
    figure, axes = panels(len(PRINTED), len(result["cases"]))
    for row, (name, case) in zip(axes, result["cases"].items(), strict=True):
        for axis, how in zip(row, PRINTED, strict=True):
            for colour, (key, label) in zip(COLOURS, MEASURES.items(), strict=False):
                held = [(ridge, *one[key]) for ridge, one in zip(LAMBDAS, case["printed"][how], strict=True) if one]
                ridges, means, errors = zip(*held, strict=True)
                axis.errorbar(ridges, means, errors, color=colour, marker="o", ms=3, capsize=2, label=label)
                axis.axhline(case["models"]["base"][key][0], color=colour, ls=":", lw=0.9)
            finish(axis, f"{name}: {how}", "λ, as printed", "value; dotted: base", xscale="log")
    one_legend(figure, axes)
    return figure


def _models(result: Row) -> Any:
    """Figures 8 to 10: every model's B, NDCG5 and precision."""
    n_columns = min(len(result["cases"]), 3)
    figure, axes = panels(n_columns, -(-len(result["cases"]) // n_columns))
    for axis in axes.ravel()[len(result["cases"]) :]:
        axis.remove()
    for axis, (name, case) in zip(axes.ravel(), result["cases"].items(), strict=False):
        places = np.arange(len(case["models"]))
        for shift, (colour, (key, label)) in enumerate(zip(COLOURS, MEASURES.items(), strict=False)):
            means, errors = zip(*(figures[key] for figures in case["models"].values()), strict=True)
            axis.barh(places + 0.27 * (shift - 1), means, 0.25, xerr=errors, color=colour, label=label)
        axis.set_yticks(places, list(case["models"]), fontsize=7)
        axis.invert_yaxis()
        finish(axis, name, "value", "", xlim=(0, None))
    one_legend(figure, axes)
    return figure
