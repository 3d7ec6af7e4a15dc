"""Items that judges grade differently, counted by the mean of what their grades are worth."""

from dataclasses import replace

import numpy as np
import pytest
from each_once import each_once
from naive import pool_of, random_lists, random_probs, rankings_of

from activeeval import AP, DCG, ERR, METHODS, NDCG, RBP, RR, Additive, Campaign, InputError, Precision, Recall, Target
from activeeval.core.design import GradeProbs
from activeeval.core.design.expectations import expectations_of
from activeeval.core.grade_models import QueryFactor
from activeeval.core.kernels import items as item_kernel
from activeeval.core.measures import SoftLabels
from activeeval.core.planning import Planner
from activeeval.formats.sample_sheet import sheet_of, take
from activeeval.formats.tables.draws import CANNOT

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
    assert campaign.design is design
    median = np.minimum(ann, bob)[list(campaign.settled)]
    assert campaign.grades[list(campaign.settled)].tolist() == median.tolist()


@pytest.mark.kernel
@pytest.mark.parametrize(("measure", "rule"), [pair[1:] for pair in CENSUS[:6]], ids=lambda v: str(v))
def test_a_measure_of_distributions_is_the_mean_gain_by_hand(measure, rule):
    one, other, _, ann, bob = case_of(11, compare=True)
    by_item = {z: sorted((ann[z], bob[z])) for z in np.flatnonzero(ann != bob).tolist()}
    labels = SoftLabels.of_judges(np.minimum(ann, bob), by_item, TOP + 1)
    expected = [mean_values(rule, Target(measure, ranking), ann, bob) for ranking in (one, other)]
    tenths = replace(labels, weights=labels.weights * 0.1)
    assert measure.score(one.pool, labels, one) == pytest.approx(expected[0], rel=1e-12)
    assert measure.score(one.pool, tenths, one) == pytest.approx(expected[0], rel=1e-12)
    difference = measure.score(one.pool, labels, one, other)
    assert difference == pytest.approx(expected[0] - expected[1], rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("measure", [DCG(), ERR(TOP), NDCG(), Recall(2), AP()], ids=str)
def test_grades_are_labels_and_so_is_a_distribution_of_one_grade(measure):
    one, other, _, ann, _ = case_of(12, compare=True)
    expected = measure.score(one.pool, ann, one, other).tolist()
    assert measure.score(one.pool, SoftLabels.of(ann), one, other).tolist() == expected
    if measure.no_gain_between:
        return
    sure = SoftLabels.of_judges(np.zeros_like(ann), {z: (y, y) for z, y in enumerate(ann.tolist())}, TOP + 1)
    assert measure.score(one.pool, sure, one, other) == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_a_distribution_beyond_the_measure_is_refused():
    one, _, _, ann, _ = case_of(13)
    labels = SoftLabels.of_judges(np.minimum(ann, 1), {7: (0, 3)}, TOP + 1)
    with pytest.raises(InputError, match=r"grade 3 of item '4' of query 'q1' is above the measure's largest, 1"):
        Additive([0, 1]).score(one.pool, labels, one)
    assert DCG().score(one.pool, labels, one).sum() > 0  # an open scale


@pytest.mark.parametrize("weights", [[[0, 0]], [[1, -1]], [[np.nan, 1]], [[1, 1], [1, 0]]])
def test_weights_are_those_of_distributions(weights):
    with pytest.raises(InputError, match="not all 0 in a row, a row for each of 1 items"):
        SoftLabels(np.zeros(3, dtype=np.int64), np.array([1]), np.array(weights, dtype=np.float64))


def test_what_is_known_counts_whatever_judges_say_of_it():
    one, _, probs, ann, bob = case_of(14)
    known = np.where(np.arange(ann.size) % 2 == 0, ann, -1)
    reading = METHODS["whole"].design(Target(DCG(), one), probs, judged=known).reading()
    by_item = {z: sorted((ann[z], bob[z])) for z in np.flatnonzero(ann != bob).tolist()}
    values = reading.values(SoftLabels.of_judges(np.minimum(ann, bob), by_item, TOP + 1))
    second = np.where(known >= 0, ann, bob)
    assert values == pytest.approx(mean_values("exp", Target(DCG(), one), ann, second), rel=1e-12)


@pytest.mark.kernel
def test_a_walk_is_taken_back_to_the_first_nodes_where_judges_differ():
    """An additive value by plain loops: a distribution brings its mean gain, and the nodes are as at first."""
    random = np.random.default_rng(15)
    pool = pool_of([6])
    target = Target(DCG(), rankings_of(pool, [random.permutation(6).tolist()]))
    nodes, prior = np.array([random_probs(random, 6, 3) for _ in range(2)]), np.array([0.3, 0.7])
    beliefs = GradeProbs.of(pool, nodes, prior)
    offsets, items = target.judging_lists()
    gains, grades = np.array([0.0, 1.0, 3.0]), random.integers(0, 3, 6)
    labels = SoftLabels.of_judges(grades, {int(items[2]): (0, 2, 2), int(items[4]): (1, 2)}, 3)
    weights, collected, path = prior.copy(), 0.0, []
    for k, z in enumerate(items.tolist()):
        is_soft = z in labels.items
        likelihood = np.ones(2) if is_soft else beliefs.nodes[:, z, grades[z]]
        weights = weights * likelihood / (weights @ likelihood)
        collected += target.contrast[z] * {2: 2.0, 4: 2.0}.get(k, gains[grades[z]])
        rest = sum(target.contrast[j] * (beliefs.nodes[:, j] @ gains) for j in items[k + 1 :])
        path.append(collected + np.sum(weights * rest))
        weights = prior.copy() if is_soft else weights
    assert expectations_of(target, beliefs, offsets, items, labels)[1] == pytest.approx(path, rel=1e-12)


def test_items_on_their_own_learn_nothing_where_judges_differ():
    one, _, probs, ann, bob = case_of(16)
    design = METHODS["items"].design(Target(DCG(), one), probs, factor=QueryFactor(sigma=1.0), budget=40)
    labels = read(design, {"ann": ann, "bob": bob}).labels
    records = design.reading().judge(labels).node_records[:, item_kernel.LIKELIHOOD]
    is_soft, is_judged = np.isin(design.order.items, labels.items), labels.grades[design.order.items] >= 0
    spread = np.ptp(records, axis=1)
    assert not spread[is_soft].any()
    assert spread[is_judged & ~is_soft].all()


@each_once(
    ("compare", [False, True]),
    (("method", "measure"), [("items_plain", DCG()), ("items_plain", RBP()), ("whole", Precision(2))]),
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


def test_a_measure_without_gains_between_is_refused():
    one, _, probs, ann, bob = case_of(6)
    design = METHODS["depth"].design(Target(AP(), one), probs, budget=40)
    with pytest.raises(InputError, match=r"AP\(rel=1\) has no gain between relevant and not"):
        read(design, {"ann": ann, "bob": bob}).estimate()
    assert read(design, {"ann": ann, "bob": bob}, "median").estimate().n_items > 0


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
        with pytest.raises(InputError, match="has no gain between relevant and not"):
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


@pytest.mark.parametrize("method", ["whole", "items_plain"])
def test_a_pilot_of_several_judges_teaches_what_the_mean_of_their_grades_does(method):
    """With linear gains a grade is worth as much as the one below and the one above it together, halved."""
    one, _, probs, ann, _ = case_of(18)
    target, middle = Target(DCG("linear"), one), np.clip(ann, 1, 2)
    design = METHODS[method].design(target, probs, budget=40)
    planner = Planner(targets=[target], believed=lambda _: {"grade_probs": probs}, max_grade=TOP)
    lessons = []
    for judges in ({"ann": middle}, {"ann": middle - 1, "bob": middle + 1}):
        pilot = read(design, judges)
        lessons.append(planner.lesson(pilot.design, pilot.selection, pilot.labels))
    assert pilot.labels.is_soft
    for name in ("of_residuals", "of_values"):
        first, second = (getattr(lesson, name) for lesson in lessons)
        assert (second.value, second.degrees_of_freedom) == pytest.approx((first.value, first.degrees_of_freedom))
