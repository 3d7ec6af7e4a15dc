from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from activeeval.kernels.cube import cube

pytestmark = pytest.mark.kernel

few = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


def sample(uniforms, probs, balancing):
    """Return the chosen units and the number of uniforms that it took to choose them."""
    probs = np.array(probs, dtype=float)
    balancing = np.array(balancing, dtype=float, ndmin=2).reshape(probs.size, -1)
    chosen = np.full(probs.size, True)
    n_used = cube(np.array(uniforms, dtype=float), probs, balancing, chosen)
    return chosen, n_used


def expansion(probs, balancing):
    """Return x / π, 0 where π is 0."""
    return np.divide(balancing, probs[:, None], out=np.zeros_like(balancing), where=probs[:, None] > 0)


def imbalance(chosen, probs, balancing):
    """Return the error of each estimated total; a unit that cannot be chosen is in neither total."""
    return expansion(probs, balancing)[chosen].sum(axis=0) - balancing[probs > 0].sum(axis=0)


def cycle(n, start=0.5):
    """Return numbers in [0, 1) that fill it evenly, the same ones with any library."""
    return (start + np.arange(n) * 0.6180339887498949) % 1.0


# The walk in exact arithmetic, every branch of it


def eliminated(row, units, rows):
    """Subtract from a condition what the pivots of the ones before it take."""
    for pivot, other in rows:
        factor = row[pivot]
        row = {s: row[s] - factor * other[s] for s in units}
    return row


def direction(a, units):
    """Return v with Σ a_ic v_i = 0 in as many first conditions c as leave one, its first entry positive."""
    rows = []
    for c in range(len(a[0])):
        row = eliminated({s: a[s][c] for s in units}, units, rows)
        pivot = max(units, key=lambda s: abs(row[s]))
        if len(rows) < len(units) - 1 and row[pivot] != 0:
            row = {s: row[s] / row[pivot] for s in units}
            rows = [(p, eliminated(other, units, [(pivot, row)])) for p, other in rows] + [(pivot, row)]
    free = next(s for s in units if s not in dict(rows))
    v = {s: Fraction(s == free) for s in units} | {pivot: -row[free] for pivot, row in rows}
    sign = next(1 if v[s] > 0 else -1 for s in units if v[s] != 0)
    return {s: sign * v[s] for s in units}


def branches(p, a):
    """Yield (branches taken as (probability of up, went up), corner) for every end of the walk."""
    units = [i for i in range(len(p)) if 0 < p[i] < 1][: len(a[0]) + 1]
    if not units:
        yield [], p
        return
    v = {s: d for s, d in direction(a, units).items() if d != 0}
    up = min((1 - p[s]) / d if d > 0 else p[s] / -d for s, d in v.items())
    down = min(p[s] / d if d > 0 else (1 - p[s]) / -d for s, d in v.items())
    for went_up, length in ((True, up), (False, -down)):
        there = [p[s] + length * v.get(s, 0) for s in range(len(p))]
        for path, corner in branches(there, a):
            yield [(down / (up + down), went_up), *path], corner


F = Fraction
TREES = {
    "size alone": ([F(1, 2), F(1, 3), F(2, 3), F(1, 2)], [[F(1, 2)], [F(1, 3)], [F(2, 3)], [F(1, 2)]]),
    "size not whole": ([F(1, 5), F(1, 3), F(2, 7), F(3, 4)], [[F(1, 5)], [F(1, 3)], [F(2, 7)], [F(3, 4)]]),
    "size and one more": (
        [F(1, 2), F(1, 3), F(2, 3), F(3, 4)],
        [[F(1, 2), 3], [F(1, 3), 1], [F(2, 3), 7], [F(3, 4), 2]],
    ),
    "three": (
        [F(1, 5), F(1, 3), F(4, 7), F(3, 4)],
        [[F(1, 5), 3, -1], [F(1, 3), 1, 5], [F(4, 7), 7, 0], [F(3, 4), 2, 2]],
    ),
    "repeated and zero": ([F(1, 5), F(1, 3), F(4, 7), F(3, 4)], [[0, 1, 3], [0, 2, 6], [0, 5, 15], [0, 3, 9]]),
    "certain units": ([F(1), F(1, 3), F(0), F(3, 4), F(2, 5)], [[2, 1], [3, 5], [4, 1], [7, -2], [1, 1]]),
    "no condition": ([F(1, 5), F(1, 3), F(4, 7)], [[], [], []]),
}


@pytest.mark.parametrize("case", TREES)
def test_every_branch_is_taken_with_its_probability_and_they_add_up_to_pi(case):
    probs, balancing = TREES[case]
    n = len(probs)
    a = [[F(x) / p if p else F(0) for x in row] for p, row in zip(probs, balancing, strict=True)]
    mean = [F(0)] * n
    for path, corner in branches(probs, a):
        weight = prod([up if went_up else 1 - up for up, went_up in path], start=F(1))
        mean = [total + weight * c for total, c in zip(mean, corner, strict=True)]
        # just this side of each threshold: the kernel's branch probabilities are these to 1e-13
        uniforms = [float(up) + (-1e-13 if went_up else 1e-13) for up, went_up in path]
        chosen, n_used = sample(uniforms + [0.5] * (n - len(path)), probs, balancing)
        assert chosen.tolist() == corner
        assert n_used == len(path) <= n
    assert mean == probs


# Laws of any walk


@st.composite
def populations(draw):
    n, k = draw(st.integers(1, 24)), draw(st.integers(1, 4))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    probs = random.beta(0.6, 0.9, n)
    probs[random.random(n) < draw(st.sampled_from([0.0, 0.3]))] = random.integers(0, 2)
    kinds = {
        "size": lambda: probs.copy(),
        "heavy": lambda: random.lognormal(0, 3, n),
        "signed": lambda: random.normal(0, 1, n),
        "zero": lambda: np.zeros(n),
        "indicator": lambda: (random.random(n) < 0.4).astype(float),
        "near": lambda: probs * (1 + 1e-7 * random.normal(0, 1, n)),
    }
    chosen = [draw(st.sampled_from(sorted(kinds))) for _ in range(k)]
    balancing = np.column_stack([kinds[kind]() * 10.0 ** draw(st.integers(-9, 9)) for kind in chosen])
    if k > 1 and draw(st.booleans()):
        balancing[:, -1] = balancing[:, :-1] @ random.normal(0, 1, k - 1)
    return random.random(n), probs, balancing


@few
@given(populations())
def test_a_condition_is_lost_only_when_as_few_units_are_left(population):
    uniforms, probs, balancing = population
    chosen, n_used = sample(uniforms, probs, balancing)
    assert n_used <= probs.size
    assert chosen[probs == 1].all()
    assert not chosen[probs == 0].any()
    sizes = np.sort(np.abs(expansion(probs, balancing)), axis=0)[::-1]
    error = np.abs(imbalance(chosen, probs, balancing))
    for c in range(balancing.shape[1]):
        assert error[c] <= sizes[: c + 1, c].sum() + 1e-8 * sizes[:, c].sum()


@few
@given(populations(), st.sampled_from([1e-9, 1e9]))
def test_scales_do_not_matter(population, scale):
    uniforms, probs, balancing = population
    scales = scale ** np.arange(balancing.shape[1])
    powers = 2.0 ** np.round(np.log2(scales))  # exact, so that not even the last digit changes
    assert sample(uniforms, probs, balancing)[0].tolist() == sample(uniforms, probs, balancing * powers)[0].tolist()


@few
@given(populations())
def test_zero_and_repeated_columns_are_no_conditions(population):
    uniforms, probs, balancing = population
    first, zero = balancing[:, :1], np.zeros((probs.size, 1))
    once, _ = sample(uniforms, probs, np.hstack([first, zero, zero]))
    again, _ = sample(uniforms, probs, np.hstack([first, 4 * first, -first]))
    assert once.tolist() == again.tolist()


@pytest.mark.parametrize("n", [5, 40, 400])
@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("whole", [True, False])
def test_size_is_fixed(n, k, whole):
    random = np.random.default_rng(n + k)
    probs = random.uniform(0.02, 0.6, n)
    probs *= (np.round(probs.sum()) if whole else np.floor(probs.sum()) + 0.4) / probs.sum()
    balancing = np.column_stack([probs, random.lognormal(0, 1, (n, k - 1)) * 1e6])
    allowed = {round(probs.sum())} if whole else {int(probs.sum()), int(probs.sum()) + 1}
    for _ in range(max(4, 400 // n)):
        assert sample(random.random(n), probs, balancing)[0].sum() in allowed


# Edges


def test_one_unit_is_a_bernoulli_draw():
    assert sample([0.29999], [0.3], [5.0]) == (True, 1)
    assert sample([0.3], [0.3], [5.0]) == (False, 1)


@pytest.mark.parametrize("probs", [[1, 1, 1], [0, 0, 0], [1, 0, 1], [1 - 1e-13, 1e-13, 1.0]])
@pytest.mark.parametrize("k", [0, 1, 3])
def test_certain_units_take_no_uniform(probs, k):
    chosen, n_used = sample([], probs, np.ones((len(probs), k)))
    assert n_used == 0
    assert chosen.tolist() == [p > 0.5 for p in probs]


def test_nobody_to_sample_is_an_empty_sample():
    assert cube(np.empty(0), np.empty(0), np.empty((0, 2)), np.empty(0, np.bool_)) == 0


def test_without_conditions_it_is_poisson_sampling():
    probs, uniforms = cycle(50, 0.1), cycle(50, 0.7)[::-1]
    assert sample(uniforms, probs, np.empty((50, 0)))[0].tolist() == (uniforms < probs).tolist()


def test_the_uniforms_determine_the_sample_with_the_jit_on_and_off():
    probs = 0.05 + 0.4 * cycle(40)
    balancing = np.column_stack([probs, cycle(40, 0.2), cycle(40, 0.9) ** 2 * 1e5])
    chosen, n_used = sample(cycle(40, 0.3), probs, balancing)
    assert np.flatnonzero(chosen).tolist() == [0, 4, 12, 16, 20, 25, 26, 33, 38, 39]
    assert n_used == 40
    assert sample(cycle(40, 0.3), probs, balancing)[0].tolist() == chosen.tolist()


# Monte Carlo


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["three", "collinear", "heavy"])
def test_inclusion_probabilities(kind):
    # 14 units × 3 cases at 4 standard errors: false alarm 42 · 6.3e-5 = 0.3 % over seeds. With the lengths
    # the wrong way round, u (α + β) < α, the largest of a case was 43, 106 and 93 standard errors.
    random = np.random.default_rng(2004)
    n, n_samples = 14, 6000
    probs = random.uniform(0.05, 0.95, n)
    x = random.lognormal(0, 4 if kind == "heavy" else 0.5, n)
    balancing = np.column_stack([probs, x, 2 * x - probs if kind == "collinear" else random.normal(0, 1, n)])
    frequency = np.mean([sample(random.random(n), probs, balancing)[0] for _ in range(n_samples)], axis=0)
    deviation = (frequency - probs) / np.sqrt(probs * (1 - probs) / n_samples)
    assert np.abs(deviation).max() < 4


@pytest.mark.statistical
def test_balanced_totals_have_far_less_spread_than_those_of_poisson_sampling():
    # The root mean square of 40 errors is 0.06 to 0.09 Poisson standard deviations over seeds, with a relative
    # standard error of a seventh: at 0.15 false alarms are below 1e-4. Without balance it is about 1.
    random = np.random.default_rng(2006)
    n = 600
    x = random.uniform(1, 2, (n, 2))
    probs = 0.1 + 0.3 * random.random(n)
    balancing = np.column_stack([probs, x])
    poisson = np.sqrt(((1 - probs) / probs) @ x**2)
    errors = np.array([imbalance(sample(random.random(n), probs, balancing)[0], probs, x) for _ in range(40)])
    assert (np.sqrt((errors**2).mean(axis=0)) < 0.15 * poisson).all()
