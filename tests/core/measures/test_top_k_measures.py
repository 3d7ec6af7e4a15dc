"""κ-NDCG and κ-ERR: on truths against plain loops, their moments against enumeration of grades and ties."""

from fractions import Fraction
from functools import partial
from itertools import permutations, product
from math import comb

import naive
import numpy as np
import pytest
from each_once import each_once
from hypothesis import given, strategies as st

from activeeval import METHODS, QueryPool, Rankings, Target, default_method, kERR, kNDCG, parse_measure, top_k_grades
from activeeval.core.errors import InputError

pytestmark = pytest.mark.kernel


def plain_grades(keys, k):
    """κ-grades by sorting; ties by index descending, as the ids of `naive.pool_of` sort."""
    order = sorted((z for z in range(len(keys)) if not np.isnan(keys[z])), key=lambda z: (-keys[z], -z))
    grades = [0] * len(keys)
    for rank, z in enumerate(order[:k]):
        grades[z] = k - rank
    return grades


@given(st.lists(st.one_of(st.integers(0, 4).map(float), st.just(np.nan)), min_size=1, max_size=9), st.integers(1, 6))
def test_a_truth_holds_the_k_best_in_order(keys, k):
    pool = QueryPool(["q"], [0, len(keys)], [f"d{z}" for z in range(len(keys))])
    assert top_k_grades(pool, keys, k).tolist() == plain_grades(keys, k)


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=7), min_size=1, max_size=3), st.integers(1, 6))
def test_equal_keys_share_a_grade_where_that_is_asked_for(lists, k):
    pool, keys = naive.pool_of([len(keys) for keys in lists]), [key for keys in lists for key in keys]
    expected = [y for keys in lists for y in shared_grades(keys, k)]
    assert top_k_grades(pool, keys, k, share_ties=True).tolist() == expected


def test_a_truth_does_not_depend_on_the_order_of_the_rows():
    rng = np.random.default_rng(0)
    keys, ids, order = rng.integers(0, 3, 12).astype(float), [f"d{z}" for z in range(12)], rng.permutation(12)
    one = top_k_grades(QueryPool(["q"], [0, 12], ids), keys, 4)
    other = top_k_grades(QueryPool(["q"], [0, 12], [ids[z] for z in order]), keys[order], 4)
    assert one[order].tolist() == other.tolist()


def shared_grades(values, k):
    """κ-grades of values in which equal ones are alike: all have the first rank of theirs; below 0 not judged."""
    ranks = [1 + sum(other > value for other in values) for value in values]
    return [-1 if value < 0 else max(k + 1 - rank, 0) for rank, value in zip(ranks, values, strict=True)]


def orders_of_ties(grades):
    """Every truth without ties that a truth with ties stands for; below the top the order says nothing."""
    ties = {y: [z for z, own in enumerate(grades) if own == y] for y in set(grades) if y > 0}
    for chosen in product(*(permutations(items) for items in ties.values())):
        own = list(grades)
        for y, items in zip(ties, chosen, strict=True):
            for place, z in enumerate(items):
                own[z] = max(y - place, 0)
        yield own


@given(
    st.lists(st.integers(-1, 2), min_size=1, max_size=7),
    st.integers(1, 7),
    st.none() | st.integers(1, 4),
    st.randoms(use_true_random=False),
)
def test_ties_count_the_mean_over_all_their_orders(values, k, cutoff, random):
    """A tie that goes on beyond rank k with it: some orders leave one out, some another."""
    n = len(values)
    pool, grades = naive.pool_of([2, n, 1]), shared_grades(values, k)
    lists = [[1, 0], random.sample(range(n), random.randint(0, n)), [0]]
    others = [[0], random.sample(range(n), random.randint(0, n)), []]
    ranking, versus = (naive.rankings_of(pool, own) for own in (lists, others))
    whole = [k, k, *grades, -1]
    orders = list(orders_of_ties(grades))
    for measure, plain in ((kNDCG(k, cutoff), naive.ndcg), (kERR(k, cutoff), partial(naive.err, max_grade=k))):
        means = [np.mean([plain(own, one[1], cutoff=cutoff) for own in orders]) for one in (lists, others)]
        assert measure.score(pool, whole, ranking)[1] == pytest.approx(means[0], abs=1e-12)
        assert measure.score(pool, whole, ranking, versus)[1] == pytest.approx(means[0] - means[1], abs=1e-12)


@pytest.mark.parametrize("k", [1, 7, 30, 100])
def test_many_tied_items_against_fractions(k):
    """Forty items of one tie, far more orders than can be listed: E[Π (1 − ℓ)] of j of them as exact fractions."""
    n, pool = 40, naive.pool_of([40])
    passes = [1 - Fraction(2 ** max(k - t, 0) - 1, 2**k) for t in range(n)]
    sums = [Fraction(1)] + [Fraction(0)] * n
    for w in passes:
        for j in range(n, 0, -1):
            sums[j] += w * sums[j - 1]
    reached = [total / comb(n, j) for j, total in enumerate(sums)]
    err = sum((reached[i] - reached[i + 1]) / (i + 1) for i in range(n))
    ranking = Rankings.from_scores(pool, np.arange(40.0))
    assert kERR(k).score(pool, [k] * n, ranking)[0] == pytest.approx(float(err), rel=1e-12)
    gains = [2.0**y - 1 for y in range(k, 0, -1)][:n]
    discounts = [1 / np.log2(rank + 1) for rank in range(1, n + 1)]
    best = sum(gain * c for gain, c in zip(gains, discounts, strict=False))
    assert kNDCG(k).score(pool, [k] * n, ranking)[0] == pytest.approx(sum(gains) / n * sum(discounts) / best, rel=1e-12)


def enumerated(measure, probs, pool, ranking, versus):
    """Mean and variance over all grades, and over all orders of equal ones, each as likely as the next."""
    n, total, squares, k = len(probs), 0.0, 0.0, measure.k
    orders = list(permutations(range(n)))
    for grades in product(range(probs.shape[1]), repeat=n):
        chance = np.prod([probs[z, y] for z, y in enumerate(grades)]) / len(orders)
        for order in orders:
            keys = np.array(grades) + np.array(order) / (n + 1)
            value = measure.score(pool, top_k_grades(pool, keys, k), ranking, versus)[0]
            total, squares = total + chance * value, squares + chance * value**2
    return total, squares - total**2


@each_once(("measure", [kNDCG(2, 3), kNDCG(3), kERR(2), kERR(3, 2)]), ("paired", [False, True]))
def test_moments_are_those_of_truths_that_the_model_draws(measure, paired):
    """Means of 200 draws within 4 standard errors, the variance within a third: draws are fixed, nothing is chance."""
    rng = np.random.default_rng(3)
    pool, probs = naive.pool_of([4]), rng.dirichlet(np.ones(3), 4)
    ranking, other = (Rankings.from_scores(pool, rng.random(4)) for _ in range(2))
    versus = other if paired else None
    mean, variance = enumerated(measure, probs, pool, ranking, versus)
    found = measure.moments(pool, probs, ranking, versus)
    assert found.mean[0] == pytest.approx(mean, abs=4 * np.sqrt(variance / 200))
    assert found.variance[0] == pytest.approx(variance, rel=1 / 3)
    padded = measure.moments(pool, np.pad(probs, ((0, 0), (0, 4))), ranking, versus)
    assert padded.mean.tolist() == found.mean.tolist()


def test_a_part_of_a_query_has_no_top_k():
    pool = naive.pool_of([3, 4])
    ranking = Rankings.from_scores(pool, np.arange(7.0))
    assert default_method(kNDCG(2)).name == "whole"
    for method in METHODS.values():
        assert method.fits(kERR(2)) == (method.stage.name == "whole")
    target = Target(kNDCG(2), ranking)
    assert (np.diff(target.judging_lists()[0]) == [3, 4]).all()
    with pytest.raises(InputError, match="needs every item of a query judged"):
        target.terms(3)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("κ-NDCG@5", "kNDCG(k=10)@5"),
        ("kNDCG(k=5)", "kNDCG(k=5)"),
        ("κ-ERR", "kERR(k=10)"),
        ("knDCG(k=3)@2", "kNDCG(k=3)@2"),
        ("κERR(k=2)@1", "kERR(k=2)@1"),
    ],
)
def test_measure_strings(text, canonical):
    assert str(parse_measure(text)) == canonical
    assert parse_measure(canonical) == parse_measure(text)
