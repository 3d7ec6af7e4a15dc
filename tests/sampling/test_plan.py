"""`activeeval plan`: rows, goals, pilots, and that no label is looked at."""

import re
from pathlib import Path

import numpy as np
import pytest
from cli_cases import files, judge_file

import activeeval
from activeeval.core.design.methods import METHODS

LETOR = ("--letor", "a.txt", "--scores", "a.score", "--train", "t.txt")
TWO = (*LETOR, "--scores", "a.second")
RUNS = ("--run", "a.run", "--versus-run", "b.run", "--max-grade", 3)
FIELDS = {
    *("measure", "question", "method", "queries", "items", "limit", "goal", "is_recommended"),
    *(
        name + end
        for name in ("budget", "half_width", "half_width_population", "power")
        for end in ("", "_low", "_high")
    ),
}


@pytest.fixture
def plan(call):
    """Return a function from options to the rows of a plan."""
    return lambda *options: call("--quiet", "plan", *options, "-o", "jsonl").rows


@pytest.mark.parametrize(
    ("pool", "measure", "default"),
    [(TWO, "ERR@3", "depth"), (RUNS, "DCG@3", "items"), (LETOR, "DCG@3", "items")],
    ids=["letor", "runs", "one ranking"],
)
@pytest.mark.usefixtures("whole_rehearsals")
def test_a_row_for_passive_and_the_default_at_each_budget(plan, pool, measure, default):
    rows = plan(*pool, "--measure", measure, "--method", default, "--budget", "40%", "--budget", 20)
    assert [row["method"] for row in rows] == ["passive"] * 2 + [default] * 2
    for row in rows:
        assert set(row) == FIELDS | {"system"} | ({"versus"} if row["question"] == "difference" else set())
        assert row["question"] == ("run" if pool is LETOR else "difference")
        assert row["power"] is row["power_low"] is row["budget_low"] is None
        for name in ("half_width", "half_width_population"):
            low, high = row[f"{name}_low"], row[f"{name}_high"]
            # of runs no label has been held against the model
            assert low is high is None if pool is RUNS else low < row[name] < high
        # few queries have few degrees of freedom: that about these queries is then as wide as that about more
        assert 0 < row["limit"] <= row["half_width"] <= row["half_width_population"]
        assert row["half_width"] < row["half_width_population"] or row["queries"] < 10
        assert 0 < row["queries"] <= row["items"] <= row["budget"] * (1 + 1e-9)
    assert [row["budget"] for row in rows[:2]] == sorted(row["budget"] for row in rows[:2])
    assert all(row["half_width"] < row["half_width_population"] for row in rows[1::2])
    assert default != "items" or rows[3]["half_width"] < rows[2]["half_width"]


def test_measures_and_questions_are_planned_together_and_a_goal_is_reached_by_all(plan):
    asked = (*TWO, "--measure", "DCG@3", "--question", "difference", "--question", "run")
    rows = plan(*asked, "--half-width", 0.8)
    assert list(dict.fromkeys(row["question"] for row in rows)) == ["difference", "run"]
    goals = goals_of(rows)
    assert len({row["budget"] for row in goals}) == 1
    assert max(row["half_width"] for row in goals) == pytest.approx(0.8, rel=0.01)
    (alone,) = goals_of(plan(*TWO, "--measure", "DCG@3", "--half-width", 0.8, "--method", "items"))
    assert alone["budget"] <= goals[0]["budget"]
    both = plan(*TWO, "--measure", "DCG@3", "--measure", "ERR@3", "--budget", "50%")
    assert {"passive", "depth"} <= {row["method"] for row in both}
    assert "items" not in {row["method"] for row in both}
    weighed = goals_of(plan(*asked, "--half-width", 0.8, "--weights", "sum"))
    assert [row["half_width"] for row in weighed] != [row["half_width"] for row in goals]


def goals_of(rows):
    """Return the rows of goals that are planned by items."""
    return [row for row in rows if row["goal"] and row["method"] == "items"]


def test_a_plan_begins_with_a_sentence_and_fits_a_terminal(call):
    asked = (*TWO, "--measure", "DCG@3", "--measure", "P@3", "--question", "difference")
    goals = ("--difference", 1, "--price", "seconds=60")
    for options in (("--budget", "60%"), goals):
        lines = call("plan", *asked, *options).out.splitlines()
        assert max(map(len, lines)) <= 100
        assert any(start in lines[0] for start in ("give ", "takes about", "for each of"))
    gate = call("plan", *TWO, "--measure", "DCG@3", "--budget", "95%").out
    assert "about all queries, as a gate: " in gate
    assert "passive" not in gate


def test_a_better_method_than_the_default_is_shown_and_taken(plan):
    asked = (*LETOR, "--measure", "DCG", "--budget", "30%")
    every = {row["method"]: row["half_width"] for row in plan(*asked, "--method", "all")}
    sound = {name: width for name, width in every.items() if METHODS[name].is_fitted}
    assert "passive" in every.keys() - sound.keys()
    best = min(sound, key=lambda name: sound[name] * (1 if name == "items" else 1.02))
    rows = plan(*asked)
    assert {row["method"] for row in rows} == {"passive", "items", best}
    assert [row["method"] for row in rows if row["is_recommended"]] == [best]


def test_a_difference_its_power_and_two_goals_in_one_call(plan, call):
    asked = (*TWO, "--measure", "DCG@3", "--difference", 1)
    rows = plan(*asked, "--budget", "30%", "--budget", "60%")
    assert {row["goal"] for row in rows} == {None}
    small, large = (row["power"] for row in rows if row["method"] == "items")
    assert small < large
    asked += ("--power", 0.7, "--half-width", 0.6)
    rows = plan(*asked)
    goals = {(row["method"], row["goal"]): row for row in rows if row["goal"]}
    assert {goal for _, goal in goals} == {"± 0.6", "a difference of 1 detected with power 0.7"}
    assert goals["items", "± 0.6"]["half_width"] == pytest.approx(0.6, rel=0.01)
    sure = goals["items", "a difference of 1 detected with power 0.7"]
    assert sure["power_low"] == pytest.approx(0.7, abs=0.01)
    assert sure["power_low"] < sure["power"] < sure["power_high"]
    assert sum(row["is_recommended"] for row in rows) == 2
    assert call("plan", *asked).out.count(" takes about ") == 2


def test_labels_of_the_pool_are_not_looked_at_and_costs_are_in_hours(plan, folder):
    asked = (*TWO, "--measure", "ERR@3", "--overhead", 2, "--budget", "30%", "--price", "seconds=90")
    before = plan(*asked)
    assert [row["hours"] for row in before] == pytest.approx([row["budget"] / 40 for row in before])
    rng, lines = np.random.default_rng(1), Path("a.txt").read_text().splitlines()
    Path("a.txt").write_text("".join(f"{rng.integers(4)}{line[1:]}\n" for line in lines))
    assert plan(*asked) == before


def test_what_is_said_of_a_plan(call):
    asked = ("--measure", "DCG@3", "--half-width", 0.5)
    answer = call("plan", *TWO, "--overhead", 2, *asked, "--plot", "p.png", "--explain")
    assert answer.code == 0
    told = " ".join(answer.out.split())
    for words in (
        *(": ± 0.5 takes about ", "Four in five: the half-widths of four samples in five", "* should reach the goal."),
        *("Limit: the smallest half-width", "times that"),
    ):
        assert words in told
    in_words = re.search(r"takes about ([\d,]+) ", told)[1]
    assert f"\n{in_words} *  " in re.sub("\n +", "\n", answer.out)
    assert "* should" not in call("plan", *TWO, "--measure", "DCG@3", "--budget", 40).out
    assert "without overhead per query, ±" in answer.err
    assert "of the variance between queries" in answer.err
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")
    assert "even if everything is judged" in " ".join(call("plan", *TWO, "--scope", "population").out.split())


@pytest.mark.usefixtures("whole_rehearsals")
def test_a_pilot_rescales_what_is_expected(call, plan):
    assert call("sample", *RUNS, "--measure", "DCG@3", "--budget", "50%", "--seed", 1, *files("x.csv")).code == 0
    judge_file("x.csv")
    asked = (*RUNS, "--measure", "DCG@3", "--budget", "60%")
    pilots = ("--pilot", "x.csv.sample.npz", "--sheet", "x.csv")
    before, after = plan(*asked), call("plan", *asked, *pilots, "-o", "jsonl")
    assert "the pilot's variance around" in after.err
    factor = float(after.err.split("half-widths are multiplied by ")[1].split(";")[0].split()[0])
    assert after.rows[1]["limit"] == pytest.approx(factor * before[1]["limit"], rel=0.02)
    wrong = call("plan", "--run", "a.run", "--max-grade", 3, "--budget", "60%", *pilots)
    assert (wrong.code, "x.csv.sample.npz: the pilot is of another pool" in wrong.err) == (1, True)
    alone = call("plan", *asked, "--pilot", "x.csv.sample.npz")
    assert "x.csv.sample.npz: the pilot has no sheet" in alone.err


def test_of_several_systems_each_contrast_has_its_rows_and_the_goal_is_reached_by_all(plan):
    lines = Path("b.run").read_text().splitlines()
    turned = (f"{line.rsplit(' ', 2)[0]} {9 - int(line.split()[3])} C\n" for line in lines[::-1])
    Path("c.run").write_text("".join(turned))
    asked = ("--run", "a.run", "--run", "b.run", "--run", "c.run", "--max-grade", 3, "--measure", "DCG@3")
    goals = goals_of(plan(*asked, "--half-width", 1.2))
    contrasts = [("a.run", "b.run"), ("a.run", "c.run"), ("b.run", "c.run")]
    assert [(row["system"], row["versus"]) for row in goals] == contrasts
    assert len({row["budget"] for row in goals}) == 1
    assert max(row["half_width"] for row in goals) == pytest.approx(1.2, rel=0.01)


def test_queries_that_train_are_the_first_thing_an_answer_says(call, folder):
    lines = [f"q{q} 0 d{j} {(q + j) % 4}" for q in range(1, 13) for j in range(12)]
    (folder / "old.qrels").write_text("".join(f"{line}\n" for line in lines))
    asked = (*RUNS, "--train", "old.qrels", "--measure", "DCG@5", "--budget", 50)
    first = "12 of 31 queries train the model and are not measured (--train); --judged measures them too"
    text = call("plan", *asked)
    assert " ".join(text.out.split()).startswith(first)
    assert "train the model" not in text.err
    assert first in " ".join(call("plan", *asked, "-o", "jsonl").err.split())
    drawn = call("sample", *asked, *files("d.csv"))
    assert drawn.err.splitlines()[0].startswith(f"activeeval: {first}")


@pytest.fixture
def uneven(folder):
    """Write two runs of thirty queries in opposite orders: one lists forty documents, the others six."""
    for name, sign in (("up.run", 1), ("down.run", -1)):
        sizes = {f"q{k}": 40 if k == 0 else 6 for k in range(30)}
        rows = [f"{q} Q0 d{k} {k + 1} {-k * sign} x\n" for q, size in sizes.items() for k in range(size)]
        (folder / name).write_text("".join(rows))
    return ("--run", "up.run", "--versus-run", "down.run", "--max-grade", 3, "--measure", "nDCG@3")


@pytest.mark.parametrize(
    ("command", "budget", "named"), [("plan", "20", True), ("sample", "39", True), ("sample", "1", False)]
)
def test_what_a_refused_budget_names_works(call, uneven, command, budget, named):
    out = ("--out", "x.sample", "--sheet", "x.csv", "--force") if command == "sample" else ()
    ask = lambda *options: call("--quiet", command, *uneven, "--budget", *options, *out)  # noqa: E731
    refused = ask(budget)
    assert (refused.code, refused.out) == (1, "")
    text = r"activeeval: --budget (\S+).* does not pay for the most expensive unit \(40 at most\): "
    told = re.fullmatch(text + r"--budget (\S+?)(?:, or --pool-depth (\d+) \((\S+)\))?\n", refused.err)
    assert told, refused.err
    assert (told[1], told[3] is not None) == (budget, named)
    assert ask(told[2]).code == 0
    if named:
        assert float(told[4]) <= float(budget)
        assert [ask(budget, "--pool-depth", int(told[3]) + deeper).code for deeper in (0, 1)] == [0, 1]
    with pytest.raises(activeeval.BudgetError, match=r"^`budget` .*: `budget` \S+(, or `pool_depth` \d+ \(\S+\))?$"):
        activeeval.plan(["up.run", "down.run"], measure="nDCG@3", max_grade=3, budget=budget)
