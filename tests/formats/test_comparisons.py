from __future__ import annotations

import re
from itertools import permutations

import pandas as pd
import pytest

from activeeval.core.errors import FormatError, InputError
from activeeval.core.judgments.comparisons import Comparison, Truth
from activeeval.formats.comparisons import comparisons_of, truths_of, write_comparisons, write_truth
from activeeval.formats.tables.read_tables import frame_sheet, read_sheet


def read_comparisons(path):
    return comparisons_of(read_sheet(path))


def read_truth(path):
    return truths_of(read_sheet(path))


COMPARED = [
    Comparison("q1", "d1", "d2"),
    Comparison("q1", "d2", "d3", is_tie=True),
    Comparison("q 2", "é", "d1", judge="Ann"),
]
TRUTHS = {"q1": Truth(("d3", "d1")), "007": Truth(("a",), ("b", "c")), "q3": Truth((), ("a",))}
TRUTHS["q4"] = Truth(("b", "a", "c", "z"), ("d",), ("e",), ranks=(1, 2, 2, 2))
TIED = ("q4,1,b", "q4,2,a", "q4,2,c", "q4,2,z", "q4,,d", "q4,bad,e")


def test_a_truth_does_not_depend_on_the_order_of_what_is_alike():
    for rows in permutations(line.split(",") for line in TIED):
        frame = pd.DataFrame([[cell or None for cell in row] for row in rows], columns=["query", "rank", "doc_id"])
        assert truths_of(frame_sheet(frame, "t")) == {"q4": TRUTHS["q4"]}
    assert Truth.of([["b"], ["z", "a", "c"]], ["d"], ["e"]) == TRUTHS["q4"]
    assert Truth.of([["d3"], ["d1"]]) == TRUTHS["q1"]


@pytest.mark.parametrize("name", ["p.jsonl", "p.jsonl.gz"])
def test_comparisons_come_back(tmp_path, name):
    write_comparisons(COMPARED, tmp_path / name)
    assert read_comparisons(tmp_path / name) == COMPARED


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl", "t.csv.gz", "t.parquet"])
def test_truths_come_back(tmp_path, name):
    write_truth(TRUTHS, tmp_path / name)
    assert read_truth(tmp_path / name) == TRUTHS


def test_the_files_read_as_they_should(tmp_path):
    write_truth({"q1": Truth(("d3", "d1"), ("d9",))}, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "query,rank,doc_id\nq1,1,d3\nq1,2,d1\nq1,,d9\n"
    write_truth({"q1": Truth(("d3", "d1"))}, tmp_path / "t.jsonl")
    assert (tmp_path / "t.jsonl").read_text().splitlines()[0] == '{"query":"q1","rank":1,"doc_id":"d3"}'
    write_truth({"q4": TRUTHS["q4"]}, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().split() == ["query,rank,doc_id", *TIED]
    write_comparisons(COMPARED[:1], tmp_path / "p.jsonl")
    assert (tmp_path / "p.jsonl").read_text() == '{"query": "q1", "preferred": "d1", "other": "d2", "tie": false}\n'
    (tmp_path / "any.csv").write_text("doc_id,rank,qid\nb,2,q\na,1,q\n")
    assert read_truth(tmp_path / "any.csv") == {"q": Truth(("a", "b"))}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "query,rank,doc_id\nq,1,a\nq,1,b\nq,2,c\n",
            "t.csv:4: column rank: query 'q' has a rank 2, but none of 3, as 2 documents stand before it",
        ),
        ("query,rank,doc_id\nq,1,a\nq,3,b\n", "t.csv:3: column rank: query 'q' has a rank 3, but none of 2"),
        ("query,rank,doc_id\nq,2,a\n", "t.csv:2: column rank: query 'q' has a rank 2, but none of 1"),
        ("query,rank,doc_id\nq,0,a\n", "t.csv:2: column rank: holds 0, expected a whole number from 1 on"),
        ("query,rank,doc_id\nq,1.5,a\n", "t.csv:2: column rank: holds 1.5, expected a whole number"),
        ("query,rank,doc_id\nq,x,a\n", "t.csv:2: column rank: 'x' is not a number, expected one"),
        (
            "query,rank,doc_id\nq,1,a\nq,2,a\n",
            "t.csv:3: column doc_id: 'a' of query 'q' is there twice, first at line 2",
        ),
        ("query,rank,doc_id\nq,1,\n", "t.csv:2: column doc_id: is empty, expected an id"),
        ("query,rank,doc_id\nq,1\n", "t.csv:2: 2 cells in 'q,1', expected 3: query, rank, doc_id"),
        ("query,place,doc_id\nq,1,a\n", "t.csv:1: no rank column in: query, place, doc_id; expected rank"),
        ("query,rank,doc_id\n", "t.csv: the table holds no rows"),
    ],
)
def test_broken_truths_name_their_line(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(FormatError, match=f"^{re.escape(message)}$"):
        read_truth("t.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"query": "q", "preferred": "a"}', "p.jsonl:1: no document column in: query, preferred; expected other"),
        (
            '{"query": "q", "preferred": "a", "other": "a"}',
            "p.jsonl:1: column other: holds 'a' as preferred does, expected another document",
        ),
        (
            '{"query": "q", "preferred": "a", "other": "b", "tie": "perhaps"}',
            "p.jsonl:1: column tie: holds 'perhaps', expected true or false",
        ),
        (
            '{"query": "q", "preferred": "a", "other": [1]}',
            "p.jsonl:1: column other: holds '[1]', expected an id, text or a whole number",
        ),
        ('{"preferred": "a", "other": "b"}', "p.jsonl:1: no query column in: preferred, other; expected query or"),
        ("{", "p.jsonl:1: '{' is not JSON"),
    ],
)
def test_broken_comparisons_name_their_line(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.jsonl").write_text(text + "\n")
    with pytest.raises(FormatError, match=f"^{re.escape(message)}"):
        read_comparisons("p.jsonl")


def test_comparisons_are_json_lines(tmp_path):
    with pytest.raises(InputError, match=r"p\.csv: expected a name that ends in \.jsonl"):
        write_comparisons(COMPARED, tmp_path / "p.csv")
