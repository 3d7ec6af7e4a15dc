"""The best that a model and costs allow: against the least cost under bounds, and laws of what is reached."""

from dataclasses import replace

import numpy as np
import pytest
from core_cases import uneven_pool

from activeeval import METHODS, QueryPool, Rankings, Target, parse_measure
from activeeval.core.design import RatePlan, least_cost
from activeeval.core.errors import InputError
from activeeval.core.grade_models import QueryFactor
from activeeval.core.simulation import simulate

pytestmark = pytest.mark.kernel
SIZES = (3, 4, 2, 5)


def question(measure, overhead, seed=0, versus=False, sizes=SIZES):
    """Return a target of a small pool with uneven costs and traffic, and a grade model of it."""
    rng = np.random.default_rng(seed)
    pool = uneven_pool(rng, sizes, overhead)
    ranking, other = (Rankings.from_scores(pool, rng.random(pool.n_items)) for _ in range(2))
    target = Target(parse_measure(measure).bound_to(2), ranking, other if versus else None)
    return target, {"grade_probs": rng.dirichlet(np.ones(3), pool.n_items), "factor": QueryFactor(0.8)}


@pytest.mark.parametrize("overhead", [0.0, 0.1, 1.0, 5.0])
@pytest.mark.parametrize(
    ("name", "measure", "versus"),
    [
        ("items", "DCG", False),
        ("items", "P@2", True),
        ("depth", "ERR", False),
        ("depth", "nDCG@3", True),
        ("whole", "DCG", False),
    ],
)
def test_the_least_variance_of_a_budget_costs_at_least_that_budget(name, measure, versus, overhead):
    """By the least cost under bounds, which no neighbour improves; items leave a bit more where queries are cheap."""
    target, model = question(measure, overhead, versus=versus)
    plan = RatePlan.of(METHODS[name].design(target, **model))
    is_near = name == "items" and not versus and overhead in (0.1, 1.0)
    part, unit = METHODS[name].design_input(target, **model), target.pool.item_costs.mean()
    for share in (0.3, 0.7):
        budget = share * plan.order.cost
        found = least_cost(part, [plan.least(budget)]).cost
        assert found == pytest.approx(unit * budget, rel=0.02 if is_near else 1e-6)


@pytest.mark.parametrize("name", ["items", "depth", "whole"])
@pytest.mark.parametrize("versus", [False, True])
def test_of_queries_judged_whole_the_variance_of_their_values_is_left(name, versus):
    """Σ p² Var[L] (1/ρ − 1), also of differences in which items of a query cancel: V_0 is below 0 there."""
    target, model = question("DCG", 1.0, versus=versus)
    model["factor"] = QueryFactor(1.5)
    design = METHODS[name].design(target, **model)
    plan, rho = RatePlan.of(design), np.random.default_rng(0).uniform(0.1, 1, len(SIZES))
    moments = target.moments(design.beliefs.nodes, design.beliefs.weights)
    whole = float(target.pool.query_probs**2 @ (moments.variance * (1 / rho - 1)))
    learnt = name == "depth"  # sampled moments
    assert plan.variance(rho, rho[plan._owners]) == pytest.approx(whole, rel=0.05 if learnt else 1e-9)
    assert (plan.of_query.min() < 0) == (name == "items" and versus)


@pytest.mark.parametrize("overhead", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("name", ["items", "items_plain", "depth", "depth_plain", "whole"])
def test_no_design_plans_less_than_the_least(name, overhead):
    for seed in range(2):
        target, model = question("DCG@3", overhead, seed, sizes=(3, 6, 2, 9, 4, 1))
        for share in (0.0, 0.1, 1.0):
            plan = RatePlan.of(METHODS[name].design(target, **model, defensive_share=share))
            for part in (0.2, 0.5, 0.9):
                own, least = plan.at_budget(part * plan.order.cost), plan.least(part * plan.order.cost)
                assert own >= least * (1 - 1e-9)
                assert plan.excess(part * plan.order.cost) == pytest.approx(own / least)


def test_without_least_probabilities_a_design_is_its_own_limit():
    """Of equal items the floors bind nowhere: the probabilities are the best ones to the 20 bits that roots have."""
    target, model = question("P@2", 2.0, sizes=(2, 2, 2))
    alike = np.full_like(model["grade_probs"], 1 / 3)
    plan = RatePlan.of(METHODS["items"].design(target, alike, defensive_share=0))
    assert plan.excess(0.5 * plan.order.cost) == pytest.approx(1, abs=1e-5)


def test_a_limit_is_never_below_what_is_reached():
    labels = np.random.default_rng(3).integers(0, 3, sum(SIZES) * 10)
    for measure, name in (("DCG@3", "items"), ("ERR", "depth")):
        target, model = question(measure, 1.0, sizes=SIZES * 10)
        names = ("passive", name, f"{name}_plain", "whole", "random")
        designs = {one: METHODS[one].design(target, **model) for one in names}
        found = simulate(designs, labels, [0.3 * designs["whole"].cost], 100, 0)
        for summary in found:
            if summary.method in ("passive", "random"):
                assert summary.limit is None
                continue
            assert summary.limit.value >= summary.efficiency.value > 0
            assert summary.limit.se / summary.limit.value == pytest.approx(
                summary.efficiency.se / summary.efficiency.value
            )


def test_turning_to_a_query_is_paid_for_with_its_probability_at_the_best():
    """One query of two like items, turned to with ρ, both judged: V (1/ρ − 1) where (λ_0 + 2) ρ is the budget."""
    pool = QueryPool(["q", "r"], [0, 2, 4], list("abcd"), query_costs=[6.0, 6.0])
    target = Target(parse_measure("P@2").bound_to(1), Rankings.from_scores(pool, [2.0, 1, 2, 1]))
    plan = RatePlan.of(METHODS["items"].design(target, np.full((4, 2), 0.5)))
    left = 2 * 0.25 * (2 * 0.25 * 0.25)  # two queries of p = 1/2, each of two items worth 1/2, of variance 1/4
    for budget in (2.0, 4.0, 12.0):
        assert plan.least(budget) == pytest.approx(left * (16 / budget - 1))


def test_the_paper_s_draws_and_designs_without_a_model_have_no_plan():
    target, model = question("DCG", 0.0)
    for name in ("passive", "active", "random"):
        with pytest.raises(InputError, match=f"'{name}' has no plan: it needs levels and a grade model"):
            RatePlan.of(METHODS[name].design(target, **model))


def test_known_grades_and_segments_leave_less():
    target, model = question("DCG", 1.0)
    known = np.full(sum(SIZES), -1)
    known[:3] = 1
    plan = RatePlan.of(METHODS["items"].design(target, **model, judged=known))
    assert plan.of_query[0] == plan.of_open[plan.offsets[0] : plan.offsets[1]].sum() == 0
    inside = np.array([True, False, True, False])
    part = RatePlan.of(METHODS["items"].design(replace(target, within=inside), **model))
    np.testing.assert_array_equal(part.of_query > 0, inside)
