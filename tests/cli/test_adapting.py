"""`activeeval adapt` and `rank`: from judged documents and preferences or clicks to a ranker and its scores."""

from __future__ import annotations

import json

import numpy as np
import pytest

from activeeval.io.scores import read_scores
from activeeval.rankers.adaptation import HyperLinearRanker

N_QUERIES, N_DOCS = 12, 8
SMALL = ("--trees", 10, "--leaves", 4, "--regularization", 0.1, "--regularization", 1000)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines, pairs, clicks = [], [], ["query_id,doc_id,position,impressions,clicks"]
    for q in range(N_QUERIES):
        features = rng.random((N_DOCS, 2))
        for z, (one, other) in enumerate(features):
            lines.append(f"{int(1.5 * (one + other))} qid:q{q} 1:{one:.4f} 2:{other:.4f} #docid = d{z}")
            clicks.append(f"q{q},d{z},{z + 1},2000,{int(2000 * other / (z + 1))}")
        order = np.argsort(-features[:, 1])
        pairs += [{"query": f"q{q}", "preferred": f"d{order[k]}", "other": f"d{order[k + 3]}"} for k in range(4)]
    (tmp_path / "judged.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    (tmp_path / "clicks.csv").write_text("\n".join(clicks) + "\n")
    return tmp_path


def test_a_path_over_regularizations_and_a_ranker_that_scores(folder, call):
    told = call("adapt", "judged.txt", "pairs.jsonl", *SMALL, "--plot", "p.svg", "--out", "t.ranker", "-o", "jsonl")
    assert told.code == 0, told.err
    base, little, much = told.rows
    assert base["regularization"] is None
    assert [row["regularization"] for row in (little, much)] == [0.1, 1000]
    assert little["precision"] > base["precision"]
    assert much["precision"] == pytest.approx(base["precision"], abs=0.05)
    assert sum(row["is_chosen"] for row in told.rows) == 1
    for row in told.rows:
        assert 0 < row["b"] <= 1
    assert (folder / "p.svg").stat().st_size > 1000
    assert call("rank", "judged.txt", "--ranker", "t.ranker", "--out", "s.txt").code == 0
    ranker, features = HyperLinearRanker.load("t.ranker"), []
    for line in (folder / "judged.txt").read_text().splitlines():
        features.append([float(part.split(":")[1]) for part in line.split()[2:4]])
    assert read_scores("s.txt").tolist() == ranker.predict(features).tolist()
    scored = ("--letor", "judged.txt", "--scores", "s.txt", "--measure", "DCG@5", "--budget", "50%")
    assert call("--quiet", "simulate", *scored, "--repetitions", 5, "-o", "jsonl").code == 0


def test_clicks_become_pairs_and_it_is_said_how(folder, call):
    told = call("adapt", "judged.txt", "clicks.csv", *SMALL, "--out", "t.ranker")
    assert told.code == 0
    assert f"clicks.csv: {N_QUERIES * N_DOCS} rows of {N_QUERIES} queries" in told.err
    assert "stands above (Skip-Above)" in told.err


def test_a_seed_gives_the_same_bytes_and_a_ranker_is_a_base(folder, call):
    for name in ("one", "two"):
        assert call("adapt", "judged.txt", "pairs.jsonl", *SMALL, "--seed", 3, "--out", name).code == 0
    assert (folder / "one").read_bytes() == (folder / "two").read_bytes()
    again = call("adapt", "judged.txt", "pairs.jsonl", *SMALL, "--base", "one", "--out", "three", "-o", "jsonl")
    assert again.code == 0
    assert len(again.rows) == 3


def test_other_documents_may_be_compared(folder, call):
    (folder / "more.txt").write_text((folder / "judged.txt").read_text().replace("qid:q", "qid:r"))
    (folder / "r.jsonl").write_text(
        (folder / "pairs.jsonl").read_text().replace('"q', '"r').replace('"ruery', '"query')
    )
    told = call("adapt", "judged.txt", "r.jsonl", *SMALL, "--pairs-letor", "more.txt", "--out", "t.ranker")
    assert told.code == 0, told.err
    assert call("adapt", "judged.txt", "r.jsonl", *SMALL, "--out", "u.ranker").code == 1


SHOWN = {"query_id": "q0", "doc_id": "d0", "position": 1}
PAIR = {"query": "q0", "preferred": "d0", "other": "d1"}


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([PAIR | {"query": "q99"}], "x.jsonl: pair 1 names query 'q99', which the pool does not hold"),
        ([PAIR | {"other": "zz"}], "x.jsonl: pair 1 names document 'zz' of query 'q0'"),
        ([PAIR, PAIR | {"preferred": "d1", "other": "d0"}], "the other way round; expected one way"),
        ([PAIR | {"other": "d0"}], "x.jsonl:1: column other: holds 'd0' as preferred does"),
        ([PAIR | {"tie": True}], "x.jsonl: no document is preferred to another"),
        ([PAIR], "n_folds must be from 2 to the number of queries in pairs, 1, got 5"),
        ([SHOWN | {"impressions": 0, "clicks": 0}], "x.jsonl:1: column impressions"),
        ([SHOWN | {"impressions": 5, "clicks": 6}], "at most the 5 impressions"),
    ],
)
def test_what_is_wrong_is_one_line(folder, call, rows, problem):
    (folder / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = call("adapt", "judged.txt", "x.jsonl", *SMALL, "--out", "t.ranker")
    assert told.code == 1
    assert problem in told.err.splitlines()[-1]
    assert not (folder / "t.ranker").exists()


@pytest.mark.parametrize("option", [("--regularization", 0), ("--regularization", -1), ("--alpha", 0), ("--trees", 0)])
def test_an_option_out_of_range_is_wrong_usage(folder, call, option):
    assert call("adapt", "judged.txt", "pairs.jsonl", *option, "--out", "t.ranker").code == 2


def test_a_ranker_of_other_features_or_none_is_refused(folder, call):
    call("adapt", "judged.txt", "pairs.jsonl", *SMALL, "--out", "t.ranker")
    (folder / "wide.txt").write_text("1 qid:q0 1:0.5 2:0.1 3:0.2 #docid = d0\n")
    told = call("rank", "wide.txt", "--ranker", "t.ranker", "--out", "s.txt")
    assert told.code == 1
    assert "wide.txt: " in told.err
    (folder / "junk").write_bytes(b"junk")
    told = call("rank", "judged.txt", "--ranker", "junk", "--out", "s.txt")
    assert told.code == 1
    assert told.err.splitlines()[-1].startswith("activeeval: junk: ")
    call("rank", "judged.txt", "--ranker", "t.ranker", "--out", "s.txt")
    assert "--force overwrites it" in call("rank", "judged.txt", "--ranker", "t.ranker", "--out", "s.txt").err
