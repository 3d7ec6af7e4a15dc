"""What a design plans of a variance, by level: against the sum over places, another class, and the parts."""

import math

import numpy as np
import pytest
from core_cases import estimate_of
from naive import pool_of, rankings_of

from activeeval import DCG, ERR, METHODS, NDCG, Additive, Campaign, Rankings, Target
from activeeval.core.design import WHOLE, RatePlan
from activeeval.core.design.planned_variance import PlannedVariance
from activeeval.core.estimation import evaluate, evidence_of, supported
from activeeval.core.results import MORE_SPREAD
from activeeval.core.simulation import replicate
from activeeval.report.message_lookup import line_of


def target_of(measure, n=40, compare=True, seed=0, **costs):
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 7, n).tolist()
    pool = pool_of(lengths, query_probs=random.dirichlet(np.ones(n)), **costs)
    lists = [[random.permutation(k).tolist() for k in lengths] for _ in range(2)]
    target = Target(measure, *(rankings_of(pool, one) for one in lists[: 1 + compare]))
    return target, random.dirichlet([3.0, 1.0, 1.0], pool.n_items)


def left(roots, variances, level):
    """Σ V (1/a − 1), a = min(1, T r), in plain Python."""
    return sum(v * (1 / min(1.0, level * r) - 1) for r, v in zip(roots, variances, strict=True) if 0 < r < math.inf)


@pytest.mark.parametrize("seed", range(5))
def test_a_curve_is_the_sum_over_all_that_varies(seed):
    """But for the bin that 1/T lies in: at most 2.2 % of what is in it; parts add up, in any order."""
    random = np.random.default_rng(seed)
    roots, variances = np.exp(random.normal(0, 2, 300)), random.exponential(size=300)
    roots[:3], variances[3:6] = (0.0, math.inf, 2.0), (0.0, -0.2, 1.0)
    whole = PlannedVariance.of(roots, variances)
    parts = PlannedVariance.of(roots[200:], variances[200:]) + PlannedVariance.of(roots[:200], variances[:200])
    levels = np.exp(np.linspace(-8, 8, 60))
    slack = np.array([np.abs(variances[np.abs(np.log(roots.clip(1e-9) * t)) < 0.022]).sum() for t in levels])
    expected = np.array([left(roots, variances, t) for t in levels])
    assert np.all(np.abs(whole.at(levels) - expected) <= 0.022 * slack + 1e-10 * (1 + expected))
    np.testing.assert_allclose(parts.at(levels), whole.at(levels), rtol=1e-9, atol=1e-9)
    assert whole.at(np.array([math.inf])) == whole.at(np.array([1e12])) == 0


@pytest.mark.parametrize("overhead", [0.0, 2.0])
@pytest.mark.parametrize(
    ("method", "measure"), [("items", DCG([0, 1, 3])), ("whole", NDCG()), ("depth", ERR(2)), ("depth", NDCG())], ids=str
)
def test_a_reading_plans_what_the_plan_of_its_design_expects(method, measure, overhead):
    """`RatePlan` adds up over places, the reading over bins of roots."""
    target, probs = target_of(measure, query_costs=np.full(40, overhead))
    design = METHODS[method].design(target, probs)
    plan, reading = RatePlan.of(design), design.reading()
    found = [(plan.at_level(t), float(reading.planned.at(np.array(t)))) for t in (0.5, 2.0, 5.0, 20.0)]
    levels = [design.order.level_for(share * design.cost) for share in (0.1, 0.3, 0.6, 0.9)]
    found += [(plan.at_level(t), float(reading.planned.at(np.array(t)))) for t in levels]
    for expected, planned in found:
        assert planned == pytest.approx(expected, rel=0.01, abs=1e-9)
    assert found[-4][1] > found[-1][1] > 0


def test_a_segment_plans_for_its_own_queries():
    target, probs = target_of(Additive([0.0, 1.0, 3.0], [1.0, 0.6, 0.4, 0.3, 0.2, 0.1]))
    within = np.arange(40) < 15
    design = METHODS["items"].design(target, probs)
    part = design.reading(Target(target.measure, target.ranking, target.versus, within))
    alone = RatePlan.of(METHODS["items"].design(part.target, probs))
    level = design.order.level_for(0.4 * design.cost)
    share = float(target.pool.query_probs[within].sum())
    whole = design.reading().planned.at(np.array(level)) * 1.0
    assert 0 < float(part.planned.at(np.array(level))) * share**2 < whole
    assert alone.of_open.sum() > 0


def test_a_design_without_a_model_plans_nothing():
    target, _ = target_of(ERR(2))
    design = METHODS["random"].design(target)
    run = replicate(design, np.random.default_rng(0).integers(0, 3, target.pool.n_items), [0.4 * design.cost], 20)
    assert not run.planned.any()
    assert np.array_equal(run.variances, run.observed)


def test_the_floor_by_hand():
    observed, degrees = np.array([1.0, 4.0, 0.0, math.inf]), np.array([5.0, 5.0, 1.0, 3.0])
    found = supported(observed, degrees, np.array([3.0, 3.0, 2.0, 9.0]))
    assert found.tolist() == [(5 * 1 + 3) / 6, 4.0, 1.0, math.inf]


@pytest.mark.parametrize(("method", "measure"), [("items", DCG([0, 1, 3])), ("depth", ERR(2)), ("whole", NDCG())])
def test_every_estimate_has_the_floor_and_leaves_degrees_as_they_are(method, measure):
    target, probs = target_of(measure)
    design = METHODS[method].design(target, probs)
    grades = np.random.default_rng(3).choice(3, target.pool.n_items, p=[0.9, 0.05, 0.05])
    run = replicate(design, grades, [0.2 * design.cost, 0.6 * design.cost], 60, rng=1)
    shows = np.isfinite(run.observed)
    own = supported(run.observed, run.degrees_of_freedom, run.planned)
    np.testing.assert_array_equal(run.variances[shows], own[shows])
    assert (run.variances[shows] > run.observed[shows]).any()
    assert (run.variances >= run.observed)[shows].all()


def nothing_relevant(n=40):
    target, probs = target_of(ERR(2), n=n, compare=False)
    design = METHODS["depth"].design(target, probs)
    campaign = Campaign(design, 0.5 * design.cost, rng=0)
    campaign.run(lambda query_id, item_ids: [0] * len(item_ids))
    return design, campaign


def test_a_sample_without_spread_rests_on_what_was_planned_and_says_so():
    design, campaign = nothing_relevant()
    reading, level = design.reading(), np.array(campaign.selection.level)
    found = campaign.estimate()
    stand_in = max(float(reading.planned.at(level)), float(reading.planned_blindly.at(level)))
    assert found.std_error == pytest.approx(math.sqrt(stand_in), rel=1e-12)
    assert (found.degrees_of_freedom, found.observed_error) == (3.0, math.inf)
    assert found.cautions[0].level == "severe warning"
    assert "the interval comes from the variance that was expected before judging" in line_of(found.cautions[0])
    assert math.isfinite(found.interval().high)
    sample = evidence_of(design, reading, reading.judge(campaign.grades), campaign.selection)
    assert evaluate(sample, "population").variance >= evaluate(sample).variance


def test_all_grades_equally_likely_plan_for_more_than_a_model_that_is_sure():
    target, probs = target_of(ERR(2), compare=False)
    sure = np.column_stack((np.full(len(probs), 0.998), np.full((len(probs), 2), 0.001)))
    reading = METHODS["whole"].design(target, sure).reading()
    uniform = METHODS["whole"].design(target, np.full_like(probs, 1 / 3)).reading()
    level = np.array(3.0)
    assert float(reading.planned_blindly.at(level)) > 20 * float(reading.planned.at(level))
    same_rates = PlannedVariance.of(reading.order.query_rates, target.pool.query_probs**2 * moments_of(uniform))
    assert float(reading.planned_blindly.at(level)) == pytest.approx(float(same_rates.at(level)), rel=1e-9)


@pytest.mark.parametrize("compare", [False, True])
@pytest.mark.parametrize(
    ("method", "measure"), [("items", DCG([0, 1, 3])), ("whole", NDCG()), ("depth", ERR(2)), ("depth", NDCG())], ids=str
)
def test_no_model_plans_for_more_than_the_bound(method, measure, compare):
    target, probs = target_of(measure, compare=compare)
    reading = METHODS[method].design(target, probs).reading()
    levels = np.array([0.5, 2.0, 5.0, 20.0])
    most = reading.bounded.at(levels)
    assert (most >= reading.planned.at(levels)).all()
    assert (most >= reading.planned_blindly.at(levels)).all()


def moments_of(reading):
    return WHOLE.moments(reading.target, reading.beliefs).variance


def said_of(observed, planned, degrees=20.0):
    return estimate_of(
        degrees_of_freedom=degrees, n_queries=30, observed_error=observed, planned_error=planned
    ).cautions


def test_only_a_model_that_is_far_too_sure_is_noted():
    for sign, told in ((1 - 1e-9, ()), (1 + 1e-9, ("note",))):
        assert tuple(one.level for one in said_of(math.sqrt(MORE_SPREAD) * sign, 1.0)) == told
    assert said_of(0.001, 1.0, 2.0) == said_of(1.0, 1.0) == said_of(None, None) == ()


def test_an_update_that_changes_no_value_is_not_certain():
    """What is left of fitted values that are all rounding is no spread, however small the coefficient."""
    target, probs = target_of(ERR(2), n=60)
    pool = target.pool
    ranking = Rankings.from_scores(pool, np.random.default_rng(1).random(pool.n_items))
    changed = Target(ERR(2), ranking, ranking.without(0.1, np.random.default_rng(2)))
    design = METHODS["depth"].design(changed, probs)
    grades = np.zeros(pool.n_items, dtype=int)
    run = replicate(design, grades, [0.3 * design.cost, 0.6 * design.cost], 100, rng=0)
    assert (run.highs - run.lows > 1e-6).all()
