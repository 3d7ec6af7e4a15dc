"""What is planned of a question in a segment, as a row."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRow:
    """What to expect of a question in a segment, or in all.

    Attributes
    ----------
    segment : str or None
        None: all queries of the pool.
    measure, question : str
    name : str
        What messages call the question.
    goal : float or None
        The half-width to reach.
    half_width : float
    low, high : float or None
        The one to expect, and between which four samples of five should lie: None before the first label.
    queries, items : float
        That are judged, on average.
    n_queries : int
        In the pool.
    is_slack : bool
        Whether what the others take leaves much less than is asked for here.
    """

    segment: str | None
    measure: str
    question: str
    name: str
    goal: float | None
    half_width: float
    low: float | None
    high: float | None
    queries: float
    items: float
    n_queries: int
    is_slack: bool
