"""A campaign: units to judge, blocks to read, a budget that can grow, a log that says it all."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from each_once import each_once
from naive import PAPER, id_hashes, number_of, pool_of, random_lists, random_probs, rankings_of

from activeeval import (
    DCG,
    ERR,
    METHODS,
    ActiveEvalError,
    Additive,
    BudgetError,
    Campaign,
    InputError,
    Rankings,
    StateError,
    Target,
    replicate,
)
from activeeval.core.estimation import GroupSequential
from activeeval.core.estimation.significance import mean_interval
from activeeval.core.pool import PoolGrades
from activeeval.core.simulation.replications import repetition_seeds
from activeeval.formats.sample_file import from_arrays, to_arrays
from activeeval.report.message_lookup import line_of, text_of

pytestmark = pytest.mark.kernel

LEVELLED = ("random", "whole", "depth_plain", "depth", "items_plain", "items")


def labelled(seed=0, method="items", n_queries=25, measure=None, compare=False, judged=None, **fields):
    """Return a design on a pool with unequal costs, and the pool's labels."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 7, n_queries).tolist()
    pool = pool_of(
        lengths,
        item_costs=random.uniform(0.5, 2, sum(lengths)),
        query_costs=random.choice([0.0, 1.0, 3.0], n_queries),
        query_probs=random.dirichlet(np.full(n_queries, 6.0)),
    ).replace(**fields)
    lists = [rankings_of(pool, random_lists(random, lengths, least=1)) for _ in range(2)]
    measure = measure or (DCG() if "items" in method else ERR(4))
    target = Target(measure, lists[0], lists[1] if compare else None)
    probs = random_probs(random, pool.n_items, 5)
    labels = np.array([random.choice(5, p=row) for row in probs])
    return METHODS[method].design(target, probs, judged=None if judged is None else judged(labels)), labels


def judge(campaign, labels, steps=math.inf):
    """Ask and tell until the end, or for a number of units."""
    while steps > 0 and (unit := campaign.ask()) is not None:
        campaign.tell(unit, labels[list(unit.items)].tolist())
        steps -= 1
    return campaign


def same(one, other):
    """Whether two campaigns are in the same state, bit for bit."""
    assert (one.log, one.spent, one.ended, one.waiting) == (other.log, other.spent, other.ended, other.waiting)
    assert one.grades.tolist() == other.grades.tolist()
    return True


def figures(estimate):
    """Return what an estimate says, but for the part of the budget that it rests on."""
    return replace(estimate, share=1.0)


# Budgets


@pytest.mark.parametrize("method", METHODS)
def test_a_budget_is_never_exceeded_and_nearly_spent(method):
    """40 seeds, unequal costs: never above; below by no more than the first unit that it could not pay."""
    design, _ = labelled(1, method)
    left = []
    for seed in range(40):
        budget = design.cost * (0.3 + 0.015 * seed)
        campaign = Campaign(design, budget, rng=seed)
        while campaign.ask() is not None:
            pass
        assert campaign.spent <= budget * (1 + 1e-12)
        assert campaign.spent == pytest.approx(sum(unit.cost for unit in campaign.planned))
        left.append((budget - campaign.spent) / budget)
        items = [item for unit in campaign.planned for item in unit.items]
        assert len(items) == len(set(items))
        if design.scheme.can_be_topped_up:
            more = Campaign(design, min(2 * budget, 2 * design.cost), rng=seed)
            nxt = more.planned[len(campaign.planned)]
            assert campaign.spent + nxt.cost > budget
            assert campaign.ended == f"the next unit, of query {nxt.query_id!r}, exceeds the budget"
    assert np.mean(left) < 0.1


@pytest.mark.parametrize("method", METHODS)
def test_a_budget_below_the_dearest_unit_is_refused_with_numbers(method):
    design, _ = labelled(method=method)
    costs = np.array(design.order.dearest_units)
    if not design.scheme.can_be_topped_up:
        costs = design.scheme.draws_of(design.order).costs
    needed = float(costs.max())
    with pytest.raises(BudgetError, match=f"{needed:g} for 'q{costs.argmax()}'") as problem:
        Campaign(design, 0.999 * needed)
    assert (problem.value.budget, problem.value.needed) == (0.999 * needed, needed)
    assert 0 < sum(unit.cost for unit in Campaign(design, needed).planned) <= needed * (1 + 1e-12)
    if design.scheme.can_be_topped_up:
        with pytest.raises(BudgetError):
            Campaign(design, 3 * needed, blocks=[0.9 * needed])


@each_once(("budget", [0, -2.0, np.nan, np.inf]), ("method", METHODS))
def test_a_budget_is_a_positive_number(method, budget):
    with pytest.raises(InputError, match="the budget must be a positive number, got"):
        Campaign(labelled(method=method)[0], budget)


def test_a_campaign_needs_a_budget():
    for method in ("active", "items"):
        with pytest.raises(InputError, match=f"the design of '{method}' has no budget: give one"):
            Campaign(labelled(method=method)[0])


@pytest.mark.parametrize("method", METHODS)
def test_a_budget_for_everything_is_a_census(method):
    """The exact value, without an error; every item once."""
    design, labels = labelled(2, method)
    campaign = judge(Campaign(design, design.cost), labels)
    estimate = campaign.estimate()
    assert estimate.value == pytest.approx(design.pool.query_probs @ design.target.values(labels), rel=1e-12)
    assert (estimate.std_error, estimate.interval().low) == (0, estimate.value)
    assert estimate.cost == pytest.approx(design.cost)
    wanted = design.order.items[design.order.place_rates > 0] if design.scheme.can_be_topped_up else design.order.items
    assert sorted(item for unit in campaign.units for item in unit.items) == sorted(wanted.tolist())


# Units


@pytest.mark.parametrize("method", LEVELLED)
def test_units_come_by_level_in_blocks_and_hold_what_the_order_says(method):
    design, _ = labelled(3, method)
    design = design.with_budget(0.6 * design.cost, [0.25 * design.cost, 0.4 * design.cost])
    campaign = Campaign(design, rng=4)
    units = list(iter(campaign.ask, None))
    assert campaign.ask() is None
    assert campaign.log[-1].kind == "ended"
    assert [unit.number for unit in units] == list(range(1, len(units) + 1))
    assert [unit.level for unit in units] == sorted(unit.level for unit in units)
    spent, order, seen = 0.0, design.order, set()
    for unit in units:
        spent += unit.cost
        assert unit.block == 1 + sum(spent > end * (1 + 1e-12) for end in design.blocks)
        places = [int(np.flatnonzero(order.items == item)[0]) for item in unit.items]
        assert {order.place_queries[i] for i in places} == {unit.query}
        overhead = 0.0 if unit.query in seen else order.overheads[unit.query]
        assert unit.cost == pytest.approx(order.costs[places].sum() + overhead)
        assert unit.query_id == f"q{unit.query}"
        assert unit.item_ids == tuple(design.pool.item_ids[list(unit.items)])
        seen.add(unit.query)
    assert {unit.block for unit in units} == {1, 2, 3}


def test_quarters_of_the_budget_end_blocks_as_far_as_they_pay_for_a_unit():
    design, _ = labelled(3, "depth")
    dearest = design.order.dearest_units.max()
    assert design.with_budget(4 * dearest).blocks == pytest.approx([dearest, 2 * dearest, 3 * dearest, 4 * dearest])
    assert design.with_budget(3 * dearest).blocks == pytest.approx([1.5 * dearest, 2.25 * dearest, 3 * dearest])
    assert design.with_budget(dearest).blocks == (dearest,)
    with pytest.raises(InputError, match="the budgets of blocks must ascend, got"):
        design.with_budget(4 * dearest, [3 * dearest, 2 * dearest])
    paper, _ = labelled(3, "active")
    assert paper.with_budget(paper.cost / 2).blocks == (paper.cost / 2,)


def test_a_query_with_nothing_to_judge_is_not_asked_for():
    pool = pool_of([2, 2, 2, 2])
    target = Target(DCG(), rankings_of(pool, [[0, 1], [], [1], []]))
    for method in ("passive", "random"):
        campaign = Campaign(METHODS[method].design(target), 2.9, rng=0)
        campaign.run(lambda query_id, item_ids: [1] * len(item_ids))
        assert {unit.query for unit in campaign.units} <= {0, 2}
        assert all(unit.items for unit in campaign.units)


def test_run_asks_the_judge_for_the_items_of_each_unit():
    design, labels = labelled(7, "depth")
    places, seen = design.pool.item_positions(), []

    def judged(query_id, item_ids):
        seen.append((query_id, tuple(item_ids)))
        return [int(labels[places[int(query_id[1:]), item]]) for item in item_ids]

    campaign = Campaign(design, design.cost / 2, rng=3)
    estimate = campaign.run(judged)
    assert estimate == judge(Campaign(design, design.cost / 2, rng=3), labels).estimate()
    assert seen == [(unit.query_id, unit.item_ids) for unit in campaign.units]


# More of one sample


@pytest.mark.parametrize("method", LEVELLED)
def test_a_sample_topped_up_is_the_larger_sample_label_by_label(method):
    """100 and 50 more are 150: the same units but for their blocks, the same grades, the same estimate."""
    design, labels = labelled(4, method, n_queries=60)
    assert design.cost > 160
    blocks = [40.0, 70.0]
    small = judge(Campaign(design, 100, rng=5, blocks=blocks), labels)
    first = small.estimate()
    topped = small.topped_up(50)
    assert topped.grades.tolist() == small.grades.tolist()
    assert topped.design.blocks == (40.0, 70.0, 100.0, 150.0)
    assert figures(topped.estimate()) == first
    assert topped.estimate().share == pytest.approx(100 / 150)
    judge(topped, labels)
    large = judge(Campaign(design, 150, rng=5, blocks=[*blocks, 100.0]), labels)
    assert topped.log == (*(e for e in large.log if e.kind != "ended"), large.log[-1])
    assert topped.units == large.units
    assert topped.units[: len(small.units)] == small.units
    assert topped.estimate() == large.estimate()
    assert topped.spent > small.spent
    plain = judge(Campaign(design, 150, rng=5), labels)
    assert plain.estimate() == large.estimate()
    assert [unit.items for unit in plain.units] == [unit.items for unit in large.units]


def test_what_a_budget_leaves_over_is_carried_to_the_top_up():
    design, labels = labelled(4, "depth", n_queries=60)
    small = judge(Campaign(design, 60, rng=5), labels)
    needed = Campaign(design, 70, rng=5).planned[len(small.units)].cost
    assert small.spent + needed > 60
    assert len(small.topped_up(small.spent + needed - 60 + 1e-9).planned) == len(small.units) + 1


def test_draws_with_replacement_have_one_planned_end():
    design, labels = labelled(4, "active")
    campaign = judge(Campaign(design, design.cost / 2, rng=5), labels)
    with pytest.raises(InputError, match="'active' draws with replacement to one planned end: it cannot be topped up"):
        campaign.topped_up(10)
    with pytest.raises(InputError, match="draws with replacement to one planned end"):
        Campaign(design, design.cost / 2, blocks=[design.cost / 3])
    with pytest.raises(InputError, match="the design has no budget to top up: set one with with_budget"):
        design.topped_up(10)
    with pytest.raises(InputError, match="'items' has a hard budget: an expected one is for draws with replacement"):
        labelled(4, "items")[0].with_budget(10, expected=True)


# Reading


@pytest.mark.parametrize("method", LEVELLED)
def test_a_block_is_read_once_it_is_complete_as_the_sample_of_its_budget(method):
    """Before the first is complete nothing is read; later the reading is that of a campaign with the block's budget."""
    design, labels = labelled(5, method, n_queries=40)
    blocks = [0.2 * design.cost, 0.35 * design.cost]
    campaign = Campaign(design, 0.5 * design.cost, rng=6, blocks=blocks)
    smaller = [judge(Campaign(design, end, rng=6, blocks=[]), labels) for end in (*blocks, 0.5 * design.cost)]
    ends = [len(one.units) for one in smaller]
    done = 0
    while (unit := campaign.ask()) is not None:
        if done < ends[0]:
            with pytest.raises(StateError, match="the first block is not complete, so no estimate"):
                campaign.estimate()
        campaign.tell(unit, labels[list(unit.items)].tolist())
        done += 1
        if done in ends:
            k = ends.index(done)
            assert figures(campaign.estimate()) == smaller[k].estimate()
            assert campaign.estimate().share == pytest.approx((0.2, 0.35, 0.5)[k] / 0.5)
            assert bool(campaign.estimate().cautions) >= (k < 2)
        elif done > ends[0]:
            before = max(end for end in ends if end < done)
            assert figures(campaign.estimate()) == smaller[ends.index(before)].estimate()


def test_the_order_of_judging_inside_a_block_does_not_matter():
    design, labels = labelled(5, "items", n_queries=40)
    straight, mixed = (Campaign(design, 0.5 * design.cost, rng=6) for _ in range(2))
    units = list(iter(mixed.ask, None))
    assert mixed.waiting == tuple(units)
    judge(straight, labels)
    random = np.random.default_rng(0)
    first = sum(unit.block == 1 for unit in units)
    in_block = random.permutation(first).tolist()
    for k in in_block[:-1]:
        mixed.tell(units[k], labels[list(units[k].items)].tolist())
        with pytest.raises(StateError, match=r"of its \d+ units \d+ wait for grades"):
            mixed.estimate()
    mixed.tell(units[in_block[-1]], labels[list(units[in_block[-1]].items)].tolist())
    early = judge(Campaign(design, design.with_budget(0.5 * design.cost).blocks[0], rng=6, blocks=[]), labels)
    assert figures(mixed.estimate()) == early.estimate()
    for k in random.permutation(np.arange(first, len(units))).tolist():
        mixed.tell(units[k], labels[list(units[k].items)].tolist())
    assert mixed.estimate() == straight.estimate()
    assert not mixed.waiting


def test_a_refusal_says_what_is_missing():
    design, labels = labelled(6, "depth")
    campaign = Campaign(design, 0.5 * design.cost, rng=0)
    n_first = sum(unit.block == 1 for unit in campaign.planned)
    text = f"of its {n_first} units {n_first} were not requested"
    with pytest.raises(StateError, match=text):
        campaign.estimate()
    first, second = campaign.ask(), campaign.ask()
    campaign.tell(first, labels[list(first.items)].tolist())
    text = f"{n_first - 2} were not requested and 1 wait for grades, the first is unit 2 of query {second.query_id!r}"
    with pytest.raises(StateError, match=text):
        campaign.estimate()


def test_strictly_by_level_the_lowest_waiting_unit_is_a_threshold_too():
    """The reading is that of a budget that pays for just the units before it."""
    design, labels = labelled(5, "items", n_queries=40)
    campaign = Campaign(design, 0.6 * design.cost, rng=6, blocks=[0.3 * design.cost])
    units = list(iter(campaign.ask, None))
    spent = 0.0
    for k, unit in enumerate(units[:-1]):
        campaign.tell(unit, labels[list(unit.items)].tolist())
        spent += unit.cost
        if spent > design.order.dearest_units.max() and k > 5:
            own = judge(Campaign(design, spent * (1 + 1e-9), rng=6, blocks=[]), labels).estimate()
            early = campaign.in_strict_order().estimate()
            assert figures(early) == own
            assert early.share == pytest.approx(spent / (0.6 * design.cost))
    campaign.retract(units[2].items[0])
    with pytest.raises(StateError):
        campaign.estimate()
    assert campaign.in_strict_order().estimate().n_items == sum(len(unit.items) for unit in units[:2])


def test_looks_at_the_ends_of_blocks_are_the_looks_of_a_group_sequential_interval():
    design, labels = labelled(5, "depth", n_queries=60)
    budget = 0.6 * design.cost
    campaign = judge(Campaign(design, budget, rng=repetition_seeds(3, 1)[0]), labels)
    found = campaign.interval(GroupSequential())
    run = replicate(design, labels, campaign.design.blocks, 1, rng=3, interval="group-sequential")
    assert (found.low, found.high) == (run.lows[0, -1], run.highs[0, -1])
    plain = campaign.estimate().interval()
    assert found.high - found.low > plain.high - plain.low


@pytest.mark.parametrize("method", PAPER)
def test_the_papers_draws_are_a_weighted_ratio(method):
    design, labels = labelled(5, method)
    campaign = judge(Campaign(design, 0.5 * design.cost, rng=6), labels)
    values = design.target.values(labels)
    drawn, _, _ = design.scheme.draws_of(design.order).run(campaign.key, 0.5 * design.cost)
    w = [design.pool.query_probs[q] / design.scheme.sampling_probs[q] for q in drawn]
    x = values[drawn].tolist()
    ratio = sum(a * b for a, b in zip(w, x, strict=True)) / sum(w)
    variance = sum((a * (b - ratio)) ** 2 for a, b in zip(w, x, strict=True)) / sum(w) ** 2
    estimate = campaign.estimate()
    assert estimate.value == pytest.approx(ratio, rel=1e-12)
    assert estimate.std_error == pytest.approx(math.sqrt(variance * len(w) / (len(w) - 1)), rel=1e-12)
    assert (estimate.n_draws, estimate.n_queries) == (drawn.size, len(set(drawn.tolist())))
    assert {unit.query for unit in campaign.units} == set(drawn.tolist())
    with pytest.raises(StateError, match="the first block is not complete"):
        judge(Campaign(design, 0.5 * design.cost, rng=6), labels, len(campaign.units) - 1).in_strict_order().estimate()


def test_redraws_are_free_and_still_count():
    design, labels = labelled(1, "active", n_queries=6)
    campaign = judge(Campaign(design, 0.7 * design.cost, rng=2), labels)
    estimate = campaign.estimate()
    assert estimate.n_draws > estimate.n_queries == len(campaign.units)
    assert estimate.cost == pytest.approx(sum(unit.cost for unit in campaign.units))
    assert estimate.n_items == sum(len(unit.items) for unit in campaign.units)


@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_an_expected_budget_gives_that_many_draws(n):
    design, labels = labelled(4, "active")
    budget = design.scheme.draws_of(design.order).expected_cost * (n + 0.5)
    campaign = judge(Campaign(design.with_budget(budget, expected=True), rng=1), labels)
    assert campaign.estimate().n_draws == n
    assert math.isinf(campaign.estimate().std_error) == (n == 1)
    with pytest.raises(BudgetError, match="does not pay for one draw"):
        design.with_budget(budget / (n + 0.5) * 0.99, expected=True)


# Telling


def test_tell_checks_what_it_is_told():
    design, labels = labelled(8, "depth")
    campaign = Campaign(design, design.cost / 2, rng=0)
    unit = campaign.ask()
    grades = labels[list(unit.items)].tolist()
    place = f"the grade of item '{unit.item_ids[0]}' of query '{unit.query_id}' must be one of 0 … 4, or None"
    for wrong in (5, -1, 1.5, True, "x", float("nan"), float("inf")):
        with pytest.raises(InputError, match=place):
            campaign.tell(unit, [wrong, *grades[1:]])
    with pytest.raises(InputError, match=f"has {len(grades)} items to judge, got {len(grades) + 1} grades"):
        campaign.tell(unit, [*grades, 0])
    for wrong in (3, "4", None):
        with pytest.raises(InputError, match="must be a list, one for each item"):
            campaign.tell(unit, wrong)
    assert campaign.waiting == (unit,)
    assert len(campaign.log) == 1  # nothing of what was refused is on record
    campaign.tell(unit, grades)
    with pytest.raises(StateError, match=f"unit 1 of query '{unit.query_id}' does not wait for grades"):
        campaign.tell(unit, grades)


def test_an_open_scale_takes_any_grade():
    pool = pool_of([2] * 6)
    campaign = Campaign(METHODS["random"].design(Target(DCG(), rankings_of(pool, [[0, 1]] * 6))), 6, rng=0)
    unit = campaign.ask()
    with pytest.raises(InputError, match=r"must be one of 0, 1, 2 …, or None if it cannot be judged, got -1"):
        campaign.tell(unit, [-1, 0])
    campaign.tell(unit, [17, 3.0])
    assert campaign.grades[list(unit.items)].tolist() == [17, 3]


def test_a_unit_of_another_campaign_is_refused():
    """Otherwise grades of one query are recorded for another one with as many items."""
    design = METHODS["random"].design(Target(DCG(), rankings_of(pool := pool_of([1] * 5), [[0]] * 5)))
    assert design.pool is pool
    campaign, other = (Campaign(design, 3, rng=seed) for seed in (0, 1))
    unit, foreign = campaign.ask(), other.ask()
    assert unit.number == foreign.number
    assert unit.query != foreign.query
    with pytest.raises(StateError, match="does not wait for grades"):
        campaign.tell(foreign, [1])
    with pytest.raises(StateError, match=r"item position \d belongs to no unit that was drawn"):
        campaign.judge(foreign.items[0], 1)


def test_a_later_judgment_takes_an_earlier_ones_place_and_what_is_retracted_waits_again():
    design, labels = labelled(9, "items")
    budget = 0.5 * design.cost
    plain = judge(Campaign(design, budget, rng=1), labels)
    campaign = judge(Campaign(design, budget, rng=1), labels)
    item = campaign.units[0].items[0]
    campaign.judge(item, (labels[item] + 1) % 5, judge="ann", at=12)
    assert campaign.estimate().value != plain.estimate().value
    last = campaign.log[-1]
    assert (last.kind, last.grade, last.judge, last.at) == ("judged", (labels[item] + 1) % 5, "ann", 12)
    campaign.judge(item, int(labels[item]), judge="bob")
    assert campaign.estimate() == plain.estimate()
    campaign.retract(item, judge="bob", at=13)
    last = campaign.log[-1]
    assert (last.kind, last.doc_id, last.judge, last.at) == (
        "retracted",
        campaign.design.pool.item_texts[item],
        "bob",
        13,
    )
    assert campaign.waiting == (campaign.units[0],)
    assert campaign.grades[item] == -1
    with pytest.raises(StateError, match="the first block is not complete"):
        campaign.estimate()
    campaign.judge(item, int(labels[item]))
    assert campaign.estimate() == plain.estimate()
    with pytest.raises(InputError, match="must be one of 0 … 4"):
        campaign.judge(item, 5)
    with pytest.raises(StateError, match="belongs to no unit that was drawn"):
        campaign.retract(10**6)


@pytest.mark.parametrize("method", ["items", "items_plain", "depth", "depth_plain", "whole", "random"])
def test_what_cannot_be_judged_is_predicted_and_bounded(method):
    """Beside the estimate stand two with such items at grades that there are; without a fit the least and the most."""
    design, labels = labelled(10, method, n_queries=40, compare=True)
    budget = 0.6 * design.cost
    truly = judge(Campaign(design, budget, rng=2), labels)
    gone = {truly.units[k].items[-1] for k in (1, 4, 7)}
    campaign = Campaign(design, budget, rng=2)
    while (unit := campaign.ask()) is not None:
        campaign.tell(unit, [None if item in gone else int(labels[item]) for item in unit.items])
    estimate = campaign.estimate()
    cannot = estimate.cannot
    assert cannot.n_items == 3
    assert not campaign.waiting
    assert sum(event.kind == "cannot" for event in campaign.log) == 3
    assert cannot.treated == ("as no gain" if method == "random" else "as predicted")
    assert any(f"3 items could not be judged, taken {cannot.treated}: between" in line_of(c) for c in estimate.cautions)
    tried = []
    for grades in itertools.product((0, 2, 4), repeat=3):
        other = labels.copy()
        other[sorted(gone)] = grades
        again = judge(Campaign(design, budget, rng=2), other).estimate()
        assert again.cannot is None
        tried.append(again.value)
    if design.is_fitted:  # a fit may move either way, its two ends are still what such grades give
        assert cannot.low in tried
        assert cannot.high in tried
        assert cannot.low < cannot.high
    else:
        assert (cannot.low, cannot.high) == (pytest.approx(min(tried)), pytest.approx(max(tried)))
        assert cannot.low <= estimate.value <= cannot.high
    item = sorted(gone)[0]
    campaign.judge(item, int(labels[item]))
    assert campaign.estimate().cannot.n_items == 2


def test_what_cannot_be_judged_beyond_the_block_that_is_read_does_not_count():
    design, labels = labelled(10, "items", n_queries=40)
    campaign = Campaign(design, 0.6 * design.cost, rng=2, blocks=[0.3 * design.cost])
    units = list(iter(campaign.ask, None))
    first = [unit for unit in units if unit.block == 1]
    campaign.tell(units[-1], [None] * len(units[-1].items))
    for unit in first:
        campaign.tell(unit, labels[list(unit.items)].tolist())
    assert campaign.estimate().cannot is None
    campaign.judge(first[0].items[0], None)
    assert campaign.estimate().cannot.n_items == 1


def test_what_is_open_are_queries_that_chance_chose_and_somebody_judged():
    """Not those that entered without an item, nor those that are certain at the level of the sample."""
    design, labels = labelled(10, "items", n_queries=40)
    n_empty = 0
    for seed in range(5):
        campaign = judge(Campaign(design, 0.5 * design.cost, rng=seed), labels)
        level = Campaign(design, 0.99 * design.cost, rng=seed).planned[len(campaign.units)].level
        queries = {unit.query for unit in campaign.units}
        own = [q for q in queries if level * design.readings[0].least_rates[q] < 1]
        estimate = campaign.estimate()
        assert estimate.n_open == len(own)
        assert estimate.n_queries == len(queries)
        order = design.order
        u = np.array([number_of(int(campaign.key), word) for word in id_hashes(order.pool)[0]])
        entered = u / order.query_rates < level
        n_empty += bool(set(np.flatnonzero(entered).tolist()) - queries)
    assert n_empty > 0


def test_an_item_that_cannot_be_judged_has_residual_nothing():
    """By hand, items on their own: R̂ = M + Σ p/π Σ c (g − μ)/G over the items that were judged."""
    design, labels = labelled(11, "items_plain")
    campaign = Campaign(design, 0.5 * design.cost, rng=3)
    while (unit := campaign.ask()) is not None:
        campaign.tell(unit, [None if item % 4 == 0 else int(labels[item]) for item in unit.items])
    reading, order = design.readings[0], design.order
    level = Campaign(design, design.cost * 0.99, rng=3).planned[len(campaign.units)].level
    value = float(order.query_probs @ reading.predictions)
    for item in (item for unit in campaign.units for item in unit.items if item % 4):
        (i,) = np.flatnonzero(order.items == item)
        a = min(1.0, level * order.place_rates[i])
        gap = reading.gains[labels[item]] - reading.means[i]
        value += order.query_probs[order.place_queries[i]] * reading.contrast[i] * gap / a
    assert campaign.estimate().value == pytest.approx(value, rel=1e-10)


# Replay, audit, samples on file


@pytest.mark.parametrize("method", METHODS)
def test_replay_is_the_live_run_bit_for_bit_from_every_beginning(method):
    design, labels = labelled(9, method, n_queries=12)
    design = design.with_budget(0.6 * design.cost)
    live = judge(Campaign(design, rng=11), labels)
    for n in range(0, len(live.log) + 1, 3):
        resumed = Campaign.replay(design, live.log[:n], rng=11)
        resumed.audit()
        assert resumed.log == live.log[:n]
        for unit in resumed.waiting:
            for item in unit.items:
                if resumed.grades[item] < 0:
                    resumed.judge(item, int(labels[item]))
        judge(resumed, labels)
        assert resumed.units == live.units
        assert resumed.estimate() == live.estimate()
    assert same(Campaign.replay(design, live.log, rng=11), live)
    assert same(Campaign.replay(design, live.log, key=int(live.key)), live)


def test_an_audit_notices_a_log_that_somebody_changed():
    design, labels = labelled(9, "items")
    design = design.with_budget(0.4 * design.cost)
    log = list(judge(Campaign(design, rng=11), labels).log)
    places = [k for k, event in enumerate(log) if event.kind == "drawn"]
    third = log[places[3]]
    tampered = {
        "another item": [*log[: places[3]], replace(third, body=third.body | {"items": ["d0"]}), *log[places[3] + 1 :]],
        "another query": [*log[: places[3]], replace(third, query_id="q24"), *log[places[3] + 1 :]],
        "a unit left out": [event for k, event in enumerate(log) if k != places[2]],
        "one twice": [*log[: places[3]], log[places[2]], *log[places[3] :]],
        "too many": [*log[:-1], replace(log[places[-1]], unit=len(places) + 1)],
    }
    for events in tampered.values():
        with pytest.raises(
            StateError, match=r"the log says Event|continues after its end|belongs to no unit that was drawn"
        ):
            Campaign.replay(design, events, rng=11)
    Campaign.replay(design, log, rng=11).audit()
    shallow = labelled(9, "items", measure=DCG(cutoff=2))[0].with_budget(design.budget)
    for other, rng in ((design, 12), (shallow, 11)):
        with pytest.raises(StateError, match="but this design and key give"):
            Campaign.replay(other, log, rng=rng)


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        (lambda event: replace(event, grade=-1), "must be one of 0 … 4"),
        (lambda event: replace(event, grade=7), "must be one of 0 … 4"),
        (lambda event: replace(event, doc_id="none"), "belongs to no unit that was drawn"),
        (lambda event: replace(event, kind="cannot", unit=10**6), "belongs to no unit that was drawn"),
        (lambda event: "judged", "a log holds what happened in a campaign, got 'judged'"),
    ],
)
def test_a_log_that_could_not_have_come_about_is_refused(event, problem):
    design, labels = labelled(9, "items")
    design = design.with_budget(0.4 * design.cost)
    log = judge(Campaign(design, rng=11), labels).log
    judged = next(event for event in log if event.kind == "judged")
    with pytest.raises(ActiveEvalError, match=problem):
        Campaign.replay(design, [*log, event(judged)], rng=11)


def test_a_unit_after_the_end_is_refused():
    design, labels = labelled(9, "items")
    design = design.with_budget(0.4 * design.cost)
    log = judge(Campaign(design, rng=11), labels).log
    with pytest.raises(StateError, match="the log continues after its end: unit 1"):
        Campaign.replay(design, [*log, log[0]], rng=11)


@pytest.mark.parametrize("method", METHODS)
def test_a_sample_on_file_is_the_sample(method):
    """From arrays: the same units, the same estimate, and no array may change on the way."""
    design, labels = labelled(12, method)
    live = Campaign(design, 0.5 * design.cost, rng=13)
    arrays = to_arrays(live)
    again = from_arrays(arrays)
    assert again.planned == live.planned
    assert judge(again, labels).estimate() == judge(live, labels).estimate()
    for name, array in arrays.items():
        if array.size == 0:
            continue
        is_text, changed = array.dtype.kind == "U", array.astype(object)
        changed.flat[-1] += "?" if is_text else 1
        with pytest.raises(InputError, match="this release reads" if name == "format" else "was changed or damaged"):
            from_arrays(arrays | {name: changed.astype(str if is_text else array.dtype)})


# Everything known


@each_once(("known", [False, True]), ("method", LEVELLED))
def test_a_census_reproduces_the_score_and_its_interval(method, known):
    """Judged or known beforehand: the mean of the queries' values, and as a sample of queries its t interval."""
    uniform = {"query_probs": np.full(25, 1 / 25)}
    design, labels = labelled(14, method, judged=(lambda labels: labels) if known else None, **uniform)
    campaign = judge(Campaign(design, max(design.cost, 1.0), rng=0), labels)
    assert known == (not campaign.units)
    scores = design.target.values(PoolGrades(design.pool, labels).grades)
    expected = mean_interval(scores, limits=design.target.limits(design.max_grade))
    estimate, wide = campaign.estimate(), campaign.estimate(scope="population")
    assert estimate.value == pytest.approx(expected.mean, rel=1e-12)
    assert estimate.std_error == 0
    assert wide.value == pytest.approx(expected.mean, rel=1e-12)
    assert wide.std_error == pytest.approx(expected.std_error, rel=1e-9)
    interval = wide.interval()
    assert interval.low == pytest.approx(expected.low, abs=1e-9)
    assert interval.high == pytest.approx(expected.high, abs=1e-9)


def test_looks_that_were_planned_for_a_budget_end_with_it():
    """A top-up would be one look more than the probability to miss was spread over."""
    design, labels = labelled(5, "depth", n_queries=60)
    campaign = judge(Campaign(design, 0.4 * design.cost, rng=3), labels)
    assert campaign.interval("group-sequential").low < campaign.estimate().value
    more = judge(campaign.topped_up(0.2 * design.cost), labels)
    assert more.design.planned == campaign.design.budget
    assert judge(from_arrays(to_arrays(more)), labels).design.planned == campaign.design.budget
    for late in (more, judge(from_arrays(to_arrays(more)), labels)):
        with pytest.raises(InputError, match=r"analyses end with their planned budget, this sample has 1\.5"):
            late.interval(GroupSequential())
        assert late.interval("t").confidence == 0.95
    planned = judge(Campaign(design, 0.6 * design.cost, rng=3), labels)
    assert planned.interval(GroupSequential()).low < planned.estimate().value


@pytest.mark.parametrize("method", ["depth", "items", "whole", "random"])
def test_what_cannot_be_judged_bounds_the_estimate_on_both_sides(method):
    for seed in range(30):
        design, labels = labelled(seed, method, compare=seed % 2 == 0)
        random = np.random.default_rng(seed)
        campaign = Campaign(design, 0.7 * design.cost, rng=seed)
        while (unit := campaign.ask()) is not None:
            campaign.tell(unit, [None if random.random() < 0.2 else int(labels[item]) for item in unit.items])
        found = campaign.estimate()
        assert found.cannot.low <= found.value <= found.cannot.high


def test_a_question_of_another_discount_or_other_traffic_is_another_question():
    def same(r):
        return np.ones(len(r))

    design, labels = labelled(2, "items", measure=Additive([0, 1, 2, 3, 4], lambda r: 1 / r))
    campaign = judge(Campaign(design, 2 * design.cost), labels)
    other = Target(Additive([0, 1, 2, 3, 4], same), design.target.ranking)
    assert campaign.estimate(other).value == pytest.approx(design.pool.query_probs @ other.values(labels))
    with pytest.raises(InputError, match="cannot be written: its discounts are a function"):
        to_arrays(campaign)
    pool = design.pool.replace(query_probs=np.full(25, 0.04))
    ranking = design.target.ranking
    with pytest.raises(InputError, match="other query probabilities than the sample's"):
        campaign.estimate(Target(DCG(), Rankings(pool, ranking.offsets, ranking.items)))


def told(campaign, grades):
    """Tell the first unit of a campaign like another."""
    fresh = Campaign(campaign.design, 2 * campaign.design.cost)
    fresh.tell(fresh.ask(), grades)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda c: c.design.with_budget("5"), "the budget must be a positive number, got '5'"),
        (lambda c: c.topped_up("5"), "the budget must be a positive number, got '5'"),
        (lambda c: c.topped_up(0), "the budget must be a positive number, got 0"),
        (lambda c: Campaign(c.design, c.design.cost, rng=-1), "a seed is a number from 0 on"),
        (lambda c: Campaign(c.design, c.design.cost, rng="a"), "a seed is a number from 0 on"),
        (lambda c: Campaign(c.design, c.design.cost, key=1.7), "a key is a whole number of 64 bits, got 1.7"),
        (lambda c: Campaign(c.design, c.design.cost, key=-1), "a key is a whole number of 64 bits, got -1"),
        (lambda c: c.tell("x", [1]), "tell takes a unit that ask returned, got 'x'"),
        (lambda c: told(c, np.array(1)), "must be a list, one for each item"),
        (lambda c: told(c, b"\x01"), "must be a list, one for each item"),
        (lambda c: c.judge([1], 1), "belongs to no unit that was drawn"),
        (lambda c: c.estimate("DCG"), "the target must be a Target, got 'DCG'"),
        (lambda c: c.interval("a"), "unknown interval 'a'"),
        (lambda c: METHODS["items"].design("x"), "a design is for a Target, or a list of them, got 'x'"),
        (lambda c: METHODS["items"].design(c.design.target, "x"), "grade_probs must be an array of numbers, got 'x'"),
        (lambda c: METHODS["depth"].design(c.design.target, np.ones((c.design.pool.n_items, 1))), "2 at least, got 1"),
        (lambda c: METHODS["random"].design(c.design.target, max_grade=1.5), "max_grade must be a whole number"),
        (lambda c: METHODS["random"].design(c.design.target, bias=math.nan), "`bias` must be a finite number"),
        (lambda c: METHODS["random"].design(c.design.target, defensive_share="a"), "the defensive share must lie"),
        (lambda c: c.estimate().interval(95), "confidence must lie strictly between 0 and 1, got 95"),
    ],
)
def test_words_where_numbers_belong_are_refused_in_a_line(call, problem):
    design, labels = labelled(3, "items")
    campaign = judge(Campaign(design, 2 * design.cost), labels)
    with pytest.raises(ActiveEvalError, match=problem):
        call(campaign)


def test_one_query_that_holds_most_of_what_chance_leaves_out_is_named():
    """By p² Σ c² (1/a − 1): here a dear query with a fifth of the traffic."""
    random = np.random.default_rng(1)
    costs = np.ones(160)
    costs[:4] = 40.0
    traffic = np.full(40, 0.8 / 39)
    traffic[0] = 0.2
    pool = pool_of([4] * 40, item_costs=costs, query_probs=traffic)
    target = Target(DCG(cutoff=4), Rankings.from_scores(pool, random.random(160)))
    probs, labels = random.dirichlet(np.ones(3), 160), random.integers(0, 3, 160)
    for method in ("items", "depth", "whole"):
        design = METHODS[method].design(target, probs, budget=0.6 * 160)
        campaign = judge(Campaign(design, rng=1), labels)
        found = [text_of(one) for one in campaign.estimate().cautions if one.code == "one query"]
        level = campaign.drawing.selection(campaign.drawing.block_ends[-1]).level
        _, a = design.order.inclusion_probs(level)
        worth = traffic[design.order.place_queries] ** 2 * target.contrast[design.order.items] ** 2 * (1 / a - 1)
        shares = [worth[design.order.place_queries == q].sum() / worth.sum() for q in range(40)]
        assert bool(found) == (max(shares) > 0.25), method
        if found:
            assert found[0].startswith(
                f"query 'q{np.argmax(shares)}' alone has {max(shares):.0%} of the expected variance"
            )


@pytest.mark.parametrize("method", ["items", "depth", "whole", "random"])
def test_a_query_that_another_question_needs_is_certain_for_this_one_without_being_judged(method):
    """Of a comparison, queries with equal lists: they count once, and a census is seen to be one."""
    random = np.random.default_rng(4)
    pool = pool_of([4] * 20)
    one, other = random_lists(random, [4] * 20, least=4), random_lists(random, [4] * 20, least=4)
    other[:5] = one[:5]
    a, b = rankings_of(pool, one), rankings_of(pool, other)
    labels = random.integers(0, 3, 80)
    questions = [Target(DCG([0, 1, 3]), a), Target(DCG([0, 1, 3]), a, b)]
    design = METHODS[method].design(questions, random_probs(random, 80, 3), max_grade=2)
    campaign = judge(Campaign(design, 2 * design.cost), labels)
    assert {unit.query for unit in campaign.units} == set(range(20))
    for question in questions:
        found = campaign.estimate(question)
        assert found.value == pytest.approx(question.values(labels).mean(), rel=1e-12)
        assert (found.std_error, found.n_open, found.degrees_of_freedom) == (0, 0, math.inf)
    early = judge(Campaign(design, 0.5 * design.cost, rng=2), labels)
    judged = {unit.query for unit in early.units}
    assert early.estimate(questions[1]).n_open <= len(judged - set(range(5)))


@pytest.mark.parametrize("measure", [DCG(), ERR(4), ERR(4, cutoff=3)])
@pytest.mark.parametrize("compare", [False, True])
def test_of_a_query_judged_whole_what_is_missing_is_as_the_model_expects(measure, compare):
    """E[L | all other labels], by enumeration of the missing ones; without a model they are of no gain."""
    for seed in range(5):
        design, labels = labelled(seed, "whole", n_queries=12, measure=measure, compare=compare)
        random, probs, target = np.random.default_rng(seed), design.beliefs.nodes[0], design.target
        gone = random.choice(np.flatnonzero(target.matters), 3, replace=False).tolist()
        told = {item: None if item in gone else int(labels[item]) for item in range(labels.size)}
        expected = 0.0
        for grades in np.ndindex(5, 5, 5):
            other = labels.copy()
            other[gone] = grades
            expected += math.prod(probs[gone, grades]) * (design.pool.query_probs @ target.values(other))
        other = labels.copy()
        other[gone] = -1
        nothing = design.pool.query_probs @ target.values(other)
        plain = METHODS["random"].design(target, max_grade=4)
        for own, wanted in ((design, expected), (plain, nothing)):
            campaign = Campaign(own, 2 * own.cost)
            while (unit := campaign.ask()) is not None:
                campaign.tell(unit, [told[item] for item in unit.items])
            assert campaign.estimate().value == pytest.approx(wanted, rel=1e-10)
