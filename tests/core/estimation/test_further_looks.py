"""Readings after a top-up share what may miss: the level of each against simulation, p values against intervals."""

import math

import pytest

from activeeval.core.estimation import confidence_after, p_value_after


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


@pytest.mark.parametrize("p_value", [1e-6, 0.001, 0.02, 0.3])
@pytest.mark.parametrize("variances", [(1.0, 0.5), (1.0, 0.8, 0.3)])
def test_a_p_value_is_the_level_whose_interval_just_leaves_0_out(variances, p_value):
    adjusted = p_value_after(variances, p_value)
    assert adjusted >= p_value
    if adjusted < 1:
        assert 1 - confidence_after(variances, 1 - adjusted * 1.001) >= p_value * (1 - 1e-6)
        assert 1 - confidence_after(variances, 1 - adjusted * 0.999) <= p_value * (1 + 1e-6)
