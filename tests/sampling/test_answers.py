"""What `estimate` answers beyond one number a question: segments, and what the interval will be at the planned end."""

import re
from pathlib import Path

import numpy as np
import pytest
from cli_cases import RUN, both, case_of, files, grade_of, judge_file, one_line
from cli_files import write_lines

from activeeval.report.message_lookup import text_of

COMPARED = (*RUN, "--versus-run", "b.run", "--measure", "DCG@5")


@pytest.fixture
def sampled(call):
    """Draw a sample of most of the pool and judge it."""
    questions = ("--question", "run", "--question", "difference")
    assert call("sample", *COMPARED, *questions, "--budget", "70%", *files("d.csv")).code == 0
    return judge_file("d.csv")


def segments(folder, text, name="s.csv"):
    (folder / name).write_text(text)
    return ("--by", name)


def test_a_row_for_each_segment_of_each_question(call, folder, sampled):
    halves = {f"q{q}": "odd" if q % 2 else "even" for q in range(1, 31)}
    by = segments(
        folder, "".join(["query_id,segment\n", *(f"{q},{name}\n" for q, name in halves.items()), "q99,odd\n"])
    )
    done = call("estimate", *both("d.csv"), *by, "-o", "jsonl")
    assert "activeeval: 1 query of the pool has no segment\n" in done.err
    rows = done.rows
    expected = [(question, segment) for question in ("run", "difference") for segment in ("odd", "even")]
    assert [(row["question"], row["segment"]) for row in rows] == expected
    for row in rows:
        assert row["confidence"] == pytest.approx(0.975)
        assert row["low"] < row["value"] < row["high"]
    inside = [row for row in sampled if row["query_id"] in halves]
    for row in call("estimate", *both("d.csv"), "-o", "jsonl").rows:
        parts = [part for part in rows if part["question"] == row["question"]]
        assert sum(part["items"] for part in parts) == len(inside) == row["items"] - 1
        assert sum(part["queries"] for part in parts) == len({row["query_id"] for row in inside})
        assert "segment" not in row


def test_overlapping_segments_share_out_the_level(call, folder, sampled):
    lines = [f"q{q} {name}" for q in range(1, 31) for name in ("all", "again", "first" if q <= 20 else "last")]
    rows = call("estimate", *both("d.csv"), *segments(folder, "\n".join(lines), "s.txt"), "-o", "jsonl").rows
    names = {row["segment"] for row in rows}
    assert {"all", "again", "first"} <= names
    assert {row["confidence"] for row in rows} == {1 - (1 - 0.95) / len(names)}
    by_name = {(row["question"], row["segment"]): row["value"] for row in rows}
    for question in ("run", "difference"):
        assert by_name[question, "all"] == by_name[question, "again"]


def test_segments_too_small_are_named_and_get_no_number(call, folder, sampled):
    lines = [f"q{q},{'few' if q <= 3 else 'many'}" for q in range(1, 31)]
    done = call("estimate", *both("d.csv"), *segments(folder, "\n".join(["qid,segment", *lines])), "-o", "jsonl")
    assert {row["segment"] for row in done.rows} == {"many"}
    assert "activeeval: fewer than 10 judged queries, no estimate: few\n" in done.err
    done = call("estimate", *both("d.csv"), *segments(folder, "query_id,segment\nq1,one\nq2,two\n"))
    assert (done.code, done.out) == (1, "")
    assert done.err.endswith("activeeval: s.csv: no segment has 10 judged queries: there is nothing to read\n")


def test_a_segment_of_which_nothing_is_left_to_chance_is_read_however_small(call, folder):
    assert call("sample", *COMPARED, "--budget", "100%", *files("d.csv")).code == 0
    judge_file("d.csv")
    by = segments(folder, "query_id,segment\nq1,one\n")
    row = call("estimate", *both("d.csv"), *by, "-o", "jsonl").rows[0]
    assert row["low"] == row["value"] == row["high"]
    more = call("--quiet", "top-up", "d.csv.sample.npz", "--budget", 5, "--out", "e.sample", "--sheet", "e.csv")
    pays_for_nothing(more, 5, "everything is judged")


def pays_for_nothing(done, more, why):
    assert (done.code, done.out) == (1, "")
    assert re.fullmatch(f"activeeval: a budget of {more} more adds nothing to judge: {why}.*\n", done.err), done.err
    assert not Path("e.csv").exists()


BROKEN = {
    "query_id,segment\nz1,a\n": r"s\.csv: none of its 1 queries is in the sample's pool",
    "query_id,part\nq1,a\n": r"s\.csv:1: no segment column in: query_id, part; expected segment, or --columns .*",
    "query_id,segment\nq1,a\nq1,a\n": r"s\.csv:3: column segment: query 'q1' is in segment 'a' already.*",
    "query_id,segment\nq1,\n": r"s\.csv:2: column segment: is empty, expected an id",
}


def test_broken_segments_are_one_line(call, folder, sampled):
    for text, expected in BROKEN.items():
        one_line(call("--quiet", "estimate", *both("d.csv"), *segments(folder, text)), expected)


def test_an_early_reading_says_what_the_interval_should_be_at_the_end(call, folder):
    assert call("sample", *RUN, "--measure", "DCG@5", "--budget", "60%", *files("d.csv")).code == 0
    rows = judge_file("d.csv", upto=2)
    waiting = sum(row["grade"] == "" for row in rows)
    done = call("estimate", *both("d.csv"), "-o", "jsonl")
    early = done.rows[0]
    assert (early["waiting"], early["judged"]) == (waiting, len(rows) - waiting)
    now = (early["high"] - early["low"]) / 2
    assert 0 < early["half_width_at_end"] < now
    assert f"{waiting} of {len(rows)} items wait for a grade" in done.err
    told = call("estimate", *both("d.csv")).out.replace("\n", " ")
    assert f"This is early: {waiting} of {len(rows)} items wait for a grade; " in told
    assert re.search(r"once all are judged it should be about ± \d\.\d+ \(now ± \d\.\d+\)", told), told
    assert "Next: judge the items that wait." in told
    judge_file("d.csv")
    last = call("estimate", *both("d.csv"), "-o", "jsonl").rows[0]
    best = (2**3 - 1) * sum(1 / np.log2(rank + 1) for rank in range(1, 6))
    step = np.log(last["value"] / (best - last["value"])) - np.log(last["low"] / (best - last["low"]))
    # the t half-width, which the interval has on the logit scale
    assert last["half_width_at_end"] == pytest.approx(step / (1 / last["value"] + 1 / (best - last["value"])))
    assert last["half_width_at_end"] == pytest.approx(early["half_width_at_end"], rel=0.5)


def test_known_grades_train_the_model_where_nothing_else_does(call, folder):
    """Each query from the others': its beliefs do not move when its own known grades do."""
    graded = [(f"q{q}", f"d{j}") for q in range(1, 31) for j in range(12) if (q + j) % 3]
    write_lines(folder / "old.qrels", [f"{q} 0 {d} {grade_of(q, d)}" for q, d in graded])
    given = {"runs": ("a.run",), "versus_run": "b.run", "max_grade": 3, "seed": 5}
    case = case_of(judged=("old.qrels",), **given)
    assert case.model == "forest"
    assert case.beliefs.factor is not None
    assert "learned from known" in [note.code for note in case.notes]
    held = case.inputs.pool.item_queries == 4
    name = str(case.inputs.pool.query_ids[4])
    write_lines(folder / "new.qrels", [f"{q} 0 {d} {3 if q == name else grade_of(q, d)}" for q, d in graded])
    other = case_of(judged=("new.qrels",), **given)
    assert np.array_equal(case.beliefs.probs[held], other.beliefs.probs[held])
    assert not np.array_equal(case.beliefs.probs, other.beliefs.probs)
    assert np.array_equal(case.beliefs.probs, case_of(judged=("old.qrels",), **given).beliefs.probs)
    write_lines(folder / "few.qrels", [f"{q} 0 {d} {grade_of(q, d)}" for q, d in graded[:8]])
    few = case_of(judged=("few.qrels",), **given)
    assert few.model == "uniform"
    assert any(re.match(r"\d known grades are too few to learn from", text_of(note)) for note in few.notes)
    assert case_of(judged=("old.qrels",), model="uniform", **given).model == "uniform"
    assert case_of(judged=("old.qrels",), model="logit:tune", **given).model == "logit"


def test_a_top_up_that_pays_for_nothing_is_refused(call, folder):
    assert call("sample", *RUN, "--measure", "DCG@5", "--budget", 20, *files("d.csv")).code == 0
    more = call("--quiet", "top-up", "d.csv.sample.npz", "--budget", 0.5, "--out", "e.sample", "--sheet", "e.csv")
    pays_for_nothing(more, 0.5, "the next unit, of query")
