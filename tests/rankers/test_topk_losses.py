"""The losses of the top-k rankers against enumeration, their gradients against differences."""

import itertools
import math

import numpy as np
import pytest
from each_once import each_once
from hypothesis import given, settings, strategies as st

from activeeval.core.errors import InputError
from activeeval.core.kernels.learning import losses as kernels
from activeeval.rankers.judged_lists import JudgedLists
from activeeval.rankers.losses import (
    FocusedLoss,
    ListwiseAP,
    PairExponential,
    PairHinge,
    PairLogistic,
    PermutationCrossEntropy,
    TopKLikelihood,
    TopOneCrossEntropy,
)
from activeeval.rankers.pairs import WeightedPairs
from tests import naive_rankers as naive

pytestmark = pytest.mark.kernel

SMOOTH = [
    PairLogistic(),
    PairLogistic("top"),
    PairExponential(),
    TopOneCrossEntropy(),
    TopOneCrossEntropy("top"),
    PermutationCrossEntropy(),
    PermutationCrossEntropy("all"),
    TopKLikelihood(1),
    TopKLikelihood(3),
    TopKLikelihood(50),
    FocusedLoss(PermutationCrossEntropy(), PairLogistic("top"), 0.3),
]
KINKED = [PairHinge(), PairHinge("top"), ListwiseAP(), ListwiseAP("top")]
ALL = SMOOTH + KINKED

one_grade_each = st.lists(st.integers(0, 3), min_size=2, max_size=6).map(lambda grades: sorted(grades, reverse=True))
scores_of_six = st.lists(st.integers(-6, 6).map(lambda x: x / 2) | st.floats(-3, 3), min_size=6, max_size=6)


def three_lists(seed=0):
    """Queries of 5, 6 and 4 items; the top of the second is all of one grade, the third has no rest."""
    grades = np.array([3, 2, 1, 0, 0, 2, 2, 0, 0, 0, 0, 4, 3, 2, 1])
    codes = np.repeat([0, 1, 2], [5, 6, 4])
    lists = JudgedLists.of(grades, codes)
    return lists, np.random.default_rng(seed).normal(size=grades.size)


def parted(lists, scores):
    """Scores and grades of each list, by plain Python."""
    ends = lists.offsets.tolist()
    return [(scores[a:b].tolist(), lists.grades[a:b].tolist()) for a, b in itertools.pairwise(ends)]


def tops(parts):
    of_top = [(s[: sum(y > 0 for y in g)], [y for y in g if y > 0]) for s, g in parts]
    return [(s, g) for s, g in of_top if len(set(g)) > 1]


def mean(values):
    values = list(values)
    return sum(values) / len(values)


# Values


@each_once(
    ("top", [False, True]),
    (("loss", "kind"), [(PairHinge, "hinge"), (PairLogistic, "logistic"), (PairExponential, "exponential")]),
)
def test_pair_losses_are_means_over_queries_of_means_over_pairs(loss, kind, top):
    lists, scores = three_lists()
    expected = mean(naive.pair_loss(kind, s, g, top) for s, g in parted(lists, scores) if naive.pairs_of(g, top))
    value, _ = loss("top" if top else "all").on(lists)(scores)
    assert value == pytest.approx(math.log(expected) if kind == "exponential" else expected, rel=1e-12)


def test_listed_pairs_have_the_same_losses_wherever_they_come_from():
    pairs = WeightedPairs.alike(np.array([0, 2]), np.array([1, 1]))
    value, gradient = PairHinge().of_pairs(pairs)(np.array([0.5, 0.0, -1.0]))
    assert value == pytest.approx((0.5 + 2.0) / 2)
    np.testing.assert_allclose(gradient, [-0.5, 1.0, -0.5])


@given(scores_of_six, st.integers(2, 6), st.data())
@settings(max_examples=40)
def test_the_hinge_of_average_precision_is_the_largest_violation_over_all_rankings(scores, n, data):
    r = data.draw(st.integers(1, n - 1))
    lists = JudgedLists.of((np.arange(n) < r).astype(np.int64), np.zeros(n, dtype=np.int64))
    value, _ = ListwiseAP().on(lists)(np.array(scores[:n]))
    assert value == pytest.approx(naive.ap_hinge(scores[:n], r), abs=1e-12)


@pytest.mark.parametrize("r", [1, 3, 30, 49])
def test_long_lists_have_their_hinge_too(r):
    scores = np.round(np.random.default_rng(r).normal(size=50), 1)
    lists = JudgedLists.of((np.arange(50) < r).astype(np.int64), np.zeros(50, dtype=np.int64))
    assert ListwiseAP().on(lists)(scores)[0] == pytest.approx(naive.sorted_ap_hinge(scores.tolist(), r), rel=1e-12)
    few = scores[:5].tolist()
    assert naive.sorted_ap_hinge(few, 2) == pytest.approx(naive.ap_hinge(few, 2), rel=1e-12)


def test_average_precision_is_of_relevant_items_or_of_every_cut_at_the_top():
    lists, scores = three_lists()
    parts = parted(lists, scores)
    whole = mean(naive.ap_hinge(s, sum(y > 0 for y in g)) for s, g in parts if 0 in g)
    assert ListwiseAP().on(lists)(scores)[0] == pytest.approx(whole, rel=1e-12)
    top = mean(naive.mean_ap_hinge(s, g) for s, g in tops(parts))
    assert ListwiseAP("top").on(lists)(scores)[0] == pytest.approx(top, rel=1e-12)


@given(scores_of_six, one_grade_each)
@settings(max_examples=40)
def test_permutations_are_summed_exactly(scores, grades):
    if len(set(grades)) == 1:
        grades = [grades[0] + 1, *grades[1:]]
    lists = JudgedLists.of(np.array(grades), np.zeros(len(grades), dtype=np.int64))
    own = scores[: len(grades)]
    value, _ = PermutationCrossEntropy("all").on(lists)(np.array(own))
    assert value == pytest.approx(naive.permutation_cross_entropy(own, grades), rel=1e-11, abs=1e-11)


def test_cross_entropies_are_means_over_queries():
    lists, scores = three_lists()
    parts = parted(lists, scores)
    for part, own in (("all", parts), ("top", tops(parts))):
        value, _ = PermutationCrossEntropy(part).on(lists)(scores)
        assert value == pytest.approx(mean(naive.permutation_cross_entropy(s, g) for s, g in own), rel=1e-12)
        value, _ = TopOneCrossEntropy(part).on(lists)(scores)
        assert value == pytest.approx(mean(naive.top_one_cross_entropy(s, g) for s, g in own), rel=1e-12)


def test_the_sets_that_are_left_are_as_probable_as_the_permutations_that_leave_them():
    labels = np.array([1.5, 0.0, -0.5, 2.0])
    probs = np.empty(16)
    kernels.subset_probs(labels, probs)
    expected = np.zeros(16)
    for order in itertools.permutations(range(4)):
        for j in range(5):
            expected[sum(1 << i for i in order[j:])] += naive.permutation_prob(labels, order)
    np.testing.assert_allclose(probs, expected, rtol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 10])
def test_top_k_likelihood_is_the_marginal_over_all_ways_to_go_on(k):
    lists, scores = three_lists()
    parts = parted(lists, scores)
    expected = mean(naive.top_k_likelihood(s, min(k, sum(y > 0 for y in g))) for s, g in parts)
    assert TopKLikelihood(k).on(lists)(scores)[0] == pytest.approx(expected, rel=1e-12)


@given(scores_of_six, one_grade_each)
@settings(max_examples=40)
def test_ndcg_of_ties_is_the_mean_over_their_orders(scores, grades):
    grades = [grades[0] + 1, *grades[1:]]
    out = np.empty(1)
    gains = 2.0 ** np.array(grades) - 1
    own = np.round(scores[: len(grades)])
    kernels.tied_ndcgs(own, gains, np.array([0]), np.array([len(grades)]), out)
    assert out[0] == pytest.approx(naive.tied_ndcg(own, grades), rel=1e-12)


@given(scores_of_six, one_grade_each)
@settings(max_examples=40)
def test_average_precision_of_ties_is_the_mean_over_their_orders(scores, grades):
    relevant = np.minimum([grades[0] + 1, *grades[1:]], 1)
    out = np.empty(1)
    own = np.round(scores[: len(grades)])
    kernels.tied_precisions(own, relevant.astype(float), np.array([0]), np.array([len(grades)]), out)
    assert out[0] == pytest.approx(naive.tied_ap(own, relevant), rel=1e-12)


# Gradients and laws


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_gradients_are_those_of_differences(loss):
    lists, scores = three_lists(1)
    term = loss.on(lists)
    _, gradient = term(scores)
    step = 1e-6  # no kink is that close to these scores
    for i in range(scores.size):
        moved = np.zeros(scores.size)
        moved[i] = step
        assert gradient[i] == pytest.approx((term(scores + moved)[0] - term(scores - moved)[0]) / (2 * step), abs=1e-8)


@pytest.mark.parametrize("loss", KINKED, ids=repr)
def test_a_subgradient_supports_the_loss_at_kinks_too(loss):
    lists, scores = three_lists(2)
    scores = np.round(scores)
    term = loss.on(lists)
    value, gradient = term(scores)
    random = np.random.default_rng(3)
    for size in (1e-3, 0.1, 1.0, 10.0):
        for _ in range(20):
            step = size * random.normal(size=scores.size)
            assert term(scores + step)[0] >= value + gradient @ step - 1e-12


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_only_differences_within_a_query_count(loss):
    lists, scores = three_lists()
    shifted = scores + np.repeat([5.0, -3.0, 100.0], np.diff(lists.offsets))
    term = loss.on(lists)
    np.testing.assert_allclose(term(shifted)[0], term(scores)[0], rtol=1e-9)
    np.testing.assert_allclose(np.add.reduceat(term(scores)[1], lists.offsets[:-1]), 0, atol=1e-12)


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_scores_of_any_size_are_finite(loss):
    lists, scores = three_lists()
    value, gradient = loss.on(lists)(1e5 * scores)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_a_query_has_one_say_however_many_items_it_has():
    """Doubling all items of a query changes no mean over its pairs."""
    lists, scores = three_lists()
    doubled = JudgedLists.of(np.repeat(lists.grades, 2), np.repeat(np.arange(3), 2 * np.diff(lists.offsets)))
    for loss in (PairHinge(), PairLogistic("top"), PairExponential()):
        assert loss.on(doubled)(np.repeat(scores, 2))[0] == pytest.approx(loss.on(lists)(scores)[0])


# Focused


@pytest.mark.parametrize("beta", [0.0, 0.25, 1.0])
def test_focused_is_its_two_terms_each_against_knowing_nothing(beta):
    lists, scores = three_lists()
    for of_lists, of_pairs in (
        (ListwiseAP("top"), PairHinge("top")),
        (PermutationCrossEntropy("top"), PairLogistic("top")),
    ):
        term, nothing = FocusedLoss(of_lists, of_pairs, beta).on(lists), np.zeros(scores.size)
        assert term(nothing)[0] == pytest.approx(1.0)
        ratios = [part.on(lists)(scores)[0] / part.on(lists)(nothing)[0] for part in (of_lists, of_pairs)]
        assert term(scores)[0] == pytest.approx(beta * ratios[0] + (1 - beta) * ratios[1])


# Lists


def test_lists_are_ordered_and_queries_of_one_grade_left_out():
    grades = np.array([0, 1, 2, 1, 1, 0, 2, 0])
    codes = np.array([2, 0, 0, 1, 1, 2, 2, 3])
    lists = JudgedLists.of(grades, codes)
    assert lists.rows.tolist() == [2, 1, 6, 0, 5]
    assert lists.grades.tolist() == [2, 1, 2, 0, 0]
    assert lists.offsets.tolist() == [0, 2, 5]
    assert lists.tops.tolist() == [2, 1]
    tied = JudgedLists.of(grades, codes, ties=-np.arange(8.0))
    assert tied.rows.tolist() == [2, 1, 6, 5, 0]


def test_what_lists_do_not_hold_is_named():
    of_two = JudgedLists.of(np.array([2, 1, 1]), np.array([0, 0, 0]))
    for loss in (PairHinge("top"), ListwiseAP()):
        with pytest.raises(InputError, match="no query holds items of grade 0 beside better ones"):
            loss.on(of_two)
    binary = JudgedLists.of(np.array([1, 1, 0]), np.array([0, 0, 0]))
    for loss in (ListwiseAP("top"), PermutationCrossEntropy()):
        with pytest.raises(InputError, match="no query holds two items of different grades above 0"):
            loss.on(binary)
    long = JudgedLists.of(np.arange(18), np.zeros(18, dtype=np.int64))
    with pytest.raises(InputError, match=r"the query of row 17 has 17 items of a grade above 0, .* takes at most 15"):
        PermutationCrossEntropy().on(long)
