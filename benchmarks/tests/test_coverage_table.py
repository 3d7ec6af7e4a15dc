"""The table of coverage: a list that is fixed and holds every level, Holm's step, and what a row says."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import combinations, groupby, product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import coverage, coverage_cells, coverage_report
from benchmarks.few_topics import DEPTH, POOLS_OF_FEW
from benchmarks.machine import data_folder
from benchmarks.special_pools import SPECIAL_POOLS
from benchmarks.watched_series import small_forests

ROOT = Path(__file__).resolve().parents[2]
LEVELS = {
    "collection": (*coverage_cells.COLLECTIONS, *coverage_cells.WORST_COLLECTIONS),
    "measure": coverage_cells.MEASURES,
    "model": coverage_cells.MODELS,
    "case": coverage_cells.CASES,
    "overhead": coverage_cells.OVERHEADS,
}


def test_the_list_is_long_and_names_no_cell_twice():
    listed = coverage_cells.cells()
    assert len(listed) >= 600
    assert len({cell.name for cell in listed}) == len({cell.seed for cell in listed}) == len(listed)


def test_the_list_is_the_same_in_another_process():
    code = "from benchmarks.coverage_cells import cells; print([cell.name for cell in cells()])"
    environment = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str([cell.name for cell in coverage_cells.cells()])


@pytest.mark.parametrize(("one", "other"), list(combinations(LEVELS, 2)))
def test_all_levels_of_two_factors_meet(one, other):
    counts = Counter((getattr(cell, one), getattr(cell, other)) for cell in coverage_cells.cells())
    assert set(counts) == set(product(LEVELS[one], LEVELS[other]))
    assert min(counts.values()) >= 5


def test_every_model_has_updates_by_the_cascade_measures_everywhere():
    found = {(c.collection, c.measure, c.model) for c in coverage_cells.cells() if c.case == "index update"}
    assert found >= set(product(LEVELS["collection"], ("ERR", "ERR@10", "RR"), LEVELS["model"]))


def test_the_list_of_few_topics_has_every_question_at_every_budget():
    listed = coverage_cells.cells_of_few()
    questions = [(c.collection, c.measure, c.model, c.case, c.share) for c in listed]
    factors = (coverage_cells.FEW_TOPICS, coverage_cells.MEASURES_OF_FEW, coverage_cells.MODELS_OF_FEW)
    every = set(product(*factors, coverage_cells.CASES, coverage_cells.SHARES_OF_FEW))
    assert set(questions) == every
    assert len({cell.seed for cell in (*listed, *coverage_cells.cells())}) == len(every) + len(coverage_cells.cells())


def test_a_question_on_few_topics_has_one_overhead_and_all_come_alike():
    listed = coverage_cells.cells_of_few()
    plans = {cell.plan for cell in listed}
    assert len(plans) * len(coverage_cells.SHARES_OF_FEW) == len(listed)
    counts = Counter(plan.overhead for plan in plans)
    assert set(counts) == set(coverage_cells.OVERHEADS)
    assert min(counts.values()) > len(plans) / 4
    for factor in ("collection", "measure", "model", "case"):
        met = {(getattr(plan, factor), plan.overhead) for plan in plans}
        assert len(met) == len({level for level, _ in met}) * len(coverage_cells.OVERHEADS)


def replications(values, lows, highs, degrees, observed=1.0, planned=0.0, n_open=38.0):
    n = len(values)
    arrays = {"values": values, "lows": lows, "highs": highs, "degrees_of_freedom": degrees}
    arrays |= {"observed": np.broadcast_to(observed, n), "planned": np.broadcast_to(planned, n)}
    arrays |= {"n_queries": [40] * n, "n_items": [90] * n, "n_open": np.broadcast_to(n_open, n)}
    arrays |= {"spent": [98.0, *[99.0] * (n - 1)]}
    return SimpleNamespace(**{name: np.array(a, dtype=float)[:, None] for name, a in arrays.items()})


def four_runs():
    """Less spread than planned, all judged, no spread and nothing planned, far more spread with 3 degrees."""
    infinity = np.inf
    return replications(
        values=[1.0, 2.0, 2.0, 3.0],
        lows=[0.5, 2.0, -infinity, 2.999],
        highs=[2.5, 2.0, infinity, 3.001],
        degrees=[13.0, infinity, 0.0, 3.0],
        observed=[0.16, 0.0, infinity, 1e-8],
        planned=[2.0, 0.0, 1.0, 1e-10],
        n_open=[38.0, 0.0, 38.0, 38.0],
    )


def test_a_row_by_hand():
    row = coverage.figures(four_runs(), 2.0, 2.0, 100.0)
    assert row["coverage"] == 0.75  # the last lies beside the truth, and is hardly wider than a point
    assert (row["wrong_and_narrow"], row["above"], row["below"]) == (1, 0.25, 0.0)
    assert row["undetermined"] == 0.25
    assert row["width"] == pytest.approx(2.002 / 3)
    assert row["bias"] == 0
    assert row["rmse"] == pytest.approx(math.sqrt(0.5))
    assert row["width_to_rmse"] == pytest.approx(1.001 / (3.92 * math.sqrt(0.5)))  # between .002 and 2
    assert row["degrees_of_freedom"] == pytest.approx(16 / 3)
    assert row["spent_to_budget"] == pytest.approx(0.9875)
    assert row["most_spent_to_budget"] == pytest.approx(0.99)
    assert row["is_counted"]


def test_what_each_caution_tells_by_hand():
    row = coverage.figures(four_runs(), 2.0, 2.0, 100.0)
    assert row["misses_alone"] == 0.5  # 2.16 · 0.4 does not reach from 1 to 2
    assert row["no spread"] == {"told": 0.25, "misses": 0.0, "misses_alone": 0.0}
    assert row["more spread"] == {"told": 0.25, "misses": 0.25, "misses_alone": 0.25}


def test_cautions_come_beyond_their_bounds_only():
    """At 10 times the planned variance none does."""
    found = replications([2.0] * 2, [1.0] * 2, [3.0] * 2, [4.0] * 2, observed=[9.9, 10.1], planned=1.0)
    row = coverage.figures(found, 2.0, 2.0, 100.0)
    assert {code: row[code]["told"] * 2 for code in coverage.CODES} == {"no spread": 0, "more spread": 1}


def test_an_interval_narrow_or_not_by_its_root_mean_squared_error():
    """Errors of 1: what misses and is less than 0.04 wide is narrow."""
    values, halves = np.array([1.0, 3.0, 1.0, 3.0]), np.array([0.0199, 0.0201, 0.0199, 0.0201])
    lows, highs = values - halves, values + halves
    lows[2], highs[3] = -5.0, 5.0
    row = coverage.figures(replications(values, lows, highs, [9.0] * 4), 2.0, 2.0, 100.0)
    assert (row["wrong_and_narrow"], row["below"], row["above"]) == (1, 0.5, 0.5)


def test_few_judged_queries_count_in_the_second_list_only():
    found = replications([1.0, 3.0], [0.0] * 2, [4.0] * 2, [9.0] * 2)
    found.n_queries[:] = 12
    assert not coverage.figures(found, 2.0, 2.0, 100.0)["is_counted"]
    assert coverage.figures(found, 2.0, 2.0, 100.0, is_few=True)["is_counted"]


def test_an_interval_that_misses_by_rounding_holds():
    truth = 0.1 + 0.2
    found = replications([0.3] * 2, [0.3] * 2, [0.3] * 2, [np.inf] * 2, observed=0.0, n_open=0.0)
    row = coverage.figures(found, truth, truth, 100.0)
    assert (row["coverage"], row["wrong_and_narrow"], row["degrees_of_freedom"]) == (1.0, 0, None)
    assert (row["misses_alone"], row["width_to_rmse"]) == (0.0, None)


@pytest.fixture(scope="module")
def certain():
    return SPECIAL_POOLS["certain queries"]()


def test_a_cell_run_alone_gives_the_same_row(certain):
    listed = [c for c in coverage_cells.cells() if (c.collection, c.measure) == ("certain queries", "P@10")]
    groups = [list(group) for _, group in groupby(listed, key=lambda cell: cell.plan)]
    group = next(group for group in groups if len(group) > 1)
    rows = coverage.rows_of(certain, group, 30)
    assert [row["name"] for row in rows] == [cell.name for cell in group]
    assert coverage.rows_of(certain, group[-1:], 30) == rows[-1:]
    assert all(0.9 < row["spent_to_budget"] <= row["most_spent_to_budget"] <= 1 + 1e-9 for row in rows)


def test_a_refused_budget_has_a_row_that_says_so(certain):
    cell = next(c for c in coverage_cells.cells() if (c.collection, c.measure) == ("certain queries", "P@10"))
    cell = replace(cell, share=1e-6)
    (row,) = coverage.rows_of(certain, [cell], 30)
    assert (row["name"], row["is_refused"], row["is_counted"]) == (cell.name, True, False)


def test_models_are_distributions_and_differ(certain):
    beliefs = {name: make(certain.beliefs) for name, make in coverage.MODELS.items()}
    assert tuple(beliefs) == coverage_cells.MODELS
    for one in beliefs.values():
        np.testing.assert_allclose(one.probs.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(beliefs["reversed"].probs[:, 0], certain.beliefs.probs[:, -1])
    assert beliefs["overconfident"].probs.max(axis=1).mean() > certain.beliefs.probs.max(axis=1).mean()
    assert beliefs["overconfident"].factor is None
    assert beliefs["uniform"].factor.sigma == 1.2


def test_rare_relevance_is_rare():
    pool = SPECIAL_POOLS["rare relevance"]()
    queries = pool.inputs.pool
    relevant = np.unique(queries.item_queries[pool.inputs.grades > 0])
    assert queries.n_queries == 800
    assert 0.03 < relevant.size / 800 < 0.05


FEW = {"OHSUMED, 42": "ohsumed", "Robust03, 50": "trec-robust03", "LightGBM test, 50": "lightgbm-lambdarank"}


@pytest.mark.parametrize("name", FEW)
def test_pools_of_few_topics(name):
    if not (data_folder() / FEW[name]).is_dir():
        pytest.skip("needs the data kit beside the checkout")
    with small_forests():
        pool = POOLS_OF_FEW[name]()
        queries = pool.inputs.pool
        assert queries.n_queries == int(name.rpartition(" ")[2])
        assert pool.beliefs.probs.shape == (queries.n_items, pool.max_grade + 1)
        assert set(np.unique(pool.inputs.grades)) == set(range(pool.max_grade + 1))
        assert min(pool.inputs.ranking.lengths.min(), pool.second.lengths.min()) > 0
        if name == "Robust03, 50":
            thirty, topics = POOLS_OF_FEW["Robust03, 30"](), queries.query_ids[queries.item_queries]
            few = set(thirty.inputs.pool.query_ids.tolist())
            assert {str(topic) for topic in range(601, 651)} == set(queries.query_ids.tolist()) > few
            assert max(pool.inputs.ranking.lengths.max(), thirty.inputs.ranking.lengths.max()) <= DEPTH
            same = pool.beliefs.probs[np.isin(topics, sorted(few))]
            np.testing.assert_allclose(thirty.beliefs.probs, same, rtol=1e-9)


def test_a_quarter_of_the_lists_is_empty():
    pool = SPECIAL_POOLS["empty lists"]()
    first, second = pool.inputs.ranking.lengths == 0, pool.second.lengths == 0
    np.testing.assert_array_equal(first, second)
    assert 0.2 < first.mean() < 0.3


def cell_row(name, **changed):
    """A cell of 100 runs that hold, ten of them with the note on their spread."""
    observed = [20.0] * 10 + [1.0] * 90
    arrays = ([1.0, 3.0] * 50, [0.0] * 100, [4.0] * 100, [50.0] * 100)
    row = coverage.figures(replications(*arrays, observed=observed, planned=1.0), 2.0, 2.0, 100.0)
    row |= {"is_refused": False, "is_few": False, "repetitions": 100, "nonzero_queries": 5, "method": "depth"}
    row |= {"pool_queries": 300, "collection": "a", "measure": "b", "case": "c", "overhead": 0.0, "model": "d"}
    return row | {"share": 0.1, "name": name} | changed


def report_of(*rows):
    return coverage_report.markdown(
        {"command": "this", "git_commit": "x", "date": "2000-01-01T00", "seconds": 1, "rows": list(rows)}
    )


def section(text, title):
    return text.partition(f"### {title}")[2].partition("##")[0]


def test_the_report_names_what_is_wrong():
    fine, bad = cell_row("fine"), cell_row("bad", coverage=0.5, wrong_and_narrow=3, below=0.3, above=0.2)
    small, refused = cell_row("small", coverage=0.1, is_counted=False), {"is_refused": True, "is_counted": False}
    text, clean = report_of(fine, bad, small, refused | {"name": "none"}), report_of(fine, cell_row("second"))
    for title in ("Significantly below", "Below 92%", "Narrow and wrong"):
        assert ("| bad |" in section(text, title), "| fine |" in section(text, title)) == (True, False)
        assert section(clean, title).split("\n\n")[1].strip() == "None."
    assert "| small |" not in text
    assert "4 cells, 100 repetitions each; 2 count: in 1 the budget was refused, in 1 fewer than 20 queries" in text
    assert "| below / above the truth | 15.00% / 10.00% |  |  |" in text


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"coverage": 0.95}, "mean | 95.00% ± 0.00% | 94.5% to 96.5% | reached"),
        ({"coverage": 0.94}, "mean | 94.00% ± 0.00% | 94.5% to 96.5% | **not reached**"),
        ({"coverage": 0.94, "is_few": True}, "mean | 94.00% ± 0.00% | 94.0% to 96.5% | reached"),
        ({"wrong_and_narrow": 3}, "repetitions narrow and wrong | 3 | 0 | **not reached**"),
        ({"width_to_rmse": 1.06}, "median width, pools of 200 queries on | 1.060 | <= 1.06 | reached"),
        ({"width_to_rmse": 1.061}, "median width, pools of 200 queries on | 1.061 | <= 1.06 | **not reached**"),
        ({"most_spent_to_budget": 1.01}, "largest spend / budget | 1.0100 | <= 1 | **not reached**"),
        ({"coverage": 0.5}, "cells significantly below 90 % | 1 of 1 | <= 8 | reached"),
    ],
)
def test_a_verdict_by_hand(changed, line):
    assert f"| {line} |" in report_of(cell_row("one", **changed))


@pytest.mark.parametrize(("n_far", "n_under", "said"), [(4, 12, "reached"), (5, 13, "**not reached**")])
def test_of_few_queries_shares_of_cells_may_be_low(n_far, n_under, said):
    """12 of 100 cells below 92 %, 4 of them below 88 %: as many as may be; of the long list none is counted so."""
    levels = [0.87] * n_far + [0.91] * (n_under - n_far) + [0.95] * (100 - n_under)
    rows = [cell_row(f"cell {i}", coverage=level, pool_queries=50, is_few=True) for i, level in enumerate(levels)]
    text = report_of(*rows)
    assert "## Twenty judged queries and more" not in text
    assert f"| cells below 92% | {n_under} of 100, {n_under}.0% | <= 12% | {said} |" in text
    assert f"| cells below 88% | {n_far} of 100, {n_far}.0% | <= 4% | {said} |" in text
    assert "| median width" not in text
    assert "| <= 12% |" not in report_of(*(row | {"is_few": False} for row in rows))


def test_the_table_of_cautions_by_hand():
    """10 % of runs are told, 4 % are and miss, 5 % miss: 1 of the other 90; V̂ alone misses 8 %, 6 of them told."""
    caution = {"told": 0.1, "misses": 0.04, "misses_alone": 0.06}
    text = report_of(cell_row("one", coverage=0.95, misses_alone=0.08, **{"more spread": caution}))
    (line,) = (one for one in section(text, "Cautions").splitlines() if one.startswith("| note: V̂"))
    told = ["10.0%", "40.0%", "1.1%", "80.0%", "60.0%", "2.2%", "75.0%"]
    assert line == "| " + " | ".join(["note: V̂ / planned > 10", *told]) + " |"
    (never,) = (one for one in section(text, "Cautions").splitlines() if one.startswith("| do not use"))
    assert never == "| do not use: no spread | 0.0% |  | 5.0% | 0.0% |  | 8.0% | 0.0% |"
