"""Sheets for people: one each, workbooks to choose grades in, every wrong cell named at once."""

import re
import sys
from collections import Counter
from itertools import groupby

import pytest
from cli_cases import RUN, both, files, grade_of, judge_file
from cli_files import csv_rows, write_csv, write_lines
from openpyxl import load_workbook

from activeeval.core.pool.texts import Texts
from activeeval.formats.tables.draws import EMPTY, Draws, read_draws, write_draws

DRAW = (*RUN, "--versus-run", "b.run", "--measure", "DCG@5", "--budget", "60%", "--seed", 3)
PEOPLE = ("ann", "bob", "cy")
JUDGES = tuple(word for name in PEOPLE for word in ("--judge", name))
SHEETS = [f"d-{name}.csv" for name in PEOPLE]


@pytest.fixture
def shared(call):
    """Draw a sample for three people, twenty items on everybody's sheet, and judge the sheets alike."""
    done = call("sample", *DRAW, *JUDGES, "--overlap", 20, *files("d.csv"))
    assert done.code == 0, done.err
    n_items = int(re.search(r"(\d+) items of \d+ queries", done.err)[1])
    shared_out = f"20 items stand on the sheets of all 3 judges, the others on one each: {n_items + 40} gradings for"
    assert f"{shared_out} {n_items} judgments" in " ".join(done.err.split())
    for sheet in SHEETS:
        judge_file(sheet)
    return done


def pairs(sheet):
    return [(row["query_id"], row["doc_id"]) for row in csv_rows(sheet)]


def test_of_three_people_with_a_sheet_each_no_judgment_is_lost(call, shared):
    n_of = Counter(pair for sheet in SHEETS for pair in pairs(sheet))
    assert sorted(n_of.values()) == [1] * (len(n_of) - 20) + [3] * 20
    sizes = [len(pairs(sheet)) for sheet in SHEETS]
    assert max(sizes) - min(sizes) <= 2
    for sheet, name in zip(SHEETS, PEOPLE, strict=True):
        rows = csv_rows(sheet)
        assert {row["judge"] for row in rows} == {name}
        by_query = [key for key, _ in groupby(rows, key=lambda row: (row["block"], row["query_id"]))]
        assert len(by_query) == len(set(by_query))
    together = call("estimate", "d.csv.sample.npz", *SHEETS, "-o", "jsonl")
    assert "20 items were judged by several judges, 20 of them alike" in together.err
    assert call("sample", *DRAW, *files("e.csv")).code == 0
    assert sorted(pairs("e.csv")) == sorted(n_of)
    judge_file("e.csv")
    alone = call("estimate", *both("e.csv"), "-o", "jsonl")
    assert together.rows == alone.rows


def test_all_items_that_judges_grade_differently_are_named(call, shared):
    common = set(pairs("d-ann.csv")) & set(pairs("d-bob.csv"))
    rows = csv_rows("d-bob.csv")
    turned = [(int(r["grade"]) + ((r["query_id"], r["doc_id"]) in common)) % 4 for r in rows]
    write_csv("d-bob.csv", [row | {"grade": grade} for row, grade in zip(rows, turned, strict=True)])
    done = call("estimate", "d.csv.sample.npz", *SHEETS)
    assert (done.code, done.out) == (1, "")
    lines = [line for line in done.err.splitlines() if "has two grades" in line]
    assert len(lines) == 20
    for line in lines:
        theirs = r"\d of 'ann' \(d-ann\.csv:\d+\) and \d of 'bob' \(d-bob\.csv:\d+\) and \d of 'cy'$"
        assert re.search(rf"d-cy\.csv:\d+: item .* has two grades, {theirs}", line), line
    assert done.err.splitlines()[-1].startswith("activeeval: add --policy majority | median | mean-gain, or let")
    known = call("sample", *DRAW, "--judged", SHEETS[0], "--judged", SHEETS[1], *files("e.csv"))
    assert known.err.splitlines()[-1].startswith("activeeval: add --judged-policy majority | median, or let")
    assert "(d-ann.csv:" in known.err
    done = call("estimate", "d.csv.sample.npz", *SHEETS, "--policy", "majority")
    assert (done.code, "20 items were judged by several judges, 0 of them alike" in done.err) == (0, True)


@pytest.mark.parametrize(("people", "policy"), [(PEOPLE, "majority"), (PEOPLE[:2], "mean-gain")])
def test_the_estimate_that_a_shared_sample_suggests_works_where_judges_differ(call, people, policy):
    judges = tuple(word for name in people for word in ("--judge", name))
    drawn = call("sample", *DRAW, *judges, "--overlap", 20, *files("d.csv"))
    again = call("sheet", "d.csv.sample.npz", *judges, "--overlap", 20, "--out", "d.csv", "--force")
    for name in people:
        judge_file(f"d-{name}.csv")
    rows = csv_rows("d-bob.csv")
    write_csv("d-bob.csv", [row | {"grade": 3 - int(row["grade"])} for row in rows])
    for done in (drawn, again):
        (suggested,) = re.findall("`activeeval (estimate [^`]*)`", " ".join(done.err.split()))
        assert suggested.endswith(f" --policy {policy}")
        assert call(*suggested.split()).code == 0


def test_a_top_up_says_that_the_work_was_shared_out(call, shared):
    grow = ("top-up", "d.csv.sample.npz", "--budget", 15)
    alone = call(*grow, *files("e.csv"))
    assert "was shared out to ann, bob, cy; e.csv is one sheet for all: --judge" in " ".join(alone.err.split())
    together = call(*grow, *JUDGES, "--overlap", 5, *files("f.csv"))
    said = " ".join(together.err.split())
    assert "was shared out" not in said
    assert "5 items stand on the sheets of all 3 judges" in said
    assert "f-ann.csv f-bob.csv f-cy.csv --policy majority` reads it" in said


def test_sheets_of_several_people_are_written_all_or_none(call, folder):
    (folder / "d-bob.csv").write_text("work")
    done = call("sample", *DRAW, *JUDGES, "--out", "d.sample", "--sheet", "d.csv")
    assert (done.code, "d-bob.csv: is there already" in done.err) == (1, True)
    assert not (folder / "d-ann.csv").exists()
    assert not (folder / "d.sample").exists()


def test_a_workbook_offers_the_grades_and_says_how_to_judge(call, folder):
    write_lines(folder / "how.md", ["# How", "", "=Read both."])
    names = ("--grade", "0=off topic", "--grade", "3=perfect", "--guidelines", "how.md")
    assert call("sample", *DRAW, *names, *files("d.xlsx")).code == 0
    first = (folder / "d.xlsx").read_bytes()
    book = load_workbook("d.xlsx")
    sheet, page = book.worksheets
    choices = sheet.data_validations.dataValidation[0]
    assert (choices.type, choices.formula1) == ("list", "guidelines!$A$2:$A$6")
    assert str(choices.sqref) == f"F2:F{sheet.max_row}"
    assert [page.cell(row, 1).value for row in range(2, 7)] == ["0: off topic", 1, 2, "3: perfect", "cannot"]
    assert [cell.value for cell in page["A"]][-3:] == ["# How", None, "=Read both."]
    again = call("sheet", "d.xlsx.sample.npz", *names, "--out", "d.xlsx", "--force")
    assert (again.code, (folder / "d.xlsx").read_bytes() == first) == (0, True), again.err
    for row in range(2, sheet.max_row + 1):
        grade = grade_of(sheet.cell(row, 3).value, sheet.cell(row, 4).value)
        sheet.cell(row, 6).value = {0: "0: off topic", 3: "3: perfect"}.get(grade, grade)
    book.save("d.xlsx")
    assert call("sample", *DRAW, *files("e.csv")).code == 0
    judge_file("e.csv")
    rows = [call("estimate", *both(name), "-o", "jsonl").rows for name in ("d.xlsx", "e.csv")]
    assert rows[0] == rows[1]
    assert call("score", "d.xlsx", "a.run", "P@5").out == call("score", "e.csv", "a.run", "P@5").out


def test_without_openpyxl_the_extra_is_named(call, monkeypatch):
    assert call("sample", *DRAW, *files("c.xlsx")).code == 0
    words = "\n".join(str(cell.value) for cell in load_workbook("c.xlsx").worksheets[1]["A"])
    assert "`cannot`" in words
    assert "CSV UTF-8" in words
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    done = call("sample", *DRAW, *files("d.xlsx"))
    assert done.code == 1
    assert done.err.splitlines()[-1].startswith('activeeval: d.xlsx: .xlsx is written with pip install "activeeval-ir[')


def test_every_wrong_cell_is_named_with_what_is_allowed(call):
    assert call("sample", *DRAW, *files("d.csv")).code == 0
    rows = judge_file("d.csv")
    for row in rows[:25]:
        row["grade"] = "good"
    rows[30]["grade"], rows[31]["grade"] = "7", "Cannot"
    write_csv("d.csv", rows)
    done = call("estimate", *both("d.csv"))
    lines = done.err.splitlines()
    assert lines[0] == "activeeval: d.csv:2: column grade: holds 'good', expected 0, 1, 2, 3, empty or cannot"
    assert [line.split(":")[2] for line in lines[:20]] == [str(number) for number in range(2, 22)]
    assert lines[20:] == ["activeeval: and 6 more"]
    scored = call("score", "d.csv", "a.run", "P@5").err.splitlines()
    assert scored[20:] == ["activeeval: and 5 more"]


def test_a_sheet_that_windows_saved_is_said_to_be_one(call, folder):
    assert call("sample", *DRAW, *files("d.csv")).code == 0
    rows = judge_file("d.csv")
    rows[0]["note"] = "café"
    write_csv("d.csv", rows, encoding="cp1252")
    done = call("estimate", *both("d.csv"))
    assert (done.code, len(done.err.splitlines())) == (1, 1)
    assert "café' reads as Windows-1252; save the sheet as CSV UTF-8" in done.err


def test_a_workbook_holds_every_id_as_it_is(tmp_path):
    ids = ["=1+1", "0012", "_x0041_", " padded ", "a\nb", "1e5", "'quoted", "café", "🜁"]
    of_queries, of_docs = Texts.from_list(ids), Texts.from_list(ids[::-1])
    n = len(ids)
    draws = Draws(sample="abc", block=[1] * n, query_id=of_queries, doc_id=of_docs, grade=[EMPTY] * n)
    write_draws(draws, tmp_path / "a.xlsx")
    back = read_draws(tmp_path / "a.xlsx")
    assert (back.query_id.tolist(), back.doc_id.tolist()) == (ids, ids[::-1])
