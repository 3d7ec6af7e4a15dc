"""Numbers behind a plan, by hand and by enumeration: prices, spread of values, forecasts from sums, moves to a goal."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from activeeval.core.errors import InputError
from activeeval.core.planning.forecasts_by_sums import ForecastBySums
from activeeval.core.planning.goals import Goal
from activeeval.core.planning.least_budget import move
from activeeval.core.planning.prices import Price
from activeeval.core.planning.prospects import Prospect
from activeeval.core.planning.scales import Scale
from activeeval.core.planning.values import Values

# Prices


@pytest.mark.parametrize(
    ("parts", "money", "hours"),
    [
        ({}, None, None),
        ({"per_judgment": 0.4}, 80, None),
        ({"seconds": 90}, None, 5),
        ({"hourly_rate": 24}, None, None),
        ({"seconds": 90, "hourly_rate": 24}, 120, 5),
        ({"seconds": 90, "per_judgment": 0.4}, 80, 5),
    ],
)
def test_two_hundred_judgments_cost(parts, money, hours):
    price = Price(**parts)
    assert (price.money(200), price.hours(200)) == (money, hours)
    assert price.timed(36).hours(200) == (2 if hours is None else hours)
    if money is not None:
        assert (price.judgments_for(money), price.judgments_for(0.999 * money)) == (200, 199)


def test_an_amount_pays_for_whole_judgments_whatever_the_rounding():
    """In floating point 0.29 / 0.01 and 0.3 / 0.1 are below 29 and 3."""
    assert [Price(per_judgment=0.01).judgments_for(n / 100) for n in range(1, 101)] == list(range(1, 101))
    assert Price(per_judgment=0.1).judgments_for(0.3) == 3
    with pytest.raises(InputError, match=r"0\.3 EUR pay for no judgment, one costs 0\.4"):
        Price(per_judgment=0.4).judgments_for(0.3)
    with pytest.raises(InputError, match="an amount of money needs the price of a judgment, or seconds and hour"):
        Price(hourly_rate=24).judgments_for(100)


# Values


def test_the_spread_of_values_is_the_mean_over_all_outcomes():
    p, means, sds = np.array([0.5, 0.3, 0.2]), np.array([1.0, 3.0, -2.0]), np.array([0.5, 2.0, 1.0])
    values = Values(query_probs=p, means=means, variances=sds**2)
    outcomes = [means + sds * signs for signs in itertools.product((-1, 1), repeat=3)]
    spread = np.mean([p @ values**2 - (p @ values) ** 2 for values in outcomes])
    centre = np.mean([p @ values for values in outcomes])
    assert values.performance == pytest.approx(centre)
    assert values.squares == pytest.approx(np.mean([(values - centre) ** 2 for values in outcomes], axis=0))
    assert values.spread == pytest.approx(spread)
    assert values.explained == pytest.approx((p @ means**2 - centre**2) / spread)
    assert values.size == pytest.approx(1 / 0.38)
    assert values.of_population == pytest.approx(spread / (1 / 0.38 - 1))


@pytest.mark.parametrize(("p", "of_population"), [([1.0, 0.0], math.inf), ([0.5, 0.5], 0.0)])
def test_equal_values_without_doubt_leave_nothing_to_explain(p, of_population):
    values = Values(query_probs=np.array(p), means=np.array([2.0, 2.0]), variances=np.zeros(2))
    assert (values.spread, values.explained, values.of_population) == (0, 0, of_population)


# Forecasts from sums


SUMS = {
    "costs": [1.0, 4.0, 16.0],
    "variances": [16.0, 4.0, 0.0],
    "queries": [1.0, 4.0, 8.0],
    "items": [2.0, 8.0, 32.0],
    "by_chance": [1.0, 9.0, 4.0],
}
SIZES = {"n_queries": 8, "cost": 16.0, "least": 1.0, "widest": 0.75, "scale": Scale(value=3.0, spread=0.5)}
FORECAST = ForecastBySums(
    method="items", is_fitted=False, is_untried=True, **SIZES, **{name: np.array(sums) for name, sums in SUMS.items()}
)


@pytest.mark.parametrize(
    ("budget", "variance", "n_open", "queries", "items"),
    [
        (0.5, math.inf, 1, 1, 2),
        (1.0, 16, 1, 1, 2),
        (2.0, 8, 3, 2, 4),
        (4.0, 4, 9, 4, 8),
        (8.0, 2, 6, math.sqrt(32), 16),  # no log of 0: half of 4
        (16.0, 0, math.inf, 8, 32),
        (99.0, 0, math.inf, 8, 32),
    ],
)
def test_forecasts_lie_between_those_of_the_sums(budget, variance, n_open, queries, items):
    """On the logs of budget and sum, where neither is 0; a fit of two coefficients takes two of the queries."""
    found = FORECAST.at(budget)
    assert found.of_pool == pytest.approx(3 * variance)
    assert (found.n_open, found.queries, found.items) == pytest.approx((n_open, queries, items))
    assert (found.of_scope, found.of_census, found.spread) == (math.inf, 7, 0.5)
    assert (found.method, found.budget, found.is_guess, found.widest) == ("items", budget, True, 0.75)
    lost = n_open / (n_open - 2) if 2 < n_open < math.inf else 1 if variance == 0 else math.inf
    assert replace(FORECAST, is_fitted=True).at(budget).of_pool == pytest.approx(3 * variance * lost)


def test_half_widths_from_sums_do_not_rise_and_end_at_none():
    halves = [FORECAST.at(budget).half_width() for budget in (0.5, 1.0, 2.0, 5.0, 12.0)]
    assert halves == sorted(halves, reverse=True)
    assert (*halves[:2], FORECAST.all_judged.half_width()) == (math.inf, 0.75, 0)


# Moves to a goal


def prospect(of_pool, of_scope):
    sizes = {"budget": 9.0, "n_open": math.inf, "of_census": 1e300, "queries": 9.0, "items": 9.0}
    return Prospect(method="items", of_pool=of_pool, of_scope=of_scope, **sizes)


@pytest.mark.parametrize("scope", ["pool", "population"])
@pytest.mark.parametrize("share", [0.9, 1.0, 1.5])
def test_the_moved_variance_just_reaches_the_goal(scope, share):
    before = prospect(4.0, 1.0)
    goal = Goal(half_width=share * before.half_width_alone(scope, 0.9), scope=scope, confidence=0.9)
    moved = replace(before, of_pool=4.0 * move(goal, before))
    assert moved.half_width_alone(scope, 0.9) == pytest.approx(goal.half_width)


@pytest.mark.parametrize(
    ("of_pool", "of_scope", "half_width", "scope", "factor"),
    [
        (0.0, 1.0, 0.1, "population", 10),
        (0.0, 0.0, 0.1, "pool", 10),
        (math.inf, 1.0, 0.1, "pool", 0.1),
        (1.0, 1.0, 1e-3, "pool", 0.1),
        (1.0, 1.0, 1.9, "population", 0.1),  # what the choice of the pool adds is already more
        (1.0, 1.0, 99.0, "pool", 10),
    ],
)
def test_no_move_is_by_more_than_ten(of_pool, of_scope, half_width, scope, factor):
    assert move(Goal(half_width=half_width, scope=scope), prospect(of_pool, of_scope)) == factor
