"""`compare`: verdicts and exit codes, by judgments and by samples, held against `score`, `estimate` and scipy."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cli_cases import judge_file
from cli_files import csv_rows, json_rows, write_csv, write_lines
from scipy import stats

from activeeval.core.answers import MoreNeeded, about, exit_code
from activeeval.core.estimation.significance import holm, holm_confidences
from activeeval.core.measures import DCG
from activeeval.core.results import Estimate, Interval, Unjudgeable
from activeeval.report.answer_sentences import sentence
from activeeval.report.message_lookup import text_of
from activeeval.sampling.judged_samples import judged
from activeeval.scoring.decisions import Decision, _with_queries

JUDGED = ("--qrels", "q.qrels", "--unjudged", "irrelevant")
WORSE = ("b.run", "a.run")
KEYS = {"verdict", "value", "low", "high", "p_value", "margin", "measure", "scope", "runs", "files", "seed", "version"}


def decision(low, high, margin=0.0):
    value = (low + high) / 2
    numbers = {"n_open": 9, "n_draws": 9, "n_queries": 9, "n_items": 9, "cost": 9.0, "method": "items"}
    estimate = Estimate(value=value, std_error=1.0, degrees_of_freedom=8.0, **numbers)
    interval = Interval(low, high, 0.95)
    named = {"measure": DCG(), "system": "new.run", "versus": "old.run"}
    return Decision(**named, estimate=estimate, interval=interval, p_value=0.5, p_holm=0.5, margin=margin)


def half_width_of(n, half, n_before):
    """Return the t half-width of n queries that vary as those of a half-width do."""
    quantiles = stats.t.ppf(0.975, np.array([n, n_before]) - 1)
    return half * quantiles[0] / quantiles[1] * np.sqrt(n_before / n)


@pytest.fixture
def compare(call):
    """Return a function from arguments to the code of `compare`, its rows and its talk."""

    def run(*arguments):
        done = call("compare", *arguments, "-o", "jsonl")
        return done.code, json_rows(done.out), done.err

    return run


def test_so_many_queries_make_the_interval_so_narrow():
    """Nine queries with a half-width of 3, of which one of 1 decides: the fewest more at which t comes below it."""
    needed = _with_queries(decision(-2.0, 4.0)).needed
    assert needed == MoreNeeded(queries=needed.queries)
    assert half_width_of(9 + needed.queries, 3, 9) <= 1 < half_width_of(8 + needed.queries, 3, 9)
    assert _with_queries(decision(-2.0, 4.0, margin=4.0)).needed is None
    assert _with_queries(decision(-np.inf, np.inf)).needed is None


def test_the_scope_beside_has_its_own_advice():
    """All judgments decide about these queries; queries like these stay open, and more of them decide that."""
    sure = decision(-1.0, -1.0)
    beside = replace(sure.estimate, scope="population")
    needed = _with_queries(replace(sure, other=beside))
    low, high = beside.interval(0.95).low, beside.interval(0.95).high
    assert (needed.needed, low < 0 < high) == (None, True)
    n = 9 + needed.other_needed.queries
    assert half_width_of(n, high + 1, 9) <= 1 < half_width_of(n - 1, high + 1, 9)
    assert f"about {needed.other_needed.queries} more queries" in sentence(needed.finding)


def test_by_judgments_it_is_what_score_says(call, compare):
    code, (row,), _ = compare("b.run", "a.run", *JUDGED, "--measure", "DCG@5")
    (score,) = call("--quiet", "score", "q.qrels", "a.run", "DCG@5", "--versus", "b.run", "-o", "jsonl").rows
    ours = [row[name] for name in ("value", "low", "high", "p_value")]
    assert ours == pytest.approx([score[n] for n in ("difference", "difference_low", "difference_high", "p_t")])
    assert set(row) >= KEYS
    assert (row["scope"], row["runs"], row["files"]) == ("population", ["b.run", "a.run"], ["q.qrels"])
    assert (row["seed"], row["measure"], row["margin"]) == (None, "DCG@5", 0)
    assert (row["system"], row["versus"], row["direction"]) == ("a.run", "b.run", "a.run − b.run")
    assert row["definition"] == "DCG(dcg='exp-log2')@5"
    assert code == {"better": 0, "worse": 10, "undecided": 11}[row["verdict"]]


def test_about_these_queries_all_judgments_leave_no_doubt(compare):
    codes = {}
    for runs in (("a.run", "b.run"), ("b.run", "a.run"), ("a.run", "a.run")):
        code, (row,), _ = compare(*runs, *JUDGED, "--scope", "pool")
        assert row["low"] == row["high"] == row["value"]
        codes[row["verdict"]] = code
    assert codes == {"better": 0, "worse": 10, "equal": 0}


def test_more_queries_are_what_narrows_the_interval(compare):
    code, (row,), err = compare("b.run", "a.run", *JUDGED, "--measure", "DCG@5")
    assert (code, row["verdict"]) == (11, "undecided")
    more, before, half = row["more_queries"], row["queries"], row["high"] - row["value"]
    assert half == pytest.approx(stats.t.ppf(0.975, before - 1) * row["std_error"])
    halves = [half_width_of(before + n, half, before) for n in (more - 1, more)]
    assert halves[1] <= abs(row["value"]) < halves[0]
    known = "for these queries it is exactly −0.77."
    assert row["sentence"].endswith(f"; about {about(more):,} more queries like these should decide; {known}")
    assert "a difference so near to 0" not in err


def test_several_measures_share_the_chance_of_a_false_difference(call, compare):
    asked = ("b.run", "a.run", *JUDGED, "--measure", "DCG@5", "--measure", "P@3", "--measure", "ERR@5")
    _, rows, _ = compare(*asked)
    p_values = [row["p_value"] for row in rows]
    assert [row["p_holm"] for row in rows] == pytest.approx(holm(p_values).tolist())
    assert [row["confidence"] for row in rows] == pytest.approx(holm_confidences(p_values).tolist())
    assert "(Holm's method for 3 measures; the p values too)" in call("compare", *asked).out.replace("\n", " ")
    for row in rows:
        half = stats.t.ppf((1 + row["confidence"]) / 2, row["queries"] - 1) * row["std_error"]
        assert (row["low"], row["high"]) == pytest.approx((row["value"] - half, row["value"] + half))


def test_levels_reject_what_holm_rejects():
    rng = np.random.default_rng(0)
    for _ in range(500):
        n, level = rng.integers(1, 7), rng.choice([0.8, 0.9, 0.95])
        p_values = np.round(rng.random(n) ** 3, 3)
        levels = holm_confidences(p_values, level)
        np.testing.assert_array_equal(p_values <= 1 - levels + 1e-12, holm(p_values) <= 1 - level + 1e-12)
        assert (levels >= level - 1e-12).all()
        turned = rng.permutation(n)
        np.testing.assert_array_equal(holm_confidences(p_values[turned], level), levels[turned])
        assert (1 - holm_confidences(p_values, 0.99) <= (1 - levels) + 1e-12).all()  # nested


def test_equal_p_values_have_equal_levels():
    assert holm_confidences([0.01, 0.01, 0.01]) == pytest.approx([1 - 0.05 / 3] * 3)
    assert holm_confidences([0.04, 0.001, 0.001]) == pytest.approx([0.95, 1 - 0.05 / 3, 1 - 0.05 / 3])
    assert holm_confidences([0.0, 1.0]) == pytest.approx([0.975, 0.95])


@pytest.fixture
def sampled(call):
    """Return the arguments of a judged sample whose first ranking is a.run."""
    runs = ("--run", "a.run", "--versus-run", "b.run", "--max-grade", 3, "--measure", "DCG@5", "--measure", "P@3")
    assert call("sample", *runs, "--budget", 60, "--out", "s.sample", "--sheet", "s.csv").code == 0
    judge_file("s.csv")
    return "--sample", "s.sample", "--sheet", "s.csv"


@pytest.mark.parametrize("scope", ["pool", "population"])
def test_a_sample_says_the_same_with_the_sign_of_the_new_run(call, compare, sampled, scope):
    own = call("--quiet", "estimate", "s.sample", "s.csv", "--scope", scope, "-o", "jsonl").rows
    for old, new, sign in (("b.run", "a.run", 1), ("a.run", "b.run", -1)):
        _, rows, _ = compare(old, new, *sampled, "--scope", scope)
        for name, factor in (("value", sign), ("std_error", 1), ("p_value", 1)):
            assert [row[name] for row in rows] == pytest.approx([factor * row[name] for row in own], rel=1e-9)
        assert (rows[0]["seed"], rows[0]["files"], rows[0]["runs"]) == (0, ["s.sample", "s.csv"], [old, new])


def test_what_waits_and_what_is_to_be_added_on_top_of_the_budget_is_told(compare, sampled):
    code, (row,), _ = compare("b.run", "a.run", *sampled, "--measure", "DCG@5", "--scope", "pool")
    assert (code, row["verdict"]) == (11, "undecided")
    sample = judged("s.sample", ["s.csv"])[0]
    whole = sample.campaign.outlook(sample.asked(["DCG@5"], ["difference"])[0][1]).budget_for(abs(row["value"]), 0.95)
    assert row["more_budget"] == about(whole - 60)
    advice = (
        r".*; about ([\d,]+) more judgments \(([\d,]+) to ([\d,]+)\) should decide, "
        r"([1-9] times in 10|19 times in 20); "
        r"for queries like these all judgments that are left give ± [\d.]+: these queries cannot decide it; "
        r"about [\d,]+ more queries like these should decide\."
    )
    told = re.fullmatch(advice, row["sentence"]).groups()[:3]
    more, low, high = (int(number.replace(",", "")) for number in told)
    assert low <= more == row["more_budget"] <= high
    assert low < high
    rows = csv_rows("s.csv")
    write_csv("s.csv", [*rows[:-1], rows[-1] | {"grade": ""}])
    _, decided, err = compare("b.run", "a.run", *sampled)
    assert f"1 of {len(rows)} items waits for a grade" in err
    early = [told["text"] for told in decided[0]["cautions"] if (told["code"], told["level"]) == ("early", "note")]
    assert "an early reading" in early[0]
    _, (row,), err = compare("b.run", "a.run", *JUDGED, "--budget", "30%")
    assert (row["verdict"], row["more_budget"], row["more_queries"]) == ("undecided", None, None)
    assert "undecided; it is unknown how many more judgments would decide it" in err


def test_draws_with_replacement_are_not_told_to_grow(call, compare):
    runs = ("--run", "a.run", "--versus-run", "b.run", "--max-grade", 3, "--measure", "DCG@5", "--method", "passive")
    assert call("sample", *runs, "--budget", 60, "--out", "s.sample", "--sheet", "s.csv").code == 0
    judge_file("s.csv")
    _, (row,), _ = compare("b.run", "a.run", "--sample", "s.sample", "--sheet", "s.csv", "--scope", "pool")
    assert row["verdict"] == "undecided"
    items = []
    for budget, name in (("100%", "all"), (60 + row["more_budget"], "advised")):
        assert call("sample", *runs, "--budget", budget, "--out", f"{name}.sample", "--sheet", f"{name}.csv").code == 0
        items.append({(each["query_id"], each["doc_id"]) for each in csv_rows(f"{name}.csv")})
    assert items[0] <= items[1]
    assert f"a new sample with about {about(row['more_budget']):,} more judgments should decide" in row["sentence"]


def test_the_runs_must_be_the_samples(call, sampled):
    text = Path("a.run").read_text()
    Path("c.run").write_text(text.replace("q2 Q0", "q9999 Q0"))
    Path("d.run").write_text(text.replace(" d3 ", " d11x "))
    none = "is no run that the sample was drawn for:"
    for old, new, problem in (
        ("b.run", "c.run", f"c.run {none} its list of query 'q2' has 0 documents"),
        ("d.run", "b.run", f"d.run {none} at rank"),
        ("b.run", "b.run", "are one and the same run of the two"),
    ):
        refused = call("compare", old, new, *sampled)
        assert (refused.code, refused.out, problem in refused.err) == (1, "", True)


def test_queries_that_the_pool_does_not_hold_do_not_count(call):
    """Those that trained the model are in the runs, but not in the sample."""
    trained = ("--train", "t.qrels", "--max-grade", 3, "--measure", "DCG@5")
    kept = [line for line in Path("q.qrels").read_text().splitlines() if int(line.split()[0][1:]) <= 12]
    Path("t.qrels").write_text("\n".join(kept))
    runs = ("--run", "a.run", "--versus-run", "b.run")
    assert call("sample", *runs, *trained, "--budget", 40, "--out", "s.sample", "--sheet", "s.csv").code == 0
    judge_file("s.csv")
    assert call("compare", "b.run", "a.run", "--sample", "s.sample", "--sheet", "s.csv").code == 11


APART = {
    "a.run b.run": "give one of --qrels, --sample with its --sheet, --campaign",
    "a.run b.run --qrels q.qrels --sample s.sample": "give one of --qrels, --sample with its --sheet, --campaign",
    "a.run b.run --sample s.sample": "--sample and --sheet go together",
    "a.run b.run --qrels q.qrels --sheet s.csv": "--sample and --sheet go together",
    "a.run b.run --sample s.sample --sheet s.csv --budget 9": "--budget goes with --qrels",
    "a.run b.run --sample s.sample --sheet s.csv --max-grade 2": "--max-grade goes with --qrels",
    "a.run b.run --qrels q.qrels --policy median": "--policy goes with --sample",
    "a.run b.run --qrels q.qrels --margin -1": "-1.0 is not in the range x>=0",
    "a.run": "Missing argument 'NEW'",
}


def test_what_does_not_go_together(call):
    for line, said in APART.items():
        done = call("compare", *line.split())
        assert (done.code, done.out, said in done.err) == (2, "", True), line


@pytest.mark.slow
def test_a_verdict_outlives_a_closed_pipe_and_not_a_full_disk(start):
    with start("--quiet", "compare", *WORSE, *JUDGED, "--scope", "pool") as process:
        process.stdout.close()
        process.stderr.read()
        assert process.wait() == 10
    with (
        open("/dev/full", "w") as full,
        start("compare", *WORSE, *JUDGED, "--scope", "pool", stdout=full, stderr=subprocess.PIPE) as process,
    ):
        assert "No space left" in process.stderr.read()
        assert process.wait() == 1


def _files_of(n_queries):
    """Write runs that rank the one relevant of two documents last, and first, in every query."""
    for name, order in (("low.run", "ab"), ("high.run", "ba")):
        lines = (f"q{q} Q0 {d} {k + 1} {2 - k} {name}\n" for q in range(n_queries) for k, d in enumerate(order))
        Path(name).write_text("".join(lines))
    Path("two.qrels").write_text("".join(f"q{q} 0 a 0\nq{q} 0 b 1\n" for q in range(n_queries)))


@pytest.mark.parametrize("n_queries", [1, 3])
@pytest.mark.parametrize("from_sample", [False, True])
def test_differences_that_are_all_the_same_tell_little_of_other_queries(call, compare, n_queries, from_sample):
    _files_of(n_queries)
    source = ("--qrels", "two.qrels")
    if from_sample:
        runs = ("--run", "high.run", "--versus-run", "low.run", "--max-grade", 1, "--measure", "DCG@2")
        assert call("sample", *runs, "--budget", "100%", "--out", "all.sample", "--sheet", "all.csv").code == 0
        write_csv("all.csv", [row | {"grade": int(row["doc_id"] == "b")} for row in csv_rows("all.csv")])
        source = ("--sample", "all.sample", "--sheet", "all.csv")
    code, (row,), err = compare("low.run", "high.run", *source, "--measure", "DCG@2")
    value, ideal = 1 - 1 / np.log2(3), 1 + 1 / np.log2(3)
    assert row["value"] == pytest.approx(value)
    assert (code, row["verdict"], row["more_budget"]) == (11, "undecided", None)
    if n_queries == 1:
        assert (row["low"], row["high"], row["p_value"]) == (pytest.approx(-ideal), pytest.approx(ideal), 1.0)
        assert row["more_queries"] is None
        assert row["sentence"].startswith("Nothing can be said yet of high.run and low.run: ")
        assert "these judgments give no interval: judge more queries" in err
    else:  # others may differ from these three, in a share that has Wilson's limit, by as much as the measure allows
        z = stats.norm.ppf(0.975)
        share = z**2 / (n_queries + z**2)
        ends = value - share * (value + ideal), value + share * (ideal - value)
        assert (row["low"], row["high"]) == pytest.approx(ends)
        z = np.sqrt(n_queries * value / ideal)  # share (value + ideal) = value
        assert row["p_value"] == pytest.approx(2 * stats.norm.sf(z))
        half, more = value - ends[0], row["more_queries"]
        halves = [half_width_of(n_queries + n, half, n_queries) for n in (more - 1, more)]
        assert halves[1] <= value < halves[0]
    assert compare("low.run", "high.run", *source, "--measure", "DCG@2", "--scope", "pool")[0] == 0


def test_equal_scores_are_ordered_as_asked(compare):
    _files_of(9)
    Path("tied.run").write_text("".join(f"q{q} Q0 a 2 1 t\nq{q} Q0 b 1 1 t\n" for q in range(9)))
    Path("two.qrels").write_text(Path("two.qrels").read_text() + "q9 0 a 0\nq9 0 b 0\n")
    given = ("low.run", "tied.run", "--qrels", "two.qrels", "--measure", "DCG@2", "--ties")
    found = {ties: compare(*given, ties)[1][0]["value"] for ties in ("id", "rank", "input")}
    assert found["id"] == found["rank"] == pytest.approx(0.9 * (1 - 1 / np.log2(3)))
    assert found["input"] == 0


def test_a_measure_counts_once(call):
    _files_of(3)
    given = ("--qrels", "two.qrels", "--measure", "DCG@2", "--measure", "P@1", "--measure", "DCG(dcg='exp-log2')@2")
    done = call("compare", "low.run", "high.run", *given)
    assert done.code == 1
    assert "the measure DCG(dcg='exp-log2')@2 is given twice, expected each once" in done.err


@pytest.mark.parametrize(
    ("low", "high", "verdict", "code"),
    [(0.15, 0.25, "better", 0), (0.1, 0.2, "undecided", 11), (0.05, 0.2, "undecided", 11), (0.2, 0.2, "better", 0)],
)
def test_a_verdict_holds_whatever_is_worth_what_could_not_be_judged(low, high, verdict, code):
    sure = decision(0.1, 0.3)
    cannot = Unjudgeable(n_items=2, low=low, high=high, treated="as predicted")
    one = replace(sure, estimate=replace(sure.estimate, cannot=cannot))
    assert (one.verdict, exit_code([one.finding])) == (verdict, code)
    assert one.is_open_by_cannot == (verdict == "undecided")
    assert ("could not be judged" in text_of(one.obstacle)) == one.is_open_by_cannot


def test_judgments_that_the_measure_does_not_use_are_not_counted(compare, folder):
    """Five documents a query are judged, two are ranked first; the ideal of nDCG is of all, and no more to judge."""
    for name, order in (("o.run", "xyzw"), ("n.run", "yxzw")):
        write_lines(folder / name, [f"q{q} Q0 {d} 1 {9 - k} T" for q in range(9) for k, d in enumerate(order)])
    write_lines(folder / "all.qrels", [f"q{q} 0 {d} {(q + k) % 3}" for q in range(9) for k, d in enumerate("xyzwv")])
    _, rows, _ = compare("o.run", "n.run", "--qrels", "all.qrels", "--measure", "nDCG@2", "--measure", "DCG@2")
    assert [(row["items"], row["queries"]) for row in rows] == [(18, 9)] * 2


def test_differences_that_add_up_to_nothing_ask_for_no_more_queries(call, folder):
    """Of thirds that cancel rounding alone is left, which no number of queries decides."""
    write_lines(folder / "o.run", [f"q{q} Q0 d{(q + j) % 5} 1 {9 - j} T" for q in range(1, 31) for j in range(5)])
    write_lines(folder / "n.run", [f"q{q} Q0 d{(q + j + 1) % 5} 1 {9 - j} T" for q in range(1, 31) for j in range(5)])
    write_lines(folder / "x.qrels", [f"q{q} 0 d{j} {int(j == 0)}" for q in range(1, 31) for j in range(5)])
    done = call("compare", "o.run", "n.run", "--qrels", "x.qrels", "--measure", "P@3")
    assert "cannot be told apart: P@3 0.000 (−0.082 to 0.082), 30 queries, 60 judgments; for" in done.out
    assert "these queries it is exactly 0.\n" in done.out
    assert "should decide" not in done.out


@pytest.mark.parametrize("runs", [("b.run", "a.run"), ("a.run", "a.run"), ("a.run", "b.run")])
def test_as_a_comment_it_is_the_same_verdict(call, compare, runs):
    asked = (*runs, *JUDGED, "--measure", "DCG@5", "--measure", "P@3", "--scope", "pool")
    done, (_, rows, _) = call("compare", *asked, "-o", "markdown"), compare(*asked)
    verdict = {0: "not worse", 10: "worse", 11: "undecided"}[done.code]
    lines = done.out.splitlines()
    assert lines[0] == f"### Search quality: {verdict}"
    missing = [f"1 of 30 queries has no list in {rows[0][name]}: it counts as 0." for name in ("system", "versus")]
    assert [line.rstrip() for line in lines[2:6]] == missing + [row["sentence"] for row in rows]
    other = "" if runs[0] == runs[1] else " queries like these |"
    assert lines[7].startswith(f"| measure | of | value | interval |{other} p |")
    assert [line.split(" | ")[-1].rstrip(" |") for line in lines[9:11]] == [row["verdict"] for row in rows]
    assert lines[-1].startswith("<sub>DCG@5 is DCG(dcg='exp-log2')@5. P@3 is P(rel=1)@3. Simultaneous intervals")
