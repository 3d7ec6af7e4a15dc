"""`activeeval calibration`, and methods by their names: how far a model can be believed."""

import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from cli_cases import judge_file
from cli_files import write_lines
from patience import PATIENCE_S

from activeeval.cli.input_options import SCALE, SEED
from activeeval.core.checks import LARGEST_GRADE, LARGEST_SEED

LETOR = ("--letor", "a.txt", "--scores", "a.score")
TRAINED = (*LETOR, "--train", "t.txt")
RUNS = ("--qrels", "q.qrels", "--run", "a.run")
OF_L = [f"{what} of L, {how}" for what in ("mean", "variance") for how in ("predicted", "observed")]
LIKELIHOODS = ["grades independent", "with the query factor"]
FIGURES = ["judged items", "queries judged in full", *OF_L, *(f"log-likelihood an item, {how}" for how in LIKELIHOODS)]


@pytest.fixture
def report(call):
    """Return a function from options to a calibration's figures by model, and its reliability rows."""

    def calibrate(*options):
        rows = call("--quiet", "calibration", *options, "-o", "jsonl").rows
        figures = {name: {} for name in dict.fromkeys(row["model"] for row in rows)}
        for row in rows:
            if row["part"] == "whole":
                figures[row["model"]][row["what"]] = row["value"]
        return figures, [row for row in rows if row["part"] == "reliability"]

    return calibrate


# calibration


def test_figures_of_both_models(report):
    figures, bins = report(*TRAINED, "--measure", "ERR@5")
    assert list(figures) == ["with factor", "without factor"]
    for model, of_model in figures.items():
        assert list(of_model) == (FIGURES if model == "with factor" else FIGURES[:-1])
        assert (of_model["judged items"], of_model["queries judged in full"]) == (190, 40)
        assert all(np.isfinite(value) for value in of_model.values())
        assert of_model["variance of L, predicted"] > 0
    observed = {of_model["mean of L, observed"] for of_model in figures.values()}
    assert len(observed) == 1
    for model in figures:
        for grade in range(4):
            rows = [row for row in bins if (row["model"], row["grade"]) == (model, grade)]
            assert sum(row["n"] for row in rows) == 190
            assert all(0 <= row["predicted"] <= 1 and 0 <= row["observed"] <= 1 for row in rows)
            assert [row["predicted"] for row in rows] == sorted(row["predicted"] for row in rows)


@pytest.fixture
def start_with(folder):
    """Return a function that runs a command with a cache of compiled code."""

    def run(cache, *arguments):
        command = [sys.executable, "-m", "activeeval", *arguments]
        environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
        subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)

    return run


@pytest.mark.parametrize("of", [(), ("--scores", "a.second")])
def test_what_was_observed_is_the_score(call, report, of):
    figures, _ = report(*TRAINED, *of, "--measure", "DCG@3")
    options = (*LETOR, *of, "--measure", "DCG@3", "--budget", "20%", "--repetitions", 2)
    truth = call("--quiet", "simulate", *options, "-o", "jsonl").rows[0]["truth"]
    assert figures["with factor"]["mean of L, observed"] == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        (*LETOR, "--model", "probs=a.probs.csv"),
        *((*TRAINED, "--model", f"{m}:no-factor") for m in ("forest", "uniform")),
    ],
    ids=lambda options: " ".join(options[4:]),
)
def test_without_a_factor_there_is_one_model(report, options):
    figures, bins = report(*options)
    assert list(figures) == ["without factor"]
    figures = figures["without factor"]
    assert list(figures) == FIGURES[:-1]
    assert {row["model"] for row in bins} == {"without factor"}


def test_a_uniform_model_by_hand(report, folder):
    figures, bins = report(*LETOR, "--measure", "P@1")
    assert list(figures) == ["with factor", "without factor"]
    # the level of one item alone is what the factor leaves as it is
    for name in ("mean of L, predicted", "variance of L, predicted"):
        assert figures["with factor"][name] == pytest.approx(figures["without factor"][name], abs=0.011)
    bins = [row for row in bins if row["model"] == "without factor"]
    grades = [int(line[0]) for line in (folder / "a.txt").read_text().splitlines()]
    figures = figures["without factor"]
    assert figures["mean of L, predicted"] == pytest.approx(0.75)
    assert figures["variance of L, predicted"] == pytest.approx(0.75 * 0.25)
    assert figures["log-likelihood an item, grades independent"] == pytest.approx(np.log(0.25))
    assert [row["observed"] for row in bins] == pytest.approx([grades.count(k) / len(grades) for k in range(4)])
    assert [row["predicted"] for row in bins] == [0.25] * 4


def test_no_query_judged_in_full_has_no_mean(call, folder):
    write_lines(folder / "x.qrels", ["q1 0 d0 2", "q2 0 d0 1"])
    words = ("calibration", "--qrels", "x.qrels", "--run", "a.run", "--measure", "AP")
    figures = {row["what"]: row["value"] for row in call(*words, "-o", "jsonl").rows if row["part"] == "whole"}
    assert (figures["queries judged in full"], figures["mean of L, observed"]) == (0, None)
    answer = call(*words)
    assert answer.out.startswith("AP cannot be compared with labels: 2 items are judged, no query in full.\n\n")
    problem = "activeeval: no query is judged in full for AP: its mean and variance are not known (nan)"
    assert answer.err.splitlines()[-1] == problem


def test_calibration_reads_as_two_tables(call):
    lines = call("--quiet", "calibration", *TRAINED, "--measure", "DCG@3").out.splitlines()
    assert lines[0].startswith("The grade model is ")
    assert "its variance is" in lines[0]
    lines = lines[lines.index("") + 1 :]
    end = lines.index("")
    assert lines[0] == "The model and the labels, L is DCG@3"
    assert re.split(" {2,}", lines[1]) == ["what", "with factor", "without factor"]
    assert [re.split(" {2,}", line)[0] for line in lines[2:end]] == FIGURES
    assert lines[end + 1].startswith("Reliability: ")
    assert re.split(" {2,}", lines[end + 2]) == ["model", "grade", "n", "predicted", "observed"]


@pytest.mark.usefixtures("grown_anew")
def test_one_seed_one_report_and_a_model_of_its_data_alone(call):
    reports = [
        [call("--quiet", "calibration", *options, "-o", "jsonl", "--seed", seed) for seed in (1, 1, 2)]
        for options in (TRAINED, (*LETOR, "--train", 0.5))
    ]
    assert reports[0][0] == reports[0][1] == reports[0][2]
    assert reports[1][0] == reports[1][1] != reports[1][2]


def test_training_labels_do_not_leak(report):
    figures, _ = report(*RUNS, "--train", 0.5)
    assert figures["with factor"]["queries judged in full"] <= 15


@pytest.mark.slow
def test_after_a_warm_up_nothing_is_compiled(folder, start_with):
    """In a cache of its own: what `sample`, `estimate` and `simulate` need lies in it."""
    cache = folder / "cache"

    def compiled():
        return sorted(path.name for path in cache.rglob("*.nbc"))

    start_with(cache, "warm-up")
    before = compiled()
    assert before
    pair = ("--run", "a.run", "--versus-run", "b.run")
    for measure, overhead in (("DCG@5", "0"), ("DCG@5", "1"), ("ERR@5", "0")):
        options = (*pair, "--max-grade", "3", "--measure", measure, "--budget", "100%", "--overhead", overhead)
        start_with(cache, "sample", *options, "--out", "x.sample", "--sheet", "x.csv", "--force")
        judge_file("x.csv")
        start_with(cache, "estimate", "x.sample", "x.csv")
    assert compiled() == before


def test_a_scale_and_a_seed_end_on_the_command_line_where_they_do_in_the_library():
    assert SCALE.max == LARGEST_GRADE
    assert SEED.max == LARGEST_SEED


DRAWN = ("--run", "a.run", "--max-grade", 3, "--budget", 20)
SAMPLE = ("sample", *DRAWN, "--out", "x.sample", "--sheet", "x.csv")


def test_the_largest_seed_draws_a_sample_that_is_read_again(call):
    assert call(*SAMPLE, "--seed", LARGEST_SEED).code == 0
    judge_file("x.csv")
    assert call("estimate", "x.sample", "x.csv").code == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in folders here")
def test_a_pipe_in_the_place_of_a_sheet_is_refused(call, folder):
    """Whoever opens a pipe waits for the other end: an alarm ends that."""
    call(*SAMPLE)
    call("campaign", "create", "w", *DRAWN)
    os.mkfifo("pipe.csv")
    os.mkfifo("s-bob.csv")
    drawn = ("sample", *DRAWN, "--out", "y.sample", "--sheet", "pipe.csv")
    sheets = ("campaign", "next", "w", "--out", "s.csv", "--judge", "ann", "--judge", "bob")
    signal.alarm(PATIENCE_S)
    for words in (("estimate", "x.sample", "pipe.csv"), drawn, sheets):
        done = call(*words)
        assert (done.code, done.out) == (1, "")
        assert re.search(r"(pipe|s-bob)\.csv: is a pipe, expected a file", done.err)
    signal.alarm(0)
