"""Pools in files without the command line: plans are those of the planner that holds the pool."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from activeeval.core.design.methods import find_method
from activeeval.core.errors import ActiveEvalError
from activeeval.core.planning import UNTRAINED
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.inputs.prepared_case import prepare
from activeeval.sampling.draw import SampleRequest, draw_for
from activeeval.sampling.plan import plan_for
from activeeval.sampling.plan_case import planner_of
from activeeval.sampling.plan_request import PlanRequest
from activeeval.sampling.pool_files import write_partitions

pytest.importorskip("pyarrow", reason="a pool in parquet needs pyarrow")


@pytest.fixture
def choices(tmp_path, monkeypatch):
    """Return choices of two runs of 40 queries, with judgments of a tenth of their documents."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(4)
    docs = [(f"q{q:02d}", f"d{d}") for q in range(40) for d in range(8)]
    for name in ("a", "b"):
        scores = random.normal(size=len(docs))
        lines = [f"{q} Q0 {d} 1 {s:.6f} {name}" for (q, d), s in zip(docs, scores, strict=True)]
        Path(f"{name}.run").write_text("\n".join(lines) + "\n")
    Path("few.qrels").write_text("".join(f"{q} 0 {d} {k % 3}\n" for k, (q, d) in enumerate(docs) if k % 10 == 0))
    return Choices(runs=("a.run", "b.run"), max_grade=2, judged=("few.qrels",), overhead=0.5, seed=3)


def in_files(choices, n=3):
    write_partitions(choices, "pool", n, force=True)
    return Choices(pool_parquet="pool/*.parquet", runs=("a", "b"), seed=choices.seed)


def planned(files, *measures, **asked):
    """Return what a pool in files is planned for."""
    return plan_for(files, PlanRequest(measures=measures, **asked)).by_budget


@pytest.mark.parametrize(("measure", "method"), [("DCG@5", "items"), ("ERR@5", "depth"), ("P@3", "whole")])
def test_a_plan_is_that_of_the_planner_that_rehearses_nothing(choices, measure, method):
    files = in_files(choices)
    case = prepare(choices, use_labels=False)
    targets = case.targets([measure], ["difference", "run"])
    forecasts = planner_of(case, targets).forecasts(find_method(method))
    budgets = [0.3 * forecasts[0].cost, 0.7 * forecasts[0].cost, forecasts[0].cost]
    asked = {"questions": ["difference", "run"], "methods": [method], "confidence": 0.9}
    plan = plan_for(files, PlanRequest(measures=[measure], budget=[Budget(budget) for budget in budgets], **asked))
    assert plan.cost == pytest.approx(forecasts[0].cost, rel=1e-9)
    # what held-out queries teach of the scale is not known of files
    wanted = [replace(forecast, scale=UNTRAINED).at(budget) for budget in budgets for forecast in forecasts]
    assert len(plan.by_budget) == len(wanted)
    for row, prospect in zip(plan.by_budget, wanted, strict=True):
        assert row.queries == pytest.approx(prospect.queries, rel=2e-3)
        assert row.items == pytest.approx(prospect.items, rel=2e-3)
        assert row.half_width == pytest.approx(prospect.half_width("pool", 0.9), rel=5e-3)
    assert plan.by_budget[-1].half_width == 0


def test_a_goal_takes_the_budget_whose_half_width_it_is(choices):
    files = in_files(choices)
    half_width = planned(files, "DCG@5", budget=[Budget(90)])[0].half_width
    needed = planned(files, "DCG@5", half_width=half_width)[0]
    assert 88 <= needed.budget <= 91
    assert needed.half_width <= half_width * 1.001
    for measure, asked, problem in (
        ("DCG@5", {"half_width": 0.01, "scope": "population"}, "it is planned for its queries"),
        ("ERR@5", {"budget": [Budget(1)]}, "does not pay for the most expensive unit"),
        ("ERR@5", {"methods": ["active"]}, "not for draws with replacement"),
    ):
        with pytest.raises(ActiveEvalError, match=problem):
            planned(files, measure, **asked)


def test_the_number_of_partitions_changes_no_plan(choices):
    first, other = (planned(in_files(choices, n), "DCG@5", "ERR@5", budget=[Budget(120)]) for n in (1, 7))
    for row, expected in zip(other, first, strict=True):
        assert row.half_width == pytest.approx(expected.half_width, rel=1e-9)


def test_a_sample_knows_the_model_of_its_pool(choices):
    drawn = draw_for(in_files(choices), SampleRequest(measures=("DCG@5",), budget=Budget(60)))
    assert drawn.case is None
    assert drawn.sample.model == prepare(choices, use_labels=False).model
    assert drawn.sample.truth_of_machines == ()
