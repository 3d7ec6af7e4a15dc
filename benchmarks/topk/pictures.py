"""The pictures of the experiments on top-k truths, from the stored result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.pictures import COLOURS, finish, one_legend, panels, save
from benchmarks.frame.report import Row
from benchmarks.topk.running import FINE, FOCUSED, RANKS

ROLES = ("focused", "its parent of lists", "its parent of pairs", "ListMLE")


def save_all(result: Row, folder: Path) -> list[Path]:
    """Draw what a result holds; return the files."""
    drawings = {"control": _control, "ranks": _ranks, "beta": _beta}
    return save(((f"topk-{name}", draw(result)) for name, draw in drawings.items()), folder, ("svg", "png"))


def _control(result: Row) -> Any:
    """By how much each focused ranker is ahead of its parents, over the angle of the two directions."""
    rows = result["control"]["rows"]
    figure, axes = panels(len(FOCUSED))
    for axis, (name, parents) in zip(axes[0], FOCUSED.items(), strict=True):
        for colour, parent, role in zip(COLOURS, parents, ("lists", "pairs"), strict=False):
            own = [row for row in rows if (row["ranker"], row["parent"]) == (name, parent)]
            angles, gaps, errors = ([row[key] for row in own] for key in ("angle", "gap", "se"))
            label = f"its parent of {role}"
            axis.errorbar(angles, gaps, 1.96 * np.array(errors), color=colour, marker="o", ms=4, capsize=3, label=label)
        axis.axhline(0, color="0.5", lw=0.8)
        axis.set_xticks([row["angle"] for row in own])
        finish(axis, name, "angle between choice and order, degrees", "κ-NDCG@10 ahead of (95 %)")
    one_legend(figure, axes)
    return figure


def _ranks(result: Row) -> Any:
    """κ-N@k over k: each focused ranker beside its parents and ListMLE."""
    cases = [case for case in result["rankers"] if case.endswith("top-k")]
    figure, axes = panels(len(FOCUSED), len(cases))
    for row, case in zip(axes, cases, strict=True):
        for axis, (one, parents) in zip(row, FOCUSED.items(), strict=True):
            named = zip(COLOURS, (one, *parents, "ListMLE"), ROLES, strict=False)
            for colour, name, role in named:
                values = [result["rankers"][case][name]["means"][f"κ-N@{k}"] for k in RANKS]
                axis.plot(list(RANKS), values, color=colour, marker="o", ms=3, label=role)
            finish(axis, f"{case.split()[0]}: {one}", "cutoff k", "κ-NDCG@k")
    one_legend(figure, axes)
    return figure


def _beta(result: Row) -> Any:
    """Figures 1 and 2: every measure over β, mean and standard error over folds; the top-k truth above, grades
    below.
    """
    cases = list(result["beta"])
    figure, axes = panels(len(FOCUSED), len(cases))
    for row, case in zip(axes, cases, strict=True):
        for axis, name in zip(row, FOCUSED, strict=True):
            for colour, (measure, curves) in zip(COLOURS, result["beta"][case][name].items(), strict=False):
                values = np.array(curves)
                # of each fold's own mean, so that bars show what β changes and not how folds differ
                level = values - values.mean(axis=1, keepdims=True)
                errors = level.std(axis=0, ddof=1) / np.sqrt(len(values))
                label = measure.removeprefix("κ-").replace("N@", "(κ-)NDCG@").replace("ERR", "(κ-)ERR")
                style = {"color": colour, "marker": "o", "ms": 2, "lw": 1, "capsize": 1, "label": label}
                axis.errorbar(FINE, values.mean(axis=0), errors, **style)
            finish(axis, f"{case}: {name}", "β: weight of the order inside the top", "mean of five folds")
    one_legend(figure, axes)
    return figure
