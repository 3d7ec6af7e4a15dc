"""Schemes: what both answer is what a loop over their units, their draws or their file comes to."""

import math

import numpy as np
import pytest
from each_once import each_once
from naive import pool_of, random_lists, random_probs, rankings_of

from activeeval import DCG, METHODS, Target
from activeeval.core.estimation import evidence_of
from activeeval.core.pool import key_of

BOTH = ["passive", "active", "random", "items", "depth"]
LENGTHS = [3, 1, 5, 2, 4, 2, 6, 2]


def design_of(method):
    random = np.random.default_rng(5)
    pool = pool_of(LENGTHS, item_costs=random.uniform(0.5, 2, sum(LENGTHS)), query_costs=random.uniform(0, 1, 8))
    target = Target(DCG([0, 1, 3]), rankings_of(pool, random_lists(random, LENGTHS, least=0)))
    return METHODS[method].design(target, random_probs(random, pool.n_items, 3))


def drawn_of(design, seed, share):
    paid = design.with_budget(share * design.cost)
    return paid.scheme.drawn(paid.order, key_of(seed), paid.blocks, expected=paid.expected), paid


@each_once(("share", [0.6, 0.9, 1.5]), ("method", BOTH))
def test_units_are_what_is_selected_and_cost_what_it_costs(method, share):
    design = design_of(method)
    for seed in range(20):
        drawn, paid = drawn_of(design, seed, share)
        n, order = drawn.block_ends[-1], design.order
        assert len(drawn.levels) == drawn.queries.size == drawn.costs.size == n
        assert len(drawn.block_ends) == len(paid.blocks)
        places = [drawn.places_of(unit).tolist() for unit in range(n)]
        assert all({order.place_queries[place] for place in of_unit} == {query}
                   for of_unit, query in zip(places, drawn.queries.tolist(), strict=True))  # fmt: skip
        flat = [place for of_unit in places for place in of_unit]
        selection = drawn.selection(n)
        assert len(set(flat)) == len(flat)
        assert set(flat) == set(selection.places.tolist())
        met = set()
        for of_unit, query, cost in zip(places, drawn.queries.tolist(), drawn.costs, strict=True):
            turned_to = 0.0 if query in met else order.overheads[query]  # once, however many units a query has
            assert cost == pytest.approx(turned_to + sum(order.costs[place] for place in of_unit))
            met.add(query)
        assert drawn.costs.sum() == pytest.approx(selection.cost)
        assert selection.cost <= paid.budget * (1 + 1e-12)
        assert drawn.ended


def test_a_draw_has_no_level_and_that_of_two_samples_is_one_and_the_same():
    """Units of two replays of a sample are equal: a level that is no number must be one object."""
    drawn, _ = drawn_of(design_of("passive"), 3, 0.6)
    assert drawn.levels
    assert all(level is math.nan for level in drawn.levels)
    levels = drawn_of(design_of("items"), 3, 0.6)[0].levels
    assert levels == sorted(levels)


@pytest.mark.parametrize("method", BOTH)
def test_a_scheme_comes_back_from_its_arrays(method):
    scheme, n = design_of(method).scheme, len(LENGTHS)
    arrays = scheme.arrays()
    again = type(scheme).of_arrays(arrays, n)
    assert type(again) is METHODS[method].scheme
    assert all(np.array_equal(array, again.arrays()[name]) for name, array in arrays.items())
    assert set(arrays) == ({"sampling_probs"} if method in ("passive", "active") else set())


def test_draw_probabilities_of_another_pool_are_refused():
    scheme = design_of("active").scheme
    for probs in (scheme.sampling_probs[1:], scheme.sampling_probs - scheme.sampling_probs.min()):
        with pytest.raises(ValueError, match="its sampling probabilities do not fit its pool"):
            type(scheme).of_arrays({"sampling_probs": probs}, len(LENGTHS))


@pytest.mark.parametrize("method", BOTH)
def test_rows_are_those_of_the_estimate(method):
    """Every draw has a row; by levels only a query that chance chose, something of which was judged."""
    design = design_of(method)
    reading, grades = design.reading(), np.random.default_rng(0).integers(0, 3, design.pool.n_items)
    for seed in range(10):
        drawn, _ = drawn_of(design, seed, 0.6)
        selection = drawn.selection(drawn.block_ends[-1])
        rows = design.scheme.rows(reading, selection)
        evidence = evidence_of(design, reading, reading.judge(grades), selection)
        np.testing.assert_array_equal(reading.query_probs[rows], evidence.query_probs)


@pytest.mark.parametrize("method", BOTH)
def test_what_a_method_asks_before_there_is_an_order(method):
    is_drawn, scheme, targets = method in ("passive", "active"), METHODS[method].scheme, list("abc")
    assert scheme.questions(targets) == ([["a"], ["b"], ["c"]] if is_drawn else [targets])
    assert scheme.takes_known is scheme.is_planned is scheme.can_be_topped_up is not is_drawn
    design = design_of(method)
    assert design.scheme.interval("group-sequential") == ("t" if is_drawn else "group-sequential")
    assert [design.scheme.on_average(asked) for asked in (False, True)] == [False, is_drawn]
    assert design.scheme.cost(design.order) == pytest.approx(design.cost)
