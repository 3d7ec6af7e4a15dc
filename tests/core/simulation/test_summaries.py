"""What repetitions are summed up to, by hand: errors, coverage, what is saved, and their standard errors."""

import math
from dataclasses import fields, replace

import numpy as np
import pytest
from naive import pool_of, rankings_of
from simulated_cases import case, labelled, truth_of

from activeeval import DCG, METHODS, Figure, Target, replicate
from activeeval.core.estimation import INTERVALS
from activeeval.core.simulation import simulate
from activeeval.core.simulation.summaries import labels_saved_at, saved_above, saved_at


def test_a_summary_is_computed_from_its_runs():
    target, model, labels = case("ERR", True)
    designs = {name: METHODS[name].design(target, **model) for name in ("passive", "depth")}
    unit, budgets = 2.0, [share * designs["passive"].cost / 2 for share in (0.3, 0.5, 0.7)]
    summaries = simulate(designs, labels, budgets, 300, rng=4, unit=unit)
    assert [(s.method, s.budget) for s in summaries] == [(name, b) for name in designs for b in budgets]
    runs = {
        name: replicate(design, labels, [b * unit for b in budgets], 300, rng=4) for name, design in designs.items()
    }
    truth = truth_of(designs["depth"], labels)
    for summary in summaries:
        k, run = budgets.index(summary.budget), runs[summary.method]
        errors, passive = run.values[:, k] - truth, runs["passive"].values[:, k] - truth
        finite = np.isfinite(run.variances[:, k])
        held = (run.lows <= truth) & (run.highs >= truth)
        spent = run.spent[:, k] / unit
        figures = {
            "mae": abs(errors),
            "bias": errors,
            "coverage": held[:, k],
            "width": (run.highs - run.lows)[finite, k],
            "undetermined": np.isinf(run.observed[:, k]),
            "coverage_so_far": held[:, : k + 1].all(axis=1),
            "less_spread": run.observed[:, k] < 0.1 * run.planned[:, k],
            "queries": run.n_queries[:, k],
            "items": run.n_items[:, k],
            "spent": spent,
            "selection_error": np.sign(run.values[:, k]) != np.sign(truth),
        }
        for name, sample in figures.items():
            expected = (sample.mean(), sample.std(ddof=1) / math.sqrt(sample.size))
            found = getattr(summary, name)
            assert (found.value, found.se) == pytest.approx(expected, rel=1e-9, abs=1e-15), name
        assert summary.rmse.value == pytest.approx(math.sqrt((errors**2).mean()))
        assert summary.efficiency.value == pytest.approx((passive**2).mean() / (errors**2).mean())
        assert (summary.spent_sd, summary.spent_max) == pytest.approx((spent.std(ddof=1), spent.max()))
        assert summary.spent_max <= summary.budget * (1 + 1e-12)
        known = run.degrees_of_freedom[:, k]
        assert summary.degrees_of_freedom == pytest.approx(known[np.isfinite(known)].mean())
        assert (summary.repetitions, summary.truth) == (300, pytest.approx(truth))
        assert (summary.interval, summary.scope) == ("t", "pool")


def test_a_row_names_every_figure_and_its_error():
    designs, labels = labelled(compare=False)
    summary = simulate({"passive": designs["passive"]}, labels, [60], 20, rng=0)[0]
    row, short = summary.row(), summary.row(with_errors=False)
    assert list(short) == [field.name for field in fields(summary)]
    assert (row["rmse"], row["rmse_se"]) == (summary.rmse.value, summary.rmse.se)
    assert (row["labels_saved"], row["labels_saved_se"], row["selection_error"]) == (None, None, None)
    assert {name for name in row if name not in short} == {
        f"{field.name}_se" for field in fields(summary) if "Figure" in str(field.type)
    }
    unknown = replace(summary, rmse=Figure(1.0)).row()
    assert (unknown["rmse"], unknown["rmse_se"]) == (1.0, None)


@pytest.mark.parametrize("name", ["rmse", "efficiency"])
def test_standard_errors_are_those_of_the_bootstrap(name):
    designs, labels = labelled()
    budgets = [60.0, 90.0]
    runs = {n: replicate(designs[n], labels, budgets, 400, rng=4) for n in ("passive", "active")}
    truth = truth_of(designs["active"], labels)
    squares = {n: (run.values[:, 1] - truth) ** 2 for n, run in runs.items()}
    random = np.random.default_rng(0)
    resampled = []
    for _ in range(2000):
        chosen = random.integers(400, size=400)
        own, passive = squares["active"][chosen].mean(), squares["passive"][chosen].mean()
        resampled.append(math.sqrt(own) if name == "rmse" else passive / own)
    (summary,) = [s for s in simulate(designs, labels, budgets, 400, rng=4) if (s.method, s.budget) == ("active", 90.0)]
    assert getattr(summary, name).se == pytest.approx(np.std(resampled), rel=0.15)


def test_a_census_has_no_error():
    target, model, labels = case("ERR", True)
    designs = {name: METHODS[name].design(target, **model) for name in ("passive", "depth")}
    total = 1.1 * max(design.cost for design in designs.values())
    for summary in simulate(designs, labels, [0.5 * total, total], 10, rng=0):
        if summary.budget == total:
            assert (summary.rmse.value, summary.width.value) == (pytest.approx(0, abs=1e-15), 0)
            assert (summary.coverage.value, summary.undetermined.value, summary.less_spread.value) == (1, 0, 0)
            assert (summary.selection_error.value, summary.efficiency.value) == (0, 1)
            assert summary.labels_saved is None
            assert math.isnan(summary.degrees_of_freedom)


def test_a_census_that_rounds_has_no_error_either():
    """Sums in another order miss the truth by a last bit, which is no miss and no efficiency of 0 or 1e30."""
    misses = 0
    for seed in range(6):
        target, model, labels = case("DCG", False, seed=seed)
        designs = {name: METHODS[name].design(target, **model) for name in ("passive", "items", "random")}
        budget = 1.1 * designs["passive"].cost
        misses += np.any(replicate(designs["items"], labels, [budget], 1).values != truth_of(designs["items"], labels))
        for summary in simulate(designs, labels, [budget], 3, rng=0):
            assert (summary.coverage.value, summary.width.value, summary.efficiency.value) == (1, 0, 1)
    assert misses > 0


def test_labels_saved_on_curves_made_by_hand():
    """The errors fall as Λ^-1/2; the method needs a quarter of passive's budget for the same error."""
    budgets = np.array([25.0, 50.0, 100.0, 200.0, 400.0])
    passive = 1 / np.sqrt(budgets)
    saved = labels_saved_at(budgets, np.tile(passive / 2, (60, 1)), np.tile(passive, (60, 1)))
    assert saved[:2] == [None, None]  # the method is already better with the least budget
    assert [one.value for one in saved[2:]] == pytest.approx([0.75, 0.75, 0.75])
    assert [one.se for one in saved[2:]] == pytest.approx([0, 0, 0], abs=1e-12)
    worse = labels_saved_at(budgets, np.tile(2 * passive, (60, 1)), np.tile(passive, (60, 1)))
    assert [one.value for one in worse[:3]] == pytest.approx([1 - 4, 1 - 4, 1 - 4])
    assert worse[3:] == [None, None]
    # Between two budgets on a straight line of the logarithms: errors 8, 2 at 10, 40 pass 4 at 20.
    found = labels_saved_at(np.array([10.0, 40.0]), np.array([[8.0, 2.0]] * 3), np.array([[16.0, 4.0]] * 3))
    assert (found[0], found[1].value) == (None, pytest.approx(0.5))


def test_what_is_saved_at_least_where_the_smallest_budget_is_already_better():
    """With a fifth of the error the method at 25 is better than passive at 400, with half of it better than at 50."""
    budgets = np.array([25.0, 50.0, 400.0])
    passive = np.tile(1 / np.sqrt(budgets), (60, 1))
    assert saved_above(budgets, passive / 5, passive) == [None, 0.5, 1 - 25 / 400]
    assert saved_above(budgets, passive / 2, passive) == [None, 0.5, None]
    assert saved_above(budgets, passive, passive) == [None] * 3
    random = np.random.default_rng(1)
    noise = [random.normal(size=(400, 3)) for _ in range(2)]
    assert saved_above(budgets, *noise) == [None] * 3
    passive[:, 2] = 0  # a census
    assert saved_above(budgets, passive / 5, passive) == [None, 0.5, None]


def test_a_simulation_says_what_is_saved_at_least_beside_what_is_not_known():
    designs, labels = labelled(compare=False)
    found = simulate(designs, labels, [60, 62, 64], 200, rng=0)
    assert all(s.labels_saved is None or s.labels_saved_above is None for s in found)
    assert {s.labels_saved_above for s in found if s.method == "passive"} == {None}


def test_labels_saved_comes_with_a_bootstrap_error():
    random = np.random.default_rng(0)
    budgets = np.array([25.0, 50.0, 100.0, 200.0])
    passive = random.normal(size=(500, 4)) / np.sqrt(budgets)
    own = random.normal(size=(500, 4)) / np.sqrt(2 * budgets)
    saved = labels_saved_at(budgets, own, passive)[2]
    assert saved.value == pytest.approx(0.5, abs=4 * saved.se)
    assert 0.01 < saved.se < 0.1


def test_labels_saved_skips_a_census_and_bears_noise():
    budgets = np.array([10.0, 20, 40, 80])
    noisy = np.array([1, 0.7, 0.75, 0.4])
    np.testing.assert_array_equal(saved_at(budgets, noisy, noisy), np.zeros(4))
    passive = np.array([1, 0.5, 0.25, 0])
    own = np.array([0.5, 0.25, 0.125, 0])
    assert saved_at(budgets, own, passive)[1:3] == pytest.approx([0.5, 0.5])
    assert np.isnan(saved_at(budgets, own, passive)[[0, 3]]).all()


def test_a_tie_is_half_a_wrong_choice():
    """One query of three differs, by +1: A is better; samples without that query tie."""
    pool = pool_of([2] * 3)
    ranking, other = rankings_of(pool, [[0, 1]] * 3), rankings_of(pool, [[1, 0], [0, 1], [0, 1]])
    design = METHODS["passive"].design(Target(DCG([0, 1], cutoff=1), ranking, other))
    grades = np.array([1, 0, 0, 0, 0, 0])
    budget = float(design.scheme.draws_of(design.order).costs.max())
    run = replicate(design, grades, [budget], 200, 0)
    (summary,) = simulate({"passive": design}, grades, [budget], 200, 0)
    assert summary.selection_error.value == pytest.approx(0.5 * (run.values[:, 0] == 0).mean())
    assert 0.1 < summary.selection_error.value < 0.5


def test_two_equal_rankings_give_zero_and_no_choice():
    pool = pool_of([2] * 10)
    ranking = rankings_of(pool, [[0, 1]] * 10)
    design = METHODS["passive"].design(Target(DCG(), ranking, ranking))
    (summary,) = simulate({"passive": design}, np.arange(20) % 3, [8], 10, rng=0)
    assert (summary.rmse.value, summary.coverage.value, summary.selection_error) == (0, 1, None)


def test_each_design_may_have_intervals_of_its_own_kind():
    """Draws with replacement keep t intervals where one kind is named for all."""
    target, model, labels = case("DCG", False)
    designs = {name: METHODS[name].design(target, **model) for name in ("passive", "random", "items")}
    budgets = [0.5 * designs["passive"].cost]
    mixed = simulate(designs, labels, budgets, 30, 5, interval={"random": "group-sequential"})
    assert [summary.interval for summary in mixed] == ["t", "group-sequential", "t"]
    plain, other = (simulate(designs, labels, budgets, 30, 5, interval=kind) for kind in INTERVALS)
    assert [summary.interval for summary in other] == ["t", "group-sequential", "group-sequential"]
    assert mixed == [plain[0], other[1], plain[2]]
    half = replicate(designs["random"], labels, budgets, 30, 5).half_widths()
    assert other[1].width.value > 1.9 * half.mean()
    assert other[1].width.value != plain[1].width.value


def test_those_who_wait_are_told_of_every_design():
    designs, labels = labelled()
    done = []
    simulate(designs, labels, [60], 2, progress=done.append)
    assert done == list(designs)
