"""Pairs from files: lists of grades, or runs and judgments with side-by-side preferences."""

import json

import polars as pl
import pytest
from spreadsheet_files import write_table

from activeeval.core.errors import FormatError, InputError
from activeeval.formats.tables.preferences import UNANSWERED, read_pairs
from activeeval.gains import ListSource, load_pairs, load_preferences

ROWS = [
    {"query": "q1", "preferred": [2, 0, 1], "other": [0, 0, 1]},
    {"query": "q1", "preferred": [1, 1, 0], "other": [0, 1, 1], "tie": True},
    {"query": "q2", "preferred": [0, 2, 2], "other": [2, 0, 0], "tie": False},
]
ASKED = [
    {"query": "q1", "first": [2, 0, 1], "second": [0, 0, 1], "answer": "first"},
    {"query": "q1", "first": [1, 1, 0], "second": [0, 1, 1], "answer": "tie"},
    {"query": "q2", "first": [2, 0, 0], "second": [0, 2, 2], "answer": "second"},
    {"query": "q2", "first": [2, 0, 3], "second": [0, 2, 2], "answer": None},
]


def jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def lines(path, *text):
    path.write_text("".join(f"{line}\n" for line in text))
    return path


def cell(value):
    return " ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


def write(path, rows):
    """Write rows as the name wants it."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    form = cell if {".csv", ".tsv"} & {*path.suffixes} else lambda value: value
    return write_table(path, [{key: form(row.get(key)) for key in columns} for row in rows])


def assert_are_the_rows(data):
    assert data.preferred.tolist() == [[2, 0, 1], [1, 1, 0], [0, 2, 2]]
    assert data.other.tolist() == [[0, 0, 1], [0, 1, 1], [2, 0, 0]]
    assert data.ties.tolist() == [False, True, False]
    assert data.queries.tolist() == ["q1", "q1", "q2"]


NAMES = ["a.jsonl", "a.csv", "a.tsv", "a.parquet", "a.jsonl.gz", "a.csv.gz"]

# Lists of grades


@pytest.mark.parametrize("name", NAMES)
def test_preferred_and_other(name, tmp_path):
    path = write(tmp_path / name, ROWS)
    data, unanswered = load_pairs(path)
    assert_are_the_rows(data)
    assert unanswered is None
    assert data.max_grade == 2
    place = data.place(1)
    if "parquet" in name:
        assert place == f"{path}: row 2"
    else:
        assert place == f"{path}:{2 if 'jsonl' in name else 3}"
    assert load_preferences(path, max_grade=4).n_levels == 5


@pytest.mark.parametrize("name", NAMES)
def test_first_second_and_answer(name, tmp_path):
    data, unanswered = load_pairs(write(tmp_path / name, ASKED))
    assert_are_the_rows(data)
    assert unanswered.preferred.tolist() == [[2, 0, 3]]
    assert unanswered.other.tolist() == [[0, 2, 2]]
    assert not unanswered.ties.any()
    assert unanswered.queries.tolist() == ["q2"]
    assert data.max_grade == unanswered.max_grade == 3
    assert_are_the_rows(load_preferences(str(tmp_path / name)))


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ([True, False, None], [True, False, False]),
        ([1, 0, 1.0], [True, False, True]),
        (["true", "FALSE", ""], [True, False, False]),
        (["1", " 0 ", "True"], [True, False, True]),
    ],
)
def test_ties_are_said_in_many_ways(ties, expected, tmp_path):
    rows = [{"preferred": [1], "other": [0], "tie": tie} for tie in ties]
    assert load_preferences(jsonl(tmp_path / "a.jsonl", rows)).ties.tolist() == expected


def test_answers_may_be_written_large_and_spaced(tmp_path):
    path = lines(tmp_path / "a.csv", "first,second,answer", "1,0, First", "1,0,SECOND ", "1,0,Tie", "1,0,")
    assert read_pairs([path]).answers.tolist() == [1, -1, 0, UNANSWERED]


def test_queries_are_optional_and_go_by_many_names(tmp_path):
    for name in ("query", "query_id", "q_id", "qid"):
        path = jsonl(tmp_path / "a.jsonl", [{name: 7, "preferred": [1], "other": [0]}])
        assert load_preferences(path).queries.tolist() == ["7"]
    assert load_preferences(jsonl(tmp_path / "a.jsonl", [{"preferred": [1], "other": [0]}])).queries is None


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_documents_tell_how_far_lists_are_apart(name, tmp_path):
    sides = ("first_docs", ["d1", "d2", "d3"]), ("second_docs", ["d1", "d3", "d2"])
    rows = [{**ASKED[0], **dict(sides)}, {**ASKED[1], "first_docs": ["a"], "second_docs": ["b"]}]
    data = load_preferences(write(tmp_path / name, rows))
    assert data.distances("documents").tolist() == [2, 1]
    assert data.distances("grades").tolist() == [1, 2]
    turned = [{"preferred": [1, 0], "other": [0, 0], "preferred_docs": ["a", "b"], "other_docs": ["c", "b"]}]
    assert load_preferences(write(tmp_path / name, turned)).moved.tolist() == [1]
    only_one = [{key: value for key, value in turned[0].items() if key != "other_docs"}]
    assert load_preferences(write(tmp_path / name, only_one)).moved is None


def test_several_files_are_one(tmp_path):
    first, second = write(tmp_path / "a.jsonl", ROWS[:2]), write(tmp_path / "b.csv", ASKED[2:])
    data, unanswered = load_pairs([first, second])
    assert_are_the_rows(data)
    assert data.place(2) == f"{second}:2"
    assert unanswered.n_pairs == 1
    docs = {"preferred_docs": ["a", "b", "c"], "other_docs": ["a", "c", "b"]}
    with_docs = write(tmp_path / "c.jsonl", [{**ROWS[0], **docs}])
    assert load_preferences([with_docs, with_docs]).moved.tolist() == [2, 2]
    assert load_preferences([with_docs, first]).moved is None


def test_queries_in_one_file_only_are_refused(tmp_path):
    first = write(tmp_path / "a.jsonl", ROWS)
    second = jsonl(tmp_path / "b.jsonl", [{"preferred": [1, 1, 1], "other": [0, 0, 0]}])
    for paths in ([first, second], [second, first]):
        with pytest.raises(FormatError, match=r"b\.jsonl: no query column, where another file has one$"):
            load_preferences(paths)


def test_nothing_to_read_is_told(tmp_path):
    with pytest.raises(InputError, match="there is no file of pairs to read"):
        load_preferences([])
    path = write(tmp_path / "a.jsonl", ASKED[3:])
    with pytest.raises(InputError, match="no pair of these files has an answer, so there is nothing to learn from"):
        load_preferences(path)
    assert load_pairs(path)[0] is None
    without = jsonl(tmp_path / "b.jsonl", [{"first": [1], "second": [0]}])
    assert read_pairs([without]).answers.tolist() == [UNANSWERED]


# Cells that cannot be read


def test_a_grade_above_the_scale_is_named_by_file_and_line(tmp_path):
    path = lines(tmp_path / "a.csv", "preferred,other", "1,0", "3,0")
    with pytest.raises(InputError, match=r"a\.csv:3: preferred holds 3 at rank 1, expected a whole grade from 0 to 2$"):
        load_preferences(path, max_grade=2)


def test_bad_cells_of_parquet_are_named_by_row(tmp_path):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"preferred": [[1, 0], [1, 0]], "other": [[0, 0], [0]]}).write_parquet(path)
    with pytest.raises(InputError, match=r"a\.parquet: row 2: other holds 1 grades, expected 2, as the lists before"):
        load_preferences(path)
    pl.DataFrame({"preferred": [[1, 0], None], "other": [[0, 0], [0, 1]]}).write_parquet(path)
    with pytest.raises(InputError, match=r"a\.parquet: row 2, column preferred: is empty, expected a list of grades"):
        load_preferences(path)
    pl.DataFrame({"preferred": [3, 4], "other": [1, 2]}).write_parquet(path)
    with pytest.raises(InputError, match=r"a\.parquet: row 1, column preferred: holds '3', expected a list of grades"):
        load_preferences(path)


def test_numbers_of_parquet_are_grades_and_ties(tmp_path):
    path = tmp_path / "a.parquet"
    frame = pl.DataFrame({"preferred": [[1, 0], [2, 0]], "other": [[0, 0], [0, 1]], "tie": [0, 1], "qid": [3, 4]})
    schema = {"preferred": pl.List(pl.Int8), "other": pl.Array(pl.UInt16, 2), "tie": pl.Int64}
    frame.cast(schema).write_parquet(path)
    data = load_preferences(path)
    assert data.preferred.tolist() == [[1, 0], [2, 0]]
    assert data.other.tolist() == [[0, 0], [0, 1]]
    assert data.ties.tolist() == [False, True]
    assert data.queries.tolist() == ["3", "4"]


# Side by side


@pytest.fixture
def source(tmp_path, monkeypatch):
    """Judgments of two queries and three runs; the second ranks but one document of q2."""
    monkeypatch.chdir(tmp_path)
    qrels = ["q1 0 a 3", "q1 0 b 0", "q1 0 c 1", "q1 0 d -1", "q2 0 a 2", "q2 0 b 0"]
    lines(tmp_path / "qrels", *qrels)
    (tmp_path / "deep").mkdir()
    for name, tag, orders in (
        ("one.run", "bm25", {"q1": "abc", "q2": "ab"}),
        ("two.v2.run", "neural", {"q1": "dca", "q2": "b"}),
        ("deep/three.run", "bm25", {"q1": "xba", "q2": "ba"}),
    ):
        ranked = [(q, doc, rank) for q, order in orders.items() for rank, doc in enumerate(order, 1)]
        rows = [f"{q} Q0 {doc} {rank} {10 - rank} {tag}" for q, doc, rank in ranked]
        lines(tmp_path / name, *rows)
    return ListSource("qrels", ["one.run", "two.v2.run", "deep/three.run"], depth=3)


GRADES = {
    "one.run": {"q1": [3, 0, 1], "q2": [2, 0, 0]},
    "two.v2.run": {"q1": [0, 1, 3], "q2": [0, 0, 0]},
    "deep/three.run": {"q1": [0, 0, 3], "q2": [0, 2, 0]},
}


def test_runs_and_judgments_make_lists(source, tmp_path):
    rows = [
        {"query": "q1", "preferred": "one.run", "other": "two.v2.run"},
        {"query": "q2", "preferred": "deep/three.run", "other": "one.run", "tie": True},
        {"query": "q1", "preferred": "two.v2.run", "other": "deep/three.run"},
    ]
    for name in ("p.jsonl", "p.csv", "p.parquet"):
        data = load_preferences(write(tmp_path / name, rows), source=source)
        assert data.preferred.tolist() == [GRADES[row["preferred"]][row["query"]] for row in rows]
        assert data.other.tolist() == [GRADES[row["other"]][row["query"]] for row in rows]
        assert data.ties.tolist() == [False, True, False]
        assert data.queries.tolist() == ["q1", "q2", "q1"]
        assert data.max_grade == 3
        assert data.moved.tolist() == [3, 2, 2]
        assert data.gaps.tolist() == [[1, 0], [0, 2], [2, 0]]


def test_answers_side_by_side(source, tmp_path):
    rows = [
        {"query": "q1", "first": "one.run", "second": "two.v2.run", "answer": "second"},
        {"query": "q2", "first": "one.run", "second": "two.v2.run", "answer": ""},
    ]
    data, unanswered = load_pairs(write(tmp_path / "p.csv", rows), source=source)
    assert data.preferred.tolist() == [[0, 1, 3]]
    assert unanswered.other.tolist() == [[0, 0, 0]]
    assert (data.n_unjudged, data.n_missing) == (1, 0)
    assert (unanswered.n_unjudged, unanswered.n_missing) == (0, 3)


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("one", "one.run"),
        ("one.run", "one.run"),
        ("two", "two.v2.run"),
        ("two.v2", "two.v2.run"),
        ("neural", "two.v2.run"),
        ("three", "deep/three.run"),
        ("three.run", "deep/three.run"),
        ("deep/three.run", "deep/three.run"),
    ],
)
def test_a_run_goes_by_many_names(name, run, source, tmp_path):
    other = "one" if run != "one.run" else "two"
    path = lines(tmp_path / "p.csv", "query,preferred,other", f"q1,{name},{other}")
    assert load_preferences(path, source=source).preferred.tolist() == [GRADES[run]["q1"]]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("q1,bm25,two", "p.csv:3: the name 'bm25' fits more than one run; use their paths"),
        ("q1,one,four", "p.csv:3: other is 'four', expected one of the runs: "),
        ("q9,one,two", "p.csv:3 names query 'q9', which the judgments do not hold"),
        ("q1,3 1,two", "p.csv:3: holds the list [3, 1], expected the name of a run"),
    ],
)
def test_names_that_are_none_or_several_are_told(row, problem, source, tmp_path):
    lines(tmp_path / "p.csv", "query,preferred,other", "q1,one,two", row)
    with pytest.raises(InputError) as caught:
        load_preferences("p.csv", source=source)
    assert str(caught.value).startswith(problem)


def test_runs_need_queries_and_lists_need_no_runs(source, tmp_path):
    path = lines(tmp_path / "p.csv", "preferred,other", "one,two")
    with pytest.raises(InputError, match=r"p\.csv:2: no query, expected the query that both runs answer"):
        load_preferences(path, source=source)
    with pytest.raises(InputError, match=r"p\.csv:2: preferred is 'one', expected a list of grades, one for each rank"):
        load_preferences(path)


def test_depth_ties_and_scale_of_a_source(source, tmp_path):
    path = lines(tmp_path / "p.csv", "query,preferred,other", "q1,tied,one")
    lines(tmp_path / "tied.run", *(f"q1 Q0 {document} {rank} 5 t" for rank, document in enumerate("bca")))
    for ties, expected in (("id", [1, 0, 3]), ("rank", [0, 1, 3])):
        given = ListSource("qrels", ["tied.run", "one.run"], depth=3, ties=ties)
        assert load_preferences(path, source=given).preferred.tolist() == [expected]
    short = ListSource("qrels", ["tied.run", "one.run"], depth=1)
    data = load_preferences(path, max_grade=5, source=short)
    assert (data.depth, data.n_levels, data.other.tolist()) == (1, 6, [[3]])
    deep = load_preferences(path, source=ListSource("qrels", ["tied.run", "one.run"]))
    assert deep.depth == 10
    assert deep.n_missing == 14
    with pytest.raises(InputError, match="depth must be a positive whole number, got 0"):
        load_preferences(path, source=ListSource("qrels", ["tied.run", "one.run"], depth=0))


def test_a_run_given_twice_is_ambiguous_by_any_name(source, tmp_path):
    path = lines(tmp_path / "p.csv", "query,preferred,other", "q1,one,two")
    again = ListSource("qrels", ["one.run", "two.v2.run", "./one.run"], depth=3)
    with pytest.raises(InputError, match="the name 'one' fits more than one run; use their paths"):
        load_preferences(path, source=again)
    by_path = lines(tmp_path / "p.csv", "query,preferred,other", "q1,./one.run,two")
    assert load_preferences(by_path, source=again).preferred.tolist() == [[3, 0, 1]]
