"""Values per query of elsewhere, and clicks on interleaved lists: verdicts and intervals as those of judgments."""

import json

import numpy as np
import pytest
from scipy import stats

from activeeval.cli import run as run_command
from activeeval.core.errors import InputError
from activeeval.scoring.decisions import GateRequest
from activeeval.scoring.value_tables import by_interleaving, by_values, read_values, score_values

RNG = np.random.default_rng(4)
OLD = RNG.random(40)
NEW = OLD + RNG.normal(0.1, 0.05, 40)


def table(folder, name, values, more=""):
    path = folder / name
    rows = (f"question {q},some text,{value:.6f}{more}" for q, value in enumerate(values))
    path.write_text("user_input,answer,faithfulness" + (",seconds" if more else "") + "\n" + "\n".join(rows) + "\n")
    return str(path)


@pytest.fixture
def old_and_new(tmp_path):
    return table(tmp_path, "old.csv", OLD, ",1.0"), table(tmp_path, "new.csv", NEW, ",2.0")


def test_the_interval_is_that_of_the_paired_t_test(old_and_new):
    (decision,) = by_values(*old_and_new, GateRequest(measures=["faithfulness"]))
    d = np.round(NEW, 6) - np.round(OLD, 6)
    low, high = stats.t.interval(0.95, d.size - 1, d.mean(), stats.sem(d))
    assert (decision.interval.low, decision.interval.high) == pytest.approx((low, high))
    assert decision.p_value == pytest.approx(stats.ttest_1samp(d, 0).pvalue)
    assert decision.verdict == "better"


def test_a_minus_means_that_lower_is_better(old_and_new):
    (decision,) = by_values(*old_and_new, GateRequest(measures=["-seconds"], scope="pool"))
    assert (decision.estimate.value, decision.verdict) == (-1.0, "worse")


def test_the_command_ends_with_the_code_of_the_verdict(old_and_new, capsys):
    old, new = old_and_new
    for arguments, code in (
        ((old, new, "--measure", "faithfulness"), 0),
        ((new, old, "--measure", "faithfulness"), 10),
    ):
        assert run_command(["compare", *arguments, "--values", "-o", "jsonl"]) == code
    assert "columns without numbers are left out: answer" in " ".join(capsys.readouterr().err.split())
    assert run_command(["compare", old, old, "--values", "-o", "jsonl"]) == 0
    assert {json.loads(line)["verdict"] for line in capsys.readouterr().out.splitlines()} == {"equal"}


def test_queries_of_one_file_alone_are_counted_and_left_out(tmp_path):
    notes = []
    old, new = table(tmp_path, "old.csv", OLD), table(tmp_path, "new.csv", NEW[:30])
    (decision,) = by_values(old, new, GateRequest(scope="pool"), say=notes.append)
    assert decision.estimate.n_queries == 30
    assert [note.numbers["n"] for note in notes if note.code == "values alone"] == [10]


def test_rows_of_metric_and_value_are_read_as_columns_are(tmp_path):
    wide = tmp_path / "wide.csv"
    wide.write_text("query_id,recall,nDCG@10\nq1,0.5,0.25\nq2,,1\n")
    tall = tmp_path / "tall.jsonl"
    rows = [("q1", "recall", 0.5), ("q1", "nDCG@10", 0.25), ("q2", "nDCG@10", 1), ("all", "nDCG@10", 0.625)]
    tall.write_text("\n".join(json.dumps(dict(zip(("query_id", "measure", "value"), r, strict=True))) for r in rows))
    assert read_values(wide).values == read_values(tall).values


def test_score_prints_each_mean_and_the_differences(old_and_new):
    answers = score_values(list(old_and_new), ["faithfulness"])
    assert [answer.system for answer in answers] == ["old.csv", "new.csv", "new.csv"]
    assert answers[0].value == pytest.approx(np.round(OLD, 6).mean())
    assert answers[2].value == pytest.approx(answers[1].value - answers[0].value)


def test_clicks_on_interleaved_lists_are_means_of_queries(tmp_path):
    clicks = tmp_path / "clicks.csv"
    winners = {"q1": ["new", "new", "old"], "q2": ["tie"], "q3": ["b", "a", "new"], "q4": ["new"], "q5": ["new"]}
    rows = [f"{query},s{k % 2},{winner}" for query, of_query in winners.items() for k, winner in enumerate(of_query)]
    clicks.write_text("query,session,winner\n" + "\n".join(rows))
    notes = []
    (decision,) = by_interleaving(str(clicks), GateRequest(), say=notes.append)
    means = [1 / 3, 0, 1 / 3, 1, 1]
    assert decision.estimate.value == pytest.approx(np.mean(means))
    assert decision.estimate.std_error == pytest.approx(stats.sem(means))
    assert decision.other is None
    assert {note.code: note.numbers["n"] for note in notes} == {"impressions": 9, "by session": 2}
    counted = tmp_path / "counts.csv"
    counts = {"new": "2,1", "b": "1,0", "old": "0,3", "a": "0,1", "tie": "1,1"}
    counted.write_text(
        "query,clicks_new,clicks_old\n" + "\n".join(f"{row.split(',')[0]},{counts[row.split(',')[2]]}" for row in rows)
    )
    (again,) = by_interleaving(str(counted), GateRequest())
    assert (again.estimate.value, again.interval) == (decision.estimate.value, decision.interval)


WRONG = {
    "a,b\n1,2\n": "no query column",
    "query_id,text\nq1,good\n": "holds no column of numbers",
    "query_id,recall\nq1,.5\nq2,high\n": "holds 'high', expected a finite number",
    "query_id,recall\nq1,inf\n": "expected a finite number",
    "query_id,recall\nq1,.5\nq1,.6\n": "query 'q1' has a second value",
    "query_id,recall\n,.5\n": "is empty, expected a query",
}


def test_what_is_no_table_of_values_is_one_line(tmp_path):
    path = tmp_path / "x.csv"
    for text, problem in WRONG.items():
        path.write_text(text)
        with pytest.raises(InputError, match=problem):
            read_values(path)


def test_tables_without_a_common_query_or_metric_are_refused(tmp_path):
    files = {name: str(tmp_path / f"{name}.csv") for name in "abc"}
    for name, text in (("a", "recall\nq1"), ("b", "recall\nq2"), ("c", "mrr\nq1")):
        (tmp_path / f"{name}.csv").write_text(f"query_id,{text},.5\n")
    for names, measures, problem in (
        ("ab", (), "share no query with recall: the first of the latter is 'q2', of the former 'q1'"),
        ("ac", (), "share no metric: recall and mrr"),
        ("aa", ["recal"], "no values of 'recal'; did you mean recall"),
    ):
        with pytest.raises(InputError, match=problem):
            by_values(*(files[name] for name in names), GateRequest(measures=measures))
