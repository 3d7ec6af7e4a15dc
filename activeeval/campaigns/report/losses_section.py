"""Section of a campaign's report on the queries with the largest losses, with both result lists side by side."""

from __future__ import annotations

from itertools import zip_longest

from activeeval.campaigns.report.content import CampaignReport
from activeeval.campaigns.report.estimates_section import MOST_QUESTIONS
from activeeval.campaigns.report.phrases import name_of, percent
from activeeval.report.numbers import number
from activeeval.report.pages import Block, Heading, Paragraph, Table
from activeeval.sampling.lost_queries import PLACES, ListedItem, LosingQuery, losses_table, names_of


def gist(summary: CampaignReport) -> str:
    """Name the queries with the largest losses in the first question that has any."""
    largest = summary.losses[0].queries[:2]
    return f"{' and '.join(f'{query.query_id} ({percent(query.share)})' for query in largest)} lose most"


def losses(summary: CampaignReport) -> list[Block]:
    """Build the section on the queries with the largest losses.

    A loss is a query's part in making the new run worse than the old one. The section has, for each question, a table
    of the queries, then both result lists of each.
    """
    blocks: list[Block] = []
    for of_question in summary.losses[:MOST_QUESTIONS]:
        question = summary.estimates[of_question.question]
        rows = losses_table(of_question.queries, question.system, question.versus)
        blocks += [
            Heading(name_of(question)),
            Paragraph(of_question.title),
            Table(list(rows[0]), [list(row.values()) for row in rows]),
            Paragraph(
                f"Both lists of each query down to rank {of_question.depth}. Only here: {question.measure} does not "
                "count the item in the other list."
            ),
        ]
        blocks += [_lists(query, of_question.label, question.system, question.versus) for query in of_question.queries]
    return blocks


def _lists(query: LosingQuery, label: str, system: str, versus: str) -> Table:
    """Build a table of a query's two result lists side by side.

    Parameters
    ----------
    label : str
        Heading of the grades' columns.
    system, versus : str
        Names of the runs; the list of ``versus`` comes first.
    """
    old, new = names_of(system, versus)  # headings of the columns
    rows = [
        [str(rank), *_item(item_before), *_item(item_now)]
        for rank, (item_before, item_now) in enumerate(zip_longest(query.versus_items, query.items), 1)
    ]
    values = f"{number(query.versus_value, PLACES)} in {old}, {number(query.value, PLACES)} in {new}"
    caption = f"{query.query_id}{query.text and f' ({query.text})'}: {values}"
    return Table(["rank", old, label, new, label], rows, caption)


def _item(item: ListedItem | None) -> tuple[str, str]:
    """Format an item and its grade; two empty strings after the end of a list (None)."""
    if item is None:
        return "", ""
    title = f"{item.doc_id}{item.title and f': {item.title}'}"
    grade = "not judged" if item.grade is None else str(item.grade)
    return f"{title}{' (only here)' if item.is_only_here else ''}", grade
