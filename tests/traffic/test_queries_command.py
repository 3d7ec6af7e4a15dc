"""`activeeval queries draw`, and what its file is to every command that takes it."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from cli_files import csv_rows, json_rows, write_csv, write_lines

from activeeval.formats.tables.drawn_queries import read_drawn_queries
from activeeval.sampling.read_samples import read_sample

MEASURE = ["--measure", "DCG@5"]
RUNS = ["--run", "new.run", "--versus-run", "old.run", "--max-grade", "3"]


@pytest.fixture
def month(call, folder):
    """Return the files of a month: a log, 40 queries drawn from it, two runs and what their documents are worth."""
    random = np.random.default_rng(5)
    counts = np.ceil(900 / np.arange(1, 601))
    write_lines(folder / "may.csv", ["query,count", *(f"query {k},{int(c)}" for k, c in enumerate(counts))])
    assert call("queries", "draw", "may.csv", "--n", "40", "--out", "q.csv").code == 0
    queries, runs, truth = read_drawn_queries("q.csv").query_ids, {"new": [], "old": []}, []
    for number, query in enumerate(queries):
        truth += [f"{query} 0 d{k} {random.integers(4)}" for k in range(8)]
        documents = random.permutation([f"d{k}" for k in range(8)])[:6]
        for name, lines in runs.items():
            if number % 9:  # of some the two runs are alike: nothing has to be judged
                documents = random.permutation([f"d{k}" for k in range(8)])[:6]
            lines += [f"{query} Q0 {doc} {rank} {9 - rank} {name}" for rank, doc in enumerate(documents, 1)]
    for name, lines in runs.items():
        write_lines(folder / f"{name}.run", lines)
    write_lines(folder / "t.qrels", truth)
    return {tuple(line.split()[::2][:2]): line.split()[3] for line in truth}


def filled(name, truth):
    rows = csv_rows(name)
    write_csv(name, [row | {"grade": truth[row["query_id"], row["doc_id"]]} for row in rows])
    return rows


def test_it_says_of_which_log_the_queries_are(call, month):
    done = call("queries", "draw", "may.csv", "--n", "50", "--out", "r.csv", "--last", "q.csv", "--seed", "0")
    assert done.code == 0
    drawn = read_drawn_queries("r.csv")
    first = f"50 queries drawn from may.csv (sha256 {drawn.log.digest}; {drawn.log.n_events:,.0f} events, 600 distinct"
    assert first in done.err
    assert f"seed 0: {drawn.n_certain} were certain" in done.err
    assert "of the 40 queries of q.csv are kept" in done.err
    assert done.out == ""
    again = call("queries", "draw", "may.csv", "--n", "50", "--out", "r.csv")
    assert (again.code, again.err) == (1, "activeeval: r.csv: is there already, --force overwrites it\n")


def test_a_sample_remembers_the_log_without_its_file(call, month, folder):
    options = [*RUNS, *MEASURE, "--budget", "90", "--seed", "1", "--queries", "q.csv"]
    assert call("sample", *options, "--out", "s.sample", "--sheet", "s.csv").code == 0
    assert filled("s.csv", month)[0]["query"].startswith("query ")
    drawn, pool = read_drawn_queries("q.csv"), read_sample("s.sample")[0].campaign.design.pool
    order = [drawn.query_ids.index(query) for query in pool.query_ids]
    assert pool.query_probs == pytest.approx(drawn.query_probs[order])
    assert pool.draw.inclusion_probs.tolist() == drawn.probs[order].tolist()
    assert pool.draw.log == drawn.log
    (folder / "q.csv").unlink()
    asked = ("estimate", "s.sample", "s.csv", "--scope")
    of_pool, of_log = (call(*asked, scope, "-o", "jsonl").rows[0] for scope in ("pool", "population"))
    assert (of_log["log"], of_log["scope"], of_log["value"]) == ("may.csv", "population", of_pool["value"])
    assert of_log["std_error"] > of_pool["std_error"]
    gate = call("compare", "old.run", "new.run", "--sample", "s.sample", "--sheet", "s.csv")
    for done in (call(*asked, "population"), gate):
        assert "about all the traffic of may.csv." in " ".join(done.out.split())


def test_everything_judged_leaves_the_draw_of_the_queries(call, month):
    """`score`, `compare` and a sample of all items say the same, with weights and π of the file alone."""
    options = [*RUNS, *MEASURE, "--budget", "100%", "--seed", "1", "--queries", "q.csv", "--method", "items"]
    assert call("sample", *options, "--out", "s.sample", "--sheet", "s.csv").code == 0
    filled("s.csv", month)
    wide = call("estimate", "s.sample", "s.csv", "--scope", "population", "-o", "jsonl").rows[0]
    score = ("score", "t.qrels", "new.run", "DCG@5", "--versus", "old.run", "-o", "jsonl")
    (scored,) = call(*score, "--queries", "q.csv").rows
    gate = call("compare", "old.run", "new.run", "--qrels", "t.qrels", *MEASURE, "--queries", "q.csv", "-o", "jsonl")
    (decided,) = json_rows(gate.out)
    for row, name in ((scored, "difference"), (decided, "value")):
        low, high = ("difference_low", "difference_high") if row is scored else ("low", "high")
        told = (row[name], row[low], row[high])
        assert told == pytest.approx((wide["value"], wide["low"], wide["high"]), rel=1e-9)
    values = {row["query_id"]: row["difference"] for row in call(*score, "-q", "-n").rows}
    assert (wide["value"], wide["std_error"]) == pytest.approx(mean_by_hand(values))
    assert scored["p_wilcoxon"] is None
    assert scored["log"] == decided["log"] == "may.csv"


def test_holes_are_told_for_the_log(call, month, folder):
    lines = (folder / "t.qrels").read_text().splitlines()
    write_lines(folder / "half.qrels", [line for k, line in enumerate(lines) if k % 2])
    ask = ("score", "half.qrels", "new.run", "DCG@5", "--queries", "q.csv", "-o", "jsonl")
    (scored,), (bounds,) = call(*ask).rows, call(*ask, "--unjudged-bounds", "--max-grade", 3).rows
    assert bounds["irrelevant"] == pytest.approx(scored["value"], rel=1e-9)
    assert bounds["irrelevant"] < bounds["expected"] < bounds["at_best"]
    assert not [name for name in bounds if name.startswith("half_width")]  # of these queries, not of the log


def mean_by_hand(values):
    """Return the mean for the log and its standard error, by the rows of the file alone."""
    rows, mean, variance = csv_rows("q.csv"), 0.0, 0.0
    total = sum({row["stratum"]: float(row["stratum_count"]) for row in rows}.values())
    for stratum in {row["stratum"] for row in rows}:
        held = [row for row in rows if row["stratum"] == stratum]
        share = float(held[0]["stratum_count"]) / total
        weights = [float(row["traffic_weight"]) for row in held]
        parts = [weight / sum(weights) for weight in weights]
        centre = sum(part * values[row["query_id"]] for part, row in zip(parts, held, strict=True))
        mean += share * centre
        for part, row in zip(parts, held, strict=True):
            rare = 1 - float(row["inclusion_prob"])
            variance += rare * (share * part * (values[row["query_id"]] - centre)) ** 2 / max(1 - part, 0.5)
    return mean, math.sqrt(variance)


def test_a_campaign_is_for_the_log_too_and_its_next_round_knows_the_weights(call, month):
    options = [*RUNS, *MEASURE, "--budget", "50%", "--seed", "1", "--adaptive-depth", "off"]
    assert call("campaign", "create", "w", *options, "--queries", "q.csv").code == 0
    assert call("campaign", "next", "w", "--ahead", "--judge", "ann", "--out", "b.csv").code == 0
    filled("b.csv", month)
    assert call("campaign", "import", "w", "b.csv").code == 0
    done = call("campaign", "estimate", "w", "--scope", "population")
    assert "about all the traffic of may.csv." in " ".join(done.out.split())
    options = [*RUNS, *MEASURE, "--budget", "10%", "--seed", "2", "--adaptive-depth", "off"]
    done = call("campaign", "create", "w", "--redraw", *options)
    assert done.code == 0, done.err


def test_queries_set_aside_to_train_make_the_others_rarer(call, month):
    options = [*RUNS, *MEASURE, "--budget", "30", "--seed", "1", "--queries", "q.csv", "--qrels", "t.qrels"]
    done = call("sample", *options, "--train", "0.25", "--out", "s.sample", "--sheet", "s.csv")
    assert done.code == 0, done.err
    assert "not in the pool" not in done.err
    drawn, pool = read_drawn_queries("q.csv"), read_sample("s.sample")[0].campaign.design.pool
    order = [drawn.query_ids.index(query) for query in pool.query_ids]
    assert pool.n_queries == 30
    assert pool.draw.inclusion_probs == pytest.approx(0.75 * drawn.probs[order])
    assert pool.query_probs == pytest.approx(drawn.query_probs[order] / drawn.query_probs[order].sum())


def test_queries_that_the_runs_lack_are_said(call, month, folder):
    lost = read_drawn_queries("q.csv").query_ids[-1]
    for name in ("new.run", "old.run"):
        lines = [line for line in (folder / name).read_text().splitlines() if lost not in line]
        write_lines(folder / name, lines)
    done = call(
        "sample", *RUNS, *MEASURE, "--budget", "50", "--queries", "q.csv", "--out", "s.sample", "--sheet", "s.csv"
    )
    assert done.code == 0
    assert "1 of 40 queries drawn from may.csv is not in the pool, with " in done.err


WRONG = [json.loads(line) for line in Path(__file__).with_name("broken-calls.jsonl").read_text().splitlines()]


def test_what_is_wrong_is_one_line_and_nothing_is_written(call, month, folder):
    for wrong in WRONG:
        for name, text in wrong["files"].items():
            (folder / name).write_text(text)
        before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        done = call(*wrong["arguments"].split())
        assert (done.code, wrong["says"] in done.err) == (wrong["code"], True), (wrong, done.err)
        assert done.err.count("\n") == 1 or done.code == 2
        assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
