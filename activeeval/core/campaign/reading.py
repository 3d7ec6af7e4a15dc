"""Estimates from a judged sample: value and variance, bounds for unjudgeable items, interim analyses.

A selection is the set of places (items in the judging order of their query) that a sample has taken.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from activeeval.core.design import Design, Reading, Replacement, Selection
from activeeval.core.estimation import (
    Evidence,
    InterimLook,
    effective_sample_size,
    estimate,
    evaluate,
    evidence_of,
    looks_of,
    variance_shares,
)
from activeeval.core.measures import LabelsLike, SoftLabels, Target
from activeeval.core.results import Caution, Estimate, Unjudgeable
from activeeval.core.types import Floats, Ints

MOST_OF_ONE = 0.25
"""Share of the sampling variance above which one query triggers a warning. With 40 queries of very unequal traffic and
costs, 95 % intervals covered the true value in 84 % of the runs if one query had a fifth, in 70 % if it had a third and
in 43 % if it had four fifths; on the judged collections of 20 queries or more, no query has more than .18."""


def read(
    design: Design,
    selection: Selection,
    labels: LabelsLike,
    cannot: Sequence[int] = (),
    target: Target | None = None,
    scope: str = "pool",
    share: float = 1.0,
) -> Estimate:
    """Estimate a target from a judged selection.

    Parameters
    ----------
    selection : Selection
        The judged places (items in the judging order of their query).
    labels : ndarray of int64, shape (n_items,), or SoftLabels
        Labels of the selected items; −1 for an item that cannot be judged.
    cannot : sequence of int
        Items that cannot be judged, as indices: the estimate gets bounds that allow for any grade of these.
    target : Target, optional
        By default the first one that the design was made for.
    scope : {"pool", "population"}
        The queries that the estimate is for: those of the pool, or all that these are a sample of.
    share : float
        Share of the planned budget that has been judged.

    Raises
    ------
    InputError
        If an item that the target needs could not be drawn, or the scope is unknown.
    StateError
        If nothing has been judged yet.
    """
    reading = design.reading(target)
    selection = of_target(reading, selection)
    sample = evidence_of(design, reading, reading.judge(labels), selection)
    estimate_now = estimate(sample, design.name, scope)
    size, why = effective_sample_size(sample, reading, selection)
    unjudged = sorted(set(cannot) & set(reading.order.items[selection.places].tolist()))
    if unjudged:
        extremes = extreme_labels(reading, selection, SoftLabels.of(labels), unjudged, design.max_grade)
        ends = [estimate_now.value, *(_estimate(design, reading, selection, at, scope).value for at in extremes)]
        treated = "as no gain" if reading.beliefs is None else "as predicted"
        estimate_now = replace(
            estimate_now, cannot=Unjudgeable(n_items=len(unjudged), low=min(ends), high=max(ends), treated=treated)
        )
    return replace(
        estimate_now,
        share=share,
        effective_sample_size=size,
        size_unknown=why,
        largest=_largest(design, reading, selection, sample),
        concerns=_dominated(design, reading, selection.level),
    )


def of_target(reading: Reading, selection: Selection) -> Selection:
    """Restrict a selection (judged places) to the queries of the target's segment, and its cost to theirs.

    A target without a segment is for all queries: the selection is returned as it is. A place is an item in the judging
    order of its query.
    """
    within, order = reading.target.within, reading.order
    if within is None:
        return selection
    part = selection.within(within)
    items, openings = order.costs[np.unique(part.places)], order.overheads[np.unique(part.queries)]
    return replace(part, cost=float(items.sum() + openings.sum()))


def _dominated(design: Design, reading: Reading, level: float) -> tuple[Caution, ...]:
    """Warn, in a tuple, if one query has much of the sampling variance expected at a sampling level; else return ().

    The spread of the other queries then tells little about the variance. There is no warning for a pool that is
    processed in parts, because only some of its queries are loaded. At the sampling level T, an item of rate r is
    judged with probability min(1, T r).
    """
    is_part = design.order.larger_pool is not None
    if is_part or (left := reading.left_to_chance(level)).max() <= MOST_OF_ONE * left.sum():
        return ()
    query, share = str(design.pool.query_texts[int(left.argmax())]), round(float(left.max() / left.sum()), 2)
    return (Caution("warning", "one query", {"query_id": query, "share": share}),)


def _largest(design: Design, reading: Reading, selection: Selection, sample: Evidence) -> float:
    """Compute the largest share of the estimated variance due to one judged query.

    It is 0 if nothing was sampled by chance or the spread of the sample is unknown.
    """
    if not sample.values.size or not math.isfinite(evaluate(sample).observed):
        return 0.0
    of_query = _by_query(design, reading, selection, variance_shares(sample))
    total = float(of_query.sum())
    return float(of_query.max()) / total if total > 0 else 0.0


def _by_query(design: Design, reading: Reading, selection: Selection, of_rows: Floats) -> Floats:
    """Sum ``of_rows`` by query, shape (n_queries,): a value for each query sampled by chance, or each draw of one."""
    rows = design.scheme.rows(reading, selection)
    return np.asarray(np.bincount(rows, of_rows, minlength=design.order.n_queries), dtype=np.float64)


class WeightedQueries(NamedTuple):
    """The queries behind an estimate, with their weights and labels.

    Attributes
    ----------
    queries : ndarray of int64, shape (n,)
        Ascending; judged, or known before with a nonzero value.
    weights : ndarray, shape (n,)
        p/π of each, or p for queries included with certainty, with p the probability of the query and π that of being
        sampled; with replacement Σ p/q over its draws, q the draw probability, normalized to sum 1.
    labels : SoftLabels
        Labels of all items: judgments and grades known before.
    """

    queries: Ints
    weights: Floats
    labels: SoftLabels


def judged_queries(
    design: Design, selection: Selection, labels: LabelsLike, target: Target | None = None
) -> WeightedQueries:
    """Collect the queries behind the estimate of a target, with the weight of each.

    Parameters
    ----------
    selection : Selection
        The judged places (items in the judging order of their query).
    labels : ndarray of int64, shape (n_items,), or SoftLabels
    target : Target, optional
        By default the first one that the design was made for.
    """
    reading = design.reading(target)
    selection, order = of_target(reading, selection), reading.order
    sample = evidence_of(design, reading, reading.judge(labels), selection)
    weights = _by_query(design, reading, selection, sample.importance_weights)
    if not isinstance(design.scheme, Replacement):
        # queries with a value known beforehand (0 needs no weight), and those judged whole with certainty
        is_certain = ~reading.is_open & (reading.settled_values != 0)
        is_certain[selection.queries[reading.settled_by(selection)]] = True
        weights = np.where(is_certain, reading.query_probs, weights)
    else:
        weights = weights / weights.sum()
    queries = np.flatnonzero(weights)
    # labels of the items that can be drawn, known grades of all others
    merged = SoftLabels.of(labels).over(design.known, order.items[order.place_rates > 0])
    return WeightedQueries(queries, weights[queries], merged)


class QueryEffects(NamedTuple):
    """Contributions of each query of a pool to an estimate; both of shape (n_queries,).

    Attributes
    ----------
    variances : ndarray
        Contribution to the estimated variance.
    shifts : ndarray
        By how much its judgments move the estimate away from the prediction.
    """

    variances: Floats
    shifts: Floats


def carried(design: Design, selection: Selection, labels: LabelsLike, target: Target | None = None) -> QueryEffects:
    """Compute how much each query contributes to the estimate of a target and to its variance.

    All contributions are 0 if nothing was sampled by chance.

    Parameters
    ----------
    selection : Selection
        The judged places (items in the judging order of their query).
    labels : ndarray of int64, shape (n_items,), or SoftLabels
    target : Target, optional
        By default the first one that the design was made for.
    """
    reading = design.reading(target)
    selection = of_target(reading, selection)
    sample = evidence_of(design, reading, reading.judge(labels), selection)
    shares_and_parts = (variance_shares(sample), evaluate(sample).contributions)
    return QueryEffects(*(_by_query(design, reading, selection, of_rows) for of_rows in shares_and_parts))


class LabelEffect(NamedTuple):
    """Effect of an item's possible grades on an estimate.

    Attributes
    ----------
    span : float
        Largest minus smallest estimate over the grades.
    narrowest, widest : float
        Smallest and largest half-width of their t intervals; infinite without an interval.
    """

    span: float
    narrowest: float
    widest: float


def moved(
    design: Design,
    selection: Selection,
    labels: LabelsLike,
    grades: Mapping[int, Sequence[int]],
    target: Target | None = None,
    confidence: float = 0.95,
) -> dict[int, LabelEffect]:
    """Compute the effect of possible grades on the estimate of a target, for one item at a time.

    Parameters
    ----------
    selection : Selection
        The judged places (items in the judging order of their query).
    labels : ndarray of int64, shape (n_items,), or SoftLabels
        Labels of all other items.
    grades : mapping of int to sequence of int
        Possible grades by index of the item; items outside the selection have no effect.
    target : Target, optional
        By default the first one that the design was made for.
    confidence : float
        Confidence of the intervals.

    Returns
    -------
    dict of int to LabelEffect
        By index of the item.
    """
    reading = design.reading(target)
    selection = of_target(reading, selection)
    soft, of_items = SoftLabels.of(labels), dict[int, LabelEffect]()
    for item, several in grades.items():
        estimates = [
            _estimate(design, reading, selection, _with_grade(soft, item, grade), "pool")
            for grade in sorted(set(several))
        ]
        values = [each.value for each in estimates]
        halves = [(each.high - each.low) / 2 for each in (some.interval(confidence) for some in estimates)]
        of_items[item] = LabelEffect(max(values) - min(values), min(halves), max(halves))
    return of_items


def _with_grade(labels: SoftLabels, item: int, grade: int) -> SoftLabels:
    """Return a copy of the labels with one item's label replaced by a grade."""
    others = labels.items != item
    grades = np.array(labels.grades)
    grades[item] = grade
    return SoftLabels(grades, labels.items[others], labels.weights[others])


def _estimate(design: Design, reading: Reading, selection: Selection, labels: SoftLabels, scope: str) -> Estimate:
    """Estimate a reading's target from a selection (judged items) with these labels; ``scope``: pool or population."""
    return estimate(evidence_of(design, reading, reading.judge(labels), selection), design.name, scope)


def extreme_labels(
    reading: Reading, selection: Selection, labels: SoftLabels, items: Sequence[int], top: int | None
) -> list[SoftLabels]:
    """Return two sets of labels, in which some items have the grades that minimize, and maximize, the estimate.

    A query contributes y − z times a weight ≥ 0, y its observed and z its predicted value. The items of a query are set
    one after the other, each given the extreme grades of those before: exact if the effect of each has one sign.

    Parameters
    ----------
    items : sequence of int
        Indices of the items, ascending, all in the selection.
    top : int or None
        Largest grade of the scale; None uses the largest grade of the labels.
    """
    indices = np.array(items)
    scale = range((labels.largest if top is None else top) + 1)
    # rows: row of each item's query in the selection; first: position in `items` of the first item of that query
    by_query = np.argsort(selection.queries, kind="stable")
    owners = reading.target.pool.item_queries[indices]
    rows = by_query[np.searchsorted(selection.queries[by_query], owners)]
    first = np.searchsorted(owners, owners)
    out = []
    for sign in (1.0, -1.0):
        chosen = labels.grades.copy()
        for turn in range(int(np.bincount(owners).max())):
            is_next = np.arange(indices.size) - first == turn  # one item of each query
            contributions = []
            for grade in scale:
                chosen[indices[is_next]] = grade
                totals = reading.judge(replace(labels, grades=chosen)).totals(selection).totals[rows[is_next]]
                contributions.append(sign * (totals[:, 0] - totals[:, 2]))  # y − z
            chosen[indices[is_next]] = np.argmin(contributions, axis=0)
        out.append(replace(labels, grades=chosen))
    return out


def looks_at(
    design: Design,
    selections: Sequence[Selection],
    shares: Sequence[float],
    labels: LabelsLike,
    target: Target | None = None,
    scope: str = "pool",
) -> list[InterimLook]:
    """Build an interim analysis for each end of a block (part of the budget) that a growing sample has reached.

    Earlier blocks in which no query of the target's segment was judged are left out.

    Parameters
    ----------
    selections : sequence of Selection
        The places (items in the judging order of their query) judged by the end of each complete block, in order.
    shares : sequence of float
        Share of the planned budget at the end of each block; may go on with those of later blocks.
    labels : ndarray of int64, shape (n_items,), or SoftLabels
    target : Target, optional
        By default the first one that the design was made for.
    scope : {"pool", "population"}
        The queries that the estimate is for: those of the pool, or all that these are a sample of.
    """
    reading = design.reading(target)
    judge = reading.judge(labels)
    of_target_only = [of_target(reading, selection) for selection in selections]
    samples = [evidence_of(design, reading, judge, selection) for selection in of_target_only]
    # an early block may hold no query of a segment: that was no interim analysis
    seen = [k for k, sample in enumerate(samples) if sample.n_queries or sample.is_census or k == len(samples) - 1]
    return looks_of([samples[k] for k in seen], [shares[k] for k in seen] + list(shares[len(samples) :]), scope)
