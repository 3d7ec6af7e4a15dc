"""Sheets of a campaign are lent: nobody gets what another has, and what comes late is kept."""

from dataclasses import replace

import numpy as np
import pytest
from campaign_cases import Clock

from activeeval.campaigns.batches import Lease, write_batches
from activeeval.campaigns.create_and_grow import create
from activeeval.campaigns.import_judgments import take_files
from activeeval.campaigns.state import state_of
from activeeval.campaigns.store import JudgeAnswer, open_store
from activeeval.core.campaign import Rules
from activeeval.core.errors import InputError
from activeeval.formats.tables.draws import read_draws, write_draws
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.sampling.draw import SampleRequest, draw_for
from activeeval.sampling.sheets import SheetPlan

DAY = 86_400 * 1_000_000
RUN = [f"q{q} Q0 d{j} {j + 1} {20 - j} A" for q in range(1, 25) for j in range(6)]


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(request, either_url, clock, tmp_path, monkeypatch):
    """Return a store with the campaign w of one judge an item, or of given rules; its log must be whole in the end."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.run").write_text("\n".join(RUN) + "\n")
    choices = Choices(runs=("a.run",), max_grade=2, seed=1)
    asked = SampleRequest(measures=("DCG@5",), budget=Budget.parse("60"))
    with open_store(either_url, clock=clock) as store:
        create(store, "w", draw_for(choices, asked).sample, Rules(**getattr(request, "param", {})))
        yield store
        for _ in range(2):
            assert store.verify("w") == []
            store.rebuild("w")


two_judges = pytest.mark.parametrize("store", [{"judges_per_item": 2}], indirect=True)


def pairs(path):
    sheet = read_draws(path)
    return list(zip(sheet.query_id.tolist(), sheet.doc_id.tolist(), strict=True))


def fill(path, upto=None):
    sheet = read_draws(path)
    grades = sheet.grade.copy()
    grades[:upto] = 1
    write_draws(replace(sheet, grade=grades), path)


def next_of(store, path, *judges, **lease):
    return write_batches(store, "w", SheetPlan(path=path, judges=judges), Lease(**lease))


def test_no_two_people_get_the_same_item(store):
    next_of(store, "b.csv", "ann", "bob", "cy")
    sheets = [pairs(f"b-{name}.csv") for name in ("ann", "bob", "cy")]
    assert max(map(len, sheets)) - min(map(len, sheets)) <= 1
    together = [pair for sheet in sheets for pair in sheet]
    assert len(set(together)) == len(together) == 15
    claimed = store.claim("w", "dee")
    assert (claimed.query_id, claimed.doc_id) not in together
    with pytest.raises(InputError, match=r"no item is free .* in block 1: 15 items are with ann, bob, cy un"):
        next_of(store, "c.csv", "dee")
    next_of(store, "c.csv", "dee", ahead=True, most=10)
    assert len(pairs("c.csv")) == 10
    assert not set(pairs("c.csv")) & {*together, (claimed.query_id, claimed.doc_id)}
    files = [f"b-{name}.csv" for name in ("ann", "bob", "cy")]
    for path in files:
        fill(path)
    assert [row.stored for row in take_files(store, "w", files)] == [5, 5, 5]
    assert state_of(store, "w").block == 1


@pytest.mark.parametrize("judge", ["", "ann"])
def test_a_sheet_that_is_written_over_lends_what_it_had(store, judge):
    names = (judge,) if judge else ()
    next_of(store, "a.csv", *names, most=5)
    next_of(store, "b.csv", "bob", most=3)
    before, others = pairs("a.csv"), pairs("b.csv")
    next_of(store, "a.csv", *names, most=5)
    assert pairs("a.csv") == before
    assert store.waiting("w")["leased"] == 8
    next_of(store, "b.csv", "cy")
    assert set(pairs("b.csv")) >= set(others)
    assert not set(pairs("b.csv")) & set(before)
    fill("a.csv")
    assert take_files(store, "w", ["a.csv"], None if judge else "ann")[0].stored == 5


def test_what_is_no_sheet_of_the_campaign_gives_nothing_back(store, tmp_path):
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n")
    next_of(store, "a.csv", "ann", most=5)
    next_of(store, "notes.csv", "bob", most=5)
    assert not set(pairs("a.csv")) & set(pairs("notes.csv"))
    assert store.waiting("w")["leased"] == 10


def test_what_comes_back_without_a_grade_waits_for_anybody(store):
    next_of(store, "a.csv", "ann")
    fill("a.csv", upto=4)
    assert take_files(store, "w", ["a.csv"])[0].stored == 4
    assert store.waiting("w")["leased"] == 0
    left = set(pairs("a.csv")[4:])
    next_of(store, "b.csv", "bob")
    assert set(pairs("b.csv")) == left


@pytest.mark.parametrize("way", ["sheet", "claim", "answer"])
def test_an_answer_after_the_lease_is_late_once_another_has_the_item(store, clock, way):
    next_of(store, "a.csv", "ann", seconds=86_400)
    clock.now += 2 * DAY
    if way == "sheet":
        next_of(store, "b.csv", "bob")
        assert set(pairs("b.csv")) == set(pairs("a.csv"))
    else:
        taken = store.claim("w", "bob")
        assert (taken.query_id, taken.doc_id) in pairs("a.csv")
    if way == "answer":
        store.submit("w", taken.token, JudgeAnswer(kind="judged", grade=2))
    fill("a.csv")
    (row,) = take_files(store, "w", ["a.csv"])
    n_late = 15 if way == "sheet" else 1
    assert (row.stored, sum(row.late.values())) == (15 - n_late, n_late)
    why = "all judges asked for have judged it" if way == "answer" else "the item had gone to another judge"
    assert set(row.late) == {why}
    if way == "sheet":
        fill("b.csv")
        assert take_files(store, "w", ["b.csv"])[0].stored == 15


def test_an_answer_after_the_lease_counts_where_nobody_has_the_item(store, clock):
    next_of(store, "a.csv", "ann", seconds=60)
    clock.now += DAY
    fill("a.csv")
    assert take_files(store, "w", ["a.csv"])[0].stored == 15


@two_judges
def test_whoever_had_an_item_for_too_short_a_time_may_get_it_again(store, clock):
    next_of(store, "a.csv", "ann", seconds=60)
    clock.now += DAY
    claimed = store.claim("w", "ann")
    assert (claimed.query_id, claimed.doc_id) in pairs("a.csv")
    next_of(store, "b.csv", "ann")
    assert set(pairs("b.csv")) == set(pairs("a.csv")) - {(claimed.query_id, claimed.doc_id)}


@two_judges
def test_each_of_several_judges_an_item_has_a_sheet_of_all(store):
    next_of(store, "b.csv", "ann", "bob", "cy")
    sheets = [pairs(f"b-{name}.csv") for name in ("ann", "bob", "cy")]
    assert [len(sheet) for sheet in sheets] == [10, 10, 10]
    counts = np.unique([" ".join(pair) for sheet in sheets for pair in sheet], return_counts=True)[1]
    assert set(counts.tolist()) == {2}


def test_where_no_sheet_can_be_written_nothing_is_lent(store, monkeypatch):
    def fail(*_):
        raise InputError("b.csv: cannot write: No space left on device")

    monkeypatch.setattr("activeeval.sampling.sheets.write_draws", fail)
    with pytest.raises(InputError, match="No space left"):
        next_of(store, "b.csv", "ann", "bob")
    assert store.waiting("w")["leased"] == 0


def test_what_an_import_brings_takes_nothing_that_is_lent_to_another(store, tmp_path):
    next_of(store, "a.csv", "ann")
    (tmp_path / "all.qrels").write_text("".join(f"{q} 0 {d} 1\n" for q, d in pairs("a.csv")))
    (row,) = take_files(store, "w", ["all.qrels"], "old")
    assert row.late == {"the item had gone to another judge": 15}
    fill("a.csv")
    assert take_files(store, "w", ["a.csv"])[0].stored == 15
