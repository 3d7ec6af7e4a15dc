"""The report of a campaign as sections of a page: what its summary says, in words, tables and charts."""

from __future__ import annotations

from collections.abc import Sequence

from activeeval.report import campaign_people as people
from activeeval.report.campaign_summary import DesignSummary, Estimate, Largest, Summary
from activeeval.report.campaign_words import (
    amount_of,
    count,
    estimate_of,
    interval_of,
    judged_by,
    name_of,
    number,
    p_of,
    percent,
    plural,
)
from activeeval.report.campaign_work import Calibration
from activeeval.report.charts import calibration_chart, reading_chart
from activeeval.report.findings import ABOUT
from activeeval.report.pages import Block, Chart, Charts, Heading, Lines, Paragraph, Table, html_page, markdown_page

SUFFIXES = (".html", ".md", ".json")
MOST_QUESTIONS = 4
"""Of which the queries that matter most, and the chart, are on the page; the JSON has those of all."""


def campaign_text(summary: Summary, suffix: str) -> str:
    """Return the report of a campaign as the text of a file whose name ends in one of `SUFFIXES`."""
    import json
    from dataclasses import asdict

    if suffix == ".json":
        return json.dumps(asdict(summary), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    title = f"Campaign {summary.head.campaign}"
    return (html_page if suffix == ".html" else markdown_page)(title, blocks_of(summary))


def blocks_of(summary: Summary) -> list[Block]:
    """Return the sections of a campaign's report."""
    sections = (_head, _estimates, _over_time, _queries, people.cost, _calibration, people.agreement, people.skipped)
    return [block for section in (*sections, _design, _log) for block in section(summary)]


def _head(summary: Summary) -> list[Block]:
    head = summary.head
    sentence = (
        f"True as of event {count(head.as_of)} of the log ({head.date} UTC), with version {head.version} of "
        f"the sample. Costs are in {head.unit}."
    )
    waits = ", ".join(f"{plural(block.items, 'item')} of block {block.block}" for block in head.waiting_by_block)
    rows = [
        ["complete blocks", f"{head.block} of {head.blocks}"],
        ["budget", amount_of(head.budget)],
        ["spent", f"{amount_of(head.spent)} (left to judge: {amount_of(head.left)})"],
        ["items", f"{count(head.judged)} judged, {count(head.cannot)} cannot be judged"],
        ["what waits", waits or "nothing"],
        ["judges", f"{head.judges}, {judged_by(head.judges_per_item)}"],
        [
            "hours by the judges' clocks",
            "n/a: no times were taken" if head.hours is None else f"{head.hours:.1f}",
        ],
    ]
    rows += [["the goal", head.goal]] if head.goal else []
    rows += [["rounds", f"{head.rounds}, of which {head.rounds_read} can be read"]] if head.rounds > 1 else []
    return [Paragraph(sentence), Table(["", ""], rows)]


def _estimates(summary: Summary) -> list[Block]:
    estimates, blocks = summary.estimates, list[Block]([Heading("Estimates")])
    if not estimates:
        return [*blocks, Paragraph("No block is complete: there is nothing that may be read yet.", True)]
    confidence = f"{summary.confidence:.0%}"
    rows = [
        [
            name_of(estimate),
            number(estimate.value),
            interval_of(estimate.low, estimate.high),
            number(estimate.half_width),
            number(estimate.half_width_at_end),
            p_of(estimate.p_value) if estimate.question == "difference" else "",
        ]
        for estimate in estimates
    ]
    header = ["question", "estimate", f"{confidence} interval", "half width", "expected at the end", "test of 0"]
    if not any(estimate.question == "difference" for estimate in estimates):
        header, rows = header[:-1], [row[:-1] for row in rows]
    head = summary.head
    last = head.block_read
    read = f"Read from {'block 1' if last == 1 else f'blocks 1 to {last}'} of {head.blocks}."
    about = f"The intervals are about {ABOUT[summary.scope]}."
    blocks += [Paragraph(f"{read} {about}"), Table(header, rows), *_at_once(estimates, confidence)]
    blocks += _whatever(estimates, confidence)
    return [*blocks, *_cautions(estimates), *(Paragraph(note.text) for note in summary.notes)]


def _whatever(estimates: Sequence[Estimate], confidence: str) -> list[Block]:
    rows = [
        [name_of(estimate), interval_of(estimate.low_whatever, estimate.high_whatever)]
        for estimate in estimates
        if estimate.low_whatever is not None
    ]
    sentence = f"The {confidence} intervals with room for whatever the items may be worth that cannot be judged:"
    return [Paragraph(sentence), Table(["question", "interval"], rows)] if rows else []


def _at_once(estimates: Sequence[Estimate], confidence: str) -> list[Block]:
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


def _cautions(estimates: Sequence[Estimate]) -> list[Block]:
    """Return what to be wary of; what is true of all questions once."""
    texts_of = [
        (estimate, [f"{caution.level}: {caution.text}" for caution in estimate.cautions]) for estimate in estimates
    ]
    shared = [text for text in texts_of[0][1] if all(text in texts for _, texts in texts_of)]
    others = [(estimate, [text for text in texts if text not in shared]) for estimate, texts in texts_of]
    lines = [*shared, *(f"{name_of(estimate)}: {'; '.join(texts)}" for estimate, texts in others if texts)]
    return [Paragraph("What to be wary of:"), Lines(lines)] if lines else []


def _over_time(summary: Summary) -> list[Block]:
    readings, estimates = summary.readings, summary.estimates
    if not readings:
        return []
    blocks: list[Block] = [
        Heading("Estimates over time"),
        Paragraph(
            "A reading is valid at the end of a block: here is each, as of the event at which the block became "
            "complete, and the last. Each plain interval holds by itself. Whoever looks at all of them and stops at "
            "one that looks good goes by the wider ones, which hold at every look (group-sequential); "
            "beyond the planned budget, and with several rounds, there are none."
        ),
        Charts(
            [
                Chart(reading_chart(f"reading{k}", readings, k, summary.head.unit), name_of(estimate))
                for k, estimate in enumerate(estimates[:MOST_QUESTIONS])
            ]
        ),
    ]
    header = ["block", "event", "date", "spent", "estimate", "interval", "at every look"]
    for k, estimate in enumerate(estimates[:MOST_QUESTIONS]):
        rows = [
            [
                f"{row.block} of {row.blocks}",
                count(row.as_of),
                row.date,
                amount_of(row.spent),
                number(row.answers[k].value),
                interval_of(row.answers[k].low, row.answers[k].high),
                interval_of(row.answers[k].low_every_look, row.answers[k].high_every_look),
            ]
            for row in readings
        ]
        blocks += [Heading(name_of(estimate), is_part=True), Table(header, rows)]
    return [*blocks, *_left_out(estimates)]


def _left_out(questions: Sequence[Estimate | Largest]) -> list[Block]:
    n = len(questions) - MOST_QUESTIONS
    return [Paragraph(f"{plural(n, 'more question')}: in the report as JSON.")] if n > 0 else []


def _queries(summary: Summary) -> list[Block]:
    if not summary.queries:
        return []
    blocks: list[Block] = [
        Heading("Queries that matter most"),
        Paragraph(
            "The judged queries with the largest shares of the estimate's variance. Their grades are worth a second "
            "look: an error there moves the estimate most. The shift is what the judgments of a query have added to "
            "the estimate beyond what was expected of it."
        ),
    ]
    for question in summary.queries[:MOST_QUESTIONS]:
        rows = [
            [row.query_id, row.text, count(row.items), percent(row.share), f"{row.shift:+.4f}"]
            for row in question.queries
        ]
        blocks.append(Heading(name_of(summary.estimates[question.question]), is_part=True))
        if rows:
            blocks.append(Table(["query", "text", "items judged", "share of the variance", "shift"], rows))
        else:
            blocks.append(Paragraph("No query: nothing was left to chance, or the spread is not known."))
    return [*blocks, *_left_out(summary.queries)]


def _calibration(summary: Summary) -> list[Block]:
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
                f"{row.gap:+.3f} ± {number(row.gap_std_error, 3)}",
                count(row.items),
                count(row.queries),
            ]
            for row in [*table.bins, table.all]
        ]
        rows[-1][0] = "all"
        blocks += [
            Heading(f"Is the grade model{of_round} right?"),
            Paragraph(_verdict(table), bool(table.is_off)),
            Charts([Chart(chart, "Mean grades, expected and observed")]),
            Table(header, rows),
            Paragraph(
                "Items of complete blocks, each counted by 1 / its inclusion probability, so that a row stands for all "
                "items of the pool like these; ± is a standard error, with the items of a query together, and of the "
                "difference not below what the model itself says of its grades. A model that is off costs "
                "precision: the estimates do not rest on its being right."
            ),
        ]
    return blocks


def _verdict(table: Calibration) -> str:
    """Return in one sentence whether the grade model is off."""
    if table.is_off is None:
        return "Too few queries are judged to say whether the grade model is off."
    p_value = f"{p_of(table.p_value)} for all rows together"
    if not table.is_off:
        return f"The grades that came are within chance of what the grade model expected ({p_value})."
    row, where = table.all, "over all items"
    if isinstance(table.worst, int):
        row = table.bins[table.worst]
        where = f"most clearly where it expected {number(row.lowest, 2)} to {number(row.highest, 2)}"
    way = "too little" if row.gap > 0 else "too much"
    means = f"{number(row.expected, 2)} expected, {number(row.observed, 2)} observed"
    return f"The grade model is off: it expects {way}, {where} ({means}; {p_value})."


def _design(summary: Summary) -> list[Block]:
    design = summary.design
    questions = "; ".join(name_of(question) for question in design.questions)
    rows = [
        ["method", design.method + (", draws with replacement" if design.with_replacement else "")],
        ["grade model", "yes" if design.has_model else "none"],
        ["made for", questions],
        ["grades", "any" if design.max_grade is None else f"0 to {design.max_grade}"],
        ["seed", "n/a" if design.seed is None else str(design.seed)],
        ["sample", design.sample],
        ["pool", f"{plural(design.queries, 'query')}, {plural(design.items, 'item')}"],
        ["known grades", f"{count(design.known)} before the first draw"],
        ["several judges", _policy(design)],
        ["lease", f"{design.lease_s / 60:g} minutes"],
        ["ends", design.ends],
    ]
    rounds = [
        [
            str(k),
            amount_of(part.budget),
            count(part.items),
            count(part.known),
            *(number(p, 3) for p in (part.least_probability, part.median_probability, part.largest_probability)),
        ]
        for k, part in enumerate(design.rounds, 1)
    ]
    blocks: list[Block] = [Heading("Design"), Table(["", ""], rows)]
    blocks += [Paragraph("Inclusion probabilities of the items of the sample, at its whole budget:")]
    header = ["round", "budget", "items", "known", "least probability", "median", "largest"]
    blocks += [Table(header, rounds), *_blocks(design)]
    versions = [f"version {v.version}: {v.reason}, as of event {count(v.as_of)}" for v in design.versions]
    blocks += [Lines(versions)] if len(versions) > 1 else []
    return [*blocks, *(Paragraph(caution.text, True) for caution in design.cautions)]


def _policy(design: DesignSummary) -> str:
    if design.judges_per_item == 1:
        return "one judge an item"
    return f"{design.judges_per_item} judges an item, whose grades count by policy: {design.policy}"


def _blocks(design: DesignSummary) -> list[Block]:
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
    return [Paragraph("Blocks, each judged to its end before it is read:"), Table(header, rows)]


def _log(summary: Summary) -> list[Block]:
    log = summary.log
    blocks: list[Block] = [
        Heading("Log"),
        Table(["kind of event", "events"], [[row.kind, count(row.n)] for row in log.kinds]),
    ]
    if log.late:
        rows = [[row.judge, row.reason, count(row.n)] for row in log.late]
        blocks += [Paragraph("Answers that are kept and do not count:"), Table(["judge", "why", "answers"], rows)]
    return [*blocks, Paragraph(f"The digest of event {count(log.events)} is {log.digest}.")]
