"""When labels are looked at where nobody says it: of sheets, of campaigns, of their further rounds, of plans."""

from dataclasses import replace
from pathlib import Path

import pytest

from activeeval import AP, DCG, ERR, METHODS, NDCG, RR, InputError, Recall, Success
from activeeval.campaigns.draw import CampaignDrawing
from activeeval.campaigns.scripted_judge import judge_all
from activeeval.campaigns.store import open_store
from activeeval.core.campaign import Rules
from activeeval.core.design.methods import default_method
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.inputs.prepared_case import prepare
from activeeval.sampling.adaptive_depth import adaptive_depth_of
from activeeval.sampling.draw import SampleRequest, draw_for
from activeeval.sampling.plan_case import plan_sample

CHOICES = Choices(runs=("a.run", "b.run"), max_grade=3, seed=1)
NDCG_REQUEST = SampleRequest(measures=("nDCG@3",), budget=Budget(60))


@pytest.fixture(autouse=True)
def _run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"q{q} Q0 d{d} 1 {(q * 7 + d * 3) % 17} run" for q in range(40) for d in range(8)]
    Path("a.run").write_text("\n".join(lines))
    turned = [f"q{q} Q0 d{d} 1 {(q * 5 + d * 11) % 19} run" for q in range(40) for d in range(8)]
    Path("b.run").write_text("\n".join(turned))


@pytest.mark.parametrize(
    ("measures", "expected"),
    [
        ([NDCG(cutoff=3)], "3"),
        ([NDCG(cutoff=3), NDCG()], "3"),
        ([NDCG(), DCG()], "off"),
        *(([measure], "off") for measure in (DCG(), ERR(3), RR(), AP(), Recall(5), Success(1))),
    ],
    ids=lambda value: value if isinstance(value, str) else ", ".join(type(each).__name__ for each in value),
)
def test_which_measures_depths_follow_labels_unasked(measures, expected):
    assert adaptive_depth_of(default_method(*measures), measures, None) == expected


def test_what_is_asked_counts_and_methods_without_depths_have_none():
    assert adaptive_depth_of(METHODS["depth"], [RR()], "1") == "1"
    assert adaptive_depth_of(METHODS["depth"], [NDCG()], "off") == "off"
    assert adaptive_depth_of(METHODS["whole"], [NDCG()], None) == "off"
    with pytest.raises(InputError, match="'whole' does not"):
        adaptive_depth_of(METHODS["whole"], [NDCG()], "3")


@pytest.mark.parametrize(("asked", "looks"), [(None, "3"), ("1", "1"), ("off", "off")])
def test_of_sheets(asked, looks):
    drawn = draw_for(CHOICES, replace(NDCG_REQUEST, adaptive_depth=asked))
    assert drawn.sample.campaign.drawn_design.looks == looks


def test_of_one_ranking_of_whose_grades_nothing_is_known_they_are_planned():
    alone = replace(CHOICES, runs=("a.run",))
    assert draw_for(alone, NDCG_REQUEST).sample.campaign.drawn_design.looks == "off"
    assert draw_for(alone, replace(NDCG_REQUEST, adaptive_depth="3")).sample.campaign.drawn_design.looks == "3"


def test_a_budget_for_a_goal_is_that_of_the_sample_that_is_drawn():
    """The plan of the budget looks as the sample does."""
    request, needed = replace(NDCG_REQUEST, budget=None, half_width=0.2), {}
    case = prepare(CHOICES, use_labels=False, measures=["nDCG@3"])
    for looks in ("3", "off"):
        plan = plan_sample(case, ["nDCG@3"], goals=[request.checked_price()], adaptive_depth=looks)
        rows = plan.questions[0].rows_of({"depth"})
        needed[looks] = max(row.prospect.budget for row in rows if row.goal is not None)
    assert needed["3"] != needed["off"]
    assert draw_for(CHOICES, request).budget.amount == pytest.approx(needed["3"], rel=0.05)


@pytest.mark.parametrize(("asked", "strict", "looks"), [("3", False, "3")])
def test_of_campaigns_and_their_further_rounds(tmp_path, asked, strict, looks):
    url = f"sqlite:///{tmp_path / 'c.db'}"
    drawing = CampaignDrawing(opened=lambda: open_store(url, create=True), name="c", place=url)
    rules, request = Rules(strict_order=strict), replace(NDCG_REQUEST, adaptive_depth=asked, budget=Budget(30))
    sample, _ = drawing.new(CHOICES, request, rules)
    assert sample.campaign.drawn_design.looks == looks
    grades = {(f"q{q}", f"d{d}"): d % 4 for q in range(40) for d in range(8)}
    with open_store(url) as store:
        assert store.campaign("c").config.get("looks", "off") == looks
        assert list(judge_all(store, "c", "ann", grades))
    again, _ = drawing.further_round(CHOICES, NDCG_REQUEST)
    assert again.campaign.drawn_design.looks == looks


@pytest.mark.parametrize(("runs", "is_said"), [(("a.run",), False), (("a.run", "b.run"), True)])
def test_strict_order_is_told_to_keep_depths_from_labels_where_they_would_follow_them(runs, is_said):
    notes = []
    drawing = CampaignDrawing(
        opened=lambda: open_store("sqlite://", create=True), name="week", place="memory", say=notes.append
    )
    sample, _ = drawing.new(replace(CHOICES, runs=runs), NDCG_REQUEST, Rules(strict_order=True))
    assert sample.campaign.drawn_design.looks == "off"
    assert ("strict without looks" in [getattr(note, "code", "") for note in notes]) == is_said
