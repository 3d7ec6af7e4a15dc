"""Judgments that name queries by texts are read with a table of ids, at every door; ids pass unchanged."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import activeeval as ae
from activeeval.cli import run as run_command
from activeeval.core.errors import InputError
from activeeval.formats.judgments.from_files import read
from activeeval.formats.reading_rules import reading

TEXTS = {f"q{q}": f"red  dress size {q}" for q in range(8)}
GRADES = {f"q{q}": {f"d{q}{k}": (q + k) % 3 for k in range(6)} for q in range(8)}
UNDECIDED = 11
RUN = {query: {doc: float(-k) for k, doc in enumerate(docs)} for query, docs in GRADES.items()}
OTHER = {query: {doc: float(k) for k, doc in enumerate(docs)} for query, docs in GRADES.items()}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two runs, a table of texts, and judgments by ids and by texts, as a table and as JSON."""
    monkeypatch.chdir(tmp_path)
    for name, run in {"a.json": RUN, "b.json": OTHER, "ids.json": GRADES}.items():
        (tmp_path / name).write_text(json.dumps(run))
    (tmp_path / "texts.csv").write_text("id,text\n" + "".join(f"{q},{text}\n" for q, text in TEXTS.items()))
    by_text = {" ".join(TEXTS[query].split()): docs for query, docs in GRADES.items()}
    (tmp_path / "by_text.json").write_text(json.dumps(by_text))
    rows = [f"{text},{doc},{grade}\n" for text, docs in by_text.items() for doc, grade in docs.items()]
    (tmp_path / "by_text.csv").write_text("query,docid,rating\n" + "".join(rows))
    return tmp_path


def output_of(capsys, *words):
    assert run_command(list(words)) in (0, UNDECIDED), capsys.readouterr().err
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines() if words[-1] == "jsonl"]
    return [{name: row.get(name) for name in ("value", "low", "high", "n", "queries", "verdict")} for row in rows]


DOORS = {
    "score": ["score", "{}", "a.json", "nDCG@10"],
    "compare": ["compare", "a.json", "b.json", "--qrels", "{}", "--measure", "nDCG@10"],
    "agreement": ["agreement", "{}", "ids.json"],
}


@pytest.mark.parametrize("judgments", ["by_text.csv", "by_text.json", "ids.json"])
@pytest.mark.parametrize("door", DOORS)
def test_a_door_reads_texts_as_ids(folder, capsys, door, judgments):
    asked = [word.format("named.txt") for word in DOORS[door]]
    (folder / "named.txt").write_text((folder / judgments).read_text())
    by_text = output_of(capsys, *asked, "--queries", "texts.csv", "-o", "jsonl")
    (folder / "named.txt").write_text((folder / "ids.json").read_text())
    assert by_text == output_of(capsys, *asked, "-o", "jsonl")


def test_a_sample_knows_and_is_judged_by_texts(folder, capsys):
    to = ["--measure", "DCG@3", "--seed", "3", "--budget", "8", "--max-grade", "2", "--sheet", "s.csv", "--out"]
    some = {TEXTS[query]: GRADES[query] for query in ("q0", "q1")}
    (folder / "some.json").write_text(json.dumps(some))
    (folder / "some_ids.json").write_text(json.dumps({query: GRADES[query] for query in ("q0", "q1")}))
    for out, known in {"t.sample": "some.json", "i.sample": "some_ids.json"}.items():
        asked = ["sample", "--run", "a.json", "--judged", known, "--queries", "texts.csv", *to, out, "--force"]
        output_of(capsys, *asked)
    estimates = [
        output_of(capsys, "estimate", sample, sheet, "--queries", "texts.csv", "-o", "jsonl")
        for sample, sheet in (("t.sample", "by_text.csv"), ("i.sample", "ids.json"))
    ]
    values = [[row["value"] for row in rows] for rows in estimates]
    assert values[0] == values[1]


def test_python_takes_a_table_of_texts(folder):
    frame = pd.read_csv(folder / "by_text.csv")
    frame = frame.rename(columns={"docid": "doc_id", "rating": "grade"})
    by_ids = ae.score(GRADES, RUN, "nDCG@10").value
    assert ae.score("by_text.csv", RUN, "nDCG@10", queries="texts.csv").value == pytest.approx(by_ids)
    difference = ae.compare(RUN, OTHER, judgments="by_text.json", measure="nDCG@10", queries="texts.csv").value
    assert difference == pytest.approx(ae.score(GRADES, OTHER, "nDCG@10").value - by_ids)
    assert len(frame) == len(read("by_text.csv"))


@pytest.mark.parametrize(
    ("texts", "judgments", "problem"),
    [
        ("id,text\nq1,hat\nq2,hat\n", "query,docid,rating\nhat,d1,1\n", "is of the queries q1 and q2, expected one"),
        ("id,text\nq1,hat\n", "query,docid,rating\ncap,d1,1\n", "holds no query of by.csv, whose first is 'cap'"),
    ],
)
def test_texts_that_do_not_lead_to_one_id_are_refused(folder, texts, judgments, problem):
    (folder / "t.csv").write_text(texts)
    (folder / "by.csv").write_text(judgments)
    with reading(queries="t.csv"), pytest.raises(InputError, match=problem):
        read("by.csv")


def test_a_text_without_an_id_is_left_out_and_counted(folder):
    (folder / "t.csv").write_text("id,text\nq1,hat\n")
    (folder / "by.csv").write_text("query,docid,rating\nhat,d1,1\ncap,d1,1\n")
    with reading(queries="t.csv"):
        judgments = read("by.csv")
    assert [(row.query, row.item) for row in judgments] == [("q1", "d1")]
    assert {note.code: note.numbers.get("n") for note in judgments.read_notes}["queries without id"] == 1
