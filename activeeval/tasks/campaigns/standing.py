"""What a campaign's log comes to: who said what of each item, as of any event, and what that says of the questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from activeeval.campaign import Campaign, Unit
from activeeval.campaign.rounds import check_rounds
from activeeval.campaign.sheet import Progress, heard
from activeeval.errors import InputError, StateError
from activeeval.judgments.policies import Agreement, one_grade
from activeeval.results import Note
from activeeval.store import CampaignRow, EventRow, SampleRow, Store
from activeeval.tasks.answers import Answer, answers
from activeeval.tasks.campaigns.corrections import asked_again, check_known, known_now
from activeeval.tasks.campaigns.ledger import Ledger, Pair
from activeeval.tasks.campaigns.making import rounds_of
from activeeval.tasks.rounds import round_answers
from activeeval.tasks.samples import Sample, unpacked_sample


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
    n_corrected : int
        Grades that a later round took for known and that are others now.
    """

    campaign: CampaignRow
    rounds: tuple[Sample, ...]
    version: int
    as_of: int
    progress: Progress
    agreement: Agreement
    ledger: Ledger
    n_corrected: int = 0

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
                "`by_level` may be read below the lowest item that waits",
                field="by_level",
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

    @property
    def waiting(self) -> set[tuple[int, str]]:
        """The unit, as the store numbers them, and the document of each item that waits."""
        found, n_before = set(), 0
        for one in self.rounds:
            settled = one.campaign.settled
            for unit in one.campaign.units:
                items = zip(unit.items, unit.item_ids, strict=True)
                found |= {(n_before + unit.number, doc) for item, doc in items if item not in settled}
            n_before += len(one.campaign.units)
        return found


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
        found: list[tuple[Sample, Progress, Agreement]] = []
        for own in rounds_of(versions):
            found.append(self._judged(own[-1], ledger, [sample for sample, *_ in found]))
        return Standing(
            campaign=self.campaign,
            rounds=tuple(sample for sample, *_ in found),
            version=versions[-1].version,
            as_of=as_of,
            progress=_progress(found),
            agreement=Agreement(*(sum(counts) for counts in zip(*(own for *_, own in found), strict=True))),
            ledger=ledger,
            n_corrected=self._n_corrected(versions, [sample for sample, *_ in found]),
        )

    def _n_corrected(self, versions: Sequence[SampleRow], rounds: Sequence[Sample]) -> int:
        drawn = (self.samples[own[-1].version].campaign.design.known for own in rounds_of(versions))
        return sum(int((then != one.campaign.design.known).sum()) for then, one in zip(drawn, rounds, strict=True))

    def _judged(self, kept: SampleRow, ledger: Ledger, before: list[Sample]) -> tuple[Sample, Progress, Agreement]:
        """Return a round with what its judges say, and what they say now of items it takes for known."""
        row = self.campaign
        if kept.version not in self.samples:
            self.samples[kept.version] = _unpacked(kept, row.name)
        sample = self.samples[kept.version]
        n_before = sum(len(one.campaign.units) for one in before)
        design = sample.campaign.design
        known = known_now(design, before)
        if known is not design.known:
            design = design.corrected(known)
        campaign = Campaign(design, key=int(sample.campaign.key))
        while campaign.ask() is not None:
            pass
        said: dict[int, dict[str, int]] = {}
        k = int(row.config.get("top_k") or 0)
        for unit in campaign.units:
            said |= ledger.ranked(unit, k) if k else ledger.said(unit, n_before, row.judges_per_item)
        judged, progress, agreement = heard(campaign, said, str(row.config["policy"]))
        return replace(sample, campaign=judged), progress, agreement


def _unpacked(kept: SampleRow, name: str) -> Sample:
    sample, digest = unpacked_sample(kept.payload, f"campaign {name}")
    if digest != kept.digest:
        raise StateError(
            f"campaign {name}: version {kept.version} of the sample is not what was drawn: its id is {digest}, the "
            f"store says {kept.digest}; campaign verify says all that is wrong"
        )
    return sample


def _progress(found: Sequence[tuple[Sample, Progress, Agreement]]) -> Progress:
    """Return how far all rounds are; what an earlier one could not judge and a later one asks for counts there."""
    judged, waiting, cannot = (sum(counts) for counts in zip(*(own for _, own, _ in found), strict=True))
    return Progress(judged=judged, waiting=waiting, cannot=cannot - asked_again([sample for sample, *_ in found]))


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
    out: dict[Pair, int] = {}
    for sample in found.rounds:
        grades = round_grades(sample.campaign)
        for unit in sample.campaign.units:
            for item, doc in zip(unit.items, unit.item_ids, strict=True):
                # a later round may have asked for it again, and in vain
                if item in grades and (grades[item] >= 0 or (unit.query_id, doc) not in out):
                    out[unit.query_id, doc] = grades[item]
    return out


def round_grades(campaign: Campaign) -> dict[int, int]:
    """Return the grade that counts of each item that is judged in a round; −1 where it cannot be."""
    grades, groups, top = campaign.grades, campaign.design.groups, campaign.design.max_grade or 0
    found = {item: int(grades[item]) for item in campaign.settled}
    # a group has no grade of its own: its lower median
    return {
        item: one_grade(groups[grade - top - 1], "median") if groups and grade > top else grade
        for item, grade in found.items()
    }


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
    confidence: float = 0.95,
) -> tuple[list[Answer], list[Note]]:
    """Return what a campaign answers to each question, and what to know of it.

    Raises
    ------
    StateError
        Where no block is complete.
    InputError
        Where a sample does not reach a question, or rounds are asked for an interval other than t.
    """
    read = found.read
    if len(read) > 1:
        if kind != "t":
            raise InputError("several rounds are read with t intervals")
        check_known(read)
        told, notes = round_answers(
            read, measures, questions, contrasts, scope=scope, confidence=confidence, is_campaign=True
        )
        n = found.n_corrected
        return told, notes + ([Note("corrected grades", {"n": n})] if n else [])
    told, notes = answers(
        read[0], read[0].asked(measures, questions, contrasts), scope=scope, kind=kind, confidence=confidence
    )
    n_later = len(found.rounds) - 1
    return told, notes + ([Note("first round alone", {"n": n_later})] if n_later else [])


def check_next_round(found: Standing, sample: Sample) -> None:
    """Raise where a sample cannot be a further round of a campaign, before anything of it is stored.

    Raises
    ------
    InputError
        Where it asks other questions or is of another pool.
    StateError
        Where what it takes for known is no grade any more.
    """
    asked = [[(one.title, str(one.target.measure)) for one in own.made_for] for own in (found.rounds[0], sample)]
    if asked[0] != asked[1]:
        raise InputError("a further round answers the questions that the campaign was made for, expected the same ones")
    campaigns = [*(one.campaign for one in found.rounds), sample.campaign]
    check_rounds(campaigns, [None] * len(campaigns))
    check_known((*found.rounds, sample))
