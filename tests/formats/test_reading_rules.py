"""Rules for reading: a query's own document, chunks of documents."""

import pytest

from activeeval import score
from activeeval.core.errors import InputError
from activeeval.formats.loading import load_run
from activeeval.formats.reading_rules import reading, rules

OWN = {"q1": {"q1": 9.0, "d1": 8.0}, "q2": {"q2": 9.0}}
CHUNKS = {"q1": {"d1#2": 5.0, "d2#0": 4.0, "d1#0": 3.0, "d3#1": 2.0}}


def test_a_querys_own_document_is_left_out_as_beir_does():
    qrels = {"q1": {"d1": 1}, "q2": {"d1": 1}}
    assert score(qrels, [OWN], "nDCG@10").value == pytest.approx((1 / 1.584962500721156) / 2)
    assert score(qrels, [OWN], "nDCG@10", leave_out_self=True).value == 0.5


def test_a_list_that_its_own_query_heads_is_noted():
    assert [note.numbers["n"] for note in load_run(OWN).notes if note.code == "own documents"] == [2]
    assert not any(note.code == "own documents" for note in load_run({"q1": {"d1": 2.0, "q1": 1.0}}).notes)


@pytest.mark.parametrize("collapse", [r"#\d+$", r"^(.*)#", "#.*"])
def test_the_first_chunk_of_a_document_counts(collapse):
    with reading(collapse=collapse):
        run = load_run(CHUNKS)
    found = dict(zip(run.doc_ids.tolist(), run.scores.tolist(), strict=True))
    assert found == {"d1": 5.0, "d2": 4.0, "d3": 2.0}
    assert rules().collapse == ""


def test_judged_chunks_give_their_document_the_largest_grade(tmp_path):
    path = tmp_path / "q.txt"
    path.write_text("q1 0 d3#0 0\nq1 0 d3#4 2\nq1 0 d1#1 0\n")
    scores = score(str(path), [CHUNKS], ["RR", "DCG@3"], collapse=r"#\d+$")
    assert scores["run 1", "RR"].value == pytest.approx(1 / 3)
    assert scores["run 1", "DCG@3"].value == pytest.approx(3 / 2)


def test_a_column_may_name_the_document_of_a_chunk(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("query_id,chunk_id,page,score\nq1,d1#2,d1,5\nq1,d2#0,d2,4\nq1,d1#0,d1,3\n")
    with reading(collapse="page"):
        assert load_run(str(path)).doc_ids.tolist() == ["d1", "d2"]


def test_a_pattern_that_is_none_is_one_line():
    with pytest.raises(InputError, match="'\\(' is no regular expression"), reading(collapse="("):
        pass
