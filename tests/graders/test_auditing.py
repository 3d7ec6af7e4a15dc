"""``activeeval audit`` and ``campaign audit``: what they print, and in which forms."""

import json

import pytest
from cli_files import csv_rows, write_csv

FILES = ("w.sample", "w.csv")
DRAW = (
    *("sample", "--run", "a.run", "--versus-run", "b.run", "--max-grade", 3, "--measure", "DCG@5", "--budget", 80),
    *("--question", "run", "--question", "versus", "--question", "difference", "--seed", 1, "--out", "w.sample"),
    *("--sheet", "w.csv"),
)
FIELDS = ("grader", "by_grader", "corrected", "corrected_low", "corrected_high", "bias", "bias_low", "bias_high")


def grades_of(folder):
    """Return people's grades by query and document; what nobody judged is 0."""
    lines = (folder / "q.qrels").read_text().splitlines()
    return {(query, doc): max(int(grade), 0) for query, _, doc, grade in map(str.split, lines)}


@pytest.fixture
def judged(call, folder):
    assert call(*DRAW).code == 0
    grades = grades_of(folder)
    rows = csv_rows("w.csv")
    write_csv("w.csv", [row | {"grade": grades.get((row["query_id"], row["doc_id"]), 0)} for row in rows])
    lines = [f"{query} 0 {doc} {min(grade + 1, 3)}\n" for (query, doc), grade in grades.items()]
    (folder / "llm.qrels").write_text("".join(lines))
    return call


def test_other_forms_are_tables(judged):
    answer = judged("audit", *FILES, "--grader", "llm.qrels", "-o", "tsv")
    header, *lines = answer.out.splitlines()
    assert set(FIELDS) <= set(header.split("\t"))
    assert len(lines) == 3
    assert judged("audit", *FILES, "--grader", "llm.qrels", "-o", "md").code == 0


def test_a_reader_sees_a_sentence_the_biases_and_the_values(judged):
    answer = judged("audit", *FILES, "--grader", "llm.qrels:name=gpt")
    assert answer.code == 0
    first = answer.out.splitlines()[0]
    assert first.startswith("DCG@5 of a.run − b.run: gpt alone says")
    assert "people 3" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 100
    assert "above people's" in answer.out


WRONG = [
    ((), 2, "--grader"),
    (("--grader", "none.qrels"), 1, "none.qrels: no such file"),
    (("--grader", "llm.qrels", "--grader", "llm.qrels"), 2, "--grader"),
    (("--grader", "foreign.qrels"), 1, "none of its 1 grades is of an item of the pool"),
    (("--grader", "llm.qrels", "--measure", "nonsense"), 1, "nonsense"),
]


def test_what_cannot_be_audited_is_one_line(judged, folder):
    (folder / "foreign.qrels").write_text("other 0 x 1\n")
    for arguments, code, says in WRONG:
        answer = judged("audit", *FILES, *arguments)
        assert (answer.code, says in answer.err) == (code, True), answer.err


def test_a_campaign_is_audited_and_its_report_has_a_section(judged, folder):
    create = [word for word in DRAW[1:] if word not in ("--out", "--sheet", "w.sample", "w.csv")]
    assert judged("campaign", "create", "week", *create).code == 0
    waiting = judged("campaign", "audit", "week", "--grader", "llm.qrels")
    assert (waiting.code, "no estimate is possible yet" in waiting.err) == (1, True)
    oracle = ("--oracle", "q.qrels", "--unjudged", "irrelevant")
    assert judged("campaign", "judge", "week", "--judge", "ann", *oracle).code == 0
    of_campaign = judged("campaign", "audit", "week", "--grader", "llm.qrels", "-o", "jsonl").rows
    estimated = judged("campaign", "estimate", "week", "-o", "jsonl").rows
    assert {row["corrected"] for row in of_campaign} == {row["value"] for row in estimated}
    for name in ("week.html", "week.json"):
        assert judged("campaign", "report", "week", "--grader", "llm.qrels", "--out", name).code == 0
    page = (folder / "week.html").read_text(encoding="utf-8")
    assert "Audit of graders" in page
    told = json.loads((folder / "week.json").read_text(encoding="utf-8"))["audit"]
    assert [row["bias"] for row in told[0]["rows"]] == [row["bias"] for row in of_campaign]
