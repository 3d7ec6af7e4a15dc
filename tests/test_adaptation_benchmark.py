"""The experiments on adaptation run, and judge claims by what the folds say."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.adaptation import running
from benchmarks.adaptation.__main__ import summed_up
from benchmarks.adaptation.claims import BEST_LAMBDA, Gap, best_algorithm, claims
from benchmarks.adaptation.data import FOLDS, SHIFTS, generated
from benchmarks.adaptation.pictures import save_all
from benchmarks.adaptation.report import markdown
from benchmarks.adaptation.running import LAMBDAS, PRINTED, Fold, balanced, chosen


@pytest.fixture(scope="module")
def case():
    return generated("tiny", 40, 40, 400, SHIFTS)


@pytest.mark.slow
def test_a_small_case_runs_from_data_to_pictures(case, monkeypatch, tmp_path):
    monkeypatch.setattr(running, "SHAPES", ((5, 4, 0.3), (10, 4, 0.1)))
    monkeypatch.setattr(running, "COSTS", (1e-4, 1e-2))
    found = running.run(case, skewed=True) | {"sizes": case.sizes, "clicks": list(case.clicks)}
    found["alike"] = running.svms(generated("tiny", 40, 40, 400, {}))
    found["agreement"] = running.agreement(case, tuple(found["shape"]), (5, 5000))
    rows = [*claims("DS1", found), best_algorithm({"DS1": summed_up(found)})]
    assert {row["holds"] for row in rows} <= {"yes", "no", "not shown"}
    assert next(row for row in rows if row["claim"] == "converged SGD equals CF")["holds"] == "yes"
    assert next(row for row in rows if "end at the base" in row["claim"])["holds"] == "yes"
    result = json.loads(json.dumps({"seconds": 1, "cases": {"DS1": summed_up(found)}, "claims": rows}))
    text = markdown(result)
    assert all(f"| {row['data']} | {row['claim']} |" in text for row in rows)
    assert "RSVM_mix, skewed" in text
    assert all(path.stat().st_size > 0 for path in save_all(result, tmp_path))


def test_a_case_is_of_the_sizes_asked_for_and_no_query_is_in_two_folds(case):
    assert len(case.pairs) == 400
    assert case.sizes["judged documents"] <= 40 * 20
    for fold in range(FOLDS):
        inside = case.queries[case.folds == fold]
        assert inside.size
        assert not np.isin(case.queries[case.folds != fold], inside).any()
    assert set(case.pair_folds.tolist()) == set(range(FOLDS))


def test_nothing_is_learned_from_the_fold_that_is_held_out(case):
    """Grades and pairs of a fold that are turned round change nothing of what is learned for it."""
    judged, paired = case.folds == 2, case.pair_folds == 2
    turned = replace(
        case,
        grades=np.where(judged, 4 - case.grades, case.grades),
        pairs=np.where(paired[:, None], case.pairs[:, ::-1], case.pairs),
    )
    for make in (lambda fold: fold.base((5, 4, 0.3)), lambda fold: fold.svm("mix", 1e-3, False)):
        scores = [[make(Fold(one, number)).predict(case.X) for one in (case, turned)] for number in (2, 3)]
        np.testing.assert_array_equal(*scores[0])
        assert not np.array_equal(*scores[1])
    values = [np.array(Fold(one, 2).values(Fold(case, 2).svm("mix", 1e-3, False))) for one in (case, turned)]
    np.testing.assert_allclose(values[0][1:3] + values[1][1:3], 1.0)


def test_the_printed_cost_of_a_pair_is_one_over_lambda(case):
    """½‖v‖² + C Σ ξ with C = 1/λ, summed here from the ranker's scores, is least at the printed SVML's weights."""
    fold = Fold(case, 0)
    base, how, ridge = fold.base((5, 4, 0.3)), PRINTED["SVML"], 10.0

    def program(ranker):
        scores = ranker.predict(case.clicked)
        slacks = np.maximum(1 - scores[fold.pairs[:, 0]] + scores[fold.pairs[:, 1]], 0)
        return 0.5 * np.sum((ranker.coef_ - base.coef_) ** 2) + slacks.sum() / ridge

    adapted = [
        program(base.adapt(case.clicked, fold.pairs, method="hinge", scaling=how.scaling, regularization=value, rng=0))
        for value in (how.unit * ridge, 2 * ridge, ridge, 0.25 * ridge)
    ]
    assert adapted[0] < min(adapted[1:])


def test_a_fold_is_not_asked_for_its_own_candidate():
    """The second is best on fold 0 alone, by far, and over all folds."""
    values = [[[0.5, 0.5, 0.0, 0.0]] * FOLDS, [[1.0, 1.0, 0.0, 0.0], *[[0.4, 0.4, 0.0, 0.0]] * (FOLDS - 1)], None]
    held, places = chosen(values)
    assert places == [0, 1, 1, 1, 1]
    np.testing.assert_allclose(balanced(held), [0.5, 0.4, 0.4, 0.4, 0.4])


def test_a_gap_is_judged_by_the_interval_of_students_t():
    steady = np.array([0.1, 0.11, 0.09, 0.1, 0.1])
    assert Gap.of(steady, np.zeros(FOLDS)).holds == "yes"
    assert Gap.of(np.zeros(FOLDS), steady).holds == "no"
    assert Gap.of(np.array([0.3, -0.1, 0.1, 0.2, 0.0]), np.zeros(FOLDS)).holds == "not shown"


def test_the_published_places_are_among_the_lambdas():
    assert {ridge for places in BEST_LAMBDA.values() for ridge in places.values()} <= set(LAMBDAS)
