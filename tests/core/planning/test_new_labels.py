"""The least new labels for half-widths: against the design that knows of none, what is in hand, and shares."""

import math
from dataclasses import replace

import numpy as np
import pytest
from each_once import each_once

from activeeval import METHODS, QueryPool, Rankings, Target, parse_measure
from activeeval.core.design.carried_samples import EarlierLabels, EarlierPlaces
from activeeval.core.planning import Goal, Planner, least_labels
from activeeval.core.planning.least_budget import plan_of
from activeeval.core.planning.new_labels import SHARE, shared

N_QUERIES, N_ITEMS, TOP = 40, 8, 2
MANY = 1e6
CASES = [("items", "DCG@5"), ("depth", "ERR@5"), ("depth", "nDCG@5")]


def planner_of(measure="DCG@5", seed=3):
    """Return a planner of a value, what it is more than another, and the value in two segments that differ in size."""
    random = np.random.default_rng(seed)
    n = N_QUERIES * N_ITEMS
    docs = [f"d{k}" for k in range(n)]
    pool = QueryPool([f"q{k}" for k in range(N_QUERIES)], np.arange(0, n + 1, N_ITEMS), docs)
    first, second = (Rankings.from_scores(pool, random.random(n)) for _ in range(2))
    asked = parse_measure(measure).bound_to(TOP)
    value = Target(asked, first)
    members = np.arange(N_QUERIES) < N_QUERIES // 4
    targets = [value, Target(asked, first, second), *(replace(value, within=part) for part in (members, ~members))]
    probs = random.dirichlet(np.ones(TOP + 1), n)
    return Planner(targets=targets, believed=lambda method: {"grade_probs": probs}, max_grade=TOP)


def hand_of(planner, share, seed=5):
    """Return what earlier nights leave: each item has come with up to a probability."""
    hand = EarlierLabels.nothing(planner.targets[0].pool.n_items)
    return replace(hand, probs=share * np.random.default_rng(seed).random(hand.probs.size))


def goals_of(planner, method, times):
    """Return half-widths of both segments, times what a third of all brings."""
    forecasts = planner.forecasts(METHODS[method].continuing)
    at = [forecasts[which].at(forecasts[which].cost / 3).half_width() for which in (2, 3)]
    return {which: Goal(half_width=times * half) for which, half in zip((2, 3), at, strict=True)}


@pytest.mark.usefixtures("whole_rehearsals")
@each_once((("method", "measure"), CASES), ("in_hand", [0.0, 0.4]))
def test_every_half_width_is_reached_and_hardly_more(method, measure, in_hand):
    planner = planner_of(measure)
    goals = goals_of(planner, method, 0.8)
    least = least_labels(planner, METHODS[method].continuing, goals, hand_of(planner, in_hand), MANY, [])
    reached = [least.prospects[which].half_width() / goal.half_width for which, goal in goals.items()]
    assert max(reached) == pytest.approx(1, abs=1e-3)
    assert max(reached) <= 1
    assert min(reached) > 0.9
    assert least.weights[:2] == (0, 0)
    assert min(least.weights[2:]) > 0


@each_once((("method", "measure"), CASES), ("in_hand", [0.0, 0.4]))
def test_the_same_half_widths_take_more_of_a_design_that_knows_of_none(method, measure, in_hand):
    planner = planner_of(measure)
    goals, hand = goals_of(planner, method, 0.8), hand_of(planner, in_hand)
    goals[2] = replace(goals[2], half_width=0.5 * goals[2].half_width)  # the small one is to be known well
    least = least_labels(planner, METHODS[method].continuing, goals, hand, MANY, [])
    forecasts = planner.weighing([1.0, 0.0, 0.0, 0.0]).forecasts(METHODS[method].continuing)
    places = EarlierPlaces.of(plan_of(forecasts[0]).order, hand, MANY)

    def reaches(threshold):
        readable = places.readable(threshold)
        plan = plan_of(forecasts[2])
        chances = np.ones(N_QUERIES)
        if plan.order.is_nested:
            chances = readable[plan.places[plan.offsets[:-1]]]
        return all(
            goal.is_met(
                forecasts[which].prospect(MANY, forecasts[which].spending.of_chances(chances, readable[plan.places]))
            )
            for which, goal in goals.items()
        )

    low, high = 1e-3, 1e4
    for _ in range(20):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if reaches(middle) else (middle, high)
    assert least.cost < 0.95 * places.cost(high)


@pytest.mark.parametrize(("method", "measure"), CASES)
def test_where_what_is_in_hand_is_enough_nothing_new_is_needed(method, measure):
    planner = planner_of(measure)
    hand = replace(hand_of(planner, 0.0), probs=np.full(N_QUERIES * N_ITEMS, 0.9))
    least = least_labels(planner, METHODS[method].continuing, goals_of(planner, method, 3.0), hand, MANY, [1])
    assert (least.enough, least.cost) == (0.0, 0.0)


def test_a_budget_that_does_not_pay_is_what_is_expected():
    """The prospects are of the budget, the cost is of the goals."""
    planner, method = planner_of(), METHODS["items"].continuing
    goals, hand = goals_of(planner, "items", 0.8), hand_of(planner, 0.2)
    rich, poor = (least_labels(planner, method, goals, hand, budget, [1]) for budget in (MANY, 10.0))
    assert poor.cost == pytest.approx(rich.cost, rel=1e-6)
    assert poor.cost > 10
    for which, goal in goals.items():
        assert poor.prospects[which].half_width() > goal.half_width


def test_questions_beside_keep_a_share_of_what_rates_are_made_of():
    """Σ λ p sqrt(V / λ), squared, of the part of each: as 1 − s to s."""
    design_input = planner_of().design_input(METHODS["items"].continuing)
    weights = shared(design_input, np.array([0.0, 0.0, 2.0, 0.0]), [1])
    alone = design_input.planned(design_input.places.pool.query_probs) ** 2
    assert weights[1] * alone[1] / (weights[2] * alone[2]) == pytest.approx(SHARE / (1 - SHARE))
    assert shared(design_input, np.array([0.0, 0.0, 2.0, 0.0]), []).tolist() == [0, 0, 2, 0]


def test_the_share_of_a_difference_narrows_it_and_costs_no_more_than_it_may():
    """Σ λ p sqrt(V + s W / (1 − s)) is at most the sum of two roots; both lists have items of their own."""
    planner, method = planner_of(), METHODS["items"].continuing
    goals, hand = goals_of(planner, "items", 0.8), hand_of(planner, 0.0)
    without, beside = (least_labels(planner, method, goals, hand, MANY, beside) for beside in ([], [1]))
    assert beside.prospects[1].half_width() < without.prospects[1].half_width()
    assert without.cost < beside.cost < 1.05 * without.cost * (1 + math.sqrt(SHARE / (1 - SHARE)))


def test_a_pool_of_which_all_is_known_needs_nothing():
    planner = planner_of()
    known = np.zeros(N_QUERIES * N_ITEMS, dtype=np.int64)
    settled = Planner(targets=planner.targets, believed=planner.believed, max_grade=TOP, known=known)
    goals = {2: Goal(half_width=0.1)}
    least = least_labels(settled, METHODS["items"].continuing, goals, hand_of(settled, 0.0), MANY, [1])
    assert (least.enough, least.cost) == (0.0, 0.0)
