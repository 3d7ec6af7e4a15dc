"""TREC text: held against ir_measures, and written and read again."""

from __future__ import annotations

import gzip

import ir_measures
import numpy as np
import pytest

from activeeval.core.errors import InputError
from activeeval.core.pool.keyed import Qrels
from activeeval.formats.text.trec import (
    Prels,
    Run,
    read_prels,
    read_qrels,
    read_run,
    write_prels,
    write_qrels,
    write_run,
)


def test_white_space_comments_marks_and_gzip(tmp_path):
    text = "\ufeff# a comment\n q1\t0  d#1 2\r\n\nq1 0 é☃𝔘 -1\nq2 Q0 d#1 2.0".encode()
    for content in (text, gzip.compress(text)):
        path = tmp_path / "a"
        path.write_bytes(content)
        qrels = read_qrels(path)
        assert qrels.query_ids.tolist() == ["q1", "q1", "q2"]
        assert qrels.doc_ids.tolist() == ["d#1", "é☃𝔘", "d#1"]
        assert qrels.grades.tolist() == [2, -1, 2]


def test_a_run_keeps_scores_ranks_and_name(tmp_path):
    path = tmp_path / "a.run"
    path.write_text("007 Q0 1e5 0 29.985040567710804 my-run\n007 Q0 b 1 -1e-320 other\n")
    run = read_run(path)
    assert run.query_ids.tolist() == ["007", "007"]
    assert run.doc_ids.tolist() == ["1e5", "b"]
    assert run.scores.tolist() == [29.985040567710804, -1e-320]
    assert run.ranks.tolist() == [0, 1]
    assert run.name == "my-run"


def test_written_files_come_back(tmp_path):
    rng = np.random.default_rng(5)
    queries, documents = np.array(["a", "a", "ü", "ü"]), np.array(["1", "01", "x", "y,\"'"])
    values = rng.random(4) / 3
    write_qrels(Qrels(queries, documents, np.array([0, 1, -1, 4])), tmp_path / "qrels.gz")
    assert (tmp_path / "qrels.gz").read_bytes()[:2] == b"\x1f\x8b"
    qrels = read_qrels(tmp_path / "qrels.gz")
    assert qrels.grades.tolist() == [0, 1, -1, 4]
    assert qrels.doc_ids.tolist() == documents.tolist()
    write_prels(Prels(queries, documents, np.array([0, 1, -1, 4]), np.ones(4, int), values), tmp_path / "prels")
    prels = read_prels(tmp_path / "prels")
    assert prels.probs.tolist() == values.tolist()
    assert prels.methods.tolist() == [1] * 4
    write_run(Run(queries, documents, -values, np.arange(4), "tag"), tmp_path / "run")
    run = read_run(tmp_path / "run")
    assert (run.scores.tolist(), run.ranks.tolist(), run.name) == ((-values).tolist(), [0, 1, 2, 3], "tag")


@pytest.mark.parametrize("word", ["a b", "a\tb", "a\n", "#a"])
def test_ids_that_are_not_one_word_are_not_written(tmp_path, word):
    qrels = Qrels(np.array(["q"]), np.array([word]), np.array([1]))
    with pytest.raises(InputError, match=r"the document id .* cannot stand in TREC text, expected one word"):
        write_qrels(qrels, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(InputError, match=r"grades must have shape \(2,\), got \(1,\)"):
        Qrels(np.array(["q", "r"]), np.array(["d", "e"]), np.array([1]))


def test_a_repeated_pair_is_found_among_many(tmp_path):
    lines = [f"q{i // 100} 0 d{i % 100} 1\n" for i in range(20_000)]
    path = tmp_path / "a"
    path.write_text("".join([*lines, "q5 0 d7 1\n"]))
    with pytest.raises(InputError, match=r"a:20001: document 'd7' of query 'q5' is there twice, first at line 508"):
        read_qrels(path)


def test_real_judgments_agree_with_ir_measures(kit):
    path = kit("trec-robust03/robust03_qrels.txt.gz")
    qrels = read_qrels(path)
    text = gzip.decompress(path.read_bytes()).decode()
    other = list(ir_measures.read_trec_qrels(text))
    assert qrels.query_ids.tolist() == [q.query_id for q in other]
    assert qrels.doc_ids.tolist() == [q.doc_id for q in other]
    assert qrels.grades.tolist() == [q.relevance for q in other]


@pytest.mark.parametrize("name", ["InexpC2", "uic0301", "NLPR03vb10"])
def test_real_runs_agree_with_ir_measures(kit, name):
    path = kit(f"trec-robust03/runs/input.{name}.gz")
    run = read_run(path)
    other = list(ir_measures.read_trec_run(gzip.decompress(path.read_bytes()).decode()))
    assert run.name == name
    assert run.query_ids.tolist() == [d.query_id for d in other]
    assert run.doc_ids.tolist() == [d.doc_id for d in other]
    assert run.scores.tolist() == [d.score for d in other]
