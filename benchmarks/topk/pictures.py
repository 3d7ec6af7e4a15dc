"""The pictures of the experiments on top-k truths, from the stored result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.metric_learning.drawing import COLOURS, finish, one_legend, panels
from benchmarks.topk.running import FOCUSED, RANKS

Result = dict[str, Any]


def save_all(result: Result, folder: Path) -> list[Path]:
    """Draw what a result holds; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, draw in (("topk-ranks", _ranks), ("topk-beta", _beta)):
        figure = draw(result)
        for suffix in ("svg", "png"):
            paths.append(folder / f"{name}.{suffix}")
            figure.savefig(paths[-1], dpi=110, metadata={"Date": None} if suffix == "svg" else None)
    return paths


def _ranks(result: Result) -> Any:
    """κ-N@k over k: each focused ranker beside its parents and ListMLE."""
    cases = [case for case in result["rankers"] if case.endswith("top-k")]
    figure, axes = panels(len(FOCUSED), len(cases))
    for row, case in zip(axes, cases, strict=True):
        for axis, (one, parents) in zip(row, FOCUSED.items(), strict=True):
            roles = (
                (one, "focused"),
                (parents[0], "its parent of lists"),
                (parents[1], "its parent of pairs"),
                ("ListMLE", "ListMLE"),
            )
            for colour, (name, role) in zip(COLOURS, roles, strict=False):
                values = [result["rankers"][case][name]["means"][f"κ-N@{k}"] for k in RANKS]
                axis.plot(list(RANKS), values, color=colour, marker="o", ms=3, label=role)
            finish(axis, f"{case.split()[0]}: {one}", "cutoff k", "κ-NDCG@k")
    one_legend(figure, axes)
    return figure


def _beta(result: Result) -> Any:
    """κ-N@10 over β on one fold."""
    figure, axes = panels(len(result["beta"]))
    for axis, (name, curves) in zip(axes[0], result["beta"].items(), strict=True):
        for colour, (one, curve) in zip(COLOURS, curves.items(), strict=False):
            betas, values = ([row[key] for row in curve] for key in ("beta", "test"))
            axis.plot(betas, values, color=colour, marker="o", ms=3, label=one)
        finish(axis, name, "β: weight of the order inside the top", "κ-NDCG@10, one fold")
    one_legend(figure, axes)
    return figure
