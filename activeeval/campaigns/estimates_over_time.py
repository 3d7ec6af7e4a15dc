"""Estimates of a campaign over time, at each event that completed a block, and the queries with most influence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from activeeval.campaigns.known_labels import grades_of
from activeeval.campaigns.report.content import CampaignReading, Largest, QueryShare
from activeeval.campaigns.state import CampaignState, answered
from activeeval.campaigns.status import spent_by_block
from activeeval.core.answers import Answer
from activeeval.core.campaign.joint_estimates import round_weights
from activeeval.core.campaign.reading import carried
from activeeval.core.errors import InputError, StateError
from activeeval.core.measures import Target
from activeeval.core.results import Interval
from activeeval.sampling.answers import SampleAnswer

MOST_QUERIES = 15
"""Maximum number of influential queries listed for each estimate."""


def date_of(microseconds: int) -> str:
    """Format a time of the log (UTC microseconds) as text.

    Examples
    --------
    >>> date_of(1_800_000_000_000_000)
    '2027-01-15 08:00'
    """
    return datetime.fromtimestamp(microseconds // 1_000_000, UTC).strftime("%Y-%m-%d %H:%M")


def readings_of(state: CampaignState, scope: str, confidence: float) -> list[CampaignReading]:
    """Compute the estimates at each event that completed a block, and as of the last event if they differ.

    A block is a part of the sample; at its end an estimate is valid. Each reading has the values of all questions of
    the campaign, in order.

    Parameters
    ----------
    scope : {"pool", "population"}
        Population of the estimates: the pool's queries, or all queries that these are a sample of.
    confidence : float
        Of the intervals, as 0.95.
    """
    past, moments = state.before(), list[CampaignReading]()  # the state before all events, moved forward below
    for seq in sorted({*state.state.complete_at.values(), state.as_of}):
        past.follow(state.log[past.as_of : seq])
        # with adaptive depth an event may complete a batch (items that labels led to), but no block
        if past.batch and moments and past.block == moments[-1].block and seq < state.as_of:
            continue
        moment = _moment(past, scope, confidence)
        if moment is not None and not (moments and moments[-1].says_the_same(moment)):
            moments.append(moment)
    return moments


def _moment(state: CampaignState, scope: str, confidence: float) -> CampaignReading | None:
    """Compute the estimates as of a campaign state; None if no estimate is possible yet.

    They have t intervals (valid for one analysis), and where possible group-sequential ones (valid at each block, a
    part of the sample). ``scope`` is "pool" (estimates for the pool's queries) or "population" (for all queries that
    these are a sample of), ``confidence`` that of the intervals, as 0.95.
    """
    try:
        answers, _ = answered(state, scope=scope, confidence=confidence)
    except StateError:
        return None
    try:
        always, _ = answered(state, scope=scope, confidence=confidence, kind="group-sequential")
    except InputError:  # several rounds, or beyond the budget for which the interim analyses were planned
        always = []
    return CampaignReading(
        as_of=state.as_of,
        date=date_of(state.log[-1].at),
        block=state.block,
        blocks=state.n_blocks,
        rounds=len(state.read),
        spent=sum(spent_by_block(state).values()),
        answers=[answer_of(answer) for answer in answers],
        every_look=[answer_of(answers[k], sequential.interval) for k, sequential in enumerate(always)],
    )


def answer_of(answer: SampleAnswer, interval: Interval | None = None) -> Answer:
    """Convert a sample's answer to an `Answer`, with the given interval or else its own one.

    The estimate keeps its value even if it lies outside the interval.
    """
    estimate, names = answer.estimate, {"system": answer.system, "versus": answer.versus, "segment": answer.segment}
    converted = Answer.of(
        estimate, interval or answer.interval, measure=answer.target.name, n_items=estimate.n_items, **names
    )
    return replace(converted, value=estimate.value)


def queries_that_matter(state: CampaignState, texts: dict[str, str]) -> list[Largest]:
    """List, for each question, the judged queries with the largest shares of the estimate's variance.

    There are at most `MOST_QUERIES` for each question.

    Parameters
    ----------
    texts : dict of str to str
        Query texts by id.
    """
    n_judged: dict[str, int] = {}  # graded items by query; a grade of −1 is an item that cannot be judged
    for (query, _), grade in grades_of(state).items():
        n_judged[query] = n_judged.get(query, 0) + (grade >= 0)
    by_round = [sample.made_for for sample in state.read]
    return [
        Largest(question=k, queries=_largest(state, [of_round[k].target for of_round in by_round], n_judged, texts))
        for k in range(len(by_round[0]))
    ]


def _largest(
    state: CampaignState, targets: Sequence[Target], n_judged: dict[str, int], texts: dict[str, str]
) -> list[QueryShare]:
    """List the queries with the largest shares of one question's variance, at most `MOST_QUERIES`.

    Empty if the variance is 0 (nothing was sampled by chance) or unknown (infinite or NaN).

    Parameters
    ----------
    targets : sequence of Target
        The question's target (measure and rankings) in each round (sample) of the campaign.
    n_judged : dict of str to int
        Number of graded items by query id.
    texts : dict of str to str
        Query texts by id.
    """
    variances, shifts = _of_queries(state, targets)
    total = float(variances.sum())
    if not 0 < total < math.inf:
        return []
    ids = state.sample.campaign.design.pool.query_texts
    # ties in share are broken by id, independent of the pool's order
    order = sorted(
        np.flatnonzero(variances > 0).tolist(), key=lambda q: (-round(float(variances[q]) / total, 12), ids[q])
    )
    return [
        QueryShare(
            query_id=str(ids[q]),
            text=texts.get(str(ids[q]), ""),
            items=n_judged.get(str(ids[q]), 0),
            share=float(variances[q] / total),
            shift=float(shifts[q]),
        )
        for q in order[:MOST_QUERIES]
    ]


def _of_queries(state: CampaignState, targets: Sequence[Target]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum each query's part of the variance, and of the estimate's shift by its judgments, over all rounds.

    The shift is the difference between the estimate and what the grade model predicted before any judgment. With
    several rounds (samples), the estimate is their weighted mean with weights w, which budgets determine alike for all
    targets: the shift of a query is Σ w · shift, its variance Σ w² · variance. `carried` computes both for one round.

    Parameters
    ----------
    targets : sequence of Target
        The question's target in each round.

    Returns
    -------
    variances, shifts : arrays of shape (n_queries,)
    """
    campaigns = [sample.campaign for sample in state.read]
    weights = round_weights(campaigns, targets[0]) if len(campaigns) > 1 else np.ones(1)
    shares = [carried(part.design, part.selection, part.labels, t) for part, t in zip(campaigns, targets, strict=True)]
    variances = sum(w**2 * part.variances for w, part in zip(weights, shares, strict=True))
    shifts = sum(w * part.shifts for w, part in zip(weights, shares, strict=True))
    return np.asarray(variances), np.asarray(shifts)
