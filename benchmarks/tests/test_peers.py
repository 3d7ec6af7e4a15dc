"""The benchmark of the peers at a small size: every job runs, values agree, missing peers are told."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from benchmarks import peer_data, peers
from benchmarks.peer_jobs import JOBS

N_QUERIES = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("peers")
    data = peer_data.generate(N_QUERIES, 0)
    peer_data.save(data, made)
    peer_data.write_text(data, made)
    for name in ("ours", "text_ours"):
        save_values(made, name)
    return made


def save_values(folder, name):
    """Run a job in this process, or skip where its peer is not there."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = JOBS[name](folder)
    except ModuleNotFoundError as missing:
        pytest.skip(f"{missing.name} is not installed here")
    np.savez(folder / f"values.{name}.npz", **found["values"])


@pytest.mark.parametrize("name", ["pytrec_eval", "ir_measures", "gdeval", "text_pytrec_eval", "text_ir_measures"])
def test_peers_agree(folder, name):
    save_values(folder, name)
    own = "text_ours" if name.startswith("text_") else "ours"
    note = peers.check_agreement(folder, own, name, np.zeros(N_QUERIES, dtype=bool))
    assert note.startswith(f"agrees on {N_QUERIES} queries")


def test_a_peer_that_disagrees_stops_the_benchmark(folder):
    values = dict(np.load(folder / "values.ours.npz"))
    values["DCG@10"] = values["DCG@10"] + 1e-5 * (np.arange(N_QUERIES) == 7)
    np.savez(folder / "values.other.npz", **values)
    with pytest.raises(SystemExit, match=r"other, DCG@10: off by 1e-05 at place 7"):
        peers.check_agreement(folder, "ours", "other", np.zeros(N_QUERIES, dtype=bool))
    assert peers.check_agreement(folder, "ours", "other", np.arange(N_QUERIES) == 7).startswith("agrees on 39 queries")


def test_a_peer_that_is_not_there_has_a_row_that_says_so(folder, monkeypatch):
    monkeypatch.setenv("PATH", "")
    found = peers.run_job("text_trec_eval", folder)
    assert found["missing"] == "the program trec_eval is not installed here"
    assert peers.unavailable("trec_eval", found)["what"] == "trec_eval"
