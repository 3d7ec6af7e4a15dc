"""Reading a campaign: once a block is complete, whatever cannot be judged, and what a small sample has to say."""

import itertools
import math

import numpy as np
import pytest
from core_cases import LEVELLED, figures, judge_all, labelled_design
from naive import pool_of, random_lists, random_probs, rankings_of

from activeeval import DCG, ERR, METHODS, Additive, Campaign, InputError, QueryPool, Rankings, StateError, Target
from activeeval.core.estimation import GroupSequential
from activeeval.core.estimation.significance import mean_interval
from activeeval.core.pool import PoolGrades
from activeeval.formats.sample_file import from_arrays, to_arrays
from activeeval.report.message_lookup import line_of, text_of

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize("method", LEVELLED)
def test_a_block_is_read_once_it_is_complete_as_the_sample_of_its_budget(method):
    """Before the first is complete nothing is read; later the reading is that of a campaign with the block's budget."""
    design, labels = labelled_design(5, method, n_queries=40)
    blocks = [0.2 * design.cost, 0.35 * design.cost]
    campaign = Campaign(design, 0.5 * design.cost, rng=6, blocks=blocks)
    smaller = [judge_all(Campaign(design, end, rng=6, blocks=[]), labels) for end in (*blocks, 0.5 * design.cost)]
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
    design, labels = labelled_design(5, "items", n_queries=40)
    straight, mixed = (Campaign(design, 0.5 * design.cost, rng=6) for _ in range(2))
    units = list(iter(mixed.ask, None))
    assert mixed.waiting == tuple(units)
    judge_all(straight, labels)
    random = np.random.default_rng(0)
    first = sum(unit.block == 1 for unit in units)
    in_block = random.permutation(first).tolist()
    for k in in_block[:-1]:
        mixed.tell(units[k], labels[list(units[k].items)].tolist())
        with pytest.raises(StateError, match=r"of its \d+ units \d+ wait for grades"):
            mixed.estimate()
    mixed.tell(units[in_block[-1]], labels[list(units[in_block[-1]].items)].tolist())
    early = judge_all(Campaign(design, design.with_budget(0.5 * design.cost).blocks[0], rng=6, blocks=[]), labels)
    assert figures(mixed.estimate()) == early.estimate()
    for k in random.permutation(np.arange(first, len(units))).tolist():
        mixed.tell(units[k], labels[list(units[k].items)].tolist())
    assert mixed.estimate() == straight.estimate()
    assert not mixed.waiting


def test_a_refusal_says_what_is_missing():
    design, labels = labelled_design(6, "depth")
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
    design, labels = labelled_design(5, "items", n_queries=40)
    campaign = Campaign(design, 0.6 * design.cost, rng=6, blocks=[0.3 * design.cost])
    units = list(iter(campaign.ask, None))
    spent = 0.0
    for k, unit in enumerate(units[:-1]):
        campaign.tell(unit, labels[list(unit.items)].tolist())
        spent += unit.cost
        if spent > design.order.dearest_units.max() and k > 5:
            own = judge_all(Campaign(design, spent * (1 + 1e-9), rng=6, blocks=[]), labels).estimate()
            early = campaign.in_strict_order().estimate()
            assert figures(early) == own
            assert early.share == pytest.approx(spent / (0.6 * design.cost))
    campaign.retract(units[2].items[0])
    with pytest.raises(StateError):
        campaign.estimate()
    assert campaign.in_strict_order().estimate().n_items == sum(len(unit.items) for unit in units[:2])


@pytest.mark.parametrize("method", ["items", "items_plain", "depth", "depth_plain", "whole", "random"])
def test_what_cannot_be_judged_is_predicted_and_bounded(method):
    """Beside the estimate stand two with such items at grades that there are; without a fit the least and the most."""
    design, labels = labelled_design(10, method, n_queries=40, compare=True)
    budget = 0.6 * design.cost
    truly = judge_all(Campaign(design, budget, rng=2), labels)
    gone = {truly.units[k].items[-1] for k in (1, 4, 7)}
    campaign = judge_all(Campaign(design, budget, rng=2), labels, cannot=gone)
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
        again = judge_all(Campaign(design, budget, rng=2), other).estimate()
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
    design, labels = labelled_design(10, "items", n_queries=40)
    campaign = Campaign(design, 0.6 * design.cost, rng=2, blocks=[0.3 * design.cost])
    units = list(iter(campaign.ask, None))
    first = [unit for unit in units if unit.block == 1]
    campaign.tell(units[-1], [None] * len(units[-1].items))
    for unit in first:
        campaign.tell(unit, labels[list(unit.items)].tolist())
    assert campaign.estimate().cannot is None
    campaign.judge(first[0].items[0], None)
    assert campaign.estimate().cannot.n_items == 1


@pytest.mark.parametrize("method", ["depth", "items", "whole", "random"])
def test_what_cannot_be_judged_bounds_the_estimate_on_both_sides(method):
    for seed in range(10):
        design, labels = labelled_design(seed, method, compare=seed % 2 == 0)
        gone = np.flatnonzero(np.random.default_rng(seed).random(labels.size) < 0.2)
        found = judge_all(Campaign(design, 0.7 * design.cost, rng=seed), labels, cannot=gone).estimate()
        assert found.cannot.low <= found.value <= found.cannot.high


@pytest.mark.parametrize("measure", [DCG(), ERR(4), ERR(4, cutoff=3)])
@pytest.mark.parametrize("compare", [False, True])
def test_of_a_query_judged_whole_what_is_missing_is_as_the_model_expects(measure, compare):
    """E[L | all other labels], by enumeration of the missing ones; without a model they are of no gain."""
    for seed in range(5):
        design, labels = labelled_design(seed, "whole", n_queries=12, measure=measure, compare=compare)
        random, probs, target = np.random.default_rng(seed), design.beliefs.nodes[0], design.target
        gone = random.choice(np.flatnonzero(target.matters), 3, replace=False).tolist()
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
            campaign = judge_all(Campaign(own, 2 * own.cost), labels, cannot=gone)
            assert campaign.estimate().value == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize(
    ("method", "known"),
    [(method, False) for method in (*LEVELLED, "passive")] + [(method, True) for method in LEVELLED],
)
def test_a_census_reproduces_the_score_and_its_interval(method, known):
    """Judged or known beforehand: the mean of the queries' values, and as a sample of queries its t interval."""
    uniform = {"query_probs": np.full(25, 1 / 25)}
    design, labels = labelled_design(14, method, judged=(lambda labels: labels) if known else None, **uniform)
    campaign = judge_all(Campaign(design, max(design.cost, 1.0), rng=0), labels)
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
    design, labels = labelled_design(5, "depth", n_queries=60)
    campaign = judge_all(Campaign(design, 0.4 * design.cost, rng=3), labels)
    assert campaign.interval("group-sequential").low < campaign.estimate().value
    more = judge_all(campaign.topped_up(0.2 * design.cost), labels)
    assert more.design.planned == campaign.design.budget
    assert judge_all(from_arrays(to_arrays(more)), labels).design.planned == campaign.design.budget
    for late in (more, judge_all(from_arrays(to_arrays(more)), labels)):
        with pytest.raises(InputError, match=r"analyses end with their planned budget, this sample has 1\.5"):
            late.interval(GroupSequential())
        assert late.interval("t").confidence == 0.95
    planned = judge_all(Campaign(design, 0.6 * design.cost, rng=3), labels)
    assert planned.interval(GroupSequential()).low < planned.estimate().value


def test_a_question_of_another_discount_or_other_traffic_is_another_question():
    def same(r):
        return np.ones(len(r))

    design, labels = labelled_design(2, "items", measure=Additive([0, 1, 2, 3, 4], lambda r: 1 / r))
    campaign = judge_all(Campaign(design, 2 * design.cost), labels)
    other = Target(Additive([0, 1, 2, 3, 4], same), design.target.ranking)
    assert campaign.estimate(other).value == pytest.approx(design.pool.query_probs @ other.values(labels))
    with pytest.raises(InputError, match="cannot be written: its discounts are a function"):
        to_arrays(campaign)
    pool = design.pool.replace(query_probs=np.full(25, 0.04))
    ranking = design.target.ranking
    with pytest.raises(InputError, match="other query probabilities than the sample's"):
        campaign.estimate(Target(DCG(), Rankings(pool, ranking.offsets, ranking.items)))


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
        campaign = judge_all(Campaign(design, rng=1), labels)
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
    campaign = judge_all(Campaign(design, 2 * design.cost), labels)
    assert {unit.query for unit in campaign.units} == set(range(20))
    for question in questions:
        found = campaign.estimate(question)
        assert found.value == pytest.approx(question.values(labels).mean(), rel=1e-12)
        assert (found.std_error, found.n_open, found.degrees_of_freedom) == (0, 0, math.inf)
    early = judge_all(Campaign(design, 0.5 * design.cost, rng=2), labels)
    judged = {unit.query for unit in early.units}
    assert early.estimate(questions[1]).n_open <= len(judged - set(range(5)))


# Small samples


def read(grades, method="random", budget=30.0, n=60):
    """Return the estimate of a pool with an item a query, the k-th judged of grade ``grades(k)``."""
    pool = QueryPool([f"q{k}" for k in range(n)], np.arange(n + 1), [f"d{k}" for k in range(n)])
    target = Target(DCG([0, 1, 3, 7, 15]), Rankings.from_scores(pool, np.ones(n)))
    campaign = Campaign(METHODS[method].design(target, np.full((n, 5), 0.2), max_grade=4), budget, rng=1)
    judged = []

    def judge(query, items):
        judged.append(query)
        return [grades(len(judged))] * len(items)

    return campaign.run(judge)


@pytest.mark.parametrize("method", ["random", "passive"])
def test_one_query_that_has_most_of_the_variance_is_counted(method):
    estimate = read(lambda k: 4 if k == 7 else k % 2, method)
    assert 0.5 < estimate.largest_share < 1
    assert estimate.effective_queries < 10
    assert {caution.code for caution in estimate.cautions} <= {"size"}


def test_of_even_queries_none_is():
    estimate = read(lambda k: k % 3)
    assert estimate.largest_share is None
    assert 0 < estimate.largest < 0.2
    assert estimate.effective_queries is None
