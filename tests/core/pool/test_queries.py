import numpy as np
import pytest
from naive import rankings_of

from activeeval import InputError, PoolGrades, QueryPool

pytestmark = pytest.mark.kernel


def two():
    """Return a pool of q1 with items a, b and q2 with items a, b, c."""
    return QueryPool(["q1", "q2"], [0, 2, 5], list("ababc"))


# Pools


def test_a_pool_knows_what_it_holds():
    pool = two()
    assert (pool.n_queries, pool.n_items) == (2, 5)
    assert pool.item_queries.tolist() == [0, 0, 1, 1, 1]
    assert pool.item_positions() == {(0, "a"): 0, (0, "b"): 1, (1, "a"): 2, (1, "b"): 3, (1, "c"): 4}
    assert pool.place(4) == "item 'c' of query 'q2'"
    assert pool.item_costs.tolist() == [1] * 5
    assert pool.query_costs.tolist() == [0, 0]
    assert pool.query_probs.tolist() == [0.5, 0.5]


def test_items_without_ids_are_numbered_from_one_in_every_query():
    assert QueryPool(["q1", "q2"], [0, 2, 5]).item_ids.tolist() == ["1", "2", "1", "2", "3"]


def test_a_pool_is_frozen_and_keeps_its_own_copy():
    costs = np.ones(5)
    pool = QueryPool(["q1", "q2"], [0, 2, 5], item_costs=costs)
    costs[0] = 7
    assert pool.item_costs[0] == 1
    with pytest.raises(AttributeError):
        pool.item_costs = costs
    with pytest.raises(ValueError, match="read-only"):
        pool.item_costs[0] = 7


def test_replace_validates_anew():
    assert two().replace(query_costs=[1, 2]).query_costs.tolist() == [1, 2]
    with pytest.raises(InputError, match="query_costs must not be negative"):
        two().replace(query_costs=[1, -2])


def test_a_subset_keeps_its_queries_and_scales_their_probabilities():
    pool = QueryPool(["q1", "q2", "q3"], [0, 2, 5, 6], list("ababcx"), [1, 2, 3, 4, 5, 6], [7, 8, 9], [0.5, 0.3, 0.2])
    part, items = pool.subset([2, 0])
    assert part.query_ids.tolist() == ["q3", "q1"]
    assert items.tolist() == [5, 0, 1]
    assert part.item_ids.tolist() == ["x", "a", "b"]
    assert part.item_costs.tolist() == [6, 1, 2]
    assert part.query_costs.tolist() == [9, 7]
    assert part.query_probs == pytest.approx([2 / 7, 5 / 7])
    ranking = rankings_of(pool, [[1, 0], [2], [0]]).restricted_to(part, items)
    assert ranking.items.tolist() == [0, 2, 1]
    assert ranking.lengths.tolist() == [1, 2]


# Judgments


def test_judgments_know_their_scale_and_what_is_judged():
    judgments = PoolGrades(two(), [2, -1, 0, -1, 1])
    assert judgments.max_grade == 2
    assert judgments.is_judged.tolist() == [True, False, True, False, True]
    assert PoolGrades(two(), [-1] * 5).max_grade == 0
    assert PoolGrades(two(), [0] * 5, max_grade=4).max_grade == 4


def test_judgments_from_ids():
    judgments = PoolGrades.from_ids(two(), {"q2": {"c": 3, "a": 0}}, max_grade=4)
    assert judgments.grades.tolist() == [-1, -1, 0, -1, 3]
