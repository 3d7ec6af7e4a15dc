"""Pools in parquet on the command line: what is drawn of one is what is drawn of its runs."""

import csv
from pathlib import Path

import pytest
from cli_cases import judge_file

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


def test_estimates_of_a_pool_in_files_are_those_of_its_runs(call, folder):
    written(call, "--max-grade", 3)
    rows = []
    for name, options in (("runs", (*RUNS, "--max-grade", 3)), ("files", NAMED)):
        drawn(call, name, *options, "--measure", "DCG@3", "--budget", 12)
        judge_file(f"{name}.csv")
        rows.append(call("estimate", f"{name}.sample", f"{name}.csv", "-o", "jsonl").rows[0])
    for name in ("value", "low", "high"):
        assert rows[1][name] == pytest.approx(rows[0][name], rel=1e-12, abs=1e-12)
    assert [row["direction"] for row in rows] == ["a.run − b.run", "a − b"]


def test_a_top_up_is_that_of_the_runs(call, folder):
    written(call, "--max-grade", 3)
    for name, options in (("runs", (*RUNS, "--max-grade", 3)), ("files", NAMED)):
        drawn(call, name, *options, "--measure", "DCG@3", "--budget", 9)
    more = ("--budget", 6, "--out", "more.sample", "--sheet", "more.csv", "--force")
    in_files = ("--pool-parquet", "pool/*.parquet")
    assert call("top-up", "runs.sample", *more).code == 0
    wanted = rows_of("more.csv")
    for arguments, problem in (
        (("files.sample", *more), "name the pool with --pool-parquet"),
        (("runs.sample", *more, *in_files), "was not drawn of a pool in files"),
    ):
        answer = call("top-up", *arguments)
        assert (answer.code, problem in answer.err) == (2, True)
    answer = call("top-up", "files.sample", *more, *in_files, "--engine", "threads:2,scratch=.,trust-ids")
    assert answer.code == 0, answer.err
    assert rows_of("more.csv") == wanted
    assert not [path for path in folder.iterdir() if path.name.startswith("activeeval-")]
    (folder / "a.run").write_text("q1 Q0 d1 1 5 a\nq2 Q0 d2 1 3 a\n")
    call("pool", "write", *RUNS, "--max-grade", 3, "--out", "pool", "--force")
    assert call("top-up", "files.sample", *more, *in_files).code == 1


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
    asked = ("sample", "--pool-parquet", "pool/*.parquet", "--budget", 9, "--out", "x.sample", "--sheet", "x.csv")
    assert "holds no run 'a.run'; did you mean a? there are a, b" in call(*asked, "--run", "a.run").err
    assert call(*asked).code == 0
    assert call(*asked, "--run", "b", "--force").code == 0
    Path("pool/part-00001.parquet").unlink()
    answer = call(*asked[:-4], "--out", "y.sample", "--sheet", "y.csv")
    assert (answer.code, "came: a partition is missing" in answer.err, Path("y.sample").exists()) == (1, True, False)


def test_a_folder_that_is_there_is_kept(call, folder):
    written(call, "--max-grade", 3)
    held = {path.name: path.read_bytes() for path in Path("pool").iterdir()}
    for options, code, problem in (
        (("--max-grade", 3, "--out", "pool"), 1, "is there already"),
        (("--grader", "q.qrels", "--out", "other"), 2, ""),
        (("--max-grade", 3, "--out", "a.run/pool"), 1, "cannot write"),
    ):
        answer = call("pool", "write", *RUNS, *options)
        assert (answer.code, problem in answer.err) == (code, True)
    assert {path.name: path.read_bytes() for path in Path("pool").iterdir()} == held
