"""The engines' benchmark in small: all engines of this machine draw one sample, and what comes of it is stored."""

import json

import pytest

from benchmarks import engines, engines_pools

pytest.importorskip("pyarrow", reason="a pool in parquet needs pyarrow")


def test_engines_draw_the_same_sample_and_are_measured(tmp_path, capsys):
    words = ["--queries", "60", "--engine", "here", "--engine", "processes:2"]
    engines.EXPERIMENT.main([*words, "--out", str(tmp_path / "engines.json")])
    result = json.loads((tmp_path / "engines.json").read_text())
    here, processes = result["rows"]
    assert here["units_digest"] == processes["units_digest"]
    assert set(here["passes"]) == {"survey", "unique", "levels", "fetch"}
    assert here["processor_s"] > 0
    assert 0 < here["returned_bytes"] == processes["returned_bytes"]
    assert "processor over that of here" in capsys.readouterr().out


def test_a_pool_is_the_same_however_it_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(engines_pools, "PARTITION_QUERIES", 30)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    for number in range(2):
        engines_pools.WritePartition(str(tmp_path / "a"), 50)(number)
    engines_pools.WritePartition(str(tmp_path / "b"), 50)(1)
    first, again = ((tmp_path / name / "part-00001.parquet").read_bytes() for name in "ab")
    assert first == again
    assert engines_pools.n_partitions(50) == 2
