"""Predictions that learn from the sample: unbiased by enumeration, blind to a query's own labels."""

import itertools

import numpy as np
import pytest
from core_cases import judge_all
from naive import pool_of, random_lists, random_probs, rankings_of

from activeeval import AP, DCG, ERR, METHODS, NDCG, Campaign, Recall, Target, replicate
from activeeval.core.design.beliefs import MACHINE_SHARES, SHARE, GradeProbs
from activeeval.core.design.inputs import HEDGE
from activeeval.core.design.item_readings import FEWEST_FITTED
from activeeval.core.design.selections import Selection
from activeeval.core.grade_models import QueryFactor, ValueRefit
from activeeval.core.grade_models.refit import N_FOLDS
from activeeval.core.grade_models.values import PRIOR_LABELS
from activeeval.core.simulation.replications import repetition_seeds
from activeeval.formats.sample_file import from_arrays, to_arrays

MEASURES = {"nDCG": NDCG("exp", cutoff=3), "AP": AP(), "R": Recall(2), "ERR": ERR(2, cutoff=3)}
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
    for r, seed in enumerate(repetition_seeds(7, 3)):
        estimate = judge_all(Campaign(design, rng=seed), labels).estimate()
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
    after = beliefs.after(items, labels[items], lambda table: table.defended().unturned())
    whole = learned(beliefs.refit, items, labels[items])
    doubted = {"factor": factor, "known": known, "refit": ValueRefit.of}
    expected = GradeProbs.of(target.pool, whole, **doubted).defended()
    n, (own, _, turned) = factor.node_weights.size, MACHINE_SHARES
    left = np.delete(expected.weights, np.arange(2 * n, 3 * n), axis=1)
    left[:, :n] *= (own + turned) / own
    assert after.nodes == pytest.approx(expected.unturned().nodes, abs=1e-12)
    assert after.weights == pytest.approx(left / left.sum(axis=1, keepdims=True), abs=1e-12)


def doubted(n_queries=12, known=None):
    target, probs, labels = case(n_queries=n_queries)
    beliefs = GradeProbs.of(target.pool, probs, factor=QueryFactor(sigma=1.0), known=known, refit=ValueRefit.of)
    return target, beliefs.defended(), labels


def test_a_machine_s_word_is_doubted_by_nodes_that_know_nothing():
    target, beliefs, _ = doubted()
    factor = QueryFactor(sigma=1.0)
    n, whole = factor.node_weights.size, 1 - SHARE
    assert beliefs.prior.size == 3 * n + 3
    for k, share in enumerate(MACHINE_SHARES):
        assert beliefs.prior[k * n : (k + 1) * n] == pytest.approx(factor.node_weights * whole * share)
    assert beliefs.nodes[n : 2 * n] == pytest.approx(factor.node_probs(np.full((target.pool.n_items, 3), 1 / 3)))
    assert beliefs.prior.sum() == pytest.approx(1)


def test_a_machine_turned_round_is_as_far_beyond_the_mean_by_the_formula():
    """One item and one grade at a time: logit of p(y > k) less that of the mean changes its sign."""
    target, beliefs, _ = doubted()
    factor = QueryFactor(sigma=1.0)
    n, probs = factor.node_weights.size, beliefs.grade_probs.astype(np.float64)
    middle = [np.mean([sum(row[k + 1 :]) for row in probs]) for k in range(2)]
    for z in range(target.pool.n_items):
        odds = [sum(probs[z, k + 1 :]) / sum(probs[z, : k + 1]) for k in range(2)]
        turned = [(m / (1 - m)) ** 2 / odd for m, odd in zip(middle, odds, strict=True)]
        above = [1.0, *(each / (1 + each) for each in turned), 0.0]
        own = [[above[k] - above[k + 1] for k in range(3)]]
        assert beliefs.nodes[2 * n : 3 * n, z] == pytest.approx(factor.node_probs(own)[:, 0], abs=1e-6)


def test_once_values_are_learnt_anew_a_machine_turned_round_is_the_machine():
    _, beliefs, labels = doubted()
    n, items = QueryFactor(sigma=1.0).node_weights.size, np.arange(labels.size)
    trusted = beliefs.trusting(items, labels)
    after = trusted.unturned()
    assert np.array_equal(after.nodes, np.concatenate((trusted.nodes[: 2 * n], trusted.nodes[3 * n :])))
    assert after.weights[:, :n] == pytest.approx(trusted.weights[:, :n] + trusted.weights[:, 2 * n : 3 * n])
    assert np.array_equal(after.weights[:, n:], trusted.weights[:, [*range(n, 2 * n), *range(3 * n, 3 * n + 3)]])
    assert after.weights.sum(axis=1) == pytest.approx(1)
    assert after.prior.sum() == pytest.approx(1)


def naive_trust(beliefs, owners, folds, items, labels, query):
    """Return how likely each part of a machine's nodes is, by the labels of queries in other folds, one by one."""
    n = (beliefs.prior.size - 3) // 3
    trust = np.array(MACHINE_SHARES)
    own = folds[np.flatnonzero(owners == query)[0]]
    for q in np.unique(owners[items]):
        if folds[np.flatnonzero(owners == q)[0]] == own:
            continue
        its = [i for i in items if owners[i] == q]
        for part in range(3):
            nodes = range(part * n, (part + 1) * n)
            weights = [beliefs.weights[q, u] for u in nodes]
            each = [np.prod([beliefs.nodes[u, i, labels[i]] for i in its]) for u in nodes]
            trust[part] *= np.average(each, weights=weights)
    return trust / trust.sum()


@pytest.mark.parametrize("has_known", [False, True])
def test_trust_is_that_of_bayes_by_hand(has_known):
    _, plain, labels = doubted()
    known = np.where(np.arange(labels.size) % 6 == 0, labels, -1) if has_known else None
    target, beliefs, labels = doubted(known=known)
    items = np.flatnonzero(beliefs.known < 0)[::2]
    after, owners = beliefs.trusting(items, labels[items]), target.pool.item_queries
    n = (plain.prior.size - 3) // 3
    for q in range(target.pool.n_queries):
        trust = naive_trust(beliefs, owners, beliefs.refit.folds, items, labels, q)
        expected = beliefs.weights[q].copy()
        for part, share in enumerate(MACHINE_SHARES):
            expected[part * n : (part + 1) * n] *= trust[part] / share
        assert after.weights[q] == pytest.approx(expected / expected.sum(), rel=1e-9)


def test_grades_that_a_machine_rules_out_leave_weights_as_they_can_be():
    """Known grades that its probabilities make impossible: labels of other queries say something all the same."""
    target, _, labels = case(n_queries=12)
    sure = np.eye(3)[(labels + 1) % 3]
    known = np.where(np.arange(labels.size) % 2 == 0, labels, -1)
    hedged = GradeProbs.of(target.pool, sure, known=known, refit=ValueRefit.of).defended()
    items = np.flatnonzero(known < 0)
    assert (hedged.weights[:, 0] == 0).any()
    assert hedged.nodes[2, items].min() > 0
    after = hedged.trusting(items, labels[items])
    assert after.weights.sum(axis=1) == pytest.approx(1)


def of_items(refit, n_queries):
    target, probs, labels = case("nDCG", n_queries=n_queries, longest=6)
    additive = Target(DCG([0, 1, 2]), target.ranking, target.versus)
    return METHODS["items"].design(additive, probs, factor=QueryFactor(sigma=1.0), refit=refit), labels


def test_rates_of_items_are_hedged_by_hand_and_plans_are_not():
    target, probs, _ = case(n_queries=12, longest=6)
    additive = Target(DCG([0, 1, 2]), target.ranking, target.versus)
    factor = QueryFactor(sigma=1.0)

    def made(grade_probs, refit=None):
        return METHODS["items"].design_input(additive, grade_probs, factor=factor, refit=refit)

    own, blind, hedged = made(probs), made(np.full_like(probs, 1 / 3)), made(probs, ValueRefit.of)
    rated = own.target_variances[0].of_open
    assert hedged.target_variances[0].of_open == pytest.approx(rated)
    order = np.argsort(blind.places.items[blind.places.matters])[
        np.argsort(np.argsort(own.places.items[own.places.matters]))
    ]
    mixed = (1 - HEDGE) * rated + HEDGE * blind.target_variances[0].of_open[order]
    assert hedged.hedged_variances[0].of_open == pytest.approx(mixed)
    assert np.array_equal(own.hedged_variances[0].of_open, rated)


@pytest.mark.parametrize("n_queries", [FEWEST_FITTED - 1, FEWEST_FITTED])
def test_what_a_machine_expects_is_a_regressor_of_its_own_where_queries_are_many(n_queries):
    design, labels = of_items(ValueRefit.of, n_queries)
    plain, _ = of_items(None, n_queries)
    n_more = int(n_queries >= FEWEST_FITTED)
    assert design.reading().regressors.shape[1] == plain.reading().regressors.shape[1] + n_more
    if n_more:
        # its population is known: what the items of each query are expected to be worth
        reading, order = design.reading(), design.order
        worth = np.bincount(order.place_queries, reading.open_contrast * reading.means, minlength=n_queries)
        assert reading.regressors[:, -1] == pytest.approx(worth)
        everything = selection_at(order, np.inf, np.diff(order.offsets).tolist())
        shown = reading.judge(labels).totals(everything).totals[:, -1]
        assert shown == pytest.approx(worth[everything.queries])
