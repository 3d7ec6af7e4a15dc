"""Samples, campaigns and further rounds drawn without the command line: what is drawn, said and refused."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from activeeval import ActiveEvalError, StateError
from activeeval.campaign import Campaign, Rules
from activeeval.cases.budgets import Budget
from activeeval.cases.case import prepare
from activeeval.cases.choices import Choices
from activeeval.store import open_store
from activeeval.tasks.campaigns.drawing import draw_campaign, draw_round, known_of
from activeeval.tasks.campaigns.scripted_judge import judge_all
from activeeval.tasks.drawing import GoalBudget, SampleRequest, draw_for

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
    assert notes[:-1] == list(case.notes)
    assert notes[-1].code == "planned"


def test_a_goal_comes_to_the_budget_that_is_said_and_drawn_for():
    notes = []
    drawn = draw_for(CHOICES, SampleRequest(half_width=1.5), say=notes.append)
    (goal,) = [note for note in notes if isinstance(note, GoalBudget)]
    assert (goal.goal.half_width, goal.budget) == (1.5, drawn.budget)
    again = draw_for(CHOICES, SampleRequest(budget=drawn.budget))
    assert units_of(drawn.sample) == units_of(again.sample)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"budget": None}, "budget"),
        ({"half_width": 0.1}, "budget"),
        ({"expected": True}, "expected"),
        ({"expected": True, "method": "items"}, "expected"),
        ({"judging": "top-k"}, "judging"),
    ],
)
def test_a_request_that_contradicts_itself_names_its_field(changes, field):
    with pytest.raises(ActiveEvalError) as refused:
        draw_for(CHOICES, SampleRequest(**{"budget": Budget(12)} | changes))
    assert refused.value.field == field


def test_a_campaign_and_its_rounds_are_drawn_into_a_store(store):
    def opened():
        return nullcontext(store)

    notes = []
    sample, made = draw_campaign(opened, "week", "here", CHOICES, SMALL, Rules(), say=notes.append)
    n_items = sum(len(unit.items) for unit in sample.campaign.planned)
    assert (made.campaign, made.db, made.seed, made.version, made.items) == ("week", "here", 1, 1, n_items)
    assert "to judge" in [note.code for note in notes]
    with pytest.raises(StateError, match="items wait"):
        draw_round(opened, "week", "here", CHOICES, SMALL)
    list(judge_all(store, "week", "ann", GRADES))
    before = {(query, doc) for query, docs, _ in units_of(sample) for doc in docs}
    assert {row[:3] for row in known_of(store, "week", "week").grades} == {(*pair, GRADES[pair]) for pair in before}
    further, grown = draw_round(opened, "week", "here", CHOICES, SMALL)
    new = {(query, doc) for query, docs, _ in units_of(further) for doc in docs}
    assert new
    assert not new & before
    assert (grown.version, grown.items) == (2, len(new))
