"""What a watch is going to see: chances against a formula, and the sentence after the first night."""

import math

import numpy as np
import pytest
from scipy.stats import norm
from watch_cases import NAME, Watch, settings

from activeeval.core.errors import StateError
from activeeval.monitoring import alarm_chances
from activeeval.monitoring.alarm_chances import PATHS, chances, expected_alarms
from activeeval.monitoring.night_pages import odds, outlook_sentence

SPREAD = 4 * math.sqrt(0.25 / PATHS)
"""Of a share of draws: P < 1e-4."""


@pytest.mark.parametrize(("loss", "margin"), [(3.0, 1.0), (2.0, 0.0), (4.0, 3.5)])
def test_one_look_raises_the_alarm_as_often_as_the_normal_law_says(loss, margin):
    """P(d̂ ≤ −max(z σ, M)), d̂ ~ N(−loss, σ²), z of a half of 1 in 100; a second night without news adds nothing."""
    watch = settings(budget_on_suspicion=0.0, margin=margin)
    same, second = chances(np.ones(6), loss, watch, 2, math.inf)
    end = max(norm.ppf(0.995), margin)
    assert same == pytest.approx(norm.cdf(loss - end), abs=SPREAD)
    assert second == same


def test_a_second_night_that_knows_all_decides():
    """σ falls to 0: the estimate is the loss itself."""
    watch = settings(budget_on_suspicion=0.0, margin=1.0)
    _, second = chances(np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0]), 3.0, watch, 2, math.inf)
    assert second == 1.0


def test_labels_on_suspicion_decide_what_looks_bad():
    """Where they know all, an alarm comes where the first look was one, at half the rate, or was below −1.96 σ."""
    same, _ = chances(np.array([1.0, 0.0, 1.0, 0.0, 0.0, 0.0]), 3.0, settings(margin=1.0), 2, math.inf)
    assert same == pytest.approx(norm.cdf(3.0 - norm.ppf(0.975)), abs=SPREAD)


@pytest.mark.parametrize(("reference", "is_known"), [("first", True), ("previous", False)])
def test_a_watch_says_what_it_sees_once_its_first_night_is_judged(reference, is_known):
    watch = Watch(margin=0.5, reference=reference)
    watch.draw(1)
    with pytest.raises(StateError):
        expected_alarms(watch.store, NAME)
    watch.judge(1)
    (expected,) = expected_alarms(watch.store, NAME)
    assert (expected.measure, expected.loss) == ("DCG@5", 1.5)
    assert 0 < expected.same_night < 1
    assert (expected.second_night is not None) == is_known
    if expected.second_night is not None:
        assert expected.second_night > expected.same_night
    says = outlook_sentence(expected, 25.0, 50.0)
    assert says.startswith(
        "25 labels a night, 50 more on suspicion: a loss of 1.5 in DCG@5 raises the alarm the same night"
    )
    assert ("by the second night" in says) == is_known


@pytest.mark.parametrize(
    ("chance", "words"),
    [(0.0, "less than 1 time in 20"), (0.1, "1 time in 10"), (0.93, "9 times in 10"), (0.94, "19 times in 20"),
     (1.0, "99 times in 100")],
)  # fmt: skip
def test_odds_are_words(chance, words):
    assert odds(chance) == words


def test_no_loss_of_0_is_looked_for(monkeypatch):
    """Where all is exactly known, and no margin is given, it was to raise the alarm less than 1 time in 20."""
    watch = Watch.judged(margin=0.0)
    exact = lambda case, settings, targets, hand: np.zeros((6, len(targets)))  # noqa: E731
    monkeypatch.setattr(alarm_chances, "_planned_errors", exact)
    assert expected_alarms(watch.store, NAME) == []
