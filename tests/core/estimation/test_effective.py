"""How many random queries judged whole a sample is worth: exact where it can be, unmoved by units, or absent."""

import math
from dataclasses import replace

import numpy as np
import pytest
from core_cases import estimate_of, judge_all, sample_of
from scipy.stats import ncx2

from activeeval import METHODS, NDCG, Additive, Campaign, QueryPool, Rankings, Target
from activeeval.cli.output import say_sizes
from activeeval.core.estimation import effective, effective_sample_size, evaluate, evidence_of
from activeeval.core.estimation.effective import value_variance
from activeeval.core.pool.generated import generate_pool, ranked_by_expected_grade
from activeeval.report.message_lookup import text_of

pytestmark = pytest.mark.kernel
GAINS = [0.0, 1.0, 3.0, 7.0, 15.0]


@pytest.fixture(scope="module")
def whole():
    """Return 300 queries of up to 12 items, a model's probabilities, labels and their grade scale."""
    made = generate_pool(300, 5)
    place = np.arange(made.pool.n_items) - made.pool.query_offsets[made.pool.item_queries]
    kept = np.flatnonzero(place < 12)
    pool = QueryPool(made.pool.query_ids, np.searchsorted(kept, made.pool.query_offsets), made.pool.item_ids[kept])
    probs = np.random.default_rng(1).dirichlet(np.ones(5), pool.n_items) + 2 * np.eye(5)[made.grades[kept]]
    return pool, probs / probs.sum(axis=1, keepdims=True), made.grades[kept]


def design_of(method, whole, factor=1.0, order=None):
    """Return a design, its queries in another order where one is given, and the grades in that order."""
    pool, probs, grades = whole
    if order is not None:
        spans = [np.arange(*pool.query_offsets[q : q + 2]) for q in order]
        items, lengths = np.concatenate(spans), [len(span) for span in spans]
        ids = np.array(pool.query_ids)[order]
        pool = QueryPool(ids, np.concatenate(([0], np.cumsum(lengths))), np.array(pool.item_ids)[items])
        probs, grades = probs[items], grades[items]
    target = Target(Additive([factor * g for g in GAINS], [1.0, 0.6, 0.4, 0.3]), ranked_by_expected_grade(pool, probs))
    return METHODS[method].design(target, probs, max_grade=4), grades


def judged(design, grades, budget, seed=0):
    """Return a campaign to its end, and its estimate."""
    campaign = judge_all(Campaign(design.with_budget(budget), rng=seed), grades)
    return campaign, campaign.estimate()


def taken(design, grades, budget, seed=0):
    """Return the judged sample of a campaign, its reading and selection."""
    campaign, _ = judged(design, grades, budget, seed)
    selection = campaign.drawing.selection(len(campaign.log) and campaign.drawing.block_ends[-1])
    reading = design.reading()
    return evidence_of(design, reading, reading.judge(grades), selection), reading, selection


# Exact


@pytest.mark.parametrize("seed", range(6))
def test_passive_is_worth_its_draws(whole, seed):
    pool, _, grades = whole
    ranking = Rankings.from_scores(pool, -np.arange(pool.n_items))
    design = METHODS["passive"].design(Target(NDCG(cutoff=5), ranking), max_grade=4)
    _, found = judged(design, grades, 60.0 + 100 * seed, seed)
    assert found.n_draws >= 4
    assert found.effective_sample_size == pytest.approx(found.n_draws, rel=1e-9)
    assert found.size_unknown == ""


@pytest.mark.parametrize("method", ["random", "whole", "depth", "depth_plain"])
def test_whole_values_by_plain_loops(whole, method):
    """Ŝ² of queries seen as a whole, among them certain ones, where nothing is left out for being too uncertain."""
    design, grades = design_of(method, whole)
    sample, reading, selection = taken(design, grades, 0.3 * design.cost)
    result = evaluate(sample)
    omega = sample.importance_weights.tolist()
    known = sample.certain_squares - 2 * result.value * sample.base + result.value**2 * (1 - sample.open_share)
    squares = [(y - result.value) ** 2 - s for y, s in zip(sample.values, sample.within[:, 0], strict=True)]
    mean = sum(w * d for w, d in zip(omega, squares, strict=True)) / sum(omega)
    expected = known + sample.open_share * mean + result.plain_variance
    assert value_variance(sample, result, reading, selection).value == pytest.approx(expected, rel=1e-9)
    size, _ = effective_sample_size(sample, reading, selection)
    assert size == pytest.approx(expected / result.variance, rel=1e-9)


def test_by_items_known_grades_and_certain_queries_count_with_what_they_are(whole):
    """Ŝ² = Σ p L² + V̂ − R̂² with the true L of certain queries, and of others what the model expects given the known."""
    pool, probs, grades = whole
    known = np.where(np.random.default_rng(3).random(pool.n_items) < 0.4, grades, -1)
    known[: pool.query_offsets[20]] = grades[: pool.query_offsets[20]]
    target = design_of("items_plain", whole)[0].targets[0]
    design = METHODS["items_plain"].design(target, probs, max_grade=4, judged=known)
    sample, reading, selection = taken(design, grades, 0.7 * design.cost)
    told = np.where(known[:, None] >= 0, np.eye(5)[np.maximum(known, 0)], probs)
    m, values = target.measure.moments(pool, told, target.ranking).mean, target.values(grades)
    settled = selection.queries[reading.settled_by(selection)]
    is_open = reading.is_open.copy()
    is_open[settled] = False
    rows = [q for q in selection.queries[selection.counts > 0].tolist() if is_open[q]]
    assert len(rows) == sample.values.size > 50
    assert settled.size > 0
    e = sample.totals[:, 0] - sample.totals[:, 2]
    s = sample.within @ [1, 0, -2, 0, 0, 1]
    p, result = 1 / pool.n_queries, evaluate(sample)
    squares = p * sum(m[q] ** 2 if is_open[q] else values[q] ** 2 for q in range(pool.n_queries))
    squares += sample.importance_weights @ (2 * m[rows] * e + e**2 - s)
    expected = squares + result.plain_variance - result.value**2
    assert value_variance(sample, result, reading, selection).value == pytest.approx(expected, rel=1e-9)


# Laws


@pytest.mark.parametrize("method", ["items", "depth", "whole", "active"])
def test_neither_the_unit_of_a_measure_nor_the_order_of_rows_matters(whole, method):
    sizes = []
    for factor, order in ((1.0, None), (64.0, None), (1.0, np.random.default_rng(2).permutation(300))):
        design, grades = design_of(method, whole, factor, order)
        sizes.append(judged(design, grades, 0.3 * design.cost)[1].effective_sample_size)
    assert sizes[0] is not None
    assert sizes[1:] == pytest.approx(sizes[:1] * 2, rel=1e-6)


# Absent


def test_nothing_left_to_chance_has_none(whole):
    design, grades = design_of("items", whole)
    _, found = judged(design, grades, design.cost)
    assert (found.std_error, found.effective_sample_size, found.size_unknown) == (0, None, "")


def test_where_nothing_was_relevant_there_is_none(whole):
    for method in ("items", "depth", "whole", "active"):
        design, grades = design_of(method, whole)
        _, found = judged(design, np.zeros_like(grades), 0.2 * design.cost)
        assert found.effective_sample_size is None


@pytest.mark.parametrize("method", ["items", "depth", "whole"])
def test_few_queries_do_not_tell_and_say_so(whole, method):
    design, grades = design_of(method, whole)
    _, found = judged(design, grades, 40.0)
    assert found.effective_sample_size is None
    if math.isfinite(found.observed_error):
        assert found.size_unknown
        assert text_of(found.cautions[-1]).startswith("no effective sample size: ")


def test_a_query_that_makes_all_of_the_spread_is_not_believed(whole):
    """One large value among many that are alike, where it has come."""
    design, grades = design_of("whole", whole)
    lone, (first, last) = np.minimum(grades, 1), design.pool.query_offsets[:2]
    lone[first:last] = 4
    n_seen = 0
    for seed in range(8):
        sample, reading, selection = taken(design, lone, 0.4 * design.cost, seed)
        if 0 in selection.queries and not sample.is_census:
            n_seen += 1
            assert effective_sample_size(sample, reading, selection)[0] is None
    assert n_seen > 0


@pytest.mark.parametrize(("name", "value"), [("FARTHEST", 1e-6), ("FEWEST_TERMS", 1e6), ("FEWEST_DEGREES", 1e6)])
def test_each_bar_withholds_it(whole, monkeypatch, name, value):
    design, grades = design_of("items", whole)
    assert judged(design, grades, 0.4 * design.cost)[1].effective_sample_size is not None
    monkeypatch.setattr(effective, name, value)
    found = judged(design, grades, 0.4 * design.cost)[1]
    assert (found.effective_sample_size, found.size_unknown) == (None, "too few")


# By chance


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(("method", "bias"), [("items", 0.01), ("depth", 0.03), ("items_plain", 0.0), ("whole", 0.03)])
def test_the_mean_of_many_samples_is_the_spread_of_the_pool(whole, method, bias):
    """4.5 standard errors of the mean of 75: a false alarm in 150,000; fits and ratios may be off by a little more."""
    design, grades = design_of(method, whole)
    values = design.target.values(grades)
    truth, found = values.var(), []
    for seed in range(75):
        sample, reading, selection = taken(design, grades, 0.2 * design.cost, seed)
        found.append(value_variance(sample, evaluate(sample), reading, selection).value)
    error = np.std(found, ddof=1) / math.sqrt(len(found))
    assert abs(np.mean(found) - truth) < 4.5 * error + bias * truth
    assert np.mean((np.array(found) > truth / 1.5) & (np.array(found) < truth * 1.5)) > 0.9


# Told


def test_what_it_means_is_told_once(capsys):
    one = estimate_of(effective_sample_size=123.456)
    say_sizes([one])
    assert "as precise as 123 random queries judged whole" in capsys.readouterr().err
    say_sizes([one, replace(one, effective_sample_size=None)])
    assert capsys.readouterr().err.count("random queries judged whole") == 1
    say_sizes([replace(one, effective_sample_size=None)])
    assert capsys.readouterr().err == ""


def test_the_square_of_a_noisy_distance_varies_as_noncentral_chi_square():
    """At most as its term: y ~ N(L, s) gives (y − R)² = s χ²(1, (L − R)²/s), where (y − R)² − s stands for (L − R)²."""
    evidence = sample_of([0, 1, 2, 3], [0.5, 0.25, 0.2, 0.9])
    beyond, s = np.array([3.0, -1.0, 0.5, 2.0]), np.array([2.0, 0.5, 1.0, -1.0])
    weights, terms = np.array([1.0, 2.0, 0.5, 3.0]), np.array([9.0, 8.0, -2.0, 0.1])
    size = np.abs(s)
    within = weights**2 * size**2 * ncx2.var(1, np.maximum(beyond**2 - size, 0) / size)
    assert (within < terms**2).tolist() == [True, True, True, False]
    pi = np.array([0.5, 0.25, 0.2, 0.9])
    expected = (1 - pi) * terms**2 + pi * np.minimum(within, terms**2)
    assert effective._noise(evidence, weights, terms, beyond, s) == pytest.approx(expected, rel=1e-12)
