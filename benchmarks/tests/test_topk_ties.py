"""What the order of arrival moves, on MQ2008: something where ties get ranks of their own, nothing where they share."""

from __future__ import annotations

import pytest

from benchmarks.machine import data_folder
from benchmarks.topk_ties import rows


@pytest.mark.slow
def test_the_order_of_arrival_moves_no_shared_label():
    if not (data_folder() / "mq2008").is_dir():
        pytest.skip("no MQ2008 in the data kit: set ACTIVEEVAL_SHARED")
    figures = rows(5, "grades", 3, 1)
    moved = {row["what"]: (row["value"], row["shared"]) for row in figures if "shared" in row}
    assert len(moved) == 4
    assert all(own > 1e-3 and shared == 0 for own, shared in moved.values()), moved
    assert figures[-1]["value"] == 0
