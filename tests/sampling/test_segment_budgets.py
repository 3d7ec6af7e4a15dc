"""Budgets by segment: what is drawn, said and refused, and that samples come to what was asked for."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from activeeval import ActiveEvalError, InputError
from activeeval.core.simulation import replicate
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.inputs.prepared_case import prepare
from activeeval.report.message_lookup import text_of
from activeeval.sampling.answers import answers
from activeeval.sampling.draw import SampleRequest, draw_for
from activeeval.sampling.plan_case import planner_of
from activeeval.sampling.read_samples import read_sample
from activeeval.sampling.segment_budgets import SegmentGoals, segment_budget

N_QUERIES, N_DOCS = 90, 6
CHOICES = Choices(runs=("a.run",), max_grade=3, seed=1)
WIDTHS = {"mobile": 2.0, "desktop": 3.0}


def name_of_segment(query):
    """Two thirds are desktop, a sixth mobile, the rest is in none."""
    return {0: "mobile", 1: ""}.get(query % 6, "desktop")


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(3)
    rows = [f"q{q} Q0 d{d} 1 {random.random():.6f} run" for q in range(N_QUERIES) for d in range(N_DOCS)]
    Path("a.run").write_text("\n".join(rows))
    lines = [f"q{q},{name_of_segment(q)}" for q in range(N_QUERIES) if name_of_segment(q)]
    Path("segments.csv").write_text("\n".join(["query_id,segment", *lines, "q999,tablet"]))


def request(**changes):
    asked = {"measures": ("DCG@5",), "segments": "segments.csv", "half_width": WIDTHS, "method": "items"}
    return SampleRequest(**asked | changes)


def budget_of(choices=CHOICES, widths=WIDTHS, measures=("DCG@5",), whole=None, scope="pool", **how):
    case = prepare(choices, use_labels=False, measures=measures)
    goals = SegmentGoals.of("segments.csv", widths, whole, scope=scope)
    return segment_budget(case, measures, (), goals, **how)


@pytest.mark.usefixtures("whole_rehearsals")
def test_every_half_width_is_reached_and_none_costs_more_than_it_has_to():
    planned = budget_of(method="items")
    half_widths = {row.segment: row.half_width for row in planned.rows}
    for name, asked in WIDTHS.items():
        assert 0.95 * asked < half_widths[name] <= asked
    assert planned.budget.amount < planned.bounded.alike
    assert planned.bounded.residual < 1e-9
    assert planned.weights[0] == 0  # nothing is asked of the whole


def test_simultaneous_intervals_of_segments_are_planned():
    """The half-width to expect is that of a confidence of 1 − .05/2: `estimate --by` reads two segments."""
    planned = budget_of(method="items")
    row = next(row for row in planned.rows if row.segment == "mobile")
    prospect = planned.bounded.forecasts[1].at(planned.budget.amount)
    assert row.half_width == pytest.approx(prospect.half_width(confidence=0.975))
    assert prospect.half_width() < 0.97 * row.half_width
    assert planned.rows[-1].segment is None
    whole = planned.bounded.forecasts[0].at(planned.budget.amount)
    assert planned.rows[-1].half_width == pytest.approx(whole.half_width())


def test_a_half_width_of_the_whole_counts_as_well():
    narrow, implied = (budget_of(whole=whole, method="items") for whole in (0.7, 50.0))
    assert narrow.rows[-1].half_width <= 0.7
    assert narrow.budget.amount > 1.1 * implied.budget.amount
    assert implied.rows[-1].is_slack


def test_a_sample_is_drawn_for_it_and_read_like_any():
    said, widths, method = [], {"mobile": 1.5, "desktop": 2.0}, "whole"
    drawn = draw_for(CHOICES, request(method=method, half_width=widths), say=said.append)
    assert drawn.budget == budget_of(method=method, widths=widths).budget
    drawn.sample.write("s.sample", "s.csv")
    again, sample_id = read_sample("s.sample")
    assert [each.question for each in again.made_for] == ["run"]
    assert again.made_for[0].target.within is None
    grown = again.topped_up(Budget(20), sample_id)
    assert len(grown.campaign.planned) > len(again.campaign.planned)
    again.campaign.run(lambda query, docs: [int(doc[1:]) % 4 for doc in docs])
    read, _ = answers(again, again.made_for, segments="segments.csv")
    assert {answer.segment for answer in read} == {"mobile", "desktop"}
    assert {answer.interval.confidence for answer in read} == {0.975}
    codes = [note.code for note in said if hasattr(note, "code")]
    assert codes.count("planned segment") == 2
    assert "outside segments" in codes


def test_queries_outside_every_segment_keep_the_least_rates():
    """They are judged rarely, and not never: the whole can be read."""
    design = draw_for(CHOICES, request()).sample.campaign.design
    pi, a = design.inclusion_probs
    owners = design.order.place_queries
    outside = np.array([name_of_segment(int(text[1:])) == "" for text in design.pool.query_texts])
    wanted = design.order.place_rates > 0
    assert pi[outside].min() > 0
    assert 0 < a[wanted & outside[owners]].max() < 0.5 * a[wanted & ~outside[owners]].mean()


def test_samples_come_to_what_was_asked_for():
    """On labels as the model expects them: mean simultaneous half-widths over 100 samples, within a third."""
    planned = budget_of(method="items")
    design = draw_for(CHOICES, request()).sample.campaign.design
    labels = np.random.default_rng(5).integers(0, 4, design.pool.n_items)
    for target, asked in zip(planned.beside, WIDTHS.values(), strict=True):
        within = replace(design.target, within=target.within)
        runs = replicate(design, labels, [planned.budget.amount], 100, 7, target=within)
        assert np.mean(runs.half_widths(0.975)) == pytest.approx(asked, rel=0.35)


def test_a_population_that_no_judgments_narrow_is_refused_by_its_name():
    with pytest.raises(InputError, match=r"segment mobile cannot be narrower than ± \d.* for the population"):
        budget_of(widths={"mobile": 0.01}, scope="population", method="items")
    assert budget_of(widths={"mobile": 0.01}, method="items").budget.amount <= N_QUERIES * 5


def test_a_segment_stands_for_a_population_by_its_queries_alone():
    case = prepare(CHOICES, use_labels=False, measures=("DCG@5",))
    target, within = case.target("DCG@5"), np.arange(N_QUERIES) % 6 == 0
    values = planner_of(case, [replace(target, within=within)]).values[0]
    means, variances = values.means[within], values.variances[within]
    assert values.size == pytest.approx(15)
    spread = np.mean(variances + (means - means.mean()) ** 2) - variances.mean() / 15
    assert values.of_population == pytest.approx(spread / 14)


@pytest.mark.parametrize(
    ("changes", "message", "field"),
    [
        ({"half_width": {"moble": 1.0}}, r"segments.csv: no segment 'moble'; did you mean mobile\?", None),
        ({"half_width": {"tablet": 1.0}}, "the pool holds no query of segment tablet", None),
        ({"half_width": [("mobile", 1.0), ("mobile", 2.0)]}, "segment mobile is given twice", None),
        ({"half_width": {"mobile": 0.0}}, "of segment mobile must be a positive number, got 0.0", None),
        ({"half_width": {"mobile": float("nan")}}, "must be a positive number, got nan", None),
        ({"half_width": ()}, "`segments` goes with the `half_width` of a segment", None),
        ({"segments": None}, "`half_width` of a segment needs `segments`", "segments"),
        ({"budget": Budget(20)}, "ask which budget: give these or `budget`", "budget"),
        ({"difference": 0.5}, "ask which budget: give these or `difference`", "difference"),
        ({"method": "active"}, "method 'active' draws with replacement", "method"),
        ({"method": "random"}, "method 'random' takes all queries alike", "method"),
        ({"method": "depth", "adaptive_depth": "each"}, "`adaptive_depth` each lets labels decide", "adaptive_depth"),
        ({"weights": "minimax"}, "`weights` follow from half-widths", "weights"),
        ({"measures": ("kNDCG(k=3)@5",), "method": "whole"}, "not of the top k, nor of gains by rank", None),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(changes, message, field):
    with pytest.raises(ActiveEvalError, match=message) as refused:
        draw_for(CHOICES, request(**changes))
    assert "\n" not in str(refused.value)
    assert refused.value.field == (field or "half_width")


def test_depths_that_follow_labels_by_default_are_planned_beforehand_here():
    """nDCG's depths follow labels where nobody says otherwise: half-widths by segment say otherwise."""
    design = draw_for(CHOICES, request(measures=("nDCG@5",), method=None, half_width={"mobile": 0.3})).sample
    assert design.campaign.design.looks == "off"
    assert design.campaign.paths is None


def test_a_segment_that_is_hardly_judged_is_said():
    (note,) = [note for note in budget_of(widths={"mobile": 40.0}, method="items").notes if note.code == "hardly read"]
    assert "of segment mobile will be judged" in text_of(note)
