"""Where every figure comes from: files that exist, tables made of stored rows, nothing copied by hand."""

from __future__ import annotations

import importlib
import math
import re

from benchmarks import all as every, tables
from benchmarks.efficiency_report import best
from benchmarks.headlines import headlines
from benchmarks.machine import ROOT

BENCHMARKS = ROOT / "benchmarks"
STEPS = every.steps_in(every.README.read_text())


def test_every_file_that_is_named_exists_and_every_result_is_named():
    """A step that never ran has neither files nor minutes."""
    for step in STEPS:
        there = [(BENCHMARKS / file).exists() for file in step.files]
        assert step.files
        assert all(there) or (not any(there) and math.isnan(step.minutes)), step.name
    named = {file for step in STEPS for file in step.files}
    stored = {f"results/{path.name}" for path in (BENCHMARKS / "results").iterdir() if path.is_file()}
    assert stored <= named
    assert len({step.name for step in STEPS}) == len(STEPS) == every.README.read_text().count("\n| ") - 1


def test_every_command_is_understood():
    for step in STEPS:
        name, *options = step.command.split()
        path = ROOT / name.replace(".", "/")
        module = importlib.import_module(f"{name}.__main__" if path.is_dir() else name)
        if hasattr(module, "EXPERIMENT"):
            assert module.EXPERIMENT.parse(options).out is not None
        else:
            assert callable(getattr(module, "main", None) or module.write), name


def test_tables_are_those_that_the_stored_results_make():
    """So every stored result can be read, and no table is older than the code that writes it."""
    for name, text in tables.texts().items():
        assert (tables.RESULTS / name).read_text() == text, f"{name}: run `python -m benchmarks.tables`"


def test_results_that_documents_quote_are_made_by_a_step():
    texts = [ROOT / "README.md", ROOT / "docs" / "formats.md", BENCHMARKS / "notes.md"]
    quoted = {
        name for path in texts for name in re.findall(r"benchmarks/(results/[\w-]+\.(?:json|md|svg))", path.read_text())
    }
    assert quoted <= {file for step in STEPS for file in step.files}


def test_steps_are_run_in_order_and_their_minutes_are_kept(tmp_path, monkeypatch):
    table = tmp_path / "README.md"
    rows = [f"| {name} | what | `python -m {name} --x` | `{name}.json` |  |\n" for name in ("paper-a", "b", "c")]
    table.write_text("| name | figures | command | files | minutes |\n|---|---|---|---|---|\n" + "".join(rows))
    ran = []
    monkeypatch.setattr(every, "README", table)
    monkeypatch.setattr(every, "commit", lambda: "1234")
    monkeypatch.setattr(every.subprocess, "run", lambda words, **_: ran.append(words[2:]))
    for arguments in ([], ["--from", "b"], ["--only", "c", "--fast"]):
        monkeypatch.setattr(every.sys, "argv", ["all", *arguments])
        every.main()
    assert ran == [
        ["paper-a", "--x", "--work", "benchmarks/work/1234"],
        *([[name, "--x"] for name in "bcbc"]),
        ["c", "--x"],
    ]
    assert [step.minutes for step in every.steps_in(table.read_text())] == [0.1, 0.1, 0.1]


# Tables of efficiency

WHERE = {"pool": "MQ2008", "model": "forest", "overhead": 5.0, "case": "one ranking", "share": 0.1}


def peer(measure, efficiency, units="queries", coverage=0.95, **fields):
    figures = {"peer": "ASI", "units": units, "efficiency": efficiency, "coverage": coverage}
    return WHERE | {"measure": measure} | figures | fields


PEERS = [
    peer("DCG@10", 1.2),
    peer("DCG@10", 1.5, units="items"),
    peer("DCG@10", 9.0, coverage=0.89),
    peer("DCG@10", 4.0, units="heads of 1"),
    peer("DCG@10", 5.0, units="heads of 2", coverage=0.4),
    {**WHERE, "measure": "DCG@10", "peer": "x", "units": "items", "missing": "too few"},
]


def test_the_best_peer_is_one_whose_intervals_hold_and_heads_stand_apart():
    (found,) = best(PEERS, heads=False).values()
    assert (found["efficiency"], found["units"]) == (1.5, "items")
    (found,) = best(PEERS, heads=True).values()
    assert (found["efficiency"], found["units"]) == (4.0, "heads of 1")


def test_heads_count_where_their_intervals_hold_with_every_model():
    wrong = [
        one | {"model": "uniform + factor"}
        for one in (peer("DCG@10", 3.0, units="heads of 1", coverage=0.2), *PEERS[:1])
    ]
    assert best([*PEERS, *wrong], heads=True) == {}
    assert {row["model"] for row in best([*PEERS, *wrong], heads=False).values()} == {"forest", "uniform + factor"}


def test_the_table_of_readme_is_the_one_that_was_measured():
    assert headlines() in (ROOT / "README.md").read_text()
