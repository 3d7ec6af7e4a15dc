"""Logs of searches: read in every form alike, spellings together, one line for whatever is wrong."""

import gzip
import json

import numpy as np
import polars as pl
import pytest
from broken import SHORT
from spreadsheet_files import write_table

from activeeval.core.errors import ActiveEvalError
from activeeval.formats.tables import large_log
from activeeval.formats.tables.drawn_queries import are_drawn_queries, read_drawn_queries
from activeeval.formats.tables.query_log import load_query_log, normal_form
from activeeval.traffic.query_draws import draw_queries

ROWS = [("news", 5), ("Red Shoes", 2), ("red  shoes", 4), ("NEWS", 1), ("ﬁsh", 1), ("fish ", 2)]
EXPECTED = {"fish": ("fish", 3.0), "news": ("news", 6.0), "red shoes": ("red  shoes", 6.0)}


def told(log):
    pairs = zip(log.spellings, log.counts.tolist(), strict=True)
    return dict(zip(log.forms, pairs, strict=True))


def csv_of(rows, header="query,count"):
    return header + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)


def test_spellings_count_together_in_every_form(tmp_path):
    frame = pl.DataFrame({"Query": [q for q, _ in ROWS], "frequency": [n for _, n in ROWS]})
    for suffix in ("csv", "tsv", "jsonl", "parquet"):
        log = load_query_log(write_table(tmp_path / f"log.{suffix}", frame))
        assert told(log) == EXPECTED, suffix
        assert (log.log.name, log.log.n_events, log.log.n_queries) == (f"log.{suffix}", 15.0, 3)
    assert told(load_query_log(write_table(tmp_path / "log.csv.gz", frame))) == EXPECTED
    assert told(load_query_log(frame)) == told(load_query_log(dict(ROWS))) == EXPECTED


def test_one_event_a_row_or_a_line(tmp_path):
    events = [query for query, n in ROWS for _ in range(n)]
    np.random.default_rng(0).shuffle(events)
    (tmp_path / "events.csv").write_text("query\n" + "".join(f"{event}\n" for event in events))
    (tmp_path / "events.txt").write_text("".join(f"{event}\n" for event in events))
    (tmp_path / "events.jsonl").write_text("".join(json.dumps({"query": event}) + "\n" for event in events))
    for name in ("events.csv", "events.txt", "events.jsonl"):
        # blanks at the ends of a cell are no spelling of their own
        assert told(load_query_log(tmp_path / name)) == EXPECTED


def test_the_commonest_spelling_is_shown_whatever_the_order():
    rows = [("B", 2), ("b", 2), ("a", 1), ("A", 3)]
    for order in (rows, rows[::-1]):
        assert load_query_log(dict(order)).spellings == ["A", "B"]


@pytest.mark.parametrize("count", ["", "count"])
@pytest.mark.parametrize("segment", ["", "segment"])
def test_large_logs_say_the_same(tmp_path, monkeypatch, count, segment):
    random = np.random.default_rng(1)
    queries = [f"Query {k}" if k % 3 else f"query  {k} " for k in random.integers(0, 60, 900)]
    queries[7] = "'=1+1"
    columns = {"query": queries}
    columns |= {"count": random.integers(1, 9, 900).tolist()} if count else {}
    columns |= {"segment": random.choice(["web", "app"], 900).tolist()} if segment else {}
    path = tmp_path / "log.csv"
    pl.DataFrame(columns).write_csv(path)
    slow = load_query_log(path)
    monkeypatch.setattr(large_log, "LARGE", 1)
    taken = large_log.fast_counts(path, {"query": ("query",), "count": ("count",), "segment": ("segment",)})
    fast = load_query_log(path)
    assert taken is not None
    assert (fast.forms, fast.spellings, fast.segments) == (slow.forms, slow.spellings, slow.segments)
    assert fast.counts.tolist() == slow.counts.tolist()
    assert fast.log == slow.log
    assert "=1+1" in slow.spellings


@pytest.mark.parametrize("case", [case for case in SHORT if case["reader"] == "load_query_log"])
def test_what_is_wrong_with_a_large_log_is_told_as_of_a_small_one(tmp_path, monkeypatch, case):
    (tmp_path / "log.csv").write_text(case["text"])
    monkeypatch.setattr(large_log, "LARGE", 0)
    with pytest.raises(ActiveEvalError) as caught:
        load_query_log(tmp_path / "log.csv")
    assert str(caught.value).startswith(f"{tmp_path}/log.csv{case['says'].removesuffix('*')}")
    assert "\n" not in str(caught.value)


def test_other_files_are_told_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ActiveEvalError, match=r"^none\.csv: no such file$"):
        load_query_log("none.csv")
    with pytest.raises(ActiveEvalError, match="is not a regular file"):
        load_query_log(tmp_path)
    (tmp_path / "log.parquet").write_bytes(b"PAR1 cut")
    with pytest.raises(ActiveEvalError, match=r"^log\.parquet: cannot be read as parquet"):
        load_query_log("log.parquet")
    whole = gzip.compress(csv_of(ROWS).encode())
    (tmp_path / "log.csv.gz").write_bytes(whole[:-9])
    with pytest.raises(ActiveEvalError, match="cut short"):
        load_query_log("log.csv.gz")
    with pytest.raises(ActiveEvalError, match="a path, a data frame or a mapping, got int"):
        load_query_log(3)


def test_normal_forms():
    assert normal_form("\u00a0Straße\u3000 \t１２ ") == "strasse 12"
    assert normal_form("Å") == normal_form("A\u030a") == normal_form("å")
    assert normal_form("naive") != normal_form("naïve")


def test_drawn_queries_come_back_as_they_were(tmp_path):
    log = {f"=query {k}": 400 // (k + 1) + 1 for k in range(90)} | {'a, "b"': 77, "x\ty": 3}
    made = draw_queries(log, 40).drawn
    for suffix in ("csv", "tsv", "jsonl", "parquet"):
        path = tmp_path / f"q.{suffix}"
        made.write(path)
        again = read_drawn_queries(path)
        assert are_drawn_queries(path)
        assert (again.query_ids, again.texts, again.strata) == (made.query_ids, made.texts, made.strata)
        assert again.log == made.log
        for name in ("counts", "weights", "probs", "stratum_counts"):
            assert getattr(again, name).tolist() == getattr(made, name).tolist()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda f: f.drop("inclusion_prob"), "no column inclusion_prob, expected queries that"),
        (lambda f: f.with_columns(inclusion_prob=pl.lit(1.5)), "q.csv:2: column inclusion_prob: holds 1.5"),
        (lambda f: f.with_columns(inclusion_prob=pl.lit(0.0)), "column inclusion_prob: holds 0, expected a positive"),
        (lambda f: f.with_columns(stratum=pl.lit("")), "column stratum: is empty, expected a stratum"),
        (lambda f: pl.concat([f, f[:1]]), "column query_id: .* is there twice"),
        (lambda f: f.with_columns(stratum_count=pl.int_range(1, f.height + 1)), "for stratum 'head', expected 1"),
        (lambda f: f.with_columns(log=pl.col("query_id")), "column log: holds .* as before"),
    ],
)  # fmt: skip
def test_what_is_no_file_of_drawn_queries_is_told(tmp_path, change, expected):
    path = tmp_path / "q.csv"
    draw_queries({f"q{k}": 90 - k for k in range(60)}, 20).drawn.write(path)
    change(pl.read_csv(path)).write_csv(path)
    with pytest.raises(ActiveEvalError, match=expected):
        read_drawn_queries(path)
