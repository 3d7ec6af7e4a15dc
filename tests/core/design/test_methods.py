"""What holds for every method on offer: each measure, one ranking or two; rates and draws by their equations."""

import math
from dataclasses import replace

import numpy as np
import pytest
from core_cases import judge_all, uneven_pool
from each_once import each_once
from naive import (
    PAPER,
    additive_value,
    cascade_value,
    enumerated_moments,
    optimal_rates,
    pool_of,
    random_lists,
    random_probs,
    rankings_of,
)

from activeeval import METHODS, BudgetError, Campaign, InputError, Rankings, Target
from activeeval.core.design import WHOLE, Levels, Replacement
from activeeval.core.design.inputs import joint_variances
from activeeval.core.design.item_stage import ITEMS, Items
from activeeval.core.design.methods import default_method, find_method
from activeeval.core.design.rates import variance_left, weighed
from activeeval.core.design.stages import DEPTH
from activeeval.core.measures import AP, DCG, ERR, NDCG, RR, Precision, Recall, Success

MEASURES = {
    "DCG": DCG([0, 1, 3, 7]),
    "ERR": ERR(3),
    "nDCG@10": NDCG(cutoff=10),
    "AP": AP(),
    "RR": RR(),
    "P@3": Precision(3),
    "R@3": Recall(3),
    "Success@2": Success(2),
}
_ROOTS = 2e-6  # roots keep 20 bits


def case(measure="DCG", compare=False, *, n_queries=24, overhead=1.5, seed=0):
    """Return a target on a small pool of unequal costs, a model without nodes, and labels that do not follow it."""
    random = np.random.default_rng(seed)
    lengths = random.integers(2, 7, n_queries).tolist()
    pool = uneven_pool(random, lengths, random.uniform(0, 2 * overhead, n_queries))
    lists = [rankings_of(pool, random_lists(random, lengths, least=2)) for _ in range(2)]
    target = Target(MEASURES.get(measure, measure), *lists[: 1 + compare])
    return target, random_probs(random, pool.n_items, 4), random.integers(0, 4, pool.n_items)


def listed(target, query):
    """Return both lists of a query, by item number within it."""
    first = int(target.pool.query_offsets[query])
    lists = (target.ranking, target.versus) if target.versus else (target.ranking,)
    return [(one.items[one.offsets[query] : one.offsets[query + 1]] - first).tolist() for one in lists]


def moments_by_hand(target, probs):
    """Return m(x) and Var[L | x] of every query, by enumeration of its labels."""
    pool, n = target.pool, target.pool.n_queries
    value, worth = (
        (additive_value, [0, 1, 3, 7]) if target.measure.is_additive else (cascade_value, [0, 1 / 8, 3 / 8, 7 / 8])
    )
    ranks = range(1, 8)
    discounts = [1 / math.log2(1 + k) for k in ranks] if target.measure.is_additive else [1 / k for k in ranks]
    found = []
    for q in range(n):
        own = probs[pool.query_offsets[q] : pool.query_offsets[q + 1]]
        mean, second = enumerated_moments(value, own, worth, discounts, *listed(target, q))
        found.append((mean, second - mean**2))
    return np.array(found).T


def costs_by_hand(target):
    """Return what judging each query costs: every item of its lists once, and turning to it."""
    pool = target.pool
    costs = []
    for q in range(pool.n_queries):
        items = {z for one in listed(target, q) for z in one}
        costs.append(pool.query_costs[q] + sum(pool.item_costs[pool.query_offsets[q] + z] for z in items))
    return np.array(costs) / pool.item_costs.mean()


# The registry


def test_there_are_ten_methods_and_each_says_when():
    assert list(METHODS) == [*PAPER, "random", "whole", "depth_plain", "depth", "items_plain", "items"]
    assert all(name == method.name and method.when for name, method in METHODS.items())
    assert {name for name, method in METHODS.items() if method.with_replacement} == set(PAPER)
    assert {name for name, method in METHODS.items() if not method.is_fitted} == {*PAPER, "depth_plain", "items_plain"}
    assert [METHODS[name].defensive_share for name in METHODS] == [0.0] * 4 + [0.1] * 6
    stages = {"depth_plain": DEPTH, "depth": DEPTH, "items_plain": Items(learns=False), "items": ITEMS}
    assert all(METHODS[name].stage == stages.get(name, WHOLE) for name in METHODS)
    assert find_method("items") is METHODS["items"]
    with pytest.raises(InputError, match="unknown method 'greg'; known: passive, active, active_uniC"):
        find_method("greg")


@pytest.mark.parametrize("measure", MEASURES)
def test_the_default_is_fitted_and_fits(measure):
    method = "items" if measure in ("DCG", "P@3") else "depth"
    assert default_method(MEASURES[measure]) is METHODS[method]
    assert METHODS[method].fits(MEASURES[measure])
    assert METHODS["items"].fits(MEASURES[measure]) == (method == "items")


@each_once(("compare", [False, True]), ("measure", MEASURES), ("method", METHODS))
def test_every_method_designs_judges_and_estimates(method, measure, compare):
    target, probs, labels = case(measure, compare)
    if not METHODS[method].fits(target.measure):
        with pytest.raises(InputError, match=r"item designs are for additive measures \(DCG, RBP, P\), not for"):
            METHODS[method].design(target, probs)
        return
    design = METHODS[method].design(target, probs)
    assert (design.name, design.target, design.budget) == (method, target, None)
    budget = max(0.4 * design.cost, 1.001 * design.order.dearest_units.max())
    campaign = judge_all(Campaign(design, budget, rng=1), labels)
    found = campaign.estimate()
    assert found.method == method
    assert 0 < campaign.spent <= budget
    assert found.cost == pytest.approx(campaign.spent)
    assert found.n_items == np.count_nonzero(campaign.grades >= 0)
    assert found.std_error > 0
    low, high = -7.0 * compare * 3, 21.0  # no value of a query is outside of these
    assert low < found.value < high
    whole = judge_all(Campaign(design, 1.001 * design.cost, rng=1), labels).estimate()
    assert whole.value == pytest.approx(target.pool.query_probs @ target.values(labels), rel=1e-12, abs=1e-14)
    assert whole.std_error == 0


# Refusals, in one line each


def refused(method, message, error=InputError, **given):
    target, probs, _ = case(given.pop("measure", "DCG"))
    given = {"targets": target, "grade_probs": probs} | given
    with pytest.raises(error, match=message) as found:
        METHODS[method].design(given.pop("targets"), given.pop("grade_probs"), **given)
    assert "\n" not in str(found.value)


def test_the_uniform_model_must_know_the_scale():
    """From the measure, from the model that it takes the place of, or said."""
    message = r"'active_uniD' needs max_grade for its uniform model of nDCG"
    refused("active_uniD", message, measure="nDCG@10", grade_probs=None)
    target, probs, _ = case("nDCG@10")
    said = METHODS["active_uniD"].design(target, max_grade=3).scheme.sampling_probs
    np.testing.assert_array_equal(METHODS["active_uniD"].design(target, probs).scheme.sampling_probs, said)
    assert METHODS["active_uniD"].design(case("ERR")[0]).max_grade == 3


@pytest.mark.parametrize("method", PAPER)
def test_the_papers_draws_are_for_one_question_and_nothing_known(method):
    target, _, labels = case()
    message = f"method '{method}' draws with replacement: one target of all queries, no known grades"
    refused(method, message, targets=[target, target])
    refused(method, message, targets=target, judged=np.where(np.arange(labels.size) == 3, 1, -1))
    METHODS[method].design(target, case()[1], judged=np.full(labels.size, -1))
    refused(method, "is below the cost of the most expensive query", BudgetError, budget=0.5)
    refused(method, "the budget must be a positive number, got -1", budget=-1)


@each_once(("overhead", [0.0, 5.0]), ("sure", [1e-3, 1e-8, 1e-20, 0.0]))
def test_a_model_that_is_sure_leaves_its_items_a_tenth_of_the_mean_rate(sure, overhead):
    """ε = 0.1 holds for items on their own as for queries, however small what the model leaves open."""
    random = np.random.default_rng(3)
    pool = pool_of([10] * 50, query_costs=np.full(50, overhead))
    target = Target(DCG([0, 1]), Rankings.from_scores(pool, random.random(500)))
    probs = np.tile([0.6, 0.4], (500, 1))
    probs[:10] = [1 - sure, sure]
    order = METHODS["items"].design(target, probs).order
    mean = (
        order.place_rates.sum() + order.overheads @ np.where(np.isinf(order.query_rates), 0, order.query_rates)
    ) / order.cost
    assert order.place_rates[order.place_queries == 0].min() > 0.08 * mean


def test_floors_of_a_query_are_those_of_the_targets_that_vary_there():
    """One target alone where the others' lists are equal; between the targets' own, and never rising, elsewhere."""
    random = np.random.default_rng(4)
    pool = pool_of([8] * 12)
    scores = random.random((3, 96))
    scores[1, :40] = scores[0, :40]  # in queries 0 to 4 the first two lists are one
    one, two, three = (Rankings.from_scores(pool, own) for own in scores)
    targets = [Target(ERR(2), one, two), Target(ERR(2), two, three)]
    part = METHODS["depth"].design_input(targets, random_probs(random, 96, 3))
    first, second = (spread.least_shares for spread in part.target_variances)
    floors, owners = (
        joint_variances(part.target_variances, [2.0, 5.0], part.places).least_shares,
        part.places.open_queries,
    )
    assert floors[owners < 5] == pytest.approx(second[owners < 5])
    varies = [w * np.bincount(owners, s.of_open) for w, s in zip((2, 5), part.target_variances, strict=True)]
    expected = (varies[0][owners] * first + varies[1][owners] * second) / (varies[0] + varies[1])[owners]
    assert floors == pytest.approx(expected)
    assert all((np.diff(floors[owners == q]) <= 1e-15).all() for q in range(12))


@each_once(("overhead", [0.0, 3.0]), ("method", ["items", "depth", "whole"]))
def test_minimax_weights_lose_no_more_than_any_others(method, overhead):
    """The largest planned loss against designs of their own, over a grid of weights of two questions."""
    random = np.random.default_rng(3)
    pool = pool_of([12] * 60, query_costs=np.full(60, overhead))
    one, other = (Rankings.from_scores(pool, random.random(720)) for _ in range(2))
    measure = DCG([0, 1, 3], cutoff=5)
    targets = [Target(DCG([0, 1, 3]), one), Target(measure, one, other)]
    part = METHODS[method].design_input(targets, random_probs(random, 720, 3))
    p, is_nested = pool.query_probs, METHODS[method].stage.is_nested

    def losses(weights):
        ratios = part.stage.pooled(part.places, joint_variances(part.target_variances, weights, part.places))
        cost = weighed(part.places, ratios, p)[0].sum()
        left = [variance_left(part.places, spread, ratios, p, is_nested=is_nested) for spread in part.target_variances]
        return cost * np.array(left) / part.planned(p) ** 2

    found, alone = losses(part.minimax_weights(p)).max(), 1 / part.planned(p) ** 2
    grid = [losses([x * alone[0], (1 - x) * alone[1]]).max() for x in np.linspace(0.02, 0.98, 49)]
    assert found <= 1.02 * min(grid)
    assert found >= 1
    for k in range(2):
        own = [float(k == 0), float(k == 1)]
        assert losses(own)[k] == pytest.approx(1, rel=0.03)


# The paper's draws


@pytest.mark.parametrize("compare", [False, True])
@pytest.mark.parametrize("measure", ["DCG", "ERR"])
def test_active_draws_by_equations_16_and_17(measure, compare):
    """q ∝ p sqrt((Var[L | x] + (E[L | x] − R_θ)²) / λ), moments by enumeration, costs item by item."""
    target, probs, _ = case(measure, compare)
    p, lam = target.pool.query_probs, costs_by_hand(target)
    probs = probs.astype(np.float32).astype(float)  # what is stored is what designs are computed from

    def optimal(probs, costs):
        mean, variance = moments_by_hand(target, probs / probs.sum(axis=1, keepdims=True))
        density = p * np.sqrt((variance + (mean - p @ mean) ** 2) / costs)
        return density / density.sum()

    design = METHODS["active"].design(target, probs)
    assert design.scheme.sampling_probs == pytest.approx(optimal(probs, lam), rel=1e-7)
    assert design.scheme.draws_of(design.order).costs == pytest.approx(lam)
    assert design.cost == pytest.approx(lam.sum())
    blind = METHODS["active_uniC"].design(target, probs)
    assert blind.scheme.sampling_probs == pytest.approx(optimal(probs, np.ones_like(lam)), rel=1e-7)
    assert blind.cost == pytest.approx(lam.sum())  # blind to costs, it pays them all the same
    without = METHODS["active_uniD"].design(target, max_grade=3)
    assert without.scheme.sampling_probs == pytest.approx(optimal(np.full_like(probs, 0.25), lam), rel=1e-7)
    guarded = METHODS["active"].design(target, probs, defensive_share=0.3)
    assert guarded.scheme.sampling_probs == pytest.approx(0.7 * optimal(probs, lam) + 0.3 * p, rel=1e-7)


def test_passive_draws_by_traffic_and_random_does_so_without_repeats():
    target, _, _ = case("AP", compare=True)
    p = target.pool.query_probs
    assert METHODS["passive"].design(target).scheme.sampling_probs == pytest.approx(p)
    design = METHODS["random"].design(target)
    assert isinstance(design.scheme, Levels)
    open_roots = design.order.query_rates[design.order.is_open]
    assert open_roots / open_roots[0] == pytest.approx(p[design.order.is_open] / p[design.order.is_open][0], rel=_ROOTS)


def test_a_query_with_nothing_to_judge_has_a_share_of_its_own():
    """λ = 0 has no q*: the cheaper of the cheapest place and the mean item stands for it."""
    pool = pool_of([2, 2, 1], item_costs=[3.0, 1.0, 1.0, 2.0, 0.5], query_costs=[0, 0, 0])
    target = Target(DCG([0, 1, 3, 7]), rankings_of(pool, [[0, 1], [], [0]]))
    probs = random_probs(np.random.default_rng(0), 5, 4)
    mean, variance = moments_by_hand(target, probs)
    lam = np.array([4.0, 0.5, 0.5])
    density = np.sqrt((variance + (mean - mean.mean()) ** 2) / lam)
    design = METHODS["active"].design(target, probs)
    assert isinstance(design.scheme, Replacement)
    assert design.scheme.sampling_probs == pytest.approx(density / density.sum(), rel=1e-6)


# Rates of levels


@pytest.mark.parametrize("bias", [0.0, 0.7])
@pytest.mark.parametrize(("measure", "compare"), [("DCG", False), ("ERR", True)])
def test_whole_queries_come_at_p_times_the_root_of_variance_over_cost(measure, compare, bias):
    target, probs, _ = case(measure, compare)
    design = METHODS["whole"].design(target, probs, defensive_share=0.0, bias=bias)
    _, variance = moments_by_hand(target, probs)
    lam = np.zeros(24)  # a label that cannot matter is not paid for
    np.add.at(
        lam, design.order.place_queries[design.order.place_rates > 0], design.order.costs[design.order.place_rates > 0]
    )
    lam += design.order.overheads
    is_open = lam > 0
    expected = target.pool.query_probs[is_open] * np.sqrt((variance[is_open] + bias**2) / lam[is_open])
    found = design.order.query_rates[is_open]
    assert found / found.max() == pytest.approx(expected / expected.max(), rel=_ROOTS)
    owners = design.order.place_queries
    wanted = design.order.place_rates > 0
    np.testing.assert_array_equal(design.order.place_rates[wanted], design.order.query_rates[owners[wanted]])


def test_a_defensive_share_keeps_every_query_at_a_share_of_the_mean_root():
    """The mean weighs roots by cost and p; a model that is sure of a query does not leave it out."""
    target, probs, _ = case("DCG")
    probs = probs.copy()
    first, last = target.pool.query_offsets[:2]
    probs[first:last] = [1.0, 0.0, 0.0, 0.0]
    p, lam = target.pool.query_probs, costs_by_hand(target)
    _, variance = moments_by_hand(target, probs)
    roots = np.sqrt(variance / lam)
    mean = (p * lam * roots).sum() / (p * lam).sum()
    for share in (0.1, 0.5):
        design = METHODS["whole"].design(target, probs, defensive_share=share)
        found = design.order.query_rates / p
        assert found / found.max() == pytest.approx(np.maximum(roots, share * mean) / roots.max(), rel=_ROOTS)
    least = METHODS["whole"].design(target, probs, defensive_share=0.0).order.query_rates / p
    assert least[0] == pytest.approx(1e-6 * least.max(), rel=_ROOTS)


@pytest.mark.parametrize("share", [0.15, 0.6])
def test_rates_of_depths_are_the_numerical_optimum(share):
    """Minimise Σ p² E[D²] / a at a given cost, a never rising along a query and at most 1; before any floor."""
    target, probs, _ = case("ERR", compare=True, n_queries=4)
    method = METHODS["depth"]
    part = method.design_input(target, probs)
    places, (spread,) = part.places, part.target_variances
    owners, offsets = places.open_queries, places.open_offsets
    p = target.pool.query_probs
    roots = p[owners] * method.rates(part, ()).ratios.of_open
    costs = places.open_costs.copy()
    starts = offsets[:-1][np.diff(offsets) > 0]
    costs[starts] += places.overheads[owners[starts]]
    later = np.setdiff1d(np.arange(costs.size), starts)
    kappa = share / np.median(roots)
    rates = np.minimum(1.0, kappa * roots)
    found = optimal_rates(p[owners] ** 2 * spread.of_open, costs, float(costs @ rates), later, later - 1)
    planned = [p[owners] ** 2 * spread.of_open @ (1 / a) for a in (rates, found)]
    assert planned[0] <= planned[1] * (1 + 1e-7)
    assert rates == pytest.approx(found, abs=2e-3)


@pytest.mark.parametrize("share", [0.15, 0.6])
def test_rates_of_items_are_the_numerical_optimum(share):
    """Minimise Σ p² (A − ΣB) / π + Σ p² B / a at the cost Σ λ_0 π + Σ λ a, a ≤ π ≤ 1; before any floor."""
    target, probs, _ = case("DCG", n_queries=4, overhead=3.0)
    method = METHODS["items"]
    part = method.design_input(target, probs)
    places, (spread,) = part.places, part.target_variances
    owners, p = places.open_queries, target.pool.query_probs
    ratios = method.rates(part, ()).ratios
    roots = np.concatenate((p * ratios.of_query, p[owners] * ratios.of_open))
    left = spread.of_query - np.bincount(owners, spread.of_open, minlength=4)
    left = np.maximum(left, 0.05 * spread.of_query)  # independent grades: nothing is left but what is kept
    variances = np.concatenate((p**2 * left, p[owners] ** 2 * spread.of_open))
    costs = np.concatenate((places.overheads, places.open_costs))
    rates = np.minimum(1.0, share / np.median(roots) * roots)
    items = 4 + np.arange(owners.size)
    found = optimal_rates(variances, costs, float(costs @ rates), items, owners)
    assert variances @ (1 / rates) <= variances @ (1 / found) * (1 + 1e-7)
    assert rates == pytest.approx(found, abs=2e-3)


# Several questions


@pytest.mark.parametrize("method", ["whole", "depth", "items"])
def test_questions_are_weighed_so_that_all_lose_alike(method):
    """ω_t = 1 / V_t of its own design: the same in any unit of a measure, and nothing for one without variance."""
    target, probs, _ = case("DCG", compare=True)
    other = Target(target.measure, target.versus, target.ranking)
    large = Target(DCG([0, 1000, 3000, 7000]), target.versus, target.ranking)
    nothing = Target(target.measure, target.ranking, target.ranking)
    designs = [
        METHODS[method].design(each, probs) for each in ([target, other], [target, large], [target, other, nothing])
    ]
    for design in designs[1:]:
        np.testing.assert_allclose(design.order.place_rates, designs[0].order.place_rates, rtol=1e-4)
    alone = METHODS[method].design(target, probs).order
    given = METHODS[method].design([target, large], probs, weights=[1.0, 0.0]).order
    np.testing.assert_allclose(given.place_rates, alone.place_rates, rtol=1e-5)
    assert replace(designs[0], readings=designs[0].readings[:1]).reading(target).target is target
