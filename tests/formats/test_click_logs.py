from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from activeeval.core.errors import InputError
from activeeval.formats.tables.clicks import ClickLog, read_clicks, write_clicks

HEADER = "query_id,doc_id,position,impressions,clicks\n"
LOG = {
    "query_ids": ["q1", "q1", "007", "q 3"],
    "doc_ids": ["a", "a", "é", "b"],
    "positions": [1, 2, 1, 30],
    "impressions": [100, 3, 10**12, 1],
    "clicks": [100, 0, 5, 1],
}


def rows_of(log):
    columns = (log.query_ids, log.doc_ids, log.positions, log.impressions, log.clicks)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("name", ["c.csv", "c.tsv", "c.jsonl", "c.csv.gz", "c.parquet"])
def test_a_log_comes_back(tmp_path, name):
    write_clicks(ClickLog(**LOG), tmp_path / name)
    read = read_clicks(tmp_path / name)
    assert rows_of(read) == list(zip(*LOG.values(), strict=True))
    assert read.source == str(tmp_path / name)
    assert not read.clicks.flags.writeable
    assert read.clicks.dtype == read.positions.dtype == np.int64


def test_the_file_reads_as_it_should(tmp_path):
    write_clicks(ClickLog(["q"], ["a"], [1], [20], [3]), tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text() == HEADER + "q,a,1,20,3\n"
    (tmp_path / "any.csv").write_text("clicks;Impressions;docno;qid;position;device\n3;20;a;q;1;phone\n")
    assert rows_of(read_clicks(tmp_path / "any.csv")) == [("q", "a", 1, 20, 3)]


@given(st.lists(st.tuples(st.sampled_from("pq"), st.sampled_from("ab"), st.integers(1, 3)), min_size=1, max_size=9))
def test_the_earliest_repeated_row_is_found(rows):
    seen = {}
    expected = next(((seen[row], at) for at, row in enumerate(rows) if seen.setdefault(row, at) != at), None)
    columns = [*map(list, zip(*rows, strict=True)), [9] * len(rows), [0] * len(rows)]
    if expected is None:
        assert ClickLog(*columns).n_rows == len(rows)
        return
    with pytest.raises(InputError, match=rf"positions\[{expected[1]}\]: .* first at positions\[{expected[0]}\];"):
        ClickLog(*columns)
