"""Pools in parquet on the command line: what is drawn of one is what is drawn of its runs."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="a pool in parquet needs pyarrow")

RUNS = ("--run", "a.run", "--versus-run", "b.run")
NAMED = ("--pool-parquet", "pool/*.parquet", "--run", "a", "--versus-run", "b")


def rows_of(path):
    """Return the rows of a sheet without the id of its sample."""
    with open(path, newline="", encoding="utf-8") as file:
        return [row[1:] for row in csv.reader(file)]


def drawn(call, name, *options):
    answer = call("sample", *options, "--seed", 5, "--out", f"{name}.sample", "--sheet", f"{name}.csv")
    assert answer.code == 0, answer.err
    return rows_of(f"{name}.csv"), answer


def written(call, *options):
    answer = call("pool", "write", *RUNS, *options, "--partitions", 3, "--out", "pool", "--force", "-o", "jsonl")
    assert answer.code == 0, answer.err
    return answer


@pytest.mark.parametrize(
    ("of_pool", "asked"),
    [
        (
            ("--judged", "few.qrels", "--max-grade", 3),
            ("--measure", "DCG@3", "--budget", "40%", "--question", "run", "--question", "difference"),
        ),
        (("--train", "train.qrels", "--max-grade", 3), ("--measure", "nDCG@3", "--budget", "60%")),
        (("--max-grade", 3, "--overhead", 1.5), ("--measure", "ERR@3", "--budget", "70%", "--method", "depth")),
        (("--max-grade", 3), ("--measure", "P@3", "--budget", "60%", "--method", "active")),
    ],
    ids=["several questions, known grades", "a model", "overheads", "with replacement"],
)
def test_the_sheet_is_that_of_the_runs(call, folder, of_pool, asked):
    lines = (folder / "q.qrels").read_text().splitlines(keepends=True)
    (folder / "few.qrels").write_text("".join(lines[::4]))
    queries = sorted({line.split()[0] for line in lines})[:3]
    (folder / "train.qrels").write_text("".join(line for line in lines if line.split()[0] in queries))
    written(call, *of_pool)
    wanted, _ = drawn(call, "runs", *RUNS, *of_pool, *asked)
    found, answer = drawn(call, "files", *NAMED, *asked)
    assert found == wanted
    assert len(found) > 1
    assert "once judged" in answer.err or "reads" in answer.err


def test_workers_and_partitions_change_nothing(call, folder):
    written(call, "--max-grade", 3)
    wanted, _ = drawn(call, "one", *NAMED, "--budget", 9)
    call("pool", "write", *RUNS, "--max-grade", 3, "--partitions", 1, "--out", "pool", "--force")
    assert len(list(Path("pool").iterdir())) == 1
    found, _ = drawn(call, "three", *NAMED, "--budget", 9, "--engine", "threads:2,scratch=.,trust-ids")
    assert found == wanted
    assert not [path for path in folder.iterdir() if path.name.startswith("activeeval-")]


def test_estimates_of_a_pool_in_files_are_those_of_its_runs(call, folder):
    written(call, "--max-grade", 3)
    grades = {tuple(line.split()[0:3:2]): line.split()[3] for line in (folder / "q.qrels").read_text().splitlines()}
    rows = []
    for name, options in (("runs", (*RUNS, "--max-grade", 3)), ("files", NAMED)):
        drawn(call, name, *options, "--measure", "DCG@3", "--budget", 12)
        with open(f"{name}.csv", newline="", encoding="utf-8") as file:
            head, *sheet = csv.reader(file)
        at = [head.index(word) for word in ("query_id", "doc_id", "grade")]
        for row in sheet:
            row[at[2]] = str(max(int(grades.get((row[at[0]], row[at[1]]), 0)), 0))
        with open(f"{name}.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([head, *sheet])
        rows.append(call("estimate", f"{name}.sample", f"{name}.csv", "-o", "jsonl").rows[0])
    of_runs, of_files = rows
    for name in ("value", "low", "high"):
        assert of_files[name] == pytest.approx(of_runs[name], rel=1e-12, abs=1e-12)
    assert (of_runs["direction"], of_files["direction"]) == ("a.run − b.run", "a − b")


def test_a_top_up_is_that_of_the_runs(call, folder):
    written(call, "--max-grade", 3)
    for name, options in (("runs", (*RUNS, "--max-grade", 3)), ("files", NAMED)):
        drawn(call, name, *options, "--measure", "DCG@3", "--budget", 9)
    more = ("--budget", 6, "--out", "more.sample", "--sheet", "more.csv", "--force")
    assert call("top-up", "runs.sample", *more).code == 0
    wanted = rows_of("more.csv")
    answer = call("top-up", "files.sample", *more)
    assert (answer.code, "name the pool with --pool-parquet" in answer.err) == (2, True)
    answer = call("top-up", "runs.sample", *more, "--pool-parquet", "pool/*.parquet")
    assert (answer.code, "was not drawn of a pool in files" in answer.err) == (2, True)
    answer = call("top-up", "files.sample", *more, "--pool-parquet", "pool/*.parquet", "--engine", "threads:2")
    assert answer.code == 0, answer.err
    assert rows_of("more.csv") == wanted
    call("pool", "write", "--run", "b.run", "--versus-run", "a.run", "--max-grade", 3, "--out", "pool", "--force")
    (folder / "a.run").write_text("q1 Q0 d1 1 5 a\nq2 Q0 d2 1 3 a\n")
    call("pool", "write", *RUNS, "--max-grade", 3, "--out", "pool", "--force")
    answer = call("top-up", "files.sample", *more, "--pool-parquet", "pool/*.parquet")
    assert answer.code == 1


def test_a_campaign_is_made_of_a_pool_in_files(call, folder):
    written(call, "--max-grade", 3)
    answer = call("campaign", "create", "kitchen", *NAMED, "--budget", 9, "--seed", 5, "--db", "sqlite:///c.db")
    assert answer.code == 0, answer.err
    assert call("campaign", "status", "kitchen", "--db", "sqlite:///c.db", "-o", "jsonl").rows[0]["waiting"] == 9


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--judged", "q.qrels"), "--judged is not for --pool-parquet: give it to `activeeval pool write`"),
        (("--run", "c"), "--versus-run is the second of two systems"),
        (("--engine", "proceses:2"), "unknown engine 'proceses:2'; did you mean processes?"),
        (("--engine", "processes:0"), "workers must be a positive number, got '0'"),
        (("--engine", "dask://127.0.0.1:1"), "cannot be reached"),
        (("--engine", "here,scratch=nowhere"), "nowhere: cannot write there: No such file or directory"),
        (("--half-width", "0.1"), "give one of --budget"),
        (("--max-grade", 1, "--measure", "ERR(max_rel=4)@3"), "give one scale"),
    ],
)
def test_what_does_not_go_together_is_one_line(call, folder, options, text):
    written(call, "--max-grade", 3)
    before = {path.name for path in folder.iterdir()}
    answer = call("sample", *NAMED, "--budget", 9, *options, "--out", "x.sample", "--sheet", "x.csv")
    assert answer.code == (2 if "Usage:" in answer.err else 1)
    assert text in answer.err
    assert {path.name for path in folder.iterdir()} == before


def test_runs_are_named_as_the_pool_has_them(call, folder):
    written(call, "--max-grade", 3)
    files = ("--budget", 9, "--out", "x.sample", "--sheet", "x.csv")
    answer = call("sample", "--pool-parquet", "pool/*.parquet", "--run", "a.run", *files)
    assert "holds no run 'a.run'; did you mean a? there are a, b" in answer.err
    assert call("sample", "--pool-parquet", "pool/*.parquet", *files).code == 0
    assert call("sample", "--pool-parquet", "pool/*.parquet", "--run", "b", *files, "--force").code == 0


def test_a_partition_that_is_missing_is_noticed(call, folder):
    written(call, "--max-grade", 3)
    Path("pool/part-00001.parquet").unlink()
    answer = call("sample", *NAMED, "--budget", 9, "--out", "x.sample", "--sheet", "x.csv")
    assert (answer.code, "came: a partition is missing" in answer.err) == (1, True)
    assert not Path("x.sample").exists()


def test_engines_are_for_pools_in_files(call):
    answer = call(
        "sample", *RUNS, "--max-grade", 3, "--budget", 9, "--engine", "processes:2", "--out", "x", "--sheet", "y.csv"
    )
    assert answer.code == 2
    assert "--engine is for --pool-parquet" in answer.err


def test_a_folder_that_is_there_is_kept(call, folder):
    written(call, "--max-grade", 3)
    held = {path.name: path.read_bytes() for path in Path("pool").iterdir()}
    answer = call("pool", "write", *RUNS, "--max-grade", 3, "--out", "pool")
    assert (answer.code, "is there already" in answer.err) == (1, True)
    answer = call("pool", "write", *RUNS, "--grader", "q.qrels", "--out", "other")
    assert answer.code == 2
    assert {path.name: path.read_bytes() for path in Path("pool").iterdir()} == held
    answer = call("pool", "write", *RUNS, "--max-grade", 3, "--out", "a.run/pool")
    assert (answer.code, "cannot write" in answer.err) == (1, True)
