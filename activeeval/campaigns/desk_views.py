"""Views that a judging page displays, and the reply that it sends back.

The views are blind: they contain no run, rank, level, score or weight, and no answer of another judge.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from activeeval.campaigns.live_log import Precision, WaitingCounts
from activeeval.campaigns.store import ItemTexts, JudgeAnswer

_TOLERANCE_MS = 1000  # allows for the time a request takes to arrive
_HTML = re.compile(r"\s*(<!doctype html|<html[\s>])", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView:
    """An item as displayed to a judge.

    Attributes
    ----------
    query_id, doc_id : str
    query, need : str
        Query text and information need; empty if unknown.
    title, text, url : str
        Texts of the document.
    is_html : bool
        True if the text is a complete HTML page.
    """

    query_id: str
    doc_id: str
    query: str
    need: str
    title: str
    text: str
    url: str
    is_html: bool

    @classmethod
    def of(cls, query_id: str, doc_id: str, texts: ItemTexts) -> ItemView:
        """Build the view of an item from its ids and stored texts."""
        parts = {name: str(texts.text.get(name) or "") for name in ("need", "title", "text", "url")}
        is_html = _HTML.match(parts["text"]) is not None
        return cls(query_id=query_id, doc_id=doc_id, query=texts.query_text, is_html=is_html, **parts)

    @property
    def has_texts(self) -> bool:
        """True if there is a query, a title or a text to read besides the ids."""
        return bool(self.query or self.title or self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerView:
    """An earlier answer of a judge.

    Attributes
    ----------
    seq : int
        Number of its event.
    query, title : str
        Texts of the item, or its ids where texts are missing.
    grade : int or None
        None if the item could not be judged.
    name : str
        Name of the grade.
    reason, note : str
        Why the item could not be judged, and the judge's remark; may be empty.
    """

    seq: int
    query: str
    title: str
    grade: int | None
    name: str
    reason: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingView:
    """The page of a judge.

    Attributes
    ----------
    item : ItemView or None
        None if nothing is left for this judge.
    token : str
        Identifies the claim; sent back with the answer.
    lease_s : int
        Seconds for which the item is reserved, counted from the page's latest sign of activity.
    can_put_off : bool
        True if the judge may defer the item.
    grades : sequence of str
        Names of the grades, from 0 on.
    left : WaitingCounts
        Items that wait, as the judge sees them.
    pace_s : float or None
        Median seconds that this judge takes for an item; None if no time is known.
    precision : Precision or None
        Half-width of the first question's interval; None if no estimate is known.
    is_closed : bool
        True if nothing is left because a lead has closed the campaign.
    recent : sequence of AnswerView
        Latest answers of this judge, the newest first.
    """

    item: ItemView | None
    token: str
    lease_s: int
    can_put_off: bool
    grades: Sequence[str]
    left: WaitingCounts
    pace_s: float | None
    precision: Precision | None
    is_closed: bool
    recent: Sequence[AnswerView]


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectingView:
    """The page on which a judge corrects an earlier answer.

    Attributes
    ----------
    item : ItemView
    answer : AnswerView
        The answer to correct.
    grades : sequence of str
        Names of the grades, from 0 on.
    before : int or None
        Event of the judge's answer before this one; None if there is none.
    """

    item: ItemView
    answer: AnswerView
    grades: Sequence[str]
    before: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """Milliseconds that a page counted while an item was displayed: active, idle (no input), hidden (not visible)."""

    active: int
    idle: int
    hidden: int

    @property
    def all(self) -> int:
        """Total milliseconds of the three clocks."""
        return self.active + self.idle + self.hidden


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A judge's reply to an item, sent by a page.

    Attributes
    ----------
    judgment : JudgeAnswer
        The grade or preference, or that the item is deferred or cannot be judged.
    note, guidelines : str
        A remark, and the version of the guidelines that were displayed.
    input : str
        Input device: key, mouse, or empty if unknown.
    clocks : Clocks or None
        Times on the page; None if unknown.
    """

    judgment: JudgeAnswer
    note: str = ""
    guidelines: str = ""
    input: str = ""
    clocks: Clocks | None = None

    def said(self, elapsed_ms: int) -> JudgeAnswer:
        """Convert the reply to the answer that is stored; its body holds the note, version of guidelines and device.

        Its times are omitted if a clock is negative or their sum exceeds ``elapsed_ms``, the milliseconds since the
        item was shown, by more than a second (for the request's way).
        """
        details: dict[str, str | int] = {"note": self.note, "guidelines": self.guidelines, "input": self.input}
        body = {name: value for name, value in details.items() if value}
        clocks = self.clocks
        if clocks is None or min(clocks.active, clocks.idle, clocks.hidden) < 0:
            return replace(self.judgment, body={**self.judgment.body, **body})
        if clocks.all > elapsed_ms + _TOLERANCE_MS:
            return replace(self.judgment, body={**self.judgment.body, **body})
        body = {**self.judgment.body, **body, "hidden_ms": clocks.hidden}
        return replace(self.judgment, body=body, active_ms=clocks.active, idle_ms=clocks.idle)
