"""Chart of a ranker's figures against its regularization."""

from __future__ import annotations

from pathlib import Path

from activeeval.adaptation.choice import RegularizationChoice
from activeeval.formats.writing import AtomicFiles
from activeeval.report.pictures import COLOURS, new_figure, save_figure

_FIGURES_OF_PATH = {"measure": "nDCG@5", "precision": "share of pairs in order", "b": "B"}


def plot_regularization(choice: RegularizationChoice, path: str | Path, files: AtomicFiles | None = None) -> None:
    """Plot nDCG, the precision on pairs and B against λ, with the base as a line and the chosen λ marked.

    The chart is written alone, or atomically with other ``files``.

    Raises
    ------
    InputError
        If the file name does not end in one of `PICTURES`.
    """
    figure, (axis,) = new_figure(path, 1, width=6.0)
    strengths = [row.regularization for row in choice.table]
    for colour, (name, label) in zip(COLOURS[1:], _FIGURES_OF_PATH.items(), strict=False):
        figures = [getattr(row, name) for row in choice.table]
        errors = [mean.se for mean in figures]
        axis.errorbar(strengths, [mean.value for mean in figures], errors, color=colour, marker="o", ms=4, label=label)
        axis.axhline(getattr(choice.base, name).value, color=colour, ls=":", lw=1)
    axis.axvline(choice.regularization, color="#4d4d4d", lw=0.8)
    axis.set(xscale="log", xlabel="regularization λ (dotted: the base; line: the chosen one)", ylabel="mean over folds")
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)
    save_figure(figure, path, files)
