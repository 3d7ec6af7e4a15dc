"""Levels: the queue that they make, the threshold that ends it, and that T may be used as if it had been fixed.

The kernels are held against the definition of levels in plain Python (`naive.place_levels`), the definition against its
law, and the estimators against that law: all samples that a hard budget may end with, integrated over T.
"""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from core_cases import uneven_pool
from naive import (
    Roots,
    fixed_samples,
    id_hashes,
    number_of,
    over_thresholds,
    paid_units,
    query_law,
    queue_of,
    random_probs,
    rankings_of,
    roots_of,
    threshold_samples,
)
from scipy.stats import chi2

from activeeval import AP, DCG, ERR, METHODS, NDCG, RBP, Target
from activeeval.core.design import Levels, levels
from activeeval.core.pool import key_of
from activeeval.report.message_lookup import text_of

pytestmark = pytest.mark.kernel

LEVELLED = ("random", "whole", "depth_plain", "items_plain")
LENGTHS, OVERHEADS = (2, 1, 3, 2), (1.0, 0.0, 2.0, 0.5)


def case_of(seed, method, measure=None, lengths=LENGTHS, overheads=OVERHEADS, compare=False, judged=None):
    """Return a plain design on a small pool with unequal costs and p, and labels that the model knows nothing of.

    In a comparison the lists of the first query are equal, so that its value is certain.
    """
    random = np.random.default_rng(seed)
    pool, n = uneven_pool(random, lengths, overheads), sum(lengths)
    first = [random.permutation(k).tolist() for k in lengths]
    second = [first[0], *(one[::-1][: max(len(one) - 1, 0)] for one in first[1:])]
    target = Target(measure or DCG(), *(rankings_of(pool, one) for one in (first, second)[: 1 + compare]))
    design = METHODS[method].design(target, random_probs(random, n, 3), judged=judged)
    return replace(design, is_fitted=False), random.integers(0, 3, n)


def by_hand(order, random):
    """Return an order with other roots: some equal, some 0 or, where places follow each other, the rest of them."""
    roots, query_roots = np.zeros(order.items.size), np.zeros(order.n_queries)
    for q, (first, last) in enumerate(itertools.pairwise(order.offsets.tolist())):
        own = random.choice([0.3, 0.7, 1.1, *random.uniform(0.2, 2, 3)], last - first)
        own[random.random(last - first) < 0.2] = 0.0
        if order.is_nested:
            own = np.minimum.accumulate(own)
        query_roots[q] = max(own, default=0.0) * random.choice([1.0, 1.5])
        if own.any() and not order.is_nested and order.overheads[q] == 0:
            query_roots[q] = np.inf
        roots[first:last] = own
    return replace(order, place_rates=roots, query_rates=query_roots)


def numbers_of(order, key):
    """u and v of every query under a key, from the ids alone."""
    of_queries, of_items = id_hashes(order.pool)
    v = [number_of(key, of_items[z]) for z in order.items.tolist()]
    starts = order.offsets.tolist()
    return [(number_of(key, word), v[starts[q] : starts[q + 1]]) for q, word in enumerate(of_queries)]


def entered_below(order, key, level):
    roots = zip(order.query_rates.tolist(), numbers_of(order, key), strict=True)
    return [q for q, (root, (u, _)) in enumerate(roots) if root > 0 and u / root < level]


def orders():
    """Orders of all kinds, as methods make them and with roots by hand."""
    for seed, (method, compare) in enumerate(itertools.product(LEVELLED, (False, True))):
        order = case_of(seed, method, compare=compare)[0].order
        yield order
        for other in range(3):
            yield by_hand(order, np.random.default_rng(10 * seed + other))


# The law of the definition


@pytest.mark.parametrize(
    ("root", "nested"), [*itertools.product([Fraction(3), Fraction(2)], [False, True]), (math.inf, False)]
)
def test_every_place_is_below_a_level_with_its_own_probability(root, nested):
    """P(s_i < κ) = min(1, κ r_i) and the chances sum to 1, exactly; also where κ r is above 1."""
    roots = (Fraction(2), Fraction(2), Fraction(3, 5), Fraction(1, 7), Fraction(0))
    query = Roots(root, roots if nested else roots[::-1], (1,) * 5, 1, nested)
    for level in (Fraction(1, 9), Fraction(3, 8), Fraction(3, 4), Fraction(2), Fraction(6), Fraction(8)):
        law = {own: chance for (own, at), chance in query_law(query, level).items() if not at}
        assert sum(law.values()) == 1
        for i, own_root in enumerate(query.places):
            assert sum(chance for own, chance in law.items() if i in own) == min(1, level * own_root)
        if nested:
            assert all(own == tuple(range(len(own))) for own in law)


# Kernels against the definition


def test_the_queue_is_that_of_the_definition():
    """Units, their places, levels and costs in plain loops over the numbers of the ids, to the last bit of a level."""
    n_joined = 0
    for number, order in enumerate(orders()):
        queries = roots_of(order)
        for key in (np.uint64(number), key_of(number)):
            expected = queue_of(queries, numbers_of(order, key))
            queue = Levels().below(order, key, math.inf)
            assert queue.unit_levels.tolist() == [level for level, *_ in expected]
            assert queue.unit_queries.tolist() == [q for _, q, *_ in expected]
            assert queue.unit_costs == pytest.approx([cost for *_, cost in expected], rel=1e-12)
            found = [tuple((queue.places_of(k) - order.offsets[q]).tolist()) for k, (_, q, *_) in enumerate(expected)]
            assert found == [places for _, _, places, _ in expected]
            n_joined += sum(len(places) > 1 for places in found)
    assert n_joined > 30


@pytest.mark.parametrize("limit", [0.05, 0.4, 0.9, 2.0])
def test_looking_below_a_limit_finds_the_beginning_of_the_queue(limit):
    for number, order in enumerate(orders()):
        key = key_of(number)
        whole, part = (Levels().below(order, key, one) for one in (math.inf, limit))
        n = int(np.searchsorted(whole.unit_levels, limit))
        assert part.unit_levels.tolist() == whole.unit_levels[:n].tolist()
        assert part.unit_costs.tolist() == whole.unit_costs[:n].tolist()
        for k in range(n):
            assert part.places_of(k).tolist() == whole.places_of(k).tolist()
        assert set(part.unit_queries.tolist()) <= set(entered_below(order, key, limit))


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 1.0001, 1.3])
def test_a_budget_takes_the_lowest_units_up_to_the_first_it_cannot_pay(share):
    """Never on to a cheaper one; T is the level of that first one, whatever limit was looked up to."""
    for number, order in enumerate(orders()):
        budget, key = share * order.cost, key_of(number)
        queue = Levels().queue(order, key, budget)
        units, level = paid_units(queue_of(roots_of(order), numbers_of(order, key)), budget)
        n = int(queue.paid(np.array([budget]))[0])
        chosen = queue.selection(n)
        below = sorted(int(order.offsets[q]) + i for _, q, places, _ in units for i in places)
        assert chosen.level == level == queue.level_after(n)
        assert chosen.places.tolist() == below
        assert chosen.cost == pytest.approx(sum(cost for *_, cost in units), rel=1e-12)
        assert chosen.cost <= budget * (1 + 1e-12)
        assert chosen.queries.tolist() == sorted({q for _, q, *_ in units})
        assert set(chosen.queries.tolist()) <= set(entered_below(order, key, level))
        owners = np.repeat(chosen.queries, chosen.counts)
        assert owners.tolist() == order.place_queries[chosen.places].tolist()
        if share >= 1:
            assert level == math.inf


@pytest.mark.parametrize("method", LEVELLED)
def test_a_budget_that_a_unit_uses_up_exactly_pays_for_it(method):
    """Though sums in another order differ in their last bits."""
    order = case_of(7, method)[0].order
    queue = Levels().below(order, key_of(7), math.inf)
    for k in range(queue.unit_costs.size):
        exact = math.fsum(queue.unit_costs[: k + 1].tolist())
        backwards = float(np.cumsum(queue.unit_costs[k::-1])[-1])
        budgets = np.array([exact * (1 - 1e-9), exact * (1 - 2e-16), exact, backwards, exact * (1 + 1e-9)])
        assert queue.paid(budgets).tolist() == [k, k + 1, k + 1, k + 1, k + 1]


# Exactness: no budget biases the answer, nor its variance

COMPARED = {"compare": True, "lengths": (2, 2, 3, 2, 1), "overheads": (1, 0, 2, 1, 0)}
CASES = {
    "random": ("random", ERR(2), {}),
    "whole, DCG": ("whole", DCG(), {}),
    "whole, one certain": (
        "whole",
        NDCG(cutoff=2),
        {"compare": True, "lengths": (2, 1, 3, 2, 2), "overheads": (1, 0, 2, 0.5, 0)},
    ),
    "depth, ERR": ("depth_plain", ERR(2), {}),
    "depth, ERR, one certain": ("depth_plain", ERR(2), COMPARED),
    "depth, nDCG": ("depth_plain", NDCG(cutoff=2), {}),
    "depth, AP, no overhead": ("depth_plain", AP(), {"overheads": (0, 0, 0, 0)}),
    "depth, DCG": ("depth_plain", DCG(), {"overheads": (3, 0, 1, 3)}),
    "items": ("items_plain", DCG(), {}),
    "items, one certain": ("items_plain", DCG(), COMPARED),
    "items, no overhead": ("items_plain", RBP(0.7, gains="linear"), {"lengths": (2, 1, 2), "overheads": (0, 0, 0)}),
    "items, dear queries": ("items_plain", DCG(cutoff=2), {"overheads": (4, 4, 3, 5)}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_value_and_variance_are_exactly_unbiased_under_a_hard_budget(name, seed):
    """E[R̂] = R wherever the dearest unit fits, E[V̂] = Var R̂ wherever any two do, whatever labels and model are."""
    method, measure, fields = CASES[name]
    design, grades = case_of(seed, method, measure, **fields)
    reading, pool = design.readings[0], design.pool
    truth = pool.query_probs @ reading.target.values(grades)
    dearest = design.order.dearest_units.max()
    two, total = design.order.two_dearest, design.cost
    for budget in (dearest * (1 + 1e-9), two * (1 + 1e-9), 0.98 * total):
        assert budget < total
        mass, mean, variance, estimated = over_thresholds(design, reading, grades, budget)
        assert mass == pytest.approx(1, abs=1e-12)
        assert mean == pytest.approx(truth, abs=1e-10)
        assert variance > 1e-6
        if budget > two:
            assert estimated == pytest.approx(variance, abs=1e-10)


@pytest.mark.statistical
def test_hard_budgets_of_many_keys_end_as_the_integral_says():
    """Chi-square of what lies below T, and the mean of 1/(1 + T) within 4.2 standard errors, 1,500 keys.

    With other keys 1 run in 10,000 would fail.
    """
    order = case_of(6, "items_plain")[0].order
    budget, law, mean = 0.6 * order.cost, {}, 0.0
    for chance, below, level in threshold_samples(roots_of(order), budget):
        law[below] = law.get(below, 0.0) + chance
        mean += chance / (1 + level)
    found, levels = dict.fromkeys(law, 0), []
    for key in range(1500):
        queue = Levels().queue(order, key_of(key), budget)
        chosen = queue.selection(int(queue.paid(np.array([budget]))[0]))
        taken = set(chosen.places.tolist())
        spans = itertools.pairwise(order.offsets.tolist())
        found[tuple(tuple(i - a for i in range(a, b) if i in taken) for a, b in spans)] += 1
        levels.append(1 / (1 + chosen.level))
    rare = {below for below, chance in law.items() if 1500 * chance < 5}
    expected = [1500 * law[below] for below in law if below not in rare]
    counts = [found[below] for below in law if below not in rare]
    if rare:
        expected.append(1500 - sum(expected))
        counts.append(1500 - sum(counts))
    assert len(counts) > 5
    distance = sum((count - own) ** 2 / own for count, own in zip(counts, expected, strict=True))
    assert chi2.sf(distance, len(counts) - 1) > 5e-5
    assert abs(np.mean(levels) - mean) <= 4.2 * np.std(levels) / math.sqrt(1500)


@pytest.mark.parametrize("overheads", [OVERHEADS, (0.0, 0.0, 0.0, 0.0)])
@pytest.mark.parametrize("method", ["depth_plain", "items_plain"])
def test_a_budget_below_any_two_units_is_warned_of(method, overheads):
    """Two items of one query are two units where turning to it is free."""
    design, _ = case_of(1, method, overheads=overheads)
    own = np.split(design.pool.item_costs / design.pool.item_costs.mean(), np.cumsum(LENGTHS)[:-1])
    over = np.array(overheads) / design.pool.item_costs.mean()
    units = []
    for costs, overhead in zip(own, over, strict=True):
        units += costs.tolist() if method == "items_plain" and not overhead else [costs.sum() + overhead]
    two = sum(sorted(units)[-2:])
    (caution,) = design.with_budget(0.999 * two, ()).cautions
    told = text_of(caution)
    assert told.startswith(f"budget {0.999 * two:g} is below what two units may take together, {two:g}: the error")
    assert design.with_budget(1.001 * two, ()).cautions == ()
    assert design.with_budget(2 * design.cost, ()).cautions == ()


def test_the_dearest_unit_is_all_that_may_come_at_once():
    """With its overhead all of a query; where turning to it is free an item alone, unless a prefix is judged."""
    expected = {"depth_plain": [], "items_plain": []}
    for method, found in expected.items():
        design, _ = case_of(2, method)
        order, mean = design.order, design.pool.item_costs.mean()
        for q, overhead in enumerate(OVERHEADS):
            own = design.pool.item_costs[design.pool.query_offsets[q] : design.pool.query_offsets[q + 1]]
            alone = method == "items_plain" and overhead == 0
            found.append((own.max() if alone else own.sum() + overhead) / mean)
        assert order.dearest_units == pytest.approx(found)
        for budget in (0.4 * order.cost, 0.8 * order.cost):
            for _, below, _ in itertools.islice(threshold_samples(roots_of(order), budget, 2), 300):
                assert sum(map(Roots.cost, roots_of(order), below)) <= budget


@pytest.mark.parametrize("method", LEVELLED)
def test_the_expected_cost_of_a_level_is_that_of_all_its_samples(method):
    """By enumeration; `level_for` turns it round."""
    order = case_of(4, method)[0].order
    queries = roots_of(order)
    for level in (0.3, 1.0, 2.5, 9.0):
        samples = list(fixed_samples(queries, level))
        assert sum(chance for chance, _ in samples) == pytest.approx(1)
        cost = sum(
            chance * sum(query.cost(own) for query, own in zip(queries, below, strict=True))
            for chance, below in samples
        )
        assert order.expected_cost(level) == pytest.approx(cost, rel=1e-12)
        if cost < order.cost * (1 - 1e-9):
            assert order.expected_cost(order.level_for(cost)) == pytest.approx(cost, rel=1e-9)
    assert order.level_for(order.cost) == math.inf
    assert order.expected_cost(1e9) == pytest.approx(order.cost)


@pytest.mark.parametrize("scale", [1e-200, 1e-40, 1e40, 1e200])
def test_the_level_of_a_cost_is_found_however_large_the_roots_are(scale):
    """A level of 0 would be doubled for ever where it pays for too little."""
    order = case_of(4, "items")[0].order
    scaled = replace(order, place_rates=order.place_rates * scale, query_rates=order.query_rates * scale)
    level, cost = order.level_for(order.cost / 3), order.cost / 3
    assert scaled.level_for(cost) == pytest.approx(level / scale, rel=1e-9)


@pytest.mark.parametrize("limit", [0.01, 0.5, math.inf])
def test_many_keys_at_once_take_what_each_takes_alone(monkeypatch, limit):
    """Whatever level they look up to at first, and however little room there is for what comes."""
    for number, order in enumerate(orders()):
        monkeypatch.setattr(levels, "_ROOM", (1.2, 0.0)[number % 2])
        keys = np.array([key_of(seed) for seed in range(4)])
        budgets = np.array([0.3, 0.6]) * order.cost
        seen = []
        for which, paid in Levels().samples(order, keys, budgets, limit):
            seen += which.tolist()
            for row, r in enumerate(which.tolist()):
                queue = Levels().queue(order, keys[r], budgets[-1])
                for budget, found in zip(budgets, paid, strict=True):
                    alone = queue.selection(int(queue.paid(np.array([budget]))[0]))
                    own = found.owners == row
                    assert found.queries[own].tolist() == alone.queries.tolist()
                    assert found.counts[own].tolist() == alone.counts.tolist()
                    assert set(found.levels[own].tolist()) <= {alone.level}
                    assert found.places[np.repeat(own, found.counts)].tolist() == alone.places.tolist()
                    assert found.costs[row] == alone.cost
        assert sorted(seen) == list(range(4))
