"""The bootstrap: what is drawn, and what its intervals say."""

import numpy as np
import pytest
from naive_learning import random_pairs
from sklearn.exceptions import NotFittedError

from activeeval.core.errors import InputError
from activeeval.gains import GainDiscountLearner, PreferenceData, bootstrap_gains

pytestmark = pytest.mark.filterwarnings("ignore::activeeval.gains.UndeterminedWarning")


def fitted_on(data, **parameters):
    return GainDiscountLearner(**{"C": 3.0, "conflicts": "keep"} | parameters).fit(data)


def test_shapes_scales_and_seeds():
    data = random_pairs(1, 60)
    learner = fitted_on(data)
    before = learner.weights_.copy()
    found, again, other = (bootstrap_gains(learner, data, 12, rng=seed) for seed in (0, 0, 1))
    assert found.gains.shape == (12, 3)
    assert found.discounts.shape == (12, 4)
    assert found.rank_one_shares.shape == (12,)
    assert found.n_undetermined == 0
    np.testing.assert_allclose(found.gains[:, [0, -1]], [[0, 1]] * 12, atol=1e-12)
    np.testing.assert_allclose(found.discounts[:, 0], 1)
    assert 0 < found.rank_one_shares.min() <= found.rank_one_shares.max() <= 1 + 1e-12
    np.testing.assert_array_equal(found.gains, again.gains)
    np.testing.assert_array_equal(found.discounts, again.discounts)
    assert not np.array_equal(found.gains, other.gains)
    generator = np.random.default_rng(0)
    np.testing.assert_array_equal(bootstrap_gains(learner, data, 12, rng=generator).gains, found.gains)
    np.testing.assert_array_equal(learner.weights_, before)


def test_a_resample_is_a_fit_of_the_pairs_that_were_drawn():
    data = random_pairs(1, 40, tied_below=0.3)
    learner = fitted_on(data, C="cv", grid=(0.1, 3.0), C_ties=0.2, shape="monotone", tie_margin=0.0)
    found = bootstrap_gains(learner, data, 3, rng=5)
    random = np.random.default_rng(5)
    for gains, discounts, share in zip(found.gains, found.discounts, found.rank_one_shares, strict=True):
        drawn = data.subset(random.integers(40, size=40))
        parts = fitted_on(drawn, C=learner.C_, C_ties=0.2, shape="monotone", tie_margin=0.0).read_out()
        np.testing.assert_allclose(gains, parts.gains, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(discounts, parts.discounts, rtol=1e-4, atol=1e-6)
        assert share == pytest.approx(parts.rank_one_share, rel=1e-4)


def copies(n_queries, n_copies):
    """Every query's pairs are copies of one: drawn by query, weights are those of drawn originals."""
    originals = random_pairs(3, n_queries)
    rows = np.repeat(np.arange(n_queries), n_copies)
    data, names = originals.subset(rows), [f"q{row:03d}" for row in rows]
    return originals, PreferenceData(data.preferred, data.other, queries=names, max_grade=2)


def test_queries_are_drawn_with_all_their_pairs():
    originals, data = copies(25, 8)
    found = bootstrap_gains(fitted_on(data, C=0.5), data, 10, rng=2)
    alone = bootstrap_gains(fitted_on(originals, C=4.0), originals, 10, rng=2)
    np.testing.assert_allclose(found.discounts, alone.discounts, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(found.gains, alone.gains, rtol=1e-3, atol=1e-5)


@pytest.mark.statistical
def test_copies_within_queries_tell_no_more():
    """By query the scatter is that of 25 pairs; drawn pair by pair, as where queries are not known, that of 200.

    The ratio of spreads is √8 = 2.8 by theory, and was 2.6 to 3.4 over six seeds of 100 resamples; a bug gives 1.
    """
    data = copies(25, 8)[1]
    by_query = bootstrap_gains(fitted_on(data, C=0.5), data, 40, rng=2).discounts.std(axis=0)[1:].mean()
    unknown = PreferenceData(data.preferred, data.other, max_grade=2)
    by_pair = bootstrap_gains(fitted_on(unknown, C=0.5), unknown, 40, rng=2).discounts.std(axis=0)[1:].mean()
    assert by_query > 1.6 * by_pair
    one = PreferenceData(data.preferred, data.other, queries=np.zeros(200, int), max_grade=2)
    as_pairs, as_queries = (bootstrap_gains(fitted_on(pairs, C=0.5), pairs, 5, rng=2) for pairs in (one, data))
    as_unknown = bootstrap_gains(fitted_on(unknown, C=0.5), unknown, 5, rng=2)
    np.testing.assert_array_equal(as_pairs.discounts, as_unknown.discounts)
    assert (as_pairs.unit, as_pairs.n_units) == ("pairs", 200)
    assert (as_queries.unit, as_queries.n_units) == ("queries", 25)


def test_an_interval_is_two_quantiles():
    data = random_pairs(1, 60)
    found = bootstrap_gains(fitted_on(data), data, 20, rng=0)
    for level in (0.5, 0.9):
        low, high = found.interval("discounts", level)
        np.testing.assert_array_equal(low, np.quantile(found.discounts, (1 - level) / 2, axis=0))
        np.testing.assert_array_equal(high, np.quantile(found.discounts, (1 + level) / 2, axis=0))
    low, high = found.interval("rank_one_shares")
    assert 0 < low < high <= 1 + 1e-12


def test_resamples_that_tell_nothing_are_counted():
    """One preference among four ties: with probability 0.8⁵ = 0.33 a resample has none, and all its weights are 0."""
    lists, others = [[2, 1], [2, 0], [1, 2], [0, 1], [1, 1]], [[0, 1], [0, 2], [2, 1], [1, 0], [0, 2]]
    data = PreferenceData(lists, others, ties=[False, True, True, True, True])
    random = np.random.default_rng(0)
    expected = sum(0 not in random.integers(5, size=5) for _ in range(40))
    learner = fitted_on(data, C_ties=0.0)
    found = bootstrap_gains(learner, data, 40, rng=0)
    assert found.n_undetermined == expected > 5
    assert len(found.gains) == len(found.discounts) == len(found.rank_one_shares) == 40 - expected


def test_wrong_calls_are_named():
    data = random_pairs(1, 30)
    learner = fitted_on(data)
    with pytest.raises(NotFittedError):
        bootstrap_gains(GainDiscountLearner(C=1.0), data)
    for wrong in (0, -1, 2.5):
        with pytest.raises(InputError, match=f"n_resamples must be a positive whole number, got {wrong}"):
            bootstrap_gains(learner, data, wrong)
    with pytest.raises(InputError, match="the pairs have 3 ranks of 3 grades, learned were 4 ranks of 3"):
        bootstrap_gains(learner, random_pairs(1, 30, depth=3))
    found = bootstrap_gains(learner, data, 3, rng=0)
    for level in (0, 1, np.nan, 95):
        with pytest.raises(InputError, match=f"confidence must lie strictly between 0 and 1, got {level}"):
            found.interval("gains", level)
    with pytest.raises(InputError, match="intervals of gains, discounts and rank_one_shares, not of 'weights'"):
        found.interval("weights")
    documents = PreferenceData.from_documents([["a", "b"]], [["b", "a"]])
    with pytest.raises(InputError, match="documents that nobody graded have no gains that could be stable"):
        bootstrap_gains(fitted_on(documents), documents)
    nowhere = PreferenceData([[1, 2, 0]], [[1, 0, 1]])
    with pytest.raises(InputError, match="none of 3 resamples tells gains and discounts: too few pairs, or were"):
        bootstrap_gains(fitted_on(nowhere, shape="monotone"), nowhere, 3)
