"""Values of a campaign's report: progress, questions and design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from activeeval.report.message_lookup import MessageText


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignProgress:
    """Progress of a campaign as of an event; costs are in the pool's mean items (1 is an average item).

    Attributes
    ----------
    campaign : str
        Name.
    as_of, version : int
        Number of the log's last event, and version of the sample.
    budget, spent, left : float
        Planned, spent and remaining cost. A unit (items judged together) counts by the share of its items that are
        judged.
    block, blocks : int
        Number of complete blocks (parts of the sample), and of planned blocks.
    judged, waiting, cannot : int
        Items with a grade, waiting for a judge, and impossible to judge.
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
    """A measure and the systems it is estimated for.

    Attributes
    ----------
    measure : str
        Short name.
    question : str
        Kind of question, as "difference".
    system, versus : str
        Names of the runs; ``versus`` is empty for a single run.
    definition : str
        The measure in full.
    """

    measure: str
    question: str
    system: str
    versus: str
    definition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A version of the sample.

    Attributes
    ----------
    version : int
        From 1.
    sample : str
        Digest of the sample.
    as_of : int
        Number of the last event before it was stored.
    reason : str
        Why it was stored, as "topped up".
    """

    version: int
    sample: str
    as_of: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Budget, items, known grades and inclusion probabilities of a round (one sample of a campaign).

    ``known`` counts items whose grade was known before the draw; probabilities are None without items.
    """

    budget: float | None
    items: int
    known: int
    least_probability: float | None
    median_probability: float | None
    largest_probability: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockProgress:
    """Progress of a block (part of a sample, at whose end an estimate is valid); costs are in mean items.

    Attributes
    ----------
    block, round : int
        Number of the block through all rounds (samples), and of its round, from 1.
    budget : float
        Budget up to the end of the block.
    threshold : float or None
        Units up to this level (position in the judging order) belong to it or earlier blocks; None if infinite.
    units, items, settled : int
        Units (items judged together), items, and items that are judged or cannot be judged.
    cost, spent : float
        Of all items, and of the judged ones.
    complete_as_of : int or None
        Number of the event that completed the block; None before.
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
        Name of the sampling method.
    with_replacement, has_model : bool
        True if items are drawn with replacement, and if a grade model guided the draw.
    model : str
        Description of the grade model, if known.
    questions : list of CampaignQuestion
    max_grade, seed : int or None
        Largest grade, and seed of the draw; None if unknown.
    sample : str
        Digest of the last version.
    versions : list of Version
    queries, items, open_items, known : int
        Size of the pool, items that may be drawn, and grades known before the first draw.
    rounds : list of Round
        Samples drawn one after another.
    blocks : list of BlockProgress
    judges_per_item : int
    policy : str
        How several judges' grades of an item are combined.
    lease_s : float
        Seconds for which a claimed item is reserved for its judge.
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
