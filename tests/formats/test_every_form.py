"""Every form of judgments through the one reader, and what judgments come to."""

from __future__ import annotations

import gzip
import json

import pytest

from activeeval.core.errors import FormatError, InputError
from activeeval.core.judgments import Judge, Judgment, Judgments
from activeeval.core.judgments.comparisons import Comparison, Truth
from activeeval.formats.judgments.from_files import labels_of, read, read_all
from activeeval.inputs.arguments import by_judge

PAIRS = {("q1", "a"): 2, ("q1", "b"): 0, ("q2", "a"): 1}
TREC = "q1 0 a 2\nq1 0 b 0\nq2 0 a 1\nq2 0 pooled -1\n"
FORMS = {
    "a.qrels": TREC,
    "a.qrels.gz": TREC,
    "a.prels": "# of a sample\nq1 a 2 1 .5\nq1 b 0 1 .25\nq2 a 1 1 1\n",
    "a.letor": "2 qid:q1 1:.5 #docid = a\n0 qid:q1 1:.1 #docid = b\n1 qid:q2 1:3 #docid = a\n",
    "a.csv": "Query_ID,doc_id,grade,judge\nq1,a,2,Ann\nq1,b,0, ann\nq2,a,1,ANN\nq2,b,,\nq2,c,cannot,ann\n",
    "a.tsv": "qid\tdocid\tlabel\nq1\ta\t2.0\nq1\tb\t0\nq2\ta\t1\n",
    "ranx.csv": "q_id,doc_id,score\nq1,a,2\nq1,b,0\nq2,a,1\n",
    "pyterrier.csv": "qid,docid,docno,label\nq1,7,a,2\nq1,8,b,0\nq2,7,a,1\n",
    "quepid.csv": "query,docid,rating\nq1,a,2\nq1,b,0\nq2,a,1\n",
    "sheet.csv": "sample,block,query_id,doc_id,grade\ns,1,q1,a,2\ns,1,q1,b,0\ns,2,q2,a,1\ns,2,q2,b,\n",
    "lines": '{"query_id": "q1", "doc_id": "a", "grade": 2}\n{"query_id": "q1", "doc_id": "b", "grade": 0}\n'
    '{"query_id": "q2", "doc_id": "a", "grade": 1}\n',
}


@pytest.mark.parametrize("name", FORMS)
def test_one_reader_takes_every_form_of_grades(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(FORMS[name].encode()) if name.endswith(".gz") else FORMS[name].encode())
    assert read(path).graded_pairs() == read(path, is_plain=True).graded_pairs() == PAIRS
    labels = labels_of(path)
    rows = zip(labels.query_ids.tolist(), labels.doc_ids.tolist(), labels.grades.tolist(), strict=True)
    assert {(query, doc): grade for query, doc, grade in rows if grade >= 0} == PAIRS
    assert labels.source == str(path)


EVENT = dict.fromkeys(("judge", "query_id", "doc_id", "unit", "grade", "reason", "supersedes", "body"))


def log_of(path, *events):
    records = [{**EVENT, "seq": k, "at": 10 * k, **event} for k, event in enumerate(events, start=1)]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def graded(seq_of=None, **event):
    return {"kind": "judged", "judge": "ann", "query_id": "q1", "doc_id": "a", "unit": 1, "supersedes": seq_of, **event}


def test_a_log_comes_to_what_stands_at_its_end(tmp_path):
    path = log_of(
        tmp_path / "w.jsonl",
        {"kind": "drawn"},
        graded(grade=1, active_ms=1500),
        graded(seq_of=2, grade=3, active_ms=2500),
        graded(judge="bob", grade=2),
        graded(judge="cyd", grade=0),
        {"kind": "retracted", "supersedes": 5, "judge": "cyd", "unit": 1},
        {"kind": "cannot", "judge": "ann", "query_id": "q1", "doc_id": "b", "unit": 1, "reason": "blank"},
        {"kind": "deferred", "judge": "bob", "query_id": "q1", "doc_id": "b", "unit": 1, "reason": "long"},
        {"kind": "late", "judge": "dan", "query_id": "q1", "doc_id": "b", "unit": 1, "grade": 2},
        graded(doc_id="c", grade=0),
        graded(doc_id="c", grade=2, unit=7),  # a later round has asked again
    )
    log = read(path)
    assert [(one.item, one.judge.name, one.kind, one.value, one.seq, one.at) for one in log] == [
        ("a", "ann", "grade", 3, 3, 30),
        ("a", "bob", "grade", 2, 4, 40),
        ("b", "ann", "cannot", -1, 7, 70),
        ("c", "ann", "grade", 2, 11, 110),
        ("b", "bob", "deferred", -1, 8, 80),
    ]
    assert [log.place(row) for row in (0, 4)] == [f"{path}:3", f"{path}:8"]
    assert log.graded_pairs("majority") == {("q1", "a"): 2, ("q1", "c"): 2}
    differ = r":4: document 'a' of query 'q1' has two grades, 3 of 'ann' \(.*:3\) and 2 of 'bob'; add `policy`"
    with pytest.raises(InputError, match=differ):
        log.labels("refuse")


def compared(first, second, preferred, **event):
    body = {"what": "compared", "first": first, "second": second, "preferred": preferred}
    return {"kind": "preferred", "judge": "ann", "query_id": "q1", "unit": 1, "body": body, **event}


def test_comparisons_stand_until_they_are_taken_back_or_settled(tmp_path):
    undone = {"kind": "preferred", "judge": "ann", "query_id": "q1", "unit": 1, "body": {"what": "undone"}}
    asked = [compared("a", "b", "b"), compared("b", "c", "c"), undone, compared("b", "c", None)]
    open_log = read(log_of(tmp_path / "open.jsonl", *asked, compared("x", "y", "x", query_id="q2", unit=2)))
    q1 = [Comparison("q1", "b", "a", judge="ann"), Comparison("q1", "b", "c", is_tie=True, judge="ann")]
    assert open_log.comparisons() == [*q1, Comparison("q2", "x", "y", judge="ann")]
    back = [{"kind": "retracted", "judge": "ann", "unit": 1}, compared("a", "c", "c")]
    back_log = read(log_of(tmp_path / "back.jsonl", *asked, *back))
    assert back_log.comparisons() == [Comparison("q1", "c", "a", judge="ann")]
    truth = graded(body={"top": ["b", "c"], "below": ["a"], "bad": ["d"], "ranks": []})
    settled = read(log_of(tmp_path / "settled.jsonl", *asked, truth))
    assert settled.truths() == {"q1": Truth(("b", "c"), ("a",), ("d",))}
    assert [(c.preferred, c.other, c.is_tie) for c in settled.comparisons()] == [
        ("b", "c", False), ("b", "a", False), ("b", "d", False), ("c", "a", False), ("c", "d", False), ("a", "d", True),
    ]  # fmt: skip


def test_what_was_compared_stands_where_a_query_is_reopened(tmp_path):
    """The retraction says so; one that says nothing takes all of it back."""
    asked = [compared("a", "b", "b"), compared("b", "c", "c")]
    undone = {"kind": "preferred", "judge": "ann", "query_id": "q1", "unit": 1, "body": {"what": "undone"}}
    reopened = {"kind": "retracted", "judge": "ann", "unit": 1, "body": {"what": "reopened"}}
    first = Comparison("q1", "b", "a", judge="ann")
    assert read(log_of(tmp_path / "open.jsonl", *asked, reopened, undone)).comparisons() == [first]
    assert read(log_of(tmp_path / "gone.jsonl", *asked, reopened | {"body": None}, *asked[:1])).comparisons() == [first]


def test_what_machines_say_is_no_label_and_feeds_a_model(tmp_path):
    path = tmp_path / "both.csv"
    path.write_text("query_id,doc_id,grade,judge,judge_kind\nq,a,2,ann,person\nq,a,0,llm,Machine\nq,b,1,llm,machine\n")
    both = read(path)
    assert both.graded_pairs() == {("q", "a"): 2}
    assert both.labels("mean-gain").probs.tolist() == [[0, 0, 1]]
    assert both.model_grades("majority").grades.tolist() == [0, 1]
    machine = read(path, kind="machine").where([1, 2])
    with pytest.raises(InputError, match=r"both\.csv: these are a grader's grades, not labels: pass them with"):
        machine.labels()
    path.write_text("query_id,doc_id,grade,judge_kind\nq,a,2,robot\n")
    with pytest.raises(FormatError, match=r"both\.csv:2: column judge_kind: holds 'robot', expected person or machine"):
        read(path)


def test_a_judged_event_without_a_grade_is_refused_with_its_place(tmp_path):
    with pytest.raises(InputError, match=r"a\.jsonl:1: column grade: is empty, expected a grade of what was"):
        labels_of(log_of(tmp_path / "a.jsonl", graded()))


def test_judgments_come_back_one_by_one():
    rows = [
        Judgment("q", "a", Judge("ann"), value=1, at=5, seconds=2.5, seq=1),
        Judgment("q", "b", Judge("m", "machine"), "cannot", reason="blank"),
        Judgment("q", "c", Judge("ann"), "preference", 1, other="a"),
    ]
    judgments = Judgments.of(rows)
    assert list(judgments) == rows
    assert list(judgments.where([2])) == rows[2:]
    assert [one.query for one in judgments.where(judgments.values == 1)] == ["q", "q"]


def test_who_is_not_named_is_called_as_the_file(tmp_path):
    (tmp_path / "a.qrels").write_text("q 0 d 1\n")
    (tmp_path / "b.csv").write_text("query_id,doc_id,grade,judge\nq,d,1,Bob\nq,e,1,\n")
    paths = [str(tmp_path / name) for name in ("a.qrels", "b.csv")]
    assert {judge.name for judge in read_all(by_judge(paths)).judges} == {paths[0], "bob", paths[1]}
    assert read_all(by_judge(paths)).agreement(n_resamples=2, rng=0).grades.n_items == 1
