"""Rounds of judging: planned weights leave the mean alone, variances add up, and what is no round is refused."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from core_cases import estimate_of, judge_all
from naive import pool_of, rankings_of

from activeeval import DCG, ERR, METHODS, Campaign, InputError, StateError, Target
from activeeval.core.campaign.joint_estimates import _degrees_of_choice, combined, planned_weights, read_together
from activeeval.core.campaign.rounds import N_FOLDS, Rounds
from activeeval.core.estimation.estimators import joint_degrees
from activeeval.core.grade_models import QueryFactor
from activeeval.core.pool import pool_hashes
from activeeval.core.results import Note
from activeeval.formats.sample_file import from_arrays, to_arrays

GAINS, N = [0.0, 1.0, 3.0], 60


def case_of(seed=0, measure=None, n=N):
    """Return a target on queries of four items, labels that hang together in a query, and a model that is biased."""
    random = np.random.default_rng(seed)
    pool = pool_of([4] * n, query_costs=np.full(n, 0.5))
    target = Target(measure or DCG(GAINS), rankings_of(pool, [[0, 1, 2, 3]] * n))
    ease = np.repeat(random.normal(size=n), 4) + random.normal(size=4 * n)
    labels = np.digitize(ease - 0.5 * np.tile(np.arange(4), n), [0.0, 1.0])
    return target, labels, np.tile([0.6, 0.2, 0.2], (4 * n, 1))


def learning(probs, labels_of=None):
    """Return beliefs that move with the mean of what is known: a later design depends on the labels before it."""

    def believe(known):
        if not (known >= 0).any():
            return {"grade_probs": probs}
        shares = np.bincount(known[known >= 0], minlength=3) + 2.0
        return {"grade_probs": np.tile(shares / shares.sum(), (len(probs), 1))}

    return believe


def run(method, target, labels, probs, rng, budgets=(40, 80)):
    rounds = Rounds(METHODS[method], target, budgets, learning(probs), rng=rng)
    while (campaign := rounds.next()) is not None:
        judge_all(campaign, labels)
    return rounds


# The law of predictable weights


@pytest.mark.slow
@pytest.mark.parametrize(("method", "measure"), [("items_plain", None), ("depth_plain", ERR(2))])
def test_rounds_of_which_one_learns_from_the_other_are_unbiased_and_their_variances_add_up(method, measure):
    """1,000 repetitions; four standard errors for the mean, a factor of 1 ± .25 for the variance (five of its)."""
    target, labels, probs = case_of(1, measure)
    truth = float(target.pool.query_probs @ target.values(labels))
    found = []
    for seed in range(1000):
        rounds = run(method, target, labels, probs, seed)
        one = rounds.estimate()
        found.append((one.value, one.std_error**2, *(c.estimate().value for c in rounds.campaigns)))
    values, variances, first, second = np.array(found).T
    assert abs(values.mean() - truth) < 4 * values.std() / math.sqrt(1000)
    assert variances.mean() / values.var() == pytest.approx(1, abs=0.25)
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / math.sqrt(1000)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["items", "whole"])
def test_intervals_of_rounds_hold_as_often_as_they_say(method):
    """Nominal .95, 1,000 repetitions: .925 to .975 is 3.6 standard errors of .007, one false alarm in 3,000."""
    target, labels, probs = case_of(2)
    truth = float(target.pool.query_probs @ target.values(labels))
    held = [run(method, target, labels, probs, seed, (60, 90)).estimate().interval(0.95) for seed in range(1000)]
    assert 0.925 < np.mean([one.low <= truth <= one.high for one in held]) < 0.975


# Weights and sums by hand


def test_planned_weights_are_what_each_round_adds_to_the_information():
    target, _, probs = case_of()
    order = (design := METHODS["items"].design(target, probs)).order
    matters = target.matters[order.items]
    left = [order.planned_variance(order.level_for(budget), matters) for budget in (40, 120, 150)]
    found = planned_weights(design, [40, 80, 30])
    assert found == pytest.approx([left[2] / left[0], left[2] / left[1] - left[2] / left[0], 1 - left[2] / left[1]])
    assert (found > 0).all()
    assert planned_weights(design, [40, 1e6]) == pytest.approx([0, 1])
    assert planned_weights(design, [1e6, 40]) == pytest.approx([1, 0])
    assert planned_weights(design, [40]) == pytest.approx([1])


def test_rounds_add_up():
    one, two = estimate_of(1.0, 0.3, 10.0), replace(estimate_of(2.0, 0.4, 20.0), notes=(Note("rounded"),))
    found = combined([one, two], [0.25, 0.75])
    parts = np.array([0.25 * 0.3, 0.75 * 0.4]) ** 2
    assert found.value == 1.75
    assert found.std_error == pytest.approx(math.sqrt(parts.sum()))
    assert found.degrees_of_freedom == pytest.approx(parts.sum() ** 2 / (parts**2 @ [1 / 10, 1 / 20]))
    assert (found.n_items, found.cost, found.notes) == (40, 40.0, (Note("rounded"),))
    assert combined([one, replace(two, std_error=math.inf)], [0.25, 0.75]).std_error == math.inf
    assert combined([replace(one, std_error=math.inf), two], [0.0, 1.0]).std_error == pytest.approx(0.4)
    assert combined([replace(one, std_error=0.0)], [1.0]).interval(0.9).low == 1.0


def test_the_population_s_part_is_added_once():
    target, labels, probs = case_of(3)
    rounds = run("items", target, labels, probs, 3)
    pool, population = rounds.estimate(), rounds.estimate(scope="population")
    weights = planned_weights(rounds.campaigns[0].design, (40, 80))
    wide = [c.estimate(scope="population").std_error ** 2 - c.estimate().std_error ** 2 for c in rounds.campaigns]
    assert population.std_error**2 == pytest.approx(pool.std_error**2 + weights @ wide)
    assert (population.scope, population.value) == ("population", pool.value)
    values = target.values(labels)
    assert weights @ wide == pytest.approx(values.var(ddof=1) / N, rel=0.5)


def test_all_of_the_pool_in_the_last_round_is_the_truth():
    target, labels, probs = case_of(4)
    found = run("items", target, labels, probs, 4, (40, 1000)).estimate()
    assert found.value == pytest.approx(target.values(labels).mean(), rel=1e-12)
    assert found.std_error == 0
    assert (found.n_items, found.n_queries) == (4 * N, N)


def test_later_rounds_ask_for_nothing_that_is_known_and_draw_fresh_numbers():
    target, labels, probs = case_of(5)
    rounds = run("items", target, labels, probs, 5, (40, 40, 40))
    asked = [{z for unit in c.units for z in unit.items} for c in rounds.campaigns]
    assert not asked[0] & asked[1]
    assert not (asked[0] | asked[1]) & asked[2]
    assert len({int(c.key) for c in rounds.campaigns}) == 3
    assert int((rounds.known >= 0).sum()) == sum(map(len, asked))
    assert rounds.next() is None


def test_items_that_could_not_be_judged_are_counted_and_bounded():
    target, _, probs = case_of(6)
    rounds = Rounds(METHODS["items"], target, (40, 40), learning(probs), rng=0)
    while (campaign := rounds.next()) is not None:
        campaign.run(lambda query, items: [None, *([1] * (len(items) - 1))])
    found = rounds.estimate()
    weights = planned_weights(rounds.campaigns[0].design, (40, 40))
    own = [c.estimate().cannot for c in rounds.campaigns]
    assert found.cannot.n_items == sum(one.n_items for one in own) > 2
    assert found.cannot.low == pytest.approx(weights @ [one.low for one in own])
    assert found.cannot.low < found.value < found.cannot.high


# Readings that labels teach


def hidden(rounds, k):
    """Return what each fold of queries must not know of round k, by the ids' hashes."""
    campaign = rounds.campaigns[k]
    before, pool = campaign.design.known, campaign.design.pool
    after = np.maximum(before, campaign.grades)
    folds = (pool_hashes(pool)[0] % np.uint64(N_FOLDS)).astype(int)[pool.item_queries]
    return folds, [np.where(folds == fold, before, after) for fold in range(N_FOLDS)]


@pytest.mark.parametrize("method", ["items", "depth"])
def test_a_taught_reading_predicts_each_query_from_the_labels_of_other_folds(method):
    """With the nodes of a factor of each fold's own; what was known before the round is known to all."""
    target, labels, probs = case_of(11, DCG(GAINS) if method == "items" else ERR(2))
    asked = []

    def believe(known):
        asked.append(known)
        mean = (known[known >= 0].sum() + 50) / ((known >= 0).sum() + 100)
        return {"grade_probs": probs, "factor": QueryFactor(sigma=0.5 + 0.5 * mean)}

    rounds = Rounds(METHODS[method], target, (60, 60), believe, rng=3)
    while (campaign := rounds.next()) is not None:
        judge_all(campaign, labels)
    del asked[:]
    found = rounds.estimate(taught=True)
    assert rounds.estimate(taught=True) == found
    assert len(asked) == 2 * N_FOLDS
    taught = []
    for k, campaign in enumerate(rounds.campaigns):
        folds, parts = hidden(rounds, k)
        assert all(np.array_equal(*pair) for pair in zip(asked[k * N_FOLDS :], parts, strict=False))
        nodes = np.empty((9, 4 * N, 3))
        for fold, known in enumerate(parts):
            nodes[:, folds == fold] = believe(known)["factor"].node_probs(probs)[:, folds == fold]
        weights = QueryFactor(sigma=1.0).node_weights
        design = METHODS[method].design(target, nodes, node_weights=weights, judged=campaign.design.known)
        own = replace(campaign.design, beliefs=design.beliefs)
        reading = own.stage.reading(target, own.order, design.beliefs, own.known)
        reading = replace(reading, drawn_with=campaign.design.beliefs)  # what was planned stays
        again = Campaign.replay(replace(own, readings=(reading,)), campaign.log, key=int(campaign.key))
        taught.append(again.estimate())
    both = combined(taught, planned_weights(rounds.campaigns[0].design, (60, 60)))
    assert (found.value, found.std_error) == pytest.approx((both.value, both.std_error), rel=1e-5)  # 32 bits
    assert (found.value, found.std_error) != (rounds.estimate().value, rounds.estimate().std_error)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["whole", "items"])
def test_taught_readings_hold_and_err_less_where_labels_teach_what_nobody_knew(method):
    """Which of two groups of queries is the better one; 600 repetitions of one round, .92 to .98: three errors."""
    target, labels, probs = case_of(12)
    values = target.values(labels)
    group = np.repeat(values > np.median(values), 4)
    truth, found = float(target.pool.query_probs @ values), []

    def believe(known):
        told = [np.bincount(known[(known >= 0) & (group == one)], minlength=3) + 2.0 for one in (False, True)]
        shares = np.array([own / own.sum() for own in told]) if (known >= 0).any() else np.tile(probs[0], (2, 1))
        return {"grade_probs": shares[group.astype(int)]}

    for seed in range(600):
        rounds = Rounds(METHODS[method], target, (120,), believe, rng=seed)
        judge_all(rounds.next(), labels)
        pair = [rounds.estimate(taught=taught) for taught in (False, True)]
        ends = pair[1].interval(0.95)
        found.append((pair[0].value - truth, pair[1].value - truth, ends.low <= truth <= ends.high))
    plain, taught, held = np.array(found, dtype=float).T
    assert 0.92 < held.mean() < 0.98
    assert abs(taught.mean()) < 4 * taught.std() / math.sqrt(600)
    assert np.mean(taught**2) < 0.8 * np.mean(plain**2)


# What are no rounds


def test_what_is_no_round_of_another_is_refused():
    target, labels, probs = case_of(7)
    rounds = run("items", target, labels, probs, 7)
    first, second = rounds.campaigns
    for campaigns, message in (
        ((second, first), "round 2 was drawn without the grades of round 1 .*in order"),
        ((first, first), "round 2 was drawn with the numbers of an earlier round"),
        ((first, run("items", *case_of(8, n=50), 7).campaigns[1]), "all rounds must be of one pool: that of round 2"),
    ):
        with pytest.raises(InputError, match=message):
            read_together(campaigns, [None, None])
    pool = target.pool
    other = Target(DCG(GAINS), rankings_of(pool, [[3, 2, 1, 0]] * N))
    with pytest.raises(InputError, match=r"one target: .* of round 2 has another measure or ranking"):
        read_together((first, second), [target, other])
    with pytest.raises(InputError, match="draws with replacement"):
        Rounds(METHODS["passive"], target, [10], learning(probs))
    with pytest.raises(InputError, match="draws with replacement"):
        planned_weights(METHODS["passive"].design(target), [10])
    with pytest.raises(InputError, match="rounds need a budget each, got none"):
        Rounds(METHODS["items"], target, [], learning(probs))
    with pytest.raises(InputError, match="weights of 2 rounds must be from 0 on with the sum 1, got"):
        combined([first.estimate(), second.estimate()], [0.5, 0.6])


def test_a_round_that_is_open_holds_back_all_that_follows():
    target, _, probs = case_of(9)
    rounds = Rounds(METHODS["items"], target, (40, 40), learning(probs))
    with pytest.raises(StateError, match="0 of 2 rounds were drawn"):
        rounds.estimate()
    campaign = rounds.next()
    unit = campaign.ask()
    with pytest.raises(StateError, match=r"round 1 is not judged to its end: 1 units wait and \d+ were not requested"):
        rounds.next()
    campaign.tell(unit, [None] * len(unit.items))
    campaign.run(lambda query, items: [None] * len(items))
    with pytest.raises(StateError, match="round 1 has no label"):
        rounds.next()


def test_rounds_read_from_files_are_those_that_were_judged():
    target, labels, probs = case_of(10)
    rounds = run("items", target, labels, probs, 10)
    stored = []
    for campaign in rounds.campaigns:
        read = from_arrays(to_arrays(campaign))
        stored.append(Campaign.replay(read.design, campaign.log, key=int(read.key)))
    assert read_together(stored, [None, None]) == rounds.estimate()


@pytest.mark.parametrize("degrees", [3.0, 40.0])
def test_degrees_of_the_choice_of_queries_are_those_that_joint_degrees_combines(degrees):
    """The sum of two variances has few or many degrees of freedom, and small or large units."""
    for unit in (0.01, 10.0):
        of_pool, wide = (
            SimpleNamespace(std_error=unit * math.sqrt(v), degrees_of_freedom=d) for v, d in ((1, 9), (3, 1))
        )
        wide.degrees_of_freedom = joint_degrees(unit**2, 9.0, 2 * unit**2, degrees)
        assert _degrees_of_choice(of_pool, wide) == pytest.approx(degrees)
        wide.std_error = of_pool.std_error
        assert _degrees_of_choice(of_pool, wide) == wide.degrees_of_freedom
