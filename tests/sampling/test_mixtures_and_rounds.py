"""`--model` repeated, rankings' own scores and somebody's grades as models; rounds that `estimate` reads together."""

import re

import numpy as np
import pytest
from cli_cases import LETOR, RUN, both, case_of, files, judge_file
from cli_files import csv_rows, write_csv, write_lines

from activeeval import METHODS
from activeeval.core.campaign.joint_estimates import planned_weights, read_together
from activeeval.core.grade_models import average_probabilities
from activeeval.report.message_lookup import text_of
from activeeval.sampling.judged_samples import judged

SMALL = ("--measure", "DCG@5", "--budget", "30%", "--repetitions", 20, "-o", "jsonl")


def weights_in(text):
    told = re.search(r"a mixture of grade models, by training queries: (.*)", text).group(1)
    return {name: float(share) for name, share in (part.rsplit(" ", 1) for part in told.split(", "))}


# Several models


def test_several_models_make_a_mixture_of_what_each_says(call):
    given = {"letor": ("a.txt",), "scores": ("a.score",), "train": ("t.txt",)}
    alone = [case_of(**given, model=name).beliefs.probs for name in ("logit", "uniform")]
    done = call("simulate", *LETOR, "--model", "logit", "--model", "uniform", *SMALL)
    assert done.code == 0, done.err
    weights = weights_in(done.err)
    assert list(weights) == ["logit", "uniform"]
    assert sum(weights.values()) == pytest.approx(1, abs=0.011)
    case = case_of(**given, model=["logit", "uniform"])
    shares = [weights["logit"], 1 - weights["logit"]]
    assert case.beliefs.probs == pytest.approx(average_probabilities(alone, shares), abs=0.01)
    assert (case.model, case_of(**given, model=["logit"]).model) == ("logit, uniform", "logit")
    assert np.array_equal(case_of(**given, model=["logit"]).beliefs.probs, alone[0])


@pytest.mark.parametrize("way", [("--train", 0.5), ("--judged", "old.qrels")])
def test_graders_are_weighed_where_labels_are(call, folder, way):
    """A machine that says the truth of half the items and nothing of the others outweighs the rankings."""
    lines = (folder / "q.qrels").read_text().splitlines()
    write_lines(folder / "friend.qrels", [line for k, line in enumerate(lines) if k % 2])
    write_lines(folder / "old.qrels", [line for k, line in enumerate(lines) if k % 5])
    options = ("--qrels", "q.qrels", *RUN, "--unjudged", "irrelevant", *way)
    done = call("simulate", *options, "--model", "scores", "--grader", "friend.qrels", *SMALL)
    assert done.code == 0, done.err
    weights = weights_in(done.err)
    assert weights["grader=friend"] > 0.6 > weights["scores"]


def test_probabilities_of_several_without_labels_are_averaged(folder):
    pairs = [line.split() for line in (folder / "a.run").read_text().splitlines()]
    for name, row in (("x", "1,0,0,0"), ("y", "0,0,0.5,0.5")):
        table = [f"{pair[0]},{pair[2]},{row}" for pair in pairs]
        write_lines(folder / f"{name}.csv", ["qid,docid,p0,p1,p2,p3", *table])
    case = case_of(runs=("a.run",), model=("probs=x.csv", "probs=y.csv"), max_grade=3)
    assert case.beliefs.probs == pytest.approx(np.tile([0.5, 0, 0.25, 0.25], (case.inputs.pool.n_items, 1)))
    assert list(map(text_of, case.beliefs.notes)) == ["the mean of 2 grade models: too few labels to weight them"]


def test_a_sample_of_several_models_is_read_as_it_was_drawn(call, folder):
    """With regressors that the estimate is fitted to: what is stored says all."""
    case = case_of(letor=("a.txt",), scores=("a.score",), train=("t.txt",), model=["logit", "uniform"])
    further = (case.beliefs.probs[:, ::-1],)
    target, given = case.target("DCG@5"), case.beliefs.for_method(METHODS["items"], case.max_grade + 1)
    assert METHODS["items"].design(target, **given | {"extra_probs": further}).reading().regressors.shape[1] == 3
    options = (*LETOR, "--model", "logit", "--model", "uniform", "--measure", "DCG@5", "--budget", "30%")
    assert call("sample", *options, *files("d.csv")).code == 0
    judge_file("d.csv")
    row = call("estimate", *both("d.csv"), "-o", "jsonl").rows[0]
    sample, _, _ = judged(both("d.csv")[0], [both("d.csv")[1]])
    found = sample.campaign.estimate()
    assert (row["value"], row["std_error"]) == (found.value, found.std_error)


# Rounds


@pytest.fixture
def rounds(call, folder):
    """Draw and judge two rounds; return their files in order."""
    options = (*RUN, "--versus-run", "b.run", "--measure", "DCG@5", "--measure", "P@3", "--question", "difference")
    for name, more in (("r1.csv", (60,)), ("r2.csv", (80, "--judged", "r1.csv", "--model", "scores"))):
        done = call("sample", *options, "--budget", *more, *files(name))
        assert done.code == 0, done.err
        judge_file(name)
    return (*both("r1.csv"), *both("r2.csv"))


@pytest.mark.parametrize("scope", ["pool", "population"])
def test_rounds_are_read_together_with_planned_weights(call, rounds, scope):
    done = call("estimate", *rounds, "--scope", scope, "-o", "jsonl")
    samples = [judged(rounds[k], [rounds[k + 1]])[0] for k in (0, 2)]
    campaigns = [sample.campaign for sample in samples]
    assert len(done.rows) == 2
    for k, row in enumerate(done.rows):
        targets = [sample.campaign.design.targets[k] for sample in samples]
        found = read_together(campaigns, targets, scope)
        end = found.interval(0.95)
        told = [row[name] for name in ("value", "std_error", "low", "high")]
        assert told == [found.value, found.std_error, end.low, end.high]
        assert row["judged"] == row["items"] == sum(len(csv_rows(name)) for name in rounds[1::2])
        weights = planned_weights(campaigns[0].design, (60, 80), targets[0])
        assert f"2 rounds, planned weights {weights[0]:.3f}, {weights[1]:.3f}" in done.err
    again = call("estimate", *rounds, "--measure", "P@3", "-o", "jsonl")
    assert [row["measure"] for row in again.rows] == [done.rows[1]["measure"]]


def test_rounds_in_no_order_or_with_an_open_one_are_refused(call, rounds):
    for arguments, message in (
        ((*rounds[2:], *rounds[:2]), "round 2 was drawn without the grades of round 1"),
        ((*rounds[:2], *rounds[:2]), "round 2 was drawn with the numbers of an earlier round"),
        ((rounds[0], *rounds[2:]), f"{rounds[0]}: no sheet follows it"),
        ((rounds[1], rounds[0]), f"{rounds[1]}: a sample goes before its sheets, expected as {rounds[0]} {rounds[1]}"),
    ):
        done = call("estimate", *arguments)
        assert (done.code, message in done.err) == (1, True), done.err
    done = call("estimate", *rounds, "--interval", "group-sequential")
    assert (done.code, "several rounds are read with t intervals and without --by" in done.err) == (2, True)
    judge_file("r2.csv")
    rows = csv_rows("r2.csv")
    write_csv("r2.csv", [row | {"grade": "" if k == 5 else row["grade"]} for k, row in enumerate(rows)])
    done = call("estimate", *rounds)
    assert (done.code, "round 2 is not judged to its end: 1 units wait" in done.err) == (1, True), done.err
