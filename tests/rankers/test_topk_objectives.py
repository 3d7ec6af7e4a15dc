"""What the top-k rankers minimise: against a convex solver, plain loops, another library, and each other."""

import itertools

import numpy as np
import pytest
from each_once import each_once
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from activeeval.rankers import (
    SVMMAP,
    AdaRank,
    FocusedBoost,
    FocusedNet,
    FocusedSVM,
    ListMLE,
    ListNet,
    RankBoost,
    RankNet,
    RankSVM,
)
from activeeval.rankers.bundle import Objective
from activeeval.rankers.judged_lists import JudgedLists
from activeeval.rankers.losses import ListwiseAP, PairHinge, PermutationCrossEntropy
from tests import naive_rankers as naive


def name(value):
    return repr(value).replace("\n", "")[:60]


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
    X, grades, query_ids = naive.top_k_items(3, n_queries=5, n_features=3, k=3, noise=1.5)
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
    X, grades, query_ids = naive.top_k_items(1, noise=2.0)
    ranker = RankSVM(C, standardize=False, tol=1e-8).fit(X, grades, query_ids)
    assert_solves(ranker, pair_groups(naive.by_query(X, grades, query_ids), top=False), C)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_svm_map_solves_the_program_of_all_rankings(C):
    X, grades, query_ids = small_lists()
    ranker = SVMMAP(C, standardize=False, tol=1e-8).fit(X, grades, query_ids)
    assert_solves(ranker, [ap_group(rows, 3, 1 / 5) for rows, _ in naive.by_query(X, grades, query_ids)], C)


@pytest.mark.parametrize("beta", [0.2, 0.7])
def test_focused_svm_solves_the_program_of_both(beta):
    X, grades, query_ids = small_lists()
    queries = naive.by_query(X, grades, query_ids)
    top = [ap_group(rows[:3], r, 1 / 10) for rows, _ in queries for r in (1, 2)]
    nothing = sum(weight * losses.max() for weight, losses, _ in top)  # of pairs it is 1
    groups = [(beta / nothing * weight, *rest) for weight, *rest in top]
    groups += [((1 - beta) * weight, *rest) for weight, *rest in pair_groups(queries, top=True)]
    ranker = FocusedSVM(beta, C=5.0, standardize=False, tol=1e-8).fit(X, grades, query_ids)
    assert_solves(ranker, groups, 5.0)


def test_a_bundle_that_is_cut_short_warns_and_says_by_how_much():
    with pytest.warns(ConvergenceWarning, match=r"RankSVM did not converge in 2 iterations: its objective \S+ may be"):
        short = RankSVM(100.0, max_iter=2).fit(*naive.top_k_items(1))
    long = RankSVM(100.0, tol=1e-8).fit(*naive.top_k_items(1))
    assert short.objective_ - short.gap_ <= long.objective_ <= short.objective_


def test_a_line_is_halved_towards_its_least_point():
    X, grades, query_ids = naive.top_k_items(1, noise=2.0)
    lists = JudgedLists.of(grades, query_ids)
    problem = Objective(X[lists.rows], PairHinge().on(lists), 5.0)
    start, end = np.zeros(4), np.array([1.0, 0.5, 0.0, -2.0])
    along = [problem.cut(start + t * (end - start))[0] for t in np.linspace(0, 1, 257)]
    assert 0 < np.argmin(along) < 256
    best, objective = problem.best_between(start, end, along[0])
    assert objective == pytest.approx(problem.cut(best)[0], rel=1e-12)
    assert objective <= min(along) + 0.02 * (along[0] - min(along))


def test_standardised_features_are_divided_by_their_deviation():
    X, grades, query_ids = naive.top_k_items(1)
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
        (AdaRank(n_iter=3, tol=None), 1.0, False),
        (AdaRank(n_iter=3, measure="ap", tol=None), 1.0, False),
        (FocusedBoost(0.0, n_iter=8), 0.0, True),
        (FocusedBoost(0.4, n_iter=8), 0.4, True),
        (FocusedBoost(1.0, n_iter=3), 1.0, True),
    ],
    ids=name,
)
def test_boosting_is_the_plain_loop(ranker, beta, top):
    X, grades, query_ids = small_lists()
    fitted = clone(ranker).fit(X, grades, query_ids)
    performance = naive.tied_ap if getattr(ranker, "measure", "") == "ap" else naive.tied_ndcg
    queries = naive.by_query(unit_range(X), grades, query_ids)
    weights, edges = naive.boosted(queries, beta, top, ranker.n_iter, performance)
    np.testing.assert_allclose(fitted.coef_, weights, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fitted.edges_, edges, rtol=1e-9)


@pytest.mark.parametrize("n_thresholds", [None, 7])
def test_rank_boosts_error_is_below_its_bound_after_every_round(n_thresholds):
    """The share of pairs out of order ≤ Σ D_1 exp(−ΔF) ≤ Π √(1 − ρ²)."""
    X, grades, query_ids = naive.top_k_items(5, noise=1.5)
    ranker = RankBoost(n_iter=40, n_thresholds=n_thresholds).fit(X, grades, query_ids)
    bounds = np.cumprod(np.sqrt(1 - ranker.edges_**2))
    assert np.all(ranker.edges_ > 0)
    for bound, scores in zip(bounds, ranker.staged_predict(X), strict=True):
        wrong, exponential = [], []
        for s, g in naive.by_query(scores[:, None], grades, query_ids):
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


@pytest.mark.parametrize("ranker", [RankBoost(), AdaRank(max_repeats=1), FocusedBoost(0.3)], ids=name)
def test_thresholds_are_indicators_of_equal_steps(ranker):
    X, grades, query_ids = naive.top_k_items(2)
    cut = clone(ranker).set_params(n_iter=30, n_thresholds=3).fit(X, grades, query_ids)
    steps = [(unit_range(X) > step).astype(float) for step in (0.25, 0.5, 0.75)]
    by_hand = clone(ranker).set_params(n_iter=30).fit(np.hstack(steps), grades, query_ids)
    np.testing.assert_allclose(cut.coef_, by_hand.coef_, rtol=1e-12)
    np.testing.assert_allclose(cut.predict(X), by_hand.predict(np.hstack(steps)), rtol=1e-12, atol=1e-12)


def test_a_perfect_feature_weighs_a_finite_amount():
    ranker = RankBoost(n_iter=500).fit([[1.0], [0.0], [1.0]], [1, 0, 1], ["a"] * 3)
    assert np.isfinite(ranker.coef_).all()
    assert ranker.predict([[1.0]]) > ranker.predict([[0.0]])


def test_the_best_feature_is_taken_for_ever_unless_its_repeats_are_limited():
    X, grades, query_ids = naive.top_k_items(3)
    X[:, 0] += grades
    whole = {"n_iter": 20, "tol": None}
    assert np.count_nonzero(AdaRank(**whole, max_repeats=None).fit(X, grades, query_ids).coef_) == 1
    limited = AdaRank(**whole, max_repeats=1).fit(X, grades, query_ids)
    rounds = np.flatnonzero(np.diff(limited.path_, axis=0)) % X.shape[1]
    assert np.all(rounds[1:] != rounds[:-1])
    assert rounds.size == 20 > np.unique(rounds).size > 1
    alone = AdaRank(**whole, max_repeats=3).fit(X[:, :1], grades, query_ids)
    assert alone.n_iter_ == 3


@each_once(("measure", ["ndcg", "ap"]), ("tol", [0.0, 0.01]))
def test_a_round_that_does_not_pay_is_taken_back_and_another_one_tried(measure, tol):
    X, grades, query_ids = naive.top_k_items(4, n_queries=6, noise=1.5)
    performance = naive.tied_ap if measure == "ap" else naive.tied_ndcg

    def mean(scores):
        return np.mean([performance(s[:, 0], g) for s, g in naive.by_query(scores[:, None], grades, query_ids)])

    means = {}
    for name, own in (("all", None), ("paying", tol)):
        ranker = AdaRank(n_iter=8, max_repeats=2, measure=measure, tol=own).fit(X, grades, query_ids)
        means[name] = np.array([mean(scores) for scores in ranker.staged_predict(X)])
        rounds = np.flatnonzero(np.diff(ranker.path_, axis=0)) % X.shape[1]
        runs = np.diff(np.flatnonzero(np.diff(rounds, prepend=-1, append=-1)))
        assert runs.max() == 2
    assert np.diff(means["all"]).min() < -tol - 1e-9
    assert np.diff(means["paying"]).min() >= -tol - 1e-12
    assert means["paying"][-1] >= means["all"][-1]


# Gradients


def test_rank_net_is_a_logistic_regression_of_differences_that_has_converged():
    X, grades, query_ids = naive.top_k_items(1, n_features=3, noise=2.0)
    queries = naive.by_query(X / X.std(axis=0), grades, query_ids)
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
    ids=["ListNet", "ListMLE of 1", "ListMLE of 2"],
)
def test_list_rankers_end_at_the_least_mean_of_their_loss(ranker, loss):
    X, grades, query_ids = naive.top_k_items(1, n_queries=8, n_features=2, k=2, noise=2.0)
    keep = np.isin(query_ids, np.flatnonzero(np.bincount(query_ids) <= 6))
    X, grades, query_ids = X[keep], grades[keep], query_ids[keep]
    queries = naive.by_query(X / X.std(axis=0), grades, query_ids)

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
    rows = naive.top_k_items(4)
    focused, parent = FocusedSVM(0.0, C=3.0, tol=1e-9).fit(*rows), TopPairs(3.0, tol=1e-9).fit(*rows)
    np.testing.assert_allclose(focused.coef_, parent.coef_, atol=1e-5)
    lists = [g[: g.count(0) * -1] for _, g in naive.by_query(*rows)]
    nothing = np.mean([naive.mean_ap_hinge([0.0] * len(g), g) for g in lists])
    focused, parent = FocusedSVM(1.0, C=3.0 * nothing, tol=1e-9).fit(*rows), TopLists(3.0, tol=1e-9).fit(*rows)
    np.testing.assert_allclose(focused.coef_, parent.coef_, atol=1e-5)


def test_focused_boost_ends_in_rank_boost_of_top_or_not_and_in_ada_rank_of_the_top():
    X, grades, query_ids = naive.top_k_items(4)
    X = unit_range(X)
    focused, binary = FocusedBoost(0.0).fit(X, grades, query_ids), RankBoost().fit(X, np.minimum(grades, 1), query_ids)
    np.testing.assert_allclose(focused.coef_, binary.coef_, rtol=1e-9)
    top = grades > 0
    X[np.flatnonzero(top)[:2]] = [[0.0], [1.0]]  # the same range with and without the rest
    focused = FocusedBoost(1.0, max_repeats=2).fit(X, grades, query_ids)
    parent = AdaRank(max_repeats=2, tol=None).fit(X[top], grades[top], query_ids[top])
    np.testing.assert_allclose(focused.coef_, parent.coef_, rtol=1e-9)


def test_focused_net_ends_in_rank_net_of_top_or_not_and_in_permutations_of_the_top():
    X, grades, query_ids = naive.top_k_items(4, noise=2.0)
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
