"""What the figures of two forecasters are made of, on ratios that are known."""

from __future__ import annotations

import math

import pytest

from benchmarks.forecasters import FORECASTERS, figures, joined

RATIOS = {"outlook": [math.e, 1 / math.e, 2.0], "forecast": [1.0, 1.0, math.nan], "plan": [2.0, 2.0, 2.0]}


def test_a_figure_is_over_the_samples_of_which_all_say_something():
    rows = {row["of"]: row for row in figures("cell", RATIOS)}
    assert list(rows) == list(FORECASTERS)
    assert [rows[name]["value"] for name in FORECASTERS] == pytest.approx([1.0, 0.0, math.log(2)])
    assert [rows[name]["median"] for name in FORECASTERS] == pytest.approx([1.0, 1.0, 2.0])
    assert [rows[name]["silent"] for name in FORECASTERS] == [0, 1, 0]
    assert {row["samples"] for row in rows.values()} == {2}
    low, high = rows["outlook"]["low"], rows["outlook"]["high"]
    assert (math.log(low), math.log(high)) == pytest.approx((-0.8, 0.8))


def test_cells_are_put_together_and_those_that_say_nothing_have_no_figure():
    both = joined([RATIOS, RATIOS])
    assert both["plan"] == [2.0] * 6
    assert [row["samples"] for row in figures("all", both)] == [4] * 3
    assert list(figures("none", joined([]))) == []
