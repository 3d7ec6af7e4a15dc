"""Pairs: items of one query that are judged together, as their labels push a difference in opposite directions.

In a comparison an item counts with the contrast c of its ranks, positive if it gained, negative if it lost. What a
model leaves open of the gains of two items of one query has much in common (how relevant the query's items are at all),
and cancels in c₁ g₁ + c₂ g₂ if both are judged. A pair is one unit of the order: both places have one rate, one random
number and so one level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from activeeval.core.design.order_places import OrderPlaces
from activeeval.core.kernels import pairing
from activeeval.core.measures import Target
from activeeval.core.pool import pool_hashes
from activeeval.core.types import Bools, Floats, Ints, sealed

CORRELATION = 0.2
"""Correlation that pairs are formed by. DCG@10 and P@10, forest and uniform model with factor, budgets of 5, 10, 20 %,
400 repetitions: of .2, .4 and .6 two rankers on MQ2008 gain 1.23, 1.23 and 1.23 (geometric mean of the squared errors
without pairs over those with them), an index update 1.12, 1.09 and 1.08."""


def paired_places(
    targets: Sequence[Target], offsets: Ints, items: Ints, wanted: Bools, variances: Floats
) -> OrderPlaces:
    """Arrange items as places of their queries, the most informative first, and pair those that gained and lost.

    Two items are paired if neither has the same direction in any target, and opening their query is free.

    Parameters
    ----------
    targets : sequence of Target
    offsets, items : ndarray of int64, shapes (n_queries + 1,) and (n_places,)
        Start of each query's items in ``items``, and the items as indices into the pool's.
    wanted : ndarray of bool, shape (n_items,)
        Items whose unknown label can change a value.
    variances : ndarray, shape (n_places,)
        Variance that the label of each removes, summed over targets.
    """
    pool, numbers = targets[0].pool, np.arange(items.size)
    queries = np.repeat(np.arange(pool.n_queries), np.diff(offsets))
    can_pair = wanted[items] & (pool.query_costs[queries] == 0)
    costs = pool.item_costs[items]
    signs = np.sign([target.contrast[items] for target in targets])
    partners = np.full(items.size, -1)
    by_size = np.lexsort((pool_hashes(pool)[1][items], -variances / costs, queries))  # ids, not rows, order equal sizes
    sides = [
        by_size[(can_pair & (side >= 0).all(axis=0) & (side > 0).any(axis=0))[by_size]] for side in (signs, -signs)
    ]
    pairing.match(queries, *sides, sealed(variances), sealed(costs), CORRELATION, partners)
    is_paired = partners >= 0
    leads = np.where(is_paired, np.minimum(numbers, partners), numbers)
    units = np.where(is_paired, variances + variances[partners], variances)
    order = np.lexsort((numbers, leads, -units, queries))
    second = np.zeros(pool.n_items, dtype=np.bool_)
    second[items[leads != numbers]] = True
    places = OrderPlaces.of(pool, offsets, items[order], wanted)
    return replace(places, joined=second[places.items])


def shared_by_pairs(variances: Floats, products: Floats, second: Ints, costs: Floats) -> Floats:
    """Split the variance of each pair's value between its items in proportion to their costs, shape (n_wanted,).

    Parameters
    ----------
    variances : ndarray, shape (n_wanted,)
        Variance that each item's label removes, alone.
    products : ndarray, shape (n_pairs,)
        Covariance of the values of both items of each pair.
    second : ndarray of int64, shape (n_pairs,)
        Second item of each pair; the first stands before it.
    costs : ndarray, shape (n_wanted,)
    """
    out, first = variances.copy(), second - 1
    ratio = (variances[first] + variances[second] + 2.0 * products) / (costs[first] + costs[second])
    out[first], out[second] = ratio * costs[first], ratio * costs[second]
    return np.maximum(out, 0.0)
