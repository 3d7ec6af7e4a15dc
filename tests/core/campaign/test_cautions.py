"""What a reader is told of a sample that can hardly carry its question."""

from __future__ import annotations

import numpy as np
import pytest

from activeeval import DCG, METHODS, Campaign, QueryPool, Rankings, Target


def read(grades, method="random", budget=30.0, n=60):
    """Return the estimate of a pool with an item a query, the k-th judged of grade ``grades(k)``."""
    pool = QueryPool([f"q{k}" for k in range(n)], np.arange(n + 1), [f"d{k}" for k in range(n)])
    target = Target(DCG([0, 1, 3, 7, 15]), Rankings.from_scores(pool, np.ones(n)))
    campaign = Campaign(METHODS[method].design(target, np.full((n, 5), 0.2), max_grade=4), budget, rng=1)
    judged = []

    def judge(query, items):
        judged.append(query)
        return [grades(len(judged))] * len(items)

    return campaign.run(judge)


@pytest.mark.parametrize("method", ["random", "passive"])
def test_one_query_that_has_most_of_the_variance_is_counted(method):
    estimate = read(lambda k: 4 if k == 7 else k % 2, method)
    assert 0.5 < estimate.largest_share < 1
    assert estimate.effective_queries < 10
    assert {caution.code for caution in estimate.cautions} <= {"size"}


def test_of_even_queries_none_is():
    estimate = read(lambda k: k % 3)
    assert estimate.largest_share is None
    assert 0 < estimate.largest < 0.2
    assert estimate.effective_queries is None
