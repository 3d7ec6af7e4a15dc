"""Intervals of gains and discounts: held against grids, linear programs, laws, and a true measure."""

import itertools
import math

import numpy as np
import pytest
from naive_learning import log_discounts, preferences_of, random_pairs
from scipy.optimize import approx_fprime, linprog
from scipy.stats import chi2
from sklearn.exceptions import NotFittedError

from activeeval.core.errors import InputError
from activeeval.gains import GainDiscountLearner, PreferenceData, bootstrap_gains, gain_intervals
from activeeval.gains.likelihood import Likelihood
from activeeval.gains.profile_intervals import _drop, farthest_agreeing, one_agreeing
from activeeval.report.message_lookup import text_of

pytestmark = pytest.mark.filterwarnings("ignore::activeeval.gains.UndeterminedWarning")


def fitted_on(data, **parameters):
    return GainDiscountLearner(**{"C": 100.0, "conflicts": "keep"} | parameters).fit(data)


def found_for(data, level=0.95, **parameters):
    return gain_intervals(fitted_on(data, **parameters), data, level)


def answers(seed, n_pairs, depth, n_levels, turned=0.0):
    """Preferences between random lists by gains y and discounts 1 / ln(k + 1), a share of them turned round."""
    random = np.random.default_rng(seed)
    weights = np.outer(log_discounts(depth) / log_discounts(depth)[0], np.arange(n_levels) / (n_levels - 1))
    lists, others = random.integers(0, n_levels, size=(2, 4 * n_pairs, depth))
    gaps = weights[np.arange(depth), lists].sum(axis=1) - weights[np.arange(depth), others].sum(axis=1)
    kept = np.flatnonzero(np.abs(gaps) > 1e-9)[:n_pairs]
    noise = np.where(random.random(n_pairs) < turned, -2 * gaps[kept], 0.0)
    return preferences_of(weights, lists[kept], others[kept], noise)


def naive_loss(data, discounts, gains, steepness, turned):
    leads = [
        sum(c * (gains[a] - gains[b]) for c, a, b in zip(discounts, first, second, strict=True))
        for first, second in zip(data.preferred.tolist(), data.other.tolist(), strict=True)
    ]
    size = math.sqrt(sum(lead * lead for lead in leads) / len(leads))
    chances = [turned + (1 - 2 * turned) / (1 + math.exp(-steepness * lead / size)) for lead in leads]
    return -sum(map(math.log, chances))


def variables(discounts, gains, steepness, turned, falls=True):
    shares = -np.diff([*discounts, 0.0]) if falls else np.array(discounts)
    return np.array([*shares, *np.diff(gains), math.log(steepness), turned])


@pytest.mark.parametrize("falls", [True, False])
def test_the_loss_is_that_of_plain_loops_and_its_slopes_are_differences(falls):
    data = answers(3, 30, 3, 3, 0.2)
    likelihood = Likelihood.of(data, falls)
    for discounts, gains, steepness, turned in (
        ([1, 0.7, 0.2], [0, 0.3, 1], 2.0, 0.1),
        ([1, 0.9, 0.9], [0, 0.8, 1], 9.0, 1e-6),
    ):
        z = variables(discounts, gains, steepness, turned, falls)
        assert likelihood.loss(z)[0] == pytest.approx(naive_loss(data, discounts, gains, steepness, turned), rel=1e-9)
        np.testing.assert_allclose(likelihood.readings @ z, [*discounts, *gains[1:]])
        at = np.maximum(z, 1e-3) + 0.01 * np.arange(z.size)
        expected = approx_fprime(at, lambda z: likelihood.loss(z)[0], 1e-7)
        np.testing.assert_allclose(likelihood.loss(at)[1], expected, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(-likelihood.slopes(at).sum(axis=0), likelihood.loss(at)[1], atol=1e-9)


def test_the_ends_are_those_of_a_grid_of_measures():
    """Two ranks, three grades: every measure on a grid of c_2 and g(1), at the best s and ε of further grids."""
    data = answers(1, 40, 2, 3, 0.2)
    likelihood, room = Likelihood.of(data, falls=True), 2.5
    best = likelihood.best()
    least = likelihood.loss(best)[0]
    steps = np.linspace(0, 1, 16)
    within = []
    for c, g in itertools.product(steps, steps):
        losses = (
            likelihood.loss(variables([1, c], [0, g, 1], s, e))[0]
            for s, e in itertools.product(np.geomspace(0.5, 10, 12), (1e-6, 0.05, 0.1, 0.2, 0.3))
        )
        loss = min(losses)
        assert loss > least - 1e-3
        if loss <= least + room:
            within.append((c, g))
    grid = np.array(within)
    for place, column in ((1, 0), (2, 1)):
        row = likelihood.readings[place]
        low, high = (row @ likelihood.farthest(sign * row, best, room) for sign in (1, -1))
        assert low == pytest.approx(grid[:, column].min(), abs=0.08)
        assert high == pytest.approx(grid[:, column].max(), abs=0.08)
        assert low <= grid[:, column].min() + 0.01
        assert high >= grid[:, column].max() - 0.01


def test_of_two_grades_what_agrees_is_a_linear_program():
    """With one gain t is linear in the discounts: the least and the largest of each by linprog, on 400 pairs."""
    data = answers(0, 400, 5, 2)
    likelihood = Likelihood.of(data, falls=True)
    best = one_agreeing(likelihood, likelihood.best())
    rows = data.preferred - data.other
    falling = np.diff(np.eye(5), axis=0)
    limits = np.vstack((-rows, falling)), np.zeros(len(rows) + 4)
    for rank, sign in itertools.product(range(1, 5), (1, -1)):
        row = np.eye(5)[rank] * sign
        expected = linprog(row, *limits, np.eye(5)[:1], [1.0], (0, 1)).fun
        direction = likelihood.readings[rank] * sign
        assert direction @ farthest_agreeing(likelihood, direction, best) == pytest.approx(expected, abs=1e-6)


def test_where_preferences_contradict_none_agrees():
    data = PreferenceData([[1, 0], [0, 1]], [[0, 1], [1, 0]])
    likelihood = Likelihood.of(data, falls=True)
    assert one_agreeing(likelihood, likelihood.best()) is None


def test_of_three_grades_what_agrees_is_what_a_grid_finds():
    """Every measure of two ranks on a grid of 1/100, counted in whole numbers."""
    data = answers(2, 12, 2, 3)
    likelihood = Likelihood.of(data, falls=True)
    best = one_agreeing(likelihood, likelihood.best())
    steps = np.arange(101)
    held = []
    for c, g in itertools.product(steps, steps):
        gains = np.array([0, g, 100])
        leads = 100 * (gains[data.preferred[:, 0]] - gains[data.other[:, 0]]) + c * (
            gains[data.preferred[:, 1]] - gains[data.other[:, 1]]
        )
        if leads.min() >= 0:
            held.append((c / 100, g / 100))
    for place, column in ((1, 0), (2, 1)):
        row = likelihood.readings[place]
        ends = [row @ farthest_agreeing(likelihood, sign * row, best) for sign in (1, -1)]
        np.testing.assert_allclose(ends, [np.min(held, axis=0)[column], np.max(held, axis=0)[column]], atol=0.011)


def test_noise_free_pairs_of_few_kinds_hold_the_truth_where_resamples_do_not():
    """Lists of five of two grades, 400 pairs, two seeds: no chance is left in what they decide of the discounts."""
    truth = log_discounts(5) / log_discounts(5)[0]
    missed = 0
    for seed in range(2):
        data = answers(seed, 400, 5, 2)
        learner = fitted_on(data)
        low, high = gain_intervals(learner, data).discounts
        assert np.all((low <= truth) & (truth <= high))
        low, high = bootstrap_gains(learner, data, 20, rng=0).interval("discounts")
        missed += not np.all((low <= truth + 1e-9) & (truth - 1e-9 <= high))
    assert missed >= 1


def test_a_constant_that_no_pair_can_tell_is_left_open():
    """Both lists of every pair hold the same grades: c and (c + a) / (1 + a) order all of them alike."""
    grades = np.array([2, 2, 1, 0])
    random = np.random.default_rng(0)
    lists, others = (np.array([random.permutation(grades) for _ in range(300)]) for _ in range(2))
    truth = np.array([1, 0.6, 0.5, 0.4])
    data = preferences_of(np.outer(truth, [0, 1, 3.0]), lists, others)
    data = data.subset((data.preferred != data.other).any(axis=1))
    likelihood = Likelihood.of(data, falls=True)
    losses = [likelihood.loss(variables((truth + a) / (1 + a), [0, 0.3, 1], 4.0, 0.1))[0] for a in (-0.4, 0, 1, 5)]
    np.testing.assert_allclose(losses, losses[0], rtol=1e-9)
    found = found_for(data)
    assert found.discounts[0, 3] == pytest.approx(0, abs=1e-6)
    assert found.discounts[1, 3] > 0.9
    assert any("too few preferences for rank 2, rank 3, rank 4" in text_of(caution) for caution in found.cautions)


@pytest.mark.parametrize("shape", ["decreasing", "monotone"])
def test_intervals_hold_what_was_learned_wherever_the_penalty_pulls(shape):
    data = answers(5, 300, 4, 3)
    widths = []
    for C in (1e-3, 100.0):
        learner = fitted_on(data, C=C, shape=shape)
        found, learned = gain_intervals(learner, data), learner.read_out()
        for ends, values in ((found.discounts, learned.discounts), (found.gains, learned.gains)):
            assert np.all((ends[0] <= values + 1e-12) & (values <= ends[1] + 1e-12))
        widths.append(np.diff(found.discounts, axis=0).sum())
        assert any("the penalty moves" in text_of(caution) for caution in found.cautions) == (C == 1e-3)
    assert widths[0] > widths[1]
    np.testing.assert_array_equal(found.discounts[:, 0], 1)
    np.testing.assert_array_equal(found.gains[:, [0, -1]], [[0, 1]] * 2)


def test_neither_the_order_of_pairs_nor_ties_nor_chance_change_them():
    data = answers(7, 150, 4, 3, 0.1)
    learner = fitted_on(data)
    first = gain_intervals(learner, data)
    np.testing.assert_array_equal(gain_intervals(learner, data).discounts, first.discounts)
    tied = PreferenceData([[2, 1, 0, 0]], [[0, 1, 1, 0]], ties=[True], max_grade=2)
    for other in (data.subset(np.random.default_rng(0).permutation(150)), data.joined(tied)):
        again = gain_intervals(learner, other)
        np.testing.assert_allclose(again.discounts, first.discounts, atol=2e-3)
        np.testing.assert_allclose(again.gains, first.gains, atol=2e-3)
        assert again.n_telling == first.n_telling


def test_they_grow_with_the_level_and_shrink_with_more_pairs():
    data = answers(11, 1200, 4, 3, 0.1)
    learner = fitted_on(data)
    widths = [np.diff(gain_intervals(learner, data, level).discounts, axis=0).sum() for level in (0.5, 0.9, 0.99)]
    assert widths == sorted(widths)
    assert widths[0] < 0.7 * widths[2]
    by_size = [
        np.mean([np.diff(found_for(answers(seed, n, 4, 3, 0.1)).discounts, axis=0).sum() for seed in range(2)])
        for n in (50, 200)
    ]
    assert by_size[0] > 1.3 * by_size[1]


def test_the_room_is_that_of_a_likelihood_ratio_and_more_for_few_pairs():
    for level in (0.8, 0.95):
        assert _drop(level, 10**9, 9) == pytest.approx(1.3 * chi2.ppf(level, 1) / 2)
    assert _drop(0.95, 18, 9) == pytest.approx(2 * 1.3 * chi2.ppf(0.95, 1) / 2)
    assert _drop(0.95, 5, 9) == _drop(0.95, 18, 9)


def test_copies_within_queries_tell_no_more():
    """By query 8 copies of 40 pairs say what the 40 say; as pairs of their own they would say more."""
    originals = random_pairs(3, 40, noise=0.5)
    rows = np.repeat(np.arange(originals.n_pairs), 8)
    copies = originals.subset(rows)
    by_query = PreferenceData(copies.preferred, copies.other, queries=[f"q{row:02}" for row in rows], max_grade=2)
    as_pairs = PreferenceData(copies.preferred, copies.other, max_grade=2)
    alone = found_for(originals)
    found, wrong = (found_for(data, C=12.5) for data in (by_query, as_pairs))
    assert (found.unit, found.n_units, wrong.unit) == ("queries", alone.n_units, "pairs")
    np.testing.assert_allclose(found.discounts, alone.discounts, atol=0.05)
    assert np.diff(wrong.discounts, axis=0).sum() < 0.9 * np.diff(found.discounts, axis=0).sum()


def test_few_kinds_of_pairs_that_contradict_each_other_have_none():
    data = answers(0, 800, 5, 2, 0.25)
    with pytest.raises(InputError, match=r"there is no 95% interval: .* so few kinds of pairs \(4\.\d preferences"):
        found_for(data)
    assert found_for(answers(0, 800, 5, 5, 0.25)).n_telling > 400


def test_few_units_and_wrong_calls_are_named():
    data = answers(1, 12, 3, 3)
    assert "12 pairs make rough intervals" in map(text_of, found_for(data).cautions)
    learner = fitted_on(data)
    with pytest.raises(NotFittedError):
        gain_intervals(GainDiscountLearner(C=1.0), data)
    for level in (0, 1, np.nan, 95):
        with pytest.raises(InputError, match=f"confidence must lie strictly between 0 and 1, got {level}"):
            gain_intervals(learner, data, level)
    with pytest.raises(InputError, match="the pairs have 4 ranks of 3 grades, learned were 3 ranks of 3"):
        gain_intervals(learner, answers(1, 12, 4, 3))
    with pytest.raises(InputError, match="there are no intervals of free weights"):
        found_for(data, shape="free")
    documents = PreferenceData.from_documents([["a", "b"]], [["b", "a"]])
    with pytest.raises(InputError, match="there are no intervals of documents that nobody graded"):
        found_for(documents)


def test_preferences_that_tell_nothing_leave_everything_open():
    """Every DCG prefers these lists: all gains and discounts are possible."""
    data = PreferenceData([[2, 1, 0], [2, 2, 1], [1, 1, 0]], [[0, 1, 0], [1, 2, 0], [1, 0, 0]])
    found = found_for(data)
    assert found.n_telling == 0
    np.testing.assert_allclose(found.discounts, [[1, 0, 0], [1, 1, 1]], atol=1e-3)
    np.testing.assert_allclose(found.gains, [[0, 0, 1], [0, 1, 1]], atol=1e-3)


def test_one_rank_of_two_grades_leaves_nothing_to_learn():
    found = found_for(PreferenceData([[1]], [[0]], max_grade=1))
    assert (found.gains.tolist(), found.discounts.tolist()) == ([[0, 1], [0, 1]], [[1], [1]])


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize(("n_pairs", "turned"), [(60, 0.1), (200, 0.25), (200, 0.0)])
def test_intervals_hold_the_truth(n_pairs, turned):
    """Of 80 repetitions each discount and gain is held in 68 or more.

    At the 95 % that is promised, fewer come with a probability of 1.5e-4 for each of the four, 2e-3 for the three cases
    together.
    """
    truth = log_discounts(4)[1:] / log_discounts(4)[0]
    held = np.zeros(4)
    for seed in range(80):
        found = found_for(answers(seed, n_pairs, 4, 3, turned))
        low, high = (np.append(found.discounts[end, 1:], found.gains[end, 1]) for end in (0, 1))
        real = np.append(truth, 0.5)
        held += (low <= real + 1e-9) & (real <= high + 1e-9)
    assert held.min() >= 68
