"""Items that judges grade differently, counted by the mean of what their grades are worth."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from naive import pool_of, random_lists, random_probs, rankings_of

from activeeval import AP, DCG, ERR, METHODS, NDCG, RBP, RR, Additive, Campaign, InputError, Precision, Recall, Target
from activeeval.campaign.sheet import sheet_of, take
from activeeval.grade_models import QueryFactor
from activeeval.io.tables.draws import CANNOT

TOP = 3


def case_of(seed=1, lengths=(4,) * 25, compare=False):
    """Return a pool's two rankings, a model, and the grades of two judges."""
    random = np.random.default_rng(seed)
    pool = pool_of(lengths, item_costs=random.uniform(0.5, 2, sum(lengths)))
    one, other = (rankings_of(pool, random_lists(random, lengths, least=2)) for _ in range(2))
    ann, bob = random.integers(0, TOP + 1, (2, pool.n_items))
    bob = np.where(random.random(pool.n_items) < 0.4, ann, bob)
    return one, other if compare else None, random_probs(random, pool.n_items, TOP + 1), ann, bob


def read(design, judges, policy="mean-gain", rng=0):
    """Return the campaign that the sheets of several judges make."""
    campaign = Campaign(design, rng=rng)
    sheet = sheet_of(campaign, "s1")
    places = {pair: z for z, pair in enumerate(pairs_of(design.pool))}
    items = [places[pair] for pair in zip(sheet.query_id.tolist(), sheet.doc_id.tolist(), strict=True)]
    sheets = {f"{name}.csv": replace(sheet, grade=grades[items]) for name, grades in judges.items()}
    return take(campaign, sheets, ["s1"], policy)


def pairs_of(pool):
    return list(zip(pool.query_ids[pool.item_queries].tolist(), pool.item_ids.tolist(), strict=True))


def mean_values(measure, target, ann, bob):
    """Return the value of every query with mean gains, rank by rank in plain loops."""
    worth = {
        "err": lambda y: (2.0**y - 1) / 2**TOP,
        "rr": lambda y: float(y >= 1),
        "p": lambda y: float(y >= 1),
        "r": lambda y: float(y >= 1),
        "exp": lambda y: 2.0**y - 1,
        "linear": float,
    }[measure]
    pool, ranking = target.pool, target.ranking
    out = []
    for q in range(pool.n_queries):
        start, stop = pool.query_offsets[q : q + 2]
        gains = [(worth(int(ann[z])) + worth(int(bob[z]))) / 2 for z in range(start, stop)]
        ranked = [gains[z - start] for z in ranking.items[ranking.offsets[q] : ranking.offsets[q + 1]]]
        value, stay = 0.0, 1.0
        for rank, g in enumerate(ranked, start=1):
            if measure in ("err", "rr"):
                value, stay = value + stay * g / rank, stay * (1 - g)
            else:
                value += g if measure == "p" else g * (rank <= 2) if measure == "r" else g / np.log2(1 + rank)
        if measure == "linear":
            best = sum(g / np.log2(1 + rank) for rank, g in enumerate(sorted(gains, reverse=True), start=1))
            value = value / best if best else 0.0
        if measure == "r":
            value = value / sum(gains) if any(gains) else 0.0
        out.append(value / 3 if measure == "p" else value)
    return np.array(out)


CENSUS = [
    ("items", DCG(), "exp"),
    ("items", Additive([0, 1, 3, 7]), "exp"),
    ("depth", ERR(TOP), "err"),
    ("depth", RR(), "rr"),
    ("depth", NDCG(), "linear"),
    ("depth", Recall(2), "r"),
    ("whole", ERR(TOP), "err"),
    ("random", NDCG(), "linear"),
    ("passive", DCG(), "exp"),
]


@pytest.mark.kernel
@pytest.mark.parametrize(("method", "measure", "rule"), CENSUS, ids=lambda v: str(v))
def test_everything_judged_is_the_mean_gain_by_hand(method, measure, rule):
    one, _, probs, ann, bob = case_of()
    target = Target(measure, one)
    design = METHODS[method].design(target, probs, max_grade=TOP, budget=1e6)
    campaign = read(design, {"ann": ann, "bob": bob})
    progress, agreement = campaign.progress, campaign.agreement
    found = campaign.estimate()
    assert (found.std_error, progress.waiting) == (0, 0)
    assert found.value == pytest.approx(mean_values(rule, target, ann, bob).mean(), rel=1e-12)
    assert 0 < agreement.alike < agreement.several == progress.judged
    assert campaign.design.max_grade == TOP


@pytest.mark.parametrize("compare", [False, True])
@pytest.mark.parametrize(
    ("method", "measure"), [("items_plain", DCG()), ("items_plain", RBP()), ("whole", Precision(2))]
)
def test_of_plain_sums_the_estimate_is_the_mean_of_the_judges_own(method, measure, compare):
    """Linear in the gains: with the model taken at its word, and without a factor that learns."""
    one, other, probs, ann, bob = case_of(2, compare=compare)
    design = replace(METHODS[method].design(Target(measure, one, other), probs, budget=30), is_fitted=False)
    both = read(design, {"ann": ann, "bob": bob}).estimate()
    each = [read(design, {name: grades}).estimate() for name, grades in (("ann", ann), ("bob", bob))]
    assert both.value == pytest.approx((each[0].value + each[1].value) / 2, rel=1e-12)
    assert both.std_error not in (each[0].std_error, each[1].std_error)


@pytest.mark.parametrize("method", ["items", "depth"])
def test_judges_who_agree_change_nothing_and_one_who_cannot_is_not_counted(method):
    one, _, probs, ann, _ = case_of(3)
    design = METHODS[method].design(Target(DCG(), one), probs, factor=QueryFactor(sigma=1.0), budget=40)
    alone = read(design, {"ann": ann}).estimate()
    assert read(design, {"ann": ann, "bob": ann}).estimate() == alone
    unable = np.where(np.arange(ann.size) % 3 == 0, CANNOT, ann)
    assert read(design, {"ann": ann, "bob": unable}).estimate() == alone


@pytest.mark.parametrize("method", ["items", "depth"])
def test_the_sample_is_the_same_and_answers_other_questions_too(method):
    one, other, probs, ann, bob = case_of(4, compare=True)
    design = METHODS[method].design([Target(DCG(), one, other), Target(DCG(), one)], probs, budget=30)
    campaign = read(design, {"ann": ann, "bob": bob})
    assert campaign.planned == Campaign(design).planned
    question = Target(Precision(2), one)
    low, high = (
        read(design, {"x": grades}).estimate(question).value for grades in (np.minimum(ann, bob), np.maximum(ann, bob))
    )
    assert low < campaign.estimate(question).value < high
    assert campaign.estimate(Target(Precision(2), one, within=np.arange(25) < 20)).n_queries < 20 + 1
    assert campaign.estimate().cautions == campaign.estimate(design.targets[0]).cautions


def test_mean_gains_are_unbiased_in_the_mean_over_samples():
    """A two-sided z test at 4 standard errors: false alarm 6e-5."""
    one, other, probs, ann, bob = case_of(5, compare=True)
    design = METHODS["items_plain"].design(Target(DCG(), one, other), probs, budget=35)
    truth = (
        mean_values("exp", Target(DCG(), one), ann, bob) - mean_values("exp", Target(DCG(), other), ann, bob)
    ).mean()
    values = np.array([read(design, {"a": ann, "b": bob}, rng=seed).estimate().value for seed in range(120)])
    assert abs(values.mean() - truth) < 4 * values.std(ddof=1) / np.sqrt(values.size)


def test_a_measure_without_gains_between_is_refused():
    one, _, probs, ann, bob = case_of(6)
    design = METHODS["depth"].design(Target(AP(), one), probs, budget=40)
    with pytest.raises(InputError, match=r"AP\(rel=1\) knows no gain between relevant and not"):
        read(design, {"ann": ann, "bob": bob}).estimate()
    assert read(design, {"ann": ann, "bob": bob}, "median").estimate().n_items > 0


def test_three_judges_weigh_alike():
    one, _, probs, ann, bob = case_of(7)
    design = METHODS["whole"].design(Target(DCG(), one), probs, max_grade=TOP, budget=1e6)
    cid = np.where(np.arange(ann.size) % 3 == 0, bob, ann)  # no copy of another's: that would be one judge
    orders = itertools.permutations({"ann": ann, "bob": bob, "cid": cid}.items())
    values = {read(design, dict(order)).estimate().value for order in orders}
    gains = sum(2.0**grades - 1 for grades in (ann, bob, cid)) / 3
    expected = np.zeros(25)
    np.add.at(expected, one.pool.item_queries[one.items], gains[one.items] / np.log2(1 + one.ranks))
    assert len(values) == 1
    assert values.pop() == pytest.approx(expected.mean(), rel=1e-12)


def test_a_known_grade_is_never_taken_for_one_that_stands_for_judges():
    """The scale is open and the sheets know less of it than what is known beforehand."""
    one, _, _, ann, bob = case_of(8)
    ann, bob = np.minimum(ann, 1), np.minimum(bob, 1)
    known = np.where(np.arange(ann.size) % 4 == 0, 5, -1)
    for method in ("random", "whole"):
        probs = None if method == "random" else random_probs(np.random.default_rng(1), ann.size, 7)
        design = METHODS[method].design(Target(DCG(), one), probs, judged=known, budget=1e6)
        found = read(design, {"ann": ann, "bob": bob}).estimate()
        gains = np.where(known >= 0, 2.0**5 - 1, ((2.0**ann - 1) + (2.0**bob - 1)) / 2)
        expected = np.zeros(25)
        np.add.at(expected, one.pool.item_queries[one.items], gains[one.items] / np.log2(1 + one.ranks))
        assert found.value == pytest.approx(expected.mean(), rel=1e-12), method


def test_a_question_beside_one_without_mean_gains_is_answered():
    one, _, probs, ann, bob = case_of(9)
    design = METHODS["depth"].design([Target(AP(), one), Target(DCG(), one)], probs, budget=1e6)
    campaign = read(design, {"ann": ann, "bob": bob})
    expected = mean_values("exp", Target(DCG(), one), ann, bob).mean()
    assert campaign.estimate(design.targets[1]).value == pytest.approx(expected, rel=1e-12)
    for asked in (None, design.targets[0]):
        with pytest.raises(InputError, match="knows no gain between relevant and not"):
            campaign.estimate(asked)


@pytest.mark.parametrize("measure", [DCG(), NDCG()])
def test_bounds_of_what_cannot_be_judged_are_at_grades_of_the_scale(measure):
    """One item that nobody can judge: its bounds are the estimates with each grade in its place."""
    one, _, probs, ann, bob = case_of(10)
    design = METHODS["depth"].design(Target(measure, one), probs, factor=QueryFactor(sigma=1.0), budget=60)
    lost = read(design, {"ann": ann, "bob": bob}).units[5].items[0]
    sheets = {name: np.where(np.arange(ann.size) == lost, CANNOT, g) for name, g in (("ann", ann), ("bob", bob))}
    bounds = read(design, sheets).estimate().cannot
    values = []
    for grade in range(TOP + 1):
        full = {name: np.where(np.arange(ann.size) == lost, grade, g) for name, g in (("ann", ann), ("bob", bob))}
        values.append(read(design, full).estimate().value)
    own = read(design, sheets).estimate().value
    assert (bounds.low, bounds.high) == (pytest.approx(min([own, *values])), pytest.approx(max([own, *values])))
