"""How far a campaign is: what is spent and left, what waits, block by block, and what the judges' clocks say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from activeeval.report.campaign_summary import Progress
from activeeval.report.rendering import Cell
from activeeval.store import Store
from activeeval.tasks.campaigns.state import CampaignState, answered
from activeeval.tasks.estimate import Estimates
from activeeval.tasks.orders import places


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How far a campaign is, and how many answers are asked for as of now, several an item where it has several judges.

    Attributes
    ----------
    progress : Progress
    free, in_hand : int
        Answers that may be claimed, and claimed ones; of top-k judging queries, as the row calls them.
    by_query : bool
        Of top-k judging.
    differing : int or None
        Items on which two judges differ and that wait for a third; None where nobody decides between two.
    """

    progress: Progress
    free: int
    in_hand: int
    by_query: bool
    differing: int | None = None

    def row(self) -> dict[str, Cell]:
        """Return the progress as a row, with what is free and in hand before what is late."""
        prefix, row = "queries_" if self.by_query else "", dict[str, Cell]()
        for name, value in asdict(self.progress).items():
            row |= {f"{prefix}free": self.free, f"{prefix}in_hand": self.in_hand} if name == "late" else {}
            row[name] = value
            if name == "waiting" and self.differing is not None:
                row["differing"] = self.differing
        return row


def status(state: CampaignState, store: Store) -> Status:
    """Return how far a campaign is, and what is free and in hand as of now."""
    assignments, by_query = store.waiting(state.campaign.name), state.campaign.config.get("top_k") is not None
    return Status(
        progress=progress_of(state),
        free=assignments["free"],
        in_hand=assignments["leased"],
        by_query=by_query,
        differing=state.state.n_differing if state.campaign.adjudicate else None,
    )


def progress_of(state: CampaignState) -> Progress:
    """Return how far a campaign was as of an event."""
    campaigns = [each.campaign for each in state.rounds]
    costs = [unit.cost for unit in state.units]
    spent = sum(spent_by_block(state).values())
    clock, progress = state.state.active_ms, state.progress
    return Progress(
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
    spent, before = dict.fromkeys(range(1, state.n_blocks + 1), 0.0), 0
    for sample in state.rounds:
        for unit in sample.campaign.units:
            n_settled = len(unit.items) - sample.campaign.n_open(unit)
            spent[before + unit.block] += unit.cost * (n_settled / len(unit.items))
        before += len(sample.campaign.design.blocks)
    return spent


def reached(state: CampaignState) -> str:
    """Return whether the half-width that the campaign was made for is reached, in words; nothing where it has none.

    Whoever stops as soon as it is has looked at the end of every block: the group-sequential interval is valid then.
    """
    wanted = state.campaign.config.get("half_width")
    if wanted is None or state.block == 0 or state.version > 1:  # looks are planned for the first budget
        return ""
    answers, _ = answered(state, kind="group-sequential")
    widest = max((answer.interval.high - answer.interval.low) / 2 for answer in answers)
    reach = "reached: judging may stop" if widest <= wanted else "not reached yet"
    return f"± {wanted:g} is {reach}; by the interval that may be looked at after every block it is ± {widest:.3g}"


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
    how = {"scope": scope, "kind": kind, "confidence": confidence}
    answers, notes = answered(state, measures, questions, contrasts, **how)  # type: ignore[arg-type]
    return Estimates(
        answers=answers,
        notes=notes,
        places=places(state.sample.systems, answers) if len(state.read) == 1 else [],
        progress=state.progress,
        agreement=state.agreement,
        policy=state.policy,
        **how,  # type: ignore[arg-type]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Interim:
    """The estimate of a question now, and the half-width to expect at the end."""

    measure: str
    question: str
    value: float
    low: float
    high: float
    half_width: float
    half_width_at_end: float


def intervals(state: CampaignState, confidence: float = 0.95) -> list[Interim]:
    """Return the estimate of each question that the campaign was made for; nothing where no block is complete."""
    answers, _ = answered(state, confidence=confidence) if state.block else ([], [])
    return [
        Interim(
            measure=answer.target.name,
            question=answer.question,
            value=answer.estimate.value,
            low=answer.interval.low,
            high=answer.interval.high,
            half_width=(answer.interval.high - answer.interval.low) / 2,
            half_width_at_end=answer.half_width_at_end,
        )
        for answer in answers
    ]
