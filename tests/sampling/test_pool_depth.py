"""`--pool-depth`: lists end at a rank, the pool is what they hold then, and no measure counts deeper."""

import re

import pytest
from cli_cases import RUN, both, case_of, files, judge_file
from cli_files import csv_rows, json_rows, write_lines

COMPARED = (*RUN, "--versus-run", "b.run")


def shortened(folder, name, depth):
    """Write a run's first ranks, by score and then id descending, and return the name of the file."""
    by_query = {}
    for line in (folder / name).read_text().splitlines():
        query, _, document, _, score, _ = line.split()
        by_query.setdefault(query, []).append((float(score), document, line))
    kept = [row for rows in by_query.values() for row in sorted(rows, reverse=True)[:depth]]
    write_lines(folder / f"short-{name}", [line for _, _, line in kept])
    return f"short-{name}"


@pytest.mark.parametrize("measure", ["nDCG@3", "RR"])
def test_lists_end_at_the_depth_as_if_the_files_did(call, folder, measure):
    options = ("--measure", measure, "--budget", "60%", "--max-grade", 3, "--adaptive-depth", "off")
    done = call("sample", *COMPARED, "--pool-depth", 4, *options, *files("d.csv"))
    assert done.code == 0, done.err
    assert re.search(r"the pool is the first 4 of each list: \d+ items below are left out", done.err)
    names = [shortened(folder, name, 4) for name in ("a.run", "b.run")]
    plain = call("sample", "--run", names[0], "--versus-run", names[1], *options, *files("e.csv"))
    assert plain.code == 0, plain.err
    rows, others = ([(r["query_id"], r["doc_id"], r["block"]) for r in csv_rows(name)] for name in ("d.csv", "e.csv"))
    assert rows == others
    for name in ("d.csv", "e.csv"):
        judge_file(name)
    one, other = (call("estimate", *both(name), "-o", "jsonl").rows[0] for name in ("d.csv", "e.csv"))
    assert (one["value"], one["std_error"]) == (other["value"], other["std_error"])
    gate = call("compare", "b.run", "a.run", "--sample", "d.csv.sample.npz", "--sheet", "d.csv", "-o", "jsonl")
    assert json_rows(gate.out)[0]["value"] == pytest.approx(one["value"])
    assert one["measure"].endswith("@3" if measure == "nDCG@3" else "@4")


def test_a_question_put_later_ends_there_too(call, folder):
    assert call("sample", *RUN, "--measure", "DCG", "--pool-depth", 3, "--budget", "60%", *files("d.csv")).code == 0
    judge_file("d.csv")
    asked = ("--measure", "RBP", "--measure", "P@2", "-o", "jsonl")
    rows = call("estimate", *both("d.csv"), *asked).rows
    assert [row["measure"].partition("@")[2] for row in rows] == ["3", "2"]
    done = call("estimate", *both("d.csv"), "--measure", "P@9")
    assert (done.code, done.out) == (1, "")
    assert re.fullmatch(
        r"activeeval: P@9 counts deeper than the lists, which end at rank 3: .*--pool-depth 9\n", done.err
    ), done.err
    topped = call("top-up", "d.csv.sample.npz", "--budget", 5, "--out", "e.sample", "--sheet", "e.csv")
    assert topped.code == 0, topped.err
    judge_file("e.csv")
    row = call("estimate", "e.sample", "d.csv", "e.csv", "--measure", "RBP", "-o", "jsonl").rows[0]
    assert row["measure"].endswith("@3")


def test_by_default_a_hundred_of_runs_alone(call, folder):
    lines = [f"q{q} Q0 x{j} {j} {500 - j} deep" for q in range(1, 4) for j in range(1, 251)]
    write_lines(folder / "deep.run", lines)
    case = case_of(runs=("deep.run",), max_grade=2)
    assert (case.inputs.pool.n_items, case.depth) == (300, 100)
    assert str(case.target("RBP").measure).endswith("@100")
    assert case_of(runs=("deep.run",), max_grade=2, pool_depth=1000).inputs.pool.n_items == 750
    with_labels = case_of(runs=("a.run",), qrels="q.qrels", max_grade=3)
    assert with_labels.depth is None
    assert with_labels.target("DCG").measure.cutoff is None


def test_a_deeper_measure_is_refused_and_so_is_an_index_update(call, folder):
    done = call("--quiet", "sample", *RUN, "--pool-depth", 3, "--measure", "DCG@5", "--budget", 20, *files("d.csv"))
    assert (done.code, done.out) == (1, "")
    assert "DCG@5 counts deeper than the lists, which end at rank 3: draw with --pool-depth 5" in done.err
    given = ("--qrels", "q.qrels", "--index-update", 0.2, "--budget", 20)
    done = call("--quiet", "simulate", *RUN, "--pool-depth", 3, *given)
    assert done.code == 2
    assert "--pool-depth would cut the lists that --index-update fills up again" in done.err
    assert case_of(runs=("a.run",), max_grade=3, index_update=0.2).depth is None
