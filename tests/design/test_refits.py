"""Predictions that learn from the sample: unbiased by enumeration, blind to a query's own labels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from naive import pool_of, random_lists, random_probs, rankings_of

from activeeval import AP, METHODS, NDCG, Campaign, Recall, Target, replicate
from activeeval.campaign.sample import from_arrays, to_arrays
from activeeval.design.beliefs import GradeProbs
from activeeval.design.selections import Selection
from activeeval.grade_models import QueryFactor, ValueRefit
from activeeval.grade_models.refit import N_FOLDS
from activeeval.grade_models.values import PRIOR_LABELS
from activeeval.simulation import repetition_seeds

MEASURES = {"nDCG": NDCG("exp", cutoff=3), "AP": AP(), "R": Recall(2)}
KINDS = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6]])


def case(measure="nDCG", n_queries=4, longest=4, seed=0):
    """Return a target of two lists, probabilities of three kinds of items, and labels that do not follow them."""
    random = np.random.default_rng(seed)
    lengths = random.integers(2, longest, n_queries).tolist()
    pool = pool_of(lengths)
    lists = [rankings_of(pool, random_lists(random, lengths, least=2)) for _ in range(2)]
    target = Target(MEASURES[measure], *lists)
    return target, KINDS[random.integers(0, 3, pool.n_items)], random.integers(0, 3, pool.n_items)


def design_of(target, probs, refit=ValueRefit.of, **options):
    return METHODS["depth"].design(target, probs, factor=QueryFactor(sigma=1.0), refit=refit, **options)


def outcomes(order, level):
    """Yield what can have been taken at a level, (probability, depth of every query)."""
    chances = order.inclusion_probs(level)[1]
    of_queries = []
    for first, last in itertools.pairwise(order.offsets.tolist()):
        at_least = [1.0, *chances[first:last].tolist(), 0.0]
        of_queries.append([(at_least[k] - at_least[k + 1], k) for k in range(last - first + 1)])
    for combination in itertools.product(*of_queries):
        chance = np.prod([p for p, _ in combination])
        if chance > 0:
            yield chance, [depth for _, depth in combination]


def learned(refit, items, grades):
    """Return the probabilities of every item once labels of some are in."""
    rows, row_of_item = refit.after(items, grades)
    return rows[row_of_item]


def selection_at(order, level, depths):
    queries = np.flatnonzero(np.array(depths) > 0)
    places = [order.offsets[q] + k for q in queries for k in range(depths[q])]
    counts = np.array(depths, dtype=np.int64)[queries]
    return Selection(queries=queries, counts=counts, places=np.array(places, dtype=np.int64), level=level, cost=0.0)


@pytest.mark.parametrize("measure", MEASURES)
def test_at_a_fixed_level_the_estimate_is_unbiased_by_enumeration(measure):
    """Over all that can be taken of four queries, each with labels of the others at hand or not."""
    target, probs, labels = case(measure, longest=6)
    design = design_of(target, probs)
    reading, order = design.reading(), design.order
    judge = reading.judge(labels)
    plain = design_of(target, probs, refit=None).reading().judge(labels)
    level = 0.5 / float(order.place_rates[order.place_rates > 0].mean())
    mean, moved, pi = 0.0, 0.0, order.inclusion_probs(level)[0]
    truth = target.values(labels)
    total = 0.0
    for chance, depths in outcomes(order, level):
        selection = selection_at(order, level, depths)
        total += chance
        taken, weights = selection.queries, order.query_probs / pi
        shown = judge.totals(selection).totals[:, 0]
        mean += chance * float(weights[taken] @ shown)
        moved += chance * float(np.abs(shown - plain.totals(selection).totals[:, 0]).sum())
    assert total == pytest.approx(1)
    is_open = pi > 0
    assert mean == pytest.approx(float(order.query_probs[is_open] @ truth[is_open]), rel=1e-9)
    assert moved > 1e-6  # the labels of others do move what is expected


def test_what_was_learned_is_counted_by_hand():
    target, probs, labels = case(n_queries=12)
    refit, pool = ValueRefit.of(target.pool, probs), target.pool
    items = np.arange(0, pool.n_items, 2)
    after = learned(refit, items, labels[items])
    kinds = [KINDS.tolist().index(row) for row in probs.tolist()]
    assert set(refit.folds.tolist()) > {0}
    for z in range(pool.n_items):
        others = [i for i in items if refit.folds[i] != refit.folds[z] and kinds[i] == kinds[z]]
        counts = np.bincount(labels[others], minlength=3)
        expected = (counts + PRIOR_LABELS * KINDS[kinds[z]]) / (len(others) + PRIOR_LABELS)
        assert after[z] == pytest.approx(expected, abs=1e-12)


def test_a_query_s_own_labels_teach_nothing_of_it():
    target, probs, labels = case(n_queries=12)
    refit, owners = ValueRefit.of(target.pool, probs), target.pool.item_queries
    items = np.arange(target.pool.n_items)
    for q in range(12):
        turned = np.where(owners == q, 2 - labels, labels)
        own = owners == q
        assert np.array_equal(learned(refit, items, turned)[own], learned(refit, items, labels)[own])


def test_probabilities_of_many_kinds_come_in_ten_bins_and_keep_their_differences():
    random = np.random.default_rng(5)
    pool = pool_of([10] * 30)
    probs = random_probs(random, 300, 4) + 1e-3
    probs /= probs.sum(axis=1, keepdims=True)
    refit = ValueRefit.of(pool, probs)
    assert len(refit.expected) == 10
    assert np.bincount(refit.kinds).min() >= 25
    assert learned(refit, np.empty(0, np.int64), np.empty(0, np.int64)) == pytest.approx(probs)
    assert len(np.unique(refit.folds)) == N_FOLDS


@pytest.mark.parametrize("measure", MEASURES)
def test_a_repetition_is_the_campaign_with_its_seed_bit_for_bit(measure):
    target, probs, labels = case(measure, n_queries=24, longest=8)
    design = design_of(target, probs, budget=25)
    runs = replicate(design, labels, [15, 25], 3, rng=7, n_jobs=2)
    pool = target.pool
    names = [(pool.query_ids[q], item) for q, item in zip(pool.item_queries, pool.item_ids, strict=True)]
    grades = dict(zip(names, labels.tolist(), strict=True))
    for r, seed in enumerate(repetition_seeds(7, 3)):
        campaign = Campaign(design, rng=seed)
        campaign.run(lambda query, items: [grades[query, item] for item in items])
        estimate = campaign.estimate()
        assert estimate.value == runs.values[r, 1]
        assert estimate.std_error**2 == pytest.approx(runs.variances[r, 1], rel=1e-12)


def test_a_sample_on_file_learns_as_it_did():
    target, probs, _ = case(n_queries=12)
    campaign = Campaign(design_of(target, probs, budget=10), rng=1)
    assert from_arrays(to_arrays(campaign)).design.beliefs.refit is not None
    plain = Campaign(design_of(target, probs, refit=None, budget=10), rng=1)
    assert from_arrays(to_arrays(plain)).design.beliefs.refit is None


def test_known_grades_stay_as_they_are_known():
    target, probs, labels = case(n_queries=12)
    known = np.where(np.arange(labels.size) % 5 == 0, labels, -1)
    beliefs = GradeProbs.of(target.pool, probs, factor=QueryFactor(sigma=1.0), known=known, refit=ValueRefit.of)
    items = np.flatnonzero(known < 0)[::2]
    after = beliefs.after(items, labels[items], lambda believed: believed)
    at = np.flatnonzero(known >= 0)
    assert (after.nodes[:, at, known[at]] == 1).all()
    assert after.refit is None


def test_the_stage_makes_the_same_of_distinct_rows_as_of_all_items():
    """Beliefs that are made of the probabilities of every item, and then hedged, are those made of their few rows."""
    target, probs, labels = case(n_queries=12)
    known = np.where(np.arange(labels.size) % 5 == 0, labels, -1)
    factor = QueryFactor(sigma=1.0)
    beliefs = GradeProbs.of(target.pool, probs, factor=factor, known=known, refit=ValueRefit.of)
    items = np.flatnonzero(known < 0)[::2]
    after = beliefs.after(items, labels[items], GradeProbs.defended)
    whole = learned(beliefs.refit, items, labels[items])
    expected = GradeProbs.of(target.pool, whole, factor=factor, known=known).defended()
    assert after.nodes == pytest.approx(expected.nodes, abs=1e-12)
    assert after.weights == pytest.approx(expected.weights, abs=1e-12)
