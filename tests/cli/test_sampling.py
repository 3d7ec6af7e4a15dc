"""`activeeval sample`, the way through a judge's spreadsheet, `activeeval estimate`, and `activeeval design`."""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter

import numpy as np
import polars as pl
import pytest
from cli_files import csv_rows, write_csv, write_lines

from activeeval import Campaign, Target, parse_measure
from activeeval.cli.inputs import PoolOptions, load_case
from activeeval.io.draws import read_draws, write_draws
from activeeval.methods import METHODS
from activeeval.workload import budget_unit
from activeeval.worksheet import estimate_table, to_table

RUN = ("--run", "a.run", "--max-grade", 3)
LETOR = ("--letor", "a.txt", "--scores", "a.score", "--train", "t.txt")
COLUMNS = [
    *("draw", "query_id", "doc_id", "query_prob", "item_prob", "depth", "weight", "cost", "design", "grade"),
    *("rank", "versus_rank", "measure"),
]
SPREADSHEETS = {
    "plain": {},
    "semicolons and a mark": {"delimiter": ";", "encoding": "utf-8-sig"},
    "tabs": {"delimiter": "\t"},
}


def grade_of(query, document):
    """Return the same grade for the same item, always."""
    return sum(map(ord, f"{query} {document}")) % 4


def grades_of(table):
    """Return a grade for every row of a draws table."""
    rows = zip(table.query_id.tolist(), table.doc_id.tolist(), strict=True)
    return np.array([0 if d == "(nothing to judge)" else grade_of(q, d) for q, d in rows])


def judged(rows):
    """Return rows with every grade filled in, the last of an item's several rows only."""
    last = {(row["query_id"], row["doc_id"]): i for i, row in enumerate(rows)}
    return [
        row | {"grade": grade_of(*key) if last[key] == i and row["grade"] == "" else row["grade"]}
        for i, row in enumerate(rows)
        for key in [(row["query_id"], row["doc_id"])]
    ]


@pytest.fixture
def drawn(call):
    """Return a function from options to the rows of a sampled draws table."""

    def sample(*options, name="d.csv"):
        answer = call("sample", *options, "--out", name)
        assert answer.code == 0, answer.err
        return csv_rows(name)

    return sample


@pytest.fixture
def estimated(call):
    """Return a function from judged rows, as a spreadsheet saves them, to the estimate's row."""

    def estimate(rows, *options, **spreadsheet):
        write_csv("j.csv", rows, **spreadsheet)
        if "--record" not in options and os.path.exists("d.csv.sample.npz"):
            options += ("--record", "d.csv.sample.npz")
        return call("estimate", "j.csv", "-o", "jsonl", *options).rows[0]

    return estimate


def case_of(*, use_labels, **given):
    """Return the case of some options, the others as the command line has them by default."""
    empty = dict.fromkeys(("letor", "runs", "pool_runs", "scores", "versus_scores", "train"), ())
    empty |= dict.fromkeys(
        ("qrels", "versus_run", "index_update", "model", "train_qrels", "train_fraction", "max_grade")
    )
    empty |= {"traffic": None}
    plain = {"ties": "id", "tune": False, "overhead": 0.0, "cost": "uniform", "defensive_share": None, "seed": 0}
    plain |= {"query_factor": True}
    return load_case(PoolOptions(**(empty | plain | given)), use_labels=use_labels)


def campaign_of(measure, method, budget, *, seed=0, expected=False, **given):
    """Return the campaign that the command line's options mean."""
    case = case_of(use_labels=False, seed=seed, **given)
    target = case.target(measure)
    unit = budget_unit(target)
    design = case.plan(method, target, None).design(budget * unit)
    return Campaign(design, None if design.budget else budget * unit, rng=case.seed, expected=expected)


CASES = {
    "one run": (RUN, {"runs": ("a.run",), "max_grade": 3}),
    "a comparison": ((*RUN, "--versus-run", "b.run"), {"runs": ("a.run",), "versus_run": "b.run", "max_grade": 3}),
    "a forest": (LETOR, {"letor": ("a.txt",), "scores": ("a.score",), "train": ("t.txt",)}),
    "a missing query": (
        (*RUN, "--qrels", "q.qrels", "--overhead", 1.5),
        {"runs": ("a.run",), "qrels": "q.qrels", "max_grade": 3, "overhead": 1.5},
    ),
}


THROUGH = [
    ("DCG@5", "active"),
    ("ERR(max_rel=3)", "passive"),
    ("DCG@5", "items"),
    ("ERR@5", "depth"),
    ("nDCG@5", "depth_draws"),
    ("P@3", "cube"),
    ("AP", "lure"),
    ("RBP", "random"),
]


@pytest.mark.parametrize("spreadsheet", SPREADSHEETS.values(), ids=SPREADSHEETS)
@pytest.mark.parametrize(("options", "given"), CASES.values(), ids=CASES)
@pytest.mark.parametrize(("measure", "method"), THROUGH)
def test_the_way_through_a_spreadsheet_is_the_campaign(drawn, estimated, options, given, measure, method, spreadsheet):
    rows = drawn(*options, "--measure", measure, "--method", method, "--budget", 15, "--seed", 5)
    assert os.path.exists("d.csv.sample.npz") == METHODS[method].needs_record
    row = estimated(judged(rows), **spreadsheet)
    campaign = campaign_of(measure, method, 15, seed=5, **given)
    expected = campaign.run(lambda query, documents: [grade_of(query, d) for d in documents])
    assert (row["value"], row["std_error"]) == pytest.approx((expected.value, expected.std_error), rel=1e-9)
    interval = expected.interval()
    assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high), rel=1e-9)
    assert (row["method"], row["draws"]) == (method, expected.n_draws)
    assert (row["items"], row["spent"]) == (expected.n_items, pytest.approx(expected.cost))
    assert row["queries"] == expected.n_queries


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "csv.gz", "tsv.gz", "jsonl.gz"])
def test_every_format_carries_the_table(call, folder, suffix):
    name = f"d.{suffix}"
    assert call("sample", *RUN, "--budget", 8, "--out", "d.csv").code == 0
    assert call("sample", *RUN, "--budget", 8, "--out", name).code == 0
    table = read_draws(name)
    for column in COLUMNS:
        assert getattr(table, column).tolist() == getattr(read_draws("d.csv"), column).tolist()
    assert set(table.design.tolist()) == {"items"}
    if suffix == "jsonl":
        lines = [json.loads(line) for line in (folder / name).read_text().splitlines()]
        grades = [grade_of(line["query_id"], line["doc_id"]) for line in lines]
        write_lines(folder / name, [json.dumps(line | {"grade": g}) for line, g in zip(lines, grades, strict=True)])
    elif suffix == "parquet":
        pl.read_parquet(name).with_columns(grade=pl.Series(grades_of(table))).write_parquet(name)
    else:
        write_draws(type(table)(**{c: getattr(table, c) for c in COLUMNS} | {"grade": grades_of(table)}), name)
    row = call("estimate", name, "-o", "jsonl").rows[0]
    campaign = campaign_of("DCG", "items", 8, runs=("a.run",), max_grade=3)
    expected = campaign.run(lambda query, documents: [grade_of(query, d) for d in documents])
    assert row["value"] == pytest.approx(expected.value, rel=1e-9)
    assert row["std_error"] == pytest.approx(expected.std_error, rel=1e-9)
    assert (row["method"], row["items"], row["spent"]) == ("items", expected.n_items, pytest.approx(expected.cost))
    assert row["items"] == np.count_nonzero(table.doc_id != "(nothing to judge)")


def test_columns_and_weights(drawn):
    rows = drawn(*RUN, "--measure", "P@3", "--budget", 9, "--method", "active")
    assert list(rows[0]) == [*COLUMNS, "max_grade"]
    assert {row["max_grade"] for row in rows} == {"3"}
    assert {row["measure"] for row in rows} == {"P(rel=1)@3"}
    assert {row["grade"] for row in rows} == {""}
    for row in rows:
        assert float(row["weight"]) == pytest.approx(1 / 30 / float(row["query_prob"]))
    ranks = [int(row["rank"]) for row in rows if row["draw"] == "1"]
    assert ranks == [1, 2, 3]


def test_redrawn_queries_are_free_and_judged_once(drawn, estimated):
    rows = drawn(*RUN, "--budget", 25, "--method", "passive", "--seed", 1)
    draws = {row["draw"]: row["query_id"] for row in rows}
    again = [query for query, n in Counter(draws.values()).items() if n > 1]
    assert again
    first = {row["query_id"]: row["draw"] for row in reversed(rows)}
    assert {float(row["cost"]) for row in rows if row["draw"] != first[row["query_id"]]} == {0.0}
    row = estimated(judged(rows))
    assert (row["draws"], row["queries"]) == (len(draws), len(set(draws.values())))
    assert row["items"] == len({(r["query_id"], r["doc_id"]) for r in rows})


def test_full_coverage_is_exact_however_it_came_about(drawn, estimated, call, folder):
    lines = (folder / "a.run").read_text().splitlines()
    truth = {(q, d): grade_of(q, d) for q, _, d, *_ in map(str.split, lines)}
    qrels = write_lines(folder / "x.qrels", [f"{q} 0 {d} {g}" for (q, d), g in truth.items()])
    exact = call("--quiet", "score", qrels, "a.run", "DCG@4", "-o", "jsonl").rows[0]["value"]
    for options in (
        ("--method", "active", "--budget", 10_000),
        ("--method", "active", "--budget", 300, "--expected"),
        ("--method", "items", "--budget", 30),
        ("--method", "depth_cube", "--budget", 1e9),
        ("--method", "depth_draws", "--budget", 30),
        ("--method", "lure", "--budget", 31),
    ):
        rows = drawn(*RUN, "--measure", "DCG@4", *options)
        assert {row["design"] for row in rows} == {"census"}
        assert len({row["query_id"] for row in rows}) == 30
        row = estimated(judged(rows))
        assert row["value"] == pytest.approx(exact, rel=1e-12)
        assert (row["std_error"], row["low"], row["high"]) == (0, row["value"], row["value"])


def test_an_expected_sample_of_every_query_is_the_campaign(folder):
    campaign = campaign_of("DCG@4", "active", 300, expected=True, runs=("a.run",), max_grade=3)
    own = campaign.run(lambda query, documents: [grade_of(query, d) for d in documents])
    through = estimate_table(to_table(campaign))
    assert own.std_error == through.std_error == 0
    assert own.value == pytest.approx(through.value, rel=1e-12)
    assert (own.n_draws, own.n_queries, own.n_items) == (through.n_draws, through.n_queries, through.n_items)


def test_a_query_that_the_run_lacks_counts_as_zero(drawn, estimated):
    rows = drawn(*RUN, "--qrels", "q.qrels", "--budget", 10_000, "--measure", "P@2")
    nothing = [row for row in rows if row["query_id"] == "q5"]
    assert [row["doc_id"] for row in nothing] == ["(nothing to judge)"]
    assert (nothing[0]["grade"], float(nothing[0]["cost"]), nothing[0]["rank"]) == ("0", 0.0, "")
    row = estimated([row | {"grade": 1} if row["rank"] else row for row in rows])
    assert (row["value"], row["queries"], row["items"]) == (pytest.approx(29 / 30), 30, 58)


@pytest.mark.parametrize(
    "command",
    [
        ("sample", "--budget", 10, "--out", "x.csv"),
        ("design", "--out", "x.csv"),
    ],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize(
    "options",
    [
        (*LETOR, "--cost", "log-length:3"),
        (*LETOR, "--model", "logit", "--index-update", 0.1),
        (*LETOR[:4], "--max-grade", 3),
        ("--qrels", "q.qrels", *RUN),
    ],
    ids=lambda options: " ".join(map(str, options[4:])),
)
def test_no_label_of_the_pool_is_looked_at(call, folder, command, options):
    assert call(*command, *options).code == 0
    before = (folder / "x.csv").read_bytes()
    lines = (folder / "a.txt").read_text().splitlines()
    write_lines(folder / "a.txt", [f"{(int(line[0]) * 2 + 1) % 4}{line[1:]}" for line in lines])
    lines = (folder / "q.qrels").read_text().splitlines()
    write_lines(folder / "q.qrels", [" ".join([*line.split()[:3], "0"]) for line in lines])
    assert call(*command, *options).code == 0
    assert (folder / "x.csv").read_bytes() == before


def test_with_a_train_fraction_only_the_labels_of_queries_set_aside_count(call, folder, drawn):
    options = ("--qrels", "q.qrels", *RUN, "--train-fraction", 0.5)
    call("design", *options, "--out", "x.csv")
    before = (folder / "x.csv").read_bytes()
    pool = {row["query_id"] for row in csv_rows("x.csv")}
    assert len(pool) == 15
    lines = [line.split() for line in (folder / "q.qrels").read_text().splitlines()]
    write_lines(folder / "q.qrels", [" ".join([*c[:3], "2" if c[0] in pool else c[3]]) for c in lines])
    call("design", *options, "--out", "x.csv")
    assert (folder / "x.csv").read_bytes() == before
    write_lines(folder / "q.qrels", [" ".join([*c[:3], str(grade_of(c[0], c[2]))]) for c in lines])
    call("design", *options, "--out", "x.csv")
    assert (folder / "x.csv").read_bytes() != before


def test_one_seed_one_sample(call, folder):
    tables = []
    for seed in (1, 1, 2):
        call("sample", *RUN, "--budget", 10, "--seed", seed, "--out", "x.csv")
        tables.append((folder / "x.csv").read_bytes())
    assert tables[0] == tables[1] != tables[2]


def test_the_talk_says_what_was_drawn_and_why_it_ended(call):
    budget = ("--budget", 6, "--seed", 2, "--method", "active")
    answer = call("sample", *RUN, "--measure", "P@4", *budget, "--out", "x.csv")
    rows = csv_rows("x.csv")
    n_draws, n_queries = len({row["draw"] for row in rows}), len({row["query_id"] for row in rows})
    n_items = len({(row["query_id"], row["doc_id"]) for row in rows})
    said, rough, repeats = answer.err.splitlines()[-3:]
    assert said.startswith(
        f"activeeval: wrote x.csv: {n_draws} draws of {n_queries} queries, {n_items} items to judge, "
    )
    assert rough.startswith(f"activeeval: {n_queries} judged queries make a rough interval; with 30 or more ")
    assert repeats.startswith(f"activeeval: {len(rows) - n_items} rows repeat items of a query drawn before")
    assert answer.out == ""


def test_another_measure_from_the_same_sample(drawn, estimated):
    rows = judged(drawn(*RUN, "--measure", "DCG@5", "--budget", 10, "--method", "active"))
    by_query = {}
    for row in rows:
        by_query.setdefault(row["draw"], []).append(row)
    weights = np.array([float(part[0]["weight"]) for part in by_query.values()])
    grades = {(r["query_id"], r["doc_id"]): int(r["grade"]) for r in rows if r["grade"] != ""}
    values = [sum(grades[r["query_id"], r["doc_id"]] >= 1 for r in part[:3]) / 3 for part in by_query.values()]
    row = estimated(rows, "--measure", "P@3")
    assert row["value"] == pytest.approx(weights @ values / weights.sum())


@pytest.mark.parametrize("method", ["passive", "items", "depth"])
def test_an_estimate_that_hangs_on_few_queries_says_so_in_one_line(call, drawn, method):
    rows = drawn(*RUN, "--measure", "DCG@5", "--method", method, "--budget", 15)
    items = [(row["query_id"], row["doc_id"]) for row in rows if row["doc_id"] != "(nothing to judge)"]
    for relevant, told in (
        ((), "the sample shows no spread to tell a standard error from: nothing bounds the interval"),
        (items[:1], r"few queries dominate the estimate \([0-9.]+ effective degrees of freedom of \d+ draws\): .*"),
    ):
        write_csv("d.csv", [row | {"grade": 3 * ((row["query_id"], row["doc_id"]) in relevant)} for row in rows])
        answer = call("estimate", "d.csv", "-o", "jsonl")
        assert re.fullmatch(f"activeeval: {told}\n", answer.err)
        assert (answer.rows[0]["std_error"] is None) == (not relevant)
        assert call("--quiet", "estimate", "d.csv").err == ""


def test_a_single_draw_has_no_interval(drawn, estimated):
    rows = [row for row in judged(drawn(*RUN, "--budget", 20, "--method", "active")) if row["draw"] == "1"]
    row = estimated([row | {"grade": 1} for row in rows])
    assert (row["draws"], row["std_error"], row["low"], row["high"]) == (1, None, None, None)


@pytest.mark.parametrize("method", ["passive", "active", "active_uniC", "active_uniD"])
@pytest.mark.parametrize("options", [RUN, LETOR, (*RUN, "--versus-run", "b.run")], ids=["run", "letor", "comparison"])
def test_the_columns_of_a_design(call, options, method):
    answer = call("design", *options, "--method", method, "--measure", "DCG@6", "--out", "x.parquet", "--overhead", 0.5)
    assert answer.code == 0
    frame = pl.read_parquet("x.parquet")
    names = [
        "query_id",
        "query_prob",
        "sampling_prob",
        "weight",
        "mean",
        "variance",
        "cost",
        "expected_cost",
        "n_items",
    ]
    assert frame.columns == names
    p, q, weight = (frame[name].to_numpy() for name in names[1:4])
    assert p.sum() == pytest.approx(1)
    assert q.sum() == pytest.approx(1)
    np.testing.assert_allclose(weight, p / q, rtol=1e-12)
    np.testing.assert_allclose(frame["cost"], frame["n_items"] + 0.5)
    assert frame["mean"].is_nan().all() == (method == "passive")
    assert (q == p).all() == (method == "passive")


def test_q_is_the_paper_s(call):
    call("design", *LETOR, "--method", "active", "--out", "x.parquet", "--cost", "log-length:3")
    frame = pl.read_parquet("x.parquet")
    p, q, mean, variance, cost = (
        frame[name].to_numpy() for name in ("query_prob", "sampling_prob", "mean", "variance", "cost")
    )
    optimal = p * np.sqrt((variance + (mean - p @ mean) ** 2) / cost)
    np.testing.assert_allclose(q, optimal / optimal.sum(), rtol=1e-9)
    share = ("--cost", "log-length:3", "--defensive-share", 0.25)
    call("design", *LETOR, "--method", "active", "--out", "y.parquet", *share)
    np.testing.assert_allclose(pl.read_parquet("y.parquet")["sampling_prob"], 0.75 * q + 0.25 * p, rtol=1e-9)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
def test_a_design_in_every_format(call, folder, suffix):
    call("design", *RUN, "--out", "x.parquet")
    call("design", *RUN, "--out", f"x.{suffix}", "--plot", "x.png")
    frame = pl.read_parquet("x.parquet")
    if suffix == "jsonl":
        rows = [json.loads(line) for line in (folder / "x.jsonl").read_text().splitlines()]
    else:
        rows = csv_rows(f"x.{suffix}", delimiter="\t" if suffix == "tsv" else ",")
    assert [float(row["sampling_prob"]) for row in rows] == frame["sampling_prob"].to_list()
    assert (folder / "x.png").read_bytes().startswith(b"\x89PNG")


def test_a_plot_that_fails_leaves_no_table(call, folder):
    answer = call("design", *RUN, "--method", "passive", "--out", "x.csv", "--plot", "x.png")
    assert answer.code == 1
    assert "method 'passive' uses no model, so there is no expected performance to draw" in answer.err
    assert not (folder / "x.csv").exists()
    assert not (folder / "x.png").exists()


@pytest.mark.statistical
def test_a_sample_estimates_the_truth(folder):
    """Ten seeds' mean lies within 4 standard errors of the truth: a false alarm in 16,000 at the most."""
    case = case_of(use_labels=True, letor=("a.txt",), scores=("a.score",))
    target = Target(parse_measure("DCG@5").bound_to(3), case.workload.ranking)
    truth = float(target.values(case.workload.grades).mean())
    grades = {
        (q, d): int(g)
        for q, d, g in zip(
            case.workload.pool.query_ids[case.workload.pool.item_queries].tolist(),
            case.workload.pool.item_ids.tolist(),
            case.workload.grades.tolist(),
            strict=True,
        )
    }
    estimates = []
    for seed in range(10):
        campaign = campaign_of(
            "DCG@5", "active", 12, seed=seed, letor=("a.txt",), scores=("a.score",), train=("t.txt",)
        )
        estimates.append(campaign.run(lambda query, documents: [grades[query, d] for d in documents]))
    mean = np.mean([e.value for e in estimates])
    error = math.sqrt(sum(e.std_error**2 for e in estimates)) / 10
    assert abs(mean - truth) < 4 * error


# Judged queries train, the others are drawn from


def lines_of(path, queries):
    return [line for line in path.read_text().splitlines() if line.split()[0] in queries]


def test_judged_queries_of_the_runs_train_and_are_not_drawn(call, folder, drawn):
    names = sorted({line.split()[0] for line in (folder / "a.run").read_text().splitlines()})
    old, new = set(names[::2]), set(names[1::2])
    write_lines(folder / "old.qrels", lines_of(folder / "q.qrels", old))
    rows = drawn("--run", "a.run", "--train-qrels", "old.qrels", "--budget", 8)
    assert {row["query_id"] for row in rows} <= new
    case = case_of(use_labels=False, runs=("a.run",), train_qrels="old.qrels")
    assert case.model == "forest"
    assert set(case.workload.pool.query_ids.tolist()) == new
    assert not (case.workload.grades >= 0).any()
    assert case.workload.training.grades.size == len(lines_of(folder / "a.run", old & judged_queries(folder)))


def judged_queries(folder):
    return {line.split()[0] for line in (folder / "q.qrels").read_text().splitlines()}


def test_no_query_left_to_evaluate(call, folder):
    write_lines(folder / "all.run", lines_of(folder / "a.run", judged_queries(folder)))
    answer = call("sample", "--run", "all.run", "--train-qrels", "q.qrels", "--budget", 8, "--out", "d.csv")
    assert answer.code == 1
    assert "every query of the pool is among those to train on: there is none to evaluate" in answer.err
    assert not (folder / "d.csv").exists()


def test_given_probabilities_are_recalibrated_on_judged_queries(folder):
    old = lines_of(folder / "q.qrels", set(sorted(judged_queries(folder))[::2]))
    write_lines(folder / "old.qrels", old)
    pairs = [line.split() for line in (folder / "a.run").read_text().splitlines()]
    pairs += [line.split() for line in old if [line.split()[0], line.split()[2]] not in [[p[0], p[2]] for p in pairs]]
    table = ["qid,docid,p0,p1,p2,p3", *(f"{p[0]},{p[2]},0.4,0.3,0.2,0.1" for p in pairs)]
    write_lines(folder / "p.csv", table)
    given = {"runs": ("a.run",), "train_qrels": "old.qrels", "model": "probs=p.csv"}
    probs = case_of(use_labels=False, **given).beliefs.probs
    assert not np.allclose(probs, [0.4, 0.3, 0.2, 0.1])
    assert probs.sum(axis=1) == pytest.approx(1)


def test_the_work_of_judges_is_not_overwritten(call, folder, drawn):
    rows = drawn(*RUN, "--budget", 8)
    write_csv("d.csv", judged(rows))
    before = (folder / "d.csv").read_bytes()
    n_grades = len({(row["query_id"], row["doc_id"]) for row in rows if row["doc_id"] != "(nothing to judge)"})
    answer = call("sample", *RUN, "--budget", 8, "--out", "d.csv")
    assert answer.code == 1
    assert answer.err == f"activeeval: d.csv holds {n_grades} grades already: --force overwrites them\n"
    assert (folder / "d.csv").read_bytes() == before
    assert call("sample", *RUN, "--budget", 8, "--out", "d.csv", "--force").code == 0
    assert call("sample", *RUN, "--budget", 8, "--out", "d.csv").code == 0


@pytest.mark.parametrize(
    ("measure", "method"),
    [("DCG", "active"), *(("DCG", m) for m in ("items", "depth", "cube", "random")), ("ERR", "depth"), ("P@3", "items")]
    + [(measure, m) for measure in ("nDCG@5", "AP") for m in ("depth", "cube", "random")],
)
def test_a_grade_off_the_scale_is_a_slip_of_the_finger(call, drawn, measure, method):
    rows = judged(drawn(*RUN, "--budget", 12, "--measure", measure, "--method", method))
    row = next(row for row in rows if row["grade"] != "" and row["doc_id"] != "(nothing to judge)")
    row["grade"] = 22
    write_csv("d.csv", rows)
    answer = call("estimate", "d.csv")
    assert answer.code == 1, answer.out
    place = f"grade 22 of item {row['doc_id']!r} of query {row['query_id']!r} is above "
    assert place in answer.err or re.fullmatch("activeeval: grade 22 is above .*, 3\n", answer.err), answer.err


# What is new with records: defaults, targets, margins


@pytest.mark.parametrize(
    ("measure", "method"),
    [("DCG", "items"), ("P@3", "items"), ("RBP", "items")] + [(m, "depth") for m in ("ERR", "RR", "nDCG@5", "AP")],
)
def test_the_default_is_the_best_for_the_measure(call, folder, measure, method):
    for command, options in (("sample", ("--budget", 8)), ("design", ())):
        given = (command, *RUN, "--measure", measure, *options)
        assert call(*given, "--out", "x.csv").code == 0
        assert call(*given, "--method", method, "--out", "y.csv").code == 0
        assert (folder / "x.csv").read_bytes() == (folder / "y.csv").read_bytes()
    assert (folder / "x.csv.sample.npz").exists()


@pytest.mark.parametrize("measure", ["nDCG@5", "AP", "nDCG(dcg='exp-log2')", "AP(rel=2)@3"])
@pytest.mark.parametrize("method", ["passive", "active", "active_uniC", "active_uniD"])
def test_the_paper_s_methods_sample_for_ndcg_and_ap(drawn, estimated, measure, method):
    """What was drawn for nDCG holds all that a query has, so that the table can tell it."""
    rows = drawn(*RUN, "--measure", measure, "--method", method, "--budget", 12, "--seed", 3)
    campaign = campaign_of(measure, method, 12, seed=3, runs=("a.run",), max_grade=3)
    expected = campaign.run(lambda query, documents: [grade_of(query, d) for d in documents])
    row = estimated(judged(rows))
    assert (row["value"], row["std_error"]) == pytest.approx((expected.value, expected.std_error), rel=1e-9)


@pytest.mark.parametrize("measure", ["ERR@5", "nDCG@5", "AP"])
@pytest.mark.parametrize("method", ["depth", "depth_cube", "random", "greg", "sequential", "difference", "poisson"])
def test_more_ways_through_a_spreadsheet(drawn, estimated, measure, method):
    options = (*RUN, "--versus-run", "b.run", "--overhead", 0.7)
    rows = drawn(*options, "--measure", measure, "--method", method, "--budget", 10, "--seed", 8)
    given = {"runs": ("a.run",), "versus_run": "b.run", "max_grade": 3, "overhead": 0.7}
    campaign = campaign_of(measure, method, 10, seed=8, **given)
    expected = campaign.run(lambda query, documents: [grade_of(query, d) for d in documents])
    row = estimated(judged(rows))
    assert (row["value"], row["std_error"]) == pytest.approx((expected.value, expected.std_error), rel=1e-9)
    assert (row["queries"], row["items"], row["spent"]) == (
        expected.n_queries,
        expected.n_items,
        pytest.approx(expected.cost),
    )


def test_traffic_reaches_the_record(call, folder, drawn, estimated):
    queries = sorted({line.split()[0] for line in (folder / "a.run").read_text().splitlines()})
    write_lines(folder / "t.traffic", [f"{query} {1 + i % 4}" for i, query in enumerate(queries)])
    rows = drawn(*RUN, "--traffic", "t.traffic", "--budget", 12)
    campaign = campaign_of("DCG", "items", 12, runs=("a.run",), max_grade=3, traffic="t.traffic")
    expected = campaign.run(lambda query, documents: [grade_of(query, d) for d in documents])
    row = estimated(judged(rows))
    assert (row["value"], row["std_error"]) == pytest.approx((expected.value, expected.std_error), rel=1e-9)


def test_the_weight_of_a_settled_draw_is_p_over_pi(drawn):
    for row in drawn(*RUN, "--measure", "P@3", "--budget", 9):
        assert row["design"] == "items"
        assert float(row["weight"]) == pytest.approx(1 / 30 / float(row["query_prob"]))
        assert 0 < float(row["item_prob"]) <= 1
    rows = drawn(*RUN, "--measure", "ERR@5", "--budget", 9, "--force")
    by_draw = {}
    for row in rows:
        by_draw.setdefault(row["draw"], []).append(row)
    for part in by_draw.values():
        assert {int(row["depth"]) for row in part} <= {len(part), 0}
        rates = [float(row["item_prob"]) for row in part]
        assert rates == sorted(rates, reverse=True)
    assert len({len(part) for part in by_draw.values()}) > 1


@pytest.mark.parametrize("method", ["items", "depth", "cube", "lure", "random", "depth_draws", "difference"])
def test_a_population_is_less_certain_than_its_pool(call, drawn, method):
    # S² is estimated and may come out as 0, as it does for items at seed 0
    write_csv("d.csv", judged(drawn(*RUN, "--measure", "DCG@5", "--budget", 12, "--method", method, "--seed", 1)))
    pool = call("estimate", "d.csv", "-o", "jsonl").rows[0]
    assert call("estimate", "d.csv", "-o", "jsonl", "--target", "pool").rows[0] == pool
    population = call("estimate", "d.csv", "-o", "jsonl", "--target", "population").rows[0]
    assert population["value"] == pool["value"]
    assert population["std_error"] > pool["std_error"]
    assert population["high"] - population["low"] > pool["high"] - pool["low"]


def test_a_population_of_a_census(drawn, call):
    for method in ("active", "items"):
        rows = drawn(*RUN, "--measure", "P@2", "--budget", 1000, "--method", method, "--force")
        write_csv("d.csv", judged(rows))
        row = call("estimate", "d.csv", "-o", "jsonl", "--target", "population").rows[0]
        by_query = {}
        for r in judged(rows):
            by_query.setdefault(r["query_id"], []).append(int(r["grade"]) >= 1)
        values = np.array([sum(hits) / 2 for hits in by_query.values()])
        assert row["value"] == pytest.approx(values.mean())
        assert row["std_error"] == pytest.approx(values.std(ddof=1) / math.sqrt(30))


def test_a_table_without_record_does_not_tell_of_a_population(drawn, call):
    write_csv("d.csv", judged(drawn(*RUN, "--budget", 12, "--method", "active")))
    answer = call("estimate", "d.csv", "--target", "population")
    told = "this draws table does not tell how large the pool is: its estimate is for the pool"
    assert (answer.code, answer.err) == (1, f"activeeval: {told}\n")


@pytest.mark.parametrize("method", ["active", "items", "depth", "random"])
def test_a_scale_that_is_given_to_estimate_counts(drawn, call, method):
    write_csv("d.csv", judged(drawn(*RUN, "--measure", "DCG@5", "--budget", 12, "--method", method)))
    assert call("estimate", "d.csv", "--max-grade", 3).code == 0
    answer = call("estimate", "d.csv", "--max-grade", 2)
    assert answer.code == 1
    assert re.search("grade 3 .*above .*2", answer.err)


@pytest.mark.statistical
@pytest.mark.parametrize("method", ["items", "depth", "items_cube", "greg"])
def test_a_hard_budget_of_a_settled_sample_has_a_margin(folder, method):
    """Three standard deviations: two of 60 seeds over budget would be a chance of 0.003 for a normal cost."""
    case = case_of(use_labels=False, letor=("a.txt",), scores=("a.score",), train=("t.txt",))
    target = case.target("DCG@5")
    plan, budget = case.plan(method, target, None), 12 * budget_unit(target)
    design = plan.design_within(budget)
    # the margin is at most half of the budget
    expected = max(budget - 3 * design.cost_sd, budget / 2)
    assert design.expected_cost == pytest.approx(expected, rel=0.05)
    spent = []
    for seed in range(60):
        campaign = Campaign(design, rng=seed)
        while campaign.ask() is not None:
            pass
        spent.append(campaign.spent)
    assert sum(cost > budget for cost in spent) <= 1
    soft = plan.design(budget)
    assert soft.expected_cost == pytest.approx(budget)


@pytest.mark.parametrize("method", ["active", "items"])
def test_hard_is_an_option_of_sample(call, drawn, method):
    plain = drawn(*LETOR, "--budget", 12, "--method", method)
    if method == "active":
        answer = call("sample", *LETOR, "--budget", 12, "--method", method, "--hard", "--out", "h.csv")
        assert answer.code == 2
        assert "--hard is for a sample that is settled at once: active draws one by one" in answer.err
        return
    hard = drawn(*LETOR, "--budget", 12, "--method", method, "--hard", name="h.csv")
    assert plain != hard
    assert sum(float(row["cost"]) for row in hard) <= 12 * 4.75


@pytest.mark.parametrize("method", ["items", "cube", "lure"])
def test_expected_is_for_draws_with_replacement(call, folder, method):
    answer = call("sample", *RUN, "--budget", 12, "--method", method, "--expected", "--out", "d.csv")
    assert answer.code == 2
    assert f"--expected is for draws with replacement: {method} " in answer.err
    assert not (folder / "d.csv").exists()


def test_a_settled_sample_says_what_is_judged(call):
    said = call("sample", *RUN, "--budget", 12, "--out", "d.csv").err
    rows = [row for row in csv_rows("d.csv") if row["doc_id"] != "(nothing to judge)"]
    n_queries = len({row["query_id"] for row in csv_rows("d.csv")})
    counts = f"{n_queries} queries, {len(rows)} items to judge"
    assert re.search(rf"wrote d\.csv: {counts}, cost [\d.]+ \(budget 12 is met on average\)\n", said)
    said = call("sample", *RUN, "--budget", 1000, "--method", "cube", "--out", "d.csv").err
    assert re.search(r"wrote d\.csv: everything is to be judged, 30 queries, \d+ items, cost [\d.]+ of 1000\n", said)
    assert "rough" not in said


@pytest.mark.parametrize("method", ["items", "depth", "cube", "items_cube"])
@pytest.mark.parametrize("budget", [4, 12, 25])
def test_the_design_of_a_budget_costs_it(call, method, budget):
    options = (*RUN, "--overhead", 0.5, "--measure", "DCG@5", "--method", method)
    answer = call("design", *options, "--budget", budget, "--out", "x.parquet")
    frame = pl.read_parquet("x.parquet")
    pi, weight, cost, expected = (
        frame[name].to_numpy() for name in ("sampling_prob", "weight", "cost", "expected_cost")
    )
    assert pi @ expected == pytest.approx(budget * cost.mean())
    assert np.all((pi > 0) & (pi <= 1))
    assert np.all(expected <= cost * (1 + 1e-12))
    np.testing.assert_allclose(weight, 1 / 30 / pi)
    assert answer.err.splitlines()[-1].endswith(f"the sample costs {budget:.4g} on average")
    call("design", *options, "--out", "y.parquet")
    tenth = pl.read_parquet("y.parquet")
    assert tenth["sampling_prob"].to_numpy() @ tenth["expected_cost"].to_numpy() == pytest.approx(3 * cost.mean())


def test_the_design_of_draws_takes_no_notice_of_a_budget(call, folder):
    for method in ("active", "lure", "depth_draws"):
        for name, options in (("x.csv", ()), ("y.csv", ("--budget", 20))):
            answer = call("design", *RUN, "--method", method, *options, "--out", name)
            assert re.search(r"a draw costs [\d.]+ on average$", answer.err.splitlines()[-1])
        assert (folder / "x.csv").read_bytes() == (folder / "y.csv").read_bytes()


def test_the_query_factor_can_be_left_out(call, folder):
    def designed(*options):
        assert call("design", *LETOR, *options, "--out", "x.csv").code == 0
        return (folder / "x.csv").read_bytes()

    assert designed() == designed("--query-factor") != designed("--no-query-factor")
    active = ("--method", "active")
    assert designed(*active) == designed(*active, "--no-query-factor")
    untrained = ("--run", "a.run", "--max-grade", 3, "--out", "y.csv")
    assert call("design", *untrained, "--no-query-factor").code == 0


def test_a_comparison_of_equal_rankings_needs_no_judgment(call):
    for method in ("active", "random", "items", "depth", "items_cube"):
        given = (*RUN, "--versus-run", "a.run", "--method", method)
        assert call("design", *given, "--out", "f.csv").code == 0
        assert call("sample", *given, "--budget", 5, "--out", "d.csv", "--force").code == 0
        write_csv("d.csv", judged(csv_rows("d.csv")))
        assert call("estimate", "d.csv", "-o", "jsonl").rows[0]["value"] == 0


def test_other_intervals_of_the_same_sample(drawn, estimated, call):
    """The estimate is the same; the longer side of a skewed interval is not shorter than the t interval's."""
    rows = judged(drawn(*RUN, "--versus-run", "b.run", "--measure", "ERR@5", "--budget", 20, "--seed", 3))
    by_kind = {kind: estimated(rows, "--interval", kind) for kind in ("t", "skewed", "bootstrap")}
    assert len({(row["value"], row["std_error"]) for row in by_kind.values()}) == 1
    assert all(row["interval"] == kind for kind, row in by_kind.items())
    plain, skewed = by_kind["t"], by_kind["skewed"]
    assert skewed["low"] <= plain["low"] < plain["high"] <= skewed["high"]
    assert (by_kind["bootstrap"]["low"], by_kind["bootstrap"]["high"]) != (plain["low"], plain["high"])
    answer = call("estimate", "j.csv", "--interval", "asympcs")
    assert answer.code == 2
