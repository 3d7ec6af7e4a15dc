"""What a campaign has said over time, at each event at which more could be read, and which queries say most of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.campaign.reading import carried
from activeeval.campaign.rounds import round_weights
from activeeval.errors import InputError, StateError
from activeeval.measures import Target
from activeeval.tasks.answers import Answer
from activeeval.tasks.campaigns.standing import Standing, answered, grades_of
from activeeval.tasks.campaigns.status import progress_of

MOST_QUERIES = 15
"""Of those that matter most to an estimate."""
Row = dict[str, Any]


def date_of(microseconds: int) -> str:
    """Return a time of the log as text.

    Examples
    --------
    >>> date_of(1_800_000_000_000_000)
    '2027-01-15 08:00'
    """
    return datetime.fromtimestamp(microseconds // 1_000_000, UTC).strftime("%Y-%m-%d %H:%M")


def finite(value: float) -> float | None:
    """Return a number that is one; None for what is infinite or not known."""
    return float(value) if math.isfinite(value) else None


def readings_of(found: Standing, scope: str, confidence: float) -> list[Row]:
    """Return a reading for each event at which more could be read, and one as of the last where that says another.

    Each has the values of all questions the campaign was made for, in the order of `estimate_rows`.
    """
    past, rows = found.before(), list[Row]()
    for seq in sorted({*found.state.complete_at.values(), found.as_of}):
        past.apply(found.log[past.as_of : seq])
        row = _reading(past, scope, confidence)
        if row is not None and not (rows and _says_the_same(rows[-1], row)):
            rows.append(row)
    return rows


def _says_the_same(one: Row, other: Row) -> bool:
    return [(a["value"], a["low"]) for a in one["answers"]] == [(b["value"], b["low"]) for b in other["answers"]]


def _reading(found: Standing, scope: str, confidence: float) -> Row | None:
    """Return what could be read as of an event; None where nothing could."""
    try:
        told, _ = answered(found, scope=scope, confidence=confidence)
    except StateError:
        return None
    try:
        always, _ = answered(found, scope=scope, confidence=confidence, kind="group-sequential")
    except InputError:  # of several rounds, and beyond the budget that the looks were planned for, there is none
        always = None
    progress = progress_of(found)
    return {
        "as_of": found.as_of,
        "date": date_of(found.log[-1].at),
        "block": progress["block"],
        "blocks": progress["blocks"],
        "rounds": len(found.read),
        "spent": progress["spent"],
        "answers": [
            _ends_of(one) | _always(None if always is None else always[k]) for k, one in enumerate(told)
        ],
    }  # fmt: skip


def _ends_of(one: Answer) -> Row:
    return {
        "value": finite(one.estimate.value),
        "low": finite(one.interval.low),
        "high": finite(one.interval.high),
    }


def _always(one: Answer | None) -> Row:
    """Return the ends of an interval that holds at every look, where there is one."""
    low, high = (math.nan, math.nan) if one is None else (one.interval.low, one.interval.high)
    return {"low_every_look": finite(low), "high_every_look": finite(high)}


def queries_that_matter(found: Standing, texts: dict[str, str]) -> list[Row]:
    """Return for each question the judged queries with the largest shares of the estimate's variance, 15 at most.

    Parameters
    ----------
    texts : dict of str to str
        Of queries, by id.
    """
    n_judged: dict[str, int] = {}
    for (query, _), grade in grades_of(found).items():
        n_judged[query] = n_judged.get(query, 0) + (grade >= 0)
    asked = [sample.made_for for sample in found.read]
    return [
        {
            "question": k,
            "queries": _largest(found, [own[k].target for own in asked], n_judged, texts),
        }
        for k in range(len(asked[0]))
    ]


def _largest(found: Standing, targets: Sequence[Target], n_judged: dict[str, int], texts: dict[str, str]) -> list[Row]:
    variances, shifts = _of_queries(found, targets)
    total = float(variances.sum())
    if not 0 < total < math.inf:
        return []
    ids = found.sample.campaign.design.pool.query_texts
    # by name where shares are equal, whatever the order of the pool
    order = sorted(
        np.flatnonzero(variances > 0).tolist(), key=lambda q: (-round(float(variances[q]) / total, 12), ids[q])
    )
    return [
        {
            "query_id": str(ids[q]),
            "text": texts.get(str(ids[q]), ""),
            "items": n_judged.get(str(ids[q]), 0),
            "share": float(variances[q] / total),
            "shift": float(shifts[q]),
        }
        for q in order[:MOST_QUERIES]
    ]


def _of_queries(found: Standing, targets: Sequence[Target]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what each query adds to the variance, and to the estimate beyond what was expected; rounds together."""
    campaigns = [sample.campaign for sample in found.read]
    weights = round_weights(campaigns, targets[0]) if len(campaigns) > 1 else np.ones(1)
    own = [carried(one.design, one.selection, one.labels, t) for one, t in zip(campaigns, targets, strict=True)]
    variances = sum(w**2 * one.variances for w, one in zip(weights, own, strict=True))
    shifts = sum(w * one.shifts for w, one in zip(weights, own, strict=True))
    return np.asarray(variances), np.asarray(shifts)
