"""A batch of questions, and its answers read by the table of pairs beside it."""

import json

import pytest

from activeeval import cli
from activeeval.core.errors import ChoiceError, InputError
from activeeval.formats.graders.grader_grades import Grades
from activeeval.graders import Prompt
from activeeval.graders.ask import AskingPlan, ask_graders
from activeeval.graders.prompts import questions


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"q{q} Q0 d{d} {d} {9 - d} t\n" for q in (1, 2) for d in (1, 2, 3)]
    (tmp_path / "a.run").write_text("".join(rows))
    docs = [{"id": f"d{d}", "title": f"T{d}", "text": f"about {{query}} {d}"} for d in (1, 2)]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    (tmp_path / "queries.csv").write_text("id,text\nq1,what is a flea\nq2,caf\u00e9 {passage}\n")
    return tmp_path


TEXTS = {"documents": "docs.jsonl", "queries": "queries.csv"}


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_batch_asks_about_each_pair_that_has_texts(folder):
    written = ask_graders(AskingPlan(runs=("a.run",), model="m", out="batch.jsonl", **TEXTS))
    assert (written.questions, written.queries, written.without_text) == (4, 2, 2)
    batch, pairs = lines_of(folder / "batch.jsonl"), lines_of(folder / "batch.pairs.jsonl")
    assert [(row["query_id"], row["doc_id"]) for row in pairs] == [(q, d) for q in ("q1", "q2") for d in ("d1", "d2")]
    assert [row["custom_id"] for row in batch] == [row["custom_id"] for row in pairs]
    assert len({row["custom_id"] for row in batch}) == 4
    assert {len(row["custom_id"]) for row in batch} == {64}
    first = batch[0]
    assert (first["method"], first["url"], first["body"]["temperature"]) == ("POST", "/v1/chat/completions", 0)
    assert (first["body"]["logprobs"], first["body"]["model"]) == (True, "m")
    content = first["body"]["messages"][0]["content"]
    assert "Query: what is a flea\n" in content
    assert "Passage: T1\nabout {query} 1\n" in content
    assert "caf\u00e9 {passage}" in batch[2]["body"]["messages"][0]["content"]


def test_answers_come_back_by_the_pairs(folder):
    ask_graders(AskingPlan(runs=("a.run",), model="m", out="batch.jsonl", top=1, **TEXTS))
    batch = lines_of(folder / "batch.jsonl")
    assert len(batch) == 2
    response = {"body": {"choices": [{"message": {"content": "##final score: 2"}}]}}
    answers = [{"custom_id": row["custom_id"], "response": response} for row in batch]
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    grades = Grades.read("answers.jsonl")
    assert (grades.query_ids.tolist(), grades.values.tolist()) == (["q1", "q2"], [2, 2])
    assert set(grades.prompt_versions) == {Prompt.named("umbrela").version}
    assert set(grades.models) == {"m"}


def test_a_sample_s_pool_is_asked_about(folder):
    made = ("--run", "a.run", "--max-grade", "3", "--measure", "DCG@2", "--budget", "3", "--seed", "1")
    assert cli.run(["--quiet", "sample", *made, "--out", "s.sample", "--sheet", "s.csv"]) == 0
    assert ask_graders(AskingPlan(sample="s.sample", model="m", out="batch.jsonl", **TEXTS)).questions == 4


def test_ids_follow_from_what_is_asked():
    ids = {
        question.custom_id
        for prompt in (Prompt("{query} {passage}", "v1"), Prompt("{query} {passage}", "v2"))
        for model in ("a", "b")
        for question in questions([("q", "d"), ("q", "e")], [("x", "y"), ("x", "y")], prompt, model)
    }
    assert len(ids) == 8


def test_a_prompt_of_a_file_needs_places_for_the_texts(folder):
    (folder / "p.txt").write_text("Is {passage} about {query}? {query} it is.\n")
    prompt = Prompt.read("p.txt")
    assert prompt.about("a", "b {query}") == "Is b {query} about a? a it is."
    (folder / "p.txt").write_text("Is {passage} good?\n")
    with pytest.raises(InputError, match=r"p.txt: lacks \{query\}"):
        Prompt.read("p.txt")
    with pytest.raises(InputError, match=r"umbrella: no such file; did you mean umbrela\? "):
        Prompt.read("umbrella")


def test_what_cannot_be_asked_is_refused_and_nothing_is_written(folder):
    with pytest.raises(ChoiceError, match="give a sample, or by `runs`"):
        ask_graders(AskingPlan(model="m", out="batch.jsonl", **TEXTS))
    with pytest.raises(InputError, match=r"expected a name that ends in \.jsonl"):
        ask_graders(AskingPlan(runs=("a.run",), model="m", out="batch.json", **TEXTS))
    (folder / "batch.pairs.jsonl").write_text("kept")
    with pytest.raises(InputError, match=r"batch.pairs.jsonl: is there already"):
        ask_graders(AskingPlan(runs=("a.run",), model="m", out="batch.jsonl", **TEXTS))
    assert not (folder / "batch.jsonl").exists()
    assert (folder / "batch.pairs.jsonl").read_text() == "kept"
