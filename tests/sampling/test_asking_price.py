"""Whether to ask a machine: what is planned with it and without is what planning says of the same budgets."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from activeeval.core.design.methods import find_method
from activeeval.core.errors import ChoiceError, InputError
from activeeval.core.grade_models.values import PLANNED_RHO, ValueTable, default_shares
from activeeval.formats.graders.grader_grades import Grades
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.inputs.prepared_case import prepare
from activeeval.sampling.draw_case import draw
from activeeval.sampling.grader_price import about_to_ask, asking_notes
from activeeval.sampling.plan_case import plan_sample, planner_of

N_QUERIES, DEPTH = 40, 10
QUERIES, DOCS = [f"q{q:02d}" for q in range(N_QUERIES)], [f"d{k}" for k in range(DEPTH)]


SAYS = np.random.default_rng(1).integers(0, 4, N_QUERIES * DEPTH)
RUN = {query: {doc: float(-k) for k, doc in enumerate(DOCS)} for query in QUERIES}
PAIRS = {"query_id": np.repeat(QUERIES, DEPTH), "doc_id": DOCS * N_QUERIES}


def with_graders(*graders, **more):
    """Return a run of ten documents for each of forty queries, with graders: (name, price, grades of the pairs)."""
    read = tuple(
        Grades.read(pl.DataFrame(PAIRS | {"grade": grades} | more), cost=cost, name=name)
        for name, cost, grades in graders
    )
    return prepare(Choices(runs=(RUN,), graders=read, max_grade=3, seed=1), use_labels=False)


def case_of(price):
    return with_graders(("llm", price, SAYS))


def planned(case, budget=60):
    return plan_sample(case, ["DCG@5"], budgets=[Budget(budget)])


def note_of(case, budget=60):
    (note,) = asking_notes(case, planned(case, budget))
    return note


def forecast_of(case, budget, probs):
    """Return the half-width that the model alone expects of a budget with these probabilities."""
    believed = replace(case, beliefs=replace(case.beliefs, probs=probs, extra_probs=()))
    (forecast,) = planner_of(believed, case.targets(["DCG@5"], ["run"])).forecasts(find_method("items"))
    return forecast.at(budget).half_width("pool", 0.95)


def test_what_it_costs_is_taken_from_what_people_get():
    case = case_of(0.01)
    (target,) = case.targets(["DCG@5"], ["run"])
    assert case.asking_cost(target) == pytest.approx(2)  # DCG@5: no label below can matter
    assert case.for_people(Budget(60), target) == pytest.approx(58)
    assert case.for_people(Budget(0.5, is_share=True), target) == pytest.approx(98)
    assert planned(case).questions[0].chosen[0].prospect.budget == pytest.approx(58)
    assert draw(case, ["DCG@5"], [], Budget(60)).campaign.design.budget == pytest.approx(58)
    with pytest.raises(InputError, match="asking the graders takes 2 of a budget of 2: nothing is left for people"):
        case.for_people(Budget(2), target)


def test_each_way_has_the_half_width_of_its_own_model_beside_that_of_the_table():
    case = case_of(0.01)
    note = note_of(case)
    assert (note.code, note.numbers["ways"]) == ("asking", ("none", "3", "all"))
    assert note.numbers["asked_of"] == (0, 3 * N_QUERIES, 5 * N_QUERIES)
    (grader,) = case.graders
    table = ValueTable.of(grader.on(case.inputs.pool).values, default_shares(4), PLANNED_RHO)
    probs, is_first = table.probs[table.codes], np.isin(case.inputs.pool.item_texts.tolist(), DOCS[:3])
    shares = np.tile(probs.mean(axis=0), (probs.shape[0], 1))
    expected = [
        forecast_of(case, budget, np.where(is_asked[:, None], probs, shares))
        for budget, is_asked in ((60, is_first & False), (58.8, is_first), (58, is_first | True))
    ]
    shown = planned(case).questions[0].chosen[0].prospect.half_width()
    assert note.numbers["half_widths"] == pytest.approx([width * shown / expected[2] for width in expected])


def test_it_pays_up_to_a_price():
    taken = [note_of(case_of(price)).numbers["n_asked"] for price in (0.0001, 0.2, 0.25)]
    assert taken == sorted(taken, reverse=True)
    assert (taken[0], taken[-1]) == (5 * N_QUERIES, 0)


def test_of_a_machine_that_nobody_has_asked_too():
    case = about_to_ask(replace(case_of(None), graders=()))
    plan, asked = planned(case), ((1e-4, 0.4), (1e-4, 0.8), (0.1, 0.4))
    notes = [asking_notes(case, plan, price, skill)[0] for price, skill in asked]
    assert [note.numbers["places"] for note in notes] == ["all", "all", "none"]
    little, much, dear = (note.numbers["half_widths"] for note in notes)
    assert much[-1] < little[-1] < little[0] == pytest.approx(plan.questions[0].chosen[0].prospect.half_width())
    assert dear[0] == pytest.approx(little[0])


def test_prices_that_leave_no_question():
    assert note_of(case_of(0.0)).code == "asking costs nothing"
    case = replace(case_of(None), graders=())
    plan = planned(case)
    assert asking_notes(case, plan) == []
    assert asking_notes(case, plan, 1.0)[0].code == "asking as dear as people"
    assert asking_notes(case, plan, 0.7)[0].code == "asking takes the budget"
    with pytest.raises(ChoiceError, match="`ask_price` is for a grader not asked yet"):
        asking_notes(case_of(0.01), plan, 0.02)


def test_money_is_that_of_the_replies():
    note = note_of(with_graders(("llm", 0.001, SAYS), cost=np.full(N_QUERIES * DEPTH, 0.002)))
    assert note.numbers["money"] == pytest.approx(0.002 * 5 * N_QUERIES)


def test_each_of_several_is_paid_for_its_own_items():
    pairs = pl.DataFrame({"query_id": QUERIES, "doc_id": ["d0"] * N_QUERIES, "grade": [1] * N_QUERIES})
    graders = (case_of(0.01).graders[0], Grades.read(pairs, cost=0.02, name="few"))
    both = prepare(Choices(runs=(RUN,), graders=graders, max_grade=3, seed=1), use_labels=False)
    paid = 5 * N_QUERIES * 0.01 + N_QUERIES * 0.02
    assert both.asking_cost(*both.targets(["DCG@5"], ["run"])) == pytest.approx(paid)
    numbers = note_of(both).numbers
    assert (numbers["names"], numbers["others"]) == (("llm",), ("llm and few", "few"))
    assert numbers["cost"] == pytest.approx(5 * N_QUERIES * 0.01)


def test_each_of_several_is_weighed_for_itself():
    case = with_graders(("cheap", 0.0001, SAYS), ("dear", 0.1, SAYS[::-1]))
    numbers, alone = note_of(case).numbers, note_of(with_graders(("cheap", 0.0001, SAYS))).numbers
    assert (numbers["names"], numbers["places"]) == (("cheap",), "all")
    assert numbers["others"] == ("cheap and dear", "dear")
    assert numbers["asking"] == pytest.approx(alone["asking"]) == pytest.approx(5 * N_QUERIES * 1e-4)
    ratio = [np.divide(*each["half_widths"][::-2]) for each in (numbers, alone)]
    assert ratio[0] == pytest.approx(ratio[1])
    assert min(numbers["half_widths_of_others"]) > numbers["half_width"]


def test_one_as_dear_as_a_person_does_not_keep_another_from_being_asked():
    case = with_graders(("cheap", 0.0001, SAYS), ("dear", 0.15, SAYS[::-1]))
    assert note_of(case).numbers["names"] == ("cheap",)
    dear = with_graders(("a", 1.0, SAYS), ("b", 2.0, SAYS[::-1]))
    with pytest.raises(InputError, match="nothing is left for people; ask fewer of them"):
        planned(dear)


def test_what_is_paid_already_is_there_without_asking_too():
    case = with_graders(("free", None, SAYS), ("priced", 0.2, SAYS))
    numbers = note_of(case).numbers
    assert (numbers["names"], numbers["places"]) == (("priced",), "none")
    with_free = forecast_of(case, 60, with_graders(("free", None, SAYS)).beliefs.probs)
    assert numbers["half_widths"][0] < numbers["half_widths"][-1]
    assert with_free < forecast_of(case, 60, np.tile(default_shares(4), (N_QUERIES * DEPTH, 1)))
    same = with_graders(("free", None, SAYS), ("priced", 0.0001, SAYS))
    first, *_, last = note_of(same).numbers["half_widths"]
    assert first == pytest.approx(last, rel=1e-3)  # it says what is known already


def test_what_a_machine_lacks_is_counted_of_what_can_change_the_answer():
    """Catches a machine that was asked about ten places and is said to lack half of a deep pool."""
    for n_asked, counted in ((5, 0), (3, 2 * N_QUERIES), (8, 0)):
        docs = DOCS[:n_asked] * N_QUERIES
        frame = pl.DataFrame({"query_id": np.repeat(QUERIES, n_asked), "doc_id": docs, "grade": [1] * len(docs)})
        choices = Choices(runs=(RUN,), graders=(Grades.read(frame, name="llm"),), max_grade=3, seed=1)
        whole, case = (prepare(choices, use_labels=False, **asked) for asked in ({}, {"measures": ["DCG@5"]}))
        (note,) = [note for note in case.notes if note.code == "grader missing"]
        assert (note.numbers["n_counted"], note.numbers["of_counted"]) == (counted, 5 * N_QUERIES)
        assert note.numbers["n"] == (DEPTH - n_asked) * N_QUERIES
    assert "n_counted" not in next(note for note in whole.notes if note.code == "grader missing").numbers
