"""A thousand sheets that spreadsheets and people mangled: each gives exactly the right numbers, or one line."""

import json
import re
import shutil

import numpy as np
import pytest
from cli_cases import both, files, judge_file
from cli_files import csv_rows, write_lines
from id_changes import ID_CHANGES
from manglings import HARMFUL, HARMLESS, Table

from activeeval.formats.sample_sheet import nearest_id

IDS = """
d1 D1 d10 007 7 1e5 100000 =1+1 2 -5 5 1234567890123456 1234567890123457 1-2 02-Jan 1/2 2024-05-01 TRUE true 0x1F 31
é☃𝔘 é 1.10 1.1 1.100 'tis '=2 =2 @x x +49 49 a,b;c 12:30 NULL nan 12345e10 50% 123456789012"""
ITEMS = [*IDS.split(), " lead", "lead", "trail ", "in the middle", "in\xa0the middle"]
QUERIES = ["q1", "Q1", "007", "7", "1e5", "=1+1", "1-2", "TRUE", " q ", "q", "1.10", "1.1", "12345678901234567", "é"]
PARTS, EACH = 10, 100
SHEETS = ("other.csv", "d.csv", "d.csv.sample.npz")


def drawn_and_judged(call, folder):
    """Draw two samples of runs with awkward ids into a folder and judge them."""
    rng = np.random.default_rng(3)
    for name in ("one", "two"):
        rows = [
            {"query_id": query, "doc_id": str(doc), "score": float(rng.normal())}
            for query in QUERIES
            for doc in rng.permutation(ITEMS)[:9]
        ]
        write_lines(folder / f"{name}.jsonl", map(json.dumps, rows))
    drawn = ("sample", "--run", "one.jsonl", "--versus-run", "two.jsonl", "--max-grade", 3, "--measure", "DCG@5")
    for sheet, seed in (("other.csv", 1), ("d.csv", 0)):
        done = call(*drawn, "--budget", "85%", "--seed", seed, *files(sheet))
        assert done.code == 0, done.err
        judge_file(sheet)
    return call("--quiet", "estimate", *both("d.csv"), "-o", "jsonl")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Return what is kept of the judged samples between tests: a folder of them and the reference."""
    return {"folder": tmp_path_factory.mktemp("judged")}


@pytest.fixture
def judged_sheet(call, folder, kept):
    """Judge a sample of runs with awkward ids; return a function to its table, and the reference."""
    if "reference" not in kept:
        kept["reference"] = drawn_and_judged(call, folder)
        for name in SHEETS:
            shutil.copy(name, kept["folder"])
    for name in SHEETS:
        shutil.copy(kept["folder"] / name, folder)
    foreign, rows = ([list(map(str, row.values())) for row in csv_rows(name)] for name in SHEETS[:2])
    header = list(csv_rows("d.csv")[0])

    def table():
        return Table(list(header), [list(row) for row in rows], foreign)

    assert kept["reference"].rows[0]["judged"] == len(rows) > 50
    return table, kept["reference"]


def outcome(call, table):
    """Return what `estimate` makes of a mangled sheet."""
    return call("--quiet", "estimate", "d.csv.sample.npz", table.write("m"), "-o", "jsonl")


def one_line(done):
    """Whether a call was refused in a line, or of cells in one for each."""
    lines = r"(activeeval: m\.\S+?: \S[^\n]+\n)+(activeeval: and \d+ more\n)?"
    return (done.code, done.out) == (1, "") and re.fullmatch(lines, done.err)


def test_the_ids_are_awkward_enough(judged_sheet):
    """What a mangling makes of an id is often an id of the sample itself."""
    rows = judged_sheet[0]().rows
    held = {row[3] for row in rows}
    assert {"007", "7", "'=1+1", "2", "TRUE", "1.10", "1.1", " lead", "lead"} <= held
    assert {row[2] for row in rows} == {"'=1+1" if query == "=1+1" else query for query in QUERIES}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_harmless_changes_nothing(call, judged_sheet, name):
    table, reference = judged_sheet
    for seed in range(2):
        mangled = table()
        HARMLESS[name](mangled, np.random.default_rng(seed))
        assert outcome(call, mangled) == reference


@pytest.mark.parametrize("name", HARMFUL)
def test_what_is_not_gives_the_numbers_or_one_line(call, judged_sheet, name):
    table, reference = judged_sheet
    for seed in range(2):
        mangled = table()
        HARMFUL[name](mangled, np.random.default_rng(seed))
        done = outcome(call, mangled)
        assert done == reference or one_line(done), (seed, done)


@pytest.mark.parametrize("part", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, PARTS))])
def test_any_composition_gives_the_numbers_or_one_line(call, judged_sheet, part):
    table, reference = judged_sheet
    every, n_same, n_refused, wrong = HARMLESS | HARMFUL, 0, 0, []
    for seed in range(part * EACH, (part + 1) * EACH):
        rng = np.random.default_rng(seed)
        n_harmful = int(rng.integers(3))
        names = [*rng.choice(list(HARMLESS), rng.integers(1, 4)), *rng.choice(list(HARMFUL), n_harmful)]
        mangled = table()
        for name in rng.permutation(names).tolist():
            every[name](mangled, rng)
        done = outcome(call, mangled)
        n_same, n_refused = n_same + (done == reference), n_refused + (done != reference)
        if not (done == reference or (n_harmful and one_line(done))):
            wrong.append((seed, list(map(str, names)), done))
    assert not wrong
    assert min(n_same, n_refused) > EACH // 4


@pytest.mark.parametrize("name", ["doc_id", "query_id"])
def test_a_line_names_the_id_that_a_foreign_one_was(call, judged_sheet, name):
    """One cell changed at a time: the one planned id that the sheet then lacks."""
    n_named = 0
    for place in range(0, len(judged_sheet[0]().rows), 18):
        for change in ("zeros in front lost", "shown as a number", "capitals", "cut", "blanks around"):
            table = judged_sheet[0]()
            row = [table.rows[place]]
            before = row[0][table.place(name)]
            table.change(name, ID_CHANGES[change], row)
            done = outcome(call, table)
            if found := re.search(r"did a spreadsheet change it\? expected (.*)\n$", done.err):
                n_named += 1
                planned = before[1:] if re.match("'+[=+@-]", before) else before
                assert found[1] == repr(planned), (place, change, done)
    assert n_named > 4


@pytest.mark.parametrize(
    ("foreign", "lost", "expected"),
    [
        ("1.23E+14", ["1.23", "E+14", "12345e10"], "12345e10"),
        ("7", ["17", "70", "007"], "007"),
        ("100000", ["10000", "1e5"], "1e5"),
        ("D7", ["d17", "d7"], "d7"),
        ("x", [], ""),
    ],
)
def test_the_same_number_is_likelier_than_what_looks_alike(foreign, lost, expected):
    assert nearest_id(foreign, lost) == expected
