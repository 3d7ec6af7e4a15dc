"""Readings after a top-up share what may miss: the level of each against simulation, p values against intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from activeeval.core.estimation import confidence_after, p_value_after
from activeeval.core.estimation.further_looks import LATER


def test_the_first_reading_keeps_its_plain_interval():
    assert confidence_after([0.3], 0.9) == 0.9
    assert p_value_after([0.3], 0.04) == 0.04
    assert confidence_after([math.inf, 0.3], 0.9) == 0.9  # an earlier reading that told nothing was no look


@pytest.mark.parametrize("earlier", [0.0401, 0.04, 0.0399, 0.02])
def test_an_earlier_reading_of_a_variance_that_seems_smaller_was_a_look(earlier):
    """What it spent stays spent: the level does not fall to the plain one where two variances change places."""
    level = confidence_after([earlier, 0.04], 0.95)
    assert level == pytest.approx(confidence_after([0.0401, 0.04], 0.95))
    assert level > 0.955
    assert p_value_after([earlier, 0.04], 0.04) > 0.04


@pytest.mark.parametrize("variances", [(1.0, 0.5), (1.0, 0.8, 0.3), (1.0, 0.6, 0.4, 0.2)])
def test_all_readings_together_miss_as_often_as_is_spent(variances):
    """Normal estimates with independent increments of information; false alarm of this test: 1 in 1,000 each."""
    repetitions, alpha = 200_000, 0.05
    rng = np.random.default_rng(7)
    information = 1 / np.array(variances)
    steps = np.sqrt(np.diff(information, prepend=0.0))
    brownian = np.cumsum(rng.standard_normal((repetitions, len(variances))) * steps, axis=1)
    z = np.abs(brownian / np.sqrt(information))
    bounds = [norm.isf((1 - confidence_after(variances[: k + 1], 1 - alpha)) / 2) for k in range(len(variances))]
    missed = float((z > bounds).any(axis=1).mean())
    spent = alpha * (1 + LATER * (1 - 0.5 ** (len(variances) - 1)))
    # information is rounded to two digits, which moves what is spent by less than a twentieth of it
    assert missed == pytest.approx(spent, abs=3.3 * math.sqrt(spent / repetitions) + spent / 20)


@pytest.mark.parametrize("p_value", [1e-6, 0.001, 0.02, 0.3])
@pytest.mark.parametrize("variances", [(1.0, 0.5), (1.0, 0.8, 0.3)])
def test_a_p_value_is_the_level_whose_interval_just_leaves_0_out(variances, p_value):
    adjusted = p_value_after(variances, p_value)
    assert adjusted >= p_value
    if adjusted < 1:
        assert 1 - confidence_after(variances, 1 - adjusted * 1.001) >= p_value * (1 - 1e-6)
        assert 1 - confidence_after(variances, 1 - adjusted * 0.999) <= p_value * (1 + 1e-6)
