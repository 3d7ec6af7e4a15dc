"""The report of a campaign as sections of a page: what its summary says, in words, tables and charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from activeeval.report import campaign_people as people
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
from activeeval.report.charts import calibration_chart, reading_chart
from activeeval.report.pages import Block, Chart, Charts, Heading, Lines, Paragraph, Table, html_page, markdown_page

Summary = dict[str, Any]
SUFFIXES = (".html", ".md", ".json")
MOST_QUESTIONS = 4
"""Of which the queries that matter most, and the chart, are on the page; the JSON has those of all."""
_SCOPES = {
    "pool": "these queries: what judging all of their items would give",
    "population": "all the queries that these are a sample of",
}


def campaign_text(summary: Summary, suffix: str) -> str:
    """Return the report of a campaign as the text of a file whose name ends in one of `SUFFIXES`."""
    import json

    if suffix == ".json":
        return json.dumps(summary, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    title = f"Campaign {summary['head']['campaign']}"
    return (html_page if suffix == ".html" else markdown_page)(title, blocks_of(summary))


def blocks_of(summary: Summary) -> list[Block]:
    """Return the sections of a campaign's report."""
    sections = (_head, _estimates, _over_time, _queries, people.cost, _calibration, people.agreement, people.skipped)
    return [block for section in (*sections, _design, _log) for block in section(summary)]


def _head(summary: Summary) -> list[Block]:
    head = summary["head"]
    told = (
        f"True as of event {count(head['as_of'])} of the log ({head['date']} UTC), with version {head['version']} of "
        f"the sample. Costs are in {head['unit']}."
    )
    waits = ", ".join(f"{plural(one['items'], 'item')} of block {one['block']}" for one in head["waiting_by_block"])
    rows = [
        ["complete blocks", f"{head['block']} of {head['blocks']}"],
        ["budget", amount_of(head["budget"])],
        ["spent", f"{amount_of(head['spent'])} (left to judge: {amount_of(head['left'])})"],
        ["items", f"{count(head['judged'])} judged, {count(head['cannot'])} cannot be judged"],
        ["what waits", waits or "nothing"],
        ["judges", f"{head['judges']}, {judged_by(head['judges_per_item'])}"],
        [
            "hours by the judges' clocks",
            "n/a: no times were taken" if head["hours"] is None else f"{head['hours']:.1f}",
        ],
    ]
    rows += [["the goal", head["goal"]]] if head["goal"] else []
    rows += [["rounds", f"{head['rounds']}, of which {head['rounds_read']} can be read"]] if head["rounds"] > 1 else []
    return [Paragraph(told), Table(["", ""], rows)]


def _estimates(summary: Summary) -> list[Block]:
    found, blocks = summary["estimates"], list[Block]([Heading("Estimates")])
    if not found:
        return [*blocks, Paragraph("No block is complete: there is nothing that may be read yet.", True)]
    confidence = f"{summary['confidence']:.0%}"
    rows = [
        [
            name_of(one),
            number(one["value"]),
            interval_of(one["low"], one["high"]),
            number(one["half_width"]),
            number(one["half_width_at_end"]),
            p_of(one["p_value"]) if one["question"] == "difference" else "",
        ]
        for one in found
    ]
    header = ["question", "estimate", f"{confidence} interval", "half width", "expected at the end", "test of 0"]
    if not any(one["question"] == "difference" for one in found):
        header, rows = header[:-1], [row[:-1] for row in rows]
    head = summary["head"]
    last = head["block_read"]
    read = f"Read from {'block 1' if last == 1 else f'blocks 1 to {last}'} of {head['blocks']}."
    about = f"The intervals are about {_SCOPES[summary['scope']]}."
    blocks += [Paragraph(f"{read} {about}"), Table(header, rows), *_at_once(found, confidence)]
    blocks += _whatever(found, confidence)
    return [*blocks, *_cautions(found), *(Paragraph(note["text"]) for note in summary["notes"])]


def _whatever(found: Sequence[Summary], confidence: str) -> list[Block]:
    rows = [
        [name_of(one), interval_of(one["low_whatever"], one["high_whatever"])]
        for one in found
        if one["low_whatever"] is not None
    ]
    told = f"The {confidence} intervals with room for whatever the items may be worth that cannot be judged:"
    return [Paragraph(told), Table(["question", "interval"], rows)] if rows else []


def _at_once(found: Sequence[Summary], confidence: str) -> list[Block]:
    rows = [
        [name_of(one), interval_of(one["low_at_once"], one["high_at_once"])]
        for one in found
        if one["low_at_once"] is not None
    ]
    if not rows:
        return []
    return [
        Paragraph(f"All differences of a measure at once, with {confidence}:"),
        Table(["question", "interval"], rows),
    ]


def _cautions(found: Sequence[Summary]) -> list[Block]:
    """Return what to be wary of; what is true of all questions once."""
    told = [(one, [f"{caution['level']}: {caution['text']}" for caution in one["cautions"]]) for one in found]
    shared = [text for text in told[0][1] if all(text in texts for _, texts in told)]
    own = [(one, [text for text in texts if text not in shared]) for one, texts in told]
    lines = [*shared, *(f"{name_of(one)}: {'; '.join(texts)}" for one, texts in own if texts)]
    return [Paragraph("What to be wary of:"), Lines(lines)] if lines else []


def _over_time(summary: Summary) -> list[Block]:
    readings, found = summary["readings"], summary["estimates"]
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
                Chart(reading_chart(f"reading{k}", readings, k, summary["head"]["unit"]), name_of(one))
                for k, one in enumerate(found[:MOST_QUESTIONS])
            ]
        ),
    ]
    header = ["block", "event", "date", "spent", "estimate", "interval", "at every look"]
    for k, one in enumerate(found[:MOST_QUESTIONS]):
        rows = [
            [
                f"{row['block']} of {row['blocks']}",
                count(row["as_of"]),
                row["date"],
                amount_of(row["spent"]),
                number(row["answers"][k]["value"]),
                interval_of(row["answers"][k]["low"], row["answers"][k]["high"]),
                interval_of(row["answers"][k]["low_every_look"], row["answers"][k]["high_every_look"]),
            ]
            for row in readings
        ]
        blocks += [Heading(name_of(one), is_part=True), Table(header, rows)]
    return [*blocks, *_left_out(found)]


def _left_out(found: Sequence[Summary]) -> list[Block]:
    n = len(found) - MOST_QUESTIONS
    return [Paragraph(f"{plural(n, 'more question')}: in the report as JSON.")] if n > 0 else []


def _queries(summary: Summary) -> list[Block]:
    if not summary["queries"]:
        return []
    blocks: list[Block] = [
        Heading("Queries that matter most"),
        Paragraph(
            "The judged queries with the largest shares of the estimate's variance. Their grades are worth a second "
            "look: an error there moves the estimate most. The shift is what the judgments of a query have added to "
            "the estimate beyond what was expected of it."
        ),
    ]
    for one in summary["queries"][:MOST_QUESTIONS]:
        rows = [
            [row["query_id"], row["text"], count(row["items"]), percent(row["share"]), f"{row['shift']:+.4f}"]
            for row in one["queries"]
        ]
        blocks.append(Heading(name_of(summary["estimates"][one["question"]]), is_part=True))
        if rows:
            blocks.append(Table(["query", "text", "items judged", "share of the variance", "shift"], rows))
        else:
            blocks.append(Paragraph("No query: nothing was left to chance, or the spread is not known."))
    return [*blocks, *_left_out(summary["queries"])]


def _calibration(summary: Summary) -> list[Block]:
    blocks: list[Block] = []
    for found in summary["calibration"]:
        of_round = f" of round {found['round']}" if summary["head"]["rounds"] > 1 else ""
        chart = calibration_chart(f"calibration{found['round']}", found["bins"])
        header = ["expected grades", "expected mean", "observed mean", "difference", "items", "queries"]
        rows = [
            [
                f"{number(row['lowest'], 2)} to {number(row['highest'], 2)}",
                number(row["expected"], 3),
                f"{number(row['observed'], 3)} ± {number(row['std_error'], 3)}",
                f"{row['gap']:+.3f} ± {number(row['gap_std_error'], 3)}",
                count(row["items"]),
                count(row["queries"]),
            ]
            for row in [*found["bins"], found["all"]]
        ]
        rows[-1][0] = "all"
        blocks += [
            Heading(f"Is the grade model{of_round} right?"),
            Paragraph(_verdict(found), bool(found["is_off"])),
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


def _verdict(found: Summary) -> str:
    """Return in one sentence whether the grade model is off."""
    if found["is_off"] is None:
        return "Too few queries are judged to say whether the grade model is off."
    told = f"{p_of(found['p_value'])} for all rows together"
    if not found["is_off"]:
        return f"The grades that came are within chance of what the grade model expected ({told})."
    row = found["all"] if found["worst"] == "all" else found["bins"][found["worst"]]
    where = "over all items" if found["worst"] == "all" else "most clearly where it "
    if found["worst"] != "all":
        where += f"expected {number(row['lowest'], 2)} to {number(row['highest'], 2)}"
    way = "too little" if row["gap"] > 0 else "too much"
    means = f"{number(row['expected'], 2)} expected, {number(row['observed'], 2)} observed"
    return f"The grade model is off: it expects {way}, {where} ({means}; {told})."


def _design(summary: Summary) -> list[Block]:
    own = summary["design"]
    questions = "; ".join(name_of(one) for one in own["questions"])
    rows = [
        ["method", own["method"] + (", draws with replacement" if own["with_replacement"] else "")],
        ["grade model", "yes" if own["has_model"] else "none"],
        ["made for", questions],
        ["grades", "any" if own["max_grade"] is None else f"0 to {own['max_grade']}"],
        ["seed", "n/a" if own["seed"] is None else str(own["seed"])],
        ["sample", own["sample"]],
        ["pool", f"{plural(own['queries'], 'query')}, {plural(own['items'], 'item')}"],
        ["known grades", f"{count(own['known'])} before the first draw"],
        ["several judges", _policy(own)],
        ["lease", f"{own['lease_s'] / 60:g} minutes"],
        ["ends", own["ends"]],
    ]
    rounds = [
        [
            str(k),
            amount_of(one["budget"]),
            count(one["items"]),
            count(one["known"]),
            *(number(one[f"{name}_probability"], 3) for name in ("least", "median", "largest")),
        ]
        for k, one in enumerate(own["rounds"], 1)
    ]
    blocks: list[Block] = [Heading("Design"), Table(["", ""], rows)]
    blocks += [Paragraph("Inclusion probabilities of the items of the sample, at its whole budget:")]
    header = ["round", "budget", "items", "known", "least probability", "median", "largest"]
    blocks += [Table(header, rounds), *_blocks(own)]
    versions = [f"version {v['version']}: {v['reason']}, as of event {count(v['as_of'])}" for v in own["versions"]]
    blocks += [Lines(versions)] if len(versions) > 1 else []
    return [*blocks, *(Paragraph(caution["text"], True) for caution in own["cautions"])]


def _policy(own: Summary) -> str:
    if own["judges_per_item"] == 1:
        return "one judge an item"
    return f"{own['judges_per_item']} judges an item, whose grades count by policy: {own['policy']}"


def _blocks(own: Summary) -> list[Block]:
    header = ["block", "budget up to here", "threshold", "items", "answered", "cost", "spent", "complete as of"]
    rows = [
        [
            str(one["block"]) + (f" (round {one['round']})" if len(own["rounds"]) > 1 else ""),
            amount_of(one["budget"]),
            estimate_of(one["threshold"]),
            count(one["items"]),
            count(one["settled"]),
            amount_of(one["cost"]),
            amount_of(one["spent"]),
            "not yet" if one["complete_as_of"] is None else f"event {count(one['complete_as_of'])}, {one['date']}",
        ]
        for one in own["blocks"]
    ]
    return [Paragraph("Blocks, each judged to its end before it is read:"), Table(header, rows)]


def _log(summary: Summary) -> list[Block]:
    log = summary["log"]
    blocks: list[Block] = [
        Heading("Log"),
        Table(["kind of event", "events"], [[one["kind"], count(one["n"])] for one in log["kinds"]]),
    ]
    if log["late"]:
        rows = [[one["judge"], one["reason"], count(one["n"])] for one in log["late"]]
        blocks += [Paragraph("Answers that are kept and do not count:"), Table(["judge", "why", "answers"], rows)]
    return [*blocks, Paragraph(f"The digest of event {count(log['events'])} is {log['digest']}.")]
