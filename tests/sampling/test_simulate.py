"""`activeeval simulate`: its fields, its truth, its options, and that one seed is one answer."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from cli_cases import one_line
from cli_files import write_lines

from activeeval.core.design.methods import METHODS
from activeeval.core.results import Figure
from activeeval.sampling.commands.simulate import _warn_of_short_intervals

LETOR = ("--letor", "a.txt", "--scores", "a.score")
JUDGED = ("--qrels", "q.qrels", "--run", "a.run")
RUNS = (*JUDGED, "--unjudged", "irrelevant")
BRIEF = ("--repetitions", 40, "-o", "jsonl")
TWO = ("--budget", "20%", "--budget", "40%")
FIELDS = {"measure", "method", "interval", "scope", "budget", "repetitions", "truth", "spent_sd", "spent_max"}
SIMULATED = {
    *("rmse", "mae", "bias", "coverage", "width", "undetermined", "less_spread", "queries", "items", "spent"),
    *("efficiency", "labels_saved", "selection_error"),
}
PAPER = ["passive", "active", "active_uniC", "active_uniD"]
OF_PAPER = tuple(x for name in PAPER for x in ("--method", name))
ADDITIVE = {"DCG", "DCG@3", "P@2", "RBP(p=0.5)"}


@pytest.fixture
def simulate(call):
    """Return a function from options to the rows of a short simulation."""
    return lambda *options: call("--quiet", "simulate", *options, *BRIEF).rows


@pytest.mark.parametrize("pool", [LETOR, RUNS], ids=["letor", "runs"])
def test_every_field_with_its_standard_error(simulate, pool):
    rows = simulate(*pool, *TWO, *OF_PAPER)
    budgets = sorted({row["budget"] for row in rows})
    assert [(row["method"], row["budget"]) for row in rows] == [(m, b) for m in PAPER for b in budgets]
    assert budgets[1] == pytest.approx(2 * budgets[0])
    for row in rows:
        assert set(row) >= FIELDS | SIMULATED | {f"{name}_se" for name in SIMULATED}
        assert (row["measure"], row["definition"]) == ("DCG", "DCG(dcg='exp-log2')")
        assert (row["scope"], row["interval"], row["repetitions"], row["selection_error"]) == ("pool", "t", 40, None)
        assert 0 <= row["coverage"] <= 1
        assert 0 < row["spent"] <= row["spent_max"] <= row["budget"] * (1 + 1e-12)
        assert row["spent_sd"] >= 0
        assert 0 < row["queries"] <= row["items"]
        assert row["rmse"] >= max(row["mae"], abs(row["bias"])) > 0
        assert all(row[f"{name}_se"] >= 0 for name in SIMULATED - {"labels_saved", "selection_error"})
    for row in rows[:2]:
        assert (row["efficiency"], row["efficiency_se"], row["labels_saved"]) == (1, 0, 0)


@pytest.mark.parametrize("measure", ["DCG@3", "AP(rel=2)@4"])
def test_the_truth_is_the_score(call, simulate, measure):
    of_two = ("--versus", "b.run"), ("--versus-run", "b.run"), "difference"
    for versus, simulated, field in (((), (), "value"), of_two):
        (score,) = call("--quiet", "score", "q.qrels", "a.run", measure, *versus, "-o", "jsonl").rows
        rows = simulate(*RUNS, "--measure", measure, "--budget", "20%", *simulated)
        assert {row["measure"] for row in rows} == {score["measure"]}
        assert [row["method"] for row in rows] == ["passive", "items" if measure in ADDITIVE else "depth"]
        assert [row["truth"] for row in rows] == pytest.approx([score[field]] * 2, rel=1e-12)
        assert all(0 <= row["selection_error"] <= 1 for row in rows if versus)


@pytest.mark.parametrize(
    "options",
    [
        (*LETOR, "--train", "t.txt", "--index-update", 0.2),
        (*RUNS, "--train", 0.4, "--versus-run", "b.run", "--expected"),
    ],
    ids=lambda options: " ".join(map(str, options[4:])),
)
@pytest.mark.usefixtures("grown_anew")
def test_one_seed_one_answer(call, options):
    command = ("--quiet", "simulate", *options, *TWO, *BRIEF)
    first = call(*command, "--seed", 3)
    assert first == call(*command, "--seed", 3)
    assert first.code == 0
    assert first.out != call(*command, "--seed", 4).out


def test_all_is_every_method_that_fits(simulate):
    asked = (*RUNS, "--measure", "nDCG@5", "--budget", "20%")
    rows = simulate(*asked, "--method", "all", "--method", "active")
    assert [row["method"] for row in rows] == [name for name in METHODS if not name.startswith("items")]
    assert {row["method"]: row for row in rows}["depth"] == simulate(*asked, "--method", "depth")[1]


def test_the_query_factor_can_be_left_out(simulate):
    given = (*LETOR, "--train", "t.txt", *TWO, "--method", "items", "--method", "active")
    with_factor, without = simulate(*given), simulate(*given, "--model", "forest:no-factor")
    methods = [row["method"] for row in with_factor]
    for method, one, other in zip(methods, with_factor, without, strict=True):
        # the paper's methods take grades as independent anyway
        assert (one["rmse"] == other["rmse"]) == (method != "items")
        assert one["truth"] == other["truth"]


def test_depths_may_follow_labels(simulate):
    """Another sample of the same truth; methods without depths stay as they are, and all of one ranking unasked."""
    options = (*LETOR, "--measure", "AP", "--method", "depth", "--method", "whole", "--budget", "40%")
    unasked, plain = simulate(*options), simulate(*options, "--adaptive-depth", "off")
    for looks in ("each", "3"):
        followed = simulate(*options, "--adaptive-depth", looks)
        assert [row["truth"] for row in followed] == [row["truth"] for row in plain]
        assert followed[2] == plain[2]
        assert followed[1] != plain[1]
        assert followed[1]["limit"] is None
        assert followed[1]["spent_max"] <= followed[1]["budget"] * (1 + 1e-12)
    assert unasked == plain


def test_several_letor_files_with_one_score_file_each(simulate, folder):
    files = ("--letor", "a.txt", "--letor", "b.txt", "--scores", "a.score", "--scores", "b.score")
    rows = simulate(*files, "--budget", "20%")
    parts = [simulate("--letor", f"{x}.txt", "--scores", f"{x}.score", "--budget", "20%")[0]["truth"] for x in "ab"]
    assert rows[0]["truth"] == pytest.approx((40 * parts[0] + 30 * parts[1]) / 70, rel=1e-12)
    write_lines(folder / "ab.score", [x for name in "ab" for x in (folder / f"{name}.score").read_text().split()])
    again = simulate(*files[:4], "--scores", "ab.score", "--budget", "20%")
    assert [row | {"system": ""} for row in again] == [row | {"system": ""} for row in rows]


@pytest.mark.parametrize("overhead", [0.0, 2.0])
def test_the_unit_is_the_judging_of_one_mean_item(simulate, folder, overhead):
    lists = np.array([int(line.split()[1][4:]) for line in (folder / "a.txt").read_text().splitlines()])
    lengths = np.minimum(np.unique(lists, return_counts=True)[1], 3)
    options = ("--overhead", overhead, "--measure", "P@3", "--method", "passive")
    number, share = simulate(*LETOR, *options, "--budget", 40, "--budget", "40%")[:2]
    assert (number["budget"], share["budget"]) == (40, pytest.approx(0.4 * (lengths + overhead).sum()))
    for row in (number, share):
        assert row["spent"] == pytest.approx(row["items"] + overhead * row["queries"], rel=1e-9)


def test_costs_by_length_and_from_a_file_agree(simulate, folder):
    rows = [line.split() for line in (folder / "a.txt").read_text().splitlines()]
    costs = [repr(math.log(math.e + float(row[4].partition(":")[2]))) for row in rows]
    write_lines(folder / "plain.costs", costs)
    table = [f"{row[1][4:]},{row[-1]},{cost}" for row, cost in zip(rows, costs, strict=True)]
    write_lines(folder / "costs.csv", ["qid,docno,cost", *table[::-1]])
    kinds = ("log-length:3", "plain.costs", "costs.csv")
    first, second, third = (simulate(*LETOR, *TWO, "--cost", kind) for kind in kinds)
    assert first == second == third != simulate(*LETOR, *TWO)


@pytest.mark.parametrize(
    ("pool", "train", "model"),
    [
        (LETOR, ("--train", "t.txt"), ()),
        (LETOR, ("--train", "t.txt", "--train", "b.txt"), ("--model", "logit:tune")),
        (LETOR, (), ("--model", "probs=a.probs.csv")),
        (RUNS, ("--versus-run", "b.run", "--train", "40%"), ("--model", "logit")),
        (RUNS, ("--train", "0.4"), ("--model", "probs=q.probs.csv")),
    ],
    ids=["forest", "logit", "probabilities", "logit of a share", "probabilities and a share"],
)
def test_models_change_the_sampling_and_not_the_truth(simulate, pool, train, model):
    asked = (*pool, *train, *OF_PAPER, "--method", "items", "--method", "depth", "--budget", "17%")
    rows, plain = ({r["method"]: r for r in simulate(*asked, *m)} for m in (model, ("--model", "uniform")))
    assert {**rows["active_uniD"], "efficiency": 0} == {**plain["active_uniD"], "efficiency": 0}
    for method in ("active", "items", "depth"):
        assert rows[method]["rmse"] != plain[method]["rmse"]
        assert rows[method]["truth"] == plain[method]["truth"]
    assert rows["active"]["rmse"] != rows["active_uniD"]["rmse"]


def test_max_grade_opens_the_scale(simulate):
    rows = simulate(*LETOR, "--measure", "ERR@5", "--max-grade", 4, "--budget", "20%")
    assert rows[0]["measure"] == "ERR@5"
    assert rows[0]["truth"] < simulate(*LETOR, "--measure", "ERR@5", "--budget", "20%")[0]["truth"]
    assert simulate(*LETOR, "--measure", "ERR(max_rel=4)@5", "--budget", "20%")[0]["truth"] == rows[0]["truth"]


def test_missing_and_ignored_queries_are_told(call):
    *notes, model = call("simulate", *RUNS, "--versus-run", "b.run", "--budget", "20%", *BRIEF).err.splitlines()
    assert model.startswith("activeeval: no training data: ")
    assert [note.removeprefix("activeeval: ") for note in notes] == [
        "115 of 309 items that are ranked are not judged: they count as grade 0 (--unjudged irrelevant)",
        "1 of 30 queries has no list in a.run: it counts as 0",
        "1 of 30 queries has no list in b.run: it counts as 0",
        "1 query of a.run has no judgments: ignored",
    ]


def test_draws_with_replacement_keep_their_t_intervals(call):
    options = ("simulate", *LETOR, *TWO, *BRIEF, "--method", "items", "--method", "active")
    lines = call(*options, "--interval", "group-sequential").err.splitlines()
    assert "activeeval: draws with replacement keep their t intervals: passive, active" in lines
    assert "keep" not in call(*options).err


def test_what_does_not_fit_is_refused_before_a_file_is_read(call):
    for options, message in (
        (("--interval", "asympcs"), "unknown interval 'asympcs'; known: .*"),
        (("--measure", "ERR", "--method", "items"), "method 'items' is for additive measures .*, not for ERR"),
    ):
        one_line(call("simulate", "--letor", "gone.txt", "--scores", "gone", *options), message)


def judged_pairs(folder, grades):
    """Write judgments x.qrels of two documents of 60 queries, and the run x.run."""
    queries = list(enumerate(grades))
    write_lines(folder / "x.qrels", [f"q{q} 0 {d} {y * (d == 'a')}" for q, y in queries for d in "ab"])
    write_lines(folder / "x.run", [f"q{q} Q0 {d} 1 {-i} r" for q, _ in queries for i, d in enumerate("ab")])
    return "simulate", "--qrels", "x.qrels", "--run", "x.run", "--repetitions", 400, "-o", "jsonl"


RARE = [4 if q in (7, 40) else q % 2 for q in range(60)]
"""Grades of which two of 60 hold half of the value: samples without them know nothing of it."""


def test_intervals_that_are_too_short_are_told(call, folder):
    pool = judged_pairs(folder, RARE)
    answer = call(*pool, "--measure", "DCG@1", "--budget", 8, "--budget", 20, "--budget", 60)
    floor = 0.95 - 3 * math.sqrt(0.95 * 0.05 / 400)
    short = [row for row in answer.rows if row["method"] == "passive" and row["coverage"] < floor]
    assert [row["budget"] for row in short] == [20]
    told = [f"{row['coverage']:.1%} at {row['budget']:g}" for row in short]
    said = [line for line in answer.err.splitlines() if line.startswith("activeeval: passive, ")]
    assert said == [f"activeeval: passive, DCG@1: too few 95 % intervals hold the truth, by budget: {', '.join(told)}"]


def test_why_intervals_are_too_short(capsys):
    """Where more than a tenth of the samples saw less spread than was planned, that is why."""
    given = {"method": "depth", "is_too_short": True, "coverage": Figure(0.875)}
    often, seldom, fine = (
        SimpleNamespace(**given | {"budget": budget, "less_spread": Figure(share), "is_too_short": budget < 40})
        for budget, share in ((10.0, 0.101), (20.0, 0.1), (40.0, 0.5))
    )
    _warn_of_short_intervals("ERR", [often, seldom, fine])
    assert capsys.readouterr().err.replace("\n  ", " ") == (
        "activeeval: depth, ERR: too few 95 % intervals hold the truth, by budget: "
        "87.5% at 10 (less spread than expected 10%), 87.5% at 20\n"
    )


@pytest.mark.parametrize("form", ["text", "tsv"])
def test_other_formats_and_a_plot(call, folder, form):
    answer = call("simulate", *LETOR, *TWO, *OF_PAPER, "--repetitions", 40, "-o", form, "--plot", "x.svg")
    assert answer.code == 0
    assert answer.err.splitlines()[-1] == "activeeval: wrote x.svg"
    assert (folder / "x.svg").read_bytes().startswith(b"<?xml")
    assert all(name in answer.out for name in PAPER)
    lines = answer.out.splitlines()
    if form == "tsv":
        assert ({line.count("\t") for line in lines}, len(lines)) == ({lines[0].count("\t")}, 9)
        return
    assert max(map(len, lines)) <= 100
    assert lines[0].startswith("DCG, a.score, ")
    assert any(line.startswith("40 queries, 40 repetitions, budgets in judgments, the truth is ") for line in lines)
    assert "DCG is DCG(dcg='exp-log2')." in " ".join(lines)
    dear = ("simulate", *LETOR, "--budget", "40%", "--overhead", 1, "--repetitions", 40)
    assert "40 repetitions, budgets in mean items" in call(*dear).out
    assert "spent_max" in call(*dear, "-o", "wide").out


def test_traffic_weighs_the_queries(call, folder, simulate):
    queries = list(dict.fromkeys(line.split()[0] for line in (folder / "q.qrels").read_text().splitlines()))
    weights = {query: 1 + 3 * (i % 2) for i, query in enumerate(queries)}
    write_lines(folder / "t.txt", [*(f"{query} {weight}" for query, weight in weights.items()), "other 9"])
    asked = (*RUNS, *TWO, "--measure", "DCG@5", "--traffic", "t.txt")
    scores = call("--quiet", "score", "q.qrels", "a.run", "DCG@5", "-q", "-n", "-o", "jsonl").rows
    weighted = sum(weights[s["query_id"]] * s["value"] for s in scores) / sum(weights.values())
    assert simulate(*asked)[0]["truth"] == pytest.approx(weighted)
    for text, message in (
        ("x 1\n", f"t.txt: no weight for query {queries[0]!r} of the pool"),
        (f"{queries[0]} 0\n", "t.txt:1: the weight 0.0 is not positive, expected a positive number"),
        (f"{queries[0]} 1\n{queries[0]} 2\n", f"t.txt:2: query {queries[0]!r} is there twice, expected it once"),
    ):
        (folder / "t.txt").write_text(text)
        answer = call("--quiet", "simulate", *asked)
        assert (answer.code, answer.err) == (1, f"activeeval: {message}\n")


def unjudged_by_hand(folder, depth):
    """Return how many items of a.run down to a depth there are, how many lack a grade, of how many queries."""
    qrels, run = ([line.split() for line in (folder / x).read_text().splitlines()] for x in ("q.qrels", "a.run"))
    grades, lists = {(query, doc): int(grade) for query, _, doc, grade in qrels}, {query: [] for query, *_ in qrels}
    for query, _, document, _, score, _ in run:
        lists.get(query, []).append((float(score), document))
    needed = [(query, d) for query, items in lists.items() for _, d in sorted(items, reverse=True)[:depth]]
    missing = [pair for pair in needed if grades.get(pair, -1) < 0]
    return len(needed), len(missing), len({query for query, _ in missing})


@pytest.mark.parametrize(("measure", "depth"), [("DCG@3", 3), ("RR", 8)])
def test_items_that_the_truth_needs_and_nobody_judged_are_an_error(call, folder, measure, depth):
    n, n_missing, n_queries = unjudged_by_hand(folder, depth)
    answer = call("simulate", *JUDGED, "--measure", measure, "--budget", "20%", *BRIEF)
    assert (answer.code, answer.out) == (1, "")
    last = answer.err.splitlines()[-1]
    counted = (
        rf"activeeval: {n_missing} of {n} items that .* needs are not judged, in {n_queries} queries, the first is "
    )
    assert re.fullmatch(counted + r"item 'd\d+' of query 'q\d+': judge them, or .*--unjudged irrelevant.*", last), last
    assert call("simulate", *JUDGED, "--unjudged", "error", "--measure", measure, *BRIEF).err == answer.err


def test_a_budget_that_a_method_cannot_pay_is_told_as_its_own_and_left_out_where_another_pays(call):
    answer = call("--quiet", "simulate", *LETOR, "--budget", "2%", "--method", "items")
    assert answer.code == 1
    dear = r"activeeval: DCG, passive: --budget 2% .*does not pay for the most expensive query.*\n"
    assert re.fullmatch(dear, answer.err)
    expected = call("--quiet", "simulate", *LETOR, "--budget", "4%", "--method", "random", "--expected")
    assert re.fullmatch(r"activeeval: DCG, random: --budget 4% .*does not pay for .*\n", expected.err)
    done = call("simulate", *RUNS, "--measure", "DCG", "--budget", 3, "--budget", 60, *BRIEF)
    assert {row["budget"] for row in done.rows} == {60}
    assert re.search(r"passive: --budget 3 does not pay for the most expensive query.*; left out\n", done.err), done.err


@pytest.mark.parametrize(
    ("share", "advice"), [((), "--defensive-share 0.1 keeps every weight below 10"), (("--defensive-share", 0.1), None)]
)
def test_heavy_weights_are_told_with_advice_that_helps(call, share, advice):
    options = ("--scores", "a.second", "--budget", "33%", "--method", "active_uniD", *share)
    lines = call("simulate", *LETOR, *options, *BRIEF).err.splitlines()
    told = [line.rpartition("; ")[2] for line in lines if "plain random sample" in line]
    assert told == ([advice] if advice else [])
