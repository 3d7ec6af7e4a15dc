"""Generated pools: parts hold what the whole holds, noise has its size, rankings are by expected grade."""

import numpy as np
import pytest

from activeeval.core.errors import InputError
from activeeval.core.pool.generated import generate_pool, noisy_scores, ranked_by_expected_grade


@pytest.mark.parametrize("n_first", [1, 3, 5])
def test_both_parts_of_a_split_together_are_the_pool(n_first):
    whole = generate_pool(6, 0)
    parts = whole.split(n_first)
    assert [part.pool.n_queries for part in parts] == [n_first, 6 - n_first]
    for name in ("grades", "features", "lengths"):
        np.testing.assert_array_equal(np.concatenate([getattr(part, name) for part in parts]), getattr(whole, name))
    assert [q for part in parts for q in part.pool.query_ids] == list(whole.pool.query_ids)
    assert np.concatenate([part.pool.item_costs for part in parts]).tolist() == whole.pool.item_costs.tolist()


@pytest.mark.parametrize("n_first", [-1, 0, 6, 7])
def test_no_part_of_a_split_is_empty(n_first):
    with pytest.raises(InputError, match=f"n_first must lie from 1 to 5, got {n_first}"):
        generate_pool(6, 0).split(n_first)


def test_noise_is_half_as_large_as_the_scores_vary():
    scores = np.array([1.0, 5.0, 3.0, 3.0])
    noise = 2 * (noisy_scores(scores, 7) - scores) / np.sqrt(2)
    assert noise == pytest.approx(np.random.default_rng(7).standard_normal(4))


def test_items_are_ranked_by_expected_grade():
    made = generate_pool(2, 0)
    probs = np.random.default_rng(1).dirichlet(np.ones(3), made.pool.n_items)
    ranking, expected = ranked_by_expected_grade(made.pool, probs), probs[:, 1] + 2 * probs[:, 2]
    assert ranking.lengths.tolist() == np.diff(made.pool.query_offsets).tolist()
    for first, last in zip(ranking.offsets[:-1], ranking.offsets[1:], strict=True):
        assert (np.diff(expected[ranking.items[first:last]]) <= 0).all()
