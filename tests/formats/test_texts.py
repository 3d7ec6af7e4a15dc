"""Texts by id: every vocabulary and format, large tables by and by, and what a cell of a sheet becomes."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc

import numpy as np
import polars as pl
import pytest
from spreadsheet_files import write_table

from activeeval.formats.tables import text_tables
from activeeval.formats.tables.draws import EMPTY, Draws, read_draws, write_draws
from activeeval.formats.tables.text_tables import DOCUMENTS, QUERIES, read_texts

ROWS = [
    {"id": "007", "title": "Seven", "text": "one\ntwo, \"three\"; 'four'", "url": None},
    {"id": "7", "title": None, "text": "é☃𝔘", "url": "https://example.org/?a=1"},
    {"id": " padded ", "title": "-", "text": "=1+1", "url": None},
    {"id": "1e5", "title": None, "text": " ", "url": None},
]
FOUND = {row["id"]: {k: v for k, v in row.items() if k != "id" and v and v.strip()} for row in ROWS}


def written(folder, suffix, rows=ROWS):
    return write_table(folder / f"docs{suffix}", rows)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet", ".csv.gz", ".jsonl.gz"])
@pytest.mark.parametrize("n_rows", [1, 3, 4096])
def test_every_format_by_any_number_of_rows(tmp_path, monkeypatch, suffix, n_rows):
    monkeypatch.setattr(text_tables, "_ROWS", n_rows)
    is_typed = suffix.startswith((".jsonl", ".parquet"))
    found = read_texts(written(tmp_path, suffix), DOCUMENTS, {"007", "7", " padded ", "padded", "1e5", "other"})
    expected = {own if is_typed else own.strip(): held for own, held in FOUND.items()}
    assert (found.names, found.by_id) == (("title", "text", "url"), expected)
    assert (found.n_rows, found.first_id) == (4, "007")
    assert set(read_texts(written(tmp_path, suffix), DOCUMENTS, {"7"}).by_id) == {"7"}


@pytest.mark.parametrize(
    ("vocabulary", "names"),
    [(DOCUMENTS, ("id", "_id", "doc_id", "docno", "docid")), (QUERIES, ("id", "_id", "query_id", "qid", "q_id"))],
)
def test_every_name_of_the_ids_in_capitals_too(tmp_path, vocabulary, names):
    for name in names:
        for spelt in (name, name.upper()):
            (tmp_path / "a.csv").write_text(f"Text;other;{spelt}\nwhat;x;7\n")
            assert read_texts(tmp_path / "a.csv", vocabulary, ["7"]).by_id == {"7": {"text": "what"}}


def test_rows_of_json_may_name_other_columns_and_numbers_are_text(tmp_path):
    rows = [{"id": 1, "text": 2.5}, {"id": 2, "title": "two", "more": [1]}, {"id": 3, "url": None}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\r\n" for row in rows))
    found = read_texts(tmp_path / "a.jsonl", DOCUMENTS, {"1", "2", "3"})
    assert found.names == ("title", "text", "url")
    assert found.by_id == {"1": {"text": "2.5"}, "2": {"title": "two"}, "3": {}}


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_a_large_table_is_never_held_whole(tmp_path, monkeypatch, suffix):
    """Texts of 10 MB: ten of them, the ids, and some rows at a time."""
    monkeypatch.setattr(text_tables, "_ROWS", 256)
    path = tmp_path / f"a{suffix}"
    word = "wörd " * 200
    with path.open("w", encoding="utf-8") as handle:
        handle.write("id,text\n" if suffix == ".csv" else "")
        for k in range(10_000):
            handle.write(f"d{k},{word}\n" if suffix == ".csv" else f'{{"id": "d{k}", "text": "{word}"}}\n')
    wanted = {f"d{k}" for k in range(0, 10_000, 1000)}
    tracemalloc.start()
    found = read_texts(path, DOCUMENTS, wanted)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found.by_id) == 10
    assert peak < 5e6 < path.stat().st_size / 2


def test_a_text_longer_than_most_readers_take(tmp_path):
    long = "x" * 300_000
    (tmp_path / "a.csv").write_text(f'id,text\n1,"{long}"\n')
    assert read_texts(tmp_path / "a.csv", DOCUMENTS, {"1"}).by_id["1"]["text"] == long


# In a sheet


def draws(n):
    return Draws(
        sample="f0",
        block=np.ones(n, dtype=int),
        query_id=np.full(n, "q"),
        doc_id=np.array([f"d{k}" for k in range(n)]),
        grade=np.full(n, EMPTY),
    )


CELLS = {
    "=1+1": "=1+1",
    "+49 30": "+49 30",
    "-5": "-5",
    "@all": "@all",
    "\t=1": "\t=1",
    "\ttab": "\ttab",
    " =1": " =1",
    "\r=1": "\n=1",
    "\nnext": "\nnext",
    "'=1": "'=1",
    "'tis": "'tis",
    " plain": " plain",
    "a=1": "a=1",
    "one\r\ntwo\rthree\n": "one\ntwo\nthree\n",
    "a\x00b\x1bc\x7f": "a b c ",
    "\ud83d\ude00 \ud83d": "😀 �",
    'say "no", or;not\tthere': 'say "no", or;not\tthere',
    "": "",
}
N_GUARDED = 10


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_texts_stand_before_the_judge_as_a_spreadsheet_can_take_them(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    cells = list(CELLS.values())
    write_draws(draws(len(CELLS)), path, texts={"url": list(CELLS), "query": list(CELLS)})
    if suffix in (".csv", ".tsv"):
        content = io.StringIO(path.read_bytes().decode(), newline="")
        rows = list(csv.DictReader(content, delimiter="\t" if suffix == ".tsv" else ",", strict=True))
        cells = [f"'{cell}" for cell in cells[:N_GUARDED]] + cells[N_GUARDED:]
    else:
        frame = pl.read_parquet(path) if suffix == ".parquet" else pl.read_ndjson(path)
        rows = [{name: cell or "" for name, cell in row.items()} for row in frame.to_dicts()]
    assert list(rows[0]) == ["sample", "block", "query_id", "doc_id", "query", "url", "judge", "grade", "note"]
    assert [row["query"] for row in rows] == [row["url"] for row in rows] == cells
    assert read_draws(path).doc_id.tolist() == draws(len(CELLS)).doc_id.tolist()


@pytest.mark.parametrize("letter", ["x", "é", "😀"])
def test_a_text_is_cut_where_the_cell_of_a_spreadsheet_ends(tmp_path, letter):
    units = len(letter.encode("utf-16-le")) // 2
    most = 32_767 // units
    given = [letter * most, letter * (most + 1), "=" + letter * most]
    write_draws(draws(3), tmp_path / "a.csv", texts={"text": given})
    with (tmp_path / "a.csv").open(newline="") as handle:
        cells = [row["text"] for row in csv.DictReader(handle)]
    assert cells[0] == given[0]
    assert [cell[-2:] for cell in cells[1:]] == [letter + "…"] * 2
    assert all(32_767 - units < len(cell.encode("utf-16-le")) // 2 <= 32_767 for cell in cells)
    assert cells[2].startswith("'=")
    write_draws(draws(3), tmp_path / "a.jsonl", texts={"text": given})
    assert pl.read_ndjson(tmp_path / "a.jsonl")["text"].to_list() == given


@pytest.mark.parametrize("name", ["\tq", " =q", "\n=", "'\t", "a\rb", 'a\nb,"c"'])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_ids_that_begin_with_what_is_guarded_come_back(tmp_path, name, suffix):
    path = tmp_path / f"a{suffix}"
    one = Draws(sample="f", block=[1], query_id=np.array([name]), doc_id=np.array([name]), grade=[2])
    write_draws(one, path)
    found = read_draws(path)
    assert (found.query_id.tolist(), found.doc_id.tolist()) == ([name], [name])
