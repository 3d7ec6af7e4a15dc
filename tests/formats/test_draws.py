"""The sheet for the judges comes back as it went, also after a spreadsheet had it."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import polars as pl
import pytest
from each_once import each_once
from hypothesis import HealthCheck, given, settings, strategies as st

from activeeval.core.errors import InputError
from activeeval.formats.tables.draws import CANNOT, EMPTY, Draws, read_draws, write_draws

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".csv.gz", ".jsonl.gz")
WORDS = "-5 @a +1 '=2 ''-3 'tis 007 1e5 é☃𝔘 =1+1 - NULL nan true a,\"b\";'c'"
IDS = [*WORDS.split(), " padded "]


def draws(ids=IDS, sample="31270dbe"):
    n = len(ids)
    whole = np.arange(n)
    return Draws(
        sample=sample,
        block=whole // 2 + 1,
        query_id=np.array(ids[::-1]),
        doc_id=np.array(ids),
        grade=np.array([EMPTY, CANNOT, 0, 7])[whole % 4],
        judge=np.array(["", "Ann"])[whole % 2],
    )


def assert_same(one, other):
    assert one.sample == other.sample
    for name in ("block", "query_id", "doc_id", "judge", "grade"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_keeps_everything(tmp_path, suffix):
    path = tmp_path / f"draws{suffix}"
    write_draws(draws(), path)
    assert_same(read_draws(path), draws())


words = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1).filter(str.strip)
ids = st.lists(words, min_size=1)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ids, st.sampled_from(SUFFIXES))
def test_any_ids_come_back(tmp_path, ids, suffix):
    path = tmp_path / f"draws{suffix}"
    write_draws(draws(ids), path)
    assert_same(read_draws(path), draws(ids))


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_no_id_begins_as_a_formula_does(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    write_draws(draws(), path)
    cells = list(csv.reader(io.StringIO(path.read_text()), delimiter="\t" if suffix == ".tsv" else ","))[1:]
    assert not [cell for row in cells for cell in row[2:4] if cell[0] in "=+-@"]
    ordinary = [name for name in IDS if name.lstrip("'")[0] not in "=+-@"]
    assert set(ordinary) <= {row[3] for row in cells}  # verbatim


def spreadsheet(text, separator=",", mark="", end="\r\n", extra=0):
    """Write a CSV text as a spreadsheet would: other separator, mark, line ends, empty rows."""
    rows = list(csv.reader(io.StringIO(text)))
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(rows)
    return (mark + out.getvalue() + (separator * (len(rows[0]) - 1) + end) * extra).encode()


@each_once(("separator", [",", ";", "\t"]), ("mark", ["", "\ufeff"]), ("end", ["\n", "\r\n", "\r"]))
def test_a_spreadsheet_changes_nothing(tmp_path, separator, mark, end):
    plain, other = tmp_path / "a.csv", tmp_path / "b.csv"
    write_draws(draws(), plain)
    other.write_bytes(spreadsheet(plain.read_text(), separator, mark, end, extra=3))
    assert_same(read_draws(other), draws())


def test_columns_in_another_order_in_capitals_with_others_between(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "sep=;\nGrade;note;DOC_ID;Query_Id; block ;SAMPLE;\n"
        "2.0;easy;d1;q1;1;f0;\n;;d2;q1;1;f0;;\n Cannot ;;d3;q2;2.0;f0\n"
    )
    found = read_draws(path)
    assert (found.sample, found.block.tolist()) == ("f0", [1, 1, 2])
    assert (found.query_id.tolist(), found.doc_id.tolist()) == (["q1", "q1", "q2"], ["d1", "d2", "d3"])
    assert found.grade.tolist() == [2, EMPTY, CANNOT]


@pytest.mark.parametrize("cell", [2, 2.0, "2", "2.0", np.nan, None, "", " ", "cannot", "CANNOT"])
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_typed_grades(tmp_path, cell, suffix):
    row = {"sample": "f0", "block": 1, "query_id": "q", "doc_id": "d", "grade": cell}
    path = tmp_path / f"a{suffix}"
    if suffix == ".jsonl":
        path.write_text(json.dumps(row) + "\n")
    else:
        pl.DataFrame([row]).write_parquet(path)
    words = {"cannot": CANNOT, "2": 2, "2.0": 2}
    assert read_draws(path).grade.tolist() == [words.get(str(cell).lower(), EMPTY)]


def test_the_header_and_a_row_as_text(tmp_path):
    path = tmp_path / "a.csv"
    write_draws(draws(["d1", "d2"]), path)
    header, *rows = path.read_text().splitlines()
    assert header == "sample,block,query_id,doc_id,judge,grade,note"
    assert rows == ["31270dbe,1,d2,d1,,,", "31270dbe,1,d1,d2,Ann,cannot,"]


def test_a_wrong_name_and_wrong_lengths(tmp_path):
    with pytest.raises(InputError, match=r"a.ods: expected a name that ends in .csv"):
        write_draws(draws(), tmp_path / "a.ods")
    columns = {"block": [1], "query_id": ["q"], "doc_id": ["a", "b"], "grade": [1]}
    with pytest.raises(InputError, match=r"doc_id must have shape \(1,\), got \(2,\)"):
        Draws(sample="f0", **columns)
