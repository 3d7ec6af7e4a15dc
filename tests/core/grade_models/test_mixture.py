"""Several grade models: what an estimate is fitted to, weights of a mixture, and which models are worth fitting."""

from dataclasses import replace

import numpy as np
import pytest
from core_cases import judge_all
from naive import pool_of, rankings_of
from naive_estimates import quadratic, selections
from scipy.optimize import minimize

from activeeval import ERR, METHODS, NDCG, Additive, Campaign, InputError, Target, replicate
from activeeval.core.estimation import evidence_of
from activeeval.core.grade_models import average_probabilities, expected_grade, learned_weights
from activeeval.core.grade_models.mixture import WORTH, _left_out, worth_fitting
from activeeval.formats.sample_file import from_arrays, to_arrays

GAINS = [0.5, 1.0, 3.0]
LABELS = np.array([2, 0, 1, 1, 0, 2, 1])
KNOWN = np.array([-1, 0, -1, -1, -1, -1, -1])
MEASURES = {"whole": NDCG(), "depth": ERR(2), "items": Additive(GAINS, [1.0, 0.6, 0.3])}


def designed(method, compare=False, known=None, n_extra=2, seed=3):
    """Return a design of four queries, one with an empty list, and what it was given."""
    random = np.random.default_rng(seed)
    costs = {"item_costs": random.uniform(0.5, 2, 7), "query_costs": np.array([0.04, 0.02, 0.05, 0.03])}
    pool = pool_of([2, 1, 3, 1], query_probs=[0.3, 0.25, 0.25, 0.2], **costs)
    lists = [[[0, 1], [0], [2, 0], []], [[1, 0], [], [0, 1], []]]
    target = Target(MEASURES[method], *(rankings_of(pool, one) for one in lists[: 1 + compare]))
    further = [random.dirichlet(np.ones(3), 7) for _ in range(n_extra)]
    model = {"grade_probs": random.dirichlet(np.full(3, 0.8), (2, 7)), "node_weights": [0.4, 0.6], "judged": known}
    return METHODS[method].design(target, **model, extra_probs=further), further


# Exact whatever the coefficients are


@pytest.mark.kernel
@pytest.mark.parametrize("known", [None, KNOWN], ids=["nothing known", "one known"])
@pytest.mark.parametrize("compare", [False, True])
@pytest.mark.parametrize("method", list(MEASURES))
def test_estimate_and_variance_are_unbiased_over_all_samples_for_any_coefficients(method, compare, known):
    """Z̄'B + Σ ω (y − z'B) and Σ ω² (keep e² + (1 − keep) s), for coefficients that no sample chose."""
    design, _ = designed(method, compare, known)
    reading, target = design.reading(), design.target
    judge, truth = reading.judge(LABELS), float(target.pool.query_probs @ target.values(LABELS))
    width = reading.regressors.shape[1]
    assert width == {"whole": 4, "depth": 5, "items": 4}[method]
    for b in ([0.7, -0.4, 0.3, 0.9, -1.1][:width], [0.0, 0.0, 0.0, 0.0, 1.0][-width:]):
        for share in (0.3, 0.7):
            mean = second = variance = 0.0
            for chance, selection in selections(design.order, design.order.level_for(share * design.cost)):
                sample = evidence_of(design, reading, judge, selection)
                omega, keep = sample.importance_weights, 1 - sample.inclusion_probs
                e = sample.totals @ [1, *(-x for x in b)]
                s = np.array([quadratic(own, b) for own in sample.within])
                value = sample.base + sample.population @ b + omega @ e
                mean, second = mean + chance * value, second + chance * value**2
                variance += chance * float(omega**2 @ (keep * e**2 + (1 - keep) * s))
            assert mean == pytest.approx(truth, rel=1e-11)
            assert variance == pytest.approx(second - mean**2, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("method", list(MEASURES))
def test_regressors_are_what_each_model_expects(method):
    """By enumeration-free sums: E[L | x] under each model's own probabilities, a known label taken as it is."""
    design, further = designed(method, known=KNOWN)
    reading = design.reading()
    for column, probs in zip(reading.regressors.T[-2:], further, strict=True):
        settled = np.asarray(probs, dtype=np.float32).astype(float)
        settled[1] = [1, 0, 0]
        if method == "items":
            unknown = np.where(KNOWN < 0, settled @ GAINS, 0.0) * design.target.contrast
            expected = np.bincount(design.pool.item_queries, unknown, minlength=4)
        else:
            expected = design.target.moments(settled / settled.sum(axis=1, keepdims=True)).mean
        assert column == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_methods_that_take_a_model_at_its_word_and_those_of_the_paper_leave_others_out():
    design, further = designed("items")
    given = {
        "grade_probs": design.beliefs.grade_probs,
        "node_weights": design.beliefs.node_weights,
        "extra_probs": further,
    }
    assert METHODS["items_plain"].design(design.target, **given).reading().regressors.shape[1] == 2
    assert len(METHODS["active"].design(design.target, **given).beliefs.extra_probs) == 0
    assert METHODS["random"].design(design.target, **given).beliefs is None


@pytest.mark.parametrize(
    ("further", "message"),
    [
        ([np.full((7, 2), 0.5)], "extra models must know the 3 grades of the first, got 2"),
        ([np.full((7, 3), 0.5)], "grade_probs of .* must be ≥ 0 and sum to 1"),
        ([np.full((6, 3), 1 / 3)], r"grade_probs must have shape \(7, n_grades\), got \(6, 3\)"),
    ],
)
def test_what_is_no_model_of_the_pool_is_refused(further, message):
    design, _ = designed("items")
    with pytest.raises(InputError, match=message):
        METHODS["items"].design(design.target, np.full((7, 3), 1 / 3), extra_probs=further)


def large(seed, n=150, n_extra=1):
    """Return a pool, its labels, and probabilities: of nothing, and of who knows the labels but for noise."""
    random = np.random.default_rng(seed)
    pool, labels = pool_of([4] * n), random.integers(0, 3, 4 * n)
    target = Target(Additive(GAINS, [1.0, 0.6, 0.3, 0.2]), rankings_of(pool, [list(range(4))] * n))
    telling = np.eye(3)[labels] * 0.6 + random.dirichlet(np.ones(3), 4 * n) * 0.4
    return target, labels, np.full((4 * n, 3), 1 / 3), telling


def test_a_model_that_tells_more_than_the_first_takes_its_variance_away():
    """Of 600 repetitions; without the regressor the error is far larger, and intervals hold either way."""
    target, labels, even, telling = large(1)
    truth = float(target.pool.query_probs @ target.values(labels))
    errors = []
    for further in ((), (telling,)):
        design = METHODS["items"].design(target, even, extra_probs=further)
        found = replicate(design, labels, [0.3 * design.cost], 600, 0)
        held = np.mean((found.lows <= truth) & (truth <= found.highs))
        assert 0.92 < held < 0.98  # nominal .95: three standard errors of .009, one false alarm in 370
        errors.append(np.mean((found.values - truth) ** 2))
    assert errors[1] < 0.3 * errors[0]


def test_a_sample_on_file_keeps_the_models_that_its_estimate_is_fitted_to():
    target, labels, even, telling = large(2)
    design = METHODS["items"].design(target, even, extra_probs=[telling], budget=150)
    campaign = judge_all(Campaign(design, rng=5), labels)
    stored = from_arrays(to_arrays(campaign))
    read = Campaign.replay(stored.design, campaign.log, key=int(stored.key))
    assert read.estimate() == campaign.estimate()
    assert np.array_equal(stored.design.beliefs.extra_probs, design.beliefs.extra_probs)
    without = replace(design.beliefs, extra_probs=design.beliefs.extra_probs[:0])
    plain = design.stage.reading(target, design.order, without, design.known)
    assert Campaign.replay(replace(design, readings=(plain,)), campaign.log, rng=5).estimate() != campaign.estimate()


# The weights of a mixture


def rows(seed, n_queries=40):
    random = np.random.default_rng(seed)
    queries = np.repeat(np.arange(n_queries), random.integers(1, 9, n_queries))
    grades = random.integers(0, 3, queries.size)
    good = 0.7 * np.eye(3)[grades] + 0.3 * random.dirichlet(np.ones(3), queries.size)
    fair = 0.3 * np.eye(3)[grades] + 0.7 * random.dirichlet(np.ones(3), queries.size)
    return random, queries, grades, [good, fair, random.dirichlet(np.ones(3), queries.size)]


@pytest.mark.parametrize("seed", range(3))
def test_weights_maximise_what_they_say_they_do(seed):
    """Against a search of another kind; each query weighs 1 whatever its length, each model has one query before."""
    random, queries, grades, probs = rows(seed)
    found = learned_weights(probs, grades, queries)
    own = np.column_stack([p[np.arange(grades.size), grades] for p in probs])
    share = 1 / np.bincount(queries)[queries]

    def loss(logits):
        w = np.exp(logits - np.logaddexp.reduce(logits))
        return -(share @ np.log(own @ w)) - np.log(w).sum()

    best = minimize(loss, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 5000})
    assert loss(np.log(found)) <= best.fun + 1e-7
    assert found.sum() == pytest.approx(1)
    assert found[0] > found[1] > found[2]
    mixed = random.permutation(grades.size)
    again = learned_weights([p[mixed] for p in probs], grades[mixed], queries[mixed])
    assert again == pytest.approx(found, abs=1e-8)


def test_a_grade_that_a_model_excludes_does_not_exclude_the_model():
    weights = learned_weights([[[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]], [1, 1], [0, 1])
    assert np.isfinite(weights).all()
    assert 0 < weights[0] < weights[1]


def test_bad_rows_of_a_mixture_are_named():
    with pytest.raises(InputError, match="cannot learn weights"):
        learned_weights([], [0], [0])
    with pytest.raises(InputError, match="model 1 gives 1 rows of probabilities, model 0 gives 2"):
        learned_weights([[[1, 0]] * 2, [[1, 0]]], [0, 0], [0, 1])


# Which are worth fitting


def test_models_are_taken_by_what_leaving_each_query_out_says():
    """A model of its own knowledge is taken, noise and copies are not; the error against n fits of n − 1 queries."""
    random, queries, grades, (good, _, noise) = rows(7, 80)
    weights = [0.05, 0.95]
    assert worth_fitting([good, noise], weights, grades, queries) == [0]
    mixture = average_probabilities([good, noise], weights)
    assert worth_fitting([mixture, mixture], weights, grades, queries) == []
    assert worth_fitting([noise, noise], weights, grades, queries) == []
    columns = [np.ones(80), random.normal(size=80), random.normal(size=80)]
    values = random.normal(size=80) + columns[1]
    z = np.column_stack(columns)
    slow = []
    for q in range(80):
        rest = np.arange(80) != q
        slow.append((values[q] - z[q] @ np.linalg.lstsq(z[rest], values[rest])[0]) ** 2)
    assert _left_out(columns, values) == pytest.approx(np.array(slow), rel=1e-9)
    assert 0 < WORTH < 0.1
    assert expected_grade(good).shape == grades.shape
