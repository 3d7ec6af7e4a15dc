"""Rankings of a pool: by score or by id, and lists that an index update shortens."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive import pool_of, random_lists, rankings_of

from activeeval import QueryPool, Rankings

pytestmark = pytest.mark.kernel


def two():
    """Return a pool of q1 with items a, b and q2 with items a, b, c."""
    return QueryPool(["q1", "q2"], [0, 2, 5], list("ababc"))


TEXTS = ["d1", "d2", "d10", "d9", "D1", "d", "é", "e", "z1", "1", "10", "2", "d1a"]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(data=st.data(), lengths=st.lists(st.integers(1, 12), min_size=1, max_size=4))
def test_scores_rank_descending_and_ties_by_id_descending(data, lengths):
    items = [z for n in lengths for z in data.draw(st.permutations(TEXTS))[:n]]
    pool = QueryPool(range(len(lengths)), np.concatenate(([0], np.cumsum(lengths))), items)
    score = st.sampled_from([0.0, -0.0, 1.0, -1.5, 1e-300, float("nan")])
    scores = data.draw(st.lists(score, min_size=pool.n_items, max_size=pool.n_items))
    ranking = Rankings.from_scores(pool, scores)
    for q in range(pool.n_queries):
        positions = range(pool.query_offsets[q], pool.query_offsets[q + 1])
        by_id = sorted((z for z in positions if scores[z] == scores[z]), key=lambda z: pool.item_ids[z], reverse=True)
        expected = sorted(by_id, key=lambda z: -scores[z])
        assert ranking.items[ranking.offsets[q] : ranking.offsets[q + 1]].tolist() == expected


def test_long_lists_with_ties_are_ranked_as_python_sorts_them():
    rng = np.random.default_rng(8)
    lengths = [1, 2, 7, 8, 9, 16, 17, 33, 200, 1000]
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    ids = np.concatenate([rng.permutation([f"{'d' * (i % 3)}{i}" for i in range(n)]) for n in lengths])
    pool = QueryPool(np.arange(len(lengths)), offsets, ids)
    for distinct in (1, 5, 10**9):
        scores = rng.integers(0, distinct, pool.n_items) - 0.0
        scores[rng.random(pool.n_items) < 0.1] = np.nan
        scores[scores == 3] *= -0.0
        ranking = Rankings.from_scores(pool, scores)
        for q in range(pool.n_queries):
            ranked = [z for z in range(offsets[q], offsets[q + 1]) if scores[z] == scores[z]]
            expected = sorted(sorted(ranked, key=lambda z: ids[z], reverse=True), key=lambda z: -scores[z])
            assert ranking.items[ranking.offsets[q] : ranking.offsets[q + 1]].tolist() == expected


def test_frozen_arrays_are_shared_and_others_copied():
    pool = two()
    assert pool.replace(query_costs=[1, 1]).item_ids is pool.item_ids
    items = np.array([1, 0, 4])
    view = items.view()
    view.setflags(write=False)
    ranking = Rankings(pool, [0, 2, 3], view)
    items[:] = 0
    assert ranking.items.tolist() == [1, 0, 4]


def test_rankings_from_ids():
    pool = two()
    ranking = Rankings.from_ids(pool, {"q2": ["c", "a"]})
    assert ranking.items.tolist() == [4, 2]
    assert ranking.lengths.tolist() == [0, 2]
    assert ranking.ranks.tolist() == [1, 2]
    assert Rankings.from_ids(QueryPool([1], [0, 1], [5]), {1: [5]}).items.tolist() == [0]


def test_the_empty_ranking_ranks_nothing():
    assert Rankings.empty(two()).lengths.tolist() == [0, 0]


# Index updates


def test_without_nothing_and_without_all():
    pool = pool_of([3, 5])
    ranking = rankings_of(pool, random_lists(np.random.default_rng(0), [3, 5], least=3))
    assert ranking.without(0.0, 1).items.tolist() == ranking.items.tolist()
    assert ranking.without(1.0, 1).items.size == 0


@pytest.mark.statistical
@pytest.mark.parametrize("length", [1, 4, 15])
def test_without_removes_the_fraction_on_average_whatever_the_length(length):
    """A list of 1 would never lose its item by rounding down.

    4 standard errors for up to 16 numbers: with other seeds one run in 1,000 would fail.
    """
    pool = pool_of([length] * 4000)
    ranking = rankings_of(pool, [range(length)] * 4000)
    kept = ranking.without(0.1, rng=3)
    removed = (length - kept.lengths) / length
    assert removed.mean() == pytest.approx(0.1, abs=4 * 0.5 / length / np.sqrt(4000))
    expected = {int(0.1 * length), int(0.1 * length) + 1}
    assert set((length - kept.lengths).tolist()) <= expected
    lost = 4000 - np.bincount(kept.items % length, minlength=length)
    assert lost == pytest.approx(np.full(length, 400.0), abs=4 * np.sqrt(4000 * 0.1 * 0.9))


def test_without_keeps_the_order_and_is_seeded():
    random = np.random.default_rng(1)
    lengths = random.integers(1, 30, 50).tolist()
    ranking = rankings_of(pool_of(lengths), random_lists(random, lengths))
    once, again, other = (ranking.without(0.3, seed) for seed in (5, 5, 6))
    assert once.items.tolist() == again.items.tolist() != other.items.tolist()
    place = {z: i for i, z in enumerate(ranking.items.tolist())}
    for q in range(50):
        kept = [place[z] for z in once.items[once.offsets[q] : once.offsets[q + 1]].tolist()]
        assert kept == sorted(kept)
