"""Depth that follows a query's own labels: what no model biases, what stops, and what it leaves open."""

import itertools
import math

import numpy as np
import pytest
from each_once import each_once
from naive import fixed_samples, over_thresholds, pool_of, prefix_value, query_law, rankings_of, roots_of, selection_of

from activeeval import METHODS, Campaign, InputError, Rankings, Target
from activeeval.core.design.histories import LOOKS
from activeeval.core.design.unresolved_variance import wanted_of
from activeeval.core.estimation import evidence_of
from activeeval.core.measures import AP, ERR, NDCG, RR, Additive, Cascade, Recall, SoftLabels, Success
from activeeval.core.simulation import replicate

MEASURES = {
    "additive": Additive([0, 1, 3], [1.0, 0.6, 0.3]),
    "cascade": Cascade([0, 0.4, 1.0], [1.0, 0.5, 0.3]),
    "ERR": ERR(2),
    "nDCG@2": NDCG("exp", cutoff=2),
    "AP@2": AP(cutoff=2),
    "R@2": Recall(2),
    "Success@2": Success(2),
    "RR(rel=2)@2": RR(2, 2),
}
LISTS = [[[1, 0], [2, 0, 1, 3]], [[0], [1, 2]]]


def probs_of(kind, random, n_items):
    """Grade probabilities of a model that says little, of one that is sure, and of one that is wrong."""
    probs = random.dirichlet((0.6, 0.5, 0.4), n_items)
    return {"vague": np.full((n_items, 3), 1 / 3), "sure": 0.98 * probs + 0.02 / 3, "wrong": probs[:, ::-1]}[kind]


def design_of(measure, compare=False, kind="sure", looks="each", known=None, lengths=(3, 4), method="depth_plain"):
    random = np.random.default_rng(8)
    pool = pool_of(list(lengths), query_probs=[0.3, 0.7], query_costs=[1.0, 0.5])
    target = Target(measure, *(rankings_of(pool, lists) for lists in LISTS[: 1 + compare]))
    probs = probs_of(kind, random, pool.n_items)
    return METHODS[method].looking(looks).design(target, probs, judged=known)


def label_sets(n_items):
    random = np.random.default_rng(3)
    fixed = [(0,) * n_items, (2,) * n_items, (1, 2, 1, 0, 1, 2, 0)[:n_items]]
    return [np.array(each) for each in (*fixed, *random.integers(0, 3, (5, n_items)).tolist())]


def assert_unbiased(followed, labels, level):
    """Check E[L̃] = L and E[h] = 0 to 1e-12 over all depths of each query alone, dead places too."""
    order = followed.order
    for reading in followed.readings:
        judge, values = reading.judge(labels), reading.target.values(labels)
        for q in np.flatnonzero(reading.query_probs).tolist():
            query, mean, control = roots_of(order)[q], 0.0, 0.0
            for (below, at), chance in query_law(query, level).items():
                if below and not at:
                    shown = judge.totals(selection_of(order, [below, ()] if q == 0 else [(), below], level)).totals[0]
                    mean += chance * (shown[0] - reading.predictions[q])
                    control += chance * shown[3]
            pi = min(1.0, level * query.root)
            assert reading.predictions[q] + mean / pi == pytest.approx(values[q], rel=1e-12, abs=1e-12)
            assert control / pi == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("compare", "kind"), [(False, "sure"), (True, "wrong")])
@pytest.mark.parametrize("name", MEASURES)
def test_no_model_biases_the_estimate_at_a_level_nor_its_control(name, compare, kind):
    """At several levels, whenever labels are looked at."""
    for looks in LOOKS[:3]:
        design = design_of(MEASURES[name], compare, kind, looks)
        for labels in label_sets(design.pool.n_items):
            followed = design.followed(labels)
            rates = followed.order.query_rates
            for level in (0.8 / rates.max(), 1.7 / rates.min()):
                assert_unbiased(followed, labels, level)


@pytest.mark.kernel
@pytest.mark.parametrize("name", ["additive", "cascade", "nDCG@2"])
def test_labels_on_which_judges_differ_bias_nothing_either(name):
    design = design_of(MEASURES[name], True)
    for labels in label_sets(7):
        soft = SoftLabels(labels, np.array([1, 4]), np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 1.0]]))
        followed = design.followed(soft)
        assert_unbiased(followed, soft, 1.1 / followed.order.query_rates.max())


@pytest.mark.kernel
@pytest.mark.parametrize("name", MEASURES)
def test_what_cannot_be_judged_stops_nothing_and_stands_as_expected(name):
    """An item without a label has a step of 0; a value that it may change goes on, and rates stay what they may be."""
    design = design_of(MEASURES[name], True)
    for labels in label_sets(7):
        lost = labels.copy()
        lost[design.order.items[design.order.offsets[:-1]]] = -1
        followed = design.followed(lost)
        (reading,), order = followed.readings, followed.order
        f = reading.judge(lost).totals(selection_of(order, [(0,), (0,)], 1.0 / order.query_rates.max())).totals[:, 0]
        assert f == pytest.approx(reading.predictions, rel=1e-12, abs=1e-12)
        assert np.all(np.diff(order.place_rates[: order.offsets[1]]) <= 0)


@pytest.mark.parametrize("names", [("nDCG@2", "RR(rel=2)@2"), ("ERR", "AP@2")])
def test_several_questions_of_one_sample_are_all_unbiased(names):
    """One order and one path of rates; a question of a segment, and of two rankings, beside one of all queries."""
    random = np.random.default_rng(6)
    pool = pool_of([3, 4], query_probs=[0.3, 0.7], query_costs=[1.0, 0.5])
    first, second = (rankings_of(pool, lists) for lists in LISTS)
    targets = [
        Target(MEASURES[names[0]], first),
        Target(MEASURES[names[1]], first, second, np.array([False, True])),
        Target(MEASURES[names[0]], second),
    ]
    design = METHODS["depth_plain"].looking("each").design(targets, probs_of("wrong", random, 7))
    for labels in label_sets(7):
        followed = design.followed(labels)
        assert_unbiased(followed, labels, 1.1 / followed.order.query_rates.max())


@pytest.mark.parametrize("name", ["cascade", "nDCG@2", "RR(rel=2)@2", "AP@2"])
def test_value_and_variance_are_unbiased_at_a_level(name):
    """Over all samples of two queries, with known grades, by the estimator that is used."""
    known = np.array([-1, 1, -1, -1, 0, -1, -1])
    for kind, given in itertools.product(("sure", "wrong"), (None, known)):
        design = design_of(MEASURES[name], True, kind, known=given)
        for labels in label_sets(7)[2:6]:
            labels = labels if given is None else np.where(given >= 0, given, labels)
            followed = design.followed(labels)
            (reading,), order = followed.readings, followed.order
            judge, level = reading.judge(labels), 1.0 / order.query_rates.max()
            truth = float(design.pool.query_probs @ design.target.values(labels))
            mean = second = variance = 0.0
            for chance, below in fixed_samples(roots_of(order), level):
                selection = selection_of(order, below, level)
                value, own = reading.pool_sums.base + reading.pool_sums.population[1], 0.0
                if selection.queries.size:
                    sample = evidence_of(followed, reading, judge, selection)
                    if sample.values.size:
                        value, _, _, own = sample.solved(np.empty(sample.values.size))
                        value += sample.base
                    else:
                        value = sample.base + sample.population[1]
                mean, second, variance = mean + chance * value, second + chance * value**2, variance + chance * own
            assert mean == pytest.approx(truth, rel=1e-11, abs=1e-12)
            assert variance == pytest.approx(second - mean**2, rel=1e-8, abs=1e-11)


@pytest.mark.parametrize("name", ["nDCG@2", "ERR", "RR(rel=2)@2"])
def test_a_hard_budget_leaves_the_difference_form_unbiased(name):
    """Over all that the threshold rule may draw, by integration over the level of the first unit that is not paid."""
    for kind in ("sure", "wrong"):
        design = design_of(MEASURES[name], False, kind, lengths=(2, 4))
        labels = np.array([1, 0, 2, 0, 1, 0])
        followed = design.followed(labels)
        (reading,) = followed.readings
        budget = float(followed.order.dearest_units.max()) + 0.3
        total, mean, _, _ = over_thresholds(followed, reading, labels, budget)
        assert total == pytest.approx(1, abs=1e-9)
        assert mean == pytest.approx(float(design.pool.query_probs @ design.target.values(labels)), abs=1e-9)


@each_once(("compare", [False, True]), ("name", MEASURES))
def test_no_label_matters_behind_a_stop(name, compare):
    """Whatever the dead places' labels are, the value is one; and rates never rise, nor fall below a floor."""
    design = design_of(MEASURES[name], compare)
    order = design.order
    for labels in label_sets(design.pool.n_items):
        followed = design.followed(labels)
        is_dead = followed.order.dead & (order.place_rates > 0)
        values = design.target.values(labels)
        items = order.items[is_dead]
        for other in itertools.product(range(3), repeat=min(items.size, 4)):
            changed = labels.copy()
            changed[items[: len(other)]] = other
            assert design.target.values(changed) == pytest.approx(values, abs=1e-12)
            again = design.followed(changed)
            np.testing.assert_array_equal(again.order.place_rates, followed.order.place_rates)
        assert not followed.order.costs[is_dead].any()
        for first, last in itertools.pairwise(order.offsets.tolist()):
            path = followed.order.place_rates[first:last]
            wanted = order.place_rates[first:last] > 0
            assert np.all(np.diff(path[wanted]) <= 0)
            assert np.all(path[wanted] >= order.floors[first:last][wanted] * (1 - 1e-6) * 1e-3)


@pytest.mark.kernel
def test_a_place_has_its_rate_from_the_labels_before_it_alone():
    """As a campaign sees them: of labels down to a depth the next place's rate is that of all labels, deeper ones 0."""
    design = design_of(NDCG("exp", cutoff=2), True)
    order, wanted = design.order, wanted_of(design.order)
    for labels in label_sets(7):
        whole = design.followed(labels).order.place_rates
        for depth in range(1, int(wanted.max()) + 1):
            hidden = np.where(np.isin(np.arange(7), order.items[_numbers(order) < depth]), labels, -1)
            seen = design.followed(hidden, np.full(2, depth)).order
            is_next = _numbers(order) <= depth
            np.testing.assert_array_equal(seen.place_rates[is_next], whole[is_next])
            behind = ~is_next & ~seen.dead
            assert not seen.place_rates[behind].any()


def _numbers(order):
    return np.arange(order.items.size) - order.offsets[order.place_queries]


@pytest.mark.kernel
def test_without_looks_the_design_is_todays():
    pool_design, plain = design_of(RR(), looks="off"), design_of(RR(), looks="off", method="depth_plain")
    assert pool_design.history is None
    assert pool_design.followed(np.zeros(7, dtype=int)) is pool_design
    np.testing.assert_array_equal(pool_design.order.place_rates, plain.order.place_rates)


@pytest.mark.kernel
def test_a_query_that_found_what_it_looks_for_is_left():
    """RR stops at its first relevant item; nothing behind it is paid."""
    design = design_of(RR(1, 4), lengths=(3, 4))
    relevant, none = np.full(7, 2), np.zeros(7, dtype=int)
    alive = ~design.followed(relevant).order.dead & (design.order.place_rates > 0)
    assert np.bincount(design.order.place_queries, alive).tolist() == [1, 1]
    assert not (design.followed(none).order.dead & (design.order.place_rates > 0)).any()
    assert design.followed(relevant).order.cost == pytest.approx(2 + design.order.overheads.sum())


@pytest.mark.statistical
def test_depths_that_follow_labels_are_unbiased_where_few_queries_have_anything_relevant():
    """RR, a uniform model, budgets that pay for the first places of all queries.

    A bias of .15 of the error is four of its standard errors: one run in 10,000 would fail by chance.
    """
    random, n, k, repetitions = np.random.default_rng(3), 300, 20, 800
    pool = pool_of([k] * n)
    shares = np.where(random.random(n) < 0.4, 0.02, random.beta(1.5, 1.5, n))
    grades = (random.random(n * k) < np.repeat(shares, k)).astype(np.int64)
    target = Target(RR(), Rankings.from_scores(pool, -np.tile(np.arange(k), n)))
    design = METHODS["depth"].looking("each").design(target, np.full((n * k, 2), 0.5))
    drawn = replicate(design, grades, [0.2 * n * k], repetitions, 1)
    truth = float(pool.query_probs @ target.values(grades))
    errors = drawn.values[:, 0] - truth
    assert abs(errors.mean()) < 0.15 * math.sqrt((errors**2).mean())
    assert ((drawn.lows <= truth) & (truth <= drawn.highs)).mean() > 0.93  # of .95: below by 2.6 standard errors


def test_what_cannot_be_is_refused():
    with pytest.raises(InputError, match="adaptive_depth must be one of"):
        METHODS["depth"].looking("2")
    with pytest.raises(InputError, match="'items' does not"):
        METHODS["items"].looking("each")
    design = design_of(RR())
    with pytest.raises(InputError, match="has no budget"):
        Campaign(design)
    other = Target(Success(2), design.target.ranking)
    with pytest.raises(InputError, match="name it when the sample is drawn"):
        design.reading(other)


def test_the_control_of_the_tail_is_what_its_equation_says():
    """Σ_{k>H} e_k / G_k − 1[H judged] / G_H Σ_{k>H} e_k, and planned depths' Σ e_k / G_k − Σ e_k, by plain loops."""
    design = design_of(NDCG("exp", cutoff=2), False)
    labels = np.array([1, 0, 0, 0, 1, 0, 2])
    followed = design.followed(labels)
    (reading,), order = followed.readings, followed.order
    level = 1.0 / order.query_rates.max()
    for q, tail in enumerate(reading.tails.tolist()):
        first, last = order.offsets[q : q + 2].tolist()
        lowest = labels.copy()
        lowest[order.items[first + tail : last]] = 0
        path = reading.unseen.judge(lowest).f[first:last]
        steps = np.diff(path[tail - 1 :])
        g = np.minimum(1, level * order.place_rates[first:last]) / min(1, level * order.query_rates[q])
        for depth in range(1, last - first + 1):
            parts = [(), ()]
            parts[q] = tuple(range(depth))
            shown = reading.judge(labels).totals(selection_of(order, parts, level))
            by_hand = -steps.sum() / g[tail - 1] if depth >= tail else 0.0
            by_hand += sum(steps[k - tail] / g[k] for k in range(tail, depth))
            whole = np.diff([reading.predictions[q], *reading.lowest[first:last]])
            by_hand += sum(whole[k] / g[k] for k in range(depth)) - whole.sum()
            assert shown.totals[0, 3] == pytest.approx(by_hand, rel=1e-10, abs=1e-13)
            assert bool(shown.beyond[0]) == (depth > tail)
            value, _ = prefix_value([reading.predictions[q], *reading.judge(labels).judge.f[first : first + depth]], g)
            assert shown.totals[0, 0] == pytest.approx(value, rel=1e-12)


def test_a_measure_without_an_ideal_keeps_the_control_of_its_whole_list():
    """Its third regressor rests on no tail: nothing of it is left out where few queries were judged deep."""
    design = design_of(ERR(2))
    labels = np.array([1, 0, 0, 0, 1, 0, 2])
    (reading,) = design.followed(labels).readings
    order, level = reading.order, 1.0 / reading.order.query_rates.max()
    shown = reading.judge(labels).totals(selection_of(order, [(0,), (0, 1)], level))
    planned = design.readings[0].judge(labels).totals(selection_of(order, [(0,), (0, 1)], level))
    assert shown.beyond is None
    assert planned.beyond is None
    assert shown.totals[:, 3].any()
