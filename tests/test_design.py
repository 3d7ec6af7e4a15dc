from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import pool_of, random_lists, random_probs, rankings_of
from scipy import optimize

from activeeval import DCG, ERR, METHODS, BudgetError, Campaign, InputError, Rankings, Target, optimal_sampling_probs
from activeeval.design import defended, draw_sample
from activeeval.methods import find_method
from activeeval.record import from_arrays, record_of, to_arrays


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


def test_optimal_probs_are_proportional_to_p_root_spread_over_cost():
    q = optimal_sampling_probs([0.2, 0.3, 0.5], [4.0, 9.0, 1.0], [1.0, 4.0, 25.0])
    assert q == pytest.approx(np.array([0.4, 0.45, 0.1]) / 0.95)


def test_without_any_spread_only_cost_decides():
    assert optimal_sampling_probs([0.5, 0.5], [0, 0], [1, 4]) == pytest.approx([2 / 3, 1 / 3])


# Methods


@pytest.mark.parametrize("measure", [DCG(), ERR(4, cutoff=3)])
@pytest.mark.parametrize("compare", [False, True])
def test_active_is_corollary_1(measure, compare):
    target, probs = random_target(0, measure, compare)
    pool, moments = target.pool, target.moments(probs)
    design = METHODS["active"].design(target, probs)
    overall = pool.query_probs @ moments.mean
    spread = moments.second - 2 * overall * moments.mean + overall**2
    expected = pool.query_probs * np.sqrt(spread / design.costs)
    assert design.sampling_probs == pytest.approx(expected / expected.sum(), rel=1e-9)
    assert design.sampling_probs.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_array_equal(design.predictions, moments.mean)
    np.testing.assert_array_equal(design.variances, moments.variance)
    np.testing.assert_array_equal(design.importance_weights, pool.query_probs / design.sampling_probs)


def test_passive_draws_by_traffic_and_needs_no_model():
    target, _ = random_target(1, DCG())
    design = METHODS["passive"].design(target)
    np.testing.assert_array_equal(design.sampling_probs, target.pool.query_probs)
    np.testing.assert_array_equal(design.importance_weights, 1)
    assert np.isnan(design.predictions).all()


def test_unic_is_active_on_a_pool_without_costs_but_pays_them():
    target, probs = random_target(2, ERR(4))
    blind = METHODS["active_uniC"].design(target, probs)
    moments = target.moments(probs)
    spread = moments.variance + (moments.mean - target.pool.query_probs @ moments.mean) ** 2
    expected = target.pool.query_probs * np.sqrt(spread)
    assert blind.sampling_probs == pytest.approx(expected / expected.sum(), rel=1e-9)
    np.testing.assert_array_equal(blind.costs, METHODS["active"].design(target, probs).costs)


def test_unid_is_active_with_the_uniform_model():
    target, probs = random_target(3, ERR(4))
    active = METHODS["active"].design(target, np.full_like(probs, 0.2))
    for given_probs in (None, probs):
        blind = METHODS["active_uniD"].design(target, given_probs)
        np.testing.assert_array_equal(blind.sampling_probs, active.sampling_probs)


def test_unid_must_know_the_largest_grade():
    target, _ = random_target(3, DCG())
    known = METHODS["active_uniD"].design(target, max_grade=4).sampling_probs
    np.testing.assert_array_equal(known, METHODS["active_uniD"].design(target, np.full((1, 5), 0.2)).sampling_probs)
    with pytest.raises(
        InputError, match=r"'active_uniD' needs max_grade for its uniform model of DCG\(dcg='exp-log2'\)"
    ):
        METHODS["active_uniD"].design(target)


def test_a_query_factor_reaches_the_design():
    target, probs = random_target(4, ERR(4))
    nodes = np.stack([probs, np.roll(probs, 1, axis=1)])
    design = METHODS["active"].design(target, nodes, node_weights=[0.3, 0.7])
    np.testing.assert_array_equal(design.variances, target.moments(nodes, [0.3, 0.7]).variance)


def test_a_model_is_asked_for_by_name():
    target, _ = random_target(3, ERR(4))
    for name in ("active", "active_uniC"):
        with pytest.raises(InputError, match=f"method '{name}' needs a grade model: give grade_probs; passive"):
            METHODS[name].design(target)
    with pytest.raises(InputError, match="unknown method 'best'; known: passive, active, active_uniC, active_uniD"):
        find_method("best")


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_a_defensive_share_bounds_every_weight(share):
    target, probs = random_target(5, ERR(4))
    plain = METHODS["active"].design(target, probs)
    design = METHODS["active"].design(target, probs, defensive_share=share)
    p = target.pool.query_probs
    assert design.sampling_probs == pytest.approx((1 - share) * plain.sampling_probs + share * p, rel=1e-12)
    assert design.sampling_probs.sum() == pytest.approx(1, abs=1e-12)
    if share:
        assert design.importance_weights.max() <= (1 + 1e-12) / share


@pytest.mark.parametrize("share", [-0.1, 1.1, np.nan])
def test_a_defensive_share_outside_its_bounds_is_refused(share):
    with pytest.raises(InputError, match=r"the defensive share must lie in \[0, 1\], got"):
        defended(np.array([1.0]), np.array([1.0]), share)


# What is judged, and what it costs


@pytest.mark.kernel
def test_better_ranks_are_judged_first_and_the_first_ranking_wins_ties():
    pool = pool_of([5, 3, 2])
    first = rankings_of(pool, [[3, 0, 1], [2], []])
    second = rankings_of(pool, [[0, 4, 3, 2], [0, 2, 1], []])
    offsets, items = Target(DCG(), first, second).judging_lists()
    assert offsets.tolist() == [0, 5, 8, 8]
    assert items.tolist() == [3, 0, 4, 1, 2, 7, 5, 6]
    offsets, items = Target(DCG(), second, first).judging_lists()
    assert items.tolist() == [0, 3, 4, 1, 2, 5, 7, 6]
    offsets, items = Target(DCG(cutoff=2), first, second).judging_lists()
    assert offsets.tolist() == [0, 3, 5, 5]
    assert items.tolist() == [3, 0, 4, 7, 5]
    assert Target(DCG(), first).judging_lists()[1].tolist() == first.items.tolist()


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


def test_costs_are_those_of_the_items_to_judge_and_the_overhead():
    pool = pool_of([3, 2, 1], item_costs=[1, 2, 4, 8, 16, 32], query_costs=[0.5, 0.25, 0.125])
    first, second = rankings_of(pool, [[0, 1], [0], []]), rankings_of(pool, [[1, 2], [], []])
    design = METHODS["passive"].design(Target(DCG(), first, second))
    assert design.costs.tolist() == [7.5, 8.25, 0.0]
    assert design.item_counts.tolist() == [3, 1, 0]
    assert design.expected_cost == pytest.approx(15.75 / 3)
    assert METHODS["passive"].design(Target(DCG(cutoff=1), first)).costs.tolist() == [1.5, 8.25, 0.0]


def test_a_query_with_nothing_to_judge_may_still_be_drawn():
    pool = pool_of([2, 2])
    ranking = rankings_of(pool, [[0, 1], []])
    design = METHODS["active"].design(Target(DCG(), ranking), np.full((4, 3), 1 / 3))
    assert np.all(design.sampling_probs > 0)
    assert np.all(np.isfinite(design.importance_weights))


@pytest.mark.parametrize("method", ["poisson", "greg", "cube", "depth", "items"])
def test_certain_queries_are_those_that_every_sample_tells(method):
    """π = 1 and all G = 1, or nothing to judge: told apart by drawing; the rest makes the totals of the regressors."""
    random = np.random.default_rng(4)
    lengths = [3] * 12
    pool = pool_of(lengths, query_probs=random.dirichlet([5] * 12), query_costs=np.full(12, 0.5))
    lists = [list(random.permutation(3)) for _ in range(10)] + [[], []]
    target = Target(DCG(), rankings_of(pool, lists))
    probs = random_probs(random, 36, 4)
    probs[:9] = np.eye(4)[0] * 0.999 + 0.00025  # three queries that hardly vary
    plan = METHODS[method].plan(target, probs)
    design = plan.design(0.8 * plan.stage.costs.sum())
    stage, known, grades = design.stage, np.ones(12, dtype=bool), random.integers(0, 4, 36)
    for seed in range(200):
        drawn = draw_sample(design, np.random.default_rng(seed))
        judged = np.zeros(stage.items.size, dtype=bool)
        judged[drawn.slots] = True
        known &= [judged[first:last].all() for first, last in itertools.pairwise(stage.offsets)]
    assert design.is_certain.tolist() == known.tolist()
    assert 4 <= known.sum() <= 11
    p, z = pool.query_probs, stage.regressors
    assert design.population[:2] == pytest.approx(sum(p[x] * z[x] for x in range(12) if not known[x]))
    assert design.open_share == pytest.approx(sum(p[x] for x in range(12) if not known[x]))
    campaign = Campaign(design, rng=1)
    while (draw := campaign.ask()) is not None:
        campaign.tell(draw, grades[list(draw.items)].tolist())
    record = from_arrays(to_arrays(record_of(campaign)))
    _, items = pool.subset(np.array(sorted({draw.query for draw in campaign.draws})))
    assert record.estimate(grades[items]) == campaign.estimate()


def test_draws_one_by_one_are_sure_of_no_query():
    target, probs = random_target(1, ERR(4))
    for method in ("passive", "regression", "depth_draws", "lure"):
        design = METHODS[method].design(target, probs)
        assert not design.is_certain.any()
        assert design.open_share == pytest.approx(1)


def test_the_largest_weight_is_that_of_a_share_over_the_mean_share_of_a_plain_sample():
    """Equal probabilities weigh 1 however large the pool; a query at a hundredth of them 100; a certain one nothing."""
    for n in (10, 1000):
        pool = pool_of([1] * n, item_costs=np.ones(n))
        target = Target(DCG(), rankings_of(pool, [[0]] * n))
        plan = METHODS["poisson"].plan(target, np.full((n, 3), 1 / 3))
        plain = plan.design(0.5 * n)
        assert plain.largest_weight == pytest.approx(1)
        uneven = plain.sampling_probs.copy()
        uneven[:2] = 0.005, 1.0
        assert replace(plain, sampling_probs=uneven).largest_weight == pytest.approx(100)
        assert plan.design(n).largest_weight == 1
        assert METHODS["passive"].design(target).largest_weight == pytest.approx(1)


@pytest.mark.parametrize("method", ["greg", "depth", "items"])
def test_a_default_share_keeps_the_largest_weight_small_and_none_does_not(method):
    """A model that is sure of most queries leaves them hardly any chance."""
    random = np.random.default_rng(3)
    pool = pool_of([4] * 60, query_costs=np.ones(60))
    target = Target(DCG(), rankings_of(pool, [[0, 1, 2, 3]] * 60))
    probs = np.full((240, 3), 1e-9) + np.eye(3)[0] * (1 - 3e-9)
    probs[200:] = random_probs(random, 40, 3)
    budget = 0.1 * 60 * 5
    assert METHODS[method].design(target, probs, budget=budget).largest_weight < 15
    assert METHODS[method].design(target, probs, budget=budget, defensive_share=0).largest_weight > 30


# Budgets


def budgeted():
    pool = pool_of([1, 2, 3], item_costs=[1, 2, 2, 3, 3, 3], query_probs=[0.5, 0.3, 0.2])
    return METHODS["passive"].design(Target(DCG(), Rankings.from_scores(pool, np.zeros(6))))


@pytest.mark.parametrize(("budget", "n"), [(3.5, 1), (6.99, 1), (7.0, 2), (35.0, 10), (36.0, 10)])
def test_the_number_of_draws_is_the_budget_over_the_expected_cost(budget, n):
    design = budgeted()
    assert design.expected_cost == pytest.approx(0.5 + 1.2 + 1.8)
    assert design.n_draws(budget) == n


def test_an_expected_budget_below_one_draw_is_refused_with_numbers():
    message = "budget 3 does not pay for one draw, which costs 3.5 on average"
    with pytest.raises(BudgetError, match=message) as problem:
        budgeted().n_draws(3)
    assert (problem.value.budget, problem.value.needed) == (3, pytest.approx(3.5))


def test_a_hard_budget_below_the_dearest_query_is_refused_with_numbers():
    budgeted().check_hard_budget(9.0)
    with pytest.raises(BudgetError, match=r"budget 8\.9 is below the cost of the dearest query, 9 for 'q2'") as problem:
        budgeted().check_hard_budget(8.9)
    assert (problem.value.budget, problem.value.needed) == (8.9, 9.0)


@pytest.mark.parametrize("method", ["poisson", "cube", "depth"])
@pytest.mark.parametrize("budget", [0, -1, np.nan, np.inf])
def test_the_budget_of_a_settled_design_is_a_positive_number(method, budget):
    target, probs = random_target(1, ERR(4))
    for make in (METHODS[method].plan(target, probs).design, METHODS[method].plan(target, probs).design_within):
        with pytest.raises(InputError, match="the budget must be a positive number, got"):
            make(budget)


@pytest.mark.parametrize("method", ["poisson", "cube", "depth", "depth_cube"])
@pytest.mark.parametrize("share", [0.001, 0.2, 0.9, 1.0, 3.0])
def test_a_settled_design_costs_its_budget_and_at_most_the_pool(method, share):
    target, probs = random_target(1, ERR(4))
    plan = METHODS[method].plan(target, probs)
    total = plan.stage.costs.sum()
    design = plan.design(share * total)
    assert design.expected_cost == pytest.approx(min(share, 1) * total)
    assert np.all((design.sampling_probs > 0) & (design.sampling_probs <= 1))
    if share >= 1:
        np.testing.assert_array_equal(design.sampling_probs, 1)
        np.testing.assert_array_equal(design.item_probs, 1)


@pytest.mark.parametrize("budget", [0, -1, np.nan, np.inf])
def test_a_budget_is_a_positive_number(budget):
    for check in (budgeted().n_draws, budgeted().check_hard_budget, budgeted().is_census):
        with pytest.raises(InputError, match="the budget must be a positive number, got"):
            check(budget)


def test_a_census_is_what_pays_for_every_query():
    assert budgeted().is_census(14.0)
    assert budgeted().is_census(100)
    assert not budgeted().is_census(13.99)
