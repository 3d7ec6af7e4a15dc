"""The file of a sample: what is read from it is what was drawn, and one that is lost, damaged or foreign is refused."""

import itertools
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from cli_cases import CASES, answer, both, campaign_of, files, grade_of, judge_file, new_files, one_line
from cli_files import csv_rows, write_csv

from activeeval import InputError, Target, parse_measure
from activeeval.formats.arrays import read_arrays, write_arrays
from activeeval.formats.sample_file import FORMAT, digest_of, from_arrays, id_of, to_arrays
from activeeval.formats.sample_sheet import sheet_of, take
from activeeval.formats.tables.draws import read_draws, write_draws
from activeeval.formats.writing import AtomicFiles
from activeeval.sampling import sheets
from activeeval.sampling.read_samples import read_sample

RUN = ("--run", "a.run", "--max-grade", 3, "--measure", "DCG@5")
FILES = ("d.csv", "d.csv.sample.npz")


@pytest.fixture
def sampled(call):
    """Return a function from options to the rows of a judged sheet, d.csv, whose sample is d.csv.sample.npz."""

    def sample(*options, name="d.csv"):
        done = call("sample", *RUN, "--budget", "27%", *options, *files(name))
        assert done.code == 0, done.err
        return judge_file(name)

    return sample


# What is read is what was drawn


@pytest.mark.parametrize(
    ("case", "measure", "method"),
    [
        ("a comparison", "P@3", "items_plain"),
        ("a forest", "ERR@5", "depth"),
        ("a missing query", "nDCG@5", "depth_plain"),
        ("a comparison", "DCG@5", "whole"),
        ("a missing query", "DCG@5", "random"),
        ("one run", "DCG@5", "passive"),
        ("a forest", "DCG@5", "active"),
    ],
)
def test_what_a_file_says_is_the_campaign_to_the_last_bit(folder, case, measure, method):
    _, given = CASES[case]
    live = campaign_of(measure, method, "40%", seed=5, **given)
    arrays = to_arrays(live)
    with AtomicFiles() as both_files:
        write_arrays("x.npz", arrays, both_files)
        write_draws(sheet_of(live, id_of(arrays)), "x.csv", both_files)
    stored = read_arrays("x.npz")
    restored = from_arrays(stored)
    assert digest_of(to_arrays(restored)) == id_of(stored) == id_of(arrays)
    assert restored.planned == live.planned
    assert restored.design.max_grade == live.design.max_grade == 3
    assert restored.design.blocks == live.design.blocks
    sheet = read_draws("x.csv")
    grades = [grade_of(q, d) for q, d in zip(sheet.query_id.tolist(), sheet.doc_id.tolist(), strict=True)]
    sheet = replace(sheet, grade=np.array(grades))
    restored = take(restored, {"x.csv": sheet}, [id_of(arrays)])
    expected = live.run(answer)
    assert restored.progress == (expected.n_items, 0, 0)
    for scope in ("pool", "population"):
        assert restored.estimate(scope=scope) == live.estimate(scope=scope)
    if method != "items_plain":
        other = parse_measure("P@2" if measure.startswith("DCG") else measure.partition("@")[0] + "@2").bound_to(3)
        one, two = (Target(other, c.design.target.ranking, c.design.target.versus) for c in (restored, live))
        assert restored.estimate(one) == live.estimate(two)


# Files that are lost, damaged or foreign


DAMAGED = r"the sample (is damaged: .*|was changed or damaged since it was written: its digest .*)|lacks .*"
FORMAT_IS_OTHER = rf"the sample has the format .*, this release reads '{FORMAT}'"
UNREADABLE = r"cannot be read as a file of arrays \(\.npz\): .*|holds other arrays, .*|the file is empty"


def arrays_of(name="d.csv.sample.npz"):
    return dict(np.load(name, allow_pickle=False))


def is_no_sample(problem, name="d.csv.sample.npz"):
    with pytest.raises(InputError, match=rf"^{re.escape(name)}: (?:{problem})$"):
        read_sample(name)


def test_every_array_damaged_in_turn_is_one_clear_line(call, folder, sampled):
    """A bit of an array, its end, all of it: whatever it is, the digest tells."""
    sampled("--versus-run", "b.run")
    whole = arrays_of()
    assert len(whole) > 20
    for name, array in whole.items():
        touched = array.copy()
        touched.view(np.uint8).ravel()[0] ^= 1
        for changed in (touched, array[:-1], array[:0], array.astype("S4"), None):
            rest = {key: held for key, held in whole.items() if key != name}
            np.savez("d.csv.sample.npz", **rest | ({} if changed is None else {name: changed}))
            is_no_sample(FORMAT_IS_OTHER if name == "format" and changed is not None else DAMAGED)
    one_line(call("estimate", *both("d.csv")), rf"d\.csv\.sample\.npz: (?:{DAMAGED})")


def resealed(**changes):
    """Change arrays and give them a digest that agrees, as a careless tool might."""
    arrays = arrays_of()
    arrays |= {name: change(arrays[name]) for name, change in changes.items()}
    np.savez("d.csv.sample.npz", **arrays | {"digest": np.array([digest_of(arrays)])})


UNFIT = {
    **{
        f"{name} cut short": {name: lambda a: a[:-1]}
        for name in (
            *("order.offsets", "order.items", "order.roots", "order.query_roots", "unit", "pool.item_ids"),
            *("order.overheads", "order.query_probs", "ranking0.items", "known", "grade_probs", "words", "targets"),
        )
    },
    "places beyond the pool": {"order.items": lambda a: a + 10_000},
    "places below 0": {"order.items": lambda a: a - 10_000},
    "offsets that fall": {"order.offsets": lambda a: a[::-1].copy()},
    "rates of NaN": {"order.roots": lambda a: a * np.nan},
    "rates below 0": {"order.query_roots": lambda a: -a - 1},
    "infinite costs": {"unit": lambda a: a * 0.0},
    "rates in words": {"order.roots": lambda a: a.astype(str)},
    "a model of NaN": {"grade_probs": lambda a: a * np.nan},
    "a ranking beyond the pool": {"ranking0.items": lambda a: a + 10_000},
    "no budget": {"budget": lambda a: a * 0},
    "blocks that fall": {"blocks": lambda a: a[::-1].copy()},
    "an unknown method": {"words": lambda a: np.array(["best", *a[1:]])},
    "a measure that names a file": {"words": lambda a: np.array([a[0], "@own.json"])},
    "a ranking that is not there": {"targets": lambda a: a + 7},
}  # fmt: skip
ESTIMATE_ALL = """
import sys, warnings
from activeeval.cli import run
warnings.simplefilter("error")
for name in sys.argv[1:]:
    print(name, run(["estimate", f"{name}.sample.npz", name]), flush=True)
"""


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_arrays_that_do_not_fit_each_other_are_one_clear_line(folder, sampled):
    """In a process of their own: a kernel that trusted them might take the interpreter with it."""
    names = []
    for k, method in enumerate(("items", "depth")):
        sampled("--method", method)
        shutil.copy("d.csv.sample.npz", "kept.npz")
        for what, changes in list(UNFIT.items())[k::2]:
            names.append(f"{what}, {method}.csv")
            shutil.copy("kept.npz", "d.csv.sample.npz")
            resealed(**changes)
            shutil.move("d.csv.sample.npz", f"{names[-1]}.sample.npz")
            digest = str(np.load(f"{names[-1]}.sample.npz")["digest"][0])
            write_csv(names[-1], [row | {"sample": digest} for row in csv_rows("d.csv")])
    command = [sys.executable, "-c", ESTIMATE_ALL, *names]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [f"{name} 1" for name in names], done
    for name, line in zip(names, done.stderr.splitlines(), strict=True):
        assert re.fullmatch(rf"activeeval: {re.escape(name)}\.sample\.npz: \S.*", line), (name, line)


def test_a_file_that_cannot_be_read(folder, sampled):
    """Nor is text of Python objects unpacked."""
    sampled()
    path = folder / "d.csv.sample.npz"
    data = path.read_bytes()
    for spoilt in (data[: len(data) // 2], b"", b"draw,query_id\n", data[:2000] + data[2001:]):
        path.write_bytes(spoilt)
        is_no_sample(f"{UNREADABLE}|{DAMAGED}")
    path.write_bytes(data)
    np.savez(path, **arrays_of() | {"words": np.array(["items", object()], dtype=object)})
    is_no_sample("cannot be read as a file of arrays .*")


def test_a_sample_that_is_none(folder):
    for name in ("a.run", "q.qrels", ".", "gone.npz"):
        is_no_sample("(no such file|.*directory|cannot be read).*", name)


# Both files or neither


@pytest.mark.parametrize(("command", "gone"), [("sample", FILES[0]), ("top-up", FILES[1])])
def test_a_sample_and_a_sheet_are_not_overwritten_alone(call, folder, sampled, command, gone):
    """Also where the sheet is empty or unreadable: whoever knows that it may go says so."""
    sampled()
    shutil.copy("d.csv.sample.npz", "kept.npz")
    (folder / gone).unlink()
    kept = next(name for name in FILES if name != gone)
    (folder / kept).write_text("work")
    line = ("sample", *RUN, "--budget", "27%") if command == "sample" else ("top-up", "kept.npz", "--budget", "20%")
    one_line(call(*line, *new_files("d.csv")), rf"{re.escape(kept)}: is there already, --force overwrites it")
    assert ((folder / kept).read_text(), (folder / gone).exists()) == ("work", False)
    assert call(*line, *files("d.csv")).code == 0


def test_what_cannot_be_written_leaves_neither_file(call, folder):
    """A full disk, for the sheet or the sample, and a folder in the place of the sample."""
    (folder / "x.csv.sample.npz").mkdir()
    for name in ("y.csv.sample.npz", "z.csv"):
        (folder / name).symlink_to("/dev/full")
    before = sorted(path.name for path in folder.iterdir())
    for name, problem in (
        ("x.csv", r"x\.csv\.sample\.npz: .*"),
        ("y.csv", r"y\.csv\.sample\.npz: cannot write: No space .*"),
        ("z.csv", r"z\.csv: cannot write: No space left on device"),
    ):
        one_line(call("--quiet", "sample", *RUN, "--budget", "27%", *files(name)), problem)
        assert sorted(path.name for path in folder.iterdir()) == before


def test_a_failed_write_keeps_the_earlier_files(call, folder, monkeypatch):
    def fail(*_):
        raise InputError("d.csv: cannot write: No space left on device")

    options = (*RUN, "--budget", "27%", *files("d.csv"))
    assert call("sample", *options).code == 0
    before = [(folder / name).read_bytes() for name in FILES]
    monkeypatch.setattr(sheets, "write_draws", fail)
    one_line(call("--quiet", "sample", *options, "--seed", 1), r"d\.csv: cannot write: No space left on device")
    assert [(folder / name).read_bytes() for name in FILES] == before


DYING = """
import os, signal, sys
from activeeval.cli import run
calls, real = [0], os.{step}
def dying(*given):
    calls[0] += 1
    if calls[0] == {n}:
        {end}
    return real(*given)
os.{step} = dying
sys.exit(run(sys.argv[1:]))
"""
KILLED, INTERRUPTED = "os._exit(9)", "os.kill(os.getpid(), signal.SIGINT)"
LEFT_OVER = re.compile(r"\.d\.csv(\.sample\.npz)?\.\d+-\d+\.tmp")


@pytest.fixture
def writing(call, folder):
    """Return a function that runs a command in a process that ends at a step, and says which of its files are new.

    The files of an earlier sample stand where it writes its own.
    """
    call("sample", *RUN, "--budget", "20%", *files("week1.csv"))
    judge_file("week1.csv")
    options = {
        "sample": [*RUN, "--budget", "27%", "--seed", 3, *files("d.csv")],
        "top-up": ["week1.csv.sample.npz", "--budget", "10%", *files("d.csv")],
    }
    call("sample", *RUN, "--budget", "27%", *files("d.csv"))
    old = [(folder / name).read_bytes() for name in FILES]

    def run(name, step, n, end):
        for path, content in zip(FILES, old, strict=True):
            (folder / path).write_bytes(content)
        given = [str(option) for option in (name, *options[name])]
        command = [sys.executable, "-c", DYING.format(step=step, n=n, end=end), *given]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        return done, [(folder / path).read_bytes() != content for path, content in zip(FILES, old, strict=True)], given

    return run


def check_pair(call, command, sheet_is_new, sample_is_new):
    """Check that a sheet and a sample are whole, both of one age or only the sample new, and then refused together."""
    judge_file("d.csv")
    earlier = ["week1.csv"] if command == "top-up" and sample_is_new else []
    done = call("estimate", *both("d.csv"), *earlier)
    if sample_is_new == sheet_is_new:
        assert done.code == 0, done.err
    else:
        assert sample_is_new
        one_line(done, r"d\.csv: the sheet is of sample '\w+', expected one of samples? '\w+'.*")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["sample", "top-up"])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_kill_at_any_step_never_leaves_a_new_sheet_beside_an_old_sample(folder, call, writing, command, step):
    """The process dies at the n-th fsync or rename, for every n that there is; then the command is run again."""
    before, seen = {path.name for path in folder.iterdir()}, []
    for n in itertools.count(1):
        done, (sheet, sample), given = writing(command, step, n, KILLED)
        seen.append((sheet, sample))
        check_pair(call, command, sheet, sample)
        beside = {path.name for path in folder.iterdir()} - before
        assert all(LEFT_OVER.fullmatch(name) for name in beside), beside
        if done.returncode == 0:
            assert (sheet, sample, beside) == (True, True, set())
            break
        assert done.returncode == 9, done
        assert call(*given).code == 0
        check_pair(call, command, True, True)
        assert {path.name for path in folder.iterdir()} == before
    # the third sync is of the folder, once both have their names
    expected = {"fsync": [*[(False, False)] * 2, (True, True)], "replace": [(False, False), (False, True)]}
    assert seen == [*expected[step], (True, True)]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_an_interrupt_while_files_are_written_leaves_none(call, folder, monkeypatch, step):
    def interrupted(*_):
        raise KeyboardInterrupt

    before = sorted(path.name for path in folder.iterdir())
    monkeypatch.setattr(os, step, interrupted)
    done = call("--quiet", "sample", *RUN, "--budget", "27%", *files("d.csv"))
    assert (done.code, done.err) == (1, "activeeval: interrupted\n")
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.slow
@pytest.mark.parametrize(("step", "n"), [("fsync", 1), ("fsync", 2), ("replace", 1)])
@pytest.mark.parametrize("command", ["sample", "top-up"])
def test_ctrl_c_while_files_are_written_leaves_none(folder, call, writing, command, step, n):
    before = sorted(path.name for path in folder.iterdir())
    done, are_new, _ = writing(command, step, n, INTERRUPTED)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == "activeeval: interrupted"
    assert "Traceback" not in done.stderr
    assert are_new == [False, False]
    assert sorted(path.name for path in folder.iterdir()) == before


# The sheet once more


@pytest.mark.parametrize(("suffix", "texts"), [(".jsonl", True), (".parquet", False), (".csv.gz", True)])
def test_a_sheet_is_written_again_byte_for_byte(folder, call, suffix, texts):
    (folder / "docs.jsonl").write_text("".join(f'{{"id": "d{j}", "title": "=T {j}"}}\n' for j in range(30)))
    options, sheet = ("--documents", "docs.jsonl") if texts else (), f"s{suffix}"
    done = call("sample", *RUN, "--budget", "27%", *options, "--out", "s.sample", "--sheet", sheet)
    assert done.code == 0, done.err
    first = (folder / sheet).read_bytes()
    (folder / sheet).unlink()
    assert call("sheet", "s.sample", "--out", sheet, *options).code == 0
    assert (folder / sheet).read_bytes() == first
    one_line(call("sheet", "s.sample", "--out", sheet), rf"{sheet}: is there already, --force overwrites it")


def test_sheets_of_a_top_up_and_of_queries_judged_whole_are_written_again(folder, call):
    options = ("--run", "a.run", "--max-grade", 3, "--measure", "kNDCG(k=3)@5", "--budget", "30%")
    assert call("sample", *options, "--out", "k.sample", "--sheet", "k.csv").code == 0
    assert call("sample", *RUN, "--budget", "27%", "--out", "s.sample", "--sheet", "s.csv").code == 0
    assert call("top-up", "s.sample", "--budget", 20, "--out", "t.sample", "--sheet", "t.csv").code == 0
    for name in "kt":
        assert call("sheet", f"{name}.sample", "--out", "again.csv", "--force").code == 0
        assert (folder / "again.csv").read_bytes() == (folder / f"{name}.csv").read_bytes()
