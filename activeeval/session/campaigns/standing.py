"""What a campaign's log comes to: who said what of each item, as of any event, and what that says of the questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from activeeval.campaign import Campaign, Unit
from activeeval.campaign.policies import Agreement, one_grade
from activeeval.campaign.rounds import check_rounds
from activeeval.campaign.sheet import Progress, heard
from activeeval.errors import InputError, StateError
from activeeval.io.comparisons import Truth
from activeeval.io.draws import CANNOT
from activeeval.session.answers import Answer, answers
from activeeval.session.campaigns.making import WHOLE, rounds_of
from activeeval.session.rounds import round_answers
from activeeval.session.samples import Sample, unpacked_sample
from activeeval.session.truths import graded
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
    put_off : list of EventRow
        When somebody has said ``later``.
    clock_ms : list of int
        The active time of all answers whose time was taken, also of those that do not count (any more).
    """

    standing: dict[Pair, dict[str, EventRow]] = field(default_factory=dict)
    late: list[EventRow] = field(default_factory=list)
    put_off: list[EventRow] = field(default_factory=list)
    clock_ms: list[int] = field(default_factory=list)

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
                ledger.put_off.append(event)
            if event.active_ms is not None:
                ledger.clock_ms.append(event.active_ms)
        return ledger

    def said(self, unit: Unit, judges_per_item: int) -> dict[int, dict[str, int]]:
        """Return what judges say of a unit's items; of one that too few have judged nothing yet."""
        found = {}
        for item, doc in zip(unit.items, unit.item_ids, strict=True):
            events = self.standing.get((unit.query_id, doc), {})
            grades = {judge: CANNOT if one.grade is None else one.grade for judge, one in events.items()}
            found[item] = grades if len(grades) >= judges_per_item else {}
        return found

    def ranked(self, unit: Unit, k: int) -> dict[int, dict[str, int]]:
        """Return what the judge of a whole query says of its items, as κ-grades; nothing while it waits."""
        found: dict[int, dict[str, int]] = {item: {} for item in unit.items}
        for judge, event in self.standing.get((unit.query_id, WHOLE), {}).items():
            grades = graded(truth_of(event.body), k) if event.kind == "judged" else {}
            for item, doc in zip(unit.items, unit.item_ids, strict=True):
                found[item][judge] = grades.get(doc, CANNOT)
        return found


def truth_of(body: Mapping[str, Any]) -> Truth:
    """Return the truth that the event of a settled query holds."""
    return Truth(*(tuple(body.get(part, ())) for part in Truth._fields))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standing:
    """A campaign as of an event.

    Attributes
    ----------
    campaign : CampaignRow
    rounds : tuple of Sample
        Each with all that counts of what was judged; one, unless it was redrawn.
    version : int
        Of the sample.
    as_of : int
        The number of the last event that is looked at.
    progress : Progress
    agreement : Agreement
    ledger : Ledger
    """

    campaign: CampaignRow
    rounds: tuple[Sample, ...]
    version: int
    as_of: int
    progress: Progress
    agreement: Agreement
    ledger: Ledger

    @property
    def sample(self) -> Sample:
        """What the last round has drawn."""
        return self.rounds[-1]

    @property
    def closed(self) -> tuple[Sample, ...]:
        """The rounds that are judged to their end, up to the first that is not."""
        is_open = (bool(one.campaign.waiting) for one in self.rounds)
        return self.rounds[: next((k for k, waits in enumerate(is_open) if waits), len(self.rounds))]

    @property
    def read(self) -> tuple[Sample, ...]:
        """What an estimate is read from: the rounds that are judged to their end, or the first as far as it is."""
        return self.closed or self.rounds[:1]

    @property
    def block(self) -> int:
        """The highest block, of all rounds, up to which all are complete; 0 where the first is not."""
        done = sum(len(one.campaign.design.blocks) for one in self.closed)
        later = self.rounds[len(self.closed) :]
        return done + (later[0].campaign.complete_block[0] if later else 0)

    @property
    def n_blocks(self) -> int:
        """How many blocks there are, of all rounds."""
        return sum(len(one.campaign.design.blocks) for one in self.rounds)

    @property
    def level(self) -> float:
        """The threshold of what is read in the last round that is."""
        return self.read[-1].campaign.complete_block[1]

    def by_level(self) -> Standing:
        """Return the same standing, read up to the lowest unit that waits.

        Raises
        ------
        InputError
            Where items may be passed over.
        """
        name = f"campaign {self.campaign.name}"
        if not self.campaign.by_level:
            raise InputError(
                f"{name}: judges may pass items over, so that it is read at the ends of blocks; one made with "
                "--by-level may be read below the lowest item that waits"
            )
        if len(self.rounds) > 1:
            raise InputError(f"{name}: rounds are read once they are judged to their ends")
        return replace(self, rounds=(replace(self.sample, campaign=self.sample.campaign.by_level()),))

    @property
    def policy(self) -> str:
        """What several judges' grades count as."""
        return str(self.campaign.config["policy"])

    @property
    def units(self) -> list[Unit]:
        """The units of all rounds."""
        return [unit for one in self.rounds for unit in one.campaign.units]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class History:
    """A campaign's log and its samples, at hand to be read as of any event.

    Attributes
    ----------
    campaign : CampaignRow
    versions : list of SampleRow
    events : list of EventRow
        From the first on, without a gap.
    samples : dict of int to Sample
        Of the versions that have been looked at, not yet judged.
    """

    campaign: CampaignRow
    versions: list[SampleRow]
    events: list[EventRow]
    samples: dict[int, Sample] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store, name: str, as_of: int | None = None) -> History:
        """Return a campaign up to an event; raises InputError where there is no such campaign or event."""
        return cls(campaign=store.campaign(name), versions=store.samples(name), events=store.events(name, as_of))

    def at(self, as_of: int) -> Standing:
        """Return the campaign as of an event; raises StateError where nothing had been drawn yet."""
        versions = [one for one in self.versions if one.seq < as_of]
        if not versions:
            raise StateError(f"campaign {self.campaign.name}: nothing had been drawn as of event {as_of}")
        ledger = Ledger.of(self.events[:as_of])
        found = [self._judged(own[-1], ledger) for own in rounds_of(versions)]
        return Standing(
            campaign=self.campaign,
            rounds=tuple(sample for sample, *_ in found),
            version=versions[-1].version,
            as_of=as_of,
            progress=Progress(*(sum(counts) for counts in zip(*(own for _, own, _ in found), strict=True))),
            agreement=Agreement(*(sum(counts) for counts in zip(*(own for *_, own in found), strict=True))),
            ledger=ledger,
        )

    def _judged(self, kept: SampleRow, ledger: Ledger) -> tuple[Sample, Progress, Agreement]:
        """Return a round with what its judges say."""
        row = self.campaign
        if kept.version not in self.samples:
            self.samples[kept.version] = unpacked_sample(kept.payload, f"campaign {row.name}")[0]
        sample = self.samples[kept.version]
        campaign = Campaign(sample.campaign.design, key=int(sample.campaign.key))
        while campaign.ask() is not None:
            pass
        said: dict[int, dict[str, int]] = {}
        k = row.config.get("top_k")
        for unit in campaign.units:
            said |= ledger.said(unit, row.judges_per_item) if k is None else ledger.ranked(unit, int(k))
        judged, progress, agreement = heard(campaign, said, str(row.config["policy"]))
        return replace(sample, campaign=judged), progress, agreement


def standing(store: Store, name: str, as_of: int | None = None) -> Standing:
    """Return a campaign as of an event, by default the last.

    Raises
    ------
    InputError
        Where there is no such campaign or event.
    StateError
        Where nothing had been drawn yet.
    """
    history = History.of(store, name, as_of)
    return history.at(len(history.events))


def grades_of(found: Standing) -> dict[Pair, int]:
    """Return the grade that counts of each item that is judged, by query and document; −1 where it cannot be."""
    out = {}
    for sample in found.rounds:
        campaign = sample.campaign
        grades, groups, top = campaign.grades, campaign.design.groups, campaign.design.max_grade or 0
        for unit in campaign.units:
            for item, doc in zip(unit.items, unit.item_ids, strict=True):
                if item not in campaign.settled:
                    continue
                grade = int(grades[item])
                if groups and grade > top:  # a group has no grade of its own: its lower median
                    grade = one_grade(groups[grade - top - 1], "median")
                out[unit.query_id, doc] = grade
    return out


def labels_of(found: Standing) -> dict[Pair, int]:
    """Return the grade of each item that a campaign has judged or knew before it was drawn.

    Raises
    ------
    InputError
        Where what it holds are no grades: ranks, or the mean of what several grades are worth.
    """
    name = f"campaign {found.campaign.name}"
    if found.campaign.config.get("top_k") is not None:
        raise InputError(f"{name}: holds ranks, which are no known grades")
    if any(one.campaign.design.groups for one in found.rounds):
        raise InputError(f"{name}: items count the mean gain of grades that differ, which is no known grade")
    design = found.rounds[0].campaign.design
    queries = design.pool.query_texts[design.pool.item_queries]
    known = {(queries[z], design.pool.item_texts[z]): int(design.known[z]) for z in np.flatnonzero(design.known >= 0)}
    return known | {pair: grade for pair, grade in grades_of(found).items() if grade >= 0}


def answered(
    found: Standing,
    measures: Sequence[str] = (),
    questions: Sequence[str] = (),
    contrasts: str | None = None,
    *,
    scope: str = "pool",
    kind: str = "t",
    level: float = 0.95,
) -> tuple[list[Answer], list[str]]:
    """Return what a campaign answers to each question, and what to know of it.

    Raises
    ------
    StateError
        Where no block is complete.
    InputError
        Where a sample does not reach a question, or rounds are asked for an interval other than t.
    """
    read = found.read
    _check_unchanged(read)
    if len(read) > 1:
        if kind != "t":
            raise InputError("several rounds are read with t intervals")
        return round_answers(read, measures, questions, contrasts, scope=scope, level=level)
    told, notes = answers(read[0], read[0].asked(measures, questions, contrasts), scope=scope, kind=kind, level=level)
    n_later = len(found.rounds) - 1
    return told, notes + ([f"read from the first round alone: {n_later} more wait for judgments"] if n_later else [])


def check_next_round(found: Standing, sample: Sample) -> None:
    """Raise where a sample cannot be a further round of a campaign, before anything of it is stored.

    Raises
    ------
    StateError, InputError
        Where it asks other questions or is of another pool, or items could not be judged: a further round would ask
        for them again.
    """
    if found.progress.cannot:
        n = found.progress.cannot
        raise StateError(f"{n} items could not be judged, which a further round would ask for again: judge them first")
    asked = [[(one.title, str(one.target.measure)) for one in own.made_for] for own in (found.rounds[0], sample)]
    if asked[0] != asked[1]:
        raise InputError("a further round answers the questions that the campaign was made for, expected the same ones")
    campaigns = [*(one.campaign for one in found.rounds), sample.campaign]
    check_rounds(campaigns, [None] * len(campaigns))
    _check_unchanged((*found.rounds, sample))


def _check_unchanged(rounds: Sequence[Sample]) -> None:
    """Raise where a grade was changed after a later round was drawn, which takes the earlier one for known."""
    for k, later in enumerate(rounds[1:], 2):
        known = later.campaign.design.known
        for earlier in rounds[: k - 1]:
            grades = earlier.campaign.grades
            changed = np.flatnonzero((grades >= 0) & (known >= 0) & (grades != known))
            if changed.size:
                place = later.campaign.design.pool.place(int(changed[0]))
                raise StateError(
                    f"{changed.size} grades were changed since round {k} was drawn with them, the first is {place}: "
                    "read as of an event before that, or change them back"
                )
