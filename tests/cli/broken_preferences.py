"""Calls of ``gains`` and ``coherence`` that are wrong, in the form of `broken_calls`."""

# ruff: noqa: E501
from __future__ import annotations

import gzip
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
    ("pairs: a folder", {}, "gains learn folder.csv --out x.json", 1, r"folder\.csv: is a directory, expected a file"),
    ("pairs: empty", {"x.jsonl": ""}, LEARN, 1, r"x\.jsonl: the file is empty"),
    ("pairs: blank", {"x.jsonl": "\n\n"}, LEARN, 1, r"x\.jsonl: the table holds no rows"),
    ("pairs: cut gzip", {"x.jsonl": gzip.compress(pairs(WHOLE)["x.jsonl"].encode())[:-9]}, LEARN, 1,
     r"x\.jsonl: the gzip file is cut short, expected its end marker"),
    ("pairs: not JSON", {"x.jsonl": "{\n"}, LEARN, 1, r"x\.jsonl:1: '\{' is not JSON: .*"),
    ("pairs: no table", {}, "gains learn q.qrels --out x.json", 1, r"q\.qrels: is not a table by its name, expected .*"),
    ("pairs: other column lost", {"x.jsonl": '{"preferred": [1]}\n'}, LEARN, 1,
     r"x\.jsonl:1: no list column in: preferred; expected other"),
    ("pairs: both vocabularies", pairs({"first": [1]}), LEARN, 1,
     r"x\.jsonl: columns first and preferred, expected one of the two"),
    ("pairs: unequal lengths", pairs({}, {"other": [1, 0]}), LEARN, 1,
     r"x\.jsonl:2: other holds 2 grades, expected 3, as the lists before"),
    ("pairs: an unknown label", grades(["Perfect", 1, 0]), LEARN, 1,
     r"x\.jsonl:2: preferred holds 'Perfect' at rank 1, " + OUT_OF + "on"),
    ("pairs: half a grade", grades([2, 1.5, 0]), LEARN, 1, r"x\.jsonl:2: preferred holds 1\.5 at rank 2, " + OUT_OF + "on"),
    ("pairs: a truth value", grades([2, True, 0]), LEARN, 1, r"x\.jsonl:2: preferred holds True at rank 2, " + OUT_OF + "on"),
    ("pairs: no grade", grades([2, None, 0]), LEARN, 1, r"x\.jsonl:2: preferred holds None at rank 2, " + OUT_OF + "on"),
    ("pairs: NaN", grades([2, float("nan"), 0]), LEARN, 1, r"x\.jsonl:2: preferred holds nan at rank 2, " + OUT_OF + "on"),
    ("pairs: a negative grade", grades([2, -1, 0]), LEARN, 1, r"x\.jsonl:2: preferred holds -1 at rank 2, " + OUT_OF + "on"),
    ("pairs: a grade above the scale", pairs({}), LEARN + " --max-grade 1", 1,
     r"x\.jsonl:1: preferred holds 2 at rank 1, " + OUT_OF + "to 1"),
    ("pairs: an absurd grade", grades([2, 10**6, 0]), LEARN + " --C 1", 1,
     r"x\.jsonl:2: column preferred: holds '1000000', expected grades of at most 1000"),
    ("pairs: an empty list", pairs({"preferred": [], "other": []}), LEARN, 1,
     r"x\.jsonl:1: preferred is an empty list, expected a grade for each rank"),
    ("pairs: no list", grades(3), LEARN, 1, r"x\.jsonl:2: column preferred: holds '3', expected a list of grades or the name of a run"),
    ("pairs: an empty cell", grades(None), LEARN, 1, r"x\.jsonl:2: column preferred: is empty, expected a list of grades or the name of a run"),
    ("pairs: the name of a run", grades("a"), LEARN, 1, r"x\.jsonl:2: preferred is 'a', expected a list of grades, one for each rank .*--qrels and --run"),
    ("pairs: perhaps a tie", pairs({"tie": "maybe"}), LEARN, 1, r"x\.jsonl:1: column tie: holds 'maybe', expected true or false"),
    ("pairs: an odd answer", {"x.jsonl": '{"first": [1], "second": [0], "answer": "left"}\n'}, LEARN, 1,
     r"x\.jsonl:1: column answer: holds 'left', expected first, second, tie or nothing"),
    ("pairs: no answer", {"x.jsonl": '{"first": [1], "second": [0], "answer": ""}\n'}, LEARN, 1,
     r"no pair of these files has an answer, so there is nothing to learn from"),
    ("pairs: all tied", pairs({"tie": True}, {"query": "q2", "tie": True}), LEARN, 1,
     r"each of the 2 pairs is a tie: a preference is needed to learn from"),
    ("pairs: all alike", pairs({"other": [2, 1, 0]}), LEARN + " --C 1", 1,
     r"no preference is between lists of different grades, so there is nothing to learn from"),
    ("pairs: both ways", pairs({}, {"preferred": [0, 2, 1], "other": [2, 1, 0]}), LEARN, 1,
     r"x\.jsonl:2 prefers the lists of x\.jsonl:1 the other way round, one of 1 such contradictions; .*--conflicts keep.*"),
    ("pairs: one alone", pairs({}), LEARN, 1, r"one pair cannot be split for cross-validation: give C"),
    ("pairs: queries in one file of two", {"x.jsonl": '{"preferred": [1, 0], "other": [0, 1]}\n', **pairs({}, name="y.jsonl")},
     "gains learn x.jsonl y.jsonl --out x.json", 1, r"x\.jsonl: no query column, where another file has one"),
    ("pairs: next to nothing", pairs({}), "gains next x.jsonl", 1,
     r"every pair of these files has an answer: no pair is left to judge"),
    ("pairs: documents without their lists", pairs({}), LEARN + " --C 1 --margin documents", 1,
     r"the distance of documents is not known: these preferences hold grades alone"),
    ("pairs: documents of another number", pairs({"preferred_docs": ["a", "b", "c"], "other_docs": ["a"]}), LEARN, 1,
     r"x\.jsonl:1: column other_docs: holds 1 documents, preferred_docs 3, expected as many"),
    ("pairs: a solver that gives up", pairs({}, {"query": "q2"}), LEARN + " --C 1e300", 1, r"the solver stopped with .*"),
]  # fmt: skip

SIDE_BY_SIDE = [
    ("runs: an unknown run", pairs(SBS | {"other": "c"}), LEARN + RUNS, 1,
     r"x\.jsonl:1: other is 'c', expected one of the runs: .*'a\.run'.*"),
    ("runs: an unknown query", pairs(SBS | {"query": "nix"}), LEARN + RUNS, 1,
     r"x\.jsonl:1 names query 'nix', which the judgments do not hold"),
    ("runs: a list of grades", pairs({}), LEARN + RUNS, 1, r"x\.jsonl:1: holds the list \[2, 1, 0\], expected the name of a run"),
    ("runs: no query", {"x.jsonl": '{"preferred": "a", "other": "b"}\n'}, LEARN + RUNS, 1,
     r"x\.jsonl:1: no query, expected the query that both runs answer"),
    ("runs: no judgments", pairs(SBS), LEARN + " --run a.run", 2, r"--qrels and --run go together: .*"),
    ("runs: depth of lists", pairs({}), LEARN + " --depth 3", 2, r"--depth goes with --qrels and --run: .*"),
    ("runs: one of two names", pairs(SBS), LEARN + RUNS + " --run folder.csv/../a.run", 1,
     r"x\.jsonl:1: the name 'a' fits more than one run; use their paths"),
]  # fmt: skip

OPTIONS = [
    ("gains: C of 0", pairs({}), LEARN + " --C 0", 2, r"Invalid value for '--C': 0\.0 is not in the range x>0\."),
    ("gains: C below 0", pairs({}), LEARN + " --C -1", 2, r"Invalid value for '--C': -1\.0 is not in the range x>0\."),
    ("gains: C is no number", pairs({}), LEARN + " --C nan", 2, r"Invalid value for '--C': nan is not a finite number\."),
    ("gains: C and a validation set", pairs({}), LEARN + " --C 1 --validation x.jsonl", 2, r"--validation chooses C: leave out --C"),
    ("gains: a file of another kind", pairs({}), "gains learn x.jsonl --out x.txt", 1, r"x\.txt: expected a name that ends in \.json"),
    ("gains: no folder", pairs({}), "gains learn x.jsonl --out no/x.json", 1, r"no/x\.json: cannot write: there is no folder 'no'"),
    ("gains: no pairs", {}, "gains learn --out x.json", 2, r"Missing argument 'PREFS\.\.\.'\."),
    ("gains: a picture of another kind", made('{"gains": [0, 1], "discounts": [1]}'), "gains show x.json --plot x.txt", 1,
     r"x\.txt: expected a name that ends in \.png, \.svg, \.pdf"),
    ("gains file: none", {}, "gains show none.json", 1, r"none\.json: no such file"),
    ("gains file: not JSON", made("gains\n"), "gains show x.json", 1, r"x\.json:1: is not JSON: .*"),
    ("gains file: a list", made("[1]"), "score q.qrels a.run @x.json", 1, r"x\.json: is not a JSON object, expected .*"),
    ("gains file: no gains", made('{"discounts": [1]}'), "score q.qrels a.run @x.json", 1,
     r"x\.json: the field gains is None, expected a list of 2 numbers or more"),
    ("gains file: no discount", made('{"gains": [0, 1], "discounts": []}'), "gains show x.json", 1,
     r"x\.json: the field discounts is \[\], expected a list of numbers"),
    ("gains file: NaN", made('{"gains": [0, NaN], "discounts": [1]}'), "gains show x.json", 1,
     r"x\.json: gains\[1\] is nan, expected a finite number, at most 1e15"),
    ("gains file: weights of another shape", made('{"gains": [0, 1], "discounts": [1, 1], "weights": [[0, 1]]}'),
     "gains show x.json", 1, r"x\.json: the field weights does not match gains and discounts, expected 2 rows by rank of 2 numbers by grade"),
    ("gains file: no name", {}, "score q.qrels a.run @", 1, r"measure '@': expected the name of a file behind it, as @gains\.json"),
    ("gains file: too few grades", made('{"gains": [0, 1], "discounts": [1]}'), "score q.qrels a.run @x.json", 1,
     r"grade \d of item .* is above the measure's largest, 1"),
    ("gains file: too few grades for a design", made('{"gains": [0, 1], "discounts": [1]}'),
     "design --run a.run --max-grade 3 --measure @x.json --out y.csv", 1, r"the scale goes up to grade 3, above the largest of @x\.json, 1"),
    ("coherence: no lists", {}, MEASURES, 2, r"give one of --grades and --qrels: the lists to compare"),
    ("coherence: two kinds of lists", {}, MEASURES + " --grades 1,0 --qrels q.qrels", 2, r"give one of --grades and --qrels: .*"),
    ("coherence: no grades", {}, MEASURES + " --grades a,b", 2, r"--grades is 'a,b', expected whole grades from 0 on, .*"),
    ("coherence: one run", {}, MEASURES + " --qrels q.qrels --run a.run", 2, r"--run, --versus-run and --qrels go together"),
    ("coherence: too deep", {}, MEASURES + " --grades 1,0 --depth 3", 1, r"a depth of 3 needs a list of as many grades, got 2"),
    ("coherence: no sum", {}, "coherence DCG ERR --grades 1,0", 1, r"ERR is no sum of gains over ranks; choose .*"),
    ("coherence: a grade above the scale", made('{"gains": [0, 1], "discounts": [1]}'), "coherence DCG @x.json --grades 2,0", 1,
     r"the lists hold grade 2, above the largest of @x\.json, 1"),
]  # fmt: skip

BROKEN_PREFERENCES = [*PAIRS, *SIDE_BY_SIDE, *OPTIONS]
