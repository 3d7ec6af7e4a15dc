"""Simulated users: their click models, their logs, and that preferences come back from them as they should."""

import re
from itertools import permutations

import naive_clicks as naive
import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from activeeval.adaptation import (
    CascadeModel,
    ListImpressions,
    PositionBased,
    UserPopulation,
    item_pairs,
    preferences_from_clicks,
    simulate_clicks,
)
from activeeval.core.errors import InputError
from activeeval.core.judgments.comparisons import Comparison
from activeeval.core.pool import PoolGrades, QueryPool, Rankings

MODELS = [PositionBased(eta=1.0), CascadeModel(), CascadeModel(after_click=0.4, after_skip=0.9)]
FALSE_ALARM = 1e-6
N_ALIKE = 600


def pool_of(n_queries, n_items):
    ids = [f"q{q}" for q in range(n_queries)]
    return QueryPool(ids, np.arange(n_queries + 1) * n_items, [f"d{z}" for z in range(n_items)] * n_queries)


def in_order(pool):
    """Return the ranking of every query's items as the pool has them."""
    return Rankings(pool, pool.query_offsets, np.arange(pool.n_items))


def rows_of(log):
    columns = (log.query_ids, log.doc_ids, log.positions, log.impressions, log.clicks)
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=6)


@given(probabilities, st.floats(0, 1), st.floats(0, 1))
def test_cascade_is_its_enumeration(attractions, after_click, after_skip):
    model = CascadeModel(after_click=after_click, after_skip=after_skip)
    expected = naive.cascade(attractions, after_click, after_skip)
    assert model.click_probs(attractions) == pytest.approx(expected, abs=1e-12)


@given(probabilities, st.floats(0, 3))
def test_position_based_is_a_product(attractions, eta):
    expected = [a / (k + 1) ** eta for k, a in enumerate(attractions)]
    assert PositionBased(eta=eta).click_probs(attractions) == pytest.approx(expected)


@pytest.mark.statistical
@pytest.mark.parametrize("model", MODELS)
def test_click_rates_are_the_models(model):
    """40 rates, each within 6 standard errors: a false alarm of 40 · 2e-9."""
    pool = pool_of(5, 8)
    attractions = np.random.default_rng(1).random(pool.n_items)
    log = simulate_clicks(in_order(pool), attractions, model, ListImpressions(n_visits=5e6), rng=3)
    assert log.n_rows == 40
    expected = model.click_probs(attractions.reshape(5, 8)).reshape(-1)
    errors = np.abs(log.clicks - log.impressions * expected)
    assert (errors <= 6 * np.sqrt(log.impressions * expected * (1 - expected)) + 1).all()
    # a Poisson number of visits of mean 1e6, the same for every position of a query
    assert (np.abs(log.impressions - 1e6) < 6e3).all()
    assert (np.ptp(log.impressions.reshape(5, 8), axis=1) == 0).all()


@pytest.mark.statistical
@pytest.mark.parametrize("model", MODELS)
def test_shuffled_lists_have_the_mean_rate_of_their_orders(model):
    """Each place has a third of 20 000 orders: a mean over them errs by at most 0.5 / √6 000 = 0.0065 each σ, 6σ."""
    attractions = np.array([0.9, 0.5, 0.1])
    visits = ListImpressions(n_visits=1e7, shuffled=1.0, n_orders=20_000)
    log = simulate_clicks(in_order(pool_of(1, 3)), attractions, model, visits, rng=0)
    sums = np.zeros((3, 3))
    for order in permutations(range(3)):
        sums[order, range(3)] += model.click_probs(attractions[list(order)]) / 2
    assert log.clicks / log.impressions == pytest.approx(sums.reshape(-1), abs=0.04)
    assert log.impressions / log.impressions.sum() == pytest.approx(np.full(9, 1 / 9), abs=0.01)


@pytest.mark.statistical
def test_a_share_of_visits_is_shuffled_and_lists_are_cut():
    """A Binomial share of 1e6 visits, of which half stands at its own place by chance; 6σ: a false alarm of 2e-9."""
    visits = ListImpressions(n_visits=1e6, depth=2, shuffled=0.4, n_orders=50_000)
    log = simulate_clicks(in_order(pool_of(1, 5)), np.full(5, 0.5), PositionBased(), visits, rng=0)
    assert sorted(zip(log.doc_ids.tolist(), log.positions.tolist(), strict=True)) == [
        (doc, at) for doc in ("d0", "d1") for at in (1, 2)
    ]
    n = log.impressions[0] + log.impressions[1]
    assert log.impressions[0] / n == pytest.approx(0.8, abs=6 * (0.5 / np.sqrt(n) + 0.4 * 0.5 / np.sqrt(50_000)))


def test_a_query_without_a_list_has_no_visits_and_traffic_counts():
    pool = QueryPool(["a", "b", "c"], [0, 1, 2, 3], query_probs=[0.9, 0.09, 0.01])
    ranking = Rankings(pool, [0, 1, 1, 2], [0, 2])
    log = simulate_clicks(ranking, np.full(3, 0.5), PositionBased(), ListImpressions(n_visits=1e6), rng=0)
    assert log.query_ids.tolist() == ["a", "c"]
    assert log.impressions == pytest.approx([9e5, 1e4], rel=0.1)
    nothing = simulate_clicks(ranking, np.full(3, 0.5), PositionBased(), ListImpressions(n_visits=0), rng=0)
    assert nothing.n_rows == 0


@given(st.integers(0, 2**32), st.randoms(use_true_random=False))
def test_the_order_of_queries_and_items_does_not_matter(seed, random):
    values = np.random.default_rng(seed)
    grades, features, scores = values.integers(0, 4, 12), values.normal(size=(12, 2)), values.integers(0, 3, 12)
    users = UserPopulation(shifts={1: 0.7, 0: -0.3}, noise=0.5)
    logs = []
    for shuffled in (False, True):
        queries = random.sample(range(3), 3) if shuffled else range(3)
        items = [4 * q + z for q in queries for z in (random.sample(range(4), 4) if shuffled else range(4))]
        pool = QueryPool([f"q{q}" for q in queries], [0, 4, 8, 12], [f"d{z}" for z in items])
        attractions = users.attractions(PoolGrades(pool, grades[items], 3), features[items], rng=seed)
        ranking = Rankings.from_scores(pool, scores[items].astype(float))
        visits = ListImpressions(n_visits=3000, depth=3, shuffled=0.5, n_orders=5)
        logs.append(rows_of(simulate_clicks(ranking, attractions, CascadeModel(), visits, rng=seed)))
    assert logs[0] == logs[1]


def test_a_seed_is_a_log():
    pool = pool_of(4, 3)
    visits = ListImpressions(n_visits=900)
    made = [
        rows_of(simulate_clicks(in_order(pool), np.full(12, 0.3), PositionBased(), visits, rng=seed))
        for seed in (1, 1, 2)
    ]
    assert made[0] == made[1] != made[2]
    own = [row[3:] for row in made[0]]
    assert len(set(own)) > 4  # queries do not share their numbers


def test_tastes_by_hand():
    """x̃ of (1, 2, 3, 6) is (−2, −1, 0, 3)/√3.5; of the sum of two features both shifts count."""
    judgments = PoolGrades(pool_of(1, 4), [3, 0, 1, 2])
    features = np.array([[1, 6], [2, 3], [3, 2], [6, 1]])
    tastes = UserPopulation(shifts={0: 0.5, 1: -1.0}).tastes(judgments, features)
    first, second = np.array([-2, -1, 0, 3]) / np.sqrt(3.5), np.array([3, 0, -1, -2]) / np.sqrt(3.5)
    assert tastes == pytest.approx([3, 0, 1, 2] + 0.5 * first - second)
    attractions = UserPopulation(least=0.1, most=0.7).attractions(judgments)
    assert attractions == pytest.approx(0.1 + 0.6 / (1 + np.exp(-4 / 3 * (np.array([3, 0, 1, 2]) - 1.5))))


@pytest.mark.statistical
def test_noise_has_its_standard_deviation():
    """Of 20 000 items: 6 standard errors of a mean and of a variance, a false alarm of 4e-9."""
    judgments = PoolGrades(pool_of(200, 100), np.full(20_000, 2))
    noise = UserPopulation(noise=0.5).tastes(judgments, rng=5) - 2
    assert abs(noise.mean()) < 6 * 0.5 / np.sqrt(20_000)
    assert abs(noise.var() - 0.25) < 6 * 0.25 * np.sqrt(2 / 20_000)


def alike(model, seed, n_visits, shuffled=0.0, n_queries=N_ALIKE):
    """Return the log of queries of two documents, equally attractive: independent tests of a true null hypothesis."""
    pool = pool_of(n_queries, 2)
    visits = ListImpressions(n_visits=n_visits * n_queries, shuffled=shuffled, n_orders=7)
    return simulate_clicks(in_order(pool), np.full(2 * n_queries, 0.3), model, visits, rng=seed)


def most_wrong(n, level):
    return stats.binom.ppf(1 - FALSE_ALARM, n, level)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("n_visits", "shuffled", "model"),
    [
        *((60, 1.0, MODELS[0]), (2000, 0.0, MODELS[1])),
        *(pytest.param(2000, 0.5, model, marks=pytest.mark.slow) for model in MODELS),
        *(pytest.param(60, 0.0, model, marks=pytest.mark.slow) for model in MODELS),
    ],
)
def test_position_alone_makes_no_preferences(model, n_visits, shuffled):
    """Documents that are alike: with Skip-Above at most the level of 600 pairs are wrong, a false alarm of 1e-6."""
    log = alike(model, 11, n_visits, shuffled)
    found = preferences_from_clicks(log)
    assert found.report.n_tested == N_ALIKE
    assert found.n_pairs <= most_wrong(N_ALIKE, 0.05)
    if shuffled == 0 and n_visits == 2000:  # without the rule position bias makes a preference of nearly every pair
        assert preferences_from_clicks(log, skip_above=False).n_pairs > 0.93 * N_ALIKE


@pytest.mark.statistical
@pytest.mark.parametrize(("n_visits", "least"), [(60, 0), (600, 1)])
def test_without_position_bias_the_level_is_kept_and_used(n_visits, least):
    """With eta = 0 the null hypothesis holds both ways: the share of wrong pairs is the level; false alarms of 1e-6."""
    log = alike(PositionBased(eta=0.0), 12, n_visits)
    both, lower = (preferences_from_clicks(log, 0.1, skip_above=rule).n_pairs for rule in (False, True))
    assert least * stats.binom.ppf(FALSE_ALARM, N_ALIKE, 0.1) <= both <= most_wrong(N_ALIKE, 0.1)
    assert least * stats.binom.ppf(FALSE_ALARM, N_ALIKE, 0.05) <= lower <= most_wrong(N_ALIKE, 0.05)


N_LISTS, LENGTH = 60, 8
EXAMINED = PositionBased(eta=0.7)


def grades_and_preferences(users, shuffled, seed=2):
    """Return grades and tastes of lists whose order says nothing, and the pairs that 400 000 visits each prefer."""
    values = np.random.default_rng(seed)
    pool = pool_of(N_LISTS, LENGTH)
    judgments = PoolGrades(pool, values.integers(0, 5, pool.n_items), 4)
    features = values.normal(size=(pool.n_items, 3))
    attractions = users.attractions(judgments, features)
    visits = ListImpressions(n_visits=N_LISTS * 400_000, shuffled=shuffled)
    log = simulate_clicks(in_order(pool), attractions, EXAMINED, visits, rng=seed)
    pairs = item_pairs(pool, preferences_from_clicks(log).comparisons())
    return judgments.grades, users.tastes(judgments, features), pairs


def pairs_within_lists():
    """Return the positions on the item axis of every two items of a list, the upper first, shape (2, n)."""
    upper, lower = np.triu_indices(LENGTH, 1)
    starts = LENGTH * np.arange(N_LISTS)[:, None]
    return np.stack(((starts + upper).reshape(-1), (starts + lower).reshape(-1)))


@pytest.mark.statistical
@pytest.mark.parametrize("shuffled", [0.3, 1.0])
def test_users_who_agree_with_judges_prefer_by_grade(shuffled):
    """Every pair of different grades is found, by the better grade; of pairs of one grade at most the level is wrong.

    A grade is worth more than 20σ. Pairs of one grade share documents: of 40 seeds their wrong ones varied 1.6 times as
    much as independent ones would. At 12 of the independent σ, 9 of their own, the false alarm is below 1e-9.
    """
    grades, _, pairs = grades_and_preferences(UserPopulation(), shuffled)
    better, worse = grades[pairs].T
    assert (better >= worse).all()
    upper, lower = pairs_within_lists()
    n_equal = (grades[upper] == grades[lower]).sum()
    assert (better > worse).sum() == upper.size - n_equal
    assert (better == worse).sum() <= 0.05 * n_equal + 12 * np.sqrt(0.05 * 0.95 * n_equal)


@pytest.mark.statistical
def test_lists_that_never_change_tell_of_what_is_clicked_more_from_below():
    """Rates that differ by 0.01 are 9σ apart or more: of 1680 pairs no such one is lost or turned round, but 1e-15."""
    grades, _, pairs = grades_and_preferences(UserPopulation(), 0.0)
    attractions = UserPopulation().attractions(PoolGrades(pool_of(N_LISTS, LENGTH), grades, 4))
    rates = EXAMINED.click_probs(attractions.reshape(-1, LENGTH)).reshape(-1)
    upper, lower = pairs_within_lists()
    found, gain = {tuple(pair) for pair in pairs.tolist()}, rates[lower] - rates[upper]
    assert {(low, high) for high, low, more in zip(upper, lower, gain, strict=True) if more > 0.01} <= found
    assert all(first > second and rates[first] > rates[second] - 0.01 for first, second in found)
    assert all(grades[first] > grades[second] for first, second in found)
    assert len(found) > 200


@pytest.mark.statistical
def test_users_with_a_taste_of_their_own_prefer_by_it():
    """Of pairs whose tastes differ by 0.1 grades, 5σ here, none is turned round, though many are against the grades."""
    grades, tastes, pairs = grades_and_preferences(UserPopulation(shifts={1: 1.0}), 1.0)
    better, worse = tastes[pairs].T
    assert (better > worse - 0.1).all()
    against = (grades[pairs[:, 0]] < grades[pairs[:, 1]]).mean()
    assert 0.05 < against < 0.5


POOL = QueryPool(["q", "r"], [0, 2, 4], ["a", "b", "a", "c"])


def test_pairs_find_their_items():
    said = [("q", "b", "a"), ("r", "a", "c"), ("q", "b", "a")]
    assert item_pairs(POOL, [Comparison(*one) for one in said]).tolist() == [[1, 0], [2, 3], [1, 0]]
    assert item_pairs(POOL, []).shape == (0, 2)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ([("s", "a", "b")], "p.jsonl: pair 1 names query 's', which the pool does not hold"),
        ([("q", "a", "b"), ("q", "a", "c")], "p.jsonl: pair 2 names document 'c' of query 'q', which the pool"),
        ([("q", "c", "a")], "p.jsonl: pair 1 names document 'c' of query 'q', which the pool does not hold"),
        ([("q", "a", "b"), ("r", "c", "a"), ("q", "b", "a")], "p.jsonl: pair 3 prefers 'b' to 'a' for query 'q'"),
    ],
)
def test_pairs_that_do_not_fit_are_named(said, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        item_pairs(POOL, [Comparison(*one) for one in said], "p.jsonl")


JUDGED = PoolGrades(POOL, [0, 1, 2, 0])
FEATURES = np.array([[1.0, 5.0], [2.0, 5.0], [np.nan, 5.0], [0.0, 5.0]])


def visited(attractions):
    return simulate_clicks(in_order(POOL), attractions, PositionBased(), ListImpressions(n_visits=1))


def tastes(shifts, features=None, judged=JUDGED):
    return lambda: UserPopulation(shifts=shifts).tastes(judged, features)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: UserPopulation(shifts={0: np.inf}), "the shift of feature 0 must be a finite number, got inf"),
        (lambda: UserPopulation(shifts={-1: 1}), "a column of features must be a whole number from 0, got -1"),
        (tastes({}, judged=PoolGrades(POOL, [0, -1, 2, 0])), "item 'b' of query 'q' is not judged, expected a grade"),
        (tastes({0: 1}), "taste depends on feature 0, but there are no features"),
        (tastes({2: 1}, FEATURES), "taste depends on feature 2, but there are 2, counted from 0"),
        (tastes({0: 1}, FEATURES), "feature 0 must be finite, got nan at item 'a' of query 'r'"),
        (tastes({1: 1}, FEATURES), "taste depends on feature 1, which is 5.0 of every item"),
        (tastes({0: 1}, FEATURES[:3]), "features must have shape (4, n_features), got (3, 2)"),
        (lambda: visited([0.1, 0.2, 1.2, 0.3]), "attractions must lie in [0, 1], got 1.2 at item 'a' of query 'r'"),
    ],
)
def test_choices_are_checked(made, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        made()
