"""A campaign: units to judge, blocks to read, a budget that can grow, a log that says it all."""

import math
from dataclasses import replace

import numpy as np
import pytest
from core_cases import LEVELLED, figures, judge_all, labelled_design
from naive import PAPER, pool_of, rankings_of

from activeeval import DCG, METHODS, ActiveEvalError, BudgetError, Campaign, InputError, StateError, Target
from activeeval.formats.sample_file import from_arrays, to_arrays

pytestmark = pytest.mark.kernel


def same(one, other):
    """Whether two campaigns are in the same state, bit for bit."""
    assert (one.log, one.spent, one.ended, one.waiting) == (other.log, other.spent, other.ended, other.waiting)
    assert one.grades.tolist() == other.grades.tolist()
    return True


# Budgets


@pytest.mark.parametrize("method", METHODS)
def test_a_budget_is_never_exceeded_and_nearly_spent(method):
    """40 seeds, unequal costs: never above; below by no more than the first unit that it could not pay."""
    design, _ = labelled_design(1, method)
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
    design, _ = labelled_design(method=method)
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


# Units


@pytest.mark.parametrize("method", LEVELLED)
def test_units_come_by_level_in_blocks_and_hold_what_the_order_says(method):
    design, _ = labelled_design(3, method)
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
    design, _ = labelled_design(3, "depth")
    dearest = design.order.dearest_units.max()
    assert design.with_budget(4 * dearest).blocks == pytest.approx([dearest, 2 * dearest, 3 * dearest, 4 * dearest])
    assert design.with_budget(3 * dearest).blocks == pytest.approx([1.5 * dearest, 2.25 * dearest, 3 * dearest])
    assert design.with_budget(dearest).blocks == (dearest,)
    with pytest.raises(InputError, match="the budgets of blocks must ascend, got"):
        design.with_budget(4 * dearest, [3 * dearest, 2 * dearest])
    paper, _ = labelled_design(3, "active")
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
    design, labels = labelled_design(7, "depth")
    places, seen = design.pool.item_positions(), []

    def judged(query_id, item_ids):
        seen.append((query_id, tuple(item_ids)))
        return [int(labels[places[int(query_id[1:]), item]]) for item in item_ids]

    campaign = Campaign(design, design.cost / 2, rng=3)
    estimate = campaign.run(judged)
    assert estimate == judge_all(Campaign(design, design.cost / 2, rng=3), labels).estimate()
    assert seen == [(unit.query_id, unit.item_ids) for unit in campaign.units]


# More of one sample


@pytest.mark.parametrize("method", LEVELLED)
def test_a_sample_topped_up_is_the_larger_sample_label_by_label(method):
    """100 and 50 more are 150: the same units but for their blocks, the same grades, the same estimate."""
    design, labels = labelled_design(4, method, n_queries=60)
    assert design.cost > 160
    blocks = [40.0, 70.0]
    small = judge_all(Campaign(design, 100, rng=5, blocks=blocks), labels)
    first = small.estimate()
    topped = small.topped_up(50)
    assert topped.grades.tolist() == small.grades.tolist()
    assert topped.design.blocks == (40.0, 70.0, 100.0, 150.0)
    assert figures(topped.estimate()) == first
    assert topped.estimate().share == pytest.approx(100 / 150)
    judge_all(topped, labels)
    large = judge_all(Campaign(design, 150, rng=5, blocks=[*blocks, 100.0]), labels)
    assert topped.log == (*(e for e in large.log if e.kind != "ended"), large.log[-1])
    assert topped.units == large.units
    assert topped.units[: len(small.units)] == small.units
    assert topped.estimate() == large.estimate()
    assert topped.spent > small.spent
    plain = judge_all(Campaign(design, 150, rng=5), labels)
    assert plain.estimate() == large.estimate()
    assert [unit.items for unit in plain.units] == [unit.items for unit in large.units]


def test_what_a_budget_leaves_over_is_carried_to_the_top_up():
    design, labels = labelled_design(4, "depth", n_queries=60)
    small = judge_all(Campaign(design, 60, rng=5), labels)
    needed = Campaign(design, 70, rng=5).planned[len(small.units)].cost
    assert small.spent + needed > 60
    assert len(small.topped_up(small.spent + needed - 60 + 1e-9).planned) == len(small.units) + 1


def test_draws_with_replacement_have_one_planned_end():
    design, labels = labelled_design(4, "active")
    campaign = judge_all(Campaign(design, design.cost / 2, rng=5), labels)
    with pytest.raises(InputError, match="'active' draws with replacement to one planned end: it cannot be topped up"):
        campaign.topped_up(10)
    with pytest.raises(InputError, match="draws with replacement to one planned end"):
        Campaign(design, design.cost / 2, blocks=[design.cost / 3])
    with pytest.raises(InputError, match="the design has no budget to top up: set one with with_budget"):
        design.topped_up(10)
    with pytest.raises(InputError, match="'items' has a hard budget: an expected one is for draws with replacement"):
        labelled_design(4, "items")[0].with_budget(10, expected=True)


# Reading


@pytest.mark.parametrize("method", PAPER)
def test_the_papers_draws_are_a_weighted_ratio(method):
    design, labels = labelled_design(5, method)
    campaign = judge_all(Campaign(design, 0.5 * design.cost, rng=6), labels)
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
        judge_all(
            Campaign(design, 0.5 * design.cost, rng=6), labels, len(campaign.units) - 1
        ).in_strict_order().estimate()


# Telling


def test_tell_checks_what_it_is_told():
    design, labels = labelled_design(8, "depth")
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
    design, labels = labelled_design(9, "items")
    budget = 0.5 * design.cost
    plain = judge_all(Campaign(design, budget, rng=1), labels)
    campaign = judge_all(Campaign(design, budget, rng=1), labels)
    item = campaign.units[0].items[0]
    campaign.judge(item, (labels[item] + 1) % 5, judge="ann", at=12)
    assert campaign.estimate().value != plain.estimate().value
    last = campaign.log[-1]
    assert (last.kind, last.grade, last.judge, last.at) == ("judged", (labels[item] + 1) % 5, "ann", 12)
    campaign.judge(item, int(labels[item]), judge="bob")
    assert campaign.estimate() == plain.estimate()
    campaign.retract(item, judge="bob", at=13)
    last = campaign.log[-1]
    doc_id = design.pool.item_texts[item]
    assert (last.kind, last.doc_id, last.judge, last.at) == ("retracted", doc_id, "bob", 13)
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


# Replay, audit, samples on file


@pytest.mark.parametrize("method", METHODS)
def test_replay_is_the_live_run_bit_for_bit_from_every_beginning(method):
    design, labels = labelled_design(9, method, n_queries=12)
    design = design.with_budget(0.6 * design.cost)
    live = judge_all(Campaign(design, rng=11), labels)
    for n in range(0, len(live.log) + 1, 3):
        resumed = Campaign.replay(design, live.log[:n], rng=11)
        resumed.audit()
        assert resumed.log == live.log[:n]
        for unit in resumed.waiting:
            for item in unit.items:
                if resumed.grades[item] < 0:
                    resumed.judge(item, int(labels[item]))
        judge_all(resumed, labels)
        assert resumed.units == live.units
        assert resumed.estimate() == live.estimate()
    assert same(Campaign.replay(design, live.log, rng=11), live)
    assert same(Campaign.replay(design, live.log, key=int(live.key)), live)


def test_an_audit_notices_a_log_that_somebody_changed():
    design, labels = labelled_design(9, "items")
    design = design.with_budget(0.4 * design.cost)
    log = list(judge_all(Campaign(design, rng=11), labels).log)
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
    shallow = labelled_design(9, "items", measure=DCG(cutoff=2))[0].with_budget(design.budget)
    for other, rng in ((design, 12), (shallow, 11)):
        with pytest.raises(StateError, match="but this design and key give"):
            Campaign.replay(other, log, rng=rng)


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        (lambda event, _: replace(event, grade=-1), "must be one of 0 … 4"),
        (lambda event, _: replace(event, grade=7), "must be one of 0 … 4"),
        (lambda event, _: replace(event, doc_id="none"), "belongs to no unit that was drawn"),
        (lambda event, _: replace(event, kind="cannot", unit=10**6), "belongs to no unit that was drawn"),
        (lambda event, _: "judged", "a log holds what happened in a campaign, got 'judged'"),
        (lambda _, first: first, "the log continues after its end: unit 1"),
    ],
)
def test_a_log_that_could_not_have_come_about_is_refused(event, problem):
    design, labels = labelled_design(9, "items")
    design = design.with_budget(0.4 * design.cost)
    log = judge_all(Campaign(design, rng=11), labels).log
    judged = next(event for event in log if event.kind == "judged")
    with pytest.raises(ActiveEvalError, match=problem):
        Campaign.replay(design, [*log, event(judged, log[0])], rng=11)


@pytest.mark.parametrize("method", METHODS)
def test_a_sample_on_file_is_the_sample(method):
    """From arrays: the same units, the same estimate, and no array may change on the way."""
    design, labels = labelled_design(13, method)
    live = Campaign(design, 0.5 * design.cost, rng=13)
    arrays = to_arrays(live)
    again = from_arrays(arrays)
    assert again.planned == live.planned
    assert judge_all(again, labels).estimate() == judge_all(live, labels).estimate()
    for name, array in arrays.items():
        if array.size == 0:
            continue
        is_text, changed = array.dtype.kind == "U", array.astype(object)
        changed.flat[-1] += "?" if is_text else 1
        with pytest.raises(InputError, match="this release reads" if name == "format" else "was changed or damaged"):
            from_arrays(arrays | {name: changed.astype(str if is_text else array.dtype)})


# Everything known
