"""What the report of a campaign says of its progress, its questions and its design, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from activeeval.report.message_lookup import MessageText


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignProgress:
    """How far a campaign was as of an event; costs in the pool's mean items.

    Attributes
    ----------
    campaign : str
    as_of, version : int
        Event of the log, and version of the sample.
    budget, spent, left : float
        ``spent`` counts a unit by the share of its items that are judged.
    block, blocks : int
        Complete, and planned.
    judged, waiting, cannot : int
        Items.
    late, put_off, judges : int
        Answers that came too late, items put off, and judges with an answer that stands.
    hours : float or None
        Of all answers whose time was taken, also of those that do not count.
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
    """What is asked of which systems, by their names; ``definition`` is what the measure is in full."""

    measure: str
    question: str
    system: str
    versus: str
    definition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A version of the sample: its digest, the event that made it, and why."""

    version: int
    sample: str
    as_of: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """A round's budget, items and known grades, and the probabilities with which items came into it."""

    budget: float | None
    items: int
    known: int
    least_probability: float | None
    median_probability: float | None
    largest_probability: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockProgress:
    """A block, numbered over all rounds; costs in the pool's mean items.

    Attributes
    ----------
    block, round : int
    budget : float
        Up to its end.
    threshold : float or None
        Level of the order at its end; None where infinite.
    units, items, settled : int
    cost, spent : float
    complete_as_of : int or None
    date : str or None
        Of the event that made it complete.
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
        What the grade model is, as far as that is known.
    questions : list of CampaignQuestion
    max_grade, seed : int or None
    sample : str
        Digest of the last version.
    versions : list of Version
    queries, items, open_items, known : int
        Of the pool; items that may be drawn, and grades known before the first draw.
    rounds : list of Round
    blocks : list of BlockProgress
    judges_per_item : int
    policy : str
    lease_s : float
    ends : str
        Why the sample ends where it does.
    cautions : list of Worded
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
