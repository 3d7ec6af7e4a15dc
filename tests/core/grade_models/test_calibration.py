import itertools
import math

import numpy as np
import pytest
from core.grade_models.test_query_factor import grades_of
from kit import SHARED
from naive import pool_of

from activeeval.core.errors import InputError
from activeeval.core.grade_models import (
    ForestGradeModel,
    QueryFactor,
    calibration_report,
    cross_fitted_probs,
    expected_grade,
)
from activeeval.core.measures import DCG, ERR, Target
from activeeval.core.pool import Rankings
from activeeval.formats.text.letor import read_letor
from activeeval.formats.text.scores import read_scores_of

FACTOR = QueryFactor(sigma=1.5, slope=0.9, shift=0.2)


@pytest.fixture
def small():
    """Four queries of one to three items in a scrambled ranking, nodes and grades."""
    pool = pool_of([3, 1, 2, 3])
    random = np.random.default_rng(2)
    nodes = FACTOR.node_probs(random.dirichlet(np.ones(3), size=pool.n_items))
    ranking = Rankings.from_scores(pool, random.random(pool.n_items))
    return pool, ranking, nodes, random.integers(0, 3, size=pool.n_items)


@pytest.mark.parametrize("measure", [DCG(), ERR(2)], ids=str)
def test_moments_and_likelihood_by_enumeration(small, measure):
    pool, ranking, nodes, grades = small
    weights = FACTOR.node_weights
    means, seconds, likelihood = np.zeros((3, pool.n_queries))
    for x in range(pool.n_queries):
        items = range(*pool.query_offsets[x : x + 2])
        for j, labels in itertools.product(range(9), itertools.product(range(3), repeat=len(items))):
            chance = weights[j] * math.prod(nodes[j, i, y] for i, y in zip(items, labels, strict=True))
            filled = np.zeros(pool.n_items, dtype=int)
            filled[list(items)] = labels
            value = measure.score(pool, filled, ranking)[x]
            means[x] += chance * value
            seconds[x] += chance * value**2
        likelihood[x] = sum(weights[j] * math.prod(nodes[j, i, grades[i]] for i in items) for j in range(9))
    values = measure.score(pool, grades, ranking)
    marginal = sum(w * node for w, node in zip(weights, nodes, strict=True))
    report = calibration_report(Target(measure, ranking), nodes, weights, grades)
    assert (report.n_items, report.n_queries) == (9, 4)
    assert report.predicted_mean == pytest.approx(means.mean())
    assert report.observed_mean == pytest.approx(values.mean())
    assert report.bias == pytest.approx((values - means).mean())
    assert report.predicted_variance == pytest.approx((seconds - means**2).mean())
    assert report.observed_variance == pytest.approx(((values - means) ** 2).mean())
    assert report.log_likelihood == pytest.approx(sum(map(math.log, likelihood)) / 9)
    independent = [math.log(marginal[i, grades[i]]) for i in range(9)]
    assert report.log_likelihood_independent == pytest.approx(sum(independent) / 9)


def test_only_judged_items_and_queries_judged_in_full_count(small):
    pool, _, nodes, grades = small
    ranking = Rankings.from_scores(pool, [3, 2, 1, 1, 2, 1, 3, 2, 1])
    grades[[2, 4]] = -1  # rank 3 of the first query, rank 1 of the third
    report = calibration_report(Target(DCG(cutoff=2), ranking), nodes, FACTOR.node_weights, grades)
    assert (report.n_items, report.n_queries) == (7, 3)
    values = DCG(cutoff=2).score(pool, grades, ranking)
    assert report.observed_mean == pytest.approx(values[[0, 1, 3]].mean())
    assert sum(b.n for b in report.reliability if b.grade == 0) == 7
    kept, items = pool.subset([0, 1, 3])
    judged = calibration_report(
        Target(DCG(cutoff=2), ranking.restricted_to(kept, items)), nodes[:, items], FACTOR.node_weights, grades[items]
    )
    assert judged.predicted_variance == pytest.approx(report.predicted_variance)
    last = np.where(np.arange(9) == 8, grades, -1)
    alone = calibration_report(Target(DCG(), ranking), nodes, FACTOR.node_weights, last)
    assert alone.n_queries == 0
    assert math.isnan(alone.observed_variance)
    assert alone.log_likelihood == pytest.approx(alone.log_likelihood_independent)


def test_one_node_is_no_factor_and_a_comparison_has_its_own_variance(small):
    pool, ranking, nodes, grades = small
    other = Rankings.from_scores(pool, np.arange(9.0))
    plain = calibration_report(Target(DCG(), ranking, other), nodes[4], None, grades)
    one = calibration_report(Target(DCG(), ranking, other), nodes[4:5], [1.0], grades)
    assert plain == one
    assert plain.log_likelihood == pytest.approx(plain.log_likelihood_independent)
    turned = calibration_report(Target(DCG(), other, ranking), nodes[4], None, grades)
    assert turned.bias == pytest.approx(-plain.bias)
    assert turned.observed_variance == pytest.approx(plain.observed_variance)


def test_reliability_bins_are_those_of_a_plain_loop():
    random = np.random.default_rng(0)
    pool = pool_of([100])
    first = np.round(random.random(100), 1)  # many equal probabilities
    probs = np.column_stack([first, 1 - first])
    grades = random.integers(-1, 2, size=100)
    report = calibration_report(Target(DCG(), Rankings.from_scores(pool, first)), probs, None, grades, n_bins=4)
    assert len(report.reliability) == 8
    for grade in (0, 1):
        rows = [row for row in report.reliability_rows() if row["grade"] == grade]
        judged = sorted((p, y == grade) for p, y in zip(probs[:, grade], grades, strict=True) if y >= 0)
        assert sum(row["n"] for row in rows) == len(judged)
        for row in rows:
            members, judged = judged[: row["n"]], judged[row["n"] :]
            assert row["predicted"] == pytest.approx(np.mean([p for p, _ in members]))
            assert row["observed"] == pytest.approx(np.mean([hit for _, hit in members]))
            assert not judged or members[-1][0] < judged[0][0]
    target = Target(DCG(), Rankings.from_scores(pool, first))
    assert len(calibration_report(target, probs, None, grades, n_bins=1).reliability) == 2
    distinct = np.linspace(0.1, 0.9, 100)
    report = calibration_report(target, np.column_stack([distinct, 1 - distinct]), None, abs(grades), n_bins=4)
    assert [b.n for b in report.reliability] == [25] * 8


def test_rows_hold_every_figure(small):
    _, ranking, nodes, grades = small
    report = calibration_report(Target(DCG(), ranking), nodes, FACTOR.node_weights, grades)
    figures = report.figures(with_factor=True)
    assert figures["variance of L, predicted"] == report.predicted_variance
    assert figures["log-likelihood an item, with the query factor"] == report.log_likelihood
    assert len(figures) == 8 == 1 + len(report.figures(with_factor=False))


@pytest.mark.statistical
def test_a_right_model_is_calibrated():
    """2,000 queries of 20 items, grades drawn from the nodes; four standard errors of the difference.

    Two moments and 40 bins, these within four times the most that the error of a share can be: a false
    alarm in 1 of 5,000 seeds; the seed is fixed. Without the factor the predicted variance is a fifth
    of the observed one, 30 standard errors below.
    """
    pool = pool_of([20] * 2000)
    probs = np.random.default_rng(0).dirichlet(np.ones(4), size=pool.n_items)
    nodes = FACTOR.node_probs(probs)
    grades = grades_of(FACTOR, probs, pool.item_queries, 1)
    target = Target(DCG(), Rankings.from_scores(pool, expected_grade(probs)))
    report = calibration_report(target, nodes, FACTOR.node_weights, grades)
    moments = target.moments(nodes, FACTOR.node_weights)
    misses = target.values(grades) - moments.mean
    assert abs(report.bias) < 4 * misses.std() / math.sqrt(2000)
    excess = misses**2 - moments.variance
    assert abs(report.observed_variance - report.predicted_variance) < 4 * excess.std() / math.sqrt(2000)
    for b in report.reliability:  # items of a query hang together: the spread over queries is what counts
        assert abs(b.observed - b.predicted) < 4 * 0.5 / math.sqrt(2000)
    marginal = np.einsum("j,jik->ik", FACTOR.node_weights, nodes)
    independent = calibration_report(target, marginal, None, grades)
    assert independent.predicted_variance < 0.5 * independent.observed_variance
    assert report.log_likelihood > independent.log_likelihood + 0.02


@pytest.mark.parametrize(
    ("grades", "n_bins", "text"),
    [
        ([-1] * 9, 10, "no item is judged"),
        ([3] + [0] * 8, 10, r"grade 3 of .*has no column, there are 3"),
        ([0] * 8, 10, "9"),
        ([0] * 9, 0, "n_bins must be at least 1, got 0"),
    ],
)
def test_bad_input_is_named(small, grades, n_bins, text):
    _, ranking, nodes, _ = small
    with pytest.raises(InputError, match=text):
        calibration_report(Target(DCG(), ranking), nodes, FACTOR.node_weights, grades, n_bins)


def mq2008():
    """Return the collection and RankBoost's out-of-fold scores, or skip."""
    folder = SHARED / "data" / "mq2008"
    if not folder.exists():
        pytest.skip(f"needs {folder}; set ACTIVEEVAL_SHARED to the folder that holds data/")
    data = read_letor([folder / f"S{part}.txt.gz" for part in (1, 2, 3, 4, 5)])
    names = [next((folder / "rankers" / "RankBoost").glob(f"Fold{fold}.*")) for fold in (2, 3, 4, 5, 1)]
    return data, read_scores_of(names, data)


def test_mq2008_queries_differ_as_a_whole():
    """S1 trains forest and factor, S2 to S5 judge: the independent model predicts 0.3 of the variance of DCG."""
    data, scores = mq2008()
    pool = data.pool()
    n_training = int(data.file_offsets[1])
    training = slice(0, n_training)
    rest, items = pool.subset(np.unique(pool.item_queries[n_training:]))
    model = ForestGradeModel(max_grade=2, random_state=0)
    rows = (data.features[training], data.grades[training])
    queries = pool.item_queries[training]
    factor = QueryFactor.fit(cross_fitted_probs(model, *rows, queries, rng=0), rows[1], queries)
    assert 1.2 < factor.sigma < 1.6
    assert factor.log_likelihood > factor.log_likelihood_without + 300
    probs = model.fit(*rows).predict_proba(data.features[items])
    target = Target(DCG(), Rankings.from_scores(rest, scores[items]))
    without = calibration_report(target, probs, None, data.grades[items])
    report = calibration_report(target, factor.node_probs(probs), factor.node_weights, data.grades[items])
    assert (report.n_queries, report.n_items) == (627, 12_278)
    assert without.log_likelihood * 12_278 == pytest.approx(-6420, abs=30)
    assert report.log_likelihood * 12_278 == pytest.approx(-5686, abs=30)
    assert without.predicted_variance < 0.35 * without.observed_variance
    assert report.predicted_variance == pytest.approx(report.observed_variance, rel=0.1)
