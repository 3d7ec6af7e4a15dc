"""Text summary of a cleaned click log."""

from __future__ import annotations

from activeeval.adaptation.cleaning import RowOutcome
from activeeval.adaptation.clicks import ClickReport, PairOutcome
from activeeval.report.numbers import counted


def click_lines(report: ClickReport) -> tuple[str, ...]:
    """Summarise a click log as text: one line for each outcome of rows, and of pairs of documents."""
    rules = report.rules
    of_rows = {
        RowOutcome.KEPT: "kept",
        RowOutcome.FEW_IMPRESSIONS: f"fewer than {rules.fewest_impressions} impressions",
        RowOutcome.ROBOT_ROW: f"robots: clicked in {rules.robot_rate:.0%} or more of {rules.robot_impressions} "
        "impressions or more",
        RowOutcome.ROBOT_QUERY: f"robots: a query whose documents, {rules.robot_query_documents} or more, are each "
        f"clicked in {rules.robot_query_rate:.0%} or more",
    }
    of_pairs = {
        PairOutcome.KEPT: "kept",
        PairOutcome.FEW_IMPRESSIONS: "a document without enough impressions",
        PairOutcome.ROBOTS: "a document that robots clicked",
        PairOutcome.NOT_SIGNIFICANT: f"no significant difference at level {report.level:g}",
        PairOutcome.ABOVE: "the one clicked more stands above (Skip-Above)",
        PairOutcome.BOTH_WAYS: "preferred both ways at different positions",
    }
    return (
        f"{counted(report.n_rows, 'row')} of {counted(report.n_queries, 'query')}",
        *(f"  {report.rows[fate]} {words}" for fate, words in of_rows.items()),
        f"{counted(report.n_possible, 'pair')} of documents",
        *(f"  {report.pairs[fate]} {words}" for fate, words in of_pairs.items()),
    )
