"""The draws table comes back to the bit, also after a spreadsheet had it."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from activeeval.errors import InputError
from activeeval.io.draws import COLUMNS, EMPTY, DrawsTable, read_draws, write_draws

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".csv.gz", ".jsonl.gz")
IDS = ["007", "1e5", "a,\"b\";'c'", "é☃𝔘", "=1+1", " padded ", "-", "NULL", "nan", "true"]


def table(ids=IDS, floats=(1 / 3, 5e-324, 0.1, 1.0)):
    n = len(ids)
    probs = np.resize(np.array(floats), n)
    whole = np.arange(n)
    return DrawsTable(
        draw=whole // 2,
        query_id=np.array(ids[::-1]),
        doc_id=np.array(ids),
        query_prob=probs,
        item_prob=probs[::-1].copy(),
        depth=whole,
        weight=1 / np.maximum(probs, 1e-300),
        cost=probs * 7,
        design=np.resize(np.array(["active", ""]), n),
        grade=np.where(whole % 4 == 0, EMPTY, whole % 4 - 1),
        rank=whole,
        versus_rank=whole[::-1].copy(),
        measure=np.resize(np.array(["nDCG(dcg='exp-log2')@10", "ERR"]), n),
    )


def assert_same(one, other):
    for field in fields(DrawsTable):
        left, right = getattr(one, field.name), getattr(other, field.name)
        if left.dtype.kind == "f":
            left, right = left.view(np.int64), right.view(np.int64)
        assert left.tolist() == right.tolist(), field.name


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_keeps_everything(tmp_path, suffix):
    path = tmp_path / f"draws{suffix}"
    write_draws(table(), path)
    assert_same(read_draws(path), table())


ids = st.lists(
    st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1).filter(str.strip), min_size=1
)
numbers = st.lists(st.floats(0, 1), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ids, numbers, st.sampled_from(SUFFIXES))
def test_any_ids_and_floats_come_back(tmp_path, ids, floats, suffix):
    path = tmp_path / f"draws{suffix}"
    written = table(ids, floats)
    write_draws(written, path)
    assert_same(read_draws(path), written)


def spreadsheet(text, separator=",", mark="", end="\r\n", extra=0):
    """Write a CSV text as a spreadsheet would: other separator, mark, line ends, empty rows."""
    import csv
    import io

    rows = list(csv.reader(io.StringIO(text)))
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(rows)
    return (mark + out.getvalue() + (separator * (len(rows[0]) - 1) + end) * extra).encode()


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_spreadsheet_changes_nothing(tmp_path, separator, mark, end):
    plain, other = tmp_path / "a.csv", tmp_path / "b.csv"
    write_draws(table(), plain)
    other.write_bytes(spreadsheet(plain.read_text(), separator, mark, end, extra=3))
    assert_same(read_draws(other), table())


def test_reordered_columns_whole_floats_and_a_separator_line(tmp_path):
    plain, other = tmp_path / "a.csv", tmp_path / "b.csv"
    write_draws(table(["a", "b", "c", "d"]), plain)
    rows = [line.split(",")[::-1] for line in plain.read_text().replace("nDCG(dcg='exp-log2')@10", "ERR").splitlines()]
    k = rows[0].index("grade")
    for row in rows[1:]:
        row[k] = f"{row[k]}.0" if row[k] else ""
    other.write_text("sep=;\n" + "\n".join(";".join(row) + ";;" for row in rows))
    found = read_draws(other)
    assert found.grade.tolist() == [EMPTY, 0, 1, 2]
    assert found.doc_id.tolist() == ["a", "b", "c", "d"]
    rows[2][k] = "x"
    other.write_text("sep=;\n" + "\n".join(";".join(row) for row in rows))
    with pytest.raises(InputError, match=r"b.csv:4: column grade: 'x' is not a number"):
        read_draws(other)


def test_extra_columns_may_be_left_out(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "draw,query_id,doc_id,query_prob,item_prob,depth,weight,cost,design,grade,note\n"
        "0,q,a,1,1,,1,1,active,,x\n1,q,a,1,1,2,1,1,active,3,\n0,q,b,1,1,2,1,1,active,,\n"
    )
    found = read_draws(path)
    assert found.rank.tolist() == [1, 1, 2]
    assert found.versus_rank.tolist() == [0, 0, 0]
    assert found.measure.tolist() == ["", "", ""]
    assert found.grade.tolist() == [EMPTY, 3, EMPTY]
    assert found.depth.tolist() == [0, 2, 2]


def test_the_header_and_an_unjudged_row_as_text(tmp_path):
    path = tmp_path / "a.csv"
    write_draws(table(["d1"], [0.5]), path)
    assert path.read_text() == ",".join(COLUMNS) + "\n0,d1,d1,0.5,0.5,,2.0,3.5,active,,,,nDCG(dcg='exp-log2')@10,\n"


def test_a_wrong_name_and_wrong_lengths(tmp_path):
    with pytest.raises(InputError, match=r"a.xlsx: cannot tell the format, expected a name that ends in .csv"):
        write_draws(table(), tmp_path / "a.xlsx")
    with pytest.raises(InputError, match=r"doc_id must have shape \(1,\), got \(2,\)"):
        DrawsTable(**{name: np.array(["1"]) if name != "doc_id" else np.array(["1", "2"]) for name in COLUMNS})
