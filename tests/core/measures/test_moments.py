import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from each_once import each_once
from hypothesis import HealthCheck, given, settings, strategies as st
from kit import SHARED
from naive import (
    additive_value,
    average_precision,
    cascade_moments,
    cascade_value,
    enumerated_moments,
    pool_of,
    random_lists,
    random_probs,
    rankings_of,
    recall,
)

from activeeval import AP, DCG, ERR, NDCG, RR, Additive, Cascade, InputError, QueryPool, Rankings, Recall, Success

pytestmark = pytest.mark.kernel

FAMILIES = {"additive": (Additive, additive_value), "cascade": (Cascade, cascade_value)}
N_VECTORS = 120
few = settings(suppress_health_check=[HealthCheck.too_slow], derandomize=True)


def moments_of(measure, probs, ranking, versus=None, **nodes):
    """Return the moments of a single query with as many items as ``probs`` has rows."""
    pool = pool_of([np.shape(probs)[-2]])
    lists = [None if one is None else rankings_of(pool, [one]) for one in (ranking, versus)]
    moments = measure.moments(pool, probs, *lists, **nodes)
    return moments.mean[0], moments.second[0], moments.variance[0]


# The published vectors


def test_published_vectors():
    path = SHARED / "vectors" / "moments.json"
    if not path.exists():
        pytest.skip(f"no test vectors at {path}; set ACTIVEEVAL_SHARED")
    vectors = json.loads(path.read_text())
    assert len(vectors) == N_VECTORS
    assert any(v["style"] == "certain-stop" for v in vectors)
    for v in vectors:
        measure = FAMILIES[v["family"]][0](v["gain_or_stop"], v["discount"], v["cutoff"])
        first, second = v["ranking_1"], v["ranking_2"]
        found = [
            moments_of(measure, v["grade_probabilities"], *lists) for lists in ((first,), (second,), (first, second))
        ]
        expected = [(v["mean_1"], v["second_moment_1"]), (v["mean_2"], v["second_moment_2"])]
        (mean_1, square_1), (mean_2, square_2) = expected
        expected.append((mean_1 - mean_2, square_1 - 2 * v["cross_moment"] + square_2))
        for (mean, square, _), (own_mean, own_square) in zip(found, expected, strict=True):
            assert mean == pytest.approx(own_mean, rel=1e-12, abs=1e-12)
            assert square == pytest.approx(own_square, rel=1e-12, abs=1e-12 * max(1.0, square_1, square_2))


# Against enumeration over all label vectors


@st.composite
def label_values(draw, n_grades):
    """Stop probabilities or gains within [0, 1]; 0 and 1 come up often."""
    value = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.01, 1.0))
    return draw(st.lists(value, min_size=n_grades, max_size=n_grades))


@st.composite
def grade_probs(draw, n_items, n_grades):
    weights = st.lists(st.integers(0, 8), min_size=n_grades, max_size=n_grades).filter(any)
    rows = draw(st.lists(weights, min_size=n_items, max_size=n_items))
    return [[w / sum(row) for w in row] for row in rows]


@st.composite
def lists_of(draw, n_items):
    order = draw(st.permutations(range(n_items)))
    return order[: draw(st.integers(0, n_items))]


@st.composite
def cases(draw, max_items, max_grades, max_queries=2):
    """Several queries, each with its grade model and two partial, perhaps disjoint, rankings."""
    n_grades = draw(st.integers(2, max_grades))
    sizes = draw(st.lists(st.integers(1, max_items), min_size=1, max_size=max_queries))
    longest = max(sizes)
    return {
        "worth": draw(label_values(n_grades)),
        "discounts": draw(st.lists(st.floats(0.05, 2.0), min_size=1, max_size=longest + 1)),
        "cutoff": draw(st.one_of(st.none(), st.integers(1, longest + 1))),
        "probs": [draw(grade_probs(n, n_grades)) for n in sizes],
        "first": [draw(lists_of(n)) for n in sizes],
        "second": [draw(lists_of(n)) for n in sizes],
    }


def both(case, family, versus=True):
    """Return the moments of a case through the contract's names, the queries in one pool."""
    pool = pool_of([len(p) for p in case["probs"]])
    first, second = rankings_of(pool, case["first"]), rankings_of(pool, case["second"])
    measure = family(case["worth"], case["discounts"], case["cutoff"])
    return measure.moments(pool, np.concatenate(case["probs"]), first, second if versus else None)


def assert_moments(moments, expected, rel=1e-10):
    means, seconds = np.array(expected, dtype=float).T
    np.testing.assert_allclose(moments.mean, means, rtol=rel, atol=1e-14)
    np.testing.assert_allclose(moments.second, seconds, rtol=rel, atol=1e-14)
    np.testing.assert_allclose(moments.variance, seconds - means**2, rtol=rel, atol=1e-13)


@pytest.mark.parametrize("family", FAMILIES)
@few
@given(case=cases(max_items=4, max_grades=3))
def test_moments_are_those_of_enumeration(family, case):
    make, value = FAMILIES[family]
    c = case["discounts"][: case["cutoff"]]
    queries = list(zip(case["probs"], case["first"], case["second"], strict=True))
    alone = [enumerated_moments(value, probs, case["worth"], c, a) for probs, a, _ in queries]
    assert_moments(both(case, make, versus=False), alone)
    compared = [enumerated_moments(value, probs, case["worth"], c, a, b) for probs, a, b in queries]
    assert_moments(both(case, make), compared)


@pytest.mark.parametrize("seed", range(6))
def test_long_cascade_lists_are_those_of_the_loop_over_pairs_of_ranks(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(20, 60))
    probs = random_probs(random, n, 5)
    first, second = random_lists(random, [n, n], least=15)
    expected = cascade_moments(probs, [(2**y - 1) / 16 for y in range(5)], 1 / np.arange(1, n + 1), first, second)
    assert moments_of(ERR(4), probs, first, second)[:2] == pytest.approx(expected, rel=1e-10, abs=1e-15)


@each_once(("k", [1, 2, 4, 9]), ("seed", range(3)))
def test_first_relevant_item_down_to_a_cutoff(seed, k):
    """RR@k and Success@k are cascades that end at the first relevant item: 1/rank and 1 down to the cutoff."""
    random = np.random.default_rng(seed)
    probs = random_probs(random, 6, 3)
    first, second = random_lists(random, [6, 6], least=4)
    for measure, worth in ((RR(2, k), lambda i: 1 / (i + 1)), (Success(k, 2), lambda i: 1.0)):

        def value(grades, _, discounts, ranking, worth=worth):
            return next((worth(i) for i, z in enumerate(ranking[:k]) if grades[z] >= 2), 0.0)

        for versus in ([], second):
            expected = enumerated_moments(value, probs, [0] * 3, None, first, versus)
            assert moments_of(measure, probs, first, versus or None)[:2] == pytest.approx(
                expected, rel=1e-10, abs=1e-15
            )


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("measure", "value"), [(Recall(2), recall), (AP(cutoff=2), average_precision)], ids=["R", "AP"]
)
def test_moments_of_ratios_are_those_of_enumeration(measure, value):
    """Means of 200 draws for each of 300 copies within 4 standard errors: with other ids 1 run in 4,000 would fail."""
    random = np.random.default_rng(4)
    probs = random_probs(random, 4, 2)
    first, second = [2, 0, 1], [3, 1]

    mean = second_moment = 0.0
    for labels in itertools.product(range(2), repeat=4):  # every item counts, also one that no list holds
        p = math.prod(probs[z][y] for z, y in enumerate(labels))
        delta = value(labels, first, cutoff=2) - value(labels, second, cutoff=2)
        mean, second_moment = mean + p * delta, second_moment + p * delta**2
    pool = pool_of([4] * 300)
    lists = [rankings_of(pool, [one] * 300) for one in (first, second)]
    found = measure.moments(pool, np.tile(probs, (300, 1)), *lists)
    for ours, expected in ((found.mean, mean), (found.second, second_moment)):
        assert abs(ours.mean() - expected) <= 4 * ours.std(ddof=1) / math.sqrt(300)


# Cancellation: near-identical lists against exact arithmetic


def exact(probs, measure, first, second):
    """Return E[δ] and E[δ²] in rational arithmetic for the very floats that the kernel is given."""
    rational = [[Fraction(p) for p in row] for row in probs]
    stop_probs = [Fraction(2**y - 1, 2**measure.max_grade) for y in range(measure.max_grade + 1)]
    c = [Fraction(v) for v in measure.discount_vector(max(len(first), len(second))).tolist()]
    return cascade_moments(rational, stop_probs, c, first, second)


def dyadic_probs(random, n_items, n_grades):
    """Probabilities in 1024ths: their rows sum to 1 in floats and in rationals alike."""
    cuts = np.sort(random.integers(1, 1024, size=(n_items, n_grades - 1)), axis=1)
    edges = np.concatenate((np.zeros((n_items, 1)), cuts, np.full((n_items, 1), 1024)), axis=1)
    return np.diff(edges, axis=1) / 1024


def swapped(ranking, i, j):
    copy = list(ranking)
    copy[i], copy[j] = copy[j], copy[i]
    return copy


ORDER = list(range(40))
NEAR_IDENTICAL = {
    "differ first at rank 39": (ORDER, swapped(ORDER, 38, 39)),
    "differ first at rank 21": (ORDER, ORDER[:20] + ORDER[:19:-1]),
    "differ at rank 39 by another item": (ORDER, [*ORDER[:38], 40, 39]),
    "one is longer by an item": (ORDER, ORDER[:39]),
    "swap at the head, shared tail": (ORDER, swapped(ORDER, 0, 1)),
    "swap in the middle": (ORDER, swapped(ORDER, 19, 20)),
    "far swap, shared tail": (ORDER, swapped(ORDER, 2, 30)),
    "another item at the head, shared tail": (ORDER, [40, *ORDER[1:]]),
    "shared tail after another order of the head": (ORDER, ORDER[9::-1] + ORDER[10:]),
}


@pytest.mark.parametrize("name", NEAR_IDENTICAL)
def test_near_identical_lists_keep_their_digits(name):
    first, second = NEAR_IDENTICAL[name]
    probs = dyadic_probs(np.random.default_rng(39), 41, 5)
    mean, square = (float(v) for v in exact(probs, ERR(4), first, second))
    assert square > 0
    ours = moments_of(ERR(4), probs, first, second)
    assert ours[:2] == pytest.approx((mean, square), rel=1e-9, abs=0)
    assert ours[2] == pytest.approx(square - mean**2, abs=1e-9 * square)


@each_once(("place", [0, 5, 38]), ("tiny", [2.0**-30, 2.0**-60, 0.0]))
def test_an_unlikely_item_in_a_shared_list_keeps_its_digits(place, tiny):
    """The value of what both lists share is 1/tiny times the difference, and must not drown it."""
    probs = dyadic_probs(np.random.default_rng(7), 41, 2)
    probs[[place, 40]] = [1 - tiny, tiny]
    second = [*ORDER[:place], 40, *ORDER[place + 1 :]]
    rational = [[1 - Fraction(p), Fraction(p)] for p in probs[:, 1]]
    c = [Fraction(v) for v in ERR(1).discount_vector(40).tolist()]
    mean, square = cascade_moments(rational, [Fraction(0), Fraction(1, 2)], c, ORDER, second)
    ours = moments_of(ERR(1), probs, ORDER, second)
    assert ours[1] == pytest.approx(float(square), rel=1e-9, abs=0)
    assert ours[0] == pytest.approx(float(mean), rel=1e-9, abs=1e-9 * float(square))


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 2, 0], [2, 0, 1]])
def test_variance_of_a_nearly_certain_value_keeps_its_digits(order):
    """E[L²] − E[L]² would leave no digit of it: the truth is below 1e-17 of E[L]²."""
    tiny = 2.0**-60
    probs = np.array([[tiny, 1.0], [tiny, 1.0], [1.0, 0.0]])
    rational = [[Fraction(p), 1 - Fraction(p)] for p in probs[:, 0]]
    c = [Fraction(1), Fraction(1, 2), Fraction(1, 4)]
    mean, square = enumerated_moments(cascade_value, rational, [Fraction(0), Fraction(1, 2)], c, order)
    assert square - mean**2 < 1e-17 * mean**2
    _, _, variance = moments_of(Cascade([0, 0.5], [1, 0.5, 0.25]), probs, order)
    assert variance == pytest.approx(float(square - mean**2), rel=1e-9, abs=0)


# Laws

random_case = cases(max_items=12, max_grades=5, max_queries=3)


@pytest.mark.parametrize("family", FAMILIES)
@few
@given(case=random_case)
def test_laws_of_two_rankings(family, case):
    """Exchanged they turn the mean, equal ones differ by exactly nothing, an empty one changes nothing."""
    make, first, second = FAMILIES[family][0], case["first"], case["second"]
    one, other = both(case, make), both(case | {"first": second, "second": first}, make)
    np.testing.assert_allclose(one.mean, -other.mean, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(one.second, other.second, rtol=1e-10, atol=1e-15)
    same = both(case | {"second": first}, make)
    assert not np.concatenate((same.mean, same.second, same.variance)).any()
    alone, beside_nothing = both(case, make, versus=False), both(case | {"second": [[] for _ in first]}, make)
    np.testing.assert_array_equal(alone.mean, beside_nothing.mean)
    np.testing.assert_array_equal(alone.variance, beside_nothing.variance)
    for moments in (one, alone):
        assert np.all(moments.variance >= 0)
        assert np.all(moments.second >= moments.mean**2)


@pytest.mark.parametrize("stop", [0.2, 0.5, 1e-3])
def test_five_thousand_ranks_stay_finite(stop):
    """f = 0.8 at every rank: on uncut lists the segment tree's multipliers overflow and give NaN."""
    n = 5_000
    random = np.random.default_rng(0)
    lists = random.permutation(n), random.permutation(n)
    certain = moments_of(Cascade([0.0, stop], reciprocal), np.tile([0.0, 1.0], (n, 1)), *lists)
    assert certain == pytest.approx((0, 0, 0), abs=1e-12)
    mean, square, variance = moments_of(Cascade([0.0, 1.0], reciprocal), np.tile([1 - stop, stop], (n, 1)), *lists)
    assert mean == pytest.approx(0, abs=1e-12)
    assert 0 < square < 2
    assert square == pytest.approx(variance, rel=1e-12)


def reciprocal(ranks):
    return 1 / ranks


# Query factors


@pytest.mark.parametrize("family", FAMILIES)
@few
@given(data=st.data(), weights=st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(any))
def test_a_query_factor_is_the_mixture_of_its_nodes(family, data, weights):
    case = data.draw(cases(max_items=4, max_grades=3, max_queries=1))
    make, value = FAMILIES[family]
    n_items, n_grades = np.shape(case["probs"][0])
    nodes = [case["probs"][0], *(data.draw(grade_probs(n_items, n_grades)) for _ in range(2))]
    weights = np.array(weights) / sum(weights)
    c = case["discounts"][: case["cutoff"]]
    for versus in ((), case["second"][0]):
        parts = [enumerated_moments(value, probs, case["worth"], c, case["first"][0], versus) for probs in nodes]
        expected = weights @ np.array(parts, dtype=float)
        measure = make(case["worth"], case["discounts"], case["cutoff"])
        ours = moments_of(measure, nodes, case["first"][0], versus, node_weights=weights)
        assert ours[:2] == pytest.approx(expected, rel=1e-10, abs=1e-14)
        assert ours[2] == pytest.approx(expected[1] - expected[0] ** 2, rel=1e-10, abs=1e-13)


@pytest.mark.kernel
@pytest.mark.parametrize("measure", [Additive([0, 1, 3]), Cascade([0, 0.3, 0.8]), NDCG(), AP()], ids=str)
def test_every_query_may_weigh_its_nodes_on_its_own(measure):
    """As known grades make it: the moments of a query are those under its own row of weights."""
    random = np.random.default_rng(3)
    pool = pool_of([3, 2, 4])
    nodes, weights = random.dirichlet(np.ones(3), (2, 9)), random.dirichlet(np.ones(2), 3)
    first, second = rankings_of(pool, [[0, 2], [1, 0], [3, 1]]), rankings_of(pool, [[1], [0, 1], [1, 2]])
    for versus in (None, second):
        found = measure.moments(pool, nodes, first, versus, node_weights=weights)
        for q in range(3):
            alone = measure.moments(pool, nodes, first, versus, node_weights=weights[q])
            for name in ("mean", "second", "variance"):
                assert getattr(found, name)[q] == pytest.approx(getattr(alone, name)[q], rel=1e-12, abs=1e-15)


# The door


@pytest.mark.parametrize("n_grades", [3, 6])
def test_grade_probs_must_have_one_column_for_each_grade_of_the_measure(n_grades):
    message = rf"must have 5 columns, one for each grade of ERR\(max_rel=4\), got {n_grades}"
    with pytest.raises(InputError, match=message):
        moments_of(ERR(4), np.full((2, n_grades), 1 / n_grades), [0, 1])


def test_a_ranking_of_another_pool_is_refused():
    pool, other = QueryPool(["q"], [0, 3]), QueryPool(["q"], [0, 2])
    with pytest.raises(InputError, match="the ranking belongs to another pool"):
        DCG().moments(pool, np.full((3, 2), 0.5), Rankings.empty(pool), Rankings.empty(other))
