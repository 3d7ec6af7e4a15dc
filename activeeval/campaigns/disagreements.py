"""List the items on which judges differ, and the influence of settling each on the estimate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from activeeval.campaigns.known_labels import grades_of
from activeeval.campaigns.report.content import finite
from activeeval.campaigns.state import CampaignState, Pair
from activeeval.campaigns.store import Store
from activeeval.core.campaign.reading import LabelEffect, moved
from activeeval.core.judgments.log import Event

MOST = 100
"""Maximum number of disagreements listed; those with most influence come first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeGrade:
    """A judge's opinion of an item.

    Attributes
    ----------
    judge : str
    grade : int or None
        None if the judge could not grade the item.
    reason, note : str
        Why it could not be graded, and a remark; may be empty.
    """

    judge: str
    grade: int | None
    reason: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """An item on which judges differ.

    Attributes
    ----------
    seq : int
        Event of one of the judgments; names the item when the lead decides its grade (adjudicates it).
    query, title : str
        Texts, or ids where texts are missing.
    opinions : sequence of JudgeGrade
    counts_as : int or None
        The grade that counts now; None while the item waits, or if several grades count.
    influence : float or None
        Largest change of the first question's estimate over the grades given; None if the item is not yet used in it.
    narrowest, widest : float or None
        Half-width of that estimate's interval, smallest and largest over these grades; None if there is no interval.
    decided_by, reason : str
        Who adjudicated the item and why; empty if it was not adjudicated.
    waits : bool
        True if the item waits for another judge.
    """

    seq: int
    query_id: str
    doc_id: str
    query: str
    title: str
    opinions: Sequence[JudgeGrade]
    counts_as: int | None
    influence: float | None
    narrowest: float | None
    widest: float | None
    decided_by: str
    reason: str
    waits: bool


def disagreements(state: CampaignState, store: Store) -> list[Disagreement]:
    """List the items on which judges differ, by decreasing influence on the estimate; at most `MOST`.

    Items that are not yet used in an estimate come last. ``state`` is the campaign as of an event.
    """
    differing = {
        pair: by_judge
        for pair, by_judge in state.judgments_by_item.items()
        if len({event.grade for event in by_judge.values()}) > 1
    }
    spans = _influence(state, differing)  # by item; its `span` is the largest change of the estimate
    order = sorted(differing, key=lambda pair: (pair not in spans, -spans[pair].span if pair in spans else 0.0, pair))
    counts = grades_of(state)
    return [_disagreement(state, store, differing[pair], spans.get(pair), counts.get(pair)) for pair in order[:MOST]]


def _influence(state: CampaignState, differing: Mapping[Pair, Mapping[str, Event]]) -> dict[Pair, LabelEffect]:
    """Compute how much the first question's estimate varies over the grades of each disputed item.

    Parameters
    ----------
    differing : mapping of (query, document) to mapping of str to Event
        Judgments of each disputed item, by judge.

    Returns
    -------
    dict of (query, document) to LabelEffect
        Only for items that are used in the estimate and have two different grades.
    """
    spans: dict[Pair, LabelEffect] = {}
    # the samples that estimates use; none before the first complete block (part of the sample)
    for sample in state.read if state.block else []:
        campaign = sample.campaign
        # indices of the items that the estimate uses: those at the judged positions of the judging order
        used = set(campaign.design.order.items[campaign.selection.places].tolist())
        grades: dict[int, list[int]] = {}
        pairs: dict[int, Pair] = {}
        for unit in campaign.units:
            for item, doc in zip(unit.items, unit.item_ids, strict=True):
                by_judge = differing.get((unit.query_id, doc), {})
                named = [event.grade for event in by_judge.values() if event.grade is not None]
                if item in used and len(set(named)) > 1:
                    grades[item], pairs[item] = named, (unit.query_id, doc)
        target = sample.made_for[0].target  # measure and rankings of the first question
        of_items = moved(campaign.design, campaign.selection, campaign.labels, grades, target)
        spans |= {pairs[item]: span for item, span in of_items.items()}
    return spans


def _disagreement(
    state: CampaignState, store: Store, by_judge: Mapping[str, Event], effect: LabelEffect | None, counts_as: int | None
) -> Disagreement:
    """Collect a disputed item's judgments, texts, counting grade and influence.

    Parameters
    ----------
    by_judge : mapping of str to Event
        The judgments.
    effect : LabelEffect or None
        Effect of its grades on the estimate: change and half-widths of its interval. None if it is not used in it.
    counts_as : int or None
        The grade that counts now; −1 or None for none.
    """
    answers = sorted(by_judge.values(), key=lambda event: event.seq)
    first = answers[0]
    place = (first.unit or 0, first.doc_id)  # the item: its unit (items judged together) and document
    decided, texts = state.state.adjudicated.get(place), store.texts_of(state.campaign.name, first)
    return Disagreement(
        seq=first.seq,
        query_id=first.query_id,
        doc_id=first.doc_id,
        query=texts.query_text or first.query_id,
        title=str(texts.text.get("title") or first.doc_id),
        opinions=[JudgeGrade(judge=e.judge, grade=e.grade, reason=e.reason, note=e.note) for e in answers],
        counts_as=counts_as if counts_as is not None and counts_as >= 0 else None,
        influence=None if effect is None else effect.span,
        narrowest=None if effect is None else finite(effect.narrowest),
        widest=None if effect is None else finite(effect.widest),
        decided_by="" if decided is None else decided.judge,
        reason="" if decided is None else decided.reason,
        waits=state.state.waits(place),
    )
