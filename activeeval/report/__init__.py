"""Results as tables and pictures; a name is imported when it is first used."""

from typing import TYPE_CHECKING

from activeeval.lazily import attached

_HOMES = {
    "activeeval.report.learned_words": ("click_lines",),
    "activeeval.report.pictures": (
        "PICTURES",
        "line_style",
        "plot_coherence",
        "plot_design",
        "plot_errors",
        "plot_gains",
        "plot_plans",
        "plot_regularization",
    ),
    "activeeval.report.rendering": (
        "FORMATS",
        "Row",
        "format_cell",
        "note_text",
        "render",
    ),
    "activeeval.report.rows": (
        "GainsBand",
        "amount",
        "design_columns",
        "gains_band",
        "gains_record",
        "gains_rows",
        "plain_plan_rows",
        "plan_footnote",
        "plan_rows",
    ),
    "activeeval.report.savings": (
        "plot_savings",
        "saving_words",
        "savings_rows",
    ),
    "activeeval.report.simulations": (
        "at_once_rows",
        "plain_rows",
    ),
}
__all__ = [
    "FORMATS",
    "PICTURES",
    "GainsBand",
    "Row",
    "amount",
    "at_once_rows",
    "click_lines",
    "design_columns",
    "format_cell",
    "gains_band",
    "gains_record",
    "gains_rows",
    "line_style",
    "note_text",
    "plain_plan_rows",
    "plain_rows",
    "plan_footnote",
    "plan_rows",
    "plot_coherence",
    "plot_design",
    "plot_errors",
    "plot_gains",
    "plot_plans",
    "plot_regularization",
    "plot_savings",
    "render",
    "saving_words",
    "savings_rows",
]

__getattr__, __dir__ = attached(__name__, _HOMES)

if TYPE_CHECKING:
    from activeeval.report.learned_words import click_lines
    from activeeval.report.pictures import (
        PICTURES,
        line_style,
        plot_coherence,
        plot_design,
        plot_errors,
        plot_gains,
        plot_plans,
        plot_regularization,
    )
    from activeeval.report.rendering import FORMATS, Row, format_cell, note_text, render
    from activeeval.report.rows import (
        GainsBand,
        amount,
        design_columns,
        gains_band,
        gains_record,
        gains_rows,
        plain_plan_rows,
        plan_footnote,
        plan_rows,
    )
    from activeeval.report.savings import plot_savings, saving_words, savings_rows
    from activeeval.report.simulations import at_once_rows, plain_rows
