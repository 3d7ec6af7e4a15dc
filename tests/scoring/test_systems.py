"""Many systems on the command line: one sample, its sheet, every difference at once, the order; and simulated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cli_cases import answer, both, case_of, files, judge_file
from cli_files import json_rows, write_csv, write_lines

from activeeval.core.estimation import pair_roots, simultaneous_confidence
from activeeval.core.estimation.significance import holm
from activeeval.inputs.systems import system_names
from activeeval.sampling.read_samples import read_sample

THREE = ("--run", "a.run", "--run", "b.run", "--run", "c.run", "--max-grade", 3)
NAMES = ("a.run", "b.run", "c.run")
PAIRS = [("a.run", "b.run"), ("a.run", "c.run"), ("b.run", "c.run")]
RANKERS = ("--letor", "a.txt", "--scores", "a.score", "--scores", "a.second", "--scores", "a.third")


@pytest.fixture(autouse=True)
def third(folder):
    """Write a third run and a third ranker's scores beside those that are there."""
    rng = np.random.default_rng(31)
    lines = []
    for query in range(1, 31):
        for rank, j in enumerate(rng.permutation(12)[:8].tolist(), 1):
            lines.append(f"q{query} Q0 d{j} {rank} {rng.normal():.6f} C")
    write_lines(folder / "c.run", lines)
    scores = (folder / "a.score").read_text().split()
    write_lines(folder / "a.third", [f"{float(s) + rng.normal():.4f}" for s in scores])


def sampled(call, *options):
    """Draw d.csv, judge it, and return its rows."""
    done = call("sample", *THREE, "--seed", 5, *options, *files("d.csv"))
    assert done.code == 0, done.err
    return judge_file("d.csv")


def estimated(call, *options):
    return call("estimate", *both("d.csv"), "-o", "jsonl", *options).rows


def named(rows, question="difference"):
    return {(row["system"], row.get("versus")): row for row in rows if row["question"] == question}


@pytest.mark.parametrize("measure", ["DCG@5", "ERR@5"])
def test_three_runs_from_sample_to_order(call, measure):
    """Rows are the campaign's own estimates; what holds at once follows from their variances; ranks from that."""
    sampled(call, "--measure", measure, "--budget", "50%")
    rows = estimated(call)
    told = named(rows)
    assert list(told) == PAIRS
    sample, _ = read_sample("d.csv.sample.npz")
    assert sample.systems == ("a.run", "b.run", "c.run")
    campaign = campaign_of_rows(sample)
    found = [campaign.estimate(target) for target in campaign.design.targets]
    assert [one.value for one in found] == [row["value"] for row in told.values()]
    ends = together(campaign, campaign.design.targets, [(0, 1), (0, 2), (1, 2)])
    adjusted = holm([row["p_value"] for row in told.values()])
    for one, (low, high), row, p_holm in zip(found, ends, told.values(), adjusted, strict=True):
        assert (row["low"], row["high"]) == (one.interval().low, one.interval().high)
        assert (row["low_simultaneous"], row["high_simultaneous"]) == pytest.approx((low, high), rel=1e-9)
        assert one.interval(1 - 0.05 / 3).low <= low < row["low"]
        assert row["p_holm"] == pytest.approx(p_holm)
    better = {pair for pair, row in told.items() if row["low_simultaneous"] > 0}
    better |= {pair[::-1] for pair, row in told.items() if row["high_simultaneous"] < 0}
    ranks = list(named(rows, "rank").values())
    signs = {name: [(pair, 1 if pair[0] == name else -1) for pair in PAIRS if name in pair] for name in NAMES}
    means = {name: sum(sign * told[pair]["value"] for pair, sign in pairs) for name, pairs in signs.items()}
    assert ranks == sorted(ranks, key=lambda row: (row["rank_from"] + row["rank_to"], -means[row["system"]]))
    for (system, _), row in named(rows, "rank").items():
        above, below = (sum(pair[side] == system for pair in better) for side in (1, 0))
        assert (row["rank_from"], row["rank_to"]) == (1 + above, 3 - below)


def campaign_of_rows(sample):
    """Return the campaign of a sample, judged as `judge_file` judges."""
    sample.campaign.run(answer)
    return sample.campaign


def together(campaign, targets, asked, level=0.95):
    """Return the simultaneous intervals of some contrasts of three systems; ``targets`` are all three differences."""
    found = dict(zip([(0, 1), (0, 2), (1, 2)], map(campaign.estimate, targets), strict=True))
    variances = np.zeros((3, 3))
    for (i, j), one in found.items():
        variances[i, j] = variances[j, i] = one.std_error**2
    degrees = [found[pair].degrees_of_freedom for pair in asked]
    own = simultaneous_confidence(pair_roots(variances, asked), degrees, level)
    return [(found[pair].interval(own).low, found[pair].interval(own).high) for pair in asked]


def test_tables_to_read_name_the_systems_best_first(call):
    """Of B, A and C with all judged: the order is that of the scores, and certain."""
    sampled(call, "--measure", "DCG@5", "--budget", "100%", "--question", "difference", "--question", "run")
    rows = estimated(call)
    values = {row["system"]: row["value"] for row in rows if row["question"] == "run"}
    order = sorted(values, key=values.get, reverse=True)
    assert [row["system"] for row in rows if row["question"] == "rank"] == order
    assert [(row["rank_from"], row["rank_to"]) for row in rows if row["question"] == "rank"] == [(1, 1), (2, 2), (3, 3)]
    for (one, other), row in named(rows).items():
        assert row["value"] == pytest.approx(values[one] - values[other], abs=1e-12)
        assert (row["low_simultaneous"], row["p_holm"]) == (row["value"], 0.0)
    whole = call("estimate", *both("d.csv"))
    assert "simultaneous intervals ask much" not in whole.err
    text = whole.out
    said, places, pairs, legend, notes = [block.splitlines() for block in text.strip().split("\n\n")]
    told = f"{order[0]} is the best of 3 by DCG@5; 3 of 3 pairs are decided, with simultaneous intervals."
    assert said[-1:] == [told]
    assert all(" no list in " in line for line in said[:-1])
    assert places[0].split() == ["DCG@5", "rank", "value", "better", "than"]
    assert [line.split()[:2] for line in places[1:]] == [[name, str(k)] for k, name in enumerate(order, 1)]
    assert places[1].endswith(", ".join(sorted(order[1:])))
    assert pairs[0].split() == ["DCG@5", "value", "interval"]
    assert [" − ".join(pair) for pair in PAIRS] == [line[:13] for line in pairs[1:]]
    assert all("*" in line and line.endswith("exactly known") for line in pairs[1:])
    assert legend[0].startswith("* 0 lies outside the interval: max-t intervals of all differences of a measure,")
    assert notes[0].startswith("DCG@5 is DCG(dcg='exp-log2')@5. 95 % intervals, about these queries")
    md, latex, tsv = (call("estimate", *both("d.csv"), "-o", form).out for form in ("md", "latex", "tsv"))
    assert "| a.run − b.run | " in md
    assert r"\begin{tabular}{lll}" in latex
    assert len(tsv.splitlines()) == 1 + 3 + 3 + 3


def test_two_runs_by_repeated_run_are_the_run_and_the_one_it_is_compared_with(call):
    """The same sample to the last byte, and the same rows of simulate, also of rankers."""
    for one, options in (("x.csv", ("--run", "b.run")), ("y.csv", ("--versus-run", "b.run"))):
        call("sample", "--run", "a.run", *options, "--max-grade", 3, "--budget", 60, "--seed", 1, *files(one))
    assert Path("x.csv.sample.npz").read_bytes() == Path("y.csv.sample.npz").read_bytes()
    judge_file("x.csv")
    row = call("estimate", *both("x.csv"), "-o", "jsonl").rows
    assert [(one["system"], one["versus"], one["direction"]) for one in row] == [("a.run", "b.run", "a.run − b.run")]
    assert not {"p_holm", "low_simultaneous"} & set(row[0])
    brief = ("--budget", "30%", "--repetitions", 20, "-o", "jsonl")
    repeated = call("simulate", *RANKERS[:6], *brief).rows
    assert repeated == call("simulate", *RANKERS[:4], "--scores", "a.second", *brief).rows


def test_contrasts_with_the_first_and_every_pair_read_later(call):
    """A sample for the first against the others can be read for all; what it says of these is the same."""
    sampled(call, "--contrasts", "first", "--budget", "60%")
    first, every = named(estimated(call)), named(estimated(call, "--contrasts", "all"))
    assert (list(first), list(every)) == (PAIRS[:2], PAIRS)
    assert list(named(estimated(call, "--measure", "RBP"))) == PAIRS[:2]
    sample, _ = read_sample("d.csv.sample.npz")
    campaign_of_rows(sample)
    wide = together(sample.campaign, [one.target for one in sample.asked([], [], "all")], [(0, 1), (0, 2)])
    for (pair, row), (low, high) in zip(first.items(), wide, strict=True):
        assert (row["value"], row["low"]) == (every[pair]["value"], every[pair]["low"])
        assert row["low"] > row["low_simultaneous"] > every[pair]["low_simultaneous"]
        assert (row["low_simultaneous"], row["high_simultaneous"]) == pytest.approx((low, high), rel=1e-9)


def test_what_cannot_be_judged_leaves_the_order_open(call):
    """An item that may be worth anything takes back an order that is certain where all is judged."""
    rows = sampled(call, "--measure", "DCG@5", "--budget", "100%")
    write_csv("d.csv", [row | {"grade": "cannot"} if k % 2 else row for k, row in enumerate(rows)])
    rows = estimated(call)
    assert all(row["cannot_low"] < 0 < row["cannot_high"] for row in rows if row["question"] == "difference")
    assert [(row["rank_from"], row["rank_to"]) for row in rows if row["question"] == "rank"] == [(1, 3)] * 3


def test_segments_share_the_level_out_and_differences_hold_at_once_within(call):
    sampled(call, "--budget", "90%")
    write_lines(Path("s.txt"), [f"q{q} {'odd' if q % 2 else 'even'}" for q in range(1, 31)])
    rows = estimated(call, "--by", "s.txt")
    told = [row for row in rows if row["question"] == "difference"]
    assert [(row["system"], row["versus"]) for row in told] == [pair for pair in PAIRS for _ in range(2)]
    assert {row["segment"] for row in told} == {"odd", "even"}
    assert all(row["confidence"] == pytest.approx(0.975) for row in told)
    campaign = campaign_of_rows(read_sample("d.csv.sample.npz")[0])
    odd = np.array([str(q) != "qX" and int(str(q)[1:]) % 2 == 1 for q in campaign.design.pool.query_ids])
    parts = [replace(target, within=odd) for target in campaign.design.targets]
    ends = together(campaign, parts, [(0, 1), (0, 2), (1, 2)], 0.975)
    for row, (low, high) in zip([row for row in told if row["segment"] == "odd"], ends, strict=True):
        assert (row["low_simultaneous"], row["high_simultaneous"]) == pytest.approx((low, high), rel=1e-9)
    assert len([row for row in rows if row["question"] == "rank"]) == 6


def test_rankers_are_named_by_what_tells_their_files_apart(folder):
    """One LETOR file: a score file for each; two: ranker by ranker."""
    one = case_of(letor=("a.txt",), scores=("a.score", "a.second", "a.third"), max_grade=3)
    assert one.systems == ("a.score", "a.second", "a.third")
    for name in ("x", "y", "z"):
        Path(name).mkdir()
        for part, own in (("a", 1), ("b", 2)):
            n = len(Path(f"{part}.txt").read_text().splitlines())
            rng = np.random.default_rng([ord(name), own])
            write_lines(Path(name) / f"{part}.score", [f"{x:.5f}" for x in rng.normal(size=n)])
    scores = [f"{name}/{part}.score" for name in "xyz" for part in "ab"]
    case, alone = (case_of(letor=("a.txt", "b.txt"), scores=each, max_grade=3) for each in (scores, scores[2:4]))
    assert case.systems == ("x", "y", "z")
    assert case.inputs.rankings[1].items.tolist() == alone.inputs.ranking.items.tolist()
    assert system_names(["t", "t", "u"], ["r/a.run.gz", "r/b.run.gz", "r/c.run.gz"]) == ("a.run", "b.run", "c.run")
    assert system_names(["", ""], ["the run", "the run"]) == ("run 1", "run 2")


def test_the_gate_takes_two_of_many(call):
    """The difference of the two runs that are named, with the sign of the new one; another run is refused."""
    sampled(call, "--measure", "DCG@5", "--budget", "60%")
    told = named(estimated(call, "--scope", "population"))
    given = ("--sample", "d.csv.sample.npz", "--sheet", "d.csv", "-o", "jsonl")
    for old, new, pair, sign in (("a.run", "c.run", ("a.run", "c.run"), -1), ("c.run", "b.run", ("b.run", "c.run"), 1)):
        (row,) = json_rows(call("compare", old, new, *given).out)
        assert row["value"] == sign * told[pair]["value"]
    write_lines(Path("e.run"), ["q1 Q0 d3 1 1 E"])
    other = "e.run is no run that the sample was drawn for: a.run, b.run, c.run"
    refused(call("compare", "a.run", "e.run", *given), other)
    refused(call("compare", "a.run", "a.run", *given), "a.run: one and the same run of those")


BRIEF = ("--qrels", "q.qrels", "--unjudged", "irrelevant", "--repetitions", 40)


def test_simulate_compares_every_difference_by_one_sample(call):
    """Rows of passive are those of the pair alone; the last rows say how often all hold, and the mean efficiency."""
    rows = call("simulate", *THREE, *BRIEF, "--budget", "30%", "--budget", "60%", "-o", "jsonl").rows
    told = [row for row in rows if row["question"] == "difference"]
    assert [(r["system"], r["versus"], r["method"]) for r in told[::2]] == [
        (*pair, method) for pair in PAIRS for method in ("passive", "items")
    ]
    at_once = [row for row in rows if row["question"] == "at once"]
    assert [row["contrasts"] for row in at_once] == [3, 3]
    assert all(row["limit"] is None for row in told)
    for row in at_once:
        own = [r["efficiency"] for r in told if (r["method"], r["budget"]) == ("items", row["budget"])]
        assert row["mean_efficiency"] == pytest.approx(np.mean(own))
        assert 0.7 <= row["simultaneous_coverage"] <= 1
    pair = call("simulate", *THREE[:4], "--max-grade", 3, *BRIEF, "--budget", told[0]["budget"], "-o", "jsonl").rows
    assert pair[0]["rmse"] == pytest.approx(told[0]["rmse"], rel=1e-9)
    first = call("simulate", *THREE, *BRIEF, "--contrasts", "first", "--budget", "50%", "-o", "jsonl").rows
    assert [row["question"] for row in first] == ["difference"] * 4 + ["at once"]
    text = call("simulate", *THREE, *BRIEF, "--budget", "50%").out
    assert "3 differences by one sample of" in text
    assert "all hold at once" in text
    assert max(map(len, text.splitlines())) <= 100


# What is wrong is said in a line


def refused(done, text):
    assert (done.code, done.out) == (1, ""), done
    assert text in done.err, done.err


def test_what_cannot_be_asked_of_many_systems(call):
    draw, simulate = ("sample", *THREE, *files("x.csv"), "--budget", 60), ("simulate", *THREE, *BRIEF)
    write_lines(Path("same.run"), Path("c.run").read_text().replace(" C", " D").splitlines())
    write_lines(Path("far.run"), [f"z{q} Q0 d1 1 1 far" for q in range(4)])
    for command, problem in (
        ((*draw, "--run", "same.run"), "the lists of c.run and same.run do not differ where DCG counts: leave one of"),
        ((*draw, "--question", "versus"), "there are 3 systems: 'versus' is the second of two, 'run' asks of each of"),
        ((*draw, "--run", "far.run"), "and far.run share no query"),
        ((*simulate, "--run", "far.run"), "and far.run share no query"),
        ((*simulate, "--method", "active", "--budget", "50%"), "'active' draws with replacement for one question"),
        ((*simulate, "--plot", "x.png"), "--plot draws one question: give one system or two"),
    ):
        refused(call(*command), problem)


def test_what_a_sample_of_many_does_not_reach(call):
    sampled(call, "--measure", "DCG@3", "--budget", "60%")
    refused(call("estimate", *both("d.csv"), "--measure", "DCG@5"), "is not covered by this sample")
    refused(call("estimate", *both("d.csv"), "--measure", "ERR@3"), "item designs are for additive measures")
    call("sample", "--run", "a.run", "--run", "b.run", "--max-grade", 3, "--budget", 60, *files("t.csv"))
    judge_file("t.csv")
    problem = "--contrasts needs more than two systems: the sample was made for one, or for two"
    refused(call("estimate", *both("t.csv"), "--contrasts", "all"), problem)
