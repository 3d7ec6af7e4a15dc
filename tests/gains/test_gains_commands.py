import json

import numpy as np
import pytest
from cli_cases import both, files
from cli_files import csv_rows, write_csv

from activeeval import GainDiscountLearner, PreferenceData, compare, evaluate, parse_measure
from activeeval.formats.sample_file import digest_of
from activeeval.gains import bootstrap_gains, gain_intervals, read_out
from activeeval.inputs.file_names import asked_measure
from activeeval.report.message_lookup import text_of

K, GAINS, DISCOUNTS = 4, np.array([0, 1, 2, 5.0]), np.array([1, 0.7, 0.5, 0.4])
LEARN = ["gains", "learn", "prefs.jsonl", "--out", "gains.json"]
OWN = '{"gains": [0, 1, 2, 5], "discounts": [1, 0.5]}'
QUICK = [*LEARN, "--resamples", 0, "--C", 10]


def utilities(lists):
    return GAINS[lists] @ DISCOUNTS


@pytest.fixture
def prefs(folder):
    """Write 300 pairs, of which those with close utilities are tied, and return them."""
    first, second = np.random.default_rng(0).integers(0, 4, size=(2, 300, K))
    better = (utilities(first) > utilities(second))[:, None]
    preferred, other = np.where(better, first, second), np.where(better, second, first)
    ties = utilities(preferred) - utilities(other) < 0.3
    rows = zip(preferred.tolist(), other.tolist(), ties.tolist(), strict=True)
    lines = [{"query": f"q{i}", "preferred": a, "other": b, "tie": tie} for i, (a, b, tie) in enumerate(rows)]
    (folder / "prefs.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return PreferenceData(preferred, other, ties, [f"q{i}" for i in range(300)])


def gains_file(folder):
    return json.loads((folder / "gains.json").read_text())


def test_what_is_learned_is_what_the_library_learns(call, folder, prefs):
    answer = call(*LEARN, "--resamples", 30, "--seed", 3)
    assert answer.code == 0, answer.err
    found, learner = gains_file(folder), GainDiscountLearner(rng=3).fit(prefs)
    assert found["weights"] == learner.weights_.tolist()
    assert found["C"] == learner.C_
    n_tied = int(prefs.ties.sum())
    assert (found["pairs"], found["ties"], found["violated"]) == (300 - n_tied, n_tied, learner.n_violated_)
    assert found["rank_one_share"] == read_out(learner.weights_).rank_one_share
    read = learner.read_out()
    np.testing.assert_allclose(found["gains"], read.gains * read.scale, rtol=1e-5)
    np.testing.assert_allclose(found["discounts"], learner.read_out().discounts, rtol=1e-5)
    assert np.shape(found["weights"]) == (K, 4)
    low, high = bootstrap_gains(learner, prefs, 30, 3).interval("discounts")
    assert found["stability"]["discounts"] == [low.tolist(), high.tolist()]
    assert found["stability"]["method"] == "resampling, no confidence interval"
    intervals = gain_intervals(learner, prefs)
    assert found["intervals"]["discounts"] == intervals.discounts.tolist()
    assert found["intervals"]["gains"] == intervals.gains.tolist()
    assert found["intervals"]["confidence"] == 0.95
    assert found["cautions"] == [text_of(caution) for caution in (*learner.cautions_, *intervals.cautions)]
    assert "low … high: 95% confidence interval" in answer.err
    assert "wrote gains.json: use it as --measure @gains.json" in answer.err


def test_show_prints_and_draws_what_the_file_holds(call, folder, prefs):
    call(*LEARN, "--resamples", 20)
    answer = call("gains", "show", "gains.json", "-o", "jsonl", "--plot", "gains.png")
    rows, found = answer.rows, gains_file(folder)
    assert [row["gain"] for row in rows[:4]] == found["gains"]
    assert [row["discount"] for row in rows[4:]] == found["discounts"]
    assert [row["low"] for row in rows[4:]] == found["intervals"]["discounts"][0]
    assert (folder / "gains.png").stat().st_size > 10_000
    assert "hold" in answer.err


def test_where_there_is_no_interval_the_stability_band_is_named_as_one(call, folder):
    """Two grades, a quarter of 600 answers turned round: few kinds of pairs that contradict each other."""
    random = np.random.default_rng(0)
    lists = random.integers(0, 2, size=(2, 900, 5))
    gaps = (lists[0] - lists[1]) @ (1 / np.log2(np.arange(2, 7)))
    swap = (gaps < 0) != (random.random(900) < 0.25)
    rows = [(b, a) if turn else (a, b) for a, b, turn in zip(*lists.tolist(), swap, strict=True)]
    differing = [row for row, gap in zip(rows, gaps, strict=True) if abs(gap) > 1e-9]
    lines = [json.dumps({"preferred": a, "other": b}) for a, b in differing]
    (folder / "prefs.jsonl").write_text("\n".join(lines))
    answer = call(*LEARN, "--C", 1, "--conflicts", "keep", "--resamples", 10)
    assert answer.code == 0, answer.err
    found = gains_file(folder)
    assert "intervals" not in found
    assert any("there is no 95% interval" in caution for caution in found["cautions"])
    shown = call("gains", "show", "gains.json", "-o", "jsonl", "--plot", "gains.svg")
    for text in (answer.err, shown.err):
        assert "caution: there is no 95% interval: the preferences contradict each other" in text
        assert "resampled_low … resampled_high: stability band, 95% of the resamples: not a confidence interval" in text
    assert [row["resampled_low"] for row in shown.rows[2:]] == found["stability"]["discounts"][0]
    assert "low" not in shown.rows[0]


def test_a_file_by_hand_is_a_measure(call, folder):
    (folder / "own.json").write_text(OWN)
    measure = asked_measure(" @own.json ")
    assert str(measure) == "Additive(gains={0:0,1:1,2:2,3:5},discounts=[1,0.5])@2"
    assert parse_measure(str(measure)) == measure
    assert call("gains", "show", "own.json").code == 0
    mine, same = call("score", "q.qrels", "a.run", "@own.json", str(measure), "-o", "jsonl").rows
    assert (mine["measure"], same["measure"]) == ("@own.json", str(measure))
    assert mine["value"] == same["value"]
    assert evaluate("a.run", judgments="q.qrels", measure="@own.json", unjudged="irrelevant").value == pytest.approx(
        mine["value"], rel=1e-12
    )
    (whole,) = call("score", "q.qrels", "a.run", "@own.json", "--versus", "b.run", "-o", "jsonl").rows
    difference = compare("b.run", "a.run", judgments="q.qrels", measure="@own.json", unjudged="irrelevant").value
    assert difference == pytest.approx(whole["difference"], rel=1e-12)


def test_what_comes_back_names_no_file(call, folder):
    """A caller may write @FILE; a sample that is handed back may not, and no file is looked for."""
    (folder / "own.json").write_text(OWN)
    options = ("--run", "a.run", "--max-grade", 3, "--measure", "@own.json", "--method", "items", "--budget", "17%")
    assert call("sample", *options, *files("d.csv")).code == 0
    rows = [row | {"grade": 1} for row in csv_rows("d.csv")]
    write_csv("d.csv", rows)
    assert call("estimate", *both("d.csv")).code == call("estimate", *both("d.csv"), "--measure", "@own.json").code == 0
    with np.load("d.csv.sample.npz") as held:
        arrays = {name: held[name] for name in held.files}
    arrays["words"] = np.array([arrays["words"][0], "@own.json"])
    arrays["digest"] = np.array([digest_of(arrays)])
    np.savez("d.csv.sample.npz", **arrays)
    write_csv("d.csv", [row | {"sample": str(arrays["digest"][0])} for row in rows])
    (folder / "own.json").unlink()
    answer = call("estimate", *both("d.csv"))
    assert (answer.code, answer.out) == (1, "")
    assert "measure '@own.json' names a file, which is allowed in a caller's own argument only" in answer.err
    assert answer.err.count("\n") == 1


def test_a_learned_measure_is_taken_wherever_a_measure_is(call, folder, prefs):
    call(*QUICK)
    name, runs = "@gains.json", ["--run", "a.run", "--versus-run", "b.run"]
    labelled = ["--qrels", "q.qrels", *runs, "--train", 0.3, "--measure", name, "--unjudged", "irrelevant"]
    assert call("simulate", *labelled, "--budget", "17%", "--repetitions", 20).out.startswith(name)
    assert name in call("calibration", *labelled).out
    assert call("design", *runs, "--max-grade", 3, "--measure", name, "--out", "design.csv").code == 0
    drawn = call("sample", *runs, "--max-grade", 3, "--measure", name, "--budget", "17%", *files("draws.csv"))
    assert drawn.code == 0, drawn.err
    with np.load(folder / "draws.csv.sample.npz") as held:
        assert held["words"][1].startswith("Additive(gains=")


def test_next_asks_for_the_pair_of_the_smallest_difference(call, folder, prefs):
    learner = GainDiscountLearner(C=10.0).fit(prefs.subset(range(40)))
    lines = [json.loads(line) for line in (folder / "prefs.jsonl").read_text().splitlines()]
    asked = [
        {"query": row["query"], "first": row["preferred"], "second": row["other"], "answer": said}
        for row, said in zip(lines, ["tie" if tie else "first" for tie in prefs.ties[:40]] + [""] * 260, strict=True)
    ]
    (folder / "ask.jsonl").write_text("\n".join(map(json.dumps, asked)))
    assert call("gains", "learn", "prefs.jsonl", "--C", 10, "--resamples", 0, "--out", "like.json").code == 0
    answer = call("gains", "next", "ask.jsonl", "--like", "like.json", "--count", 3, "-o", "jsonl")
    open_pairs = prefs.subset(range(40, 300))
    margins = np.abs(learner.decision_function(open_pairs))
    differ = np.flatnonzero((open_pairs.preferred != open_pairs.other).any(axis=1))
    expected = np.sort(margins[differ])[:3]
    np.testing.assert_allclose([row["difference"] for row in answer.rows], expected, atol=1e-6)
    line = int(answer.rows[0]["place"].split(":")[1])
    assert asked[line - 1]["first"] == answer.rows[0]["first"]
    assert "40 pairs are answered, 260 are not" in answer.err
    by_chance = call("gains", "next", "ask.jsonl", "--start", 50)
    assert "chosen by chance" in by_chance.err
    (folder / "own.json").write_text(OWN)
    refused = call("gains", "next", "ask.jsonl", "--like", "own.json").err
    assert "own.json: has no field 'C_ties', expected what `gains learn` writes" in refused


def test_preferences_between_runs_are_those_between_their_lists(call, folder):
    sides = {True: {"preferred": "a.run", "other": "b"}, False: {"preferred": "B", "other": "A"}}
    rows = [json.dumps({"query": f"q{i}"} | sides[i % 3 > 0]) for i in range(1, 25)]
    (folder / "sbs.jsonl").write_text("\n".join(rows))
    runs = ["--qrels", "q.qrels", "--run", "a.run", "--run", "b.run", "--depth", 5]
    answer = call("gains", "learn", "sbs.jsonl", *runs, "--C", 1, "--resamples", 0, "--out", "gains.json")
    assert answer.code == 0, answer.err
    found = gains_file(folder)
    assert (found["depth"], found["max_grade"], found["pairs"]) == (5, 3, 24)
    assert found["unjudged"] > 0
    assert "hold an unjudged item" in answer.err


def test_coherence_on_judged_items_and_on_the_lists_of_two_runs(call):
    linear = "DCG(dcg='log2')"
    judged = call("coherence", "DCG", linear, "--qrels", "q.qrels", "--pairs", 500, "-o", "jsonl").rows[-1]
    assert judged["pairs"] == 500
    assert judged["std_error"] == pytest.approx(np.sqrt(judged["agree"] * (1 - judged["agree"]) / 500))
    runs = ["--qrels", "q.qrels", "--run", "a.run", "--versus-run", "b.run"]
    answer = call("coherence", "DCG@5", f"{linear}@5", *runs, "--depth", 5, "-o", "jsonl")
    assert "2 of 30 judged queries are not in both runs: left out" in answer.err
    whole = answer.rows[-1]
    both = [
        {row["query_id"]: np.sign(round(row["difference"], 9)) for row in scores if row["query_id"] not in ("q5", "q7")}
        for scores in (
            call("score", "q.qrels", "a.run", measure, "--versus", "b.run", "-q", "-n", "-o", "jsonl").rows
            for measure in ("DCG@5", f"{linear}@5")
        )
    ]
    assert whole["pairs"] == len(both[0])
    assert not any("std_error" in row for row in answer.rows)  # these pairs are all there are
    assert all(("agree" in row) == (row["pairs"] > 0) for row in answer.rows)
    text = call("coherence", "DCG@5", f"{linear}@5", *runs, "--depth", 5).out
    assert "std_error" not in text
    assert "nan" not in text
    assert whole["agree"] == pytest.approx(np.mean([both[0][query] == both[1][query] for query in both[0]]))


def test_gains_by_rank_are_a_measure_of_a_file(call, folder, prefs):
    answer = call(*QUICK, "--by-rank", "--best-gain", 5)
    assert answer.code == 0, answer.err
    assert "the measure is the last table, a gain for every rank and grade" in answer.err
    learner = GainDiscountLearner(C=10.0, rng=0).fit(prefs)
    measure = asked_measure("@gains.json")
    assert measure == learner.rank_gains(5.0)
    assert measure.label == "@gains.json"
    assert parse_measure(str(measure)) == measure
    shown = call("gains", "show", "gains.json", "-o", "jsonl").rows
    assert [row["grade 3"] for row in shown[-K:]] == [row[3] for row in measure.gains]
    qrels = "\n".join(f"q1 0 d{d} {d % 4}" for d in range(8))
    (folder / "j.qrels").write_text(qrels)
    (folder / "j.run").write_text("\n".join(f"q1 Q0 d{d} {d + 1} {9 - d} r" for d in range(8)))
    (row,) = call("score", "j.qrels", "j.run", "@gains.json", "-o", "jsonl").rows
    assert row["value"] == pytest.approx(sum(measure.gains[k][k % 4] for k in range(K)))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"by_rank": 3}, "the field by_rank is 3, expected true or false"),
        ({"by_rank": True}, "weights[0][0] is None, expected a finite number"),
        ({"by_rank": True, "weights": [[0, 1, 2, "5"], [0, 0, 0, 0]]}, "weights[0][3] is '5', expected a finite"),
    ],
)
def test_gains_by_rank_that_are_none_are_named(folder, call, change, text):
    (folder / "own.json").write_text(json.dumps(json.loads(OWN) | change))
    told = call("gains", "show", "own.json")
    assert told.code == 1
    assert text in told.err


def test_whether_gains_depend_on_the_rank_is_tested(call, folder, prefs):
    told = call("gains", "learn", "prefs.jsonl", "--test", 19)
    assert told.code == 0, told.err
    assert told.out.startswith("Gains need not depend on the rank (p = ")
    (row,) = call("gains", "learn", "prefs.jsonl", "--test", 19, "-o", "jsonl").rows
    assert row["p_value"] > 0.05
    for option in (("--out", "x"), ("--by-rank",), ("--validation", "none.jsonl")):
        refused = call("gains", "learn", "prefs.jsonl", "--test", 9, *option)
        assert f"--test learns and writes nothing: leave out {option[0]}" in refused.err
    assert (row["n_bootstrap"], row["shape"], row["n_preferences"]) == (19, "decreasing", int((~prefs.ties).sum()))
