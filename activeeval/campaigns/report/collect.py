"""Collect the content of a campaign's report, as of an event: numbers and text derived from the log alone.

The same log gives the same report; it does not depend on the current time or the machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from activeeval.campaigns.control_items import checked
from activeeval.campaigns.estimates_over_time import date_of, queries_that_matter, readings_of
from activeeval.campaigns.grader_audit import audit_of
from activeeval.campaigns.judges import agreement_of, cost_model_of, days_of, seconds_of, skipped_by, work_of
from activeeval.campaigns.losing_queries import losses_of
from activeeval.campaigns.model_check import calibrations
from activeeval.campaigns.report.content import (
    CampaignEstimate,
    CampaignReading,
    CampaignReport,
    KindCount,
    LateCount,
    LogSummary,
    ProgressHeader,
    WaitingBlock,
    finite,
)
from activeeval.campaigns.report.design_content import BlockProgress, CampaignQuestion, DesignSummary, Round, Version
from activeeval.campaigns.report.judges_content import Cost
from activeeval.campaigns.state import CampaignState, state_of
from activeeval.campaigns.status import (
    estimates_of,
    progress_of,
    reached,
    reached_of,
    spent_by_block,
    step_of,
    units_by_block,
    waiting_by_block,
)
from activeeval.campaigns.store import Store, UnitRow
from activeeval.core.campaign import Unit
from activeeval.core.campaign.probabilities import item_probabilities
from activeeval.core.judgments.log import Event
from activeeval.report.answer_sentences import sentence
from activeeval.report.message_lookup import text_of, worded
from activeeval.sampling.answers import SampleAnswer
from activeeval.sampling.drawn_sample import DrawnSample

FORMAT = "activeeval campaign report 1"


def summary(
    store: Store,
    name: str,
    as_of: int | None = None,
    *,
    scope: str = "pool",
    confidence: float = 0.95,
    graders: Sequence[Any] = (),
) -> CampaignReport:
    """Compute the content of a campaign's report, as of an event, by default the last.

    Parameters
    ----------
    as_of : int, optional
        Number of the last event to use.
    scope : {"pool", "population"}
        Population of the estimates: the pool's queries, or all queries that these are a sample of.
    confidence : float
        Of the intervals.
    graders : sequence
        Graders (LLMs or other models) to audit: paths of files, data frames, `Judgments` or `Grades`.

    Raises
    ------
    InputError
        If there is no such campaign or event.
    StateError
        If nothing has been drawn yet.
    """
    state, units = state_of(store, name, as_of), store.units(name)
    events = state.log
    texts = {unit.query_id: unit.query_text for unit in units}
    estimates = estimates_of(state, scope=scope, confidence=confidence) if state.block else None
    answers, notes = (estimates.answers, estimates.notes) if estimates else ([], [])
    readings = readings_of(state, scope, confidence) if answers else []
    return CampaignReport(
        format=FORMAT,
        headline=estimates.headline if estimates else [],
        footnotes=estimates.footnotes if estimates else [],
        next=step_of(state, answers),
        head=_head(state),
        scope=scope,
        confidence=confidence,
        estimates=[_estimate(answer, confidence) for answer in answers],
        notes=[worded(note) for note in notes],
        readings=readings,
        losses=losses_of(state, answers, units),
        queries=queries_that_matter(state, texts) if answers else [],
        cost=_cost(state, events, units),
        calibration=calibrations(state),
        agreement=agreement_of(state, confidence),
        checked=checked(state.state, events),
        skipped=skipped_by(state, events),
        design=_design(state, readings),
        log=_log(state, events),
        audit=audit_of(state, graders, scope=scope, confidence=confidence).graders if graders and answers else [],
        reached=reached_of(state),
    )


def _head(state: CampaignState) -> ProgressHeader:
    """Build the head of the report: the campaign's progress, dates and settings.

    Estimates use the rounds (samples of the campaign) in ``state.read``, up to the last complete block of each.
    """
    goal = reached(state)  # note on whether the requested half-width is reached
    return ProgressHeader(
        **asdict(progress_of(state)),
        date=date_of(state.log[-1].at),
        created=date_of(state.campaign.created_at),
        rounds=len(state.rounds),
        rounds_read=len(state.read) if state.block else 0,
        block_read=sum(sample.campaign.complete_block[0] for sample in state.read),
        unit=state.sample.campaign.design.pool.cost_unit,
        judges_per_item=state.campaign.judges_per_item,
        waiting_by_block=[WaitingBlock(block=block, items=n) for block, n in waiting_by_block(state).items()],
        goal="" if goal is None else text_of(goal),
        batch=state.batch,
        goes_on=state.goes_on or state.progress.waiting > 0,
    )


def _estimate(answer: SampleAnswer, confidence: float) -> CampaignEstimate:
    """Convert the estimate of a question to report values; its interval allows for items that cannot be judged."""
    low, high = answer.estimate.bounds(answer.interval)
    # simultaneous interval: with this confidence all differences of a measure lie in theirs
    at_once = None if answer.shared is None else answer.estimate.bounds(answer.shared.interval)
    return CampaignEstimate(
        measure=answer.target.name,
        question=answer.question,
        system=answer.system,
        versus=answer.versus,
        definition=str(answer.target.measure),
        value=finite(answer.estimate.value),
        std_error=finite(answer.estimate.std_error),
        low=finite(low),
        high=finite(high),
        confidence=confidence,
        half_width=finite((high - low) / 2),
        half_width_at_end=finite(answer.half_width_at_end),
        p_value=finite(answer.p_value) if answer.question == "difference" else None,
        queries=answer.estimate.n_queries,
        items=answer.estimate.n_judged,
        effective_sample_size=answer.estimate.effective_sample_size,
        cautions=[worded(caution) for caution in answer.estimate.cautions],
        low_at_once=at_once and finite(at_once[0]),
        high_at_once=at_once and finite(at_once[1]),
        sentence=sentence(answer.finding),
    )


def _cost(state: CampaignState, events: Sequence[Event], units: Sequence[UnitRow]) -> Cost:
    """Summarize judges' work, answers by day, and judging times.

    Parameters
    ----------
    events : sequence of Event
        Log of the campaign.
    units : sequence of UnitRow
        Stored items, with their texts, for the effect of length.
    """
    answers = [event for event in events if event.kind in ("judged", "cannot")]
    return Cost(
        judges=work_of(state.state, events),
        days=days_of(events),
        all=seconds_of([e.active_ms / 1000 for e in answers if e.active_ms is not None]),
        model=cost_model_of([unit for unit in units if unit.version <= state.version], events),
    )


def _design(state: CampaignState, readings: Sequence[CampaignReading]) -> DesignSummary:
    """Summarize what was drawn, and how.

    ``readings`` are the estimates over time, which show when blocks (parts of the sample) were complete.
    """
    # once there are estimates, these carry the warnings about graders
    machines = [] if state.block else state.machine_cautions
    campaign, versions = state.sample.campaign, [row for row in state.versions if row.version <= state.version]
    design = campaign.design
    return DesignSummary(
        method=design.name,
        with_replacement=design.scheme.is_with_replacement,
        has_model=design.beliefs is not None,
        model=state.sample.model,
        questions=[
            CampaignQuestion(
                measure=a.target.name,
                question=a.question,
                system=a.system,
                versus=a.versus,
                definition=str(a.target.measure),
            )
            for a in state.sample.made_for
        ],
        max_grade=design.max_grade,
        seed=state.campaign.config.get("seed", state.sample.seed),
        sample=versions[-1].digest,
        versions=[Version(version=v.version, sample=v.digest, as_of=v.seq, reason=v.reason) for v in versions],
        queries=design.pool.n_queries,
        items=design.pool.n_items,
        open_items=int((design.order.place_rates > 0).sum()),  # items that may be drawn have a positive rate
        known=_known(state.rounds[0]),
        rounds=[_round(sample) for sample in state.rounds],
        blocks=_blocks(state, readings),
        judges_per_item=state.campaign.judges_per_item,
        policy=state.policy,
        lease_s=state.campaign.lease_s,
        ends=campaign.planned_end,
        cautions=[worded(caution) for caution in (*design.cautions, *machines)],
    )


def _round(sample: DrawnSample) -> Round:
    """Summarize a round (one sample of the campaign): its items, known grades and inclusion probabilities."""
    campaign = sample.campaign
    items = [item for unit in campaign.units for item in unit.items]
    probs = item_probabilities(campaign)[items]
    ends = (probs.min(), np.median(probs), probs.max()) if probs.size else (None,) * 3
    least, median, largest = (None if end is None else float(end) for end in ends)
    return Round(
        budget=campaign.design.budget,
        items=len(items),
        known=_known(sample),
        least_probability=least,
        median_probability=median,
        largest_probability=largest,
    )


def _known(sample: DrawnSample) -> int:
    """Count the items whose grade a sample treats as known."""
    return int((sample.campaign.design.known >= 0).sum())


def _blocks(state: CampaignState, readings: Sequence[CampaignReading]) -> list[BlockProgress]:
    """List the progress of each block (part of a sample), numbered through all samples.

    ``readings`` are the estimates over time, which show when blocks were complete.
    """
    # ends: number of the event that completed each block
    spent, ends, rows = spent_by_block(state), _complete_at(state, readings), list[BlockProgress]()
    units: dict[int, list[Unit]] = {}
    for _, block, unit in units_by_block(state):
        units.setdefault(block, []).append(unit)
    for k, sample in enumerate(state.rounds):
        campaign = sample.campaign
        for number, budget in enumerate(campaign.drawn_design.blocks):
            block = len(rows) + 1
            of_block = units.get(block, [])
            items = {item for unit in of_block for item in unit.items}
            complete = ends.get(block) if block <= state.block else None
            rows.append(
                BlockProgress(
                    block=block,
                    round=k + 1,
                    budget=budget,
                    threshold=finite(campaign.block_selection(number).level),  # number: of its round, from 0
                    units=len(of_block),
                    items=len(items),
                    settled=len(items & campaign.settled),
                    cost=sum(unit.cost for unit in of_block),
                    spent=spent[block],
                    complete_as_of=complete,
                    date=None if complete is None else date_of(state.log[complete - 1].at),  # events count from 1
                )
            )
    return rows


def _complete_at(state: CampaignState, readings: Sequence[CampaignReading]) -> dict[int, int]:
    """Map each complete block (part of a sample) to the event at which it and all blocks before it were complete.

    With adaptive depth (labels decide what comes next) that event is known only from the readings (estimates over
    time).
    """
    if all(sample.campaign.paths is None for sample in state.rounds):  # no adaptive depth
        return state.state.complete_at
    ends: dict[int, int] = {}
    for moment in readings:
        ends |= {block: moment.as_of for block in range(1, moment.block + 1) if block not in ends}
    return ends


def _log(state: CampaignState, events: Sequence[Event]) -> LogSummary:
    """Count the log's events by kind, and late answers by judge and reason."""
    late = Counter((event.judge, event.reason) for event in state.state.late)
    return LogSummary(
        events=len(events),
        kinds=[KindCount(kind=kind, n=n) for kind, n in sorted(Counter(event.kind for event in events).items())],
        late=[LateCount(judge=judge, reason=reason, n=n) for (judge, reason), n in sorted(late.items())],
        digest=events[-1].digest,
    )
