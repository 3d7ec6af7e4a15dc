"""Table of the judged queries that lose most between an old and a new run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from activeeval.report.answer_sentences import short_name
from activeeval.report.numbers import number

MOST_SHOWN = 10
"""Largest number of queries in the table, and of ranks shown."""
LISTED = ("worse", "undecided")
"""Verdicts for which the queries that lose most are listed."""
PLACES = 4
"""Decimal places of values and weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedItem:
    """Item of a list: its title or first words, its grade (None if unjudged), and if no other list contains it."""

    doc_id: str
    title: str
    grade: int | None
    is_only_here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LosingQuery:
    """A judged query that loses, by the values of the new run (``value``, ``items``) and the old (``versus_…``).

    ``weight`` is its weight in the mean, ``share`` its share of the total loss, from 0 to 1. The lists have the first
    ranks of each run.
    """

    query_id: str
    value: float
    versus_value: float
    weight: float
    share: float
    text: str = ""
    items: list[ListedItem] = field(default_factory=list)
    versus_items: list[ListedItem] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """The queries that lose most, for a question whose verdict is worse or undecided.

    Attributes
    ----------
    question : int
        Number of the question in its campaign.
    title : str
        States how many queries lose.
    depth : int
        Number of ranks shown: the measure's cutoff, at most 10.
    label : str
        Name of a grade.
    queries : list of LosingQuery
    """

    question: int
    title: str
    depth: int
    label: str
    queries: list[LosingQuery]


def losses_table(queries: Sequence[LosingQuery], system: str, versus: str) -> list[dict[str, str]]:
    """Format the queries that lose most as rows of text; weights are shown if they differ.

    Examples
    --------
    >>> losses_table([LosingQuery(query_id="q1", value=0.5, versus_value=1.0, weight=0.5, share=1.0)], "new", "old")
    [{'query': 'q1', 'old': '1.0000', 'new': '0.5000', 'share of the loss': '100.0%'}]
    """
    old, new = names_of(system, versus)
    weights = [number(query.weight, PLACES) for query in queries]
    return [
        {
            "query": short_name(query.query_id),
            old: number(query.versus_value, PLACES),
            new: number(query.value, PLACES),
            **({"weight": weight} if len(set(weights)) > 1 else {}),
            "share of the loss": f"{query.share:.1%}",
        }
        for query, weight in zip(queries, weights, strict=True)
    ]


def names_of(system: str, versus: str) -> tuple[str, str]:
    """Return the column names of the old run (``versus``) and the new run (``system``), made different if equal."""
    old, new = short_name(versus), short_name(system)
    return (old, new) if old != new else (f"{old} (old)", f"{new} (new)")
