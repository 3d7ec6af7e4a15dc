"""Orders of places: rates from ratios, and what the most expensive unit costs, by hand."""

import numpy as np
import pytest
from naive import pool_of

from activeeval.core.design.inputs import equal_loss_weights
from activeeval.core.design.order_places import OrderPlaces

WANTED = [True, False, True, True, False, True, True]


def places_of(query_costs):
    """Return the places of three queries of 4, 1 and 2 items (the second has none to judge), items that cost 1 … 7."""
    probs, costs = [0.5, 0.25, 0.25], np.arange(1.0, 8.0)
    pool = pool_of([4, 1, 2], item_costs=costs, query_costs=query_costs, query_probs=probs)
    return OrderPlaces.of(pool, pool.query_offsets, np.arange(7), np.array(WANTED))


@pytest.mark.parametrize(
    ("is_nested", "least", "query_rates", "place_rates"),
    [
        (True, None, [4, 0, 2], [4, 2, 0.5, 0, 0, 2, 2]),
        (True, [0, 0, 2, 0, 0], [4, 0, 2], [4, 2, 1, 0, 0, 2, 2]),
        (True, [9, 9, 9, 0, 0], [4, 0, 2], [4, 4, 4, 0, 0, 2, 2]),
        (False, None, [4, 0, np.inf], [0.25, 2, 0.5, 0, 0, 1, 4]),
    ],
)
def test_rates_are_the_ratios_times_p_and_never_rise_along_a_prefix(is_nested, least, query_rates, place_rates):
    least = None if least is None else np.array(least, dtype=float)
    ratios = np.array([8.0, 8.0, 8.0]), np.array([0.5, 4.0, 1.0, 4.0, 16.0])
    probs = np.array([0.5, 0.25, 0.25])
    order = places_of([3.0, 2.0, 0.0]).order(probs, *ratios, 4.0, is_nested=is_nested, least=least)
    assert order.items.tolist() == [0, 2, 3, 1, 4, 5, 6]  # wanted ones first
    assert order.query_rates.tolist() == query_rates
    assert order.place_rates.tolist() == place_rates
    assert order.costs.tolist() == [0.25, 0.75, 1, 0.5, 1.25, 1.5, 1.75]
    assert order.overheads.tolist() == [0.75, 0, 0]


@pytest.mark.parametrize(
    ("query_costs", "dearest", "two"),
    [
        ([0.0, 0.0, 0.0], [4, 0, 7], 13),  # items one by one: the two most expensive are of one query
        ([0.5, 9.0, 0.25], [8.5, 0, 13.25], 21.75),  # all that is wanted of a query, and its overhead
        ([0.5, 9.0, 0.0], [8.5, 0, 7], 15.5),
    ],
)
def test_the_most_expensive_units_are_of_wanted_items(query_costs, dearest, two):
    ones = np.ones(3)
    order = places_of(query_costs).order(ones / 3, ones, np.ones(5), 1.0, is_nested=False)
    assert order.dearest_units.tolist() == dearest
    assert order.two_dearest == two
    assert order.cost == 21 + query_costs[0] + query_costs[2]
    part = order.cost_of(np.array([0, 2]), np.array([2, 1]), np.array([0, 2, 6]))
    assert part == 12 + query_costs[0] + query_costs[2]


@pytest.mark.parametrize(
    ("roots", "weights"), [([2.0, 0.0, 0.5], [0.25, 0.0, 4.0]), ([1.0], [1.0]), ([0.0, 0.0], [1.0, 1.0])]
)
def test_targets_weigh_as_one_over_their_variance(roots, weights):
    assert equal_loss_weights(np.array(roots)) == weights
