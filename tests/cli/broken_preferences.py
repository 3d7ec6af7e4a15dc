"""Calls of ``gains`` and ``coherence`` that are wrong, in the form of `broken_calls`."""

# ruff: noqa: E501
from __future__ import annotations

import json

LEARN = "gains learn x.jsonl --out x.json"
OUT_OF = r"expected a whole grade from 0 "
WHOLE = {"query": "q1", "preferred": [2, 1, 0], "other": [0, 2, 1]}
MEASURES = "coherence DCG RBP"
SBS = {"query": "q1", "preferred": "a", "other": "b"}
RUNS = " --qrels q.qrels --run a.run --run b.run"


def pairs(*rows, name="x.jsonl"):
    """Return a file of pairs: whole rows, or what differs from a good one."""
    return {name: "".join(json.dumps(WHOLE | row) + "\n" for row in rows)}


def grades(value):
    return pairs({}, {"query": "q2", "preferred": value})


def made(text):
    return {"x.json": text}


PAIRS = [
    ("pairs: no file", {}, LEARN, 1, r"x\.jsonl: no such file"),
    ("pairs: no table", {}, "gains learn q.qrels --out x.json", 1, r"q\.qrels: no table by its name, expected .*"),
    ("pairs: an unknown label", grades(["Perfect", 1, 0]), LEARN, 1,
     r"x\.jsonl:2: preferred holds 'Perfect' at rank 1, " + OUT_OF + "on"),
    ("pairs: a grade above the scale", pairs({}), LEARN + " --max-grade 1", 1,
     r"x\.jsonl:1: preferred holds 2 at rank 1, " + OUT_OF + "to 1"),
    ("pairs: the name of a run", grades("a"), LEARN, 1, r"x\.jsonl:2: preferred is 'a', expected a list of grades, one for each rank .*--qrels and --run"),
    ("pairs: both ways", pairs({}, {"preferred": [0, 2, 1], "other": [2, 1, 0]}), LEARN, 1,
     r"x\.jsonl:2 prefers the lists of x\.jsonl:1 the other way round, one of 1 such contradictions; .*--conflicts keep.*"),
    ("pairs: next to nothing", pairs({}), "gains next x.jsonl", 1,
     r"every pair of these files has an answer: there is none to ask about"),
    ("pairs: a solver that gives up", pairs({}, {"query": "q2"}), LEARN + " --C 1e300", 1, r"the solver stopped with .*"),
]  # fmt: skip

SIDE_BY_SIDE = [
    ("runs: an unknown run", pairs(SBS | {"other": "c"}), LEARN + RUNS, 1,
     r"x\.jsonl:1: other is 'c', expected one of the runs: .*'a\.run'.*"),
    ("runs: no judgments", pairs(SBS), LEARN + " --run a.run", 2, r"--qrels and --run go together: .*"),
    ("runs: depth of lists", pairs({}), LEARN + " --depth 3", 2, r"--depth goes with --qrels and --run: .*"),
]  # fmt: skip

OPTIONS = [
    ("gains: C of 0", pairs({}), LEARN + " --C 0", 2, r"Invalid value for '--C': 0\.0 is not in the range x>0\."),
    ("gains: C is no number", pairs({}), LEARN + " --C nan", 2, r"Invalid value for '--C': nan is not a finite number\."),
    ("gains: C and a validation set", pairs({}), LEARN + " --C 1 --validation x.jsonl", 2, r"--validation chooses C: leave out --C"),
    ("gains: a file of another kind", pairs({}), "gains learn x.jsonl --out x.txt", 1, r"x\.txt: expected a name that ends in \.json"),
    ("gains: no folder", pairs({}), "gains learn x.jsonl --out no/x.json", 1, r"no/x\.json: cannot write: there is no folder 'no'"),
    ("gains: a picture of another kind", made('{"gains": [0, 1], "discounts": [1]}'), "gains show x.json --plot x.txt", 1,
     r"x\.txt: expected a name that ends in \.png, \.svg, \.pdf"),
    ("gains file: none", {}, "gains show none.json", 1, r"none\.json: no such file"),
    ("gains file: no name", {}, "score q.qrels a.run @", 1, r"measure '@': expected the name of a file behind it, as @gains\.json"),
    ("gains file: too few grades for a design", made('{"gains": [0, 1], "discounts": [1]}'),
     "design --run a.run --max-grade 3 --measure @x.json --out y.csv", 1, r"the scale goes up to grade 3, above the largest of @x\.json, 1"),
    ("coherence: no lists", {}, MEASURES, 2, r"give one of --grades and --qrels: the lists to compare"),
    ("coherence: two kinds of lists", {}, MEASURES + " --grades 1,0 --qrels q.qrels", 2, r"give one of --grades and --qrels: .*"),
    ("coherence: no grades", {}, MEASURES + " --grades a,b", 2, r"--grades is 'a,b', expected whole grades from 0 on, .*"),
    ("coherence: one run", {}, MEASURES + " --qrels q.qrels --run a.run", 2, r"--run, --versus-run and --qrels go together"),
]  # fmt: skip

BROKEN_PREFERENCES = [*PAIRS, *SIDE_BY_SIDE, *OPTIONS]
