"""Charts of a campaign as inline SVG: the same numbers give the same bytes; no text of a campaign is included."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from io import StringIO
from typing import Any

from activeeval.campaigns.report.content import CampaignReading
from activeeval.campaigns.report.judges_content import CalibrationBin
from activeeval.report.pictures import plain_figure, styled

_BLUE, _GREY = "#0072b2", "#4d4d4d"
_LOOK: Any = {
    "svg.hashsalt": "activeeval",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.usetex": False,
}
_REFERENCE = re.compile(r'(\bid="|url\(#|href="#)')


def reading_chart(name: str, readings: Sequence[CampaignReading], answer: int, unit: str, budget: float) -> str:
    """Draw a question's estimates against the cost spent, with t intervals and group-sequential intervals.

    The t intervals are valid for one analysis, the group-sequential ones for an analysis after every block. Return the
    chart as SVG.

    Parameters
    ----------
    name : str
        Id of the chart within its page: letters and digits.
    readings : sequence of CampaignReading
        Estimates at the end of each block (part of the sample), in order.
    answer : int
        Index of the question in the readings.
    unit : str
        Unit of costs, for the axis.
    budget : float
        Right end of the cost axis, so that the chart shows the progress of judging.
    """
    with styled(_LOOK):
        figure, axis = _figure()
        finite_readings = [row for row in readings if math.isfinite(row.answers[answer].value)]
        points = [(row.spent, row.answers[answer]) for row in finite_readings]
        wide = [(row.spent, row.every_look[answer]) for row in finite_readings if row.every_look]
        # dashed grey: group-sequential intervals; blue: t intervals; only finite ones
        if wide := [(x, bounds) for x, bounds in wide if math.isfinite(bounds.high - bounds.low)]:
            ends = ([bounds.low for _, bounds in wide], [bounds.high for _, bounds in wide])
            axis.vlines([x for x, _ in wide], *ends, color=_GREY, lw=1, ls=(0, (2, 2)), label="holds at every look")
        bounded = [(x, bounds.low, bounds.high) for x, bounds in points if math.isfinite(bounds.high - bounds.low)]
        ends = ([low for _, low, _ in bounded], [high for *_, high in bounded])
        axis.vlines([x for x, *_ in bounded], *ends, color=_BLUE, lw=2.5, label="holds at one look")
        axis.plot([x for x, _ in points], [bounds.value for _, bounds in points], "o-", color=_BLUE, ms=5, lw=0.8)
        _focus(axis, bounded)
        axis.set(xlabel=f"spent ({unit})", ylabel="estimate")
        axis.set_xlim(left=0, right=1.06 * max(budget, *(x for x, _ in points)))
        # not inside the axes: long intervals extend over their full height
        figure.legend(frameon=False, fontsize=8, loc="outside upper right", ncols=2)
        return _svg(figure, name)


def _focus(axis: Any, bounded: Sequence[tuple[float, float, float]]) -> None:
    """Scale the value axis to the t intervals and cut longer lines; draw a line at 0 if it is in range.

    A group-sequential interval may be many times longer at first. ``bounded`` has (cost, low, high) for each finite t
    interval; without any, the axis keeps its scale.
    """
    if not bounded:
        return
    low, high = min(low for _, low, _ in bounded), max(high for *_, high in bounded)
    room = 0.25 * (high - low) or 0.1 * abs(high) or 1.0
    axis.set_ylim(low - room, high + room)
    if low - room < 0 < high + room:
        axis.axhline(0, color=_GREY, lw=0.6)


def calibration_chart(name: str, bins: Sequence[CalibrationBin]) -> str:
    """Draw given grades, ± 2 standard errors, against the grade model's expected grades; return the chart as SVG.

    ``name`` is the id of the chart within its page, ``bins`` the groups of items with similar expected grades. Bins
    without a standard error are drawn as open circles.
    """
    with styled(_LOOK):
        figure, axis = _figure()
        largest = max(max(part.expected, part.observed + 2 * (part.std_error or 0.0)) for part in bins)
        axis.plot([0, 1.05 * largest], [0, 1.05 * largest], color=_GREY, lw=0.8, ls="--", label="as expected")
        known = [(part, 2 * part.std_error) for part in bins if part.std_error is not None]
        x, y = [part.expected for part, _ in known], [part.observed for part, _ in known]
        axis.errorbar(x, y, [error for _, error in known], fmt="o", color=_BLUE, ms=5, lw=1.5, label="observed")
        lone = [part for part in bins if part.std_error is None]
        if lone:
            x, y = [part.expected for part in lone], [part.observed for part in lone]
            axis.plot(x, y, "o", mfc="none", color=_BLUE, ms=5, label="observed, error not known")
        axis.set(xlabel="mean grade that the model expected", ylabel="mean grade observed")
        axis.set_xlim(0, 1.15 * max(part.expected for part in bins) or 1.0)
        axis.set_ylim(0, 1.05 * largest or 1.0)
        axis.legend(frameon=False, fontsize=8, loc="best")
        return _svg(figure, name)


def _figure() -> tuple[Any, Any]:
    """Create a figure of 4.8 by 3.2 inches with one axis in the charts' style."""
    figure, (axis,) = plain_figure(4.8, 3.2)
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
    return figure, axis


def _svg(figure: Any, name: str) -> str:
    """Render a figure as an SVG element; its ids get a prefix, because a page may contain several charts."""
    text = StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    svg = text.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    return _REFERENCE.sub(rf"\g<1>{name}-", svg).replace("<svg ", '<svg role="img" ', 1)
