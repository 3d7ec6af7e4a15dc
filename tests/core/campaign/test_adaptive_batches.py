"""Samples whose depths follow labels, drawn batch by batch: the same as place by place."""

import math

import numpy as np
import pytest
from core_cases import judge_all
from each_once import each_once
from naive import pool_of, rankings_of

from activeeval import AP, ERR, METHODS, NDCG, RR, Campaign, InputError, StateError, Target
from activeeval.core.pool import known_digest, pool_hashes
from activeeval.core.pool.identity import key_of
from activeeval.core.simulation import replicate
from activeeval.core.simulation.replications import repetition_seeds
from activeeval.formats.sample_file import from_arrays, to_arrays

N = 40
KEPT = 0.9


def case_of(measure=None, looks="3", known=None, compare=False, n=N):
    random = np.random.default_rng(5)
    lengths = random.integers(2, 12, n).tolist()
    pool = pool_of(lengths, query_costs=np.full(n, 0.5))
    lists = [rankings_of(pool, [random.permutation(length).tolist() for length in lengths]) for _ in range(1 + compare)]
    target = Target(measure or NDCG("exp", cutoff=3), *lists)
    labels, probs = random.integers(0, 3, pool.n_items), random.dirichlet(np.ones(3), pool.n_items)
    given = None if known is None else np.where(random.random(pool.n_items) < known, labels, -1)
    design = METHODS["depth"].looking(looks).design(target, probs, judged=given, budget=120.0)
    return design, labels


def kept(campaign):
    """Return the campaign as a file has it, with its labels."""
    again = from_arrays(to_arrays(campaign))
    for unit in campaign.planned:
        again.ask()
        if unit.number <= len(campaign.units) and not campaign.n_open(unit):
            again.tell(unit, [int(campaign.grades[item]) for item in unit.items])
    return again


@each_once(("looks", ["each", "3", "1"]), ("measure", [NDCG("exp", cutoff=3), ERR(2), RR(1, 3), AP()]))
def test_batchs_end_where_one_place_at_a_time_does(measure, looks):
    """Bit for bit the repetition with nine tenths of the budget, wherever what was kept was enough; never above it."""
    design, labels = case_of(measure, looks)
    whole = replicate(design, labels, [KEPT * 120.0], 8, rng=3)
    n_same = 0
    for r, seed in enumerate(repetition_seeds(3, 8)):
        campaign = judge_all(Campaign(design, rng=seed, by_batches=True), labels)
        assert campaign.spent <= 120.0 * (1 + 1e-9)
        if campaign.n_complete_blocks == len(campaign.design.blocks):
            n_same += 1
            estimate = campaign.estimate()
            budgets = campaign.design.blocks
            if budgets[-1] == pytest.approx(KEPT * 120.0):
                assert estimate.value == whole.values[r, 0]
                assert estimate.std_error**2 == pytest.approx(whole.variances[r, 0], rel=1e-12)
                assert estimate.degrees_of_freedom == whole.degrees_of_freedom[r, 0]
    assert n_same >= 6


@each_once(("looks", ["each", "3"]), ("measure", [NDCG("exp", cutoff=3), ERR(2), RR(1, 3), AP()]))
def test_one_place_at_a_time_is_the_repetition(measure, looks):
    """The lowest place without a label is judged until one cannot be paid: bit for bit, whatever the labels behind."""
    design, labels = case_of(measure, looks, compare=True, n=N // 2)
    runs = replicate(design, labels, [60.0], 2, rng=2)
    for r, seed in enumerate(repetition_seeds(2, 2)):
        campaign = judge_all(Campaign(design.with_budget(60.0), rng=seed), labels)
        estimate = campaign.estimate()
        assert (estimate.value, estimate.degrees_of_freedom) == (runs.values[r, 0], runs.degrees_of_freedom[r, 0])
        assert campaign.selection.cost == pytest.approx(runs.spent[r, 0])
        assert "exceeds the budget" in campaign.ended


def test_early_blocks_are_repetitions_too():
    """Read at the ends of blocks, once all below their thresholds is judged, whatever waits above."""
    design, labels = case_of(looks="1")
    blocks = [KEPT * 120.0 * share for share in (0.25, 0.5, 0.75, 1.0)]
    runs = replicate(design, labels, blocks, 4, rng=3)
    for r, seed in enumerate(repetition_seeds(3, 4)):
        campaign = judge_all(Campaign(design, rng=seed, by_batches=True), labels)
        assert campaign.design.blocks == pytest.approx(blocks)
        spent = [campaign.block_selection(before).cost for before in range(3)]
        assert spent == pytest.approx(runs.spent[r, :3])


def test_a_file_and_the_sheets_go_on_as_memory_does():
    design, labels = case_of()
    memory = judge_all(Campaign(design, rng=3, by_batches=True), labels)
    campaign, n, is_new = Campaign(design, rng=3, by_batches=True), 0, True
    while is_new:
        campaign, n = kept(campaign), n + 1
        for unit in campaign.planned:
            if campaign.n_open(unit):
                campaign.tell(unit, [int(labels[item]) for item in unit.items])
        campaign, is_new = campaign.following()
    assert n == memory.paths.n_batches > 2
    assert kept(campaign).estimate().value == memory.estimate().value
    np.testing.assert_array_equal(campaign.paths.batches, memory.paths.batches)
    np.testing.assert_array_equal(campaign.paths.rates, memory.paths.rates)


def test_known_grades_cost_nothing_and_are_not_asked():
    design, labels = case_of(known=0.3)
    campaign = judge_all(Campaign(design, rng=1, by_batches=True), labels)
    asked = {item for unit in campaign.planned for item in unit.items}
    assert not asked & set(np.flatnonzero(design.known >= 0).tolist())
    assert math.isfinite(campaign.estimate().value)


def test_a_correction_changes_grades_and_no_rate():
    """Probabilities of then, grades of now: the threshold and the places stay, the value is that of the new grade."""
    design, labels = case_of()
    campaign = judge_all(Campaign(design, rng=3, by_batches=True), labels)
    before, rates = campaign.selection, campaign.paths.rates.copy()
    first = campaign.units[0]
    item = first.items[0]
    value = campaign.estimate().value
    campaign.judge(item, (int(labels[item]) + 1) % 3)
    np.testing.assert_array_equal(campaign.paths.rates, rates)
    if campaign.n_complete_blocks:
        assert campaign.block_selection(campaign.n_complete_blocks - 1).level <= before.level
        assert campaign.estimate().value != value


def test_a_correction_that_undoes_a_stop_has_the_rest_asked():
    """RR: the first item was relevant, so that the others were dead; it is not, and those that had come are asked."""
    design, labels = case_of(RR(1, 5), looks="each")
    labels = np.full_like(labels, 0)
    campaign = Campaign(design, rng=3, by_batches=True)
    first = campaign.ask()
    labels[first.items[0]] = 2
    campaign.tell(first, [int(labels[item]) for item in first.items])
    judge_all(campaign, labels)
    n_asked = sum(unit.query == first.query for unit in campaign.units)
    campaign.judge(first.items[0], 0)
    lowest = campaign._followed
    is_of_query = design.order.place_queries == first.query
    if (lowest.is_next & is_of_query & (lowest.levels < campaign.selection.level)).any():
        assert campaign.go_on()
        assert sum(unit.query == first.query for unit in campaign.planned) > n_asked


def corrected_mean(measure, budget):
    """Return the mean over many keys of a difference form whose first label is corrected once more is drawn."""
    random = np.random.default_rng(0)
    lengths = [3, 4, 3, 4]
    pool = pool_of(lengths)
    target = Target(measure, rankings_of(pool, [random.permutation(n).tolist() for n in lengths]))
    first, now = random.integers(0, 3, pool.n_items), random.integers(0, 3, pool.n_items)
    probs = random.dirichlet(np.ones(3), pool.n_items)
    design = METHODS["depth_plain"].looking("each").design(target, probs, budget=budget)
    values = []
    for seed in range(3000):
        campaign = judge_all(Campaign(design, rng=seed), first)
        for unit in campaign.units:
            for item in unit.items:
                if now[item] != first[item]:
                    campaign.judge(item, int(now[item]))
        while campaign.go_on():  # a stop that is undone
            judge_all(campaign, now, len(campaign.planned) - len(campaign.units))
        values.append(campaign.estimate().value)
    return np.array(values), float(pool.query_probs @ target.values(now))


@pytest.mark.statistical
@pytest.mark.slow
def test_corrections_leave_the_estimate_unbiased():
    """3,000 samples: the mean is within 4 standard errors of the truth of now, 1 run in 15,000 would fail."""
    values, truth = corrected_mean(NDCG("exp", cutoff=2), 9.0)
    assert abs(values.mean() - truth) <= 4 * values.std() / math.sqrt(values.size)


def test_what_cannot_be_judged_stands_as_expected_and_is_bounded():
    design, labels = case_of()
    first = Campaign(design, rng=3, by_batches=True).ask()
    campaign = judge_all(Campaign(design, rng=3, by_batches=True), labels, cannot=set(first.items))
    estimate = campaign.estimate()
    assert estimate.cannot.n_items == len(first.items)
    assert estimate.cannot.low <= estimate.value <= estimate.cannot.high


def test_more_budget_goes_on_from_the_same_places():
    design, labels = case_of(looks="1")
    campaign = judge_all(Campaign(design, rng=3, by_batches=True), labels)
    grown = judge_all(campaign.topped_up(60.0), labels)
    assert grown.spent <= 180.0 * (1 + 1e-9)
    assert [unit.items for unit in grown.units[: len(campaign.units)]] == [unit.items for unit in campaign.units]
    assert len(grown.units) > len(campaign.units)
    assert grown.design.blocks[:-1] == campaign.design.blocks
    key = key_of(np.random.SeedSequence(3), known_digest(pool_hashes(design.pool)[1], design.known))
    assert key.dtype == np.uint64
    if grown.n_complete_blocks == len(grown.design.blocks):
        assert grown.selection.level >= campaign.selection.level


def test_what_waits_is_named():
    design, labels = case_of()
    campaign = Campaign(design, rng=3, by_batches=True)
    with pytest.raises(StateError, match=r"wait, the first of batch 1, query 'q\d+'"):
        campaign.estimate()
    judge_all(campaign, labels, len(campaign.planned))
    with pytest.raises(StateError, match="the labels so far determine the next batch: draw it first"):
        campaign.estimate()
    assert campaign.goes_on


def test_another_question_is_refused_and_a_segment_is_read():
    design, labels = case_of()
    campaign = judge_all(Campaign(design, rng=3, by_batches=True), labels)
    with pytest.raises(InputError, match="name it when the sample is drawn"):
        campaign.estimate(Target(ERR(2), design.target.ranking))
    halves = [np.arange(N) < N // 2, np.arange(N) >= N // 2]
    parts = [campaign.estimate(Target(design.target.measure, design.target.ranking, within=half)) for half in halves]
    truths = [float(design.target.values(labels)[half].mean()) for half in halves]
    for part, truth in zip(parts, truths, strict=True):
        assert abs(part.value - truth) <= 6 * part.std_error
    p = design.pool.query_probs
    whole = campaign.estimate()
    assert sum(p[half].sum() * part.value for half, part in zip(halves, parts, strict=True)) == pytest.approx(
        whole.value, abs=3 * whole.std_error
    )


def test_the_log_alone_makes_the_same_campaign():
    design, labels = case_of(looks="each")
    campaign = judge_all(Campaign(design, rng=3), labels)
    again = Campaign.replay(campaign.drawn_design, campaign.log, key=int(campaign.key))
    assert again.estimate() == campaign.estimate()
    assert [unit.items for unit in again.units] == [unit.items for unit in campaign.units]
    assert again.ask() is None
    np.testing.assert_array_equal(campaign.paths.rates, again.paths.rates)


def test_a_budget_for_everything_needs_neither_reserve_nor_blocks():
    design, labels = case_of()
    for budget, n_blocks in ((design.order.cost, 1), (0.99 * design.order.cost, 4)):
        campaign = Campaign(design.with_budget(budget), rng=3, by_batches=True)
        assert len(campaign.design.blocks) == n_blocks
    whole = judge_all(Campaign(design.with_budget(design.order.cost), rng=3, by_batches=True), labels)
    assert whole.estimate().value == pytest.approx(design.target.values(labels).mean(), rel=1e-12)
    assert whole.estimate().std_error == 0
