"""What a machine says of items: read from files, laid on a pool, and said where it is odd."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pytest
from each_once import each_once
from spreadsheet_files import write_table

from activeeval import QueryPool
from activeeval.core.errors import FormatError, InputError
from activeeval.core.judgments import Judge, Judgment, Judgments
from activeeval.formats.graders.grader_grades import Grades

POOL = QueryPool(["q1", "q2"], [0, 2, 4], ["d1", "d2", "d1", "d3"])


def written(tmp_path, text, name="llm.qrels"):
    path = tmp_path / name
    path.write_text(text)
    return path


def codes(notes):
    return [note.code for note in notes]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("q1 0 d1 2\nq1 0 d2 0\nq2 0 d1 1\nq2 0 d3 3\n", [2, 0, 1, 3]),
        ("q1 0 d1 1.66\nq1 0 d2 -1\nq2 0 d1 .5\nq2 0 d3 3\n", [1.66, np.nan, 0.5, 3]),
        ("q2 0 d1 1\nq1 0 d1 2\n", [2, np.nan, 1, np.nan]),
    ],
)
def test_qrels_are_whole_or_not_and_negative_is_missing(tmp_path, text, values):
    on_pool = Grades.read(written(tmp_path, text)).on(POOL)
    np.testing.assert_array_equal(on_pool.values, values)
    np.testing.assert_array_equal(on_pool.is_graded, ~np.isnan(values))


def test_a_packed_file_is_read_and_names_the_machine(tmp_path):
    path = tmp_path / "gpt.dl21.qrels.gz"
    path.write_bytes(gzip.compress(b"q1 0 d1 2\nq1 0 d2 0\n"))
    assert Grades.read(path).name == "gpt.dl21"


@each_once(
    ("name", ["g.csv", "g.tsv", "g.jsonl", "g.parquet"]), ("column", ["grade", "relevance", "label", "rating", "score"])
)
def test_tables_of_one_value_a_row(tmp_path, name, column):
    frame = pl.DataFrame({"query_id": ["q1", "q1", "q2"], "doc_id": ["d1", "d2", "d3"], column: [2.0, None, 0.5]})
    for source in (write_table(tmp_path / name, frame), frame.to_pandas()):
        np.testing.assert_array_equal(Grades.read(source).on(POOL).values, [2, np.nan, np.nan, 0.5])


def test_a_negative_score_is_a_score_and_a_negative_grade_a_missing_one():
    pairs = {"query_id": ["q1", "q1"], "doc_id": ["d1", "d2"]}
    assert Grades.read(pd.DataFrame({**pairs, "score": [-2.5, 1]})).values.tolist() == [-2.5, 1]
    assert np.isnan(Grades.read(pd.DataFrame({**pairs, "grade": [-1, 1]})).values).tolist() == [True, False]


def test_a_distribution_has_its_expected_grade_for_a_value(tmp_path):
    path = written(tmp_path, "query_id,doc_id,p0,p1,p2\nq1,d1,.2,.3,.5\nq1,d2,,,\nq2,d3,1,0,0\n", "p.csv")
    on_pool = Grades.read(path).on(POOL)
    np.testing.assert_allclose(on_pool.values, [1.3, np.nan, np.nan, 0])
    np.testing.assert_allclose(on_pool.probs[[0, 3]], [[0.2, 0.3, 0.5], [1, 0, 0]])
    assert np.isnan(on_pool.probs[1]).all()


def test_columns_beside_the_grade_are_kept(tmp_path):
    header = "query_id,doc_id,grade,cost,model,prompt_version,explanation"
    text = f"{header}\nq1,d1,2,.001,m,v1,it says so\nq1,d2,0,.002,m,v1,\n"
    grades = Grades.read(written(tmp_path, text, "g.csv"))
    assert grades.costs.tolist() == [0.001, 0.002]
    assert list(grades.models) == ["m", "m"]
    assert list(grades.prompt_versions) == ["v1", "v1"]
    assert list(grades.explanations) == ["it says so", ""]
    assert grades.notes == ()


def test_a_pair_said_twice_alike_is_said_and_a_retry_takes_the_place_of_what_is_missing(tmp_path):
    grades = Grades.read(written(tmp_path, "q1 0 d1 2\nq1 0 d2 -1\nq1 0 d1 2\nq1 0 d2 1\nq2 0 d1 -1\nq2 0 d1 -1\n"))
    assert list(zip(grades.query_ids, grades.item_ids, strict=True)) == [("q1", "d1"), ("q1", "d2"), ("q2", "d1")]
    np.testing.assert_array_equal(grades.values, [2, 1, np.nan])


def test_samples_of_a_pair_become_shares(tmp_path):
    rows = ["q1,d1,1,3,.5", "q1,d2,1,0,.5", "q1,d1,2,2,.5", "q1,d1,3,,.5", "q2,d3,1,,.5"]
    text = "\n".join(["query_id,doc_id,sample,grade,cost", *rows]) + "\n"
    grades = Grades.read(written(tmp_path, text, "s.csv"))
    np.testing.assert_array_equal(grades.values, [2.5, 0, np.nan])
    np.testing.assert_array_equal(grades.probs[:2], [[0, 0, 0.5, 0.5], [1, 0, 0, 0]])
    np.testing.assert_array_equal(grades.costs, [1.5, 0.5, 0.5])
    halves = Grades.read(written(tmp_path, text.replace(",3,.5", ",2.5,.5"), "s.csv"))
    assert (halves.values[0], halves.probs) == (2.25, None)


def test_values_beyond_a_stated_scale_are_missing_and_most_may_not_be(tmp_path):
    path = written(tmp_path, "q1 0 d1 5\nq1 0 d2 1\nq2 0 d1 2\n")
    grades = Grades.read(path, scale=(0, 3))
    np.testing.assert_array_equal(grades.values, [np.nan, 1, 2])
    (note,) = grades.notes
    assert (note.code, note.numbers["n"], note.numbers["of"]) == ("grader beyond scale", 1, 3)
    with pytest.raises(FormatError, match=r"llm.qrels:1: holds 5.0; 2 of 3 values are beyond the scale 0 to 1"):
        Grades.read(path, scale=(0, 1))


def test_what_a_pool_lacks_and_a_file_lacks_is_counted(tmp_path):
    on_pool = Grades.read(written(tmp_path, "q1 0 d1 1\nq1 0 d9 2\nq1 0 d2 -1\n")).on(POOL)
    foreign, missing = on_pool.notes
    assert (foreign.code, foreign.numbers["n"], foreign.numbers["of"]) == ("grader foreign", 1, 3)
    assert (missing.code, missing.numbers["n"], missing.numbers["of"]) == ("grader missing", 3, 4)
    assert missing.numbers["n_unread"] == 1


def test_grades_of_another_collection_are_refused(tmp_path):
    with pytest.raises(InputError, match="none of its 2 grades is of an item of the pool"):
        Grades.read(written(tmp_path, "q1 0 x1 1\nq7 0 d1 2\n")).on(POOL)
    pool = QueryPool(["caf\u00e9"], [0, 1], ["d1"])
    with pytest.raises(InputError, match="look the same but differ"):
        Grades.read(written(tmp_path, "cafe\u0301 0 d1 1\n")).on(pool)
    with pytest.raises(InputError, match="all of its 1 replies for items of the pool are missing"):
        Grades.read(written(tmp_path, "q1 0 d1 -1\nq7 0 d1 2\n")).on(POOL)


def test_one_value_for_all_says_nothing_and_mixtures_are_named(tmp_path):
    text = "query_id,doc_id,grade,model,prompt_version\nq1,d1,2,a,v1\nq1,d2,2,b,v1\nq2,d1,2,b,v2\nq2,d3,2,b,v2\n"
    grades = Grades.read(written(tmp_path, text, "g.csv"))
    models, prompts, alike = grades.on(POOL).notes
    assert (models.code, models.numbers["names"]) == ("grader models mixed", ("b", "a"))
    assert models.numbers["counts"] == (3, 1)
    assert (prompts.code, prompts.numbers["counts"]) == ("grader prompts mixed", (2, 2))
    assert (alike.code, alike.numbers["value"]) == ("grader one value", 2.0)


def test_what_is_stated_stands_behind_the_name(tmp_path):
    path = written(tmp_path, "q1 0 d1 1\nq1 0 d2 2\n")
    grades = Grades.parse(f"{path}:cost=.01:scale=0-3:name=a judge:made=a.run")
    assert (grades.cost, grades.scale, grades.name, grades.made) == (0.01, (0, 3), "a judge", "a.run")
    assert Grades.parse(str(path)).name == "llm"
    odd = tmp_path / "llm:cost=2.qrels"
    odd.write_bytes(path.read_bytes())
    assert Grades.parse(str(odd)).cost is None


def test_grades_of_judgments_are_those_of_the_machines_among_them():
    machine, person = Judge("gpt", "machine"), Judge("ann")
    mixed = Judgments.of(
        [Judgment("q1", "d1", machine, value=2), Judgment("q1", "d1", person, value=1), Judgment("q1", "d2", machine)]
    )
    grades = Grades.read(mixed)
    np.testing.assert_array_equal(grades.values, [2, np.nan])
    assert (grades.name, codes(grades.notes)) == ("gpt", ["grader of people"])
    assert Grades.read(Judgments.of([Judgment("q1", "d1", person, value=1)])).values.tolist() == [1]
    with pytest.raises(InputError, match="holds comparisons, expected grades"):
        Grades.read(Judgments.of([Judgment("q1", "d1", kind="preference", other="d2")]))


def test_grades_are_read_as_they_are_with_what_is_stated(tmp_path):
    grades = Grades.read(written(tmp_path, "q1 0 d1 1\nq1 0 d2 2\n"))
    again = Grades.read(grades, cost=0.1)
    assert (again.cost, again.name, again.values is grades.values) == (0.1, "llm", True)
    with pytest.raises(InputError, match="grades must come as a path, a data frame, Judgments or Grades, got int"):
        Grades.read(3)


def test_texts_stand_behind_the_name_as_tables(tmp_path):
    (tmp_path / "u.jsonl").write_text(
        '{"query": "how far", "passage": "A mile.", "prediction": "##final score: 2", "judgment": 2}\n'
    )
    (tmp_path / "q.csv").write_text("id,text\nq1,how far\n")
    (tmp_path / "d.csv").write_text("id,title,text\nd1,Far,A  mile.\nd2,Near,A foot.\n")
    at = tmp_path / "u.jsonl"
    graded = Grades.parse(f"{at}:queries={tmp_path}/q.csv:documents={tmp_path}/d.csv:name=u")
    assert (graded.query_ids.tolist(), graded.item_ids.tolist(), graded.values.tolist()) == (["q1"], ["d1"], [2])
    again = Grades.read(at, queries={"q1": "how far"}, documents=tmp_path / "d.csv")
    assert again.item_ids.tolist() == ["d1"]
    with pytest.raises(InputError, match="as FILE:queries=FILE:documents=FILE"):
        Grades.parse(str(at))


def test_beliefs_keep_the_usual_shares_of_what_is_graded():
    values = np.repeat([0.0, 1.0, 2.5], [20, 50, 30])
    pool = QueryPool(["q"], [0, 101], [f"d{k:03d}" for k in range(101)])
    graded = pd.DataFrame({"query_id": ["q"] * 100, "doc_id": [f"d{k:03d}" for k in range(100)], "score": values})
    probs = Grades.read(graded).beliefs(pool)
    assert probs.shape == (101, 4)
    np.testing.assert_allclose(probs[:100].mean(axis=0), [0.35, 0.30, 0.20, 0.15], atol=1e-12)
    np.testing.assert_allclose(probs[100], [0.35, 0.30, 0.20, 0.15])
    assert (np.diff(probs[[0, 20, 70]] @ np.arange(4)) > 0).all()
