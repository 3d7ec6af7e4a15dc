"""Whether to ask a machine: what is planned with it and without is what planning says of the same budgets."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from activeeval.cases.budgets import Budget
from activeeval.cases.case import prepare
from activeeval.cases.choices import Choices
from activeeval.graders import Grades
from activeeval.tasks.asking_price import asking_notes
from activeeval.tasks.plan import plan_sample

N_QUERIES, DEPTH = 40, 10
QUERIES, DOCS = [f"q{q:02d}" for q in range(N_QUERIES)], [f"d{k}" for k in range(DEPTH)]


def case_of(price, **more):
    """Return a run of ten documents for each of forty queries, graded by a machine at a price."""
    random = np.random.default_rng(1)
    run = {query: {doc: float(-k) for k, doc in enumerate(DOCS)} for query in QUERIES}
    pairs = {"query_id": np.repeat(QUERIES, DEPTH), "doc_id": DOCS * N_QUERIES}
    frame = pl.DataFrame(pairs | {"grade": random.integers(0, 4, N_QUERIES * DEPTH), **more})
    grader = Grades.read(frame, cost=price, name="llm")
    return prepare(Choices(runs=(run,), graders=(grader,), max_grade=3, seed=1), use_labels=False)


def planned(case, budget=60):
    return plan_sample(case, ["DCG@5"], budgets=[Budget(budget)])


def note_of(case, budget=60):
    (note,) = asking_notes(case, planned(case, budget))
    return note


def test_with_it_people_have_what_its_price_leaves_and_without_it_all():
    case = case_of(0.01)
    note = note_of(case)
    assert note.code == "asking"
    assert note.numbers["n_items"] == 5 * N_QUERIES  # DCG@5: no label below can matter
    assert note.numbers["cost"] == pytest.approx(2)
    assert note.numbers["left"] == pytest.approx(58)
    assert note.numbers["all"] == pytest.approx(planned(case, 58).questions[0].chosen[0].prospect.half_width())
    shares = np.tile(case.beliefs.probs.mean(axis=0), (case.inputs.pool.n_items, 1))
    alike = replace(case, beliefs=replace(case.beliefs, probs=shares))
    assert note.numbers["never"] == pytest.approx(planned(alike).questions[0].chosen[0].prospect.half_width())


def test_it_pays_up_to_a_price():
    pays = [note_of(case_of(price)).numbers["pays"] for price in (0.0001, 0.001, 0.05, 0.1)]
    assert pays == sorted(pays, reverse=True)
    assert (pays[0], pays[-1]) == (1, 0)


REFUSED = {0.0: "asking costs nothing", 1.0: "asking as dear as people", 0.3: "asking takes the budget"}


@pytest.mark.parametrize(("price", "code"), REFUSED.items())
def test_prices_that_leave_no_question(price, code):
    assert note_of(case_of(price)).code == code


def test_money_is_that_of_the_replies():
    note = note_of(case_of(0.001, cost=np.full(N_QUERIES * DEPTH, 0.002)))
    assert note.numbers["money"] == pytest.approx(0.002 * 5 * N_QUERIES)


def test_without_a_price_nothing_is_said():
    case = case_of(None)
    assert asking_notes(case, planned(case)) == []
