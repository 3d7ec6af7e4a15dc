"""One door for every kind of table, and the pool that judgments and runs make."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from spreadsheet_files import write_table

from activeeval.core.errors import InputError
from activeeval.core.kernels.text import keys as kernel_keys
from activeeval.core.pool import QueryPool, Rankings, keys
from activeeval.core.pool.keyed import Qrels
from activeeval.core.pool.texts import Texts
from activeeval.formats import pooling as table_pool
from activeeval.formats.loading import (
    load_probabilities,
    load_qrels,
    load_run,
    load_tables,
    pool_from_tables,
    read_costs,
)
from activeeval.formats.text.trec import Run, read_qrels, read_run
from activeeval.report.message_lookup import text_of

VOCABULARIES = [("query_id", "doc_id", "relevance"), ("q_id", "doc_id", "score"), ("qid", "docno", "label")]
ROWS = [("7", "007", 1), ("7", "1e5", 0), ("b", 'x,"y"', 2)]


@pytest.fixture
def pool():
    return QueryPool(["1", "2"], [0, 2, 3], ["a", "b", "a"])


def columns(names):
    return {name: list(values) for name, values in zip(names, zip(*ROWS, strict=True), strict=True)}


def pairs(table):
    return list(zip(table.query_ids.tolist(), table.doc_ids.tolist(), table.grades.tolist(), strict=True))


@pytest.mark.parametrize("names", VOCABULARIES, ids="/".join)
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table], ids=lambda kind: kind.__name__)
def test_frames_of_every_kind_and_vocabulary(kind, names):
    assert pairs(load_qrels(kind(columns(names)))) == ROWS


@pytest.mark.parametrize("names", VOCABULARIES, ids="/".join)
def test_files_of_every_kind(tmp_path, names):
    for suffix in ("csv", "tsv", "parquet", "jsonl"):
        assert pairs(load_qrels(write_table(tmp_path / f"a.{suffix}", pl.DataFrame(columns(names))))) == ROWS, suffix
    (tmp_path / "a.txt").write_text("7 0 d 1\n")
    assert pairs(load_qrels(str(tmp_path / "a.txt"))) == [("7", "d", 1)]


def test_dicts_and_what_is_there_already():
    qrels = load_qrels({1: {"a": 2, "b": np.int64(0)}, "q": {"a": 1.0}})
    assert pairs(qrels) == [("1", "a", 2), ("1", "b", 0), ("q", "a", 1)]
    assert load_qrels(qrels) is qrels
    run = load_run({"q": {"a": 0.5, "b": 3}, "r": {"c": Decimal("0.25")}})
    assert run.scores.tolist() == [0.5, 3.0, 0.25]
    assert run.ranks.tolist() == [1, 2, 1]
    assert load_run(run) is run


def test_integer_ids_in_frames_become_text_and_ranks_are_kept():
    frame = pd.DataFrame({"qid": [1, 1], "docno": [10, 9], "docid": [0, 1], "score": [0.5, 0.7], "rank": [0, 1]})
    run = load_run(frame)
    assert (run.query_ids.tolist(), run.doc_ids.tolist()) == (["1", "1"], ["10", "9"])
    assert run.ranks.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({1: {"d": 1}, "1": {"d": 1}}, "row 2, column doc_id: document 'd' of query '1' is there twice, first at"),
        (pd.DataFrame({"a": [1]}), "the judgments frame: no grade column in: a; expected relevance or label"),
        (pd.DataFrame({"qid": [1.5], "docno": ["d"], "label": [1]}), "row 1, column qid: holds '1.5', expected an id"),
        (pd.DataFrame({"qid": [None], "docno": ["d"], "label": [1]}), "row 1, column qid: is empty, expected an id"),
        (pl.DataFrame({"qid": ["q"], "docno": ["d"], "label": [[1]]}), "row 1, column label: '.1.' is not a number"),
    ],
)
def test_what_is_wrong_with_a_python_table_is_said(source, expected):
    with pytest.raises(InputError, match=expected):
        load_qrels(source)


def test_probabilities_are_aligned_with_a_pool(pool):
    cells = {"qid": [2, 1, 1, 9], "docid": list("abaz"), "p1": [0.25, 0.5, 1, 0], "p0": [0.75, 0.5, 0, 1]}
    frame = pl.DataFrame(cells)
    probabilities = load_probabilities(frame)
    assert probabilities.align(pool).tolist() == [[0, 1], [0.5, 0.5], [0.75, 0.25]]
    with pytest.raises(InputError, match="no probabilities for item 'b' of query '1', nor for 1 more"):
        load_probabilities(frame[2:]).align(pool)
    with pytest.raises(InputError, match="probabilities must come as a path or a data frame, got dict"):
        load_probabilities({"q": {"d": 1}})


def test_costs_come_by_line_or_by_id(tmp_path, pool):
    (tmp_path / "a.txt").write_text("1\n2.5\n4\n")
    assert read_costs(tmp_path / "a.txt").align(pool).tolist() == [1, 2.5, 4]
    (tmp_path / "a.csv").write_text("cost;doc_id;query_id\n1;a;2\n2;b;1\n3;a;1\n")
    assert read_costs(tmp_path / "a.csv").align(pool).tolist() == [3, 2, 1]
    (tmp_path / "b.txt").write_text("1\n2.5\n")
    with pytest.raises(InputError, match=r"b.txt: 2 costs for 3 items"):
        read_costs(tmp_path / "b.txt").align(pool)
    (tmp_path / "b.csv").write_text("query_id,doc_id,cost\n1,a,2\n1,b,2\n")
    with pytest.raises(InputError, match=r"b.csv: no cost for item 'a' of query '2'$"):
        read_costs(tmp_path / "b.csv").align(pool)


@pytest.fixture
def qrels():
    return load_qrels({"q2": {"a": 1, "b": -2}, "q1": {"c": 0}})


RUN = Run(["q1", "q1", "q2", "q3"], ["c", "d", "b", "x"], [1.0, 1.0, 2.0, 9.0], [2, 1, 1, 1], "one")
LATER = Run(["q2", "q2"], ["a", "e"], [0.5, 0.75], [1, 2], "two")


def ids(pool, rankings):
    return pool.item_ids[rankings.items].tolist()


def test_a_pool_of_judgments_and_runs(qrels):
    table = pool_from_tables(qrels, [RUN, LATER], evaluated=1)
    assert table.pool.query_ids.tolist() == ["q2", "q1"]
    assert table.pool.query_offsets.tolist() == [0, 2, 4]
    assert table.pool.item_ids.tolist() == ["a", "b", "c", "d"]
    assert table.grades.tolist() == [1, -1, 0, -1]
    np.testing.assert_array_equal(table.scores, [[np.nan, 2, 1, 1], [0.5, np.nan, np.nan, np.nan]])
    assert ids(table.pool, table.rankings[0]) == ["b", "d", "c"]
    assert (table.n_missing, table.n_ignored) == ([0, 1], [1, 0])


@pytest.mark.parametrize(("ties", "expected"), [("id", "dc"), ("rank", "dc"), ("input", "cd")])
def test_ties(ties, expected, qrels):
    rankings = pool_from_tables(qrels, [RUN], evaluated=1, ties=ties).rankings[0]
    assert ids(rankings.pool, rankings) == ["b", *expected]


def test_without_judgments_the_evaluated_runs_make_the_pool():
    table = pool_from_tables(None, [RUN, LATER], evaluated=1)
    assert table.pool.query_ids.tolist() == ["q1", "q2", "q3"]
    assert table.grades.tolist() == [-1] * 4
    assert np.isnan(table.scores[1]).all()
    assert (table.n_missing, table.n_ignored) == ([0, 2], [0, 0])
    third = Run(["q2", "q2", "q2"], ["a", "b", "e"], [0.5, 0.6, 0.75], [1, 2, 3], "three")
    both = pool_from_tables(None, [RUN, third], evaluated=2)
    assert both.pool.item_ids.tolist() == ["c", "d", "b", "a", "e", "x"]
    with pytest.raises(InputError, match=r"the run \(1\) and the run \(2\) share no document of a query: of q.*"):
        pool_from_tables(None, [RUN, LATER], evaluated=2)


def test_judgments_between_them_do_not_make_a_third_run_comparable(qrels):
    """It shares an item with the judgments, and none with the first run."""
    second = Run(["q1"], ["c"], [1.0], [1], "second")
    with pytest.raises(InputError, match=r"the run \(1\) and the run \(2\) share no document of a query: of q.*"):
        pool_from_tables(qrels, [RUN, second, LATER], evaluated=3)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "xlsx", "ods"])
def test_blanks_around_ids_mean_nothing_in_cells_and_all_in_typed_files(tmp_path, suffix):
    rows = {"qid": [" q1", "q1", "q2\xa0"], "docno": ["a ", " in  the middle ", "7"], "score": [1, 2, 3]}
    path = write_table(tmp_path / f"a.{suffix}", pl.DataFrame(rows))
    for table in (load_run(path), load_qrels(path)):
        is_typed = suffix in ("jsonl", "parquet")
        bare = [" q1", "q1", "q2\xa0"] if is_typed else ["q1", "q1", "q2"]
        assert table.query_ids.tolist() == bare
        assert table.doc_ids.tolist() == (rows["docno"] if is_typed else ["a", "in  the middle", "7"])


def test_rows_of_a_table_without_ranks_may_stand_in_any_order(tmp_path):
    (tmp_path / "a.csv").write_text("qid,docno,score\nq,a,1\nq,b,2\n")
    assert load_run(tmp_path / "a.csv").notes == load_run({"q": {"a": 1, "b": 2}}).notes == ()
    (tmp_path / "b.csv").write_text("qid,docno,score,rank\nq,a,1,1\nq,b,2,2\n")
    assert "the scores rise with the ranks" in text_of(load_run(tmp_path / "b.csv").notes[0])


def test_a_table_with_blanks_after_commas_is_the_table_without(tmp_path):
    (tmp_path / "a.csv").write_text("qid, docno, score\nq1, d1, 2\nq1, d2, 1\n")
    (tmp_path / "b.csv").write_text("qid, docno, label\nq1 , d1 , 1\nq1 ,d2 , 0\n")
    table = pool_from_tables(load_qrels(tmp_path / "b.csv"), [load_run(tmp_path / "a.csv")], evaluated=1)
    assert (table.pool.item_ids.tolist(), table.grades.tolist()) == (["d1", "d2"], [1, 0])
    (tmp_path / "c.csv").write_text("qid,docno,score\nq1,d1,2\nq1, d1,1\n")
    with pytest.raises(InputError, match=r"c.csv:3: column docno: document 'd1' of query 'q1' is there twice"):
        load_run(tmp_path / "c.csv")


def test_judgments_alone_make_a_pool(qrels):
    table = pool_from_tables(qrels, [], evaluated=0)
    assert table.scores.shape == (0, 3)
    assert table.pool.n_items == 3


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"evaluated": 3}, "evaluated must lie from 0 to the number of runs, 2, got 3"),
        ({"evaluated": 1, "ties": "coin"}, "ties must be one of id, rank, input, got 'coin'"),
    ],
)
def test_wrong_arguments(arguments, expected, qrels):
    with pytest.raises(InputError, match=expected):
        pool_from_tables(qrels, [RUN, LATER], **arguments)
    with pytest.raises(InputError, match="evaluated must lie from 1"):
        pool_from_tables(None, [RUN], evaluated=0)


@pytest.mark.kernel
def test_keys_of_rows_against_dicts():
    rng = np.random.default_rng(3)
    words = np.array(["a", "b", "ab", "ba", "abc", "é☃𝔘", "a" * 40, "a" * 39 + "b"])
    for is_ordered in (True, False):
        owners, sought_owners = rng.integers(0, 5, 60), rng.integers(-1, 7, 80)
        if is_ordered:
            owners, sought_owners = np.sort(owners), np.sort(sought_owners)
        listed, sought = rng.choice(words, 60).tolist(), rng.choice(words[:5], 80).tolist()
        texts, queries = Texts.from_list(listed), Texts.from_list([f"q{owner}" for owner in owners])
        first = {}
        for i, pair in enumerate(zip(owners.tolist(), listed, strict=True)):
            first.setdefault(pair, i)
        expected = [first[pair] for pair in zip(owners.tolist(), listed, strict=True)]
        assert keys.first_places(owners, texts).tolist() == expected
        again = next(i for i, place in enumerate(expected) if place != i)
        assert keys.first_repeated_pair(queries, texts) == (expected[again], again)
        found = keys.places_of(owners, texts, sought_owners, Texts.from_list(sought))
        assert found.tolist() == [first.get(pair, -1) for pair in zip(sought_owners.tolist(), sought, strict=True)]
        names, index = keys.distinct_texts(texts)
        assert names.tolist() == list(dict.fromkeys(listed))
        assert names[index].tolist() == listed
        follows = [i > 0 and text == listed[i - 1] for i, text in enumerate(listed)]
        assert keys.follows_its_query(texts).tolist() == follows


@pytest.mark.kernel
def test_texts_whose_hashes_collide_are_told_apart():
    texts = Texts.from_list(["abc", "abd", "ab", "abcd", "abd"])
    hashes, places, table = np.zeros(5, np.int64), np.empty(5, np.int64), np.full(16, -1)
    buffer = (texts.data, texts.offsets)
    kernel_keys._seek(table, *buffer, 0, hashes, *buffer, 0, 5, hashes, True, places)
    assert places.tolist() == [0, 1, 2, 3, 1]
    sought = Texts.from_list(["abcd", "ac", "abd"])
    others = (sought.data, sought.offsets, 0, 3, np.zeros(3, np.int64))
    kernel_keys._seek(table, *buffer, 0, hashes, *others, False, places[:3])
    assert places[:3].tolist() == [3, -1, 1]


def test_tables_are_loaded_side_by_side_as_one_by_one(tmp_path):
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 0\n")
    (tmp_path / "run").write_text("q Q0 a 1 2.5 one\n")
    (tmp_path / "bad").write_text("q Q0 a 1 nan one\n")
    qrels, runs = load_tables(tmp_path / "qrels", [tmp_path / "run", {"q": {"b": 1.0}}])
    assert qrels.doc_ids.tolist() == ["a", "b"]
    assert [run.doc_ids.tolist() for run in runs] == [["a"], ["b"]]
    with pytest.raises(InputError, match=r"bad:1: 'nan' is not a finite number"):
        load_tables(tmp_path / "qrels", [tmp_path / "run", tmp_path / "bad"])


def test_the_real_runs_make_the_pool_that_plain_loops_make(kit):
    qrels = read_qrels(kit("trec-robust03/robust03_qrels.txt.gz"))
    names = ["pircRBa1", "NLPR03vb10", "humR03dc"]
    runs = [read_run(kit(f"trec-robust03/runs/input.{name}.gz")) for name in names]
    table = pool_from_tables(qrels, runs, evaluated=2)
    grades, items = {}, {}
    for q, d, g in pairs(qrels):
        grades[q, d] = g
        items.setdefault(q, {})[d] = None
    for run in runs[:2]:
        for q, d in zip(run.query_ids.tolist(), run.doc_ids.tolist(), strict=True):
            items[q][d] = None
    flat = [(q, d) for q, of_query in items.items() for d in of_query]
    pool = table.pool
    assert list(zip(pool.query_ids[pool.item_queries].tolist(), pool.item_ids.tolist(), strict=True)) == flat
    assert table.grades.tolist() == [grades.get(key, -1) for key in flat]
    for r, run in enumerate(runs):
        triples = zip(run.query_ids.tolist(), run.doc_ids.tolist(), run.scores.tolist(), strict=True)
        scores = {(q, d): s for q, d, s in triples}
        np.testing.assert_array_equal(table.scores[r], [scores.get(key, np.nan) for key in flat])
    assert isinstance(table.rankings[0], Rankings)
    assert isinstance(table, table_pool.TablePool)
    assert isinstance(qrels, Qrels)


def test_more_than_six_columns_of_a_run_are_ignored_and_said(tmp_path):
    (tmp_path / "a.run").write_text("q Q0 a 1 2 my run\nq Q0 b 2 1 my\n# x\nq Q0 c 3 0 my run 1.5\n")
    run = load_run(tmp_path / "a.run")
    assert (run.doc_ids.tolist(), run.scores.tolist(), run.name) == (["a", "b", "c"], [2, 1, 0], "my")
    (note,) = run.notes
    assert text_of(note) == f"{tmp_path}/a.run: 2 lines have more than six columns; the others are ignored"
    (tmp_path / "b.run").write_text("q Q0 a 1 2 r\nq Q0 b 2 1\n")
    with pytest.raises(InputError, match=r"b.run:2: 5 columns in 'q Q0 b 2 1', expected 6: "):
        load_run(tmp_path / "b.run")
