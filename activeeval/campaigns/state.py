"""State of a stored campaign as of any event: its rounds with their judgments, and its estimates."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Self

import numpy as np

from activeeval.campaigns.corrections import asked_again, check_known, known_now
from activeeval.campaigns.store import CampaignRow, SampleRow, Store
from activeeval.campaigns.versions import n_budgets, rounds_of, unpacked_version
from activeeval.core.campaign import Campaign, Rules, Unit
from activeeval.core.campaign.joint_estimates import check_rounds
from activeeval.core.campaign.labels import Progress
from activeeval.core.design import Design
from activeeval.core.errors import InputError, StateError
from activeeval.core.judgments.log import Event
from activeeval.core.judgments.policies import Agreement, truth_of_machines
from activeeval.core.judgments.state import Place, State
from activeeval.core.results import Caution, Note
from activeeval.sampling.answers import SampleAnswer, answers
from activeeval.sampling.drawn_sample import DrawnSample
from activeeval.sampling.rounds import round_answers

Pair = tuple[str, str]


class CampaignState:
    """A campaign as of an event, updated event by event without recomputing what has not changed.

    Attributes
    ----------
    log : list of Event
        Events so far, from the first on.
    state : State
        State of the log after these events.
    rounds : list of DrawnSample
        Judged samples, drawn one after another; one unless the campaign was redrawn.
    """

    def __init__(self, campaign: CampaignRow, versions: Sequence[SampleRow]) -> None:
        """Start before the first event; ``versions`` are the stored versions of the sample, the oldest first."""
        self.campaign = campaign
        self.versions = list(versions)
        self.log: list[Event] = []
        n, third = campaign.judges_per_item, campaign.adjudicate
        self.state = State(judges_per_item=n, adjudicate=third, lease_s=campaign.lease_s)
        self.rounds: list[DrawnSample] = []
        self._samples: dict[int, DrawnSample] = {}  # unpacked samples without judgments, by version
        self._versions: list[int] = []  # numbers of the versions drawn so far
        # for each round, number of units in the rounds before
        self._n_before: list[int] = []

    @classmethod
    def of(cls, store: Store, name: str) -> Self:
        """Load a campaign without events; raise InputError if none of this name exists."""
        return cls(store.campaign(name), store.samples(name))

    def before(self) -> Self:
        """Create the campaign's state before its first event, sharing the unpacked samples."""
        start = type(self)(self.campaign, self.versions)
        start._samples = self._samples
        return start

    def refresh(self, store: Store, as_of: int | None = None) -> Self:
        """Read and apply the events since the last update, up to event ``as_of`` if given; return self.

        Raises
        ------
        InputError
            If there is no event ``as_of``.
        StateError
            If the log was altered, or nothing has been drawn yet.
        """
        name = self.campaign.name
        events = store.events(name, as_of, since=self.log[-1] if self.log else None)
        if any(event.kind in ("drawn", "ended") for event in events) and self.log:
            self.versions = store.samples(name)
        return self.follow(events)

    def follow(self, events: Sequence[Event]) -> Self:
        """Apply the events that follow those so far; return self. Raises StateError if nothing has been drawn yet."""
        self.log.extend(events)
        places = self.state.apply_all(events)  # (unit, document) of changed judgments
        drawn = [row for row in self.versions if row.seq < self.as_of]  # row.seq: last event before it was stored
        if not drawn:
            raise StateError(f"campaign {self.campaign.name}: nothing had been drawn as of event {self.as_of}")
        if [row.version for row in drawn] != self._versions:
            self._draw(drawn)
        elif self.rounds:
            self._settle(places)
        return self

    def _draw(self, drawn: Sequence[SampleRow]) -> None:
        """Rebuild all rounds (samples of the campaign) from the stored versions that exist as of the last event."""
        self._versions, self.rounds, self._n_before = [row.version for row in drawn], [], []
        # the last version of each round; a log of comparisons, without a sample, has no digest
        last = [versions[-1] for versions in rounds_of([row for row in drawn if row.digest])]
        for row in last:
            self._add_round(row)
        # drop the other versions: there may be hundreds of batches, each with a pool
        self._samples = {row.version: self._samples[row.version] for row in last}

    def _add_round(self, row: SampleRow) -> None:
        """Append the round (sample) of a stored version; known grades are corrected by judgments of earlier rounds."""
        if row.version not in self._samples:
            self._samples[row.version] = _unpacked(self.versions, row, self.campaign.name)
        sample = self._samples[row.version]
        drawn = sample.campaign.drawn_design
        known = known_now(drawn, self.rounds)
        self._n_before.append(sum(len(before.campaign.units) for before in self.rounds))
        self.rounds.append(self._judged(sample, drawn if known is drawn.known else drawn.corrected(known)))

    def _judged(self, sample: DrawnSample, design: Design) -> DrawnSample:
        """Copy the last round's sample (a round has one sample) with a design and the judgments so far.

        `_n_before` has the number of units in the rounds before each round, which the log's unit numbers include.
        """
        n, third = self.campaign.judges_per_item, self.campaign.adjudicate
        rules = Rules(judges_per_item=n, policy=self.policy, adjudicate=third)
        ways = sample.campaign.ways  # its settings of adaptive depth
        campaign = Campaign(design, key=int(sample.campaign.key), rules=rules, **ways)
        campaign.follow(self.log, self.state, self._n_before[-1])
        return replace(sample, campaign=campaign)

    def _settle(self, places: set[Place]) -> None:
        """Apply changed judgments of places (documents); rebuild all rounds (samples) if an earlier one changes."""
        # a place is a unit's number (counted through all rounds) and a document; its round is that of the unit
        of_round: dict[int, list[Place]] = {}
        for place in places:
            of_round.setdefault(int(np.searchsorted(self._n_before, place[0], side="left")) - 1, []).append(place)
        for number, changed in of_round.items():
            self.rounds[number].campaign.settle(changed)
        if of_round and min(of_round) < len(self.rounds) - 1:
            self._draw(self._drawn_versions)

    @property
    def as_of(self) -> int:
        """Number of the last applied event."""
        return self.state.seq

    @property
    def version(self) -> int:
        """Version of the sample as of the last event, from 1."""
        return self._versions[-1]

    @property
    def progress(self) -> Progress:
        """Items judged, waiting and impossible to judge; an item that a later sample includes again counts there."""
        judged, waiting, cannot = map(sum, zip(*(sample.campaign.progress for sample in self.rounds), strict=True))
        return Progress(judged=judged, waiting=waiting, cannot=cannot - asked_again(self.rounds))

    @property
    def agreement(self) -> Agreement:
        """Number of items with several judges, and number of these on which they agree."""
        return Agreement(*map(sum, zip(*(sample.campaign.agreement for sample in self.rounds), strict=True)))

    @property
    def n_corrected(self) -> int:
        """Number of grades that a later sample treated as known and that have changed since."""
        as_drawn = (self._samples[versions[-1].version] for versions in rounds_of(self._drawn_versions))
        pairs = zip(as_drawn, self.rounds, strict=True)
        known = ((then.campaign.drawn_design.known, now.campaign.drawn_design.known) for then, now in pairs)
        return sum(int((then != now).sum()) for then, now in known)

    @property
    def _drawn_versions(self) -> list[SampleRow]:
        """Stored versions of the sample that exist as of the last applied event."""
        return [row for row in self.versions if row.version in self._versions]

    @property
    def judgments_by_item(self) -> dict[Pair, dict[str, Event]]:
        """Valid judgments by item (query, document) and judge; for an item in several samples, those of the last."""
        by_item: dict[Pair, dict[str, Event]] = {}
        for event in self.state.standing:
            by_item.setdefault((event.query_id, event.doc_id), {})[event.judge] = event
        return by_item

    @property
    def sample(self) -> DrawnSample:
        """Sample of the last round (a campaign may have several samples), with its judgments."""
        return self.rounds[-1]

    @property
    def sample_id(self) -> str:
        """Id (digest) of the last version of the sample."""
        return self._drawn_versions[-1].digest

    @property
    def as_drawn(self) -> DrawnSample:
        """Sample of the last round with known grades as drawn, not corrected since, and with current judgments."""
        sample = self._samples[self.version]
        if self.sample.campaign.drawn_design.known is sample.campaign.drawn_design.known:
            return self.sample
        return self._judged(sample, sample.campaign.drawn_design)

    @property
    def n_budgets(self) -> int:
        """Number of budgets given: one for the first sample, each further sample and each top-up."""
        return n_budgets(self._drawn_versions)

    @property
    def batch(self) -> int:
        """Number of the last batch (items that labels led to) of the last sample; 0 without adaptive depth."""
        paths = self.sample.campaign.paths
        return 0 if paths is None else paths.n_batches

    @property
    def goes_on(self) -> bool:
        """True if the labels lead to items that are not drawn yet; always False without adaptive depth."""
        return self.sample.campaign.goes_on

    @property
    def closed(self) -> list[DrawnSample]:
        """Rounds (samples) that are completely judged, up to the first that is not."""
        is_open = (sample.campaign.is_open or sample.campaign.goes_on for sample in self.rounds)
        return self.rounds[: next((k for k, is_waiting in enumerate(is_open) if is_waiting), len(self.rounds))]

    @property
    def read(self) -> list[DrawnSample]:
        """Samples used in estimates: all that are completely judged, or else the first as far as it is judged.

        They carry the numbers of judgments by graders (LLMs or other models), about which estimates warn.
        """
        used, by_file = self.closed or self.rounds[:1], self.state.machine_judgments
        return [sample.judged_by_machines(by_file) for sample in used] if by_file else used

    @property
    def machine_cautions(self) -> list[Caution]:
        """Warnings about judgments of graders (LLMs or other models) used as labels, imported or known earlier."""
        drawn = {source: n for sample in self.rounds for source, n in sample.truth_of_machines}
        return [truth_of_machines(*pair) for pair in {**drawn, **self.state.machine_judgments}.items()]

    @property
    def block(self) -> int:
        """Highest block (part of a sample), numbered over all rounds, up to which all are complete; 0 if none."""
        done = sum(sample.campaign.n_complete_blocks for sample in self.closed)
        later = self.rounds[len(self.closed) :]
        return done + (later[0].campaign.complete_block[0] if later else 0)

    @property
    def n_blocks(self) -> int:
        """Number of blocks (parts of a sample) of all rounds (samples)."""
        return sum(len(sample.campaign.drawn_design.blocks) for sample in self.rounds)

    @property
    def level(self) -> float:
        """Threshold of the last sample used in estimates: units with lower levels (judging positions) are used."""
        return self.read[-1].campaign.complete_block[1]

    def in_strict_order(self) -> CampaignState:
        """Return a copy that uses the sample up to the first waiting item instead of complete blocks (parts).

        Raises InputError if the campaign does not give items out strictly in order, or has several rounds (samples).
        """
        name = f"campaign {self.campaign.name}"
        if not self.campaign.strict_order:
            raise InputError(
                f"{name}: judges may defer items, so that estimates are possible only at ends of blocks; create it "
                "with `strict_order` to estimate up to the lowest waiting item",
                field="strict_order",
            )
        if len(self.rounds) > 1:
            raise InputError(f"{name}: several rounds are used once they are completely judged, without `strict_order`")
        strict = copy(self)
        strict.rounds = [replace(self.sample, campaign=self.sample.campaign.in_strict_order())]
        return strict

    @property
    def policy(self) -> str:
        """Policy that combines several judges' grades of an item."""
        return str(self.campaign.config["policy"])

    @property
    def units(self) -> list[Unit]:
        """Units (items of a query that are judged together) of all rounds (samples)."""
        return [unit for sample in self.rounds for unit in sample.campaign.units]

    @property
    def waiting(self) -> set[tuple[int, str]]:
        """Waiting items, as (number of the unit in the store, document id); a unit holds items judged together."""
        waiting, n_before = set(), 0
        for sample in self.rounds:
            settled = sample.campaign.settled
            for unit in sample.campaign.units:
                items = zip(unit.items, unit.item_ids, strict=True)
                waiting |= {(n_before + unit.number, doc) for item, doc in items if item not in settled}
            n_before += len(sample.campaign.units)
        return waiting


def _unpacked(versions: Sequence[SampleRow], row: SampleRow, name: str) -> DrawnSample:
    """Unpack a version (``row``) of a campaign's sample; raise StateError if its digest differs from the stored one."""
    sample, digest = unpacked_version(versions, row, f"campaign {name}")
    if digest != row.digest:
        raise StateError(
            f"campaign {name}: version {row.version} of the sample is not the one that was drawn: its id is {digest}, "
            f"the store says {row.digest}; `campaign verify` lists all problems"
        )
    return sample


def state_of(store: Store, name: str, as_of: int | None = None) -> CampaignState:
    """Load a campaign's state as of an event, by default the last.

    Raises
    ------
    InputError
        If there is no such campaign or event.
    StateError
        If nothing has been drawn yet, or the campaign is a log of comparisons, which has no sample.
    """
    state = CampaignState.of(store, name).refresh(store, as_of)
    if not state.rounds:
        raise StateError(f"campaign {name}: is a log of comparisons without a sample: export its log or truths")
    return state


def answered(
    state: CampaignState,
    measures: Sequence[str] = (),
    questions: Sequence[str] = (),
    contrasts: str | None = None,
    *,
    scope: str = "pool",
    kind: str = "t",
    confidence: float = 0.95,
) -> tuple[list[SampleAnswer], list[Note]]:
    """Estimate the answers to a campaign's questions from its complete blocks (parts of a sample), with notes.

    ``scope`` is "pool" (the pool's queries) or "population" (all queries that these are a sample of), ``kind`` is "t"
    or "group-sequential" (valid at the end of each block). By default measures, questions and contrasts (pairs of
    systems, "all" or "first") are the campaign's own. Raises StateError if no block is complete, InputError if the
    sample does not support a question, or another interval than t is requested for several rounds (samples).
    """
    used = state.read  # one sample, or all completely judged rounds, which are then estimated together
    if len(used) > 1:
        if kind != "t":
            raise InputError("several rounds are read with t intervals")
        check_known(used)
        together, notes = round_answers(
            used, measures, questions, contrasts, scope=scope, confidence=confidence, is_campaign=True
        )
        n = state.n_corrected
        return together, notes + ([Note("corrected grades", {"n": n})] if n else [])
    together, notes = answers(
        used[0], used[0].asked(measures, questions, contrasts), scope=scope, kind=kind, confidence=confidence
    )
    n_later = len(state.rounds) - 1
    return together, notes + ([Note("first round alone", {"n": n_later})] if n_later else [])


def check_next_round(state: CampaignState, sample: DrawnSample) -> None:
    """Check that a sample can be added to a campaign as a further round, before any of it is stored.

    Raises InputError if it has other questions or another pool, and StateError if an item that it treats as known no
    longer has a grade.
    """
    # the questions and measures of the first round and of this one
    goals = [[(each.title, str(each.target.measure)) for each in of.made_for] for of in (state.rounds[0], sample)]
    if goals[0] != goals[1]:
        raise InputError("a further round must have the campaign's own questions and measures")
    campaigns = [*(each.campaign for each in state.rounds), sample.campaign]
    check_rounds(campaigns, [None] * len(campaigns))  # None: the first target of each round
    check_known((*state.rounds, sample))
