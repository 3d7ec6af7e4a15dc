"""Sections of a campaign's report on its estimates: now, over time, influential queries, grade model."""

from __future__ import annotations

from collections.abc import Sequence

from activeeval.campaigns.report.charts import calibration_chart, reading_chart
from activeeval.campaigns.report.content import CampaignEstimate, CampaignReport, Largest
from activeeval.campaigns.report.judges_content import Calibration
from activeeval.campaigns.report.phrases import amount_of, count, interval_of, name_of, p_of, percent
from activeeval.report.cautions import worded_lines
from activeeval.report.numbers import counted, number
from activeeval.report.pages import Block, Chart, Charts, Heading, Lines, Paragraph, Table

MOST_QUESTIONS = 4
"""Number of questions whose influential queries and charts are on the page; the JSON has those of all questions."""


def gist(summary: CampaignReport) -> str:
    """Summarize the estimates in a few words."""
    n = len(summary.estimates)
    return f"{counted(n, 'question')}, with explanations of measures and intervals" if n else "none yet"


def now(summary: CampaignReport) -> list[Block]:
    """Build the section with all estimates, their intervals, explanations and warnings."""
    estimates = summary.estimates
    if not estimates:
        return [Paragraph("No block is complete: no estimate is possible yet.", True)]
    confidence = f"{summary.confidence:.0%}"
    rows = [
        [
            name_of(estimate),
            number(estimate.value, 4),
            interval_of(estimate.low, estimate.high),
            number(estimate.half_width, 4),
            number(estimate.half_width_at_end, 4),
            p_of(estimate.p_value) if estimate.question == "difference" else "",
        ]
        for estimate in estimates
    ]
    header = ["question", "estimate", f"{confidence} interval", "half width", "expected at the end", "test of 0"]
    if not any(estimate.question == "difference" for estimate in estimates):
        header, rows = header[:-1], [row[:-1] for row in rows]
    head = summary.head
    last = head.block_read  # the last complete block (part of the sample)
    read = f"Read from {'block 1' if last == 1 else f'blocks 1 to {last}'} of {head.blocks}."
    blocks: list[Block] = [Table(header, rows), *_at_once(estimates, confidence)]
    blocks += [Paragraph(" ".join((read, *summary.footnotes)))]
    return [*blocks, *_cautions(estimates), *(Paragraph(note.text) for note in summary.notes)]


def _at_once(estimates: Sequence[CampaignEstimate], confidence: str) -> list[Block]:
    """Build the table of simultaneous intervals (all hold at once with this confidence); empty if there are none.

    ``confidence`` is formatted, as "95%".
    """
    rows = [
        [name_of(estimate), interval_of(estimate.low_at_once, estimate.high_at_once)]
        for estimate in estimates
        if estimate.low_at_once is not None
    ]
    if not rows:
        return []
    return [
        Paragraph(f"All differences of a measure at once, with {confidence}:"),
        Table(["question", "interval"], rows),
    ]


def _cautions(estimates: Sequence[CampaignEstimate]) -> list[Block]:
    """List warnings and notes of the estimates; those of several questions appear once."""
    lines = worded_lines([(name_of(estimate), estimate.cautions) for estimate in estimates], least="note")
    return [Paragraph("Warnings and notes (notes need no action):"), Lines(lines)] if lines else []


def gist_over_time(summary: CampaignReport) -> str:
    """State in a few words how often the estimates were computed: at the end of each block (part of the sample)."""
    return f"{counted(len(summary.readings), 'reading')}, one for each completed block"


def over_time(summary: CampaignReport) -> list[Block]:
    """Build the section with the estimates at the end of each block (part of the sample)."""
    readings, estimates = summary.readings, summary.estimates
    if not readings:
        return []
    blocks: list[Block] = [
        Paragraph(
            "An estimate is valid at the end of a block. The table has each, as of the event that completed the block, "
            "and the latest. Each plain interval is valid by itself. If you look at all of them and stop at one that "
            "looks good, use the wider ones, which are valid at every look (group-sequential); beyond the planned "
            "budget, and with several rounds, there are none."
        )
    ]
    others = [
        Chart(reading_chart(f"reading{k}", readings, k, summary.head.unit, summary.head.budget), name_of(estimate))
        for k, estimate in enumerate(estimates[:MOST_QUESTIONS])
        if k  # the first is shown above all sections
    ]
    blocks += [Charts(others)] if others else []
    header = ["block", "event", "date", "spent", "estimate", "interval", "at every look"]
    for k, estimate in enumerate(estimates[:MOST_QUESTIONS]):
        rows = [
            [
                f"{row.block} of {row.blocks}",
                count(row.as_of),
                row.date,
                amount_of(row.spent),
                number(ends["value"], 4),
                interval_of(ends["low"], ends["high"]),
                interval_of(ends["low_every_look"], ends["high_every_look"]),
            ]
            for row, ends in ((reading, reading.ends(k)) for reading in readings)
        ]
        blocks += [Heading(name_of(estimate)), Table(header, rows)]
    return [*blocks, *_left_out(estimates)]


def _left_out(questions: Sequence[CampaignEstimate | Largest]) -> list[Block]:
    """State how many questions beyond `MOST_QUESTIONS` are only in the JSON report; empty if there are none."""
    n = len(questions) - MOST_QUESTIONS
    return [Paragraph(f"{counted(n, 'more question')}: in the report as JSON.")] if n > 0 else []


def gist_of_queries(summary: CampaignReport) -> str:
    """Name the queries with most influence on the first question."""
    largest = summary.queries[0].queries[:2] if summary.queries else []
    if not largest:
        return "no query stands out"
    return f"{' and '.join(f'{row.query_id} ({percent(row.share)})' for row in largest)} weigh most"


def queries(summary: CampaignReport) -> list[Block]:
    """Build the section with the most influential queries of each question, by their shares of the variance."""
    if not summary.queries:
        return []
    blocks: list[Block] = [
        Paragraph(
            "The judged queries with the largest shares of the estimate's variance. Check their grades first: an error "
            "there changes the estimate most. The shift is the change of the estimate by the judgments of a query, "
            "relative to what was expected before judging."
        )
    ]
    header = ["query", "text", "items judged", "share of the variance", "shift"]
    has_texts = any(row.text for question in summary.queries for row in question.queries)
    header = header if has_texts else [name for name in header if name != "text"]
    for question in summary.queries[:MOST_QUESTIONS]:
        rows = [
            [
                row.query_id,
                *([row.text] if has_texts else []),
                count(row.items),
                percent(row.share),
                number(row.shift, 4, signed=True),
            ]
            for row in question.queries
        ]
        blocks.append(Heading(name_of(summary.estimates[question.question])))
        if rows:
            blocks.append(Table(header, rows))
        else:
            blocks.append(Paragraph("No query: the sample has no random part, or the variance is unknown."))
    return [*blocks, *_left_out(summary.queries)]


def gist_of_model(summary: CampaignReport) -> str:
    """State for each round (sample of the campaign) whether its grade model is well calibrated, in a few words."""
    words = {None: "too few queries to say", True: "it is off", False: "agrees within chance with the grades"}
    return "; ".join(words[table.is_off] for table in summary.calibration)


def calibration(summary: CampaignReport) -> list[Block]:
    """Build the section that compares expected and given grades, for the grade model of each round (sample)."""
    blocks: list[Block] = []
    for table in summary.calibration:
        of_round = f" of round {table.round}" if summary.head.rounds > 1 else ""
        chart = calibration_chart(f"calibration{table.round}", table.bins)
        header = ["expected grades", "expected mean", "observed mean", "difference", "items", "queries"]
        rows = [
            [
                f"{number(row.lowest, 2)} to {number(row.highest, 2)}",
                number(row.expected, 3),
                f"{number(row.observed, 3)} ± {number(row.std_error, 3)}",
                f"{number(row.gap, 3, signed=True)} ± {number(row.gap_std_error, 3)}",
                count(row.items),
                count(row.queries),
            ]
            for row in [*table.bins, table.all]
        ]
        rows[-1][0] = "all"
        blocks += [
            *([Heading(f"The grade model{of_round}")] if of_round else []),
            Paragraph(_verdict(table), bool(table.is_off)),
            Charts([Chart(chart, "Mean grades, expected and observed")]),
            Table(header, rows),
            Paragraph(
                "Items of complete blocks, each weighted by 1 / its inclusion probability, so that a row represents "
                "all such items of the pool; ± is a standard error, clustered by query, for the difference at least "
                "that by the model's own variance. A model that is off costs precision, but the estimates stay valid."
            ),
        ]
    return blocks


def _verdict(table: Calibration) -> str:
    """State in one sentence whether the grade model is off, and where most clearly."""
    if table.is_off is None:
        return "Too few queries are judged to say whether the grade model is off."
    p_value = f"{p_of(table.p_value)} for all rows together"
    if not table.is_off:
        return f"The grades agree within chance with those that the grade model expected ({p_value})."
    row, where = table.all, "over all items"
    if isinstance(table.worst, int):
        row = table.bins[table.worst]
        where = f"most clearly where it expected {number(row.lowest, 2)} to {number(row.highest, 2)}"
    way = "too little" if row.gap > 0 else "too much"
    means = f"{number(row.expected, 2)} expected, {number(row.observed, 2)} observed"
    return f"The grade model is off: it expects {way}, {where} ({means}; {p_value})."
