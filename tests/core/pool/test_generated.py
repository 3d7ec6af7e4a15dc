"""Generated pools: their parts hold what the whole holds."""

import numpy as np
import pytest

from activeeval.core.errors import InputError
from activeeval.core.pool.generated import generate_pool


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
