import math

import numpy as np
import pytest
from scipy.stats import logistic, norm

from activeeval.topk import TopKLabelling
from activeeval.topk.assessors import SECONDS_A_COMPARISON, SECONDS_A_GRADE, TIME_SPREAD, Assessors


@pytest.mark.statistical
@pytest.mark.parametrize(("noise", "law"), [("thurstone", norm), ("bradley-terry", logistic)])
def test_comparisons_follow_their_law(noise, law):
    """False alarms: 1e-4 each (for another seed): 3.9 standard errors of shares of 4000."""
    n, gap, scale, margin = 4000, 0.7, 0.8, 0.3
    ann = Assessors(noise=noise, comparison_scale=scale, tie_margin=margin).person(1)
    said = [ann.compare([gap, 0.0], 0, 1).preferred for _ in range(n)]
    shares = {0: law.sf((margin - gap) / scale), 1: law.cdf((-margin - gap) / scale)}
    shares[None] = 1 - sum(shares.values())
    for answer, share in shares.items():
        assert abs(said.count(answer) / n - share) < 3.9 * math.sqrt(share * (1 - share) / n)


@pytest.mark.statistical
def test_grades_and_times_follow_their_law():
    """False alarms: 1e-4 each (for another seed)."""
    n, thresholds, scale = 4000, [-0.5, 0.2, 1.0], 0.6
    ann = Assessors(thresholds=thresholds, grade_scale=scale).person(2)
    grades, seconds = ann.grade(np.zeros(n))
    expected = np.diff([0, *norm.cdf(np.array(thresholds) / scale), 1])
    found = np.bincount(grades, minlength=4) / n
    assert np.all(np.abs(found - expected) < 3.9 * np.sqrt(expected * (1 - expected) / n))
    spread = math.sqrt(math.expm1(TIME_SPREAD**2) / n)
    assert abs(seconds.mean() / SECONDS_A_GRADE - 1) < 3.9 * spread
    compared = [ann.compare([0, 1], 0, 1).seconds for _ in range(n)]
    assert abs(np.mean(compared) / SECONDS_A_COMPARISON - 1) < 3.9 * spread


def test_a_seed_is_one_person():
    kind = Assessors(comparison_scale=1, thresholds=[0, 1], grade_scale=0.5)
    x = np.linspace(-1, 2, 30)
    first, again, other = (kind.person(seed).grade(x)[0].tolist() for seed in (1, 1, 2))
    assert first == again != other
    one, two = (kind.person(3).label(x, TopKLabelling(30, 5, rng=4)) for _ in range(2))
    assert one.labelling.answers == two.labelling.answers
    assert one.seconds == two.seconds


def test_without_noise_people_are_right():
    x = np.random.default_rng(0).permutation(20) / 10
    done = Assessors().person(0).label(x, TopKLabelling(20, 6, rng=1))
    assert done.labelling.top() == np.argsort(-x)[:6].tolist()
    assert done.seconds > 0
    tied = Assessors(tie_margin=100).person(0).label(x, TopKLabelling(20, 6, order="given"))
    assert tied.labelling.top() == list(range(6))
