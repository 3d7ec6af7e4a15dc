"""What a campaign's log comes to: who said what of each item, as of any event, and what that says of the questions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from activeeval.campaign import Unit
from activeeval.campaign.policies import Agreement
from activeeval.campaign.sheet import Progress, heard
from activeeval.errors import StateError
from activeeval.io.draws import CANNOT
from activeeval.session.samples import Sample, unpacked_sample
from activeeval.store import CampaignRow, EventRow, SampleRow, Store

Pair = tuple[str, str]


@dataclass(slots=True, kw_only=True)
class Ledger:
    """What judges have said, event by event.

    Attributes
    ----------
    standing : dict
        By item, a query and a document, and judge: the event that counts, of a grade or of one that cannot be given.
    late : list of EventRow
        Answers that are kept and do not count.
    put_off : int
        How often somebody has said ``later``.
    """

    standing: dict[Pair, dict[str, EventRow]] = field(default_factory=dict)
    late: list[EventRow] = field(default_factory=list)
    put_off: int = 0

    @classmethod
    def of(cls, events: Iterable[EventRow]) -> Ledger:
        """Return what a log comes to."""
        ledger, said = cls(), dict[int, EventRow]()
        for event in events:
            if event.kind in ("judged", "cannot"):
                said[event.seq] = event
                ledger.standing.setdefault((event.query_id, event.doc_id), {})[event.judge] = event
            elif event.kind == "retracted" and event.supersedes in said:
                gone = said[event.supersedes]
                ledger.standing[gone.query_id, gone.doc_id].pop(gone.judge, None)
            elif event.kind == "late":
                ledger.late.append(event)
            elif event.kind == "later":
                ledger.put_off += 1
        return ledger

    def said(self, unit: Unit, judges_per_item: int) -> dict[int, dict[str, int]]:
        """Return what judges say of a unit's items; of one that too few have judged nothing yet."""
        found = {}
        for item, doc in zip(unit.items, unit.item_ids, strict=True):
            events = self.standing.get((unit.query_id, doc), {})
            grades = {judge: CANNOT if one.grade is None else one.grade for judge, one in events.items()}
            found[item] = grades if len(grades) >= judges_per_item else {}
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standing:
    """A campaign as of an event.

    Attributes
    ----------
    campaign : CampaignRow
    sample : Sample
        With all that counts of what was judged.
    version : int
        Of the sample.
    as_of : int
        The number of the last event that is looked at.
    block : int
        The highest of which all are complete up to it; 0 where the first is not.
    level : float
        The threshold of that block.
    progress : Progress
    agreement : Agreement
    ledger : Ledger
    """

    campaign: CampaignRow
    sample: Sample
    version: int
    as_of: int
    block: int
    level: float
    progress: Progress
    agreement: Agreement
    ledger: Ledger

    @property
    def policy(self) -> str:
        """What several judges' grades count as."""
        return str(self.campaign.config["policy"])


def standing(store: Store, name: str, as_of: int | None = None) -> Standing:
    """Return a campaign as of an event, by default the last.

    Raises
    ------
    InputError
        Where there is no such campaign or event.
    """
    row, events = store.campaign(name), store.events(name, as_of)
    last = events[-1].seq if events else 0
    kept = sample_at(store, name, last)
    sample, _ = unpacked_sample(kept.payload, f"campaign {name}")
    ledger = Ledger.of(events)
    campaign = sample.campaign
    while campaign.ask() is not None:
        pass
    said = {item: grades for unit in campaign.units for item, grades in ledger.said(unit, row.judges_per_item).items()}
    judged, progress, agreement = heard(campaign, said, str(row.config["policy"]))
    block, level = judged.complete_block
    return Standing(
        campaign=row,
        sample=replace(sample, campaign=judged),
        version=kept.version,
        as_of=last,
        block=block,
        level=level,
        progress=progress,
        agreement=agreement,
        ledger=ledger,
    )


def sample_at(store: Store, name: str, seq: int) -> SampleRow:
    """Return the version of a campaign's sample that was there at an event."""
    versions = [one for one in store.samples(name) if one.seq <= seq]
    if not versions:
        raise StateError(f"campaign {name}: nothing had been drawn as of event {seq}")
    return versions[-1]


def grades_of(found: Standing) -> dict[Pair, int]:
    """Return the grade that counts of each item that is judged, by query and document; −1 where it cannot be."""
    campaign = found.sample.campaign
    grades, groups, top = campaign.grades, campaign.design.groups, campaign.design.max_grade or 0
    out = {}
    for unit in campaign.units:
        for item, doc in zip(unit.items, unit.item_ids, strict=True):
            events = found.ledger.standing.get((unit.query_id, doc), {})
            if len(events) < found.campaign.judges_per_item:
                continue
            grade = int(grades[item])
            if groups and grade > top:  # a group has no grade of its own: its lower median
                group = groups[grade - top - 1]
                grade = int(np.sort(group)[(len(group) - 1) // 2])
            out[unit.query_id, doc] = grade
    return out


def labels_of(found: Standing) -> dict[Pair, int]:
    """Return the grade of each item that a campaign has judged or knew before it was drawn."""
    design = found.sample.campaign.design
    queries = design.pool.query_texts[design.pool.item_queries]
    known = {(queries[z], design.pool.item_texts[z]): int(design.known[z]) for z in np.flatnonzero(design.known >= 0)}
    return known | {pair: grade for pair, grade in grades_of(found).items() if grade >= 0}
