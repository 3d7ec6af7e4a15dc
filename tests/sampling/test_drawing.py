"""Samples, campaigns and further rounds drawn without the command line: what is drawn, said and refused."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from campaign_cases import Case

from activeeval import METHODS, ActiveEvalError, StateError
from activeeval.campaigns.draw import CampaignDrawing, _design_again, known_of
from activeeval.campaigns.scripted_judge import judge_all
from activeeval.campaigns.store import open_store
from activeeval.core.campaign import Campaign, Rules
from activeeval.core.grade_models import ValueRefit
from activeeval.core.results import rounded_up
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.inputs.prepared_case import prepare
from activeeval.sampling.draw import SampleRequest, draw_for
from activeeval.sampling.plan_case import plan_sample

DOCS = [(f"q{q}", f"d{d}") for q in range(6) for d in range(5)]
GRADES = {(query, doc): k % 4 for k, (query, doc) in enumerate(DOCS)}
CHOICES = Choices(runs=("a.run",), max_grade=3, seed=1)
SMALL = SampleRequest(budget=Budget(12))


@pytest.fixture(autouse=True)
def run_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.run").write_text("\n".join(f"{q} Q0 {d} 1 {(7 * k) % 11} run" for k, (q, d) in enumerate(DOCS)))


@pytest.fixture
def store():
    with open_store("sqlite://", create=True) as store:
        yield store


def units_of(sample):
    return [(unit.query_id, unit.item_ids, unit.block) for unit in sample.campaign.planned]


def test_a_request_draws_what_the_design_of_the_case_draws():
    notes = []
    drawn = draw_for(CHOICES, SampleRequest(method="items", budget=Budget(12)), say=notes.append)
    case = prepare(CHOICES, use_labels=False)
    design = case.design("items", [case.target("DCG")], None, budget=12.0)
    direct = Campaign(design, rng=case.seed)
    assert units_of(drawn.sample) == [(unit.query_id, unit.item_ids, unit.block) for unit in direct.planned]
    assert drawn.budget == Budget(12)
    *others, planned, unknown = notes
    assert others == list(case.notes)
    assert (planned.code, planned.numbers["lows"], planned.numbers["highs"]) == ("planned", (None,), (None,))
    expected = {"n": rounded_up(design.blocks[0]), "unit": "judgments"}
    assert (unknown.code, unknown.numbers) == ("width unknown", expected)


def test_a_goal_comes_to_the_budget_that_is_said_and_drawn_for():
    """For several questions it is what the hardest needs."""
    notes = []
    drawn = draw_for(CHOICES, SampleRequest(half_width=1.5), say=notes.append)
    (goal,) = [note for note in notes if note.code == "goal budget"]
    assert goal.numbers == {"goal": "± 1.5", "budget": str(drawn.budget)}
    again = draw_for(CHOICES, SampleRequest(budget=drawn.budget))
    assert units_of(drawn.sample) == units_of(again.sample)
    # items of one measure are paired, of two less often
    alone, both = (
        draw_for(CHOICES, SampleRequest(measures=measures, half_width=1.5, method="depth")).budget
        for measures in (("DCG",), ("DCG", "P@2"))
    )
    assert both.amount >= alone.amount


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"budget": None}, "budget"),
        ({"half_width": 0.1}, "budget"),
        ({"expected": True}, "expected"),
        ({"expected": True, "method": "items"}, "expected"),
    ],
)
def test_a_request_that_contradicts_itself_names_its_field(changes, field):
    with pytest.raises(ActiveEvalError) as refused:
        draw_for(CHOICES, SampleRequest(**{"budget": Budget(12)} | changes))
    assert refused.value.field == field


def test_a_campaign_and_its_rounds_are_drawn_into_a_store(store):
    notes = []
    draws = CampaignDrawing(opened=lambda: nullcontext(store), name="week", place="here", say=notes.append)
    sample, made = draws.new(CHOICES, SMALL, Rules())
    n_items = sum(len(unit.items) for unit in sample.campaign.planned)
    assert (made.campaign, made.db, made.seed, made.version, made.items) == ("week", "here", 1, 1, n_items)
    assert "to judge" in [note.code for note in notes]
    with pytest.raises(StateError, match="items wait"):
        draws.further_round(CHOICES, SMALL)
    list(judge_all(store, "week", "ann", GRADES))
    before = {(query, doc) for query, docs, _ in units_of(sample) for doc in docs}
    assert {row[:3] for row in known_of(store, "week", "week").grades} == {(*pair, GRADES[pair]) for pair in before}
    further, grown = draws.further_round(CHOICES, SMALL)
    new = {(query, doc) for query, docs, _ in units_of(further) for doc in docs}
    assert new
    assert not new & before
    assert (grown.version, grown.items) == (2, len(new))


def test_what_is_said_before_a_sample_is_written_is_what_its_plan_says():
    Path("b.run").write_text("\n".join(f"{q} Q0 {d} 1 {(5 * k) % 13} other" for k, (q, d) in enumerate(DOCS)))
    two = Choices(runs=("a.run",), versus_run="b.run", max_grade=3, seed=1)
    notes, budget = [], Budget(0.6, is_share=True)
    request = SampleRequest(measures=("DCG", "P@2"), questions=("difference", "run"), weights="sum", budget=budget)
    drawn = draw_for(two, request, say=notes.append)
    (said,) = [note for note in notes if note.code == "planned"]
    plan = plan_sample(drawn.case, request.measures, request.questions, budgets=[budget], weights="sum")
    rows = [next(row for row in each.rows if row.prospect.method == "items") for each in plan.questions]
    assert said.numbers["names"] == tuple(each.name for each in plan.questions)
    assert said.numbers["names"][0] == "DCG, a.run − b.run"
    assert said.numbers["n_queries"] == rounded_up(rows[0].prospect.queries)
    told = (said.numbers[name] for name in ("half_widths", "lows", "highs"))
    for half, low, high, row in zip(*told, rows, strict=True):
        assert half == pytest.approx(row.prospect.half_width(), rel=0.25)
        assert (low, high) == row.prospect.known_half_widths() == (None, None)  # no label tells them


def test_a_model_that_was_told_says_a_range_before_a_sample_is_written():
    rows = [(*pair, *(0.7 if k == grade else 0.1 for k in range(4))) for pair, grade in GRADES.items()]
    table = pl.DataFrame(rows, ["query_id", "doc_id", "p0", "p1", "p2", "p3"], orient="row")
    notes = []
    draw_for(replace(CHOICES, model="probs=told", tables={"told": table}), SMALL, say=notes.append)
    (said,) = [note for note in notes if note.code == "planned"]
    assert said.numbers["lows"][0] < said.numbers["half_widths"][0] < said.numbers["highs"][0]
    assert "width unknown" not in {note.code for note in notes}


def test_a_measure_that_is_dear_is_named_beside_one_that_is_not():
    lines = [f"q{q} Q0 d{d} 1 {(q * 7 + d * 3) % 17} run" for q in range(60) for d in range(12)]
    Path("a.run").write_text("\n".join(lines))
    notes = {measure: [] for measure in ("nDCG@3", "DCG@3")}
    for measure, said in notes.items():
        draw_for(CHOICES, SampleRequest(measures=(measure,), budget=Budget(60)), say=said.append)
    (dear,) = [note for said in notes.values() for note in said if note.code == "dear"]
    assert dear in notes["nDCG@3"]
    assert (dear.level, dear.numbers["budget"]) == ("warning", 60)
    assert dear.numbers["instead"].startswith("DCG")
    assert dear.numbers["instead_queries"] > 2 * dear.numbers["n_queries"]


def test_a_round_drawn_again_learns_from_labels_as_the_one_before():
    """Catches a model that learns, and forgets how in the next round."""
    case = Case()
    probs = np.random.default_rng(0).dirichlet(np.ones(3), case.pool.n_items)
    design = METHODS["items"].design(case.target, probs, budget=48.0, max_grade=2, refit=ValueRefit.of)
    known = np.where(np.arange(case.pool.n_items) < 8, 1, -1)
    ids = zip(case.pool.query_texts[case.pool.item_queries].tolist(), case.pool.item_texts.tolist(), strict=True)
    again = _design_again(design, dict(list(zip(ids, known.tolist(), strict=True))[:8]), 60.0)
    assert design.beliefs.refit is not None
    assert again.beliefs.refit is design.beliefs.refit
    np.testing.assert_array_equal(again.known, known)
    np.testing.assert_array_equal(again.beliefs.weights, again.corrected(known).beliefs.weights)
