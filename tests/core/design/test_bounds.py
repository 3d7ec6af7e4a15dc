"""The least cost under several bounds: against all points beside it, and the laws of its multipliers."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from core_cases import uneven_pool
from each_once import each_once

from activeeval import METHODS, Rankings, Target, parse_measure
from activeeval.core.design import least_cost
from activeeval.core.design.bounds import _DAMPED, _Dual
from activeeval.core.design.rates import variance_terms
from activeeval.core.errors import InputError
from activeeval.core.grade_models import QueryFactor

pytestmark = pytest.mark.kernel
SIZES = (3, 4, 2, 5, 3, 4)
CASES = [("items", "DCG@3"), ("depth", "ERR@4"), ("depth", "nDCG@3"), ("whole", "ERR@3")]
SEGMENTS = {
    "apart": ([1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1]),
    "overlapping": ([1, 1, 1, 0, 0, 0], [0, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1]),
    "some outside": ([1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0]),
}


def input_of(method, measure, segments, overhead, *, versus=False, seed=0, judged=None):
    """Return what a method makes of a small pool with uneven costs and traffic, asked about segments."""
    random = np.random.default_rng(seed)
    pool = uneven_pool(random, SIZES, overhead)
    ranking, other = (Rankings.from_scores(pool, random.random(pool.n_items)) for _ in range(2))
    target = Target(parse_measure(measure).bound_to(2), ranking, other if versus else None)
    targets = [replace(target, within=np.array(within, dtype=bool)) for within in segments]
    probs = random.dirichlet(np.ones(3), pool.n_items)
    return METHODS[method].design_input(targets, probs, factor=QueryFactor(0.8), judged=judged)


class Neighbours:
    """Points beside a solution that keep its bounds, over y = (1/ρ − 1, how much further each 1/a lies).

    Variances are linear in y and the cost is convex: what no neighbour improves is the least there is.
    """

    def __init__(self, design_input, least, floors=0.0, *, is_whole=False):
        places, p, is_nested = design_input.places, design_input.places.pool.query_probs, design_input.stage.is_nested
        owners, n, m = places.open_queries, p.size, places.open_queries.size
        first, place = places.open_offsets[owners], np.arange(m)
        self.places, self.n, self.floors, self.least = places, n, floors, least
        self.reach = np.zeros((m, n + m))
        for i, q in enumerate(owners):
            self.reach[i, q] = 1
            if not is_whole:
                self.reach[i, n + (first[i] + 1 if is_nested else i) : n + i + 1] = 1
        terms = [variance_terms(places, each, p, is_nested=is_nested) for each in design_input.target_variances]
        self.rows = np.array([np.append(of_query, np.zeros(m)) + of_open @ self.reach for of_query, of_open in terms])
        turned_to, judged = (1 / np.maximum(chances, 1e-9) for chances in (least.turned_to, least.judged))
        further = judged - np.where(is_nested & (place > first), np.roll(judged, 1), turned_to[owners])
        self.start = np.maximum(np.append(turned_to - 1, further), 0)
        sure = [not is_nested and cost == 0 for cost in places.overheads]
        self.is_fixed = np.append(sure, ~self.reach[:, n:].any(axis=0))

    def cost(self, y):
        judged = np.maximum(1 / (1 + self.reach @ y) - self.floors, 0)
        return (self.places.overheads / (1 + y[: self.n])).sum() + (self.places.open_costs * judged).sum()

    def costs(self, bounds):
        """Yield the cost of 300 neighbours at three distances, most of them on the bounds that cost something."""
        random, active = np.random.default_rng(0), self.least.weights > 0
        rows = np.where(self.is_fixed, 0.0, self.rows)[active]
        for step in np.repeat([1e-4, 1e-3, 1e-2], 100):
            y = self.start + step * (1 + self.start) * random.normal(size=self.start.size)
            y = np.where(self.is_fixed, 0.0, np.maximum(y, 0))
            y = np.maximum(y - np.linalg.pinv(rows) @ (rows @ y - bounds[active]), 0)
            y /= max(1.0, (self.rows @ y / bounds).max())
            yield self.cost(y)


def bounds_of(design_input, share):
    """Return bounds of a share of what each target varies by at all."""
    p, is_nested = design_input.places.pool.query_probs, design_input.stage.is_nested
    terms = [variance_terms(design_input.places, v, p, is_nested=is_nested) for v in design_input.target_variances]
    return np.array([share * (k + 1) * (a.sum() + b.sum()) for k, (a, b) in enumerate(terms)])


def assert_least(held, bounds, least, floors=0.0, *, is_whole=False):
    """Check that a solution costs what it says, keeps its bounds, and that no neighbour costs less."""
    assert least.residual < 1e-9
    assert least.n_steps <= 25
    near = Neighbours(held, least, floors, is_whole=is_whole)
    assert near.cost(near.start) == pytest.approx(least.cost, rel=1e-9, abs=1e-9)
    assert near.rows @ near.start == pytest.approx(least.variances, rel=1e-9)
    assert (least.variances <= bounds * (1 + 1e-9)).all()
    assert min(near.costs(bounds)) >= least.cost - 1e-8 * (1 + least.cost)


@each_once(
    (("method", "measure"), CASES),
    ("segments", SEGMENTS),
    (("overhead", "share", "versus"), [(0.0, 0.3, False), (0.4, 1.5, True), (5.0, 0.3, True)]),
)
def test_no_neighbour_costs_less(method, measure, overhead, segments, share, versus):
    held = input_of(method, measure, SEGMENTS[segments], overhead, versus=versus)
    bounds = bounds_of(held, share)
    least = least_cost(held, bounds)
    assert_least(held, bounds, least, is_whole=method == "whole")
    assert least.weights @ np.abs(least.variances - bounds) <= 1e-9 * least.cost


@pytest.mark.parametrize(("method", "measure"), CASES)
def test_a_bound_that_others_imply_has_no_weight(method, measure):
    """The whole may vary as much as it likes: its weight is exactly 0, and leaving it out changes nothing."""
    parts = SEGMENTS["apart"]
    held, alone = input_of(method, measure, (*parts, [1] * 6), 0.4), input_of(method, measure, parts, 0.4)
    bounds = bounds_of(alone, 0.4)
    least, same = least_cost(held, [*bounds, 1e3]), least_cost(alone, bounds)
    assert least.weights[2] == 0
    assert (least.weights[:2] > 0).all()
    assert least.cost == pytest.approx(same.cost, rel=1e-9)
    assert least_cost(held, [*bounds, np.inf]).cost == pytest.approx(same.cost, rel=1e-9)


@pytest.mark.parametrize(("method", "measure"), CASES)
def test_weights_say_what_a_wider_bound_would_save(method, measure):
    held = input_of(method, measure, SEGMENTS["overlapping"], 0.4)
    bounds = bounds_of(held, 0.3)
    least = least_cost(held, bounds)
    for k in range(3):
        step = np.where(np.arange(3) == k, 1e-4 * bounds, 0.0)
        narrow, wide = (least_cost(held, bounds + sign * step).cost for sign in (-1, 1))
        saved = (narrow - wide) / (2 * step[k])
        assert saved == pytest.approx(least.weights[k], rel=1e-2, abs=1e-3 * least.cost / bounds[k])


@pytest.mark.parametrize("method", ["items", "depth", "whole"])
def test_a_segment_of_certain_queries_costs_nothing(method):
    """All labels of the first two queries are known: their segment varies by nothing."""
    judged = np.where(np.arange(sum(SIZES)) < SIZES[0] + SIZES[1], 1, -1)
    held = input_of(method, "DCG@3", SEGMENTS["apart"], 0.4, judged=judged)
    least = least_cost(held, [1e-9, bounds_of(held, 0.4)[1]])
    assert (least.weights[0], least.variances[0]) == (0, 0)
    assert least.judged.size == sum(min(size, 3) for size in SIZES[2:])
    assert least.residual < 1e-9


@pytest.mark.parametrize("method", ["items", "depth", "whole"])
def test_bounds_of_hardly_anything_cost_nearly_everything(method):
    held = input_of(method, "DCG@3", SEGMENTS["apart"], 0.4)
    least = least_cost(held, bounds_of(held, 1e-7))
    everything = held.places.open_costs.sum() + held.places.overheads.sum()
    assert least.residual < 1e-9
    assert 0.99 * everything < least.cost <= everything


def test_turning_to_a_query_for_nothing_is_sure():
    held = input_of("items", "DCG@3", SEGMENTS["apart"], 0.0)
    assert (least_cost(held, bounds_of(held, 0.3)).turned_to == 1).all()


# Above floors: what earlier samples leave in hand


def floors_of(held, share, seed=1):
    """Return with which probability each wanted place is in hand: a share of them never came."""
    random, n = np.random.default_rng(seed), held.places.open_queries.size
    return np.where(random.random(n) < share, random.uniform(0.05, 0.9, n), 1e-3)


@each_once(
    (("method", "measure"), CASES[:3]),
    ("segments", SEGMENTS),
    (("share", "in_hand", "versus"), [(0.3, 0.4, False), (1.5, 0.9, True), (0.3, 0.9, True)]),
)
def test_above_floors_no_neighbour_costs_less(method, measure, segments, share, in_hand, versus):
    held = input_of(method, measure, SEGMENTS[segments], 0.0, versus=versus)
    bounds, floors = bounds_of(held, share), floors_of(held, in_hand)
    least = least_cost(held, bounds, floors)
    assert_least(held, bounds, least, floors)
    if method == "items":
        assert (least.judged >= floors).all()


@pytest.mark.parametrize("method", ["items", "depth"])
def test_what_is_in_hand_and_enough_costs_nothing(method):
    held = input_of(method, "DCG@3", SEGMENTS["apart"], 0.0)
    least = least_cost(held, bounds_of(held, 1.5), np.full(held.places.open_queries.size, 0.8))
    assert (least.cost, least.weights.tolist()) == (0.0, [0.0, 0.0])
    assert least.judged == pytest.approx(0.8)


def test_floors_with_overheads_are_refused():
    held = input_of("items", "DCG@3", SEGMENTS["apart"], 0.4)
    with pytest.raises(InputError, match="cannot have overheads"):
        least_cost(held, [1.0, 1.0], np.zeros(held.places.open_queries.size))


@pytest.mark.parametrize("bounds", [[1.0], [1.0, 0.0], [1.0, -1.0], [1.0, np.nan]])
def test_bounds_that_are_none_are_refused(bounds):
    with pytest.raises(InputError, match="bounds must be 2 positive numbers, one for each target"):
        least_cost(input_of("items", "DCG@3", SEGMENTS["apart"], 0.4), bounds)


@pytest.mark.parametrize("segments", SEGMENTS)
@pytest.mark.parametrize(("method", "measure"), CASES[:3])
def test_a_newton_step_uses_the_slopes_of_the_gradient(method, measure, segments):
    """By differences of the gradient, some blocks being certain and others at the probability of earlier samples."""
    for overhead, is_continued in ((0.0, False), (1.5, False), (0.0, True)):
        design_input = input_of(method, measure, SEGMENTS[segments], overhead, seed=1)
        floors = np.random.default_rng(2).choice([0.1, 0.5, 1.0], design_input.places.open_queries.size)
        for first, last in itertools.pairwise(design_input.places.open_offsets):
            floors[first:last] = np.minimum.accumulate(floors[first:last])
        bounds = bounds_of(design_input, 0.3)
        dual = _Dual.of(design_input, bounds, floors if is_continued else None)
        weights = 1.3 * dual.start
        steps = 1e-6 * np.diag(weights)
        slopes = [(dual.at(weights + h).ascent - dual.at(weights - h).ascent) / (2 * h.sum()) for h in steps]
        curvature = dual._curvature(dual.at(weights)) - np.diag(_DAMPED * bounds / weights)
        np.testing.assert_allclose(-np.array(slopes), curvature, atol=1e-7 * np.abs(curvature).max())
        assert (dual.rates(weights)[1] >= 1).any()
