"""`--judged`: grades that are known already cost nothing, are not asked for again, and are in every estimate."""

import re

import numpy as np
import pytest
from cli_cases import RUN, answer, both, case_of, files, grade_of, judge_file
from cli_files import csv_rows, write_csv, write_lines

from activeeval import Campaign
from activeeval.core.results import Note
from activeeval.formats.arrays import read_arrays
from activeeval.formats.sample_file import from_arrays

NEW = ("--out", "s.sample", "--sheet", "s.csv")
COMPARED = (*RUN, "--versus-run", "b.run")


@pytest.fixture
def known(folder):
    """Write judgments of a third of the items of the runs; return them as pairs."""
    pairs = [(f"q{q}", f"d{j}") for q in range(1, 31) for j in range(12) if (5 * q + j) % 3 == 0]
    write_lines(folder / "old.qrels", [f"{q} 0 {d} {grade_of(q, d)}" for q, d in pairs])
    return set(pairs)


def pairs_of(name):
    return {(row["query_id"], row["doc_id"]) for row in csv_rows(name)}


@pytest.mark.parametrize(("measure", "method"), [("DCG@5", "items"), ("ERR@5", "depth")])
def test_what_is_known_is_not_asked_for_and_in_the_estimate(call, folder, known, measure, method):
    options = (*COMPARED, "--measure", measure, "--method", method, "--budget", "50%", "--seed", 3)
    assert call("sample", *options, "--judged", "old.qrels", *files("d.csv")).code == 0
    assert pairs_of("d.csv")
    assert not pairs_of("d.csv") & known
    judge_file("d.csv")
    row = call("estimate", *both("d.csv"), "-o", "jsonl").rows[0]
    case = case_of(runs=("a.run",), versus_run="b.run", max_grade=3, judged=("old.qrels",), seed=3)
    target = case.target(measure)
    budget = 0.5 * case.inputs.pool.item_costs[target.matters & (case.known < 0)].sum()
    expected = Campaign(case.design(method, target, budget=budget), rng=case.seed).run(answer)
    assert (row["value"], row["std_error"]) == (expected.value, expected.std_error)
    assert call("sample", *options, *files("e.csv")).code == 0
    assert pairs_of("e.csv") & known


def test_judgments_sheets_and_samples_say_the_same(call, folder, known):
    """What a sheet was judged to be is known next week; a sample hands on what it knew."""
    assert call("sample", *COMPARED, "--measure", "DCG@5", "--budget", "30%", *files("d.csv")).code == 0
    rows = judge_file("d.csv")
    write_lines(folder / "d.qrels", [f"{r['query_id']} 0 {r['doc_id']} {r['grade']}" for r in rows])
    knowns = []
    for judged in (("d.csv",), ("d.qrels",), ("d.csv", "d.qrels")):
        options = [x for name in judged for x in ("--judged", name)]
        done = call("sample", *COMPARED, "--measure", "DCG@5", "--budget", "30%", *options, *files("e.csv"), "--force")
        assert done.code == 0, done.err
        knowns.append(from_arrays(read_arrays("e.csv.sample.npz")).design.known)
        assert not pairs_of("e.csv") & pairs_of("d.csv")
    assert (knowns[0] >= 0).sum() == len(rows)
    assert all(np.array_equal(knowns[0], other) for other in knowns[1:])
    options = ("--measure", "DCG@5", "--budget", "30%", "--judged", "e.csv.sample.npz", *files("f.csv"))
    assert call("sample", *COMPARED, *options).code == 0
    assert np.array_equal(from_arrays(read_arrays("f.csv.sample.npz")).design.known, knowns[0])


def test_simulate_and_design_take_what_is_known(call, folder, known):
    pool = ("--qrels", "q.qrels", "--run", "a.run", "--unjudged", "irrelevant", "--measure", "DCG@5")
    rows = [line.split() for line in (folder / "q.qrels").read_text().splitlines()]
    judged = [(query, item, max(int(grade), 0)) for query, _, item, grade in rows]
    write_lines(folder / "half.qrels", [f"{q} 0 {d} {g}" for q, d, g in judged if int(d[1:]) % 2])
    brief = ("--budget", 30, "--repetitions", 200, "-o", "jsonl")
    plain, helped = (
        {row["method"]: row for row in call("simulate", *pool, *more, *brief).rows}
        for more in ((), ("--judged", "half.qrels"))
    )
    assert helped["items"]["truth"] == pytest.approx(plain["items"]["truth"])
    assert helped["items"]["rmse"] < 0.8 * plain["items"]["rmse"]
    assert call("design", *pool, "--judged", "half.qrels", "--budget", 30, "--out", "x.csv").code == 0
    with (folder / "half.qrels").open("a") as handle:
        q, d, g = next(pair for pair in judged if int(pair[1][1:]) % 2 == 0)
        handle.write(f"{q} 0 {d} {(g + 1) % 4}\n")
    refused = call("simulate", *pool, "--judged", "half.qrels", *brief)
    assert (refused.code, refused.out) == (1, "")
    assert re.search(rf"item '{d}' of query '{q}' is known as \d and labelled \d \(1 such items\)", refused.err)


def test_known_grades_that_differ_are_resolved_by_name(call, folder):
    first = (folder / "a.run").read_text().split()[2]
    for k, grade in enumerate((1, 2, 2, 3, 3)):
        (folder / f"x{k}.qrels").write_text(f"q1 0 {first} {grade}\n")
    judged = tuple(f"x{k}.qrels" for k in range(5))
    for policy, expected in (("majority", 2), ("median", 2)):
        case = case_of(runs=("a.run",), max_grade=3, judged=judged, judged_policy=policy)
        assert case.known.max() == expected
        assert Note("several grades", {"n": 1, "n_alike": 0, "policy": policy}) in case.notes
    more = [x for name in judged for x in ("--judged", name)]
    options = ("--measure", "DCG@5", "--budget", "30%", "--judged-policy", "median")
    assert call("sample", *RUN, *options, *more, *files("d.csv")).code == 0


def test_everything_known_leaves_nothing_to_judge(call, folder):
    every = [f"q{q} 0 d{j} {grade_of(f'q{q}', f'd{j}')}" for q in range(1, 31) for j in range(12)]
    write_lines(folder / "all.qrels", [*every, "qX 0 d0 1"])
    asked = (*RUN, "--measure", "DCG@5", "--budget", "30%", "--judged", "all.qrels")
    done = call("--quiet", "sample", *asked, *files("d.csv"))
    assert (done.code, done.err) == (0, "")
    assert "(exactly known)" in done.out
    (alone,) = call("estimate", *both("d.csv"), "-o", "jsonl").rows
    assert (alone["std_error"], alone["queries"]) == (0, 0)


def test_grades_of_other_items_are_counted(call, folder, known):
    with (folder / "old.qrels").open("a") as handle:
        handle.write("q1 0 elsewhere 1\nz9 0 d1 2\n")
    done = call("sample", *RUN, "--budget", "30%", "--judged", "old.qrels", *files("d.csv"))
    n = len(known) + 2
    found = re.search(rf"activeeval: (\d+) of {n} grades of old\.qrels are for items outside the pool", done.err)
    assert found
    assert int(found[1]) >= 2


def test_a_sheet_that_waits_tells_what_it_has(call, folder):
    assert call("sample", *RUN, "--measure", "DCG@5", "--budget", "30%", *files("d.csv")).code == 0
    rows = judge_file("d.csv")
    write_csv("d.csv", [row if i < 5 else row | {"grade": ("", "cannot")[i % 2]} for i, row in enumerate(rows)])
    done = call("sample", *RUN, "--measure", "DCG@5", "--budget", "30%", "--judged", "d.csv", *files("e.csv"))
    assert done.code == 0, done.err
    assert (from_arrays(read_arrays("e.csv.sample.npz")).design.known >= 0).sum() == 5


def test_judgments_of_another_scale_are_said(folder, call):
    write_lines(folder / "few.qrels", [f"q{q} 0 d{j} {j % 2}" for q in range(1, 20) for j in range(3)])
    sample = ("sample", "--run", "a.run", "--budget", "27%", "--judged", "few.qrels", *NEW)
    said = "few.qrels: no grade is above 1 on a scale to 4: are its grades of another scale?"
    assert said in call(*sample, "--max-grade", 4).err
    assert "another scale" not in call(*sample, "--max-grade", 1, "--force").err


def test_a_grade_that_no_scale_has_is_said(folder, call):
    write_lines(folder / "few.qrels", [f"q{q} 0 d{j} {j % 3}" for q in range(1, 20) for j in range(3)])
    names = ("P(rel=999)@5", "RR(rel=999)", "AP(rel=999)", "RBP(p=0.8,rel=999)", "R(rel=999)@5")
    told = call("score", "few.qrels", "a.run", *names, "P(rel=2)@5")
    assert told.code == 0
    assert told.err.count("no judgment is 999 or more, the largest is 2: every score is 0") == len(names)
    assert "P(rel=2)@5: no judgment" not in told.err
    told = call("sample", "--run", "a.run", "--max-grade", 2, "--budget", "27%", *NEW, "--measure", "P(rel=3)@5")
    assert told.code == 1
    assert told.err.endswith("activeeval: P(rel=3)@5: no grade of the scale, 0 … 2, is 3: every value is 0\n")
