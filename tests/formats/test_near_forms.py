"""Files that are nearly of a known form: runs without scores, frames as JSON, lists, a scale from 1, missing files."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import activeeval as ae
from activeeval.cli import run as run_command
from activeeval.core.errors import InputError
from activeeval.formats.judgments.from_files import labels_of
from activeeval.formats.loading import load_run
from activeeval.formats.reading_rules import reading

HALF = "query_id,doc_id,grade\nq1,a,0.5\n"
GRADES = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"a": 0, "d": 1}}
LISTS = {"q1": ["b", "a", "c"], "q2": ["d", "a"]}
RANKED = {query: {doc: float(-rank) for rank, doc in enumerate(docs)} for query, docs in LISTS.items()}
VALUE = ae.score(GRADES, [RANKED], "nDCG@10").value


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.json").write_text(json.dumps(GRADES))
    return tmp_path


def rows(value):
    return [(query, doc, value(rank)) for query, docs in LISTS.items() for rank, doc in enumerate(docs, 1)]


@pytest.mark.parametrize("name", ["ranks.csv", "scores.tsv", "ranks.tsv", "lists.json", "frame.json"])
def test_runs_without_scores_or_names_of_columns(folder, name):
    frame = pd.DataFrame(rows(lambda rank: rank), columns=["query_id", "doc_id", "rank"])
    (folder / "ranks.csv").write_text(frame.sample(frac=1, random_state=1).to_csv(index=False))
    for file, value in {"scores.tsv": lambda rank: 1 / (1 + rank), "ranks.tsv": lambda rank: rank}.items():
        (folder / file).write_text("".join(f"{query}\t{doc}\t{number}\n" for query, doc, number in rows(value)))
    (folder / "lists.json").write_text(json.dumps(LISTS))
    frame.assign(score=-frame["rank"]).drop(columns="rank").to_json(folder / "frame.json")
    assert ae.score("q.json", name, "nDCG@10").value == pytest.approx(VALUE, abs=1e-12)
    assert all("read as" not in note.code or note.numbers["source"] == name for note in load_run(name).notes)


def test_lists_in_memory_are_as_lists_on_file():
    assert ae.score(GRADES, [LISTS], "nDCG@10").value == pytest.approx(VALUE, abs=1e-12)
    assert ae.score({"q1": ["a", "c"], "q2": ["d"]}, [LISTS], "RR").value == pytest.approx(0.75)
    with pytest.raises(InputError, match="the list of query 'q1' has a document twice"):
        ae.score(GRADES, [{"q1": ["a", "a"]}], "RR")


def test_the_columns_of_judgments_are_not_those_of_runs(folder, capsys):
    """A table of runs whose score column has the name that the judgments' grades have."""
    (folder / "judged.csv").write_text("topic,doc,score\nq1,a,2\nq1,b,0\n")
    (folder / "run.csv").write_text("topic,doc,score\nq1,b,9.5\nq1,a,3\n")
    names = "query=topic,document=doc,grade=score"
    assert run_command(["score", "judged.csv", "run.csv", "RR", "--columns", names, "-o", "jsonl"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == 0.5


def test_a_run_that_is_not_there_is_no_measure(folder, capsys):
    (folder / "a.json").write_text(json.dumps(RANKED))
    assert run_command(["score", "q.json", "a.json", "missing.run", "nDCG@10"]) == 1
    assert capsys.readouterr().err == "activeeval: missing.run: no such file\n"
    assert run_command(["score", "q.json", "a.json", "ndcg_cut.10", "-o", "jsonl"]) == 0


@pytest.mark.parametrize(("grades", "is_noted"), [((1, 3), True), ((1, 2), False), ((0, 3), False), ((2, 5), True)])
def test_a_scale_that_may_begin_above_0_is_noted(folder, grades, is_noted):
    (folder / "q.txt").write_text("".join(f"q1 0 d{k} {grade}\n" for k, grade in enumerate(grades)))
    assert ("no zero" in [note.code for note in labels_of("q.txt").notes]) == is_noted


def test_words_without_a_number_are_refused_with_the_way_out(folder):
    (folder / "w.csv").write_text("query_id,doc_id,label\nq1,a,Relevant\n")
    with pytest.raises(InputError, match=r"line|w.csv:2: column label: holds 'Relevant', .*name is '2: relevant'"):
        labels_of("w.csv")


def test_answers_that_were_skipped_are_counted(folder):
    """Label Studio writes a skipped task as a cancelled annotation without results."""

    def task(doc, is_skipped):
        result = [] if is_skipped else [{"type": "choices", "value": {"choices": ["1"]}}]
        data = {"query_id": "q1", "doc_id": doc}
        return {"data": data, "annotations": [{"was_cancelled": is_skipped, "result": result}]}

    (folder / "x.json").write_text(json.dumps([task("a", False), task("b", True), task("c", True)]))
    notes = {note.code: note.numbers.get("n") for note in labels_of("x.json").notes}
    assert notes["skipped answers"] == 2


def test_one_of_two_questions_of_label_studio_is_chosen_by_its_name(folder):
    def answer(name, choice):
        return {"from_name": name, "to_name": "text", "type": "choices", "value": {"choices": [choice]}}

    results = [answer("relevance", "2"), answer("quality", "0")]
    (folder / "x.json").write_text(
        json.dumps([{"data": {"query_id": "q1", "doc_id": "a"}, "annotations": [{"result": results}]}])
    )
    for name, grade in (("relevance", 2), ("Quality", 0)):
        with reading({"grade": name}):
            assert labels_of("x.json").grades.tolist() == [grade]
    with pytest.raises(InputError, match="answers the questions 'relevance' and 'quality'"):
        labels_of("x.json")
    with pytest.raises(InputError, match=r"holds no ratings that are numbers"), reading({"grade": "style"}):
        labels_of("x.json")


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("q.csv", HALF + "q1,b,1.O\n", "q.csv:3: column grade: holds '1.O', expected a number"),
        ("q.csv", HALF + "q1,b,nan\n", "q.csv:3: column grade: holds 'nan', expected a number"),
        ("q.csv", HALF + "q1,b,-0.5\n", "q.csv:3: column grade: holds -0.5, expected a grade"),
        ("q.txt", "q1 0 a 0.5\nq1 0 b 5000\n", "q.txt:2: holds 5000.0, expected a grade from 0 to 1000"),
    ],
)
def test_a_wrong_cell_among_fractions_is_named_alone(folder, name, text, problem):
    (folder / name).write_text(text)
    with pytest.raises(InputError, match=problem) as refused:
        ae.score(name, [RANKED], "nDCG@10")
    assert "0.5'" not in str(refused.value).replace("-0.5", "")


def test_an_item_that_cannot_be_judged_stands_among_fractions(folder):
    (folder / "q.csv").write_text(HALF + "q1,b,cannot\nq1,c,\n")
    assert ae.score("q.csv", [RANKED], "Judged@3").value == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("q1\tb\t4\nq1\ta\t3\nq1\tc\t2\n", "is no rank of query 'q1', expected ranks from 0 or 1"),
        ("query_id,doc_id,rank\nq1,a,1\nq1,b,1\n", "rank 1 of query 'q1' is there twice"),
        ("query_id,doc_id,rank\nq1,a,-1\n", "expected a whole number from 0 on"),
    ],
)
def test_ranks_that_are_none_are_refused(folder, text, problem):
    (folder / "r.tsv").write_text(text.replace(",", "\t"))
    with pytest.raises(InputError, match=problem):
        load_run("r.tsv")


def test_whole_scores_with_decimals_are_scores(folder):
    (folder / "r.tsv").write_text("q1\td1\t2.0\nq1\td2\t3.0\nq1\td3\t1.0\n")
    assert load_run("r.tsv").scores.tolist() == [2.0, 3.0, 1.0]


def imported(rows):
    """Build the export of Label Studio for rows of a table with the user's columns."""
    answer = [{"from_name": "useful", "type": "choices", "value": {"choices": ["2"]}}]
    return [
        {
            "data": dict(zip(("Topic", "Passage"), row, strict=False)),
            "annotations": [{"completed_by": 1, "result": answer}],
        }
        for row in rows
    ]


def test_columns_name_the_fields_that_label_studio_took_from_a_table(folder, capsys):
    (folder / "ls.json").write_text(json.dumps(imported([("q1", "a"), ("q1", "b")])))
    (folder / "half.json").write_text(json.dumps(imported([("q1", "a"), ("q1",)])))
    (folder / "text.json").write_text(json.dumps([imported([("q1", "a")])[0] | {"data": "q1"}]))
    with reading({"query": "topic", "document": "Passage"}):
        assert labels_of("ls.json").doc_ids.tolist() == ["a", "b"]
    for file, columns, problem in (
        ("ls.json", "judge=completed_by", "ls.json: entry 1: no query_id or qid or query, expected an id, or --col"),
        ("half.json", "query=Topic,document=Passage", "half.json: entry 2: no doc_id or docno or docid or document_id"),
        ("text.json", "query=Topic", "text.json: entry 1: no query_id or qid or query, expected an id"),
    ):
        assert run_command(["score", file, "q.json", "P@1", "--columns", columns]) == 1
        assert problem in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        (("fields", "metadata"), "has fields, but no responses: expected both, as in records of Argilla"),
        (("something",), "is JSON of no known form"),
    ],
)
def test_json_that_is_nearly_of_a_tool_is_said_to_lack_what_it_lacks(folder, keys, problem):
    (folder / "near.json").write_text(json.dumps({key: [1] for key in keys}))
    with pytest.raises(InputError, match=problem):
        ae.score("near.json", [RANKED], "P@1")


def test_a_column_that_is_in_no_table_is_refused_before_anything_is_written(folder, capsys):
    (folder / "a.csv").write_text("query_id,doc_id,relevant\nq1,a,1\nq1,b,0\n")
    (folder / "a.run").write_text("q1 Q0 a 1 2 x\nq1 Q0 b 2 1 x\n")
    score = ["score", "a.csv", "a.run", "P@1"]
    sample = ["sample", "--run", "a.run", "--measure", "P@2", "--max-grade", "1", "--budget", "1"]
    files = ["--out", "x.sample", "--sheet", "x.csv"]
    for arguments, column in (
        (score, "relevant"),
        ([*score, "--per-query", "each.csv"], "relevant"),
        (sample + files, ""),
    ):
        named = f"judge=Whom,grade={column}" if column else "judge=Whom"
        assert run_command([*arguments, "--columns", named]) == 1
        output = capsys.readouterr()
        assert (output.out, output.err.splitlines()[-1]) == ("", "activeeval: --columns: no table has a column 'Whom'")
    assert not [file.name for file in folder.iterdir() if file.stem in ("x", "each")]
    assert run_command([*score, "--columns", "grade=relevant"]) == 0
    capsys.readouterr()
    assert run_command(score) == 1
    assert "expected relevance or label or grade or score, or --columns grade=NAME" in capsys.readouterr().err


def test_judgments_of_texts_name_the_option_that_takes_their_ids(folder, capsys):
    (folder / "book.csv").write_text("query,docid,rating\nred shoes,a,2\nred shoes,b,0\n")
    (folder / "a.run").write_text("q1 Q0 a 1 2 x\nq1 Q0 b 2 1 x\n")
    plan = ["plan", "--run", "a.run", "--measure", "P@2", "--max-grade", "2", "--budget", "1", "--judged", "book.csv"]
    for arguments in (["score", "book.csv", "a.run", "P@1"], plan):
        assert run_command(arguments) == 1
        assert "--queries of score, compare, plan, sample gives ids of texts" in capsys.readouterr().err


def test_a_scale_that_may_begin_above_0_is_noted_of_known_grades(folder, capsys):
    (folder / "a.csv").write_text("query_id,doc_id,grade\nq1,a,1\nq1,b,3\n")
    (folder / "a.run").write_text("q1 Q0 a 1 2 x\nq1 Q0 b 2 1 x\nq2 Q0 a 1 1 x\n")
    arguments = ["plan", "--run", "a.run", "--measure", "P@2", "--max-grade", "3", "--budget", "1"]
    assert run_command([*arguments, "--judged", "a.csv"]) == 0
    assert "a.csv: no grade is 0, the smallest is 1" in capsys.readouterr().err


def test_runs_without_a_measure_are_refused(folder, capsys):
    (folder / "a.run").write_text("q1 Q0 a 1 2 x\n")
    assert run_command(["score", "q.json", "a.run", "a.run"]) == 2
    assert "Missing argument 'MEASURE...', after the runs" in capsys.readouterr().err
