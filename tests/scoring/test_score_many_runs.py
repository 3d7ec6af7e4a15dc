"""`activeeval score` of many runs, without compiled code, of unjudged items and of condensed lists."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_files import write_lines
from scipy import stats

from activeeval.core.estimation.significance import holm_confidences
from activeeval.core.interval_ends import Shares

# Many runs


@pytest.fixture
def three(folder):
    """Return the arguments of three runs, of which the third is better than the first."""
    lines = (line.split() for line in (folder / "q.qrels").read_text().splitlines())
    write_lines(folder / "c.run", [f"{q} Q0 {d} 1 {int(grade) + int(d[1:]) / 100} C" for q, _, d, grade in lines])
    return "q.qrels", "a.run", "P@5", "nDCG@4", "--run", "b.run", "--run", "c.run"


def by_hand_holm(p_values):
    """Return Holm's adjusted p values: the largest of (n − k) p over the k smaller ones and itself."""
    order, adjusted = sorted(range(len(p_values)), key=p_values.__getitem__), {}
    for k, i in enumerate(order):
        adjusted[i] = min(1.0, max((len(order) - j) * p_values[order[j]] for j in range(k + 1)))
    return [adjusted[i] for i in range(len(p_values))]


def test_a_table_holds_what_each_run_scores_alone(call, three):
    rows = call("score", *three, "-o", "jsonl").rows
    runs = ("a.run", "b.run", "c.run")
    assert [(row["run"], row["measure"]) for row in rows] == [(run, m) for m in ("P@5", "nDCG@4") for run in runs]
    for row in rows:
        alone = call("score", "q.qrels", row["run"], row["measure"], "-o", "jsonl").rows[0]
        assert {name: row[name] for name in alone} | {"sentence": ""} == alone | {"sentence": ""}
        assert (row["run"] == "a.run") == ("difference" not in row) == ("baseline" not in row)


@pytest.mark.parametrize(
    ("test", "correction"), [(None, None), ("t", "none"), ("wilcoxon", "bonferroni"), ("randomization", "holm")]
)
def test_differences_to_the_baseline_are_those_of_pairs(call, three, test, correction):
    how = (*(("--test", test) if test else ()), *(("--correction", correction) if correction else ()))
    rows = call("score", *three, "-q", *how, "--baseline", "b.run", "-o", "jsonl").rows
    assert len(rows) == 2 * 3 * 31
    found = [row for row in rows if row["query_id"] == "all"]
    values = {}
    for row in rows:
        if row["query_id"] != "all":
            values.setdefault((row["run"], row["measure"]), []).append(row["value"])
    compared = [row for row in found if row["run"] != "b.run"]
    assert {row["baseline"] for row in compared} == {"b.run"}
    p_t = [row["p_t"] for row in compared]
    shared = {"none": [0.95] * 4, "bonferroni": [1 - 0.05 / 4] * 4}.get(correction, holm_confidences(p_t))
    for row, confidence in zip(compared, shared, strict=True):
        ours, theirs = (np.array(values[run, row["measure"]]) for run in (row["run"], "b.run"))
        assert row["difference"] == pytest.approx((ours - theirs).mean(), abs=1e-15)
        tested, few = stats.ttest_rel(ours, theirs), Shares.of(ours - theirs)
        interval = tested.confidence_interval(confidence)
        down, up = few.reaches((-1, 1), stats.norm.ppf(0.5 + confidence / 2))
        ends = min(interval.low, row["difference"] - down), max(interval.high, row["difference"] + up)
        assert (row["difference_low"], row["difference_high"]) == pytest.approx(ends)
        p_value = max(tested.pvalue, few.p_value(row["difference"], (-1, 1)))
        assert row["p_t"] == pytest.approx(p_value)
        assert (row["difference_low"] > 0 or row["difference_high"] < 0) == (row["p_t"] < 1 - confidence)
        counts = [int(np.sum(np.sign(np.round(ours - theirs, 12)) == sign)) for sign in (1, 0, -1)]
        assert [row["wins"], row["ties"], row["losses"]] == counts
        assert (row["test"], row["correction"]) == (test or "t", correction or "holm")
    plain = [row[f"p_{test or 't'}"] for row in compared]
    expected = {"none": plain, "bonferroni": [min(1, 4 * p) for p in plain]}.get(correction, by_hand_holm(plain))
    assert [row["p_value"] for row in compared] == pytest.approx(expected)


def test_versus_is_a_table_of_two_in_one_row(call):
    command = ("score", "q.qrels", "a.run", "P@5", "nDCG@4", "-o", "jsonl")
    table = call(*command, "--run", "b.run", "--baseline", "b.run").rows
    for row, first, second in zip(call(*command, "--versus", "b.run").rows, table[::2], table[1::2], strict=True):
        assert row == {name: value for name, value in first.items() if name != "baseline"} | {"versus": "b.run"} | {
            f"versus_{name}": second[name] for name in ("value", "judged", "missing", "ignored", "tied_at_cutoff")
        }


COLUMNS = ["mean", "difference", "p", "w/t/l", "judged"]


def shown(low, high):
    """Return an interval as it is shown."""
    return "the same in all 30 queries" if low == high else f"{low:.4f} to {high:.4f}".replace("-", "−")


def read_tables(text):
    """Return (run, cells by column) of each measure's table."""
    for block in text.split("\n\n"):
        header, *lines = [re.split(r" {2,}", line.strip()) for line in block.splitlines()]
        assert header[1:] == COLUMNS
        lines = [[*line[:2], "", "", "", line[2]] if len(line) == 3 else line for line in lines]
        yield header[0], [(line[0], dict(zip(COLUMNS, line[1:], strict=True))) for line in lines]


@pytest.mark.parametrize("more", [(), ("--run", "b.run")], ids=["one run", "two"])
def test_values_that_are_the_same_in_all_queries_may_be_others_in_more(call, folder, more):
    for name in ("a.run", "b.run"):
        write_lines(folder / name, [f"q{q} Q0 {d} 1 {s} T" for q in range(9) for d, s in (("x", 2), ("y", 1))])
    write_lines(folder / "ones.qrels", [f"q{q} 0 {d} {int(d == 'x')}" for q in range(9) for d in "xy"])
    done = call("score", "ones.qrels", "a.run", "P@1", *more)
    z = stats.norm.ppf(0.975)
    low = 9 / (9 + z**2)  # Wilson's limit of nine of nine
    assert (f"P@1 1.00 ({low:.2f} to 1.00), 9 queries." if not more else f"1.0000 ({low:.4f} to 1.0000)") in done.out
    assert done.out.count("the same in all 9 queries") == bool(more)  # the same lists differ in no query
    assert "exactly known" not in done.out


def test_a_table_for_reading_marks_what_is_significant_and_says_so(call, three):
    rows = call("score", *three, "-o", "jsonl").rows
    missing, said, *tables, note = call("score", *three).out.strip().split("\n\n")
    assert missing.splitlines() == [f"1 of 30 queries has no list in {name}.run: it counts as 0." for name in "ab"]
    assert said.splitlines() == [row["sentence"] for row in rows if row["run"] == "c.run"]
    assert said.startswith("c.run is better than a.run by 0.47 (0.24 to 0.58): P@5, 30 queries.")
    read = [(run, m, cell) for m, lines in read_tables("\n\n".join(tables)) for run, cell in lines]
    assert [(run, measure) for run, measure, _ in read] == [(row["run"], row["measure"]) for row in rows]
    for row, (*_, cell) in zip(rows, read, strict=True):
        assert cell["mean"] == f"{row['value']:.4f} ({shown(row['low'], row['high'])})"
        assert cell["judged"] == f"{row['judged']:.1%}"
        if "difference" not in row:
            assert cell["difference"] == cell["p"] == cell["w/t/l"] == ""
            continue
        star, value = "*" * (row["p_value"] <= 0.05), f"{row['difference']:+.4f}".replace("-", "−")
        assert cell["difference"] == f"{value}{star} ({shown(row['difference_low'], row['difference_high'])})"
        assert cell["p"] == ("< .001" if row["p_value"] < 0.001 else f"{row['p_value']:.2g}".lstrip("0"))
        assert cell["w/t/l"] == f"{row['wins']}/{row['ties']}/{row['losses']}"
    assert {row["p_value"] <= 0.05 for row in rows if "p_value" in row} == {True, False}
    first, note = note.replace("\n", " ").split(" * ")
    assert first == "P@5 is P(rel=1)@5. nDCG@4 is nDCG(dcg='log2')@4."
    told = (
        "p by the paired t test (larger where few queries differ) against a.run, Holm over 4 differences, at most 0.05"
    )
    assert note == f"{told}. 95 % intervals, about all the queries that these are a sample of."
    for form, star, par in (("md", r"\*", ""), ("latex", "*", r"\par ")):
        table = call("score", *three, "-o", form).out
        assert f"{par}P@5 is P(rel=1)@5." in table
        assert f" {star} p by the paired t test" in table.replace("\n", " ")
        assert table.count("* (") == sum(row["p_value"] <= 0.05 for row in rows if "p_value" in row)


def test_what_is_marked_follows_the_level(call, three):
    asked = ("score", *three[:3], "--run", "b.run")
    (p,) = [row["p_value"] for row in call(*asked, "-o", "jsonl").rows if "p_value" in row]
    for alpha, n_marked in ((1.01 * p, 1), (0.99 * p, 0)):
        table, note = call(*asked, "--confidence", 1 - alpha).out.strip().rsplit("\n\n", 1)
        assert table.count("*") == n_marked
        test = "the paired t test (larger where few queries differ)"
        assert f"* p by {test} against a.run, at most {alpha:.3g}." in note.replace("\n", " ")


EVERY = ("nDCG@10", "DCG@5", "ERR", "AP", "P(rel=2)@5", "RBP(p=0.9)", "RR", "R@5", "Success@3", "Judged@10")
ALONE = """
import json, os, sys, activeeval.cli as c, activeeval.scoring.commands.score
class NoNumba:
    def find_spec(self, name, *rest):
        if name == "numba":
            os._exit(77)
sys.meta_path.insert(0, NoNumba())
for k, line in enumerate(json.loads(sys.argv[1])):
    if not (child := os.fork()):
        for target in (1, 2):
            os.dup2(os.open(f"alone-{k}.{target}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), target)
        code = c.run(line, is_all=True)
        sys.stdout.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def alone(*commands):
    """Return the lines, the talk and the code of commands, each in a process of its own that ends where it wants numba.

    Its code is 77 then.
    """
    given = json.dumps([list(map(str, command)) for command in commands])
    done = subprocess.run([sys.executable, "-W", "error", "-c", ALONE, given], check=True, stdout=subprocess.PIPE)
    for k, code in enumerate(done.stdout.split()):
        talk = Path(f"alone-{k}.2").read_text().splitlines(keepends=True)  # a slow machine is said to work
        told = "".join(line for line in talk if not line.startswith("activeeval: working, "))
        yield Path(f"alone-{k}.1").read_text().splitlines(), told, int(code)


def test_small_files_are_scored_without_compiled_code_to_the_same_last_digit(call, folder):
    """Those that are broken end with the same line; what takes Python long is compiled."""
    broken = ("q1 Q0 d 1 x t", "q1 Q0 d 1", "q1 Q0 d 1 nan t", "q1 Q0 d 1 1 t\nq1 Q0 d 2 1 t")
    for k, line in enumerate(broken):
        (folder / f"x{k}.run").write_text(line + "\n")
    whole = (folder / "a.run").read_bytes()
    (folder / "packed.run").write_bytes(gzip.compress(whole))
    (folder / "long.run").write_bytes(whole + b"#" + b" " * (1 << 16) + b"\n")
    small = [("score", "q.qrels", "a.run", *EVERY, "-q", "-o", "jsonl")]
    small += [("score", "q.qrels", f"x{k}.run", "P@2") for k in range(len(broken))]
    runs = (("packed.run",), ("long.run",), ("a.run", "--run", "b.run"))
    large = [("score", "q.qrels", *run, "nDCG@10") for run in runs]
    found = list(alone(*small, *large))
    assert [code for *_, code in found[len(small) :]] == [77] * len(large)
    for command, (rows, told, code) in zip(small, found, strict=False):
        compiled = call(*command)
        assert (rows, told.replace("\n  ", " "), code) == (compiled.out.splitlines(), compiled.err, compiled.code)


def test_holes_are_told_in_a_sentence_a_table_and_as_rows(call):
    asked = ("score", "q.qrels", "a.run", "P@5", "nDCG@5", "--unjudged-bounds", "--more", "20")
    done = call(*asked)
    assert (done.code, "at best" in done.out, "no bound" in done.err) == (0, True, False)
    assert re.search(r"a\.run: P@5 is [\d.]+ if the \d+ of \d+ items without a judgment are irrelevant", done.out)
    first, second = call(*asked, "-o", "jsonl").rows
    assert first["irrelevant"] <= first["expected"] <= first["at_best"]
    assert first["half_width_with_20"] > 0
    assert second["irrelevant"] < second["at_best"] < 1
    assert "half_width_with_20" not in second
    (scored,) = call("--quiet", "score", "q.qrels", "a.run", "P@5", "-o", "jsonl").rows
    assert first["irrelevant"] == pytest.approx(scored["value"])
    unbounded = call("score", "q.qrels", "a.run", "nDCG(gains={0:-1,1:0,2:1,3:2})@5", "--unjudged-bounds")
    assert (unbounded.code, "no bound is known for the best case" in " ".join(unbounded.err.split())) == (0, True)


def test_options_of_holes_go_with_holes(call):
    for options, problem in (
        (("--unjudged-bounds", "--versus", "b.run"), "takes each run alone, with unjudged items: leave out --versus"),
        (("--unjudged-bounds", "--condensed"), "leave out --versus, -q, --per-query and --condensed"),
        (("--more", "5"), "--more goes with --unjudged-bounds"),
        (("--max-grade", "5"), "--max-grade goes with --unjudged-bounds"),
    ):
        done = call("score", "q.qrels", "a.run", "P@5", *options)
        assert (done.code, problem in done.err) == (2, True)


def test_condensed_lists_are_those_without_unjudged_items_and_a_line_counts_these(call, folder):
    qrels = [line.split() for line in (folder / "q.qrels").read_text().splitlines()]
    judged, queries = {(q, d) for q, _, d, grade in qrels if grade != "-1"}, {q for q, *_ in qrels}
    lines = [line for line in (folder / "a.run").read_text().splitlines() if line.split()[0] in queries]
    kept = [line for line in lines if tuple(line.split()[:3:2]) in judged]
    assert 0 < len(kept) < len(lines)
    write_lines(folder / "kept.run", kept)
    names = ("nDCG@5", "P@5", "Rprec", "F1@5")
    condensed = call("score", "q.qrels", "a.run", *names, "--condensed", "-o", "jsonl")
    values = [row["value"] for row in call("score", "q.qrels", "kept.run", *names, "-o", "jsonl").rows]
    assert [row["value"] for row in condensed.rows] == pytest.approx(values, abs=1e-12)
    assert {row["judged"] for row in condensed.rows} == {1.0}
    n_left = len(lines) - len(kept)
    said = f"{n_left:,} of {len(lines):,} ranked items have no judgment: left out of the lists (--condensed)"
    assert said in " ".join(condensed.err.split())
    assert "earn nothing" not in condensed.err
