"""One sample that answers several questions, grows, and comes back on several sheets."""

import re

import numpy as np
import pytest
from cli_cases import RUN, answer, both, case_of, files, judge_file, judged
from cli_files import write_csv

from activeeval import Campaign
from activeeval.formats.tables.draws import Draws
from activeeval.inputs.budgets import whole_cost
from activeeval.sampling.sheets import SheetPlan, sheet_plan

COMPARED = (*RUN, "--versus-run", "b.run")


# Several questions, several sheets, more budget


@pytest.mark.parametrize(("measures", "method"), [(("DCG@5", "P@3"), "items"), (("DCG@5", "ERR@5"), "depth")])
def test_one_sample_answers_all_that_it_was_made_for(call, measures, method):
    asked = [x for measure in measures for x in ("--measure", measure)]
    asked += [x for question in ("difference", "run", "versus") for x in ("--question", question)]
    done = call("sample", *COMPARED, *asked, "--budget", "60%", "--seed", 2, *files("d.csv"))
    assert done.code == 0, done.err
    judge_file("d.csv")
    rows = call("estimate", *both("d.csv"), "-o", "jsonl").rows
    assert [row["question"] for row in rows] == ["difference", "run", "versus"] * 2
    assert {row["method"] for row in rows} == {method}
    case = case_of(runs=("a.run",), versus_run="b.run", max_grade=3, seed=2)
    targets = case.targets(measures, ("difference", "run", "versus"))
    assert [row["measure"] for row in rows] == [target.name for target in targets]
    live = Campaign(case.design(method, targets, budget=0.6 * whole_cost(*targets)), rng=case.seed)
    live.run(answer)
    for row, target in zip(rows, targets, strict=True):
        expected = live.estimate(target)
        assert (row["value"], row["std_error"]) == (expected.value, expected.std_error)
    alone = call("estimate", *both("d.csv"), "--measure", measures[1], "--question", "versus", "-o", "jsonl").rows
    assert alone == rows[5:]


def test_what_several_judges_say_is_resolved_by_name(call, drawn):
    """Up to four judges of five items; all else is judged alike by all."""
    rows = judged(drawn(*RUN, "--measure", "DCG@5", "--budget", "40%"))
    said = {
        "ann.csv": [0, 1, 3, "cannot", "cannot"],
        "bob.csv": [2, 1, 3, 2, "cannot"],
        "cid.csv": [3, 1, "", 2, ""],
        "dan.csv": [1, 2, "", "", ""],
        "one.csv": [1, 1, 3, 2, "cannot"],
    }
    for name, grades in said.items():
        own = [row | {"grade": grade} for row, grade in zip(rows, grades, strict=False)] + rows[5:]
        write_csv(name, [row | {"judge": ""} for row in own])
    done = call("estimate", "d.csv.sample.npz", *list(said)[:4], "--policy", "median", "-o", "jsonl")
    assert f"judged by several judges, {len(rows) - 3} of them alike (policy: median)" in done.err
    assert done.rows == call("estimate", "d.csv.sample.npz", "one.csv", "-o", "jsonl").rows


@pytest.mark.slow
def test_without_a_seed_no_two_samples_are_one(folder, start):
    """The operating system's is said, and gives the same sample again."""
    sheets, seeds = [], []
    for options in ((), (), None):
        given = options if options is not None else ("--seed", seeds[0])
        done = start("sample", *RUN, "--measure", "DCG@5", "--budget", "40%", *given, *files("d.csv"))
        said = done.communicate()[1]
        seeds.append(re.search(r"activeeval: seed (\d+), sample", said)[1])
        sheets.append((folder / "d.csv").read_bytes())
        assert int(np.load("d.csv.sample.npz")["seed"][0]) == int(seeds[-1])
    assert (seeds[0], sheets[0]) == (seeds[2], sheets[2])
    assert (seeds[0], sheets[0]) != (seeds[1], sheets[1])


def test_each_judges_sheet_keeps_the_ending_of_the_plan():
    judges = ("ann", "b/ob")
    for path, ending in (("week.csv", ".csv"), ("week.csv.gz", ".csv.gz"), ("week.gz", ".gz")):
        assert SheetPlan(path=path, judges=judges).paths == [f"week-ann{ending}", f"week-b_ob{ending}"]


@pytest.mark.parametrize(("options", "n_shared"), [({}, 0), ({"overlap": 0}, 0), ({"overlap": 3}, 3)])
def test_judges_share_the_items_that_were_asked_for_and_no_other(options, n_shared):
    queries = np.repeat([f"q{q}" for q in range(4)], 3)
    docs, n = [f"d{k}" for k in range(12)], 12
    draws = Draws(sample="s", block=np.ones(n, int), query_id=queries, doc_id=docs, grade=np.full(n, -1))
    first, second = (set(rows.tolist()) for rows in sheet_plan("s.csv", judges=["ann", "bob"], **options).rows(draws))
    assert first | second == set(range(n))
    assert len(first & second) == n_shared
    assert sheet_plan("s.csv").overlap == 0
