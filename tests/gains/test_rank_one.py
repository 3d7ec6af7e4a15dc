"""The test of gains times discounts against gains by rank: its likelihood, how often it is wrong, what it sees."""

import math

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import binom

from activeeval.core.errors import InputError
from activeeval.gains import GainDiscountLearner, PreferenceData, rank_one_test
from activeeval.gains.likelihood import Likelihood
from activeeval.gains.rank_one import _free_loss

pytestmark = pytest.mark.filterwarnings("ignore::activeeval.gains.UndeterminedWarning")
ONE = np.outer([1, 0.63, 0.5, 0.43], [0, 1, 3])
BY_RANK = np.array([[0, 3, 4], [0, 0.2, 4], [0, 0, 2], [0, 0, 2]])
"""Below the first rank a middling grade is worth next to nothing."""


def preferences(seed, weights, n, turned=0.1):
    random = np.random.default_rng(seed)
    depth, n_grades = weights.shape
    lists = random.integers(0, n_grades, size=(2, 3 * n, depth))
    first, second = (weights[np.arange(depth), side].sum(axis=1) for side in lists)
    kept = np.flatnonzero(np.abs(first - second) > 1e-9)[:n]
    better = ((first > second)[kept] ^ (random.random(n) < turned))[:, None]
    held = lists[:, kept]
    return PreferenceData(np.where(better, *held), np.where(better, *held[::-1]))


@pytest.mark.parametrize("falls", [True, False])
def test_the_free_likelihood_is_that_of_plain_loops_and_its_slopes_are_differences(falls):
    data = preferences(0, BY_RANK, 30)
    likelihood = Likelihood.of(data, falls)
    increments = np.random.default_rng(1).uniform(0.1, 1, size=(4, 2))
    z = np.concatenate((increments.ravel(), [math.log(3.0), 0.07]))
    weights = np.hstack((np.zeros((4, 1)), np.cumsum(likelihood.sums @ increments, axis=1)))
    leads = [
        sum(weights[k, a] - weights[k, b] for k, (a, b) in enumerate(zip(first, second, strict=True)))
        for first, second in zip(data.preferred.tolist(), data.other.tolist(), strict=True)
    ]
    size = math.sqrt(sum(lead * lead for lead in leads) / len(leads))
    expected = -sum(math.log(0.07 + 0.86 / (1 + math.exp(-3 * lead / size))) for lead in leads)
    value, slopes = _free_loss(z, likelihood)
    assert value == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(slopes, approx_fprime(z, lambda at: _free_loss(at, likelihood)[0], 1e-7), atol=1e-3)
    assert np.all(np.diff(weights, axis=0) <= 1e-12) or not falls


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["decreasing", "monotone"])
def test_false_alarms_are_at_most_five_in_a_hundred(shape):
    """100 sets of preferences by gains times discounts: above 12 alarms of 5 % would come in 1 of 1,000 runs."""
    p_values = [rank_one_test(preferences(s, ONE, 150), shape=shape, n_bootstrap=39, rng=s).p_value for s in range(100)]
    alarms = sum(p <= 0.05 for p in p_values)
    assert binom.sf(12, 100, 0.05) < 0.002
    assert alarms <= 12


def test_gains_by_rank_are_seen():
    """800 preferences, nine of ten as the weights say: nothing of 39 samples of rank one comes near."""
    found = rank_one_test(preferences(3, BY_RANK, 800), shape="monotone", n_bootstrap=39)
    assert found.p_value == 1 / 40
    assert found.statistic > 30
    assert (found.n_preferences, found.n_bootstrap, found.shape) == (800, 39, "monotone")


def test_a_seed_is_an_answer_and_ties_have_no_say():
    data = preferences(4, ONE, 60)
    ties = PreferenceData(
        np.vstack((data.preferred, data.other[:5])),
        np.vstack((data.other, data.preferred[:5])),
        ties=np.append(np.zeros(60, bool), np.ones(5, bool)),
    )
    first, again, tied = (rank_one_test(one, n_bootstrap=9, rng=2) for one in (data, data, ties))
    assert first == again == tied


def test_weights_that_were_learned_are_a_measure():
    learner = GainDiscountLearner(C=100.0, shape="monotone", conflicts="keep").fit(preferences(3, BY_RANK, 800, 0.0))
    measure = learner.rank_gains(best_gain=4.0)
    assert np.shape(measure.gains) == (4, 3)
    assert measure.gains[0][-1] == 4.0
    assert np.abs(np.array(measure.gains) - BY_RANK).max() < 1.0
    with pytest.raises(InputError, match="best_gain must be positive"):
        learner.rank_gains(best_gain=0.0)


def test_nothing_to_test_is_said():
    lists = np.array([[1, 0]])
    with pytest.raises(InputError, match="no preference is between lists of different grades"):
        rank_one_test(PreferenceData(lists, lists, max_grade=2))
