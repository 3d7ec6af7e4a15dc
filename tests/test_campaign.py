from __future__ import annotations

import math

import numpy as np
import pytest
from naive import PAPER, pool_of, random_lists, random_probs, rankings_of

from activeeval import (
    DCG,
    ERR,
    METHODS,
    BudgetError,
    Campaign,
    Draw,
    InputError,
    Rankings,
    StateError,
    StoppingRule,
    Target,
)
from activeeval.campaign import Ended, Told
from activeeval.estimation import AsymptoticSequence, Skewed

pytestmark = pytest.mark.kernel


def labelled(seed=0, n_queries=25, measure=None, method="active"):
    """Return a comparison's design on a pool with unequal costs, and the pool's labels."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 9, n_queries).tolist()
    pool = pool_of(lengths, item_costs=random.uniform(0.5, 2, sum(lengths)), query_costs=random.random(n_queries))
    lists = [rankings_of(pool, random_lists(random, lengths, least=1)) for _ in range(2)]
    probs = random_probs(random, pool.n_items, 5)
    design = METHODS[method].design(Target(measure or ERR(4), *lists), probs)
    return design, np.array([random.choice(5, p=row) for row in probs])


def labelled_plan(seed, method):
    """Return the plan of a method on the same comparison, and the pool's labels."""
    design, labels = labelled(seed)
    probs = random_probs(np.random.default_rng(seed), design.pool.n_items, 5)
    return METHODS[method].plan(design.target, probs), labels


def judge(campaign, labels, steps=math.inf):
    """Ask and tell until the end, or for a number of judged draws."""
    while steps > 0 and (draw := campaign.ask()) is not None:
        campaign.tell(draw, labels[list(draw.items)].tolist())
        steps -= 1
    return campaign


def same(one, other):
    """Whether two campaigns are in the same state, bit for bit."""
    return (
        (one.log, one.spent, one.ended) == (other.log, other.spent, other.ended)
        and one.awaited == other.awaited
        and one.grades.tolist() == other.grades.tolist()
    )


# Budgets


@pytest.mark.parametrize("seed", range(12))
def test_a_hard_budget_is_never_overspent_and_ends_at_the_first_draw_it_cannot_pay(seed):
    design, labels = labelled(seed)
    budget = float(design.costs.max() * (1.2 + seed / 2))
    campaign = judge(Campaign(design, budget, rng=seed), labels)
    assert campaign.spent <= budget
    assert campaign.estimate().cost == campaign.spent
    # The same draws in plain Python.
    random, spent, seen, drawn = np.random.default_rng(seed), 0.0, set(), []
    while True:
        query = int(np.searchsorted(np.cumsum(design.sampling_probs), random.random(), side="right"))
        cost = 0.0 if query in seen else float(design.costs[query])
        if spent + cost > budget:
            break
        spent += cost
        seen.add(query)
        drawn.append(query)
    assert [draw.query for draw in campaign.draws] == drawn
    assert campaign.spent == spent
    assert campaign.ended == f"query 'q{query}' came up, which the budget cannot pay for"
    assert campaign.ask() is None
    assert campaign.log[-1] == Ended(campaign.ended)


def test_a_budget_that_a_draw_uses_up_exactly_pays_for_it():
    pool = pool_of([2, 2, 2])
    design = METHODS["passive"].design(Target(DCG(), rankings_of(pool, [[0, 1]] * 3)))
    campaign = judge(Campaign(design, 4.0, rng=0), np.zeros(6, dtype=int))
    assert campaign.spent == 4.0
    assert campaign.estimate().n_queries == 2


def test_redraws_are_free_and_still_count():
    design, labels = labelled(1, n_queries=6)
    campaign = judge(Campaign(design, 0.7 * design.costs.sum(), rng=2), labels)
    queries = [draw.query for draw in campaign.draws]
    assert len(queries) > len(set(queries))
    for k, draw in enumerate(campaign.draws):
        is_new = draw.query not in queries[:k]
        assert draw.cost == (design.costs[draw.query] if is_new else 0.0)
    estimate = campaign.estimate()
    assert estimate.n_draws == len(queries)
    assert estimate.n_queries == len(set(queries))
    assert estimate.n_items == sum(design.item_counts[q] for q in set(queries))
    assert estimate.cost == pytest.approx(sum(design.costs[q] for q in set(queries)))
    assert 1 < estimate.degrees_of_freedom <= len(queries) - 1


def test_a_budget_below_the_dearest_query_is_refused_with_numbers():
    design, _ = labelled()
    dearest = design.costs.max()
    with pytest.raises(BudgetError, match="is below the cost of the dearest query") as problem:
        Campaign(design, dearest * 0.999)
    assert (problem.value.budget, problem.value.needed) == (dearest * 0.999, dearest)
    with pytest.raises(BudgetError, match="does not pay for one draw"):
        Campaign(design, design.expected_cost * 0.99, expected=True)


@pytest.mark.parametrize("expected", [False, True])
@pytest.mark.parametrize("budget", [0, -2.0, np.nan])
def test_a_budget_is_a_positive_number(budget, expected):
    with pytest.raises(InputError, match="the budget must be a positive number"):
        Campaign(labelled()[0], budget, expected=expected)


@pytest.mark.parametrize("method", ["random", "lure", "sequential"])
def test_a_campaign_without_replacement_never_comes_back(method):
    design, labels = labelled(1, method=method)
    campaign = judge(Campaign(design, 0.6 * design.costs.sum(), rng=2), labels)
    queries = [draw.query for draw in campaign.draws]
    assert len(set(queries)) == len(queries)
    assert campaign.spent == pytest.approx(design.costs[queries].sum())
    assert campaign.spent <= campaign.budget
    left = 1.0
    for draw in campaign.draws:
        assert draw.query_prob == pytest.approx(design.sampling_probs[draw.query] / left)
        left -= design.sampling_probs[draw.query]


@pytest.mark.parametrize("method", ["poisson", "greg", "cube", "depth", "depth_cube"])
def test_a_settled_sample_brings_its_budget(method):
    plan, labels = labelled_plan(3, method)
    budget = 0.4 * plan.stage.costs.sum()
    design = plan.design(budget)
    with pytest.raises(InputError, match="the design was made for a budget of"):
        Campaign(design, 2 * budget)
    with pytest.raises(InputError, match="makes its design for a budget: give one"):
        plan.design()
    campaign = judge(Campaign(design, rng=5), labels)
    assert campaign.budget == budget
    assert campaign.ended == "the sample is complete"
    assert same(campaign, judge(Campaign(design, budget, rng=5), labels))
    assert same(Campaign.replay(design, None, campaign.log, rng=5), campaign)
    for draw in campaign.draws:
        assert draw.query_prob == design.sampling_probs[draw.query]
        assert draw.importance_weight == design.importance_weights[draw.query]
    whole = judge(Campaign(plan.design(2 * plan.stage.costs.sum()), rng=5), labels).estimate()
    assert whole.value == pytest.approx(design.query_probs @ design.target.values(labels), rel=1e-12)
    assert (whole.std_error, whole.n_queries, whole.cost) == (0, 25, pytest.approx(plan.stage.costs.sum()))


def test_draws_need_a_budget():
    with pytest.raises(InputError, match="the draws of 'active' go on until a budget is spent: give one"):
        Campaign(labelled()[0])


@pytest.mark.parametrize("method", PAPER)
def test_a_budget_for_the_whole_pool_gives_the_exact_answer(method):
    design, labels = labelled(3, method=method)
    campaign = judge(Campaign(design, design.costs.sum(), rng=0), labels)
    estimate = campaign.estimate()
    assert campaign.is_census
    assert campaign.ended == "every query has been drawn"
    assert estimate.value == pytest.approx(design.query_probs @ design.target.values(labels), rel=1e-12)
    assert estimate.std_error == 0
    assert (estimate.n_draws, estimate.n_queries, estimate.n_items) == (25, 25, design.items.size)
    assert estimate.cost == pytest.approx(design.costs.sum())
    assert estimate.interval().low == estimate.value == estimate.interval().high
    assert all(draw.query_prob == 1 for draw in campaign.draws)


def test_a_sample_that_happens_to_hold_every_query_is_exact():
    pool = pool_of([1, 1], query_probs=[0.3, 0.7])
    target = Target(DCG(), rankings_of(pool, [[0], [0]]))
    campaign = judge(Campaign(METHODS["passive"].design(target), 20 * 1.0, rng=0, expected=True), np.array([1, 2]))
    assert campaign.estimate().n_queries == 2
    assert campaign.estimate().value == pytest.approx(0.3 * 1 + 0.7 * 3)
    assert campaign.estimate().std_error == 0


@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_an_expected_budget_gives_that_many_draws(n):
    design, labels = labelled(4)
    campaign = judge(Campaign(design, design.expected_cost * (n + 0.5), rng=1, expected=True), labels)
    assert campaign.estimate().n_draws == n
    assert campaign.ended == f"all {n} draws are done"


# The estimate


@pytest.mark.parametrize("method", PAPER)
def test_the_estimate_is_the_weighted_ratio(method):
    design, labels = labelled(5, method=method)
    campaign = judge(Campaign(design, design.costs.sum() / 2, rng=6), labels)
    values = design.target.values(labels)
    w = [design.query_probs[d.query] / design.sampling_probs[d.query] for d in campaign.draws]
    x = [values[d.query] for d in campaign.draws]
    ratio = sum(a * b for a, b in zip(w, x, strict=True)) / sum(w)
    variance = sum((a * (b - ratio)) ** 2 for a, b in zip(w, x, strict=True)) / sum(w) ** 2
    variance *= len(w) / (len(w) - 1)
    estimate = campaign.estimate()
    assert estimate.value == pytest.approx(ratio, rel=1e-12)
    assert estimate.std_error == pytest.approx(math.sqrt(variance), rel=1e-12)
    assert estimate.method == method
    for draw in campaign.draws:
        assert draw.query_prob == design.sampling_probs[draw.query]
        assert draw.importance_weight == design.importance_weights[draw.query]


def test_passive_is_the_sample_mean_and_its_standard_error():
    design, labels = labelled(5, method="passive")
    campaign = judge(Campaign(design, design.costs.sum() / 2, rng=6), labels)
    x = design.target.values(labels)[[draw.query for draw in campaign.draws]]
    assert campaign.estimate().value == pytest.approx(x.mean(), rel=1e-12)
    assert campaign.estimate().std_error == pytest.approx(x.std(ddof=1) / math.sqrt(x.size), rel=1e-12)


def test_one_draw_cannot_tell_how_precise_it_is():
    design, labels = labelled(5)
    estimate = judge(Campaign(design, design.costs.sum() / 2, rng=6), labels, steps=1).estimate()
    assert estimate.std_error == math.inf
    assert (estimate.interval().low, estimate.interval().high) == (-math.inf, math.inf)


def test_awaited_draws_refuse_an_estimate():
    design, labels = labelled(6)
    campaign = Campaign(design, design.costs.sum() / 2, rng=0)
    with pytest.raises(StateError, match="no query has been judged yet"):
        campaign.estimate()
    first, second = campaign.ask(), campaign.ask()
    assert campaign.awaited == (first, second)
    with pytest.raises(StateError, match=f"2 draws wait for grades, the first is draw {first.number} of"):
        campaign.estimate()
    campaign.tell(second, labels[list(second.items)].tolist())
    with pytest.raises(StateError, match=f"1 draws wait for grades, the first is draw {first.number} of"):
        campaign.estimate()
    campaign.tell(first, labels[list(first.items)].tolist())
    assert campaign.estimate().n_queries == 2


def test_a_query_with_nothing_to_judge_is_not_asked_for():
    pool = pool_of([2, 2, 2, 2])
    design = METHODS["passive"].design(Target(DCG(), rankings_of(pool, [[0, 1], [], [1], []])))
    campaign = Campaign(design, 2.9, rng=0)
    campaign.run(lambda query_id, item_ids: [1] * len(item_ids))
    told = {event.number for event in campaign.log if isinstance(event, Told)}
    assert all(draw.items for draw in campaign.draws if draw.number in told)
    assert any(not draw.items for draw in campaign.draws)


def test_run_asks_the_judge_in_judging_order():
    design, labels = labelled(7)
    seen = []

    def judged(query_id, item_ids):
        seen.append((query_id, tuple(item_ids)))
        query = int(query_id[1:])
        assert (
            item_ids == design.pool.item_ids[design.items[design.offsets[query] : design.offsets[query + 1]]].tolist()
        )
        return labels[design.items[design.offsets[query] : design.offsets[query + 1]]]

    run = Campaign(design, design.costs.sum() / 2, rng=3)
    estimate = run.run(judged)
    assert estimate == judge(Campaign(design, design.costs.sum() / 2, rng=3), labels).estimate()
    assert len({query for query, _ in seen}) == len(seen)


# Telling


def test_tell_checks_what_it_is_told():
    design, labels = labelled(8)
    campaign = Campaign(design, design.costs.sum() / 2, rng=0)
    draw = campaign.ask()
    grades = labels[list(draw.items)].tolist()
    place = f"the grade of item '{draw.item_ids[0]}' of query '{draw.query_id}' must be one of 0 … 4"
    for wrong in (5, -2, 1.5, True):
        with pytest.raises(InputError, match=place):
            campaign.tell(draw, [wrong, *grades[1:]])
    with pytest.raises(InputError, match=f"has {len(grades)} items to judge, got {len(grades) + 1} grades"):
        campaign.tell(draw, [*grades, 0])
    assert campaign.awaited == (draw,)
    campaign.tell(draw, grades)
    with pytest.raises(StateError, match=f"draw {draw.number} of query '{draw.query_id}' does not wait for grades"):
        campaign.tell(draw, grades)


@pytest.mark.parametrize("wrong", ["x", None, float("nan"), float("inf")])
def test_tell_names_a_grade_that_is_not_even_a_number(wrong):
    design, _ = labelled(8)
    campaign = Campaign(design, design.costs.sum() / 2, rng=0)
    draw = campaign.ask()
    with pytest.raises(InputError, match="the grade of"):
        campaign.tell(draw, [wrong] * len(draw.items))


def test_a_draw_of_another_campaign_is_refused():
    """As it is, grades of one query are recorded for another one with as many items."""
    pool = pool_of([1] * 5)
    design = METHODS["passive"].design(Target(DCG(), rankings_of(pool, [[0]] * 5)))
    campaign, other = (Campaign(design, 3, rng=seed) for seed in (0, 1))
    draw, foreign = campaign.ask(), other.ask()
    assert draw.number == foreign.number
    assert draw.query != foreign.query
    with pytest.raises((StateError, InputError)):
        campaign.tell(foreign, [1])


def test_minus_one_is_an_item_that_earns_nothing():
    pool = pool_of([2])
    design = METHODS["passive"].design(Target(DCG(), rankings_of(pool, [[0, 1]])))
    assert Campaign(design, 2, rng=0).run(lambda query, items: [-1, 1]).value == pytest.approx(1 / math.log2(3))


# Replay


@pytest.mark.parametrize("expected", [False, True])
@pytest.mark.parametrize("method", ["passive", "active"])
def test_replay_is_the_live_run_bit_for_bit(method, expected):
    design, labels = labelled(9, method=method)
    arguments = {"budget": 0.4 * design.costs.sum(), "rng": 11, "expected": expected}
    live = judge(Campaign(design, **arguments), labels)
    again = Campaign.replay(design, log=live.log, **arguments)
    assert same(live, again)
    assert again.estimate() == live.estimate()


@pytest.mark.parametrize("expected", [False, True])
def test_every_beginning_of_a_log_replays_and_goes_on(expected):
    design, labels = labelled(10, n_queries=12)
    arguments = {"budget": 0.5 * design.costs.sum(), "rng": 12, "expected": expected}
    live = judge(Campaign(design, **arguments), labels)
    assert len(live.log) > 8
    for n in range(len(live.log) + 1):
        resumed = Campaign.replay(design, log=live.log[:n], **arguments)
        assert resumed.log == live.log[:n]
        for draw in resumed.awaited:
            resumed.tell(draw, labels[list(draw.items)].tolist())
        assert same(judge(resumed, labels), live)
        assert resumed.estimate() == live.estimate()


def test_a_census_replays_without_a_seed():
    design, labels = labelled(10, n_queries=5)
    live = judge(Campaign(design, design.costs.sum()), labels)
    assert same(Campaign.replay(design, design.costs.sum(), live.log), live)


def test_several_draws_may_be_told_in_any_order():
    design, labels = labelled(9)
    arguments = {"budget": 0.4 * design.costs.sum(), "rng": 11}
    one_by_one = judge(Campaign(design, **arguments), labels)
    at_once = Campaign(design, **arguments)
    draws = list(iter(at_once.ask, None))
    for draw in reversed(draws):
        at_once.tell(draw, labels[list(draw.items)].tolist())
    assert at_once.draws == one_by_one.draws
    assert at_once.estimate() == one_by_one.estimate()
    assert same(Campaign.replay(design, log=at_once.log, **arguments), at_once)


def test_a_replay_with_another_seed_budget_or_design_is_refused():
    design, labels = labelled(9)
    other, _ = labelled(9, method="active_uniC")
    budget = 0.4 * design.costs.sum()
    log = judge(Campaign(design, budget, rng=11), labels).log
    for arguments in ((design, budget, log, 12), (design, 0.9 * budget, log, 11), (other, budget, log, 11)):
        with pytest.raises(StateError, match="but this design and seed give"):
            Campaign.replay(*arguments[:3], rng=arguments[3])


def test_a_draw_that_somebody_changed_is_refused():
    design, labels = labelled(9)
    budget = 0.4 * design.costs.sum()
    log = list(judge(Campaign(design, budget, rng=11), labels).log)
    fields = {name: getattr(log[0], name) for name in Draw.__slots__}
    log[0] = Draw(**(fields | {"importance_weight": 1.0}))
    with pytest.raises(StateError, match="the log says Draw"):
        Campaign.replay(design, budget, log, rng=11)
    with pytest.raises(StateError, match="the log says Ended"):
        Campaign.replay(design, budget, [Ended("enough")], rng=11)


LOGS = {
    "grades for a draw that was not made": lambda log: [Told(1, (0,))],
    "grades told twice": lambda log: [log[0], log[1], log[1]],
    "too few grades": lambda log: [log[0], Told(1, log[1].grades[:-1])],
    "a grade above the scale": lambda log: [log[0], Told(1, (9, *log[1].grades[1:]))],
}


@pytest.mark.parametrize("name", LOGS)
def test_a_log_that_cannot_be_is_refused(name):
    design, labels = labelled(9)
    budget = 0.4 * design.costs.sum()
    log = judge(Campaign(design, budget, rng=11), labels).log
    assert isinstance(log[1], Told)
    with pytest.raises((StateError, InputError)):
        Campaign.replay(design, budget, LOGS[name](log), rng=11)


def test_a_draw_after_the_end_is_refused():
    design, labels = labelled(9)
    budget = 0.4 * design.costs.sum()
    log = judge(Campaign(design, budget, rng=11), labels).log
    with pytest.raises(StateError, match="the log goes on after its end"):
        Campaign.replay(design, budget, [*log, log[0]], rng=11)


def test_a_budget_may_grow_with_the_same_draws():
    design, labels = labelled(9)
    small, large = (judge(Campaign(design, part * design.costs.sum(), rng=11), labels) for part in (0.3, 0.5))
    assert large.draws[: len(small.draws)] == small.draws


def test_an_open_scale_is_refused():
    """ERR would otherwise take the largest grade that was told so far, which the sample decides."""
    pool = pool_of([2, 2])
    with pytest.raises(InputError, match="ERR needs the largest grade of the scale"):
        Target(ERR(), rankings_of(pool, [[0, 1]] * 2))
    assert Target(DCG(), rankings_of(pool, [[0, 1]] * 2)).measure == DCG()


def test_a_census_is_estimated_when_it_is_complete():
    design, _ = labelled(9)
    campaign = Campaign(design, design.costs.sum(), rng=0)
    draw = campaign.ask()
    campaign.tell(draw, [0] * len(draw.items))
    with pytest.raises(StateError, match=r"the estimate comes when all of it is judged, 1 of 25 queries are"):
        campaign.estimate()


@pytest.mark.parametrize("method", ["poisson", "cube", "depth"])
def test_a_settled_sample_is_estimated_when_it_is_complete(method):
    """Its queries come in the order of the pool: a part of them, judged, was taken for the whole sample."""
    plan, labels = labelled_plan(9, method)
    design = plan.design(0.4 * plan.stage.costs.sum())
    n = len(judge(Campaign(design, rng=3), labels).draws)
    campaign = Campaign(design, rng=3)
    for done in range(n):
        for early in (campaign.estimate, lambda: campaign.interval(Skewed())):
            with pytest.raises(StateError, match=f"the sample is settled as a whole: .* {done} of {n} queries are"):
                early()
        draw = campaign.ask()
        with pytest.raises(StateError, match="draws wait for grades"):
            campaign.estimate()
        campaign.tell(draw, labels[list(draw.items)].tolist())
    assert campaign.estimate() == judge(Campaign(design, rng=3), labels).estimate()  # also before `ask` says the end


@pytest.mark.parametrize("method", ["regression", "sequential"])
def test_draws_one_by_one_are_estimated_at_any_time(method):
    plan, labels = labelled_plan(9, method)
    campaign = Campaign(plan.design(), 0.6 * plan.stage.costs.sum(), rng=3)
    assert np.isfinite(judge(campaign, labels, steps=6).estimate().value)


# Looking while judging goes on


def looked_at(method, rule, most=10_000.0):
    """Judge until a rule says stop; return the campaign and its last decision."""
    pool = pool_of([4] * 300)
    random = np.random.default_rng(8)
    ranking = Rankings.from_scores(pool, random.random(1200))
    labels = random.integers(0, 3, 1200)
    design = METHODS[method].design(Target(ERR(2), ranking), random_probs(random, 1200, 3), budget=most)
    campaign = Campaign(design, None if design.budget else 1000.0, rng=4)
    decision = None
    while (draw := campaign.ask()) is not None:
        campaign.tell(draw, labels[list(draw.items)].tolist())
        decision = campaign.decide(rule)
        if decision.stop:
            break
    return campaign, decision


@pytest.mark.parametrize("method", ["difference", "regression", "sequential"])
def test_a_rule_stops_when_the_interval_is_narrow_enough(method):
    rule = StoppingRule(AsymptoticSequence(planned=100), half_width=0.1)
    campaign, decision = looked_at(method, rule)
    assert decision.stop
    assert decision.interval.high - decision.interval.low <= 0.2
    assert 20 <= len(campaign.draws) < 250
    assert campaign.interval(AsymptoticSequence(planned=100)) == decision.interval
    never, last = looked_at(method, StoppingRule(AsymptoticSequence(planned=100), half_width=1e-4))
    assert not last.stop
    assert never.ended


def test_rules_and_kinds_that_do_not_fit_a_design_are_refused():
    rule = StoppingRule(AsymptoticSequence(planned=100), half_width=0.1)
    with pytest.raises(InputError, match=r"the interval 'asympcs' is for draws one after the other"):
        looked_at("depth", rule, 500.0)
    design, labels = labelled()
    campaign = judge(Campaign(design, 0.7 * design.costs.sum(), rng=2), labels)
    with pytest.raises(InputError, match="is for draws one after the other"):
        campaign.interval(AsymptoticSequence(planned=100))
    plain, skewed = campaign.estimate().interval(), campaign.interval(Skewed())
    assert skewed.low <= plain.low < plain.high <= skewed.high
    assert campaign.estimate("population").std_error > campaign.estimate().std_error
