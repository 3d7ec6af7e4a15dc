"""Small charts of results: values with intervals, interim readings, and plans."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from activeeval.core.answers import Answer
from activeeval.report.answer_sentences import short_name

_BLUE, _GREY, _ORANGE = "#0072b2", "#4d4d4d", "#d55e00"


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlyReading:
    """Estimate and interval after a number of judged items."""

    n_items: int
    value: float
    low: float
    high: float


def axes_of(ax: Any = None, n_rows: int = 1) -> Any:
    """Return the caller's matplotlib axes, or create new ones, high enough for `n_rows` rows, if `ax` is None."""
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.subplots(figsize=(5.2, 1.4 + 0.35 * n_rows), layout="constrained")[1]


def draw_findings(findings: Sequence[Answer], confidence: float, ax: Any = None) -> Any:
    """Plot each answer's value with its interval on a line of its own; return the axes (new ones if `ax` is None).

    An unbounded interval is not drawn, and its value is an open circle. For differences, 0 is marked.
    """
    axes = axes_of(ax, len(findings))
    measures = list(dict.fromkeys(finding.measure for finding in findings))
    for place, finding in enumerate(findings):
        # an interval that the judgments do not support must not be used
        is_bounded = math.isfinite(finding.high - finding.low) and finding.is_supported
        if is_bounded:
            axes.plot([finding.low, finding.high], [place, place], color=_BLUE, lw=2, solid_capstyle="butt")
        axes.plot([finding.value], [place], "o", color=_BLUE, mfc=_BLUE if is_bounded else "white", ms=6)
    if any(finding.versus for finding in findings):
        axes.axvline(0, color=_GREY, ls="--", lw=1)
    axes.set_yticks(range(len(findings)), [_named(finding, len(measures) > 1) for finding in findings])
    axes.set(ylim=(len(findings) - 0.5, -0.5), xlabel=f"{', '.join(measures)}, {100 * confidence:g} % intervals")
    axes.grid(axis="x", alpha=0.3)
    return axes


def draw_readings(moments: Sequence[EarlyReading], finding: Answer, confidence: float, ax: Any = None) -> Any:
    """Plot the estimates and intervals at the end of each block against the number of judgments; return the axes.

    A block is a part of a sample, at whose end it can be read. `finding` names the measure; `ax` None creates axes.
    """
    axes = axes_of(ax, 4)
    bounded = [moment for moment in moments if math.isfinite(moment.high - moment.low)]
    for moment in bounded:
        axes.plot([moment.n_items] * 2, [moment.low, moment.high], color=_BLUE, lw=2, solid_capstyle="butt")
    axes.plot([moment.n_items for moment in moments], [moment.value for moment in moments], "o-", color=_BLUE, lw=0.8)
    if finding.versus:
        axes.axhline(0, color=_GREY, ls="--", lw=1)
    label = f"{finding.measure}, {100 * confidence:g} % interval"
    axes.set(xlabel="judgments", ylabel=label, title=_named(finding, False))
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)
    return axes


def draw_half_widths(
    points: Sequence[tuple[float, float, float | None, float | None]],
    label: str,
    unit: str,
    goal: float | None,
    ax: Any = None,
) -> Any:
    """Plot expected half-widths against budgets, with the range in four of five samples; return the axes.

    Parameters
    ----------
    points : sequence of (budget, half-width, low, high)
        The last two are None if the range is unknown.
    label : str
        Title of the chart.
    unit : str
        Unit of the budgets.
    goal : float or None
        The requested half-width.
    """
    axes = axes_of(ax, 4)
    known = sorted((budget, half) for budget, half, *_ in points if math.isfinite(budget) and math.isfinite(half))
    ranges = [(budget, low, high) for budget, _, low, high in points if low is not None and high is not None]
    if ranges := sorted(bounds for bounds in ranges if all(map(math.isfinite, bounds))):
        axes.fill_between(*zip(*ranges, strict=True), color=_BLUE, alpha=0.2, lw=0, label="four of five samples")
    axes.plot(*zip(*known, strict=True), "o-", color=_BLUE, ms=4, lw=1.2, label="half-width")
    if goal is not None:
        axes.axhline(goal, color=_ORANGE, ls="--", lw=1, label=f"± {goal:g}")
    axes.set(xlabel=f"budget, {unit}", ylabel="half-width to expect", title=label)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
    return axes


def _named(finding: Answer, with_measure: bool) -> str:
    """Label an answer by its systems, segment and, if `with_measure`, measure."""
    versus = f" − {short_name(finding.versus)}" if finding.versus else ""
    segment = "" if finding.segment is None else f", {short_name(finding.segment)}"
    measure = f"{short_name(finding.measure)}, " if with_measure else ""
    return f"{measure}{short_name(finding.system)}{versus}{segment}"
