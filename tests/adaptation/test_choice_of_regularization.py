"""The choice of λ by folds."""

import math
from dataclasses import replace

import numpy as np
import pytest
from boosted_trees import boosted, boosted_anew, choice_of, judged, of_queries
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from activeeval import NDCG, QueryPool, Rankings
from activeeval.adaptation import HyperLinearRanker, b_measure, choose_regularization, pair_precision
from activeeval.adaptation.folding import deal_out
from activeeval.core.errors import InputError
from activeeval.core.results import Figure


def test_a_closed_form_that_would_not_fit_is_refused_before_any_fold(monkeypatch):
    monkeypatch.setattr("activeeval.adaptation.weights.MOST_SIDE", 20)
    learned = []

    class Counting(GradientBoostingRegressor):
        def fit(self, X, y):
            learned.append(len(X))
            return super().fit(X, y)

    with pytest.raises(InputError, match="at most 20 pairs or leaves"):
        choice_of(Counting(n_estimators=8))
    assert learned == [288]


def test_b_is_a_harmonic_mean():
    assert b_measure(0.3, 0.6) == pytest.approx(2 / (1 / 0.3 + 1 / 0.6))
    assert b_measure(0.3, 0.6, alpha=2.0) == pytest.approx(3 / (1 / 0.3 + 2 / 0.6))
    assert b_measure(0.7, 0.7, alpha=5.0) == pytest.approx(0.7)
    assert b_measure(0.0, 0.0) == b_measure(0.0, 1.0) == b_measure(1.0, 0.0) == 0.0


def test_ties_are_half_in_order(base, X):
    rows = np.vstack((X, X[:1]))
    scores = base.predict(X)
    low, high = int(np.argmin(scores)), int(np.argmax(scores))
    assert pair_precision(base, rows, [[0, 300], [high, low], [low, high], [high, low]]) == pytest.approx(2.5 / 4)


def in_order(X, grades, query_ids):
    order = np.lexsort((grades, *X.T, query_ids))
    return X[order], grades[order]


def plain_ndcg(scores, grades, cutoff=5):
    def dcg(order):
        return sum((2 ** int(grades[i]) - 1) / math.log2(r + 2) for r, i in enumerate(order[:cutoff]))

    best = dcg(np.argsort(-grades))
    return dcg(np.argsort(-scores)) / best if best else 0.0


def test_choosing_is_what_folds_by_hand_say():
    (X, grades, query_ids), (users, users_ids, pairs) = of_queries()
    model = boosted_anew(n_estimators=60, max_leaf_nodes=8)
    choice = choose_regularization(
        model, X, grades, query_ids, pairs,
        pairs_X=users, pairs_query_ids=users_ids, lambdas=(0.01, 1.0, 100.0), alpha=2.0, n_folds=4, rng=7,
    )  # fmt: skip
    assert not hasattr(model, "estimators_")
    seed = int(np.random.default_rng(7).integers(2**63))
    fold_of = deal_out(sorted(set(query_ids)), sorted(set(users_ids)), 4, seed)
    by_fold = []
    for fold in range(4):
        out = np.array([fold_of[q] == fold for q in query_ids])
        out_pairs = np.array([fold_of[users_ids[u]] == fold for u, _ in pairs])
        fitted = clone(model).fit(*in_order(X[~out], grades[~out], query_ids[~out]))
        base = HyperLinearRanker.from_gradient_boosting(fitted)
        values = []
        for ridge in (0.01, 1.0, 100.0):
            ranker = base.adapt(users, pairs[~out_pairs], regularization=ridge)
            scores = ranker.predict(X)
            held = [np.flatnonzero(query_ids == q) for q in sorted(set(query_ids[out]))]
            assert all(np.unique(scores[rows]).size == 12 for rows in held)  # here no rule for ties has a say
            mu = np.mean([plain_ndcg(scores[rows], grades[rows]) for rows in held])
            mine = ranker.predict(users)
            nu = np.mean([0.5 + 0.5 * np.sign(mine[u] - mine[v]) for u, v in pairs[out_pairs]])
            values.append((mu, nu, 3 * mu * nu / (2 * mu + nu)))
        by_fold.append(values)
    means, errors = np.mean(by_fold, axis=0), np.std(by_fold, axis=0, ddof=1) / 2
    for row, mean, error in zip(choice.table, means, errors, strict=True):
        figures = (row.measure, row.precision, row.b)
        np.testing.assert_allclose([figure.value for figure in figures], mean, atol=1e-12)
        np.testing.assert_allclose([figure.se for figure in figures], error, atol=1e-12)
    assert choice.regularization == (0.01, 1.0, 100.0)[int(np.argmax(means[:, 2]))]
    whole = HyperLinearRanker.from_gradient_boosting(model.fit(*in_order(X, grades, query_ids)))
    expected = whole.adapt(users, pairs, regularization=choice.regularization)
    np.testing.assert_array_equal(choice.ranker.coef_, expected.coef_)
    assert choice.base.precision.value < choice.table[0].precision.value


@pytest.mark.parametrize("kind", [str, int])
def test_ids_are_the_same_query_whatever_holds_them(kind):
    (_, _, query_ids), (_, users_ids, _) = of_queries()
    ids, of_pairs = (np.array([kind(name[1:]) for name in names]) for names in (query_ids, users_ids))
    first, *others = (
        choice_of(query_ids=ids, pairs_query_ids=same, lambdas=[1.0])
        for same in (of_pairs, of_pairs.astype(object), *([of_pairs.astype("S")] if kind is str else []))
    )
    for other in others:
        assert first.table == other.table
        np.testing.assert_array_equal(first.ranker.query_hashes_, other.ranker.query_hashes_)


def test_what_a_choice_says_of_itself():
    (X, grades, query_ids), _ = of_queries()
    given = {"grades": np.where(query_ids == "q3", 0, grades)}
    choice = choice_of(lambdas=(0.1, 1.0, 1e9), **given)
    assert (choice.n_queries, choice.n_irrelevant, choice.n_seen) == (24, 1, 0)
    assert choice.chosen in choice.table
    assert choice.is_better == (choice.chosen.b.value > choice.base.b.value)
    assert choice.lead.value == pytest.approx(choice.chosen.b.value - choice.base.b.value, abs=1e-12)
    assert choice.lead.se < choice.chosen.b.se + choice.base.b.se  # of pairs of folds
    better = replace(choice, base=replace(choice.base, b=Figure(choice.chosen.b.value - 0.01, 0.0)))
    for lead, is_within in ((Figure(0.01, 0.02), True), (Figure(0.01, 0.005), False), (Figure(0.01, np.nan), True)):
        assert replace(better, lead=lead).is_within_error == is_within
    assert not replace(choice, base=choice.chosen, lead=Figure(0.0, 0.1)).is_within_error  # no better at all
    assert replace(choice, regularization=1.0).end == ""
    assert replace(choice, regularization=0.1).end == "smallest"
    assert replace(choice, regularization=1e9).end == "largest"
    alone = choice_of(lambdas=(1e9,), **given)
    assert (alone.is_better, alone.end) == (False, "")
    again = choice_of(choice.ranker, lambdas=(1.0,), **given)
    assert again.n_seen == 32
    assert choice_of(X=-X, lambdas=(1.0,), **given).n_seen == 0


def test_a_hinge_that_has_not_converged_is_told_by_its_row(recwarn):
    choice = choice_of(method="hinge", n_epochs=5, lambdas=(1e-4, 1e6))
    assert [row.converged for row in choice.table] == [False, True]
    assert not recwarn.list


def test_measured_queries_are_scored_as_the_library_scores_them():
    base = HyperLinearRanker.from_gradient_boosting(boosted(*judged(5)))
    choice = choice_of(base, lambdas=[1.0], n_folds=24)
    X, grades = in_order(*of_queries()[0])
    scores = []
    for first in range(0, len(X), 12):
        # ties go by document id, of rows in their order, the last one first
        pool, rows = QueryPool(["q"], [0, 12], [f"{row:02d}" for row in range(12)]), slice(first, first + 12)
        ranking = Rankings.from_scores(pool, base.predict(X[rows]))
        scores.append(NDCG("exp", cutoff=5).score(pool, grades[rows], ranking)[0])
    assert choice.base.measure.value == pytest.approx(np.mean(scores), rel=1e-12)  # a fold for each query


def test_folds_are_even_keep_queries_whole_and_do_not_depend_on_the_order_of_rows():
    judged_ids, pair_ids = [f"q{i}" for i in range(23)], [f"q{i}" for i in range(9, 41)]
    fold_of = deal_out(judged_ids, pair_ids, 5, 3)
    for names in (judged_ids, pair_ids):
        counts = np.bincount([fold_of[name] for name in names], minlength=5)
        assert counts.max() - counts.min() <= 1
    (X, grades, query_ids), (users, users_ids, pairs) = of_queries()
    base = boosted_anew(subsample=0.5)
    order, own = np.random.default_rng(0).permutation(len(X)), np.random.default_rng(1).permutation(len(users))
    given = {"lambdas": (0.1, 10.0), "n_folds": 3, "method": "sgd"}
    one = choice_of(base, **given)
    given |= {"X": X[order], "grades": grades[order], "query_ids": query_ids[order], "pairs": np.argsort(own)[pairs]}
    other = choice_of(base, **given, pairs_X=users[own], pairs_query_ids=users_ids[own])
    for a, b in zip((one.base, *one.table), (other.base, *other.table), strict=True):
        np.testing.assert_allclose([a.measure.value, a.b.value], [b.measure.value, b.b.value], rtol=1e-12)
        assert a.precision.value == pytest.approx(b.precision.value, rel=1e-12)
    np.testing.assert_array_equal(one.ranker.coef_, other.ranker.coef_)


def test_of_equal_lambdas_the_one_closest_to_the_base_is_chosen():
    within = {"pairs": [[s, s + 1] for s in range(0, 288, 12)], "pairs_X": None, "pairs_query_ids": None}
    choice = choice_of(lambdas=(1e9, 1e11, 1e10), **within)
    assert choice.regularization == 1e11
    assert choice.table[0].b == choice.table[1].b


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_folds": 25}, "n_folds must be from 2 to the number of queries judged, 24, got 25"),
        ({"n_folds": 1}, "n_folds must be from 2"),
        ({"lambdas": ()}, "lambdas holds no λ"),
        ({"lambdas": (1.0, 0.1, 1)}, "lambdas holds 1 twice, expected each λ once"),
        ({"lambdas": (1.0, 1e300)}, "lambdas must lie between 1e-100 and 1e[+]100, got 1e[+]300"),
        ({"grades": np.repeat(np.arange(24) % 3, 12)}, "hold no order: no query has two of different grades"),
        ({"query_ids": np.arange(288) / 12 // 1}, "query_ids must be texts or whole numbers, got float64 values"),
        ({"pairs_query_ids": [object()] * 240}, "pairs_query_ids must be texts or whole numbers, got object values"),
        ({"lambdas": (1.0, 0.0)}, "lambdas must be positive and finite, got 0.0"),
        ({"alpha": 0.0}, "alpha must be positive and finite, got 0.0"),
        ({"pairs": [[0, 12]]}, "pairs must be of two rows of one query, got rows of q8 and q9 in pair 0"),
        ({"pairs": [[0, 1]]}, "number of queries in pairs, 1, got 5"),
        ({"pairs_X": None}, "pairs_X and pairs_query_ids belong together, got one of them"),
        ({"pairs_query_ids": np.repeat(np.arange(24), 10)}, "must both be text or both be numbers"),
        ({"pairs_query_ids": ["q0"]}, "must name the query of each of the 240 rows of pairs_X"),
        ({"base": "model"}, "base must be a HyperLinearRanker or a regressor of boosted trees, got 'model'"),
        ({"base": LinearRegression()}, "gradient-boosted regression trees"),
    ],
)
def test_bad_choices_are_told_in_one_line(change, message):
    with pytest.raises(InputError, match=message):
        choice_of(**{"base": GradientBoostingRegressor(n_estimators=2)} | change)
