"""A question about some of the queries: exactly unbiased, the parts of a whole, everything known its own census."""

from dataclasses import replace

import numpy as np
import pytest
from core_cases import judge_all, labelled_design
from each_once import each_once
from naive import over_thresholds, pool_of, random_lists, random_probs, rankings_of
from scipy import stats

from activeeval import (
    DCG,
    ERR,
    METHODS,
    NDCG,
    Campaign,
    Chunk,
    InputError,
    Precision,
    Rankings,
    Target,
    chunked_design,
    replicate,
)
from activeeval.core.errors import StateError
from activeeval.formats.sample_file import digest_of, from_arrays, id_of, to_arrays
from activeeval.sampling.answers import _by_segment
from activeeval.sampling.drawn_sample import DrawnSample

pytestmark = pytest.mark.kernel
WITHIN = np.array([True, False, True, True])


def lists_of(seed, lengths, **fields):
    """Return two rankings of a pool with unequal costs and p, a grade model, and labels."""
    random = np.random.default_rng(seed)
    costs, p = random.uniform(0.5, 2, sum(lengths)), random.dirichlet(np.full(len(lengths), 4.0))
    pool = pool_of(lengths, item_costs=costs, query_probs=p, **fields)
    lists = [rankings_of(pool, random_lists(random, lengths, least=1)) for _ in range(2)]
    return *lists, random_probs(random, pool.n_items, 3), random.integers(0, 3, pool.n_items)


def truth_of(target, labels):
    """Return the mean over the queries of a target, in plain sums."""
    p, values = target.pool.query_probs, target.values(labels)
    own = [q for q in range(p.size) if target.within is None or target.within[q]]
    return sum(p[q] * values[q] for q in own) / sum(p[q] for q in own)


def judged(design, labels, budget=None, rng=0):
    """Return a campaign that was judged to its end."""
    campaign = Campaign(design, budget, rng=rng)
    for unit in iter(campaign.ask, None):
        campaign.tell(unit, labels[list(unit.items)].tolist())
    return campaign


@pytest.mark.parametrize(
    ("method", "measure"),
    [("items_plain", DCG()), ("depth_plain", ERR(2)), ("depth_plain", NDCG()), ("whole", NDCG(cutoff=2))],
    ids=str,
)
@pytest.mark.parametrize("compare", [False, True])
def test_a_segment_is_exactly_unbiased(method, measure, compare):
    """All samples of a hard budget, integrated over T, of a sample that was made for the whole pool."""
    one, other, probs, labels = lists_of(6, (2, 3, 2, 2), query_costs=[1, 0, 1, 0.5])
    whole = Target(measure, one, other if compare else None)
    design = replace(METHODS[method].design(whole, probs), is_fitted=False)
    part = replace(whole, within=WITHIN)
    assert part.matters.any()
    budget = min(design.order.two_dearest * 1.001, 0.97 * design.cost)
    mass, mean, variance, estimated = over_thresholds(design, design.reading(part), labels, budget)
    assert mass == pytest.approx(1, abs=1e-12)
    assert mean == pytest.approx(truth_of(part, labels), abs=1e-10)
    assert estimated == pytest.approx(variance, abs=1e-10)


@pytest.mark.parametrize("method", ["items_plain", "depth_plain", "whole"])
def test_segments_that_share_out_a_pool_add_up_to_the_whole(method):
    """Of plain estimators: Σ P_s R̂_s = R̂, their variances as well, their costs and counts too."""
    one, other, probs, labels = lists_of(2, (4,) * 40, query_costs=np.full(40, 0.7))
    whole = Target(DCG(), one, other)
    design = replace(METHODS[method].design(whole, probs), is_fitted=False)
    campaign = judged(design, labels, 0.4 * design.cost)
    found = campaign.estimate()
    segment = np.random.default_rng(3).integers(0, 3, 40)
    shares = [one.pool.query_probs[segment == k].sum() for k in range(3)]
    parts = [campaign.estimate(replace(whole, within=segment == k)) for k in range(3)]
    assert found.value == pytest.approx(sum(p * part.value for p, part in zip(shares, parts, strict=True)), rel=1e-12)
    for name in ("observed_error", "planned_error"):
        errors = [getattr(part, name) for part in parts]
        variance = sum((p * error) ** 2 for p, error in zip(shares, errors, strict=True))
        assert getattr(found, name) ** 2 == pytest.approx(variance, rel=1e-9), name
    for name in ("n_queries", "n_items", "n_open", "n_draws", "cost"):
        assert getattr(found, name) == pytest.approx(sum(getattr(part, name) for part in parts)), name


@pytest.mark.parametrize("method", ["items", "depth", "whole", "random", "passive"])
def test_a_segment_of_which_everything_is_judged_is_its_census(method):
    one, other, probs, labels = lists_of(4, (5,) * 12)
    whole = Target(DCG(), one, other)
    design = METHODS[method].design(whole, probs, max_grade=2)
    campaign = judged(design, labels, design.cost)
    part = replace(whole, within=np.arange(12) < 5)
    found = campaign.estimate(part)
    assert (found.value, found.std_error) == (pytest.approx(truth_of(part, labels), rel=1e-12), 0)
    assert campaign.estimate(part, scope="population").std_error > 0


def test_draws_with_replacement_are_read_for_a_segment_as_a_ratio():
    one, _, probs, labels = lists_of(5, (3,) * 60)
    whole = Target(DCG(), one)
    design = METHODS["active"].design(whole, probs, max_grade=2)
    campaign = judged(design, labels, 0.3 * design.cost, rng=7)
    within = np.arange(60) % 2 == 0
    part, selection = replace(whole, within=within), campaign.drawing.selection(len(campaign.units))
    draws = selection.queries[within[selection.queries]]
    weights = one.pool.query_probs[draws] / design.scheme.sampling_probs[draws]
    expected = weights @ whole.values(labels)[draws] / weights.sum()
    found = campaign.estimate(part)
    assert found.value == pytest.approx(expected, rel=1e-12)
    assert (found.n_draws, found.n_queries) == (draws.size, np.unique(draws).size)


def test_what_nothing_was_judged_of_has_no_estimate():
    one, _, probs, labels = lists_of(6, (3,) * 40)
    design = METHODS["whole"].design(Target(DCG(), one), probs)
    campaign = judged(design, labels, 0.1 * design.cost)
    missing = np.ones(40, dtype=bool)
    missing[[unit.query for unit in campaign.units]] = False
    with pytest.raises(StateError, match="nothing has been judged yet"):
        campaign.estimate(Target(DCG(), one, within=missing))


@pytest.mark.parametrize("within", [[True], [1, 0, 1, 0], np.zeros(4, dtype=bool), "mobile"])
def test_what_is_no_segment_is_refused(within):
    with pytest.raises(InputError, match=r"within (must be true or false for each of 4 queries|selects no query)"):
        Target(DCG(), lists_of(7, (2,) * 4)[0], within=within)


def test_a_sample_may_be_made_for_segments_and_keeps_them():
    """Of queries outside nothing is judged; the file knows which they are."""
    one, other, probs, labels = lists_of(8, (4,) * 30)
    halves = np.arange(30) < 15
    targets = [Target(DCG(), one, other, halves), Target(Precision(2), one, None, np.arange(30) < 10)]
    design = METHODS["items"].design(targets, probs, budget=20)
    campaign = judged(design, labels)
    assert max(unit.query for unit in campaign.units) < 15
    arrays = to_arrays(campaign)
    restored = from_arrays(arrays)
    assert digest_of(to_arrays(restored)) == id_of(arrays)
    assert restored.planned == campaign.planned
    assert [t.within.tolist() for t in restored.design.targets] == [t.within.tolist() for t in targets]
    with pytest.raises(InputError, match="one target of all queries, no known grades"):
        METHODS["active"].design(targets[0], probs)
    truth = truth_of(targets[0], labels)
    found = replicate(design, labels, [20.0], 400, 3)
    assert abs(found.values.mean() - truth) < 4 * found.values.std() / 20  # false alarm: 6e-5


@each_once(("method", ["items", "depth", "whole"]), ("overheads", [0.0, 2.0]))
def test_the_half_width_at_the_planned_end_is_foreseen(method, overheads):
    """After a quarter, the median forecast lies within a third of the median width that came; at the end it is it."""
    random = np.random.default_rng(9)
    pool = pool_of((6,) * 150, query_costs=np.full(150, overheads))
    ranking, probs = Rankings.from_scores(pool, random.random(900)), random_probs(random, 900, 3)
    labels = np.array([random.choice(3, p=row) for row in probs])
    design = METHODS[method].design(Target(DCG(), ranking), probs)
    check_forecasts(design.with_budget(0.4 * design.cost), labels, design.target, n=9, block=1)


def check_forecasts(design, labels, target, n, block):
    """Check the median forecast after a block, over some seeds, and that the last one is the half-width itself."""
    foreseen, came = [], []
    for seed in range(n):
        campaign = Campaign(design, rng=seed)
        for unit in iter(campaign.ask, None):
            if unit.block > block and len(foreseen) == seed:
                foreseen.append(campaign.half_width_at_end(target=target))
            campaign.tell(unit, labels[list(unit.items)].tolist())
        estimate = campaign.estimate(target)
        came.append(stats.t.ppf(0.975, estimate.degrees_of_freedom) * estimate.std_error)
        assert campaign.half_width_at_end(target=target) == pytest.approx(came[-1], rel=1e-9)
    assert np.median(foreseen) == pytest.approx(np.median(came), rel=1 / 3)


@pytest.mark.parametrize("method", ["items", "whole"])
def test_a_target_about_few_queries_gets_its_share_of_a_joint_design(method):
    """By equal losses two segments of the same kind lose alike, however many queries they have."""
    random, few = np.random.default_rng(11), np.arange(600) < 80
    ranking = rankings_of(pool_of((4,) * 600), [random.permutation(4).tolist() for _ in range(600)])
    targets = [Target(DCG(), ranking, None, within) for within in (few, ~few)]
    order = METHODS[method].design(targets, random_probs(random, 2400, 3)).order
    of_queries, of_places = order.inclusion_probs(order.level_for(0.2 * order.cost))
    chances = of_queries if method == "whole" else of_places
    owners = few if method == "whole" else few[order.place_queries]
    assert chances[owners].mean() > 1.5 * chances[~owners].mean()


def test_the_half_width_of_a_segment_at_the_end_is_that_of_its_own_places():
    """Queries asked ten times as often are nearly all judged at the end: the others' places say nothing of them."""
    random, busy = np.random.default_rng(12), np.arange(200) < 40
    p = np.where(busy, 10.0, 1.0)
    pool = pool_of((5,) * 200, query_probs=p / p.sum())
    ranking = rankings_of(pool, [random.permutation(5).tolist() for _ in range(200)])
    probs = random_probs(random, 1000, 3)
    labels = np.array([random.choice(3, p=row) for row in probs])
    design = METHODS["whole"].design(Target(DCG(), ranking), probs)
    for within in (busy, ~busy):
        target = Target(DCG(), ranking, None, within)
        check_forecasts(design.with_budget(0.45 * design.cost), labels, target, n=9, block=2)


def test_a_segment_of_which_an_early_block_holds_nothing_is_read_at_the_end():
    one, _, probs, labels = lists_of(13, (3,) * 60)
    design = METHODS["whole"].design(Target(DCG(), one), probs)
    campaign = judged(design, labels, 0.5 * design.cost)
    first = {unit.query for unit in campaign.units if unit.block == 1}
    later = {unit.query for unit in campaign.units if unit.block > 1} - first
    within = np.isin(np.arange(60), list(later))
    target = Target(DCG(), one, within=within)
    for kind in ("t", "group-sequential"):
        interval = campaign.interval(kind, 0.95, target)
        assert interval.low <= campaign.estimate(target).value <= interval.high


def test_a_pool_in_chunks_is_asked_about_all_its_queries():
    one, _, probs, _ = lists_of(14, (3,) * 10)
    chunks = [Chunk(one, probs)]
    with pytest.raises(InputError, match="a pool in chunks is asked about all of its queries"):
        chunked_design(chunks, lambda chunk: Target(DCG(), chunk.ranking, within=np.arange(10) < 5), method="whole")


@pytest.mark.parametrize("scope", ["pool", "population"])
@pytest.mark.parametrize(
    ("share", "read"), [(1.0, ["some", "certain", "rest"]), (0.5, ["certain", "rest"]), (0.3, ["rest"])]
)
def test_few_queries_are_read_once_their_labels_are_all_known(scope, share, read):
    """Also for a scope whose queries are never all known."""
    design, labels = labelled_design(3, "items", n_queries=40)
    number = np.arange(40)
    parts = {"some": number >= 35, "certain": number < 3, "rest": number >= 3}
    sample = DrawnSample(campaign=judge_all(Campaign(design, share * design.cost, rng=1), labels), questions=("run",))
    found = _by_segment(sample, design.target, parts, scope)
    assert list(found) == read
    for name, (target, estimate) in found.items():
        assert (target.within == parts[name]).all()
        assert estimate == sample.estimate(replace(design.target, within=parts[name]), scope)
