"""Compare a grader's values with human grades: on one scale, weighted by inverse inclusion probability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from activeeval.core.campaign import Campaign
from activeeval.core.campaign.joint_estimates import round_weights
from activeeval.core.campaign.probabilities import item_probabilities
from activeeval.core.estimation.clustered import (
    by_query,
    correlation,
    jackknifed,
    ratios,
    share_between,
    slope,
    weighted_mean,
)
from activeeval.core.grade_models.values import ValueTable, default_shares
from activeeval.core.measures import SoftLabels, Target
from activeeval.core.pool import QueryPool, Rankings
from activeeval.core.pool.keys import positions_in
from activeeval.core.results import Figure
from activeeval.core.types import Bools, Floats, Ints
from activeeval.formats.graders.grader_grades import Grades, GradesOnPool
from activeeval.graders.audit_summary import ClusteredFigure, Drift, ValueRow, finite
from activeeval.sampling.drawn_sample import DrawnSample

FEWEST_DRIFTED = 2
"""Fewest models, or prompts, in a file for which drift is computed."""
_MOST_STRAY = 0.05
"""Largest share of whole grades outside the human scale that are treated as errors; 1 of 4,423 and 2 in 1,000 were
seen. If they defined the scale, they would move every other value."""
_FEWEST_QUERIES = 5
"""Fewest queries with labels for which skill is computed: with fewer, a standard error by query is unreliable."""
_ROUNDING = 1e-9
"""A standard error below this fraction of its figure is rounding error and counts as 0."""


@dataclass(frozen=True, slots=True, eq=False)
class ScaledGrades:
    """A grader's values mapped to the human scale 0 … ``top``.

    Attributes
    ----------
    values : ndarray, shape (n_items,)
        NaN for items without a reply.
    least, largest : float
        The grader's values that are mapped to 0 and to ``top``.
    top : int
        Largest human grade.
    is_stated : bool
        True if the user stated the grader's scale.
    n_stray : int
        Number of grades outside the human scale that count as missing because they are few.
    """

    values: Floats
    least: float
    largest: float
    top: int
    is_stated: bool
    n_stray: int = 0

    @classmethod
    def of(cls, grades: Grades, on_pool: GradesOnPool, top: int) -> Self:
        """Map a grader's values linearly to 0 … `top`, from the stated scale, else from the range of the values.

        Whole grades within the human scale are unchanged, and a few outside it count as missing. Scores, and grades of
        which more lie outside, are mapped from their minimum and maximum. ``on_pool`` has the values by item, NaN
        without a reply, and the probabilities of grades behind them, if the grader gave some.
        """
        values, graded = on_pool.values, on_pool.values[on_pool.is_graded]
        if grades.scale is None and on_pool.probs is None and (n_stray := _stray(graded, top)):
            on_scale = np.where((values < 0) | (values > top), np.nan, values)
            return cls(on_scale, 0.0, float(top), top, is_stated=False, n_stray=n_stray)
        least, largest = grades.scale or _seen_scale(graded, on_pool.probs, top)
        is_stated = grades.scale is not None
        if largest <= least:  # one value, beyond the scale
            return cls(np.clip(values, 0, top), least, largest, top, is_stated)
        return cls((values - least) * (top / (largest - least)), least, largest, top, is_stated)

    @property
    def is_there(self) -> Bools:
        """Mark the items with a reply, shape (n_items,)."""
        return ~np.isnan(self.values)

    @property
    def is_mapped(self) -> bool:
        """True if the values differ from the grader's own."""
        return (self.least, self.largest) != (0, self.top)

    @property
    def labels(self) -> Ints:
        """Whole grades for measures, shape (n_items,): rounded half up, 0 if missing."""
        return np.floor(np.nan_to_num(self.values) + 0.5).astype(np.int64)

    def completed(self, pool: QueryPool, items: Ints) -> SoftLabels:
        """Build labels in which `items` without a reply have the grades of their query's answered items, as a mixture.

        Measures then use the mean over these grades. A missing reply is no evidence about its item: grade 0 would count
        against the grader and the run. Items of a query without any reply keep grade 0; `by_labels` leaves such queries
        out.

        Parameters
        ----------
        items : ndarray of int64, shape (n,)
            Items that affect the measure, at least one of them with a reply.
        """
        labels, is_there = self.labels, self.is_there[items]
        counts = np.zeros((pool.n_queries, labels.max(initial=0) + 1))
        np.add.at(counts, (pool.item_queries[items[is_there]], labels[items[is_there]]), 1.0)
        missing = items[~is_there]
        missing = missing[counts[pool.item_queries[missing]].sum(axis=1) > 0]
        return SoftLabels(labels, missing, counts[pool.item_queries[missing]])


def by_labels(target: Target, on_scale: ScaledGrades) -> float:
    """Compute a target (measure of a system or a difference) from a grader's replies; NaN if there are none.

    A query without any reply is left out of the mean over queries. In other queries an item without a reply counts as
    the mean of the answered ones, see `ScaledGrades.completed`. Measures that cannot use a mean (AP, R) are computed on
    lists without the unanswered items.
    """
    pool, items = target.pool, target.judging_lists()[1]  # the items that affect the measure
    is_graded = on_scale.is_there
    if is_graded[items].all():
        return with_zeros(target, on_scale)
    has_items, is_answered = (
        np.bincount(pool.item_queries[some], minlength=pool.n_queries) > 0 for some in (items, items[is_graded[items]])
    )
    weights = pool.query_probs * (is_answered | ~has_items)
    if not is_answered.any():
        return math.nan
    if target.measure.no_gain_between:
        versus = None if target.versus is None else _without(target.versus, is_graded)
        lists = replace(target, ranking=_without(target.ranking, is_graded), versus=versus)
        values = lists.values(on_scale.labels)
    else:
        values = target.values(on_scale.completed(pool, items))
    return float(weights @ values / weights.sum())


def with_zeros(target: Target, on_scale: ScaledGrades) -> float:
    """Compute a target (measure of a system or a difference) from a grader's grades.

    Missing replies count as grade 0.
    """
    return float(target.pool.query_probs @ target.values(on_scale.labels))


def _without(ranking: Rankings, is_kept: Bools) -> Rankings:
    """Remove from a ranking the items where ``is_kept``, shape (n_items,), is False."""
    is_listed = is_kept[ranking.items]
    offsets = np.concatenate(([0], np.cumsum(is_listed)))[ranking.offsets]
    return Rankings(ranking.pool, offsets, ranking.items[is_listed])


def _stray(graded: Floats, top: int) -> int:
    """Count the values outside 0 … ``top``, if all are whole grades and these few enough to be errors; else return 0.

    ``graded`` has the grader's values of the items with a reply, shape (n_graded,).
    """
    n_beyond = int(((graded < 0) | (graded > top)).sum())
    is_whole = bool((graded == np.floor(graded)).all())
    return n_beyond if is_whole and n_beyond <= _MOST_STRAY * graded.size else 0


def _seen_scale(graded: Floats, probs: Floats | None, top: int) -> tuple[float, float]:
    """Infer the least and largest value of a grader's scale that is not stated.

    It is the human scale 0 … ``top`` if all values are whole grades on it; else the range of the values. With
    probabilities, `probs` of shape (n, n_grades), it is that of their grades, at least to ``top``.
    """
    if probs is not None:
        return 0.0, float(max(probs.shape[1] - 1, top))
    least, largest = float(graded.min()), float(graded.max())
    are_grades = least >= 0 and largest <= top and bool((graded == np.floor(graded)).all())
    return (0.0, float(top)) if are_grades else (least, largest)


@dataclass(frozen=True, slots=True, eq=False)
class JudgedItems:
    """Items with human labels, and their weights by inverse inclusion probability.

    Attributes
    ----------
    items : ndarray of int64, shape (n,)
        Positions in the pool.
    queries : ndarray of int64, shape (n,)
        Query number of each item.
    weights : ndarray, shape (n,)
        1 / inclusion probability; for several rounds their mean by the rounds' planned weights.
    shares : ndarray, shape (n, n_grades)
        Distribution of the item's label over grades: 1 at its grade, unless judges differ.
    """

    items: Ints
    queries: Ints
    weights: Floats
    shares: Floats

    @classmethod
    def of(cls, samples: Sequence[DrawnSample], top: int) -> Self:
        """Collect the labels of one sample, or of the samples of several rounds; `top` is the largest human grade."""
        campaigns = [sample.campaign for sample in samples]
        parts = round_weights(campaigns) if len(campaigns) > 1 else np.ones(1)  # weight of each round
        pool = campaigns[0].design.pool
        weights, shares = np.zeros(pool.n_items), np.full((pool.n_items, top + 1), np.nan)
        for part, campaign in zip(parts.tolist(), campaigns, strict=True):
            of_items = _labels(campaign, top)
            probabilities = item_probabilities(campaign, campaign.selection.level)
            is_judged = ~np.isnan(of_items[:, 0])
            weights[is_judged] += part / probabilities[is_judged]
            shares[is_judged] = of_items[is_judged]
        items = np.flatnonzero(weights > 0)
        return cls(items, pool.item_queries[items], weights[items], shares[items])

    @property
    def grades(self) -> Floats:
        """Human grade of each item, the mean if judges differ, shape (n,)."""
        return np.asarray(self.shares @ np.arange(self.shares.shape[1]))

    def of_some(self, is_kept: Bools) -> Self:
        """Select the items where ``is_kept``, shape (n,), is True."""
        return type(self)(self.items[is_kept], self.queries[is_kept], self.weights[is_kept], self.shares[is_kept])


def _labels(campaign: Campaign, top: int) -> Floats:
    """Compute each item's label as a distribution over grades, shape (n_items, n_grades).

    NaN for items without a label. Only labels that the estimate of the campaign uses are included.
    """
    design, selection = campaign.design, campaign.selection  # a place is an item in judging order
    inside = np.zeros(design.pool.n_items, dtype=np.bool_)  # items of the places selected so far
    inside[design.order.items[selection.places]] = True
    is_open = np.flatnonzero(inside & (design.known < 0))
    labels: SoftLabels = campaign.labels.over(design.known, is_open)
    # the mean of a gain that is 1 for one grade and 0 for others is the probability of this grade
    return np.column_stack([labels.values(grade) for grade in np.eye(top + 1)])


def value_rows(values: Floats, judged: JudgedItems) -> list[ValueRow]:
    """Tabulate the human grades of the items with each value of a grader.

    Parameters
    ----------
    values : ndarray, shape (n_items,)
        As the grader gave them, NaN for a missing reply; more than ten distinct values are binned.
    judged : JudgedItems
        Items with human labels.
    """
    codes = ValueTable.of(values, default_shares(judged.shares.shape[1])).codes
    of_judged = codes[judged.items]
    return [
        _value_row(values[codes == code], of_judged == code, judged)
        for code in np.unique(codes).tolist()
        if (of_judged == code).any()
    ]


def _value_row(values: Floats, is_of_it: Bools, judged: JudgedItems) -> ValueRow:
    """Compute how people grade the items to which the grader gave values of one bin (an interval of its scale).

    Parameters
    ----------
    values : ndarray
        The grader's values of all items of the pool in the bin.
    is_of_it : ndarray of bool, shape (n_judged,)
        True for the judged items in the bin.
    judged : JudgedItems
        The judged items with their importance weights and queries, and in `shares` a column for each grade: the share
        of an item's judges who gave it.
    """
    weights = judged.weights * is_of_it
    of_grades = [jackknifed(by_query([weights * share, weights], judged.queries), ratios) for share in judged.shares.T]
    is_missing = bool(np.isnan(values).any())
    return ValueRow(
        least=None if is_missing else float(values.min()),
        most=None if is_missing else float(values.max()),
        judged=int(is_of_it.sum()),
        share=measured(weighted_mean(is_of_it.astype(np.float64), judged.weights, judged.queries)),
        by_grade=list(map(measured, of_grades)),
    )


def measured(figure: Figure) -> ClusteredFigure:
    """Convert a figure to a `ClusteredFigure`, with None for values that are not finite, and 0 for a rounding error."""
    value, error = map(finite, (figure.value, figure.se))
    if value is not None and error is not None and error < _ROUNDING * abs(value):
        error = 0.0
    return ClusteredFigure(value=value, std_error=error)


def skill(values: Floats, judged: JudgedItems) -> dict[str, ClusteredFigure]:
    """Measure how well a grader's values predict human grades.

    Parameters
    ----------
    values : ndarray, shape (n_items,)
        On the human scale, NaN for a missing reply.
    judged : JudgedItems
        Items with human labels, weighted by inverse inclusion probability.

    Returns
    -------
    dict
        The leniency, correlation, slope and between_queries of a `GraderAudit`.
    """
    graded = judged.of_some(~np.isnan(values[judged.items]))
    if np.unique(graded.queries).size < _FEWEST_QUERIES:
        return dict.fromkeys(("leniency", "correlation", "slope", "between_queries"), measured(Figure(math.nan)))
    x, y, columns = values[graded.items], graded.grades, (graded.weights, graded.queries)
    kinds = ValueTable.of(values, default_shares(2)).codes
    residuals = y - _means(kinds[graded.items], y, graded.weights)
    return {
        "leniency": measured(leniency(values, graded)),
        "correlation": measured(correlation(x, y, *columns)),
        "slope": measured(slope(x, y, *columns)),
        "between_queries": measured(share_between(residuals, *columns)),
    }


def leniency(values: Floats, judged: JudgedItems) -> Figure:
    """Estimate the mean of the grader's value minus the human grade, over items with both; NaN if there are none.

    `values`, shape (n_items,), are on the human scale.
    """
    graded = judged.of_some(~np.isnan(values[judged.items]))
    if not graded.items.size:
        return Figure(math.nan)
    return weighted_mean(values[graded.items] - graded.grades, graded.weights, graded.queries)


def _means(codes: Ints, y: Floats, weights: Floats) -> Floats:
    """Compute for each item the weighted mean of `y` over the items of the same code, shape (n,)."""
    totals = np.bincount(codes, weights * y) / np.maximum(np.bincount(codes, weights), np.finfo(float).tiny)
    return np.asarray(totals[codes])


def drifts(grades: Grades, pool: QueryPool, values: Floats, judged: JudgedItems) -> list[Drift]:
    """Estimate the leniency (value minus human grade) of each model and of each prompt, if a file names several.

    Parameters
    ----------
    grades : Grades
        The rows of the grader's file, with the model and prompt of each, if named.
    values : ndarray, shape (n_items,)
        The grader's values of the pool's items, on the human scale, NaN for a missing reply.
    judged : JudgedItems
        Items with human labels.
    """
    rows = []
    for kind, names in (("model", grades.models), ("prompt", grades.prompt_versions)):
        kinds = sorted(set() if names is None else set(names.tolist()) - {""})
        if names is None or len(kinds) < FEWEST_DRIFTED:
            continue
        of_item = np.full(pool.n_items, "", dtype=object)
        positions = positions_in(pool, grades.query_ids, grades.item_ids)
        of_item[positions[positions >= 0]] = names[positions >= 0]
        for name in kinds:
            part = judged.of_some((of_item[judged.items] == name) & ~np.isnan(values[judged.items]))
            figure = leniency(values, part)
            rows.append(Drift(kind=kind, name=name, judged=part.items.size, leniency=measured(figure)))
    return rows
