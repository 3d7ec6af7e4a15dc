"""Sections of a campaign's report on its design and its log."""

from __future__ import annotations

from activeeval.campaigns.report.content import CampaignReport
from activeeval.campaigns.report.design_content import DesignSummary
from activeeval.campaigns.report.phrases import amount_of, count, estimate_of, name_of
from activeeval.report.numbers import counted, number
from activeeval.report.pages import Block, Lines, Paragraph, Table


def gist(summary: CampaignReport) -> str:
    """Summarize the design in a few words: method, budget, number of blocks (parts of the sample) and of queries."""
    drawn = summary.design
    budget, blocks = amount_of(summary.head.budget), counted(len(drawn.blocks), "block")
    return f"{drawn.method}, {budget} {summary.head.unit} in {blocks}, of {counted(drawn.queries, 'query')}"


def design(summary: CampaignReport) -> list[Block]:
    """Build the report's section on what was drawn, and how."""
    drawn = summary.design
    questions = "; ".join(name_of(question) for question in drawn.questions)
    head = summary.head
    rows = [
        ["method", drawn.method + (", draws with replacement" if drawn.with_replacement else "")],
        ["grade model", drawn.model or ("yes" if drawn.has_model else "none")],
        ["made for", questions],
        ["grades", "any" if drawn.max_grade is None else f"0 to {drawn.max_grade}"],
        ["seed", "n/a" if drawn.seed is None else str(drawn.seed)],
        ["sample", f"{drawn.sample}, version {head.version}"],
        ["pool", f"{counted(drawn.queries, 'query')}, {counted(drawn.items, 'item')}"],
        ["known grades", f"{count(drawn.known)} before the first draw"],
        ["several judges", _policy(drawn)],
        ["lease", f"{drawn.lease_s / 60:g} minutes"],
        ["ends", drawn.ends],
    ]
    rows += [["rounds", f"{head.rounds}, of which {head.rounds_read} are used"]] if head.rounds > 1 else []
    rounds = [
        [
            str(k),
            amount_of(part.budget),
            count(part.items),
            count(part.known),
            *(number(p, 3) for p in (part.least_probability, part.median_probability, part.largest_probability)),
        ]
        for k, part in enumerate(drawn.rounds, 1)
    ]
    blocks: list[Block] = [Table(["", ""], rows)]
    blocks += [Paragraph("Inclusion probabilities of the items of the sample, at its whole budget:")]
    header = ["round", "budget", "items", "known", "least probability", "median", "largest"]
    blocks += [Table(header, rounds), *_blocks(drawn)]
    versions = [f"version {v.version}: {v.reason}, as of event {count(v.as_of)}" for v in drawn.versions]
    blocks += [Lines(versions)] if len(versions) > 1 else []
    return [*blocks, *(Paragraph(caution.text, True) for caution in drawn.cautions)]


def _policy(design: DesignSummary) -> str:
    """Describe the number of judges for each item, and the policy that combines their grades."""
    if design.judges_per_item == 1:
        return "one judge for each item"
    return f"{design.judges_per_item} judges for each item, whose grades are combined by policy {design.policy}"


def _blocks(design: DesignSummary) -> list[Block]:
    """Build the table of blocks (parts of the sample; at the end of each an estimate is valid)."""
    header = ["block", "budget up to here", "threshold", "items", "answered", "cost", "spent", "complete as of"]
    rows = [
        [
            str(block.block) + (f" (round {block.round})" if len(design.rounds) > 1 else ""),
            amount_of(block.budget),
            estimate_of(block.threshold),
            count(block.items),
            count(block.settled),
            amount_of(block.cost),
            amount_of(block.spent),
            "not yet" if block.complete_as_of is None else f"event {count(block.complete_as_of)}, {block.date}",
        ]
        for block in design.blocks
    ]
    return [Paragraph("Blocks; each is used once it is completely judged:"), Table(header, rows)]


def gist_of_log(summary: CampaignReport) -> str:
    """State the length of the event log in a few words."""
    return counted(summary.log.events, "event")


def log(summary: CampaignReport) -> list[Block]:
    """Build the section on the event log: events by kind, and answers that do not count."""
    events = summary.log
    blocks: list[Block] = [Table(["kind of event", "events"], [[row.kind, count(row.n)] for row in events.kinds])]
    if events.late:
        rows = [[row.judge, row.reason, count(row.n)] for row in events.late]
        blocks += [Paragraph("Answers that are kept but do not count:"), Table(["judge", "why", "answers"], rows)]
    return [*blocks, Paragraph(f"The digest of event {count(events.events)} is {events.digest}.")]
