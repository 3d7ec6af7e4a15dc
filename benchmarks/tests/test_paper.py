"""The paper's experiments: the generator, folds on disk, training that goes on, means over folds, the whole of it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from activeeval import DCG, ERR, METHODS, QueryPool, Rankings, Target
from activeeval.core.errors import InputError
from benchmarks.paper import mslr_like, training
from benchmarks.paper.__main__ import main
from benchmarks.paper.averages import averaged, labels_saved
from benchmarks.paper.cases import BUDGETS, CASES, budgets_for
from benchmarks.paper.claims import CLAIMS
from benchmarks.paper.folds import generated, letor, mslr, prepare
from benchmarks.paper.running import Run, run_case
from benchmarks.paper.training import _Halves, train

pytestmark = pytest.mark.slow  # CI runs this module by itself: `make experiments`

N_FEATURES = 136


@pytest.fixture(scope="module")
def fold():
    (made,) = mslr_like.generate(400, 1, seed=1)
    return made


def write_mslr(folder, n_queries=16, seed=0):
    """Write five folds as MSLR is published: three files each, 136 features, a space at the end, no document ids."""
    rng = np.random.default_rng(seed)
    parts = []
    for part in range(5):
        lines = []
        for q in range(n_queries):
            for _ in range(rng.integers(3, 12)):
                x = rng.exponential(2.0, N_FEATURES)
                x[14] = rng.integers(0, 4000)
                grade = int(np.clip(np.floor(x[0] + rng.normal()), 0, 4))
                pairs = " ".join(f"{k + 1}:{value:g}" for k, value in enumerate(x))
                lines.append(f"{grade} qid:{1 + 15 * (part * n_queries + q)} {pairs} \n")
        parts.append("".join(lines))
    for k in range(5):
        home = folder / f"Fold{k + 1}"
        home.mkdir(parents=True)
        for name, which in {"train": (0, 1, 2), "vali": (3,), "test": (4,)}.items():
            (home / f"{name}.txt").write_text("".join(parts[(k + i) % 5] for i in which))
    return folder


def test_generator_has_the_published_shares_and_costs(fold):
    published = mslr_like.GRADE_COUNTS / mslr_like.GRADE_COUNTS.sum()
    shares = np.bincount(fold.grades, minlength=5) / fold.grades.size
    assert np.abs(shares - published).max() <= 1 / fold.grades.size
    lengths = fold.features[:, mslr_like.LENGTH_FEATURE].astype(float)
    assert np.array_equal(fold.costs, np.log1p(np.maximum(lengths, 1)))
    assert fold.features.shape == (fold.counts.sum(), N_FEATURES)
    # a standard error of the mean count is 3.5
    assert abs(fold.counts.mean() - 119.6) < 14
    assert fold.counts.max() <= mslr_like.MOST_ITEMS


def test_generated_queries_differ_as_a_whole(fold):
    """The grades of a query go together: the variance of query means is far above that of shuffled grades."""
    owners = np.repeat(np.arange(fold.counts.size), fold.counts)
    spread = np.var(np.bincount(owners, fold.grades) / fold.counts)
    shuffled = np.random.default_rng(0).permutation(fold.grades)
    assert spread > 4 * np.var(np.bincount(owners, shuffled) / fold.counts)


def test_folds_on_disk_are_what_was_generated(tmp_path):
    source = generated(60)
    collection = prepare(source, tmp_path)
    for stored, made in zip(collection.folds, source.folds(), strict=True):
        assert np.array_equal(stored.features, made.features)
        assert np.array_equal(stored.grades, made.grades)
    pool, grades = collection.pool(2)
    assert pool.n_queries == 60 - collection.folds[2].counts.size
    assert grades.size == pool.n_items
    assert np.isclose(np.bincount(pool.item_queries, pool.item_costs).mean(), 1)


def test_a_fold_that_was_not_finished_is_written_anew_and_another_collection_is_refused(tmp_path):
    source = generated(60)
    collection = prepare(source, tmp_path)
    (collection.folds[1].folder / "ready.json").unlink()
    (collection.folds[1].folder / "grades.npy").write_bytes(b"half")
    assert prepare(source, tmp_path).folds[1].grades.size == prepare(source, tmp_path).folds[1].counts.sum()
    with pytest.raises(InputError, match="holds another collection"):
        prepare(replace(source, signature={"seed": 7}), tmp_path)


def test_training_rows_are_nested_and_apart_from_tuning_queries(tmp_path):
    collection = prepare(generated(100), tmp_path)
    halves = _Halves.of(collection.folds[0], 0)
    queries = collection.folds[0].queries
    assert not set(queries[halves.training]) & set(queries[halves.tuning])
    smaller, larger = set(halves.rows(0.5)), set(halves.rows(0.8))
    assert smaller < larger
    assert len(larger) == round(0.8 * halves.training.size)


def test_what_is_trained_is_kept_and_scores_line_up_with_the_pool(tmp_path):
    collection = prepare(generated(150), tmp_path)
    said = []
    trained = train(collection, 0, 1, ("RF_class", "SVM"), said.append)
    assert [line.split(": ")[1].split()[0] for line in said] == ["RF_class", "SVM"]
    train(collection, 0, 1, ("RF_class", "SVM"), said.append)
    assert len(said) == 2
    pool, grades = collection.pool(0)
    for model in ("RF_class", "SVM"):
        scores = trained.scores(model)
        random = np.random.default_rng(0).permutation(scores)
        ranked = (Rankings.from_scores(pool, which) for which in (scores, random))
        values = [DCG(cutoff=10).score(pool, grades, one).mean() for one in ranked]
        assert values[0] > 1.2 * values[1]
    assert np.allclose(trained.probs(("RF_class",)).sum(axis=1), 1)


def test_a_case_equals_the_campaigns_of_the_package(tmp_path):
    """The benchmark adds nothing of its own: passive's rows are those of a direct simulation with the same seed."""
    from activeeval.core.simulation import replicate

    collection = prepare(generated(150), tmp_path)
    trained = train(collection, 0, 1, ("RF_class",), lambda line: None)
    job = Run(collection, 40, 0)
    found = run_case(job, CASES[0], 0)["rows"]
    pool, grades = collection.pool(0)
    ranking = Rankings.from_scores(pool, trained.scores("RF_class"))
    for k, measure in enumerate((ERR(4), DCG())):
        target = Target(measure, ranking)
        design = METHODS["passive"].design(target)
        costs = design.order.dearest_units
        budgets = [budget for budget in job.budgets if budget * costs.mean() >= costs.max()]
        paid = [budget * costs.mean() for budget in budgets]
        direct = replicate(design, grades, paid, 40, np.random.SeedSequence([2013, 0, 0, k]))
        truth = target.values(grades).mean()
        rows = [row for row in found if row["measure"] == ("ERR", "DCG")[k] and row["method"] == "passive"]
        assert [row["budget"] for row in rows] == budgets
        assert np.allclose([row["mae"] for row in rows], np.abs(direct.values - truth).mean(axis=0), rtol=1e-12)


def row(fold, method, budget, mae, *, figure=2, se=0.01):
    return {
        "figure": figure, "case": "one", "measure": "DCG", "fold": fold, "method": method, "budget": budget,
        "repetitions": 10, "truth": 1.0 + fold, "rmse": 2 * mae, "rmse_se": se, "mae": mae, "mae_se": se, "bias": 0.0,
        "bias_se": se, "coverage": 0.95, "coverage_se": se, "queries": 10.0, "items": 100.0, "spent": budget,
        "spent_sd": 0.0, "selection_error": None, "selection_error_se": None,
    }  # fmt: skip


def test_means_over_folds_and_their_errors():
    sizes = {"passive": 3, "active": 1}
    rows = [row(fold, method, 10.0, size * (1 + fold)) for fold in (0, 1) for method, size in sizes.items()]
    passive, active = averaged(rows)
    assert passive["mae"] == pytest.approx(4.5)
    assert passive["mae_se"] == pytest.approx(np.sqrt(2 * 0.01**2) / 2)
    assert passive["rmse"] == pytest.approx(np.sqrt((6**2 + 12**2) / 2))
    assert active["efficiency"] == pytest.approx(9)
    assert active["repetitions"] == 20
    assert active["truths"] == [1.0, 2.0]


@pytest.mark.parametrize("ratio", [0.9, 0.6])
def test_labels_saved_of_errors_that_fall_as_theory_says(ratio):
    """With errors c/√Λ and r·c/√Λ the saving is 1 − r²; interpolation between log points is exact there."""
    rows = []
    for budget in BUDGETS:
        rows += [row(0, "passive", budget, 1 / np.sqrt(budget), se=1e-9)]
        rows += [row(0, "active", budget, ratio / np.sqrt(budget), se=1e-9)]
    saved, error, budget = labels_saved(averaged(rows), "one", "DCG", "active")
    assert saved == pytest.approx(1 - ratio**2, abs=1e-6)
    assert error < 1e-6
    assert budget == BUDGETS[-1]
    assert labels_saved(averaged([r for r in rows if r["budget"] > 250]), "one", "DCG", "active") is None


def test_budgets_are_the_papers_or_the_same_shares_of_a_small_pool():
    assert budgets_for(25_225) == BUDGETS
    assert budgets_for(500) == (25.0, 50.0, 75.0, 100.0, 125.0, 150.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mslr", "nowhere"], "no such file, expected the five folds"),
        (["--collection", "mq2008"], "no such file; mq2008 is part of the data kit"),
    ],
)
def test_what_is_missing_is_said_in_one_line(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ACTIVEEVAL_SHARED", str(tmp_path))
    assert main([*arguments, "--work", str(tmp_path / "work"), "--out", str(tmp_path / "out")]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_text_of_another_collection_is_refused(tmp_path):
    folder = write_mslr(tmp_path / "WEB", 2)
    (folder / "Fold2" / "test.txt").write_text("0 qid:1 1:0.5 2:1\n")
    with pytest.raises(InputError, match=r"Fold2/test.txt: 2 features, expected those of MSLR"):
        prepare(mslr(folder), tmp_path)


def run_whole(folder, tmp_path):
    out = tmp_path / "results"
    options = ["--repetitions", "10", "--own-repetitions", "2", "--jobs", "1", "--work", str(tmp_path / "work")]
    assert main(["--mslr", str(folder), *options, "--out", str(out)]) == 0
    return json.loads((out / f"paper-mslr-{folder.name}.json").read_text()), out


def test_the_whole_of_the_experiments_and_again_from_what_is_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(training, "TREES", 5)
    folder = write_mslr(tmp_path / "WEB")
    result, out = run_whole(folder, tmp_path)
    assert {r["figure"] for r in result["rows"]} == {2, 3, 4, 5}
    assert all(r["folds"] == 5 and r["repetitions"] in (50, 10) for r in result["rows"])
    assert sorted(path.stem[-1] for path in (out / "figures").glob("*.svg")) == list("123456")
    assert {r["case"] for r in result["rows"]} == {case.title for case in CASES}
    text = (tmp_path / "RESULTS.md").read_text()
    assert all(claim.text in text for claim in CLAIMS)
    assert "RF_class in" in capsys.readouterr().out
    again, _ = run_whole(folder, tmp_path)
    assert again["rows"] == result["rows"]
    assert "RF_class in" not in capsys.readouterr().out


def test_ties_of_letor_folds_are_in_the_order_of_document_ids(tmp_path):
    random = np.random.default_rng(0)
    names, grades = [f"d{number}" for number in random.permutation(30)], random.integers(0, 3, 30)
    lines = (
        f"{grade} qid:1 1:{row} # docid = {name}\n" for row, (grade, name) in enumerate(zip(grades, names, strict=True))
    )
    (tmp_path / "S1.txt").write_text("".join(lines))
    work = tmp_path / "work"
    prepare(letor("hand", tmp_path, ("S1.txt",)), work)
    (fold,) = prepare(letor("hand", tmp_path, ("S1.txt",)), work).folds
    pool = QueryPool(["1"], [0, 30])  # as it is numbered in the pool of the paper's experiments
    ranked = Rankings.from_scores(pool, np.zeros(30)).items
    expected = [grade for _, grade in sorted(zip(names, grades.tolist(), strict=True), reverse=True)]
    assert fold.grades[ranked].tolist() == expected
