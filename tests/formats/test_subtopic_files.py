"""Judgments of subtopics: from TREC's diversity qrels, tables and data frames; refused where grades are expected."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

from activeeval import score
from activeeval.core.errors import InputError
from activeeval.formats.judgments.subtopic_files import load_subtopics
from activeeval.formats.judgments.table_forms import of_table
from activeeval.formats.loading import load_qrels
from activeeval.formats.tables.read_tables import frame_sheet

ROWS = [("q1", "1", "a", 1), ("q1", "2", "a", 0), ("q1", "2", "b", 2), ("q2", "1", "a", -1), ("q1", "1", "c", 0)]
COLUMNS = ("query_id", "subtopic", "doc_id", "grade")
RUN = {"q1": {"x": 3.0, "b": 2.0, "a": 1.0}, "q2": {"a": 1.0}}


def lines(rows):
    """Return rows as lines of TREC text."""
    return "".join(" ".join(map(str, row)) + "\n" for row in rows)


def columns_of(judgments):
    """Return the columns of judgments as lists."""
    names = ("query_ids", "doc_ids", "grades", "rated", "subtopics", "ratings")
    return [getattr(judgments, name).tolist() for name in names]


def test_every_form_gives_the_same_judgments(tmp_path):
    (tmp_path / "qrels.txt").write_text(lines(ROWS))
    (tmp_path / "qrels.csv").write_text(lines([COLUMNS, *ROWS]).replace(" ", ","))
    table = pl.DataFrame(ROWS, schema=COLUMNS, orient="row")
    table.rename({"subtopic": "subtopic_id"}).write_parquet(tmp_path / "qrels.parquet")
    of_ir_measures = pd.DataFrame(ROWS, columns=["query_id", "iteration", "doc_id", "relevance"])
    files = (tmp_path / name for name in ("qrels.txt", "qrels.csv", "qrels.parquet"))
    expected = [
        ["q1", "q1", "q2", "q1"],
        list("abac"),
        [1, 2, -1, 0],
        [0, 0, 1, 2, 3],
        [0, 1, 1, 0, 0],
        [1, 0, 2, -1, 0],
    ]
    for source in (*files, table, of_ir_measures):
        assert columns_of(load_subtopics(source)) == expected


def test_a_frame_scores_as_the_file_does(tmp_path):
    (tmp_path / "qrels.txt").write_text(lines(ROWS))
    of_file = score(tmp_path / "qrels.txt", {"run": RUN}, ["alpha_nDCG@5", "ERR_IA@5"])
    of_frame = score(pd.DataFrame(ROWS, columns=COLUMNS), {"run": RUN}, ["alpha_nDCG@5", "ERR_IA@5"])
    assert [each.value for each in of_frame] == [each.value for each in of_file]
    assert [each.measure for each in of_file] == ["alpha_nDCG@5", "ERR_IA@5"]
    assert 0 < of_file["run", "ERR_IA@5"].value < of_file["run", "alpha_nDCG@5"].value < 1


def test_queries_without_a_relevant_document_follow_the_rule(tmp_path):
    (tmp_path / "qrels.txt").write_text(lines(ROWS))
    zero, skip = (score(tmp_path / "qrels.txt", {"r": RUN}, "ERR_IA@5", no_relevant=rule) for rule in ("zero", "skip"))
    assert (zero.query_ids, skip.query_ids) == (["q1", "q2"], ["q1"])
    assert skip.value == pytest.approx(2 * zero.value)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [("q", "0", "a", 1), ("q", "0", "b", 0)],
            "the subtopic is '0' in every row, expected rows of query, subtopic",
        ),
        (
            [*ROWS, ("q1", "2", "b", 1)],
            ":6: document 'b' is there twice for subtopic '2' of query 'q1', expected it once",
        ),
        ([("q", "1", "a")], "3 columns in 'q 1 a', expected 4: query subtopic document grade"),
        ([("q", "1", "a", 0.5)], "the grade 0.5 is not a whole number"),
    ],
)
def test_bad_text_is_refused_in_a_line(tmp_path, rows, message):
    (tmp_path / "qrels.txt").write_text(lines(rows))
    with pytest.raises(InputError, match=message) as caught:
        load_subtopics(tmp_path / "qrels.txt")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"query_id": ["q"], "doc_id": ["a"], "grade": [1]}, "no subtopic column in: query_id, doc_id, grade"),
        ({name: ["q", "q"] for name in COLUMNS[:3]} | {"grade": [1, 1]}, "the subtopic is 'q' in every row"),
        (
            {"query_id": ["q"], "subtopic": ["1"], "doc_id": ["a"], "grade": [1], "judge_kind": ["machine"]},
            "a grader's grades",
        ),
    ],
)
def test_bad_tables_are_refused(frame, message):
    with pytest.raises(InputError, match=message):
        load_subtopics(pl.DataFrame(frame))


def test_judgments_of_documents_are_refused_by_measures_of_subtopics():
    with pytest.raises(InputError, match="no subtopic column"):
        score({"q1": {"a": 1}}, {"run": RUN}, "ERR_IA@5")


def test_a_repeated_document_may_have_subtopics(tmp_path):
    (tmp_path / "qrels.txt").write_text(lines(ROWS))
    hint = (
        "is there twice, first at .* 1; expected it once. If '1' and '2' are subtopics, score by alpha_nDCG or ERR_IA"
    )
    with pytest.raises(InputError, match=r"qrels.txt:2: document 'a' of query 'q1' " + hint):
        load_qrels(tmp_path / "qrels.txt")
    with pytest.raises(InputError, match=r"row 2, column doc_id: document 'a' of query 'q1' " + hint):
        of_table(frame_sheet(pl.DataFrame(ROWS, schema=COLUMNS, orient="row"), "the frame"))


def test_a_repeated_document_of_one_iteration_has_none(tmp_path):
    (tmp_path / "qrels.txt").write_text("q 0 a 1\nq 0 a 0\n")
    with pytest.raises(InputError, match=r"expected it once$"):
        load_qrels(tmp_path / "qrels.txt")


def test_measures_with_and_without_subtopics_are_scored_apart(tmp_path):
    (tmp_path / "qrels.txt").write_text(lines(ROWS))
    with pytest.raises(InputError, match="judgments are of subtopics for all measures or for none: score them apart"):
        score(tmp_path / "qrels.txt", {"run": RUN}, ["ERR_IA@5", "P@5"])


def test_rules_that_change_documents_are_refused(tmp_path):
    (tmp_path / "qrels.txt").write_text(lines(ROWS))
    with pytest.raises(InputError, match="judgments of subtopics are read as they are"):
        score(tmp_path / "qrels.txt", {"run": RUN}, "ERR_IA@5", leave_out_self=True)
