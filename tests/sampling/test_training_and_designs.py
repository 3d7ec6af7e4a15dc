"""`--train`: judged queries of the runs train the model; `activeeval design`: what a budget asks of each item."""

import re

import numpy as np
import polars as pl
import pytest
from cli_cases import RUN, case_of, files
from cli_files import csv_rows, write_lines

# Judged queries train, the others are drawn from


def lines_of(path, queries):
    return [line for line in path.read_text().splitlines() if line.split()[0] in queries]


def test_judged_queries_of_the_runs_train_and_are_not_drawn(call, folder, drawn):
    names = sorted({line.split()[0] for line in (folder / "a.run").read_text().splitlines()})
    old, new = set(names[::2]), set(names[1::2])
    write_lines(folder / "old.qrels", lines_of(folder / "q.qrels", old))
    options = ("--run", "a.run", "--train", "old.qrels", "--budget", "27%")
    assert {row["query_id"] for row in drawn(*options)} <= new
    rules = ("error", "irrelevant")
    case, counted = (case_of(runs=("a.run",), train=("old.qrels",), unjudged=rule) for rule in rules)
    assert (case.model, set(case.inputs.pool.query_ids.tolist())) == ("forest", new)
    grades = {tuple(line.split()[:3:2]): int(line.split()[3]) for line in lines_of(folder / "q.qrels", old)}
    ranked = lines_of(folder / "a.run", old & judged_queries(folder))
    held = [grades.get(tuple(line.split()[:3:2]), -1) for line in ranked]
    known = [grade for grade in held if grade >= 0]
    assert 0 < len(known) < len(held)
    for each, expected, n_left_out in (
        (case, known, len(held) - len(known)),
        (counted, [max(grade, 0) for grade in held], 0),
    ):
        assert sorted(each.inputs.training.grades.tolist()) == sorted(expected)
        assert each.inputs.training.n_left_out == n_left_out
        assert not (each.inputs.grades >= 0).any()
    assert not np.array_equal(counted.beliefs.probs, case.beliefs.probs)
    told = "activeeval: 46 ranked items of the training queries are not judged: left out of training"
    assert told in call("sample", *options, *files("e.csv")).err.splitlines()
    assert "not judged" not in call("sample", *options, "--unjudged", "irrelevant", *files("f.csv")).err


def judged_queries(folder):
    return {line.split()[0] for line in (folder / "q.qrels").read_text().splitlines()}


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (None, "every query of the pool is among those to train on: none is left to evaluate"),
        (("q1 0 d6 -1", "q1 0 elsewhere 1"), "none of the 8 ranked items to train on is judged: there is nothing to"),
    ],
)
def test_judgments_that_leave_nothing_to_learn_or_to_evaluate(call, folder, lines, problem):
    write_lines(folder / "all.run", lines_of(folder / "a.run", judged_queries(folder)))
    write_lines(folder / "old.qrels", lines or (folder / "q.qrels").read_text().splitlines())
    answer = call("sample", "--run", "all.run", "--train", "old.qrels", "--budget", "27%", *files("d.csv"))
    assert (answer.code, problem in answer.err) == (1, True)
    assert not (folder / "d.csv").exists()


# Designs


@pytest.mark.parametrize(("measure", "method", "budget"), [("DCG@5", "items", 20), ("P@3", "whole", 75.5)])
def test_the_design_of_a_budget_costs_it(call, measure, method, budget):
    options = (*RUN, "--overhead", 0.5, "--measure", measure, "--method", method)
    done = call("design", *options, "--budget", budget, "--out", "x.parquet")
    frame = pl.read_parquet("x.parquet")
    pi, weight, cost, expected = (frame[x].to_numpy() for x in ("sampling_prob", "weight", "cost", "expected_cost"))
    assert expected.sum() == pytest.approx(budget)
    assert np.all((pi > 0) & (pi <= 1))
    assert np.all(expected <= cost * (1 + 1e-12))
    np.testing.assert_allclose(weight, 1 / 30 / pi)
    assert done.err.splitlines()[-1].endswith(f"the sample takes {budget:.6g} mean items on average")
    call("design", *options, "--out", "y.parquet")
    assert pl.read_parquet("y.parquet")["expected_cost"].sum() == pytest.approx(0.1 * cost.sum())


def test_the_design_of_draws_takes_no_notice_of_a_budget(call, folder):
    for name, options in (("x.csv", ()), ("y.csv", ("--budget", "67%"))):
        done = call("design", *RUN, "--method", "active", *options, "--out", name)
        assert re.search(r"a draw takes [\d.]+ judgments on average$", done.err.splitlines()[-1])
    assert (folder / "x.csv").read_bytes() == (folder / "y.csv").read_bytes()
    frame = pl.read_csv("x.csv")
    per_draw = frame["sampling_prob"] * frame["cost"]
    np.testing.assert_allclose(frame["expected_cost"], per_draw)


def test_a_design_is_a_table_of_any_format_and_a_picture(call, folder):
    call("design", *RUN, "--out", "x.parquet")
    call("design", *RUN, "--out", "x.tsv", "--plot", "x.png")
    rows = csv_rows("x.tsv", delimiter="\t")
    assert [float(row["sampling_prob"]) for row in rows] == pl.read_parquet("x.parquet")["sampling_prob"].to_list()
    assert (folder / "x.png").read_bytes().startswith(b"\x89PNG")
    answer = call("design", *RUN, "--method", "passive", "--out", "y.csv", "--plot", "y.png")
    problem = "method 'passive' uses no model, so there is no expected performance to draw"
    assert (answer.code, problem in answer.err, list(folder.glob("y.*"))) == (1, True, [])
