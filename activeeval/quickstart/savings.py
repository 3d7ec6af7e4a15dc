"""Judgments saved against random queries: a sentence, a table and a chart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from activeeval.report.pictures import line_style, new_figure, over_budget, save_figure
from activeeval.report.rows import amount

if TYPE_CHECKING:
    from activeeval.core.simulation import Saving


def saving_words(saving: Saving) -> str:
    """Describe a saving in a sentence: the half-width of a budget, and the budget of random queries for the same."""
    compared = saving.compared
    if compared is None:
        return f"{saving.title}: no budget reaches what another does; more queries would show it."
    saved = f"{compared.labels_saved:.0%} are saved" if compared.labels_saved > 0 else "none are saved"
    return (
        f"{saving.title}, new − old: {amount(compared.budget)} judgments give ± {compared.half_width:.3g}; random "
        f"queries judged whole need {compared.random_budget:,.0f} for that, {saved} ({compared.coverage:.0%} of the "
        f"95 % intervals held the truth)."
    )


def savings_rows(savings: Sequence[Saving]) -> list[dict[str, str]]:
    """Build a row for each measure and method with the half-width that each budget gives."""
    return [
        {"measure": saving.title, "judged": label}
        | {amount(budget): f"{half:.3g}" for budget, half in zip(saving.budgets, halves, strict=True)}
        for saving in savings
        for label, halves in (("random queries", saving.random), ("activeeval", saving.sampled))
    ]


def plot_savings(savings: Sequence[Saving], path: str | Path) -> None:
    """Plot the half-width of a difference against the budget, a panel for each measure: random queries and activeeval.

    An arrow connects the budget of activeeval with that of random queries for the same half-width; its label is the
    share saved.
    """
    figure, axes = new_figure(path, len(savings))
    bold = {"textcoords": "offset points", "fontsize": 13, "weight": "bold"}
    for axis, saving in zip(axes, savings, strict=True):
        # name, method that has the line's style, half-widths, point that the name stands at, and where beside it
        lines = (
            ("random queries", "passive", saving.random, 1, {"xytext": (8, 8), "ha": "left", "va": "bottom"}),
            ("activeeval", "items", saving.sampled, -2, {"xytext": (-10, -8), "ha": "right", "va": "top"}),
        )
        for label, method, halves, labelled_point, placement in lines:
            style = line_style(method) | {"lw": 2.2, "ms": 6}
            axis.plot(saving.budgets, halves, **style)
            point = saving.budgets[labelled_point], halves[labelled_point]
            axis.annotate(label, point, **bold, **placement, color=style["color"])
        over_budget(axis, f"{saving.title}: is the new ranker better?", list(saving.budgets))
        axis.set(xlabel="judgments", ylabel="± of the difference")
        if (compared := saving.compared) and compared.labels_saved > 0:
            start, end = ((x, compared.half_width) for x in (compared.budget, compared.random_budget))
            axis.annotate("", end, start, arrowprops={"arrowstyle": "<->", "color": "black", "lw": 1.6})
            saved = f"{compared.labels_saved:.0%} fewer\njudgments"
            axis.annotate(saved, end, **bold, xytext=(12, 8), ha="left", va="center")
    save_figure(figure, path)
