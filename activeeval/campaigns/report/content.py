"""Content of a campaign's report as values: the page formats them and JSON contains them."""

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
    """Convert a number to float; None if it is infinite or NaN."""
    return float(value) if math.isfinite(value) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingBlock:
    """Number of waiting items of a block (part of the sample), by the block's number from 1."""

    block: int
    items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressHeader(CampaignProgress):
    """Progress of a campaign with its date and settings, for the head of the report.

    Attributes
    ----------
    date, created : str
        Date of the last event, and of the campaign's creation (UTC).
    rounds, rounds_read, block_read : int
        Rounds (samples) drawn, rounds used in estimates, and complete blocks (parts of a sample) of these.
    unit : str
        Unit of costs.
    judges_per_item : int
        Number of judges for each item.
    waiting_by_block : list of WaitingBlock
        Waiting items; blocks without any are omitted.
    goal : str
        Sentence on whether the requested half-width is reached; empty if none was requested.
    batch : int
        Number of the last batch of items that followed from labels; 0 without adaptive depth.
    goes_on : bool
        True if items wait or labels lead to more.
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
    """Estimate of a question; infinite or unknown values are None.

    Attributes
    ----------
    value, std_error, low, high : float or None
        Estimate, its standard error, and its interval, which allows for items that cannot be judged.
    confidence : float
    half_width, half_width_at_end : float or None
        Now, and expected when all items are judged.
    p_value : float or None
        Of the null hypothesis of no difference; None for a single run.
    queries, items : int
        Number of queries and of judged items in the estimate.
    effective_sample_size : float or None
        Number of random, completely judged queries with the same precision.
    cautions : list of MessageText
    low_at_once, high_at_once : float or None
        Simultaneous interval for all differences of a measure.
    sentence : str
        The result in a sentence.
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
    """Estimates of all questions of a campaign as of an event.

    Attributes
    ----------
    as_of : int
        Number of the event.
    date : str
        UTC.
    block, blocks, rounds : int
        Complete blocks (parts of a sample), planned blocks, and rounds (samples) used.
    spent : float
        Cost of the judged items, in the pool's mean items (1 is the cost of an average item).
    answers, every_look : list of Answer
        One for each question; with t intervals, and with group-sequential intervals (valid at every block), else empty.
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
        """Tabulate a question's estimate and its intervals; None for infinite or unknown values.

        ``question`` is its index. ``low`` and ``high`` are the t interval, valid for one analysis; those with
        ``every_look`` are group-sequential: valid at the end of every block (part of the sample).
        """
        answer, always = self.answers[question], self.every_look[question] if self.every_look else None
        return {
            "value": finite(answer.value),
            "low": finite(answer.low),
            "high": finite(answer.high),
            "low_every_look": None if always is None else finite(always.low),
            "high_every_look": None if always is None else finite(always.high),
        }

    def row(self) -> dict[str, Any]:
        """Convert the estimates and their event to a dict for JSON."""
        fields = {name: getattr(self, name) for name in ("as_of", "date", "block", "blocks", "rounds", "spent")}
        return fields | {"answers": [self.ends(k) for k in range(len(self.answers))]}

    def says_the_same(self, other: CampaignReading) -> bool:
        """Check whether another reading (estimates as of another event) has the same values and lower ends."""
        own_row, theirs = self.row()["answers"], other.row()["answers"]
        return [(row["value"], row["low"]) for row in own_row] == [(row["value"], row["low"]) for row in theirs]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryShare:
    """Influence of a judged query on an estimate.

    Attributes
    ----------
    query_id, text : str
    items : int
        Number of the query's graded items.
    share : float
        Share of the estimate's variance, from 0 to 1.
    shift : float
        Change of the estimate by the query's judgments, from what was expected before judging.
    """

    query_id: str
    text: str
    items: int
    share: float
    shift: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Largest:
    """The judged queries with most influence on a question's estimate; ``question`` is its index."""

    question: int
    queries: list[QueryShare]


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCount:
    """Number of events of a kind in the log."""

    kind: str
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LateCount:
    """Number of a judge's answers that came too late to count, by reason."""

    judge: str
    reason: str
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSummary:
    """Counts of the log's events, and the digest of the last."""

    events: int
    kinds: list[KindCount]
    late: list[LateCount]
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignReport:
    """Content of a campaign's report, as of an event; `record` converts it to JSON.

    Unknown values are None; no number is NaN or infinite. ``as_of`` fields are event numbers.

    Attributes
    ----------
    headline : list of str
        At most three sentences with the main result; empty if no estimate is possible.
    footnotes : list of str
        Explanations of measures and intervals.
    next : Step
        Recommended next step.
    head : ProgressHeader
        Progress, dates and settings.
    readings : list of CampaignReading
        Estimates at the end of each block (part of the sample).
    losses : list of Losses
        For each difference that is worse or undecided; empty if several rounds (samples) are used.
    queries : list of Largest
        Queries with most influence, for each question.
    calibration : list of Calibration
        Expected against given grades, for each round's grade model.
    checked : JudgeChecks
        Answers to training items and controls (items with an expected answer).
    skipped : SkippedItems
        Items that judges deferred or could not judge.
    audit : list of GraderAudit
        Audits of the named graders, once estimates are possible.
    reached : JudgingProgress
        The progress in a form for sentences.
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
        """Convert the report to a dict for JSON."""
        record = asdict(self) | {"readings": [reading.row() for reading in self.readings]}
        del record["reached"]  # the head has these numbers
        return record
