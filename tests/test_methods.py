"""What holds for every method on offer: one path, one seed one answer, budgets kept."""

from __future__ import annotations

import itertools
import math
from dataclasses import fields

import numpy as np
import pytest
from naive import pool_of, random_lists, random_probs, rankings_of

from activeeval import AP, DCG, ERR, METHODS, NDCG, Campaign, InputError, Method, Target, replicate
from activeeval.design import SCHEMES
from activeeval.estimation import ESTIMATORS
from activeeval.simulation import repetition_seeds, replications

MEASURES = {"DCG": DCG(cutoff=5), "ERR": ERR(4), "nDCG": NDCG(cutoff=3), "AP": AP()}
SETTLED = [name for name, method in METHODS.items() if method.needs_budget]
GOES_ON = [name for name in METHODS if name not in SETTLED]


def labelled(measure="DCG", compare=True, seed=0, n_queries=24, overhead=1.5):
    """Return a target on a small pool, a model with a query factor, and labels that do not follow it.

    Both lists agree on many ranks; query 0 is not ranked at all.
    """
    random = np.random.default_rng(seed)
    lengths = random.integers(2, 8, n_queries).tolist()
    n_items = sum(lengths)
    costs = {"item_costs": random.uniform(0.5, 2, n_items), "query_costs": random.uniform(0, 2 * overhead, n_queries)}
    pool = pool_of(lengths, query_probs=random.dirichlet(np.full(n_queries, 5.0)), **costs)
    first = random_lists(random, lengths, least=2)
    second = [one[:1] + one[1:][::-1] if q % 2 else one[::-1] for q, one in enumerate(first)]
    first[0] = second[0] = []
    lists = [rankings_of(pool, one) for one in (first, second)]
    target = Target(MEASURES[measure], lists[0], lists[1] if compare else None)
    model = {
        "grade_probs": np.stack([random_probs(random, n_items, 5) for _ in range(2)]),
        "node_weights": [0.4, 0.6],
    }
    return target, model, random.integers(0, 5, n_items)


def judge_of(pool, labels):
    places = pool.item_positions()
    queries = {name: q for q, name in enumerate(pool.query_ids.tolist())}
    return lambda query_id, item_ids: [int(labels[places[queries[query_id], item]]) for item in item_ids]


def plans(measure="DCG", compare=True, names=METHODS):
    target, model, labels = labelled(measure, compare)
    fit = [name for name in names if METHODS[name].fits(target.measure)]
    return {name: METHODS[name].plan(target, **model) for name in fit}, labels


def each(kernel):
    """Pairs of a method and a measure that it can estimate; those of some measures also run without compilation."""
    return [
        pytest.param(m, name, marks=[pytest.mark.kernel] if name in kernel else [])
        for name in MEASURES
        for m in METHODS
        if METHODS[m].fits(MEASURES[name])
    ]


def budgets_of(plan):
    """Return a small, a middling and a large budget, and one for everything."""
    costs = plan.stage.costs
    return [max(0.2 * costs.sum(), 1.01 * costs.max()), 0.5 * costs.sum(), 0.97 * costs.sum(), 1.1 * costs.sum()]


# The registry


def test_methods_name_things_that_exist():
    for name, method in METHODS.items():
        assert method.name == name
        assert method.scheme in SCHEMES
        assert method.estimator in ESTIMATORS
        assert 0 <= method.defensive_share <= 1


@pytest.mark.parametrize("method", SETTLED)
def test_a_settled_sample_needs_a_budget(method):
    target, model, _ = labelled()
    with pytest.raises(InputError, match=f"'{method}' makes its design for a budget"):
        METHODS[method].design(target, **model)


# One path


@pytest.mark.parametrize("compare", [False, True])
@pytest.mark.parametrize(("method", "measure"), each(["ERR"]))
def test_a_repetition_is_the_campaign_with_its_seed_bit_for_bit(method, measure, compare):
    by_method, labels = plans(measure, compare, [method])
    plan = by_method[method]
    judge, budgets = judge_of(plan.target.pool, labels), budgets_of(plan)
    run = replicate(plan, labels, budgets, 2, rng=3)
    for (r, seed), (k, budget) in itertools.product(enumerate(repetition_seeds(3, 2)), enumerate(budgets)):
        campaign = Campaign(plan.design(budget), budget, rng=seed)
        live = campaign.run(judge)
        assert (live.value, live.std_error) == (run.values[r, k], math.sqrt(run.variances[r, k]))
        counts = run.n_draws[r, k], run.n_queries[r, k], run.n_items[r, k]
        assert (live.n_draws, live.n_queries, live.n_items) == counts
        assert live.cost == run.spent[r, k]
        assert live.degrees_of_freedom == run.degrees_of_freedom[r, k]
        assert live.cost == pytest.approx(naive_cost(campaign), rel=1e-12)


@pytest.mark.parametrize("method", ["depth", "depth_draws", "items"])
def test_items_that_no_list_weighs_do_not_change_the_last_bit(method):
    """A campaign never asks for them, a simulation knows their labels: (a + x) − (b + x) is not a − b."""
    for seed in range(8):
        target, model, labels = labelled("DCG", True, seed)
        plan = METHODS[method].plan(target, **model)
        budget = 1.1 * plan.stage.costs.sum()
        live = Campaign(plan.design(budget), budget, rng=0).run(judge_of(target.pool, labels))
        assert live.value == replicate(plan, labels, [budget], 1).values[0, 0]


def naive_cost(campaign):
    """Every item once, every query once that has any."""
    pool = campaign.design.pool
    items = {z for draw in campaign.draws for z in draw.items}
    queries = {draw.query for draw in campaign.draws if draw.items}
    return sum(pool.item_costs[z] for z in items) + sum(pool.query_costs[q] for q in queries)


@pytest.mark.kernel
@pytest.mark.parametrize("method", METHODS)
def test_a_campaign_replayed_from_its_log_is_itself(method):
    by_method, labels = plans("DCG", True, [method])
    plan = by_method[method]
    budget = 0.5 * plan.stage.costs.sum()
    design, judge = plan.design(budget), judge_of(plan.target.pool, labels)
    live = Campaign(design, budget, rng=7)
    found = live.run(judge)
    again = Campaign.replay(plan.design(budget), budget, live.log, rng=7)
    assert again.estimate() == found
    assert again.log == live.log
    assert again.spent == live.spent
    np.testing.assert_array_equal(again.grades, live.grades)
    for n in (1, len(live.log) // 2):
        resumed = Campaign.replay(design, budget, live.log[:n], rng=7)
        for draw in resumed.awaited:
            resumed.tell(draw, judge(draw.query_id, list(draw.item_ids)))
        assert resumed.run(judge) == found


@pytest.mark.parametrize("method", METHODS)
def test_one_seed_gives_one_answer_whatever_the_number_of_workers(monkeypatch, method):
    by_method, labels = plans("DCG", False, [method])
    plan = by_method[method]
    budget = [0.4 * plan.stage.costs.sum()]
    one = replicate(plan, labels, budget, 10, rng=5)
    monkeypatch.setattr(replications, "_CHUNK", 3)
    for n_jobs in (1, 2):
        other = replicate(plan, labels, budget, 10, rng=5, n_jobs=n_jobs)
        for field in fields(one):
            np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))
    assert not np.array_equal(replicate(plan, labels, budget, 10, rng=6).values, one.values)
    fewer = replicate(plan, labels, budget, 4, rng=5)
    np.testing.assert_array_equal(fewer.values, one.values[:4])


# Probabilities and budgets


@pytest.mark.parametrize(("method", "measure"), each(["DCG"]))
def test_probabilities_are_probabilities_and_budgets_are_kept(method, measure):
    by_method, _ = plans(measure, True, [method])
    plan = by_method[method]
    for budget in budgets_of(plan):
        design = plan.design(budget)
        pi, g = design.sampling_probs, design.item_probs
        assert 0 < pi.min() <= pi.max() <= 1
        assert g.size == 0 or 0 < g.min() <= g.max() <= 1
        if METHODS[method].scheme in ("poisson", "cube"):
            pool, queries = design.pool, design.stage.slot_queries
            spent = sum(pi[q] * pool.query_costs[q] for q in set(queries.tolist()))
            spent += sum(pi[q] * g[i] * pool.item_costs[design.items[i]] for i, q in enumerate(queries.tolist()))
            assert spent == pytest.approx(min(budget, design.costs.sum()), rel=1e-10)
            assert design.expected_cost == pytest.approx(spent, rel=1e-12)
        else:
            assert pi.sum() == pytest.approx(1, rel=1e-12)
        for first, last in itertools.pairwise(design.offsets.tolist()):
            if design.stage.is_nested and last > first:
                assert g[first] == 1
                assert np.all(np.diff(g[first:last]) <= 0)
        if METHODS[method].stage == "whole":
            assert np.all(g == 1)  # a query judged in part would count as 0


@pytest.mark.parametrize("method", GOES_ON)
def test_a_hard_budget_is_never_overspent(method):
    by_method, labels = plans("ERR", True, [method])
    plan = by_method[method]
    budgets = budgets_of(plan)
    run = replicate(plan, labels, budgets, 40, rng=1)
    assert np.all(run.spent <= np.array(budgets) * (1 + 1e-9))
    assert np.all(run.spent[:, 0] > 0)


@pytest.mark.statistical
@pytest.mark.parametrize("method", SETTLED)
def test_a_settled_sample_costs_its_budget_on_average(method):
    """Mean cost of 1,500 samples within 4 standard errors: 1 run in 2,000 would fail one of the methods."""
    by_method, labels = plans("DCG", True, [method])
    plan = by_method[method]
    budget = 0.3 * plan.stage.costs.sum()
    spent = replicate(plan, labels, [budget], 1500, rng=2).spent[:, 0]
    assert abs(spent.mean() - budget) <= 4 * spent.std(ddof=1) / math.sqrt(1500)


@pytest.mark.parametrize(("method", "measure"), each(["DCG"]))
def test_everything_judged_leaves_no_error(method, measure):
    by_method, labels = plans(measure, True, [method])
    plan = by_method[method]
    run = replicate(plan, labels, [1.1 * plan.stage.costs.sum()], 2, rng=0)
    truth = plan.target.pool.query_probs @ plan.target.values(labels)
    assert run.values[:, 0] == pytest.approx([truth] * 2, rel=1e-12, abs=1e-15)
    assert run.variances.tolist() == [[0], [0]]


# What a sample cannot tell


@pytest.mark.kernel
@pytest.mark.parametrize("method", METHODS)
def test_a_sample_without_anything_relevant_does_not_make_zero_certain(method):
    """One relevant item in 50 queries of one: most small samples show 50 times the same, and 0 is not the truth."""
    pool = pool_of([1] * 50)
    grades = np.zeros(50, dtype=int)
    grades[7] = 1
    probs = np.random.default_rng(0).dirichlet([9, 1], 50)
    plan = METHODS[method].plan(Target(DCG(), rankings_of(pool, [[0]] * 50)), probs)
    run = replicate(plan, grades, [10.0], 100, rng=3)
    half = run.half_widths()[:, 0]
    missed = abs(run.values[:, 0] - 0.02) > half
    assert not np.any(missed & (half < 1e-6))


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"scheme": "sequential", "stage": "depth", "estimator": "difference"}, "are for whole queries alone"),
        ({"scheme": "replacement", "stage": "items", "estimator": "regression"}, "are for whole queries or depths"),
        ({"scheme": "replacement", "estimator": "lure"}, "'lure' is not for 'replacement'"),
        ({"scheme": "sequential", "estimator": "ratio"}, "'ratio' is not for 'sequential'"),
        ({"scheme": "poisson", "estimator": "regression", "optimal": False}, "drawn one by one and judged whole"),
    ],
)
def test_parts_that_do_not_fit_make_no_method(given, what):
    with pytest.raises(InputError, match=what):
        Method("mine", "never", **given)


def test_without_an_overhead_items_are_drawn_on_their_own():
    pool = pool_of([5, 3, 4])
    random = np.random.default_rng(0)
    lists = rankings_of(pool, [[0, 1, 2, 3, 4], [2, 0, 1], [3, 2, 1, 0]])
    design = METHODS["items"].design(Target(DCG(), lists), random_probs(random, 12, 3), budget=3.0)
    assert np.all(design.sampling_probs == 1)
    assert design.expected_cost == pytest.approx(3.0, rel=1e-9)
    spread = np.sqrt(design.stage.spreads)
    free = design.item_probs < 1  # a ∝ sqrt(B / λ)
    assert np.ptp(design.item_probs[free] / spread[free]) == pytest.approx(0, abs=1e-9)
    with_overhead = pool.replace(query_costs=[2.0, 0.5, 1.0])
    lists = rankings_of(with_overhead, [[0, 1, 2, 3, 4], [2, 0, 1], [3, 2, 1, 0]])
    design = METHODS["items"].design(Target(DCG(), lists), random_probs(random, 12, 3), budget=3.0)
    spent = [Campaign(design, rng=seed) for seed in range(4000)]
    for campaign in spent:
        while campaign.ask() is not None:
            pass
    costs = np.array([campaign.spent for campaign in spent])
    assert costs.mean() == pytest.approx(3.0, abs=4 * costs.std() / np.sqrt(costs.size))
    assert costs.std() == pytest.approx(design.cost_sd, rel=0.05)
