"""Boosted trees, judged items and preferences that tests of adaptation share."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor

from activeeval.adaptation import HyperLinearRanker, choose_regularization
from tests import naive_adaptation as naive

METHODS = ["closed_form", "sgd", "hinge"]


def judged(seed=0, n=300, n_features=5):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, n_features))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * random.normal(size=n)
    return X, np.digitize(signal, [-1, 0.5, 1.5])


def boosted_anew(**options):
    given = {"n_estimators": 8, "max_leaf_nodes": 5, "max_depth": None, "random_state": 0, **options}
    return GradientBoostingRegressor(**given)


def boosted(X, grades, **options):
    return boosted_anew(**options).fit(X, grades)


@pytest.fixture(scope="module")
def X():
    return judged()[0]


@pytest.fixture(scope="module")
def base():
    return HyperLinearRanker.from_gradient_boosting(boosted(*judged()))


def preferences(X, n_pairs, seed=1):
    """Pairs by another taste than the judges', with noise."""
    random = np.random.default_rng(seed)
    pairs = np.array([random.choice(len(X), 2, replace=False) for _ in range(n_pairs)])
    taste = X[:, 0] - X[:, 3] + 0.5 * random.normal(size=len(X))
    return np.where((taste[pairs[:, 0]] < taste[pairs[:, 1]])[:, None], pairs[:, ::-1], pairs)


def dense(ranker, X, pairs):
    return naive.differences(ranker.leaf_features(X).toarray(), pairs)


def of_queries(seed=0, n_queries=24):
    """Judged items of queries, pairs of other items of some of them and of further queries."""
    X, grades = judged(seed, 12 * n_queries)
    query_ids = np.repeat([f"q{i}" for i in range(n_queries)], 12)
    users = np.random.default_rng(seed + 1).normal(size=(10 * n_queries, X.shape[1]))
    users_ids = np.repeat([f"q{i + 8}" for i in range(n_queries)], 10)
    taste = users[:, 0] - users[:, 3]
    own = [np.arange(first, first + 10) for first in range(0, len(users), 10)]
    pairs = [(a, b) for rows in own for a in rows for b in rows if taste[a] > taste[b] + 0.5]
    return (X, grades, query_ids), (users, users_ids, np.array(pairs))


def choice_of(base=None, **changes):
    """Choose λ for a base, of all that `of_queries` makes but for the changes."""
    (X, grades, query_ids), (users, users_ids, pairs) = of_queries()
    given = {"X": X, "grades": grades, "query_ids": query_ids, "pairs": pairs}
    given |= {"pairs_X": users, "pairs_query_ids": users_ids, "rng": 0} | changes
    if base is None:
        base = HyperLinearRanker.from_gradient_boosting(boosted(*judged(5)))
    return choose_regularization(base, **given)
