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


QUERY_IDS, OFFSETS = ["q1", "q2"], [0, 2, 5]
WRONG_POOLS = [
    ({"query_ids": []}, "the pool is empty: query_ids holds no query"),
    ({"query_ids": ["q1", "q1"]}, "query_ids holds 'q1' twice"),
    ({"query_ids": ["q1", ""]}, "query_ids[1] is empty"),
    ({"query_ids": ["q1", 1.5]}, "query_ids[1] must be text or a whole number, got 1.5"),
    ({"query_ids": ["q1", True]}, "query_ids[1] must be text or a whole number, got True"),
    ({"query_ids": ["q1", None]}, "query_ids[1] must be text or a whole number, got None"),
    ({"query_ids": np.array([1.0, 2.0])}, "query_ids must hold text or whole numbers, got dtype float64"),
    ({"query_ids": np.array([["q1", "q2"]])}, "query_ids must be one-dimensional, got shape (1, 2)"),
    ({"query_offsets": [0, 5]}, "query_offsets must have shape (3,), one more than the queries, got (2,)"),
    ({"query_offsets": [0.0, 2.0, 5.0]}, "query_offsets must be whole numbers, got dtype float64"),
    ({"query_offsets": [1, 2, 5]}, "query_offsets must run from 0 to 5, got 1 … 5"),
    ({"query_offsets": [0, 2, 4]}, "query_offsets must run from 0 to 5, got 0 … 4"),
    ({"query_offsets": [0, 6, 5]}, "query_offsets must not decrease, but does after position 1"),
    ({"query_offsets": [0, 0, 5]}, "query 'q1' has no items"),
    ({"item_ids": list("aaabc")}, "query 'q1' holds item 'a' twice"),
    ({"item_ids": list("ababa")}, "query 'q2' holds item 'a' twice"),
    ({"item_ids": ["a", "b", "a", "", "c"]}, "item_ids[3] is empty"),
    ({"item_costs": [1, 1, -1.0, 1, 1]}, "item_costs must be positive, got -1.0 at item 'a' of query 'q2'"),
    ({"item_costs": [1, 0, 1, 1, 1]}, "item_costs must be positive, got 0.0 at item 'b' of query 'q1'"),
    ({"item_costs": [1, np.nan, 1, 1, 1]}, "item_costs must be positive, got nan at item 'b' of query 'q1'"),
    ({"item_costs": [1, np.inf, 1, 1, 1]}, "item_costs must be positive, got inf at item 'b' of query 'q1'"),
    (
        {"item_costs": [5e-324] * 5},
        "item_costs must lie between 1e-100 and 1e+100, got 5e-324 at item 'a' of query 'q1'",
    ),
    (
        {"item_costs": [1e101] * 5},
        "item_costs must lie between 1e-100 and 1e+100, got 1e+101 at item 'a' of query 'q1'",
    ),
    ({"item_costs": [1, 1]}, "item_costs must have shape (5,), got (2,)"),
    ({"item_costs": ["x"] * 5}, "item_costs must be numbers"),
    ({"query_costs": [0, -0.5]}, "query_costs must not be negative, got -0.5 at query 'q2'"),
    ({"query_costs": [np.inf, 0]}, "query_costs must not be negative, got inf at query 'q1'"),
    ({"query_costs": [1]}, "query_costs must have shape (2,), got (1,)"),
    ({"query_probs": [1, 0]}, "query_probs must be positive, got 0.0 at query 'q2'"),
    ({"query_probs": [0.5, 0.6]}, "query_probs must sum to 1, got"),
    ({"query_probs": [0.5, np.nan]}, "query_probs must be positive, got nan at query 'q2'"),
    ({"query_probs": [[0.5, 0.5]]}, "query_probs must have shape (2,), got (1, 2)"),
]


@pytest.mark.parametrize(("fields", "message"), WRONG_POOLS, ids=[message for _, message in WRONG_POOLS])
def test_a_wrong_pool_says_where_it_is_wrong(fields, message):
    with pytest.raises(InputError) as problem:
        QueryPool(**({"query_ids": QUERY_IDS, "query_offsets": OFFSETS, "item_ids": list("ababc")} | fields))
    assert message in str(problem.value)


@pytest.mark.parametrize("offsets", [3, [[0, 2]], [0, None], ["0", "x"]])
def test_wrong_offsets_without_item_ids_say_so(offsets):
    with pytest.raises(InputError):
        QueryPool(["q1"], offsets)


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


WRONG_JUDGMENTS = [
    (lambda p: PoolGrades(p, [0, 0, 5, 0, 0], 4), "grade 5 of item 'a' of query 'q2' is above max_grade 4"),
    (lambda p: PoolGrades(p, [0, 0]), "grades must have shape (5,), got (2,)"),
    (lambda p: PoolGrades(p, [0, 0.5, 0, 0, 0]), "grades must be whole numbers, got 0.5 at item position 1"),
    (lambda p: PoolGrades.from_ids(p, {"q3": {"a": 1}}), "a judgment names item 'a' of query 'q3', not in the pool"),
    (lambda p: PoolGrades.from_ids(p, {"q1": {"z": 1}}), "a judgment names item 'z' of query 'q1', not in the pool"),
    (lambda p: PoolGrades.from_ids(p, {"q1": {"a": 1.5}}), "the grade of item 'a' of query 'q1' is 1.5, not whole"),
    (lambda p: PoolGrades.from_ids(p, {"q1": {"a": True}}), "the grade of item 'a' of query 'q1' is True, not whole"),
]


@pytest.mark.parametrize(("make", "message"), WRONG_JUDGMENTS, ids=[message for _, message in WRONG_JUDGMENTS])
def test_wrong_judgments_say_where_they_are_wrong(make, message):
    with pytest.raises(InputError) as problem:
        make(two())
    assert message in str(problem.value)
