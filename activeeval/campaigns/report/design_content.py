"""Values of a campaign's report: progress, questions and design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from activeeval.report.message_lookup import MessageText


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignProgress:
    """Progress of a campaign as of an event; costs in the pool's mean items.

    Attributes
    ----------
    campaign : str
    as_of, version : int
        Event of the log, and version of the sample.
    budget, spent, left : float
        ``spent`` counts a unit by the share of its items that are judged.
    block, blocks : int
        Complete blocks, and planned blocks.
    judged, waiting, cannot : int
        Items.
    late, put_off, judges : int
        Answers that came too late, items deferred, and judges with a valid answer.
    hours : float or None
        Time of all timed answers, including those that do not count.
    """

    campaign: str
    as_of: int
    version: int
    budget: float
    spent: float
    left: float
    block: int
    blocks: int
    judged: int
    waiting: int
    cannot: int
    late: int
    put_off: int
    judges: int
    hours: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignQuestion:
    """A measure and the systems it is estimated for; ``definition`` is the measure in full."""

    measure: str
    question: str
    system: str
    versus: str
    definition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A version of the sample: its digest, the last event before it, and the reason for it."""

    version: int
    sample: str
    as_of: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Budget, items, known grades and inclusion probabilities of a round."""

    budget: float | None
    items: int
    known: int
    least_probability: float | None
    median_probability: float | None
    largest_probability: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockProgress:
    """Progress of a block, numbered over all rounds; costs in the pool's mean items.

    Attributes
    ----------
    block, round : int
    budget : float
        Budget up to the end of the block.
    threshold : float or None
        Level at the end of the block; None if infinite.
    units, items, settled : int
    cost, spent : float
    complete_as_of : int or None
    date : str or None
        Date of the event that completed the block.
    """

    block: int
    round: int
    budget: float
    threshold: float | None
    units: int
    items: int
    settled: int
    cost: float
    spent: float
    complete_as_of: int | None
    date: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignSummary:
    """What was drawn, and how.

    Attributes
    ----------
    method : str
    with_replacement, has_model : bool
    model : str
        Description of the grade model, if known.
    questions : list of CampaignQuestion
    max_grade, seed : int or None
    sample : str
        Digest of the last version.
    versions : list of Version
    queries, items, open_items, known : int
        Size of the pool, items that may be drawn, and grades known before the first draw.
    rounds : list of Round
    blocks : list of BlockProgress
    judges_per_item : int
    policy : str
    lease_s : float
    ends : str
        Why the sample ends.
    cautions : list of MessageText
    """

    method: str
    with_replacement: bool
    has_model: bool
    model: str
    questions: list[CampaignQuestion]
    max_grade: int | None
    seed: int | None
    sample: str
    versions: list[Version]
    queries: int
    items: int
    open_items: int
    known: int
    rounds: list[Round]
    blocks: list[BlockProgress]
    judges_per_item: int
    policy: str
    lease_s: float
    ends: str
    cautions: list[MessageText]
