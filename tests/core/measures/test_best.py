"""The best that unjudged items can make of a ranking, against every way to grade them."""

from itertools import product

import numpy as np
import pytest

from activeeval.core.measures import AP, ERR, NDCG, Additive, Cascade, Success, kNDCG, parse_measure
from activeeval.core.measures.best import best_grades
from activeeval.core.pool import QueryPool, Rankings

TOP = 2
NAMED = "nDCG nDCG(dcg='exp-log2')@3 nDCG@1 R@2 R(rel=2)@3 R(rel=0)@2 AP AP(rel=2) AP@3 AP(rel=0) DCG RBP P@3 RR"
MEASURES = [*map(parse_measure, NAMED.split()), AP(TOP + 1), ERR(TOP), Success(2)]
MEASURES += [NDCG(gains, cutoff) for gains, cutoff in (([0.5, 1, 3], 3), ([0, 2, 1], None), ([1, 1, 1], None))]
MEASURES += [Additive([0, 1, 3], [1, -0.5, 0.2, -0.1]), Additive([-1, 2, 1], [1, 0.5, 0.2])]
MEASURES += [Cascade([0.1, 0.9, 0.4], discounts) for discounts in ([0.2, 0.1, 1, 0.5], [-0.2, 0.1, -1, 0.5])]


def lists(n):
    """Yield a query of items that may be judged or not, ranked or not: grades and the ranked items."""
    rng = np.random.default_rng(20130301)
    for _ in range(n):
        n_items = int(rng.integers(1, 8))
        grades = np.where(rng.random(n_items) < rng.random(), -1, rng.choice(TOP + 1, n_items, p=[0.5, 0.3, 0.2]))
        yield grades, rng.permutation(n_items)[: int(rng.integers(0, n_items + 1))]


def in_every_way(measure, grades, ranked):
    """Return the value of a query for every way to grade what is not judged: a query for each."""
    unjudged = np.flatnonzero(grades < 0)
    ways = np.array(list(product(range(TOP + 1), repeat=unjudged.size)), dtype=np.int64)
    n, size = len(ways), grades.size
    whole = np.tile(grades, (n, 1))
    whole[:, unjudged] = ways
    pool = QueryPool([f"q{k}" for k in range(n)], np.arange(n + 1) * size, [f"d{k}" for k in range(size)] * n)
    places = (np.arange(n)[:, None] * size + ranked).ravel()
    return measure.score(pool, whole.ravel(), Rankings(pool, np.arange(n + 1) * len(ranked), places))


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_the_best_is_the_best_of_all_ways(measure):
    """40 queries in one pool: each has its own best."""
    queries = list(lists(40))
    offsets = np.append(0, np.cumsum([grades.size for grades, _ in queries]))
    pool = QueryPool([f"q{k}" for k in range(len(queries))], offsets, [f"d{k}" for k in range(offsets[-1])])
    starts = np.append(0, np.cumsum([len(ranked) for _, ranked in queries]))
    items = np.concatenate([begin + ranked for begin, (_, ranked) in zip(offsets, queries, strict=False)])
    ranking, grades = Rankings(pool, starts, items), np.concatenate([grades for grades, _ in queries])
    best = best_grades(measure, pool, grades, ranking, TOP)
    assert ((best >= 0) & ((grades < 0) | (best == grades))).all()
    expected = [in_every_way(measure, *query).max() for query in queries]
    np.testing.assert_allclose(measure.score(pool, best, ranking), expected, rtol=1e-12)


def test_long_lists_without_a_cutoff_take_no_time():
    pool = QueryPool(["q"], [0, 3000], [f"d{k}" for k in range(3000)])
    grades = np.where(np.arange(3000) % 3, -1, np.arange(3000) % 5)
    ranking = Rankings(pool, [0, 2000], np.arange(2000))
    for measure in (NDCG("exp"), AP()):
        value = measure.score(pool, best_grades(measure, pool, grades, ranking, 4), ranking)
        for other in range(5):
            assert value > measure.score(pool, np.where(grades < 0, other, grades), ranking)


@pytest.mark.parametrize("measure", [kNDCG(k=2), NDCG([-1, 0, 1])], ids=str)
def test_of_some_the_best_is_not_known(measure):
    pool = QueryPool(["q"], [0, 2], ["a", "b"])
    assert best_grades(measure, pool, np.array([1, -1]), Rankings(pool, [0, 2], [0, 1]), TOP) is None
