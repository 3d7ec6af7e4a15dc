"""Ids that look the same, files that are the same, and numbers that are no longer what they were."""

from __future__ import annotations

import os

import polars as pl
import pytest
from spreadsheet_files import write_table

import activeeval as ae
from activeeval.core.errors import InputError, unseen_difference
from activeeval.core.results import Note
from activeeval.formats.judgments.from_files import read_all
from activeeval.formats.loading import load_run, load_tables, pool_from_tables
from activeeval.inputs.arguments import by_judge

ACUTE, PLAIN = "\u00e9", "e\u0301"


@pytest.mark.parametrize("other", [PLAIN, ACUTE + "\u200b", "\ufeff" + ACUTE, ACUTE + " ", "\u00a0" + ACUTE])
def test_ids_that_differ_in_what_nobody_sees_are_both_spelt_out(tmp_path, other):
    assert unseen_difference([ACUTE], ["x", other]).startswith(f"; {ACUTE!a} and {other!a} look the same")
    assert unseen_difference([ACUTE], ["x", ACUTE]) == unseen_difference(["a"], ["b"]) == ""
    for name, (query, doc) in {"query": (other, "d"), "document": ("q", other)}.items():
        judgments = {("q" if name == "document" else ACUTE): {"d" if name == "query" else ACUTE: 1}}
        run = {query: {doc: 2.0}}
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


TINY = [("2e-400", "1e-400"), ("4.0e-324", "5e-324"), ("-1e-400", "0"), ("0." + "0" * 330 + "1", "0.0")]
ALIKE = [("0", "0.0"), ("1e-400", "1e-400"), ("1e-400", "10e-401"), ("0e-400", "0"), ("1e-300", "2e-300")]


def tiny_run(path, scores):
    """A run in a file of the form that its name says, which has another query of other scores beside."""
    rows = [("q", f"d{k}", score) for k, score in enumerate(scores)] + [("r", "d0", "7"), ("r", "d1", "3e-400")]
    lines = {
        ".run": "".join(f"{query} Q0 {doc} 1 {score} t\n" for query, doc, score in rows),
        ".jsonl": "".join(f'{{"query_id":"{q}","doc_id":"{d}","score":{score}}}\n' for q, d, score in rows),
    }
    if path.suffix not in lines:
        return write_table(path, pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row"))
    path.write_text(lines[path.suffix])
    return path


@pytest.mark.parametrize("suffix", [".run", ".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize(("scores", "is_said"), [*((pair, True) for pair in TINY), *((pair, False) for pair in ALIKE)])
def test_scores_that_are_ties_as_numbers_alone_are_said(tmp_path, suffix, scores, is_said):
    run = load_run(tiny_run(tmp_path / f"a{suffix}", scores))
    said = [note.numbers["n"] for note in run.notes if note.code == "tiny scores"]
    n_tiny = sum(score not in ("0", "0.0") for score in scores)
    assert said == ([n_tiny] if is_said else [])
    assert run.scores[:2].tolist() == [float(score) for score in scores]


def test_tiny_scores_are_said_of_a_frame_too_where_it_holds_texts():
    frame = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": ["2e-400", "1e-400"]})
    assert [note.code for note in load_run(frame).notes] == ["equal scores", "tiny scores"]


@pytest.mark.parametrize("what", ["judgments", "run"])
@pytest.mark.parametrize("suffix", [".txt", ".csv", ".tsv", ".jsonl", ".parquet", "frame", "pandas"])
def test_a_row_that_is_there_twice_is_refused_in_every_form(tmp_path, what, suffix):
    value, rows = "relevance" if what == "judgments" else "score", [("q", "a", 1), ("q", "b", 0), ("q", "a", 1)]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", value], orient="row")
    path = tmp_path / f"a{suffix}"
    source = {"frame": frame, "pandas": frame.to_pandas()}.get(suffix, path)
    if suffix == ".txt":
        form = "{} Q0 {} 1 {} t\n" if what == "run" else "{} 0 {} {}\n"
        path.write_text("".join(form.format(*row) for row in rows))
    elif source is path:
        write_table(path, frame)
    other = {"q": {"a": 1.0, "b": 2.0}} if what == "judgments" else {"q": {"a": 1, "b": 0}}
    judged, run = (source, other) if what == "judgments" else (other, source)
    said = "document 'a' of query 'q' is there twice, first at .* 1; expected it once|first at line 2; expected it once"
    for call in (
        lambda: ae.score(judged, run, "P@1"),
        lambda: ae.compare(run, other if what == "judgments" else {"q": {"b": 1.0}}, judgments=judged, measure="P@1"),
        lambda: ae.sample(run, measure="P@1", budget=1, max_grade=1, seed=1, judged=judged),
    ):
        with pytest.raises(ae.FormatError, match=said):
            call()


def test_a_file_by_two_paths_is_one_judge(tmp_path):
    (tmp_path / "sub").mkdir()
    for rows in ("query_id,doc_id,grade\nq,a,1\nq,b,0\n", "sample,block,query_id,doc_id,grade\ns,1,q,a,1\ns,1,q,b,0\n"):
        for name in ("a.csv", "b.csv"):
            (tmp_path / name).write_text(rows)
        (tmp_path / "c.csv").write_text(rows.replace("b,0", "b,1"))
        paths = [tmp_path / "a.csv", f"{tmp_path}/sub/../a.csv", tmp_path / "b.csv", tmp_path / "c.csv"]
        judges = {os.path.basename(judge.name) for judge in read_all(by_judge(paths)).judges}
        assert judges == ({"a.csv", "c.csv"} if rows.startswith("sample") else {"a.csv", "b.csv", "c.csv"})
