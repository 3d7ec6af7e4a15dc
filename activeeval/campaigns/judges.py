"""Statistics of judges' work in a campaign: amount, speed, agreement, and skipped items."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import combinations

import numpy as np

from activeeval.campaigns.estimates_over_time import date_of
from activeeval.campaigns.known_labels import grades_of
from activeeval.campaigns.report.content import finite
from activeeval.campaigns.report.judges_content import (
    DailyAnswers,
    FittedSeconds,
    GradesByJudge,
    JudgeActivity,
    JudgeAgreement,
    JudgePair,
    Seconds,
    SharedAgreement,
    SkippedByJudge,
    SkippedItems,
    SkippingReason,
)
from activeeval.campaigns.seconds import fitted
from activeeval.campaigns.state import CampaignState, Pair
from activeeval.campaigns.store import Store, UnitRow
from activeeval.core.errors import InputError
from activeeval.core.judgments import Judge, Judgment, Judgments, grade_agreement
from activeeval.core.judgments.agreement import PairAgreement
from activeeval.core.judgments.coefficients import confusion
from activeeval.core.judgments.log import Event, is_of_control
from activeeval.core.judgments.seconds import SecondsTaken
from activeeval.core.judgments.skip_tests import skipping_of
from activeeval.core.judgments.state import State

RESAMPLES = 500
"""Bootstrap resamples of queries for the intervals of agreement: their ends vary by a twentieth of the width."""
ANSWERS = ("judged", "cannot")


def work_of(state: State, events: Sequence[Event]) -> list[JudgeActivity]:
    """Summarize each judge's work, sorted by name; answers to controls (items with an expected answer) do not count.

    Parameters
    ----------
    state : State
        State of the log, with the valid judgments.
    events : sequence of Event
        The same log.
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)  # by judge and kind of answer; "said": a grade or none
    seconds: dict[str, list[float]] = defaultdict(list)
    active_ms: Counter[str] = Counter()
    for event in events:
        if event.kind in (*ANSWERS, "deferred", "late") and not is_of_control(event):
            counts[event.judge][event.kind if event.kind in ("deferred", "late") else "said"] += 1
            active_ms[event.judge] += event.active_ms or 0
            if event.kind in ANSWERS and event.active_ms is not None:
                seconds[event.judge].append(event.active_ms / 1000)
    n_valid = Counter((e.judge, e.kind) for e in state.standing)
    return [
        JudgeActivity(
            judge=judge,
            judged=n_valid[judge, "judged"],
            cannot=n_valid[judge, "cannot"],
            # answers that were replaced or retracted since
            changed=by_kind["said"] - n_valid[judge, "judged"] - n_valid[judge, "cannot"],
            later=by_kind["deferred"],
            late=by_kind["late"],
            **asdict(seconds_of(seconds[judge])),
            hours=active_ms[judge] / 3.6e6 if active_ms[judge] else None,
        )
        for judge, by_kind in sorted(counts.items())
    ]


def seconds_of(times: Sequence[float]) -> Seconds:
    """Compute number, median and mean of judging times in seconds; median and mean are None without times."""
    seconds = SecondsTaken.of(times)
    return Seconds(timed=seconds.n, seconds_median=seconds.median, seconds_mean=seconds.mean)


def days_of(events: Sequence[Event]) -> list[DailyAnswers]:
    """Count the answers of each judge on each day (UTC): grades, and items that cannot be judged."""
    counts = Counter((date_of(e.at)[:10], e.judge) for e in events if e.kind in ANSWERS)
    return [DailyAnswers(day=day, judge=judge, answers=n) for (day, judge), n in sorted(counts.items())]


def cost_model_of(units: Sequence[UnitRow], events: Sequence[Event]) -> FittedSeconds | None:
    """Fit the seconds of judging to the judges' clocks; None if no judgment was timed.

    A judgment takes a time for the item, its text's length, its grade and the first item of a query.

    Parameters
    ----------
    units : sequence of UnitRow
        The items, with their texts, for the effect of length.
    events : sequence of Event
        Log of the campaign.
    """
    try:
        model = fitted(units, events)
    except InputError:
        return None
    # coefficients fixed at their prior or at 0 have no standard error
    item, length, grade, query = (finite(error) or None for error in model.std_errors)
    return FittedSeconds(
        items=model.n_items,
        item=finite(model.item),
        item_std_error=item,
        length=finite(model.length),
        length_std_error=length,
        grade=finite(model.grade),
        grade_std_error=grade,
        query=finite(model.query),
        query_std_error=query,
    )


def seconds_an_item(store: Store, name: str) -> float | None:
    """Compute the mean seconds of a judgment in a campaign; None if no judgment was timed."""
    times = [e.active_ms / 1000 for e in store.events(name) if e.kind == "judged" and e.active_ms is not None]
    return SecondsTaken.of(times).mean


def judgments_of(state: CampaignState) -> Judgments:
    """Collect each judge's valid grades, for measuring agreement.

    With one judge for each item, grades of other judges that came too late to count are included.
    """
    grades = {
        (judge, pair): event.grade
        for pair, by_judge in state.judgments_by_item.items()
        for judge, event in by_judge.items()
        if event.grade is not None
    }
    if state.campaign.judges_per_item == 1:
        standing = state.judgments_by_item
        drawn = {(unit.query_id, doc) for unit in state.units for doc in unit.item_ids}
        for event in state.state.late:
            pair = event.query_id, event.doc_id
            if event.grade is not None and pair in drawn and event.judge not in standing.get(pair, {}):
                grades[event.judge, pair] = event.grade
    return Judgments.of(Judgment(*pair, Judge(judge), value=grade) for (judge, pair), grade in sorted(grades.items()))


def agreement_of(state: CampaignState, confidence: float) -> JudgeAgreement:
    """Count grades by judge, and measure the agreement of judges on items that several of them graded.

    Intervals have this confidence and come from `RESAMPLES` bootstrap samples of queries.
    """
    judgments = judgments_of(state)
    # all grades of the scale, and others that judges have given
    scale = set(range((state.sample.campaign.design.max_grade or 0) + 1))
    grades = sorted(set(judgments.values.tolist()) | scale)
    counts = Counter((judgment.judge.name, judgment.value) for judgment in judgments)
    judges = sorted({judge for judge, _ in counts})
    histogram = [GradesByJudge(judge=judge, counts=[counts[judge, grade] for grade in grades]) for judge in judges]
    pairs = partial(_pairs, judgments, judges, grades)
    try:
        # a fixed seed: the same log gives the same intervals
        agreement = grade_agreement(judgments.coded_grades(), confidence, RESAMPLES, rng=0)
    except InputError:  # only one judge, or no item graded by two
        return JudgeAgreement(
            grades=grades, histogram=histogram, n_items=0, confidence=confidence, alpha=None, pairs=pairs({})
        )
    return SharedAgreement(
        grades=grades,
        histogram=histogram,
        n_items=agreement.n_items,
        confidence=confidence,
        alpha=agreement.alphas["ordinal"],
        pairs=pairs({pair.judges: pair for pair in agreement.pairs}),
        n_queries=agreement.n_queries,
        n_alike=agreement.n_alike,
        common_grade=int(agreement.common_grade),
        ac1=agreement.acs["none"],  # Gwet's coefficient without weights
    )


def _pairs(
    judgments: Iterable[Judgment],
    judges: Sequence[str],
    grades: Sequence[int],
    agreements: Mapping[tuple[str, str], PairAgreement],
) -> list[JudgePair]:
    """Build the confusion matrix of each two judges: rows are the first judge's grades, columns the second's.

    Parameters
    ----------
    judgments : iterable of Judgment
        At most one grade of each judge for an item.
    judges : sequence of str
        All judges, sorted.
    grades : sequence of int
        All grades, the order of rows and columns.
    agreements : mapping of (str, str) to PairAgreement
        Weighted kappa and mean difference by judges; empty if unknown.
    """
    by_judge: dict[str, dict[Pair, int]] = defaultdict(dict)
    for judgment in judgments:
        by_judge[judgment.judge.name][judgment.query, judgment.item] = grades.index(judgment.value)
    pairs = []
    for first, second in combinations(judges, 2):
        shared = sorted(by_judge[first].keys() & by_judge[second].keys())
        if shared:
            rows, columns = (np.array([by_judge[judge][pair] for pair in shared]) for judge in (first, second))
            table = confusion(rows, columns, len(grades)).astype(int).tolist()
            agreement = agreements.get((first, second))
            kappa = None if agreement is None else agreement.kappas["quadratic"]
            difference = None if agreement is None else agreement.difference
            pairs.append(
                JudgePair(judges=[first, second], table=table, n=len(shared), kappa=kappa, difference=difference)
            )
    return pairs


def skipped_by(state: CampaignState, events: Sequence[Event]) -> SkippedItems:
    """Count deferred and unjudgeable items by judge and reason, and test who skips relevant items more often.

    An item is relevant if the grade that counts is above 0; items without such a grade are ignored. The test is
    `skipping_of`, for the items that the judge was shown.

    Parameters
    ----------
    state : CampaignState
        The campaign as of an event, with the grades that count.
    events : sequence of Event
        Its log.
    """
    faced: dict[str, set[Pair]] = defaultdict(set)  # by judge: items that the judge was shown or answered
    skipped: dict[str, set[Pair]] = defaultdict(set)  # by judge: items that the judge deferred or could not judge
    counts: Counter[tuple[str, str]] = Counter()  # by judge and kind of event
    reasons: Counter[tuple[str, str, str]] = Counter()  # by judge, kind and reason
    for event in events:
        if event.kind in ("shown", "deferred", *ANSWERS):
            faced[event.judge].add((event.query_id, event.doc_id))
        if event.kind in ("deferred", "cannot"):
            skipped[event.judge].add((event.query_id, event.doc_id))
            counts[event.judge, event.kind] += 1
            reasons[event.judge, event.kind, event.reason] += 1
    graded = {pair: grade for pair, grade in grades_of(state).items() if grade >= 0}
    rows = []
    for judge in sorted(faced):
        pairs = sorted(faced[judge] & graded.keys())
        skipping = skipping_of(
            [query for query, _ in pairs], [graded[p] > 0 for p in pairs], [p in skipped[judge] for p in pairs]
        )
        rows.append(
            SkippedByJudge(
                judge=judge,
                later=counts[judge, "deferred"],
                cannot=counts[judge, "cannot"],
                **asdict(skipping),
                is_named=skipping.is_suspect(len(faced)),  # corrected for the number of judges tested
            )
        )
    return SkippedItems(
        judges=rows,
        reasons=[
            SkippingReason(judge=judge, kind=kind, reason=reason, n=n)
            for (judge, kind, reason), n in sorted(reasons.items())
        ],
    )
