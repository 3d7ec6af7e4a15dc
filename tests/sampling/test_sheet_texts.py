"""`--documents` and `--queries`: the judges read texts on the sheet, and nothing else changes."""

import json

import numpy as np
import pytest
from cli_cases import RUN, both, files, judge_file, judged, one_line
from cli_files import csv_rows, write_csv, write_lines

COLUMNS = ["sample", "block", "query_id", "doc_id", "judge", "grade", "note"]
DRAW = (*RUN, "--measure", "DCG@5", "--budget", "40%")
TEXTS = ("--documents", "docs.jsonl", "--queries", "queries.csv")


def text_of(document):
    return f"=1+{document[1:]}\nthe “text” of {document}, long; and\twide"


@pytest.fixture
def texts(folder):
    """Write texts of all items but d11, whose text is empty, and of all queries but q3."""
    docs = [{"docno": f"d{j}", "text": text_of(f"d{j}"), "title": f"-{j}", "lang": "en"} for j in range(11)]
    docs.append({"docno": "d11", "text": " ", "title": None, "lang": "en"})
    write_lines(folder / "docs.jsonl", [json.dumps(doc) for doc in docs])
    queries = [{"qid": f"q{q}", "text": f"what is\r\n{q}?"} for q in range(1, 41) if q != 3]
    write_csv(folder / "queries.csv", [*queries, {"qid": "qX", "text": "+x"}], encoding="utf-8-sig", delimiter=";")
    return docs


@pytest.mark.parametrize("suffix", ["tsv", "jsonl"])
def test_the_sheet_holds_the_texts_before_the_judge(call, folder, texts, suffix):
    done = call("sample", *DRAW, *TEXTS, *files(f"d.{suffix}"))
    assert done.code == 0, done.err
    if suffix == "tsv":
        rows, mark = csv_rows("d.tsv", "\t"), "'"
    else:
        rows, mark = [json.loads(line) for line in (folder / "d.jsonl").read_text().splitlines()], ""
        rows = [{name: "" if cell is None else cell for name, cell in row.items()} for row in rows]
    assert list(rows[0]) == [*COLUMNS[:4], "query", "title", "text", *COLUMNS[4:]]
    for row in rows:
        held = row["doc_id"] != "d11"
        assert row["text"] == (mark + text_of(row["doc_id"]) if held else "")
        assert row["title"] == (f"{mark}-{row['doc_id'][1:]}" if held else "")
        query = row["query_id"]
        assert row["query"] == {"q3": "", "qX": f"{mark}+x"}.get(query, f"what is\n{query[1:]}?")
    n_items, n_queries = sum(row["doc_id"] == "d11" for row in rows), len({row["query_id"] for row in rows})
    assert f"activeeval: {n_items} of {len(rows)} items have no text in docs.jsonl\n" in done.err
    assert ("q3" in {row["query_id"] for row in rows}) == (f"1 of {n_queries} queries has no text" in done.err)


def test_nothing_but_the_sheet_changes(call, folder, texts):
    assert call("sample", *DRAW, *files("d.csv")).code == 0
    assert call("sample", *DRAW, *TEXTS, *files("e.csv")).code == 0
    plain, rich = csv_rows("d.csv"), csv_rows("e.csv")
    assert list(plain[0]) == COLUMNS
    assert [{name: row[name] for name in COLUMNS} for row in rich] == plain
    arrays = [dict(np.load(f"{name}.csv.sample.npz")) for name in "de"]
    assert arrays[1].pop("texts").size > 0
    assert arrays[0].keys() == arrays[1].keys()
    for name, array in arrays[0].items():
        assert np.array_equal(array, arrays[1][name], equal_nan=array.dtype.kind == "f")
    judge_file("d.csv")
    write_csv("e.csv", judged(rich), delimiter=";", encoding="utf-8-sig")
    assert call("estimate", *both("e.csv"), "-o", "jsonl").rows == call("estimate", *both("d.csv"), "-o", "jsonl").rows
    known = [call("sample", *DRAW, "--judged", name, *files("f.csv"), "--force").err for name in ("d.csv", "e.csv")]
    assert known[0] == known[1]


def test_a_top_up_has_the_texts_of_what_is_new(call, folder, texts):
    assert call("sample", *DRAW, *files("d.csv")).code == 0
    done = call("top-up", "d.csv.sample.npz", "--budget", 20, *TEXTS, *files("e.csv"))
    assert done.code == 0, done.err
    rows = csv_rows("e.csv")
    assert rows
    assert all(row["text"] == ("" if row["doc_id"] == "d11" else f"'{text_of(row['doc_id'])}") for row in rows)
    assert not {(r["query_id"], r["doc_id"]) for r in rows} & {(r["query_id"], r["doc_id"]) for r in csv_rows("d.csv")}
    assert f"of {len(rows)} items have no text" in done.err or "d11" not in {row["doc_id"] for row in rows}


def test_a_query_has_a_text_or_a_title(call, folder):
    queries = [{"id": f"q{q}", "title": f"t{q}", "text": None if q % 2 else f"x{q}"} for q in range(1, 41)]
    write_lines(folder / "q.jsonl", [json.dumps(query) for query in queries])
    assert call("sample", *DRAW, "--queries", "q.jsonl", *files("d.csv")).code == 0
    for row in csv_rows("d.csv"):
        number = row["query_id"][1:]
        assert row["query"] == ("" if number == "X" else f"t{number}" if int(number) % 2 else f"x{number}")


def test_a_file_of_texts_is_not_overwritten(call, folder, texts):
    before = (folder / "queries.csv").read_bytes()
    for written in (("--out", "x.npz", "--sheet", "queries.csv"), ("--out", "queries.csv", "--sheet", "d.csv")):
        refused = r"queries\.csv: is read and would be overwritten, expected another name for what is written"
        one_line(call("sample", *DRAW, *TEXTS, *written, "--force"), refused)
    assert (folder / "queries.csv").read_bytes() == before


def test_texts_are_remembered_by_a_sample(call, folder, texts):
    assert call("sample", *DRAW, *TEXTS, *files("d.csv")).code == 0
    done = call("top-up", "d.csv.sample.npz", "--budget", 20, *files("e.csv"))
    assert "the texts of the documents are those of" in done.err
    assert all(row["text"] or row["doc_id"] == "d11" for row in csv_rows("e.csv"))
    first = (folder / "d.csv").read_bytes()
    assert call("sheet", "d.csv.sample.npz", "--out", "d.csv", "--force").code == 0
    assert (folder / "d.csv").read_bytes() == first
    third = call("top-up", "e.csv.sample.npz", "--budget", 20, *files("f.csv"))
    assert third.code == 0
    assert any(row["query"] for row in csv_rows("f.csv"))
    with (folder / "docs.jsonl").open("a") as more:
        more.write(json.dumps({"docno": "new", "text": "x"}) + "\n")
    assert "which has changed since" in call("sheet", "d.csv.sample.npz", "--out", "g.csv").err
    (folder / "docs.jsonl").unlink()
    done = call("top-up", "d.csv.sample.npz", "--budget", 20, *files("e.csv"))
    assert (done.code, "no longer exists (--documents)" in done.err) == (0, True)
    assert "text" not in csv_rows("e.csv")[0]


def test_texts_are_remembered_by_a_campaign(call, folder, texts):
    made = (*RUN, "--measure", "DCG@5", "--seed", 3)
    assert call("campaign", "create", "w", *made, "--budget", 20, *TEXTS).code == 0
    assert call("campaign", "top-up", "w", "--budget", 20).code == 0
    assert call("campaign", "next", "w", "--ahead", "--judge", "ann", "--out", "w.csv").code == 0
    rows = judge_file("w.csv")
    assert all(row["text"] or row["doc_id"] == "d11" for row in rows)
    assert call("campaign", "import", "w", "w.csv").code == 0
    done = call("campaign", "create", "w", "--redraw", *made, "--budget", 20)
    assert (done.code, "as before" in done.err) == (0, True), done.err
    assert call("campaign", "next", "w", "--ahead", "--judge", "ann", "--out", "x.csv").code == 0
    assert all(row["text"] or row["doc_id"] == "d11" for row in csv_rows("x.csv"))
    done = call("campaign", "create", "v", *made, "--budget", 20, "--judged-from", "sqlite:///w.activeeval#w")
    assert (done.code, "as before" in done.err) == (0, True), done.err
