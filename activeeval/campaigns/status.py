"""Progress of a campaign: budget spent and left, items waiting, by block, and judging times."""

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
    """Progress of a campaign, and the number of answers still needed now (several for each item with several judges).

    Attributes
    ----------
    progress : CampaignProgress
    free, in_hand : int
        Answers that may be claimed now, and answers to claimed items or items on sheets; in top-k judging these are
        queries.
    by_query : bool
        True for top-k judging, where a query is judged as a whole.
    reached : JudgingProgress
        The progress in a form for sentences.
    differing : int or None
        Items on which two judges differ and that wait for a third; None without adjudication.
    n_unread : int
        Items that are judged but not yet used in estimates; 0 without adaptive depth.
    cautions : tuple of Caution
        Warnings about judgments of graders (LLMs or other models) used as labels.
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
        """Build the output row: the figures of ``progress``, with free and in_hand before late.

        In top-k judging these two count queries and are named so. differing and unread are added where they apply.
        """
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
    """Progress of a campaign, as returned to Python users.

    Attributes
    ----------
    status : Status
    goal : str
        Sentence on whether the requested half-width is reached; empty if none was requested.
    """

    status: Status
    goal: str = ""

    def __getitem__(self, name: str) -> Cell:
        """Look up a figure by name, e.g. spent, left, judged or waiting; raise KeyError for an unknown name."""
        return self.status.row()[name]

    @property
    def sentences(self) -> list[str]:
        """Number of items judged and waiting."""
        progress = self.status.progress
        summary = (
            f"{counted(progress.judged, 'item')} judged, {progress.waiting:,} "
            f"{agreeing(progress.waiting, 'waits', 'wait')}, block {progress.block} of {progress.blocks}"
        )
        return [f"Campaign {progress.campaign}: {summary} complete.", *([f"{self.goal}."] if self.goal else [])]

    @property
    def table(self) -> Sequence[Mapping[str, Cell]]:
        """The first ten figures that are known."""
        left_out = ("campaign", "block", "blocks")
        return [
            {"figure": name, "value": value}
            for name, value in self.status.row().items()
            if value is not None and name not in left_out
        ][:10]

    def rows(self) -> list[dict[str, Cell]]:
        """Build the row that the command line prints."""
        return [self.status.row()]


def status(state: CampaignState, store: Store) -> Status:
    """Compute a campaign's progress, with the assignments (needed judgments) that are free and in hand now."""
    assignments = store.waiting(state.campaign.name)
    return _status(state, assignments["free"], assignments["leased"])


def last_change(state: State, events: Sequence[Event]) -> int:
    """Find the number of the last event that completed a block (part of the sample) or drew items; 0 if none.

    The end of the sample counts as well; single answers do not.

    Parameters
    ----------
    state : State
        State of the log.
    events : sequence of Event
        The log.
    """
    drawn = max((event.seq for event in events if event.kind in ("drawn", "ended")), default=0)
    return max(drawn, *state.complete_at.values(), 0)


def status_as_of(state: CampaignState, seq: int) -> Status:
    """Compute a campaign's progress as of event ``seq``, with the needed judgments free and in hand then."""
    past = state.before().follow(state.log[:seq])
    # each needed judgment is free, leased (claimed), checked_out (on a sheet) or done
    states = Counter(assignment.state for assignment in past.state.assigned)
    return _status(past, states["free"], states["leased"] + states["checked_out"])


def _status(state: CampaignState, free: int, in_hand: int) -> Status:
    """Compute a campaign's progress; ``free`` answers may be claimed, ``in_hand`` are expected from their judges."""
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
    """Count the judged and planned items of a campaign, and list its judges by number of judgments."""
    judges = Counter(event.judge for event in state.state.standing)
    is_each_once = state.campaign.judges_per_item == 1 and not state.campaign.judging.is_whole
    return JudgingProgress(
        done=state.progress.judged,
        planned=sum(state.progress),
        noun="judgment" if is_each_once else "item",
        block=state.block,
        blocks=state.n_blocks,
        missing=waiting_by_block(state).get(state.block + 1, 0),  # of the block after the complete ones
        batch=state.batch,
        goes_on=state.goes_on or state.progress.waiting > 0,
        judges=[name for name, _ in sorted(judges.items(), key=lambda row: (-row[1], row[0]))],
    )


def progress_of(state: CampaignState) -> CampaignProgress:
    """Compute a campaign's progress as of its last applied event: budget, cost spent, items judged and waiting."""
    campaigns = [sample.campaign for sample in state.rounds]
    costs = [unit.cost for unit in state.units]  # in mean items
    spent = sum(spent_by_block(state).values())
    clock, progress = state.state.active_ms, state.progress  # clock: milliseconds of each timed answer
    return CampaignProgress(
        campaign=state.campaign.name,
        as_of=state.as_of,
        version=state.version,
        budget=sum(sample.design.budget or 0.0 for sample in campaigns),
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
    """Compute the cost spent in each block (part of a sample), numbered through all samples, in mean items.

    A mean item is the average cost of the pool's items. A unit (items judged together) counts by the share of its items
    that are judged.
    """
    spent = dict.fromkeys(range(1, state.n_blocks + 1), 0.0)
    for campaign, block, unit in units_by_block(state):
        spent[block] += unit.cost * (1 - campaign.n_open(unit) / len(unit.items))
    return spent


def units_by_block(state: CampaignState) -> Iterator[tuple[Campaign, int, Unit]]:
    """Yield (round, block, unit) for each unit (items judged together); blocks are numbered through all rounds.

    A round is one sample of the campaign, a block a part of it. With adaptive depth (labels decide what comes next),
    judged units above all thresholds belong to the last block, whose budget pays for them.
    """
    before = 0
    for sample in state.rounds:
        campaign, n_blocks = sample.campaign, len(sample.campaign.drawn_design.blocks)
        for unit in campaign.units:
            yield campaign, before + min(campaign.block_of(unit), n_blocks), unit
        before += n_blocks


def waiting_by_block(state: CampaignState) -> dict[int, int]:
    """Count the waiting items of each block (part of a sample), numbered through all rounds (samples).

    Blocks without waiting items are omitted.
    """
    waiting = Counter[int]()
    for campaign, block, unit in units_by_block(state):
        waiting[block] += campaign.n_open(unit)
    return {block: n for block, n in sorted(waiting.items()) if n}


def look(state: CampaignState) -> tuple[float, float] | None:
    """Compute the half-width requested for a campaign, and the widest of its questions now.

    The half-widths are group-sequential, because stopping as soon as the goal is reached means an interim analysis at
    the end of each block (part of the sample). Return None if no half-width was requested, no block is complete, or the
    budget was extended, for which no interim analyses are planned.
    """
    wanted = state.campaign.config.get("half_width")
    if wanted is None or state.block == 0 or state.n_budgets > 1:  # interim analyses are planned for the first budget
        return None
    answers, _ = answered(state, kind="group-sequential")
    return wanted, max(map(half_width_of, answers))


def reached(state: CampaignState) -> Note | None:
    """Build the note on whether the requested half-width is reached.

    Return None if none was requested or none can be computed.
    """
    seen = look(state)
    if seen is None:
        return None
    wanted, widest = seen
    return Note(
        "half-width reached" if widest <= wanted else "half-width not reached", {"wanted": wanted, "widest": widest}
    )


def step_of(state: CampaignState, answers: Sequence[SampleAnswer], free: int | None = None) -> Step:
    """Determine the recommended next step of a campaign.

    Stop if the requested half-width is reached. Judge, or wait for judges, while items wait. Otherwise add the budget
    that should decide the undecided questions, if there are any.

    Parameters
    ----------
    answers : sequence of SampleAnswer
        Estimates so far; empty before the first complete block (part of the sample).
    free : int, optional
        Number of answers that may be claimed now; by default unknown.
    """
    seen = look(state)
    if seen is not None and seen[1] <= seen[0]:  # half-widths: the widest now, and the requested one
        return Step(kind="stop")
    if state.progress.waiting or state.goes_on:
        return Step(kind="judge" if state.goes_on or free != 0 else "wait")
    # what would decide each undecided question: a budget, and `can_grow`: whether this sample can be extended by it
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
    """Estimate the answers to a campaign's questions from its complete blocks (parts of a sample), with notes.

    ``scope`` is "pool" (the pool's queries) or "population" (all queries that these are a sample of), ``kind`` of
    interval is "t" or "group-sequential" (valid at the end of each block). By default the measures, questions and
    contrasts (pairs of systems, "all" or "first") are the campaign's own. Raises StateError if no block is complete,
    InputError if the sample does not support a question.
    """
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
    """Build an output row for each question's estimate, with the half-width expected when all is judged.

    Parameters
    ----------
    answers : sequence of SampleAnswer
        Estimate, interval and verdict of each question.
    """
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
    """Compute the half-width of an answer's interval."""
    return (answer.interval.high - answer.interval.low) / 2
