"""The frame of experiments: options, sections that are kept, rows that are replaced, tables."""

from __future__ import annotations

import json
from importlib.machinery import ModuleSpec
from pathlib import Path

from benchmarks.frame.experiment import Experiment, merged, spread
from benchmarks.frame.processes import apart
from benchmarks.frame.report import figure, figures_table, pivoted, section_tables

SPEC = ModuleSpec("benchmarks.a_name", None)


def test_options_are_declared_by_their_defaults():
    one = Experiment(
        SPEC, "What?", lambda _: {}, repetitions=5, share=(0.1,), pool=("a", "b"), quick=False, folder=None
    )
    assert one.out.name == "a-name.json"
    options = one.parse([])
    assert (options.repetitions, options.share, options.pool, options.quick) == (5, (0.1,), ("a", "b"), False)
    words = "--pool b --share .2 --share .3 --quick --folder x --repetitions 7"
    options = one.parse(words.split())
    assert (options.repetitions, options.share, options.pool, options.quick) == (7, (0.2, 0.3), ("b",), True)
    assert options.folder == Path("x")


def test_a_section_that_is_measured_again_replaces_that_alone(tmp_path, capsys):
    values = iter((1.0, 2.0, 3.0))
    sections = {name: (name.title(), lambda _: [figure("value", next(values), "s", at_most=2)]) for name in ("a", "b")}
    one = Experiment(SPEC, "What?", sections=sections, out=tmp_path / "x.json", seed=1)
    one.main([])
    result = one.main(["--only", "b", "--seed", "2"])
    assert json.loads(one.out.read_text()) == result
    found = {name: section["figures"][0] for name, section in result["sections"].items()}
    assert [(row["value"], row["reached"]) for row in found.values()] == [(1.0, True), (3.0, False)]
    assert result["seed"] == 2
    assert "NOT REACHED" in capsys.readouterr().out


def test_rows_of_questions_that_are_asked_again_are_replaced(tmp_path):
    one = Experiment(SPEC, "What?", lambda o: {"rows": [{"pool": o.pool, "x": o.x}]}, row_keys=("pool",),
                     out=tmp_path / "x.json", pool="a", x=1)  # fmt: skip
    for words in ([], ["--pool", "b"], ["--x", "5"]):
        one.main(words)
    assert json.loads(one.out.read_text())["rows"] == [{"pool": "b", "x": 1}, {"pool": "a", "x": 5}]
    assert merged([{"k": 1}], [{"k": 2}], ("k",)) == [{"k": 1}, {"k": 2}]


def test_work_is_joined_in_order_and_done_apart():
    assert spread(lambda n: ({"n": k} for k in range(n)), [(2,), (1,)], 1) == [{"n": 0}, {"n": 1}, {"n": 0}]
    assert apart(figure, "x", 1.5, "s") == {"what": "x", "value": 1.5, "unit": "s"}


def test_tables_by_hand():
    assert pivoted({("one", 5.0): "a", ("one", 0.0): "b", ("two", 5.0): "c"}, "", "at {:g}") == [
        "|  | at 0 | at 5 |", "| --- | --- | --- |", "| one | b | a |", "| two |  | c |",
    ]  # fmt: skip
    assert figures_table([figure("x", 250.0, "s", at_most=9, note="n")])[2:] == [
        "| x | 250 s | <= 9 | **not reached** |  | n |"
    ]
    section = {"title": "T", "figures": [], "git_commit": "b", "date": "2026-01-02T", "load": 2.0}
    assert section_tables({"t": section}, "a")[2] == "(commit b, 2026-01-02; load of the machine 2)"
    assert section_tables({"t": section}, "b")[2] == "(load of the machine 2)"
