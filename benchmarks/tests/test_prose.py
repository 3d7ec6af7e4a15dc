"""Sentences of the results: figures come from the files, and the orders that they state are those of the tables."""

from __future__ import annotations

import json

import pytest

from benchmarks.frame.claims import HOLDS
from benchmarks.machine import ROOT
from benchmarks.prose import NOT_RUN, filled
from benchmarks.tables import RESULTS


def test_figures_are_those_of_the_files(tmp_path):
    (tmp_path / "topk.json").write_text(
        json.dumps({"control": {"rows": [{"ranker": "A", "parent": "B", "angle": 30, "gap": -0.0301, "se": 0.002}]}})
    )
    assert filled("it is {{lead|A|B|30}} behind", tmp_path) == "it is −.030 ± .002 behind"
    assert filled("{{saved|mq2008|4|index update|DCG}}", tmp_path) == NOT_RUN
    assert "{{" not in filled((ROOT / "benchmarks" / "notes.md").read_text(), RESULTS)
    with pytest.raises(KeyError):
        filled("{{no such figure|A}}", tmp_path)


def test_the_orders_that_the_notes_state_of_the_control_are_found():
    rows = json.loads((RESULTS / "topk.json").read_text())["control"]["rows"]
    ahead = {(row["ranker"], row["parent"], row["angle"]) for row in rows if row["verdict"] == HOLDS}
    gaps = {(row["ranker"], row["parent"], row["angle"]): (row["gap"], row["se"]) for row in rows}
    turned = (30, 60, 90)
    assert {("FocusedSVM", parent, angle) for parent in ("SVM-MAP", "RankSVM") for angle in turned} <= ahead
    assert {("FocusedNet", parent, angle) for parent in ("RankNet", "ListMLE") for angle in turned} <= ahead
    assert [angle for angle in turned if ("FocusedNet", "ListNet", angle) in ahead] == [30]
    assert {("FocusedBoost", "RankBoost", angle) for angle in turned} <= ahead
    assert ("FocusedBoost", "AdaRank", 90) in ahead
    gap, error = gaps["FocusedBoost", "AdaRank", 30]
    assert abs(gap) < 2 * error < 0.01


def test_the_orders_that_the_notes_state_of_adapted_trees_are_found():
    claims = json.loads((RESULTS / "adaptation.json").read_text())["claims"]
    over = {row["data"]: row["verdict"] for row in claims if row["claim"].endswith("a higher B than RSVM_mix")}
    assert over["DS1"] == "excluded"
    assert over["DS1 bent"] == HOLDS
    assert {over[name] for name in ("DS2", "MSLR", "OHSUMED", "MQ2008")} == {"not shown"}
