"""Fractions as judgments are gains: values follow the definition of the measure, from every form of input."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

import activeeval as ae
from activeeval.cli import run as run_command
from activeeval.core.errors import InputError

GAINS = {"q1": {"a": 0.5, "b": 2.0, "c": 0.0}, "q2": {"a": 1.25, "e": 0.1, "d": -1.0}, "q3": {"x": 0.0}}
LISTS = {"q1": "acb", "q2": "dea", "q3": "x"}
OTHER = {"q1": "bac", "q2": "aed", "q3": "x"}


def as_run(lists):
    return {query: {doc: 9.0 - rank for rank, doc in enumerate(docs)} for query, docs in lists.items()}


def discounted(gains):
    return sum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains))


def ndcg_by_query(lists, gains=GAINS):
    """The definition: gains in the list's order over those in the best order; unjudged items earn nothing."""
    values = []
    for query, docs in lists.items():
        ideal = discounted(sorted((max(gain, 0.0) for gain in gains[query].values()), reverse=True))
        got = discounted(max(gains[query].get(doc, 0.0), 0.0) for doc in docs)
        values.append(got / ideal if ideal else 0.0)
    return values


def forms(folder):
    """Each form of judgments that can hold fractions."""
    rows = [(query, doc, gain) for query, docs in GAINS.items() for doc, gain in docs.items()]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"])
    text = "".join(f"{query} 0 {doc} {gain}\n" for query, doc, gain in rows)
    ratings = [
        {"query": query, "ratings": [{"docId": doc, "rating": str(gain)} for doc, gain in docs.items()]}
        for query, docs in GAINS.items()
    ]
    files = {"q.txt": text, "q.json": json.dumps(GAINS), "q.csv": frame.to_csv(index=False)}
    files |= {
        "q.jsonl": frame.to_json(orient="records", lines=True),
        "search.json": json.dumps({"judgmentRatings": ratings}),
    }
    for name, written in files.items():
        (folder / name).write_text(written)
    frame.to_parquet(folder / "q.parquet")
    return {"dict": GAINS, "frame": frame} | {name: folder / name for name in (*files, "q.parquet")}


@pytest.mark.parametrize("form", ["dict", "frame", "q.txt", "q.json", "q.csv", "q.jsonl", "search.json", "q.parquet"])
def test_every_form_gives_the_values_of_the_definition(form, tmp_path):
    judgments = forms(tmp_path)[form]
    runs = {"old": as_run(LISTS), "new": as_run(OTHER)}
    scores = ae.score(judgments, runs, ["nDCG@10", "DCG(dcg='log2')@2", "Judged@3"])
    assert scores["old", "nDCG@10"].by_query == pytest.approx(ndcg_by_query(LISTS), abs=1e-12)
    expected = [discounted(max(GAINS[query][doc], 0.0) for doc in docs[:2]) for query, docs in LISTS.items()]
    assert scores["old", "DCG(dcg='log2')@2"].by_query == pytest.approx(expected, abs=1e-12)
    assert scores["old", "Judged@3"].by_query == pytest.approx([1.0, 2 / 3, 1.0])
    assert any("grades are used as gains" in note for note in scores.notes)
    answer = ae.compare(runs["old"], runs["new"], judgments=judgments, measure="nDCG@10", unjudged="irrelevant")
    assert answer.value == pytest.approx(np.subtract(ndcg_by_query(OTHER), ndcg_by_query(LISTS)).mean(), abs=1e-12)


@pytest.mark.parametrize("measure", ["P@10", "ERR@10", "DCG@10", "AP", "RR", "Bpref"])
def test_measures_of_grades_refuse_fractions(measure):
    with pytest.raises(InputError, match=r"needs whole grades, got 0\.1: only nDCG, "):
        ae.score(GAINS, as_run(LISTS), measure)


def test_a_sample_refuses_fractions_with_the_place(tmp_path, capsys):
    judgments = forms(tmp_path)["q.csv"]
    lists = "".join(f"{q} Q0 {doc} {k + 1} {9 - k} old\n" for q, docs in LISTS.items() for k, doc in enumerate(docs))
    (tmp_path / "old.run").write_text(lists)
    to = ["--budget", "2", "--out", str(tmp_path / "s.sample"), "--sheet", str(tmp_path / "s.csv")]
    asked = ["sample", "--run", str(tmp_path / "old.run"), "--measure", "nDCG@10", "--judged", str(judgments), *to]
    assert run_command(asked) == 1
    problem = "q.csv:2: column relevance: holds '0.5', expected a whole number"
    assert problem in " ".join(capsys.readouterr().err.split())
