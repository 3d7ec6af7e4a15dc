"""Overview page of a campaign's lead: estimates so far, progress, judges' work, remarks."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from activeeval.campaigns.control_items import checked
from activeeval.campaigns.estimates_over_time import date_of, readings_of
from activeeval.campaigns.judges import agreement_of, work_of
from activeeval.campaigns.report.content import CampaignReading
from activeeval.campaigns.report.judges_content import JudgeActivity, JudgeAgreement, JudgeChecks
from activeeval.campaigns.report.next_steps import aside_sentence, expected_sentence, next_sentence, reached_sentence
from activeeval.campaigns.state import CampaignState
from activeeval.campaigns.status import estimates_of, reached, status, step_of
from activeeval.campaigns.store import Store
from activeeval.core.judgments.log import Event
from activeeval.report.message_lookup import text_of

_MOST_REMARKS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRemark:
    """A judge's remark on an item.

    Attributes
    ----------
    seq : int
        Number of its event.
    date : str
        UTC.
    judge, query_id, doc_id : str
    grade : int or None
        None if the item cannot be judged.
    text : str
        Why the item cannot be judged, or the note with the grade.
    """

    seq: int
    date: str
    judge: str
    query_id: str
    doc_id: str
    grade: int | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The overview page of a lead (who runs the campaign), as of event ``as_of``.

    Attributes
    ----------
    headline : sequence of str
        Estimates at the last complete block (part of the sample): the sentences of ``campaign estimate``.
    about : sequence of str
        Progress, answers that do not count, expected precision, and whether the goal is reached.
    next : str
        Recommended next step.
    footnotes, cautions : sequence of str
        Explanations of the estimates, and warnings about them.
    interval : str
        Kind of the headline's intervals.
    has_course : bool
        True if there is a chart of the estimates over blocks.
    waiting : int
        Items that wait.
    hours_left : float or None
        Hours for the waiting items at the pace so far; None if no judgment was timed.
    judges : sequence of JudgeActivity
    agreement : JudgeAgreement
    checked : JudgeChecks
        Answers to training items and controls (items with an expected answer).
    n_corrected : int
        Grades that a later round (sample) treated as known and that have changed since.
    cannot, notes : sequence of JudgeRemark
        Why items cannot be judged, and notes with grades or comparisons; the newest first.
    """

    campaign: str
    as_of: int
    date: str
    headline: Sequence[str]
    about: Sequence[str]
    next: str
    footnotes: Sequence[str]
    cautions: Sequence[str]
    interval: str
    has_course: bool
    waiting: int
    hours_left: float | None
    judges: Sequence[JudgeActivity]
    agreement: JudgeAgreement
    checked: JudgeChecks
    n_corrected: int = 0
    cannot: Sequence[JudgeRemark] = field(default_factory=list)
    notes: Sequence[JudgeRemark] = field(default_factory=list)


def overview(state: CampaignState, store: Store, *, interval: str = "t", confidence: float = 0.95) -> Overview:
    """Build the overview of a campaign for its lead (the person who runs it).

    Parameters
    ----------
    interval : {"t", "group-sequential"}
        "t" is valid for one analysis, "group-sequential" for interim analyses at the end of each block (part of the
        sample).
    confidence : float
        Of the intervals, as 0.95.
    """
    now = status(state, store)
    estimates = estimates_of(state, kind=interval, confidence=confidence) if state.block else None
    answers = estimates.answers if estimates else []
    # goal: note on whether the requested half-width is reached; findings: values with their intervals
    goal, findings = reached(state) if answers else None, [answer.finding for answer in answers]
    progress = now.progress
    counts = {"late": progress.late, "put_off": progress.put_off, "cannot": progress.cannot, "in_hand": now.in_hand}
    about = [reached_sentence(now.reached), aside_sentence(**counts)]
    about += [expected_sentence(findings) if progress.waiting and findings else ""]
    about += ["" if goal is None else text_of(goal)]
    return Overview(
        campaign=state.campaign.name,
        as_of=state.as_of,
        date=date_of(state.log[-1].at),
        headline=estimates.headline if estimates else [],
        about=[sentence for sentence in about if sentence],
        next=next_sentence(step_of(state, answers, now.free), ""),
        footnotes=estimates.footnotes if estimates else [],
        cautions=[text_of(note) for note in (estimates.notes if estimates else now.cautions)],
        interval=interval,
        has_course=bool(answers),
        waiting=progress.waiting,
        hours_left=_hours_left(state, progress.waiting),
        judges=work_of(state.state, state.log),
        agreement=agreement_of(state, confidence),
        checked=checked(state.state, state.log),
        n_corrected=state.n_corrected,
        cannot=[_remark(event, event.reason) for event in _last(state, "cannot")],
        notes=[_remark(event, event.note) for event in [*_last(state, "judged"), *_compared_with_notes(state)]],
    )


def course(state: CampaignState, confidence: float = 0.95) -> list[CampaignReading]:
    """List the estimates at the end of each block (part of the sample) so far, for a chart."""
    return readings_of(state, "pool", confidence) if state.block else []


def _hours_left(state: CampaignState, waiting: int) -> float | None:
    """Estimate the hours of judging that remain for ``waiting`` items, from the median time of a judgment.

    None if no time is known or nothing waits.
    """
    times = state.state.active_ms  # milliseconds of each timed answer
    judges = state.campaign.judges_per_item
    return statistics.median(times) * waiting * judges / 3.6e6 if times and waiting else None


def _last(state: CampaignState, kind: str) -> list[Event]:
    """List the latest valid judgments of a kind ("judged" or "cannot"), the newest first, at most `_MOST_REMARKS`.

    Of the kind "judged" only those with a note.
    """
    standing = sorted((event for event in state.state.standing if event.kind == kind), key=lambda event: -event.seq)
    return [event for event in standing if kind == "cannot" or event.note][:_MOST_REMARKS]


def _compared_with_notes(state: CampaignState) -> list[Event]:
    """List the comparisons of documents with a judge's note, the newest first, at most `_MOST_REMARKS`."""
    noted = (event for events in state.state.preferences.values() for event in events if event.note)
    return sorted(noted, key=lambda event: -event.seq)[:_MOST_REMARKS]


def _remark(event: Event, text: str) -> JudgeRemark:
    """Build a judge's remark on an item from its event; ``text`` is the note, or why there is no grade."""
    return JudgeRemark(
        seq=event.seq,
        date=date_of(event.at),
        judge=event.judge,
        query_id=event.query_id,
        doc_id=event.doc_id,
        grade=event.grade,
        text=text,
    )
