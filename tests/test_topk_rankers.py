"""The rankers that learn from a top-k truth: what they minimise, their laws, the choice of their parameters."""

from __future__ import annotations

import itertools
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression

from activeeval import DCG, NDCG, QueryPool, Rankings
from activeeval.errors import InputError
from activeeval.io.letor import read_letor
from activeeval.io.scores import read_scores
from activeeval.rankers import (
    SVMMAP,
    AdaRank,
    FocusedBoost,
    FocusedNet,
    FocusedSVM,
    ListMLE,
    ListNet,
    RankBoost,
    RankingSVM,
    RankNet,
    RankSVM,
    choose,
)
from activeeval.rankers.bundle import Objective
from activeeval.rankers.lists import JudgedLists
from activeeval.rankers.losses import ListwiseAP, PairHinge, PermutationCrossEntropy
from tests import naive_rankers as naive

SVMS = [RankSVM(), SVMMAP(), FocusedSVM()]
NETS = [RankNet(), ListNet(), ListMLE(k=3, rng=0), FocusedNet()]
BOOSTED = [RankBoost(), AdaRank(), FocusedBoost()]
TEN = SVMS + NETS + BOOSTED
ALL = [*TEN, RankBoost(n_thresholds=5), AdaRank(max_repeats=1)]


def name(value):
    return repr(value).replace("\n", "")[:60]


def top_k_items(seed, n_queries=12, n_features=4, k=3, noise=0.5):
    """Items of interleaved queries whose best k, by a linear signal and noise, have the grades k … 1."""
    random = np.random.default_rng(seed)
    query_ids = np.repeat(np.arange(n_queries), random.integers(k + 1, 9, size=n_queries))
    X = random.normal(size=(query_ids.size, n_features))
    signal = X @ np.linspace(1, -1, n_features) + noise * random.normal(size=query_ids.size)
    grades = np.zeros(query_ids.size, dtype=np.int64)
    for q in range(n_queries):
        rows = np.flatnonzero(query_ids == q)
        grades[rows[np.argsort(-signal[rows])][:k]] = np.arange(k, 0, -1)
    order = random.permutation(query_ids.size)
    return X[order], grades[order], query_ids[order]


def by_query(X, grades, query_ids):
    """(rows, grades) of each query, the best grade first."""
    queries = []
    for q in np.unique(query_ids):
        rows = np.flatnonzero(query_ids == q)
        rows = rows[np.argsort(-grades[rows], kind="stable")]
        queries.append((X[rows], grades[rows].tolist()))
    return queries


# Largest margins against a program with all slacks


def pair_groups(queries, top):
    return [
        (1 / len(queries) / len(naive.pairs_of(g, top)), np.ones(1), (g[u] - g[v]) * (rows[u] - rows[v])[None])
        for rows, g in queries
        for u, v in naive.pairs_of(g, top)
    ]


def ap_group(rows, r, weight):
    """All rankings of a list with its first r items relevant."""
    n = len(rows)
    orders = list(itertools.permutations(range(n)))
    losses = np.array([1 - naive.average_precision(z, r) for z in orders])

    def psi(order):
        place = np.argsort(order)
        signed = [(1 if place[i] < place[j] else -1) * (rows[i] - rows[j]) for i in range(r) for j in range(r, n)]
        return np.mean(signed, axis=0)

    right = psi(range(n))
    return weight, losses, np.array([right - psi(z) for z in orders])


def small_lists():
    X, grades, query_ids = top_k_items(3, n_queries=5, n_features=3, k=3, noise=1.5)
    keep = np.zeros(grades.size, dtype=bool)
    for q in range(5):
        keep[np.flatnonzero(query_ids == q)[np.argsort(-grades[query_ids == q])][:5]] = True
    return X[keep], grades[keep], query_ids[keep]


def assert_solves(ranker, groups, C):
    weights, objective = naive.least_hinges(groups, C)
    np.testing.assert_allclose(ranker.objective_, objective, rtol=1e-6)
    np.testing.assert_allclose(ranker.coef_, weights, atol=1e-3 * np.abs(weights).max())
    assert 0 <= ranker.gap_ <= 1e-8 * ranker.objective_


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_rank_svm_solves_the_program_of_all_pairs(C):
    X, grades, query_ids = top_k_items(1, noise=2.0)
    ranker = RankSVM(C, standardize=False, tol=1e-8).fit(X, grades, query_ids)
    assert_solves(ranker, pair_groups(by_query(X, grades, query_ids), top=False), C)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_svm_map_solves_the_program_of_all_rankings(C):
    X, grades, query_ids = small_lists()
    ranker = SVMMAP(C, standardize=False, tol=1e-8).fit(X, grades, query_ids)
    assert_solves(ranker, [ap_group(rows, 3, 1 / 5) for rows, _ in by_query(X, grades, query_ids)], C)


@pytest.mark.parametrize("beta", [0.2, 0.7])
def test_focused_svm_solves_the_program_of_both(beta):
    X, grades, query_ids = small_lists()
    queries = by_query(X, grades, query_ids)
    top = [ap_group(rows[:3], r, 1 / 10) for rows, _ in queries for r in (1, 2)]
    nothing = sum(weight * losses.max() for weight, losses, _ in top)  # of pairs it is 1
    groups = [(beta / nothing * weight, *rest) for weight, *rest in top]
    groups += [((1 - beta) * weight, *rest) for weight, *rest in pair_groups(queries, top=True)]
    ranker = FocusedSVM(beta, C=5.0, standardize=False, tol=1e-8).fit(X, grades, query_ids)
    assert_solves(ranker, groups, 5.0)


def test_a_bundle_that_is_cut_short_warns_and_says_by_how_much():
    with pytest.warns(ConvergenceWarning, match=r"RankSVM did not converge in 2 iterations: its objective \S+ may be"):
        short = RankSVM(100.0, max_iter=2).fit(*top_k_items(1))
    long = RankSVM(100.0, tol=1e-8).fit(*top_k_items(1))
    assert short.objective_ - short.gap_ <= long.objective_ <= short.objective_


def test_a_line_is_halved_towards_its_least_point():
    X, grades, query_ids = top_k_items(1, noise=2.0)
    lists = JudgedLists.of(grades, query_ids)
    problem = Objective(X[lists.rows], PairHinge().on(lists), 5.0)
    start, end = np.zeros(4), np.array([1.0, 0.5, 0.0, -2.0])
    along = [problem.cut(start + t * (end - start))[0] for t in np.linspace(0, 1, 257)]
    assert 0 < np.argmin(along) < 256
    best, objective = problem.best_between(start, end, along[0])
    assert objective == pytest.approx(problem.cut(best)[0], rel=1e-12)
    assert objective <= min(along) + 0.02 * (along[0] - min(along))


def test_standardised_features_are_divided_by_their_deviation():
    X, grades, query_ids = top_k_items(1)
    whole = RankSVM(tol=1e-8).fit(X, grades, query_ids)
    by_hand = RankSVM(standardize=False, tol=1e-8).fit(X / X.std(axis=0), grades, query_ids)
    np.testing.assert_allclose(whole.coef_, by_hand.coef_, atol=1e-4)


# Boosting against plain loops


def unit_range(X):
    return (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("ranker", "beta", "top"),
    [
        (RankBoost(n_iter=12), 0.0, False),
        (AdaRank(n_iter=3), 1.0, False),
        (FocusedBoost(0.0, n_iter=8), 0.0, True),
        (FocusedBoost(0.4, n_iter=8), 0.4, True),
        (FocusedBoost(1.0, n_iter=3), 1.0, True),
    ],
    ids=name,
)
def test_boosting_is_the_plain_loop(ranker, beta, top):
    X, grades, query_ids = small_lists()
    fitted = clone(ranker).fit(X, grades, query_ids)
    weights, edges = naive.boosted(by_query(unit_range(X), grades, query_ids), beta, top, ranker.n_iter)
    np.testing.assert_allclose(fitted.coef_, weights, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fitted.edges_, edges, rtol=1e-9)


@pytest.mark.parametrize("n_thresholds", [None, 7])
def test_rank_boosts_error_is_below_its_bound_after_every_round(n_thresholds):
    """The share of pairs out of order ≤ Σ D_1 exp(−ΔF) ≤ Π √(1 − ρ²)."""
    X, grades, query_ids = top_k_items(5, noise=1.5)
    ranker = RankBoost(n_iter=40, n_thresholds=n_thresholds).fit(X, grades, query_ids)
    bounds = np.cumprod(np.sqrt(1 - ranker.edges_**2))
    assert np.all(ranker.edges_ > 0)
    for bound, scores in zip(bounds, ranker.staged_predict(X), strict=True):
        wrong, exponential = [], []
        for s, g in by_query(scores[:, None], grades, query_ids):
            margins = np.array([s[u, 0] - s[v, 0] for u, v in naive.pairs_of(g, top=False)])
            wrong.append(np.mean(margins <= 0))
            exponential.append(np.mean(np.exp(-margins)))
        assert np.mean(wrong) <= np.mean(exponential) <= bound * (1 + 1e-12)
    assert np.mean(wrong) < 0.3


def test_a_feature_that_ties_all_items_is_not_taken_even_where_ties_are_worth_more():
    """In the order of feature 0, either way, the relevant item is second: .63, tied it is worth .71."""
    X = np.array([[0.0, 1.0], [0.5, 1.0], [1.0, 1.0], [0.0, 2.0], [0.5, 2.0], [1.0, 2.0]])
    ranker = AdaRank().fit(X, [0, 1, 0, 0, 1, 0], [0, 0, 0, 1, 1, 1])
    assert ranker.coef_[0] != 0 == ranker.coef_[1]
    np.testing.assert_allclose(ranker.edges_, 1 / np.log2(3))


def test_thresholds_are_indicators_of_equal_steps():
    X, grades, query_ids = top_k_items(2)
    ranker = RankBoost(n_iter=30, n_thresholds=3).fit(X, grades, query_ids)
    steps = [(unit_range(X) > step).astype(float) for step in (0.25, 0.5, 0.75)]
    by_hand = RankBoost(n_iter=30).fit(np.hstack(steps), grades, query_ids)
    np.testing.assert_allclose(ranker.coef_, by_hand.coef_, rtol=1e-12)
    np.testing.assert_allclose(ranker.predict(X), by_hand.predict(np.hstack(steps)), rtol=1e-12, atol=1e-12)


def test_a_perfect_feature_weighs_a_finite_amount():
    ranker = RankBoost(n_iter=500).fit([[1.0], [0.0], [1.0]], [1, 0, 1], ["a"] * 3)
    assert np.isfinite(ranker.coef_).all()
    assert ranker.predict([[1.0]]) > ranker.predict([[0.0]])


def test_the_best_feature_is_taken_for_ever_unless_its_repeats_are_limited():
    X, grades, query_ids = top_k_items(3)
    X[:, 0] += grades
    assert np.count_nonzero(AdaRank(n_iter=20).fit(X, grades, query_ids).coef_) == 1
    limited = AdaRank(n_iter=20, max_repeats=1).fit(X, grades, query_ids)
    assert np.all(np.count_nonzero(np.diff(limited.path_, axis=0), axis=1) == 1)
    assert np.count_nonzero(np.diff(limited.path_, axis=0), axis=0).tolist() == [1, 1, 1, 1]
    assert limited.n_iter_ == 4


# Gradients


def test_rank_net_is_a_logistic_regression_of_differences_that_has_converged():
    X, grades, query_ids = top_k_items(1, n_features=3, noise=2.0)
    queries = by_query(X / X.std(axis=0), grades, query_ids)
    rows, weights = [], []
    for features, g in queries:
        pairs = naive.pairs_of(g, top=False)
        rows += [features[u] - features[v] for u, v in pairs]
        weights += [1 / len(pairs)] * len(pairs)
    both = np.vstack((rows, -np.array(rows)))
    labels = np.repeat([1, 0], len(rows))
    model = LogisticRegression(C=1e10, fit_intercept=False, tol=1e-12, max_iter=10_000)
    model.fit(both, labels, sample_weight=np.tile(weights, 2))
    ranker = RankNet(n_iter=300).fit(X, grades, query_ids)
    np.testing.assert_allclose(ranker.coef_, model.coef_[0], rtol=1e-4)


@pytest.mark.parametrize(
    ("ranker", "loss"),
    [
        (ListNet(n_iter=300), naive.top_one_cross_entropy),
        (ListMLE(k=1, n_iter=300), lambda s, g: naive.top_k_likelihood(s, 1)),
        (ListMLE(k=2, n_iter=300), lambda s, g: naive.top_k_likelihood(s, 2)),
    ],
    ids=name,
)
def test_list_rankers_end_at_the_least_mean_of_their_loss(ranker, loss):
    X, grades, query_ids = top_k_items(1, n_queries=8, n_features=2, k=2, noise=2.0)
    keep = np.isin(query_ids, np.flatnonzero(np.bincount(query_ids) <= 6))
    X, grades, query_ids = X[keep], grades[keep], query_ids[keep]
    queries = by_query(X / X.std(axis=0), grades, query_ids)

    def mean_loss(w):
        return np.mean([loss((rows @ w).tolist(), g) for rows, g in queries])

    fitted = ranker.fit(X, grades, query_ids)
    least = minimize(mean_loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-12})
    np.testing.assert_allclose(fitted.coef_, least.x, atol=1e-5)


# Focused rankers at the ends of beta


class TopPairs(RankSVM):
    def _loss(self):
        return PairHinge("top")


class TopLists(SVMMAP):
    def _loss(self):
        return ListwiseAP("top")


class TopPermutations(ListNet):
    def _loss(self):
        return PermutationCrossEntropy("top")


def test_focused_svm_ends_in_its_parents_on_the_top():
    rows = top_k_items(4)
    np.testing.assert_allclose(
        FocusedSVM(0.0, C=3.0, tol=1e-9).fit(*rows).coef_, TopPairs(3.0, tol=1e-9).fit(*rows).coef_, atol=1e-5
    )
    lists = [g[: g.count(0) * -1] for _, g in by_query(*rows)]
    nothing = np.mean([naive.mean_ap_hinge([0.0] * len(g), g) for g in lists])
    np.testing.assert_allclose(
        FocusedSVM(1.0, C=3.0 * nothing, tol=1e-9).fit(*rows).coef_, TopLists(3.0, tol=1e-9).fit(*rows).coef_, atol=1e-5
    )


def test_focused_boost_ends_in_rank_boost_of_top_or_not_and_in_ada_rank_of_the_top():
    X, grades, query_ids = top_k_items(4)
    X = unit_range(X)
    focused, binary = FocusedBoost(0.0).fit(X, grades, query_ids), RankBoost().fit(X, np.minimum(grades, 1), query_ids)
    np.testing.assert_allclose(focused.coef_, binary.coef_, rtol=1e-9)
    top = grades > 0
    X[np.flatnonzero(top)[:2]] = [[0.0], [1.0]]  # the same range with and without the rest
    focused = FocusedBoost(1.0, max_repeats=2).fit(X, grades, query_ids)
    np.testing.assert_allclose(
        focused.coef_, AdaRank(max_repeats=2).fit(X[top], grades[top], query_ids[top]).coef_, rtol=1e-9
    )


def test_focused_net_ends_in_rank_net_of_top_or_not_and_in_permutations_of_the_top():
    X, grades, query_ids = top_k_items(4, noise=2.0)
    ends = FocusedNet(0.0, n_iter=200), FocusedNet(1.0, n_iter=200)
    focused = [ranker.fit(X, grades, query_ids).coef_ for ranker in ends]
    binary = RankNet(n_iter=200).fit(X, np.minimum(grades, 1), query_ids)
    np.testing.assert_allclose(focused[0], binary.coef_, atol=1e-5)
    permuted = TopPermutations(n_iter=200).fit(X, grades, query_ids)
    np.testing.assert_allclose(focused[1], permuted.coef_, atol=1e-5)


def test_beta_trades_the_order_at_the_top_for_what_is_in_it():
    """Feature 0 tells the top from the rest, feature 1 orders it."""
    random = np.random.default_rng(0)
    query_ids = np.repeat(np.arange(40), 8)
    grades = np.tile([4, 3, 2, 1, 0, 0, 0, 0], 40)
    X = random.normal(size=(320, 2)) + np.column_stack((2.0 * (grades > 0), np.where(grades > 0, grades, 2.5)))
    for kind in (FocusedSVM, FocusedNet):
        shares = [w[1] / np.abs(w).sum() for w in (kind(beta).fit(X, grades, query_ids).coef_ for beta in (0, 0.5, 1))]
        assert shares[0] < shares[1] < shares[2]


# Laws of all of them


@pytest.mark.parametrize("ranker", ALL, ids=name)
def test_rankers_are_estimators_and_learn(ranker):
    rows = top_k_items(1, n_queries=40)
    before = repr(ranker)
    fitted = clone(ranker)
    assert fitted.fit(*rows) is fitted
    assert fitted.n_features_in_ == 4
    scores = fitted.predict(rows[0])
    assert scores.shape == rows[1].shape
    assert fitted.predict(rows[0][:0]).shape == (0,)
    assert np.corrcoef(scores, rows[1])[0, 1] > 0.4
    assert repr(clone(fitted)) == before
    np.testing.assert_array_equal(clone(fitted).fit(*rows).predict(rows[0]), scores)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(rows[0]), scores)
    with pytest.raises(NotFittedError):
        clone(ranker).predict(rows[0])
    with pytest.raises(InputError, match=r"X has 3 features, but .* is expecting 4 features"):
        fitted.predict(rows[0][:, :3])


@pytest.mark.parametrize("ranker", ALL, ids=name)
def test_order_of_rows_names_of_queries_scale_shift_and_sign_of_features_do_not_matter(ranker):
    X, grades, query_ids = top_k_items(2, noise=1.0)
    ranker = clone(ranker).set_params(**({"tol": 1e-9} if hasattr(ranker, "tol") else {}))
    scores = ranker.fit(X, grades, query_ids).predict(X)
    scores = scores - scores.mean()
    order = np.random.default_rng(5).permutation(grades.size)
    ids = np.array([f"q{q:02d}" for q in query_ids])
    again = clone(ranker).fit(X[order], grades[order], ids[order]).predict(X)
    np.testing.assert_array_equal(again - again.mean(), scores)
    moved = X * [3.0, 1e-4, 2.0, 1e5] + [1.0, 1e-2, 1e4, -3e6]
    again = clone(ranker).fit(moved, grades, query_ids).predict(moved)
    np.testing.assert_allclose(again - again.mean(), scores, atol=2e-5)
    again = clone(ranker).fit(X * [1, -1, 1, -1], grades, query_ids).predict(X * [1, -1, 1, -1])
    np.testing.assert_allclose(again - again.mean(), scores, atol=2e-5)


@pytest.mark.parametrize("ranker", ALL, ids=name)
def test_each_query_has_the_same_say_and_those_of_one_grade_none(ranker):
    X, grades, query_ids = top_k_items(2, noise=1.0)
    ranker = clone(ranker).set_params(**({"tol": 1e-9} if hasattr(ranker, "tol") else {}))
    coef = ranker.fit(X, grades, query_ids).coef_
    twice = clone(ranker).fit(np.tile(X, (2, 1)), np.tile(grades, 2), np.concatenate((query_ids, query_ids + 100)))
    np.testing.assert_allclose(twice.coef_, coef, atol=2e-5)
    # rows twice in a query of one grade: range and deviation of the features stay as they are
    silent = np.concatenate((query_ids, np.full(query_ids.size, 200)))
    for grade in (0, 2):
        more = clone(ranker).fit(np.tile(X, (2, 1)), np.append(grades, np.full(grades.size, grade)), silent)
        np.testing.assert_allclose(more.coef_, coef, atol=2e-5)


@pytest.mark.parametrize("ranker", TEN, ids=name)
def test_a_feature_that_tells_nothing_within_a_query_has_no_say(ranker):
    X, grades, query_ids = top_k_items(2)
    X[:, 1] = 0.1
    X[:, 2] = np.random.default_rng(0).normal(size=12)[query_ids]
    coef = clone(ranker).fit(X, grades, query_ids).coef_
    assert coef[1] == coef[2] == 0
    assert coef[0] > 0 > coef[3] or isinstance(ranker, AdaRank)


@pytest.mark.parametrize("ranker", NETS + BOOSTED, ids=name)
def test_stages_are_the_fits_of_fewer_steps(ranker):
    rows = top_k_items(2, noise=1.0)
    whole = clone(ranker).set_params(n_iter=9).fit(*rows)
    assert whole.n_iter_ == 9
    staged = list(whole.staged_predict(rows[0]))
    for n_iter in (1, 2, 5, 9):
        fewer = clone(ranker).set_params(n_iter=n_iter).fit(*rows)
        np.testing.assert_array_equal(whole.after(n_iter).coef_, fewer.coef_)
        np.testing.assert_array_equal(staged[n_iter - 1], fewer.predict(rows[0]))
        assert whole.after(n_iter).n_iter == fewer.n_iter
    assert whole.n_iter_ == whole.n_iter == 9
    with pytest.raises(InputError, match="n_iter must be a whole number of at least 1, got 0"):
        whole.after(0)


def test_the_seed_of_list_mle_orders_equal_grades():
    X, grades, query_ids = top_k_items(2, n_queries=30)
    binary = np.minimum(grades, 1)
    first, again, other = (ListMLE(rng=seed).fit(X, binary, query_ids).coef_ for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other, rtol=1e-3)
    order = np.random.default_rng(5).permutation(grades.size)
    np.testing.assert_array_equal(ListMLE(rng=0).fit(X[order], binary[order], query_ids[order]).coef_, first)
    np.testing.assert_array_equal(*(ListMLE(k=3, rng=seed).fit(X, grades, query_ids).coef_ for seed in (0, 1)))


# What is wrong is named


@pytest.mark.parametrize(
    ("ranker", "text"),
    [
        (RankSVM(C=0), "C must be positive and finite, got 0"),
        (SVMMAP(C=-1.0), r"C must be positive and finite, got -1\.0"),
        (FocusedSVM(C=np.nan), "C must be positive and finite, got nan"),
        (RankSVM(tol=0), "tol must be positive and finite, got 0"),
        (RankSVM(max_iter=1.5), r"max_iter must be a whole number of at least 1, got 1\.5"),
        (FocusedSVM(beta=-0.1), r"beta must lie between 0 and 1, got -0\.1"),
        (FocusedNet(beta=1.1), r"beta must lie between 0 and 1, got 1\.1"),
        (FocusedBoost(beta="half"), "beta must lie between 0 and 1, got 'half'"),
        (FocusedBoost(beta=np.nan), "beta must lie between 0 and 1, got nan"),
        (ListMLE(k=0), "k must be a whole number of at least 1, got 0"),
        (RankNet(n_iter=0), "n_iter must be a whole number of at least 1, got 0"),
        (RankBoost(n_iter=True), "n_iter must be a whole number of at least 1, got True"),
        (RankBoost(n_thresholds=0), "n_thresholds must be a whole number of at least 1, got 0"),
        (AdaRank(max_repeats=0), "max_repeats must be a whole number of at least 1, got 0"),
    ],
    ids=name,
)
def test_wrong_parameters_are_named(ranker, text):
    with pytest.raises(InputError, match=text):
        ranker.fit(*top_k_items(1))


@pytest.mark.parametrize("ranker", TEN, ids=name)
def test_bad_training_data_is_named(ranker):
    X, grades, query_ids = top_k_items(1)
    kind = type(ranker).__name__
    with pytest.raises(InputError, match=f"no query holds items of different grades, {kind} needs at least one"):
        clone(ranker).fit(X, query_ids, query_ids)
    with pytest.raises(InputError, match="query_ids must name the query of each row"):
        clone(ranker).fit(X, grades, None)
    with pytest.raises(InputError, match="grades holds the grade -2 at row 7"):
        clone(ranker).fit(X, np.where(np.arange(grades.size) == 7, -2, grades), query_ids)
    missing = X.copy()
    missing[7, 2] = np.nan
    with pytest.raises(InputError, match="X must not miss values, got nan at row 7, column 2"):
        clone(ranker).fit(missing, grades, query_ids)
    with pytest.raises(InputError, match="X must not miss values, got nan at row 7, column 2"):
        clone(ranker).fit(X, grades, query_ids).predict(missing)


@pytest.mark.parametrize("ranker", [FocusedSVM(), FocusedNet(), FocusedBoost()], ids=name)
@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_a_focused_ranker_needs_a_top_in_order_and_a_rest(ranker, beta):
    X, grades, query_ids = top_k_items(1)
    ranker = clone(ranker).set_params(beta=beta)
    with pytest.raises(InputError, match="no query holds two items of different grades above 0"):
        ranker.fit(X, np.minimum(grades, 1), query_ids)
    with pytest.raises(InputError, match="no query holds items of grade 0 beside better ones"):
        ranker.fit(X, grades + 1, query_ids)


def test_a_top_of_too_many_permutations_is_named():
    X, grades = np.arange(20.0)[:, None], np.r_[0, 0, 0, 0, np.arange(1, 17)]
    with pytest.raises(InputError, match=r"the query of row 19 has 16 items of a grade above 0, .* takes at most 15"):
        FocusedNet().fit(X, grades, np.zeros(20))
    FocusedNet(n_iter=2).fit(X[:-1], grades[:-1], np.zeros(19))


def test_gains_that_no_number_holds_are_refused():
    with pytest.raises(InputError, match=r"grades holds 1024, gains 2\^y − 1 go up to a grade of 1000"):
        AdaRank().fit([[0.0], [1.0]], [0, 1024], ["a", "a"])


# Choosing


def held_out():
    return top_k_items(1, n_queries=20, noise=1.0), top_k_items(2, n_queries=30, noise=1.0)


def mean_dcg(ranker, rows):
    """Each query by itself, rows as they stand."""
    X, grades, query_ids = rows
    values = []
    for q in np.unique(query_ids):
        own = query_ids == q
        pool = QueryPool(["q"], [0, own.sum()])
        values.append(DCG(cutoff=3).score(pool, grades[own], Rankings.from_scores(pool, ranker.predict(X[own])))[0])
    return np.mean(values)


@pytest.mark.parametrize(
    ("ranker", "grid"),
    [
        (FocusedSVM(), {"beta": [0.1, 0.9], "C": [0.01, 10.0]}),
        (FocusedNet(), {"beta": [0.1, 0.9], "n_iter": [6, 1, 2]}),
        (RankBoost(), [{"n_iter": [1, 30]}, {"n_iter": [20, 5], "n_thresholds": [4]}]),
        (RankNet(n_iter=3), {"standardize": [True, False]}),
    ],
    ids=name,
)
def test_the_choice_is_the_best_of_fits_one_by_one(ranker, grid):
    train, validation = held_out()
    choice = choose(ranker, grid, train=train, validation=validation, measure=DCG(cutoff=3))
    parts = [grid] if isinstance(grid, dict) else grid
    expected = [dict(zip(p, values, strict=True)) for p in parts for values in itertools.product(*p.values())]
    assert sorted(map(repr, (sorted(c.params.items()) for c in choice.table))) == sorted(
        map(repr, (sorted(params.items()) for params in expected))
    )
    for candidate in choice.table:
        fitted = clone(ranker).set_params(**candidate.params).fit(*train)
        assert candidate.value == pytest.approx(mean_dcg(fitted, validation), rel=1e-12)
    best = max(choice.table, key=lambda candidate: candidate.value)
    assert choice.params == best.params
    assert choice.ranker.get_params() == clone(ranker).set_params(**best.params).get_params()
    assert mean_dcg(choice.ranker, validation) == pytest.approx(best.value, rel=1e-12)
    assert len({candidate.value for candidate in choice.table}) > 1


def test_an_estimator_that_goes_by_no_steps_is_chosen_too_and_nothing_from_nothing():
    train, validation = held_out()
    measure = NDCG(cutoff=3)
    choice = choose(RankingSVM(rng=0), {"C": [1e-4, 1.0]}, train=train, validation=validation, measure=measure)
    assert len(choice.table) == 2
    for grid in ({"C": []}, []):
        with pytest.raises(InputError, match="the grid holds no candidate"):
            choose(RankSVM(), grid, train=train, validation=validation, measure=measure)
    with pytest.raises(InputError, match="the grid holds no candidate"):
        choose(RankNet(), {"n_iter": []}, train=train, validation=validation, measure=measure)


# Real data


def mq2008():
    folder = (
        Path(os.environ.get("ACTIVEEVAL_SHARED") or Path(__file__).parents[1].parent / "shared") / "data" / "mq2008"
    )
    if not folder.exists():
        pytest.skip(f"needs {folder}; set ACTIVEEVAL_SHARED to the folder that holds data/")
    train, test = (read_letor([folder / f"S{part}.txt.gz" for part in parts]) for parts in ((1, 2, 3), (5,)))
    return train, test, read_scores(folder / "rankers" / "svm_rank" / "Fold1.test_score.gz", test.n_items)


def test_mq2008_is_ranked_like_by_the_rankers_that_come_with_it():
    """Fold 1: the stored scores are of the original svm_rank, trained on the same queries."""
    train, test, stored = mq2008()
    pool, queries = test.pool(), train.query_ids[train.pool().item_queries]

    def mean_ndcg(scores):
        values = NDCG("exp", cutoff=10).score(pool, test.grades, Rankings.from_scores(pool, scores))
        return values[np.maximum.reduceat(test.grades, test.query_offsets[:-1]) > 0].mean()

    goal, chance = mean_ndcg(stored), mean_ndcg(np.random.default_rng(0).random(pool.n_items))
    assert goal > 1.3 * chance
    # the cross entropy takes at most 15 relevant items a query
    few = np.add.reduceat(train.grades > 0, train.query_offsets[:-1])[train.pool().item_queries] <= 15
    for ranker in TEN:
        rows = few if isinstance(ranker, FocusedNet) else np.ones_like(few)
        fitted = clone(ranker).fit(train.features[rows], train.grades[rows], queries[rows])
        assert mean_ndcg(fitted.predict(test.features)) > 0.94 * goal
