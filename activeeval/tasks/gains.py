"""Gains and discounts: learned from preferences, asked about further, and held against another measure's."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from activeeval.errors import InputError
from activeeval.gains import (
    GainDiscountLearner,
    ListSource,
    PreferenceData,
    SimpleMargin,
    UndeterminedWarning,
    bootstrap_gains,
    gain_intervals,
    gains_fields,
    load_pairs,
    random_judged_pairs,
)
from activeeval.io.loading import load_tables, pool_from_tables
from activeeval.judgments import labels_of
from activeeval.results import Note
from activeeval.types import Ints


def learn_gains(
    learner: GainDiscountLearner,
    data: PreferenceData,
    *,
    validation: PreferenceData | None = None,
    resamples: int = 200,
    seed: int = 0,
    confidence: float = 0.95,
    best_gain: float | None = None,
) -> Mapping[str, Any]:
    """Fit a learner and return the fields of a gains file, with what the preferences cannot tell among its cautions.

    Parameters
    ----------
    validation : PreferenceData, optional
        What chooses C in place of cross-validation.
    resamples : int
        Of the stability band; 0 leaves it out.
    confidence : float
        Of intervals and band; where the preferences support no interval, a caution says why.
    best_gain : float, optional
        See `GainDiscountLearner.measure`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndeterminedWarning)  # said in words of its own
        learner.fit(data, validation=validation)
    stability = bootstrap_gains(learner, data, resamples, seed) if resamples else None
    intervals, refusal = None, []
    try:
        intervals = gain_intervals(learner, data, confidence)
    except InputError as problem:
        refusal = [str(problem)]
    fields = gains_fields(learner, data, stability, confidence, best_gain, intervals)
    return fields | {"cautions": fields["cautions"] + refusal}


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPairs:
    """The pairs worth asking about next.

    Attributes
    ----------
    rows : tuple of dict
        Where each stands, its query, both lists, and how far apart the weights so far put them.
    n_answered, n_unanswered : int
    is_by_chance : bool
        Whether too few are answered to choose by weights.
    """

    rows: tuple[dict[str, Any], ...]
    n_answered: int
    n_unanswered: int
    is_by_chance: bool


def next_pairs(
    paths: Sequence[str],
    max_grade: int | None,
    source: ListSource | None,
    learner: GainDiscountLearner,
    *,
    count: int = 1,
    start: int = 20,
    seed: int = 0,
) -> NextPairs:
    """Return the pairs that the answers so far are least sure of.

    Raises
    ------
    InputError
        Where none is left, or none worth asking about.
    """
    answered, unanswered = load_pairs(paths, max_grade, source)
    if unanswered is None:
        raise InputError("every pair of these files has an answer: there is none to ask about")
    closest = SimpleMargin(unanswered, learner, n_start=start, rng=seed, answered=answered).closest(count)
    if not closest:
        raise InputError(
            f"the {unanswered.n_pairs} unanswered pairs are of lists of the same grades, or such as every DCG puts in "
            "the same order: there is none worth asking about"
        )
    return NextPairs(
        rows=tuple(_question(unanswered, row, margin) for row, margin in closest),
        n_answered=0 if answered is None else answered.n_pairs,
        n_unanswered=unanswered.n_pairs,
        is_by_chance=closest[0][1] is None,
    )


def _question(pairs: PreferenceData, row: int, margin: float | None) -> dict[str, Any]:
    query = {} if pairs.queries is None else {"query": str(pairs.queries[row])}
    lists = {"first": pairs.preferred[row].tolist(), "second": pairs.other[row].tolist()}
    return {"place": pairs.place(row), **query, **lists, "difference": margin}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedLists:
    """Pairs of lists of grades that come of judgments.

    Attributes
    ----------
    first, second : ndarray of int, shape (n, depth)
    notes : tuple of Note
    n_left, n_queries : int
        Judged queries that are not in both runs, and all of them.
    n_unknown : int
        Places of the lists without a judged item.
    """

    first: Ints
    second: Ints
    notes: tuple[Note, ...]
    n_left: int = 0
    n_queries: int = 0
    n_unknown: int = 0


def judged_lists(qrels: str, runs: Sequence[str], depth: int, n_pairs: int, seed: int) -> JudgedLists:
    """Return the lists of two runs as grades, or, without runs, random orders of each query's judged items."""
    judgments, read = load_tables(partial(labels_of, qrels), runs)
    tables = pool_from_tables(judgments, read, evaluated=len(runs))
    if not runs:
        sides = random_judged_pairs(tables.pool, tables.grades, n_pairs, depth, seed)
        return JudgedLists(first=sides[0], second=sides[1], notes=tuple(tables.notes))
    rankings = dict(zip(("first", "second"), tables.rankings, strict=True))
    held = (tables.rankings[0].lengths > 0) & (tables.rankings[1].lengths > 0)
    pairs = [(query, *rankings) for query in tables.pool.query_texts[held].tolist()]
    data = PreferenceData.from_rankings(tables.pool, tables.grades, rankings, pairs, depth)
    return JudgedLists(
        first=data.preferred,
        second=data.other,
        notes=tuple(tables.notes),
        n_left=int((~held).sum()),
        n_queries=held.size,
        n_unknown=data.n_unjudged + data.n_missing,
    )
