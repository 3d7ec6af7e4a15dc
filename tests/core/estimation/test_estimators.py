"""What a judged sample says, against plain loops, least squares by numpy, and sums over all samples."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from core_cases import L, M, P, sample_of
from each_once import each_once
from naive_estimates import degrees, linear, n_regressors, normal_matrix, press, regression

from activeeval import StateError
from activeeval.core.estimation import estimate, evaluate
from activeeval.core.kernels import estimates

pytestmark = pytest.mark.kernel
Q = np.array([0.1, 0.2, 0.3, 0.4])
PI = np.array([0.3, 0.9, 0.5, 0.6])
TRUTH = float(P @ L)


def seen(random, n, k):
    """Return the arguments of `linear_estimate` for queries of which some are certain, some judged in part."""
    omega, keep = random.uniform(0.2, 1.5, n) / n, random.uniform(0.1, 1, n)
    totals = np.column_stack((random.normal(size=n), np.ones(n), random.normal(size=(n, k - 1))))
    parts = random.normal(0, 0.3, (n, 4, k + 1))
    within = np.array([(part.T @ part)[np.triu_indices(k + 1)] for part in parts])
    keep[0], within[0] = 1.0, 0.0
    population = omega @ totals[:, 1:] + random.normal(0, 0.1, k)
    return omega, keep, totals, within, population


def found_by(kernel_arrays, is_fitted):
    """Return R̂, V̂, degrees of freedom, plain V̂ and contributions."""
    contributions, beyond = np.empty(kernel_arrays[0].size), np.full(kernel_arrays[0].size, -1)
    return *estimates.linear_estimate(*kernel_arrays, is_fitted, contributions, beyond), contributions


def all_draws(n):
    """Every sequence of n draws with replacement, with its probability."""
    return [(math.prod(Q[list(s)]), list(s)) for s in itertools.product(range(4), repeat=n)]


def exact(arrays):
    return [[[Fraction(v) for v in row] for row in a] if a.ndim == 2 else [Fraction(v) for v in a] for a in arrays]


# Draws with replacement


def test_the_ratio_is_sawades():
    for _, s in all_draws(3):
        w = P[s] / Q[s]
        found = evaluate(sample_of(s, Q[s], with_replacement=True))
        value = (w @ L[s]) / w.sum()
        assert found.value == pytest.approx(value, rel=1e-12)
        assert found.contributions == pytest.approx(w * (L[s] - value) / w.sum(), abs=1e-14)
        if len(set(s)) > 1:
            assert found.variance == pytest.approx(1.5 * (w**2 @ (L[s] - value) ** 2) / w.sum() ** 2, rel=1e-10)
            assert found.degrees_of_freedom == pytest.approx(degrees(found.contributions**2, 1), rel=1e-12)


@pytest.mark.parametrize("value", [0.1, 0.3, 0.7])
def test_draws_of_one_query_alone_tell_no_variance_however_they_round(value):
    """The sum of squares less the squared sum is 0 or 1e-18, as it happens; neither makes the estimate certain."""
    for n in range(1, 12):
        sample = sample_of([0] * n, [0.3] * n, values=np.full(4, value), with_replacement=True)
        assert evaluate(sample).variance == math.inf


# The linear estimators against plain loops in exact arithmetic


@each_once(
    (("n", "k"), [(3, 2), (7, 2), (11, 2), (12, 3), (15, 3), (6, 3), (15, 4), (24, 4), (35, 5)]), ("seed", range(4))
)
def test_difference_and_regression_are_those_of_plain_loops(seed, n, k):
    """Small samples do without the third regressor, twelve more queries may bring one more.

    A fit costs n / (n − k) and at least two degrees of freedom; without m, what it would move is added.
    """
    arrays = seen(np.random.default_rng(seed), n, k)
    for is_fitted in (False, True):
        used = min(k, 2 + n // 12)
        used = n_regressors(*arrays[:4], used) if is_fitted else used
        plain = exact(arrays)
        b, g = regression(*plain, used) if is_fitted else ([0, 1, 0][:used], [1] * n)
        if max(abs(float(one) - 1) for one in g) > 3.99:
            continue
        value, contributions, shares = linear(*plain, b, g)
        n_fitted = max(used, 2) if is_fitted else 0
        gap = gap_of(arrays) if used == 1 else 0.0
        found = found_by(arrays, is_fitted)
        assert found[0] == pytest.approx(float(value), rel=1e-10)
        assert found[3] == pytest.approx(float(sum(shares)), rel=1e-9)
        if n > n_fitted:
            assert found[1] == pytest.approx(float(sum(shares)) * n / (n - n_fitted) + gap**2, rel=1e-9)
            assert found[2] == pytest.approx(float(degrees(shares, n_fitted)), rel=1e-9)
        else:
            assert found[1] == math.inf
        assert found[4] == pytest.approx([float(c) for c in contributions], rel=1e-8, abs=1e-12)


def gap_of(arrays):
    """By how much the second regressor with B = 1 would move an estimate from the first."""
    omega, keep, totals, within, population = arrays
    h = normal_matrix(omega, keep, totals, within)
    b = h[1][2] / h[1][1]
    return population[1] - b * population[0] - omega @ (totals[:, 2] - b * totals[:, 1])


@pytest.mark.parametrize("seed", range(4))
def test_as_many_regressors_are_fitted_as_predict_queries_left_out(seed):
    """Whole queries, each predicted by numpy's least squares of the others; the third regressor helps, or is noise."""
    for n, k, helps in ((14, 3, True), (14, 3, False), (30, 4, True)):
        random = np.random.default_rng(seed)
        omega, keep, totals, _, population = seen(random, n, k)
        within = np.zeros((n, (k + 1) * (k + 2) // 2))
        if helps:
            totals[:, 0] = 0.1 * totals[:, 0] + totals[:, 2] + 2 * totals[:, 3]
        root, errors = omega * np.sqrt(keep), []
        for used in range(1, min(k, 2 + n // 12) + 1):
            z, left = totals[:, 1 : used + 1], 0.0
            for j in range(n):
                others = np.arange(n) != j
                b = np.linalg.lstsq((root[:, None] * z)[others], (root * totals[:, 0])[others])[0]
                left += (root[j] * (totals[j, 0] - z[j] @ b)) ** 2
            assert press(omega, keep, totals, within, used) == pytest.approx(left, rel=1e-8)
            errors.append(left)
        best = int(np.argmin(errors)) + 1
        out = np.empty((n, 2))
        b = estimates.residuals(omega, keep, totals, within, population, True, out, np.full(omega.size, -1))
        _, g = regression(omega, keep, totals, within, population, best)
        if np.abs(np.array(g) - 1).max() < 4:
            assert np.count_nonzero(b) == best
            assert best >= 3 or not helps


def test_b_minimises_the_plain_variance():
    arrays = seen(np.random.default_rng(4), 9, 2)
    b = regression(*arrays, 2)[0]

    def variance(one):
        return sum(linear(*arrays, one, [1] * 9)[2])

    moved = [[b[0] + x, b[1] + y] for x, y in itertools.product((-0.01, 0, 0.01), repeat=2) if (x, y) != (0, 0)]
    assert all(variance(b) < variance(one) for one in moved)


@pytest.mark.parametrize("means", [np.zeros(4), np.full(4, 1.7)])
def test_a_prediction_without_spread_is_a_regression_on_one(means):
    """B = weighted mean of L alone, no division by a determinant of 0; two degrees of freedom are paid all the same."""
    s = [0, 1, 2, 3]
    found = evaluate(sample_of(s, PI, means=means))
    weight, omega = P**2 * (1 - PI) / PI**2, P / PI
    b = weight @ L / weight.sum()
    assert found.value == pytest.approx(b + omega @ (L - b), rel=1e-9)
    g = 1 + omega * (1 - PI) * (1 - omega.sum()) / weight.sum()
    shares = (g * omega * (L - b)) ** 2 * (1 - PI)
    assert found.variance == pytest.approx(shares.sum() * 4 / 2, rel=1e-9)
    assert found.degrees_of_freedom == pytest.approx(degrees(shares, 2), rel=1e-9)


@pytest.mark.parametrize("reach", [0.5, 3.9, 4.1, 30.0])
def test_a_fit_that_reaches_far_beyond_the_sample_is_one_on_the_first_regressor(reach):
    """Z̄ is so far from Σ ω z that the largest |g − 1| is ``reach``: above 4 the constant stands alone.

    What the second regressor would then move the estimate by, its coefficient 1 and the constant fitted, is squared
    and added.
    """
    random = np.random.default_rng(2)
    omega, keep, totals, within, _ = seen(random, 8, 2)
    totals[:, 0] += 4 * totals[:, 2]  # which m predicts
    start = omega @ totals[:, 1:]
    one = np.abs(np.array(regression(omega, keep, totals, within, [start[0], start[1] + 1], 2)[1]) - 1).max()
    population = np.array([start[0], start[1] + reach / one])
    arrays = (omega, keep, totals, within, population)
    b, g = regression(*arrays, 2 if reach < 4 else 1)
    assert np.abs(np.array(g) - 1).max() == pytest.approx(reach if reach < 4 else 0.0, abs=1e-9)
    value, _, shares = linear(*arrays, b, g)
    found = found_by(arrays, True)
    assert found[0] == pytest.approx(value, rel=1e-10)
    assert found[3] == pytest.approx(sum(shares), rel=1e-10)
    gap = gap_of(arrays) if reach > 4 else 0.0
    assert found[1] == pytest.approx(sum(shares) * 8 / 6 + gap**2, rel=1e-10)  # as two were fitted


def test_a_regressor_that_repeats_another_is_left_out():
    omega, keep, totals, _, _ = seen(np.random.default_rng(6), 14, 3)
    totals[:, 0] += 4 * totals[:, 2]
    totals[:, 3] = 2 * totals[:, 2] - 0.3
    within, population = np.zeros((14, 10)), omega @ totals[:, 1:] + [0.1, 0.2, 0.37]
    b, g = regression(omega, keep, totals[:, :3], np.zeros((14, 6)), population[:2], 2)
    value, _, shares = linear(omega, keep, totals, within, population, b, g)
    found = found_by((omega, keep, totals, within, population), True)
    assert found[0] == pytest.approx(value, rel=1e-7)
    assert found[1] == pytest.approx(sum(shares) * 14 / 12, rel=1e-7)


def test_a_negative_variance_becomes_the_conservative_one():
    within = np.zeros((3, 6))
    within[:, 0] = [-5.0, -5.0, 0.0]
    s = [0, 2, 3]
    probs = np.array([0.3, 0.5, 1.0])  # of the last all is judged: no chance, no share
    sample = sample_of(s, probs, within=within, is_fitted=False)
    terms = P[s] / probs * (L - M)[s]
    found = evaluate(sample)
    assert found.plain_variance < 0
    assert found.variance == pytest.approx(terms[:2] @ terms[:2])


def test_one_query_tells_a_value_and_no_variance():
    for is_fitted in (False, True):
        for n in (1, 2) if is_fitted else (1,):
            found = evaluate(sample_of(range(n), PI[:n], is_fitted=is_fitted))
            assert found.value == pytest.approx(P @ M + (P / PI * (L - M))[:n].sum())
            assert found.variance == math.inf


# Exactly unbiased at a fixed level


# What a sample says nothing of


def test_nothing_judged_is_nothing_to_estimate_from():
    with pytest.raises(StateError, match="nothing has been judged yet, so there is nothing to estimate from"):
        evaluate(sample_of([], []))


def test_certain_queries_alone_leave_the_others_as_predicted_and_bound_nothing():
    found = estimate(sample_of([], [], certain=[0, 2]), "by hand")
    assert found.value == pytest.approx(P[[0, 2]] @ L[[0, 2]] + P[[1, 3]] @ M[[1, 3]])
    assert (found.std_error, found.n_open) == (math.inf, 0)
    assert [one.level for one in found.cautions] == ["severe warning"]
    assert (found.interval().low, found.interval().high) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("values", "means", "is_fitted"),
    [(L, L, False), (L, L, True), (3 - 2 * M, M, True)],
    ids=["plain", "fitted", "affine"],
)
def test_a_model_without_residuals_gives_the_exact_answer_and_bounds_nothing(values, means, is_fitted):
    """One kind of query was seen: those that the model gets right. Any sample, however far a fit would reach."""
    for n in (1, 2, 3, 4) if means is L else (3, 4):
        for s in itertools.combinations(range(4), n):
            probs = np.array([1e-3, 0.9, 0.5, 0.6])[list(s)]
            found = evaluate(sample_of(list(s), probs, values=values, means=means, is_fitted=is_fitted))
            assert found.value == pytest.approx(P @ values, rel=1e-7 if values is not L else 1e-12)  # weights of 400
            assert found.contributions == pytest.approx(np.zeros(n), abs=1e-7)
            assert found.variance == math.inf


def test_regressors_of_which_nothing_varies_leave_the_model_its_word():
    """Queries all in for sure, of which parts were seen: what is unseen of y alone tells no coefficient."""
    omega, _, totals, _, population = seen(np.random.default_rng(7), 6, 2)
    within = np.zeros((6, 6))
    within[:, 0] = np.arange(1.0, 7)
    found = found_by((omega, np.zeros(6), totals, within, population), True)
    assert found[0] == pytest.approx(population[1] + omega @ (totals[:, 0] - totals[:, 2]))
    assert found[1] == pytest.approx(omega**2 @ within[:, 0] * 6 / 4)


def test_predictions_that_are_nothing_but_rounding_are_no_regressor():
    omega, keep, totals, within, population = seen(np.random.default_rng(1), 8, 2)
    within[:], totals[:, 2], population[1] = 0.0, 0.0, 0.0
    flat = found_by((omega, keep, totals, within, population), True)
    totals[:, 2] = 1e-12 * np.random.default_rng(2).normal(size=8)
    for found, expected in zip(found_by((omega, keep, totals, within, population), True), flat, strict=True):
        assert found == pytest.approx(expected, rel=1e-9)


def test_values_that_are_all_alike_bound_nothing():
    """Nothing relevant was seen: a regression on 1 explains that exactly."""
    for n, k in ((5, 2), (30, 2), (30, 3)):
        omega, keep, totals, _, population = seen(np.random.default_rng(5), n, k)
        within, keep[:] = np.zeros((n, (k + 1) * (k + 2) // 2)), 0.7
        for value in (0.0, 0.1):
            totals[:, 0] = value
            found = found_by((omega, keep, totals, within, population), True)
            assert found[1] == math.inf
            assert found[0] == pytest.approx(value * population[0], abs=1e-12)


def lowest_everywhere(n, values=0.25):
    """Return what depths show of queries without any relevant item: y = h + L with one value L."""
    random = np.random.default_rng(8)
    omega, keep = random.uniform(0.5, 1.5, n) / n, np.full(n, 0.6)
    h = random.normal(0, 0.4, n)
    totals = np.column_stack((h + values, np.ones(n), random.uniform(0.2, 0.9, n), h))
    within = np.zeros((n, 10))
    within[:, 0] = within[:, 3] = within[:, 9] = random.uniform(0.01, 0.1, n)  # of y, h and both: of y − h nothing
    population = np.array([omega.sum(), omega @ totals[:, 2], 0.0])
    return omega, keep, totals, within, population


@pytest.mark.parametrize("n", [6, 11, 12, 40])
def test_depths_without_anything_relevant_bound_nothing(n):
    """The third regressor would explain them exactly; small samples do without it, and are told by y − h."""
    arrays = lowest_everywhere(n)
    assert found_by(arrays, True)[1] == math.inf
    arrays[2][0, 0] += 0.01  # one query that differs
    assert math.isfinite(found_by(arrays, True)[1])


@pytest.mark.parametrize(
    ("n_unlike", "size", "is_fitted"), [(14, 0.7, False), (15, 0.7, True), (14, 0.02, True), (15, 0.02, True)]
)
def test_the_third_regressor_is_for_half_of_the_queries_or_for_most_of_the_variance(n_unlike, size, is_fitted):
    """Else B rests on the few queries of which something relevant was seen."""
    omega, keep, totals, within, population = lowest_everywhere(30, np.zeros(30))
    random = np.random.default_rng(3)
    totals[:n_unlike, 0] += random.normal(0, size, n_unlike)
    within[:n_unlike, 0] += size**2 / 4
    b = estimates.residuals(omega, keep, totals, within, population, True, np.empty((30, 2)), np.full(30, -1))
    assert (b[2] != 0) == is_fitted
    h = normal_matrix(omega, keep, totals, within)
    left = [
        h[0][0] - np.dot(regression(omega, keep, totals, within, population, k)[0], h[0][1 : k + 1]) for k in (2, 3)
    ]
    assert is_fitted == (n_unlike >= 15 or left[0] > 4 * left[1])


@pytest.mark.parametrize("n", [8, 30])
def test_what_is_rounding_beside_the_predictions_is_no_spread_whatever_is_fitted(n):
    """After an update that changed nothing y is 1e-19, and so is every coefficient: nothing beside m of 1e-3."""
    random = np.random.default_rng(1)
    omega, keep, totals, _, population = seen(random, n, 3)
    within = np.zeros((n, 10))
    totals[:, 0], totals[:, 2] = 1e-19 * random.normal(size=n), 1e-3 * random.uniform(0.5, 1, n)
    keep[: n // 2], within[: n // 2, 0] = 0.0, 1e-38  # of certain queries too, whose places are not
    assert found_by((omega, keep, totals, within, population), True)[1] == math.inf
    totals[0, 0] = 1e-5
    keep[0] = 0.5
    assert math.isfinite(found_by((omega, keep, totals, within, population), True)[1])


# Certain queries


# Degrees of freedom and warnings


def test_degrees_of_freedom_count_the_shares_that_matter():
    """Equal shares leave n − k; K equal ones among many that are nothing about K; one alone a single degree."""
    for n in (5, 50, 500):
        assert estimates.degrees(np.full(n, 0.3), 2.0) == pytest.approx(n - 2)
        alone = np.zeros(n)
        alone[0] = 7.0
        assert estimates.degrees(alone, 1.0) == pytest.approx(1.0, rel=1 / n)
    few = np.repeat([1.0, 0.0], [8, 992])
    assert estimates.degrees(few, 2.0) == pytest.approx(8, rel=0.02)
    random = np.random.default_rng(3)
    normal = random.normal(size=100_000) ** 2
    assert estimates.degrees(normal, 2.0) == pytest.approx(50_000, rel=0.03)  # 3/n: half of n
    for v in (random.exponential(size=40), random.exponential(size=40) ** 3, random.uniform(0.5, 1, 40)):
        assert estimates.degrees(v, 2.0) == pytest.approx(degrees(v, 2), rel=1e-12)
        assert estimates.degrees(1e6 * v, 2.0) == pytest.approx(estimates.degrees(v, 2.0), rel=1e-12)
        below = np.concatenate((v, [-3.0]))  # an estimated share may be negative: it counts as nothing
        assert estimates.degrees(below, 2.0) == pytest.approx(degrees(below, 2), rel=1e-12)
    assert estimates.degrees(np.array([1.0]), 2.0) == -1
    assert estimates.degrees(np.zeros(5), 2.0) == 3


# The population that the pool is a sample of
