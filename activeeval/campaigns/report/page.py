"""Page of a campaign's report: result, chart and next step first; all details in folded sections."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from activeeval.campaigns.report import (
    audit_section as machines,
    design_section as drawing,
    estimates_section as estimates,
    judges_section as people,
    losses_section as losses,
)
from activeeval.campaigns.report.charts import reading_chart
from activeeval.campaigns.report.content import CampaignReport
from activeeval.campaigns.report.next_steps import (
    after_command,
    aside_sentence,
    before_command,
    reached_sentence,
    without_command,
)
from activeeval.campaigns.report.phrases import count, name_of
from activeeval.report.cautions import MACHINE_IS_TRUTH, worded_lines
from activeeval.report.pages import (
    Block,
    Chart,
    Charts,
    NextStep,
    Paragraph,
    Section,
    SideBySide,
    html_page,
    markdown_page,
)

SUFFIXES = (".html", ".md", ".json")
_MOST_CAUTIONS = 3
"""Maximum number of warnings above the sections; all are listed with the estimates."""
_OF_FIRST_BLOCK = "two units of the first block"
"""Code of a warning that is shown at the top only until the first block is complete."""
_SECTIONS: Sequence[tuple[str, Callable[[CampaignReport], str], Callable[[CampaignReport], list[Block]]]] = (
    ("Estimates", estimates.gist, estimates.now),
    ("Estimates over time", estimates.gist_over_time, estimates.over_time),
    ("Queries that lose most", losses.gist, losses.losses),
    ("Queries that matter most", estimates.gist_of_queries, estimates.queries),
    ("Cost", people.gist_of_cost, people.cost),
    ("Is the grade model right?", estimates.gist_of_model, estimates.calibration),
    ("Audit of graders", machines.gist, machines.audit),
    ("Agreement", people.gist_of_agreement, people.agreement),
    ("Training and controls", people.gist_of_checked, people.checked),
    ("Deferred, or cannot be judged", people.gist_of_skipped, people.skipped),
    ("Design", drawing.gist, drawing.design),
    ("Log", drawing.gist_of_log, drawing.log),
)


def campaign_text(summary: CampaignReport, suffix: str, command: str = "") -> str:
    """Format the report of a campaign as HTML, markdown or JSON.

    Parameters
    ----------
    suffix : str
        Suffix of the file's name, one of `SUFFIXES`.
    command : str
        Command of the next step; empty if unknown.
    """
    import json

    if suffix == ".json":
        return json.dumps(summary.record(), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    title = f"Campaign {summary.head.campaign}"
    return (html_page if suffix == ".html" else markdown_page)(title, blocks_of(summary, command))


def blocks_of(summary: CampaignReport, command: str = "") -> list[Block]:
    """Build the content blocks of a report page: the first screen, then the sections that have content.

    ``command`` is the command of the next step; empty if unknown.
    """
    # _SECTIONS: title, function that summarizes a section in a few words, function that builds its blocks
    sections = [(title, gist, blocks(summary)) for title, gist, blocks in _SECTIONS]
    folded = [Section(title, gist(summary), blocks) for title, gist, blocks in sections if blocks]
    return [*_first_screen(summary, command), *folded]


def _first_screen(summary: CampaignReport, command: str) -> list[Block]:
    """Build the part above the sections: headline, progress, next step, warnings and chart.

    ``command`` is the shell command of the next step; empty if unknown.
    """
    headline = [Paragraph(text, is_headline=True) for text in summary.headline]
    head, step = summary.head, summary.next
    sentences = [
        reached_sentence(summary.reached),
        aside_sentence(late=head.late, put_off=head.put_off, cannot=head.cannot),
        _expected(summary),
        head.goal and f"The goal: {head.goal}.",
    ]
    following = NextStep(before_command(step), command, (after_command if command else without_command)(step) + ".")
    paragraphs: list[Block] = [Paragraph(text) for text in sentences if text]
    paragraphs += [following, *_cautions(summary)]
    paragraphs.append(Paragraph(f"As of event {count(head.as_of)} of the log ({head.date} UTC)."))
    return [*headline, SideBySide(paragraphs, _picture(summary))] if summary.readings else [*headline, *paragraphs]


def _expected(summary: CampaignReport) -> str:
    """State the half-width of the first question's interval expected when all is judged; empty unless items wait."""
    first = summary.estimates[0] if summary.estimates else None
    if first is None or not summary.head.waiting or first.half_width is None or first.half_width_at_end is None:
        return ""
    of = f" of {name_of(first)}" if len(summary.estimates) > 1 else ""
    return (
        f"Once all is judged the interval{of} should be about ± {first.half_width_at_end:.2g} "
        f"(now ± {first.half_width:.2g})."
    )


def _cautions(summary: CampaignReport) -> list[Block]:
    """List the most severe warnings, at most `_MOST_CAUTIONS` lines, and the number of the others.

    Warnings about models' grades used as labels come first, then severe ones. Warnings that concern only the first
    block (part of the sample) are left out once it is complete.
    """
    named = [(name_of(estimate), estimate.cautions) for estimate in summary.estimates]
    is_early = summary.head.block <= 1  # at most one block is complete
    design = [caution for caution in summary.design.cautions if is_early or caution.code != _OF_FIRST_BLOCK]
    lines = [*worded_lines(named), *worded_lines([("", design)])]
    # a judge who skips relevant items biases the estimate, which the estimate's own warnings cannot detect
    lines += [f"warning: {people.warning(row)}" for row in summary.skipped.judges if row.is_named]
    of_all = [*(caution for _, cautions in named for caution in cautions), *design]
    machines = [caution.text for caution in of_all if caution.code == MACHINE_IS_TRUTH]
    # False sorts before True
    lines.sort(key=lambda line: (not any(text in line for text in machines), not line.startswith("severe warning")))
    paragraphs: list[Block] = [Paragraph(line, is_warning=True) for line in lines[:_MOST_CAUTIONS]]
    rest = len(lines) - _MOST_CAUTIONS
    return [*paragraphs, Paragraph(f"{rest} more below.")] if rest > 0 else paragraphs


def _picture(summary: CampaignReport) -> Charts:
    """Build the chart of the first question's estimates over time."""
    chart = reading_chart("reading0", summary.readings, answer=0, unit=summary.head.unit, budget=summary.head.budget)
    return Charts([Chart(chart, f"{name_of(summary.estimates[0])}, as judging went on")])
