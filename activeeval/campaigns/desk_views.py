"""What a page shows a judge, and what comes back from it.

All of it is blind: no run, rank, level, score or weight, and nothing of what others say, comes as far as this.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from activeeval.campaigns.live_log import Precision, WaitingCounts
from activeeval.campaigns.store import ItemTexts, JudgeAnswer

_TOLERANCE_MS = 1000  # clocks of two machines tick alike, but a request is not received in the moment it is sent
_HTML = re.compile(r"\s*(<!doctype html|<html[\s>])", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView:
    """An item as a judge sees it.

    Attributes
    ----------
    query, need : str
        What was asked for, and what the person needed; empty where nobody has said it.
    title, text, url : str
        Of the document.
    is_html : bool
        Whether the text is a page of its own.
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
        """Return an item with its texts."""
        said = {name: str(texts.text.get(name) or "") for name in ("need", "title", "text", "url")}
        is_html = _HTML.match(said["text"]) is not None
        return cls(query_id=query_id, doc_id=doc_id, query=texts.query_text, is_html=is_html, **said)

    @property
    def has_texts(self) -> bool:
        """Whether there is anything to read but ids."""
        return bool(self.query or self.title or self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerView:
    """An answer that a judge gave: event ``seq``, of a grade by its name, or that there can be none."""

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
        None where nothing is left for this judge.
    token : str
        With which the answer is reply.
    lease_s : int
        For how long the item is the judge's, from any sign of life on.
    can_put_off : bool
    grades : sequence of str
        What each is called, from 0 on.
    left : WaitingCounts
    pace_s : float or None
        Seconds that this judge takes for an item, in the median.
    precision : Precision or None
    is_closed : bool
        Whether nothing is left as a lead has closed the campaign.
    recent : sequence of AnswerView
        What this judge said last, the newest first.
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
    """An earlier answer of a judge with its item, and the one before it (an event), where there is one."""

    item: ItemView
    answer: AnswerView
    grades: Sequence[str]
    before: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """Milliseconds that a page counted while an item was shown: in use, without a hand on it, and out of sight."""

    active: int
    idle: int
    hidden: int

    @property
    def all(self) -> int:
        """What they come to."""
        return self.active + self.idle + self.hidden


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a judge says of an item at a page.

    Attributes
    ----------
    judgment : JudgeAnswer
    note, guidelines : str
        A remark, and the version of the guidelines that were beside it.
    input : str
        What was used: key, mouse, or nothing where that is not known.
    clocks : Clocks or None
    """

    judgment: JudgeAnswer
    note: str = ""
    guidelines: str = ""
    input: str = ""
    clocks: Clocks | None = None

    def said(self, elapsed_ms: int) -> JudgeAnswer:
        """Return it as it is stored; of clocks that ran longer than the item was shown no time is known."""
        beside: dict[str, str | int] = {"note": self.note, "guidelines": self.guidelines, "input": self.input}
        body = {name: value for name, value in beside.items() if value}
        clocks = self.clocks
        if clocks is None or min(clocks.active, clocks.idle, clocks.hidden) < 0:
            return replace(self.judgment, body={**self.judgment.body, **body})
        if clocks.all > elapsed_ms + _TOLERANCE_MS:
            return replace(self.judgment, body={**self.judgment.body, **body})
        body = {**self.judgment.body, **body, "hidden_ms": clocks.hidden}
        return replace(self.judgment, body=body, active_ms=clocks.active, idle_ms=clocks.idle)
