"""One advice for one sample, whichever face gives it, and the command that it names takes it."""

from __future__ import annotations

import re

import pytest
from cli_cases import grade_of, judge_file
from cli_files import json_rows, write_lines

RUNS = ("--run", "a.run", "--versus-run", "b.run", "--max-grade", 3, "--measure", "DCG@5")


def advice_of(sentence):
    """Return what a sentence says should decide it."""
    return re.search(r"about [\d,]+ more [^;]*decide[^;.]*|judging the [^;]*decide", sentence).group()


@pytest.fixture
def sampled(call):
    """Return a judged sample of two runs."""
    assert call("sample", *RUNS, "--budget", 60, "--seed", 1, "--out", "s.sample", "--sheet", "s.csv").code == 0
    judge_file("s.csv")
    return "--sample", "s.sample", "--sheet", "s.csv"


@pytest.fixture
def created(call, folder):
    """Return a function from options to a campaign w that is judged; judging it once more takes its oracle."""
    names = [(f"q{q}", f"d{j}") for q in [*range(1, 41), "X"] for j in range(30)]
    write_lines(folder / "all.qrels", [f"{q} 0 {d} {grade_of(q, d)}" for q, d in names])
    oracle = ("campaign", "judge", "w", "--judge", "ann", "--oracle", "all.qrels")

    def create(*options):
        assert call("campaign", "create", "w", *RUNS, "--budget", 60, "--seed", 3, *options).code == 0
        assert call(*oracle).code == 0
        return oracle

    return create


@pytest.mark.parametrize("scope", ["pool", "population"])
def test_estimate_and_compare_give_the_same_advice(call, sampled, scope):
    """They said 89 and 79 more judgments of one sample."""
    (own,) = call("--quiet", "estimate", "s.sample", "s.csv", "--scope", scope, "-o", "jsonl").rows
    (row,) = json_rows(call("compare", "b.run", "a.run", *sampled, "--scope", scope, "-o", "jsonl").out)
    assert row["verdict"] == "undecided"
    assert advice_of(own["sentence"]) == advice_of(row["sentence"])


def test_the_advised_top_up_is_taken_and_is_a_look(call, sampled):
    before = call("compare", "b.run", "a.run", *sampled, "--scope", "pool")
    assert "95 % intervals, about" in before.out.replace("\n", " ")
    (row,) = json_rows(call("compare", "b.run", "a.run", *sampled, "--scope", "pool", "-o", "jsonl").out)
    size = f"{row['more_budget']:g}"
    assert f"about {row['more_budget']:,.0f} more judgments" in row["sentence"]
    told = call("estimate", "s.sample", "s.csv").out.replace("\n", " ")
    assert f"activeeval top-up s.sample --budget {size} " in told
    assert call("top-up", "s.sample", "--budget", size, "--out", "t.sample", "--sheet", "t.csv").code == 0
    judge_file("t.csv")
    after = call("estimate", "t.sample", "s.csv", "t.csv").out.replace("\n", " ")
    assert "95 % intervals over 2 looks, about" in after
    (own,) = call("--quiet", "estimate", "t.sample", "s.csv", "t.csv", "-o", "jsonl").rows
    given = ("--sample", "t.sample", "--sheet", "s.csv", "--sheet", "t.csv", "--scope", "pool")
    (row,) = json_rows(call("compare", "b.run", "a.run", *given, "-o", "jsonl").out)
    assert [row[name] for name in ("value", "low", "high")] == pytest.approx([own[n] for n in ("value", "low", "high")])
    # wider than the plain interval of the same labels
    plain = own["std_error"] * 1.959964
    assert (own["high"] - own["low"]) / 2 > 1.02 * plain
    assert "over 2 looks" in call("compare", "b.run", "a.run", *given).out.replace("\n", " ")


def test_what_waits_is_named_where_it_should_decide_and_only_there(call):
    assert call("sample", *RUNS, "--budget", 60, "--seed", 1, "--out", "s.sample", "--sheet", "s.csv").code == 0
    judge_file("s.csv", upto=2)
    (row,) = call("--quiet", "estimate", "s.sample", "s.csv", "-o", "jsonl").rows
    waits = re.search(r"judging the (\d+) items", row["sentence"])
    assert waits is None or int(waits.group(1)) > 0
    judge_file("s.csv")
    (row,) = call("--quiet", "estimate", "s.sample", "s.csv", "-o", "jsonl").rows
    assert "wait" not in row["sentence"]


def test_a_campaign_names_a_command_that_takes_the_size(call, created):
    oracle, compare = created(), ("compare", "b.run", "a.run", "--campaign", "w", "--scope", "pool")
    compared = call(*compare)
    assert compared.code == 11
    size = re.search(r"`activeeval campaign top-up w --budget (\d+)` adds", compared.err).group(1)
    assert f"about {int(size):,} more judgments" in compared.out.replace("\n", " ")
    status = call("campaign", "status", "w")
    assert f"campaign top-up w --budget {size}" in (status.out + status.err).replace("\n", " ")
    assert call("campaign", "top-up", "w", "--budget", size).code == 0
    assert call(*oracle).code == 0
    assert "over 2 looks" in call(*compare).out.replace("\n", " ")


def test_a_campaign_that_cannot_grow_names_no_command_that_refuses(call, created):
    """`compare` named a top-up that is refused, and a next batch where nothing waits."""
    created("--method", "active")
    compared = call("compare", "b.run", "a.run", "--campaign", "w", "--scope", "pool")
    assert (compared.code, "a new sample" in compared.out.replace("\n", " ")) == (11, True)
    assert not re.search("top-up|next batch", compared.err)
