from __future__ import annotations

from itertools import permutations

import pandas as pd
import pytest

from activeeval.core.errors import InputError
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


def test_comparisons_are_json_lines(tmp_path):
    with pytest.raises(InputError, match=r"p\.csv: expected a name that ends in \.jsonl"):
        write_comparisons(COMPARED, tmp_path / "p.csv")
