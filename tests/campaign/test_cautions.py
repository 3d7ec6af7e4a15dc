"""What a reader is told of a sample that can hardly carry its question."""

from __future__ import annotations

import numpy as np
import pytest

from activeeval import DCG, METHODS, Campaign, QueryPool, Rankings, Target
from activeeval.report.words import line_of


def told(grades, method="random", budget=30.0, n=60):
    """Return what is told of an estimate of a pool with an item a query, and which queries were judged."""
    pool = QueryPool([f"q{k}" for k in range(n)], np.arange(n + 1), [f"d{k}" for k in range(n)])
    target = Target(DCG([0, 1, 3, 7, 15]), Rankings.from_scores(pool, np.ones(n)))
    campaign = Campaign(METHODS[method].design(target, np.full((n, 5), 0.2), max_grade=4), budget, rng=1)
    judged = []

    def judge(query, items):
        judged.append(query)
        return [grades(len(judged))] * len(items)

    return [line_of(caution) for caution in campaign.run(judge).cautions], judged


@pytest.mark.parametrize(
    ("method", "way"), [("random", "; 30 more judgments, as many as so far, spread it"), ("passive", "a new sample")]
)
def test_a_query_that_carries_most_of_the_variance_is_named_with_what_to_do(method, way):
    notes, judged = told(lambda k: 4 if k == 7 else k % 2, method)
    (note,) = [text for text in notes if "of the variance" in text]
    assert note.startswith("note: single judged queries carry much of the variance (")
    assert f"({judged[6]!r} " in note
    assert note.count("%") == 1
    assert way in note
    assert 0.5 < float(note.split("' ")[1].split("%")[0]) / 100 < 1


def test_two_of_them_are_both_named_and_of_even_ones_none():
    notes, judged = told(lambda k: 4 if k in (3, 9) else k % 2)
    (note,) = [text for text in notes if "of the variance" in text]
    assert all(f"{judged[k]!r} " in note for k in (2, 8))
    assert " and " in note
    assert not [text for text in told(lambda k: k % 3)[0] if "of the variance" in text]


def test_of_a_handful_of_queries_it_is_no_wonder():
    assert not [text for text in told(lambda k: 4 if k == 2 else k % 2, budget=6.0)[0] if "of the variance" in text]
