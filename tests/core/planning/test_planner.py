"""What is planned beside what happens: labels drawn from the model, replayed samples, SciPy's normal distribution."""

import math
from dataclasses import replace

import numpy as np
import pytest
from core_cases import noisy_lists
from each_once import each_once
from planned_cases import FACTOR, FITTED, PLAIN, design_of, made, planner_of, sharpened
from scipy import stats

from activeeval import DCG, METHODS, NDCG, RR, Precision, QueryPool, Rankings, Target
from activeeval.core.errors import InputError
from activeeval.core.estimation import joint_degrees
from activeeval.core.planning import Forecast, Goal, HeldOut, Planner, Prospect
from activeeval.core.planning.curves import Curve
from activeeval.core.planning.drawn_labels import drawn_labels
from activeeval.core.planning.rehearsals import Noise
from activeeval.core.planning.scales import Scale, learned_scale
from activeeval.core.pool.generated import generate_pool
from activeeval.core.simulation import replicate


def errors_of(design, beliefs, budget, n_sets, n_repetitions):
    """Return mean squared errors, one for each set of labels that a model draws."""
    errors = []
    for seed in range(n_sets):
        labels = drawn_labels(beliefs, seed)
        run = replicate(design, labels, [budget], n_repetitions, seed)
        truth = design.pool.query_probs @ design.target.values(labels)
        errors.append(np.mean((run.values - truth) ** 2))
    return np.array(errors)


@each_once(("overhead", [0.0, 3.0]), ("name", [*PLAIN, *FITTED]))
def test_variances_are_those_of_labels_that_the_model_draws(name, overhead):
    """Within a tenth and four standard errors of 25 sets of labels: a false alarm in 16,000 of each."""
    planner = planner_of((PLAIN | FITTED)[name], overhead=overhead)
    design = design_of(planner, name)
    forecast = planner.forecasts(METHODS[name])[0]
    budget = 0.2 * forecast.cost
    # a depth design believes that the model may be wrong; its own beliefs are what its variance is planned by
    beliefs = planner.beliefs if design.beliefs is None or name == "passive" else design.beliefs
    found = errors_of(design, beliefs, budget, 25, 40)
    expected = forecast.at(budget)
    assert abs(found.mean() - expected.of_pool) < 0.1 * expected.of_pool + 4 * found.std() / math.sqrt(25)


@pytest.mark.parametrize("name", ["items", "depth", "whole", "passive", "random"])
def test_queries_and_items_are_those_of_replayed_samples(name):
    """Means of 200 samples, within a fiftieth, four standard errors and the unit that a hard budget leaves."""
    planner = planner_of((PLAIN | FITTED)[name], overhead=2.0)
    forecast, design = planner.forecasts(METHODS[name])[0], design_of(planner, name)
    labels = drawn_labels(planner.beliefs, 0)
    for share in (0.1, 0.5):
        expected = forecast.at(share * forecast.cost)
        run = replicate(design, labels, [expected.budget], 200, 1)
        for counts, planned, left in ((run.n_queries, expected.queries, 1), (run.n_items, expected.items, 12)):
            room = 4 * counts.std() / math.sqrt(200) + 0.02 * planned + left
            assert abs(counts.mean() - planned) < room


def test_everything_judged_leaves_nothing_for_the_pool_and_the_choice_of_it_for_the_population():
    planner = planner_of()
    values = planner.values[0]
    labels = np.array([planner.targets[0].values(drawn_labels(planner.beliefs, seed)) for seed in range(150)])
    spread = np.mean(labels.var(axis=1))  # Σ p L² − R² of each set of labels
    assert values.spread == pytest.approx(spread, rel=0.1)
    for name in ("items", "passive", "random"):
        end = planner.forecasts(METHODS[name])[0].all_judged
        assert (end.half_width(), end.power(0.1)) == (0.0, 1.0)
        expected = stats.t.ppf(0.975, 149) * math.sqrt(values.spread / 149)
        assert end.half_width("population") == pytest.approx(expected)


@pytest.mark.parametrize("name", ["items", "depth"])
def test_a_plan_without_overhead_is_that_of_a_pool_without(name):
    method = METHODS[name].continuing  # with an overhead nothing is paired
    costly, free = (planner_of(FITTED[name], overhead=x).forecasts(method)[0] for x in (4.0, 0.0))
    for share in (0.1, 0.5, 0.9):
        budget = share * free.cost
        own = costly.spending.plan.without_overhead().least(budget)
        assert own == pytest.approx(free.spending.plan.least(budget), rel=1e-6)


def test_what_is_between_queries_is_all_of_those_judged_whole_and_nothing_where_all_are_in():
    whole = planner_of(overhead=2.0).forecasts(METHODS["whole"])[0].spending.plan
    items = planner_of().forecasts(METHODS["items_plain"])[0].spending.plan
    assert whole.between(0.2 * whole.order.cost) == pytest.approx(1.0)
    assert items.between(0.7 * items.order.cost) < 0.05


def prospect(variance, freedom=math.inf, of_scope=0.0, **told):
    return Prospect(
        method="x",
        budget=1.0,
        of_pool=variance,
        of_scope=of_scope,
        n_open=freedom + 2,
        of_census=9.0,
        queries=1.0,
        items=1.0,
        **told,
    )


def test_half_width_and_power_are_those_of_the_t_test():
    assert prospect(4.0).half_width() == pytest.approx(2 * stats.norm.ppf(0.975))
    median = math.sqrt(stats.chi2.ppf(0.5, 7) / 7)
    assert prospect(4.0, 7.0).half_width(confidence=0.9) == pytest.approx(2 * median * stats.t.ppf(0.95, 7))
    freedom = joint_degrees(3.0, math.inf, 1.0, 9.0)
    assert prospect(3.0, of_scope=1.0).half_width("population") == pytest.approx(2 * stats.t.ppf(0.975, freedom))
    for d in (0.0, 1.0, 5.0):
        expected = stats.norm.cdf(d / 2 - 1.959964) + stats.norm.cdf(-d / 2 - 1.959964)
        assert prospect(4.0).power(d) == pytest.approx(expected, rel=1e-5)
    for freedom, d in ((4.0, 2.0), (12.0, 4.0)):
        one, edge = stats.nct(freedom, d / 2), stats.t.ppf(0.975, freedom)
        assert prospect(4.0, freedom).power(d) == pytest.approx(one.sf(edge) + one.cdf(-edge), abs=0.002)
    assert prospect(math.inf).half_width() == math.inf
    assert prospect(math.inf).power(9.0) == 0.0


def test_ranges_are_those_of_what_differs_between_samples_and_of_what_is_not_known_of_the_variance():
    """χ² alone, a log-normal scale alone, both by 200,000 draws; half a hundredth is what nodes and draws err by."""
    t, z = stats.t.ppf(0.975, 7), stats.norm.ppf(0.9)
    expected = [2 * t * math.sqrt(stats.chi2.ppf(chance, 7) / 7) for chance in (0.1, 0.9)]
    assert prospect(4.0, 7.0).half_widths() == pytest.approx(expected, rel=0.005)
    sides = [2 * stats.norm.ppf(0.975) * math.exp(side * 0.4 * z / 2) for side in (-1, 1)]
    assert prospect(4.0, spread=0.4).half_widths() == pytest.approx(sides, rel=0.001)
    rng = np.random.default_rng(0)
    draws = 2 * t * np.sqrt(np.exp(0.4 * rng.standard_normal(200_000)) * rng.chisquare(7, 200_000) / 7)
    found = prospect(4.0, 7.0, spread=0.4)
    assert found.half_widths() == pytest.approx(np.quantile(draws, (0.1, 0.9)), rel=0.01)
    low, high = found.powers(4.0)
    for power, side in ((low, 1), (high, -1)):
        one = stats.nct(7, 4 / (2 * math.exp(side * 0.4 * z / 2)))
        assert power == pytest.approx(one.sf(t) + one.cdf(-t), abs=0.002)
    assert low < found.power(4.0) < high


def test_rehearsed_samples_take_the_place_of_chi_square():
    noise = Noise(ratios=np.array([0.5, 1.0, 1.5]), shares=np.array([0.9, 0.5, 0.2]))
    own = prospect(4.0, 20.0, noises=((1.0, noise),))
    expected = [2 * math.sqrt(v) * stats.t.ppf(0.975, n) for v, n in ((0.5, 19.8), (1.0, 11.0), (1.5, 4.4))]
    assert [own.half_width(chance=chance) for chance in (0, 0.5, 1)] == pytest.approx(expected)
    assert own.degrees_of_freedom == 11.0
    other = Noise(ratios=noise.ratios * 4, shares=noise.shares)
    both = prospect(4.0, 20.0, noises=((0.5, noise), (0.5, other)))
    assert both.half_width() == pytest.approx(math.sqrt(2) * expected[1])  # half way by the logarithm


@each_once(
    ("goal", [Goal(half_width=0.4), Goal(difference=0.6, power=0.7), Goal(half_width=1, confidence=0.8)]),
    ("name", ["items", "passive"]),
)
def test_a_goal_takes_the_smallest_budgets_that_meet_it_and_a_power_is_promised_by_the_upper_one(goal, name):
    forecast = replace(planner_of().forecasts(METHODS[name])[0], scale=Scale(spread=0.3))
    (low, high), needed = goal.budgets(forecast), goal.budget(forecast)
    for chance, end in ((0.1, low), (0.9, high)):
        assert goal.is_met(forecast.at(end), chance)
        assert not goal.is_met(forecast.at(0.99 * end), chance)
    assert goal.is_met(forecast.at(needed))
    assert not goal.is_met(forecast.at(0.99 * needed))
    if goal.half_width is not None:
        assert low < needed < high
        assert forecast.at(high).half_widths(confidence=goal.confidence)[1] == pytest.approx(goal.half_width, rel=0.01)
    else:
        assert needed == high
        assert forecast.at(needed).powers(0.6)[0] == pytest.approx(0.7, abs=0.01)


def test_a_goal_that_the_queries_themselves_do_not_allow():
    forecast = planner_of().forecasts(METHODS["items"])[0]
    floor = forecast.all_judged.half_width("population")
    goal = Goal(half_width=floor / 2, scope="population")
    assert goal.budget(forecast) is None
    assert f"± {floor:.3g}" in goal.reachable(forecast)
    # four times the queries, but for a t quantile that is nearer to the normal one
    assert goal.queries_needed(forecast) == pytest.approx(4 * 150, rel=0.02)


def test_drawn_labels_have_the_models_marginals_and_the_querys_factor_in_common():
    """3,000 sets of labels of a few items: shares within four standard errors, a false alarm in 16,000 of each."""
    planner = planner_of()
    known = np.full(planner.targets[0].pool.n_items, -1)
    known[1] = 3
    beliefs = replace(planner, known=known).beliefs
    few = replace(beliefs, query_offsets=np.array([0, 4]), nodes=beliefs.nodes[:, :4], weights=beliefs.weights[:1])
    labels = np.array([drawn_labels(few, seed) for seed in range(3000)])
    expected = np.tensordot(few.weights[0], few.nodes, 1)
    assert (labels[:, 1] == 3).all()
    for item in (0, 2, 3):
        shares = np.bincount(labels[:, item], minlength=5) / 3000
        assert np.all(np.abs(shares - expected[item]) < 4 * np.sqrt(expected[item] / 3000) + 1e-9)
    assert np.corrcoef(labels[:, 0], labels[:, 2])[0, 1] > 0.1


@pytest.mark.usefixtures("whole_rehearsals")
def test_degrees_of_freedom_and_half_widths_are_those_that_replayed_samples_have():
    """Eight sets of labels; half of 1,600 half-widths below the median, a tenth below and above the range."""
    planner = planner_of()
    forecast, design = planner.rehearsed(METHODS["items"])[0], design_of(planner, "items")
    budget = 0.15 * forecast.cost
    known = forecast.at(budget)
    runs = [replicate(design, drawn_labels(planner.beliefs, 77 + k), [budget], 200, k) for k in range(8)]
    freedom = np.concatenate([run.degrees_of_freedom for run in runs])
    assert known.degrees_of_freedom == pytest.approx(np.median(freedom), rel=0.2)
    halves, (low, high) = np.concatenate([run.half_widths() for run in runs]), known.half_widths()
    assert np.mean(halves < known.half_width()) == pytest.approx(0.5, abs=0.15)
    assert np.mean((low <= halves) & (halves <= high)) == pytest.approx(0.8, abs=0.1)
    told = forecast.rehearsal
    (below, first), (above, second) = told.near(budget)
    places = np.log(told.budgets)
    which = np.searchsorted(told.budgets, budget)
    assert (first, second) == tuple(told.noises[which - 1 : which + 1])
    assert below + above == 1
    assert below * places[which - 1] + above * places[which] == pytest.approx(math.log(budget))
    assert told.near(told.budgets[2])[0][1] is told.noises[2]


def held_out_of(labels, probs=None):
    nodes = FACTOR.node_probs(made()[2] if probs is None else probs)
    probs = np.tensordot(FACTOR.node_weights, nodes, 1)
    return HeldOut(probs=probs, grades=labels, queries=made()[0].item_queries)


@pytest.mark.usefixtures("whole_rehearsals")
def test_a_model_that_is_right_about_held_out_queries_is_taken_at_its_word_one_that_is_too_sure_is_not():
    labels, ratios = drawn_labels(planner_of().beliefs, 5), []
    for own in (made()[2], sharpened(3)):
        planner = planner_of(probs=own)
        planner = replace(planner, held_out=held_out_of(labels, own))
        forecast = planner.rehearsed(METHODS["items"])[0]
        ratios.append(forecast.rehearsal.ratio)
        assert forecast.scale == learned_scale(ratios[-1], 150)
        budget = 0.15 * forecast.cost
        real = replicate(design_of(planner, "items"), labels, [budget], 200, 1)
        shown = np.mean(real.variances) / (forecast.at(budget).of_pool / forecast.scale.value)
        assert ratios[-1] == pytest.approx(shown, rel=0.35)
    assert ratios[0] == pytest.approx(1, abs=0.2)
    assert ratios[1] > 1.4


def test_labels_by_held_out_errors_have_the_pools_marginals_and_what_queries_share():
    """80 sets: means of grades within four standard errors and a tenth; queries vary as the factor makes them."""
    pool, honest = made()[0], planner_of()
    held_out = held_out_of(drawn_labels(honest.beliefs, 1))
    sets = np.array([held_out.drawn_labels(honest.beliefs, seed) for seed in range(80)])
    again = np.array([drawn_labels(honest.beliefs, 1000 + seed) for seed in range(80)])
    assert sets.min() >= 0
    assert sets.max() <= 4
    assert sets.mean() == pytest.approx(again.mean(), rel=0.1)
    spreads = [np.var([np.bincount(pool.item_queries, one) for one in own], axis=0).mean() for own in (sets, again)]
    assert spreads[0] == pytest.approx(spreads[1], rel=0.3)
    assert np.array_equal(held_out.drawn_labels(honest.beliefs, 3), sets[3])


def test_held_out_queries_that_do_not_fit_are_refused():
    given = {"probs": np.full((2, 2), 0.5), "grades": np.array([0, 1]), "queries": np.array([0, 0])}
    with pytest.raises(InputError, match="of the same items, got shapes"):
        HeldOut(**given | {"queries": np.array([0])})
    with pytest.raises(InputError, match="held-out grades must lie between 0 and 1"):
        HeldOut(**given | {"grades": np.array([0, 2])})


def test_the_scale_is_drawn_to_what_is_usual_where_held_out_queries_are_few():
    says_nothing = [learned_scale(1.1, n).value for n in (10, 100, 10_000)]
    assert says_nothing[0] > says_nothing[1] > says_nothing[2] == pytest.approx(1.1, rel=0.01)
    shown = [learned_scale(2.0, n).value / usual for n, usual in zip((10, 100, 10_000), says_nothing, strict=True)]
    assert 1.0 < shown[0] < shown[1] < shown[2] == pytest.approx(2.0 / 1.1, rel=0.03)
    assert learned_scale(2.0, 10).spread > learned_scale(2.0, 100).spread
    for wrong in ({"value": 0.0}, {"spread": -1.0}):
        with pytest.raises(InputError, match="a scale must be positive, its spread not negative"):
            Scale(**wrong)


def test_what_a_fit_and_few_draws_cost_is_counted():
    planner = planner_of(overhead=3.0)
    fitted, plain = (planner.forecasts(METHODS[name])[0] for name in ("items", "items_plain"))
    passive, budget = planner.forecasts(METHODS["passive"])[0], 0.15 * planner.forecasts(METHODS["items"])[0].cost
    n = plain.spending.expect(budget)[1]
    assert fitted.at(budget).of_pool == pytest.approx(plain.at(budget).of_pool * n / (n - 2))
    assert fitted.at(budget).degrees_of_freedom == pytest.approx(n - 2)
    assert plain.taught(None).at(budget).of_pool == plain.at(budget).of_pool
    draws = passive.spending.expect(budget)[1]
    values = planner.values[0]
    assert passive.at(budget).of_pool == pytest.approx(values.query_probs @ values.squares / (draws - 1))


def test_known_grades_cost_nothing_and_lower_what_is_left():
    known = np.full(made()[0].n_items, -1)
    known[::2] = 1
    plain, taught = (planner_of(known=k).forecasts(METHODS["items"])[0] for k in (None, known))
    assert taught.cost == pytest.approx(plain.cost / 2, rel=0.1)
    assert taught.at(200).of_pool < plain.at(200).of_pool


def test_a_pool_of_one_query_bounds_nothing_of_a_population():
    pool = QueryPool(["q"], [0, 3], list("abc"))
    target = Target(DCG([0, 1]), Rankings.from_scores(pool, [3, 2, 1]))
    planner = Planner(targets=[target], believed=lambda method: {"grade_probs": np.full((3, 2), 0.5)}, max_grade=1)
    forecast: Forecast = planner.forecasts(METHODS["items"])[0]
    assert forecast.all_judged.half_width("population") == math.inf
    with pytest.raises(InputError, match="positive number, got 0"):
        forecast.at(0)


@pytest.mark.parametrize("weights", [None, [1.0, 1.0, 1.0], "minimax"])
def test_several_questions_are_planned_for_the_sample_that_is_drawn_for_them(weights):
    single = planner_of()
    first = single.targets[0]
    targets = [first, Target(DCG(cutoff=10), first.ranking), Target(DCG(cutoff=3), first.ranking, first.versus)]
    planner = replace(single, targets=targets, weights=weights)
    drawn = METHODS["items"].design(targets, **single.believed(METHODS["items"]), max_grade=4, weights=weights)
    (planned, *_) = planner.designs(METHODS["items"])
    np.testing.assert_array_equal(planned.order.place_rates, drawn.order.place_rates)
    budget = 0.2 * drawn.cost
    for forecast, reading in zip(planner.forecasts(METHODS["items"]), drawn.readings, strict=True):
        level = np.array([drawn.order.level_for(budget)])
        curve = replace(forecast.spending, curve=reading.plan).expect(budget)
        assert curve == pytest.approx(forecast.spending.expect(budget), rel=0.01)
        assert reading.plan.at(level)[0] > 0


@pytest.mark.parametrize("name", ["items", "depth", "random", "passive"])
def test_what_a_drawn_design_should_come_to_is_what_its_plan_says(name):
    planner = planner_of(FITTED.get(name, DCG(cutoff=10)))
    planned = planner.rehearsed(METHODS[name])[0]
    budget = 0.3 * planned.cost
    (drawn,) = planner.drawn(design_of(planner, name).with_budget(budget))
    expected = planned.at(budget)
    assert drawn.half_width() == pytest.approx(expected.half_width(), rel=1e-9)
    assert (drawn.queries, drawn.items) == pytest.approx((expected.queries, expected.items))
    assert drawn.half_width("population") == pytest.approx(expected.half_width("population"), rel=1e-9)
    assert drawn.half_widths() == pytest.approx(expected.half_widths(), rel=1e-9)


def test_a_question_of_which_all_is_judged_for_sure_has_no_error_while_others_have():
    single = planner_of(DCG(cutoff=1), versus=False)
    deep = Target(DCG(cutoff=40), single.targets[0].ranking)
    planner = replace(single, targets=[single.targets[0], deep], weights=[1e6, 1.0])
    shallow, other = planner.rehearsed(METHODS["items_plain"])
    halves = [forecast.at(0.9 * shallow.cost).half_width() for forecast in (shallow, other)]
    assert halves[0] == 0
    assert halves[1] > 0


MONOTONE = {"depth": NDCG("exp", 10), "items": Precision(1), "passive": Precision(1), "whole": RR(cutoff=10)}


@each_once(("versus", [True, False]), ("name", MONOTONE))
def test_half_widths_lie_inside_the_measure_and_never_rise_with_the_budget(name, versus):
    """Few queries: t quantiles of one or two degrees of freedom, at small budgets and near everything."""
    small = generate_pool(25, 3)
    lists, probs = noisy_lists(small), np.full((small.pool.n_items, 5), 0.2)
    target = Target(MONOTONE[name], lists[0], lists[1] if versus else None)
    model = {"believed": lambda method: {"grade_probs": probs}, "max_grade": 4, "is_uniform": True}
    forecast = Planner(targets=[target], **model).rehearsed(METHODS[name])[0]
    widest, budgets = (1.0 if versus else 0.5), np.geomspace(forecast.least, forecast.cost, 60)
    for scope in ("pool", "population"):
        for chance in (0.1, 0.5, 0.9):
            halves = np.array([forecast.at(budget).half_width(scope, chance=chance) for budget in budgets])
            known_from = int(np.argmax(np.isfinite(halves)))
            assert np.isfinite(halves[known_from:]).all()
            assert halves[known_from:].max() <= widest
            assert np.diff(halves[known_from:]).max() <= 1e-12
        assert forecast.at(forecast.cost).half_width() == 0
    assert forecast.at(budgets[30]).half_width("population") >= forecast.at(budgets[30]).half_width()


def test_a_falling_curve_is_the_widest_of_what_larger_budgets_are_to_expect():
    """By enumeration, at the budgets that are looked up; between them within the two neighbours."""
    alone = {1.0: math.inf, 2.0: 3.0, 4.0: 1.0, 8.0: 2.0, 16.0: math.inf, 32.0: 0.5, 64.0: 0.0}
    halves = {budget: half / stats.norm.ppf(0.975) for budget, half in alone.items()}

    def at(budget):
        nearest = min(halves, key=lambda known: abs(math.log(known / budget)))
        return replace(prospect(halves[nearest] ** 2), budget=budget)

    curve = Curve(at, 1.0, 64.0, knots=tuple(alone))
    found = [curve.half_width(budget, "pool", 0.95, 0.5) for budget in alone]
    assert found == pytest.approx([math.inf, 3.0, 2.0, 2.0, 0.5, 0.5, 0.0])
    assert curve.half_width(0.5, "pool", 0.95, 0.5) == math.inf
    assert 2.0 <= curve.half_width(2.7, "pool", 0.95, 0.5) <= 3.0
