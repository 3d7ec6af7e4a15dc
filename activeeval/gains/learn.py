"""Workflows of the gains commands: learn gains from preferences, choose the next pairs, compare two measures."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from activeeval.core.checks import LARGEST_SEED, whole_number
from activeeval.core.errors import InputError
from activeeval.core.results import Caution, Note
from activeeval.core.types import Ints
from activeeval.formats.judgments.from_files import labels_of
from activeeval.formats.loading import load_tables, pool_from_tables
from activeeval.gains import (
    GainDiscountLearner,
    LearnedGains,
    ListSource,
    PreferenceData,
    SimpleMargin,
    UndeterminedWarning,
    bootstrap_gains,
    gain_intervals,
    load_pairs,
    random_judged_pairs,
)
from activeeval.report.numbers import agreeing, counted


def learn_gains(
    learner: GainDiscountLearner,
    data: PreferenceData,
    *,
    validation: PreferenceData | None = None,
    resamples: int = 200,
    seed: int = 0,
    confidence: float = 0.95,
    best_gain: float | None = None,
    by_rank: bool = False,
) -> LearnedGains:
    """Fit a learner to preferences and return its gains, discounts, intervals and warnings.

    Parameters
    ----------
    validation : PreferenceData, optional
        Pairs that choose C in place of cross-validation.
    resamples : int
        Number of resamples of the stability band; 0 leaves it out.
    confidence : float
        Confidence of the intervals, and share of the resamples within the band. If the preferences support no interval,
        a caution gives the reason.
    best_gain : float, optional
        Gain of the best grade; by default on the scale of the learned weights.
    by_rank : bool
        True for a measure with a gain for every rank and grade, instead of gains times discounts.

    Raises
    ------
    InputError
        If the pairs or a parameter are invalid, or no gains and discounts can be factored from the weights.
    SolverError
        If the solver does not reach its tolerance.
    """
    whole_number(seed, "seed", 0, LARGEST_SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndeterminedWarning)  # the cautions are returned
        learner.fit(data, validation=validation)
    stability = bootstrap_gains(learner, data, resamples, seed) if resamples else None
    intervals, refused = None, []
    try:
        intervals = gain_intervals(learner, data, confidence)
    except InputError as problem:
        refused = [Caution("warning", "no intervals", {"why": str(problem)})]
    learned = LearnedGains.of(learner, data, stability, confidence, best_gain, intervals, by_rank)
    return replace(learned, cautions=(*learned.cautions, *refused))


@dataclass(frozen=True, slots=True, kw_only=True)
class PairToAsk:
    """A pair of lists to label next.

    Attributes
    ----------
    place : str
        File and line of the pair.
    query : str or None
        None if the pairs have no query.
    first, second : tuple of int
        The grades of the two lists.
    difference : float or None
        Absolute difference of the two lists' utilities under the current weights; None while the pairs are chosen at
        random.
    """

    place: str
    query: str | None
    first: tuple[int, ...]
    second: tuple[int, ...]
    difference: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPairs:
    """The pairs to label next.

    Attributes
    ----------
    pairs : tuple of PairToAsk
    n_answered, n_unanswered : int
    is_by_chance : bool
        True if too few pairs are answered for weights, so that the pairs are chosen at random.
    """

    pairs: tuple[PairToAsk, ...]
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
    """Choose the unanswered pairs with the smallest utility difference under weights learned from the answered pairs.

    Parameters
    ----------
    paths : sequence of str
        Files of pairs, answered or not.
    max_grade : int or None
        Largest grade of the scale; None takes the largest that occurs.
    source : ListSource or None
        Turns names of runs into lists of grades; None if the pairs list grades.
    count : int
        Number of pairs.
    start : int
        Number of answers below which the pairs are chosen at random.

    Raises
    ------
    InputError
        If a file cannot be read, every pair is answered, or no unanswered pair is informative.
    """
    answered, unanswered = load_pairs(paths, max_grade, source)
    if unanswered is None:
        raise InputError("every pair of these files has an answer: no pair is left to judge")
    closest = SimpleMargin(unanswered, learner, n_start=start, rng=seed, answered=answered).closest(count)
    if not closest:
        raise InputError(
            f"the {counted(unanswered.n_pairs, 'unanswered pair')} {agreeing(unanswered.n_pairs, 'is', 'are')} of "
            f"lists of the same grades, or such as every DCG puts in "
            "the same order: none of them is informative"
        )
    return NextPairs(
        pairs=tuple(_question(unanswered, row, margin) for row, margin in closest),
        n_answered=0 if answered is None else answered.n_pairs,
        n_unanswered=unanswered.n_pairs,
        is_by_chance=closest[0][1] is None,
    )


def _question(pairs: PreferenceData, row: int, margin: float | None) -> PairToAsk:
    """Build the record of the unanswered pair number `row`.

    `margin` is its utility difference, None if chosen at random.
    """
    return PairToAsk(
        place=pairs.place(row),
        query=None if pairs.queries is None else str(pairs.queries[row]),
        first=tuple(pairs.preferred[row].tolist()),
        second=tuple(pairs.other[row].tolist()),
        difference=margin,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GradeLists:
    """Pairs of lists of grades built from judgments.

    Attributes
    ----------
    first, second : ndarray of int, shape (n, depth)
        Grades by rank of the two lists of each pair.
    notes : tuple of Note
    n_left, n_queries : int
        Number of judged queries missing from one of the runs, and of all judged queries.
    n_unknown : int
        Number of list positions without a judged item.
    """

    first: Ints
    second: Ints
    notes: tuple[Note | Caution, ...]
    n_left: int = 0
    n_queries: int = 0
    n_unknown: int = 0


def judged_lists(qrels: str, runs: Sequence[str], depth: int, n_pairs: int, seed: int) -> GradeLists:
    """Build pairs of graded lists: of two runs by query, or without runs, random orders of each query's judged items.

    Parameters
    ----------
    qrels : str
        File of judgments.
    runs : sequence of str
        Two files of runs, or none.
    depth : int
        Length of the lists; shorter ones are padded with grade 0.
    n_pairs : int
        Number of random pairs; ignored with runs.

    Raises
    ------
    InputError
        If a file cannot be read, or no query gives a pair.
    """
    judgments, runs_read = load_tables(partial(labels_of, qrels), runs)
    tables = pool_from_tables(judgments, runs_read, evaluated=len(runs))
    if not runs:
        sides = random_judged_pairs(tables.pool, tables.grades, n_pairs, depth, seed)
        return GradeLists(first=sides[0], second=sides[1], notes=tuple(tables.notes))
    rankings = dict(zip(("first", "second"), tables.rankings, strict=True))
    in_both = (tables.rankings[0].lengths > 0) & (tables.rankings[1].lengths > 0)
    pairs = [(query, *rankings) for query in tables.pool.query_texts[in_both].tolist()]
    data = PreferenceData.from_rankings(tables.pool, tables.grades, rankings, pairs, depth)
    return GradeLists(
        first=data.preferred,
        second=data.other,
        notes=tuple(tables.notes),
        n_left=int((~in_both).sum()),
        n_queries=in_both.size,
        n_unknown=data.n_unjudged + data.n_missing,
    )
