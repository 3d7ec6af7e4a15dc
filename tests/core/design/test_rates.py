"""Designs: the paper's sampling probabilities, what is judged in which order, what it costs."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive import pool_of, random_lists, random_probs, rankings_of
from scipy import optimize

from activeeval import AP, DCG, ERR, METHODS, NDCG, Rankings, Target, optimal_sampling_probs


def random_target(seed, measure, compare=True, **fields):
    """Return a target over 12 queries of 1 … 8 items, and a grade model for it."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 9, 12).tolist()
    pool = pool_of(lengths, item_costs=random.uniform(0.5, 3, sum(lengths)), query_probs=random.dirichlet([5] * 12))
    pool = pool.replace(**fields)
    lists = [rankings_of(pool, random_lists(random, lengths, least=1)) for _ in range(2)]
    return Target(measure, lists[0], lists[1] if compare else None), random_probs(random, pool.n_items, 5)


# q*


def objective(q, a, costs):
    """(Σ λ q)(Σ a / q), Lemma 2: the variance that a unit of budget buys."""
    return (costs @ q) * (a / q).sum()


@pytest.mark.parametrize("seed", range(4))
def test_optimal_probs_minimise_lemma_2(seed):
    random = np.random.default_rng(seed)
    p, spread, costs = random.dirichlet(np.ones(4)), random.uniform(0.1, 5, 4), random.uniform(0.5, 9, 4)
    a = p**2 * spread

    def free(x):
        q = np.exp(x - x.max())
        return np.log(objective(q / q.sum(), a, costs))

    found = optimize.minimize(free, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
    theirs = np.exp(found.x - found.x.max())
    ours = optimal_sampling_probs(p, spread, costs)
    assert ours == pytest.approx(theirs / theirs.sum(), rel=1e-4)
    assert np.log(objective(ours, a, costs)) <= found.fun + 1e-12


positive = st.floats(1e-3, 1e3)


@settings(deadline=None, derandomize=True)
@given(
    rows=st.lists(st.tuples(positive, st.one_of(st.just(0.0), st.floats(0, 1e30)), positive), min_size=1, max_size=9)
)
def test_optimal_probs_sum_to_one_and_exclude_nobody(rows):
    p, spread, costs = np.array(rows).T
    q = optimal_sampling_probs(p / p.sum(), spread, costs)
    assert q.sum() == pytest.approx(1, abs=1e-12)
    assert np.all(q > 0)


def test_without_any_spread_only_cost_decides():
    assert optimal_sampling_probs([0.5, 0.5], [0, 0], [1, 4]) == pytest.approx([2 / 3, 1 / 3])


# Methods


# What is judged, and what it costs


@pytest.mark.kernel
@pytest.mark.parametrize("seed", range(5))
def test_judging_order_is_that_of_a_sort(seed):
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 12, 6).tolist()
    pool = pool_of(lengths)
    lists = random_lists(random, lengths), random_lists(random, lengths)
    for cutoff in (None, 1, 4):
        target = Target(ERR(4, cutoff=cutoff), *(rankings_of(pool, one) for one in lists))
        offsets, items = target.judging_lists()
        for q in range(6):
            place = {}
            for side, of in enumerate(lists):
                for rank, z in enumerate(of[q][:cutoff]):
                    place[z] = min(place.get(z, (rank, side)), (rank, side))
            expected = [int(pool.query_offsets[q]) + z for z in sorted(place, key=place.get)]
            assert items[offsets[q] : offsets[q + 1]].tolist() == expected


@pytest.mark.kernel
@pytest.mark.parametrize("measure", [DCG(), ERR(4, cutoff=2), NDCG(cutoff=2)], ids=str)
def test_an_order_of_prefixes_is_by_better_rank(measure):
    target, probs = random_target(6, measure)
    for method in ("whole",) if isinstance(measure, NDCG) else ("depth", "whole"):
        order = METHODS[method].design(target, probs).order
        for q in range(12):
            place = {}
            for side, ranking in enumerate((target.ranking, target.versus)):
                own = ranking.items[ranking.offsets[q] : ranking.offsets[q + 1]].tolist()
                for rank, z in enumerate(own[: None if measure.needs_all_items else measure.cutoff]):
                    place[z] = min(place.get(z, (rank, side)), (rank, side))
            own = order.items[order.offsets[q] : order.offsets[q + 1]]
            wanted = own[order.place_rates[order.offsets[q] : order.offsets[q + 1]] > 0].tolist()
            ranked = [z for z in wanted if z in place]
            assert ranked == sorted(ranked, key=place.get)
            assert wanted[: len(ranked)] == ranked  # what no list holds comes last


@pytest.mark.kernel
def test_items_that_no_list_holds_follow_by_id_descending():
    pool = pool_of([4], item_ids=["b", "d", "a", "c"])
    target = Target(AP(), rankings_of(pool, [[3]]))
    assert target.judging_lists()[1].tolist() == [3, 1, 0, 2]


def test_costs_in_another_unit_make_the_same_design():
    """Cents or hours: everything is in mean items."""
    target, probs = random_target(7, DCG(), query_costs=np.linspace(0, 3, 12))
    pool = target.pool
    hours = pool.replace(item_costs=pool.item_costs * 64, query_costs=pool.query_costs * 64)
    again = Target(DCG(), *(Rankings(hours, one.offsets, one.items) for one in (target.ranking, target.versus)))
    for method in METHODS:
        one, other = (METHODS[method].design(each, probs) for each in (target, again))
        assert one.cost == other.cost
        np.testing.assert_array_equal(one.order.place_rates, other.order.place_rates)
        np.testing.assert_array_equal(one.order.costs, other.order.costs)


# Budgets of draws with replacement


def budgeted():
    """Return a design whose queries cost 1, 4 and 9, a mean item 7/3."""
    pool = pool_of([1, 2, 3], item_costs=[1, 2, 2, 3, 3, 3], query_probs=[0.5, 0.3, 0.2])
    return METHODS["passive"].design(Target(DCG(), Rankings.from_scores(pool, np.zeros(6))))


@pytest.mark.parametrize(("budget", "n"), [(3.5, 1), (6.99, 1), (7.0, 2), (35.0, 10), (36.0, 10)])
def test_the_number_of_draws_is_the_budget_over_the_expected_cost(budget, n):
    design = budgeted()
    assert design.scheme.draws_of(design.order).expected_cost == pytest.approx((0.5 + 1.2 + 1.8) * 3 / 7)
    assert design.scheme.draws_of(design.order).n_draws(budget * 3 / 7) == n


def test_a_census_is_what_pays_for_every_query():
    design = budgeted()
    assert design.scheme.draws_of(design.order).is_census(6.0)
    assert not design.scheme.draws_of(design.order).is_census(5.99)


@pytest.mark.parametrize("method", ["random", "whole", "depth", "items"])
def test_inclusion_probs_are_those_of_the_level_that_costs_the_budget_on_average(method):
    target, probs = random_target(9, DCG(), query_costs=np.full(12, 2.0))
    design = METHODS[method].design(target, probs)
    for share in (0.2, 0.7):
        own = design.with_budget(max(share * design.cost, design.order.dearest_units.max()))
        pi, a = own.inclusion_probs
        order, level = own.order, own.order.level_for(own.budget)
        assert order.expected_cost(level) == pytest.approx(own.budget, rel=1e-9)
        assert pi == pytest.approx(np.minimum(1, level * order.query_rates))
        assert a == pytest.approx(np.minimum(1, level * order.place_rates))
        drawn = pi > 0
        assert own.largest_weight == pytest.approx((order.query_probs[drawn] / pi[drawn]).max() * pi.sum())
    pi, a = design.with_budget(2 * design.cost).inclusion_probs
    assert pi[design.order.is_open].tolist() == [1.0] * int(design.order.is_open.sum())
    assert set(a.tolist()) <= {0.0, 1.0}
