"""The convex program: held against another solution of it, its optimality conditions, and its own symmetries."""

import numpy as np
import pytest
from each_once import each_once
from hypothesis import given, settings, strategies as st
from naive_learning import edges, least_loss, loss, preferences_of, random_pairs, slope, true_weights

from activeeval.core.errors import SolverError
from activeeval.gains import PreferenceData, convex_program as program_module, random_list_pairs
from activeeval.gains.convex_program import Program

SHAPES = ("decreasing", "monotone", "free")


def assert_optimal(weights, data, shape, C, **kind):
    """KKT: the slope is 0 along what is free, ≥ 0 along an increment, and 0 there where the increment is positive.

    Of lists that are all tied the slope is 0 at weights of 0, and so is its size.
    """
    matrix, n_free = edges(shape, data.depth, data.n_levels)
    z, towards = np.linalg.solve(matrix, weights.ravel()), slope(weights, data, C, **kind) @ matrix
    size = np.abs(slope(0 * weights, data, C, **kind) @ matrix).max()
    assert z[n_free:].min(initial=0) >= -1e-6 * np.abs(z).max()
    assert np.abs(towards[:n_free]).max() <= 1e-4 * size
    assert towards[n_free:].min(initial=0) >= -1e-4 * size
    assert np.abs(towards[n_free:] * z[n_free:]).max(initial=0) <= 1e-4 * size * np.abs(z).max()


@each_once(
    ("C", [1e-4, 0.01, 1.0, 100.0]),
    ("shape", SHAPES),
    (("n", "depth", "n_levels"), [(3, 4, 3), (40, 4, 3), (150, 10, 5)]),
)
def test_the_solution_is_that_of_another_method(shape, C, n, depth, n_levels):
    data = random_pairs(n, n, depth, n_levels)
    weights = Program.of(data, shape).solve(C)
    expected = least_loss(data, shape, C)
    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-4 * np.abs(expected).max())
    assert loss(weights, data, C) == pytest.approx(loss(expected, data, C), rel=1e-9)
    assert_optimal(weights, data, shape, C)


@each_once(("shape", SHAPES), ("tie_margin", [1.0, 0.0, 0.3]), ("C_ties", [None, 0.0, 0.2, 30.0]))
def test_ties_bound_the_difference_on_both_sides(shape, tie_margin, C_ties):
    data = random_pairs(5, 60, tied_below=1.0)
    assert 15 < data.ties.sum() < 45
    weights = Program.of(data, shape, "unit", tie_margin, C_ties).solve(2.0)
    expected = least_loss(data, shape, 2.0, C_ties, tie_margin=tie_margin)
    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    assert_optimal(weights, data, shape, 2.0, C_ties=C_ties, tie_margin=tie_margin)
    other_way = PreferenceData(
        np.where(data.ties[:, None], data.other, data.preferred),
        np.where(data.ties[:, None], data.preferred, data.other),
        ties=data.ties,
    )
    turned = Program.of(other_way, shape, "unit", tie_margin, C_ties).solve(2.0)
    np.testing.assert_allclose(turned, weights, rtol=0, atol=1e-5 * np.abs(weights).max())


@each_once(("margin", ["grades", "documents"]), ("shape", SHAPES))
def test_margins_are_the_distance_of_the_lists(margin, shape):
    moved = np.random.default_rng(1).integers(1, 5, size=50)
    data = random_pairs(7, 50, tied_below=0.5, moved=moved)
    margins = moved if margin == "documents" else np.sum(data.preferred != data.other, axis=1)
    weights = Program.of(data, shape, margin).solve(1.0)
    expected = least_loss(data, shape, 1.0, margins=margins.astype(float))
    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    assert np.abs(weights - Program.of(data, shape).solve(1.0)).max() > 0.1


@pytest.mark.parametrize("shape", SHAPES)
def test_counts_repeat_pairs(shape):
    data = random_pairs(3, 40, tied_below=0.7)
    counts = np.random.default_rng(0).integers(0, 4, size=40)
    repeated = Program.of(data.subset(np.repeat(np.arange(40), counts)), shape).solve(3.0)
    weights = Program.of(data, shape).solve(3.0, counts)
    np.testing.assert_allclose(weights, repeated, rtol=0, atol=1e-6 * np.abs(weights).max())


def test_nothing_that_counts_gives_no_weights():
    data = random_pairs(3, 4, tied_below=0.0)
    np.testing.assert_allclose(Program.of(data, "decreasing").solve(1.0, np.zeros(4)), 0, atol=1e-6)


def test_documents_without_grades_have_free_weights():
    random = np.random.default_rng(3)
    names = np.array(["d", "a", "c", "b"])
    lists = np.array([names[random.permutation(4)][:3] for _ in range(60)])
    worth = {"a": 3.0, "b": -1.0, "c": 2.0, "d": 0.0}
    value = [sum(worth[name] / (k + 1) for k, name in enumerate(one)) for one in lists]
    pairs = [(i, i + 1) if value[i] > value[i + 1] else (i + 1, i) for i in range(0, 60, 2)]
    first, second = np.transpose(pairs)
    data = PreferenceData.from_documents(lists[first].tolist(), lists[second].tolist())
    weights = Program.of(data, "decreasing").solve(5.0)
    assert weights.shape == (3, 4)
    np.testing.assert_allclose(weights, least_loss(data, "free", 5.0), rtol=0, atol=1e-5)
    codes = np.searchsorted(["a", "b", "c", "d"], lists)
    margins = np.array([np.sum(a != b) for a, b in zip(codes[first], codes[second], strict=True)], dtype=float)
    weights = Program.of(data, "decreasing", "documents").solve(5.0)
    np.testing.assert_allclose(weights, least_loss(data, "free", 5.0, margins=margins), rtol=0, atol=1e-5)


def test_the_paper_s_program_is_that_of_cvxpy():
    """Word for word: slacks, and |wᵀd| ≤ 1 + ξ of ties."""
    cvxpy = pytest.importorskip("cvxpy")
    data = random_pairs(11, 50, depth=3, n_levels=4, tied_below=0.8)
    differences = data.differences().toarray()
    w, slacks = cvxpy.Variable((3, 4)), cvxpy.Variable(50, nonneg=True)
    values = differences @ cvxpy.vec(w, order="C")
    costs = np.where(data.ties, 0.5, 2.0)
    gains = w[:, 1:] - w[:, :-1]
    shapes = {"free": [], "monotone": [gains >= 0], "decreasing": [gains >= 0, gains[:-1] >= gains[1:]]}
    for shape, constraints in shapes.items():
        bounds = [values[~data.ties] >= 1 - slacks[~data.ties], cvxpy.abs(values[data.ties]) <= 1 + slacks[data.ties]]
        loss_of_all = cvxpy.sum_squares(w) + costs @ cvxpy.square(slacks)
        problem = cvxpy.Problem(cvxpy.Minimize(loss_of_all), bounds + constraints)
        problem.solve(solver="CLARABEL")
        weights = Program.of(data, shape, C_ties=0.5).solve(2.0)
        np.testing.assert_allclose(weights, w.value, rtol=0, atol=1e-4)
        assert loss(weights, data, 2.0, 0.5) <= problem.value * (1 + 1e-9)


# What the weights must do


@given(st.integers(0, 2**32 - 1), st.sampled_from(SHAPES), st.floats(-3, 3))
@settings(deadline=None, max_examples=25)
def test_any_solution_is_optimal(seed, shape, power):
    random = np.random.default_rng(seed)
    data = random_pairs(random, int(random.integers(1, 30)), noise=float(random.integers(2)), tied_below=0.3)
    assert_optimal(Program.of(data, shape).solve(10.0**power), data, shape, 10.0**power)


@pytest.mark.parametrize("shape", ["decreasing", "monotone"])
def test_weights_have_their_shape(shape):
    """Preferences for the worse list at the first rank and the better one at the last pull the other way."""
    data = PreferenceData([[0, 1, 2], [0, 0, 2], [1, 0, 2]], [[2, 1, 0], [2, 0, 0], [2, 0, 1]], max_grade=2)
    weights = Program.of(data, shape).solve(10.0)
    steps = np.diff(weights, axis=1)
    assert steps.min() > -1e-6
    if shape == "decreasing":
        assert np.diff(steps, axis=0).max() < 1e-6
    else:
        assert np.diff(steps, axis=0).max() > 0.05
    assert np.diff(Program.of(data, "free").solve(10.0), axis=1)[0].min() < -0.05


# Many pairs


@pytest.fixture
def few_open(monkeypatch):
    monkeypatch.setattr(program_module, "_OPEN", 60)


@each_once(("shape", SHAPES), ("C", [1e-3, 1.0, 1000.0]), ("n", [61, 90, 121, 1500]))
def test_a_large_program_is_solved_as_a_small_one(n, C, shape, monkeypatch):
    data = random_pairs(n, n, noise=2.0, tied_below=0.4)
    program = Program.of(data, shape)
    assert program.margins.size > 60
    counts = np.random.default_rng(0).integers(0, 3, size=n)
    whole = [program.solve(C), program.solve(C, counts)]
    monkeypatch.setattr(program_module, "_OPEN", 60)
    parts = [program.solve(C), program.solve(C, counts)]
    np.testing.assert_allclose(parts, whole, rtol=0, atol=1e-4 * np.abs(whole).max())


def test_a_large_program_opens_few_of_its_bounds(monkeypatch):
    monkeypatch.setattr(program_module, "_OPEN", 300)
    sizes = []
    solve = program_module._Bounds._solve

    def watched(self, is_open, violated, increments):
        sizes.append((is_open.size, int(is_open.sum()), int(violated.sum())))
        return solve(self, is_open, violated, increments)

    monkeypatch.setattr(program_module._Bounds, "_solve", watched)
    Program.of(random_pairs(1, 3000, noise=2.0), "decreasing").solve(1.0)
    assert sizes[0] == (300, 300, 0)
    assert {size for size, _, _ in sizes[1:]} == {3000}
    for _, n_open, n_violated in sizes[1:]:
        assert 300 < n_open < 1500
        assert n_violated > 500


def test_bounds_wrongly_taken_for_plain_are_opened(few_open):
    """The sample is every 20th pair; here these are of another truth than the rest."""
    data = random_pairs(2, 1200, noise=0.5)
    flip = (np.arange(1200) % 20 == 0)[:, None]
    mixed = PreferenceData(np.where(flip, data.other, data.preferred), np.where(flip, data.preferred, data.other))
    for shape in SHAPES:
        weights = Program.of(mixed, shape).solve(1.0)
        assert_optimal(weights, mixed, shape, 1.0)


@pytest.mark.parametrize("C", [10.0, 1e5])
def test_thousands_of_noisy_pairs_are_solved(C):
    """Written in the weights themselves, the solver stalls on these."""
    weights = true_weights(2.0 ** np.arange(5) - 1, 10)
    random = np.random.default_rng(4)
    lists = random.integers(0, 5, size=(2, 7000, 10))
    data = preferences_of(weights, *lists, 5 * random.normal(size=7000))
    program = Program.of(data, "decreasing")
    found = program.solve(C)
    rows, lacks = program.rows, program.violations(found)
    towards = (2 * found.ravel() - 2 * C * rows.T @ lacks) @ edges("decreasing", 10, 5)[0]
    size = np.abs(2 * C * (rows.T @ program.margins) @ edges("decreasing", 10, 5)[0]).max()
    assert np.abs(towards[:10]).max() < 1e-6 * size
    assert towards.min() > -1e-6 * size


# The order of pairs, their number, failures


@pytest.mark.parametrize("shape", SHAPES)
def test_order_does_not_matter_and_twice_at_half_the_cost_is_once(shape):
    data = random_pairs(9, 80, tied_below=0.5)
    weights = Program.of(data, shape).solve(4.0)
    order = np.random.default_rng(0).permutation(80)
    np.testing.assert_allclose(Program.of(data.subset(order), shape).solve(4.0), weights, rtol=0, atol=1e-6)
    twice = data.subset(np.tile(np.arange(80), 2))
    np.testing.assert_allclose(Program.of(twice, shape).solve(2.0), weights, rtol=0, atol=1e-6)


def test_violations_are_what_is_lacking():
    data = random_pairs(9, 30, tied_below=0.5)
    program = Program.of(data, "monotone", tie_margin=0.25)
    weights = np.random.default_rng(0).normal(size=(4, 3))
    lacks = program.violations(weights)
    assert np.sum(weights**2) + lacks @ lacks == pytest.approx(loss(weights, data, 1.0, tie_margin=0.25))
    assert program.pairs[program.is_tie].tolist() == 2 * np.flatnonzero(data.ties).tolist()


def test_a_solver_that_stops_early_is_an_error(monkeypatch):
    defaults = program_module.clarabel.DefaultSettings

    def hasty():
        settings = defaults()
        settings.max_iter = 3
        return settings

    monkeypatch.setattr(program_module.clarabel, "DefaultSettings", hasty)
    data = random_pairs(9, 30)
    text = r"the solver stopped with MaxIterations after 3 steps, on 30 bounds at a cost of 2 to 2"
    with pytest.raises(SolverError, match=text) as caught:
        Program.of(data, "decreasing").solve(2.0)
    assert caught.value.status == "MaxIterations"


def test_a_cost_beyond_reason_is_an_error_or_solved():
    """No answer in between: what comes back is optimal."""
    lists, others = random_list_pairs(np.arange(5), 40, rng=0)
    data = preferences_of(true_weights(np.arange(5), 5), lists, others)
    solved = 0
    for C in 10.0 ** np.arange(6, 31, 4):
        try:
            weights = Program.of(data, "decreasing").solve(C)
        except SolverError:
            continue
        assert_optimal(weights, data, "decreasing", C)
        solved += 1
    assert solved >= 1
