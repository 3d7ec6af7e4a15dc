"""``activeeval grader ask``: options and what it says."""

import json

import pytest

from activeeval import cli


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 2 t\nq1 Q0 d2 2 1 t\n")
    (tmp_path / "docs.csv").write_text("id,text\nd1,an insect\n")
    (tmp_path / "queries.csv").write_text("id,text\nq1,what is a flea\n")
    return tmp_path


ASK = ("grader", "ask", "--model", "m", "--documents", "docs.csv", "--queries", "queries.csv", "--out", "batch.jsonl")


def test_a_batch_is_written_and_said(folder, capsys):
    assert cli.run([*ASK, "--run", "a.run", "-o", "jsonl"]) == 0
    captured = capsys.readouterr()
    row = json.loads(captured.out)
    assert [row[x] for x in ("batch", "pairs", "questions", "without_text")] == [
        "batch.jsonl",
        "batch.pairs.jsonl",
        1,
        1,
    ]
    assert "1 pair without a text is not asked about" in captured.err.replace("\n  ", " ")
    assert cli.run([*ASK, "--run", "a.run"]) == 1
    assert "batch.jsonl: is there already; --force writes it anew" in capsys.readouterr().err


def test_what_cannot_be_asked_is_said(folder, capsys):
    for options, code, problem in (
        ((), 2, "give a sample, or by --run those"),
        (("--run", "a.run", "--prompt", "umbrella"), 1, "did you mean umbrela?"),
    ):
        assert cli.run([*ASK, *options]) == code
        assert problem in capsys.readouterr().err
