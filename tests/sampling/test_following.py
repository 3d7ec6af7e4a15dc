"""`activeeval next`: the second sheet depends on the first."""

import re

import pytest
from cli_cases import RUN, judge_file
from cli_files import csv_rows, write_csv

DRAW = (*RUN, "--versus-run", "b.run", "--measure", "nDCG@5", "--budget", "60%", "--seed", 3, "--adaptive-depth", "1")
FILES = ("--out", "w.sample", "--sheet", "w.csv")


@pytest.fixture
def drawn(call):
    done = call("sample", *DRAW, *FILES)
    assert done.code == 0, done.err
    return done


def following(call, *sheets):
    return call("next", "w.sample", *sheets, "--sheet", f"w-{len(sheets) + 1}.csv")


def judged_to_its_end(call):
    """Judge sheet after sheet; return their names and what was said last."""
    sheets = ["w.csv"]
    while True:
        judge_file(sheets[-1])
        done = following(call, *sheets)
        assert done.code == 0, done.err
        if "the sample is complete" in done.err:
            return sheets, done
        sheets.append(f"w-{len(sheets) + 1}.csv")


def test_sheet_after_sheet_to_an_estimate(call, drawn):
    assert "once judged, `activeeval next w.sample w.csv --sheet w-2.csv` draws what comes next" in drawn.err
    sheets, done = judged_to_its_end(call)
    assert len(sheets) >= 2
    budget = float(re.search(r"of (\d+) judgments", drawn.err)[1])
    assert float(re.search(r"the sample is complete: ([\d.]+) of a budget", done.err)[1]) <= budget
    pairs = [(row["query_id"], row["doc_id"]) for sheet in sheets for row in csv_rows(sheet)]
    assert len(pairs) == len(set(pairs))
    answer = call("estimate", "w.sample", *sheets, "-o", "jsonl").rows[0]
    assert answer["low"] <= answer["value"] <= answer["high"]
    again = call("estimate", "w.sample", *reversed(sheets), "-o", "jsonl").rows[0]
    assert again["value"] == answer["value"]
    assert following(call, *sheets).err == done.err


def test_a_lost_sheet_is_written_once_more(call, drawn, folder):
    judge_file("w.csv")
    assert following(call, "w.csv").code == 0
    first, sample = (folder / "w-2.csv").read_bytes(), (folder / "w.sample").read_bytes()
    (folder / "w-2.csv").unlink()
    done = following(call, "w.csv")
    assert done.code == 0, done.err
    assert "once more: its sample was drawn before" in done.err
    assert ((folder / "w-2.csv").read_bytes(), (folder / "w.sample").read_bytes()) == (first, sample)


def test_what_is_not_judged_to_its_end_is_refused_and_nothing_is_written(call, drawn, folder):
    judge_file("w.csv")
    rows = csv_rows("w.csv")
    rows[0]["grade"] = ""
    write_csv("w.csv", rows)
    before = (folder / "w.sample").read_bytes()
    done = following(call, "w.csv")
    assert (done.code, done.out) == (1, "")
    assert "1 item of batch 1 waits for a grade: the next follows from all its labels" in done.err
    assert (folder / "w.sample").read_bytes() == before
    assert not (folder / "w-2.csv").exists()
    early = call("estimate", "w.sample", "w.csv")
    assert early.code == 1
    assert "wait, the first of batch 1" in early.err


def test_sheets_of_another_sample_and_samples_without_looks_are_refused(call, drawn, folder):
    judge_file("w.csv")
    other = call("sample", *DRAW[:-4], "--seed", 4, "--adaptive-depth", "1", "--out", "v.sample", "--sheet", "v.csv")
    assert other.code == 0, other.err
    judge_file("v.csv")
    done = following(call, "v.csv")
    assert (done.code, done.out) == (1, "")
    assert "v.csv: the sheet is of sample" in done.err
    plain = call("sample", *DRAW[:-2], "--adaptive-depth", "off", "--out", "p.sample", "--sheet", "p.csv")
    assert plain.code == 0, plain.err
    judge_file("p.csv")
    refused = call("next", "p.sample", "p.csv", "--sheet", "p-2.csv")
    assert "p.sample: all of this sample was drawn at once" in refused.err
    by_items = ("--measure", "DCG@5", "--budget", "60%", "--adaptive-depth", "3")
    items = call("sample", *RUN, *by_items, "--out", "i", "--sheet", "i.csv")
    assert (items.code, items.out) == (1, "")
    assert "'items' does not" in items.err


def test_a_top_up_goes_on(call, drawn):
    sheets, _ = judged_to_its_end(call)
    done = call("top-up", "w.sample", "--budget", "30%", "--out", "x.sample", "--sheet", "x.csv")
    assert done.code == 0, done.err
    judge_file("x.csv")
    sheets.append("x.csv")
    n = 0
    while "the sample is complete" not in (done := call("next", "x.sample", *sheets, "--sheet", f"x{n}.csv")).err:
        assert done.code == 0, done.err
        judge_file(f"x{n}.csv")
        sheets.append(f"x{n}.csv")
        n += 1
    assert call("estimate", "x.sample", *sheets).code == 0
