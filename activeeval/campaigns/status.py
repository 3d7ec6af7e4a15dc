"""How far a campaign is: what is spent and left, what waits, block by block, and what the judges' clocks say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from activeeval.campaigns.report.design_content import CampaignProgress
from activeeval.campaigns.report.judges_content import Step
from activeeval.campaigns.report.next_steps import JudgingProgress
from activeeval.campaigns.state import CampaignState, answered
from activeeval.campaigns.store import Store
from activeeval.core.campaign import Campaign, Unit
from activeeval.core.judgments.log import Event
from activeeval.core.judgments.state import State
from activeeval.core.results import Caution, Note
from activeeval.inputs.systems import direction
from activeeval.report.answer_sentences import sentence
from activeeval.report.cautions import marked
from activeeval.report.numbers import agreeing, counted
from activeeval.report.printable import PrintableResult
from activeeval.report.rendering import Cell
from activeeval.sampling.answers import SampleAnswer
from activeeval.sampling.estimate import Estimates


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How far a campaign is, and how many answers are asked for as of now, several an item where it has several judges.

    Attributes
    ----------
    progress : CampaignProgress
    free, in_hand : int
        Answers that may be claimed, and claimed ones; of top-k judging queries, as the row calls them.
    by_query : bool
        Of top-k judging.
    reached : Reached
        The same for readers.
    differing : int or None
        Items on which two judges differ and that wait for a third; None where nobody decides between two.
    n_unread : int
        Items that are judged and not read where nothing follows from their labels.
    cautions : tuple of Caution
        Of machines' judgments that are taken for people's.
    """

    progress: CampaignProgress
    free: int
    in_hand: int
    by_query: bool
    reached: JudgingProgress
    differing: int | None = None
    n_unread: int = 0
    cautions: tuple[Caution, ...] = ()

    def row(self) -> dict[str, Cell]:
        """Return the progress as a row, with what is free and in hand before what is late."""
        prefix, row = "queries_" if self.by_query else "", dict[str, Cell]()
        for name, value in asdict(self.progress).items():
            row |= {f"{prefix}free": self.free, f"{prefix}in_hand": self.in_hand} if name == "late" else {}
            row[name] = value
            if name == "waiting" and self.differing is not None:
                row["differing"] = self.differing
            if name == "cannot" and self.n_unread:
                row["unread"] = self.n_unread
        return marked([row], self.cautions)[0]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CampaignStatus(PrintableResult):
    """How far a campaign is.

    Attributes
    ----------
    status : Status
    goal : str
        Whether the half-width that it was made for is reached; nothing where it has none.
    """

    status: Status
    goal: str = ""

    def __getitem__(self, name: str) -> Cell:
        """Return a figure by its name, as spent, left, judged or waiting."""
        return self.status.row()[name]

    @property
    def sentences(self) -> list[str]:
        """How much is judged, how much waits."""
        progress = self.status.progress
        far = (
            f"{counted(progress.judged, 'item')} judged, {progress.waiting:,} "
            f"{agreeing(progress.waiting, 'waits', 'wait')}, block {progress.block} of {progress.blocks}"
        )
        return [f"Campaign {progress.campaign}: {far} complete.", *([f"{self.goal}."] if self.goal else [])]

    @property
    def table(self) -> Sequence[Mapping[str, Cell]]:
        """What is known of it."""
        left_out = ("campaign", "block", "blocks")
        return [
            {"figure": name, "value": value}
            for name, value in self.status.row().items()
            if value is not None and name not in left_out
        ][:10]

    def rows(self) -> list[dict[str, Cell]]:
        """Return its row, as the command line has it."""
        return [self.status.row()]


def status(state: CampaignState, store: Store) -> Status:
    """Return how far a campaign is, and what is free and in hand as of now."""
    assignments = store.waiting(state.campaign.name)
    return _status(state, assignments["free"], assignments["leased"])


def last_change(state: State, events: Sequence[Event]) -> int:
    """Return the last event at which a block was complete or something was drawn: single answers do not move it."""
    drawn = max((event.seq for event in events if event.kind in ("drawn", "ended")), default=0)
    return max(drawn, *state.complete_at.values(), 0)


def status_as_of(state: CampaignState, seq: int) -> Status:
    """Return how far a campaign was as of an event, with what was free and in hand then."""
    past = state.before().follow(state.log[:seq])
    states = Counter(held.state for held in past.state.assigned)
    return _status(past, states["free"], states["leased"] + states["checked_out"])


def _status(state: CampaignState, free: int, in_hand: int) -> Status:
    return Status(
        progress=progress_of(state),
        free=free,
        in_hand=in_hand,
        by_query=state.campaign.judging.is_whole,
        reached=reached_of(state),
        differing=state.state.n_differing if state.campaign.adjudicate else None,
        n_unread=sum(sample.campaign.n_unread for sample in state.read),
        cautions=tuple(state.machine_cautions),
    )


def reached_of(state: CampaignState) -> JudgingProgress:
    """Return how much of a campaign is judged, and by whom."""
    judges = Counter(event.judge for event in state.state.standing)
    is_each_once = state.campaign.judges_per_item == 1 and not state.campaign.judging.is_whole
    return JudgingProgress(
        done=state.progress.judged,
        planned=sum(state.progress),
        noun="judgment" if is_each_once else "item",
        block=state.block,
        blocks=state.n_blocks,
        missing=waiting_by_block(state).get(state.block + 1, 0),
        batch=state.batch,
        goes_on=state.goes_on or state.progress.waiting > 0,
        judges=[name for name, _ in sorted(judges.items(), key=lambda each: (-each[1], each[0]))],
    )


def progress_of(state: CampaignState) -> CampaignProgress:
    """Return how far a campaign was as of an event."""
    campaigns = [each.campaign for each in state.rounds]
    costs = [unit.cost for unit in state.units]
    spent = sum(spent_by_block(state).values())
    clock, progress = state.state.active_ms, state.progress
    return CampaignProgress(
        campaign=state.campaign.name,
        as_of=state.as_of,
        version=state.version,
        budget=sum(each.design.budget or 0.0 for each in campaigns),
        spent=spent,
        left=sum(costs) - spent,
        block=state.block,
        blocks=state.n_blocks,
        judged=progress.judged,
        waiting=progress.waiting,
        cannot=progress.cannot,
        late=len(state.state.late),
        put_off=len(state.state.put_off),
        judges=len({event.judge for event in state.state.standing}),
        hours=sum(clock) / 3.6e6 if clock else None,
    )


def spent_by_block(state: CampaignState) -> dict[int, float]:
    """Return what is spent in each block, of all rounds one after another, in the pool's mean items."""
    spent = dict.fromkeys(range(1, state.n_blocks + 1), 0.0)
    for campaign, block, unit in units_by_block(state):
        spent[block] += unit.cost * (1 - campaign.n_open(unit) / len(unit.items))
    return spent


def units_by_block(state: CampaignState) -> Iterator[tuple[Campaign, int, Unit]]:
    """Yield each unit with its round and its block, of all rounds one after another.

    Where depths follow labels what was asked and lies above all thresholds is of the last block: it is paid with it.
    """
    before = 0
    for sample in state.rounds:
        campaign, n_blocks = sample.campaign, len(sample.campaign.drawn_design.blocks)
        for unit in campaign.units:
            yield campaign, before + min(campaign.block_of(unit), n_blocks), unit
        before += n_blocks


def waiting_by_block(state: CampaignState) -> dict[int, int]:
    """Return how many items of each block wait, of all rounds one after another; of those that have none nothing."""
    waiting = Counter[int]()
    for campaign, block, unit in units_by_block(state):
        waiting[block] += campaign.n_open(unit)
    return {block: n for block, n in sorted(waiting.items()) if n}


def look(state: CampaignState) -> tuple[float, float] | None:
    """Return the half-width that a campaign was made for, and the widest now; None where it has none.

    Whoever stops as soon as it is reached has looked at the end of every block: it is the group-sequential one.
    """
    wanted = state.campaign.config.get("half_width")
    if wanted is None or state.block == 0 or state.n_budgets > 1:  # looks are planned for the first budget
        return None
    answers, _ = answered(state, kind="group-sequential")
    return wanted, max(map(half_width_of, answers))


def reached(state: CampaignState) -> Note | None:
    """Return whether the half-width that the campaign was made for is reached; None where it has none."""
    seen = look(state)
    if seen is None:
        return None
    wanted, widest = seen
    return Note(
        "half-width reached" if widest <= wanted else "half-width not reached", {"wanted": wanted, "widest": widest}
    )


def step_of(state: CampaignState, answers: Sequence[SampleAnswer], free: int | None = None) -> Step:
    """Return what is to be done next.

    Parameters
    ----------
    answers : sequence of SampleAnswer
        What it answers so far.
    free : int, optional
        Answers that may be claimed; by default it is not known what judges have in hand.
    """
    seen = look(state)
    if seen is not None and seen[1] <= seen[0]:
        return Step(kind="stop")
    if state.progress.waiting or state.goes_on:
        return Step(kind="judge" if state.goes_on or free != 0 else "wait")
    needed = [answer.needed for answer in answers if answer.needed is not None and answer.needed.budget]
    if not needed:
        return Step(kind="done")
    can_grow = all(need.can_grow for need in needed)
    return Step(kind="top up" if can_grow else "draw", budget=max(need.budget or 0.0 for need in needed))


def estimates_of(
    state: CampaignState,
    measures: Sequence[str] = (),
    questions: Sequence[str] = (),
    contrasts: str | None = None,
    *,
    scope: str = "pool",
    kind: str = "t",
    confidence: float = 0.95,
) -> Estimates:
    """Return what a campaign answers, and what to know of it; arguments as of `state.answered`."""
    return Estimates.of(
        state.read,
        answered(state, measures, questions, contrasts, scope=scope, kind=kind, confidence=confidence),
        progress=state.progress,
        agreement=state.agreement,
        policy=state.policy,
        scope=scope,
        kind=kind,
        confidence=confidence,
    )


def interim_rows(answers: Sequence[SampleAnswer]) -> list[dict[str, Cell]]:
    """Make a row of the estimate of each question with what to expect at the end."""
    return [
        {
            "measure": answer.target.name,
            "question": answer.question,
            "system": answer.system,
            "versus": answer.versus,
            "direction": direction(answer.system, answer.versus),
            "definition": str(answer.target.measure),
            "value": answer.estimate.value,
            "low": answer.interval.low,
            "high": answer.interval.high,
            "half_width": half_width_of(answer),
            "half_width_at_end": answer.half_width_at_end,
            "sentence": sentence(answer.finding),
        }
        for answer in answers
    ]


def half_width_of(answer: SampleAnswer) -> float:
    """Return half the width of an answer's interval."""
    return (answer.interval.high - answer.interval.low) / 2
