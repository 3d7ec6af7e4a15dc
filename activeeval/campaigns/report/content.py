"""What the report of a campaign says, as values: numbers and text that a page words and JSON carries."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from activeeval.campaigns.report.design_content import CampaignProgress, CampaignQuestion, DesignSummary
from activeeval.campaigns.report.judges_content import (
    Calibration,
    Cost,
    JudgeAgreement,
    JudgeChecks,
    SkippedItems,
    Step,
)
from activeeval.campaigns.report.next_steps import JudgingProgress
from activeeval.core.answers import Answer
from activeeval.graders.audit_summary import GraderAudit
from activeeval.report.message_lookup import MessageText
from activeeval.sampling.lost_queries import Losses


def finite(value: float) -> float | None:
    """Return a number that is one; None for what is infinite or not known."""
    return float(value) if math.isfinite(value) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingBlock:
    """How many items of a block wait."""

    block: int
    items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressHeader(CampaignProgress):
    """How far the campaign is, and as of when that is true.

    Attributes
    ----------
    date, created : str
        UTC.
    rounds, rounds_read, block_read : int
        Drawn, that can be read, and complete blocks of these.
    unit : str
        Of costs.
    judges_per_item : int
    waiting_by_block : list of WaitingBlock
    goal : str
        Whether the half-width that was asked for is reached; empty where none was.
    batch : int
        The number of the last one, where depths follow labels; 0 where they follow none.
    goes_on : bool
        Whether something waits, or labels lead to more.
    """

    date: str
    created: str
    rounds: int
    rounds_read: int
    block_read: int
    unit: str
    judges_per_item: int
    waiting_by_block: list[WaitingBlock]
    goal: str
    batch: int = 0
    goes_on: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignEstimate(CampaignQuestion):
    """The answer to a question; what is infinite or not known is None.

    Attributes
    ----------
    value, std_error, low, high : float or None
        The interval has room for items that cannot be judged.
    confidence : float
    half_width, half_width_at_end : float or None
        Now, and to expect when all is judged.
    p_value : float or None
        Of differences alone.
    queries, items : int
    effective_sample_size : float or None
    cautions : list of Worded
    low_at_once, high_at_once : float or None
        Ends that hold for all differences of a measure together.
    sentence : str
        All this as a reader wants it.
    """

    value: float | None
    std_error: float | None
    low: float | None
    high: float | None
    confidence: float
    half_width: float | None
    half_width_at_end: float | None
    p_value: float | None
    queries: int
    items: int
    effective_sample_size: float | None
    cautions: list[MessageText]
    low_at_once: float | None
    high_at_once: float | None
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignReading:
    """What could be read as of an event: the answers to all questions that the campaign was made for.

    Attributes
    ----------
    as_of : int
    date : str
    block, blocks, rounds : int
        Complete, planned, and read.
    spent : float
        In the pool's mean items.
    answers, every_look : list of Answer
        By question; with intervals that hold at every look, where there are such.
    """

    as_of: int
    date: str
    block: int
    blocks: int
    rounds: int
    spent: float
    answers: list[Answer]
    every_look: list[Answer]

    def ends(self, question: int) -> dict[str, float | None]:
        """Tabulate the estimate of a question and its intervals; None for what is infinite or not known."""
        answer, always = self.answers[question], self.every_look[question] if self.every_look else None
        return {
            "value": finite(answer.value),
            "low": finite(answer.low),
            "high": finite(answer.high),
            "low_every_look": None if always is None else finite(always.low),
            "high_every_look": None if always is None else finite(always.high),
        }

    def row(self) -> dict[str, Any]:
        """Tabulate it for JSON."""
        fields = {name: getattr(self, name) for name in ("as_of", "date", "block", "blocks", "rounds", "spent")}
        return fields | {"answers": [self.ends(k) for k in range(len(self.answers))]}

    def says_the_same(self, other: CampaignReading) -> bool:
        """Whether another moment gives the same estimates and intervals."""
        mine, others = self.row()["answers"], other.row()["answers"]
        return [(each["value"], each["low"]) for each in mine] == [(each["value"], each["low"]) for each in others]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryShare:
    """A judged query with its share of an estimate's variance, and how far it moves the estimate."""

    query_id: str
    text: str
    items: int
    share: float
    shift: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Largest:
    """The judged queries that matter most to the answer of a question, by its number."""

    question: int
    queries: list[QueryShare]


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCount:
    """How many events of a kind the log has."""

    kind: str
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LateCount:
    """How many answers of a judge came too late to count, for a reason."""

    judge: str
    reason: str
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSummary:
    """What the log holds, and the digest of its last event."""

    events: int
    kinds: list[KindCount]
    late: list[LateCount]
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignReport:
    """All that the report of a campaign says, as of an event; `record` is its JSON.

    What is not known is None; no number is NaN or infinite. ``as_of`` numbers are those of the log.

    Attributes
    ----------
    headline : list of str
        The sentences that tell it, three at most; none where nothing can be read.
    footnotes : list of str
        What measures and intervals are.
    next : Step
    losses : list of Losses
        Of each difference that is worse or undecided; none of a campaign that is read in several rounds.
    audit : list of GraderAudit
        Of the machines whose grades were named, once something can be read.
    reached : Reached
        The head, for a reader's sentence.
    """

    format: str
    headline: list[str]
    footnotes: list[str]
    next: Step
    head: ProgressHeader
    scope: str
    confidence: float
    estimates: list[CampaignEstimate]
    notes: list[MessageText]
    readings: list[CampaignReading]
    losses: list[Losses]
    queries: list[Largest]
    cost: Cost
    calibration: list[Calibration]
    agreement: JudgeAgreement
    checked: JudgeChecks
    skipped: SkippedItems
    design: DesignSummary
    log: LogSummary
    audit: list[GraderAudit]
    reached: JudgingProgress

    def record(self) -> dict[str, Any]:
        """Tabulate it for JSON."""
        record = asdict(self) | {"readings": [reading.row() for reading in self.readings]}
        del record["reached"]  # the head has these numbers
        return record
