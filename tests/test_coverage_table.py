"""The table of coverage: a list that is fixed and holds every level, Holm's step, and what a row says."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations, groupby, product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import coverage, coverage_cells, coverage_report
from benchmarks.special_pools import SPECIAL_POOLS

ROOT = Path(__file__).resolve().parent.parent
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


def test_every_collection_has_its_budgets_under_every_model():
    for collection, model in product(LEVELS["collection"], LEVELS["model"]):
        shares = {c.share for c in coverage_cells.cells() if (c.collection, c.model) == (collection, model)}
        assert shares == ({0.15, 0.2, 0.25} if collection == "certain queries" else {0.02, 0.05, 0.1, 0.25})


def test_every_model_has_updates_by_the_cascade_measures_everywhere():
    found = {(c.collection, c.measure, c.model) for c in coverage_cells.cells() if c.case == "index update"}
    assert found >= set(product(LEVELS["collection"], ("ERR", "ERR@10", "RR"), LEVELS["model"]))


def test_a_lot_is_part_of_the_list_and_in_its_order():
    listed = coverage_cells.cells()
    some = coverage_cells.sample_of(listed, 40)
    assert len(some) == 40
    assert [cell for cell in listed if cell in set(some)] == some
    assert set(some) < set(coverage_cells.sample_of(listed, 80))


def rejected_by_closure(p_values, level):
    """Holm's test by its definition: every hypothesis that holds this one falls by Bonferroni."""
    n = range(len(p_values))
    subsets = [set(s) for s in chain.from_iterable(combinations(n, k + 1) for k in n)]
    return [i for i in n if all(len(s) * min(p_values[j] for j in s) <= level for s in subsets if i in s)]


def tail(held, n):
    """P(X ≤ held) of n draws that hold with probability 9/10, exactly."""
    return sum(math.comb(n, k) * Fraction(9) ** k for k in range(held + 1)) / Fraction(10) ** n


@pytest.mark.parametrize("seed", range(20))
def test_cells_below_the_bar_by_all_subsets(seed):
    random = np.random.default_rng(seed)
    n, held = 200, random.integers(160, 176, 8).tolist()
    rows = [{"name": i, "coverage": h / n, "repetitions": n} for i, h in enumerate(held)]
    found = [row["name"] for row in coverage_report.significantly_below(rows)]
    assert found == rejected_by_closure([tail(h, n) for h in held], Fraction(1, 20))


def test_the_draws_above_are_near_the_edge():
    """With 200 repetitions 169 is below 90 % at 1 of 100, 163 at less than .05 / 8: some fall by a later step only."""
    assert tail(163, 200) < Fraction(1, 160) < tail(169, 200) < Fraction(1, 20) < tail(173, 200)


def replications(values, lows, highs, degrees):
    n = len(values)
    arrays = {"values": values, "lows": lows, "highs": highs, "degrees_of_freedom": degrees}
    arrays |= {"n_queries": [40] * n, "n_items": [90] * n, "n_open": [38] * n, "spent": [98.0, *[99.0] * (n - 1)]}
    return SimpleNamespace(**{name: np.array(a, dtype=float)[:, None] for name, a in arrays.items()})


def test_a_row_by_hand():
    infinity = np.inf
    found = replications(
        values=[1.0, 2.0, 2.0, 3.0],
        lows=[0.5, 2.0, -infinity, 3.0],
        highs=[2.5, 2.0, infinity, 3.0],
        degrees=[13.0, infinity, 0.0, 20.0],
    )
    row = coverage.figures(found, 2.0, 2.0, 100.0)
    assert row["coverage"] == 0.75  # the last is a point beside the truth
    assert row["wrong_points"] == 1
    assert row["undetermined"] == 0.25
    assert row["width"] == pytest.approx(2 / 3)
    assert row["bias"] == 0
    assert row["rmse"] == pytest.approx(math.sqrt(0.5))
    assert row["degrees_of_freedom"] == pytest.approx(11)
    assert row["is_warned"]
    assert row["warns"] == 0.5  # 13 and 0 are below 13.3
    assert row["spent_to_budget"] == pytest.approx(0.9875)
    assert row["most_spent_to_budget"] == pytest.approx(0.99)
    assert row["is_counted"]


def test_an_interval_that_misses_by_rounding_holds():
    truth = 0.1 + 0.2
    row = coverage.figures(replications([0.3] * 2, [0.3] * 2, [0.3] * 2, [np.inf] * 2), truth, truth, 100.0)
    assert (row["coverage"], row["wrong_points"], row["degrees_of_freedom"]) == (1.0, 0, None)


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


def test_every_collection_can_be_loaded():
    assert set(coverage.LOADERS) == set(LEVELS["collection"])


def test_rare_relevance_is_rare():
    pool = SPECIAL_POOLS["rare relevance"]()
    queries = pool.workload.pool
    relevant = np.unique(queries.item_queries[pool.workload.grades > 0])
    assert queries.n_queries == 800
    assert 0.03 < relevant.size / 800 < 0.05


def test_a_quarter_of_the_lists_is_empty():
    pool = SPECIAL_POOLS["empty lists"]()
    first, second = pool.workload.ranking.lengths == 0, pool.second.lengths == 0
    np.testing.assert_array_equal(first, second)
    assert 0.2 < first.mean() < 0.3


def test_the_report_names_what_is_wrong():
    base = coverage.figures(replications([1.0, 3.0] * 50, [0.0] * 100, [4.0] * 100, [50.0] * 100), 2.0, 2.0, 100.0)
    base |= {"is_refused": False, "repetitions": 100, "nonzero_queries": 5, "method": "depth"}
    base |= {"collection": "a", "measure": "b", "case": "c", "overhead": 0.0, "model": "d", "share": 0.1}
    fine, bad = base | {"name": "fine"}, base | {"name": "bad", "coverage": 0.5, "wrong_points": 3}
    small = base | {"name": "small", "coverage": 0.1, "is_counted": False}
    rows = [fine, bad, small, {"name": "none", "is_refused": True, "is_counted": False}]
    result = {"command": "this", "git_commit": "x", "date": "2000-01-01T00", "seconds": 1, "rows": rows}
    text = coverage_report.markdown(result)
    below = text.partition("## Significantly below")[2].partition("## The")[0]
    assert "| bad |" in below
    assert "| fine |" not in below
    assert "| small |" not in text
    assert "4 cells, 100 repetitions each; 2 count: in 1 the budget was refused, in 1 fewer than 20 queries" in text
    assert "| cells below 92% without the warning | 1 of 1 | 0 | **not reached** |" in text
    assert "| repetitions with a point that is wrong | 3 | 0 | **not reached** |" in text
