"""Any items of a query: totals, rates, and that neither a model nor what was judged before biases the answer."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from naive import (
    fixed_samples,
    items_value,
    poisson_variance,
    pool_of,
    random_lists,
    random_probs,
    rankings_of,
    roots_of,
    selection_of,
)

from activeeval import DCG, ERR, METHODS, RBP, Additive, InputError, Precision, Target, replicate
from activeeval.core.design.item_stage import ITEMS
from activeeval.core.design.order_places import OrderPlaces
from activeeval.core.design.rates import Variances, pooled
from activeeval.core.estimation import evaluate, evidence_of
from activeeval.core.estimation.effective import value_variance

pytestmark = pytest.mark.kernel
GAINS = [0.5, 1.0, 3.0]  # an item that could not be judged is not one of grade 0


def model_of(random, n_nodes, n_items, zeros):
    nodes = random.dirichlet(np.full(3, 0.7), (n_nodes, n_items))
    if zeros:
        nodes = random.integers(0, 3, nodes.shape) + np.array([1.0, 0, 0])
        nodes /= nodes.sum(axis=2, keepdims=True)
    return nodes, random.dirichlet(np.full(n_nodes, 3.0))


def case_of(seed, n_nodes=2, compare=False, zeros=False, lists=None, method="items"):
    """Return the random number generator and a plain design of rates by hand: a query of two items, one of three."""
    random = np.random.default_rng(seed)
    pool = pool_of([2, 3], query_probs=[0.3, 0.7], item_costs=random.uniform(0.5, 2, 5), query_costs=[2, 1])
    lists = lists or [[[1, 0], [2, 0, 1]], [[0], [1, 2]]]
    target = Target(Additive(GAINS, [1.0, 0.6, 0.3]), *(rankings_of(pool, one) for one in lists[: 1 + compare]))
    nodes, weights = model_of(random, n_nodes, 5, zeros)
    design = METHODS[method].design(target, nodes, node_weights=weights)
    of_query, n = random.uniform(0.3, 0.9, 2), design.order.items.size
    own = np.where(design.order.place_rates > 0, of_query[design.order.place_queries] * random.uniform(0.2, 1, n), 0)
    order = replace(design.order, query_rates=of_query, place_rates=own)
    reading = design.stage.reading(target, order, design.beliefs, design.known)
    return random, replace(design, order=order, readings=(reading,), is_fitted=False)


def posterior_means(design, query, grades, judged):
    """E[g_i | the judged labels before i] by Bayes' rule, item by item; a label that no node allows starts it anew."""
    order, beliefs, means = design.order, design.beliefs, []
    for i in range(order.offsets[query], order.offsets[query + 1]):
        omega = beliefs.prior
        for z in (order.items[j] for j in judged if j < i and grades[order.items[j]] >= 0):
            seen = omega * beliefs.nodes[:, z, grades[z]]
            omega = seen / seen.sum() if seen.sum() > 0 else beliefs.prior
        of_node = [sum(p * g for p, g in zip(probs[order.items[i]], GAINS, strict=True)) for probs in beliefs.nodes]
        means.append(sum(o * e for o, e in zip(omega, of_node, strict=True)))
    return means


def subsets(n):
    return itertools.chain.from_iterable(itertools.combinations(range(n), k) for k in range(n + 1))


# Against loops and enumeration


@pytest.mark.parametrize("compare", [False, True])
@pytest.mark.parametrize("method", ["items", "items_plain"])
@pytest.mark.parametrize(("n_nodes", "zeros"), [(1, False), (3, False), (2, True)])
def test_totals_are_those_of_plain_loops(n_nodes, zeros, method, compare):
    """With and without learning from the labels before; −1 cannot be judged and stays as it is predicted."""
    _, design = case_of(1, n_nodes, compare, zeros, method=method)
    order, (reading,), level = design.order, design.readings, 0.9
    for labels in ((0, 1, 2, 0, 2), (2, -1, 0, 2, -1), (1, 1, 1, 1, 1)):
        grades = np.array(labels)
        judge = reading.judge(grades)
        for query, n in ((0, 2), (1, 3)):
            first = order.offsets[query]
            own = slice(first, first + n)
            g = np.minimum(1, level * order.place_rates[own]) / (level * order.query_rates[query])
            gains = [GAINS[y] for y in grades[order.items[own]]]
            c, prior = reading.contrast[own], reading.means[own]
            for chosen in subsets(n):
                if not chosen:
                    continue
                below = [(), ()]
                below[query] = chosen
                shown = judge.totals(selection_of(order, below, level))
                means = prior
                if method == "items":
                    means = posterior_means(design, query, grades, [first + i for i in chosen])
                told = [i for i in chosen if grades[order.items[first + i]] >= 0]
                for b0, b1 in ((0.0, 1.0), (0.4, -0.7), (1.0, 0.0)):
                    predicted = [b0 + b1 * mu for mu in means]
                    y, s = items_value(c, predicted, gains, g, told)
                    start = sum(ci * (b0 + b1 * mu) for ci, mu in zip(c, prior, strict=True))
                    assert start + shown.totals[0] @ [1, -b0, -b1] == pytest.approx(y, rel=1e-10, abs=1e-12)
                    form = [1, -2 * b0, -2 * b1, b0**2, 2 * b0 * b1, b1**2]
                    assert shown.within[0] @ form == pytest.approx(s, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("compare", [False, True])
@pytest.mark.parametrize("level", [0.8, 1.6, 3.0])
def test_the_spread_between_queries_is_unbiased_at_a_level_for_any_labels(level, compare, is_known):
    """All samples, with certain queries, and with a grade that is known; where none is judged all are as predicted."""
    _, design = case_of(2, 2, compare)
    for labels in ((0, 0, 0, 0, 0), (2, 0, 1, 2, 0), (1, 2, 2, 2, 2)):
        order, known = design.order, np.full(5, -1)
        if is_known:
            known[order.items[order.offsets[1]]] = labels[order.items[order.offsets[1]]]
            order = replace(order, place_rates=np.where(known[order.items] >= 0, 0.0, order.place_rates))
        reading = design.stage.reading(design.target, order, design.beliefs, known)
        own, p, m = replace(design, order=order, readings=(reading,)), order.query_probs, reading.predictions
        truth, judge = reading.target.values(np.array(labels)), reading.judge(np.array(labels))
        mean = 0.0
        for chance, below in fixed_samples(roots_of(order), level):
            selection = selection_of(order, below, level)
            sample = evidence_of(own, reading, judge, selection)
            if sample.n_queries == 0 and not sample.is_census:
                found = p @ (m - p @ m) ** 2
            else:
                found = value_variance(sample, evaluate(sample), reading, selection).value
            mean += chance * found
        assert mean == pytest.approx(p @ (truth - p @ truth) ** 2, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("compare", [False, True])
@pytest.mark.parametrize("n_nodes", [1, 2])
def test_value_and_variance_are_unbiased_at_a_level_for_any_labels(n_nodes, compare, zeros):
    """All samples of a level, learning within a query, whatever labels and model are; it may exclude the labels."""
    _, design = case_of(2, n_nodes, compare, zeros)
    order, (reading,), level = design.order, design.readings, 0.8
    p, m = order.query_probs, reading.predictions
    samples = [(chance, selection_of(order, below, level)) for chance, below in fixed_samples(roots_of(order), level)]
    assert sum(chance for chance, _ in samples) == pytest.approx(1)
    for labels in ((0, 0, 0, 0, 0), (2, 0, 1, 2, 0), (0, 2, 2, 1, 1), (1, 2, 2, 2, 2), (2, 2, 0, 1, 0)):
        truth, judge = reading.target.values(np.array(labels)), reading.judge(np.array(labels))
        mean = second = variance = squares = 0.0
        for chance, selection in samples:
            value, own = float(p @ m), 0.0
            if selection.queries.size:
                sample = evidence_of(design, reading, judge, selection)
                omega, residuals = sample.importance_weights, sample.totals @ [1, 0, -1]
                found, value = evaluate(sample), value + omega @ residuals
                assert found.value == pytest.approx(value, rel=1e-12, abs=1e-13)
                own = poisson_variance(omega, sample.inclusion_probs, residuals, sample.within @ [1, 0, -2, 0, 0, 1])
                assert found.plain_variance == pytest.approx(own, rel=1e-10, abs=1e-14)
                if sample.values.size > 1 and own > 1e-13:  # no residual at all tells nothing
                    assert found.observed == pytest.approx(own, rel=1e-10)
                squares += chance * (omega @ (sample.values**2 - sample.within[:, 0]))
            mean, second, variance = mean + chance * value, second + chance * value**2, variance + chance * own
        assert mean == pytest.approx(p @ truth, rel=1e-10, abs=1e-12)
        assert variance == pytest.approx(second - mean**2, rel=1e-9, abs=1e-12)
        assert squares == pytest.approx(p @ truth**2, rel=1e-10, abs=1e-12)


# What may be judged, and how often


def test_items_that_no_list_weighs_are_never_judged():
    """Equal ranks cancel, a cutoff cuts; the others come by what they may teach."""
    lists = [[[1, 0], [2, 0, 1]], [[1], [2, 1, 0]]]
    _, design = case_of(4, compare=True, lists=lists)
    order, (reading,) = design.order, design.readings
    is_wanted = order.place_rates > 0
    assert sorted(order.items[is_wanted].tolist()) == [0, 2, 3]
    assert order.place_queries[is_wanted].tolist() == [0, 1, 1]
    weight = {0: 0.6, 2: 0.6 - 0.3, 3: 0.3 - 0.6}
    assert reading.contrast[is_wanted] == pytest.approx([weight[z] for z in order.items[is_wanted].tolist()])
    probs = random_probs(np.random.default_rng(0), 4, 2)
    cut = METHODS["items"].design(Target(Precision(2), rankings_of(pool_of([4]), [[3, 0, 1, 2]])), probs).order
    assert set(cut.items[cut.place_rates > 0].tolist()) == {0, 3}
    larger = max((0, 3), key=lambda z: probs[z, 0] * probs[z, 1])
    assert cut.items[0] == larger


@pytest.mark.parametrize("n_nodes", [1, 3])
def test_spreads_are_between_what_one_node_and_what_no_label_leaves(n_nodes):
    """c² Var[g] by enumeration where grades are independent; with a factor the labels before take part of it away."""
    _, design = case_of(5, n_nodes, compare=True)
    beliefs, (reading,) = design.beliefs, design.readings
    places = ITEMS.places([reading.target], beliefs, design.known)
    spread = ITEMS.variances(reading.target, places, beliefs)
    gains = np.array(GAINS)
    assert places.matters.all()
    for i, z in enumerate(places.items.tolist()):
        p = beliefs.prior @ beliefs.nodes[:, z]
        inner = sum(
            w * (own @ gains**2 - (own @ gains) ** 2) for w, own in zip(beliefs.prior, beliefs.nodes[:, z], strict=True)
        )
        low, high = (reading.contrast[i] ** 2 * v for v in (inner, p @ gains**2 - (p @ gains) ** 2))
        assert reading.means[i] == pytest.approx(p @ gains)
        assert low * (1 - 1e-12) <= spread.of_open[i] <= high * (1 + 1e-12)
        assert (n_nodes == 1) == (low == pytest.approx(high))
    assert spread.of_query == pytest.approx(reading.target.moments(beliefs.nodes, beliefs.prior).variance)
    for first, last in itertools.pairwise(places.offsets.tolist()):
        own = spread.of_open[first:last]
        assert own.tolist() == sorted(own, reverse=True)


@pytest.mark.parametrize("n_nodes", [1, 3])
def test_a_query_comes_by_what_its_items_leave_of_its_variance(n_nodes):
    """π ∝ p sqrt((A − ΣB + Σ_joined B) / (λ_0 + Σ_joined λ)) in plain loops; at least a twentieth of A is left."""
    random = np.random.default_rng(10)
    lengths = random.integers(1, 6, 10).tolist()
    pool = pool_of(lengths, query_costs=random.uniform(0.5, 4, 10), query_probs=random.dirichlet(np.full(10, 5.0)))
    target = Target(
        Additive(GAINS, [1.0, 0.6, 0.3, 0.3, 0.2]), rankings_of(pool, random_lists(random, lengths, least=1))
    )
    nodes, weights = model_of(random, n_nodes, pool.n_items, False)
    design = METHODS["items"].design(target, nodes, node_weights=weights, defensive_share=0)
    order, beliefs = design.order, design.beliefs
    places = ITEMS.places([target], beliefs, design.known)
    spread = ITEMS.variances(target, places, beliefs)
    n_left = n_joined = 0
    for q in range(10):
        own = slice(*places.open_offsets[q : q + 2])
        b, costs, whole = spread.of_open[own], places.open_costs[own], spread.of_query[q]
        n_left += whole - b.sum() > 0.05 * whole
        top, bottom = max(whole - b.sum(), 0.05 * whole), places.overheads[q]
        for i in sorted(range(b.size), key=lambda i: -b[i] / costs[i]):
            if b[i] / costs[i] > top / bottom:
                top, bottom, n_joined = top + b[i], bottom + costs[i], n_joined + 1
        assert order.query_rates[q] == pytest.approx(pool.query_probs[q] * math.sqrt(top / bottom), rel=1e-5)
    assert n_joined > 5
    assert (n_left > 0) == (n_nodes > 1)


@pytest.mark.parametrize("beside", [0.0, 2.0])
def test_without_an_overhead_items_come_on_their_own(beside):
    """A query of the ratio of its best item, none of whose items wait for another, whatever another query costs."""
    costs, variances = np.array([1.0, 2.0, 0.5, 1.0]), np.array([4.0, 2.0, 0.1, 6.0])
    pool = pool_of([3, 1], item_costs=costs, query_costs=[0.0, beside])
    places = OrderPlaces.of(pool, pool.query_offsets, np.arange(4), np.ones(4, np.bool_))
    spread = Variances(of_query=np.array([9.0, 6.0]), of_open=variances, least_shares=np.zeros(4))
    found = pooled(places, spread, is_nested=False)
    assert found.of_open[:3] == pytest.approx(np.sqrt(variances / costs)[:3])
    assert found.of_query[0] == 2.0
    assert found.of_query[1] ** 2 == pytest.approx((6 + 0.05 * 6) / 3 if beside else 6)
    assert found.of_open[3] == found.of_query[1]


@pytest.mark.parametrize("overhead", [0.0, 0.5, 5.0])
def test_roots_of_an_item_design_keep_their_bounds(overhead):
    """No item above its query, none below a hundredth of its best; free queries come at once."""
    random = np.random.default_rng(6)
    lengths = random.integers(1, 7, 12).tolist()
    pool = pool_of(lengths, query_costs=np.full(12, overhead), query_probs=random.dirichlet(np.full(12, 5.0)))
    target = Target(DCG(), rankings_of(pool, random_lists(random, lengths, least=1)))
    nodes, weights = model_of(random, 2, pool.n_items, False)
    order = METHODS["items"].design(target, nodes, node_weights=weights).order
    for q, (first, last) in enumerate(itertools.pairwise(order.offsets.tolist())):
        own = order.place_rates[first:last][order.place_rates[first:last] > 0]
        assert own.max() <= order.query_rates[q]
        assert own.min() >= 0.01 * own.max() * (1 - 1e-5)
        assert math.isinf(order.query_rates[q]) == (overhead == 0)
    assert np.all(order.place_rates[order.items == 0] >= 0)
    assert (order.place_rates > 0).sum() == target.ranking.items.size


def test_a_cascade_has_no_item_design():
    target = Target(ERR(2), rankings_of(pool_of([2]), [[0, 1]]))
    with pytest.raises(InputError, match="item designs are for additive measures"):
        METHODS["items"].design(target, np.full((2, 3), 1 / 3))
    assert not METHODS["items"].fits(ERR(2))
    assert METHODS["items"].fits(RBP())


# The fitted form


@pytest.mark.parametrize("measure", [Additive([0, 1, 2], [1, 0.7, 0.4, 0.2]), RBP(0.6, gains="linear")], ids=str)
def test_gains_that_are_affine_in_the_models_means_leave_no_error(measure):
    """g = 2 μ − 1 for every item: whatever is drawn, the estimate is the truth; the plain form is off."""
    random = np.random.default_rng(7)
    lengths = random.integers(2, 7, 25).tolist()
    pool = pool_of(lengths, query_costs=np.ones(25))
    labels = random.integers(0, 3, pool.n_items)
    probs = np.array([[0.625, 0.25, 0.125], [0.25, 0.5, 0.25], [0.125, 0.25, 0.625]])[labels]  # exact in 32 bits
    target = Target(measure, rankings_of(pool, random_lists(random, lengths, least=2)))
    truth = float(target.values(labels).mean())
    design = METHODS["items"].design(target, probs)
    run = replicate(design, labels, [0.3 * design.cost], 30, rng=1)
    is_fitted = run.n_open > 2  # two queries cannot tell two coefficients
    assert is_fitted.mean() > 0.9
    np.testing.assert_allclose(run.values[is_fitted], truth, rtol=1e-9)
    assert np.isinf(run.observed[is_fitted]).all()  # a sample without residuals bounds nothing
    plain = replicate(METHODS["items_plain"].design(target, probs), labels, [0.3 * design.cost], 30, rng=1)
    assert np.abs(plain.values - truth).min() > 1e-6


@pytest.mark.parametrize("method", ["items", "items_plain"])
@pytest.mark.parametrize("level", [0.8, 1.6])
def test_with_corrected_grades_of_known_items_all_samples_together_give_the_truth_of_now(level, method):
    """Probabilities stay those that the grades of then gave; −1 is no grade, and no item comes or goes."""
    _, design = case_of(4, 2, method=method)
    order, labels = design.order, np.array([2, 0, 1, 2, 0])
    then, now = np.full(5, -1), np.full(5, -1)
    then[order.items[order.offsets[1]]], now[order.items[order.offsets[1]]] = 0, 2
    labels[order.items[order.offsets[1]]] = 2
    order = replace(order, place_rates=np.where(then[order.items] >= 0, 0.0, order.place_rates))
    old = design.stage.reading(design.target, order, design.beliefs, then)
    known = replace(design, order=order, known=then, readings=(old,)).corrected(now)
    (reading,) = known.readings
    truth, judge, mean = order.query_probs @ reading.target.values(labels), reading.judge(labels), 0.0
    for chance, below in fixed_samples(roots_of(order), level):
        selection = selection_of(order, below, level)
        sample = evidence_of(known, reading, judge, selection)
        is_told = sample.n_queries > 0 or sample.is_census
        mean += chance * (evaluate(sample).value if is_told else order.query_probs @ reading.predictions)
    assert mean == pytest.approx(truth, rel=1e-10)
    for wrong in (then * 0 - 1, np.zeros(5, dtype=np.int64)):
        with pytest.raises(InputError, match="the set of known items must stay the same"):
            known.corrected(wrong)
