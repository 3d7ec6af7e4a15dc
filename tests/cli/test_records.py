"""The record of a sample: what `activeeval estimate` makes of it, and of one that is lost, damaged or foreign."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from cli_files import csv_rows, write_csv

NOTHING = "(nothing to judge)"
RUN = ("--run", "a.run", "--max-grade", 3, "--measure", "DCG@5")
METHODS = ("items", "depth", "depth_draws", "cube", "lure", "random")


def grade_of(row):
    return sum(map(ord, f"{row['query_id']} {row['doc_id']}")) % 4


def judged(rows):
    """Return rows with every grade filled in."""
    return [row | {"grade": 0 if row["doc_id"] == NOTHING else grade_of(row)} for row in rows]


@pytest.fixture
def sampled(call):
    """Return a function from options to the rows of a judged draws table, d.csv, whose record is d.csv.sample.npz."""

    def sample(*options, name="d.csv"):
        answer = call("sample", *RUN, "--budget", 8, *options, "--out", name)
        assert answer.code == 0, answer.err
        rows = judged(csv_rows(name))
        write_csv(name, rows)
        return rows

    return sample


def one_line(answer, expected):
    """Check that a call ended with one line that matches."""
    assert (answer.code, answer.out) == (1, ""), answer
    assert re.fullmatch(f"activeeval: {expected}\n", answer.err), answer.err


# Rows that went wrong in the spreadsheet


def items_drawn_once(rows):
    """Return the places of items that no other row repeats: what is amiss with one of two is no harm."""
    pairs = [(row["query_id"], row["doc_id"]) for row in rows]
    return [i for i, pair in enumerate(pairs) if pair[1] != NOTHING and pairs.count(pair) == 1]


def first_item(rows):
    return items_drawn_once(rows)[0]


def last_draw(rows):
    return int(rows[items_drawn_once(rows)[-1]]["draw"])


def changed(rows, place, **cells):
    return [row | cells if i == place else row for i, row in enumerate(rows)]


LOST = r"item 'd\d+' of query '\w+' was drawn, but is not in the draws table"
FOREIGN = r"item '.*' of query '.*' is in the draws table, but not in the record of the sample"
SLIPS = {
    "a row lost": (lambda rows: [row for i, row in enumerate(rows) if i != first_item(rows)], LOST),
    "the last draw lost": (lambda rows: [row for row in rows if int(row["draw"]) != last_draw(rows)], LOST),
    "the first draw lost": (lambda rows: [row for row in rows if row["draw"] != rows[first_item(rows)]["draw"]], LOST),
    "all but one row lost": (lambda rows: [rows[first_item(rows)]], LOST),
    "a document renamed": (lambda rows: changed(rows, first_item(rows), doc_id="dX"), FOREIGN),
    "a query renamed": (lambda rows: changed(rows, first_item(rows), query_id="qZ"), FOREIGN),
    "a row of another sample": (lambda rows: [*rows, rows[first_item(rows)] | {"query_id": "q99"}], FOREIGN),
    "a grade forgotten": (
        lambda rows: changed(rows, first_item(rows), grade=""),
        r"1 of \d+ items have no grade yet, the first is item 'd\d+' of query '\w+'",
    ),
    "a row doubled with another grade": (
        lambda rows: [*rows, rows[first_item(rows)] | {"grade": (rows[first_item(rows)]["grade"] + 1) % 4}],
        r"item 'd\d+' of query 'q\d+' has two grades, \d and \d",
    ),
    "a grade above the scale": (
        lambda rows: changed(rows, first_item(rows), grade=4),
        r"grade 4 (of item 'd\d+' of query 'q\d+' )?is above .*3",
    ),
    "a grade of NaN": (lambda rows: changed(rows, first_item(rows), grade="nan"), r"d\.csv:\d+: column grade: .*nan.*"),
    "half a grade": (lambda rows: changed(rows, first_item(rows), grade=1.5), r"d\.csv:\d+: column grade: .*1\.5, .*"),
    "a grade of -3": (lambda rows: changed(rows, first_item(rows), grade=-3), r"d\.csv:\d+: column grade: .*-3, .*"),
    "another method": (
        lambda rows: [row | {"design": "depth_cube"} for row in rows],
        r"the draws table and the record are of different samples",
    ),
    "two methods": (
        lambda rows: changed(rows, 0, design="depth_cube"),
        r"the draws table holds more than one design: .*, .*",
    ),
    "another measure": (
        lambda rows: [row | {"measure": "DCG@4"} for row in rows],
        r"the draws table and the record are of different samples",
    ),
    "no rows": (lambda rows: [], r".*no rows"),
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("slip", SLIPS)
def test_a_table_that_was_spoilt_is_one_clear_line(call, sampled, method, slip):
    spoil, expected = SLIPS[slip]
    rows = sampled("--method", method)
    header = list(rows[0])
    spoilt = spoil(rows)
    if spoilt:
        write_csv("d.csv", spoilt)
    else:
        with open("d.csv", "w") as handle:
            handle.write(",".join(header) + "\n")
    one_line(call("estimate", "d.csv"), expected)


@pytest.mark.parametrize("method", METHODS)
def test_what_does_not_matter_may_change(call, sampled, method):
    rows = sampled("--method", method)
    before = call("estimate", "d.csv", "-o", "jsonl").rows
    order = np.random.default_rng(0).permutation(len(rows))
    for harmless in (
        [rows[i] for i in order],
        [*rows, rows[0], rows[0]],
        [row | {"note": "easy"} for row in rows],
        [row | {"grade": f"{row['grade']}.0"} for row in rows],
        [dict(reversed(row.items())) for row in rows],
    ):
        write_csv("d.csv", harmless)
        assert call("estimate", "d.csv", "-o", "jsonl").rows == before


def test_an_item_that_could_not_be_judged_earns_nothing(call, sampled):
    rows = sampled("--method", "items")
    write_csv("d.csv", [row | {"grade": -1} if row["doc_id"] != NOTHING else row for row in rows])
    nothing = call("estimate", "d.csv", "-o", "jsonl").rows[0]
    write_csv("d.csv", [row | {"grade": 0} for row in rows])
    zero = call("estimate", "d.csv", "-o", "jsonl").rows[0]
    assert (nothing["items"], nothing["queries"]) == (zero["items"], zero["queries"])


# Records that went wrong


def truncated(share):
    def cut(path):
        data = path.read_bytes()
        path.write_bytes(data[: int(share * len(data))])

    return cut


def with_arrays(**changes):
    """Return a function that saves a record with some arrays replaced by functions of themselves."""

    def save(path):
        with np.load(path) as held:
            arrays = {name: held[name] for name in held.files}
        kept = {name: changes.get(name, lambda a: a)(array) for name, array in arrays.items()}
        np.savez(path, **{name: array for name, array in kept.items() if array is not None})

    return save


def another_array(path):
    with open(path, "wb") as handle:
        np.save(handle, np.arange(3))


NO_RECORD = r"d\.csv\.sample\.npz: cannot be read as a file of arrays \(\.npz\): .*"
DAMAGED = r"(d\.csv\.sample\.npz: )?.*(damaged|cannot be read|lacks).*"
RECORDS = {
    "missing": (lambda path: path.unlink(), r"d\.csv\.sample\.npz: no such file.*"),
    "a folder": (lambda path: (path.unlink(), path.mkdir()), r"d\.csv\.sample\.npz: is a folder, expected a file .*"),
    "empty": (lambda path: path.write_bytes(b""), NO_RECORD),
    "text": (lambda path: path.write_text("1 0 a 2\n"), NO_RECORD),
    "one array": (another_array, NO_RECORD),
    "a hundredth": (truncated(0.01), NO_RECORD),
    "a half": (truncated(0.5), NO_RECORD),
    "the end lost": (truncated(0.99), NO_RECORD),
    "other arrays": (lambda path: np.savez(path, a=np.arange(3)), r"d\.csv\.sample\.npz: holds other .*, expected .*"),
    "objects": (lambda path: np.savez(path, words=np.array([{}], dtype=object)), NO_RECORD),
    "an array lost": (with_arrays(slots=lambda a: None), r"d\.csv\.sample\.npz: lacks slots, expected the record .*"),
    "a stage lost": (with_arrays(**{"stage.items": lambda a: None}), DAMAGED),
    "the pool lost": (with_arrays(**{"pool.item_ids": lambda a: None}), DAMAGED),
    "words lost": (with_arrays(words=lambda a: a[:3]), DAMAGED),
    "an unknown stage": (with_arrays(words=lambda a: np.array([*a[:3], "rows", a[4]])), DAMAGED),
    "numbers for words": (with_arrays(numbers=lambda a: np.array(["x"] * a.size)), DAMAGED),
}  # fmt: skip


@pytest.mark.parametrize("method", ["items", "depth", "random"])
@pytest.mark.parametrize("name", RECORDS)
def test_a_broken_record_is_one_clear_line(call, folder, sampled, method, name):
    spoil, expected = RECORDS[name]
    sampled("--method", method)
    spoil(folder / "d.csv.sample.npz")
    one_line(call("estimate", "d.csv"), expected)


UNFIT = {
    **{
        f"{name} cut short": with_arrays(**{name: lambda a: a[:-1]})
        for name in ("draws", "draw_probs", "slots", "query_probs", "item_probs", "population", "pool.item_ids")
    },
    **{f"stage.{name} cut short": with_arrays(**{f"stage.{name}": lambda a: a[:-1]}) for name in ("offsets", "items")},
    "places beyond the pool": with_arrays(slots=lambda a: a + 10_000),
    "places below 0": with_arrays(slots=lambda a: a - 10_000),
    "queries beyond the pool": with_arrays(draws=lambda a: a + 10_000),
    "probabilities of NaN": with_arrays(draw_probs=lambda a: a * np.nan),
    "probabilities of 0": with_arrays(item_probs=lambda a: a * 0),
    "a place twice": with_arrays(slots=lambda a: np.full_like(a, a[0])),
    "a model of NaN": with_arrays(**{"stage.predictions": lambda a: a * np.nan}),
    "a model of 0": with_arrays(**{"stage.nodes": lambda a: a * 0}),
    "numbers in text": with_arrays(population=lambda a: a.astype(str)),
}


ESTIMATE_ALL = """
import sys
from activeeval.cli import run
for name in sys.argv[1:]:
    print(name, run(["estimate", name]), flush=True)
"""


@pytest.mark.parametrize("method", ["items", "depth"])
def test_arrays_that_do_not_fit_each_other_are_one_clear_line(folder, sampled, method):
    """In a process of their own: a kernel that trusts them may take the interpreter with it."""
    sampled("--method", method)
    names = [f"{name}.csv" for name in UNFIT]
    for name, spoil in zip(names, UNFIT.values(), strict=True):
        shutil.copy("d.csv", name)
        shutil.copy("d.csv.sample.npz", f"{name}.sample.npz")
        spoil(folder / f"{name}.sample.npz")
    command = [sys.executable, "-c", ESTIMATE_ALL, *names]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [f"{name} 1" for name in names], done
    for name, line in zip(names, done.stderr.splitlines(), strict=True):
        assert re.fullmatch(f"activeeval: {DAMAGED}", line), (name, line)


@pytest.mark.parametrize("method", METHODS)
def test_the_record_of_another_sample_is_refused(call, folder, sampled, method):
    sampled("--method", method, name="e.csv")
    for options in (
        ("--method", method, "--seed", 4),
        ("--method", method, "--measure", "DCG@4"),
        ("--method", "greg"),
    ):
        sampled(*options, "--force")
        answer = call("estimate", "d.csv", "--record", "e.csv.sample.npz")
        one_line(answer, rf"(the draws table and the record are of different samples|{FOREIGN}|{LOST})")
    one_line(
        call("estimate", "e.csv", "--measure", "P@3"),
        r"the sample was drawn for .*DCG.*@5.*: its record cannot tell of P@3",
    )


def test_a_record_may_lie_elsewhere(call, folder, sampled):
    sampled()
    before = call("estimate", "d.csv", "-o", "jsonl").rows
    (folder / "r").mkdir()
    shutil.move("d.csv.sample.npz", "r/other.npz")
    assert call("estimate", "d.csv", "--record", "r/other.npz", "-o", "jsonl").rows == before
    shutil.copy("d.csv", "r/other.csv")
    shutil.move("r/other.npz", "r/other.csv.sample.npz")
    assert call("estimate", "r/other.csv", "-o", "jsonl").rows == before


@pytest.mark.parametrize("record", ["a.run", "d.csv", ".", "gone.npz"])
def test_a_record_that_is_none(call, sampled, record):
    sampled()
    one_line(
        call("estimate", "d.csv", "--record", record), rf"{re.escape(record)}: .*(no such file|folder|cannot be read).*"
    )


# Beside the table, with the table, or not at all


@pytest.mark.parametrize("method", METHODS)
def test_the_work_of_judges_keeps_its_record(call, folder, sampled, method):
    sampled("--method", method)
    before = [(folder / name).read_bytes() for name in ("d.csv", "d.csv.sample.npz")]
    answer = call("sample", *RUN, "--budget", 8, "--seed", 3, "--method", method, "--out", "d.csv")
    one_line(answer, r"d\.csv holds \d+ grades already: --force overwrites them")
    assert [(folder / name).read_bytes() for name in ("d.csv", "d.csv.sample.npz")] == before


@pytest.mark.parametrize("suffix", ["tsv", "parquet", "csv.gz"])
def test_a_table_of_another_suffix_does_not_take_the_record_of_a_judged_one(call, sampled, suffix):
    """Each table has a record of its own, by its whole name."""
    sampled()
    before = call("estimate", "d.csv", "-o", "jsonl").rows
    call("sample", *RUN, "--budget", 8, "--seed", 3, "--out", f"d.{suffix}")
    assert call("estimate", "d.csv", "-o", "jsonl").rows == before


def test_an_earlier_record_does_not_spoil_a_census(call, folder, sampled):
    sampled()
    rows = sampled("--budget", 1000, "--method", "passive", "--force")
    assert {row["design"] for row in rows} == {"census"}
    row = call("estimate", "d.csv", "-o", "jsonl").rows[0]
    assert (row["std_error"], row["queries"], row["items"]) == (0, 30, len(rows))


@pytest.mark.parametrize(
    ("measure", "method"), [("ERR@5", "depth"), ("DCG@5", "items"), ("DCG", "depth"), ("nDCG@5", "depth")]
)
def test_every_query_in_part_is_no_census(call, folder, sampled, measure, method):
    """All queries drawn, not all of their items judged: without the record nothing may be called exact."""
    rows = sampled("--measure", measure, "--method", method, "--budget", 27)
    assert len({row["query_id"] for row in rows}) == 30
    row = call("estimate", "d.csv", "-o", "jsonl").rows[0]
    assert row["std_error"] > 0
    assert row["method"] == method
    (folder / "d.csv.sample.npz").unlink()
    one_line(call("estimate", "d.csv"), r"d\.csv\.sample\.npz: no such file.*|.*record.*")


def test_a_lost_record_is_asked_for(call, folder, sampled):
    sampled()
    (folder / "d.csv.sample.npz").unlink()
    told = r"expected the record that `activeeval sample` wrote beside the table; --record names it .*"
    one_line(call("estimate", "d.csv"), rf"d\.csv\.sample\.npz: no such file, {told}")


def test_a_record_goes_where_the_new_table_needs_none(call, folder, sampled):
    sampled()
    sampled("--method", "active", "--force")
    assert not (folder / "d.csv.sample.npz").exists()


def test_a_table_that_cannot_be_read_is_not_overwritten(call, folder, sampled):
    rows = sampled()
    write_csv("d.csv", changed(rows, first_item(rows), grade="two"))
    answer = call("sample", *RUN, "--budget", 8, "--out", "d.csv")
    one_line(answer, r"d\.csv:\d+: column grade: .*two.*; --force overwrites it")
    assert "two" in (folder / "d.csv").read_text()


@pytest.mark.parametrize("method", METHODS)
def test_a_larger_scale_than_the_sample_s_is_refused(call, sampled, method):
    sampled("--method", method)
    one_line(
        call("estimate", "d.csv", "--max-grade", 4),
        "max_grade 4 is above the largest grade that was sampled for, 3",
    )


def test_a_full_disk_leaves_neither_file(call, folder):
    (folder / "full.csv").symlink_to("/dev/full")
    before = sorted(path.name for path in folder.iterdir())
    for method in METHODS:
        answer = call("--quiet", "sample", *RUN, "--budget", 8, "--method", method, "--out", "full.csv")
        one_line(answer, r"full\.csv: cannot write: No space left on device")
        assert sorted(path.name for path in folder.iterdir()) == before


def test_a_record_that_cannot_be_written_leaves_no_table(call, folder):
    (folder / "x.csv.sample.npz").mkdir()
    answer = call("--quiet", "sample", *RUN, "--budget", 8, "--out", "x.csv")
    one_line(answer, r"x\.csv\.sample\.npz: .*")
    assert not (folder / "x.csv").exists()
    (folder / "y.csv.sample.npz").symlink_to("/dev/full")
    answer = call("--quiet", "sample", *RUN, "--budget", 8, "--out", "y.csv")
    one_line(answer, r"y\.csv\.sample\.npz: cannot write: No space .*")
    assert not (folder / "y.csv").exists()


def test_a_failed_write_keeps_the_earlier_table_and_record(call, folder, monkeypatch):
    from activeeval.errors import InputError
    from activeeval.io import draws

    def fail(*_):
        raise InputError("d.csv: cannot write: No space left on device")

    options = (*RUN, "--budget", 8, "--out", "d.csv")
    assert call("sample", *options).code == 0
    before = [(folder / name).read_bytes() for name in ("d.csv", "d.csv.sample.npz")]
    monkeypatch.setattr(draws, "write_draws", fail)
    one_line(call("--quiet", "sample", *options, "--seed", 1), r"d\.csv: cannot write: No space left on device")
    assert [(folder / name).read_bytes() for name in ("d.csv", "d.csv.sample.npz")] == before


def test_the_talk_names_the_record(call):
    said = call("sample", *RUN, "--budget", 8, "--out", "d.csv").err.splitlines()
    told = "the record of the sample, which `activeeval estimate` reads beside the table"
    assert f"activeeval: wrote d.csv.sample.npz: {told}" in said
    assert not [line for line in said if "repeat" in line]
    assert call("--quiet", "sample", *RUN, "--budget", 8, "--out", "d.csv").err == ""
    said = call("sample", *RUN, "--budget", 8, "--method", "active", "--out", "e.csv").err
    assert ".npz" not in said
