"""Section of a campaign's report on graders: alone, against judges' labels, and value by value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from activeeval.campaigns.report.content import CampaignReport
from activeeval.graders.audit_report import audit_footnotes, audit_headline, audit_table, skill_sentences, value_table
from activeeval.graders.audit_summary import GraderAudit
from activeeval.report.cautions import caution_lines
from activeeval.report.message_lookup import text_of
from activeeval.report.numbers import counted
from activeeval.report.pages import Block, Heading, Lines, Paragraph, Table

_WIDTH = 160
"""Width of a table on a page, in characters."""


def gist(summary: CampaignReport) -> str:
    """Summarize the section on graders (LLMs or other models) in a few words: their number."""
    return f"{counted(len(summary.audit), 'grader')}: estimates from each alone, and their bias"


def audit(summary: CampaignReport) -> list[Block]:
    """Build the section that audits graders (LLMs or other models) against judges' labels; empty without graders."""
    graders = summary.audit
    if not graders:
        return []
    rows = [row for grader in graders for row in grader.rows]
    blocks: list[Block] = [Paragraph(text) for text in audit_headline(graders)]
    blocks.append(_table(audit_table(rows, width=_WIDTH)))
    for grader in graders:
        blocks += _of_grader(grader)
    return [*blocks, Paragraph(" ".join(audit_footnotes(rows, graders)))]


def _of_grader(grader: GraderAudit) -> list[Block]:
    """Build the part on one grader: its values, skill and warnings."""
    lines = caution_lines([("", grader.cautions)], least="note") + [text_of(note) for note in grader.notes]
    blocks: list[Block] = [Heading(grader.grader), _table(value_table(grader))]
    blocks.append(Paragraph(" ".join(skill_sentences(grader))))
    return blocks + ([Lines(lines)] if lines else [])


def _table(rows: Sequence[Mapping[str, str]]) -> Table:
    """Build a table from rows that all have the same columns; empty without rows."""
    return Table(list(rows[0]), [list(row.values()) for row in rows]) if rows else Table([], [])
