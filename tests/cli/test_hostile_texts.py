"""Ids, names and notes that would be formulas in a sheet, commands in a terminal or another text in a report."""

import csv
import re
from pathlib import Path

import pytest
from cli_files import csv_rows, write_lines

from activeeval.formats.judgments.from_files import read
from activeeval.formats.tables.cells import is_formula
from activeeval.formats.tables.export import write_columns
from activeeval.formats.tables.read_tables import read_sheet

FORMULAS = ["=1+1", "+d", "-5", "@SUM(A1)", "'=2", "''-3", '=HYPERLINK("http://x","y")', "d,7", "plain"]
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
CODES = ["d\x1b[2J", "d\x7f", "d\x9b1m", "d\u202efdp.exe", "d\u2066x"]


def bare_cells(path):
    with open(path, encoding="utf-8", newline="") as handle:
        rows = list(csv.reader(handle, delimiter="\t" if path.endswith("tsv") else ","))
    return [c for row in rows for c in row if is_formula(c) and c[:1] != "'" and not re.fullmatch(r"-?[\d.e-]+", c)]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.parquet"])
def test_texts_of_every_table_are_read_as_they_were_written(tmp_path, name):
    path = str(tmp_path / name)
    write_columns({"query_id": FORMULAS, "note": [*FORMULAS[1:], None], "number": range(-1, len(FORMULAS) - 1)}, path)
    if name.endswith("sv"):
        assert bare_cells(path) == []
    sheet = read_sheet(path)
    assert sheet.texts("query_id").tolist() == sheet.words("query_id") == FORMULAS
    assert sheet.words("note") == [*FORMULAS[1:], ""]
    assert sheet.wholes("number").tolist() == list(range(-1, len(FORMULAS) - 1))


def hostile_campaign(call):
    """Make and judge a campaign of such queries, documents, judges and notes."""
    queries = [f"{start}q{k}" for k, start in enumerate("=+-@" * 3)]
    docs = [f"{start}d{k}" for k, start in enumerate(["=", "+", "-", "@", "'="])]
    lines = [f"{q} Q0 {d} {r + 1} {9 - r} t" for q in queries for r, d in enumerate(docs)]
    write_lines(Path("h.run"), lines)
    write_lines(Path("h.qrels"), [f"{q} 0 {d} {r % 3}" for q in queries for r, d in enumerate(docs)])
    create = ("create", "w", "--run", "h.run", "--max-grade", 2, "--measure", "DCG@5", "--budget", 40)
    for words in (create, ("judge", "w", "--judge", "=ann", "--oracle", "h.qrels")):
        assert call("campaign", *words).code == 0
    return {(q, d): r % 3 for q in queries for r, d in enumerate(docs)}


def test_no_export_of_a_campaign_holds_a_formula_and_all_are_read_back(call):
    labels = hostile_campaign(call)
    for form in ("csv", "weights", "quepid"):
        assert call("campaign", "export", "w", "--format", form, "--out", f"{form}.csv").code == 0
        assert bare_cells(f"{form}.csv") == [], form
        rows = list(read(f"{form}.csv"))
        assert len(rows) == 40
        assert all(labels[row.query, row.item] == row.value for row in rows)
        assert {row.judge.name for row in rows} == {"=ann" if form == "csv" else ""}
    assert read("weights.csv").graded_pairs().keys() <= set(labels)
    assert len(csv_rows("weights.csv")) == 40


def test_what_is_shown_moves_no_cursor_and_turns_no_letters(call):
    pairs = [f"{q}{code},d{k}" for q in ("q1", "q2") for k, code in enumerate(CODES)]
    write_lines(Path("c.csv"), ["query_id,doc_id,relevance", *(f"{pair},1" for pair in pairs)])
    write_lines(Path("r.csv"), ["query_id,doc_id,score", *(f"{pair},1" for pair in pairs)])
    for form in ("text", "md", "latex"):
        done = call("score", "c.csv", "r.csv", "P@1", "-q", "-o", form)
        assert not UNSEEN.search(done.out + done.err), form
        assert "\\" in done.out
    lost = call("score", "c.csv", "d\x1b[2J.run", "P@1")
    assert not UNSEEN.search(lost.err)


def test_what_people_and_other_tools_are_given_of_a_campaign_moves_no_cursor(call):
    pairs = [(f"q{k}{code}", f"d{k}{code}") for k, code in enumerate(CODES)]
    write_lines(Path("run.csv"), ["query_id,doc_id,score", *(f"{query},{doc},1" for query, doc in pairs)])
    write_lines(Path("grades.csv"), ["query_id,doc_id,relevance", *(f"{query},{doc},1" for query, doc in pairs)])
    write_lines(Path("u.csv"), ["query_id,query", *(f"{query},what\x1b[2J is {query}" for query, _ in pairs)])
    words = ("--run", "run.csv", "--queries", "u.csv", "--max-grade", 2, "--measure", "P@1", "--budget", 5)
    assert call("campaign", "create", "u", *words).code == 0
    token = call("campaign", "claim", "u", "--judge", "b\x1b\u202ea").rows[0]["token"]
    assert call("campaign", "submit", "u", "--token", token, "--cannot", "two\nlines \x1b[2J").code == 0
    assert call("campaign", "judge", "u", "--judge", "a\x1b\u202en", "--oracle", "grades.csv").code == 0
    for form in ("quepid", "csv"):
        assert call("campaign", "export", "u", "--format", form, "--out", f"{form}.csv").code == 0
    rows = csv_rows("quepid.csv")
    assert len(rows) >= 3
    assert all("what\\x1b[2J is q" in row["query"] for row in rows)
    assert not UNSEEN.search(Path("quepid.csv").read_text())
    of_people = [text for row in csv_rows("csv.csv") for name, text in row.items() if name in ("judge", "note")]
    assert not UNSEEN.search("".join(of_people))
    assert "two\nlines \\x1b[2J" in of_people


def test_a_report_spells_them_out_too(call):
    hostile_campaign(call)
    call("campaign", "create", "v", "--run", "h.run", "--max-grade", 2, "--budget", 20)
    call("campaign", "judge", "v", "--judge", "a\x1b\u202en", "--oracle", "h.qrels")
    for name in ("v.html", "v.md"):
        assert call("campaign", "report", "v", "--out", name).code == 0
        assert not UNSEEN.search(Path(name).read_text("utf-8"))
