"""What a campaign writes out is read by every door that can use it, to the same end; the others say what it holds."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from each_once import each_once

from activeeval import cli
from activeeval.adaptation.adapt import read_preferences
from activeeval.core.errors import InputError
from activeeval.formats.judgments.from_files import read

DOCS, JUDGED, REST = range(6), range(1, 9), range(9, 15)
EXPORTS = ("qrels", "prels", "jsonl", "csv", "quepid", "weights")
NAMES = {form: f"w.{form}" for form in EXPORTS}
NAMES |= {"csv": "w.judgments.csv", "quepid": "w.quepid.csv", "weights": "w.weights.csv"}
RUN = ("--run", "a.run", "--max-grade", "3")
MADE = (*RUN, "--measure", "DCG@5", "--budget", "100%", "--seed", "3")
RANKED = (*RUN, "--measure", "kNDCG(k=3)@5", "--budget", "100%", "--seed", "2")


def grade_of(query, doc):
    return int.from_bytes(hashlib.sha256(f"{query} {doc}".encode()).digest()[:2]) % 4


def run_lines(queries, turn=1):
    return [f"q{q} Q0 d{d} 1 {(d * 5 * turn + q) % 7 + d / 10} t" for q in queries for d in DOCS]


def write(name, lines):
    Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a campaign that is judged to its end, one of comparisons, and all that they write out."""
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder := tmp_path_factory.mktemp("doors"))
        write("a.run", run_lines(JUDGED))
        write("b.run", run_lines(JUDGED, turn=3))
        write("all.run", run_lines([*JUDGED, *REST]))
        write("o.qrels", [f"q{q} 0 d{d} {grade_of(q, d)}" for q in [*JUDGED, *REST] for d in DOCS])
        write("bob.qrels", [f"q{q} 0 d{d} {(grade_of(q, d) + q % 2) % 4}" for q in JUDGED for d in DOCS])
        calls = [
            ("campaign", "create", "w", *MADE),
            ("campaign", "judge", "w", "--judge", "ann", "--oracle", "o.qrels"),
            *(("campaign", "export", "w", "--format", form, "--out", name) for form, name in NAMES.items()),
            ("campaign", "create", "t", *RANKED),
            ("campaign", "judge", "t", "--judge", "ann", "--oracle", "o.qrels"),
            ("campaign", "export", "t", "--format", "jsonl", "--out", "t.jsonl"),
            ("campaign", "export", "t", "--format", "csv", "--out", "t.csv"),
        ]
        for arguments in calls:
            assert cli.run(["--quiet", *arguments]) == 0, arguments
    return folder


@pytest.fixture
def call(folder, monkeypatch, capsys):
    """Return a function from arguments to exit code, output and messages of the command line."""
    monkeypatch.chdir(folder)
    capsys.readouterr()

    def run(*arguments):
        code = cli.run(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def rounded(values):
    """Return values as they are, whatever the order in which a file has its queries."""
    return {name: round(value, 10) for name, value in values.items()}


def drawn(call, *options):
    code, _, err = call("sample", "--measure", "DCG@5", "--budget", "30%", "--seed", "1", *options, "--force",
                        "--out", "s.sample", "--sheet", "s.csv")  # fmt: skip
    assert code == 0, err
    return Path("s.csv").read_bytes()


def judged(call, path):
    return drawn(call, "--run", "all.run", "--max-grade", "3", "--judged", path)


def train_qrels(call, path):
    return drawn(call, "--run", "all.run", "--train", path)


def score(call, path, *measures):
    code, out, err = call("score", path, "a.run", *(measures or ("nDCG@5", "AP")), "-q", "-o", "jsonl")
    assert code == 0, err
    rows = map(json.loads, out.splitlines())
    return rounded({(row["query_id"], row["measure"]): row["value"] for row in rows})


def compare(call, path):
    code, out, err = call(
        "compare", "b.run", "a.run", "--qrels", path, "--measure", "DCG@5", "--unjudged", "irrelevant", "-o", "jsonl"
    )
    assert code == 11, err
    numbers = {name: value for name, value in json.loads(out).items() if isinstance(value, (int, float))}
    return rounded(numbers)


def agreement(call, path):
    code, out, err = call("agreement", path, "bob.qrels", "-o", "jsonl")
    assert code == 0, err
    assert '"n": 40' in out
    rows = [row for row in map(json.loads, out.splitlines()) if "value" in row and row["value"] is not None]
    # who of two judges is the first follows from their names, and with it the sign of their difference
    return rounded({(row["of"], row["what"]): abs(row["value"]) for row in rows})


def imported(call, path, made=MADE):
    Path("v.activeeval").unlink(missing_ok=True)
    assert call("campaign", "create", "v", *made)[0] == 0
    code, _, err = call("campaign", "import", "v", path, "--judge", "ann")
    assert code == 0, err
    return estimated(call, "v")


def oracle(call, path, made=MADE):
    Path("v.activeeval").unlink(missing_ok=True)
    assert call("campaign", "create", "v", *made)[0] == 0
    code, _, err = call("campaign", "judge", "v", "--judge", "ann", "--oracle", path)
    assert code == 0, err
    return estimated(call, "v")


def estimated(call, name):
    code, out, err = call("campaign", "estimate", name, "-o", "tsv")
    assert code == 0, err
    return [cell for cell in out.splitlines()[-1].split("\t") if "." in cell]


def learned(call, path):
    rows = [{"query": f"q{q}", "preferred": "a.run" if q % 3 else "b.run", "other": "b.run" if q % 3 else "a.run"}
            for q in JUDGED]  # fmt: skip
    write("sides.jsonl", map(json.dumps, rows))
    runs = ("--qrels", path, "--run", "a.run", "--run", "b.run", "--depth", "3")
    quick = ("--C", "1", "--resamples", "0", "--out", "g.json", "--force")
    code, _, err = call("gains", "learn", "sides.jsonl", *runs, *quick)
    assert code == 0, err
    return json.loads(Path("g.json").read_text("utf-8"))["gains"]


DOORS = (judged, train_qrels, score, compare, agreement, imported, oracle, learned)


@each_once(("door", DOORS), ("form", EXPORTS[1:]))
def test_every_door_for_grades_takes_every_export_of_them(call, door, form):
    """Every door reads by the one reader, which reads every form: one form at each door."""
    assert read(NAMES[form]).graded_pairs() == read(NAMES["qrels"]).graded_pairs()
    result = door(call, NAMES[form])
    assert result == (estimated(call, "w") if door in (imported, oracle) else door(call, NAMES["qrels"]))


def test_every_door_for_ranks_takes_every_export_of_them(call):
    assert score(call, "t.jsonl", "kNDCG(k=3)@5") == score(call, "t.csv", "kNDCG(k=3)@5")
    assert imported(call, "t.jsonl", RANKED) == oracle(call, "t.csv", RANKED) == estimated(call, "t")
    code, out, err = call("agreement", "t.jsonl", "t.csv", "-o", "jsonl")
    assert code == 0, err
    assert '"value": 1.0' in out
    for path in ("t.jsonl", "t.csv"):
        preferences = read_preferences([path]).comparisons
        assert {(c.query, c.preferred, c.other) for c in preferences} == {
            (c.query, c.preferred, c.other) for c in read("t.csv").comparisons()
        }


SAMPLED = ("--run", "all.run", "--budget", "9", "--out", "x.sample", "--sheet", "x.csv")
HELD = {
    "t.jsonl": "t.jsonl: holds comparisons and ranks, expected grades",
    "t.csv": "t.csv: holds ranks, expected grades",
}


REFUSING = [
    ("sample", *SAMPLED, "--max-grade", "3", "--judged"),
    ("sample", *SAMPLED, "--train"),
    ("compare", "b.run", "a.run", "--measure", "DCG@5", "--qrels"),
    ("campaign", "import", "w", "--judge", "ann"),
]


@each_once(("path", HELD), ("arguments", REFUSING))
def test_a_door_for_grades_says_what_a_file_of_comparisons_holds(call, arguments, path):
    code, out, err = call("--quiet", *arguments, path)
    assert (code, out) == (1, "")
    assert err == f"activeeval: {HELD[path]}\n"
    assert call("score", path, "a.run", "nDCG@5")[2] == f"activeeval: {HELD[path]}\n"


def test_a_door_for_comparisons_says_that_a_file_holds_grades(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for path in ("w.jsonl", "w.qrels", "w.judgments.csv"):
        with pytest.raises(
            InputError, match=rf"^{path}: holds grades, expected comparisons \(query, preferred, other\)$"
        ):
            read_preferences([path])
