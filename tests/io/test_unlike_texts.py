"""Ids that look the same, files that are the same, and numbers that are no longer what they were."""

from __future__ import annotations

import os

import pytest

from activeeval.errors import InputError, unseen_difference
from activeeval.io.loading import load_run, load_tables, pool_from_tables
from activeeval.judgments import read_all
from activeeval.results import Note

ACUTE, PLAIN = "\u00e9", "e\u0301"


@pytest.mark.parametrize("other", [PLAIN, ACUTE + "\u200b", "\ufeff" + ACUTE, ACUTE + " ", "\u00a0" + ACUTE])
def test_ids_that_differ_in_what_nobody_sees_are_both_spelt_out(tmp_path, other):
    assert unseen_difference([ACUTE], ["x", other]).startswith(f"; {ACUTE!a} and {other!a} look the same")
    assert unseen_difference([ACUTE], ["x", ACUTE]) == unseen_difference(["a"], ["b"]) == ""
    for name, (query, doc) in {"query": (other, "d"), "document": ("q", other)}.items():
        judgments, run = (
            {("q" if name == "document" else ACUTE): {"d" if name == "query" else ACUTE: 1}},
            {query: {doc: 2.0}},
        )
        with pytest.raises(InputError, match=f"share no {name}") as caught:
            pool_from_tables(*load_tables(judgments, [run]), evaluated=1)
        assert ascii(ACUTE) in str(caught.value)
        assert ascii(other) in str(caught.value)


@pytest.mark.parametrize(("scores", "n_equal"), [((2**53 + 1, 2**53), 0), ((2**60 + 1, 2**60, 1), 1), ((5, 5), 0)])
def test_scores_that_floats_do_not_tell_apart_are_said(tmp_path, scores, n_equal):
    path = tmp_path / "a.run"
    path.write_text("".join(f"q Q0 d{k} {k} {score} t\n" for k, score in enumerate(scores)))
    found = [Note("vast scores", {"source": str(path), "n": n_equal})] if n_equal else []
    assert [note for note in load_run(path).notes if note.code == "vast scores"] == found


def test_a_file_by_two_paths_is_one_judge(tmp_path):
    (tmp_path / "sub").mkdir()
    for rows in ("query_id,doc_id,grade\nq,a,1\nq,b,0\n", "sample,block,query_id,doc_id,grade\ns,1,q,a,1\ns,1,q,b,0\n"):
        for name in ("a.csv", "b.csv"):
            (tmp_path / name).write_text(rows)
        (tmp_path / "c.csv").write_text(rows.replace("b,0", "b,1"))
        paths = [tmp_path / "a.csv", f"{tmp_path}/sub/../a.csv", tmp_path / "b.csv", tmp_path / "c.csv"]
        judges = {os.path.basename(judge.name) for judge in read_all(paths).judges}
        assert judges == ({"a.csv", "c.csv"} if rows.startswith("sample") else {"a.csv", "b.csv", "c.csv"})
