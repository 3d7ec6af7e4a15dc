"""Charts of learned gains and discounts, and of the agreement of two measures."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from activeeval.gains.gain_rows import gains_band, gains_rows
from activeeval.gains.measure_agreement import CoherenceReport
from activeeval.report.pictures import COLOURS, new_figure, save_figure
from activeeval.report.rendering import Row


def plot_gains(fields: Row, path: str | Path) -> None:
    """Plot the gains and discounts of a gains file (`fields`), with intervals, beside common gains and discounts."""
    figure, axes = new_figure(path, 2)
    by_grade, by_rank = gains_rows(fields)
    band = gains_band(fields)
    # axis, rows, columns of x and y, usual columns with their labels, label of y
    panels = (
        (axes[0], by_grade, "grade", "share", {"2^y - 1": "$2^y - 1$", "y": "$y$"}, "gain, share of the best grade's"),
        (axes[1], by_rank, "rank", "discount", {"1/log2(1 + rank)": r"$1/\log_2(1 + k)$"}, "discount"),
    )
    for axis, rows, place, value, usual, label in panels:
        x, y = [row[place] for row in rows], np.array([row[value] for row in rows])
        for (name, text), colour, line in zip(usual.items(), COLOURS[4:], ("--", ":"), strict=False):
            axis.plot(x, [row[name] for row in rows], line, color=colour, label=text, lw=1.2)
        axis.plot(x, y, "o-", color=COLOURS[1], label="learned", ms=4)
        if band is not None:
            low, high = (np.array([row[end] for row in rows]) for end in band.columns)
            meaning = band.meaning.replace(": ", ":\n")
            axis.fill_between(x, low, high, color=COLOURS[1], alpha=0.2, lw=0, label=meaning)
        axis.set(xlabel=place, ylabel=label)
        axis.set_xticks(x)
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, fontsize=8)
    save_figure(figure, path)


def plot_coherence(report: CoherenceReport, path: str | Path) -> None:
    """Plot the share of pairs on which two measures agree against their difference, ± 2 standard errors."""
    figure, axes = new_figure(path, 1, width=6.0)
    bins = [part for part in report.bins if part.pairs]
    middles, shares = [(part.low + part.high) / 2 for part in bins], [part.agree for part in bins]
    errors = None if any(np.isnan(part.std_error) for part in bins) else [2 * part.std_error for part in bins]
    axes[0].errorbar(middles, shares, errors, fmt="o-", color=COLOURS[1], ms=4, lw=1.2)
    axes[0].axhline(report.agree, color=COLOURS[0], ls="--", lw=1, label=f"all pairs: {report.agree:.1%}")
    axes[0].set(xlabel="difference under the first measure", ylabel="share of pairs on which both agree")
    axes[0].legend(frameon=False, fontsize=8, loc="lower right")
    axes[0].grid(alpha=0.3)
    save_figure(figure, path)
