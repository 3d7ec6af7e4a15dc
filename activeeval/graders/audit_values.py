"""A machine's values beside people's grades: on one scale, weighted for the items that the sample could have drawn."""

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
"""Models, or prompts, of which a drift can be told."""
_MOST_STRAY = 0.05
"""Share of whole grades beyond people's scale up to which they are slips, one of 4,423 and two in a thousand of judges
seen: were they the ends of a scale, every other value would be moved for them."""
_FEWEST_QUERIES = 5
"""Queries with labels of which anything is told: with fewer a standard error by query is chance."""
_ROUNDING = 1e-9
"""A standard error below this part of its figure is that of floating point."""


@dataclass(frozen=True, slots=True, eq=False)
class ScaledGrades:
    """A machine's values on people's scale 0 … ``top``.

    Attributes
    ----------
    values : ndarray, shape (n_items,)
        NaN where its reply is missing.
    least, largest : float
        Which of its values are 0 and ``top``.
    top : int
    is_stated : bool
        Whether somebody stated the scale.
    n_stray : int
        Grades beyond people's scale that are so few that they count as missing.
    """

    values: Floats
    least: float
    largest: float
    top: int
    is_stated: bool
    n_stray: int = 0

    @classmethod
    def of(cls, grades: Grades, on_pool: GradesOnPool, top: int) -> Self:
        """Map values linearly: from the scale that is stated, else from what they are seen to be.

        Whole grades on people's scale stay as they are, and the few beyond it count as missing; scores, and grades of
        which more are beyond it, are mapped from the least to the largest of them.
        """
        values, there = on_pool.values, on_pool.values[on_pool.is_graded]
        if grades.scale is None and on_pool.probs is None and (n_stray := _stray(there, top)):
            kept = np.where((values < 0) | (values > top), np.nan, values)
            return cls(kept, 0.0, float(top), top, is_stated=False, n_stray=n_stray)
        least, largest = grades.scale or _seen_scale(there, on_pool.probs, top)
        is_stated = grades.scale is not None
        if largest <= least:  # one value, beyond the scale
            return cls(np.clip(values, 0, top), least, largest, top, is_stated)
        return cls((values - least) * (top / (largest - least)), least, largest, top, is_stated)

    @property
    def is_there(self) -> Bools:
        """Whether the machine says something of an item, shape (n_items,)."""
        return ~np.isnan(self.values)

    @property
    def is_mapped(self) -> bool:
        """Whether values are other than the machine gave them."""
        return (self.least, self.largest) != (0, self.top)

    @property
    def labels(self) -> Ints:
        """The grade of every item as measures take it: the nearest whole one, halves up, 0 where it is missing."""
        return np.floor(np.nan_to_num(self.values) + 0.5).astype(np.int64)

    def completed(self, pool: QueryPool, items: Ints) -> SoftLabels:
        """Give each of some items without a reply the mean of the answered ones of its query.

        A failed reply says nothing of its item: as grade 0 it would count against the machine and the run. Items of a
        query without any reply keep grade 0: such a query is left out.

        Parameters
        ----------
        items : ndarray of int64, shape (n,)
            Those that count, at least one of them with a reply.
        """
        labels, is_there = self.labels, self.is_there[items]
        counts = np.zeros((pool.n_queries, labels.max(initial=0) + 1))
        np.add.at(counts, (pool.item_queries[items[is_there]], labels[items[is_there]]), 1.0)
        missing = items[~is_there]
        missing = missing[counts[pool.item_queries[missing]].sum(axis=1) > 0]
        return SoftLabels(labels, missing, counts[pool.item_queries[missing]])


def by_labels(target: Target, on_scale: ScaledGrades) -> float:
    """Compute a target from a machine's grades of the items that it answered; NaN where it answered none.

    A query without any reply is left out of the mean. Else an item without a reply counts as the mean of the answered
    ones of its query, see `ScaledGrades.completed`. A measure that knows no such mean (AP, R) is taken of lists without
    the unanswered items.
    """
    pool, items = target.pool, target.judging_lists()[1]
    is_there = on_scale.is_there
    if is_there[items].all():
        return with_zeros(target, on_scale)
    is_asked, is_answered = (
        np.bincount(pool.item_queries[some], minlength=pool.n_queries) > 0 for some in (items, items[is_there[items]])
    )
    weights = pool.query_probs * (is_answered | ~is_asked)
    if not is_answered.any():
        return math.nan
    if target.measure.no_gain_between:
        versus = None if target.versus is None else _without(target.versus, is_there)
        lists = replace(target, ranking=_without(target.ranking, is_there), versus=versus)
        values = lists.values(on_scale.labels)
    else:
        values = target.values(on_scale.completed(pool, items))
    return float(weights @ values / weights.sum())


def with_zeros(target: Target, on_scale: ScaledGrades) -> float:
    """Compute a target from a machine's grades where an item without a reply has grade 0."""
    return float(target.pool.query_probs @ target.values(on_scale.labels))


def _without(ranking: Rankings, is_kept: Bools) -> Rankings:
    """Take the items that are not kept, ``is_kept`` of shape (n_items,), out of a ranking."""
    stays = is_kept[ranking.items]
    offsets = np.concatenate(([0], np.cumsum(stays)))[ranking.offsets]
    return Rankings(ranking.pool, offsets, ranking.items[stays])


def _stray(there: Floats, top: int) -> int:
    """Return how many of whole grades lie beyond 0 … ``top``, where these are so few that they must be slips."""
    n_beyond = int(((there < 0) | (there > top)).sum())
    is_whole = bool((there == np.floor(there)).all())
    return n_beyond if is_whole and n_beyond <= _MOST_STRAY * there.size else 0


def _seen_scale(there: Floats, probs: Floats | None, top: int) -> tuple[float, float]:
    """Return the least and the largest value of a machine whose scale nobody states."""
    if probs is not None:
        return 0.0, float(max(probs.shape[1] - 1, top))
    least, largest = float(there.min()), float(there.max())
    are_grades = least >= 0 and largest <= top and bool((there == np.floor(there)).all())
    return (0.0, float(top)) if are_grades else (least, largest)


@dataclass(frozen=True, slots=True, eq=False)
class JudgedItems:
    """The items that people have judged, with how many of those that could have been drawn each stands for.

    Attributes
    ----------
    items : ndarray of int64, shape (n,)
        Of the pool.
    queries : ndarray of int64, shape (n,)
    weights : ndarray, shape (n,)
        1 over the probability of being in the sample; of rounds the mean by their planned weights.
    shares : ndarray, shape (n, n_grades)
        The part of an item's label that each grade is: 1 of its grade, unless judges differ.
    """

    items: Ints
    queries: Ints
    weights: Floats
    shares: Floats

    @classmethod
    def of(cls, samples: Sequence[DrawnSample], top: int) -> Self:
        """Return what the samples of rounds hold, or a single one, as far as it may be read."""
        campaigns = [sample.campaign for sample in samples]
        parts = round_weights(campaigns) if len(campaigns) > 1 else np.ones(1)
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
        """People's grade of each, the mean where judges differ, shape (n,)."""
        return np.asarray(self.shares @ np.arange(self.shares.shape[1]))

    def of_some(self, is_kept: Bools) -> Self:
        """Return some of them, ``is_kept`` of shape (n,)."""
        return type(self)(self.items[is_kept], self.queries[is_kept], self.weights[is_kept], self.shares[is_kept])


def _labels(campaign: Campaign, top: int) -> Floats:
    """Return what part of each item's label each grade is, shape (n_items, n_grades); NaN where it has none."""
    design, taken = campaign.design, campaign.selection
    inside = np.zeros(design.pool.n_items, dtype=np.bool_)
    inside[design.order.items[taken.places]] = True
    is_open = np.flatnonzero(inside & (design.known < 0))
    labels: SoftLabels = campaign.labels.over(design.known, is_open)
    return np.column_stack([labels.values(grade) for grade in np.eye(top + 1)])


def value_rows(values: Floats, judged: JudgedItems) -> list[ValueRow]:
    """Return how a machine's values and people's grades come together.

    Parameters
    ----------
    values : ndarray, shape (n_items,)
        As the machine gave them, NaN where a reply is missing; more than ten kinds are taken together in bins.
    """
    codes = ValueTable.of(values, default_shares(judged.shares.shape[1])).codes
    of_judged = codes[judged.items]
    return [
        _value_row(values[codes == code], of_judged == code, judged)
        for code in np.unique(codes).tolist()
        if (of_judged == code).any()
    ]


def _value_row(values: Floats, is_of_it: Bools, judged: JudgedItems) -> ValueRow:
    """Return one row: ``values`` of the pool's items with it, ``is_of_it`` among the judged ones."""
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
    """Return a figure with None for what is not known."""
    value, error = map(finite, (figure.value, figure.se))
    if value is not None and error is not None and error < _ROUNDING * abs(value):
        error = 0.0
    return ClusteredFigure(value=value, std_error=error)


def skill(values: Floats, judged: JudgedItems) -> dict[str, ClusteredFigure]:
    """Measure how far values on people's scale, NaN where missing, shape (n_items,), tell people's grades.

    Returns
    -------
    dict
        The leniency, correlation, slope and between_queries of a `GraderAudit`.
    """
    heard = judged.of_some(~np.isnan(values[judged.items]))
    if np.unique(heard.queries).size < _FEWEST_QUERIES:
        return dict.fromkeys(("leniency", "correlation", "slope", "between_queries"), measured(Figure(math.nan)))
    x, y, columns = values[heard.items], heard.grades, (heard.weights, heard.queries)
    kinds = ValueTable.of(values, default_shares(2)).codes
    left = y - _means(kinds[heard.items], y, heard.weights)
    return {
        "leniency": measured(leniency(values, heard)),
        "correlation": measured(correlation(x, y, *columns)),
        "slope": measured(slope(x, y, *columns)),
        "between_queries": measured(share_between(left, *columns)),
    }


def leniency(values: Floats, judged: JudgedItems) -> Figure:
    """Return the mean of values less people's grades, of items that have both."""
    heard = judged.of_some(~np.isnan(values[judged.items]))
    if not heard.items.size:
        return Figure(math.nan)
    return weighted_mean(values[heard.items] - heard.grades, heard.weights, heard.queries)


def _means(codes: Ints, y: Floats, weights: Floats) -> Floats:
    """Return the weighted mean of the kind of each item, shape (n,)."""
    totals = np.bincount(codes, weights * y) / np.maximum(np.bincount(codes, weights), np.finfo(float).tiny)
    return np.asarray(totals[codes])


def drifts(grades: Grades, pool: QueryPool, values: Floats, judged: JudgedItems) -> list[Drift]:
    """Return the leniency of each model, and by each prompt, where a file names several.

    Parameters
    ----------
    values : ndarray, shape (n_items,)
        On people's scale.
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
