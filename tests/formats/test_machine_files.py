"""Every form that grades of machines come in, and what is wrong with a file of each."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from activeeval.core.errors import InputError
from activeeval.formats.graders import from_files, lines as fast_lines
from activeeval.formats.graders.grade_in_text import grade_in, grade_shares
from activeeval.formats.graders.grader_grades import Grades
from activeeval.formats.judgments.from_files import read as read_judgments
from activeeval.formats.tables.records import Records
from activeeval.formats.tables.text_tables import DOCUMENTS as DOCUMENT_WORDS, read_texts

QUERIES = {"q1": "how long does a flea live", "q2": "what is a flea"}
DOCUMENTS = {"d1": "A flea lives for some weeks.", "d2": "A flea is an insect.", "d3": "A flea  is an insect."}


def lines_of(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def pairs_of(grades):
    values = [None if math.isnan(value) else value for value in grades.values.tolist()]
    return dict(zip(zip(grades.query_ids, grades.item_ids, strict=True), values, strict=True))


def umbrela_row(query, document, grade, status=1, **more):
    reply = f"It says so.\n##final score: {grade}" if status else "No."
    return {
        "model": "gpt-4o",
        "query": QUERIES[query],
        "passage": DOCUMENTS[document],
        "prompt": "…",
        "prediction": reply,
        "judgment": grade,
        "result_status": status,
        **more,
    }


def test_umbrela_with_ids_and_without_a_status_what_was_not_parsed_is_missing(tmp_path):
    ids = {"qid": "q1", "docid": "d1"}
    rows = [umbrela_row("q1", "d1", 3, **ids), umbrela_row("q1", "d2", 0, 0, qid="q1", docid="d2")]
    grades = Grades.read(lines_of(tmp_path / "u.jsonl", rows))
    assert pairs_of(grades) == {("q1", "d1"): 3, ("q1", "d2"): None}
    assert (set(grades.models), grades.explanations[1]) == ({"gpt-4o"}, "No.")
    for row in rows:
        del row["result_status"]
    assert pairs_of(Grades.read(lines_of(tmp_path / "old.jsonl", rows))) == pairs_of(grades)


def test_umbrela_is_joined_on_texts_and_a_text_of_several_documents_is_of_each(tmp_path):
    path = lines_of(tmp_path / "u.jsonl", [umbrela_row("q1", "d1", 3), umbrela_row("q2", "d2", 1)])
    grades = Grades.read(path, queries=QUERIES, documents=DOCUMENTS)
    assert pairs_of(grades) == {("q1", "d1"): 3, ("q2", "d2"): 1, ("q2", "d3"): 1}
    with pytest.raises(InputError, match="names its queries and documents by their texts") as told:
        Grades.read(path)
    assert "as FILE:queries=FILE:documents=FILE" in str(told.value)


def test_umbrela_s_requests_hold_ids_within(tmp_path):
    row = umbrela_row("q1", "d1", 2, candidate={"docid": "d1"}) | {"query": {"text": QUERIES["q1"], "qid": "q1"}}
    assert pairs_of(Grades.read(lines_of(tmp_path / "u.jsonl", [row]))) == {("q1", "d1"): 2}


def answer(custom_id, *replies, logprobs=None, status=200):
    choices = [{"index": k, "message": {"role": "assistant", "content": text}} for k, text in enumerate(replies)]
    for choice in choices:
        choice["logprobs"] = None if logprobs is None else {"content": logprobs}
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
    body = {"id": "chatcmpl-1", "model": "m-1", "choices": choices, "usage": usage}
    response = {"status_code": status, "body": body}
    return {"id": "batch_req_1", "custom_id": custom_id, "response": response, "error": None}


def failed(custom_id):
    return {"custom_id": custom_id, "response": None, "error": {"code": "batch_expired", "message": "late"}}


def asked(folder, ids, name="batch.pairs.jsonl"):
    rows = [
        {"custom_id": key, "query_id": query, "doc_id": doc, "prompt_version": "v1", "model": "m"}
        for key, (query, doc) in ids.items()
    ]
    return lines_of(folder / name, rows)


IDS = {"a": ("q1", "d1"), "b": ("q1", "d2"), "c": ("q2", "d1"), "d": ("q2", "d2")}


def test_answers_are_joined_by_the_pairs_beside_them(tmp_path):
    asked(tmp_path, IDS)
    rows = [answer("b", "M: 2\n##final score: 1"), answer("a", '{"O": 2}'), failed("c")]
    grades = Grades.read(lines_of(tmp_path / "answers.jsonl", rows))
    assert pairs_of(grades) == {("q1", "d1"): 2, ("q1", "d2"): 1, ("q2", "d1"): None, ("q2", "d2"): None}
    assert grades.tokens.sum(axis=0).tolist() == [200, 14]
    assert set(grades.prompt_versions) == {"v1"}
    assert grades.probs is None


def test_the_pairs_may_be_named_and_must_be_there(tmp_path):
    answers = lines_of(tmp_path / "answers.jsonl", [answer("a", "2")])
    with pytest.raises(InputError, match="no table of pairs in its folder") as told:
        Grades.read(answers)
    assert told.value.field == "asked"
    (tmp_path / "else").mkdir()
    pairs = asked(tmp_path / "else", {"a": ("q1", "d1")})
    assert pairs_of(Grades.parse(f"{answers}:asked={pairs}")) == {("q1", "d1"): 2}
    lines_of(tmp_path / "answers.jsonl", [answer("a", "2"), answer("z", "1")])
    with pytest.raises(InputError, match=r"answers.jsonl:2: column custom_id: 'z' is no question"):
        Grades.read(answers, asked=pairs)


@pytest.mark.parametrize(
    "response",
    [
        None,
        "late",
        {},
        {"body": {"choices": []}},
        {"body": {"choices": ["2"]}},
        {"body": {"choices": [{"message": {"content": None}}]}},
        {"body": {"choices": [{"message": {"content": "grade: -1"}}]}},
        {"body": {"choices": [{"message": {"content": "9" * 500}}]}},
    ],
)
def test_an_answer_that_is_none_is_missing(tmp_path, response):
    asked(tmp_path, {"a": ("q1", "d1"), "b": ("q1", "d2")})
    rows = [answer("b", "1"), {"custom_id": "a", "response": response}]
    assert pairs_of(Grades.read(lines_of(tmp_path / "answers.jsonl", rows))) == {("q1", "d2"): 1, ("q1", "d1"): None}


@pytest.mark.parametrize(
    "body",
    [
        {"usage": {"prompt_tokens": "many"}},
        {"usage": [1]},
        {"choices": [{"message": {"content": "2"}, "logprobs": {"content": ["x"]}}]},
        {"choices": [{"message": {"content": "2"}, "logprobs": {"content": [{"token": "2", "top_logprobs": [1]}]}}]},
        {"choices": [{"message": {"content": "2"}, "logprobs": {"content": [{"token": "2", "logprob": None}]}}]},
    ],
)
def test_what_is_odd_beside_a_reply_leaves_the_reply(tmp_path, body):
    asked(tmp_path, {"a": ("q1", "d1")})
    row = answer("a", "2")
    row["response"]["body"] |= body
    assert pairs_of(Grades.read(lines_of(tmp_path / "answers.jsonl", [row]))) == {("q1", "d1"): 2}


def test_several_answers_about_a_pair_are_samples_and_errors_are_none(tmp_path):
    asked(tmp_path, {"a": ("q1", "d1"), "a2": ("q1", "d1"), "b": ("q1", "d2")})
    rows = [answer("a", "3", "1"), answer("a2", "no idea"), answer("b", "0")]
    grades = Grades.read(lines_of(tmp_path / "answers.jsonl", rows))
    assert pairs_of(grades) == {("q1", "d1"): 2, ("q1", "d2"): 0}
    np.testing.assert_array_equal(grades.probs, [[0, 0.5, 0, 0.5], [1, 0, 0, 0]])


def test_a_failed_request_is_of_the_model_that_answers_to_its_alias(tmp_path):
    """Catches a second model, and a drift between two, where batches name an alias and answers what served it."""
    asked(tmp_path, IDS)
    rows = [answer("a", "1"), answer("b", "2"), failed("c")]
    for row in rows[:2]:
        row["response"]["body"]["model"] = "m-2024-08-06"
    grades = Grades.read(lines_of(tmp_path / "answers.jsonl", rows))
    assert set(grades.models.tolist()) == {"m-2024-08-06"}
    assert not [note for note in grades.notes if note.code == "grader models mixed"]
    rows[1]["response"]["body"]["model"] = "m-2024-11-20"
    grades = Grades.read(lines_of(tmp_path / "answers.jsonl", rows))
    assert sorted(grades.models.tolist()) == ["", "", "m-2024-08-06", "m-2024-11-20"]
    (note,) = [note for note in grades.notes if note.code == "grader models mixed"]
    assert note.numbers["counts"] == (1, 1)


def tokens_of(*texts, at, shares):
    tokens = [{"token": text, "logprob": -0.1, "top_logprobs": []} for text in texts]
    tokens[at]["top_logprobs"] = [{"token": text, "logprob": math.log(p)} for text, p in shares.items()]
    return tokens


def test_probabilities_come_from_the_tokens_where_the_grade_stands(tmp_path):
    asked(tmp_path, {"a": ("q1", "d1"), "b": ("q1", "d2"), "c": ("q2", "d1")})
    logprobs = tokens_of("##final", " score", ": ", "2", at=3, shares={"2": 0.5, "3": 0.25, " 3": 0.15, "The": 0.1})
    rows = [answer("a", "##final score: 2", logprobs=logprobs), answer("b", "3"), answer("c", "none")]
    grades = Grades.read(lines_of(tmp_path / "answers.jsonl", rows))
    np.testing.assert_allclose(grades.probs[0], [0, 0, 0.5 / 0.9, 0.4 / 0.9])
    np.testing.assert_array_equal(grades.probs[1], [0, 0, 0, 1])
    assert np.isnan(grades.probs[2]).all()
    np.testing.assert_allclose(grades.values[:2], [2 + 0.4 / 0.9, 3])


REPLIES = list(map(json.loads, Path(__file__).with_name("replies.jsonl").read_text("utf-8").splitlines()))


@pytest.mark.parametrize("case", REPLIES, ids=lambda case: case["reply"])
def test_the_grade_of_a_reply(case):
    """None where doubt is left: a sign of any form, two grades, a scale of its own, a number in another form."""
    found = grade_in(case["reply"])
    assert (found and found[0]) == case["grade"]
    assert found is None or float(case["reply"][slice(*found[1])]) == case["grade"]


def test_a_grade_of_several_tokens_tells_no_shares():
    assert grade_shares(tokens_of("8", "5", at=0, shares={"8": 0.9}), (0, 2)) == {}
    assert grade_shares(None, (0, 1)) == {}
    assert grade_shares([{"token": "2", "logprob": math.log(0.5)}], (0, 1)) == pytest.approx({2: 0.5})


def test_opensearch_says_ratings_as_texts(tmp_path):
    ratings = [{"docId": "d1", "rating": "0.000"}, {"docId": "d2", "rating": "0.75"}, {"docId": "d3", "rating": ""}]
    document = {"name": "j", "type": "LLM_JUDGMENT", "judgmentRatings": [{"query": QUERIES["q1"], "ratings": ratings}]}
    path = tmp_path / "j.json"
    path.write_text(json.dumps(document, indent=1))
    by_text = pairs_of(Grades.read(path))
    assert by_text == {(QUERIES["q1"], "d1"): 0, (QUERIES["q1"], "d2"): 0.75, (QUERIES["q1"], "d3"): None}
    path.write_text(json.dumps({"hits": {"hits": [{"_source": document}]}}))
    assert pairs_of(Grades.read(path, queries=QUERIES))["q1", "d2"] == 0.75
    ratings[1]["rating"] = "high"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"j.json: the rating of document 'd2' of query .* is 'high'"):
        Grades.read(path)


def test_a_table_of_people_alone_holds_no_machine_s_grade(tmp_path):
    path = tmp_path / "g.csv"
    path.write_text("query_id,doc_id,grade,judge_kind\nq1,d1,2,person\n")
    with pytest.raises(InputError, match="holds no grade of a machine"):
        Grades.read(path)


def book(*judgements):
    return {"name": "b", "query_doc_pairs": [{"query_text": "flea", "doc_id": "d1", "judgements": list(judgements)}]}


def test_the_ai_of_a_quepid_book_is_who_has_no_address(tmp_path):
    people = {"rating": 3.0, "unrateable": False, "judge_later": False, "user_email": "ann@example.org"}
    machine = {**people, "rating": 1.0, "user_email": None, "explanation": "hardly"}
    path = tmp_path / "book.json"
    path.write_text(json.dumps(book(people, machine)))
    grades = Grades.read(path, queries={"q1": "flea"})
    assert pairs_of(grades) == {("q1", "d1"): 1}
    assert (grades.notes[0].code, list(grades.explanations)) == ("grader of people", ["hardly"])
    path.write_text(json.dumps(book(people, {**people, "user_email": "bob@example.org"})))
    with pytest.raises(InputError, match=r"none of the raters 'ann@example.org', 'bob@example.org' is recognized"):
        Grades.read(path)
    assert pairs_of(Grades.read(path, name="bob@example.org")) == {("flea", "d1"): 3}


def test_a_quepid_book_as_csv_has_a_column_for_each_rater(tmp_path):
    path = tmp_path / "book.csv"
    path.write_text("query,docid,Ann,AI Judge\nflea,d1,3,2\nflea,d2,1,\nflea,d3,,0\n")
    grades = Grades.read(path)
    assert pairs_of(grades) == {("flea", "d1"): 2, ("flea", "d3"): 0}
    assert grades.notes[0].numbers["n"] == 2
    assert pairs_of(Grades.read(path, name="Ann")) == {("flea", "d1"): 3, ("flea", "d2"): 1}
    path.write_text("query,docid,Ann,AI Judge\nflea,d1,3,good\n")
    with pytest.raises(InputError, match=r"book.csv:2: column AI Judge: holds 'good', expected a rating"):
        Grades.read(path)


def test_rows_of_people_in_a_table_are_left_out(tmp_path):
    path = tmp_path / "g.csv"
    path.write_text("query_id,doc_id,grade,judge,judge_kind\nq1,d1,2,gpt,machine\nq1,d1,0,ann,person\n")
    grades = Grades.read(path)
    assert (pairs_of(grades), grades.notes[0].code) == ({("q1", "d1"): 2}, "grader of people")


PLAIN = [{"query_id": f"q{k // 9}", "doc_id": f"d{k}", "grade": k % 4, "model": "m"} for k in range(60)]


def test_many_lines_are_read_as_few_ones(tmp_path, monkeypatch):
    rows = [*PLAIN, {"query_id": "q\u00e9", "doc_id": "x", "grade": None}, {"query_id": 7, "doc_id": 8, "grade": -1}]
    path = lines_of(tmp_path / "g.jsonl", rows)
    path.write_text(path.read_text().replace("\n", "\n\n", 3))
    few = Grades.read(path)
    monkeypatch.setattr(from_files, "_ROWS", 10)
    monkeypatch.setattr(fast_lines, "_BLOCK", 100)
    many = Grades.read(path)
    assert pairs_of(many) == pairs_of(few)
    assert list(many.models) == list(few.models)
    assert few.notes == many.notes
    path.write_text(path.read_text() + '{"query_id": "q0", "doc_id": "d0", "grade": 3}\n')
    with pytest.raises(InputError, match=r"g.jsonl:66: document 'd0' of query 'q0' .* and 0.0 at line 1;"):
        Grades.read(path)


@pytest.mark.parametrize(
    "wrong",
    [
        '{"query_id": "q1", "doc_id": "d", "grade": "good"}',
        '{"query_id": null, "doc_id": "d", "grade": 1}',
        '{"query_id": "", "doc_id": "d", "grade": 1}',
        '{"query_id": "q1", "doc_id": "d", "grade": NaN}',
        '{"query_id": "q1", "doc_id": "d", "grade": 1',
        "[]",
    ],
)
def test_what_is_wrong_in_many_lines_is_told_with_its_line(tmp_path, monkeypatch, wrong):
    monkeypatch.setattr(from_files, "_ROWS", 10)
    path = lines_of(tmp_path / "g.jsonl", PLAIN)
    path.write_text(path.read_text() + wrong + "\n")
    with pytest.raises(InputError, match=r"g.jsonl:61: "):
        Grades.read(path)


@pytest.mark.parametrize("form", ["umbrela", "batch", "table", "texts"])
def test_columns_of_json_lines_are_made_once_and_not_for_each_row(tmp_path, monkeypatch, form):
    """Catches a file whose reading takes the square of its length: half a minute for ten thousand replies."""
    made = []
    plain = Records.__getitem__
    monkeypatch.setattr(Records, "__getitem__", lambda self, name: made.append(name) or plain(self, name))
    n, path = 300, tmp_path / "many.jsonl"
    pairs = [{"query_id": "q1", "doc_id": f"d{k}"} for k in range(n)]
    if form == "umbrela":
        rows = [umbrela_row("q1", "d1", 1, **pair) for pair in pairs]
    elif form == "batch":
        body = {"choices": [{"message": {"content": "2"}}]}
        rows = [{"custom_id": f"c{k}", "response": {"body": body}} for k in range(n)]
        lines_of(tmp_path / "batch.pairs.jsonl", [{"custom_id": f"c{k}", **pair} for k, pair in enumerate(pairs)])
    else:
        rows = [{**pair, "grade": 1, "judge_kind": "person" if k % 2 else "machine"} for k, pair in enumerate(pairs)]
    if form == "texts":
        lines_of(path, [{"id": f"d{k}", "text": f"text {k}"} for k in range(n)])
        assert len(read_texts(path, DOCUMENT_WORDS).by_id) == n
    else:
        assert len(Grades.read(lines_of(path, rows))) == (n // 2 if form == "table" else n)
    assert len(made) < 100


def test_a_list_in_json_is_a_table(tmp_path):
    path = tmp_path / "llm.json"
    path.write_text(json.dumps([{"query_id": "q1", "doc_id": "d1", "grade": 1}]))
    assert Grades.read(path).values.tolist() == [1.0]
    assert read_judgments(path).values.tolist() == [1]
