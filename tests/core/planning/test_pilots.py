"""What pilots teach a plan: ratios of what was seen to what was expected, and ranges that hold as often as they say."""

import math
from dataclasses import replace

import numpy as np
import pytest
from planned_cases import PLAIN, design_of, pilot_of, planner_of, sharpened
from scipy import stats

from activeeval import METHODS, Campaign
from activeeval.core.errors import InputError
from activeeval.core.planning import Goal, PilotRatios
from activeeval.core.planning.drawn_labels import drawn_labels
from activeeval.core.planning.pilots import PRIOR, Ratio
from activeeval.core.planning.scales import Scale


@pytest.mark.parametrize("name", ["items_plain", pytest.param("depth_plain", marks=pytest.mark.slow)])
def test_a_model_that_is_right_is_not_rescaled_on_average(name):
    """30 pilots on labels of the model: the mean ratio within four standard errors of 1, a false alarm in 16,000."""
    planner = planner_of(PLAIN[name], overhead=1.0)
    design = design_of(planner, name)
    lessons = []
    for seed in range(30):
        labels = drawn_labels(design.beliefs, seed)
        campaign = pilot_of(planner, name, 0.2 * design.cost, labels, seed, design)
        lessons.append(planner.lesson(campaign.design, campaign.selection, campaign.grades))
    for ratios in ([one.of_residuals for one in lessons], [one.of_values for one in lessons]):
        found = [one.value for one in ratios]
        assert abs(np.mean(found) - 1) < 4 * np.std(found) / math.sqrt(30) + 0.03
        assert np.mean([not one.may_be_chance for one in ratios]) < 0.25


def test_a_pilot_finds_a_model_that_is_too_sure_and_rescales_by_it():
    sharp = sharpened(4)
    honest, sure = planner_of(), planner_of(probs=sharp)
    labels = drawn_labels(honest.beliefs, 3)
    campaign = pilot_of(sure, "items", 0.5 * design_of(sure, "items").cost, labels, 1)
    lesson = sure.lesson(campaign.design, campaign.selection, campaign.grades)
    assert lesson.of_residuals.value > 1.5
    assert not lesson.of_residuals.may_be_chance
    plain = sure.forecasts(METHODS["items"])[0]
    scale = plain.taught(lesson).taught_scale
    assert scale.value == pytest.approx(lesson.of_residuals.value, rel=0.2)
    assert plain.taught(lesson).at(100).of_pool == pytest.approx(scale.value * plain.at(100).of_pool)


def test_a_pilot_is_weighed_against_what_is_thought_of_the_factor_and_leaves_what_both_leave():
    scale = Scale(value=1.0, spread=0.4)

    def teach(ratio, n, before=scale):
        return Ratio(value=ratio, degrees_of_freedom=n).taught(before)

    assert teach(9.0, 0.0) == scale
    assert 1.05 < teach(1.5, 10.0).value < teach(1.5, 40.0).value < 1.5
    assert teach(1.5, 40.0).spread < teach(1.5, 10.0).spread < scale.spread
    assert teach(1.5, 10.0, Scale(value=1.0, spread=0.1)).value < 1.1
    assert teach(1.5, 10.0, Scale()) == teach(1.5, 10.0, Scale(spread=math.sqrt(2 / PRIOR)))
    never_surer = [teach(1.0, n).spread for n in (1e4, 1e8, math.inf)]
    assert never_surer == pytest.approx([0.18] * 3, abs=0.02)  # another budget than the pilot's
    assert teach(8.0, 20.0).value == pytest.approx(8.0, rel=0.2)  # far beyond what is usual: it is believed
    assert teach(8.0, 20.0).spread > teach(1.0, 20.0).spread


def test_the_range_after_pilots_holds_the_true_factor_in_eight_of_ten():
    """4,000 factors and pilots as they are thought of: .8 within .07, normal where a t is counted with."""
    rng, scale, shares = np.random.default_rng(0), Scale(value=1.2, spread=0.5), []
    for n in (4.0, 15.0):
        factors = scale.value * np.exp(scale.spread * rng.standard_normal(2000))
        elsewhere = np.exp(0.2 * rng.standard_normal(2000))
        seen = factors * elsewhere * rng.chisquare(n, 2000) / n
        after = [Ratio(value=value, degrees_of_freedom=n).taught(scale) for value in seen]
        inside = [one.at(0.1) <= factor <= one.at(0.9) for one, factor in zip(after, factors, strict=True)]
        shares.append(np.mean(inside))
    assert shares == pytest.approx([0.8, 0.8], abs=0.07)


def test_lessons_of_several_pilots_count_by_their_degrees_of_freedom():
    doubtful, sure = Ratio(value=1.2, degrees_of_freedom=10.0), Ratio(value=4.0, degrees_of_freedom=10.0)
    low, high = doubtful.bounds
    assert (low, high) == pytest.approx((12 / stats.chi2.ppf(0.975, 10), 12 / stats.chi2.ppf(0.025, 10)))
    assert (doubtful.may_be_chance, sure.may_be_chance) == (True, False)
    both = PilotRatios.together(
        [PilotRatios(of_residuals=doubtful, of_values=sure), PilotRatios(of_residuals=sure, of_values=sure)]
    )
    assert (both.of_residuals.value, both.of_residuals.degrees_of_freedom) == (pytest.approx(2.6), 20.0)
    uneven = PilotRatios.together(
        [PilotRatios(of_residuals=r, of_values=r) for r in (doubtful, Ratio(value=4, degrees_of_freedom=30))]
    )
    assert uneven.of_residuals.value == pytest.approx((10 * 1.2 + 30 * 4) / 40)
    lesson, planner = PilotRatios(of_residuals=sure, of_values=doubtful), planner_of()
    of_residuals = sure.taught(planner.scale)
    of_values = doubtful.taught(replace(planner.scale, value=of_residuals.value))
    scales = {"items": of_residuals, "whole": of_residuals, "random": of_values, "passive": of_values}
    for name, scale in scales.items():
        plain = planner.forecasts(METHODS[name])[0]
        budget = 0.3 * plain.cost
        assert plain.taught(lesson).taught_scale == scale, name
        assert plain.taught(lesson).at(budget).of_pool == pytest.approx(scale.value * plain.at(budget).of_pool), name
    assert plain.taught(lesson).of_values == of_values.value


def test_what_the_pilot_has_shown_is_not_what_it_is_measured_by():
    """Known by now, the pilot's labels must not make its residuals vanish."""
    planner = planner_of()
    labels = drawn_labels(planner.beliefs, 3)
    campaign = pilot_of(planner, "items", 200, labels, 1)
    taught = replace(planner, known=campaign.grades)
    arguments = (campaign.design, campaign.selection, campaign.grades)
    assert taught.lesson(*arguments) == planner.lesson(*arguments)


def test_pilots_that_teach_nothing_are_refused():
    planner = planner_of()
    drawn = Campaign(design_of(planner, "passive"), 200.0, rng=0)
    with pytest.raises(InputError, match="'passive' draws with replacement and cannot calibrate a plan"):
        planner.lesson(drawn.design, None, drawn.grades)
    labels = drawn_labels(planner.beliefs, 3)
    census = pilot_of(planner, "items", design_of(planner, "items").cost, labels, 1)
    with pytest.raises(InputError, match="its sample has no random variation"):
        planner.lesson(census.design, census.selection, census.grades)


def test_a_range_is_unknown_until_a_label_has_been_held_against_the_model():
    planner = replace(planner_of(), is_uniform=True)
    forecast = planner.rehearsed(METHODS["items"])[0]
    goal, budget = Goal(half_width=1.0), 0.2 * forecast.cost
    assert forecast.at(budget).known_half_widths() == goal.budgets(forecast) == (None, None)
    assert forecast.all_judged.known_half_widths() == (0.0, 0.0)
    ratio, nothing = Ratio(value=1.0, degrees_of_freedom=20.0), Ratio(value=1.0, degrees_of_freedom=0.0)
    untold = forecast.taught(PilotRatios(of_residuals=nothing, of_values=nothing))
    assert untold.at(budget).known_half_widths() == (None, None)
    taught = forecast.taught(PilotRatios(of_residuals=ratio, of_values=ratio)).at(budget)
    low, high = taught.known_half_widths()
    assert low < taught.half_width() < high
    narrow, wide = forecast.at(budget).half_widths()
    assert high / low < 0.9 * wide / narrow
