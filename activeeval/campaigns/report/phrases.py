"""Formatting of numbers and questions in a campaign's report; unknown values are "n/a"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from activeeval.report.numbers import number

if TYPE_CHECKING:
    from activeeval.campaigns.report.design_content import CampaignQuestion


def estimate_of(value: float | None) -> str:
    """Format a number with three significant digits; "n/a" for None."""
    return "n/a" if value is None else f"{value:.3g}"


def p_of(value: float | None) -> str:
    """Format a p-value; "p n/a" for None.

    Examples
    --------
    >>> p_of(0.04123), p_of(1e-9), p_of(None)
    ('p = 0.041', 'p < 0.001', 'p n/a')
    """
    if value is None:
        return "p n/a"
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def amount_of(value: float | None) -> str:
    """Format a budget or a cost with at most one decimal.

    Examples
    --------
    >>> amount_of(120.0), amount_of(0.25)
    ('120', '0.2')
    """
    return number(value, 1).removesuffix(".0")


def count(value: int) -> str:
    """Format a count with thousands separators."""
    return f"{value:,}"


def percent(share: float | None) -> str:
    """Format a share as a percentage with one decimal; "n/a" for None."""
    return "n/a" if share is None else f"{share:.1%}"


def interval_of(low: float | None, high: float | None) -> str:
    """Format the ends of an interval; "n/a" if none exists.

    Examples
    --------
    >>> interval_of(0.1, 0.25), interval_of(None, None)
    ('0.1000 to 0.2500', 'n/a')
    """
    return "n/a" if low is None or high is None else f"{number(low, 4)} to {number(high, 4)}"


def judged_by(judges_per_item: int) -> str:
    """State how many judges grade each item."""
    return "each item by one" if judges_per_item == 1 else f"each item by {judges_per_item}"


def name_of(question: CampaignQuestion) -> str:
    """Name a question by its measure and systems, as "measure, system − versus".

    Examples
    --------
    >>> from activeeval.campaigns.report.design_content import CampaignQuestion
    >>> names = {"system": "new.run", "versus": "old.run"}
    >>> asked = CampaignQuestion(measure="DCG@10", question="difference", definition="", **names)
    >>> name_of(asked)
    'DCG@10, new.run − old.run'
    """
    versus = f" − {question.versus}" if question.versus else ""
    return f"{question.measure}, {question.system}{versus}"
